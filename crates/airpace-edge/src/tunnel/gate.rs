//! What bounds the cost of handshakes beyond their check: a memory of processed initiations, and
//! rate limits.

use super::frame::CHECK_BYTES;
use airpace_units::Time;
use core::net::IpAddr;
use core::time::Duration;
use siphasher::sip::SipHasher24;

/// Initiations of configured peers that were processed, remembered by a part of their check.
///
/// Memory is fixed. An initiation that was forgotten is still refused by its time stamp, only at a
/// higher cost.
pub(super) struct ProcessedInitiations {
    marks: Box<[u64; PROCESSED]>,
}

/// A peer sends one initiation in two minutes, so this covers the last half hour of 64 peers.
const PROCESSED: usize = 1024;

impl ProcessedInitiations {
    pub(super) fn new() -> Self {
        Self {
            marks: Box::new([0; PROCESSED]),
        }
    }

    /// Whether the message with this check, which was verified, was processed before.
    pub(super) fn contains(&self, check: &[u8; CHECK_BYTES]) -> bool {
        let mark = Self::mark(check);
        self.marks[Self::place(mark)] == mark
    }

    /// Remembers the message with this check, which was verified.
    pub(super) fn insert(&mut self, check: &[u8; CHECK_BYTES]) {
        let mark = Self::mark(check);
        self.marks[Self::place(mark)] = mark;
    }

    /// The check is a keyed hash of the whole message. To have another peer's initiation refused,
    /// one would have to find a message with the same 64 bits before that initiation arrives.
    fn mark(check: &[u8; CHECK_BYTES]) -> u64 {
        check
            .last_chunk()
            .map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    const fn place(mark: u64) -> usize {
        (mark % PROCESSED as u64) as usize
    }
}

/// How much work is admitted: one unit per `interval`, and up to `burst` units at once.
#[derive(Clone, Copy)]
struct Limit {
    interval: Duration,
    burst: u32,
}

/// A token bucket, kept as the instant at which its backlog of work would be done (the virtual
/// scheduling algorithm of ITU-T I.371, annex A).
#[derive(Clone, Copy, Debug)]
struct Bucket {
    busy_until: Time,
}

impl Bucket {
    const NEW: Self = Self {
        busy_until: Time::ZERO,
    };

    /// Takes one token; `false` if there is none.
    fn take(&mut self, now: Time, limit: Limit) -> bool {
        let busy_until = self.busy_until.max(now);
        // The unit that is admitted now is itself part of the burst.
        let backlog = limit.interval.saturating_mul(limit.burst.saturating_sub(1));
        if busy_until.saturating_since(now) > backlog {
            return false;
        }
        self.busy_until = busy_until.saturating_add(limit.interval);
        true
    }
}

/// Bounds the handshakes processed per second, whatever arrives. Memory is fixed.
///
/// Two groups of messages have limits of their own. A few are processed whose senders may be anybody
/// under any address. The others come from senders that have proven their address, so that a sender
/// can use up only what its own address or network may have.
pub(super) struct HandshakeLimiter {
    /// By source, of messages without a proof.
    unproven: Box<[Bucket; SOURCES]>,
    unproven_total: Bucket,
    /// By address, of messages with a proof.
    addresses: Box<[Bucket; SOURCES]>,
    /// By IPv6 prefix of 64 bits, of messages with a proof.
    prefixes: Box<[Bucket; PREFIXES]>,
    proven_total: Bucket,
    key: [u8; 16],
}

/// Buckets that addresses are hashed to, for a thousand stations and more.
const SOURCES: usize = 4096;
/// Buckets that IPv6 prefixes are hashed to.
const PREFIXES: usize = 256;
/// Per address: a peer needs one handshake in two minutes, and a few when it roams.
const PER_SOURCE: Limit = Limit {
    interval: Duration::from_millis(100),
    burst: 10,
};
/// Per address with a session: strangers whose addresses hash to the same bucket cannot exhaust it.
const PER_KNOWN_SOURCE: Limit = Limit {
    interval: PER_SOURCE.interval,
    burst: 2 * PER_SOURCE.burst,
};
/// Per IPv6 prefix of 64 bits: its owner has 2^64 addresses and can prove each of them. But the
/// stations of a network share one prefix, too, and all of them come back when the proxy restarts.
const PER_PREFIX: Limit = Limit {
    interval: Duration::from_millis(5),
    burst: 150,
};
/// In total without a proof: enough for a few stations that start. Beyond it stations need one more
/// round trip, for a cookie. A handshake takes 0.1 to 0.3 ms, so this is a hundredth of a core.
const UNPROVEN_TOTAL: Limit = Limit {
    interval: Duration::from_millis(20),
    burst: 50,
};
/// In total with a proof: less than a tenth of a core.
const PROVEN_TOTAL: Limit = Limit {
    interval: Duration::from_millis(4),
    burst: 200,
};

impl HandshakeLimiter {
    /// A limiter whose assignment of sources to buckets depends on `key`, so that nobody can choose
    /// addresses that share the bucket of a victim.
    pub(super) fn new(key: [u8; 16]) -> Self {
        Self {
            unproven: Box::new([Bucket::NEW; SOURCES]),
            unproven_total: Bucket::NEW,
            addresses: Box::new([Bucket::NEW; SOURCES]),
            prefixes: Box::new([Bucket::NEW; PREFIXES]),
            proven_total: Bucket::NEW,
            key,
        }
    }

    /// Whether a message may be processed now although its sender has not proven its address.
    pub(super) fn admit_unproven(&mut self, now: Time, from: IpAddr) -> bool {
        let source = match from.to_canonical() {
            IpAddr::V4(v4) => self.place(&v4.octets()),
            // The owner of a /64 has 2^64 addresses, so they are one source.
            IpAddr::V6(v6) => self.place(&v6.octets()[..8]),
        };
        self.unproven[source % SOURCES].take(now, PER_SOURCE)
            && self.unproven_total.take(now, UNPROVEN_TOTAL)
    }

    /// Whether a message of a sender that has proven its address may be processed now. `known` says
    /// that the address has a session.
    pub(super) fn admit_proven(&mut self, now: Time, from: IpAddr, known: bool) -> bool {
        let (address, prefix) = match from.to_canonical() {
            IpAddr::V4(v4) => (self.place(&v4.octets()), None),
            IpAddr::V6(v6) => {
                let octets = v6.octets();
                (self.place(&octets), Some(self.place(&octets[..8])))
            }
        };
        let address = &mut self.addresses[address % SOURCES];
        if known {
            // The other limits do not apply: a flood from many addresses must not prevent the
            // renewal of sessions.
            return address.take(now, PER_KNOWN_SOURCE);
        }
        address.take(now, PER_SOURCE)
            && prefix.is_none_or(|prefix| self.prefixes[prefix % PREFIXES].take(now, PER_PREFIX))
            && self.proven_total.take(now, PROVEN_TOTAL)
    }

    /// The number that selects a bucket.
    fn place(&self, bytes: &[u8]) -> usize {
        // The tables have powers of two, so the lowest bits suffice.
        SipHasher24::new_with_key(&self.key).hash(bytes) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::{Ipv4Addr, Ipv6Addr};

    fn v4(n: u32) -> IpAddr {
        Ipv4Addr::from(n).into()
    }

    fn v6(prefix: u16, host: u16) -> IpAddr {
        Ipv6Addr::new(0x2001, 0xdb8, 0, prefix, 0, 0, 0, host).into()
    }

    /// How many of 100,000 messages within a second are admitted.
    fn admitted_in_a_second(mut admit: impl FnMut(Time, u32) -> bool) -> usize {
        (0..100_000_u32)
            .filter(|&n| admit(Time::from_micros(u64::from(n) * 10), n))
            .count()
    }

    #[test]
    fn handshakes_are_limited_per_source_and_in_total() {
        let mut limiter = HandshakeLimiter::new([7; 16]);
        let of_one = admitted_in_a_second(|now, _| limiter.admit_unproven(now, v4(1)));
        assert!((10..=20).contains(&of_one), "{of_one}");
        let of_one = admitted_in_a_second(|now, _| limiter.admit_proven(now, v4(1), false));
        assert!((10..=20).contains(&of_one), "{of_one}");
        let mut limiter = HandshakeLimiter::new([7; 16]);
        let of_many = admitted_in_a_second(|now, n| limiter.admit_unproven(now, v4(n)));
        assert!((50..=100).contains(&of_many), "{of_many}");
        let mut limiter = HandshakeLimiter::new([7; 16]);
        let of_many = admitted_in_a_second(|now, n| limiter.admit_proven(now, v4(n), false));
        assert!((250..=450).contains(&of_many), "{of_many}");
    }

    #[test]
    fn messages_without_a_proof_take_nothing_from_those_with_one() {
        let mut limiter = HandshakeLimiter::new([7; 16]);
        while limiter.admit_unproven(Time::ZERO, v4(1)) {}
        assert!(limiter.admit_proven(Time::ZERO, v4(1), false));
    }

    #[test]
    fn strangers_do_not_exhaust_the_limit_of_a_known_source_in_the_same_bucket() {
        let mut limiter = HandshakeLimiter::new([7; 16]);
        while limiter.admit_proven(Time::ZERO, v4(1), false) {}
        assert!(limiter.admit_proven(Time::ZERO, v4(1), true));
    }

    #[test]
    fn an_ipv4_address_in_ipv6_form_has_the_limit_of_the_address() {
        let mut limiter = HandshakeLimiter::new([7; 16]);
        let mapped = |n: u32| IpAddr::from(Ipv4Addr::from(n).to_ipv6_mapped());
        while limiter.admit_proven(Time::ZERO, v4(1), false) {}
        assert!(!limiter.admit_proven(Time::ZERO, mapped(1), false));
        assert!(limiter.admit_proven(Time::ZERO, mapped(2), false));
    }

    #[test]
    fn an_ipv6_prefix_of_64_bits_has_a_limit_that_its_stations_share() {
        let mut limiter = HandshakeLimiter::new([7; 16]);
        let one_host = |now, _| limiter.admit_proven(now, v6(0, 0), false);
        assert!((10..=20).contains(&admitted_in_a_second(one_host)));
        let mut limiter = HandshakeLimiter::new([7; 16]);
        let all_hosts = |now, n| limiter.admit_proven(now, v6(1, n as u16), false);
        let of_prefix = admitted_in_a_second(all_hosts);
        assert!((300..=350).contains(&of_prefix), "{of_prefix}");
    }

    #[test]
    fn processed_initiations_are_recognised_until_others_displace_them() {
        let mut processed = ProcessedInitiations::new();
        let (first, second) = ([1; CHECK_BYTES], [2; CHECK_BYTES]);
        processed.insert(&first);
        assert!(processed.contains(&first) && !processed.contains(&second));
        processed.insert(&second);
        assert!(processed.contains(&first) && processed.contains(&second));
    }
}
