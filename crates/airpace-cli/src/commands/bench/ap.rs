//! `airpace bench ap`.

use super::{EXAMPLES, print, span, uninterrupted};
use crate::commands::emulate::scheme;
use crate::output::Table;
use airpace_lab::bench::ap::{ApComparison, CellFigures, Plan, SchemeFigures, compare};
use airpace_sim::mac::Scheme;
use clap::Args;
use std::fmt::Write as _;
use std::process::ExitCode;

/// Queueing schemes of the access point: kernel TCP to the three stations of paper 004 (144.4,
/// 144.4, 7.2 Mbit/s) under each, and the same cell in virtual time.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Ap {
    /// Schemes: per-station, fifo, codel, fq-codel, fq-mac, airtime, wqm, wqm-fq [default: those
    /// that the papers compare].
    #[arg(long, value_delimiter = ',', value_parser = scheme)]
    schemes: Vec<Scheme>,
    /// Duration of the measurement of each, in seconds. It begins after 5 s.
    #[arg(long, default_value = "20", value_parser = crate::args::positive)]
    seconds: f64,
    /// Do not simulate the cell in virtual time.
    #[arg(long)]
    no_simulation: bool,
    /// Seed of the cell.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Ap) -> anyhow::Result<ExitCode> {
    let mut plan = Plan::new(span(args.seconds)?);
    if !args.schemes.is_empty() {
        plan.schemes.clone_from(&args.schemes);
    }
    (plan.seed, plan.simulate) = (args.seed, !args.no_simulation);
    let comparison = uninterrupted(|stop| compare(&plan, stop))?;
    print(args.json, &comparison, describe)?;
    Ok(ExitCode::SUCCESS)
}

fn describe(comparison: &ApComparison) -> String {
    let mut table = Table::new([
        "scheme",
        "",
        "goodput Mbit/s",
        "per station",
        "ping p50 ms",
        "ping p95 ms",
        "airtime %",
        "Jain",
        "ping gain",
        "goodput gain",
        "lag p99 ms",
    ]);
    for run in &comparison.schemes {
        table.row(emulated(run));
        if let Some(figures) = &run.simulated {
            let [goodput, per_station, p50, p95, airtime, jain] = cells(figures);
            let (name, none) = (String::new(), String::new);
            table.row([
                name,
                "simulated".into(),
                goodput,
                per_station,
                p50,
                p95,
                airtime,
                jain,
                none(),
                none(),
                none(),
            ]);
        }
    }
    let mut text = format!("{table}\n");
    for bar in &comparison.bars {
        let verdict = if bar.holds { "holds" } else { "FAILS" };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{verdict}: {} ({:.3})", bar.claim, bar.measured);
    }
    text
}

fn emulated(run: &SchemeFigures) -> [String; 11] {
    let [goodput, per_station, p50, p95, airtime, jain] = cells(&run.emulated);
    let gain = |gain: Option<f64>| gain.map_or(String::new(), |gain| format!("{gain:.1}"));
    let each: Vec<String> = run
        .ping_gains
        .iter()
        .map(|gain| format!("{gain:.1}"))
        .collect();
    let lag = format!(
        "{:.2}{}",
        run.lag_p99_ms,
        if run.trusted {
            ""
        } else {
            " (too slow: do not trust)"
        }
    );
    let ping = run.ping_gain.map_or(String::new(), |gain| {
        format!("{gain:.1} ({})", each.join(" / "))
    });
    let total = gain(run.goodput_gain);
    [
        run.scheme.into(),
        "kernel".into(),
        goodput,
        per_station,
        p50,
        p95,
        airtime,
        jain,
        ping,
        total,
        lag,
    ]
}

/// The cells that emulated and simulated rows have in common.
fn cells(figures: &CellFigures) -> [String; 6] {
    let each = |value: fn(&airpace_lab::bench::ap::StationFigures) -> f64, digits: usize| {
        let values: Vec<String> = figures
            .stations
            .iter()
            .map(|s| format!("{:.digits$}", value(s)))
            .collect();
        values.join(" / ")
    };
    [
        format!("{:.1}", figures.goodput_mbps),
        each(|s| s.goodput_mbps, 1),
        each(|s| s.ping_p50_ms, 1),
        each(|s| s.ping_p95_ms, 1),
        each(|s| 100.0 * s.airtime, 1),
        format!("{:.3}", figures.jain_airtime),
    ]
}
