//! `airpace validate`: the simulator against ns-3.

use crate::bar::Bar;
use crate::output::{self, Table};
use airpace_papers::ns3::{Extent, Ns3, Progress, Report, ValidateConfig, validate};
use anyhow::Context as _;
use clap::Args;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

/// Run the same settings here and in ns-3, compare them, and write a report. `make validate-ns3`
/// builds the programs that it needs and runs it.
#[derive(Args)]
pub(crate) struct Validate {
    /// The program built from validation/ns3.
    #[arg(long)]
    program: PathBuf,
    /// The program built from validation/ns3/error_model.cc. Without it the error models are not
    /// compared.
    #[arg(long)]
    error_model: Option<PathBuf>,
    /// Only a few settings of each family, which take some four minutes.
    #[arg(long)]
    quick: bool,
    /// Folder for report.json.
    #[arg(long, default_value = "out/validate-ns3")]
    out: PathBuf,
}

pub(crate) fn run(args: &Validate) -> anyhow::Result<ExitCode> {
    let airpace = std::env::current_exe().context("finding this program")?;
    let config = ValidateConfig {
        ns3: Ns3 {
            program: args.program.clone(),
            airpace,
        },
        error_model: args.error_model.clone(),
        extent: if args.quick {
            Extent::Quick
        } else {
            Extent::Full
        },
    };
    let bar = Bar::new("{bar:30} {pos:>3}/{len}  {elapsed_precise}  {msg}");
    let report = validate(&config, &|event| show(&bar, event))?;
    drop(bar);
    let path = args.out.join("report.json");
    std::fs::create_dir_all(&args.out)
        .with_context(|| format!("creating {}", args.out.display()))?;
    std::fs::write(&path, serde_json::to_vec_pretty(&report)?)
        .with_context(|| format!("writing {}", path.display()))?;
    output::text(&format!("{}\n{}\n", describe(&report), path.display()))?;
    Ok(ExitCode::from(u8::from(!report.within)))
}

fn show(bar: &Bar, event: Progress<'_>) {
    match event {
        Progress::Settings { done, total } => bar.set(done as u64, total as u64),
        Progress::Begun {
            family,
            name,
            speed,
        } => {
            let what = if speed { "speed " } else { "" };
            bar.set_message(format!("{what}{family} {name}"));
        }
    }
}

fn describe(report: &Report) -> String {
    let verdict = if report.within {
        "every bar holds"
    } else {
        "a bar is MISSED"
    };
    format!(
        "{}\n{}\n{}{verdict}",
        families(report),
        speeds(report),
        missed(report)
    )
}

/// The worst difference of each quantity in each family.
fn families(report: &Report) -> Table {
    let mut worst: BTreeMap<(&str, &str), (usize, &airpace_papers::ns3::Row)> = BTreeMap::new();
    for row in report.rows.iter().filter(|row| row.bar.is_some()) {
        let entry = worst.entry((&row.family, row.quantity)).or_insert((0, row));
        entry.0 += 1;
        if row.difference.abs() > entry.1.difference.abs() {
            entry.1 = row;
        }
    }
    let mut table = Table::new(["family", "quantity", "rows", "worst", "bar", "where"]);
    for ((family, quantity), (count, row)) in worst {
        let bar = row.bar.unwrap_or_default();
        table.row([
            family.to_owned(),
            quantity.to_owned(),
            count.to_string(),
            difference(quantity, row.difference),
            difference(quantity, bar),
            row.setting.clone(),
        ]);
    }
    table
}

fn difference(quantity: &str, value: f64) -> String {
    if quantity == "snr_db" {
        format!("{value:.2} dB")
    } else {
        format!("{:.1} %", value * 100.0)
    }
}

fn speeds(report: &Report) -> Table {
    let mut table = Table::new([
        "family",
        "setting",
        "ns-3 packets/s",
        "airpace packets/s",
        "ratio",
    ]);
    for speed in &report.speed {
        table.row([
            speed.family.clone(),
            speed.setting.clone(),
            format!("{:.0}", speed.ns3),
            format!("{:.0}", speed.airpace),
            format!("{:.0}", speed.ratio),
        ]);
    }
    table
}

/// The rows that miss their bar, one line each.
fn missed(report: &Report) -> String {
    let rows = report.rows.iter().filter(|row| !row.within).map(|row| {
        let (quantity, setting) = (row.quantity, &row.setting);
        let by = difference(quantity, row.difference);
        format!(
            "missed: {} {setting}: {quantity} ns-3 {:.4}, airpace {:.4} ({by})\n",
            row.family, row.ns3, row.airpace
        )
    });
    let speeds = report.speed.iter().filter(|speed| !speed.within);
    let speeds = speeds.map(|speed| {
        format!(
            "missed: {} {}: {:.0} times\n",
            speed.family, speed.setting, speed.ratio
        )
    });
    rows.chain(speeds).collect()
}
