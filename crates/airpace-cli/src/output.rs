//! Results on standard output: JSON or a table.

pub(crate) use airpace_agent::output::{json, text};

/// A table with a heading. Columns of numbers are aligned to the right, others to the left.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these column headings.
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
        let columns: Vec<Column> = (0..self.rows[0].len()).map(|i| self.column(i)).collect();
        for row in &self.rows {
            let mut line = String::new();
            for (cell, column) in row.iter().zip(&columns) {
                let width = column.width;
                if column.numeric {
                    line.push_str(&format!("{cell:>width$}  "));
                } else {
                    line.push_str(&format!("{cell:<width$}  "));
                }
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// The layout of one column.
struct Column {
    /// Characters of its widest cell.
    width: usize,
    /// Whether all cells below the heading are numbers, or `-` for none.
    numeric: bool,
}

impl Table {
    fn column(&self, index: usize) -> Column {
        let mut column = Column {
            width: 0,
            numeric: true,
        };
        for (line, row) in self.rows.iter().enumerate() {
            let cell = &row[index];
            column.width = column.width.max(cell.chars().count());
            let is_number = cell == "-" || cell.is_empty() || cell.parse::<f64>().is_ok();
            let is_heading = line == 0;
            column.numeric &= is_number || is_heading;
        }
        column
    }
}
