//! Estimate of the overhead per frame, from measured rounds.

use super::heard::Heard;
use super::share::Demand;
use super::station::{EVERY_ROUND_LEVEL, StationEstimate};

/// Bounds of the overhead of one frame in seconds: SIFS, preamble and response alone take 80 µs,
/// and above 50 ms per frame the channel is not usable at all.
const RANGE_S: (f64, f64) = (60e-6, 50e-3);
/// A gap between frames that exceeds the round by no more than this factor counts as one round; the
/// rest is noise.
const COMMON_FACTOR: f64 = 1.3;
/// Gaps up to this factor above the smallest belong to the same round: the smallest of many noisy
/// gaps lies below their mean.
const NEAR_LEAST: f64 = 1.6;
/// One witness of the round counts with at most this many times the frames of any other.
const FRAMES_FACTOR: f64 = 1.25;
/// Standard deviation of one frame's overhead relative to its mean. Back-off is uniform over 16
/// slots of 9 µs in about 200 µs; beacons and rare long gaps add to it.
const FRAME_NOISE: f64 = 0.35;
/// Standard deviation of one round relative to its mean. The stations' slots do not cover exactly
/// the same rounds, so this, divided by the number of rounds in a slot, is noise; in the overhead
/// it appears multiplied by payload / overhead.
const ROUND_NOISE: f64 = 0.1;
/// Innovations below this many standard deviations are noise; from twice as many on they are a
/// change.
const NOISE_DEVIATIONS: f64 = 3.0;
/// Weight of one slot in the running mean of the innovations' absolute values.
const SCATTER_GAIN: f64 = 0.1;
/// Innovations up to this multiple of that mean are noise too, for channels noisier than the model
/// above.
const SCATTER_FACTOR: f64 = 2.5;
/// Largest share of the time that is taken for uplink traffic. More of it is an upload that takes
/// whatever the access point leaves: it wins the channel in turn with the access point, so that
/// its time belongs to the overhead of each frame, and yielding to it would only feed it.
pub(in crate::control) const UPLINK_MOST: f64 = 0.2;
/// Slots in a row that may go without a measurement because PHY rates change.
const UNCLEAR_SLOTS: u8 = 3;
/// Smallest innovation, as a difference of logarithms, that can count as a change.
const CHANGE_LEAST: f64 = 0.06;
/// Factor by which the estimate falls in a slot whose frames should have aggregated and did not.
const UNAGGREGATED_FALL: f64 = 0.7;
/// Slots in a row in which nothing may bear out an estimate above the assumed overhead before it falls by that factor
/// as well: rates are used that are meant to aggregate, nobody tells of rounds ...
const UNTOLD_SLOTS: u8 = 10;
/// ... and the 95th percentile of waits is below this share of the round that is aimed at. Packets that come at an even
/// rate wait for up to a round, so it would be 0.95.
const WAITED_SHARE: f64 = 1.0 / 3.0;

/// The round of one slot that all backlogged stations have in common.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Round {
    /// Mean time between frames to one backlogged station, seconds (D).
    pub(super) time_s: f64,
    /// Number of frames in the mean.
    pub(super) frames: f64,
    /// Mean number of frames per station.
    pub(super) rounds: f64,
    /// Share of those frames that were reported in this slot.
    pub(super) fresh: f64,
}

/// Filter of the measured overhead per frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Overhead {
    frame_s: f64,
    /// The overhead that is assumed before anything is measured.
    assumed_s: f64,
    /// Weight of a measurement that differs from the estimate by noise only, once enough were
    /// averaged.
    quiet_gain: f64,
    /// Running mean of the innovations' absolute values.
    scatter: f64,
    /// Number of measurements in the estimate since the last change (n). The next one has the
    /// weight 1 / (n + 1), but at least `quiet_gain`.
    averaged: f64,
    round: Option<Round>,
    /// Consecutive slots without a measurement because a PHY rate was changing.
    unclear_slots: u8,
    /// Consecutive slots in which nothing bore the estimate out although rates were used that are meant to aggregate.
    untold_slots: u8,
}

impl Overhead {
    /// A filter that starts from the assumed overhead `frame_s`.
    pub(super) fn new(frame_s: f64, quiet_gain: f64) -> Self {
        Self {
            frame_s,
            assumed_s: frame_s,
            quiet_gain,
            scatter: 0.0,
            averaged: 0.0,
            round: None,
            unclear_slots: 0,
            untold_slots: 0,
        }
    }

    /// Overhead per frame in seconds.
    pub(super) fn frame_s(&self) -> f64 {
        self.frame_s
    }

    /// The last measured round; `None` while frames do not aggregate.
    pub(super) fn round(&self) -> Option<Round> {
        self.round
    }

    /// Takes the observations of one slot: ĉ = D (1 − Σ w r), divided by the frames of a round.
    /// `aimed_s` is the round that the last rates aimed at, seconds.
    pub(super) fn observe(&mut self, stations: &[StationEstimate], aimed_s: Option<f64>) {
        let Some(least_s) = least_gap(stations, aimed_s) else {
            self.pass_untold(stations, aimed_s);
            return;
        };
        self.untold_slots = 0;
        let alone = is_witness_alone(stations);
        if let Some(round) = common_round(stations, least_s) {
            self.round = Some(round);
            let payload = payload_share(stations);
            // While a PHY rate changes, the payload of the slot's rounds is not known.
            let changing = stations.iter().any(StationEstimate::rate_changed);
            self.unclear_slots = if changing && self.unclear_slots < UNCLEAR_SLOTS {
                self.unclear_slots + 1
            } else {
                0
            };
            if self.unclear_slots == 0
                && let Some(measured) = overhead_per_frame(stations, round.time_s)
            {
                let measured = if alone {
                    measured.max(self.frame_s)
                } else {
                    measured
                };
                self.filter(measured, noise(round, payload), round.fresh);
            }
        } else if alone {
            self.round = None;
        } else {
            self.fall(stations, least_s);
        }
    }

    /// Moves the estimate towards `measured`: by a small step while noise explains the difference,
    /// nearly all the way otherwise. Only the share `fresh` of the measurement is new: the rest was
    /// filtered in an earlier slot, and one station that reports often must not make it count again.
    fn filter(&mut self, measured: f64, deviation: f64, fresh: f64) {
        let measured = measured.clamp(RANGE_S.0, RANGE_S.1);
        let innovation = (measured / self.frame_s).ln();
        let quiet = (NOISE_DEVIATIONS * deviation)
            .max(SCATTER_FACTOR * self.scatter)
            .max(CHANGE_LEAST);
        let surprise = (innovation.abs() / quiet - 1.0).clamp(0.0, 1.0);
        // After a change, measurements from before it must not be averaged with those after it.
        self.averaged *= 1.0 - fresh * surprise;
        // The mean of all measurements since the last change, and an exponential mean in the end.
        let gain = fresh * (1.0 / (self.averaged + 1.0)).max(self.quiet_gain);
        self.averaged += fresh;
        self.scatter += fresh * SCATTER_GAIN * (innovation.abs().min(2.0 * quiet) - self.scatter);
        self.frame_s = (self.frame_s * (gain * innovation).exp()).clamp(RANGE_S.0, RANGE_S.1);
    }

    /// Handles a slot in which no frames aggregated. The round is then shorter than every gap
    /// between frames, by an unknown amount.
    ///
    /// If the estimate says that frames should have aggregated, it is too high, and it falls until
    /// they do. Without this the law would mistake its own sparse sending for a longer round and
    /// never recover.
    fn fall(&mut self, stations: &[StationEstimate], gap_s: f64) {
        self.round = None;
        let open = (1.0 - payload_share(stations)).max(0.01);
        let frames = stations.iter().filter(|s| s.heard().is_some()).count() as f64;
        let expected_level = frames * self.frame_s / open / gap_s;
        let bound = overhead_per_frame(stations, gap_s).unwrap_or(self.frame_s);
        let factor = if expected_level > EVERY_ROUND_LEVEL {
            UNAGGREGATED_FALL.powf(fresh_share(stations))
        } else {
            1.0
        };
        self.frame_s = (self.frame_s * factor)
            .min(bound.max(RANGE_S.0))
            .max(RANGE_S.0);
    }

    /// Handles a slot in which nobody told of rounds. After some of them an estimate above the assumed overhead falls,
    /// unless packets wait for as long as such rounds would make them.
    ///
    /// A sensor that needs aggregated frames sees nothing while the rate is too low for them. Without this, one wrong
    /// measurement could hold a rate down for good: a station kept 1 Mbit/s of 290 because frames that followed beacons,
    /// while it slept, had been taken for rounds. If the estimate was right, frames aggregate in longer rounds than it says
    /// then, and are seen.
    fn pass_untold(&mut self, stations: &[StationEstimate], aimed_s: Option<f64>) {
        if !stations.iter().any(StationEstimate::takes_all_turns) {
            return;
        }
        let least_s = WAITED_SHARE * aimed_s.unwrap_or(0.0);
        let mut waits = stations.iter().filter_map(StationEstimate::slot_wait_s);
        if waits.any(|wait_s| wait_s >= least_s) {
            self.untold_slots = 0;
            return;
        }
        self.untold_slots = self.untold_slots.saturating_add(1);
        if self.untold_slots > UNTOLD_SLOTS && self.frame_s > self.assumed_s {
            self.frame_s = (UNAGGREGATED_FALL * self.frame_s).max(self.assumed_s);
            self.averaged = 0.0;
        }
    }
}

/// Whether one of three or more stations tells of rounds alone, because the others' frames hold one
/// packet each. What it tells may lengthen rounds, until the others tell of them too, but not
/// shorten them.
fn is_witness_alone(stations: &[StationEstimate]) -> bool {
    let mut witnesses = stations.iter().filter(|s| s.round_witness().is_some());
    let is_claim = witnesses.next().is_some_and(|s| s.told_by_agent);
    let greedy = stations.iter().filter(|s| s.demand() == Demand::Greedy);
    is_claim && witnesses.next().is_none() && greedy.count() > 2
}

/// Share of the stations that witness rounds that have reported in this slot.
fn fresh_share(stations: &[StationEstimate]) -> f64 {
    let (mut witnesses, mut fresh) = (0_u32, 0_u32);
    for station in stations.iter().filter(|s| s.round_witness().is_some()) {
        witnesses += 1;
        fresh += u32::from(station.has_reported());
    }
    f64::from(fresh) / f64::from(witnesses.max(1))
}

/// Share of the time that payload occupies the channel.
fn payload_share(stations: &[StationEstimate]) -> f64 {
    stations
        .iter()
        .map(|s| s.least_airtime_s() * s.on_air_pps() + s.answer_share())
        .sum()
}

/// Share of the time that the stations' own frames take.
pub(super) fn uplink_share(stations: &[StationEstimate]) -> f64 {
    let share: f64 = stations.iter().map(StationEstimate::uplink_share).sum();
    share.min(UPLINK_MOST)
}

/// Expected standard deviation of the logarithm of the overhead measured in one slot.
fn noise(round: Round, payload: f64) -> f64 {
    let of_frames = FRAME_NOISE / round.frames.max(1.0).sqrt();
    let of_windows = ROUND_NOISE * payload / (1.0 - payload).max(0.01) / round.rounds.max(1.0);
    of_frames.hypot(of_windows)
}

/// Overhead per frame if a round takes `round_s`.
fn overhead_per_frame(stations: &[StationEstimate], round_s: f64) -> Option<f64> {
    let payload = payload_share(stations) + uplink_share(stations);
    let frames = frames_per_round(stations, round_s);
    (frames > 0.0).then(|| round_s * (1.0 - payload).max(0.0) / frames)
}

/// Frames in a round of `round_s`. Where one station of three or more tells alone that it misses
/// turns, it counts as taking all of them: so do the rates that it was granted.
fn frames_per_round(stations: &[StationEstimate], round_s: f64) -> f64 {
    let (mut frames, mut served, mut missed) = (0.0, 0_u32, 0_u32);
    let mut missing = 0.0;
    for station in stations {
        let turns = station.turns(round_s);
        frames += turns;
        if station.takes_all_turns() {
            served += 1;
            if turns < 1.0 && station.told_by_agent {
                missed += 1;
                missing = 1.0 - turns;
            }
        }
    }
    if missed == 1 && served > 2 {
        frames + missing
    } else {
        frames
    }
}

/// Frames per round to a station whose frames are `gap_s` apart on average; 1 if the gap differs
/// from the round by noise only.
pub(super) fn turns(round_s: f64, gap_s: f64) -> f64 {
    let turns = round_s / gap_s;
    if turns * COMMON_FACTOR > 1.0 {
        1.0
    } else {
        turns
    }
}

/// The round that stations have in common: the mean gap over the frames of all witnesses whose gaps
/// are near the smallest, if those frames aggregate taken together. Asking each station whether its
/// frames aggregate would, near level 1, select the stations whose gaps happened to be long.
fn common_round(stations: &[StationEstimate], least_s: f64) -> Option<Round> {
    let near = |heard: &Heard| (1.0 / NEAR_LEAST..=NEAR_LEAST).contains(&(heard.gap_s / least_s));
    let most_frames = frames_told_twice(stations, near);
    let (mut time, mut frames, mut packets, mut n) = (0.0, 0.0, 0.0, 0.0);
    let mut fresh_frames = 0.0;
    for station in stations {
        let Some(heard) = station.round_witness().filter(near) else {
            continue;
        };
        let weight = heard.frames.min(most_frames);
        if station.has_reported() {
            fresh_frames += weight;
        }
        time += heard.gap_s * weight;
        frames += weight;
        packets += heard.level * weight;
        n += 1.0;
    }
    let aggregate = frames > 0.0 && packets >= EVERY_ROUND_LEVEL * frames;
    aggregate.then(|| Round {
        time_s: time / frames,
        frames,
        rounds: frames / n,
        fresh: fresh_frames / frames,
    })
}

/// Most frames with which one witness counts: a little more than the second largest number, so that
/// no station outweighs the others by the frames that it claims.
fn frames_told_twice(stations: &[StationEstimate], near: impl Fn(&Heard) -> bool) -> f64 {
    let (mut most, mut second) = (0.0_f64, 0.0_f64);
    for heard in stations.iter().filter_map(StationEstimate::round_witness) {
        if near(&heard) {
            second = second.max(heard.frames.min(most));
            most = most.max(heard.frames);
        }
    }
    if second > 0.0 {
        FRAMES_FACTOR * second
    } else {
        most
    }
}

/// The smallest mean gap between frames that two witnesses tell: an upper bound of the round.
///
/// A gap that one station alone tells may be invented. Where no two agree, the gap nearest to the
/// round `aimed_s` counts: a round that really changed would have changed for all.
fn least_gap(stations: &[StationEstimate], aimed_s: Option<f64>) -> Option<f64> {
    let witnesses = stations.iter().filter_map(StationEstimate::round_witness);
    let mut gaps: Vec<f64> = witnesses.map(|heard| heard.gap_s).collect();
    gaps.sort_by(f64::total_cmp);
    let least = *gaps.first()?;
    let confirmed = gaps.windows(2).find(|pair| pair[1] <= NEAR_LEAST * pair[0]);
    if let Some(pair) = confirmed {
        return Some(pair[0]);
    }
    let Some(aimed_s) = aimed_s.filter(|aimed| *aimed > 0.0) else {
        return Some(least);
    };
    let distance = |gap: &f64| (gap / aimed_s).ln().abs();
    gaps.into_iter()
        .min_by(|a, b| distance(a).total_cmp(&distance(b)))
}
