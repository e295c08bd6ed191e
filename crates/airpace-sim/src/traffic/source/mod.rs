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

/// A packet that a source emits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Emission {
    /// When it leaves.
    pub at: Time,
    /// Bytes of payload, without UDP and IP headers.
    pub payload_bytes: u32,
}

/// What a source sends.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Pattern {
    /// Packets of one size at equal gaps, without drift.
    Constant {
        /// Payload of each packet in bytes; at least 1.
        payload_bytes: u32,
        /// The rate, in packets or in payload bits.
        rate: Rate,
    },
    /// Packets of one size at exponentially distributed gaps.
    Poisson {
        /// Payload of each packet in bytes; at least 1.
        payload_bytes: u32,
        /// The mean rate, in packets or in payload bits.
        rate: Rate,
    },
    /// Video frames, each a burst of packets.
    Frames(Frames),
}

impl Pattern {
    /// One direction of a G.711 call without silence suppression: 50 packets per second of 160
    /// bytes of speech (20 ms at 64 kbit/s, RFC 3551 §4.5.14) and 12 bytes of RTP (RFC 3550 §5.1),
    /// which is 200 bytes with UDP and IPv4 headers.
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
    /// Uniformly distributed over the first gap after the start, so that equal sources do not send
    /// in unison.
    #[default]
    Random,
    /// This long after the start.
    Fixed(Duration),
}

/// What a source sends and when it starts and stops.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SourceConfig {
    /// What it sends.
    pub pattern: Pattern,
    /// When the first packet leaves after the start. Ignored for a Poisson source, whose first gap
    /// is like the others.
    pub phase: Phase,
    /// When the source is on.
    pub activity: Activity,
    /// No packet leaves before this time.
    pub start: Time,
    /// No packet leaves at this time or later.
    pub stop: Option<Time>,
    /// At most this many packets.
    pub limit: Option<u64>,
}

impl SourceConfig {
    /// `pattern` from time zero and without end, with a random phase.
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

/// Why a source is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// A packet or frame has no payload.
    #[error("a packet or frame has no payload: give it at least 1 byte")]
    NoPayload,
    /// The mean on-time is so short that the source would hardly ever send.
    #[error("the on-time is below 1 µs: make it longer")]
    OnTime,
    /// The deviation of frame sizes is negative or not a finite number.
    #[error("the deviation of frame sizes must be a finite number of at least 0")]
    Deviation,
}

/// An open-loop source: an iterator over its packets in order of time.
///
/// All its random draws come from the stream that it is given. [`Iterator::next`] returns `None`
/// when the source has finished, and also while its rate is zero.
#[derive(Clone, Debug)]
pub struct Source {
    state: PatternState,
    gate: Gate,
    stream: Stream,
    start: Time,
    /// No packet leaves at this time or later.
    stop: Time,
    /// Packets that may still leave.
    left: u64,
}

/// The state of a pattern, by the source's own clock.
#[derive(Clone, Debug)]
enum PatternState {
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
    /// See [`SourceError`]. A rate of zero is not an error: the source is silent until
    /// [`Source::set_rate`] changes it.
    pub fn new(config: SourceConfig, mut stream: Stream) -> Result<Self, SourceError> {
        let state = PatternState::new(&config, &mut stream)?;
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

    /// Whether the source will not send any more, whatever its rate.
    #[must_use]
    pub const fn is_finished(&self) -> bool {
        self.left == 0
    }

    /// Changes the rate from `now` on. The packet that [`Iterator::next`] returned last still
    /// leaves as announced; the next one leaves at most one new gap after `now` (for a Poisson
    /// source, after a newly drawn gap). For frames, a bit rate changes their mean size, a packet
    /// rate their frequency.
    pub fn set_rate(&mut self, now: Time, rate: Rate) {
        let now_ns = self.gate.own_ns(nanos(now.saturating_since(self.start)));
        match &mut self.state {
            PatternState::Constant {
                payload_bytes,
                ticker,
            } => ticker.set_gap(now_ns, rate.gap(*payload_bytes)),
            PatternState::Poisson {
                payload_bytes,
                mean_gap_ns,
                at_ns,
            } => {
                *mean_gap_ns = rate.gap(*payload_bytes).map(Gap::as_nanos_f64);
                *at_ns = at_ns.max(now_ns as f64);
            }
            PatternState::Frames(frames) => frames.set_rate(now_ns, rate),
        }
    }
}

impl Iterator for Source {
    type Item = Emission;

    // Its caller keeps what it returns: inlined, that is not copied by way of the stack.
    #[inline(always)]
    fn next(&mut self) -> Option<Emission> {
        if self.left == 0 {
            return None;
        }
        let (own_ns, payload_bytes) = self.state.next(&mut self.stream)?;
        let since_start = self.gate.pass(own_ns, &mut self.stream);
        let at = Time::from_nanos(self.start.as_nanos().saturating_add(since_start));
        if at >= self.stop {
            self.left = 0;
            return None;
        }
        // Without a limit this counts down from 2^64 - 1, which no run reaches.
        self.left -= 1;
        Some(Emission { at, payload_bytes })
    }
}

impl PatternState {
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

    #[inline]
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
                // The 53 bits of a double hold whole nanoseconds for 104 days.
                *at_ns += (*mean_gap_ns)? * stream.exponential();
                Some((*at_ns as u64, *payload_bytes))
            }
            Self::Frames(frames) => frames.next(stream),
        }
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
