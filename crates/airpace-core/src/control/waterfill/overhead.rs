//! The overhead per frame, from measured rounds.

use super::station::{EVERY_ROUND_LEVEL, Station};

/// Bounds of the overhead of one frame in seconds: SIFS, preamble and response alone take 80 µs; beyond 50 ms per frame the channel is
/// not usable at all.
const RANGE_S: (f64, f64) = (60e-6, 50e-3);
/// Gaps up to this factor above the round are the round but for noise.
const COMMON_FACTOR: f64 = 1.3;
/// Gaps up to this factor above the least are the same round: the least of many noisy ones lies below their mean.
const NEAR_LEAST: f64 = 1.6;
/// Standard deviation of one frame's overhead relative to its mean: back-off is uniform over 16 slots of 9 µs in about 200 µs,
/// and beacons and rare long gaps are added.
const FRAME_NOISE: f64 = 0.35;
/// Spread of single rounds relative to their mean. The stations' windows do not cover exactly the same rounds, so a share of it over the
/// number of rounds in the slot is noise, of which the overhead shows payload / overhead times as much.
const ROUND_NOISE: f64 = 0.1;
/// Innovations below this many standard deviations are noise, twice as many a change.
const NOISE_DEVIATIONS: f64 = 3.0;
/// Weight of a slot in the mean size of innovations.
const SCATTER_GAIN: f64 = 0.1;
/// Mean sizes of innovations that are still noise, for media that are noisier than the model of it.
const SCATTER_FACTOR: f64 = 2.5;
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
    /// Frames per station.
    pub(super) rounds: f64,
}

/// Filter of the overhead per frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Overhead {
    frame_s: f64,
    quiet_gain: f64,
    /// Running mean of the innovations' absolute values.
    scatter: f64,
    /// Measurements that the estimate is the mean of, since the last change: the next one weighs 1 / (n + 1), no less than the quiet gain.
    averaged: f64,
    round: Option<Round>,
}

impl Overhead {
    /// Starts from an assumed overhead per frame.
    pub(super) fn new(frame_s: f64, quiet_gain: f64) -> Self {
        Self {
            frame_s,
            quiet_gain,
            scatter: 0.0,
            averaged: 0.0,
            round: None,
        }
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
            let payload = payload_share(stations);
            if let Some(measured) = overhead_per_frame(stations, round.time_s) {
                self.filter(measured, noise(round, payload));
            }
        } else if let Some(bound) = least_gap(stations) {
            self.fall(stations, bound);
        }
    }

    /// A step towards `measured`: small while the difference is what noise makes of it, nearly whole when it is more.
    fn filter(&mut self, measured: f64, deviation: f64) {
        let measured = measured.clamp(RANGE_S.0, RANGE_S.1);
        let innovation = (measured / self.frame_s).ln();
        let quiet = (NOISE_DEVIATIONS * deviation)
            .max(SCATTER_FACTOR * self.scatter)
            .max(CHANGE_LEAST);
        let surprise = (innovation.abs() / quiet - 1.0).clamp(0.0, 1.0);
        // What surprises is not averaged with what was before.
        self.averaged *= 1.0 - surprise;
        let gain = (1.0 / (self.averaged + 1.0)).max(self.quiet_gain);
        self.averaged += 1.0;
        self.scatter += SCATTER_GAIN * (innovation.abs().min(2.0 * quiet) - self.scatter);
        self.frame_s = (self.frame_s * (gain * innovation).exp()).clamp(RANGE_S.0, RANGE_S.1);
    }

    /// No frame aggregated: the round is shorter than every gap, by how much cannot be seen. Where the estimate says that frames should have
    /// aggregated it is too high and falls until they do; without this a law takes its own sparse sending for the round, and stays there.
    fn fall(&mut self, stations: &[Station], gap_s: f64) {
        self.round = None;
        let open = (1.0 - payload_share(stations)).max(0.01);
        let frames = stations.iter().filter(|s| s.heard().is_some()).count() as f64;
        let expected_level = frames * self.frame_s / open / gap_s;
        let bound = overhead_per_frame(stations, gap_s).unwrap_or(self.frame_s);
        let factor = if expected_level > EVERY_ROUND_LEVEL {
            UNAGGREGATED_FALL
        } else {
            1.0
        };
        self.frame_s = (self.frame_s * factor)
            .min(bound.max(RANGE_S.0))
            .max(RANGE_S.0);
    }
}

/// Share of the time that payload takes.
fn payload_share(stations: &[Station]) -> f64 {
    stations
        .iter()
        .filter_map(|s| s.heard().map(|h| s.airtime_s() * h.frame_pps))
        .sum()
}

/// Standard deviation to be expected of the logarithm of the overhead measured in one slot.
fn noise(round: Round, payload: f64) -> f64 {
    let of_frames = FRAME_NOISE / round.frames.max(1.0).sqrt();
    let of_windows = ROUND_NOISE * payload / (1.0 - payload).max(0.01) / round.rounds.max(1.0);
    of_frames.hypot(of_windows)
}

/// Overhead per frame if the round takes `round_s`.
fn overhead_per_frame(stations: &[Station], round_s: f64) -> Option<f64> {
    let payload = payload_share(stations);
    let frames: f64 = stations
        .iter()
        .filter_map(|s| s.heard().map(|h| turns(round_s, h.gap_s)))
        .sum();
    (frames > 0.0).then(|| round_s * (1.0 - payload) / frames)
}

/// Turns that a station with mean gap `gap_s` takes per round; gaps that are the round but for noise count as one.
pub(super) fn turns(round_s: f64, gap_s: f64) -> f64 {
    let turns = round_s / gap_s;
    if turns * COMMON_FACTOR > 1.0 {
        1.0
    } else {
        turns
    }
}

/// The round that stations have in common: the mean gap, by frames, of the witnesses whose gaps are near the least, if their frames aggregate
/// together. Station by station that must not be asked: near level 1 it would pick those whose gaps happened to be long.
fn common_round(stations: &[Station]) -> Option<Round> {
    let least = least_gap(stations)?;
    let (mut time, mut frames, mut packets, mut n) = (0.0, 0.0, 0.0, 0.0);
    let witnesses = stations.iter().filter_map(Station::round_witness);
    for heard in witnesses.filter(|heard| heard.gap_s <= NEAR_LEAST * least) {
        time += heard.gap_s * heard.frames;
        frames += heard.frames;
        packets += heard.level * heard.frames;
        n += 1.0;
    }
    let aggregate = frames > 0.0 && packets >= EVERY_ROUND_LEVEL * frames;
    aggregate.then(|| Round {
        time_s: time / frames,
        frames,
        rounds: frames / n,
    })
}

/// The least gap between frames to any station that witnesses rounds, an upper bound of the round.
fn least_gap(stations: &[Station]) -> Option<f64> {
    stations
        .iter()
        .filter_map(|s| s.round_witness().map(|h| h.gap_s))
        .min_by(f64::total_cmp)
}
