//! The papers' figures and tables, made again from our own runs and judged.
//!
//! A [`Claim`] is a row: what it needs to be run ([`Case`]s) and how it is judged. [`select`] finds claims by ids, [`reproduce`] makes their
//! runs on all cores, each run once however many rows rest on it, and judges them; [`render`] prints the outcome and [`store`] leaves the data.
//! The bars are those of the papers: where they print a figure it is the figure, where they say "about" the tolerance stands beside it. No bar
//! is moved because a run misses it; a row that misses one is told as not reproduced, with what was measured.

mod anomaly;
mod case;
mod claim;
pub mod control;
mod findings;
mod low_delay;
mod nonlinear;
pub mod ns3;
mod pool;
pub mod render;
mod sample;
mod select;
mod series;
pub mod store;
#[cfg(test)]
mod tests;
pub mod verdicts;
mod wqm;

pub use case::{Case, Figures, Run};
pub use claim::{Claim, catalogue};
pub use pool::{Effort, Made, reproduce};
pub use select::{UnknownId, select};
