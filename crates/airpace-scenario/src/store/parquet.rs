//! Tables as Parquet files, column by column; without Arrow, which would take minutes to build.

use anyhow::Result;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};
use std::io::Write;
use std::sync::Arc;

/// Rows of a row group: what a reader must take in at once.
const GROUP: usize = 1 << 20;

/// A table in the making. All its columns have the same length.
#[derive(Clone, Debug, Default)]
pub struct Table {
    columns: Vec<(&'static str, Column)>,
}

/// The values of a column.
#[derive(Clone, Debug)]
pub enum Column {
    /// Whole numbers.
    Whole(Vec<i64>),
    /// Numbers.
    Real(Vec<f64>),
    /// Numbers, some of which are absent.
    Perhaps(Vec<Option<f64>>),
    /// Truth values.
    Truth(Vec<bool>),
    /// Names, by their place in a list.
    Name(Vec<u32>, Vec<String>),
}

impl Table {
    /// Adds a column.
    pub fn add(&mut self, name: &'static str, column: Column) {
        self.columns.push((name, column));
    }

    /// Writes the table as a file that tells `metadata`.
    pub(super) fn write<W: Write + Send>(
        &self,
        out: W,
        metadata: &[(&'static str, String)],
    ) -> Result<()> {
        let pairs = metadata
            .iter()
            .map(|(key, value)| KeyValue::new((*key).to_owned(), value.clone()));
        // The creator names us and not the version of a library, so that the bytes do not change with it.
        let properties = WriterProperties::builder()
            .set_created_by(format!("airpace {}", crate::PROGRAM_VERSION))
            .set_key_value_metadata(Some(pairs.collect()))
            .build();
        let mut file = SerializedFileWriter::new(out, self.schema()?, Arc::new(properties))?;
        let rows = self.columns.first().map_or(0, |(_, column)| column.len());
        for begin in (0..rows).step_by(GROUP) {
            let mut group = file.next_row_group()?;
            for (_, column) in &self.columns {
                let Some(mut writer) = group.next_column()? else {
                    break;
                };
                column.write(&mut writer, begin..rows.min(begin + GROUP))?;
                writer.close()?;
            }
            group.close()?;
        }
        file.close()?;
        Ok(())
    }

    fn schema(&self) -> Result<TypePtr> {
        let mut fields = Vec::new();
        for (name, column) in &self.columns {
            fields.push(Arc::new(column.field(name)?));
        }
        Ok(Arc::new(
            Type::group_type_builder("airpace")
                .with_fields(fields)
                .build()?,
        ))
    }
}

impl Column {
    fn len(&self) -> usize {
        match self {
            Self::Whole(values) => values.len(),
            Self::Real(values) => values.len(),
            Self::Perhaps(values) => values.len(),
            Self::Truth(values) => values.len(),
            Self::Name(values, _) => values.len(),
        }
    }

    fn field(&self, name: &str) -> Result<Type> {
        let (physical, logical) = match self {
            Self::Whole(_) => (Physical::INT64, None),
            Self::Real(_) | Self::Perhaps(_) => (Physical::DOUBLE, None),
            Self::Truth(_) => (Physical::BOOLEAN, None),
            Self::Name(..) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let optional = matches!(self, Self::Perhaps(_));
        let repetition = if optional {
            Repetition::OPTIONAL
        } else {
            Repetition::REQUIRED
        };
        let field = Type::primitive_type_builder(name, physical).with_repetition(repetition);
        Ok(field.with_logical_type(logical).build()?)
    }

    fn write(
        &self,
        writer: &mut SerializedColumnWriter<'_>,
        rows: std::ops::Range<usize>,
    ) -> Result<()> {
        match self {
            Self::Whole(values) => {
                writer
                    .typed::<Int64Type>()
                    .write_batch(&values[rows], None, None)?
            }
            Self::Real(values) => {
                writer
                    .typed::<DoubleType>()
                    .write_batch(&values[rows], None, None)?
            }
            Self::Truth(values) => {
                writer
                    .typed::<BoolType>()
                    .write_batch(&values[rows], None, None)?
            }
            Self::Perhaps(values) => {
                let present: Vec<f64> = values[rows.clone()].iter().copied().flatten().collect();
                let levels: Vec<i16> = values[rows]
                    .iter()
                    .map(|value| i16::from(value.is_some()))
                    .collect();
                writer
                    .typed::<DoubleType>()
                    .write_batch(&present, Some(&levels), None)?
            }
            Self::Name(places, names) => {
                let names: Vec<ByteArray> = names
                    .iter()
                    .map(|name| ByteArray::from(name.as_str()))
                    .collect();
                let values: Vec<ByteArray> = places[rows]
                    .iter()
                    .map(|&place| names[place as usize].clone())
                    .collect();
                writer
                    .typed::<ByteArrayType>()
                    .write_batch(&values, None, None)?
            }
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use parquet::record::RowAccessor as _;

    #[test]
    fn a_table_reads_back_with_what_it_tells() {
        let mut table = Table::default();
        table.add(
            "station",
            Column::Name(vec![1, 0], vec!["a".to_owned(), "b".to_owned()]),
        );
        table.add("frames", Column::Whole(vec![3, 4]));
        table.add("level", Column::Perhaps(vec![None, Some(2.5)]));
        table.add("collided", Column::Truth(vec![true, false]));
        let mut bytes = Vec::new();
        table
            .write(&mut bytes, &[("airpace.seed", "7".to_owned())])
            .unwrap();
        let folder =
            std::env::temp_dir().join(format!("airpace-parquet-{}.parquet", std::process::id()));
        std::fs::write(&folder, &bytes).unwrap();
        let reader = SerializedFileReader::new(std::fs::File::open(&folder).unwrap()).unwrap();
        std::fs::remove_file(&folder).unwrap();
        let told = reader
            .metadata()
            .file_metadata()
            .key_value_metadata()
            .unwrap();
        assert_eq!(
            (told[0].key.as_str(), told[0].value.as_deref()),
            ("airpace.seed", Some("7"))
        );
        let rows: Vec<_> = reader
            .get_row_iter(None)
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert_eq!(rows[0].get_string(0).unwrap(), "b");
        assert_eq!(rows[1].get_long(1).unwrap(), 4);
        assert!(rows[0].get_double(2).is_err());
        assert_eq!(rows[1].get_double(2).unwrap().to_bits(), 2.5_f64.to_bits());
        assert!(rows[0].get_bool(3).unwrap());
    }
}
