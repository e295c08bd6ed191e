//! The in-line box before stations that do more than download over TCP: uploads, alone or beside a
//! download to the same station, and UDP that nothing answers. With nothing on the stations nobody
//! sees such frames, and the downloads beside them may not pay for it.

use crate::demo::{ArmKind, Traffic};
use crate::results::{ArmResult, DemoSummary};
use serde::Serialize;

/// Bar for each station's goodput, as a share of what it has where all stations have agents.
pub const AGENTS_BAR: f64 = 0.90;

/// The arms to run in each cell.
pub const ARMS: [ArmKind; 3] = [ArmKind::Cubic, ArmKind::EdgeAgents, ArmKind::EdgeAcks];

/// Payload of the datagrams: more than a station's share in any of the cells.
const DATAGRAMS: Traffic = Traffic::Datagrams { bps: 150e6 };

/// The cells: VHT MCS and traffic of each station.
pub const CELLS: [&[(u8, Traffic)]; 5] = [
    &[(9, Traffic::Download), (1, Traffic::Upload)],
    &[
        (9, Traffic::Download),
        (4, Traffic::Download),
        (4, Traffic::Upload),
    ],
    &[
        (9, Traffic::Download),
        (4, DATAGRAMS),
        (1, Traffic::Download),
    ],
    &[(9, Traffic::BothWays), (9, Traffic::Download)],
    // Nobody else answers: how long frames take is known only from when packets were handed over.
    &[(9, DATAGRAMS), (4, Traffic::Download)],
];

/// One station of a cell.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TrafficRow {
    /// The cell, as MCS and traffic of its stations.
    pub cell: String,
    /// Index of the station.
    pub station: u32,
    /// Goodput with nothing on the stations, Mbit/s.
    pub acks_mbps: f64,
    /// Goodput where all have agents, Mbit/s.
    pub agents_mbps: f64,
    /// Goodput without pacing, Mbit/s.
    pub unpaced_mbps: f64,
    /// p95 of the ping under load with nothing on the stations, ms.
    pub acks_p95_ms: f64,
    /// The same without pacing, ms.
    pub unpaced_p95_ms: f64,
    /// Bars that it misses.
    pub missed: Vec<String>,
}

/// The rows of all cells.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TrafficComparison {
    /// One per station, cell by cell.
    pub rows: Vec<TrafficRow>,
    /// Whether every row meets its bars.
    pub holds: bool,
    /// Whether the emulator kept up in every arm. If not, the figures cannot be trusted.
    pub trusted: bool,
}

/// Compares the arms of a summary, which must have been run with [`CELLS`] and [`ARMS`] in this
/// order; what is missing is left out.
#[must_use]
pub fn compare(summary: &DemoSummary) -> TrafficComparison {
    let mut rows = Vec::new();
    for (cell, arms) in CELLS.iter().zip(summary.arms.chunks_exact(ARMS.len())) {
        if let [unpaced, agents, acks] = arms {
            rows.extend(rows_of(&describe(cell), unpaced, agents, acks));
        }
    }
    TrafficComparison {
        holds: rows.iter().all(|row| row.missed.is_empty()),
        trusted: summary.arms.iter().all(|arm| arm.trusted),
        rows,
    }
}

fn describe(cell: &[(u8, Traffic)]) -> String {
    let stations = cell.iter().map(|(mcs, traffic)| match traffic {
        Traffic::Download => format!("{mcs} down"),
        Traffic::Upload => format!("{mcs} up"),
        Traffic::BothWays => format!("{mcs} both ways"),
        Traffic::Datagrams { .. } => format!("{mcs} UDP"),
    });
    stations.collect::<Vec<_>>().join(", ")
}

fn rows_of(
    cell: &str,
    unpaced: &ArmResult,
    agents: &ArmResult,
    acks: &ArmResult,
) -> Vec<TrafficRow> {
    let mut rows = Vec::new();
    let stations = acks.per_station.iter().zip(&agents.per_station);
    for ((ours, all), none) in stations.zip(&unpaced.per_station) {
        let mut missed = Vec::new();
        let (acks_mbps, agents_mbps) = (ours.figures.goodput_mbps, all.figures.goodput_mbps);
        if acks_mbps < AGENTS_BAR * agents_mbps {
            missed.push(format!(
                "{:.0} % of what agents on all give",
                100.0 * acks_mbps / agents_mbps
            ));
        }
        rows.push(TrafficRow {
            cell: cell.to_owned(),
            station: ours.station,
            acks_mbps,
            agents_mbps,
            unpaced_mbps: none.figures.goodput_mbps,
            acks_p95_ms: ours.figures.ping_ms.p95,
            unpaced_p95_ms: none.figures.ping_ms.p95,
            missed,
        });
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::tests::{arm, summary};

    #[test]
    fn a_download_beside_an_upload_is_held_against_agents() {
        let cell = |goodputs: [f64; 2]| {
            let mut arm = arm("edge-acks", 2);
            for (station, goodput) in arm.per_station.iter_mut().zip(goodputs) {
                station.figures.goodput_mbps = goodput;
            }
            arm
        };
        let arms = vec![cell([60.0, 36.0]), cell([100.0, 25.0]), cell([89.0, 23.0])];
        let comparison = compare(&DemoSummary { arms, ..summary() });
        let missed: Vec<_> = comparison.rows.iter().map(|row| row.missed.len()).collect();
        assert_eq!(missed, [1, 0]);
        assert_eq!(comparison.rows[0].cell, "9 down, 1 up");
        assert!(!comparison.holds);
    }
}
