//! Trains and judges the classifier that tells frames apart by receive timestamps
//! ([`airpace_core::meter::classifier`]).
//!
//! Frames come from simulated cells with TCP downloads that a box paces to known levels
//! ([`CellFrames`]). A model of a receiver ([`Receiver`]) turns them into the timestamps that a
//! socket would see, with jitter, merged packets and combined interrupts. [`train`] fits the
//! classifier to some receivers, and [`judge`] compares its levels with the truth for others.

mod conditions;
mod receiver;
#[cfg(test)]
mod tests;
mod train;

pub use conditions::{Condition, held_out, training};
pub use receiver::{AirFrame, Arrival, Coalescing, Latency, Receiver};

use crate::rng::Stream;
use crate::sensors::{Trial, USABLE, cell};
use crate::world::WorldError;
use airpace_core::meter::classifier::{GAP_FEATURES, Model, TimestampClassifier, WINDOW_FEATURES};
use airpace_core::meter::{FrameHints, Grouping, Meter, MeterConfig, Received};
use airpace_core::phy::AccessCategory;
use airpace_units::{StationId, Time};
use core::time::Duration;
use train::Examples;

/// Length of a slot.
const SLOT: Duration = Duration::from_millis(100);
/// Slots in which the classifier gets to know a receiver.
const LEARNING_SLOTS: u32 = 5;
/// Bytes of a packet.
const BYTES: u32 = 1_500;
/// Frames of which a training window judges the level.
const WINDOW_FRAMES: u32 = 100;
/// Largest error of the level of such a window that is good enough.
const WINDOW_ERROR: f64 = 0.05;
/// How much worse it is to use a wrong level than not to use a right one.
const WRONG_WEIGHT: f64 = 6.0;
/// Gaps of an arrival sequence from which the classifier learns.
const TAUGHT_GAPS: usize = 4_000;
/// Time from a frame to one that repeats a part of it: SIFS, block ack, AIFS and some back-off.
const REPEATED_AFTER: Duration = Duration::from_micros(130);
/// The part that is repeated: one in so many.
const REPEATED_PART: u32 = 10;
/// Duration of a preamble.
const PREAMBLE: Duration = Duration::from_micros(40);
/// Rounds of training: what the classifier knows of the last frames depends on its own decisions.
const ROUNDS: u64 = 4;

/// The frames to one station of a simulated cell.
#[derive(Clone, Debug)]
pub struct CellFrames {
    /// Stations of the cell.
    pub stations: u32,
    /// Index of this one.
    pub station: u32,
    /// Its frames that were received, in order of time.
    pub frames: Vec<AirFrame>,
}

/// Simulates a cell of so many stations, paced to `level` packets per frame, for `duration` after a
/// second of warm-up. Returns the frames of each station.
///
/// # Errors
/// The configuration is invalid.
pub fn simulate(
    stations: u32,
    level: f64,
    duration: Duration,
    seed: u64,
) -> Result<Vec<CellFrames>, WorldError> {
    let outcome = cell::run(&Trial {
        stations,
        flows: 2,
        level,
        duration,
        seed,
        ..Trial::default()
    })?;
    let frames_to = |station| CellFrames {
        stations,
        station,
        frames: cell::downlink(&outcome, station)
            .map(|frame| AirFrame {
                start: frame.start,
                end: frame.end,
                packets: u32::from(frame.decoded),
            })
            .collect(),
    };
    Ok((0..stations).map(frames_to).collect())
}

impl CellFrames {
    /// The same frames, every one followed by a frame that repeats a tenth of it, as some drivers send
    /// what was lost, where the channel is free for it.
    #[must_use]
    pub fn with_repeats(&self) -> Self {
        let mut frames = Vec::new();
        for (idx, frame) in self.frames.iter().enumerate() {
            frames.push(*frame);
            let airtime = frame.end.saturating_since(frame.start);
            let start = frame.end + REPEATED_AFTER;
            let end = start + PREAMBLE + airtime / REPEATED_PART;
            let next = self
                .frames
                .get(idx + 1)
                .map_or(Time::MAX, |next| next.start);
            if end + REPEATED_AFTER < next {
                let packets = frame.packets.div_ceil(REPEATED_PART);
                frames.push(AirFrame {
                    start,
                    end,
                    packets,
                });
            }
        }
        Self {
            frames,
            ..self.clone()
        }
    }
}

/// Which cells to simulate: numbers of stations and levels.
#[derive(Clone, PartialEq, Debug)]
pub struct CellPlan {
    /// Numbers of stations.
    pub stations: Vec<u32>,
    /// Levels at which the pacing aims, packets per frame.
    pub levels: Vec<f64>,
    /// Time that is observed.
    pub duration: Duration,
    /// Seed of every draw.
    pub seed: u64,
}

impl CellPlan {
    /// The cells for training.
    #[must_use]
    pub fn training(seed: u64) -> Self {
        Self {
            stations: vec![1, 2, 3],
            levels: vec![1.1, 2.4, 4.0, 9.0, 18.0, 30.0, 44.0],
            duration: Duration::from_millis(1_500),
            seed,
        }
    }

    /// The cells by which the classifier is judged: other numbers of stations and other levels.
    #[must_use]
    pub fn judging(seed: u64, quick: bool) -> Self {
        let (stations, levels) = if quick {
            (vec![2], vec![3.0, 12.0])
        } else {
            (vec![1, 2, 4], vec![2.2, 3.0, 6.0, 12.0, 24.0, 36.0])
        };
        Self {
            stations,
            levels,
            duration: Duration::from_secs(2),
            // Any other than that of the training.
            seed: seed.wrapping_add(1 << 32),
        }
    }

    /// The cells, each to be simulated by [`simulate`]: number of stations and level.
    pub fn cells(&self) -> impl Iterator<Item = (u32, f64)> + '_ {
        self.stations
            .iter()
            .flat_map(|&stations| self.levels.iter().map(move |&level| (stations, level)))
    }
}

/// Fits a model to the frames of `cells` as the receivers of `conditions` see them. Receivers without
/// much jitter see the frames with repeats, too: these are short frames, and no sign of jitter.
#[must_use]
pub fn train(cells: &[CellFrames], conditions: &[Condition], seed: u64) -> Model {
    let mut model = initial();
    for round in 0..ROUNDS {
        let mut gaps = Examples::<{ GAP_FEATURES.len() }>::default();
        let mut windows = Examples::<{ WINDOW_FEATURES.len() }>::default();
        let repeating: Vec<_> = cells.iter().map(CellFrames::with_repeats).collect();
        for (index, cell) in (0..).zip(cells.iter().chain(&repeating)) {
            let repeats = index >= cells.len() as u64;
            for condition in conditions {
                if repeats && !condition.receiver.is_prompt() {
                    continue;
                }
                let mut stream = Stream::new(seed.wrapping_add(round), condition.name, index);
                let arrivals = condition.receiver.arrivals(&cell.frames, &mut stream);
                teach(&arrivals, model, &mut gaps, &mut windows);
            }
        }
        model.gap = gaps.fit();
        // In the first round, decisions were those of the model before.
        if round > 0 {
            model.window = windows.fit();
        }
    }
    model
}

/// The model that training starts from: a gap of 65 µs separates frames, and every level is usable.
fn initial() -> Model {
    let mut model = Model {
        gap: [0.0; GAP_FEATURES.len()],
        window: [0.0; WINDOW_FEATURES.len()],
    };
    // The second feature is the logarithm of the gap in µs, plus one.
    (model.gap[0], model.gap[1]) = (-4.0 * 66_f64.ln(), 4.0);
    model.window[0] = -5.0;
    model
}

/// Lets the classifier see `arrivals`, and notes what it saw and what was true.
fn teach(
    arrivals: &[Arrival],
    model: Model,
    gaps: &mut Examples<{ GAP_FEATURES.len() }>,
    windows: &mut Examples<{ WINDOW_FEATURES.len() }>,
) {
    let mut classifier = TimestampClassifier::new(model);
    let step = arrivals.len().div_ceil(TAUGHT_GAPS).max(1);
    let (mut frames, mut taken) = (0_u32, 0_u32);
    let mut before = None;
    for (i, arrival) in arrivals.iter().enumerate() {
        let verdict = classifier.observe(arrival.at);
        let starts_frame = before.replace(arrival.frame) != Some(arrival.frame);
        if i > 0 && i % step == 0 {
            gaps.add(verdict.features, starts_frame, 1.0);
        }
        frames += u32::from(starts_frame);
        taken += u32::from(verdict.starts_frame);
        if frames >= WINDOW_FRAMES {
            let error = f64::from(taken) / f64::from(frames) - 1.0;
            let is_wrong = error.abs() > WINDOW_ERROR;
            let weight = if is_wrong { WRONG_WEIGHT } else { 1.0 };
            windows.add(classifier.window_features(), is_wrong, weight);
            (frames, taken) = (0, 0);
        }
    }
}

/// What the meter says about one station from timestamps alone.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TimestampRow {
    /// The receiver's name.
    pub condition: &'static str,
    /// Stations of the cell.
    pub stations: u32,
    /// Index of the station.
    pub station: u32,
    /// Packets per frame in truth, over the slots that were usable, or over all if none was.
    pub true_level: f64,
    /// Packets per frame as the meter says, over the slots that it calls usable.
    pub level: Option<f64>,
    /// Whether at least half of the slots were usable.
    pub usable: bool,
    /// Packets per frame by the gap of 65 µs, over all slots, and in truth over all slots.
    pub by_fixed_gap: (f64, f64),
}

impl TimestampRow {
    /// Relative error of the level, if it is usable.
    #[must_use]
    pub fn error(&self) -> Option<f64> {
        self.level
            .filter(|_| self.usable)
            .map(|level| level / self.true_level - 1.0)
    }

    /// Relative error of the level by the gap of 65 µs.
    #[must_use]
    pub fn fixed_gap_error(&self) -> f64 {
        self.by_fixed_gap.0 / self.by_fixed_gap.1 - 1.0
    }
}

/// Lets meters see the frames of a cell as a receiver does, and compares their levels with the truth.
#[must_use]
pub fn judge(cell: &CellFrames, condition: &Condition, seed: u64) -> TimestampRow {
    let index = u64::from(cell.stations * 100 + cell.station);
    let mut stream = Stream::new(seed, condition.name, index);
    let arrivals = condition.receiver.arrivals(&cell.frames, &mut stream);
    let trained = slots(&arrivals, Grouping::Trained);
    let fixed = slots(&arrivals, Grouping::FixedGap);
    let usable: Vec<&Slot> = trained.iter().filter(|slot| slot.is_usable()).collect();
    let used = Slot::sum(usable.iter().copied());
    let all = Slot::sum(trained.iter());
    let fixed = Slot::sum(fixed.iter());
    let of = if used.frames > 0 { used } else { all };
    TimestampRow {
        condition: condition.name,
        stations: cell.stations,
        station: cell.station,
        true_level: of.true_level(),
        level: (used.frames > 0).then(|| f64::from(used.packets) / f64::from(used.frames)),
        usable: !usable.is_empty() && 2 * usable.len() >= trained.len(),
        by_fixed_gap: (
            f64::from(fixed.packets) / f64::from(fixed.frames.max(1)),
            all.true_level(),
        ),
    }
}

/// What a meter said of a slot, and what was true.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    frames: u32,
    packets: u32,
    confidence: f64,
    true_frames: u32,
    true_packets: u32,
}

impl Slot {
    fn is_usable(&self) -> bool {
        self.frames > 0 && self.confidence >= USABLE
    }

    fn true_level(&self) -> f64 {
        f64::from(self.true_packets) / f64::from(self.true_frames.max(1))
    }

    fn sum<'a>(slots: impl Iterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        for slot in slots {
            sum.frames += slot.frames;
            sum.packets += slot.packets;
            sum.true_frames += slot.true_frames;
            sum.true_packets += slot.true_packets;
        }
        sum
    }
}

/// The slots of a meter that groups arrivals as `grouping` says, after those in which it learns.
fn slots(arrivals: &[Arrival], grouping: Grouping) -> Vec<Slot> {
    let start = arrivals.first().map_or(Time::ZERO, |arrival| arrival.at);
    let mut meter = Meter::new(
        MeterConfig {
            grouping,
            ..MeterConfig::new(StationId(0))
        },
        start,
    );
    let mut slots = Vec::new();
    let (mut end, mut slot) = (start + SLOT, Slot::default());
    let mut before = None;
    for (sequence, arrival) in (0..).zip(arrivals) {
        while arrival.at >= end {
            let report = meter.close_slot(end);
            (slot.frames, slot.packets) = (report.frames, report.packets);
            slot.confidence = report.confidence;
            slots.push(core::mem::take(&mut slot));
            end += SLOT;
        }
        slot.true_frames += u32::from(before.replace(arrival.frame) != Some(arrival.frame));
        slot.true_packets += 1;
        meter.on_packet(&Received {
            arrival: arrival.at,
            frame: FrameHints::default(),
            sequence,
            bytes: BYTES,
            category: AccessCategory::BestEffort,
            delay_ns: None,
        });
    }
    slots.split_off(slots.len().min(LEARNING_SLOTS as usize))
}
