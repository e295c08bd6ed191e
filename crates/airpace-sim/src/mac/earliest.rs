//! The earliest of many times that change one by one.

use airpace_units::Time;

/// No time: later than any.
const NEVER: Time = Time::from_nanos(u64::MAX);

/// A time or none for each of a fixed number of entries, and the earliest of them.
///
/// A tree of winners: each inner place has the earlier one of the two below it. A change costs one
/// comparison per level, and ends where the winner stays the same.
#[derive(Debug)]
pub(super) struct Earliest {
    /// Of each place the time and the entry; the root is at 1, the children of `i` at 2 i and
    /// 2 i + 1, and the last half are the entries.
    places: Vec<(Time, u32)>,
    leaves: usize,
}

impl Earliest {
    /// `count` entries without a time.
    pub(super) fn new(count: usize) -> Self {
        let leaves = count.next_power_of_two();
        let mut places = vec![(NEVER, 0); 2 * leaves];
        for (entry, place) in (0..).zip(&mut places[leaves..]) {
            place.1 = entry;
        }
        Self { places, leaves }
    }

    /// Sets the time of an entry.
    pub(super) fn set(&mut self, entry: usize, time: Option<Time>) {
        let time = time.unwrap_or(NEVER);
        let mut place = self.leaves + entry;
        if self.places[place].0 == time {
            return;
        }
        self.places[place].0 = time;
        while place > 1 {
            let winner = self.places[place].min(self.places[place ^ 1]);
            place /= 2;
            if self.places[place] == winner {
                return;
            }
            self.places[place] = winner;
        }
    }

    /// The earliest time and its entry; `None` if no entry has a time.
    pub(super) fn first(&self) -> Option<(Time, usize)> {
        let (time, entry) = self.places[1];
        (time != NEVER).then_some((time, entry as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    #[test]
    fn the_earliest_is_that_of_a_search_through_all_entries() {
        let mut draws = Stream::new(7, "earliest", 0);
        for count in [1, 2, 3, 8, 13] {
            let mut times = vec![None; count];
            let mut earliest = Earliest::new(count);
            assert_eq!(earliest.first(), None);
            for _ in 0..2_000 {
                let entry = draws.up_to(count as u32 - 1) as usize;
                let time = u64::from(draws.up_to(20));
                times[entry] = (time > 3).then(|| Time::from_nanos(time));
                earliest.set(entry, times[entry]);
                let expected = times.iter().flatten().min().copied();
                assert_eq!(earliest.first().map(|(at, _)| at), expected);
                if let Some((at, entry)) = earliest.first() {
                    assert_eq!(times[entry], Some(at));
                }
            }
        }
    }
}
