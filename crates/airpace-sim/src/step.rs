//! The step-response table: how many slots a law needs after a change until level and delay are
//! good again.

use crate::closed_loop::{Change, LoopConfig, SlotRecord, mean_over, mean_round_s};
use crate::mac::{CellConfig, Neighbours, PathConfig, StationConfig};
use crate::world::WorldError;
use airpace_core::control::{Goal, Law, LawConfig};
use airpace_core::phy::{
    BLOCK_ACK_BYTES, Edca, GuardInterval, LegacyRate, RateError, SIFS, Standard, Timing, TxRate,
    Width, ampdu_bytes, mpdu_bytes,
};
use airpace_units::{StationId, Time};
use core::time::Duration;
use strum::{Display, EnumString, IntoStaticStr};
use thiserror::Error;

#[cfg(test)]
mod tests;

/// The change of the cell.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Display, EnumString, IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Case {
    /// One station's rate falls from 780 to 390 Mbit/s (VHT MCS 9, 80 MHz, from two streams to
    /// one).
    Halve,
    /// Ten stations (780 Mbit/s) join one.
    Join,
    /// A neighbour comes that doubles the cost of channel access for one station's frames (780
    /// Mbit/s), with collisions.
    Contention,
    /// From a cold start: 20 stations at 390 Mbit/s and a delay target of 5 ms, of which 4 ms are
    /// overhead.
    Tight,
}

impl Case {
    /// Every case, in the order of the table.
    pub const ALL: [Self; 4] = [Self::Halve, Self::Join, Self::Contention, Self::Tight];

    /// The name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// One run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StepConfig {
    /// The law.
    pub law: Law,
    /// The change.
    pub case: Case,
    /// Length of a slot (Δ).
    pub slot: Duration,
    /// Slots before the change (none in the tight case, which is a cold start).
    pub warm_up: usize,
    /// Slots judged after the change.
    pub horizon: usize,
    /// Seed of every draw.
    pub seed: u64,
}

impl StepConfig {
    /// The table's runs: 40 slots before, 60 after, seed 1.
    #[must_use]
    pub const fn new(law: Law, case: Case, slot: Duration) -> Self {
        Self {
            law,
            case,
            slot,
            warm_up: 40,
            horizon: 60,
            seed: 1,
        }
    }
}

/// A row of the table.
#[derive(Clone, PartialEq, Debug)]
pub struct StepRow {
    /// The law.
    pub law: Law,
    /// The change.
    pub case: Case,
    /// Length of a slot.
    pub slot: Duration,
    /// Slots after the change until a slot is good and the medians of five slots stay good; `None`
    /// if that never happened.
    pub slots: Option<usize>,
    /// What makes a slot good.
    pub target: Target,
    /// Mean level over stations and the second half of the horizon.
    pub level: f64,
    /// Mean round time over the same, seconds.
    pub round_s: f64,
    /// Mean delay over the same, seconds.
    pub delay_s: f64,
    /// Total goodput over the same, Mbit/s of payload.
    pub goodput_mbps: f64,
    /// Packets lost in the whole horizon.
    pub lost: u64,
}

/// What makes a slot good.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Target {
    /// The level (halve, join, contention) or the round time in seconds (tight) that the mean over
    /// stations must have.
    pub value: f64,
    /// The permitted deviation, as a share of `value`.
    pub band: f64,
    /// The mean delay over stations must be below this, seconds: the model's for the target and
    /// some slack.
    pub delay_s: f64,
}

/// Why a run is impossible.
#[derive(Clone, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum StepError {
    /// The configuration of the closed loop is invalid.
    #[error(transparent)]
    Loop(#[from] WorldError),
    /// A PHY rate does not exist.
    #[error(transparent)]
    Rate(#[from] RateError),
}

/// Level aimed at in all cases but the tight one (the papers' target).
const LEVEL: f64 = 32.0;
/// Delay target of these cases: so long that the level limits instead.
const LOOSE: Duration = Duration::from_millis(20);
/// Level limit of the tight case.
const TIGHT_LEVEL: f64 = 48.0;
/// Delay target of the tight case.
const TIGHT_DELAY: Duration = Duration::from_millis(5);
/// The neighbour takes every other access. With its collisions it doubles the overhead per frame,
/// from 205 to 430 µs.
const NEIGHBOUR: Neighbours = Neighbours {
    count: 1,
    airtime: Duration::from_micros(90),
};
/// The permitted deviation of a slot's mean level, the same for every law.
const BAND: f64 = 0.15;
/// The permitted deviation of the round in the tight case.
const TIGHT_BAND: f64 = 0.05;
/// Slots per median. Collisions, above all with the neighbour, push single slots out of the band
/// under every law.
const WINDOW: usize = 5;
/// Share of the medians after the settled slot that must be good. About once a minute a series of
/// collisions, each of which doubles the contention window, pushes several slots of 100 ms in a row
/// out of the band, whatever the law.
const STAYING_SHARE: f64 = 0.9;
/// Lowest level of a good slot. In the tight case a law that sends too little for aggregation has
/// gaps between frames, but no rounds.
const LEAST_LEVEL: f64 = 1.2;
/// Slack of the delay bound, because the model knows only the mean round: 2.0 ms where one
/// station's rate is halved.
const DELAY_SLACK: f64 = 1.2;
/// Slack beside a neighbour: one frame in eight collides, and its packets wait for another round.
const COLLISION_SLACK: f64 = 2.0;
/// Packets per station that arrive at once at a cold start, after they have waited for address
/// resolution, as in ns-3. The rate to which the published nonlinear law has fallen there after 6 s
/// (25 Mbit/s) follows from seven excess packets in the first slot.
const HELD_BACK: u32 = 8;
/// Bytes with IP header of a report, 60 bytes of payload.
const REPORT_BYTES: u32 = 88;
/// Bytes with IP header of a packet.
const PACKET_BYTES: u32 = 1_498;
/// The access point's queue, packets per station.
const QUEUE: usize = 2_000;

/// Runs one case and judges it.
///
/// # Errors
/// The configuration is invalid.
pub fn step(config: &StepConfig) -> Result<StepRow, StepError> {
    let (records, begin) = step_records(config)?;
    let slots = &records[begin..];
    Ok(judge(config, slots, target(config.case)?))
}

/// Runs one case; returns its slots and the index of the first slot after the change.
///
/// # Errors
/// The configuration is invalid.
pub fn step_records(config: &StepConfig) -> Result<(Vec<SlotRecord>, usize), StepError> {
    let begin = if config.case == Case::Tight {
        0
    } else {
        config.warm_up
    };
    let at = Time::ZERO + config.slot * u32::try_from(begin).unwrap_or(u32::MAX);
    let mut closed_loop = build(config)?;
    match config.case {
        Case::Halve => {
            let change = Change::Rate(StationId(0), mcs9(1)?);
            closed_loop.changes.push((at, change));
        }
        Case::Join => {
            closed_loop.joins = (1..=10).map(|idx| (StationId(idx), at)).collect();
        }
        Case::Contention => closed_loop
            .changes
            .push((at, Change::Neighbours(NEIGHBOUR))),
        Case::Tight => {
            let burst = |idx| (at, Change::Burst(StationId(idx), HELD_BACK));
            closed_loop.changes.extend((0..20).map(burst));
        }
    }
    let records = closed_loop.run(begin + config.horizon)?;
    Ok((records, begin))
}

/// The closed loop of a case, without its change.
fn build(config: &StepConfig) -> Result<LoopConfig, StepError> {
    let (stations, nss) = match config.case {
        Case::Halve | Case::Contention => (1, 2),
        Case::Join => (11, 2),
        Case::Tight => (20, 1),
    };
    let (level, delay) = if config.case == Case::Tight {
        (TIGHT_LEVEL, TIGHT_DELAY)
    } else {
        (LEVEL, LOOSE)
    };
    let goal = Goal::papers(level, Some(delay));
    let law = with_known_rate(LawConfig::named(config.law, goal), mcs9(nss)?);
    let mut cell = CellConfig::new(vec![StationConfig::new(mcs9(nss)?); stations]);
    cell.access_point = PathConfig::per_station(QUEUE);
    Ok(LoopConfig {
        report_bytes: Some(REPORT_BYTES),
        seed: config.seed,
        ..LoopConfig::new(cell, law, config.slot)
    })
}

/// The law with the PHY rate that the published laws know from the start, as in the papers' runs.
/// Ours must find out.
fn with_known_rate(mut law: LawConfig, rate: TxRate) -> LawConfig {
    let stream = match &mut law {
        LawConfig::Linear(c) => &mut c.stream,
        LawConfig::LinearPf(c) => &mut c.stream,
        LawConfig::Dual(c) => &mut c.stream,
        LawConfig::Nonlinear(c) => &mut c.stream,
        _ => return law,
    };
    stream.assumed_phy_bps = rate.rate().as_bps_f64();
    law
}

/// VHT MCS 9 at 80 MHz, long guard interval.
fn mcs9(nss: u8) -> Result<TxRate, RateError> {
    TxRate::new(Standard::Vht, Width::Mhz80, nss, 9, GuardInterval::Ns800)
}

/// What makes a slot good, from the model: the same for every law.
fn target(case: Case) -> Result<Target, StepError> {
    let (rate, stations, value, overheads) = match case {
        Case::Halve => (mcs9(1)?, 1.0, LEVEL, 1.0),
        Case::Join => (mcs9(2)?, 11.0, LEVEL, 1.0),
        Case::Contention => (mcs9(2)?, 1.0, LEVEL, 2.0),
        Case::Tight => {
            // Packets wait half a round and more.
            let round_s = TIGHT_DELAY.as_secs_f64();
            return Ok(Target {
                value: round_s,
                band: TIGHT_BAND,
                delay_s: DELAY_SLACK * round_s / 2.0,
            });
        }
    };
    let ppdu_s = rate
        .ppdu_duration(
            ampdu_bytes(LEVEL as u32, mpdu_bytes(PACKET_BYTES)),
            Timing::Standard,
        )
        .as_secs_f64();
    let response_s = (SIFS + LegacyRate::Mbps24.duration(BLOCK_ACK_BYTES)).as_secs_f64();
    let frame_s = overheads * (access_s() + response_s) + ppdu_s;
    // A packet arrives at a uniformly distributed time within a round, goes with the next frame,
    // and is handed over at the end of that frame.
    let slack = if case == Case::Contention {
        COLLISION_SLACK
    } else {
        DELAY_SLACK
    };
    Ok(Target {
        value,
        band: BAND,
        delay_s: slack * (stations * frame_s / 2.0 + ppdu_s),
    })
}

/// Mean access time of a saturated sender, seconds.
fn access_s() -> f64 {
    let edca = Edca::of(airpace_core::phy::AccessCategory::BestEffort);
    (edca.aifs() + edca.mean_backoff()).as_secs_f64()
}

/// Slots until a slot is good, the median of the [`WINDOW`] slots from it on is good, and nearly
/// all later medians are. `None` if less than a quarter of the horizon is left then.
fn settled(case: Case, slots: &[SlotRecord], target: &Target) -> Option<usize> {
    let views: Vec<View> = slots.iter().map(|slot| View::of(case, slot)).collect();
    let windows: Vec<bool> = views
        .windows(WINDOW)
        .map(|window| View::median(window).is_good(target))
        .collect();
    let stays = |from: usize| {
        let good = windows[from..].iter().filter(|&&good| good).count();
        windows[from] && good as f64 >= STAYING_SHARE * (windows.len() - from) as f64
    };
    (0..windows.len().min(slots.len() * 3 / 4)).find(|&k| views[k].is_good(target) && stays(k))
}

/// Means over the stations of one slot.
#[derive(Clone, Copy)]
struct View {
    level: f64,
    /// The quantity that has the target's value: the level, or the round in seconds.
    value: f64,
    delay_s: f64,
}

impl View {
    fn of(case: Case, slot: &SlotRecord) -> Self {
        let slots = core::slice::from_ref(slot);
        let level = mean_over(slots, |s| s.level);
        let value = if case == Case::Tight {
            mean_round_s(slots)
        } else {
            level
        };
        Self {
            level,
            value,
            delay_s: mean_over(slots, |s| s.delay_mean.as_secs_f64()),
        }
    }

    /// The median of each quantity by itself.
    fn median(window: &[Self]) -> Self {
        Self {
            level: median(window.iter().map(|view| view.level)),
            value: median(window.iter().map(|view| view.value)),
            delay_s: median(window.iter().map(|view| view.delay_s)),
        }
    }

    fn is_good(&self, target: &Target) -> bool {
        let near = (self.value / target.value - 1.0).abs() <= target.band;
        near && self.level >= LEAST_LEVEL && self.delay_s < target.delay_s
    }
}

/// The median of an odd number of values.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn judge(config: &StepConfig, slots: &[SlotRecord], target: Target) -> StepRow {
    let half = &slots[slots.len() / 2..];
    let stations = slots
        .last()
        .map_or(0, |slot| slot.stations.iter().filter(|s| s.joined).count());
    StepRow {
        law: config.law,
        case: config.case,
        slot: config.slot,
        slots: settled(config.case, slots, &target),
        target,
        level: mean_over(half, |s| s.level),
        round_s: mean_round_s(half),
        delay_s: mean_over(half, |s| s.delay_mean.as_secs_f64()),
        goodput_mbps: mean_over(half, |s| s.goodput_mbps) * stations as f64,
        lost: slots
            .iter()
            .flat_map(|slot| &slot.stations)
            .map(|s| u64::from(s.lost))
            .sum(),
    }
}
