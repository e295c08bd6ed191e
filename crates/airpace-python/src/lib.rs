//! The Python module `airpace._native`, on which the package `airpace` in `python/airpace` stands.
//!
//! It reads scenarios, runs them with the interpreter's lock released, hands their tables over by the Arrow
//! C stream interface, and lets laws and queues that are written in Python decide in a run. It
//! computes nothing itself: every figure comes from the crates below.
//!
//! What it refuses to do: files of results other than a sweep's data set, sockets, plots. Texts of
//! errors are those of the program `airpace`.
//!
//! Three types to know:
//! - `Scenario`, read and checked;
//! - `Run`, the result of a run;
//! - `Table`, which pandas, polars and pyarrow read without copying.
#![expect(
    clippy::disallowed_methods,
    reason = "runs look for Ctrl-C at intervals of wall time"
)]

mod failure;
mod law;
mod queue;
mod run;
mod scenario;
mod sweep;
mod table;
mod vector;

/// The module.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use crate::failure::ScenarioError;
    #[pymodule_export]
    use crate::law::{Allocation, SlotReport};
    #[pymodule_export]
    use crate::queue::{Packet, QueueSite, Store};
    #[pymodule_export]
    use crate::run::{Run, simulate};
    #[pymodule_export]
    use crate::scenario::{Scenario, setting, to_toml};
    #[pymodule_export]
    use crate::sweep::{Job, Journal, failed_job, read_dataset, run_job};
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    use crate::vector::{
        allocate, data_rate_mbps, exchange_s, frame_s, jain, link, mean_delay_s,
        mean_opinion_score, most_mpdus, mpdu_error, operating, round_variation,
    };

    /// Version of airpace.
    #[pymodule_export]
    const VERSION: &str = airpace_scenario::PROGRAM_VERSION;
}
