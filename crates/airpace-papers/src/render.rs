//! Rows as text and as Markdown.

use super::findings::{bar, measured};
use crate::verdicts::{ListedRow, ReproducedRow, Reproduction};
use std::fmt::Write as _;

/// The rows, each with its relations below it.
#[must_use]
pub fn text(made: &Reproduction) -> String {
    let mut text = String::new();
    for row in &made.rows {
        text += &row_text(row);
    }
    let _ = writeln!(
        text,
        "{} of {} rows reproduced; seeds from {} on, ± is half the 95 % confidence interval over them; {:.0} s.",
        made.reproduced,
        made.rows.len(),
        made.seed,
        made.wall_s
    );
    text
}

fn row_text(row: &ReproducedRow) -> String {
    let mut text = format!(
        "{}  {}  ({}, {}, {})\n",
        row.id,
        row.outcome.word(),
        row.source,
        row.kind.word(),
        runs(row)
    );
    let lines: Vec<[String; 3]> = row
        .relations
        .iter()
        .map(|r| [r.what.clone(), measured(r), bar(r)])
        .collect();
    let width = |column: usize| {
        lines
            .iter()
            .map(|line| line[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let (first, second) = (width(0), width(1));
    for (line, relation) in lines.iter().zip(&row.relations) {
        let mark = if relation.holds { ' ' } else { '!' };
        let _ = writeln!(
            text,
            "  {mark} {:<first$}  {:<second$}  bar {}",
            line[0], line[1], line[2]
        );
    }
    if !row.note.is_empty() {
        let _ = writeln!(text, "    {}", row.note);
    }
    text.push('\n');
    text
}

/// How much the row rests on.
fn runs(row: &ReproducedRow) -> String {
    match row.seeds {
        0 => "nothing run".to_owned(),
        1 => format!("{} runs, one seed", row.runs),
        seeds => format!("{} runs, {seeds} seeds", row.runs),
    }
}

/// The rows that exist.
#[must_use]
pub fn listing(rows: &[ListedRow]) -> String {
    let width = |of: fn(&ListedRow) -> &str| {
        rows.iter()
            .map(|row| of(row).chars().count())
            .max()
            .unwrap_or(0)
    };
    let (ids, sources) = (width(|row| &row.id), width(|row| &row.source));
    let mut text = String::new();
    for row in rows {
        let only = if row.only_by_id {
            " (only if asked for by this id)"
        } else {
            ""
        };
        let (kind, claim) = (row.kind.word(), &row.claim);
        let _ = writeln!(
            text,
            "{:<ids$}  {:<sources$}  {kind:<5}  {claim}{only}",
            row.id, row.source
        );
    }
    text += "\nName rows or papers to reproduce them: airpace reproduce 003 004-T1\n";
    text
}

/// The page `docs/reproduction.md`.
#[must_use]
pub fn markdown(made: &Reproduction) -> String {
    let mut text = String::from(MARKDOWN_HEAD);
    let _ = writeln!(
        text,
        "{} of {} rows reproduced, with seeds from {} on.
",
        made.reproduced,
        made.rows.len(),
        made.seed
    );
    text += "| row | from | by | outcome |\n|---|---|---|---|\n";
    for row in &made.rows {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} |",
            row.id,
            row.source,
            row.kind.word(),
            row.outcome.word()
        );
    }
    for row in &made.rows {
        row_markdown(&mut text, row);
    }
    text
}

const MARKDOWN_HEAD: &str = "\
# Reproduction of the papers' figures

Made by `airpace reproduce … --markdown`; `make reproduce` makes the page, the data and the figures anew. A row is a figure or table; it is
reproduced if every relation below it holds in our own runs. Figures are means over the seeds, with half the 95 % confidence interval. The bars
are the papers' own figures; where a paper says \"about\" or shows a plot only, the tolerance is ours and stands in the bar.

";

fn row_markdown(text: &mut String, row: &ReproducedRow) {
    let _ = writeln!(
        text,
        "\n## {}: {}\n\n{} ({}, {}): {}\n",
        row.id,
        row.outcome.word(),
        row.source,
        row.kind.word(),
        runs(row),
        row.claim
    );
    *text += "| relation | measured | bar | |\n|---|---|---|---|\n";
    for relation in &row.relations {
        let mark = if relation.holds {
            "holds"
        } else {
            "**missed**"
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {mark} |",
            relation.what,
            measured(relation),
            bar(relation)
        );
    }
    if !row.note.is_empty() {
        let _ = writeln!(text, "\n{}.", row.note.trim_end_matches('.'));
    }
}
