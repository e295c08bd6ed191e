//! Talk spurts and pauses of a source.

use super::{SourceError, nanos};
use crate::rng::Stream;
use core::time::Duration;

/// When a source is on and when it is off.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Activity {
    /// Always on.
    #[default]
    Always,
    /// On and off in turn, starting on. The source's own clock stops while it is off, so that a gap
    /// between packets that has begun continues afterwards: the mean rate is the rate of the source
    /// times the share of on-time.
    OnOff {
        /// Length of an on-period; at least 1 µs on average.
        on: Period,
        /// Length of an off-period.
        off: Period,
    },
}

/// Length of an on-period, an off-period or a pause.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Period {
    /// Always the same.
    Fixed(Duration),
    /// Exponentially distributed with this mean.
    Exponential(Duration),
}

/// Least mean on-time. Shorter ones would need many rounds of drawing for one packet.
const MIN_ON: Duration = Duration::from_micros(1);
/// Most pairs of on- and off-periods drawn for one packet.
const MAX_ROUNDS: u64 = 1_000;

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
            Self::Exponential(mean) => (mean.as_nanos() as f64 * stream.exponential()) as u64,
        }
    }
}

/// Converts the source's own time, which stops while the source is off, into the time of the run.
#[derive(Clone, Debug)]
pub(super) struct Gate {
    activity: Activity,
    /// Total time spent off so far.
    off_ns: u64,
    /// End of the current on-period, by the source's own clock.
    on_until_ns: u64,
}

impl Gate {
    pub(super) fn new(activity: Activity, stream: &mut Stream) -> Result<Self, SourceError> {
        let on_until_ns = match activity {
            Activity::Always => u64::MAX,
            Activity::OnOff { on, .. } if on.mean() < MIN_ON => return Err(SourceError::OnTime),
            Activity::OnOff { on, .. } => on.draw_ns(stream),
        };
        Ok(Self {
            activity,
            off_ns: 0,
            on_until_ns,
        })
    }

    /// The time since the start at which the source's own clock shows `own_ns`. Calls must be in
    /// order of time.
    #[inline]
    pub(super) fn pass(&mut self, own_ns: u64, stream: &mut Stream) -> u64 {
        if let Activity::OnOff { on, off } = self.activity {
            self.alternate(own_ns, on, off, stream);
        }
        own_ns.saturating_add(self.off_ns)
    }

    /// Draws on- and off-periods up to `own_ns`.
    fn alternate(&mut self, own_ns: u64, on: Period, off: Period, stream: &mut Stream) {
        self.skip(own_ns, on, off);
        // An on-period that ends at u64::MAX never ends: the sums below have saturated.
        while own_ns >= self.on_until_ns && self.on_until_ns < u64::MAX {
            self.off_ns = self.off_ns.saturating_add(off.draw_ns(stream));
            self.on_until_ns = self.on_until_ns.saturating_add(on.draw_ns(stream));
        }
    }

    /// Takes the mean for all but the last [`MAX_ROUNDS`] on- and off-periods within a long gap:
    /// drawing every one of them could take longer than the run.
    fn skip(&mut self, own_ns: u64, on: Period, off: Period) {
        let mean_on_ns = on.mean_ns().max(1);
        let rounds = own_ns.saturating_sub(self.on_until_ns) / mean_on_ns;
        if let Some(skipped) = rounds.checked_sub(MAX_ROUNDS) {
            let (on_ns, off_ns) = (
                skipped.saturating_mul(mean_on_ns),
                skipped.saturating_mul(off.mean_ns()),
            );
            self.on_until_ns = self.on_until_ns.saturating_add(on_ns);
            self.off_ns = self.off_ns.saturating_add(off_ns);
        }
    }

    /// The source's own clock at `ns` since the start, by the off-periods drawn so far.
    pub(super) const fn own_ns(&self, ns: u64) -> u64 {
        ns.saturating_sub(self.off_ns)
    }
}
