//! Rows as text and as Markdown.

use super::findings::{NOT_MEASURED, bar, deviation, estimate, measured};
use super::verdicts::{
    ListedRow, RelationResult, ReproducedRow, Reproduction, VariantResult, Verdict,
};
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
        "{}; ± is half the 95 % confidence interval; {:.0} s.",
        tally(reproduction),
        reproduction.wall_s
    );
    text
}

/// How many rows hold, and what was run.
fn tally(reproduction: &Reproduction) -> String {
    let mut text = format!(
        "{} of {} rows hold, {} are missed, {} inconclusive, with seeds from {} on",
        reproduction.holding,
        reproduction.rows.len(),
        reproduction.missed,
        reproduction.inconclusive,
        reproduction.seed
    );
    if reproduction.horizon != 1.0 {
        let _ = write!(text, " and {} times the usual time", reproduction.horizon);
    }
    if reproduction.interrupted {
        text += "; the other rows were interrupted";
    }
    text
}

fn row_text(row: &ReproducedRow) -> String {
    let mut text = format!(
        "{}  {}  ({}, {}, {})\n",
        row.id,
        row.verdict.word(),
        row.source,
        row.kind.word(),
        runs(row)
    );
    let mut relations = Vec::new();
    for relation in &row.relations {
        let mark = match relation.verdict {
            Verdict::Holds => ' ',
            Verdict::Missed => '!',
            Verdict::Inconclusive => '?',
        };
        relations.push([
            format!("  {mark} {}", relation.what),
            measured(relation),
            format!("bar {}", bar(relation)),
            format!("paper {}", relation.printed),
            deviation(relation),
        ]);
        for variant in &relation.variants {
            let (figure, verdict) = variant_cells(variant, relation, |v| v.word().to_owned());
            relations.push([
                format!("      with {}", variant.with),
                figure,
                verdict,
                String::new(),
                String::new(),
            ]);
        }
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
    let _ = writeln!(text, "{}.\n", tally(reproduction));
    text += "| row | from | by | verdict |\n|---|---|---|---|\n";
    for row in &reproduction.rows {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} |",
            row.id,
            row.source,
            row.kind.word(),
            row.verdict.word()
        );
    }
    for row in &reproduction.rows {
        row_markdown(&mut text, row);
    }
    text
}

const MARKDOWN_HEAD: &str = "\
# Reproduction of the papers' figures

This page is the output of `airpace reproduce … --markdown`; `make reproduce` renews the page, the data and the figures, `make figures` does so from the runs
that are stored in `out/reproduce`. A figure shows our runs and, beside its table, each relation over the paper's figure: the papers' own pictures are not copied. A row is a
figure or table of a paper; the README says which number is which paper. Each relation shows what the paper prints, our figure (the mean
over the seeds with half the 95 % confidence interval), its distance from the printed one, and the bar. A relation *holds* if the whole
interval meets the bar, is *missed* if the whole interval misses it, and is *inconclusive* otherwise. A row holds if all its relations
hold. The bars are the papers' own figures; where a paper says \"about\" or only shows a plot, the tolerance is ours and stands in the bar.
Where a paper says of how many runs its figures are means, a relation that misses by less than what is uncertain about such a mean is inconclusive, and a note says so.
\"With …\" below a relation is the same figure from runs with other settings: what it depends on.

";

fn row_markdown(text: &mut String, row: &ReproducedRow) {
    let _ = writeln!(
        text,
        "\n## {}: {}\n\n{} ({}, {}): {}\n",
        row.id,
        row.verdict.word(),
        row.source,
        row.kind.word(),
        runs(row),
        row.claim
    );
    *text += "| relation | paper | ours | deviation | bar | |\n|---|---|---|---|---|---|\n";
    for relation in &row.relations {
        relation_markdown(text, relation);
    }
    if !row.note.is_empty() {
        let _ = writeln!(text, "\n{}.", row.note.trim_end_matches('.'));
    }
}

fn relation_markdown(text: &mut String, relation: &RelationResult) {
    let _ = writeln!(
        text,
        "| {} | {} | {} | {} | {} | {} |",
        relation.what,
        relation.printed,
        measured(relation),
        deviation(relation),
        bar(relation),
        mark(relation.verdict)
    );
    for variant in &relation.variants {
        let (figure, verdict) = variant_cells(variant, relation, mark);
        let _ = writeln!(
            text,
            "| … with {} | | {figure} | | | {verdict} |",
            variant.with
        );
    }
}

/// The figure of a variant and the verdict on it. Without a figure nothing can be judged: a variant
/// is an experiment, not a claim that a run without a figure would miss.
fn variant_cells(
    variant: &VariantResult,
    relation: &RelationResult,
    word: impl Fn(Verdict) -> String,
) -> (String, String) {
    if variant.measured.is_none() {
        return (String::new(), NOT_MEASURED.to_owned());
    }
    let figure = estimate(variant.measured, variant.ci95, &relation.unit);
    (figure, word(variant.verdict))
}

fn mark(verdict: Verdict) -> String {
    match verdict {
        Verdict::Holds => "holds".to_owned(),
        Verdict::Missed | Verdict::Inconclusive => format!("**{}**", verdict.word()),
    }
}
