//! Rows as text and as Markdown.

use super::findings::{bar, measured};
use super::verdicts::{ListedRow, ReproducedRow, Reproduction};
use comfy_table::{ContentArrangement, Table, presets};
use std::fmt::Write as _;

// Writing to a `String` cannot fail, so the results of `write!` are ignored in this file.

/// The rows, each with its relations below it.
#[must_use]
pub fn text(reproduction: &Reproduction) -> String {
    let mut text = String::new();
    for row in &reproduction.rows {
        text += &row_text(row);
    }
    let _ = writeln!(
        text,
        "{} of {} rows reproduced, with seeds from {} on; ± is half the 95 % confidence interval over them; {:.0} s.",
        reproduction.reproduced,
        reproduction.rows.len(),
        reproduction.seed,
        reproduction.wall_s
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
    let mut relations = Vec::new();
    for relation in &row.relations {
        let mark = if relation.holds { ' ' } else { '!' };
        relations.push([
            format!("  {mark} {}", relation.what),
            measured(relation),
            format!("bar {}", bar(relation)),
        ]);
    }
    text += &columns(relations);
    if !row.note.is_empty() {
        let _ = writeln!(text, "    {}", row.note);
    }
    text.push('\n');
    text
}

/// Lines with cells in columns that are two spaces apart; nothing without lines.
fn columns<const N: usize>(lines: Vec<[String; N]>) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .add_rows(lines);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    format!("{}\n", table.trim_fmt())
}

/// How many runs the row uses.
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
    let mut cells = Vec::new();
    for row in rows {
        let only = if row.only_by_id {
            " (only if named by this id)"
        } else {
            ""
        };
        cells.push([
            row.id.clone(),
            row.source.clone(),
            row.kind.word().to_owned(),
            format!("{}{only}", row.claim),
        ]);
    }
    let mut text = columns(cells);
    text += "\nName rows or papers to reproduce them: airpace reproduce 003 004-T1\n";
    text
}

/// The page `docs/reproduction.md`.
#[must_use]
pub fn markdown(reproduction: &Reproduction) -> String {
    let mut text = String::from(MARKDOWN_HEAD);
    let _ = writeln!(
        text,
        "{} of {} rows reproduced, with seeds from {} on.\n",
        reproduction.reproduced,
        reproduction.rows.len(),
        reproduction.seed
    );
    text += "| row | from | by | outcome |\n|---|---|---|---|\n";
    for row in &reproduction.rows {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} |",
            row.id,
            row.source,
            row.kind.word(),
            row.outcome.word()
        );
    }
    for row in &reproduction.rows {
        row_markdown(&mut text, row);
    }
    text
}

const MARKDOWN_HEAD: &str = "\
# Reproduction of the papers' figures

This page is the output of `airpace reproduce … --markdown`; `make reproduce` renews the page, the data and the figures. A row is a
figure or table of a paper; the README says which number is which paper. A row is reproduced if every relation below it holds in our
own runs. Figures are means over the seeds, with half the 95 % confidence interval. The bars are the papers' own figures; where a
paper says \"about\" or only shows a plot, the tolerance is ours and stands in the bar.

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
