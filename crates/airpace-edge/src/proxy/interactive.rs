//! Which packets an unmodified access point is asked to send before those that wait in it.
//!
//! An access point with WMM has a queue and a channel access function for each access category, so
//! a packet of video or voice passes all that wait as best effort. [`FastLane`] gives that priority
//! to the packets of sparse flows, within three bounds:
//!
//! - A flow is sparse while FQ-CoDel serves it from its new queues and it sends no more than
//!   [`SPARSE_BYTES_PER_S`], apart from a burst. A flow that is only idle now and then, as a download
//!   below its share is, is not sparse.
//! - The flows of all stations together may use a share of the airtime ([`AirtimeBudget`]), and no
//!   station may use what others need. Each packet is charged for a frame of its own, which it
//!   mostly is. So a bulk transfer that is split into many sparse flows gains no more than that.
//! - A flow that was sent as best effort stays there until its last packet must have left the access
//!   point; otherwise later packets would overtake it. In the other direction nothing is overtaken.

mod budget;
#[cfg(test)]
mod tests;

pub(super) use budget::AirtimeBudget;

use airpace_core::phy::AccessCategory;
use airpace_core::queue::Served;
use airpace_units::{StationId, Time};
use core::time::Duration;

/// Priority for the packets of sparse flows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct InteractiveConfig {
    /// The access category that they are sent in.
    pub category: AccessCategory,
    /// Most airtime that those of all stations together may use, as a share of the time.
    pub budget: f64,
}

impl InteractiveConfig {
    /// The budget unless another is configured.
    pub const DEFAULT_BUDGET: f64 = 0.02;
}

/// Bytes per second up to which a flow is sparse: 1 Mbit/s. Calls and games send a tenth of it.
const SPARSE_BYTES_PER_S: f64 = 125_000.0;
/// Bytes that a sparse flow may send at once: three full-sized packets, for a short request or
/// answer.
const SPARSE_BURST: f64 = 4500.0;
/// Rounds of the access point after which a packet of best effort has left it: it waits for the
/// frame on the air and for its own, and a frame may be repeated.
const ROUNDS: f64 = 4.0;
/// Bounds of that time. The lower one is for reports that are out of date.
const LEAST_IDLE: Duration = Duration::from_millis(10);
const MOST_IDLE: Duration = Duration::from_millis(100);

/// Decides for each packet of a station whether it has priority.
pub(super) struct FastLane {
    station: StationId,
    category: AccessCategory,
    /// One per flow queue.
    flows: Vec<FlowLane>,
}

/// What one flow has sent recently.
#[derive(Clone, Copy, Default)]
struct FlowLane {
    /// Bytes sent beyond the rate of a sparse flow.
    excess: f64,
    sent_at: Time,
    /// When its last packet of best effort left.
    best_effort_at: Option<Time>,
}

/// What is known of the way to the station.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    /// Overhead of a frame of its own: channel access, preamble, acknowledgement.
    pub(super) frame_overhead: Duration,
    /// PHY rate, or less; `None` if nothing is known.
    pub(super) rate_bps: Option<f64>,
    /// Time between frames to the station, seconds.
    pub(super) round_s: Option<f64>,
}

impl FastLane {
    /// A lane for a station whose queue has `queues` flow queues.
    pub(super) fn new(station: StationId, category: AccessCategory, queues: u32) -> Self {
        Self {
            station,
            category,
            flows: vec![FlowLane::default(); queues as usize],
        }
    }

    /// The access category for a packet of `bytes` that leaves now; `None` sends it as it is.
    pub(super) fn category(
        &mut self,
        now: Time,
        served: Served,
        bytes: u32,
        way: &Way,
        budget: &mut AirtimeBudget,
    ) -> Option<AccessCategory> {
        let idle = idle_time(way.round_s);
        let flow = self.flows.get_mut(served.queue as usize)?;
        let elapsed_s = now.saturating_since(flow.sent_at).as_secs_f64();
        let excess = (flow.excess - elapsed_s * SPARSE_BYTES_PER_S).max(0.0);
        flow.excess = excess + f64::from(bytes);
        flow.sent_at = now;
        let is_sparse = served.is_new && flow.excess <= SPARSE_BURST;
        let overtakes = flow
            .best_effort_at
            .is_some_and(|at| now.saturating_since(at) < idle);
        // Without a rate the cost is unknown.
        let cost_s = way.frame_s(bytes).filter(|_| is_sparse && !overtakes);
        if cost_s.is_some_and(|cost_s| budget.spend(now, self.station, cost_s)) {
            return Some(self.category);
        }
        flow.best_effort_at = Some(now);
        None
    }
}

impl Way {
    /// Airtime of a frame of its own with `bytes`, seconds; `None` if no rate is known.
    fn frame_s(&self, bytes: u32) -> Option<f64> {
        let rate_bps = self.rate_bps.filter(|&rate| rate > 0.0)?;
        Some(self.frame_overhead.as_secs_f64() + f64::from(bytes) * 8.0 / rate_bps)
    }
}

/// How long a flow must have been idle before it may change from best effort to priority.
fn idle_time(round_s: Option<f64>) -> Duration {
    let rounds = round_s.and_then(|round| Duration::try_from_secs_f64(ROUNDS * round).ok());
    rounds.map_or(MOST_IDLE, |rounds| rounds.clamp(LEAST_IDLE, MOST_IDLE))
}
