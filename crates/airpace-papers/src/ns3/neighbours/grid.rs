//! The settings that `airpace validate` runs in both simulators: none of them is stored.

use super::{Layout, NeighboursRun, POWER_DBM};
use crate::ns3::grid::Extent;
use std::time::Duration;

/// Seeds of each setting, and of those whose results depend on chance the most.
const SEEDS: u64 = 2;
const MANY_SEEDS: u64 = 8;

/// Every run of `extent`, without results.
#[must_use]
pub fn settings(extent: Extent) -> Vec<NeighboursRun> {
    let mut settings = Vec::new();
    two_cells(&mut settings);
    three_cells(&mut settings);
    hidden_stations(&mut settings);
    let every = match extent {
        Extent::Quick => 4,
        Extent::Full => 1,
    };
    let chosen = settings.into_iter().step_by(every);
    chosen.flat_map(with_seeds).collect()
}

/// The settings of S9 on which speeds are compared: two cells that sense each other, and two that
/// do not, of which each disturbs the other's frames.
#[must_use]
pub fn speed_settings() -> Vec<NeighboursRun> {
    let mut settings = Vec::new();
    two_cells(&mut settings);
    let first_at = |distance_m: f64| {
        let is_there = |setting: &&NeighboursRun| setting.distance_m == distance_m;
        settings.iter().find(is_there).cloned()
    };
    SPEED_DISTANCES_M.into_iter().filter_map(first_at).collect()
}

/// Both have an exponent of 3, so that access points sense each other up to about 40 m.
const SPEED_DISTANCES_M: [f64; 2] = [15.0, 80.0];

fn with_seeds(setting: NeighboursRun) -> impl Iterator<Item = NeighboursRun> {
    let is_chance = !setting.requests || setting.may_fall_into_step();
    let seeds = if is_chance { MANY_SEEDS } else { SEEDS };
    (1..=seeds).map(move |seed| NeighboursRun {
        seed,
        ..setting.clone()
    })
}

impl NeighboursRun {
    /// Whether two access points do not sense each other, but each station detects the frames of the
    /// other cell: then much depends on when their frames fall into step.
    fn may_fall_into_step(&self) -> bool {
        let dbm = |distance_m: f64| POWER_DBM - 46.6777 - 10.0 * self.exponent * distance_m.log10();
        let rival_m = match self.layout {
            Layout::Two { between: true } => self.distance_m - self.station_m,
            Layout::Two { between: false } => self.distance_m + self.station_m,
            Layout::Three | Layout::Uplink => return false,
        };
        dbm(self.distance_m) < -82.0 && dbm(rival_m) >= -82.0
    }
}

/// A setting with stations at the distance, and with the powers, of most stored runs.
fn base(family: &str, layout: Layout, distance_m: f64, exponent: f64, mcs: u8) -> NeighboursRun {
    NeighboursRun {
        family: family.to_owned(),
        name: format!("{distance_m} m, exponent {exponent}, MCS {mcs}"),
        layout,
        distance_m,
        station_m: 3.0,
        exponent,
        powers_dbm: vec![POWER_DBM; 3],
        mcs,
        rts: false,
        requests: true,
        seed: 1,
        warm_up: Duration::from_millis(500),
        duration: Duration::from_secs(4),
        goodput_mbps: Vec::new(),
    }
}

fn two_cells(settings: &mut Vec<NeighboursRun>) {
    let mut add = |distance_m, station_m, between, exponent, mcs| {
        let layout = Layout::Two { between };
        let side = if between { "between" } else { "outside" };
        let base = base("S9", layout, distance_m, exponent, mcs);
        settings.push(NeighboursRun {
            name: format!("{}, stations at {station_m} m, {side}", base.name),
            station_m,
            ..base
        });
    };
    add(15.0, 3.0, false, 3.0, 4);
    add(30.0, 3.0, true, 3.0, 7);
    add(50.0, 3.0, true, 3.0, 5);
    add(50.0, 10.0, false, 3.0, 6);
    add(70.0, 10.0, false, 3.0, 4);
    add(80.0, 3.0, true, 3.0, 9);
    add(110.0, 20.0, true, 3.0, 4);
    add(130.0, 20.0, false, 3.0, 5);
    add(45.0, 8.0, true, 3.5, 6);
    add(20.0, 4.0, true, 3.5, 8);
    add(40.0, 5.0, false, 3.5, 7);
    add(15.0, 3.0, true, 4.0, 7);
    add(22.0, 3.0, true, 4.0, 7);
    add(30.0, 5.0, true, 4.0, 6);
    add(28.0, 6.0, false, 4.0, 5);
    add(100.0, 5.0, true, 2.5, 3);
    let stored = base("S9", Layout::Two { between: false }, 0.0, 3.0, 7);
    for (distance_m, between, powers_dbm) in [
        (40.0, true, [16.0, 10.0]),
        (60.0, false, [22.0, 10.0]),
        (70.0, true, [10.0, 18.0]),
        (45.0, false, [20.0, 20.0]),
    ] {
        let side = if between { "between" } else { "outside" };
        let [first, second] = powers_dbm;
        settings.push(NeighboursRun {
            name: format!("{distance_m} m, {first} and {second} dBm, {side}"),
            layout: Layout::Two { between },
            distance_m,
            powers_dbm: powers_dbm.to_vec(),
            ..stored.clone()
        });
    }
}

fn three_cells(settings: &mut Vec<NeighboursRun>) {
    for (distance_m, exponent, mcs) in [
        (20.0, 3.0, 4),
        (35.0, 3.0, 7),
        (45.0, 3.0, 5),
        (62.0, 3.0, 7),
        (75.0, 3.0, 8),
        (18.0, 3.5, 7),
        (12.0, 4.0, 4),
        (22.0, 4.0, 6),
    ] {
        settings.push(base("S10", Layout::Three, distance_m, exponent, mcs));
    }
}

fn hidden_stations(settings: &mut Vec<NeighboursRun>) {
    for (distance_m, exponent, mcs) in [
        (15.0, 3.0, 2),
        (28.0, 3.0, 1),
        (28.0, 3.0, 3),
        (20.0, 3.5, 2),
        (10.0, 4.0, 3),
        (12.0, 4.0, 4),
    ] {
        for (rts, requests, how) in [
            (false, true, ""),
            (true, true, ", RTS"),
            (false, false, ", no requests"),
        ] {
            let base = base("S11", Layout::Uplink, distance_m, exponent, mcs);
            settings.push(NeighboursRun {
                name: format!("{}{how}", base.name),
                rts,
                requests,
                warm_up: Duration::from_secs(1),
                duration: Duration::from_secs(10),
                ..base
            });
        }
    }
}
