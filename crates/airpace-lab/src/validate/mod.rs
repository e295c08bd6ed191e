//! This project's simulator against ns-3: the same settings in both, and the differences held against bars.

mod figures;
pub mod reference;
mod setting;

pub use figures::{Delay, Figures, Part, simulate};
pub use setting::{Control, Load, Setting, Station};
