//! The comparisons and their bars.

use super::figures::{Figures, Part};
use super::grid::Case;
use super::setting::{Load, Setting};
use serde::Serialize;

/// `out/validate-ns3/report.json`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Report {
    /// Version of ns-3.
    pub ns3_version: &'static str,
    /// Version of this program.
    pub airpace_version: &'static str,
    /// Whether every bar holds.
    pub within: bool,
    /// Comparisons.
    pub rows: Vec<Row>,
    /// Speeds.
    pub speed: Vec<Speed>,
}

/// One quantity of one setting in both simulators.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Row {
    /// Family of settings.
    pub family: String,
    /// The setting, and which of its stations if they differ.
    pub setting: String,
    /// `goodput_mbps`, `level`, `delay_ms`, `p95_delay_ms` or `snr_db`.
    pub quantity: &'static str,
    /// Its value in ns-3.
    pub ns3: f64,
    /// Its value in this project's simulator.
    pub airpace: f64,
    /// The difference relative to ns-3; for `snr_db` the difference in dB.
    pub difference: f64,
    /// The greatest difference that is allowed. `None` where the two need not agree; `explained`
    /// says why.
    pub bar: Option<f64>,
    /// Whether the difference is within the bar; true without a bar.
    pub within: bool,
    /// Why the two differ, where a reason is known.
    pub explained: Option<&'static str>,
}

/// Packets per second of wall time in both simulators.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Speed {
    /// Family of settings.
    pub family: String,
    /// The setting.
    pub setting: String,
    /// Of ns-3.
    pub ns3: f64,
    /// Of this project's simulator.
    pub airpace: f64,
    /// How many times faster this is.
    pub ratio: f64,
    /// The least ratio that is required.
    pub bar: f64,
    /// Whether it is reached.
    pub within: bool,
}

/// The least ratio of speeds that is required.
const FASTER: f64 = 100.0;
/// Loads whose distance from the capacity of the cell, relative to it, is at most this are at the
/// knee.
const KNEE: f64 = 0.03;
const AT_KNEE: &str = "within 3 % of what the cell can carry: whether a queue builds up is chance, \
     and the run is too short to average over it";
const TAIL: &str = "shown for comparison; the bars apply to the mean";
const DOWNLOAD: &str = "two implementations of TCP: their slow start, acknowledgements and pacing \
     differ in detail";

/// Bars of goodput, level, mean delay and 95th percentile of the delay, and why some are missing.
struct Bars {
    bars: [Option<f64>; 4],
    explained: Option<&'static str>,
}

impl Bars {
    fn of(case: &Case) -> Self {
        let all = |goodput, level, delay| [Some(goodput), Some(level), Some(delay), None];
        match (&case.setting.load, case.load) {
            (_, Some(load)) if (load - 1.0).abs() <= KNEE => Self {
                bars: [None; 4],
                explained: Some(AT_KNEE),
            },
            (_, Some(load)) if load > 1.0 => Self {
                bars: all(0.03, 0.05, 0.15),
                explained: None,
            },
            (Load::Constant, _) => Self {
                bars: all(0.02, 0.05, 0.10),
                explained: None,
            },
            (Load::Controlled(_), _) => Self {
                bars: all(0.03, 0.05, 0.15),
                explained: None,
            },
            (Load::Tcp(_), _) => Self {
                bars: [Some(0.10), None, Some(0.20), None],
                explained: Some(DOWNLOAD),
            },
        }
    }
}

/// Compares the figures of one setting: one row per quantity and group of like stations.
#[must_use]
pub fn rows(case: &Case, ns3: &Figures, ours: &Figures) -> Vec<Row> {
    let bars = Bars::of(case);
    let mut rows = Vec::new();
    let groups = groups(&case.setting);
    for (name, members) in &groups {
        let group_mean = |figures: &Figures| {
            if groups.len() == 1 {
                figures.all
            } else {
                mean(figures, members)
            }
        };
        let (ns3, ours) = (group_mean(ns3), group_mean(ours));
        for (index, (quantity, value)) in QUANTITIES.iter().enumerate() {
            let explained = bars.explained.or((index == 3).then_some(TAIL));
            let setting = format!("{}{name}", case.setting.name);
            rows.push(Row::new(
                &case.setting.family,
                setting,
                quantity,
                value(&ns3),
                value(&ours),
                bars.bars[index],
                explained,
            ));
        }
    }
    rows
}

type Quantity = (&'static str, fn(&Part) -> f64);

const QUANTITIES: [Quantity; 4] = [
    ("goodput_mbps", |part| part.goodput_mbps),
    ("level", |part| part.level),
    ("delay_ms", |part| {
        part.delay.map_or(f64::NAN, |delay| delay.mean)
    }),
    ("p95_delay_ms", |part| {
        part.delay.map_or(f64::NAN, |delay| delay.p95)
    }),
];

/// Groups of stations with the same rate, and their names. Which of two such stations gets more is
/// chance, so that only the means of groups are compared.
fn groups(setting: &Setting) -> Vec<(String, Vec<usize>)> {
    let mut groups: Vec<(String, Vec<usize>)> = Vec::new();
    for (index, station) in setting.stations.iter().enumerate() {
        let name = format!(": MCS {}, {} streams", station.mcs, station.nss);
        match groups.iter_mut().find(|group| group.0 == name) {
            Some(group) => group.1.push(index),
            None => groups.push((name, vec![index])),
        }
    }
    // A single group needs no name.
    if let [only] = groups.as_mut_slice() {
        only.0.clear();
    }
    groups
}

/// Total goodput, and means of level and delay, over some of the stations.
fn mean(figures: &Figures, members: &[usize]) -> Part {
    let parts = || {
        members
            .iter()
            .filter_map(|&member| figures.stations.get(member))
    };
    let over = |value: fn(&Part) -> f64| parts().map(value).sum::<f64>() / members.len() as f64;
    Part {
        goodput_mbps: over(|part| part.goodput_mbps) * members.len() as f64,
        level: over(|part| part.level),
        delay: Some(super::figures::Delay {
            mean: over(QUANTITIES[2].1),
            p95: over(QUANTITIES[3].1),
        }),
    }
}

impl Row {
    pub(super) fn new(
        family: &str,
        setting: String,
        quantity: &'static str,
        ns3: f64,
        airpace: f64,
        bar: Option<f64>,
        explained: Option<&'static str>,
    ) -> Self {
        let difference = airpace / ns3 - 1.0;
        let within = bar.is_none_or(|bar| difference.abs() <= bar);
        Self {
            family: family.to_owned(),
            setting,
            quantity,
            ns3,
            airpace,
            difference,
            bar,
            within,
            explained,
        }
    }

    /// Signal-to-noise ratios in dB, which are compared by their difference.
    pub(super) fn snr(setting: String, ns3: f64, airpace: f64, bar: f64) -> Self {
        let difference = airpace - ns3;
        let within = difference.abs() <= bar;
        let (family, quantity) = ("error-model".to_owned(), "snr_db");
        Self {
            family,
            setting,
            quantity,
            ns3,
            airpace,
            difference,
            bar: Some(bar),
            within,
            explained: None,
        }
    }
}

impl Speed {
    /// The speeds of both simulators on a setting, in packets per second of wall time.
    #[must_use]
    pub fn new(family: &str, setting: &str, ns3: f64, airpace: f64) -> Self {
        let ratio = airpace / ns3;
        Self {
            family: family.to_owned(),
            setting: setting.to_owned(),
            ns3,
            airpace,
            ratio,
            bar: FASTER,
            within: ratio >= FASTER,
        }
    }
}

impl Report {
    /// The report of these comparisons.
    #[must_use]
    pub fn new(rows: Vec<Row>, speed: Vec<Speed>) -> Self {
        let within = rows.iter().all(|row| row.within) && speed.iter().all(|speed| speed.within);
        Self {
            ns3_version: "3.44",
            airpace_version: env!("CARGO_PKG_VERSION"),
            within,
            rows,
            speed,
        }
    }
}
