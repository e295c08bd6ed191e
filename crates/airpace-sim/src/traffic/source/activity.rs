//! When a source is on.

use super::{SourceError, exponential_ns, nanos};
use crate::rng::Stream;
use core::time::Duration;

/// A source's times of speaking and of silence.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Activity {
    /// Always on.
    #[default]
    Always,
    /// On and off in turn, on first. The source's own clock stands still while it is off: a gap that was begun goes on afterwards, so
    /// that the mean rate is the source's rate times the share of on-time.
    OnOff {
        /// How long each time; at least 1 µs in the mean.
        on: Period,
        /// How long between.
        off: Period,
    },
}

/// How long a time of speaking or of silence lasts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Period {
    /// The same each time.
    Fixed(Duration),
    /// Exponentially distributed with this mean.
    Exponential(Duration),
}

/// Shorter times of speaking would take many rounds for one packet.
const LEAST_ON: Duration = Duration::from_micros(1);
/// Times of speaking and of silence drawn for one packet.
const MOST_ROUNDS: u64 = 1_000;

impl Period {
    const fn mean(self) -> Duration {
        match self {
            Self::Fixed(mean) | Self::Exponential(mean) => mean,
        }
    }

    fn mean_ns(self) -> u64 {
        nanos(self.mean())
    }

    pub(crate) fn draw_ns(self, stream: &mut Stream) -> u64 {
        match self {
            Self::Fixed(span) => nanos(span),
            Self::Exponential(mean) => exponential_ns(stream, mean.as_nanos() as f64) as u64,
        }
    }
}

/// Turns the source's own time into that of the run.
#[derive(Clone, Debug)]
pub(super) struct Gate {
    activity: Activity,
    /// Time spent off.
    off_ns: u64,
    /// End of the present time of speaking, by the source's own clock.
    on_until_ns: u64,
}

impl Gate {
    pub(super) fn new(activity: Activity, stream: &mut Stream) -> Result<Self, SourceError> {
        let on_until_ns = match activity {
            Activity::Always => u64::MAX,
            Activity::OnOff { on, .. } if on.mean() < LEAST_ON => return Err(SourceError::OnTime),
            Activity::OnOff { on, .. } => on.draw_ns(stream),
        };
        Ok(Self {
            activity,
            off_ns: 0,
            on_until_ns,
        })
    }

    /// The time since the start at which the source's own clock shows `own_ns`; calls come in order of time.
    pub(super) fn pass(&mut self, own_ns: u64, stream: &mut Stream) -> u64 {
        if let Activity::OnOff { on, off } = self.activity {
            self.skip(own_ns, on, off);
            while own_ns >= self.on_until_ns && self.on_until_ns < u64::MAX {
                self.off_ns = self.off_ns.saturating_add(off.draw_ns(stream));
                self.on_until_ns = self.on_until_ns.saturating_add(on.draw_ns(stream));
            }
        }
        own_ns.saturating_add(self.off_ns)
    }

    /// Of a gap that lasts through very many times of speaking, all but the last are taken as the mean: drawing each would take for ever.
    fn skip(&mut self, own_ns: u64, on: Period, off: Period) {
        let mean_on_ns = on.mean_ns().max(1);
        let rounds = own_ns.saturating_sub(self.on_until_ns) / mean_on_ns;
        if let Some(skipped) = rounds.checked_sub(MOST_ROUNDS) {
            self.on_until_ns = self
                .on_until_ns
                .saturating_add(skipped.saturating_mul(mean_on_ns));
            self.off_ns = self
                .off_ns
                .saturating_add(skipped.saturating_mul(off.mean_ns()));
        }
    }

    /// The source's own clock at `ns` since the start, as far as the times drawn until now tell.
    pub(super) const fn own_ns(&self, ns: u64) -> u64 {
        ns.saturating_sub(self.off_ns)
    }
}
