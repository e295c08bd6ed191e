//! Rates from a list of times.

use super::AdaptationError;
use airpace_core::phy::TxRate;
use airpace_units::Time;

/// Rates from a list of times: each holds from its time until that of the next. Before the first
/// time the first rate holds.
#[derive(Clone, Debug)]
pub struct Trace {
    entries: Vec<(Time, TxRate)>,
    current: usize,
}

impl Trace {
    /// Its rates, in order of time.
    pub fn rates(&self) -> impl Iterator<Item = TxRate> + '_ {
        self.entries.iter().map(|&(_, rate)| rate)
    }

    /// A trace of `entries` in order of time. Of several entries with the same time the last
    /// counts.
    ///
    /// # Errors
    /// [`AdaptationError`] if there are no entries or they are not sorted.
    pub fn new(entries: Vec<(Time, TxRate)>) -> Result<Self, AdaptationError> {
        if entries.is_empty() {
            return Err(AdaptationError::NoRates);
        }
        if let Some(before) = entries.windows(2).position(|pair| pair[1].0 < pair[0].0) {
            return Err(AdaptationError::Unsorted {
                index: before + 1,
                at: entries[before + 1].0,
            });
        }
        Ok(Self {
            entries,
            current: 0,
        })
    }

    /// The rate at `now`. Times must not decrease: a `now` earlier than before leaves the rate
    /// unchanged.
    pub fn advance(&mut self, now: Time) -> TxRate {
        while self
            .entries
            .get(self.current + 1)
            .is_some_and(|next| next.0 <= now)
        {
            self.current += 1;
        }
        self.current()
    }

    /// The rate at the time of the last call of [`Trace::advance`].
    #[must_use]
    pub fn current(&self) -> TxRate {
        self.entries[self.current].1
    }

    /// When the rate changes next after the last call of [`Trace::advance`]; `None` if it does not
    /// change any more.
    #[must_use]
    pub fn next_change(&self) -> Option<Time> {
        self.entries.get(self.current + 1).map(|entry| entry.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airpace_core::phy::{GuardInterval, Standard, Width};

    fn rate(mcs: u8) -> TxRate {
        TxRate::new(Standard::Vht, Width::Mhz80, 1, mcs, GuardInterval::Ns800).unwrap()
    }

    #[test]
    fn each_rate_holds_until_the_time_of_the_next() {
        let at = Time::from_millis;
        let mut trace = Trace::new(vec![
            (at(10), rate(1)),
            (at(20), rate(2)),
            (at(20), rate(3)),
            (at(30), rate(4)),
        ])
        .unwrap();
        assert_eq!(
            (trace.advance(at(0)), trace.next_change()),
            (rate(1), Some(at(20)))
        );
        assert_eq!(trace.advance(at(19)), rate(1));
        assert_eq!(
            (trace.advance(at(20)), trace.next_change()),
            (rate(3), Some(at(30)))
        );
        assert_eq!(
            (trace.advance(at(99)), trace.next_change()),
            (rate(4), None)
        );
        assert_eq!(trace.advance(at(5)), rate(4));
    }

    #[test]
    fn empty_and_unsorted_traces_are_refused() {
        assert_eq!(
            Trace::new(Vec::new()).unwrap_err(),
            AdaptationError::NoRates
        );
        let at = Time::from_millis;
        let unsorted = vec![(at(1), rate(1)), (at(3), rate(2)), (at(2), rate(3))];
        assert_eq!(
            Trace::new(unsorted).unwrap_err(),
            AdaptationError::Unsorted {
                index: 2,
                at: at(2)
            }
        );
    }
}
