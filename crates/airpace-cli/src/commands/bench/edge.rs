//! `airpace bench edge`.

use super::{exit_code, print, span};
use crate::args::positive;
use airpace_lab::bench::edge::{EdgePlan, EdgeReport, edge};
use anyhow::Context as _;
use clap::Args;
use std::process::ExitCode;

/// What must hold on two cores (docs/benchmarks.md): least goodput in Gbit/s, largest added p99 in µs,
/// largest interruption in ms, and largest part of a core without traffic in per cent.
const GOODPUT_LEAST_GBPS: f64 = 2.5;
const ADDED_MOST_US: f64 = 200.0;
const HOLE_MOST_MS: f64 = 300.0;
const IDLE_MOST_PERCENT: f64 = 1.0;

/// Throughput and added delay of the in-line box, and how long traffic stops when it is killed,
/// between namespaces, without Wi-Fi and without pacing. Needs root.
#[derive(Args)]
pub(crate) struct Edge {
    /// Load at which delay and interruptions are measured, in Mbit/s.
    #[arg(long, default_value = "500", value_parser = positive)]
    load_mbps: f64,
    /// Duration of each measurement, in seconds.
    #[arg(long, default_value = "3", value_parser = positive)]
    seconds: f64,
    /// Exit with code 1 unless the bars hold: 2.5 Gbit/s, an added p99 below 200 µs, interruptions of at
    /// most 300 ms and 1 % of the processor without traffic. The machine must be idle otherwise.
    #[arg(long)]
    check: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Edge) -> anyhow::Result<ExitCode> {
    let plan = EdgePlan {
        program: std::env::current_exe().context("the path of this program")?,
        span: span(args.seconds)?,
        load_mbps: args.load_mbps,
    };
    airpace_net::netns::acquire_rights()?;
    let report = edge(&plan)?;
    let missed = missed(&report);
    print(args.json, &report, |report| {
        let mut text = describe(report);
        if args.check && !missed.is_empty() {
            text += &format!("FAILS: {}\n", missed.join(", "));
        }
        text
    })?;
    Ok(exit_code(args.check, missed.is_empty()))
}

/// The bars that a measurement misses.
fn missed(report: &EdgeReport) -> Vec<String> {
    let mut missed = Vec::new();
    let goodput_gbps = report.goodput_gbps;
    if goodput_gbps < GOODPUT_LEAST_GBPS {
        missed.push(format!("{goodput_gbps:.2} of {GOODPUT_LEAST_GBPS} Gbit/s"));
    }
    let most = [
        ("added p99", "µs", report.added_delay_us.p99, ADDED_MOST_US),
        (
            "hole after kill -9",
            "ms",
            report.kill_hole_ms,
            HOLE_MOST_MS,
        ),
        (
            "hole after SIGSTOP",
            "ms",
            report.stop_hole_ms,
            HOLE_MOST_MS,
        ),
        (
            "CPU without traffic",
            "%",
            100.0 * report.idle_cpu,
            IDLE_MOST_PERCENT,
        ),
    ];
    for (what, unit, value, bar) in most {
        if value > bar {
            missed.push(format!("{what} {value:.2} {unit}, at most {bar} {unit}"));
        }
    }
    missed
}

fn describe(report: &EdgeReport) -> String {
    format!(
        "packets of {} bytes\n\
         goodput               {:.2} Gbit/s (kernel bridge alone {:.2})\n\
         at {:.0} Mbit/s\n\
         \x20 delay               p50 {:.0} µs, p99 {:.0} µs (kernel bridge alone {:.0}, {:.0})\n\
         \x20 added               p50 {:.0} µs, p99 {:.0} µs\n\
         \x20 hole after kill -9  {:.1} ms, {} packets lost\n\
         \x20 hole after SIGSTOP  {:.1} ms\n\
         \x20 CPU of the box      {:.1} %\n\
         CPU without traffic   {:.2} %\n",
        report.packet_bytes,
        report.goodput_gbps,
        report.bridge_gbps,
        report.load_mbps,
        report.delay_us.p50,
        report.delay_us.p99,
        report.bridge_delay_us.p50,
        report.bridge_delay_us.p99,
        report.added_delay_us.p50,
        report.added_delay_us.p99,
        report.kill_hole_ms,
        report.kill_lost,
        report.stop_hole_ms,
        100.0 * report.load_cpu,
        100.0 * report.idle_cpu,
    )
}
