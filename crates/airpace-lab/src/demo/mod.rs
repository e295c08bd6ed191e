//! The demo: the same download over the same emulated access point with Cubic, BBR and airpace, and over one with FQ-MAC and airtime
//! fairness.
//!
//! [`run`] runs every arm in namespaces of its own, writes what it measured to a folder and returns the summary; [`table::render`]
//! makes a table of it. Proxies and agents are children of this process, started from the airpace program.

mod arm;
mod collect;
mod configs;
mod plan;
mod progress;
mod store;
pub mod table;
mod tunnel;

pub use plan::{ArmKind, DemoOptions};

use crate::tool::Stop;
use airpace_api::results::{ArmResult, DEMO_FORMAT, DemoSummary};
use anyhow::{Context, Result};
use arm::Arm;
use progress::Progress;

/// Runs all arms and leaves `summary.json` and the series in the output folder. The summary is written after every arm, so that a
/// run that ends early leaves what it had.
///
/// # Errors
/// If namespaces or TUN devices cannot be had, a file cannot be written, an arm fails, or `stop` was raised.
pub fn run(options: &DemoOptions, stop: &Stop) -> Result<DemoSummary> {
    store::prepare(&options.out)?;
    let mut summary = DemoSummary {
        format: DEMO_FORMAT,
        environment: store::environment(),
        settings: options.settings(),
        arms: Vec::new(),
    };
    let span = options.idle + options.load;
    let arms = u32::try_from(options.cells.len() * options.arms.len()).unwrap_or(u32::MAX);
    let mut progress = Progress::new(span * arms);
    for mcs in &options.cells {
        for &kind in &options.arms {
            let title = format!("{} on {}", kind.title(), stations(mcs.len()));
            progress.begin(&title);
            let (result, series) = Arm { options, kind, mcs }
                .run(stop, &progress)
                .with_context(|| title.clone())?;
            progress.end(span, &one_line(&title, &result));
            store::series(&options.out, &series)?;
            summary.arms.push(result);
            store::summary(&options.out, &summary)?;
        }
    }
    progress.finish();
    Ok(summary)
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
        arm.goodput_mbps,
        arm.ping_ms.p95,
        arm.level,
        if arm.trusted {
            ""
        } else {
            " (the emulator was late: not to be trusted)"
        }
    )
}

#[cfg(test)]
mod tests;
