//! `airpace reproduce`: the papers' figures and tables from our own runs.

use crate::failure::{Interrupted, bad_input};
use crate::output;
use airpace_config::quantity::Span;
use airpace_lab::interrupt::with_signals;
use airpace_papers::verdicts::{ListedRow, RowKind};
use airpace_papers::{Claim, Effort, catalogue, render, reproduce, select, store};
use clap::Args;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

const EXAMPLES: &str =
    "A row is reproduced if every relation that the paper states holds in our runs; otherwise it says which does not.

Examples:
  airpace reproduce                     the rows that exist
  airpace reproduce 003 004 --json      every row of two papers
  airpace reproduce 004-T2 --seeds 10 --out out/reproduce";

/// Make the papers' figures and tables again from our own runs, and tell which of their claims hold.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Reproduce {
    /// Papers (004), rows (004-T2) or figures (003-F3); without any, the rows are listed.
    #[arg(value_name = "ROW")]
    ids: Vec<String>,
    /// Seeds of each case, in place of each row's own number (10 for 004, 5 for 003, 3 for 000 and 002); figures are means over them.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    seeds: Option<u32>,
    /// First seed.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Measured time of every scenario, in place of its own.
    #[arg(long, value_name = "TIME")]
    duration: Option<Span>,
    /// One seed and 5 s of every scenario: to see that it runs, not to judge.
    #[arg(long, conflicts_with_all = ["seeds", "duration"])]
    quick: bool,
    /// Runs at a time; by default one per core.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Folder for the data behind each row, as JSON.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Print Markdown.
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
}

/// What is printed without rows.
#[derive(Serialize)]
struct Listing {
    rows: Vec<ListedRow>,
}

/// What `--quick` runs.
const QUICK: &str = "5 s";

pub(crate) fn run(args: &Reproduce) -> anyhow::Result<ExitCode> {
    let all = catalogue();
    if args.ids.is_empty() {
        return list(args, &all);
    }
    let claims = select(&all, &args.ids).map_err(bad_input)?;
    let effort = effort(args)?;
    if let Some(folder) = &args.out {
        // A folder that cannot be had is better known before the runs than after them.
        std::fs::create_dir_all(folder)
            .map_err(|e| bad_input(format!("--out: cannot make {}: {e}", folder.display())))?;
    }
    if claims.iter().any(|claim| claim.kind == RowKind::Live) {
        // Before any other thread exists.
        airpace_net::netns::acquire_rights()?;
    }
    let (made, _) = with_signals(|stop| reproduce(&claims, &effort, stop))?;
    let Some(made) = made else {
        return Err(Interrupted.into());
    };
    if let Some(folder) = &args.out {
        let files = store::store(folder, &made)?;
        tracing::info!("wrote {} files to {}", files.len(), folder.display());
    }
    if args.json {
        output::json(&made.reproduction)?;
    } else if args.markdown {
        output::text(&render::markdown(&made.reproduction))?;
    } else {
        output::text(&render::text(&made.reproduction))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn list(args: &Reproduce, all: &[Claim]) -> anyhow::Result<ExitCode> {
    let rows: Vec<ListedRow> = all.iter().map(Claim::listed).collect();
    if args.json {
        output::json(&Listing { rows })?
    } else {
        output::text(&render::listing(&rows))?
    }
    Ok(ExitCode::SUCCESS)
}

/// Shorter runs have nothing to measure.
const SHORTEST: Duration = Duration::from_millis(100);

fn effort(args: &Reproduce) -> anyhow::Result<Effort> {
    if let Some(duration) = args.duration.filter(|duration| duration.0 < SHORTEST) {
        return Err(bad_input(format!(
            "--duration {duration}: give at least 100 ms"
        )));
    }
    let mut effort = Effort {
        seed: args.seed,
        duration: args.duration,
        ..Effort::default()
    };
    if args.quick {
        (effort.seeds, effort.duration) = (Some(1), QUICK.parse().ok());
    }
    effort.seeds = args.seeds.or(effort.seeds);
    effort.parallel = args.jobs.map_or(effort.parallel, usize::from);
    Ok(effort)
}
