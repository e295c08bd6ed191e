//! Scenarios from texts and dictionaries.

use crate::failure::{failed, refused};
use crate::sweep::Job;
use airpace_scenario::Loaded;
use airpace_scenario::file::Override;
use airpace_scenario::sweep::{self, Axis};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyMapping, PySequence, PyString};
use std::path::PathBuf;

/// A scenario that was read and checked.
#[pyclass(frozen, module = "airpace._native")]
pub(crate) struct Scenario {
    pub(crate) loaded: Loaded,
    /// What messages call it.
    pub(crate) name: String,
}

#[pymethods]
impl Scenario {
    /// Reads `text`, TOML, with `settings` put in: pairs of a dotted key and a value as text.
    /// `name` is what messages call it; paths of files in it are relative to `folder`.
    #[new]
    fn new(
        text: &str,
        name: String,
        folder: PathBuf,
        settings: Vec<(String, String)>,
    ) -> PyResult<Self> {
        let loaded = Loaded::new(text, overrides(settings)?, &folder);
        let loaded = loaded.map_err(|error| refused(&error, &name))?;
        Ok(Self { loaded, name })
    }

    /// The runs of a sweep over `over`, pairs of a key and its values, with `repeats` seeds each.
    fn jobs(&self, over: Vec<(String, Vec<String>)>, repeats: u32) -> PyResult<Vec<Job>> {
        let mut axes = Vec::new();
        for (key, values) in over {
            if values.is_empty() {
                return Err(PyValueError::new_err(format!("`{key}` has no values")));
            }
            let values = overrides(
                values
                    .into_iter()
                    .map(|value| (key.clone(), value))
                    .collect(),
            )?;
            let values = values.into_iter().map(|setting| setting.value).collect();
            axes.push(Axis { key, values });
        }
        let jobs = sweep::jobs(&self.loaded, &axes, repeats);
        let jobs = jobs.map_err(|error| refused(&error, &self.name))?;
        Ok(jobs.into_iter().map(Job).collect())
    }
}

/// Settings from keys and values.
fn overrides(settings: Vec<(String, String)>) -> PyResult<Vec<Override>> {
    let mut overrides = Vec::new();
    for (key, value) in settings {
        let setting = format!("{key}={value}").parse();
        overrides.push(setting.map_err(PyValueError::new_err)?);
    }
    Ok(overrides)
}

/// The text of a scenario that is given as a dictionary.
#[pyfunction]
pub(crate) fn to_toml(scenario: &Bound<'_, PyDict>) -> PyResult<String> {
    let table = value_of(scenario, "", 0)?;
    toml::to_string(&table).map_err(|error| failed(&error.into()))
}

/// A value as the text of a setting: texts stay as they are unless TOML would take them for
/// something else.
#[pyfunction]
pub(crate) fn setting(key: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    let value = value_of(value, key, 0)?;
    if let toml::Value::String(text) = &value
        && text.parse::<toml::Value>().is_err()
        && !text.contains(['\n', '"'])
        && text.trim() == text
    {
        return Ok(text.clone());
    }
    Ok(value.to_string())
}

/// Most tables and lists within each other; a scenario has five. A dictionary may contain itself.
const DEPTH_MOST: u32 = 16;

/// The TOML value of a Python one within `depth` others; `at` is its key, for messages.
fn value_of(value: &Bound<'_, PyAny>, at: &str, depth: u32) -> PyResult<toml::Value> {
    if depth > DEPTH_MOST {
        let text = "the scenario has too many tables within each other: does one contain itself?";
        return Err(PyValueError::new_err(text));
    }
    if value.is_instance_of::<PyString>() {
        return Ok(toml::Value::String(value.extract()?));
    }
    if value.is_instance_of::<PyBool>() {
        return Ok(toml::Value::Boolean(value.extract()?));
    }
    if value.is_instance_of::<PyInt>() {
        return integer_of(value, at);
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(toml::Value::Float(value.extract()?));
    }
    if let Ok(mapping) = value.cast::<PyMapping>() {
        let mut table = toml::Table::new();
        for item in mapping.items()? {
            let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
            let Ok(key) = key.extract::<String>() else {
                let text = format!("the key {} is not a text", key.repr()?);
                return Err(PyTypeError::new_err(text));
            };
            let inner = if at.is_empty() {
                key.clone()
            } else {
                format!("{at}.{key}")
            };
            table.insert(key, value_of(&value, &inner, depth + 1)?);
        }
        return Ok(toml::Value::Table(table));
    }
    if let Ok(sequence) = value.cast::<PySequence>() {
        let mut list = Vec::new();
        for (idx, item) in sequence.try_iter()?.enumerate() {
            list.push(value_of(&item?, &format!("{at}.{idx}"), depth + 1)?);
        }
        return Ok(toml::Value::Array(list));
    }
    // Arrays, series and scalars of NumPy and pandas.
    if value.hasattr("tolist")? {
        return value_of(&value.call_method0("tolist")?, at, depth + 1);
    }
    number_of(value, at)
}

/// The value of a whole number.
fn integer_of(value: &Bound<'_, PyAny>, at: &str) -> PyResult<toml::Value> {
    let Ok(number) = value.extract() else {
        let text = format!("`{at}` is {}: it must be less than 2^63", value.repr()?);
        return Err(PyValueError::new_err(text));
    };
    Ok(toml::Value::Integer(number))
}

/// The value of a number of another library, or of a path.
fn number_of(value: &Bound<'_, PyAny>, at: &str) -> PyResult<toml::Value> {
    if value.hasattr("__index__")? {
        return integer_of(value, at);
    }
    if value.hasattr("__float__")? {
        return Ok(toml::Value::Float(value.extract()?));
    }
    if value.hasattr("__fspath__")? {
        let path: PathBuf = value.extract()?;
        return Ok(toml::Value::String(path.display().to_string()));
    }
    Err(PyTypeError::new_err(format!(
        "`{at}` is {}: give a number, a truth value, a text, a list or a dictionary",
        value.repr()?
    )))
}
