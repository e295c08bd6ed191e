//! Tables on their way to pandas, polars and pyarrow.

use airpace_scenario::store::table::{Column, Table as Figures};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::UInt32Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int64Array, RecordBatch,
    RecordBatchIterator, StringArray, UInt32Array,
};
use arrow_schema::{ArrowError, Field, Schema};
use numpy::PyArray1;
use pyo3::IntoPyObjectExt as _;
use pyo3::exceptions::{PyKeyError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};
use std::sync::Arc;

/// A table of figures.
///
/// It hands its columns over by the Arrow C stream interface, so that pandas, polars and pyarrow
/// read it without copying: `polars.DataFrame(table)`, `pyarrow.table(table)`,
/// `pandas.DataFrame.from_arrow(table)`.
#[pyclass(frozen, module = "airpace._native")]
pub(crate) struct Table {
    name: String,
    batch: RecordBatch,
}

impl Table {
    /// Takes the columns of `figures` over; numbers are not copied.
    pub(crate) fn new(figures: Figures) -> PyResult<Self> {
        let name = figures.name.to_string();
        let batch = batch(figures).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        Ok(Self { name, batch })
    }
}

#[pymethods]
impl Table {
    /// What the table is called: `stations`, `flows`, ….
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The names of the columns, which end with the unit: `delay_p95_ms`.
    #[getter]
    fn columns(&self) -> Vec<String> {
        let fields = self.batch.schema_ref().fields().iter();
        fields.map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// The values of the column `name`: a NumPy array of numbers, with NaN for absent ones, or a
    /// list of texts.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let Some(column) = self.batch.column_by_name(name) else {
            let columns = self.columns().join(", ");
            let text = format!("{} has no column `{name}`: it has {columns}", self.name);
            return Err(PyKeyError::new_err(text));
        };
        values(py, column)
    }

    /// The Arrow C stream of the table. `requested_schema` is not heeded, which the interface
    /// permits.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let schema = self.batch.schema();
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

/// The columns as Arrow arrays.
fn batch(figures: Figures) -> Result<RecordBatch, ArrowError> {
    let (mut fields, mut arrays) = (Vec::new(), Vec::new());
    for (name, column) in figures.columns {
        let array = array(column)?;
        fields.push(Field::new(name, array.data_type().clone(), true));
        arrays.push(array);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
}

fn array(column: Column) -> Result<ArrayRef, ArrowError> {
    Ok(match column {
        Column::Integer(values) => Arc::new(Int64Array::from(values)),
        Column::OptionalInteger(values) => Arc::new(Int64Array::from(values)),
        Column::Float(values) => Arc::new(Float64Array::from(values)),
        Column::OptionalFloat(values) => Arc::new(Float64Array::from(values)),
        Column::Bool(values) => Arc::new(BooleanArray::from(values)),
        Column::Name { indices, names } => Arc::new(DictionaryArray::<UInt32Type>::try_new(
            UInt32Array::from(indices),
            Arc::new(StringArray::from(names)),
        )?),
    })
}

/// The values of an array of [`array`].
fn values<'py>(py: Python<'py>, array: &ArrayRef) -> PyResult<Bound<'py, PyAny>> {
    let any = array.as_any();
    if let Some(integers) = any.downcast_ref::<Int64Array>() {
        if integers.null_count() == 0 {
            return PyArray1::from_slice(py, integers.values()).into_bound_py_any(py);
        }
        let numbers = integers
            .iter()
            .map(|value| value.map_or(f64::NAN, |it| it as f64));
        return PyArray1::from_iter(py, numbers).into_bound_py_any(py);
    }
    if let Some(numbers) = any.downcast_ref::<Float64Array>() {
        let numbers = numbers.iter().map(|value| value.unwrap_or(f64::NAN));
        return PyArray1::from_iter(py, numbers).into_bound_py_any(py);
    }
    if let Some(truths) = any.downcast_ref::<BooleanArray>() {
        return PyArray1::from_iter(py, truths.iter().map(Option::unwrap_or_default))
            .into_bound_py_any(py);
    }
    let texts = any.downcast_ref::<DictionaryArray<UInt32Type>>();
    let texts = texts.and_then(|texts| texts.downcast_dict::<StringArray>());
    let texts = texts.ok_or_else(|| {
        PyRuntimeError::new_err(format!("unexpected type of column: {}", array.data_type()))
    })?;
    PyList::new(py, texts.into_iter().map(Option::unwrap_or_default))?.into_bound_py_any(py)
}
