//! Rate controllers: from what stations report to what each is sent.
//!
//! [`LawConfig`] names the laws and builds them. `linear`, `linear-pf`, `dual` and `nonlinear` are the published ones, each as
//! printed (with the corrections that its page in `docs/design/published-laws.md` lists as variants of their own);
//! `waterfill` is ours and the default.

mod assumed_rate;
mod dual;
mod error;
mod law;
mod linear;
mod linear_pf;
mod nonlinear;
mod roster;
mod sample;
mod stream;
mod waterfill;

#[cfg(test)]
mod closed_loop;
#[cfg(test)]
mod plant;

pub use assumed_rate::AssumeRates;
pub use dual::{Dual, DualConfig};
pub use error::{ConfigError, UnknownLaw};
pub use law::{Goal, LAW_NAMES, LawConfig, VARIANT_NAMES};
pub use linear::{Linear, LinearConfig};
pub use linear_pf::{LinearPf, LinearPfConfig, Regulated};
pub use nonlinear::{Nonlinear, NonlinearConfig, SetPoint};
pub use stream::StreamConfig;
pub use waterfill::{Waterfill, WaterfillConfig};

use crate::report::{Allocation, SlotReport};
use airpace_units::{StationId, Time};

/// A law that turns a slot's reports into rates. One decision per slot; all laws see the same reports.
pub trait RateController {
    /// The name used in configuration and tables: `linear`, `linear-pf`, `dual`, `nonlinear`, `waterfill`.
    fn name(&self) -> &'static str;

    /// Takes the reports of one slot, at most one per station, and returns the rates from now on, one per known station.
    ///
    /// A station is known from its first report until [`RateController::remove`]. A known station without a report keeps
    /// its last state. Reports that contradict themselves (more frames than packets, time running backwards, rates that are
    /// not numbers) are ignored and never panic.
    fn on_slot(&mut self, now: Time, reports: &[SlotReport]) -> &[Allocation];

    /// Forgets a station that has left.
    fn remove(&mut self, station: StationId);

    /// Sets the weight (φ) of a station's share, from 0.001 to 1000; 1 unless set. Tells whether the law follows weights and the
    /// weight is valid: the published laws know none.
    fn set_weight(&mut self, _station: StationId, _weight: f64) -> bool {
        false
    }

    /// What the law believes about the medium; empty for laws that believe nothing.
    fn diagnostics(&self) -> Diagnostics {
        Diagnostics::default()
    }
}

/// What a law believes about the medium, for display and for warnings.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Diagnostics {
    /// Estimated overhead of one round over all served stations, in seconds (c).
    pub overhead_s: Option<f64>,
    /// Last measured round time in seconds (D).
    pub round_s: Option<f64>,
    /// Round time in seconds that the present rates aim at.
    pub aimed_round_s: Option<f64>,
    /// Set while the delay target cannot be met: the smallest delay, in seconds, that can.
    pub smallest_delay_s: Option<f64>,
    /// Stations whose bottleneck appears to lie elsewhere than at the access point.
    pub capped_elsewhere: u32,
    /// Reports ignored because they contradicted themselves.
    pub ignored_reports: u64,
}
