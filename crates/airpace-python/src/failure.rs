//! Errors on their way to Python.

use airpace_scenario::file::DocumentError;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::{PyErr, create_exception};
use std::sync::{Arc, Mutex, PoisonError};

create_exception!(
    airpace._native,
    ScenarioError,
    PyValueError,
    "A scenario, or a setting of it, is refused. The text is that of the program `airpace`: where, why, and what to do."
);

/// The exception for a refused scenario that messages call `name`.
pub(crate) fn refused(error: &DocumentError, name: &str) -> PyErr {
    let mut text = error.one_line(name);
    if let Some(excerpt) = error.excerpt() {
        text.push('\n');
        text.push_str(excerpt);
    }
    ScenarioError::new_err(text)
}

/// The exception for anything else that went wrong, with its causes.
pub(crate) fn failed(error: &anyhow::Error) -> PyErr {
    PyRuntimeError::new_err(format!("{error:#}"))
}

/// The first exception of the Python code that takes part in a run, which ends the run.
#[derive(Clone, Default)]
pub(crate) struct FirstError(Arc<Mutex<Option<PyErr>>>);

impl FirstError {
    /// Keeps `error` unless there was one before.
    pub(crate) fn keep(&self, error: PyErr) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(error);
    }

    /// Whether there was an exception.
    pub(crate) fn is_there(&self) -> bool {
        let first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        first.is_some()
    }

    /// The exception, if there was one.
    pub(crate) fn take(&self) -> Option<PyErr> {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        first.take()
    }
}
