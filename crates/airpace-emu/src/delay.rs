use airpace_units::Time;
use core::time::Duration;
use std::collections::VecDeque;

/// A wire: what goes in comes out a constant time later, by logical time.
#[derive(Debug)]
pub(crate) struct DelayLine<T> {
    delay: Duration,
    under_way: VecDeque<(Time, T)>,
}

impl<T> DelayLine<T> {
    pub(crate) fn new(delay: Duration) -> Self {
        Self {
            delay,
            under_way: VecDeque::new(),
        }
    }

    /// Puts `item` in at `now`. Later calls must not be earlier in time.
    pub(crate) fn push(&mut self, now: Time, item: T) {
        self.under_way.push_back((now + self.delay, item));
    }

    /// When the next item comes out.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.under_way.front().map(|(at, _)| *at)
    }

    /// The next item that is out by `now`, and when it came out.
    pub(crate) fn pop(&mut self, now: Time) -> Option<(Time, T)> {
        self.under_way.front().filter(|(at, _)| *at <= now)?;
        self.under_way.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_come_out_in_order_and_not_before_their_time() {
        let mut wire = DelayLine::new(Duration::from_millis(2));
        wire.push(Time::from_millis(1), 'a');
        wire.push(Time::from_millis(4), 'b');
        assert_eq!(wire.deadline(), Some(Time::from_millis(3)));
        assert_eq!(wire.pop(Time::from_micros(2_999)), None);
        // However late one looks, an item came out when it did.
        assert_eq!(
            wire.pop(Time::from_millis(5)),
            Some((Time::from_millis(3), 'a'))
        );
        assert_eq!(wire.pop(Time::from_millis(5)), None);
    }
}
