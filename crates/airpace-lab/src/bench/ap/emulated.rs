//! The cell with real packets.

use super::{CellFigures, MAX_DURATION, MAX_MPDUS, Plan, StationFigures, WIRED_DELAY, rates};
use crate::cell::{Cell, CellRecord};
use crate::load::{Load, Measured, Target, Traffic};
use crate::stats::Samples;
use crate::tool::Stop;
use airpace_core::phy::TxRate;
use airpace_emu::EmulatorConfig;
use airpace_sim::mac::{CellConfig, PathConfig, Scheme, StationConfig};
use anyhow::{Result, bail};
use std::time::{Duration, Instant};

pub(super) fn run(plan: &Plan, scheme: Scheme, stop: &Stop) -> Result<(CellFigures, CellRecord)> {
    let rates = rates()?;
    let cell = Cell::start(config(plan, scheme, &rates), Duration::from_millis(10))?;
    let start = Instant::now();
    cell.record_from_now();
    let target = |i| Target {
        namespace: cell.station(i),
        address: cell.station_address(i),
        traffic: Traffic::Download,
    };
    let load = Load {
        server: cell.server(),
        server_address: cell.server_address(),
        targets: (0..rates.len()).map(target).collect(),
        congestion: Some("cubic"),
        flows: 1,
        ping_interval: plan.ping_interval,
        duration: plan.ramp + plan.measure,
        idle: false,
    };
    let measured = load.run(start, stop, |_| {})?;
    if stop.is_raised() {
        bail!("the comparison was stopped");
    }
    let record = cell.finish()?;
    for warning in &record.warnings {
        tracing::warn!("{warning}");
    }
    let figures = figures(plan, &rates, &record, &measured);
    if let Some(silent) = figures
        .stations
        .iter()
        .position(|station| station.ping_p50_ms <= 0.0)
    {
        bail!("no ping to station {silent} was answered");
    }
    Ok((figures, record))
}

pub(super) fn config(plan: &Plan, scheme: Scheme, rates: &[TxRate]) -> EmulatorConfig {
    let stations = rates.iter().copied().map(StationConfig::new).collect();
    let station = PathConfig::of(Scheme::Fifo);
    let cell = CellConfig {
        max_duration: MAX_DURATION,
        max_mpdus: MAX_MPDUS,
        station,
        ..CellConfig::new(stations)
    };
    let config = EmulatorConfig::new(cell, plan.seed).with_access_point(scheme);
    EmulatorConfig {
        wired_delay: WIRED_DELAY,
        series: false,
        ..config
    }
}

fn figures(
    plan: &Plan,
    rates: &[TxRate],
    record: &CellRecord,
    measured: &[Measured],
) -> CellFigures {
    let (from, to) = (plan.ramp, plan.ramp + plan.measure);
    let airtime = |i: usize| {
        let sum = record.frames.sum(i, from, to);
        (sum.down.airtime + sum.up_airtime).as_secs_f64()
    };
    let all: f64 = (0..rates.len()).map(airtime).sum();
    let window = from.as_secs_f64()..to.as_secs_f64();
    let mut stations = Vec::new();
    for (i, (rate, measured)) in rates.iter().zip(measured).enumerate() {
        let in_window = measured
            .pings
            .iter()
            .filter(|ping| window.contains(&ping.at_s));
        let answered: Samples = in_window.filter_map(|ping| ping.rtt_ms).collect();
        let pings = answered.quantiles();
        stations.push(StationFigures {
            phy_mbps: rate.rate().as_mbps_f64(),
            goodput_mbps: measured.received.mbps(from, to),
            ping_p50_ms: pings.p50,
            ping_p95_ms: pings.p95,
            airtime: if all > 0.0 { airtime(i) / all } else { 0.0 },
        });
    }
    CellFigures::new(stations)
}
