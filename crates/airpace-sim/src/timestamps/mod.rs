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
use airpace_core::meter::classifier::{
    GAP_FEATURES, GAP_TREES, LEAVES, Model, SPLITS, TimestampClassifier, Tree, WINDOW_FEATURES,
    WINDOW_TREES,
};
use airpace_core::meter::{FrameHints, Grouping, Meter, MeterConfig, Received};
use airpace_core::phy::{AccessCategory, GuardInterval, Standard, TxRate, Width};
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
const WRONG_WEIGHT: f64 = 4.0;
/// Gaps of an arrival sequence from which the classifier learns.
const TAUGHT_GAPS: usize = 1_000;
/// Most that a gap counts for: an error about one costs as much as the packets of a frame.
const HEAVIEST_GAP: f64 = 30.0;
/// How far each tree goes.
const GAP_RATE: f64 = 0.6;
const WINDOW_RATE: f64 = 0.3;
/// Index of the feature that compares a gap with the valley of all gaps.
const AGAINST_VALLEY: usize = 1;
/// Time from a frame to one that repeats a part of it: SIFS, block ack, AIFS and some back-off.
const REPEATED_AFTER: Duration = Duration::from_micros(130);
/// The part that is repeated: one in so many.
const REPEATED_PART: u32 = 10;
/// Cells below this level, packets per frame, also stand for those in which every packet is alone.
const SPARSE_LEVEL: f64 = 3.5;
/// Duration of a preamble.
const PREAMBLE: Duration = Duration::from_micros(40);
/// Receivers of the training have their times multiplied by a factor from this to its inverse, which
/// leaves gaps between them for those that it is judged by.
const LEAST_FACTOR: f64 = 0.86;
/// Rounds of training: what the classifier knows of the last frames depends on its own decisions.
const ROUNDS: u64 = 3;

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

impl CellFrames {
    /// Packets per frame.
    fn level(&self) -> f64 {
        let packets: u32 = self.frames.iter().map(|frame| frame.packets).sum();
        f64::from(packets) / self.frames.len().max(1) as f64
    }

    /// The same frames with a single packet each, as when little is sent.
    #[must_use]
    pub fn with_single_packets(&self) -> Self {
        let single = |frame: &AirFrame| {
            let airtime = frame.end.saturating_since(frame.start);
            let without = airtime.saturating_sub(PREAMBLE) / frame.packets.max(1)
                * frame.packets.saturating_sub(1);
            AirFrame {
                start: frame.start + without,
                packets: 1,
                ..*frame
            }
        };
        Self {
            frames: self.frames.iter().map(single).collect(),
            ..self.clone()
        }
    }
}

/// A cell to simulate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cell {
    /// Number of stations.
    pub stations: u32,
    /// Level at which the pacing aims, packets per frame.
    pub level: f64,
    /// Rates of three stations in a row.
    pub rates: [TxRate; 3],
    /// Time that is observed, after a second of warm-up.
    pub duration: Duration,
    /// Seed of every draw.
    pub seed: u64,
}

/// Simulates a cell and returns the frames of each station.
///
/// # Errors
/// The configuration is invalid.
pub fn simulate(cell: &Cell) -> Result<Vec<CellFrames>, WorldError> {
    let outcome = cell::run(&Trial {
        stations: cell.stations,
        rates: cell.rates,
        flows: 2,
        level: cell.level,
        duration: cell.duration,
        seed: cell.seed,
        ..Trial::default()
    })?;
    let frames_to = |station| CellFrames {
        stations: cell.stations,
        station,
        frames: cell::downlink(&outcome, station)
            .map(|frame| AirFrame {
                start: frame.start,
                end: frame.end,
                packets: u32::from(frame.decoded),
            })
            .collect(),
    };
    Ok((0..cell.stations).map(frames_to).collect())
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

/// The cells for training.
#[must_use]
pub fn training_cells(seed: u64) -> Vec<Cell> {
    let radios = [
        (Standard::Ht, Width::Mhz20, 1, [7, 4, 2]),
        (Standard::Vht, Width::Mhz80, 2, [9, 5, 3]),
        (Standard::He, Width::Mhz80, 1, [11, 7, 3]),
    ];
    let levels = [1.1, 2.4, 4.0, 9.0, 18.0, 30.0, 44.0];
    cells(&radios, &[1, 2, 3], &levels, (2_500, seed))
}

/// The cells by which the classifier is judged: other radios, numbers of stations and levels. All
/// have levels within the bar's range; `quick` takes two.
#[must_use]
pub fn judged_cells(seed: u64, quick: bool) -> Vec<Cell> {
    let radios = [
        (Standard::Vht, Width::Mhz80, 1, [9, 4, 2]),
        (Standard::He, Width::Mhz40, 1, [9, 5, 2]),
    ];
    // Any other than that of the training.
    let seed = seed.wrapping_add(1 << 32);
    if quick {
        cells(&radios[..1], &[2], &[3.0, 12.0], (2_000, seed))
    } else {
        let levels = [2.2, 3.0, 6.0, 12.0, 24.0, 36.0];
        cells(&radios, &[1, 2, 4], &levels, (4_000, seed))
    }
}

/// A kind of radio: standard, width, streams, and MCS of three stations in a row.
type Radio = (Standard, Width, u8, [u8; 3]);

fn cells(radios: &[Radio], stations: &[u32], levels: &[f64], (ms, seed): (u64, u64)) -> Vec<Cell> {
    let mut cells = Vec::new();
    for &(standard, width, streams, mcs) in radios {
        let rate = |mcs| TxRate::new(standard, width, streams, mcs, GuardInterval::Ns800);
        let rates = mcs.map(|mcs| rate(mcs).expect("the rates of the lists exist"));
        for &stations in stations {
            cells.extend(levels.iter().map(|&level| Cell {
                stations,
                level,
                rates,
                duration: Duration::from_millis(ms),
                seed,
            }));
        }
    }
    cells
}

/// Fits a model to the frames of `cells` as the receivers of `conditions` see them. Receivers without
/// much jitter see the frames with repeats, too: these are short frames, and no sign of jitter. All see
/// sparse frames with a single packet each.
#[must_use]
pub fn train(cells: &[CellFrames], conditions: &[Condition], seed: u64) -> Model {
    let variants = variants(cells);
    let mut model = initial();
    for round in 0..ROUNDS {
        let mut gaps = Examples::<{ GAP_FEATURES.len() }>::default();
        let mut windows = Examples::<{ WINDOW_FEATURES.len() }>::default();
        for (index, (cell, kind)) in (0..).zip(&variants) {
            for condition in conditions {
                if *kind == Kind::Repeats && !condition.receiver.is_prompt() {
                    continue;
                }
                let mut stream = Stream::new(seed.wrapping_add(round), condition.name, index);
                let factor = LEAST_FACTOR * (1.0 / LEAST_FACTOR).powf(2.0 * stream.unit());
                let receiver = condition.receiver.slower(factor);
                let arrivals = receiver.arrivals(&cell.frames, &mut stream);
                teach(&arrivals, model, &mut gaps, &mut windows);
            }
        }
        model.gap = gaps.fit(GAP_RATE);
        // In the first round, decisions were those of the model before.
        if round > 0 {
            model.window = windows.fit(WINDOW_RATE);
        }
    }
    model
}

/// What has been done to the frames of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Simulated,
    Repeats,
    Singles,
}

/// The frames of all cells, with repeats, and with single packets where there are few anyway.
fn variants(cells: &[CellFrames]) -> Vec<(CellFrames, Kind)> {
    let simulated = cells.iter().map(|cell| (cell.clone(), Kind::Simulated));
    let repeats = cells
        .iter()
        .map(|cell| (cell.with_repeats(), Kind::Repeats));
    let sparse = cells.iter().filter(|cell| cell.level() < SPARSE_LEVEL);
    let singles = sparse.map(|cell| (cell.with_single_packets(), Kind::Singles));
    simulated.chain(repeats).chain(singles).collect()
}

/// The model that training starts from: the valley of all gaps separates frames, and every level is
/// usable.
fn initial() -> Model {
    let mut model = Model {
        gap: [Tree::ZERO; GAP_TREES],
        window: [Tree::ZERO; WINDOW_TREES],
    };
    model.gap[0] = Tree {
        splits: [(AGAINST_VALLEY, 0.0); SPLITS],
        leaves: [-5.0, -5.0, -5.0, -5.0, 5.0, 5.0, 5.0, 5.0],
    };
    model.window[0].leaves = [-5.0; LEAVES];
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
    let all_frames = arrivals.last().map_or(1, |last| last.frame + 1);
    let level = arrivals.len() as f64 / f64::from(all_frames);
    let (mut frames, mut taken) = (0_u32, 0_u32);
    let mut before = None;
    for (i, arrival) in arrivals.iter().enumerate() {
        let verdict = classifier.observe(arrival.at);
        let starts_frame = before.replace(arrival.frame) != Some(arrival.frame);
        if i > 0 && i % step == 0 {
            gaps.add(verdict.features, starts_frame, level.min(HEAVIEST_GAP));
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
    /// The receiver.
    pub condition: Condition,
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
        condition: *condition,
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
