//! `airpace bench frontier`.

use super::exit_code;
use crate::bar::Bar;
use crate::failure::{Interrupted, bad_input};
use crate::output;
use crate::progress::now;
use airpace_config::quantity::Span;
use airpace_lab::interrupt::with_signals;
use airpace_papers::frontier::{self, Arm, Effort, FrontierError, Load, Outcome, Plan, Progress};
use clap::Args;
use std::cell::Cell;
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Instant;
use strum::IntoEnumIterator;

const EXAMPLES: &str = "Cells: one, three, ten, thirty-11n, mixed-traffic, neighbours, minstrel, mobility, he-1024; `main` for these, `extra` for further
ones, or the path of a scenario file.
Arms: closed, fq-mac, airtime, linear, linear-pf, dual, nonlinear, level, price, default, low-latency, throughput, latency-10ms.

Examples:
  airpace bench frontier --quick
  airpace bench frontier --cells three,ten --loads cubic --json
  airpace bench frontier --cells scenarios/002-f8-mixed.toml --arms linear-pf,price --seeds 5
  airpace bench frontier --cells main,extra --out out/frontier --check";

/// Goodput against delay in virtual time: cells × loads × arms, with every law over its knob.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Frontier {
    /// Cells, or scenario files.
    #[arg(long, value_name = "CELL", default_value = frontier::MAIN_SET, value_delimiter = ',')]
    cells: Vec<String>,
    /// Loads: cubic, bbr, udp.
    #[arg(long, value_name = "LOAD", default_value = "cubic,bbr,udp", value_delimiter = ',', value_parser = word::<Load>)]
    loads: Vec<Load>,
    /// Arms [default: all but level]. `airtime` is always run, because utility is relative to it.
    #[arg(long, value_name = "ARM", value_delimiter = ',', value_parser = word::<Arm>)]
    arms: Vec<Arm>,
    /// Seeds of each setting. Figures are means over the seeds.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    seeds: u32,
    /// First seed.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Measured time of every cell, after the warm-up [default: the cell's own, 15 s].
    #[arg(long, value_name = "TIME")]
    duration: Option<Span>,
    /// One seed, a warm-up of 3 s, 6 s of measurement, and every other value of the knobs.
    #[arg(long, conflicts_with_all = ["seeds", "duration"])]
    quick: bool,
    /// Runs at a time [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Folder for rows.json and table.txt, which are written whenever a cell and load is done;
    /// `python -m airpace.frontier_report FOLDER` draws plots of them.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Fail if a bar is missed.
    #[arg(long)]
    check: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// One of the words for a `T`.
fn word<T: FromStr + IntoEnumIterator + ToString>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| {
        let words: Vec<String> = T::iter().map(|value| value.to_string()).collect();
        format!("use one of {}", words.join(", "))
    })
}

pub(super) fn run(args: &Frontier) -> anyhow::Result<ExitCode> {
    let plan = plan(args)?;
    if let Some(folder) = &args.out {
        // Fail before the runs, not after them.
        std::fs::create_dir_all(folder)
            .map_err(|e| bad_input(format!("--out: cannot create {}: {e}", folder.display())))?;
    }
    let watcher = Watcher {
        bar: Bar::new("{bar:30} {pos}/{len} runs, {elapsed} elapsed, {eta} left"),
        begun: now(),
        share: Cell::new(0.0),
    };
    let progress = |event: Progress<'_>| {
        watcher.show(event);
        if let (Progress::Rows(rows), Some(folder)) = (event, &args.out)
            && let Err(error) = frontier::store(folder, rows)
        {
            // The measurement goes on: the rows are printed and stored again at its end.
            watcher.bar.print_line(&format!("{error:#}"));
        }
    };
    let (result, _) = with_signals(|stop| frontier::measure(&plan, stop, &progress))?;
    drop(watcher);
    let rows = match result {
        Err(FrontierError::Cell(message)) => return Err(bad_input(message)),
        other => other?,
    };
    let stored = match &args.out {
        Some(folder) => frontier::store(folder, &rows),
        None => Ok(()),
    };
    // Rows that could not be stored are printed at least.
    if args.json {
        output::json(&rows)?;
    } else {
        output::text(&frontier::text(&rows))?;
    }
    stored?;
    if rows.interrupted {
        return Err(Interrupted.into());
    }
    let mut verdicts = rows.verdicts.iter();
    let holds = verdicts.all(|verdict| verdict.outcome != Outcome::Missed);
    Ok(exit_code(args.check, holds))
}

/// Shows the progress: a bar on a terminal, otherwise a line per cell and load.
struct Watcher {
    bar: Bar,
    begun: Instant,
    /// Share of the runs that have ended.
    share: Cell<f64>,
}

impl Watcher {
    fn show(&self, event: Progress<'_>) {
        match event {
            Progress::Runs { done, total } => {
                if done == 0 && !self.bar.is_shown() {
                    tracing::info!("{total} runs");
                }
                self.share.set(done as f64 / total.max(1) as f64);
                self.bar.set(done as u64, total as u64);
            }
            Progress::Refused { cell, seed, reason } => {
                let line = format!("{cell}: seed {seed} is left out: {reason}");
                self.bar.print_line(&line);
            }
            Progress::Rows(rows) => {
                if let Some(last) = rows.rows.last()
                    && !self.bar.is_shown()
                {
                    let (elapsed, share) = (self.begun.elapsed().as_secs_f64(), self.share.get());
                    let left = elapsed * (1.0 - share) / share;
                    tracing::info!("{}, {}: done; about {left:.0} s left", last.cell, last.load);
                }
            }
        }
    }
}

fn plan(args: &Frontier) -> anyhow::Result<Plan> {
    let cells = frontier::select(&args.cells).map_err(|error| {
        bad_input(match std::error::Error::source(&error) {
            Some(source) => format!("--cells: {error}: {source}"),
            None => format!("--cells: {error}"),
        })
    })?;
    let mut effort = Effort {
        seed: args.seed,
        seeds: args.seeds,
        duration: args.duration,
        ..Effort::default()
    };
    if args.quick {
        effort.seeds = 1;
        effort.warm_up = "3 s".parse().ok();
        effort.duration = "6 s".parse().ok();
        effort.coarse = true;
    }
    effort.parallel = args.jobs.map_or(effort.parallel, usize::from);
    let arms = if args.arms.is_empty() {
        Arm::usual()
    } else {
        args.arms.clone()
    };
    Ok(Plan {
        cells,
        loads: args.loads.clone(),
        arms,
        effort,
    })
}
