//! The demo: the same download through the same emulated access point with Cubic, with BBR and
//! behind airpace (the in-line box, and the tunnel), and through one with FQ-MAC and airtime
//! fairness.
//!
//! [`run`] runs each arm in its own namespaces, writes what it measured to a folder and returns the
//! summary; [`table::render`] makes a table of it. Boxes, proxies and agents are child processes,
//! started from the airpace program.

mod arm;
mod children;
mod collect;
mod configs;
pub(crate) mod inline;
mod plan;
mod store;
pub mod table;
mod tunnel;

pub use crate::load::Traffic;
pub(crate) use arm::Arm;
pub(crate) use plan::EdgeSensor;
pub use plan::{ArmKind, DemoOptions};

use crate::results::{ArmResult, DEMO_FORMAT, DemoSummary};
use crate::tool::Stop;
use anyhow::{Context, Result, bail};
use std::time::Duration;

/// What happens while the demo runs.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// An arm begins.
    ArmBegun {
        /// What it is.
        title: &'a str,
    },
    /// Time has passed.
    Elapsed {
        /// Run time of the arms so far.
        done: Duration,
        /// Run time of all arms.
        total: Duration,
    },
    /// An arm has ended.
    ArmDone {
        /// Its main figures on one line.
        result: &'a str,
    },
}

/// Runs all arms and writes `summary.json` and the series to the output folder. The summary is
/// written after every arm, so that a run that ends early leaves the arms that it finished.
///
/// # Errors
/// If namespaces or TUN devices cannot be created, a file cannot be written, an arm fails, or
/// `stop` was raised.
pub fn run(
    options: &DemoOptions,
    stop: &Stop,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<DemoSummary> {
    store::prepare(&options.out)?;
    let mut summary = DemoSummary {
        format: DEMO_FORMAT,
        environment: store::environment(),
        settings: options.settings(),
        arms: Vec::new(),
    };
    let span = options.idle + options.load;
    let kinds = possible_arms(options, progress)?;
    let arms = u32::try_from(options.cells.len() * kinds.len()).unwrap_or(u32::MAX);
    let total = span * arms;
    let mut done = Duration::ZERO;
    for (cell, mcs) in options.cells.iter().enumerate() {
        for &kind in &kinds {
            let title = format!("{} on {}", kind.title(), stations(mcs.len()));
            progress(Progress::ArmBegun { title: &title });
            let mut tick = |elapsed: Duration| {
                let done = done + elapsed;
                progress(Progress::Elapsed { done, total });
            };
            let arm = Arm {
                options,
                kind,
                mcs,
                traffic: options.traffic.get(cell).map_or(&[], Vec::as_slice),
                forgery: None,
            };
            let (result, series) = arm.run(stop, &mut tick).with_context(|| title.clone())?;
            done += span;
            progress(Progress::Elapsed { done, total });
            progress(Progress::ArmDone {
                result: &one_line(&title, &result),
            });
            store::series(&options.out, &series)?;
            summary.arms.push(result);
            store::summary(&options.out, &summary)?;
        }
    }
    Ok(summary)
}

/// The arms that this process has the rights for. The in-line box loads BPF programs, which the
/// kernel permits only to the root of the whole system.
fn possible_arms(
    options: &DemoOptions,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Vec<ArmKind>> {
    let is_root = airpace_net::netns::is_system_root();
    let mut possible = Vec::new();
    for &kind in &options.arms {
        if is_root || !matches!(kind.pacer(), plan::Pacer::Edge(_)) {
            possible.push(kind);
        } else {
            let result = format!("{}: left out, because it needs root", kind.title());
            progress(Progress::ArmDone { result: &result });
        }
    }
    if possible.is_empty() {
        bail!("these arms need root: the in-line box loads BPF programs");
    }
    Ok(possible)
}

fn stations(n: usize) -> String {
    if n == 1 {
        "one station".to_owned()
    } else {
        format!("{n} stations")
    }
}

fn one_line(title: &str, arm: &ArmResult) -> String {
    format!(
        "{title}: {:.0} Mbit/s, p95 ping {:.1} ms, {:.1} packets per frame{}",
        arm.figures.goodput_mbps,
        arm.figures.ping_ms.p95,
        arm.figures.level,
        if arm.trusted {
            ""
        } else {
            " (the emulator was late: do not trust these figures)"
        }
    )
}

#[cfg(test)]
pub(crate) mod tests;
