//! Congestion control: the size of the congestion window and the pacing rate.

mod bbr;
mod cubic;
mod filter;
mod prague;
mod reno;

use super::config::SenderConfig;
use super::delivery::{Delivery, RateSample};
use airpace_units::Time;
use bbr::Bbr;
use core::time::Duration;
use cubic::Cubic;
use prague::Prague;
use reno::Reno;

/// State of congestion and recovery (Linux `enum tcp_ca_state`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum CongestionState {
    /// No sign of congestion.
    #[default]
    Open,
    /// Some segments arrived out of order; one may be lost.
    Disorder,
    /// The window is being reduced after a congestion mark (`TCP_CA_CWR`).
    Reduced,
    /// The window is being reduced and losses are being repaired.
    Recovery,
    /// The retransmission timer has expired: everything in flight may be lost.
    Loss,
}

/// The congestion window, in segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// Most segments in flight.
    pub segments: u32,
    /// Slow-start threshold: from here on the window grows slowly. Unlimited at the start.
    pub threshold: u32,
    /// Segments acknowledged that count towards the next increase (Linux `snd_cwnd_cnt`).
    credit: u32,
}

impl Window {
    /// Least threshold (RFC 5681, equation 4).
    pub const MIN_THRESHOLD: u32 = 2;

    /// The initial window, with an unlimited threshold.
    #[must_use]
    pub const fn new(segments: u32) -> Self {
        Self {
            segments,
            threshold: u32::MAX,
            credit: 0,
        }
    }

    /// Whether the window doubles each round trip.
    #[must_use]
    pub const fn in_slow_start(&self) -> bool {
        self.segments < self.threshold
    }

    /// Discards the credit towards the next increase.
    pub fn clear_credit(&mut self) {
        self.credit = 0;
    }

    /// Slow start (RFC 5681, section 3.1, with the byte counting of RFC 3465 but without its
    /// limit): grows by `acked` segments up to the threshold and returns the acknowledged segments
    /// that are left over.
    pub fn grow_fast(&mut self, acked: u32) -> u32 {
        let grown = self.segments.saturating_add(acked).min(self.threshold);
        let used = grown - self.segments;
        self.segments = grown;
        acked - used
    }

    /// Congestion avoidance: grows by one segment for every `per` acknowledged (Linux
    /// `tcp_cong_avoid_ai`).
    pub fn grow_slowly(&mut self, per: u32, acked: u32) {
        let per = per.max(1);
        // Credit from a time of slower growth counts for one segment only.
        if self.credit >= per {
            self.credit = 0;
            self.segments = self.segments.saturating_add(1);
        }
        self.credit += acked;
        self.segments = self.segments.saturating_add(self.credit / per);
        self.credit %= per;
    }
}

/// An acknowledgement as congestion control sees it.
#[derive(Clone, Copy, Debug)]
pub struct AckEvent<'a> {
    /// When it arrived.
    pub now: Time,
    /// Segments newly reported as delivered.
    pub delivered: u32,
    /// Segments newly declared lost.
    pub lost: u32,
    /// Segments newly reported as marked by accurate ECN feedback (RFC 9768).
    pub marked: u32,
    /// Segments in flight before it.
    pub prior_in_flight: u32,
    /// Segments in flight after it.
    pub in_flight: u32,
    /// Round-trip time of the most recently sent segment that it reports, if that segment was sent
    /// only once.
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time.
    pub smoothed_rtt: Option<Duration>,
    /// First byte not acknowledged (SND.UNA).
    pub acknowledged: u64,
    /// First byte not sent (SND.NXT).
    pub sent: u64,
    /// State of congestion and recovery.
    pub state: CongestionState,
    /// Whether the window limits the sender (Linux `tcp_is_cwnd_limited`).
    pub window_limited: bool,
    /// Whether the window may grow: data was acknowledged and no reduction is under way.
    pub may_grow: bool,
    /// When the pacer releases the next segment.
    pub next_send: Time,
    /// The delivery-rate sample.
    pub(super) sample: &'a RateSample,
    /// Totals of delivered and lost segments.
    pub(super) delivery: &'a Delivery,
}

/// A congestion control algorithm.
pub trait CongestionControl {
    /// Adapts the window to an acknowledgement that the sender has processed.
    fn on_ack(&mut self, ack: &AckEvent<'_>, window: &mut Window);

    /// Returns the new slow-start threshold after congestion. The sender then reduces the window to
    /// it (RFC 6937), or to one segment after a timeout.
    fn on_congestion(&mut self, now: Time, window: &Window) -> u32;

    /// The state of the sender has changed.
    fn on_state(&mut self, _state: CongestionState) {}

    /// A reduction turned out to be spurious: returns the window to continue with. `prior` is the
    /// window before the reduction.
    fn on_undo(&mut self, window: &Window, prior: u32) -> u32 {
        window.segments.max(prior)
    }

    /// Sending resumes after nothing was in flight for `idle`.
    fn on_restart(&mut self, _now: Time, _idle: Duration, _window: &mut Window) {}

    /// Pacing rate in bytes per second; `None` if the algorithm does not pace.
    fn pacing_rate(&self) -> Option<f64> {
        None
    }

    /// Longest burst at the pacing rate; `None`: as long as Linux makes it.
    fn longest_burst(&self) -> Option<Duration> {
        None
    }

    /// Whether the algorithm sets the window itself, also during recovery.
    fn governs_window(&self) -> bool {
        false
    }

    /// Whether delivery-rate samples taken now are to be marked as limited by the application.
    fn is_probing_delay(&self) -> bool {
        false
    }
}

/// The algorithm of a connection: an enum, because it is called for every acknowledgement.
#[derive(Clone, Debug)]
pub(super) enum Congestion {
    Reno(Reno),
    Cubic(Cubic),
    Bbr(Box<Bbr>),
    Prague(Prague),
}

impl Congestion {
    pub(super) fn new(config: &SenderConfig) -> Self {
        match config.algorithm {
            super::config::Algorithm::Reno => Self::Reno(Reno),
            super::config::Algorithm::Cubic => Self::Cubic(Cubic::new()),
            super::config::Algorithm::Bbr => Self::Bbr(Box::new(Bbr::new(config))),
            super::config::Algorithm::Prague => Self::Prague(Prague::new(config)),
        }
    }
}

/// Calls a method of the algorithm in use.
macro_rules! dispatch {
    ($self:expr, $algorithm:ident => $call:expr) => {
        match $self {
            Congestion::Reno($algorithm) => $call,
            Congestion::Cubic($algorithm) => $call,
            Congestion::Bbr($algorithm) => $call,
            Congestion::Prague($algorithm) => $call,
        }
    };
}

impl CongestionControl for Congestion {
    fn on_ack(&mut self, ack: &AckEvent<'_>, window: &mut Window) {
        dispatch!(self, algorithm => algorithm.on_ack(ack, window));
    }

    fn on_congestion(&mut self, now: Time, window: &Window) -> u32 {
        dispatch!(self, algorithm => algorithm.on_congestion(now, window))
    }

    fn on_state(&mut self, state: CongestionState) {
        dispatch!(self, algorithm => algorithm.on_state(state));
    }

    fn on_undo(&mut self, window: &Window, prior: u32) -> u32 {
        dispatch!(self, algorithm => algorithm.on_undo(window, prior))
    }

    fn on_restart(&mut self, now: Time, idle: Duration, window: &mut Window) {
        dispatch!(self, algorithm => algorithm.on_restart(now, idle, window));
    }

    fn pacing_rate(&self) -> Option<f64> {
        dispatch!(self, algorithm => algorithm.pacing_rate())
    }

    fn longest_burst(&self) -> Option<Duration> {
        dispatch!(self, algorithm => algorithm.longest_burst())
    }

    fn governs_window(&self) -> bool {
        dispatch!(self, algorithm => algorithm.governs_window())
    }

    fn is_probing_delay(&self) -> bool {
        dispatch!(self, algorithm => algorithm.is_probing_delay())
    }
}
