//! Rows: what a setting of an arm gives in a cell under a load.

use super::judge::Verdict;
use super::load::bulk_station;
use super::{Arm, Load};
use airpace_scenario::file::{FlowKind, NodeKind};
use airpace_scenario::resolve::Resolved;
use airpace_scenario::results::{DelaySummary, SimulationSummary};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// Version of the format of [`Frontier`].
pub const FRONTIER_FORMAT: u32 = 1;

/// Rows and what they mean: the output of `airpace bench frontier --json`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Frontier {
    /// [`FRONTIER_FORMAT`].
    pub format: u32,
    /// Version of airpace.
    pub program_version: String,
    /// First seed.
    pub seed: u64,
    /// Whether the measurement was stopped before its end, so that rows are missing.
    pub interrupted: bool,
    /// Titles of the cells' scenarios, by cell.
    pub cells: BTreeMap<String, String>,
    /// The rows by cell, load and arm, in the order in which they were asked for.
    pub rows: Vec<Row>,
    /// The bars, by cell and load.
    pub verdicts: Vec<Verdict>,
}

/// What a setting of an arm gives in a cell under a load: means over the seeds.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Row {
    /// The cell.
    pub cell: String,
    /// The load.
    #[serde(serialize_with = "as_word")]
    pub load: Load,
    /// The arm.
    #[serde(serialize_with = "as_word")]
    pub arm: Arm,
    /// The value of its knob, as `level = 24`; empty for arms without a knob.
    pub setting: String,
    /// Payload that all flows delivered to their applications, Mbit/s.
    pub goodput_mbps: f64,
    /// Mean over the stations with bulk downloads of ln(x / x of [`Arm::Airtime`]), where x is the
    /// goodput of the download; with the same seed.
    pub utility: f64,
    /// Median ping of the station whose median is greatest, ms.
    pub ping_p50_ms: f64,
    /// 95th percentile of the pings of the station for which it is greatest, ms.
    pub ping_p95_ms: f64,
    /// 99th percentile of the pings of the station for which it is greatest, ms.
    pub ping_p99_ms: f64,
    /// 95th percentile of the time that packets spend between their arrival at the access point's
    /// queue and the end of the frame that delivers them, of the station for which it is greatest,
    /// ms.
    pub wait_p95_ms: f64,
    /// Jain's index of the stations' airtime, in both directions.
    pub jain_airtime: f64,
    /// Alarms of the guard for bottlenecks elsewhere than at the access point, in all runs.
    pub bottleneck_alarms: u64,
    /// Stations in the cell.
    pub stations: usize,
    /// Seeds over which the figures are means.
    pub seeds: usize,
}

fn as_word<S: Serializer>(
    value: &impl std::fmt::Display,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// The figures of one run.
#[derive(Clone, Debug)]
pub(super) struct RunFigures {
    goodput_mbps: f64,
    /// Goodput of each bulk download by its station, Mbit/s.
    bulk_mbps: BTreeMap<String, f64>,
    /// The greatest p50, p95 and p99 of any station's pings, ms.
    ping_ms: [f64; 3],
    wait_p95_ms: f64,
    jain_airtime: f64,
    bottleneck_alarms: u64,
    stations: usize,
}

/// Goodput that counts for a download that delivered less, Mbit/s: the logarithm of zero is not
/// finite.
const LEAST_MBPS: f64 = 0.01;

impl RunFigures {
    pub(super) fn new(resolved: &Resolved, summary: &SimulationSummary) -> Self {
        let mut bulk_mbps = BTreeMap::new();
        let mut pings: Vec<DelaySummary> = Vec::new();
        for flow in &summary.flows {
            if let Some(station) = bulk_station(&flow.name) {
                bulk_mbps.insert(station.to_owned(), flow.goodput_mbps);
            }
            if flow.kind == FlowKind::Ping.word() {
                pings.extend(flow.rtt_ms);
            }
        }
        let worst = |quantile: fn(&DelaySummary) -> f64| greatest(pings.iter().map(quantile));
        let is_station = |name: &str| {
            let mut nodes = resolved.nodes.iter();
            nodes.any(|node| node.name == name && node.kind == NodeKind::Station)
        };
        let downlinks = summary.links.iter().filter(|link| is_station(&link.to));
        let waits = downlinks.filter_map(|link| link.wait_ms);
        Self {
            goodput_mbps: summary.totals.goodput_mbps,
            bulk_mbps,
            ping_ms: [worst(|ms| ms.p50), worst(|ms| ms.p95), worst(|ms| ms.p99)],
            wait_p95_ms: greatest(waits.map(|ms| ms.p95)),
            jain_airtime: summary.totals.jain_airtime.unwrap_or(f64::NAN),
            bottleneck_alarms: summary.totals.run.bottleneck_alarms,
            stations: summary.stations.len(),
        }
    }

    /// Mean over the bulk downloads of the logarithm of the goodput over that in `reference`.
    fn utility(&self, reference: &Self) -> f64 {
        let mut sum = 0.0;
        for (station, &mbps) in &self.bulk_mbps {
            let of_reference = reference.bulk_mbps.get(station).copied().unwrap_or(0.0);
            sum += (mbps.max(LEAST_MBPS) / of_reference.max(LEAST_MBPS)).ln();
        }
        sum / self.bulk_mbps.len() as f64
    }
}

/// The greatest of `values`; not a number if there are none.
fn greatest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::NAN, f64::max)
}

/// The row of the runs of a setting, one place per seed; `reference` has the runs of
/// [`Arm::Airtime`] with the same seeds. Seeds that were refused are empty. `None` if no seed has
/// both.
pub(super) fn row(
    cell: &str,
    load: Load,
    arm: Arm,
    setting: &str,
    runs: &[Option<RunFigures>],
    reference: &[Option<RunFigures>],
) -> Option<Row> {
    let mut pairs = Vec::new();
    for (run, reference) in runs.iter().zip(reference) {
        if let (Some(run), Some(reference)) = (run, reference) {
            pairs.push((run, reference));
        }
    }
    if pairs.is_empty() {
        return None;
    }
    let mean = |value: &dyn Fn(&RunFigures, &RunFigures) -> f64| {
        let sum: f64 = pairs
            .iter()
            .map(|(run, reference)| value(run, reference))
            .sum();
        round(sum / pairs.len() as f64)
    };
    Some(Row {
        cell: cell.to_owned(),
        load,
        arm,
        setting: setting.to_owned(),
        goodput_mbps: mean(&|run, _| run.goodput_mbps),
        utility: mean(&|run, reference| run.utility(reference)),
        ping_p50_ms: mean(&|run, _| run.ping_ms[0]),
        ping_p95_ms: mean(&|run, _| run.ping_ms[1]),
        ping_p99_ms: mean(&|run, _| run.ping_ms[2]),
        wait_p95_ms: mean(&|run, _| run.wait_p95_ms),
        jain_airtime: mean(&|run, _| run.jain_airtime),
        bottleneck_alarms: pairs.iter().map(|(run, _)| run.bottleneck_alarms).sum(),
        stations: pairs[0].0.stations,
        seeds: pairs.len(),
    })
}

/// Four decimals are more than any figure is worth.
fn round(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}
