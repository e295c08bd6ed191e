//! Reading back the files that [`super::write`] writes.

use crate::store::table::{Column, Table};
use anyhow::{Context as _, Result, bail};
use parquet::basic::Repetition;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use std::fs::File;
use std::path::Path;

/// Reads the table `name` from the file at `path`.
///
/// # Errors
/// The file cannot be read, or has columns of kinds that tables do not have.
pub(crate) fn read(path: &Path, name: &'static str) -> Result<Table> {
    read_file(path, name).with_context(|| format!("reading {}", path.display()))
}

fn read_file(path: &Path, name: &'static str) -> Result<Table> {
    let reader = SerializedFileReader::new(File::open(path)?)?;
    let mut groups = Vec::new();
    for idx in 0..reader.num_row_groups() {
        let group = reader.get_row_group(idx)?;
        let schema = group.metadata().schema_descr_ptr();
        let rows = group.metadata().num_rows() as usize;
        let mut table = Table::new(name);
        for (idx, column) in schema.columns().iter().enumerate() {
            let may_be_absent =
                column.self_type().get_basic_info().repetition() == Repetition::OPTIONAL;
            let values = read_column(group.get_column_reader(idx)?, rows, may_be_absent)
                .with_context(|| format!("column `{}`", column.name()))?;
            table.add(column.name().to_owned(), values);
        }
        groups.push(table);
    }
    let groups: Vec<&Table> = groups.iter().collect();
    Ok(Table::stack(name, &groups)?)
}

fn read_column(reader: ColumnReader, rows: usize, may_be_absent: bool) -> Result<Column> {
    Ok(match (reader, may_be_absent) {
        (ColumnReader::Int64ColumnReader(reader), false) => {
            Column::Integer(read_values(reader, rows)?)
        }
        (ColumnReader::Int64ColumnReader(reader), true) => {
            Column::OptionalInteger(read_optional(reader, rows)?)
        }
        (ColumnReader::DoubleColumnReader(reader), false) => {
            Column::Float(read_values(reader, rows)?)
        }
        (ColumnReader::DoubleColumnReader(reader), true) => {
            Column::OptionalFloat(read_optional(reader, rows)?)
        }
        (ColumnReader::BoolColumnReader(reader), false) => Column::Bool(read_values(reader, rows)?),
        (ColumnReader::ByteArrayColumnReader(reader), false) => {
            let values: Vec<ByteArray> = read_values(reader, rows)?;
            let mut texts = Vec::new();
            for value in &values {
                texts.push(value.as_utf8()?);
            }
            Column::of_texts(texts)
        }
        _ => bail!("tables of airpace have no column of this kind"),
    })
}

fn read_values<T: DataType>(mut reader: ColumnReaderImpl<T>, rows: usize) -> Result<Vec<T::T>> {
    let mut values = Vec::new();
    reader.read_records(rows, None, None, &mut values)?;
    if values.len() != rows {
        bail!("{} of {rows} rows are there", values.len());
    }
    Ok(values)
}

fn read_optional<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    rows: usize,
) -> Result<Vec<Option<T::T>>> {
    let (mut present, mut levels) = (Vec::new(), Vec::new());
    reader.read_records(rows, Some(&mut levels), None, &mut present)?;
    if levels.len() != rows {
        bail!("{} of {rows} rows are there", levels.len());
    }
    let mut present = present.into_iter();
    let mut values = Vec::new();
    for level in levels {
        values.push(if level == 1 { present.next() } else { None });
    }
    Ok(values)
}
