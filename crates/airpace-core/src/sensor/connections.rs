//! The connections of a station, of which a bounded number is remembered.

use super::ack_burst::FlowKey;
use airpace_units::Time;
use std::collections::BTreeMap;

/// Most connections per station; the one that was silent longest is forgotten first.
const MOST: usize = 256;

/// What is remembered of each connection of a station.
#[derive(Clone, Debug, Default)]
pub(super) struct Connections<C> {
    /// With the time at which something of the connection was last seen.
    by_key: BTreeMap<FlowKey, (Time, C)>,
}

impl<C: Default> Connections<C> {
    /// The connection of a packet that passes.
    pub(super) fn seen(&mut self, now: Time, key: FlowKey) -> &mut C {
        if self.by_key.len() >= MOST && !self.by_key.contains_key(&key) {
            let oldest = self.by_key.iter().min_by_key(|(_, (seen, _))| *seen);
            if let Some(key) = oldest.map(|(&key, _)| key) {
                self.by_key.remove(&key);
            }
        }
        let (seen, connection) = self.by_key.entry(key).or_default();
        *seen = now;
        connection
    }

    /// All that are remembered.
    pub(super) fn iter(&self) -> impl Iterator<Item = &C> {
        self.by_key.values().map(|(_, connection)| connection)
    }
}

/// Whether TCP sequence number `a` comes after `b`, modulo 2³² (RFC 9293 §3.4).
pub(super) const fn is_after(a: u32, b: u32) -> bool {
    a.wrapping_sub(b).cast_signed() > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_connection_that_was_silent_longest_is_forgotten_first() {
        let mut connections: Connections<u64> = Connections::default();
        for n in 0..MOST as u64 {
            *connections.seen(Time::from_millis(n), FlowKey(n)) = n + 1;
        }
        assert_eq!(*connections.seen(Time::from_millis(1_000), FlowKey(0)), 1);
        assert_eq!(
            *connections.seen(Time::from_millis(1_000), FlowKey(9_999)),
            0
        );
        assert_eq!(connections.iter().count(), MOST);
        assert_eq!(*connections.seen(Time::from_millis(1_000), FlowKey(2)), 3);
        assert_eq!(*connections.seen(Time::from_millis(1_000), FlowKey(1)), 0);
    }
}
