//! CUBIC (RFC 9438) with HyStart, as Linux `tcp_cubic.c` has them.

use super::{AckEvent, CongestionControl, CongestionState, Window};
use airpace_units::Time;
use core::time::Duration;

/// C of RFC 9438, section 5: segments per cubic second.
const SCALE: f64 = 0.4;
/// Multiplicative decrease, β (RFC 9438, section 4.6; Linux: 717/1024).
const BETA: f64 = 717.0 / 1024.0;
/// Segments that Reno with the decrease of CUBIC gains per round trip (α of RFC 9438, section 4.3):
/// 3 (1 − β) / (1 + β).
const RENO_GAIN: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// The growth is computed anew after this time even if the window has not changed (Linux: HZ / 32).
const UPDATE_INTERVAL: Duration = Duration::from_micros(31_250);
/// Windows of acknowledgements per added segment where the curve is flat (Linux).
const FLAT_WINDOWS: f64 = 100.0;
/// Most acknowledgements per added segment before the first loss: growth by at least 5 % per round
/// trip (Linux).
const MAX_ACKS_BEFORE_LOSS: u32 = 20;
/// Fewest acknowledgements per added segment: growth to at most 1.5 times the window per round trip
/// (RFC 9438, section 4.2).
const MIN_ACKS: u32 = 2;
/// After a reduction, delays are not sampled for this time (Linux: 1 s).
const DELAY_PAUSE: Duration = Duration::from_secs(1);

/// CUBIC.
#[derive(Clone, Debug)]
pub(in super::super) struct Cubic {
    epoch: Option<Epoch>,
    /// The window before the last reduction (`W_max`), 0 before the first.
    last_max: u32,
    /// Acknowledged segments per added segment (Linux `cnt`).
    acks_per_increase: u32,
    /// The minimum round-trip time.
    min_delay: Option<Duration>,
    hystart: HyStart,
}

/// The congestion avoidance since the last reduction.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Time,
    /// Time after the start at which the window is as large as it was (K), seconds.
    plateau_s: f64,
    /// The window at the plateau, segments.
    origin: f64,
    /// The window that Reno would have (`W_est`), segments.
    reno_window: f64,
    /// When and for which window the growth was last computed.
    updated: Time,
    window: u32,
}

impl Cubic {
    pub(super) fn new() -> Self {
        Self {
            epoch: None,
            last_max: 0,
            acks_per_increase: 1,
            min_delay: None,
            hystart: HyStart::default(),
        }
    }

    /// Computes how fast the window grows (RFC 9438, sections 4.2 to 4.5; Linux `bictcp_update`).
    fn update(&mut self, now: Time, window: u32, acked: u32) {
        let delay = self.min_delay.unwrap_or_default();
        let last_max = self.last_max;
        let epoch = self
            .epoch
            .get_or_insert_with(|| Epoch::new(now, window, last_max));
        epoch.reno_window += f64::from(acked) * RENO_GAIN / f64::from(window);
        if epoch.window != window
            || now.saturating_since(epoch.updated) > UPDATE_INTERVAL
            || epoch.updated == epoch.start
        {
            (epoch.window, epoch.updated) = (window, now);
            // Growth in this round trip targets the window one round trip ahead.
            let at = now.saturating_since(epoch.start) + delay;
            self.acks_per_increase = segments_per_increase(epoch.target(at.as_secs_f64()), window);
            if last_max == 0 {
                self.acks_per_increase = self.acks_per_increase.min(MAX_ACKS_BEFORE_LOSS);
            }
        }
        // Reno-friendly region (RFC 9438, section 4.3): never grow more slowly than Reno would.
        let reno_window = epoch.reno_window.floor() as u32;
        if reno_window > window {
            self.acks_per_increase = self.acks_per_increase.min(window / (reno_window - window));
        }
        self.acks_per_increase = self.acks_per_increase.max(MIN_ACKS);
    }
}

/// Acknowledgements per added segment with which the window reaches `target` within a round trip.
fn segments_per_increase(target: f64, window: u32) -> u32 {
    let window = f64::from(window);
    let per = if target > window {
        window / (target - window)
    } else {
        FLAT_WINDOWS * window
    };
    per.min(FLAT_WINDOWS * window) as u32
}

impl Epoch {
    fn new(start: Time, window: u32, last_max: u32) -> Self {
        // The window starts below the plateau after a reduction, and at it where nothing is known
        // of the path (K = 0).
        let below = f64::from(last_max.saturating_sub(window));
        Self {
            start,
            plateau_s: (below / SCALE).cbrt(),
            origin: f64::from(last_max.max(window)),
            reno_window: f64::from(window),
            updated: start,
            window,
        }
    }

    /// The window `at_s` seconds after the start, in segments (RFC 9438, section 4.2, equation 1).
    fn target(&self, at_s: f64) -> f64 {
        self.origin + SCALE * (at_s - self.plateau_s).powi(3)
    }
}

impl CongestionControl for Cubic {
    fn on_ack(&mut self, ack: &AckEvent<'_>, window: &mut Window) {
        if let Some(rtt) = ack.rtt {
            self.on_rtt(ack, rtt, window);
        }
        if !ack.may_grow || !ack.window_limited {
            return;
        }
        // What slow start leaves over beyond its threshold counts for congestion avoidance.
        let left = if window.in_slow_start() {
            window.grow_fast(ack.delivered)
        } else {
            ack.delivered
        };
        if left > 0 {
            self.update(ack.now, window.segments, left);
            window.grow_slowly(self.acks_per_increase, left);
        }
    }

    fn on_congestion(&mut self, _now: Time, window: &Window) -> u32 {
        self.epoch = None;
        let segments = f64::from(window.segments);
        // Fast convergence (RFC 9438, section 4.7): a window that shrinks from one reduction to the
        // next makes room for new flows.
        let shrinking = window.segments < self.last_max;
        self.last_max = if shrinking {
            (segments * (1.0 + BETA) / 2.0) as u32
        } else {
            window.segments
        };
        ((segments * BETA) as u32).max(Window::MIN_THRESHOLD)
    }

    fn on_state(&mut self, state: CongestionState) {
        // After a timeout nothing that was learnt about the path holds (Linux `cubictcp_state`).
        if state == CongestionState::Loss {
            *self = Self::new();
        }
    }

    fn on_restart(&mut self, _now: Time, idle: Duration, _window: &mut Window) {
        // The curve stands still while nothing is sent (Linux `cubictcp_cwnd_event`).
        if let Some(epoch) = &mut self.epoch {
            epoch.start = epoch.start.saturating_add(idle);
        }
    }
}

impl Cubic {
    /// Takes a round-trip time and leaves slow start where HyStart detects a queue.
    fn on_rtt(&mut self, ack: &AckEvent<'_>, rtt: Duration, window: &mut Window) {
        if self
            .epoch
            .is_some_and(|epoch| ack.now.saturating_since(epoch.start) < DELAY_PAUSE)
        {
            return;
        }
        let min_delay = self.min_delay.map_or(rtt, |min| min.min(rtt));
        self.min_delay = Some(min_delay);
        if window.in_slow_start()
            && self
                .hystart
                .detects_queue(ack, rtt, min_delay, window.segments)
        {
            window.threshold = window.segments;
        }
    }
}

/// HyStart: leaves slow start before a loss, when the acknowledgements of one round come in a train
/// longer than half the path, or when delays grow (Ha and Rhee, "Taming the elephants: New TCP slow
/// start", 2011, as Linux implements it).
#[derive(Clone, Debug, Default)]
struct HyStart {
    found: bool,
    round_end: u64,
    round_start: Time,
    last_ack: Time,
    samples: u8,
    round_delay: Option<Duration>,
}

/// Smaller windows stay in slow start (Linux `hystart_low_window`).
const HYSTART_LOW_WINDOW: u32 = 16;
/// Longest gap between acknowledgements of one train (Linux `hystart_ack_delta_us`).
const HYSTART_TRAIN_GAP: Duration = Duration::from_millis(2);
/// Delays sampled per round before they are judged (Linux `HYSTART_MIN_SAMPLES`).
const HYSTART_SAMPLES: u8 = 8;
/// Bounds of the growth of delay that indicates a queue (Linux `HYSTART_DELAY_MIN`,
/// `HYSTART_DELAY_MAX`).
const HYSTART_MIN_GROWTH: Duration = Duration::from_millis(4);
const HYSTART_MAX_GROWTH: Duration = Duration::from_millis(16);
/// Acknowledgements may be late by the time of four bursts of segmentation offload, in bytes (Linux
/// `hystart_ack_delay`) …
const OFFLOAD_SLACK_BYTES: f64 = 4.0 * 65_536.0;
/// … but at most by this.
const MAX_OFFLOAD_SLACK: Duration = Duration::from_millis(1);
/// Payload of a segment that this estimate assumes, in bytes; the exact figure hardly matters.
const SEGMENT_BYTES: f64 = 1_448.0;

impl HyStart {
    /// Whether a queue has been detected by this acknowledgement.
    fn detects_queue(
        &mut self,
        ack: &AckEvent<'_>,
        rtt: Duration,
        min_delay: Duration,
        window: u32,
    ) -> bool {
        if self.found {
            return false;
        }
        // A round ends when everything sent before its start is acknowledged.
        if ack.acknowledged > self.round_end {
            (self.round_start, self.last_ack, self.round_end) = (ack.now, ack.now, ack.sent);
            (self.samples, self.round_delay) = (0, None);
        }
        if window < HYSTART_LOW_WINDOW {
            return false;
        }
        self.found = self.train_is_long(ack, min_delay, window) || self.delay_grows(rtt, min_delay);
        self.found
    }

    fn train_is_long(&mut self, ack: &AckEvent<'_>, min_delay: Duration, window: u32) -> bool {
        if ack.now.saturating_since(self.last_ack) > HYSTART_TRAIN_GAP {
            return false;
        }
        self.last_ack = ack.now;
        // In slow start Linux paces at twice the window per smoothed round trip.
        let smoothed = ack.smoothed_rtt.unwrap_or(min_delay).as_secs_f64();
        let rate = 2.0 * f64::from(window) * SEGMENT_BYTES / smoothed.max(1e-6);
        let slack = MAX_OFFLOAD_SLACK.min(Duration::from_secs_f64(OFFLOAD_SLACK_BYTES / rate));
        // A train as long as half the round trip means that the window fills the one-way path.
        ack.now.saturating_since(self.round_start) > (min_delay + slack) / 2
    }

    fn delay_grows(&mut self, rtt: Duration, min_delay: Duration) -> bool {
        let round_delay = self.round_delay.map_or(rtt, |delay| delay.min(rtt));
        self.round_delay = Some(round_delay);
        if self.samples < HYSTART_SAMPLES {
            self.samples += 1;
            return false;
        }
        round_delay > min_delay + (min_delay / 8).clamp(HYSTART_MIN_GROWTH, HYSTART_MAX_GROWTH)
    }
}
