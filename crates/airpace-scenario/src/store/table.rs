//! Tables of figures as plain columns, whatever file format they are written in.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A table. All its columns have the same length.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Table {
    /// What it is called, which is the name of its file without the ending.
    pub name: Cow<'static, str>,
    /// Its columns with their names.
    pub columns: Vec<(Cow<'static, str>, Column)>,
}

/// The values of a column.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Column {
    /// Whole numbers.
    Integer(Vec<i64>),
    /// Whole numbers, some of which are absent.
    OptionalInteger(Vec<Option<i64>>),
    /// Numbers.
    Float(#[serde(with = "exact")] Vec<f64>),
    /// Numbers, some of which are absent.
    OptionalFloat(#[serde(with = "exact_or_absent")] Vec<Option<f64>>),
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
            name: Cow::Borrowed(name),
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

    /// The column of this name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        let found = self.columns.iter().find(|(other, _)| other == name);
        found.map(|(_, column)| column)
    }

    pub(crate) fn add(&mut self, name: impl Into<Cow<'static, str>>, column: Column) {
        self.columns.push((name.into(), column));
    }

    /// The rows of `tables` one below the other.
    ///
    /// # Errors
    /// The tables do not have the same columns.
    pub(crate) fn stack(name: &'static str, tables: &[&Self]) -> Result<Self, DifferentColumns> {
        let mut stacked = Self::new(name);
        let Some(first) = tables.first() else {
            return Ok(stacked);
        };
        for (idx, (name, column)) in first.columns.iter().enumerate() {
            let mut parts = Vec::new();
            for table in tables {
                match table.columns.get(idx) {
                    Some((other, part)) if other == name => parts.push(part),
                    _ => return Err(DifferentColumns),
                }
            }
            stacked.add(name.clone(), column.stacked(&parts)?);
        }
        Ok(stacked)
    }

    /// The rows at `indices`, in their order.
    pub(crate) fn pick(&self, indices: &[usize]) -> Self {
        let mut picked = Self {
            name: self.name.clone(),
            columns: Vec::new(),
        };
        for (name, column) in &self.columns {
            picked.add(name.clone(), column.pick(indices));
        }
        picked
    }
}

/// Tables of different columns cannot be stacked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the tables have different columns: they were written by different versions of airpace")]
pub struct DifferentColumns;

impl Column {
    /// A column of texts.
    #[must_use]
    pub fn of_texts<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Self {
        let mut known: BTreeMap<String, u32> = BTreeMap::new();
        let (mut indices, mut names) = (Vec::new(), Vec::new());
        for text in texts {
            let text = text.as_ref();
            let index = known.get(text).copied().unwrap_or_else(|| {
                let index = names.len() as u32;
                names.push(text.to_owned());
                known.insert(text.to_owned(), index);
                index
            });
            indices.push(index);
        }
        Self::Name { indices, names }
    }

    /// The texts of a column of names; none of another column.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let (indices, names): (&[u32], &[String]) = match self {
            Self::Name { indices, names } => (indices, names),
            _ => (&[], &[]),
        };
        indices.iter().map(|&index| names[index as usize].as_str())
    }

    /// The number in a row; `None` if it is absent or not a number.
    #[must_use]
    pub fn number(&self, row: usize) -> Option<f64> {
        match self {
            Self::Integer(values) => values.get(row).map(|&value| value as f64),
            Self::OptionalInteger(values) => values.get(row).copied()?.map(|value| value as f64),
            Self::Float(values) => values.get(row).copied(),
            Self::OptionalFloat(values) => values.get(row).copied()?,
            Self::Bool(_) | Self::Name { .. } => None,
        }
    }

    /// Number of values.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Integer(values) => values.len(),
            Self::OptionalInteger(values) => values.len(),
            Self::Float(values) => values.len(),
            Self::OptionalFloat(values) => values.len(),
            Self::Bool(values) => values.len(),
            Self::Name { indices, .. } => indices.len(),
        }
    }

    /// The values of `parts`, which are of this column's kind, one after the other.
    fn stacked(&self, parts: &[&Self]) -> Result<Self, DifferentColumns> {
        macro_rules! concatenated {
            ($kind:ident) => {{
                let mut all = Vec::new();
                for part in parts {
                    let Self::$kind(values) = part else {
                        return Err(DifferentColumns);
                    };
                    all.extend_from_slice(values);
                }
                Self::$kind(all)
            }};
        }
        Ok(match self {
            Self::Integer(_) => concatenated!(Integer),
            Self::OptionalInteger(_) => concatenated!(OptionalInteger),
            Self::Float(_) => concatenated!(Float),
            Self::OptionalFloat(_) => concatenated!(OptionalFloat),
            Self::Bool(_) => concatenated!(Bool),
            Self::Name { .. } => {
                if !parts.iter().all(|part| matches!(part, Self::Name { .. })) {
                    return Err(DifferentColumns);
                }
                Self::of_texts(parts.iter().flat_map(|part| part.texts()))
            }
        })
    }

    fn pick(&self, rows: &[usize]) -> Self {
        fn picked<T: Clone>(values: &[T], rows: &[usize]) -> Vec<T> {
            rows.iter().map(|&row| values[row].clone()).collect()
        }
        match self {
            Self::Integer(values) => Self::Integer(picked(values, rows)),
            Self::OptionalInteger(values) => Self::OptionalInteger(picked(values, rows)),
            Self::Float(values) => Self::Float(picked(values, rows)),
            Self::OptionalFloat(values) => Self::OptionalFloat(picked(values, rows)),
            Self::Bool(values) => Self::Bool(picked(values, rows)),
            Self::Name { indices, names } => Self::of_texts(
                picked(indices, rows)
                    .into_iter()
                    .map(|index| names[index as usize].as_str()),
            ),
        }
    }
}

/// Numbers as texts, because JSON has no infinities, and its readers may differ in the last bit.
mod exact {
    use super::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(values: &[f64], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(values.iter().map(ToString::to_string))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
        let mut values = Vec::new();
        for text in Vec::<String>::deserialize(from)? {
            values.push(text.parse().map_err(serde::de::Error::custom)?);
        }
        Ok(values)
    }
}

/// The same for numbers that may be absent.
mod exact_or_absent {
    use super::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        values: &[Option<f64>],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(values.iter().map(|value| value.map(|it| it.to_string())))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<Option<f64>>, D::Error> {
        let mut values = Vec::new();
        for text in Vec::<Option<String>>::deserialize(from)? {
            let value = text.map(|text| text.parse()).transpose();
            values.push(value.map_err(serde::de::Error::custom)?);
        }
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(first: i64, name: &str) -> Table {
        let mut table = Table::new("runs");
        table.add("count", Column::Integer(vec![first, 2]));
        table.add("level", Column::OptionalFloat(vec![Some(0.1 + 0.2), None]));
        table.add("delay", Column::Float(vec![f64::INFINITY, 1e-300]));
        table.add("pages", Column::OptionalInteger(vec![None, Some(3)]));
        table.add("name", Column::of_texts([name, "x"]));
        table
    }

    #[test]
    fn stacked_tables_have_all_rows_and_picked_ones_those_that_were_asked_for() {
        let stacked = Table::stack("runs", &[&table(1, "a"), &table(7, "b")]).unwrap();
        assert_eq!(stacked.rows(), 4);
        let names = stacked.column("name").unwrap();
        assert_eq!(names.texts().collect::<Vec<_>>(), ["a", "x", "b", "x"]);
        let picked = stacked.pick(&[2, 0]);
        assert_eq!(picked.column("count"), Some(&Column::Integer(vec![7, 1])));
        let name = picked.column("name").unwrap();
        assert_eq!(name.texts().collect::<Vec<_>>(), ["b", "a"]);
        let other = Table::new("runs");
        assert_eq!(
            Table::stack("runs", &[&stacked, &other]),
            Err(DifferentColumns)
        );
    }

    #[test]
    fn json_keeps_every_bit() {
        let table = table(1, "a");
        let text = serde_json::to_string(&table).unwrap();
        assert_eq!(serde_json::from_str::<Table>(&text).unwrap(), table);
    }
}
