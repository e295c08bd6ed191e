//! Selecting, running, judging and printing the rows of the papers.
//!
//! A [`Claim`] is a row: the runs it needs ([`Case`]s) and how it is judged. [`select`] finds
//! claims by their ids. [`reproduce`] makes the runs on all cores, each once however many rows use
//! it, and judges the rows. [`render`] prints the outcome and [`store`] writes the data behind it.
//!
//! The bars are those of the papers: where a paper prints a figure, the bar is that figure; where
//! it says "about", the tolerance stands beside it. No bar is moved because a run misses it. A row
//! that misses a bar is reported as not reproduced, with what was measured.

mod case;
mod claim;
mod findings;
pub mod render;
mod runner;
mod sample;
mod select;
mod series;
pub mod store;
#[cfg(test)]
mod tests;
pub mod verdicts;

pub use case::{Case, Figures, Run};
pub use claim::Claim;
pub use runner::{Completed, Effort, Progress, ReproduceError, reproduce};
pub use select::{UnknownId, select};

pub(crate) use case::{Results, flows, links, mean_if_complete, stations};
pub(crate) use findings::{Bar, Findings, figure};
pub(crate) use sample::Sample;
pub(crate) use series::{
    decisions, deviation, level_and_delay, levels, line, mean, persistence, quantile, settled,
};
