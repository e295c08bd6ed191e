//! Runs.

use crate::failure::{FirstError, failed, refused};
use crate::law::{self, PythonLaws};
use crate::queue::{self, PythonQueues};
use crate::scenario::Scenario;
use crate::table::Table;
use airpace_scenario::results::SimulationSummary;
use airpace_scenario::run::{self, Finished};
use airpace_scenario::stop::Stop;
use airpace_scenario::{store, table};
use pyo3::prelude::*;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The result of a run.
#[pyclass(frozen, module = "airpace._native")]
pub(crate) struct Run {
    summary: SimulationSummary,
    tables: BTreeMap<String, Py<Table>>,
}

#[pymethods]
impl Run {
    /// The summary as JSON: what `airpace sim run --json` prints.
    fn json(&self) -> PyResult<String> {
        serde_json::to_string(&self.summary).map_err(|error| failed(&error.into()))
    }

    /// The figures as text: what `airpace sim run` prints.
    fn text(&self) -> String {
        table::render(&self.summary)
    }

    /// The names of the tables that were recorded.
    fn names(&self) -> Vec<&str> {
        self.tables.keys().map(String::as_str).collect()
    }

    /// The table `name`; `None` if it was not recorded.
    fn table(&self, py: Python<'_>, name: &str) -> Option<Py<Table>> {
        self.tables.get(name).map(|table| table.clone_ref(py))
    }
}

/// Runs `scenario`, with the laws and queues that the factories `law` and `queue` build in place of
/// those of its proxies and access points. `progress` is called now and then with the simulated
/// time that is done and the whole, in seconds. Files go to `out`, if given.
#[pyfunction]
#[pyo3(signature = (scenario, law = None, queue = None, progress = None, out = None))]
pub(crate) fn simulate(
    py: Python<'_>,
    scenario: &Scenario,
    law: Option<Py<PyAny>>,
    queue: Option<Py<PyAny>>,
    progress: Option<Py<PyAny>>,
    out: Option<PathBuf>,
) -> PyResult<Run> {
    let Scenario { loaded, name } = scenario;
    let errors = FirstError::default();
    let mut network = py
        .detach(|| loaded.resolve())
        .map_err(|error| refused(&error, name))?;
    if let Some(factory) = law {
        law::plug_in(&mut network, PythonLaws::new(factory, errors.clone()))?;
    }
    if let Some(factory) = queue {
        queue::plug_in(&mut network, PythonQueues::new(factory, errors.clone()))?;
    }
    let stop = Stop::default();
    let watch = Watch {
        stop: stop.clone(),
        errors: errors.clone(),
        progress,
        looked: Cell::new(Instant::now()),
    };
    let begun = Instant::now();
    let finished = py.detach(move || {
        run::run(loaded, network, &stop, &|done, total| {
            watch.on_step(done, total)
        })
    });
    if let Some(error) = errors.take() {
        return Err(error);
    }
    let mut finished = finished.map_err(|error| failed(&error.into()))?;
    let finished = finished.as_mut().ok_or_else(|| {
        failed(&anyhow::anyhow!(
            "stopped within the warm-up: nothing was measured"
        ))
    })?;
    finished.summary.set_wall_time(begun.elapsed());
    if let Some(folder) = out {
        let files = py.detach(|| store::store(&folder, finished, &loaded.scenario.record));
        files.map_err(|error| failed(&error))?;
    }
    result(py, scenario, finished)
}

fn result(py: Python<'_>, scenario: &Scenario, finished: &Finished) -> PyResult<Run> {
    let mut tables = BTreeMap::new();
    let figures = py.detach(|| store::tables(finished, &scenario.loaded.scenario.record));
    for figures in figures {
        let name = figures.name.to_string();
        tables.insert(name, Py::new(py, Table::new(figures)?)?);
    }
    Ok(Run {
        summary: finished.summary.clone(),
        tables,
    })
}

/// What happens between the steps of a run.
struct Watch {
    stop: Stop,
    errors: FirstError,
    progress: Option<Py<PyAny>>,
    looked: Cell<Instant>,
}

/// Wall time between two looks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(100);

impl Watch {
    fn on_step(&self, done: Duration, total: Duration) {
        if self.errors.is_there() {
            self.stop.raise();
        } else if self.looked.get().elapsed() >= LOOK || done >= total {
            self.looked.set(Instant::now());
            if let Err(error) = Python::attach(|py| self.look(py, done, total)) {
                self.errors.keep(error);
                self.stop.raise();
            }
        }
    }

    fn look(&self, py: Python<'_>, done: Duration, total: Duration) -> PyResult<()> {
        py.check_signals()?;
        if let Some(progress) = &self.progress {
            progress.call1(py, (done.as_secs_f64(), total.as_secs_f64()))?;
        }
        Ok(())
    }
}
