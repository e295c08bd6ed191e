//! In which order the stations answer.

use airpace_units::{StationId, Time};
use core::time::Duration;
use std::collections::VecDeque;

/// An answer that another one follows within this did not come before the other's frame: both frames
/// had been sent. A frame with its preamble, SIFS, block ack and the channel access of its answer
/// takes as long at least.
const NEXT_FRAME: Duration = Duration::from_micros(300);
/// Answers remembered: those of a round of many stations within [`NEXT_FRAME`] are skipped.
const REMEMBERED: usize = 32;

/// The latest bursts of all stations of an access point.
#[derive(Clone, Debug, Default)]
pub(super) struct Turns {
    bursts: VecDeque<(Time, StationId)>,
}

impl Turns {
    /// A burst of `station` begins.
    pub(super) fn add(&mut self, now: Time, station: StationId) {
        if self.bursts.len() == REMEMBERED {
            self.bursts.pop_front();
        }
        self.bursts.push_back((now, station));
    }

    /// When the latest burst of any station began.
    pub(super) fn latest(&self) -> Option<Time> {
        self.bursts.back().map(|&(at, _)| at)
    }

    /// The other stations whose bursts began so shortly before that their frames were sent together
    /// with the one that `station` answers now.
    pub(super) fn just_before(
        &self,
        now: Time,
        station: StationId,
    ) -> impl Iterator<Item = StationId> {
        let latest_first = self.bursts.iter().rev();
        latest_first
            .take_while(move |&&(at, _)| now.saturating_since(at) < NEXT_FRAME)
            .map(|&(_, other)| other)
            .filter(move |&other| other != station)
    }

    /// When another station answered the frame before the one that `station` answers now.
    pub(super) fn before(&self, now: Time, station: StationId) -> Option<Time> {
        let mut latest_first = self.bursts.iter().rev();
        let before = latest_first
            .find(|&&(at, other)| other != station && now.saturating_since(at) >= NEXT_FRAME);
        before.map(|&(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_in_the_wake_of_the_same_frames_and_ones_own_are_skipped() {
        let mut turns = Turns::default();
        let us = Time::from_micros;
        assert_eq!(turns.before(us(100), StationId(0)), None);
        for (at, station) in [(1_000, 1), (1_500, 0), (1_900, 2)] {
            turns.add(us(at), StationId(station));
        }
        assert_eq!(turns.before(us(2_000), StationId(0)), Some(us(1_000)));
        assert_eq!(turns.before(us(2_200), StationId(0)), Some(us(1_900)));
        assert_eq!(turns.before(us(2_200), StationId(2)), Some(us(1_500)));
        let together: Vec<_> = turns.just_before(us(2_000), StationId(0)).collect();
        assert_eq!(together, [StationId(2)]);
        assert_eq!(turns.just_before(us(2_200), StationId(0)).count(), 0);
        assert_eq!(turns.just_before(us(2_000), StationId(2)).count(), 0);
    }
}
