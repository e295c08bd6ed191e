//! `airpace bench insight`.

use super::{EXAMPLES, exit_code, print, span, uninterrupted};
use crate::args::positive;
use crate::commands::demo;
use crate::failure::bad_input;
use crate::output::Table;
use airpace_lab::bench::insight::{COST_BAR, InsightPlan, InsightReport, insight};
use clap::Args;
use std::process::ExitCode;
use std::time::Duration;

/// What metrics, page and status cost the in-line box with many stations, and whether packets wait
/// longer meanwhile; between namespaces, without Wi-Fi. Needs root.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Insight {
    /// Stations behind the box.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u8).range(1..=250))]
    stations: u8,
    /// Duration of each part, in seconds.
    #[arg(long, default_value = "10", value_parser = positive)]
    seconds: f64,
    /// How often each part is repeated; medians are compared.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    repeats: u32,
    /// Load at which the delay is measured, in Mbit/s.
    #[arg(long, default_value = "200", value_parser = positive)]
    load_mbps: f64,
    /// Fail if the bar is missed.
    #[arg(long)]
    check: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Insight) -> anyhow::Result<ExitCode> {
    let span = span(args.seconds)?;
    if span < Duration::from_secs(1) {
        return Err(bad_input("--seconds: give 1 or more"));
    }
    let plan = InsightPlan {
        program: demo::program()?,
        stations: args.stations,
        span,
        repeats: args.repeats,
        load_mbps: args.load_mbps,
    };
    let report = uninterrupted(|stop| insight(&plan, stop))?;
    print(args.json, &report, describe)?;
    Ok(exit_code(args.check, report.holds))
}

fn describe(report: &InsightReport) -> String {
    let mut table = Table::new([
        "run",
        "CPU alone %",
        "watched",
        "delay p50 µs alone",
        "watched",
        "p99 µs alone",
        "watched",
    ]);
    for run in 0..report.alone_cpu.len() {
        let (alone, watched) = (report.alone_delay_us[run], report.watched_delay_us[run]);
        table.row([
            (run + 1).to_string(),
            format!("{:.2}", 100.0 * report.alone_cpu[run]),
            format!("{:.2}", 100.0 * report.watched_cpu[run]),
            format!("{:.0}", alone.p50),
            format!("{:.0}", watched.p50),
            format!("{:.0}", alone.p99),
            format!("{:.0}", watched.p99),
        ]);
    }
    let verdict = if report.holds { "holds" } else { "FAILS" };
    format!(
        "{table}\n{verdict}: with {} stations, metrics ({} bytes), page ({} bytes) and status take {:.2} % of a processor, at most {:.0} %\n",
        report.stations,
        report.metrics_bytes,
        report.page_bytes,
        100.0 * report.cost_cpu,
        100.0 * COST_BAR
    )
}
