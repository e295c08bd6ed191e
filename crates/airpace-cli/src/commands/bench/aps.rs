//! `airpace bench aps`.

use super::{EXAMPLES, check_stations, exit_code, print, uninterrupted};
use crate::commands::demo;
use crate::output::Table;
use airpace_config::quantity::Span;
use airpace_lab::bench::aps::{ApsComparison, ApsPlan, OWN_BOX_BAR, compare};
use clap::Args;
use std::process::ExitCode;

/// Several access points behind one in-line box, against each with a box of its own, with kernel TCP
/// over the emulated access points.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Aps {
    /// VHT MCS of the station of each access point, 80 MHz, one stream; 2 to 8 of them.
    #[arg(long, default_value = "4,2", value_delimiter = ',')]
    mcs: Vec<u8>,
    /// Duration of the load of each run.
    #[arg(long, default_value = "13 s")]
    load: Span,
    /// Beginning of the load that the figures leave out.
    #[arg(long, default_value = "4 s")]
    ramp: Span,
    /// Seed of the access points' back-off.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Fail if the bar is missed.
    #[arg(long)]
    check: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Aps) -> anyhow::Result<ExitCode> {
    let times = (args.load.0, args.ramp.0);
    check_stations(&args.mcs, 2..=8, "access points", times)?;
    let plan = ApsPlan {
        program: demo::program()?,
        mcs: args.mcs.clone(),
        load: args.load.0,
        ramp: args.ramp.0,
        seed: args.seed,
    };
    let comparison = uninterrupted(|stop| compare(&plan, stop))?;
    print(args.json, &comparison, describe)?;
    Ok(exit_code(args.check, comparison.holds))
}

fn describe(comparison: &ApsComparison) -> String {
    let mut table = Table::new([
        "access point",
        "MCS",
        "alone Mbit/s",
        "together",
        "share %",
        "alone ping p95 ms",
        "together",
    ]);
    for row in &comparison.rows {
        table.row([
            row.access_point.to_string(),
            row.mcs.to_string(),
            format!("{:.1}", row.alone.goodput_mbps),
            format!("{:.1}", row.together.goodput_mbps),
            format!("{:.0}", 100.0 * row.share),
            format!("{:.1}", row.alone.ping_p95_ms),
            format!("{:.1}", row.together.ping_p95_ms),
        ]);
    }
    let verdict = if comparison.holds { "holds" } else { "FAILS" };
    let warning = if comparison.trusted {
        ""
    } else {
        ": do not trust these figures"
    };
    format!(
        "{table}\n{verdict}: each access point has at least {:.0} % of what it has with a box of its own\nemulator lag p99 {:.2} ms{warning}\n",
        100.0 * OWN_BOX_BAR,
        comparison.lag_p99_ms
    )
}
