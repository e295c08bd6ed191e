//! Simulated TCP against the kernel's: the same download through the same cell, in virtual time and with real packets.

use super::saturation::vht80;
use crate::cell::{Cell, CellPlan};
use crate::tool::Stop;
use crate::tool::bulk::{self, FlowReport, Receiver, SendConfig};
use airpace_sim::transport::tcp::Algorithm;
use anyhow::{Context, Result, anyhow, bail};
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

const PORT: u16 = 7_010;

/// Packets that the access point queues.
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
    /// What is left out at the beginning.
    pub ramp: Duration,
    /// What is measured after it.
    pub measure: Duration,
    /// Seed of the cell.
    pub seed: u64,
}

/// How a download went.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DownloadFigures {
    /// Payload delivered, Mbit/s.
    pub goodput_mbps: f64,
    /// Mean round-trip time as the sender sees it, ms.
    pub rtt_ms: f64,
    /// Share of segments sent again, over the whole flow.
    pub resent: f64,
}

/// A download with the kernel's TCP, and whether the emulator kept up.
#[derive(Clone, Copy, Debug)]
pub struct KernelDownload {
    /// How it went.
    pub figures: DownloadFigures,
    /// How late the emulator was at the 99th percentile, ms.
    pub lag_p99_ms: f64,
    /// Whether the emulator itself trusts the run.
    pub trusted: bool,
}

/// Runs the download with the kernel's TCP through the emulated access point.
///
/// # Errors
/// If namespaces or TUN devices cannot be had, the kernel lacks the algorithm, or `stop` was raised.
pub fn kernel(download: &Download, stop: &Stop) -> Result<KernelDownload> {
    vht80(MCS).context("the station's rate")?;
    let cell = Cell::start(CellPlan {
        mcs: vec![MCS],
        ap_buffer_packets: AP_BUFFER_PACKETS,
        wired_delay: download.wired_delay,
        seed: download.seed,
        slot: Duration::from_millis(10),
    })?;
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
        bail!("stopped");
    }
    let flows = flows??;
    let bins = bins.map_err(|_| anyhow!("the receiver panicked"))??;
    let flow = flows.first().context("there is one flow")?;
    let record = cell.finish()?;
    let figures = DownloadFigures {
        goodput_mbps: bins.mbps(download.ramp, download.ramp + download.measure),
        rtt_ms: mean_rtt_ms(flow, download.ramp),
        resent: flow.retransmits as f64 / flow.segments.max(1) as f64,
    };
    Ok(KernelDownload { figures, lag_p99_ms: record.lag_p99.as_secs_f64() * 1e3, trusted: record.trusted })
}

/// The mean of the smoothed round-trip time after the ramp.
fn mean_rtt_ms(flow: &FlowReport, ramp: Duration) -> f64 {
    let after: Vec<f64> = flow.smoothed_rtts.iter().filter(|(at, _)| *at >= ramp).map(|&(_, ms)| ms).collect();
    after.iter().sum::<f64>() / after.len().max(1) as f64
}
