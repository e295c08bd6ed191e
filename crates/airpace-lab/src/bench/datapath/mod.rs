//! The datapath of proxy and agent, measured over a link without Wi-Fi, in their own namespaces.
//!
//! A source on the proxy's side sends datagrams through the tunnel to a sink on the agent's side.
//! All of them share the machine's cores. The delay runs from just before the send call to just
//! after the receive call. The added delay is that of the tunnel less that of the bare link.

mod datagrams;
mod testbed;

pub use testbed::{AGENT, AGENT_OUTSIDE, PROXY, PROXY_OUTSIDE, Running, Testbed};

use airpace_api::config::{Cipher, LawChoice};
use airpace_config::quantity::Rate;
use airpace_core::wire::ip::IPV4_UDP_HEADER_BYTES;
use airpace_units::BitRate;
use anyhow::{Context as _, bail};
use core::sync::atomic::Ordering;
use core::time::Duration;
use datagrams::{Pattern, Shared};
use serde::Serialize;
use std::net::{Ipv4Addr, SocketAddr};

/// What to measure.
#[derive(Clone, PartialEq, Debug)]
pub struct DatapathPlan {
    /// Length of the IP packets, 64 to 1420 bytes. Default 1400.
    pub packet_bytes: usize,
    /// Loads at which delay is measured, in Mbit/s of IP packets. Default 100, 500, 1000.
    pub loads_mbps: Vec<f64>,
    /// How long each load lasts. Default 3 s.
    pub span: Duration,
    /// Cipher of the tunnel. Default: the fastest on this processor.
    pub cipher: Cipher,
    /// Whether packets pass the pacer, at a rate that does not delay them. Default true.
    pub paced: bool,
    /// Whether proxy and agent ask for real-time scheduling. Default true, as in their
    /// configuration.
    pub realtime: bool,
}

impl Default for DatapathPlan {
    fn default() -> Self {
        Self {
            packet_bytes: 1400,
            loads_mbps: vec![100.0, 500.0, 1000.0],
            span: Duration::from_secs(3),
            cipher: Cipher::default(),
            paced: true,
            realtime: true,
        }
    }
}

/// The measurements.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct DatapathReport {
    /// Length of the IP packets in bytes.
    pub packet_bytes: usize,
    /// Cipher of the tunnel.
    pub cipher: Cipher,
    /// Whether packets passed the pacer.
    pub paced: bool,
    /// Throughput with as many packets as the path carries.
    pub saturated: Throughput,
    /// The same over the bare link.
    pub saturated_bare: Throughput,
    /// Delay at each offered load.
    pub loads: Vec<Delay>,
}

/// Throughput of a run.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Throughput {
    /// IP packets per second received.
    pub packets_per_s: f64,
    /// Gbit/s of these packets.
    pub gbps: f64,
    /// Share of the packets sent that did not arrive.
    pub loss: f64,
}

/// Delay at one load.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Delay {
    /// Mbit/s offered.
    pub offered_mbps: f64,
    /// Throughput of the tunnel.
    pub throughput: Throughput,
    /// Median delay through proxy and agent, µs.
    pub tunnel_p50_us: f64,
    /// 99th percentile of that delay, µs.
    pub tunnel_p99_us: f64,
    /// Median delay over the bare link, µs.
    pub bare_p50_us: f64,
    /// 99th percentile of that delay, µs.
    pub bare_p99_us: f64,
    /// Difference of the medians, µs.
    pub added_p50_us: f64,
    /// Difference of the 99th percentiles, µs.
    pub added_p99_us: f64,
}

/// Packets in flight in a saturated run: enough to keep all stages busy, few enough for every
/// buffer.
const WINDOW: u64 = 512;
/// How long the tunnel may take to connect.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// Measures the datapath. Takes about `span` × 2 × (number of loads + 1).
///
/// # Errors
/// If namespaces are not permitted (see [`airpace_net::netns::acquire_rights`]), or the tunnel does
/// not come up.
pub fn datapath(plan: &DatapathPlan) -> anyhow::Result<DatapathReport> {
    if !(64..=1420).contains(&plan.packet_bytes) {
        bail!(
            "packets of {} bytes are not possible; give 64 to 1420",
            plan.packet_bytes
        );
    }
    let mut bed = Testbed::new()?;
    bed.proxy.control.law = if plan.paced {
        LawChoice::Fixed
    } else {
        LawChoice::None
    };
    bed.proxy.control.fixed_rate = Some(Rate(BitRate::from_mbps(20_000)));
    bed.agent.cipher = plan.cipher;
    (bed.proxy.realtime, bed.agent.realtime) = (plan.realtime, plan.realtime);
    let (proxy, agent) = (bed.start_proxy()?, bed.start_agent()?);
    await_tunnel(&bed)?;
    let saturated = run(&bed, AGENT, plan, Pattern::Window(WINDOW))?.0;
    let saturated_bare = run(&bed, AGENT_OUTSIDE, plan, Pattern::Window(WINDOW))?.0;
    let loads = plan
        .loads_mbps
        .iter()
        .map(|&mbps| delay(&bed, plan, mbps))
        .collect::<anyhow::Result<_>>()?;
    agent.stop()?;
    proxy.stop()?;
    let (packet_bytes, cipher, paced) = (plan.packet_bytes, plan.cipher, plan.paced);
    Ok(DatapathReport {
        packet_bytes,
        cipher,
        paced,
        saturated,
        saturated_bare,
        loads,
    })
}

/// Sends a few packets until one arrives.
fn await_tunnel(bed: &Testbed) -> anyhow::Result<()> {
    let probe = DatapathPlan {
        packet_bytes: 100,
        span: Duration::from_millis(100),
        ..DatapathPlan::default()
    };
    let attempts = CONNECT_WITHIN.as_millis() / probe.span.as_millis();
    for _ in 0..attempts {
        // Runs fail until the agent's interface, and with it its address, exists.
        if run(bed, AGENT, &probe, Pattern::Paced(1_000.0))
            .is_ok_and(|(throughput, _)| throughput.packets_per_s > 0.0)
        {
            return Ok(());
        }
    }
    bail!(
        "proxy and agent did not connect within {} s",
        CONNECT_WITHIN.as_secs()
    )
}

fn delay(bed: &Testbed, plan: &DatapathPlan, offered_mbps: f64) -> anyhow::Result<Delay> {
    let pattern = Pattern::Paced(offered_mbps * 1e6 / 8.0 / plan.packet_bytes as f64);
    let (_, bare) = run(bed, AGENT_OUTSIDE, plan, pattern)?;
    let (throughput, tunnel) = run(bed, AGENT, plan, pattern)?;
    let us = |histogram: &hdrhistogram::Histogram<u64>, quantile| {
        histogram.value_at_quantile(quantile) as f64 / 1e3
    };
    let (tunnel_p50_us, tunnel_p99_us) = (us(&tunnel, 0.5), us(&tunnel, 0.99));
    let (bare_p50_us, bare_p99_us) = (us(&bare, 0.5), us(&bare, 0.99));
    Ok(Delay {
        offered_mbps,
        throughput,
        tunnel_p50_us,
        tunnel_p99_us,
        bare_p50_us,
        bare_p99_us,
        added_p50_us: tunnel_p50_us - bare_p50_us,
        added_p99_us: tunnel_p99_us - bare_p99_us,
    })
}

/// Sends to `to` and returns the throughput and the delays in ns.
fn run(
    bed: &Testbed,
    to: Ipv4Addr,
    plan: &DatapathPlan,
    pattern: Pattern,
) -> anyhow::Result<(Throughput, hdrhistogram::Histogram<u64>)> {
    let to = SocketAddr::from((to, 9));
    let payload = plan.packet_bytes - IPV4_UDP_HEADER_BYTES as usize;
    let shared = Shared::default();
    let socket = bed
        .agent_side
        .run(|| datagrams::sink_socket(to))?
        .context("opening the sink")?;
    let (sent, arrived) = std::thread::scope(|scope| {
        let sink = scope.spawn(|| datagrams::receive(&socket, &shared));
        let source = scope.spawn(|| {
            bed.proxy_side
                .run(|| datagrams::send(to, payload, pattern, plan.span, &shared))
        });
        let sent = source.join();
        shared.end.store(true, Ordering::Release);
        (sent, sink.join())
    });
    let panicked = || anyhow::anyhow!("a thread of the measurement panicked");
    let sent = sent.map_err(|_| panicked())??.context("sending")?;
    let arrived = arrived.map_err(|_| panicked())?.context("receiving")?;
    let seconds = arrived.span.as_secs_f64().max(1e-9);
    let packets_per_s = if arrived.packets > 1 {
        (arrived.packets - 1) as f64 / seconds
    } else {
        0.0
    };
    let gbps = packets_per_s * plan.packet_bytes as f64 * 8.0 / 1e9;
    let loss = 1.0 - arrived.packets as f64 / sent.max(1) as f64;
    Ok((
        Throughput {
            packets_per_s,
            gbps,
            loss,
        },
        arrived.delay_ns,
    ))
}
