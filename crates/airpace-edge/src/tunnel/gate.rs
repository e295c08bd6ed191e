//! What bounds the cost of handshakes beyond their check: a memory of processed initiations, and
//! rate limits.

use super::frame::CHECK_BYTES;
use airpace_units::Time;
use core::net::{IpAddr, SocketAddr};
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

/// Bounds the handshakes processed per second, per source and in total, whatever arrives. Memory is
/// fixed.
pub(super) struct HandshakeLimiter {
    sources: Box<[Bucket; SOURCES]>,
    total: Bucket,
    key: [u8; 16],
}

/// Buckets that source addresses are hashed to. As many as a byte has values.
const SOURCES: usize = 256;
/// Per source: a peer needs one handshake in two minutes, and a few when it roams.
const PER_SOURCE: Limit = Limit {
    interval: Duration::from_millis(100),
    burst: 10,
};
/// Per source with a session: strangers whose addresses hash to the same bucket cannot exhaust it.
const PER_KNOWN_SOURCE: Limit = Limit {
    interval: PER_SOURCE.interval,
    burst: 2 * PER_SOURCE.burst,
};
/// In total: 200 handshakes per second take a few hundredths of a core, at 0.1 to 0.3 ms each.
const IN_TOTAL: Limit = Limit {
    interval: Duration::from_millis(5),
    burst: 100,
};

impl HandshakeLimiter {
    /// A limiter whose assignment of sources to buckets depends on `key`, so that nobody can choose
    /// addresses that share the bucket of a victim.
    pub(super) fn new(key: [u8; 16]) -> Self {
        Self {
            sources: Box::new([Bucket::NEW; SOURCES]),
            total: Bucket::NEW,
            key,
        }
    }

    /// Whether a handshake message from `from` may be processed now. `known` says that the address
    /// has a session.
    pub(super) fn admit(&mut self, now: Time, from: SocketAddr, known: bool) -> bool {
        let source = &mut self.sources[bucket_of(&self.key, from.ip())];
        if known {
            // The total does not apply: a flood from many addresses must not prevent the renewal of
            // sessions.
            return source.take(now, PER_KNOWN_SOURCE);
        }
        source.take(now, PER_SOURCE) && self.total.take(now, IN_TOTAL)
    }
}

fn bucket_of(key: &[u8; 16], from: IpAddr) -> usize {
    let hasher = SipHasher24::new_with_key(key);
    let hash = match from.to_canonical() {
        IpAddr::V4(v4) => hasher.hash(&v4.octets()),
        // The owner of a /64 has 2^64 addresses, so they are one source.
        IpAddr::V6(v6) => hasher.hash(&v6.octets()[..8]),
    };
    (hash % SOURCES as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::{Ipv4Addr, Ipv6Addr};

    #[test]
    fn handshakes_are_limited_per_source_and_in_total() {
        let from = |n: u32| SocketAddr::from((Ipv4Addr::from(n), 5));
        let mut limiter = HandshakeLimiter::new([7; 16]);
        let of_one_source = (0..10_000_u64)
            .filter(|&n| limiter.admit(Time::from_micros(n * 100), from(1), false))
            .count();
        assert!(
            (10..=21).contains(&of_one_source),
            "{of_one_source} in one second"
        );
        let mut limiter = HandshakeLimiter::new([7; 16]);
        let of_many = (0..100_000_u32)
            .filter(|&n| limiter.admit(Time::from_micros(u64::from(n) * 10), from(n), false))
            .count();
        assert!((200..=300).contains(&of_many), "{of_many} in one second");
    }

    #[test]
    fn strangers_do_not_exhaust_the_limit_of_a_known_source_in_the_same_bucket() {
        let mut limiter = HandshakeLimiter::new([7; 16]);
        let from = SocketAddr::from((Ipv4Addr::LOCALHOST, 5));
        while limiter.admit(Time::ZERO, from, false) {}
        assert!(limiter.admit(Time::ZERO, from, true));
    }

    #[test]
    fn an_ipv6_prefix_of_64_bits_is_one_source() {
        let address =
            |prefix: u16, host: u16| Ipv6Addr::new(0x2001, 0xdb8, 0, prefix, 0, 0, 0, host);
        let key = [3; 16];
        let bucket = |prefix, host| bucket_of(&key, address(prefix, host).into());
        assert!((0..1_000).all(|host| bucket(0, host) == bucket(0, 0)));
        assert!((0..1_000).any(|prefix| bucket(prefix, 0) != bucket(0, 0)));
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
