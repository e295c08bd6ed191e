//! `airpace bench edge`.

use super::span;
use crate::args::positive;
use crate::output;
use airpace_lab::bench::edge::{EdgePlan, EdgeReport, edge};
use anyhow::Context as _;
use clap::Args;
use std::process::ExitCode;

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
    if args.json {
        output::json(&report)?;
    } else {
        output::text(&describe(&report))?;
    }
    Ok(ExitCode::SUCCESS)
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
