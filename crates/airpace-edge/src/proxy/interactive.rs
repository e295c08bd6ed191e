//! Which packets an unmodified access point is asked to send before those that wait in it.
//!
//! An access point with WMM has a queue and a channel access function for each access category, so
//! a packet of video or voice passes all that wait as best effort. [`FastLane`] gives that priority
//! to the packets of sparse flows, within three bounds:
//!
//! - A flow is sparse while FQ-CoDel serves it from its new queues and it sends no more than
//!   [`SPARSE_BYTES_PER_S`], apart from a burst. A flow that is only idle now and then, as a download
//!   below its share is, is not sparse.
//! - All flows of a station together may use a share of the airtime. Each packet is charged for a
//!   frame of its own, which it mostly is. So a bulk transfer that is split into many sparse flows
//!   gains no more than that.
//! - A flow that was sent as best effort stays there until its last packet must have left the access
//!   point; otherwise later packets would overtake it. In the other direction nothing is overtaken.

use airpace_core::phy::AccessCategory;
use airpace_core::queue::Served;
use airpace_units::Time;
use core::time::Duration;

/// Priority for the packets of sparse flows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct InteractiveConfig {
    /// The access category that they are sent in.
    pub category: AccessCategory,
    /// Most airtime that they may use, as a share of the time, per station. 0.02 is the default of
    /// the configuration files.
    pub budget: f64,
}

/// Bytes per second up to which a flow is sparse: 1 Mbit/s. Calls and games send a tenth of it.
const SPARSE_BYTES_PER_S: f64 = 125_000.0;
/// Bytes that a sparse flow may send at once: three full-sized packets, for a short request or
/// answer.
const SPARSE_BURST: f64 = 4500.0;
/// How long the budget may be saved up. Longer, and a burst would keep the medium from bulk for a
/// noticeable time.
const SAVED: Duration = Duration::from_millis(250);
/// Rounds of the access point after which a packet of best effort has left it: it waits for the
/// frame on the air and for its own, and a frame may be repeated.
const ROUNDS: f64 = 4.0;
/// Bounds of that time. The lower one is for reports that are out of date.
const LEAST_IDLE: Duration = Duration::from_millis(10);
const MOST_IDLE: Duration = Duration::from_millis(100);

/// Decides for each packet of a station whether it has priority.
pub(super) struct FastLane {
    config: InteractiveConfig,
    /// Airtime that may be used now, seconds.
    saved_s: f64,
    saved_at: Time,
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
    pub(super) fn new(config: InteractiveConfig, queues: u32) -> Self {
        Self {
            config,
            saved_s: config.budget * SAVED.as_secs_f64(),
            saved_at: Time::ZERO,
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
        if is_sparse && !overtakes && self.spend(now, bytes, way) {
            return Some(self.config.category);
        }
        self.flows[served.queue as usize].best_effort_at = Some(now);
        None
    }

    /// Pays for a frame of its own with `bytes`, if the budget allows it.
    fn spend(&mut self, now: Time, bytes: u32, way: &Way) -> bool {
        // Without a rate the cost is unknown.
        let Some(rate_bps) = way.rate_bps.filter(|&rate| rate > 0.0) else {
            return false;
        };
        let elapsed_s = now.saturating_since(self.saved_at).as_secs_f64();
        let most = self.config.budget * SAVED.as_secs_f64();
        self.saved_s = (self.saved_s + self.config.budget * elapsed_s).min(most);
        self.saved_at = now;
        let cost = way.frame_overhead.as_secs_f64() + f64::from(bytes) * 8.0 / rate_bps;
        let affordable = cost <= self.saved_s;
        if affordable {
            self.saved_s -= cost;
        }
        affordable
    }
}

/// How long a flow must have been idle before it may change from best effort to priority.
fn idle_time(round_s: Option<f64>) -> Duration {
    let rounds = round_s.and_then(|round| Duration::try_from_secs_f64(ROUNDS * round).ok());
    rounds.map_or(MOST_IDLE, |rounds| rounds.clamp(LEAST_IDLE, MOST_IDLE))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: InteractiveConfig = InteractiveConfig {
        category: AccessCategory::Video,
        budget: 0.02,
    };
    const VIDEO: Option<AccessCategory> = Some(AccessCategory::Video);
    /// A frame with a short packet takes 0.2 ms: a hundred per second are 2 %.
    const WAY: Way = Way {
        frame_overhead: Duration::from_micros(196),
        rate_bps: Some(400e6),
        round_s: Some(2e-3),
    };

    const fn ms(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    fn new(queue: u32) -> Served {
        Served {
            queue,
            is_new: true,
        }
    }

    fn lane() -> FastLane {
        FastLane::new(CONFIG, 1024)
    }

    #[test]
    fn a_call_and_a_ping_have_priority_throughout() {
        let mut lane = lane();
        for n in 0..500 {
            assert_eq!(lane.category(ms(20 * n), new(3), 200, &WAY), VIDEO, "{n}");
            if n % 5 == 0 {
                assert_eq!(lane.category(ms(20 * n), new(4), 84, &WAY), VIDEO, "{n}");
            }
        }
    }

    #[test]
    fn a_download_below_its_share_is_not_sparse_although_its_queue_is_always_new() {
        let mut lane = lane();
        // 12 Mbit/s.
        let sent = (0..5000).map(|n| lane.category(ms(n), new(3), 1500, &WAY));
        assert!(sent.flatten().count() <= 3);
        // Its packets leave the budget to others.
        assert_eq!(lane.category(ms(5001), new(4), 84, &WAY), VIDEO);
    }

    #[test]
    fn a_backlogged_flow_has_no_priority() {
        let served = Served {
            queue: 3,
            is_new: false,
        };
        assert_eq!(lane().category(ms(1), served, 84, &WAY), None);
    }

    #[test]
    fn bulk_in_many_sparse_flows_gets_no_more_than_the_budget() {
        let mut lane = lane();
        let mut airtime_s = 0.0;
        for n in 0..100_000_u32 {
            let now = Time::from_micros(100 * u64::from(n));
            if lane.category(now, new(n % 1024), 1500, &WAY).is_some() {
                airtime_s += 196e-6 + 1500.0 * 8.0 / 400e6;
            }
        }
        // Ten seconds, and what was saved up before.
        assert!((0.19..=0.2051).contains(&airtime_s), "{airtime_s}");
    }

    #[test]
    fn a_flow_gets_priority_only_after_its_last_packet_has_left_the_access_point() {
        let mut lane = lane();
        let old = Served {
            queue: 3,
            is_new: false,
        };
        assert_eq!(lane.category(ms(100), old, 84, &WAY), None);
        // Four rounds of 2 ms are less than the least time. Each of these begins it anew.
        assert_eq!(lane.category(ms(105), new(3), 84, &WAY), None);
        assert_eq!(lane.category(ms(114), new(3), 84, &WAY), None);
        assert_eq!(lane.category(ms(124), new(3), 84, &WAY), VIDEO);
        let slow = Way {
            round_s: Some(12e-3),
            ..WAY
        };
        assert_eq!(lane.category(ms(200), old, 84, &slow), None);
        assert_eq!(lane.category(ms(247), new(3), 84, &slow), None);
        assert_eq!(lane.category(ms(295), new(3), 84, &slow), VIDEO);
    }

    #[test]
    fn nothing_has_priority_while_no_rate_is_known() {
        let unknown = Way {
            rate_bps: None,
            ..WAY
        };
        assert_eq!(lane().category(ms(1), new(3), 84, &unknown), None);
    }
}
