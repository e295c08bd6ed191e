//! The settings of `make validate-ns3`.

use super::figures::simulate;
use super::setting::{Control, Load, Setting, Station};
use airpace_core::control::Law;
use airpace_sim::mac::{QueueScope, Schedule};
use airpace_sim::transport::tcp::Algorithm;
use std::time::Duration;

/// How much is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// A few settings of each family; takes some minutes.
    Quick,
    /// All settings; takes twenty minutes.
    Full,
}

/// A setting and its load.
#[derive(Clone, Debug)]
pub struct Case {
    /// The setting.
    pub setting: Setting,
    /// Offered load relative to the capacity of the cell; `None` where a controller or TCP sets the
    /// load.
    pub load: Option<f64>,
}

/// Every setting of `extent`.
///
/// # Errors
/// A setting that the simulator refuses, which would be a mistake in this file.
pub fn cases(extent: Extent) -> anyhow::Result<Vec<Case>> {
    let quick = extent == Extent::Quick;
    let mut cases = Vec::new();
    one_station(quick, &mut cases)?;
    equal_stations(quick, &mut cases)?;
    three_rates(quick, &mut cases)?;
    linear(quick, &mut cases);
    nonlinear(quick, &mut cases);
    slow_station(quick, &mut cases);
    downloads(quick, &mut cases);
    Ok(cases)
}

/// The settings on which speeds are compared: one saturated station, twenty stations, a controller.
///
/// # Errors
/// As [`cases`].
pub(super) fn speed_cases() -> anyhow::Result<Vec<Setting>> {
    let mut saturated = Vec::new();
    loads(
        &base("S1", "MCS 9, 2 streams", &[(9, 2)]),
        &[1.05],
        &mut saturated,
    )?;
    loads(
        &base("S2", "20 stations", &[(9, 2); 20]),
        &[0.88],
        &mut saturated,
    )?;
    let mut settings: Vec<Setting> = saturated.into_iter().map(|case| case.setting).collect();
    settings.push(controlled(
        "S5",
        Law::Nonlinear,
        Some(10),
        &[(9, 1); 5],
        2.0,
        2.0,
    ));
    Ok(settings)
}

/// VHT, 80 MHz, a shared queue of 500 packets, UDP at even gaps. The stations are MCS and streams.
fn base(family: &str, name: &str, stations: &[(u8, u8)]) -> Setting {
    Setting {
        family: family.to_owned(),
        name: name.to_owned(),
        standard: "ac".to_owned(),
        width_mhz: 80,
        guard_ns: 800,
        stations: stations
            .iter()
            .enumerate()
            .map(|(index, &rate)| station(index, rate))
            .collect(),
        schedule: Schedule::RoundRobin,
        queue_packets: 500,
        queue_scope: QueueScope::Radio,
        payload_bytes: 1_470,
        load: Load::Constant,
        seed: 1,
        warm_up: Duration::from_millis(300),
        duration: Duration::from_secs(1),
    }
}

/// A station without load. Its phase is that of a golden ratio sequence. At equal rates the order
/// of arrivals never changes, so both simulators must start with the same phases.
fn station(index: usize, (mcs, nss): (u8, u8)) -> Station {
    Station {
        mcs,
        nss,
        offered_mbps: 0.0,
        phase: Some((0.37 + 0.618_033_988_75 * index as f64).fract()),
    }
}

/// Adds the setting with the same load to each station, for each of these shares of the capacity of
/// the cell.
fn loads(setting: &Setting, shares: &[f64], cases: &mut Vec<Case>) -> anyhow::Result<()> {
    let with_load = |mbps: f64| {
        let mut setting = setting.clone();
        for station in &mut setting.stations {
            station.offered_mbps = mbps;
        }
        setting
    };
    let n = setting.stations.len() as f64;
    // No station can be sent more than 400 Mbit/s per stream, so that this load saturates the cell.
    let phy_mbps = |station: &Station| f64::from(station.nss) * 400.0;
    let saturating_mbps: f64 = setting.stations.iter().map(phy_mbps).sum();
    let capacity_mbps = simulate(&with_load(saturating_mbps / n))?.all.goodput_mbps;
    for &share in shares {
        let mut loaded = with_load(share * capacity_mbps / n);
        loaded.name = format!("{}, load {share}", setting.name);
        cases.push(Case {
            setting: loaded,
            load: Some(share),
        });
    }
    Ok(())
}

fn one_station(quick: bool, cases: &mut Vec<Case>) -> anyhow::Result<()> {
    let rates: &[(u8, u8)] = if quick {
        &[(0, 1), (9, 1), (9, 2)]
    } else {
        &[(0, 1), (4, 1), (9, 1), (9, 2), (9, 3)]
    };
    let shares: &[f64] = if quick {
        &[0.25, 0.8, 0.94, 1.05]
    } else {
        &[0.1, 0.25, 0.4, 0.55, 0.7, 0.8, 0.88, 0.94, 0.98, 1.05]
    };
    for &(mcs, nss) in rates {
        loads(
            &base("S1", &format!("MCS {mcs}, {nss} streams"), &[(mcs, nss)]),
            shares,
            cases,
        )?;
    }
    Ok(())
}

fn equal_stations(quick: bool, cases: &mut Vec<Case>) -> anyhow::Result<()> {
    let shares: &[f64] = if quick {
        &[0.5, 0.88]
    } else {
        &[0.3, 0.6, 0.8, 0.88, 0.94, 1.05]
    };
    for stations in [2, 5, 20] {
        let setting = base(
            "S2",
            &format!("{stations} stations"),
            &vec![(9, 2); stations],
        );
        loads(&setting, shares, cases)?;
    }
    Ok(())
}

fn three_rates(quick: bool, cases: &mut Vec<Case>) -> anyhow::Result<()> {
    let shares: &[f64] = if quick {
        &[0.1, 0.5, 0.85, 1.05]
    } else {
        &[0.1, 0.3, 0.5, 0.65, 0.8, 0.9, 1.05]
    };
    for (schedule, name) in [
        (Schedule::RoundRobin, "round robin"),
        (Schedule::OldestFirst, "oldest first"),
    ] {
        let setting = Setting {
            schedule,
            duration: Duration::from_secs(if quick { 2 } else { 5 }),
            warm_up: Duration::from_millis(1_500),
            ..base(
                "S3",
                &format!("MCS 9, 5, 1, {name}"),
                &[(9, 1), (5, 1), (1, 1)],
            )
        };
        loads(&setting, shares, cases)?;
    }
    Ok(())
}

/// A setting with a controller. The delay target is in ms, the stations are MCS and streams, the
/// times are in seconds.
fn controlled(
    family: &str,
    law: Law,
    delay_ms: Option<u64>,
    stations: &[(u8, u8)],
    warm_up_s: f64,
    duration_s: f64,
) -> Setting {
    let count = stations.len();
    let level = if law == Law::Nonlinear { 48.0 } else { 32.0 };
    // The linear law climbs by at most 32 Mbit/s per slot. It starts near its final rate to save
    // time.
    let initial_mbps = if law == Law::LinearPf {
        500.0 / count as f64
    } else {
        1.0
    };
    let control = Control {
        law,
        level,
        delay: delay_ms.map(Duration::from_millis),
        slot: Duration::from_millis(100),
        initial_mbps,
        report_bytes: 60,
    };
    let target = delay_ms.map_or(String::new(), |ms| format!(", {ms} ms"));
    Setting {
        load: Load::Controlled(control),
        warm_up: Duration::from_secs_f64(warm_up_s),
        duration: Duration::from_secs_f64(duration_s),
        ..base(
            family,
            &format!("{law}, {count} stations{target}"),
            stations,
        )
    }
}

fn linear(quick: bool, cases: &mut Vec<Case>) {
    let counts: &[usize] = if quick { &[1, 10] } else { &[1, 2, 10, 20] };
    let (warm_up_s, duration_s) = if quick { (1.5, 2.0) } else { (3.0, 4.0) };
    for &count in counts {
        let setting = controlled(
            "S4",
            Law::LinearPf,
            None,
            &vec![(9, 2); count],
            warm_up_s,
            duration_s,
        );
        cases.push(Case {
            setting,
            load: None,
        });
    }
    // Our own law also runs in ns-3.
    let setting = controlled(
        "S4",
        Law::Waterfill,
        None,
        &[(9, 2), (9, 1), (4, 1)],
        1.0,
        2.0,
    );
    cases.push(Case {
        setting,
        load: None,
    });
}

fn nonlinear(quick: bool, cases: &mut Vec<Case>) {
    let settings: &[(usize, u64)] = if quick {
        &[(2, 5), (10, 10)]
    } else {
        &[
            (1, 5),
            (1, 20),
            (5, 5),
            (5, 10),
            (5, 20),
            (10, 5),
            (10, 10),
            (20, 10),
            (20, 20),
        ]
    };
    for &(count, delay_ms) in settings {
        // The estimator of the overhead needs 20 slots to forget its first value.
        let (warm_up_s, duration_s) = if quick { (6.0, 2.0) } else { (6.0, 4.0) };
        let setting = controlled(
            "S5",
            Law::Nonlinear,
            Some(delay_ms),
            &vec![(9, 1); count],
            warm_up_s,
            duration_s,
        );
        cases.push(Case {
            setting,
            load: None,
        });
    }
    let setting = controlled("S5", Law::Waterfill, Some(5), &[(9, 1); 5], 1.0, 2.0);
    cases.push(Case {
        setting,
        load: None,
    });
}

/// 802.11n, two fast stations and one at 7.2 Mbit/s, with more load than the cell can carry.
fn slow_station(quick: bool, cases: &mut Vec<Case>) {
    let shared = [
        (Schedule::OldestFirst, 500, QueueScope::Radio),
        (Schedule::RoundRobin, 500, QueueScope::Radio),
    ];
    let own = [(Schedule::RoundRobin, 100, QueueScope::Link)];
    for (schedule, packets, scope) in shared.into_iter().chain(own) {
        let order = if schedule == Schedule::OldestFirst {
            "oldest first"
        } else {
            "round robin"
        };
        let whose = if scope == QueueScope::Link {
            "each"
        } else {
            "shared"
        };
        let mut setting = Setting {
            standard: "n".to_owned(),
            width_mhz: 20,
            guard_ns: 400,
            payload_bytes: 1_472,
            schedule,
            queue_packets: packets,
            queue_scope: scope,
            warm_up: Duration::from_secs(4),
            duration: Duration::from_secs(if quick { 5 } else { 20 }),
            ..base(
                "S6",
                &format!("{order}, {packets} packets {whose}"),
                &[(15, 2), (15, 2), (0, 1)],
            )
        };
        for (station, mbps) in setting.stations.iter_mut().zip([130.0, 130.0, 20.0]) {
            station.offered_mbps = mbps;
        }
        cases.push(Case {
            setting,
            load: Some(3.0),
        });
    }
}

fn downloads(quick: bool, cases: &mut Vec<Case>) {
    let both = [(Algorithm::Cubic, "Cubic"), (Algorithm::Bbr, "BBR")];
    for (algorithm, name) in both.into_iter().take(if quick { 1 } else { 2 }) {
        let setting = Setting {
            load: Load::Tcp(algorithm),
            schedule: Schedule::OldestFirst,
            queue_packets: 1_000,
            warm_up: Duration::from_secs(if quick { 4 } else { 10 }),
            duration: Duration::from_secs(if quick { 4 } else { 20 }),
            ..base("S7", &format!("TCP {name}"), &[(9, 1)])
        };
        cases.push(Case {
            setting,
            load: None,
        });
    }
}
