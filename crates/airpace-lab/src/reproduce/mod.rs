//! The papers' figures and tables, made again from our own runs and judged.
//!
//! A [`Claim`] is a row: what it needs to be run ([`Case`]s) and how it is judged. [`select`] finds claims by ids, [`reproduce`] makes their
//! runs on all cores, each run once however many rows rest on it, and judges them; [`render`] prints the outcome and [`store`] leaves the data.
//! The bars are those of the papers: where they print a figure it is the figure, where they say "about" the tolerance stands beside it. No bar
//! is moved because a run misses it; a row that misses one is told as not reproduced, with what was measured.

mod case;
mod claim;
mod findings;
mod pool;
pub mod render;
mod row_of_000;
mod row_of_002;
mod row_of_003;
mod row_of_004;
mod sample;
mod select;
mod series;
pub mod store;
#[cfg(test)]
mod tests;

pub use case::{Case, Figures, Run};
pub use claim::{Claim, catalogue};
pub use pool::{Effort, Made, reproduce};
pub use select::{UnknownId, select};
