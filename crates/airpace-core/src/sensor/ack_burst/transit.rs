//! How long frames take, from the moment at which they can be on the air to their answer.

use core::time::Duration;

/// The quantile of the transits that is reported. A transit is the frame's payload, its overhead, and
/// how long the acknowledgement waits for the channel, at times behind the frame to the next station.
/// In the lower quarter it hardly does: the rest is 220 to 400 µs, whatever the number of stations
/// (simulation of two to nine stations with frames of 0.1 to 1 ms). Of frames to stations that take
/// three to five times as long as the others', a fifth is missing.
const QUARTILE: f64 = 0.25;
/// Fewest transits for a quantile.
const FEWEST: usize = 6;
/// Most transits kept per slot.
const MOST: usize = 4_096;

/// The transits of one slot.
#[derive(Clone, Debug, Default)]
pub(super) struct Transits {
    slot: Vec<Duration>,
}

impl Transits {
    pub(super) fn add(&mut self, transit: Duration) {
        if self.slot.len() < MOST {
            self.slot.push(transit);
        }
    }

    /// Ends the slot: its lower quartile, unless there are too few. Few are kept for the next slot.
    pub(super) fn close(&mut self) -> Option<Duration> {
        if self.slot.len() < FEWEST {
            return None;
        }
        // A quarter of at most 4,096.
        let rank = (self.slot.len() as f64 * QUARTILE) as usize;
        let (_, &mut quartile, _) = self.slot.select_nth_unstable(rank);
        self.slot.clear();
        Some(quartile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lower_quartile_is_reported_once_there_are_enough() {
        let mut transits = Transits::default();
        for us in [900, 400, 600] {
            transits.add(Duration::from_micros(us));
        }
        assert_eq!(transits.close(), None);
        for us in [700, 500, 800, 300, 1_000] {
            transits.add(Duration::from_micros(us));
        }
        assert_eq!(transits.close(), Some(Duration::from_micros(500)));
        assert_eq!(transits.close(), None);
    }
}
