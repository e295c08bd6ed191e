//! `airpace reproduce`: the papers' figures and tables from our own runs.

use crate::bar::Bar;
use crate::failure::{Interrupted, bad_input};
use crate::output;
use airpace_config::quantity::Span;
use airpace_lab::demo::{self, ArmKind, DemoOptions};
use airpace_lab::interrupt::with_signals;
use airpace_papers::reproduction::verdicts::{ListedRow, RowKind};
use airpace_papers::reproduction::{
    Claim, Effort, Progress, Trial, render, reproduce, select, store::Store,
};
use airpace_papers::{
    LIVE_BUFFER_PACKETS, LIVE_MEASURED, LiveDownload, LiveSender, LiveTestbed, catalogue,
};
use airpace_scenario::stop::Stop;
use anyhow::Context as _;
use clap::Args;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const EXAMPLES: &str =
    "Each relation shows what the paper prints, our figure with its 95 % confidence interval, and the distance between them. It holds if the
whole interval meets the bar, is missed if the whole interval misses it, and is inconclusive otherwise: give more --seeds. A row holds if
all its relations hold. With --out a row is stored as soon as it is judged; after Ctrl-C, --resume makes only the runs that are left.

Examples:
  airpace reproduce                     the rows that exist
  airpace reproduce 003 004 --json      every row of two papers
  airpace reproduce 004-T2 --seeds 10 --out out/reproduce
  airpace reproduce 000 --horizon 2     does a verdict change if every run is twice as long?
  airpace reproduce 004-T2 --seeds 20 --out out/reproduce --resume";

/// Reproduce the papers' figures and tables with our own runs, and report which of their claims
/// hold.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Reproduce {
    /// Papers (004), rows (004-T2) or figures (003-F3). Without any, the rows are listed.
    #[arg(value_name = "ROW")]
    ids: Vec<String>,
    /// Seeds of each case [default: each row's own, 3 to 12]. Figures are means
    /// over the seeds.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    seeds: Option<u32>,
    /// First seed.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Measured time of every scenario [default: the scenario's own].
    #[arg(long, value_name = "TIME")]
    duration: Option<Span>,
    /// Factor on the time that every run measures. A verdict that changes was taken too early.
    #[arg(long, default_value_t = 1.0, value_name = "FACTOR", value_parser = horizon)]
    horizon: f64,
    /// One seed and 5 s of every scenario: shows that the rows run. No interval, so no verdict.
    #[arg(long, conflicts_with_all = ["seeds", "duration"])]
    quick: bool,
    /// Runs at a time [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Folder for the data behind each row, as JSON. A row is written as soon as it is judged.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Use the runs of finished rows that this version has left in --out with the same settings,
    /// instead of making them again.
    #[arg(long, requires = "out")]
    resume: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Print Markdown.
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
}

/// The output when no rows are named.
#[derive(Serialize)]
struct Listing {
    rows: Vec<ListedRow>,
}

/// Measured time of every scenario with `--quick`.
const QUICK: &str = "5 s";

pub(crate) fn run(args: &Reproduce) -> anyhow::Result<ExitCode> {
    let all = catalogue();
    if args.ids.is_empty() {
        return list(args, &all);
    }
    let claims = select(&all, &args.ids).map_err(bad_input)?;
    let effort = effort(args)?;
    // Fail before the runs, not after them.
    let store = args.out.as_ref();
    let store = store.map(|folder| Store::new(folder, args.resume));
    let store = store
        .transpose()
        .map_err(|error| bad_input(format!("--out: {error:#}")))?;
    if claims.iter().any(|claim| claim.kind == RowKind::Live) {
        // A process can only get a user namespace while it has a single thread.
        airpace_net::netns::acquire_rights()?;
    }
    let bar = Bar::new("{bar:30} {pos}/{len} runs, {elapsed} elapsed, {eta} left");
    let progress = |event: Progress<'_>| show(&bar, event);
    let (result, _) = with_signals(|stop| {
        reproduce(
            &claims,
            &effort,
            Some(&Demo::default()),
            store.as_ref(),
            &progress,
            stop,
        )
    })?;
    drop(bar);
    let completed = result?;
    if let Some(folder) = &args.out {
        let rows = completed.reproduction.rows.len();
        tracing::info!("wrote {rows} rows to {}", folder.display());
    }
    if args.json {
        output::json(&completed.reproduction)?;
    } else if args.markdown {
        output::text(&render::markdown(&completed.reproduction))?;
    } else {
        output::text(&render::text(&completed.reproduction))?;
    }
    if completed.reproduction.interrupted {
        return Err(Interrupted.into());
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads a factor on the time of the runs.
fn horizon(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(factor) if (0.1..=100.0).contains(&factor) => Ok(factor),
        _ => Err("give a factor from 0.1 to 100, as in --horizon 2".to_owned()),
    }
}

fn show(bar: &Bar, event: Progress<'_>) {
    match event {
        Progress::Runs { done, total } => bar.set(done as u64, total as u64),
        Progress::RowJudged { id, verdict } => {
            let line = format!("{id}: {}", verdict.word());
            if bar.is_shown() {
                bar.print_line(&line);
            } else {
                tracing::info!("{line}");
            }
        }
    }
}

/// Runs the arms of the demo for rows that need real packets.
#[derive(Default)]
struct Demo {
    /// Whose turn it is: runs would disturb each other.
    turn: Mutex<()>,
}

impl LiveTestbed for Demo {
    fn downloads(
        &self,
        senders: &[LiveSender],
        trial: Trial,
        stop: &Stop,
    ) -> anyhow::Result<Vec<LiveDownload>> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = std::env::temp_dir().join(format!("airpace-reproduce-{}", std::process::id()));
        let program = std::env::current_exe()
            .context("finding this program to start proxies and agents from")?;
        let mut options = DemoOptions::new(folder.clone(), program);
        options.arms = senders.iter().map(|&sender| arm(sender)).collect();
        options.cells = vec![vec![9]];
        options.seed = trial.seed;
        options.ap_buffer_packets = LIVE_BUFFER_PACKETS;
        // Server, proxy and access point stand in one rack.
        options.wired_delay = Duration::from_micros(100);
        options.load = options.ramp + LIVE_MEASURED.mul_f64(trial.horizon);
        let summary = demo::run(&options, stop, &mut |_| {});
        // The summary has all that is needed. A folder that cannot be removed does no harm.
        let _ = std::fs::remove_dir_all(&folder);
        let mut downloads = Vec::new();
        for arm in summary?.arms {
            downloads.push(LiveDownload {
                goodput_mbps: arm.figures.goodput_mbps,
                one_way_ms: arm.figures.one_way_ms,
                loss: arm.figures.loss,
                trusted: arm.trusted,
            });
        }
        Ok(downloads)
    }
}

fn arm(sender: LiveSender) -> ArmKind {
    match sender {
        LiveSender::Cubic => ArmKind::Cubic,
        LiveSender::Bbr => ArmKind::Bbr,
        LiveSender::AirpaceUdp => ArmKind::AirpaceUdp,
    }
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

/// Shorter runs measure too little.
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
        horizon: args.horizon,
        ..Effort::default()
    };
    if args.quick {
        (effort.seeds, effort.duration) = (Some(1), QUICK.parse().ok());
    }
    effort.seeds = args.seeds.or(effort.seeds);
    effort.parallel = args.jobs.map_or(effort.parallel, usize::from);
    Ok(effort)
}
