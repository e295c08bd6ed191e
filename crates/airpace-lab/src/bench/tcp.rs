//! Simulated TCP against the kernel's: the same download through the same cell, in virtual time and
//! with real packets.

mod periods;

use self::periods::{MeasuredTime, mean_rtt_ms};
use super::saturation::vht80;
use crate::cell::{Cell, closed};
use crate::tool::Stop;
use crate::tool::bulk::{self, FlowSample, Receiver, SAMPLE_INTERVAL, SendConfig};
use airpace_core::phy::AccessCategory;
use airpace_sim::mac::{CellConfig, PathConfig, StationConfig};
use airpace_sim::transport::tcp::{Algorithm, ReceiverConfig, SenderConfig};
use airpace_sim::world::{
    ChannelConfig, Details, FlowConfig, NodeId, Record, TcpConfig, TcpReport, Traffic, WireConfig,
    World, WorldConfig,
};
use airpace_units::{BitRate, Time};
use anyhow::{Context, Result, anyhow, bail};
use serde::Serialize;
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

const PORT: u16 = 7_010;

/// Packets that the access point can queue.
const AP_BUFFER_PACKETS: u32 = 1_000;

/// MCS of the station: VHT, 80 MHz, one stream, 390 Mbit/s.
const MCS: u8 = 9;

/// One TCP download from a wired server to the one station of a cell.
#[derive(Clone, Copy, Debug)]
pub struct Download {
    /// Congestion control.
    pub algorithm: Algorithm,
    /// Delay of the wired link, each way.
    pub wired_delay: Duration,
    /// Time at the beginning that is not measured.
    pub ramp: Duration,
    /// Time that is measured after it.
    pub measure: Duration,
    /// Whether only whole periods of the sawtooth within that time are measured, from a back-off to
    /// another. A fixed time cuts periods, which are as long as it, and where it cuts them is
    /// chance.
    pub whole_periods: bool,
    /// Seed of the cell.
    pub seed: u64,
}

/// Figures of a download.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct DownloadFigures {
    /// Payload delivered, Mbit/s.
    pub goodput_mbps: f64,
    /// Mean of the sender's smoothed round-trip time, read at fixed intervals, ms.
    pub rtt_ms: f64,
    /// Segments sent again, as a share of all segments of the flow.
    pub resent: f64,
    /// Whole periods of the sawtooth that were measured, if only such are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub periods: Option<usize>,
}

/// A download with the kernel's TCP.
#[derive(Clone, Copy, Debug)]
pub struct KernelDownload {
    /// Its figures.
    pub figures: DownloadFigures,
    /// 99th percentile of the emulator's lateness, ms.
    pub lag_p99_ms: f64,
    /// Whether the emulator itself trusts the run.
    pub trusted: bool,
}

/// A download with the kernel's TCP and with simulated TCP.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct TcpComparison {
    /// Congestion control.
    pub algorithm: &'static str,
    /// Delay of the wired link, each way, ms.
    pub wired_delay_ms: f64,
    /// With real packets.
    pub kernel: DownloadFigures,
    /// In virtual time.
    pub simulated: DownloadFigures,
    /// Relative difference of goodput: simulated over kernel, minus one.
    pub goodput_difference: f64,
    /// Relative difference of the round-trip time.
    pub rtt_difference: f64,
    /// 99th percentile of the emulator's lateness, ms.
    pub lag_p99_ms: f64,
    /// Whether the emulator itself trusts the run.
    pub trusted: bool,
}

/// Runs the download in virtual time and then with the kernel's TCP, and compares.
///
/// # Errors
/// If namespaces or TUN devices cannot be created, the kernel lacks the algorithm, or `stop` was
/// raised.
pub fn compare(download: &Download, stop: &Stop) -> Result<TcpComparison> {
    let simulated = simulate(download, Hosts::KERNEL)?;
    let KernelDownload {
        figures,
        lag_p99_ms,
        trusted,
    } = kernel(download, stop)?;
    Ok(TcpComparison {
        algorithm: download.algorithm.name(),
        wired_delay_ms: download.wired_delay.as_secs_f64() * 1e3,
        kernel: figures,
        simulated,
        goodput_difference: simulated.goodput_mbps / figures.goodput_mbps - 1.0,
        rtt_difference: simulated.rtt_ms / figures.rtt_ms - 1.0,
        lag_p99_ms,
        trusted,
    })
}

/// Properties of the hosts that differ between the kernel under the emulator and ns-3.
#[derive(Clone, Copy, Debug)]
pub struct Hosts {
    /// Rate of the wired link; `None` for the emulator, which does not limit it.
    pub wired_rate: Option<BitRate>,
    /// Whether the station merges the packets of a frame before it acknowledges them, as the kernel
    /// does.
    pub merge: bool,
    /// Whether BBR allows for acknowledgements that arrive in bunches; see
    /// [`SenderConfig::allow_for_bunches`].
    pub allow_for_bunches: bool,
}

impl Hosts {
    /// The kernel's hosts under the emulator.
    pub const KERNEL: Self = Self {
        wired_rate: None,
        merge: true,
        allow_for_bunches: true,
    };
    /// The hosts of ns-3's reference runs.
    pub const NS3: Self = Self {
        wired_rate: Some(BitRate::from_mbps(1_000)),
        merge: false,
        allow_for_bunches: false,
    };
}

/// Node numbers of the simulated network.
const ACCESS_POINT: NodeId = NodeId(0);
const STATION: NodeId = NodeId(1);
const SERVER: NodeId = NodeId(2);

/// Runs the download with the simulated TCP in virtual time.
///
/// # Errors
/// If the cell or the network is refused.
pub fn simulate(download: &Download, hosts: Hosts) -> Result<DownloadFigures> {
    let mut world = World::new(network(download, hosts)?)?;
    world.run_until(Time::ZERO + download.ramp);
    let (mut samples, mut delivered) = (Vec::new(), Vec::new());
    // The kernel's state is read at the same intervals.
    while world.now() < world.end() {
        world.run_until(world.now() + SAMPLE_INTERVAL);
        let (payload_bytes, tcp) = flow(&mut world)?;
        let at = world.now().since(Time::ZERO);
        samples.push(FlowSample {
            at,
            smoothed_rtt_ms: tcp.info.smoothed_rtt.unwrap_or_default().as_secs_f64() * 1e3,
            window_segments: tcp.info.window,
        });
        delivered.push((at, payload_bytes));
    }
    let (_, tcp) = flow(&mut world)?;
    let measured = MeasuredTime::of(download, &samples)?;
    // Nothing counts as delivered before the ramp is over.
    let delivered_by = |time: Duration| {
        let until = delivered.iter().take_while(|(at, _)| *at <= time);
        until.last().map_or(0, |&(_, bytes)| bytes)
    };
    let bytes = delivered_by(measured.to) - delivered_by(measured.from);
    let span = measured.to - measured.from;
    Ok(DownloadFigures {
        goodput_mbps: bytes as f64 * 8.0 / span.as_secs_f64() / 1e6,
        rtt_ms: mean_rtt_ms(&samples, &measured),
        resent: tcp.sender.resent as f64 / tcp.sender.segments.max(1) as f64,
        periods: measured.periods,
    })
}

/// Payload of the only flow that was delivered since the ramp, bytes, and the reports of its ends.
fn flow(world: &mut World) -> Result<(u64, TcpReport)> {
    let outcome = world.outcome();
    let flow = outcome.flows.first().context("there is one flow")?;
    let Details::Tcp(tcp) = &flow.details else {
        bail!("the flow is TCP")
    };
    Ok((flow.payload_bytes, **tcp))
}

fn network(download: &Download, hosts: Hosts) -> Result<WorldConfig> {
    let mut cell = CellConfig::new(vec![StationConfig::new(vht80(MCS)?)]);
    cell.access_point = PathConfig::per_station(AP_BUFFER_PACKETS as usize);
    let receiver = ReceiverConfig {
        merge: hosts.merge,
        ..ReceiverConfig::default()
    };
    let sender = SenderConfig {
        allow_for_bunches: hosts.allow_for_bunches,
        ..SenderConfig::new(download.algorithm)
    };
    let tcp = TcpConfig {
        sender,
        receiver,
        bytes: None,
        is_quic: false,
    };
    let wire = WireConfig {
        ends: (SERVER, ACCESS_POINT),
        rate: hosts.wired_rate,
        delay: download.wired_delay,
        // As many packets as the send buffer holds, so that the wire is never the bottleneck.
        queue: 10_000,
    };
    Ok(WorldConfig {
        seed: download.seed,
        warm_up: download.ramp,
        duration: download.measure,
        slot: None,
        nodes: 3,
        keys: Vec::new(),
        channels: vec![ChannelConfig {
            mac: cell.mac()?,
            nodes: vec![ACCESS_POINT, STATION],
        }],
        wires: vec![wire],
        routes: Vec::new(),
        flows: vec![FlowConfig {
            from: SERVER,
            to: STATION,
            category: AccessCategory::BestEffort,
            traffic: Traffic::Tcp(tcp),
            start: Time::ZERO,
            stop: None,
        }],
        proxies: Vec::new(),
        roaming: Vec::new(),
        changes: Vec::new(),
        record: Record::default(),
    })
}

/// Runs the download with the kernel's TCP through the emulated access point.
///
/// # Errors
/// If namespaces or TUN devices cannot be created, the kernel lacks the algorithm, or `stop` was
/// raised.
pub fn kernel(download: &Download, stop: &Stop) -> Result<KernelDownload> {
    let mut config = closed(&[MCS], AP_BUFFER_PACKETS, download.seed)?;
    config.wired_delay = download.wired_delay;
    let cell = Cell::start(config, Duration::from_millis(10))?;
    let start = Instant::now();
    let to = SocketAddr::new(cell.station_address(0), PORT);
    let receiver = cell.station(0).run(|| Receiver::bind(to))??;
    let config = SendConfig {
        to,
        flows: 1,
        congestion: Some(download.algorithm.name().to_owned()),
        duration: download.ramp + download.measure,
        patience: Duration::from_secs(2),
    };
    let receiver_stop = Stop::default();
    let (flows, bins) = thread::scope(|scope| {
        let receiving = scope.spawn(|| receiver.run(start, &receiver_stop));
        let flows = cell.server().run(|| bulk::send(&config, stop));
        receiver_stop.raise();
        (flows, receiving.join())
    });
    if stop.is_raised() {
        bail!("the comparison was stopped");
    }
    let flows = flows??;
    let bins = bins.map_err(|_| anyhow!("the receiver panicked"))??;
    let flow = flows.first().context("there is one flow")?;
    let record = cell.finish()?;
    let measured = match MeasuredTime::of(download, &flow.samples) {
        // A machine that is too slow may leave no whole period. That it was says more.
        Err(_) if !record.trusted => MeasuredTime::all(download),
        found => found?,
    };
    let figures = DownloadFigures {
        goodput_mbps: bins.mbps(measured.from, measured.to),
        rtt_ms: mean_rtt_ms(&flow.samples, &measured),
        resent: flow.retransmits as f64 / flow.segments.max(1) as f64,
        periods: measured.periods,
    };
    Ok(KernelDownload {
        figures,
        lag_p99_ms: record.lag_p99.as_secs_f64() * 1e3,
        trusted: record.trusted,
    })
}
