//! Results on standard output: JSON or a table.

use std::io::Write as _;

/// Prints a result as JSON.
pub(crate) fn json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    text(&format!("{}\n", serde_json::to_string_pretty(value)?))
}

/// Prints text as it is.
pub(crate) fn text(text: &str) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()?;
    Ok(())
}

/// Prints a line to standard error. A closed standard error is no reason to stop.
pub(crate) fn note(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// A table with a head. Columns of numbers stand to the right, others to the left.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these column heads.
    pub(crate) fn new<const N: usize>(heads: [&str; N]) -> Self {
        Self {
            rows: vec![heads.map(str::to_owned).to_vec()],
        }
    }

    /// Adds a row.
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.to_vec());
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let columns = 0..self.rows[0].len();
        let width = |column: usize| {
            self.rows
                .iter()
                .map(|row| row[column].chars().count())
                .max()
                .unwrap_or(0)
        };
        let is_number =
            |cell: &String| cell == "-" || cell.is_empty() || cell.parse::<f64>().is_ok();
        let numeric = |column: usize| self.rows.iter().skip(1).all(|row| is_number(&row[column]));
        let layout: Vec<(usize, bool)> = columns
            .map(|column| (width(column), numeric(column)))
            .collect();
        for row in &self.rows {
            let cells = row.iter().zip(&layout).map(|(cell, &(width, numeric))| {
                if numeric {
                    format!("{cell:>width$}")
                } else {
                    format!("{cell:<width$}")
                }
            });
            writeln!(f, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        Ok(())
    }
}
