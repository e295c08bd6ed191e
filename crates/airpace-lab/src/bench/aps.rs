//! Several access points behind one in-line box, against each with a box of its own: a medium may not
//! pay for another's airtime.

use crate::cell::{Cell, closed};
use crate::demo::EdgeSensor;
use crate::demo::inline::{InlineBox, InlinePlan, port};
use crate::load::{Load, Measured, Target, Traffic};
use crate::stats::Samples;
use crate::tool::Stop;
use airpace_emu::{AccessPointConfig, EthernetConfig, Monitor};
use anyhow::{Context, Result};
use serde::Serialize;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Bar for the goodput of each access point, as a share of what it has with a box of its own.
pub const OWN_BOX_BAR: f64 = 0.95;

/// Packets that an access point buffers for a station.
const BUFFER_PACKETS: u32 = 2_500;

/// Delay of the wire, each way.
const WIRED_DELAY: Duration = Duration::from_millis(1);

/// Time between pings to one station.
const PING_INTERVAL: Duration = Duration::from_millis(10);

/// The interval of the reports.
const SLOT: Duration = Duration::from_millis(100);

/// What to run.
#[derive(Clone, Debug)]
pub struct ApsPlan {
    /// The airpace program, from which boxes are started.
    pub program: PathBuf,
    /// VHT MCS of the one station of each access point, 80 MHz and one stream.
    pub mcs: Vec<u8>,
    /// Duration of the load: a Cubic download per station, and pings.
    pub load: Duration,
    /// Beginning of the load that the figures leave out.
    pub ramp: Duration,
    /// Seed of the cells.
    pub seed: u64,
}

/// What a station had.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct StationLoad {
    /// Payload received, Mbit/s.
    pub goodput_mbps: f64,
    /// 95th percentile of the ping under load, ms.
    pub ping_p95_ms: f64,
}

/// One access point.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ApRow {
    /// Its index.
    pub access_point: usize,
    /// MCS of its station.
    pub mcs: u8,
    /// With a box of its own.
    pub alone: StationLoad,
    /// With the box that it shares with the others.
    pub together: StationLoad,
    /// Goodput together over goodput alone.
    pub share: f64,
}

/// The result of a plan.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ApsComparison {
    /// One per access point.
    pub rows: Vec<ApRow>,
    /// Whether each has [`OWN_BOX_BAR`] of the goodput that it has with a box of its own.
    pub holds: bool,
    /// 99th percentile of the emulator's lateness in the worst run, ms.
    pub lag_p99_ms: f64,
    /// Whether the emulator kept up in every run.
    pub trusted: bool,
}

/// Runs each access point alone, then all together.
///
/// # Errors
/// If namespaces cannot be created, a box does not work, or `stop` was raised.
pub fn compare(plan: &ApsPlan, stop: &Stop) -> Result<ApsComparison> {
    let mut alone = Vec::new();
    let mut runs = Vec::new();
    for &mcs in &plan.mcs {
        let run =
            measure(plan, &[mcs], stop).with_context(|| format!("one access point, MCS {mcs}"))?;
        alone.extend(run.stations.first().copied());
        runs.push(run);
    }
    let together = measure(plan, &plan.mcs, stop).context("all access points together")?;
    let mut rows = Vec::new();
    for (index, (&mcs, &alone)) in plan.mcs.iter().zip(&alone).enumerate() {
        let together = together.stations[index];
        rows.push(ApRow {
            access_point: index,
            mcs,
            alone,
            together,
            share: together.goodput_mbps / alone.goodput_mbps.max(f64::MIN_POSITIVE),
        });
    }
    runs.push(together);
    Ok(ApsComparison {
        holds: rows.iter().all(|row| row.share >= OWN_BOX_BAR),
        lag_p99_ms: runs.iter().map(|run| run.lag_p99_ms).fold(0.0, f64::max),
        trusted: runs.iter().all(|run| run.trusted),
        rows,
    })
}

/// One run: what each station had, and how punctual the emulator was.
struct Run {
    stations: Vec<StationLoad>,
    lag_p99_ms: f64,
    trusted: bool,
}

/// Runs one access point per entry of `mcs`, each with a station, behind one box.
fn measure(plan: &ApsPlan, mcs: &[u8], stop: &Stop) -> Result<Run> {
    let cell = cell(plan, mcs)?;
    let inline = InlinePlan {
        program: &plan.program,
        cell: &cell,
        stations: mcs.len(),
        access_points: mcs.len(),
        sensor: EdgeSensor::Acks,
        target_level: None,
        slot: SLOT,
    };
    let target = |station| Target {
        namespace: cell.station(station),
        address: cell.station_address(station),
        traffic: Traffic::Download,
    };
    let load = Load {
        server: cell.server(),
        server_address: cell.server_address(),
        targets: (0..mcs.len()).map(target).collect(),
        congestion: Some("cubic"),
        flows: 1,
        ping_interval: PING_INTERVAL,
        duration: plan.load,
        idle: false,
    };
    let mut running = InlineBox::start(&inline, stop, || load.is_answered(stop))?;
    let measured = load.run(Instant::now(), stop, |_| {})?;
    running
        .check()
        .context("the box must run until the load ends")?;
    if stop.is_raised() {
        anyhow::bail!("the benchmark was stopped");
    }
    drop(running);
    let stations = measured.iter().map(|m| plan.steady(m)).collect();
    let record = cell.finish()?;
    Ok(Run {
        stations,
        lag_p99_ms: record.lag_p99.as_secs_f64() * 1e3,
        trusted: record.trusted,
    })
}

fn cell(plan: &ApsPlan, mcs: &[u8]) -> Result<Cell> {
    let mut config = closed(mcs, BUFFER_PACKETS, plan.seed)?.with_ethernet(EthernetConfig {
        bridged: false,
        ..EthernetConfig::default()
    });
    config.wired_delay = WIRED_DELAY;
    config.monitor = Monitor::Off;
    config.home = (0..mcs.len()).collect();
    for index in 1..mcs.len() {
        config.further_access_points.push(AccessPointConfig {
            port: port(index),
            air: None,
        });
    }
    Cell::start(config, SLOT)
}

impl ApsPlan {
    /// What a station had after the ramp.
    fn steady(&self, measured: &Measured) -> StationLoad {
        let steady = measured
            .pings
            .iter()
            .filter(|ping| ping.at_s >= self.ramp.as_secs_f64());
        let rtts: Samples = steady.filter_map(|ping| ping.rtt_ms).collect();
        StationLoad {
            goodput_mbps: measured.received.mbps(self.ramp, self.load),
            ping_p95_ms: rtts.quantiles().p95,
        }
    }
}
