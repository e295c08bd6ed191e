//! The in-line box with an agent on one of three stations, against agents on all of them and against
//! the access point alone: nobody may pay for being observed less well than a neighbour.

use crate::demo::ArmKind;
use crate::results::{ArmResult, DemoSummary};
use serde::Serialize;

/// Bar for each station's goodput, as a share of what it has where all stations have agents.
pub const AGENTS_BAR: f64 = 0.90;

/// Bar for each station's goodput, as a share of what it has without pacing, where all stations have
/// the same PHY rate.
pub const UNPACED_BAR: f64 = 0.95;

/// The cells: three equal stations, and three of mixed rates, by their VHT MCS.
pub const CELLS: [[u8; 3]; 2] = [[9, 9, 9], [9, 4, 1]];

/// The arms to run in each cell.
pub const ARMS: [ArmKind; 3] = [ArmKind::Cubic, ArmKind::EdgeAgents, ArmKind::EdgeMixed];

/// One station of a cell.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct MixedRow {
    /// The cell, as the MCS of its stations.
    pub cell: String,
    /// Index of the station. The first has the agent.
    pub station: u32,
    /// What observed it where only the first has an agent.
    pub sensor: Option<String>,
    /// Goodput there, Mbit/s.
    pub mixed_mbps: f64,
    /// Goodput where all have agents, Mbit/s.
    pub agents_mbps: f64,
    /// Goodput without pacing, Mbit/s.
    pub unpaced_mbps: f64,
    /// p95 of the ping under load where only the first has an agent, ms.
    pub mixed_p95_ms: f64,
    /// The same without pacing, ms.
    pub unpaced_p95_ms: f64,
    /// Bars that it misses.
    pub missed: Vec<String>,
}

/// The rows of all cells.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct MixedComparison {
    /// One per station, cell by cell.
    pub rows: Vec<MixedRow>,
    /// Whether every row meets its bars.
    pub holds: bool,
    /// Whether the emulator kept up in every arm. If not, the figures cannot be trusted.
    pub trusted: bool,
}

/// Compares the arms of a summary, which must have been run with [`CELLS`] and [`ARMS`] in this
/// order; what is missing is left out.
#[must_use]
pub fn compare(summary: &DemoSummary) -> MixedComparison {
    let mut rows = Vec::new();
    for arms in summary.arms.chunks_exact(ARMS.len()) {
        if let [unpaced, agents, mixed] = arms {
            rows.extend(rows_of(unpaced, agents, mixed));
        }
    }
    MixedComparison {
        holds: rows.iter().all(|row| row.missed.is_empty()),
        trusted: summary.arms.iter().all(|arm| arm.trusted),
        rows,
    }
}

fn rows_of(unpaced: &ArmResult, agents: &ArmResult, mixed: &ArmResult) -> Vec<MixedRow> {
    let names: Vec<String> = mixed
        .per_station
        .iter()
        .map(|s| s.mcs.to_string())
        .collect();
    let cell = names.join(",");
    let is_equal = mixed.per_station.windows(2).all(|w| w[0].mcs == w[1].mcs);
    let mut rows = Vec::new();
    for (index, station) in mixed.per_station.iter().enumerate() {
        let goodput = |arm: &ArmResult| arm.per_station[index].figures.goodput_mbps;
        let (ours, all, none) = (goodput(mixed), goodput(agents), goodput(unpaced));
        let mut missed = Vec::new();
        if ours < AGENTS_BAR * all {
            missed.push(format!(
                "{:.0} % of what agents on all give",
                100.0 * ours / all
            ));
        }
        // A slow station has more than its share of the air without pacing, so only equal ones are
        // compared with that.
        if is_equal && ours < UNPACED_BAR * none {
            missed.push(format!("{:.0} % of unpaced", 100.0 * ours / none));
        }
        rows.push(MixedRow {
            cell: cell.clone(),
            station: station.station,
            sensor: station.sensor.clone(),
            mixed_mbps: ours,
            agents_mbps: all,
            unpaced_mbps: none,
            mixed_p95_ms: station.figures.ping_ms.p95,
            unpaced_p95_ms: unpaced.per_station[index].figures.ping_ms.p95,
            missed,
        });
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::tests::{arm, summary};

    fn with_goodputs(name: &str, mcs: [u8; 3], goodputs: [f64; 3]) -> ArmResult {
        let mut arm = arm(name, 3);
        for (station, (mcs, goodput)) in arm
            .per_station
            .iter_mut()
            .zip(mcs.into_iter().zip(goodputs))
        {
            station.mcs = mcs;
            station.figures.goodput_mbps = goodput;
        }
        arm
    }

    fn missed(mcs: [u8; 3], unpaced: [f64; 3], mixed: [f64; 3]) -> Vec<usize> {
        let arms = vec![
            with_goodputs("cubic", mcs, unpaced),
            with_goodputs("edge-agents", mcs, [100.0; 3]),
            with_goodputs("edge-mixed", mcs, mixed),
        ];
        let comparison = compare(&DemoSummary { arms, ..summary() });
        comparison.rows.iter().map(|row| row.missed.len()).collect()
    }

    #[test]
    fn a_station_far_below_what_agents_give_misses_the_bar() {
        let missed = missed([9, 4, 1], [50.0; 3], [91.0, 89.0, 100.0]);
        assert_eq!(missed, [0, 1, 0]);
    }

    #[test]
    fn only_equal_stations_are_compared_with_the_access_point_alone() {
        let (unpaced, mixed) = ([100.0; 3], [94.0, 96.0, 96.0]);
        assert_eq!(missed([9, 9, 9], unpaced, mixed), [1, 0, 0]);
        assert_eq!(missed([9, 4, 1], unpaced, mixed), [0, 0, 0]);
    }
}
