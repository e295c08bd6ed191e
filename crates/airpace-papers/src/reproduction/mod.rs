//! Selecting, running, judging and printing the rows of the papers.
//!
//! A [`Claim`] is a row: the runs it needs ([`Case`]s) and how it is judged. [`select`] finds
//! claims by their ids. [`reproduce`] makes the runs on all cores, each once however many rows use
//! it, and judges the rows. [`render`] prints the outcome and [`store`] writes the data behind it.
//!
//! Each relation shows what the paper prints, our figure, the distance between them, and a verdict
//! by the confidence interval over the seeds: it holds, is missed, or is inconclusive. Where a paper
//! prints a figure, the bar is that figure; where it says "about", the tolerance stands beside it.
//! No bar is moved because a run misses it. What a figure depends on is shown by variants: the same
//! figure from runs with other settings.

mod board;
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

pub use case::{Case, Figures, Run, Trial};
pub use claim::Claim;
pub use runner::{Completed, Effort, Progress, ReproduceError, reproduce};
pub use select::{UnknownId, select};

pub(crate) use case::{Results, flows, links, mean_if_complete, stations};
pub(crate) use findings::{Bar, Findings, Printed};
pub(crate) use sample::Sample;
pub(crate) use series::{decisions, deviation, levels, line, mean, persistence, quantile, settled};
