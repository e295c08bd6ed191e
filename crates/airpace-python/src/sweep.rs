//! Runs of a sweep, wherever they are carried out, and the folder that keeps them.

use crate::failure::failed;
use crate::table::Table;
use airpace_scenario::stop::Stop;
use airpace_scenario::sweep::{self, Dataset};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// A run of a sweep.
#[pyclass(frozen, from_py_object, module = "airpace._native")]
#[derive(Clone)]
pub(crate) struct Job(pub(crate) sweep::Job);

#[pymethods]
impl Job {
    /// What tells the run from others: a hash of scenario, seed and version.
    #[getter]
    fn key(&self) -> &str {
        self.0.key()
    }

    /// All that another process needs to carry the run out.
    fn json(&self) -> String {
        self.0.to_json()
    }
}

/// Carries out the run that `Job.json` describes and returns its rows as text. A run that is refused
/// or fails is a row with an error.
#[pyfunction]
pub(crate) fn run_job(py: Python<'_>, job: &str) -> PyResult<String> {
    py.detach(|| {
        let job = sweep::Job::from_json(job)?;
        let begun = Instant::now();
        let outcome = sweep::attempt(&job, &Stop::default(), &|| begun.elapsed());
        // Nothing raises the flag that would stop it.
        let outcome = outcome.ok_or_else(|| anyhow::anyhow!("the run was stopped"))?;
        Ok(serde_json::to_string(&outcome.record)?)
    })
    .map_err(|error: anyhow::Error| failed(&error))
}

/// The rows of the run that `Job.json` describes if it could not be carried out, and why.
#[pyfunction]
pub(crate) fn failed_job(job: &str, error: &str) -> PyResult<String> {
    let record = sweep::Job::from_json(job).and_then(|job| {
        let record = sweep::failed(&job, error);
        Ok(serde_json::to_string(&record)?)
    });
    record.map_err(|error| failed(&error))
}

/// The folder of a sweep: its data set, and a journal of the runs since that was written.
#[pyclass(frozen, module = "airpace._native")]
pub(crate) struct Journal(Mutex<Option<sweep::Journal>>);

#[pymethods]
impl Journal {
    /// Opens the folder, which is created if need be, and locks it.
    #[new]
    fn new(py: Python<'_>, folder: PathBuf) -> PyResult<Self> {
        let journal = py.detach(|| sweep::Journal::open(&folder, false));
        let journal = journal.map_err(|error| failed(&error))?;
        Ok(Self(Mutex::new(Some(journal))))
    }

    /// Whether the run of this key is done.
    fn has(&self, key: &str) -> PyResult<bool> {
        self.with(|journal| Ok(journal.has(key)))
    }

    /// Adds the rows of runs, each as `run_job` returns them; they are on disk when this returns.
    fn add(&self, py: Python<'_>, records: Vec<String>) -> PyResult<()> {
        py.detach(|| {
            let records = records.iter().map(|record| serde_json::from_str(record));
            let records = records
                .collect::<Result<_, _>>()
                .map_err(|e| failed(&e.into()))?;
            self.with(|journal| journal.add_records(records))
        })
    }

    /// Writes every run that is there into the tables, and returns how many runs there are.
    fn fold(&self, py: Python<'_>, jobs: Vec<Job>) -> PyResult<usize> {
        let jobs: Vec<sweep::Job> = jobs.into_iter().map(|job| job.0).collect();
        py.detach(|| self.with(|journal| Ok(journal.fold(&jobs)?.runs.rows())))
    }

    /// Unlocks the folder.
    fn close(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl Journal {
    fn with<T>(
        &self,
        use_it: impl FnOnce(&mut sweep::Journal) -> anyhow::Result<T>,
    ) -> PyResult<T> {
        let mut journal = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match journal.as_mut() {
            Some(journal) => use_it(journal).map_err(|error| failed(&error)),
            None => Err(PyRuntimeError::new_err("the folder was closed")),
        }
    }
}

/// The tables `runs`, `stations` and `flows` of the data set in `folder`.
#[pyfunction]
pub(crate) fn read_dataset(py: Python<'_>, folder: PathBuf) -> PyResult<(Table, Table, Table)> {
    let dataset = py.detach(|| sweep::read(&folder));
    let Dataset {
        runs,
        stations,
        flows,
    } = dataset.map_err(|error| failed(&error))?;
    Ok((Table::new(runs)?, Table::new(stations)?, Table::new(flows)?))
}
