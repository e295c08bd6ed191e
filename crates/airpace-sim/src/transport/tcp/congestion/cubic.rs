//! CUBIC (RFC 9438) with HyStart, as Linux `tcp_cubic.c` has them.

use super::{AckEvent, CongestionControl, State, Window};
use airpace_units::Time;
use core::time::Duration;

/// C of RFC 9438, section 5: segments per cubic second.
const SCALE: f64 = 0.4;
/// Multiplicative decrease (RFC 9438, section 4.6; Linux: 717/1024).
const BETA: f64 = 717.0 / 1024.0;
/// Segments that Reno with CUBIC's decrease would gain per round trip (RFC 9438, equation 4): 3 (1 − β) / (1 + β).
const FRIENDLY_GAIN: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// Without news the growth is worked out again after this long (Linux: HZ / 32).
const UPDATE_INTERVAL: Duration = Duration::from_micros(31_250);
/// Acknowledgements per added segment when the curve is flat (Linux).
const FLAT: f64 = 100.0;
/// The same at most before the first loss: 5 % per round trip (Linux).
const FIRST_CLIMB: u32 = 20;
/// Fewest acknowledgements per added segment (Linux: at most 1.5 times per round trip).
const STEEPEST: u32 = 2;
/// After a loss delays tell nothing of an empty path for this long (Linux: 1 s).
const DELAY_PAUSE: Duration = Duration::from_secs(1);

/// CUBIC.
#[derive(Clone, Debug)]
pub(in super::super) struct Cubic {
    epoch: Option<Epoch>,
    /// The window before the last reduction (`W_max`), 0 before the first.
    last_max: u32,
    /// Acknowledged segments per added segment.
    per: u32,
    /// The smallest round-trip time.
    min_delay: Option<Duration>,
    hystart: HyStart,
}

/// What counts from the last reduction.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Time,
    /// Time after the start at which the window is as large as it was (K), seconds.
    plateau_s: f64,
    /// That window.
    origin: f64,
    /// The window that Reno would have.
    friendly: f64,
    updated: Time,
    window: u32,
}

impl Cubic {
    pub(super) fn new() -> Self {
        Self {
            epoch: None,
            last_max: 0,
            per: 1,
            min_delay: None,
            hystart: HyStart::default(),
        }
    }

    /// Works out how fast the window grows.
    fn update(&mut self, now: Time, window: u32, acked: u32) {
        let delay = self.min_delay.unwrap_or_default();
        let last_max = self.last_max;
        let epoch = self
            .epoch
            .get_or_insert_with(|| Epoch::new(now, window, last_max));
        epoch.friendly += f64::from(acked) * FRIENDLY_GAIN / f64::from(window);
        if epoch.window != window
            || now.saturating_since(epoch.updated) > UPDATE_INTERVAL
            || epoch.updated == epoch.start
        {
            (epoch.window, epoch.updated) = (window, now);
            let at = now.saturating_since(epoch.start) + delay;
            self.per = segments_per_increase(epoch.target(at.as_secs_f64()), window);
            if last_max == 0 {
                self.per = self.per.min(FIRST_CLIMB);
            }
        }
        // RFC 9438, section 4.3: never slower than Reno would be.
        let friendly = epoch.friendly.floor() as u32;
        if friendly > window {
            self.per = self.per.min(window / (friendly - window));
        }
        self.per = self.per.max(STEEPEST);
    }
}

/// Acknowledgements per added segment that take the window to `target` within a round trip.
fn segments_per_increase(target: f64, window: u32) -> u32 {
    let window = f64::from(window);
    let per = if target > window {
        window / (target - window)
    } else {
        FLAT * window
    };
    per.min(FLAT * window) as u32
}

impl Epoch {
    fn new(start: Time, window: u32, last_max: u32) -> Self {
        let below = f64::from(last_max.saturating_sub(window));
        Self {
            start,
            plateau_s: (below / SCALE).cbrt(),
            origin: f64::from(last_max.max(window)),
            friendly: f64::from(window),
            updated: start,
            window,
        }
    }

    /// The window that CUBIC wants `at_s` seconds after the start (RFC 9438, equation 1).
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
        let left = if window.in_slow_start() {
            window.grow_fast(ack.delivered)
        } else {
            ack.delivered
        };
        if left > 0 {
            self.update(ack.now, window.segments, left);
            window.grow_slowly(self.per, left);
        }
    }

    fn on_congestion(&mut self, _now: Time, window: &Window) -> u32 {
        self.epoch = None;
        let segments = f64::from(window.segments);
        // Fast convergence (RFC 9438, section 4.7): leave room to newcomers.
        let shrinking = window.segments < self.last_max;
        self.last_max = if shrinking {
            (segments * (1.0 + BETA) / 2.0) as u32
        } else {
            window.segments
        };
        ((segments * BETA) as u32).max(Window::MIN_THRESHOLD)
    }

    fn on_state(&mut self, state: State) {
        if state == State::Loss {
            *self = Self::new();
        }
    }

    fn on_restart(&mut self, _now: Time, idle: Duration, _window: &mut Window) {
        // The curve does not go on while nothing is sent.
        if let Some(epoch) = &mut self.epoch {
            epoch.start = epoch.start.saturating_add(idle);
        }
    }
}

impl Cubic {
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
                .sees_queue(ack, rtt, min_delay, window.segments)
        {
            window.threshold = window.segments;
        }
    }
}

/// Leaves slow start before losses do: when acknowledgements of one round come in a train longer than half the path, or delays grow
/// (Ha and Rhee, "Taming the elephants", 2011, as Linux has it).
#[derive(Clone, Debug, Default)]
struct HyStart {
    found: bool,
    round_end: u64,
    round_start: Time,
    last_ack: Time,
    samples: u8,
    round_delay: Option<Duration>,
}

/// Smaller windows are left alone (Linux `hystart_low_window`).
const HYSTART_LOW_WINDOW: u32 = 16;
/// Acknowledgements this close belong to one train (Linux `hystart_ack_delta_us`).
const HYSTART_TRAIN_GAP: Duration = Duration::from_millis(2);
/// Delays per round before they tell anything (Linux `HYSTART_MIN_SAMPLES`).
const HYSTART_SAMPLES: u8 = 8;
/// Least and largest growth of the delay that counts (Linux `HYSTART_DELAY_MIN`, `HYSTART_DELAY_MAX`).
const HYSTART_DELAY: (Duration, Duration) = (Duration::from_millis(4), Duration::from_millis(16));
/// Bytes that a host offloads at once; acknowledgements may be late by four times as much (Linux `hystart_ack_delay`).
const OFFLOAD_BYTES: f64 = 4.0 * 65_536.0;
/// And by no more than this.
const OFFLOAD_DELAY: Duration = Duration::from_millis(1);
/// Payload of a segment for the line above, where the exact figure hardly matters, bytes.
const SEGMENT_BYTES: f64 = 1_448.0;

impl HyStart {
    fn sees_queue(
        &mut self,
        ack: &AckEvent<'_>,
        rtt: Duration,
        min_delay: Duration,
        window: u32,
    ) -> bool {
        if self.found {
            return false;
        }
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
        // Twice the window in a smoothed round trip is what Linux takes for the rate in slow start.
        let smoothed = ack.smoothed_rtt.unwrap_or(min_delay).as_secs_f64();
        let rate = 2.0 * f64::from(window) * SEGMENT_BYTES / smoothed.max(1e-6);
        let slack = OFFLOAD_DELAY.min(Duration::from_secs_f64(OFFLOAD_BYTES / rate));
        ack.now.saturating_since(self.round_start) > (min_delay + slack) / 2
    }

    fn delay_grows(&mut self, rtt: Duration, min_delay: Duration) -> bool {
        let round_delay = self.round_delay.map_or(rtt, |delay| delay.min(rtt));
        self.round_delay = Some(round_delay);
        if self.samples < HYSTART_SAMPLES {
            self.samples += 1;
            return false;
        }
        round_delay > min_delay + (min_delay / 8).clamp(HYSTART_DELAY.0, HYSTART_DELAY.1)
    }
}
