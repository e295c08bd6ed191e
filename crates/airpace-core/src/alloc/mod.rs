//! How stations share the airtime: the proportional fair allocation in closed form, other utilities
//! by a conic solver.
//!
//! Problem P′ (002 eq. 7–9, with weights φ): maximise Σ φᵢ log xᵢ subject to an aggregation level
//! μᵢ ≤ N̄ᵢ for every station and a round time D ≤ T̄, where μᵢ = c xᵢ / (1 − wᵀx) and D = c / (1 −
//! wᵀx). With a price of delay κ ([`DelayTerms`]), κ Φ log D is subtracted from the objective, Φ
//! being the sum of the weights. [`waterfill`] solves it exactly in O(n log n); [`Waterfill`] does the same in buffers that
//! it keeps, for controllers that allocate every slot. `conic`, behind the cargo feature of that
//! name, takes any α-fair or piecewise linear utility; the closed form is tested against it.
//! [`theorem1`] is the closed form that paper 000 prints.
//!
//! ```
//! use airpace_core::alloc::{Problem, Station, waterfill};
//!
//! let stations = [58.5e6, 175.5e6, 175.5e6, 351e6, 390e6].map(|rate| Station::new(12_000.0 / rate, 214e-6, 32.0));
//! let solution = waterfill(&Problem::new(stations.to_vec(), Some(20e-3))?)?;
//! assert!((solution.level[0] - 7.6748).abs() < 1e-4 && solution.level[4] == 32.0);
//! assert!((solution.round_s - 7.8716e-3).abs() < 1e-7);
//!
//! let hopeless = waterfill(&Problem::new(stations.to_vec(), Some(1e-3))?).unwrap_err();
//! assert!((hopeless.smallest_s - 1.4768e-3).abs() < 1e-6);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "conic")]
mod conic;
mod problem;
mod theorem1;
mod waterfill;

#[cfg(feature = "conic")]
pub use conic::{ConicError, Utility, conic};
pub use problem::{DelayTerms, Infeasible, Problem, ProblemError, Solution, Station, Violation};
pub use theorem1::{Reading, theorem1};
pub use waterfill::{Filled, Waterfill, WaterfillError, waterfill};
