//! What stands before the expensive part of a handshake: a keyed check and limits on work.

use airpace_api::keys::PublicKey;
use airpace_units::Time;
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use ring::hmac;

use super::frame::MAC;
use super::suite::Suite;

/// A keyed check that only those who know the receiver's public key can make; random datagrams cost one short hash.
///
/// There is one key per cipher, so that the check also tells which cipher the sender has chosen.
pub(super) struct Check {
    keys: [hmac::Key; 2],
}

impl Check {
    pub(super) fn of(receiver: &PublicKey) -> Self {
        let key = |suite: Suite| {
            let label = format!("airpace handshake check v1 {suite:?} {receiver}");
            let digest = ring::digest::digest(&ring::digest::SHA256, label.as_bytes());
            hmac::Key::new(hmac::HMAC_SHA256, digest.as_ref())
        };
        Self {
            keys: Suite::ALL.map(key),
        }
    }

    /// Fills the last [`MAC`] bytes of a message.
    pub(super) fn sign(&self, suite: Suite, message: &mut [u8]) {
        let body = message.len() - MAC;
        let key = if suite == Suite::ALL[0] {
            &self.keys[0]
        } else {
            &self.keys[1]
        };
        let tag = hmac::sign(key, &message[..body]);
        message[body..].copy_from_slice(&tag.as_ref()[..MAC]);
    }

    /// The cipher for which the last [`MAC`] bytes are right. The key is no secret among peers, so the time it takes betrays
    /// nothing.
    pub(super) fn suite_of(&self, message: &[u8]) -> Option<Suite> {
        let (body, tag) = message.split_at(message.len().checked_sub(MAC)?);
        let holds = |key| hmac::sign(key, body).as_ref()[..MAC] == *tag;
        Suite::ALL
            .into_iter()
            .zip(&self.keys)
            .find_map(|(suite, key)| holds(key).then_some(suite))
    }
}

/// Initiations of configured peers that were processed, remembered by a part of their check. Memory is fixed; what is forgotten is
/// refused by its time stamp, only at a higher cost.
pub(super) struct Processed {
    marks: Box<[u64; PROCESSED]>,
}

/// A peer sends one initiation per two minutes: the last half hour of 64 peers.
const PROCESSED: usize = 1024;

impl Processed {
    pub(super) fn new() -> Self {
        Self {
            marks: Box::new([0; PROCESSED]),
        }
    }

    /// Whether this very message, whose check is right, was processed before.
    pub(super) fn has(&self, message: &[u8]) -> bool {
        let mark = Self::mark(message);
        self.marks[Self::place(mark)] == mark
    }

    /// Remembers a message whose check is right.
    pub(super) fn note(&mut self, message: &[u8]) {
        let mark = Self::mark(message);
        self.marks[Self::place(mark)] = mark;
    }

    /// The check is a keyed hash of all before it. To have another's initiation refused, one would have to find a message with
    /// the same 64 bits before that initiation arrives.
    fn mark(message: &[u8]) -> u64 {
        message
            .last_chunk()
            .map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    const fn place(mark: u64) -> usize {
        (mark % PROCESSED as u64) as usize
    }
}

/// A token bucket.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// Work is done until this instant, at one unit per interval.
    busy_until: Time,
}

impl Bucket {
    const NEW: Self = Self {
        busy_until: Time::ZERO,
    };

    fn take(&mut self, now: Time, interval: Duration, burst: u32) -> bool {
        let busy = self.busy_until.max(now);
        if busy.saturating_since(now) > interval.saturating_mul(burst.saturating_sub(1)) {
            return false;
        }
        self.busy_until = busy.saturating_add(interval);
        true
    }
}

/// Bounds the handshakes computed per second, whatever arrives: by source and in all. Memory is fixed.
pub(super) struct Limiter {
    sources: Box<[Bucket; SOURCES]>,
    all: Bucket,
    key: [u8; 16],
}

/// Buckets that source addresses are hashed to.
const SOURCES: usize = 256;
/// Per source: 10 handshakes per second, 10 at once. A peer needs one per two minutes, and a few when it roams.
const PER_SOURCE: (Duration, u32) = (Duration::from_millis(100), 10);
/// In all: 200 per second, at 0.1 to 0.3 ms each a few hundredths of a core.
const IN_ALL: (Duration, u32) = (Duration::from_millis(5), 100);

impl Limiter {
    pub(super) fn new(key: [u8; 16]) -> Self {
        Self {
            sources: Box::new([Bucket::NEW; SOURCES]),
            all: Bucket::NEW,
            key,
        }
    }

    /// Whether a handshake from `from` may be computed now. One from an address with a session is not held up by strangers.
    pub(super) fn admit(&mut self, now: Time, from: SocketAddr, known: bool) -> bool {
        let idx = self.bucket_of(from.ip());
        if known {
            return self.sources[idx].take(now, PER_SOURCE.0, PER_SOURCE.1 * 2);
        }
        self.sources[idx].take(now, PER_SOURCE.0, PER_SOURCE.1)
            && self.all.take(now, IN_ALL.0, IN_ALL.1)
    }

    fn bucket_of(&self, from: IpAddr) -> usize {
        let mut input = [0; 32];
        input[..16].copy_from_slice(&self.key);
        let address = match from {
            IpAddr::V4(v4) => v4.to_ipv6_mapped(),
            IpAddr::V6(v6) => v6,
        };
        // A whole /64 is one source: its owner has 2^64 addresses.
        let significant = if from.is_ipv4() { 16 } else { 8 };
        input[16..16 + significant].copy_from_slice(&address.octets()[..significant]);
        usize::from(ring::digest::digest(&ring::digest::SHA256, &input).as_ref()[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_bounded_per_source_and_in_all() {
        let mut limiter = Limiter::new([7; 16]);
        let from = |n: u32| SocketAddr::from((core::net::Ipv4Addr::from(n), 5));
        let one_source = (0..10_000_u64)
            .filter(|&us| limiter.admit(Time::from_micros(us * 100), from(1), false))
            .count();
        assert!(
            (10..=21).contains(&one_source),
            "{one_source} in one second"
        );
        let mut limiter = Limiter::new([7; 16]);
        let many = (0..100_000_u32)
            .filter(|&n| limiter.admit(Time::from_micros(u64::from(n) * 10), from(n), false))
            .count();
        assert!((200..=300).contains(&many), "{many} in one second");
    }

    #[test]
    fn the_check_needs_the_right_receiver() {
        let (right, wrong) = (
            Check::of(&PublicKey([1; 32])),
            Check::of(&PublicKey([2; 32])),
        );
        let mut message = [5; 60];
        for suite in Suite::ALL {
            right.sign(suite, &mut message);
            assert_eq!(right.suite_of(&message), Some(suite));
            assert_eq!(wrong.suite_of(&message), None);
        }
        message[3] ^= 1;
        assert_eq!(right.suite_of(&message), None);
        assert_eq!(right.suite_of(&[]), None);
    }
}
