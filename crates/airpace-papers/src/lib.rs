//! The figures and tables of the papers, reproduced by our own runs and judged; and the comparison
//! with ns-3.
//!
//! One module per paper: `low_delay` (000), `nonlinear` (001 and 002, two copies of one paper),
//! `wqm` (003) and `anomaly` (004). [`catalogue`] lists their rows. [`reproduction`] selects rows,
//! makes the runs they need, judges them, prints and stores the outcome. [`ns3`] runs the same
//! settings in this project's simulator and in ns-3. [`frontier`] measures goodput against delay for
//! every rate law over its knob. [`control`] offers the controllers to other
//! programs through a pipe.
//!
//! The crate decides everything in virtual time. Rows that need real packets get them through
//! [`LiveTestbed`], which the caller implements.
//!
//! ```
//! use airpace_papers::reproduction::select;
//!
//! let rows = select(&airpace_papers::catalogue(), &["003-F2".to_owned()])?;
//! assert_eq!(rows[0].id, "003-F2/3");
//! # Ok::<(), airpace_papers::reproduction::UnknownId>(())
//! ```
#![expect(
    clippy::disallowed_methods,
    reason = "runs are timed with the machine's clock; nothing that is judged depends on it"
)]

mod anomaly;
pub mod control;
pub mod frontier;
mod low_delay;
mod nonlinear;
pub mod ns3;
pub mod reproduction;
mod wqm;

pub use nonlinear::{LIVE_BUFFER_PACKETS, LIVE_MEASURED, LiveDownload, LiveSender, LiveTestbed};

use reproduction::Claim;

/// Every row, in the order of papers and figures.
#[must_use]
pub fn catalogue() -> Vec<Claim> {
    [
        low_delay::CLAIMS,
        nonlinear::CLAIMS,
        wqm::CLAIMS,
        anomaly::CLAIMS,
    ]
    .concat()
}
