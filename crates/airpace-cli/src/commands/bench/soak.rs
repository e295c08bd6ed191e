//! `airpace bench soak`.

use super::{EXAMPLES, exit_code};
use crate::args::positive;
use crate::commands::demo;
use crate::failure::{Interrupted, bad_input};
use crate::output::{self, Table};
use airpace_lab::interrupt::with_signals;
use airpace_lab::soak::{self, SHORTEST, SoakPlan, SoakReport};
use clap::Args;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Hours of everyday trouble: a proxy with a thousand agents and an in-line box with an emulated
/// access point, while stations roam, leave and join and programs are killed and stopped.
///
/// Every minute has a line with memory and descriptors of every program, pings and losses. Fails if
/// memory or descriptors grow, a ping is lost outside of an announced interruption, or anything is
/// left behind.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Soak {
    /// How long, in hours; at least a minute.
    #[arg(long, default_value = "1", value_parser = positive)]
    hours: f64,
    /// Agents of the tunnel.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(3..=16_000))]
    agents: u32,
    /// Seed of the disturbances [default: the process's number].
    #[arg(long)]
    seed: Option<u64>,
    /// Folder for the programs' logs, which are kept if a bar is missed.
    #[arg(long, value_name = "FOLDER", default_value = "out/soak")]
    logs: PathBuf,
    /// Print a report as JSON on standard output; the lines go to standard error.
    #[arg(long)]
    json: bool,
}

/// Agents that are processes of their own and can be killed, unless there are fewer agents.
const PROCESSES: u32 = 8;

pub(super) fn run(args: &Soak) -> anyhow::Result<ExitCode> {
    let duration = Duration::try_from_secs_f64(args.hours * 3600.0)
        .ok()
        .filter(|duration| (SHORTEST..=LONGEST).contains(duration));
    let Some(duration) = duration else {
        return Err(bad_input("--hours: give a minute (0.0167) to 1000"));
    };
    let plan = SoakPlan {
        program: demo::program()?,
        duration,
        agents: args.agents as usize,
        processes: PROCESSES.min(args.agents - 1) as usize,
        seed: args.seed.unwrap_or_else(|| std::process::id().into()),
        logs: args.logs.clone(),
    };
    airpace_net::netns::acquire_rights()?;
    let mut tell = |line: &str| {
        if args.json {
            // A closed standard error is no reason to stop.
            let _ = writeln!(std::io::stderr(), "{line}");
        } else {
            let _ = output::text(&format!("{line}\n"));
        }
    };
    let (report, interrupted) = with_signals(|stop| soak::run(&plan, stop, &mut tell))?;
    if interrupted {
        return Err(Interrupted.into());
    }
    let report = report?;
    if args.json {
        output::json(&report)?;
    } else {
        output::text(&describe(&report))?;
    }
    if !report.holds {
        tell(&format!(
            "the programs' logs are in {}",
            args.logs.display()
        ));
    }
    Ok(exit_code(true, report.holds))
}

/// The longest run.
const LONGEST: Duration = Duration::from_secs(1000 * 3600);

fn describe(report: &SoakReport) -> String {
    let mut disturbances = Table::new(["disturbance", "times"]);
    for count in &report.disturbances {
        disturbances.row([count.what.to_owned(), count.times.to_string()]);
    }
    let mut checks = Table::new(["", "bar", "measured"]);
    for check in &report.checks {
        let verdict = if check.holds { "holds" } else { "FAILS" };
        checks.row([
            verdict.to_owned(),
            check.what.clone(),
            check.measured.clone(),
        ]);
    }
    let verdict = if report.holds { "holds" } else { "FAILS" };
    format!(
        "\n{disturbances}\n{checks}\n{verdict}: {:.2} h, {} agents, {} stations, seed {}\ntunnel: {}\nin-line box: {}\n",
        report.hours, report.agents, report.stations, report.seed, report.tunnel, report.inline
    )
}
