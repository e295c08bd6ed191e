//! Prague: a scalable congestion control, which sends ECT(1) and reduces its window in proportion
//! to the share of its packets that are marked (draft-briscoe-iccrg-prague-congestion-control;
//! Linux `tcp_prague.c` of the L4S team; the response is that of DCTCP, RFC 8257).

use super::super::config::SenderConfig;
use super::{AckEvent, CongestionControl, CongestionState, Window};
use airpace_units::Time;
use core::time::Duration;

/// Weight g of one round in the average share of marked packets (RFC 8257, section 3.3).
const GAIN: f64 = 1.0 / 16.0;
/// Longest burst at the pacing rate (Linux `prague_burst_usec`).
const LONGEST_BURST: Duration = Duration::from_micros(250);
/// C of RFC 9438, section 5: segments per cubic second.
const SCALE: f64 = 0.4;
/// In slow start the window doubles each round trip, so segments leave at twice the rate (Linux).
const SLOW_START_PACE: f64 = 2.0;

/// Prague.
///
/// A flow whose round-trip time is shorter than [`SenderConfig::virtual_rtt`] behaves, once it has
/// left slow start, as if it had that one: rounds last that long, and its *rate* grows as fast. So
/// flows with different short round-trip times get equal shares, and marks stay rare on short
/// paths.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Prague {
    /// Average share of marked packets (α), 0 to 1.
    alpha: f64,
    /// The part of a segment by which the window is larger than [`Window::segments`].
    fraction: f64,
    round: Round,
    /// The next reduction may not come before.
    next_reduction: Time,
    /// When the window was last reduced, and how large it was before, segments.
    reduced_at: Time,
    peak: f64,
    virtual_rtt: Duration,
    segment_bytes: f64,
    /// Pacing rate, bytes per second; `None` before the first round-trip time.
    pacing_rate: Option<f64>,
}

/// One round: the packets acknowledged in one (virtual) round-trip time.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    /// `None` before the first acknowledgement.
    ends: Option<Time>,
    delivered: u64,
    marked: u64,
}

impl Prague {
    pub(super) fn new(config: &SenderConfig) -> Self {
        Self {
            alpha: 0.0,
            fraction: 0.0,
            round: Round::default(),
            next_reduction: Time::ZERO,
            reduced_at: Time::ZERO,
            peak: 0.0,
            virtual_rtt: config.virtual_rtt,
            segment_bytes: f64::from(config.segment_bytes),
            pacing_rate: None,
        }
    }

    /// Counts the packets that an acknowledgement reports, and takes the share of marks into the
    /// average at the end of a round.
    fn count(&mut self, ack: &AckEvent<'_>, length: Duration) {
        self.round.delivered += u64::from(ack.delivered);
        self.round.marked += u64::from(ack.marked);
        let next_end = ack.now.saturating_add(length);
        if ack.now < *self.round.ends.get_or_insert(next_end) {
            return;
        }
        if self.round.delivered > 0 {
            // Duplicates are marked and counted too, but not delivered again.
            let share = self.round.marked as f64 / self.round.delivered as f64;
            self.alpha += GAIN * (share.min(1.0) - self.alpha);
        }
        self.round = Round {
            ends: Some(next_end),
            ..Round::default()
        };
    }

    /// Reduces the window by half of the average share of marks (RFC 8257, section 3.3, equation
    /// 9), at most once per round.
    fn reduce(&mut self, now: Time, round: Duration, window: &mut Window) {
        self.reduced_at = now;
        self.peak = f64::from(window.segments) + self.fraction;
        let reduced = self.peak * (1.0 - self.alpha / 2.0);
        let reduced = reduced.max(f64::from(Window::MIN_THRESHOLD));
        window.segments = reduced as u32;
        self.fraction = reduced.fract();
        window.threshold = window.segments;
        self.next_reduction = now.saturating_add(round);
    }

    /// Segments by which Cubic's window would exceed this one a round trip from now (RFC 9438,
    /// section 4.2, equation 1, with the depth of the last reduction).
    fn cubic_growth(&self, now: Time, rtt: Duration, window: &Window) -> f64 {
        let current = f64::from(window.segments) + self.fraction;
        let since = now.saturating_since(self.reduced_at) + rtt;
        let floor = f64::from(window.threshold.min(window.segments));
        let plateau_s = ((self.peak - floor).max(0.0) / SCALE).cbrt();
        let target = self.peak + SCALE * (since.as_secs_f64() - plateau_s).powi(3);
        (target - current).min(current / 2.0)
    }

    /// Additive increase: `segments` per round trip for a window of acknowledgements without marks.
    fn grow(&mut self, acked: u32, segments: f64, window: &mut Window) {
        self.fraction += f64::from(acked) * segments / f64::from(window.segments.max(1));
        let whole = self.fraction.floor();
        self.fraction -= whole;
        window.segments = window.segments.saturating_add(whole as u32);
    }
}

impl CongestionControl for Prague {
    fn on_ack(&mut self, ack: &AckEvent<'_>, window: &mut Window) {
        let Some(rtt) = ack.smoothed_rtt else { return };
        let round = rtt.max(self.virtual_rtt);
        if ack.marked > 0 && window.threshold == u32::MAX {
            // Nothing is known of the path yet, so the mark that ends the first slow start counts
            // as much as a loss (RFC 8257, section 3.3: α is 1 at the start).
            self.alpha = 1.0;
        }
        self.count(ack, round);
        let repairs = ack.state >= CongestionState::Recovery;
        let unmarked = ack.delivered.saturating_sub(ack.marked);
        if ack.marked > 0 && !repairs && ack.now >= self.next_reduction {
            self.reduce(ack.now, round, window);
        } else if ack.may_grow && ack.window_limited {
            if window.in_slow_start() {
                window.grow_fast(unmarked);
            } else {
                // The rate grows by a segment per round trip, in each round trip. As if the
                // round-trip time were the virtual one, both factors are smaller.
                let scale = rtt.as_secs_f64() / round.as_secs_f64();
                // Far from its share a segment per round trip takes half a minute on long paths. A
                // flow that was not marked for seconds grows as fast as Cubic would.
                let segments = self.cubic_growth(ack.now, rtt, window).max(scale * scale);
                self.grow(unmarked, segments, window);
            }
        }
        let pace = if window.in_slow_start() {
            SLOW_START_PACE
        } else {
            1.0
        };
        let window_bytes = (f64::from(window.segments) + self.fraction) * self.segment_bytes;
        self.pacing_rate = Some(pace * window_bytes / rtt.as_secs_f64().max(1e-6));
    }

    fn on_congestion(&mut self, now: Time, window: &Window) -> u32 {
        // A loss halves the window as in Reno (RFC 8257, section 3.5), and the marks of the same
        // round are answered with it.
        self.next_reduction = now.saturating_add(self.virtual_rtt);
        self.reduced_at = now;
        self.peak = f64::from(window.segments);
        self.fraction = 0.0;
        (window.segments / 2).max(Window::MIN_THRESHOLD)
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.pacing_rate
    }

    fn longest_burst(&self) -> Option<Duration> {
        Some(LONGEST_BURST)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::config::Algorithm;
    use super::*;
    use crate::transport::tcp::delivery::{Delivery, RateSample};

    const RTT: Duration = Duration::from_millis(50);

    /// Acknowledges a window per round trip from second `from` to second `to`: first `marked`
    /// segments with marks, then the rest.
    fn run(prague: &mut Prague, window: &mut Window, marked: u32, [from, to]: [u64; 2]) {
        let mut now = Time::from_millis(1_000 * from);
        while now < Time::from_millis(1_000 * to) {
            now += RTT;
            let marked = marked.min(window.segments);
            let rest = window.segments - marked;
            for (delivered, marked) in [(marked, marked), (rest, 0)] {
                let (sample, delivery) = (RateSample::default(), Delivery::default());
                prague.on_ack(&ack(now, delivered, marked, &sample, &delivery), window);
            }
        }
    }

    fn ack<'a>(
        now: Time,
        delivered: u32,
        marked: u32,
        sample: &'a RateSample,
        delivery: &'a Delivery,
    ) -> AckEvent<'a> {
        AckEvent {
            now,
            delivered,
            lost: 0,
            marked,
            prior_in_flight: 0,
            in_flight: 0,
            rtt: Some(RTT),
            smoothed_rtt: Some(RTT),
            acknowledged: 0,
            sent: 0,
            state: CongestionState::Open,
            window_limited: true,
            may_grow: true,
            next_send: now,
            sample,
            delivery,
        }
    }

    fn prague_at(segments: u32) -> (Prague, Window) {
        let mut window = Window::new(segments);
        window.threshold = segments;
        (Prague::new(&SenderConfig::new(Algorithm::Prague)), window)
    }

    #[test]
    fn the_average_follows_the_share_of_marks() {
        let (mut prague, mut window) = prague_at(100);
        // α ← (1 − g) α + g F in each round (RFC 8257, section 3.3), here with F = 1/4.
        prague.virtual_rtt = RTT;
        let mut expected = 0.0;
        for _ in 0..40 {
            prague.round = Round {
                delivered: 300,
                marked: 100,
                ends: Some(Time::from_millis(50)),
            };
            // An acknowledgement of 100 more without marks ends the round.
            window.segments = 100;
            let (sample, delivery) = (RateSample::default(), Delivery::default());
            let now = Time::from_millis(50);
            prague.on_ack(&ack(now, 100, 0, &sample, &delivery), &mut window);
            expected += (0.25 - expected) / 16.0;
            assert!((prague.alpha - expected).abs() < 1e-12);
        }
        run(&mut prague, &mut window, u32::MAX, [1, 20]);
        assert!(prague.alpha > 0.99, "{prague:?}");
    }

    #[test]
    fn the_first_mark_in_slow_start_halves_the_window() {
        let mut prague = Prague::new(&SenderConfig::new(Algorithm::Prague));
        let mut window = Window::new(10);
        run(&mut prague, &mut window, 0, [0, 1]);
        let before = window.segments;
        assert!(before > 1_000_000, "{before}: it doubles each round trip");
        let mut window = Window::new(64);
        prague = Prague::new(&SenderConfig::new(Algorithm::Prague));
        prague.reduce(Time::ZERO, RTT, &mut window);
        assert_eq!(window.segments, 64, "no marks, no reduction");
        prague.alpha = 1.0;
        prague.reduce(Time::ZERO, RTT, &mut window);
        assert_eq!((window.segments, window.threshold), (32, 32));
    }

    #[test]
    fn two_marks_per_round_trip_hold_any_window() {
        // RFC 9331, section 4.3: a scalable control has a constant number of marks per round trip.
        // An increase of one segment and a decrease of α/2 balance at α · W = 2. (Nearly: marked
        // segments do not count towards the increase.)
        for segments in [50, 500] {
            let (mut prague, mut window) = prague_at(segments);
            prague.alpha = 2.0 / f64::from(segments);
            run(&mut prague, &mut window, 2, [0, 5]);
            let error = f64::from(window.segments) / f64::from(segments) - 1.0;
            assert!(error.abs() < 0.25, "{segments}: {window:?}");
        }
    }

    #[test]
    fn a_flow_that_is_not_marked_for_long_grows_as_cubic_does() {
        let (mut prague, mut window) = prague_at(20);
        prague.peak = 20.0;
        run(&mut prague, &mut window, 0, [0, 10]);
        // 0.4 · 10³ + 20; a segment per round trip would give 220.
        assert!(window.segments.abs_diff(420) < 15, "{window:?}");
    }

    #[test]
    fn a_loss_halves_the_window() {
        let (mut prague, window) = prague_at(80);
        assert_eq!(prague.on_congestion(Time::ZERO, &window), 40);
        let small = Window::new(1);
        assert_eq!(prague.on_congestion(Time::ZERO, &small), 2);
    }
}
