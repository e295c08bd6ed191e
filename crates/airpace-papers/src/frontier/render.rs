//! The rows and verdicts as text.

use super::{Frontier, Outcome, Row, Verdict};
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ContentArrangement, Table};
use std::fmt::Write as _;

/// Rows and verdicts as tables for the terminal.
#[must_use]
pub fn text(frontier: &Frontier) -> String {
    let mut text = format!("{}\n", rows(&frontier.rows).trim_fmt());
    if !frontier.verdicts.is_empty() {
        text.push('\n');
        text.push_str(&verdicts(&frontier.verdicts).trim_fmt());
        text.push_str("\n\n");
        text.push_str(&counts(&frontier.verdicts));
    }
    text
}

/// A table without lines, with these column headings.
fn plain<const N: usize>(headings: [&str; N]) -> Table {
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(headings);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table
}

fn rows(rows: &[Row]) -> Table {
    let mut table = plain([
        "cell",
        "load",
        "arm",
        "setting",
        "Mbit/s",
        "utility",
        "ping p50 ms",
        "p95",
        "p99",
        "wait p95 ms",
        "Jain",
        "alarms",
        "seeds",
    ]);
    for row in rows {
        table.add_row([
            row.cell.clone(),
            row.load.to_string(),
            row.arm.to_string(),
            row.setting.clone(),
            format!("{:.1}", row.goodput_mbps),
            format!("{:+.3}", row.utility),
            format!("{:.1}", row.ping_p50_ms),
            format!("{:.1}", row.ping_p95_ms),
            format!("{:.1}", row.ping_p99_ms),
            format!("{:.1}", row.wait_p95_ms),
            format!("{:.3}", row.jain_airtime),
            row.bottleneck_alarms.to_string(),
            row.seeds.to_string(),
        ]);
    }
    for column in table.column_iter_mut().skip(4) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn verdicts(verdicts: &[Verdict]) -> Table {
    let mut table = plain(["cell", "load", "bar", "", "figures"]);
    for verdict in verdicts {
        table.add_row([
            verdict.cell.as_str(),
            &verdict.load.to_string(),
            verdict.bar,
            verdict.outcome.word(),
            &verdict.figures,
        ]);
    }
    table
}

/// How often each bar holds, in the order in which the bars appear.
fn counts(verdicts: &[Verdict]) -> String {
    let mut bars: Vec<&str> = Vec::new();
    for verdict in verdicts {
        if !bars.contains(&verdict.bar) {
            bars.push(verdict.bar);
        }
    }
    let mut text = String::new();
    for bar in bars {
        let count = |outcome: Outcome| {
            let of_bar = verdicts.iter().filter(|verdict| verdict.bar == bar);
            of_bar.filter(|verdict| verdict.outcome == outcome).count()
        };
        let (holds, missed) = (count(Outcome::Holds), count(Outcome::Missed));
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{bar}: holds in {holds} of {}", holds + missed);
    }
    text
}

impl Outcome {
    /// The word for it in tables.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Missed => "MISSED",
            Self::NotApplicable => "not applicable",
        }
    }
}
