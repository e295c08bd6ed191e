//! The in-line box without Wi-Fi: what `airpace edge`, as a process between namespaces, forwards,
//! what delay it adds to that of the kernel bridge, and how long traffic stops when it dies.

mod testbed;
mod traffic;

pub use testbed::{
    EdgeProcess, EdgeTestbed, SERVER, SERVER_MAC, access_port, pause, station_address, station_mac,
};
pub use traffic::{Arrivals, PACKET_BYTES, Traffic};

use core::net::SocketAddr;
use core::time::Duration;
use nix::sys::signal::Signal;
use serde::Serialize;
use std::path::PathBuf;

/// What to measure.
#[derive(Clone, PartialEq, Debug)]
pub struct EdgePlan {
    /// The program that is run as `airpace edge`.
    pub program: PathBuf,
    /// How long each measurement lasts. Default of the command 3 s.
    pub span: Duration,
    /// Load at which delay and holes are measured, Mbit/s of IP packets.
    pub load_mbps: f64,
}

/// The measurements.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct EdgeReport {
    /// Length of the IP packets in bytes.
    pub packet_bytes: usize,
    /// Gbit/s of IP packets that arrive when as many as possible are sent.
    pub goodput_gbps: f64,
    /// The same through the kernel bridge alone.
    pub bridge_gbps: f64,
    /// Mbit/s at which the delay was measured.
    pub load_mbps: f64,
    /// Delay at that load, less that of the kernel bridge alone.
    pub added_delay_us: DelayQuantiles,
    /// Delay at that load through the box.
    pub delay_us: DelayQuantiles,
    /// Delay at that load through the kernel bridge alone.
    pub bridge_delay_us: DelayQuantiles,
    /// Longest time without a packet around `kill -9`, ms, at that load.
    pub kill_hole_ms: f64,
    /// The same around SIGSTOP.
    pub stop_hole_ms: f64,
    /// Packets lost in the run that was killed.
    pub kill_lost: u64,
    /// Share of a processor that the box uses without traffic.
    pub idle_cpu: f64,
    /// Share of a processor that the box's process uses at that load. Of a virtual pair it includes
    /// the station's part of the network stack.
    pub load_cpu: f64,
}

/// Quantiles of a delay, µs.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct DelayQuantiles {
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
}

impl DelayQuantiles {
    pub(super) fn of(arrivals: &Arrivals) -> Self {
        let us = |quantile| arrivals.delays_ns.value_at_quantile(quantile) as f64 / 1e3;
        Self {
            p50: us(0.5),
            p99: us(0.99),
        }
    }
}

const PORT: u16 = 7000;
/// Nothing is paced: without Wi-Fi there is nothing to pace for, and the datapath is what is
/// measured.
const SETTINGS: &str = "[control]\nlaw = \"none\"\n";

/// Measures the datapath of the in-line box. Takes about ten times `span`.
///
/// # Errors
/// If namespaces are not permitted (see [`airpace_net::netns::acquire_rights`]), or the box does not
/// start.
pub fn edge(plan: &EdgePlan) -> anyhow::Result<EdgeReport> {
    let load = plan.load_mbps / 1e3;
    let bridged = EdgeTestbed::new(1, 1500)?;
    let _bridge = bridged.add_bridge()?;
    let traffic = begin(&bridged)?;
    let bridge_full = traffic.run(plan.span, None, || Ok(()))?;
    let bridge_load = traffic.run(plan.span, Some(load), || Ok(()))?;

    let bed = EdgeTestbed::new(1, 1500)?;
    let process = bed.start(&plan.program, SETTINGS)?;
    let before = process.cpu_time()?;
    pause(plan.span);
    let idle_cpu = share(process.cpu_time()? - before, plan.span);
    let traffic = begin(&bed)?;
    let full = traffic.run(plan.span, None, || Ok(()))?;
    let before = process.cpu_time()?;
    let loaded = traffic.run(plan.span, Some(load), || Ok(()))?;
    let load_cpu = share(process.cpu_time()? - before, plan.span);
    let killed = with_signal(&traffic, plan, &process, Signal::SIGKILL)?;
    drop((traffic, process, bed));

    let bed = EdgeTestbed::new(1, 1500)?;
    let process = bed.start(&plan.program, SETTINGS)?;
    let traffic = begin(&bed)?;
    let stopped = with_signal(&traffic, plan, &process, Signal::SIGSTOP)?;
    let (delay_us, bridge_delay_us) = (
        DelayQuantiles::of(&loaded),
        DelayQuantiles::of(&bridge_load),
    );
    Ok(EdgeReport {
        packet_bytes: PACKET_BYTES,
        goodput_gbps: full.gbps,
        bridge_gbps: bridge_full.gbps,
        load_mbps: plan.load_mbps,
        added_delay_us: DelayQuantiles {
            p50: delay_us.p50 - bridge_delay_us.p50,
            p99: delay_us.p99 - bridge_delay_us.p99,
        },
        delay_us,
        bridge_delay_us,
        kill_hole_ms: killed.longest_gap.as_secs_f64() * 1e3,
        stop_hole_ms: stopped.longest_gap.as_secs_f64() * 1e3,
        kill_lost: killed.sent - killed.received,
        idle_cpu,
        load_cpu,
    })
}

/// Opens sockets at the server and the station, and waits until packets arrive: both kernels notice
/// asynchronously that a pair is up, and the box must have heard the station.
pub(super) fn begin(bed: &EdgeTestbed) -> anyhow::Result<Traffic> {
    let down = |port| -> anyhow::Result<Traffic> {
        Traffic::open(
            (&bed.server, SocketAddr::from((SERVER, port))),
            (
                &bed.stations[0],
                SocketAddr::from((station_address(0), port)),
            ),
        )
    };
    let traffic = down(PORT)?;
    for _ in 0..100 {
        let arrivals = traffic.run(Duration::from_millis(50), Some(0.005), || Ok(()))?;
        if arrivals.received > 0 {
            // The station has answered ARP, so the box has heard it, and takes over from now on.
            pause(Duration::from_millis(200));
            return Ok(traffic);
        }
    }
    anyhow::bail!("no packet passes the bridge")
}

/// Sends at the load, and a signal to the box in the middle.
fn with_signal(
    traffic: &Traffic,
    plan: &EdgePlan,
    process: &EdgeProcess,
    signal: Signal,
) -> anyhow::Result<Arrivals> {
    traffic.run(plan.span, Some(plan.load_mbps / 1e3), || {
        pause(plan.span / 2);
        process.signal(signal)
    })
}

fn share(used: Duration, span: Duration) -> f64 {
    used.as_secs_f64() / span.as_secs_f64()
}
