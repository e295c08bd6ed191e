//! Round trips between the box and the servers, from TCP timestamps (RFC 7323) that pass the box.
//!
//! An acknowledgement from a station carries the station's clock. The server returns that value in
//! the segments that it sends next. The time between the two at the box is the round trip on the
//! wired side, with the queues there and the pauses of the server in it, and without the access
//! point. The smallest round trip of the same connection stands for a path without queues.
//!
//! One value per connection is waited for at a time, so a connection gives about one sample per
//! round trip. A connection that begins while the queue stands already has too large a minimum, and
//! hides that queue.

use super::ack_burst::FlowKey;
use super::connections::{Connections, is_after};
use airpace_units::Time;
use core::time::Duration;

/// A value that has not come back after this time is given up: the server had nothing to send.
const LONGEST: Duration = Duration::from_secs(5);

/// A round trip on the wired side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WiredRoundTrip {
    /// The round trip.
    pub time: Duration,
    /// The smallest one of the same connection so far.
    pub smallest: Duration,
}

impl WiredRoundTrip {
    /// What the round trip is above the smallest one: the time in queues.
    #[must_use]
    pub fn excess(&self) -> Duration {
        self.time.saturating_sub(self.smallest)
    }
}

/// Round trips of the connections of one station.
///
/// ```
/// use airpace_core::sensor::ack_burst::FlowKey;
/// use airpace_core::sensor::wired::WiredMeter;
/// use airpace_units::Time;
/// use core::time::Duration;
///
/// let mut meter = WiredMeter::default();
/// meter.on_uplink(Time::from_millis(0), FlowKey(1), 500);
/// meter.on_downlink(Time::from_millis(12), FlowKey(1), 500);
/// assert_eq!(meter.take().map(|trip| trip.time), Some(Duration::from_millis(12)));
/// assert_eq!(meter.take(), None);
/// ```
#[derive(Clone, Debug, Default)]
pub struct WiredMeter {
    flows: Connections<Flow>,
    /// The sample with the least excess since the last call of [`WiredMeter::take`].
    best: Option<WiredRoundTrip>,
}

#[derive(Clone, Debug, Default)]
struct Flow {
    /// The value that is waited for, and when it passed.
    stamp: Option<(u32, Time)>,
    smallest: Option<Duration>,
}

impl WiredMeter {
    /// A TCP segment from the station passes, with its timestamp `value`.
    pub fn on_uplink(&mut self, now: Time, flow: FlowKey, value: u32) {
        let stamp = &mut self.flows.seen(now, flow).stamp;
        let is_stale = stamp.is_none_or(|(_, at)| now.saturating_since(at) > LONGEST);
        if is_stale {
            *stamp = Some((value, now));
        }
    }

    /// A TCP segment to the station arrives from the wired side and returns the timestamp `echo`.
    pub fn on_downlink(&mut self, now: Time, flow: FlowKey, echo: u32) {
        let known = self.flows.seen(now, flow);
        let Some((value, at)) = known.stamp else {
            return;
        };
        if is_after(value, echo) {
            return;
        }
        known.stamp = None;
        let time = now.saturating_since(at);
        // A later value has come back instead: when this one would have is not known.
        if value != echo || time > LONGEST {
            return;
        }
        let smallest = known.smallest.map_or(time, |before| before.min(time));
        known.smallest = Some(smallest);
        let sample = WiredRoundTrip { time, smallest };
        if self.best.is_none_or(|best| sample.excess() < best.excess()) {
            self.best = Some(sample);
        }
    }

    /// Returns the round trip with the least excess since the last call; `None` without one. It is
    /// the least disturbed by pauses of servers.
    pub const fn take(&mut self) -> Option<WiredRoundTrip> {
        self.best.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOW: FlowKey = FlowKey(7);

    const fn ms(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    fn trip(meter: &mut WiredMeter, begin_ms: u64, length_ms: u64, value: u32) {
        meter.on_uplink(ms(begin_ms), FLOW, value);
        meter.on_downlink(ms(begin_ms + length_ms), FLOW, value);
    }

    #[test]
    fn a_standing_queue_on_the_wired_side_shows_above_the_smallest_round_trip() {
        let mut meter = WiredMeter::default();
        trip(&mut meter, 0, 10, 1);
        assert_eq!(meter.take().map(|trip| trip.excess()), Some(Duration::ZERO));
        trip(&mut meter, 100, 150, 2);
        trip(&mut meter, 300, 130, 3);
        let trip = meter.take().expect("two samples");
        assert_eq!(trip.time, Duration::from_millis(130));
        assert_eq!(trip.excess(), Duration::from_millis(120));
    }

    #[test]
    fn a_value_that_is_skipped_or_comes_back_too_late_is_no_sample() {
        let mut meter = WiredMeter::default();
        meter.on_uplink(ms(0), FLOW, 10);
        meter.on_uplink(ms(5), FLOW, 15);
        meter.on_downlink(ms(9), FLOW, 9);
        meter.on_downlink(ms(20), FLOW, 15);
        assert_eq!(meter.take(), None, "an older and a later value came back");
        trip(&mut meter, 100, 6_000, 20);
        assert_eq!(meter.take(), None, "a pause of the server");
        meter.on_downlink(ms(9_000), FlowKey(8), 20);
        assert_eq!(meter.take(), None, "another connection");
    }

    #[test]
    fn timestamps_may_wrap() {
        let mut meter = WiredMeter::default();
        meter.on_uplink(ms(0), FLOW, u32::MAX);
        meter.on_downlink(ms(3), FLOW, u32::MAX - 1);
        meter.on_downlink(ms(8), FLOW, u32::MAX);
        assert_eq!(
            meter.take().map(|trip| trip.time),
            Some(Duration::from_millis(8))
        );
        meter.on_uplink(ms(20), FLOW, u32::MAX);
        meter.on_downlink(ms(28), FLOW, 2);
        assert_eq!(meter.take(), None);
    }
}
