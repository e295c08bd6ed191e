//! Plausible results for the tests of tables and files.

use crate::demo::ArmKind;
use crate::results::{
    ArmResult, DEMO_FORMAT, DemoSettings, DemoSummary, Environment, Quantiles, StationResult,
    SteadyFigures,
};

/// A summary without arms.
pub(crate) fn summary() -> DemoSummary {
    let settings = DemoSettings {
        seed: 1,
        width_mhz: 80,
        nss: 1,
        wired_delay_ms: 1.0,
        ap_buffer_packets: 2500,
        target_level: Some(32.0),
        slot_ms: 100.0,
        ping_interval_ms: 10.0,
        idle_s: 2.0,
        load_s: 14.0,
        ramp_s: 4.0,
    };
    DemoSummary {
        format: DEMO_FORMAT,
        environment: Environment::default(),
        settings,
        arms: Vec::new(),
    }
}

/// An arm with every figure set.
pub(crate) fn arm(name: &str, stations: u32) -> ArmResult {
    ArmResult {
        stations,
        name: name.to_owned(),
        title: name.parse().map_or("an arm", ArmKind::title).to_owned(),
        figures: figures(),
        jain_airtime: 1.0,
        jain_airtime_both_ways: 1.0,
        lag_p99_ms: 0.3,
        trusted: true,
        per_station: (0..stations).map(station_result).collect(),
    }
}

fn figures() -> SteadyFigures {
    let ping_ms = Quantiles {
        p50: 80.0,
        p95: 95.0,
        p99: 99.0,
        mean: 81.0,
        max: 120.0,
        count: 900,
    };
    let idle_ping_ms = Quantiles {
        p50: 2.3,
        p95: 2.6,
        p99: 3.0,
        mean: 2.3,
        max: 4.0,
        count: 200,
    };
    SteadyFigures {
        goodput_mbps: 331.2,
        ping_ms,
        idle_ping_ms,
        one_way_ms: Some(40.0),
        rpm: Some(15_000.0),
        qoo: Some(100.0),
        loss: 0.001,
        ping_loss: 0.0,
        level: 60.1,
        level_reported: None,
        round_ms: 2.1,
        retransmits: 7,
    }
}

fn station_result(station: u32) -> StationResult {
    StationResult {
        station,
        mcs: 9,
        phy_mbps: 390.0,
        figures: figures(),
        airtime: 0.9,
        uplink_airtime: 0.05,
        sensor: None,
    }
}
