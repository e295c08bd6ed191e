//! This project's simulator against ns-3: the same settings in both, and bars for the differences.

mod error_model;
mod figures;
mod grid;
pub mod neighbours;
mod program;
pub mod reference;
mod report;
mod run;
mod setting;

pub use figures::{Delay, Figures, Part, simulate};
pub use grid::{Case, Extent, cases};
pub use program::Ns3;
pub use report::{Report, Row, Speed, rows};
pub use run::{Progress, ValidateConfig, validate};
pub use setting::{Control, Load, Setting, Station};
