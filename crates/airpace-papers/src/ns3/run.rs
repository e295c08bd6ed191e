//! The whole comparison: both simulators on every setting, their speeds, the error models.

use super::error_model;
use super::figures::simulate;
use super::grid::{self, Case, Extent};
use super::neighbours::{self, NeighboursRun};
use super::program::{self, Ns3};
use super::report::{Report, Row, Speed, rows};
use super::setting::Setting;
use anyhow::Context as _;
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// What is compared, and with which programs.
#[derive(Clone, Debug)]
pub struct ValidateConfig {
    /// Runs settings in ns-3.
    pub ns3: Ns3,
    /// The program that prints the signal-to-noise ratios of ns-3's error model. Without it the
    /// error models are not compared.
    pub error_model: Option<PathBuf>,
    /// How much is run.
    pub extent: Extent,
}

/// What happens while the simulators are compared.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// The runs begin, or one setting is done.
    Settings {
        /// Settings that are done.
        done: usize,
        /// All settings.
        total: usize,
    },
    /// A setting has begun.
    Begun {
        /// Its family.
        family: &'a str,
        /// Its name.
        name: &'a str,
        /// Whether its speed is measured.
        speed: bool,
    },
}

/// Each simulator runs for at least this long, in seconds, when its speed is measured.
const SPEED_WALL_S: f64 = 1.0;

/// Compares the simulators on all cores. `progress` is called from several threads.
///
/// # Errors
/// If a program cannot be run.
pub fn validate(
    config: &ValidateConfig,
    progress: &(dyn Fn(Progress<'_>) + Sync),
) -> anyhow::Result<Report> {
    let cases = grid::cases(config.extent)?;
    let speed_cases = grid::speed_cases()?;
    let speed_runs = neighbours::speed_settings();
    let among_neighbours = neighbours::settings(config.extent);
    let total = cases.len() + among_neighbours.len() + speed_cases.len() + speed_runs.len();
    let done = AtomicUsize::new(0);
    let one_done = || {
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        progress(Progress::Settings { done, total });
    };
    progress(Progress::Settings { done: 0, total });
    let mut rows: Vec<Row> = cases
        .par_iter()
        .map(|case| {
            progress(begun(&case.setting.family, &case.setting.name, false));
            compare(&config.ns3, case).inspect(|_| one_done())
        })
        .collect::<anyhow::Result<Vec<_>>>()?
        .concat();
    if let Some(program) = &config.error_model {
        rows.extend(error_model::rows(&program::run(program, &[])?)?);
    }
    let runs = among_neighbours
        .par_iter()
        .map(|run| {
            progress(begun(&run.family, &run.name, false));
            let (run, _) = neighbours::run(&config.ns3, run)?;
            one_done();
            Ok(run)
        })
        .collect::<anyhow::Result<Vec<_>>>()?;
    rows.extend(neighbours::compare(&runs)?);
    rows.extend(neighbours::compare(&stored()?)?);
    // Runs beside others would be slower.
    let mut speeds = Vec::new();
    for setting in &speed_cases {
        progress(begun(&setting.family, &setting.name, true));
        speeds.push(measure_speed(&config.ns3, setting)?);
        one_done();
    }
    for run in &speed_runs {
        progress(begun(&run.family, &run.name, true));
        speeds.push(measure_speed_among_neighbours(&config.ns3, run)?);
        one_done();
    }
    Ok(Report::new(rows, speeds))
}

const fn begun<'a>(family: &'a str, name: &'a str, speed: bool) -> Progress<'a> {
    Progress::Begun {
        family,
        name,
        speed,
    }
}

/// The stored runs among neighbours, in families of their own.
fn stored() -> anyhow::Result<Vec<NeighboursRun>> {
    let mut runs = neighbours::stored()?;
    for run in &mut runs {
        run.family.push_str(", stored");
    }
    Ok(runs)
}

fn compare(ns3: &Ns3, case: &Case) -> anyhow::Result<Vec<Row>> {
    let setting = &case.setting;
    let in_ns3 = ns3
        .run(setting)
        .with_context(|| format!("{} {}", setting.family, setting.name))?;
    Ok(rows(case, &in_ns3, &simulate(setting)?))
}

/// Packets per second of both simulators, each on one thread with nothing beside it.
fn measure_speed(ns3: &Ns3, setting: &Setting) -> anyhow::Result<Speed> {
    let theirs = packets_per_s(|_| {
        let figures = ns3.run(setting)?;
        Ok((figures.received, figures.wall_s))
    })?;
    let ours = packets_per_s(|seed| {
        let figures = simulate(&Setting {
            seed,
            ..setting.clone()
        })?;
        Ok((figures.received, figures.wall_s))
    })?;
    Ok(Speed::new(&setting.family, &setting.name, theirs, ours))
}

/// As [`measure_speed`] for several cells. Their packets are those of the measured time, and the
/// wall time that of the whole run, in both simulators.
fn measure_speed_among_neighbours(ns3: &Ns3, setting: &NeighboursRun) -> anyhow::Result<Speed> {
    let with_seed = |seed| NeighboursRun {
        seed,
        ..setting.clone()
    };
    let theirs = packets_per_s(|seed| {
        let (run, wall_s) = neighbours::run(ns3, &with_seed(seed))?;
        Ok((run.packets(&run.goodput_mbps), wall_s))
    })?;
    let ours = packets_per_s(|seed| {
        let run = with_seed(seed);
        let begin = Instant::now();
        let goodput_mbps = run.simulate()?;
        Ok((run.packets(&goodput_mbps), begin.elapsed().as_secs_f64()))
    })?;
    Ok(Speed::new(&setting.family, &setting.name, theirs, ours))
}

/// Packets per second of wall time over as many runs as [`SPEED_WALL_S`] takes. `run` gets a seed
/// and returns packets and seconds.
fn packets_per_s(mut run: impl FnMut(u64) -> anyhow::Result<(u64, f64)>) -> anyhow::Result<f64> {
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
