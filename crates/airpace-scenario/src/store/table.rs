//! Tables of figures as plain columns, whatever file format they are written in.

/// A table. All its columns have the same length.
#[derive(Clone, Debug)]
pub struct Table {
    /// What it is called, which is the name of its file without the ending.
    pub name: &'static str,
    /// Its columns with their names.
    pub columns: Vec<(&'static str, Column)>,
}

/// The values of a column.
#[derive(Clone, Debug)]
pub enum Column {
    /// Whole numbers.
    Integer(Vec<i64>),
    /// Numbers.
    Float(Vec<f64>),
    /// Numbers, some of which are absent.
    OptionalFloat(Vec<Option<f64>>),
    /// Truth values.
    Bool(Vec<bool>),
    /// Names.
    Name {
        /// Per row the index of its name in `names`.
        indices: Vec<u32>,
        /// The names.
        names: Vec<String>,
    },
}

impl Table {
    /// A table without columns.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            columns: Vec::new(),
        }
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        match self.columns.first() {
            Some((_, column)) => column.len(),
            None => 0,
        }
    }

    pub(super) fn add(&mut self, name: &'static str, column: Column) {
        self.columns.push((name, column));
    }
}

impl Column {
    /// Number of values.
    fn len(&self) -> usize {
        match self {
            Self::Integer(values) => values.len(),
            Self::Float(values) => values.len(),
            Self::OptionalFloat(values) => values.len(),
            Self::Bool(values) => values.len(),
            Self::Name { indices, .. } => indices.len(),
        }
    }
}
