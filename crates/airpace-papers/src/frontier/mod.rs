//! The frontier of goodput and delay: cells × loads × arms in virtual time.
//!
//! A [`Cell`] is a scenario file with an access point and stations. A [`Load`] adds a bulk download
//! and a ping per station. An [`Arm`] decides what stands at or in front of the access point, and
//! its [`Setting`]s are the values of its knob. [`measure`] runs all of them with several seeds and
//! returns a [`Row`] for each; [`judge`] says which bars the rows meet.
//!
//! The same version, cells and [`Effort`] give the same rows, to the byte.

mod arm;
mod cell;
mod judge;
mod load;
mod render;
mod row;
mod run;
mod store;
#[cfg(test)]
mod tests;

pub use arm::{Arm, Setting};
pub use cell::{Cell, CellError, EXTRA_SET, MAIN_SET, select};
pub use judge::{Outcome, Verdict, judge};
pub use load::Load;
pub use render::text;
pub use row::{FRONTIER_FORMAT, Frontier, Row};
pub use run::{Effort, FrontierError, Plan, Progress, measure};
pub use store::store;
