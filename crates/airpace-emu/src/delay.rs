//! Wires with a constant delay.

use airpace_units::Time;
use core::time::Duration;
use std::collections::VecDeque;

/// A wire: each item comes out a constant time after it went in, by logical time.
#[derive(Debug)]
pub(crate) struct DelayLine<T> {
    delay: Duration,
    /// The items on the wire and the times at which they come out.
    in_flight: VecDeque<(Time, T)>,
}

impl<T> DelayLine<T> {
    pub(crate) fn new(delay: Duration) -> Self {
        Self {
            delay,
            in_flight: VecDeque::new(),
        }
    }

    /// Puts `item` in at `now`, which must not be earlier than in the call before.
    pub(crate) fn push(&mut self, now: Time, item: T) {
        self.in_flight.push_back((now + self.delay, item));
    }

    /// Returns when the next item comes out; `None` if the wire is empty.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.in_flight.front().map(|(at, _)| *at)
    }

    /// Returns the next item that has come out by `now`, and the time at which it did.
    pub(crate) fn pop(&mut self, now: Time) -> Option<(Time, T)> {
        self.in_flight.front().filter(|(at, _)| *at <= now)?;
        self.in_flight.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_come_out_in_order_and_at_their_time() {
        let mut wire = DelayLine::new(Duration::from_millis(2));
        wire.push(Time::from_millis(1), 'a');
        wire.push(Time::from_millis(4), 'b');
        assert_eq!(wire.deadline(), Some(Time::from_millis(3)));
        assert_eq!(wire.pop(Time::from_micros(2_999)), None);
        // A late caller gets the time at which the item came out.
        assert_eq!(
            wire.pop(Time::from_millis(5)),
            Some((Time::from_millis(3), 'a'))
        );
        assert_eq!(wire.pop(Time::from_millis(5)), None);
    }
}
