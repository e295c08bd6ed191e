//! What a slot shows of the time that stations' claims do not explain.

use super::super::overhead::uplink_share;
use super::super::station::StationEstimate;

/// Fewest stations that measure rounds: the suspect may tell of none.
const WITNESSES_LEAST: usize = 2;

/// One slot as seen by what was sent and by the rounds of the stations in the middle: nobody moves it by
/// what he says of himself, except for the airtime that he claims.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Reading {
    /// Frames per second.
    frames_per_s: f64,
    /// Share of the time that is not payload by the claims.
    pub(super) open: f64,
}

impl Reading {
    /// Reads a slot; `None` if too few stations measure rounds.
    pub(super) fn of(stations: &[StationEstimate]) -> Option<Self> {
        let witnesses = stations.iter().filter_map(StationEstimate::round_observer);
        let mut gaps: Vec<f64> = witnesses.map(|heard| heard.gap_s).collect();
        if gaps.len() < WITNESSES_LEAST {
            return None;
        }
        gaps.sort_by(f64::total_cmp);
        // Of two, the longer one: a shorter round would explain time without the station that is tried.
        let round_s = gaps[gaps.len() / 2];
        let payload: f64 = stations
            .iter()
            .map(|s| s.airtime_s() * s.credit.explaining_factor() * s.sent_pps + s.answer_share())
            .sum();
        let frames: f64 = stations
            .iter()
            .map(|s| (s.sent_pps * round_s).min(1.0))
            .sum();
        (frames > 0.0 && round_s > 0.0).then(|| Self {
            frames_per_s: frames / round_s,
            open: 1.0 - payload - uplink_share(stations),
        })
    }

    /// Overhead per frame if all claims are true, seconds.
    pub(super) fn overhead_s(&self) -> f64 {
        self.open.max(0.0) / self.frames_per_s
    }

    /// Share of the time that frames take beyond their payload at an overhead of `frame_s` each.
    pub(super) fn free(&self, frame_s: f64) -> f64 {
        self.frames_per_s * frame_s
    }

    /// Share of the time that neither claims nor an overhead of `frame_s` per frame explain.
    pub(super) fn unexplained(&self, frame_s: f64) -> f64 {
        self.open - self.free(frame_s)
    }
}
