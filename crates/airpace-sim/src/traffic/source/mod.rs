//! Open-loop sources: when the next packet leaves and how long it is.

mod activity;
mod frames;
mod rate;

use crate::rng::Stream;
use activity::Gate;
pub use activity::{Activity, Period};
use airpace_units::Time;
use core::time::Duration;
use frames::FrameState;
pub use frames::{FrameSize, Frames, Spread};
pub use rate::Rate;
use rate::{Gap, Ticker};

/// A packet that leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Emission {
    /// When.
    pub at: Time,
    /// Bytes of payload (UDP and IP headers not included).
    pub payload_bytes: u32,
}

/// What a source sends.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Pattern {
    /// Packets of one size at even gaps, exact over any time.
    Constant {
        /// Payload of each in bytes, at least 1.
        payload_bytes: u32,
        /// How many, by count or by payload bits.
        rate: Rate,
    },
    /// Packets of one size at exponentially distributed gaps.
    Poisson {
        /// Payload of each in bytes, at least 1.
        payload_bytes: u32,
        /// How many in the mean.
        rate: Rate,
    },
    /// Frames that are bursts of packets.
    Frames(Frames),
}

impl Pattern {
    /// One direction of a G.711 call without silence suppression: 50 packets per second of 160 bytes of speech (20 ms at 64 kbit/s,
    /// RFC 3551 §4.5.14) and 12 bytes of RTP (RFC 3550 §5.1): with UDP and IPv4 200 bytes.
    pub const G711: Self = Self::Constant {
        payload_bytes: crate::traffic::VOIP_PAYLOAD_BYTES,
        rate: Rate::Packets {
            count: 1,
            period: crate::traffic::VOIP_INTERVAL,
        },
    };
}

/// When the first packet or frame leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Phase {
    /// At a uniformly drawn part of the first gap after the start, so that sources do not speak in unison.
    #[default]
    Random,
    /// This long after the start.
    Fixed(Duration),
}

/// A source and the times between which it speaks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SourceConfig {
    /// What it sends.
    pub pattern: Pattern,
    /// When the first packet leaves after the start. A Poisson source has no phase: its first gap is as the others.
    pub phase: Phase,
    /// Times of speaking and of silence.
    pub activity: Activity,
    /// Nothing leaves before.
    pub start: Time,
    /// Nothing leaves at this time or later.
    pub stop: Option<Time>,
    /// At most this many packets.
    pub limit: Option<u64>,
}

impl SourceConfig {
    /// `pattern` from the beginning, without end, with a random phase.
    #[must_use]
    pub const fn new(pattern: Pattern) -> Self {
        Self {
            pattern,
            phase: Phase::Random,
            activity: Activity::Always,
            start: Time::ZERO,
            stop: None,
            limit: None,
        }
    }
}

/// Why a source cannot be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// A packet or frame without payload.
    #[error("a packet or frame has no payload: give it at least 1 byte")]
    NoPayload,
    /// On-times so short that the source would hardly ever speak.
    #[error("the on-time is below 1 µs: make it longer")]
    OnTime,
    /// A deviation that is negative or no number.
    #[error("the deviation of frame sizes is not a number from 0: correct it")]
    Deviation,
}

/// An open-loop source: an iterator over its packets in order of time.
///
/// Its random draws come from the stream that it is given and from nowhere else. [`Iterator::next`] gives `None` when the source has
/// finished, or while its rate is zero.
#[derive(Clone, Debug)]
pub struct Source {
    state: State,
    gate: Gate,
    stream: Stream,
    start: Time,
    /// Nothing leaves at this time or later.
    stop: Time,
    left: u64,
}

#[derive(Clone, Debug)]
enum State {
    Constant {
        payload_bytes: u32,
        ticker: Ticker,
    },
    Poisson {
        payload_bytes: u32,
        mean_gap_ns: Option<f64>,
        at_ns: f64,
    },
    Frames(FrameState),
}

impl Source {
    /// The source that `config` describes, with draws from `stream`.
    ///
    /// # Errors
    /// See [`SourceError`]. A rate of zero is no error: the source is silent until [`Source::set_rate`].
    pub fn new(config: SourceConfig, mut stream: Stream) -> Result<Self, SourceError> {
        let state = State::new(&config, &mut stream)?;
        let gate = Gate::new(config.activity, &mut stream)?;
        let stop = config.stop.unwrap_or(Time::MAX);
        Ok(Self {
            state,
            gate,
            stream,
            start: config.start,
            stop,
            left: config.limit.unwrap_or(u64::MAX),
        })
    }

    /// Whether no packet will come, whatever the rate.
    #[must_use]
    pub const fn is_finished(&self) -> bool {
        self.left == 0
    }

    /// Changes the rate from `now` on. What [`Iterator::next`] gave already stands; the one after it comes at most one new gap after
    /// `now` (a Poisson source's after a new draw). For frames, a bit rate changes their mean size, a rate of packets how often they come.
    pub fn set_rate(&mut self, now: Time, rate: Rate) {
        let now_ns = self.gate.own_ns(nanos(now.saturating_since(self.start)));
        match &mut self.state {
            State::Constant {
                payload_bytes,
                ticker,
            } => ticker.set_gap(now_ns, rate.gap(*payload_bytes)),
            State::Poisson {
                payload_bytes,
                mean_gap_ns,
                at_ns,
            } => {
                *mean_gap_ns = rate.gap(*payload_bytes).map(Gap::as_nanos_f64);
                *at_ns = at_ns.max(now_ns as f64);
            }
            State::Frames(frames) => frames.set_rate(now_ns, rate),
        }
    }
}

impl Iterator for Source {
    type Item = Emission;

    fn next(&mut self) -> Option<Emission> {
        if self.left == 0 {
            return None;
        }
        let (own_ns, payload_bytes) = self.state.next(&mut self.stream)?;
        let since_start = self.gate.pass(own_ns, &mut self.stream);
        let at = self.start.saturating_add(Duration::from_nanos(since_start));
        if at >= self.stop {
            self.left = 0;
            return None;
        }
        // No limit is 2^64 - 1 packets, which no run reaches.
        self.left -= 1;
        Some(Emission { at, payload_bytes })
    }
}

impl State {
    fn new(config: &SourceConfig, stream: &mut Stream) -> Result<Self, SourceError> {
        let mut phase = |gap_ns: Option<f64>| match config.phase {
            Phase::Random => (stream.unit() * gap_ns.unwrap_or(0.0)) as u64,
            Phase::Fixed(phase) => nanos(phase),
        };
        match config.pattern {
            Pattern::Constant {
                payload_bytes: 0, ..
            }
            | Pattern::Poisson {
                payload_bytes: 0, ..
            } => Err(SourceError::NoPayload),
            Pattern::Constant {
                payload_bytes,
                rate,
            } => {
                let gap = rate.gap(payload_bytes);
                Ok(Self::Constant {
                    payload_bytes,
                    ticker: Ticker::new(phase(gap.map(Gap::as_nanos_f64)), gap),
                })
            }
            Pattern::Poisson {
                payload_bytes,
                rate,
            } => {
                let mean_gap_ns = rate.gap(payload_bytes).map(Gap::as_nanos_f64);
                Ok(Self::Poisson {
                    payload_bytes,
                    mean_gap_ns,
                    at_ns: 0.0,
                })
            }
            Pattern::Frames(frames) => FrameState::new(frames, phase).map(Self::Frames),
        }
    }

    fn next(&mut self, stream: &mut Stream) -> Option<(u64, u32)> {
        match self {
            Self::Constant {
                payload_bytes,
                ticker,
            } => Some((ticker.tick()?, *payload_bytes)),
            Self::Poisson {
                payload_bytes,
                mean_gap_ns,
                at_ns,
            } => {
                // 53 bits of mantissa are whole nanoseconds for 104 days.
                *at_ns += exponential_ns(stream, (*mean_gap_ns)?);
                Some((*at_ns as u64, *payload_bytes))
            }
            Self::Frames(frames) => frames.next(stream),
        }
    }
}

/// An exponential draw.
fn exponential_ns(stream: &mut Stream, mean_ns: f64) -> f64 {
    // The draw is below 1, so that the logarithm is finite.
    -mean_ns * (-stream.unit()).ln_1p()
}

/// A draw from the standard normal distribution (Box and Muller 1958; the second of the pair is not kept).
fn normal(stream: &mut Stream) -> f64 {
    let radius = (-2.0 * (-stream.unit()).ln_1p()).sqrt();
    radius * (core::f64::consts::TAU * stream.unit()).cos()
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
