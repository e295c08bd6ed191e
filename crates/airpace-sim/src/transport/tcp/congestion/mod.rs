//! Congestion control: how large the window is, and how fast segments leave.

mod bbr;
mod cubic;
mod filter;
mod reno;

use super::config::SenderConfig;
use super::delivery::{Delivery, RateSample};
use airpace_units::Time;
use bbr::Bbr;
use core::time::Duration;
use cubic::Cubic;
use reno::Reno;

/// What the sender thinks of the path (Linux `enum tcp_ca_state`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum State {
    /// Nothing unusual.
    #[default]
    Open,
    /// Some segments arrived out of order; perhaps one is lost.
    Disorder,
    /// The window is being reduced after a congestion mark.
    Reduced,
    /// The window is being reduced and losses repaired.
    Recovery,
    /// The timer has expired: everything may be lost.
    Loss,
}

/// The congestion window, in segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// Most segments in flight.
    pub segments: u32,
    /// Above this the window grows slowly (ssthresh); unlimited at the start.
    pub threshold: u32,
    /// Segments acknowledged towards the next increase.
    credit: u32,
}

impl Window {
    /// Least threshold (RFC 5681, equation 4).
    pub const MIN_THRESHOLD: u32 = 2;

    /// A window before anything is known of the path.
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

    /// Forgets what was counted towards the next increase.
    pub fn clear_credit(&mut self) {
        self.credit = 0;
    }

    /// Slow start (RFC 5681, section 3.1, counting segments as RFC 3465 without its limit): returns what is left beyond the threshold.
    pub fn grow_fast(&mut self, acked: u32) -> u32 {
        let grown = self.segments.saturating_add(acked).min(self.threshold);
        let used = grown - self.segments;
        self.segments = grown;
        acked - used
    }

    /// Grows by one segment for every `per` acknowledged.
    pub fn grow_slowly(&mut self, per: u32, acked: u32) {
        let per = per.max(1);
        // Credit from when growth was slower counts for one segment only.
        if self.credit >= per {
            self.credit = 0;
            self.segments = self.segments.saturating_add(1);
        }
        self.credit += acked;
        self.segments = self.segments.saturating_add(self.credit / per);
        self.credit %= per;
    }
}

/// What an acknowledgement tells congestion control.
#[derive(Clone, Copy, Debug)]
pub struct AckEvent<'a> {
    /// When it arrived.
    pub now: Time,
    /// Segments that it newly reports as delivered.
    pub delivered: u32,
    /// Segments newly taken for lost.
    pub lost: u32,
    /// Segments in flight before it.
    pub prior_in_flight: u32,
    /// Segments in flight after it.
    pub in_flight: u32,
    /// Round-trip time of the newest segment that it reports, if that was sent once.
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time.
    pub smoothed_rtt: Option<Duration>,
    /// First byte not acknowledged.
    pub acknowledged: u64,
    /// First byte not sent.
    pub sent: u64,
    /// What the sender thinks of the path.
    pub state: State,
    /// Whether the window was in the way of sending.
    pub window_limited: bool,
    /// Whether the window may grow: data was acknowledged and no reduction is under way.
    pub may_grow: bool,
    /// When the pacer lets the next segment go.
    pub next_send: Time,
    /// The delivery rate.
    pub(super) sample: &'a RateSample,
    /// Totals of what was delivered.
    pub(super) delivery: &'a Delivery,
}

/// A congestion control algorithm.
pub trait CongestionControl {
    /// An acknowledgement has been taken in.
    fn on_ack(&mut self, ack: &AckEvent<'_>, window: &mut Window);

    /// Congestion: returns the new threshold. The sender reduces the window to it (RFC 6937), or to one segment after a timeout.
    fn on_congestion(&mut self, now: Time, window: &Window) -> u32;

    /// The sender thinks differently of the path.
    fn on_state(&mut self, _state: State) {}

    /// A congestion was none; returns the window to go on with, `prior` being that before it.
    fn on_undo(&mut self, window: &Window, prior: u32) -> u32 {
        window.segments.max(prior)
    }

    /// Sending begins again after nothing was in flight for `idle`.
    fn on_restart(&mut self, _now: Time, _idle: Duration, _window: &mut Window) {}

    /// Bytes per second at which segments leave; `None` if they leave as the window allows.
    fn pacing_rate(&self) -> Option<f64> {
        None
    }

    /// Whether the algorithm sets the window itself, also during recovery.
    fn governs_window(&self) -> bool {
        false
    }

    /// Whether it asks that samples taken now be held to be limited by the application.
    fn is_probing_delay(&self) -> bool {
        false
    }
}

/// The algorithm of a connection.
#[derive(Clone, Debug)]
pub(super) enum Congestion {
    Reno(Reno),
    Cubic(Cubic),
    Bbr(Box<Bbr>),
}

impl Congestion {
    pub(super) fn new(config: &SenderConfig) -> Self {
        match config.algorithm {
            super::config::Algorithm::Reno => Self::Reno(Reno),
            super::config::Algorithm::Cubic => Self::Cubic(Cubic::new()),
            super::config::Algorithm::Bbr => Self::Bbr(Box::new(Bbr::new(config))),
        }
    }
}

/// Calls the same method of whichever algorithm it is.
macro_rules! each {
    ($self:expr, $algorithm:ident => $call:expr) => {
        match $self {
            Congestion::Reno($algorithm) => $call,
            Congestion::Cubic($algorithm) => $call,
            Congestion::Bbr($algorithm) => $call,
        }
    };
}

impl CongestionControl for Congestion {
    fn on_ack(&mut self, ack: &AckEvent<'_>, window: &mut Window) {
        each!(self, algorithm => algorithm.on_ack(ack, window));
    }

    fn on_congestion(&mut self, now: Time, window: &Window) -> u32 {
        each!(self, algorithm => algorithm.on_congestion(now, window))
    }

    fn on_state(&mut self, state: State) {
        each!(self, algorithm => algorithm.on_state(state));
    }

    fn on_undo(&mut self, window: &Window, prior: u32) -> u32 {
        each!(self, algorithm => algorithm.on_undo(window, prior))
    }

    fn on_restart(&mut self, now: Time, idle: Duration, window: &mut Window) {
        each!(self, algorithm => algorithm.on_restart(now, idle, window));
    }

    fn pacing_rate(&self) -> Option<f64> {
        each!(self, algorithm => algorithm.pacing_rate())
    }

    fn governs_window(&self) -> bool {
        each!(self, algorithm => algorithm.governs_window())
    }

    fn is_probing_delay(&self) -> bool {
        each!(self, algorithm => algorithm.is_probing_delay())
    }
}
