//! The overhead per frame, from measured rounds.

use super::station::Station;

/// Bounds of the overhead of one frame in seconds: SIFS, preamble and response alone take 80 µs; beyond 50 ms per frame the channel is
/// not usable at all.
const RANGE_S: (f64, f64) = (60e-6, 50e-3);
/// From this mean level on, a paced station has a packet waiting at every turn, so that the gaps between its frames are rounds.
const EVERY_ROUND_LEVEL: f64 = 1.05;
/// Gaps within this factor of the common round count as that round; others are outliers.
const COMMON_FACTOR: f64 = 1.3;
/// Standard deviation of one frame's overhead relative to its mean: back-off is uniform over 16 slots of 9 µs in about 200 µs,
/// and beacons and rare long gaps are added.
const FRAME_NOISE: f64 = 0.35;
/// Innovations below this many standard deviations are noise, twice as many a change.
const NOISE_DEVIATIONS: f64 = 3.0;
/// Smallest innovation (of the logarithm) that may count as a change.
const CHANGE_LEAST: f64 = 0.06;
/// Factor by which the estimate falls in a slot whose frames did not aggregate although they were meant to.
const UNAGGREGATED_FALL: f64 = 0.7;

/// One slot's common round.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Round {
    /// Mean time between frames to one backlogged station, seconds (D).
    pub(super) time_s: f64,
    /// Frames that the mean was taken over.
    pub(super) frames: f64,
}

/// Filter of the overhead per frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Overhead {
    frame_s: f64,
    quiet_gain: f64,
    round: Option<Round>,
}

impl Overhead {
    /// Starts from an assumed overhead per frame.
    pub(super) fn new(frame_s: f64, quiet_gain: f64) -> Self {
        Self { frame_s, quiet_gain, round: None }
    }

    /// Overhead per frame in seconds.
    pub(super) fn frame_s(&self) -> f64 {
        self.frame_s
    }

    /// The last round measured.
    pub(super) fn round(&self) -> Option<Round> {
        self.round
    }

    /// Takes a slot's observations: ĉ = D (1 − Σ w r), spread over the frames of a round.
    pub(super) fn observe(&mut self, stations: &[Station]) {
        if let Some(round) = common_round(stations) {
            self.round = Some(round);
            if let Some(measured) = overhead_per_frame(stations, round.time_s) {
                self.filter(measured, round.frames);
            }
        } else if let Some(bound) = least_gap(stations) {
            self.fall(stations, bound);
        }
    }

    /// A step towards `measured`: small while the difference is what noise makes of it, nearly whole when it is more.
    fn filter(&mut self, measured: f64, frames: f64) {
        let measured = measured.clamp(RANGE_S.0, RANGE_S.1);
        let innovation = (measured / self.frame_s).ln();
        let quiet = (NOISE_DEVIATIONS * FRAME_NOISE / frames.max(1.0).sqrt()).max(CHANGE_LEAST);
        let surprise = (innovation.abs() / quiet - 1.0).clamp(0.0, 1.0);
        let gain = self.quiet_gain + (1.0 - self.quiet_gain) * surprise;
        self.frame_s = (self.frame_s * (gain * innovation).exp()).clamp(RANGE_S.0, RANGE_S.1);
    }

    /// No frame aggregated: the round is shorter than every gap, by how much cannot be seen. So the estimate falls until frames aggregate
    /// again; without this a law believes that its own sparse sending is the round, and stays there.
    fn fall(&mut self, stations: &[Station], gap_s: f64) {
        let bound = overhead_per_frame(stations, gap_s).unwrap_or(self.frame_s);
        let fallen = (self.frame_s * UNAGGREGATED_FALL).min(bound);
        self.frame_s = fallen.clamp(RANGE_S.0, RANGE_S.1).min(self.frame_s);
        self.round = None;
    }
}

/// Overhead per frame if the round takes `round_s`.
fn overhead_per_frame(stations: &[Station], round_s: f64) -> Option<f64> {
    let payload: f64 = stations.iter().filter_map(|s| s.heard().map(|h| s.airtime_s() * h.frame_pps)).sum();
    let frames: f64 = stations.iter().filter_map(|s| s.heard().map(|h| turns(round_s, h.gap_s))).sum();
    (frames > 0.0).then(|| round_s * (1.0 - payload) / frames)
}

/// Turns that a station with mean gap `gap_s` takes per round; gaps that are the round but for noise count as one.
pub(super) fn turns(round_s: f64, gap_s: f64) -> f64 {
    let turns = round_s / gap_s;
    if turns * COMMON_FACTOR > 1.0 { 1.0 } else { turns }
}

/// The round that backlogged stations have in common: the mean gap, by frames, of those near the median, by frames.
fn common_round(stations: &[Station]) -> Option<Round> {
    let every_round = |s: &&Station| s.backlogged() && s.heard().is_some_and(|h| h.level >= EVERY_ROUND_LEVEL);
    let mut gaps: Vec<(f64, f64)> =
        stations.iter().filter(every_round).filter_map(|s| s.heard().map(|h| (h.gap_s, h.frames - 1.0))).collect();
    gaps.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = gaps.iter().map(|g| g.1).sum::<f64>() / 2.0;
    let mut passed = 0.0;
    let median = gaps.iter().find(|g| {
        passed += g.1;
        passed >= half
    })?;
    let near = gaps.iter().filter(|g| g.0 <= median.0 * COMMON_FACTOR && median.0 <= g.0 * COMMON_FACTOR);
    let (time, frames) = near.fold((0.0, 0.0), |(time, frames), g| (time + g.0 * g.1, frames + g.1));
    (frames > 0.0).then(|| Round { time_s: time / frames, frames })
}

/// The least gap between frames to any backlogged station, an upper bound of the round.
fn least_gap(stations: &[Station]) -> Option<f64> {
    stations.iter().filter(|s| s.backlogged()).filter_map(|s| s.heard().map(|h| h.gap_s)).min_by(f64::total_cmp)
}
