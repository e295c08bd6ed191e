//! Tables as Parquet files, column by column; without Arrow, which takes minutes to build.

mod read;

pub(crate) use read::read;

use super::table::{Column, Table};
use anyhow::Result;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};
use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

/// Rows of a row group, the unit that a reader takes into memory at once.
const ROWS_PER_GROUP: usize = 1 << 20;

/// Writes `table` as a file that carries `metadata`.
pub(crate) fn write<W: Write + Send>(
    table: &Table,
    out: W,
    metadata: &[(&'static str, String)],
) -> Result<()> {
    let mut pairs = Vec::new();
    for (key, value) in metadata {
        pairs.push(KeyValue::new((*key).to_owned(), value.clone()));
    }
    // The creator names this program and not the version of the library, so that the bytes do not
    // change with it.
    let properties = WriterProperties::builder()
        .set_created_by(format!("airpace {}", crate::PROGRAM_VERSION))
        .set_key_value_metadata(Some(pairs))
        .build();
    let mut file = SerializedFileWriter::new(out, schema(table)?, Arc::new(properties))?;
    let rows = table.rows();
    for begin in (0..rows).step_by(ROWS_PER_GROUP) {
        let mut group = file.next_row_group()?;
        for (_, column) in &table.columns {
            let Some(mut writer) = group.next_column()? else {
                break;
            };
            write_rows(column, &mut writer, begin..rows.min(begin + ROWS_PER_GROUP))?;
            writer.close()?;
        }
        group.close()?;
    }
    file.close()?;
    Ok(())
}

fn schema(table: &Table) -> Result<TypePtr> {
    let mut fields = Vec::new();
    for (name, column) in &table.columns {
        fields.push(Arc::new(column_type(name, column)?));
    }
    let root = Type::group_type_builder("airpace").with_fields(fields);
    Ok(Arc::new(root.build()?))
}

fn column_type(name: &str, column: &Column) -> Result<Type> {
    let (physical, logical) = match column {
        Column::Integer(_) | Column::OptionalInteger(_) => (Physical::INT64, None),
        Column::Float(_) | Column::OptionalFloat(_) => (Physical::DOUBLE, None),
        Column::Bool(_) => (Physical::BOOLEAN, None),
        Column::Name { .. } => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let repetition = if matches!(
        column,
        Column::OptionalFloat(_) | Column::OptionalInteger(_)
    ) {
        Repetition::OPTIONAL
    } else {
        Repetition::REQUIRED
    };
    let column = Type::primitive_type_builder(name, physical).with_repetition(repetition);
    Ok(column.with_logical_type(logical).build()?)
}

fn write_rows(
    column: &Column,
    writer: &mut SerializedColumnWriter<'_>,
    rows: Range<usize>,
) -> Result<()> {
    match column {
        Column::Integer(values) => {
            let writer = writer.typed::<Int64Type>();
            writer.write_batch(&values[rows], None, None)?
        }
        Column::Float(values) => {
            let writer = writer.typed::<DoubleType>();
            writer.write_batch(&values[rows], None, None)?
        }
        Column::Bool(values) => {
            let writer = writer.typed::<BoolType>();
            writer.write_batch(&values[rows], None, None)?
        }
        Column::OptionalFloat(values) => {
            let (present, levels) = present(&values[rows]);
            let writer = writer.typed::<DoubleType>();
            writer.write_batch(&present, Some(&levels), None)?
        }
        Column::OptionalInteger(values) => {
            let (present, levels) = present(&values[rows]);
            let writer = writer.typed::<Int64Type>();
            writer.write_batch(&present, Some(&levels), None)?
        }
        Column::Name { indices, names } => {
            // Clones of a `ByteArray` share its bytes.
            let names: Vec<ByteArray> = names.iter().map(|name| name.as_str().into()).collect();
            let mut values = Vec::new();
            for &index in &indices[rows] {
                values.push(names[index as usize].clone());
            }
            let writer = writer.typed::<ByteArrayType>();
            writer.write_batch(&values, None, None)?
        }
    };
    Ok(())
}

/// How the format stores values of which some are absent: those that are present, and per row a
/// definition level, which is 1 if its value is present.
fn present<T: Copy>(values: &[Option<T>]) -> (Vec<T>, Vec<i16>) {
    let levels = values.iter().map(|value| i16::from(value.is_some()));
    (values.iter().flatten().copied().collect(), levels.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use parquet::record::RowAccessor as _;

    #[test]
    fn a_table_reads_back_with_its_metadata() {
        let mut table = Table::new("stations");
        table.add(
            "station",
            Column::Name {
                indices: vec![0, 1],
                names: vec!["b".to_owned(), "a".to_owned()],
            },
        );
        table.add("frames", Column::Integer(vec![3, 4]));
        table.add("level", Column::OptionalFloat(vec![None, Some(2.5)]));
        table.add("pages", Column::OptionalInteger(vec![Some(5), None]));
        table.add("collided", Column::Bool(vec![true, false]));
        let mut bytes = Vec::new();
        write(&table, &mut bytes, &[("airpace.seed", "7".to_owned())]).unwrap();
        let path =
            std::env::temp_dir().join(format!("airpace-parquet-{}.parquet", std::process::id()));
        std::fs::write(&path, &bytes).unwrap();
        let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
        let metadata = reader
            .metadata()
            .file_metadata()
            .key_value_metadata()
            .unwrap();
        assert_eq!(
            (metadata[0].key.as_str(), metadata[0].value.as_deref()),
            ("airpace.seed", Some("7"))
        );
        assert_eq!(read(&path, "stations").unwrap(), table);
        std::fs::remove_file(&path).unwrap();
        let rows: Vec<_> = reader
            .get_row_iter(None)
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert_eq!(rows[0].get_string(0).unwrap(), "b");
        assert_eq!(rows[1].get_long(1).unwrap(), 4);
        assert!(rows[0].get_double(2).is_err());
        assert_eq!(rows[1].get_double(2).unwrap().to_bits(), 2.5_f64.to_bits());
        assert_eq!(rows[0].get_long(3).unwrap(), 5);
        assert!(rows[0].get_bool(4).unwrap());
    }
}
