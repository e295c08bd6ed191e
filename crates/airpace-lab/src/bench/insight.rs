//! What it costs the in-line box to be looked at: a Prometheus, an open page and `airpace status
//! --watch`, with many stations.

use super::edge::{
    DelayQuantiles, EdgeProcess, EdgeTestbed, SERVER, SERVER_MAC, pause, station_address,
};
use crate::tool::Stop;
use airpace_api::config::{MetricsConfig, WebConfig};
use airpace_api::operator::EdgeRequest;
use airpace_net::netns::Namespace;
use airpace_net::packet::PacketSocket;
use anyhow::{Context as _, bail, ensure};
use core::net::{Ipv4Addr, SocketAddr};
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use nix::time::{ClockId, clock_gettime};
use serde::Serialize;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;

/// What to measure.
#[derive(Clone, PartialEq, Debug)]
pub struct InsightPlan {
    /// The program that is run as `airpace edge`.
    pub program: PathBuf,
    /// Stations behind the box, 1 to 250.
    pub stations: u8,
    /// How long each part of a run lasts, at least a second.
    pub span: Duration,
    /// How often each part is repeated.
    pub repeats: u32,
    /// Load at which the delay is measured, Mbit/s of IP packets to one station.
    pub load_mbps: f64,
}

/// The measurements.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct InsightReport {
    /// Stations behind the box, each with a little traffic in both directions.
    pub stations: usize,
    /// Share of a processor that the box uses while nobody looks at it, one for each repeat.
    pub alone_cpu: Vec<f64>,
    /// The same, and what asks for the status, while metrics, page and status are read.
    pub watched_cpu: Vec<f64>,
    /// Median of the differences.
    pub cost_cpu: f64,
    /// Length of what was read last, bytes.
    pub metrics_bytes: usize,
    /// The page's status.
    pub page_bytes: usize,
    /// Mbit/s at which the delay was measured.
    pub load_mbps: f64,
    /// Delay of packets through the box while nobody looks at it, one for each repeat.
    pub alone_delay_us: Vec<DelayQuantiles>,
    /// The same while metrics, page and status are read.
    pub watched_delay_us: Vec<DelayQuantiles>,
    /// Whether the cost is within [`COST_BAR`].
    pub holds: bool,
}

/// Share of a processor that metrics, page and status may take together.
pub const COST_BAR: f64 = 0.02;

/// Between two readings of the status, as `airpace status --watch` has it.
const STATUS_EVERY: Duration = Duration::from_secs(1);
/// Between two readings by the page.
const PAGE_EVERY: Duration = Duration::from_secs(2);
/// Between two readings by Prometheus. Its own default is a minute, the dashboard's 15 s.
const METRICS_EVERY: Duration = Duration::from_secs(5);

const SHOWN: &str = "[metrics]\n[web]\n";
/// As in the benchmark of the datapath: the packets' path is measured, not the pacing.
const UNPACED: &str = "[control]\nlaw = \"none\"\n[metrics]\n[web]\n";

/// Measures. Takes about four times `repeats` times `span`.
///
/// # Errors
/// If namespaces are not permitted, the box does not start or answer, or `stop` is raised.
pub fn insight(plan: &InsightPlan, stop: &Stop) -> anyhow::Result<InsightReport> {
    let mut report = InsightReport {
        stations: usize::from(plan.stations),
        alone_cpu: Vec::new(),
        watched_cpu: Vec::new(),
        cost_cpu: 0.0,
        metrics_bytes: 0,
        page_bytes: 0,
        load_mbps: plan.load_mbps,
        alone_delay_us: Vec::new(),
        watched_delay_us: Vec::new(),
        holds: false,
    };
    with_stations(plan, SHOWN, |bed, process| {
        for _ in 0..plan.repeats {
            report.alone_cpu.push(cpu(process, plan.span, || {
                pause(plan.span);
                Ok(Duration::ZERO)
            })?);
            report.watched_cpu.push(cpu(process, plan.span, || {
                let read = watch(bed, plan.span)?;
                (report.metrics_bytes, report.page_bytes) = (read.metrics, read.page);
                Ok(read.asking)
            })?);
            ensure!(!stop.is_raised(), "the run was stopped");
        }
        Ok(())
    })?;
    with_stations(plan, UNPACED, |bed, _| {
        let traffic = super::edge::begin(bed)?;
        let load = Some(plan.load_mbps / 1e3);
        for _ in 0..plan.repeats {
            let alone = traffic.run(plan.span, load, || Ok(()))?;
            report.alone_delay_us.push(DelayQuantiles::of(&alone));
            let watched = traffic.run(plan.span, load, || watch(bed, plan.span).map(drop))?;
            report.watched_delay_us.push(DelayQuantiles::of(&watched));
            ensure!(!stop.is_raised(), "the run was stopped");
        }
        Ok(())
    })?;
    let pairs = report.watched_cpu.iter().zip(&report.alone_cpu);
    let mut costs: Vec<f64> = pairs.map(|(watched, alone)| watched - alone).collect();
    costs.sort_by(f64::total_cmp);
    report.cost_cpu = costs[costs.len() / 2];
    report.holds = report.cost_cpu <= COST_BAR;
    Ok(report)
}

/// Starts a box with stations that all send and receive, and runs `measure` when it knows them.
fn with_stations(
    plan: &InsightPlan,
    settings: &str,
    measure: impl FnOnce(&EdgeTestbed, &EdgeProcess) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let bed = EdgeTestbed::new(1, 1500)?;
    let process = bed.start(&plan.program, settings)?;
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let talking = scope.spawn(|| talk(&bed, plan.stations, &is_over));
        let measured =
            wait_for_stations(&bed, plan.stations).and_then(|()| measure(&bed, &process));
        is_over.store(true, Ordering::Relaxed);
        let talked = talking.join().expect("the stations do not panic");
        measured.and(talked)
    })
}

fn wait_for_stations(bed: &EdgeTestbed, stations: u8) -> anyhow::Result<()> {
    for _ in 0..100 {
        let known = bed.status()?;
        if known.len() >= usize::from(stations) {
            // Rates and histories settle.
            pause(Duration::from_secs(2));
            return Ok(());
        }
        pause(Duration::from_millis(100));
    }
    bail!("the box does not learn {stations} stations")
}

/// Lets each station send and receive ten packets of 1,000 bytes a second, until `is_over`.
fn talk(bed: &EdgeTestbed, stations: u8, is_over: &AtomicBool) -> anyhow::Result<()> {
    let open = |namespace: &Namespace, interface: &'static str| {
        namespace.run(move || PacketSocket::open(interface, 1 << 16))
    };
    let server = open(&bed.server, "eth0")??;
    let air = open(&bed.stations[0], "wlan0")??;
    while !is_over.load(Ordering::Relaxed) {
        for turn in 0..10 {
            for index in (0..stations).filter(|index| index % 10 == turn) {
                let (mac, address) = (mac(index), address(index));
                // What the kernel has no room for is lost, as on a network.
                air.send(&frame((mac, address), (SERVER_MAC, SERVER)))?;
                server.send(&frame((SERVER_MAC, SERVER), (mac, address)))?;
            }
            pause(Duration::from_millis(10));
        }
    }
    Ok(())
}

/// Hardware address of a talking station. The first one of the test bed is another.
const fn mac(index: u8) -> [u8; 6] {
    [2, 0, 0, 0, 2, index]
}

fn address(index: u8) -> Ipv4Addr {
    let [a, b, _, _] = station_address(0).octets();
    Ipv4Addr::new(a, b, 2, index)
}

/// An Ethernet frame with a UDP packet over IPv4 of 1,000 bytes.
fn frame(from: ([u8; 6], Ipv4Addr), to: ([u8; 6], Ipv4Addr)) -> Vec<u8> {
    const LENGTH: u16 = 1_000;
    let mut frame = Vec::with_capacity(14 + usize::from(LENGTH));
    frame.extend(to.0);
    frame.extend(from.0);
    frame.extend([0x08, 0x00, 0x45, 0]);
    frame.extend(LENGTH.to_be_bytes());
    // Neither a fragment nor checked: nobody receives it.
    frame.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
    frame.extend(from.1.octets());
    frame.extend(to.1.octets());
    frame.extend([0x1b, 0x58, 0x1b, 0x58]);
    frame.extend((LENGTH - 20).to_be_bytes());
    frame.resize(14 + usize::from(LENGTH), 0);
    frame
}

/// Share of a processor that the box, and what `meanwhile` says, use while it runs.
fn cpu(
    process: &EdgeProcess,
    span: Duration,
    meanwhile: impl FnOnce() -> anyhow::Result<Duration>,
) -> anyhow::Result<f64> {
    let before = process.cpu_time()?;
    let other = meanwhile()?;
    let used = process.cpu_time()? - before + other;
    Ok(used.as_secs_f64() / span.as_secs_f64())
}

/// What was read.
struct Read {
    /// Lengths in bytes.
    metrics: usize,
    page: usize,
    /// CPU time of asking for the status and reading it.
    asking: Duration,
}

/// Reads metrics, page and status for `span`, each as often as its reader would.
fn watch(bed: &EdgeTestbed, span: Duration) -> anyhow::Result<Read> {
    const TICK: Duration = Duration::from_millis(250);
    let mut read = Read {
        metrics: 0,
        page: 0,
        asking: Duration::ZERO,
    };
    let metrics = MetricsConfig::default().listen;
    let page = WebConfig::default().listen;
    let is_due = |at: Duration, every: Duration| at.as_millis().is_multiple_of(every.as_millis());
    get(bed, page, "/api/history")?;
    let mut at = Duration::ZERO;
    while at < span {
        if is_due(at, METRICS_EVERY) {
            read.metrics = get(bed, metrics, "/metrics")?;
        }
        if is_due(at, PAGE_EVERY) {
            read.page = get(bed, page, "/api/status")?;
        }
        if is_due(at, STATUS_EVERY) {
            let before = thread_time()?;
            bed.ask(&EdgeRequest::Status)?;
            read.asking += thread_time()? - before;
        }
        pause(TICK);
        at += TICK;
    }
    Ok(read)
}

fn thread_time() -> anyhow::Result<Duration> {
    Ok(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)?.into())
}

/// Reads a path of the box, from the box itself, and returns the length of the answer.
fn get(bed: &EdgeTestbed, from: SocketAddr, path: &str) -> anyhow::Result<usize> {
    let mut stream = bed.middle.run(|| TcpStream::connect(from))??;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {from}\r\nConnection: close\r\n\r\n"
    )?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    ensure!(
        answer.starts_with(b"HTTP/1.1 200"),
        "{path}: {}",
        String::from_utf8_lossy(answer.get(..100).unwrap_or(&answer))
    );
    let head = answer.windows(4).position(|window| window == b"\r\n\r\n");
    Ok(answer.len() - head.context("an answer has a head")? - 4)
}
