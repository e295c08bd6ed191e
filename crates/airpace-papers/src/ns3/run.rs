//! Everything: both simulators on every setting, their speeds, the error models.

use super::error_model;
use super::figures::simulate;
use super::grid::{self, Case, Extent};
use super::program::{self, Ns3};
use super::report::{Report, Row, Speed, rows};
use super::setting::Setting;
use anyhow::Context as _;
use indicatif::{ProgressBar, ProgressStyle};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// What is needed beside the settings.
#[derive(Clone, Debug)]
pub struct ValidateConfig {
    /// Runs settings in ns-3.
    pub ns3: Ns3,
    /// Prints the ratios of ns-3's error model; left out if `None`.
    pub error_model: Option<PathBuf>,
    /// How much is run.
    pub extent: Extent,
}

/// Each simulator runs for at least this long, in seconds, when its speed is measured.
const SPEED_WALL_S: f64 = 1.0;

/// Compares the simulators. Progress goes to standard error if that is a terminal.
///
/// # Errors
/// If a program cannot be run.
pub fn validate(config: &ValidateConfig) -> anyhow::Result<Report> {
    let cases = grid::cases(config.extent)?;
    let speed_cases = grid::speed_cases()?;
    let style = ProgressStyle::with_template("{bar:30} {pos:>3}/{len}  {elapsed_precise}  {msg}");
    let bar = ProgressBar::new((cases.len() + speed_cases.len()) as u64);
    bar.set_style(style.context("the template is constant")?);
    let mut rows = compare(config, &cases, &bar)?;
    if let Some(program) = &config.error_model {
        rows.extend(error_model::rows(&program::run(program, &[])?)?);
    }
    // Speeds are measured alone.
    let speed: anyhow::Result<Vec<_>> = speed_cases
        .iter()
        .map(|setting| speed(config, setting, &bar))
        .collect();
    bar.finish_and_clear();
    Ok(Report::new(rows, speed?))
}

/// Runs the cases on all cores and returns their rows in order.
fn compare(config: &ValidateConfig, cases: &[Case], bar: &ProgressBar) -> anyhow::Result<Vec<Row>> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, anyhow::Result<Vec<Row>>)>> = Mutex::default();
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = cases.get(index) else { break };
            bar.set_message(format!("{} {}", case.setting.family, case.setting.name));
            let result = compare_one(config, case);
            if result.is_err() {
                next.store(cases.len(), Ordering::Relaxed);
            }
            bar.inc(1);
            done.lock()
                .expect("no thread panics while it holds the lock")
                .push((index, result));
        }
    };
    thread::scope(|scope| {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        (0..threads).for_each(|_| drop(scope.spawn(work)));
    });
    let mut done = done.into_inner().context("a thread failed")?;
    done.sort_by_key(|&(index, _)| index);
    done.into_iter()
        .try_fold(Vec::new(), |mut rows, (_, result)| {
            rows.extend(result?);
            Ok(rows)
        })
}

fn compare_one(config: &ValidateConfig, case: &Case) -> anyhow::Result<Vec<Row>> {
    let setting = &case.setting;
    let ns3 = config
        .ns3
        .run(setting)
        .with_context(|| format!("{} {}", setting.family, setting.name))?;
    Ok(rows(case, &ns3, &simulate(setting)?))
}

/// Packets per second of both, each on one thread with nothing beside it.
fn speed(config: &ValidateConfig, setting: &Setting, bar: &ProgressBar) -> anyhow::Result<Speed> {
    bar.set_message(format!("speed {} {}", setting.family, setting.name));
    let ns3 = until_enough(|_| {
        config
            .ns3
            .run(setting)
            .map(|figures| (figures.received, figures.wall_s))
    })?;
    let ours = until_enough(|seed| {
        let figures = simulate(&Setting {
            seed,
            ..setting.clone()
        })?;
        Ok((figures.received, figures.wall_s))
    })?;
    bar.inc(1);
    Ok(Speed::new(setting, ns3, ours))
}

/// Packets per second over as many runs as it takes.
fn until_enough(mut run: impl FnMut(u64) -> anyhow::Result<(u64, f64)>) -> anyhow::Result<f64> {
    let (mut packets, mut wall_s) = (0, 0.0);
    for seed in 1.. {
        let (more, took_s) = run(seed)?;
        packets += more;
        wall_s += took_s;
        if wall_s >= SPEED_WALL_S {
            break;
        }
    }
    Ok(packets as f64 / wall_s)
}
