//! The sensors that need no agent against the access point's own records, in virtual time.
//!
//! The trials are those of [`airpace_sim::sensors`]: cells of one to five stations with one, two or
//! four TCP downloads each, paced by a box in front of the access point. [`airpace_sim::sensors::standard`]
//! judges the accuracy of the levels; the [`TrialSet::Hostile`] trials have clients and radios that
//! hide the frames, and judge whether a sensor then says that it is unusable.

use crate::tool::Stop;
use airpace_core::report::Sensor;
use airpace_sim::sensors::{self, Client, Hearing, SensorRow, Trial};
use airpace_sim::world::WorldError;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;
use strum::{EnumString, IntoStaticStr, VariantNames};

/// Bar for the level by block acks of which a fifth is missed: largest relative error.
pub const BLOCK_ACK_BAR: f64 = 0.05;

/// Bar for the level by bursts of acknowledgements: largest relative error.
pub const ACK_BURST_BAR: f64 = 0.15;

/// A sensor whose level is further from the truth than this must say that it is unusable.
pub const UNUSABLE_BAR: f64 = 0.30;

/// True levels to which the bars apply, packets per frame.
pub const JUDGED_LEVELS: RangeInclusive<f64> = 2.0..=48.0;

/// Of the standard trials, a quick run takes every so many. It is coprime to the numbers of levels
/// and flows, so that a quick run has all of them.
const QUICK_STEP: usize = 11;

/// What the radio beside the access point hears of a frame, besides four of five control frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum HeardFrames {
    /// RTS and CTS, with which the access point protects its frames; no data frames.
    #[default]
    Rts,
    /// The headers of every second data frame; there are no RTS and CTS.
    Headers,
    /// The headers of one data frame in ten; there are no RTS and CTS.
    FewHeaders,
    /// Nothing: the access point sends no RTS, and data frames are out of reach.
    BlockAcks,
}

impl HeardFrames {
    /// Its name in options and results.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The same in the simulator's terms, with `missed` of the control frames lost.
    fn hearing(self, missed: f64) -> Hearing {
        let (data, rts) = match self {
            Self::Rts => (0.0, true),
            Self::Headers => (0.5, false),
            Self::FewHeaders => (0.1, false),
            Self::BlockAcks => (0.0, false),
        };
        Hearing {
            missed,
            data,
            rts,
            ..Hearing::default()
        }
    }
}

/// Why a trial is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, IntoStaticStr, Serialize)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum TrialSet {
    /// To judge how accurate levels are: ordinary clients.
    Standard,
    /// To judge whether a sensor notices that it cannot tell: clients of every kind, and a radio
    /// that hears nothing but block acks.
    Hostile,
}

/// What to run.
#[derive(Clone, Debug)]
pub struct SensorPlan {
    /// The trials, and why each is run.
    pub trials: Vec<(TrialSet, Trial)>,
    /// What the radio hears in the standard trials.
    pub heard: HeardFrames,
    /// Trials that run at a time.
    pub parallel: usize,
}

impl SensorPlan {
    /// The whole benchmark, or a tenth of it. Each trial observes `duration` of virtual time; the
    /// radio misses `missed` of the control frames.
    #[must_use]
    pub fn new(
        quick: bool,
        heard: HeardFrames,
        missed: f64,
        duration: Duration,
        seed: u64,
    ) -> Self {
        let mut standard = sensors::standard();
        if quick {
            standard = standard.into_iter().step_by(QUICK_STEP).collect();
        }
        for trial in &mut standard {
            trial.hearing = heard.hearing(missed);
        }
        let standard = standard
            .into_iter()
            .map(|trial| (TrialSet::Standard, trial));
        let hostile = hostile(missed)
            .into_iter()
            .map(|trial| (TrialSet::Hostile, trial));
        let mut trials: Vec<_> = standard.chain(hostile).collect();
        for (_, trial) in &mut trials {
            trial.duration = duration;
            trial.seed = seed;
        }
        Self {
            trials,
            heard,
            parallel: thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

/// Cells that at least one of the sensors cannot tell.
fn hostile(missed: f64) -> Vec<Trial> {
    let mut trials = Vec::new();
    for client in Client::ALL {
        for (stations, flows, level) in [(1, 1, 8.0), (1, 4, 24.0), (2, 2, 16.0), (5, 1, 8.0)] {
            trials.push(Trial {
                stations,
                flows,
                level,
                client,
                hearing: HeardFrames::BlockAcks.hearing(missed),
                ..Trial::default()
            });
        }
    }
    trials
}

/// What one sensor said about one station of one trial.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Row {
    /// Why the trial was run.
    pub set: TrialSet,
    /// `ack-burst` or `block-ack`.
    pub sensor: &'static str,
    /// How the stations acknowledge: `delayed`, `merging`, `thinning`, `unstamped`, `quic`, `quic-tenth` or
    /// `quic-merging`.
    pub client: &'static str,
    /// Stations of the cell.
    pub stations: u32,
    /// TCP downloads of each station.
    pub flows: u32,
    /// Index of the station.
    pub station: u32,
    /// Share of the control frames that the radio missed.
    pub missed: f64,
    /// Mean packets per frame by the access point's records.
    pub true_level: f64,
    /// The same by the sensor, over its usable slots; `null` if it had none.
    pub level: Option<f64>,
    /// `level` over `true_level`, minus one.
    pub error: Option<f64>,
    /// Whether the sensor trusts itself in at least half of the slots.
    pub usable: bool,
}

impl Row {
    fn new(set: TrialSet, trial: &Trial, row: &SensorRow) -> Self {
        Self {
            set,
            sensor: row.sensor.name(),
            client: row.client.name(),
            stations: row.stations,
            flows: row.flows,
            station: row.station,
            missed: trial.hearing.missed,
            true_level: row.true_level,
            level: row.level,
            error: row.error(),
            usable: row.usable,
        }
    }

    /// Whether the row says that the level is known and errs by more than `bar`.
    fn misleads(&self, bar: f64) -> bool {
        self.usable && self.error.is_none_or(|error| error.abs() > bar)
    }

    /// Whether the accuracy of its level is judged.
    fn is_judged(&self) -> bool {
        self.set == TrialSet::Standard && JUDGED_LEVELS.contains(&self.true_level)
    }
}

/// A bar, and how many rows it applies to.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SensorBar {
    /// What is claimed.
    pub claim: String,
    /// Whether it holds in every row.
    pub holds: bool,
    /// Rows to which it applies.
    pub rows: usize,
    /// Those that miss it.
    pub missed_by: usize,
    /// Largest error among the usable rows, as a share of the true level.
    pub worst_error: Option<f64>,
}

/// Rows of one sensor, client and number of stations together.
#[derive(Clone, PartialEq, Debug)]
pub struct SensorSummary {
    /// The sensor.
    pub sensor: &'static str,
    /// How the stations acknowledge.
    pub client: &'static str,
    /// Stations of the cell.
    pub stations: u32,
    /// Number of rows.
    pub rows: usize,
    /// Number of usable rows.
    pub usable: usize,
    /// Mean of the absolute errors of the usable rows; zero without any.
    pub mean_error: f64,
    /// Largest of them.
    pub worst_error: f64,
}

/// The result of a plan.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SensorComparison {
    /// What the radio heard in the standard trials besides control frames.
    pub heard: &'static str,
    /// One per trial, station and sensor, in the order of the plan.
    pub rows: Vec<Row>,
    /// The bars.
    pub bars: Vec<SensorBar>,
}

impl SensorComparison {
    fn new(heard: HeardFrames, rows: Vec<Row>) -> Self {
        let bars = vec![
            accuracy(&rows, Sensor::BlockAck, BLOCK_ACK_BAR),
            accuracy(&rows, Sensor::AckBurst, ACK_BURST_BAR),
            honesty(&rows, Sensor::BlockAck),
            honesty(&rows, Sensor::AckBurst),
        ];
        Self {
            heard: heard.name(),
            rows,
            bars,
        }
    }

    /// The rows of the standard trials, by sensor, client and number of stations.
    #[must_use]
    pub fn summaries(&self) -> Vec<SensorSummary> {
        let mut groups: BTreeMap<_, Vec<&Row>> = BTreeMap::new();
        for row in self.rows.iter().filter(|row| row.is_judged()) {
            let key = (row.sensor, row.client, row.stations);
            groups.entry(key).or_default().push(row);
        }
        let mut summaries = Vec::new();
        for ((sensor, client, stations), rows) in groups {
            let errors = usable_errors(rows.iter().copied());
            summaries.push(SensorSummary {
                sensor,
                client,
                stations,
                rows: rows.len(),
                usable: rows.iter().filter(|row| row.usable).count(),
                mean_error: errors.iter().sum::<f64>() / errors.len().max(1) as f64,
                worst_error: errors.into_iter().fold(0.0, f64::max),
            });
        }
        summaries
    }
}

/// The bar for the accuracy of a sensor's levels, which must also be usable.
fn accuracy(rows: &[Row], sensor: Sensor, bar: f64) -> SensorBar {
    let what = match sensor {
        Sensor::BlockAck => "block acks",
        _ => "ACK bursts",
    };
    let rows: Vec<&Row> = rows
        .iter()
        .filter(|row| row.sensor == sensor.name() && row.is_judged())
        .collect();
    let missed = rows
        .iter()
        .filter(|row| !row.usable || row.misleads(bar))
        .count();
    SensorBar {
        claim: format!(
            "{what}: usable, and the level within {:.0} % at levels {:.0} to {:.0}",
            100.0 * bar,
            JUDGED_LEVELS.start(),
            JUDGED_LEVELS.end(),
        ),
        holds: missed == 0,
        rows: rows.len(),
        missed_by: missed,
        worst_error: usable_errors(rows.iter().copied())
            .into_iter()
            .reduce(f64::max),
    }
}

/// The bar for what a sensor says when it cannot tell. It applies to every row.
fn honesty(rows: &[Row], sensor: Sensor) -> SensorBar {
    let rows: Vec<&Row> = rows
        .iter()
        .filter(|row| row.sensor == sensor.name())
        .collect();
    let missed = rows.iter().filter(|row| row.misleads(UNUSABLE_BAR)).count();
    SensorBar {
        claim: format!(
            "{}: unusable rather than wrong by more than {:.0} %, whatever the clients do",
            sensor.name(),
            100.0 * UNUSABLE_BAR
        ),
        holds: missed == 0,
        rows: rows.len(),
        missed_by: missed,
        worst_error: usable_errors(rows.iter().copied())
            .into_iter()
            .reduce(f64::max),
    }
}

fn usable_errors<'a>(rows: impl Iterator<Item = &'a Row>) -> Vec<f64> {
    let usable = rows.filter(|row| row.usable);
    usable.filter_map(|row| row.error).map(f64::abs).collect()
}

/// Runs the trials of a plan on several threads and returns their rows in the plan's order.
/// `progress` gets the number of trials that have ended and that of all. A raised `stop` keeps
/// further trials from starting; the rows of those that ended are returned.
///
/// # Errors
/// A trial is not possible; all of [`SensorPlan::new`] are.
pub fn compare(
    plan: &SensorPlan,
    stop: &Stop,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<SensorComparison, WorldError> {
    let total = plan.trials.len();
    let (next, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let results = Mutex::new(BTreeMap::new());
    progress(0, total);
    let work = || {
        while !stop.is_raised() {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some((_, trial)) = plan.trials.get(index) else {
                break;
            };
            let rows = trial.run();
            let mut results = results.lock().unwrap_or_else(|error| error.into_inner());
            results.insert(index, rows);
            progress(ended.fetch_add(1, Ordering::Relaxed) + 1, total);
        }
    };
    thread::scope(|scope| {
        for _ in 0..plan.parallel.clamp(1, total.max(1)) {
            scope.spawn(work);
        }
    });
    let results = results
        .into_inner()
        .unwrap_or_else(|error| error.into_inner());
    let mut rows = Vec::new();
    for (index, trial_rows) in results {
        let (set, trial) = &plan.trials[index];
        rows.extend(trial_rows?.iter().map(|row| Row::new(*set, trial, row)));
    }
    Ok(SensorComparison::new(plan.heard, rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(sensor: Sensor, true_level: f64, level: f64, usable: bool) -> Row {
        Row {
            set: TrialSet::Standard,
            sensor: sensor.name(),
            client: "delayed",
            stations: 2,
            flows: 1,
            station: 0,
            missed: 0.2,
            true_level,
            level: Some(level),
            error: Some(level / true_level - 1.0),
            usable,
        }
    }

    fn holds(rows: Vec<Row>) -> Vec<bool> {
        let comparison = SensorComparison::new(HeardFrames::Rts, rows);
        comparison.bars.iter().map(|bar| bar.holds).collect()
    }

    #[test]
    fn block_acks_have_a_tighter_bar_than_ack_bursts() {
        let rows = vec![
            row(Sensor::BlockAck, 10.0, 11.0, true),
            row(Sensor::AckBurst, 10.0, 11.0, true),
        ];
        assert_eq!(holds(rows), [false, true, true, true]);
    }

    #[test]
    fn an_unusable_row_misses_the_bar_of_accuracy_but_not_that_of_honesty() {
        let rows = vec![row(Sensor::AckBurst, 10.0, 20.0, false)];
        assert_eq!(holds(rows), [true, false, true, true]);
    }

    #[test]
    fn levels_out_of_range_are_judged_by_honesty_alone() {
        let rows = vec![
            row(Sensor::AckBurst, 60.0, 48.0, true),
            row(Sensor::AckBurst, 1.5, 2.1, true),
        ];
        assert_eq!(holds(rows), [true, true, true, false]);
    }

    #[test]
    fn rows_are_summed_up_by_sensor_client_and_stations() {
        let rows = vec![
            row(Sensor::AckBurst, 10.0, 11.0, true),
            row(Sensor::AckBurst, 10.0, 8.0, true),
            row(Sensor::AckBurst, 10.0, 99.0, false),
        ];
        let summaries = SensorComparison::new(HeardFrames::Rts, rows).summaries();
        let [summary] = &summaries[..] else {
            panic!("{summaries:?}");
        };
        assert_eq!((summary.rows, summary.usable), (3, 2));
        assert!((summary.mean_error - 0.15).abs() < 1e-9);
        assert!((summary.worst_error - 0.2).abs() < 1e-9);
    }

    #[test]
    fn a_quick_plan_has_every_level_and_number_of_flows_and_stations() {
        let plan = SensorPlan::new(true, HeardFrames::Rts, 0.2, Duration::from_secs(1), 1);
        let standard: Vec<&Trial> = plan
            .trials
            .iter()
            .filter(|(set, _)| *set == TrialSet::Standard)
            .map(|(_, trial)| trial)
            .collect();
        for stations in 1..=5 {
            assert!(standard.iter().any(|trial| trial.stations == stations));
        }
        for flows in [1, 2, 4] {
            assert!(standard.iter().any(|trial| trial.flows == flows));
        }
        for level in [2.2, 4.0, 8.0, 16.0, 24.0, 36.0] {
            assert!(standard.iter().any(|trial| trial.level == level));
        }
    }

    #[test]
    fn trials_are_run_in_parallel_and_reported_in_order() {
        let mut plan = SensorPlan::new(true, HeardFrames::Rts, 0.2, Duration::from_secs(1), 1);
        plan.trials.truncate(3);
        plan.parallel = 2;
        let comparison = compare(&plan, &Stop::default(), &|_, _| {}).unwrap();
        let expected: u32 = plan
            .trials
            .iter()
            .map(|(_, trial)| 2 * trial.stations)
            .sum();
        assert_eq!(comparison.rows.len(), expected as usize);
        let flows: Vec<u32> = comparison.rows.iter().map(|row| row.flows).collect();
        let mut trials = plan.trials.iter();
        let first = trials.next().map(|(_, trial)| trial.flows);
        assert_eq!(Some(flows[0]), first);
    }
}
