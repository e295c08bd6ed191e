//! `airpace step`: how fast each law recovers from a change, in virtual time.

use crate::output::{self, Table};
use airpace_core::control::Law;
use airpace_sim::step::{Case, StepConfig, StepRow, step};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::Serialize;
use std::process::ExitCode;
use std::time::Duration;

const EXAMPLES: &str =
    "Cases: halve (one station falls from 780 to 390 Mbit/s), join (1 to 11 stations), contention (a neighbour
doubles the cost of channel access), tight (20 stations from a cold start, delay target 5 ms).

Examples:
  airpace step                 every law, every case, slots of 500 and 100 ms
  airpace step --laws waterfill,nonlinear --cases tight --slot-ms 100 --horizon 600 --json";

/// Count the slots that each control law takes to bring level and delay back after a change, in
/// virtual time.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Step {
    /// Laws to run; by default the four published laws and ours.
    #[arg(long, value_delimiter = ',', value_parser = laws())]
    laws: Vec<Law>,
    /// Cases to run; by default all.
    #[arg(long, value_delimiter = ',', value_parser = cases())]
    cases: Vec<Case>,
    /// Lengths of a slot (Δ) in ms.
    #[arg(long, default_value = "500,100", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(10..=10_000))]
    slot_ms: Vec<u64>,
    /// Slots judged after the change.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(8..=100_000))]
    horizon: u32,
    /// Seed of every draw.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// What is printed of a run; the means are over the second half of the horizon.
#[derive(Serialize)]
struct Row {
    law: &'static str,
    case: &'static str,
    slot_ms: f64,
    /// Slots until level and delay are back; null if they never are.
    slots: Option<usize>,
    level: f64,
    round_ms: f64,
    delay_ms: f64,
    goodput_mbps: f64,
    lost: u64,
}

fn laws() -> impl TypedValueParser<Value = Law> {
    PossibleValuesParser::new(Law::NAMES)
        .map(|name| name.parse().expect("only names of laws pass the parser"))
}

fn cases() -> impl TypedValueParser<Value = Case> {
    PossibleValuesParser::new(Case::ALL.map(Case::name))
        .map(|name| name.parse().expect("only names of cases pass the parser"))
}

pub(crate) fn run(args: &Step) -> anyhow::Result<ExitCode> {
    let mut rows = Vec::new();
    for config in configs(args) {
        rows.push(row(step(&config)?));
    }
    if args.json {
        output::json(&rows)?
    } else {
        output::text(&describe(&rows))?
    }
    Ok(ExitCode::SUCCESS)
}

/// The runs, case by case, so that the rows of all laws for one case follow each other.
fn configs(args: &Step) -> Vec<StepConfig> {
    let laws = if args.laws.is_empty() {
        &Law::COMPARED[..]
    } else {
        &args.laws
    };
    let mut configs = Vec::new();
    for case in Case::ALL {
        if !args.cases.is_empty() && !args.cases.contains(&case) {
            continue;
        }
        for &slot_ms in &args.slot_ms {
            for &law in laws {
                configs.push(StepConfig {
                    horizon: args.horizon as usize,
                    seed: args.seed,
                    ..StepConfig::new(law, case, Duration::from_millis(slot_ms))
                });
            }
        }
    }
    configs
}

fn row(row: StepRow) -> Row {
    Row {
        law: row.law.name(),
        case: row.case.name(),
        slot_ms: row.slot.as_secs_f64() * 1e3,
        slots: row.slots,
        level: row.level,
        round_ms: row.round_s * 1e3,
        delay_ms: row.delay_s * 1e3,
        goodput_mbps: row.goodput_mbps,
        lost: row.lost,
    }
}

fn describe(rows: &[Row]) -> String {
    let mut table = Table::new([
        "law",
        "case",
        "slot ms",
        "slots",
        "level",
        "round ms",
        "delay ms",
        "goodput Mbit/s",
        "lost",
    ]);
    for row in rows {
        table.row([
            row.law.to_owned(),
            row.case.to_owned(),
            row.slot_ms.to_string(),
            row.slots.map_or("-".to_owned(), |slots| slots.to_string()),
            format!("{:.2}", row.level),
            format!("{:.3}", row.round_ms),
            format!("{:.3}", row.delay_ms),
            format!("{:.1}", row.goodput_mbps),
            row.lost.to_string(),
        ]);
    }
    format!(
        "{table}\nslots: until level and delay are back; - if never. Means over the second half of the run.\n"
    )
}
