//! Rate controllers: they turn the stations' reports into the rate at which each station is sent
//! packets.
//!
//! [`Law`] names the laws and [`LawConfig`] builds them. `linear`, `linear-pf`, `dual` and
//! `nonlinear` are published laws, each as printed; corrections are separate variants, which
//! `docs/design/published-laws.md` describes. `waterfill` is our law and the default. A law of your
//! own implements [`RateController`].

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
mod tests;

pub use assumed_rate::AssumeRates;
pub use dual::{Dual, DualConfig};
pub use error::{ConfigError, UnknownLaw};
pub use law::{Aim, Goal, Law, LawConfig};
pub use linear::{Linear, LinearConfig};
pub use linear_pf::{LinearPf, LinearPfConfig, Regulated};
pub use nonlinear::{Nonlinear, NonlinearConfig, SetPoint};
pub use stream::StreamConfig;
pub use waterfill::{Waterfill, WaterfillConfig};

use crate::report::{Allocation, SlotReport};
use airpace_units::{StationId, Time};

/// A law that turns the reports of a slot into rates. It decides once per slot, and all laws see
/// the same reports.
///
/// A law must have [`name`](Self::name), [`on_slot`](Self::on_slot) and [`remove`](Self::remove).
/// The other methods are optional: one that leaves out [`on_backlog`](Self::on_backlog) and
/// [`takes_news`](Self::takes_news) decides at the ends of slots only.
///
/// The trait is object-safe: drivers hold a `Box<dyn RateController + Send>`. This law divides a
/// fixed total equally and halves the rate of a station while its frames are full:
///
/// ```
/// use airpace_core::control::RateController;
/// use airpace_core::report::{Allocation, SlotReport};
/// use airpace_units::{StationId, Time};
/// use core::time::Duration;
///
/// struct EqualShares {
///     total_pps: f64,
///     longest_frame: f64,
///     granted: Vec<Allocation>,
/// }
///
/// impl RateController for EqualShares {
///     fn name(&self) -> &'static str {
///         "equal-shares"
///     }
///
///     fn on_slot(&mut self, _now: Time, reports: &[SlotReport]) -> &[Allocation] {
///         for &SlotReport { station, .. } in reports {
///             if self.granted.iter().all(|known| known.station != station) {
///                 self.granted.push(Allocation::new(station, 0.0, 1500.0, 1.0));
///             }
///         }
///         let share_pps = self.total_pps / self.granted.len().max(1) as f64;
///         for grant in &mut self.granted {
///             let report = reports.iter().find(|report| report.station == grant.station);
///             let level = report.and_then(SlotReport::level).unwrap_or(1.0);
///             grant.rate_pps = if level < self.longest_frame { share_pps } else { share_pps / 2.0 };
///             grant.rate_bytes_per_s = 1500.0 * grant.rate_pps;
///         }
///         &self.granted
///     }
///
///     fn remove(&mut self, station: StationId) {
///         self.granted.retain(|known| known.station != station);
///     }
/// }
///
/// let mut law: Box<dyn RateController + Send> =
///     Box::new(EqualShares { total_pps: 8_000.0, longest_frame: 64.0, granted: Vec::new() });
/// let reports = [0, 1].map(|idx| SlotReport::silent(StationId(idx), Duration::from_millis(100)));
/// let rates = law.on_slot(Time::ZERO, &reports);
/// assert_eq!((rates.len(), rates[1].rate_pps), (2, 4_000.0));
/// ```
pub trait RateController {
    /// The name in tables and messages. The laws of this crate return [`Law::name`].
    fn name(&self) -> &'static str;

    /// Takes the reports of one slot, at most one per station, and returns the rates that hold from
    /// now on: one per known station.
    ///
    /// A station is known from its first report until [`RateController::remove`]. A known station
    /// that does not report keeps its last state. A report that contradicts itself (more frames
    /// than packets, time running backwards, rates that are not numbers) is ignored; no report
    /// causes a panic.
    fn on_slot(&mut self, now: Time, reports: &[SlotReport]) -> &[Allocation];

    /// Takes notice, between slots, that packets have begun or ceased to wait for the pacers of
    /// these stations. Returns the rates that hold from now on, or `None` if none changes. Pauses
    /// in them are ignored: only those of [`RateController::on_slot`] count.
    ///
    /// Optional; by default nothing happens, as in the published laws. Such a law has to keep a
    /// part of the air free for the bursts that may come, or bursts of several stations add up to a
    /// queue at the access point.
    fn on_backlog(&mut self, _now: Time, _changes: &[BacklogChange]) -> Option<&[Allocation]> {
        None
    }

    /// Whether the law can decide on the report of a single station in the middle of a slot, when
    /// that station has news. If so, [`RateController::on_slot`] is called with fewer reports, of
    /// parts of slots, and more often.
    ///
    /// Optional, by default false. The published laws cannot: their gains hold for slots of one
    /// length.
    fn takes_news(&self) -> bool {
        false
    }

    /// Forgets a station that has left.
    fn remove(&mut self, station: StationId);

    /// Sets the weight (φ) of a station's share, from 0.001 to 1000; the default is 1. Returns
    /// whether the law accepts it: false for an invalid weight and for the published laws, which
    /// have no weights.
    fn set_weight(&mut self, _station: StationId, _weight: f64) -> bool {
        false
    }

    /// Takes over another configuration of the same law without forgetting what was learnt, for
    /// example another aim. Returns whether it did; if not, nothing has changed, and a new controller
    /// must be built.
    ///
    /// Optional, by default false. The published laws cannot: their state depends on their gains.
    fn reconfigure(&mut self, _config: &LawConfig) -> bool {
        false
    }

    /// The law's estimates of the medium; all `None` for a law that estimates nothing.
    fn diagnostics(&self) -> Diagnostics {
        Diagnostics::default()
    }

    /// The law's estimate of one station, for display; `None` for a station that it does not know,
    /// and for a law that estimates nothing.
    fn station_estimate(&self, _station: StationId) -> Option<AirEstimate> {
        None
    }
}

/// What a law believes of the air that a station uses, for display.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct AirEstimate {
    /// Airtime per packet in seconds, retransmissions included, overhead of frames left out (w).
    pub packet_s: f64,
    /// Overhead per frame in seconds.
    pub frame_overhead_s: f64,
    /// Share of the time that frames from the station take, 0 to 1.
    pub uplink_share: f64,
    /// PHY rate in bit/s, reported or assumed; `None` until either is known.
    pub phy_bps: Option<f64>,
    /// What the path to the access point carries, packets per second, if the bottleneck appears to
    /// lie there.
    pub cap_pps: Option<f64>,
}

/// Packets have begun, or ceased, to wait for a station's pacer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BacklogChange {
    /// The station.
    pub station: StationId,
    /// Whether packets wait now.
    pub waits: bool,
}

/// A law's estimates of the medium, for display and for warnings.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Diagnostics {
    /// Estimated overhead of one round over all served stations, in seconds (c).
    pub overhead_s: Option<f64>,
    /// Last measured round time in seconds (D).
    pub round_s: Option<f64>,
    /// Round time in seconds that the current rates aim at.
    pub aimed_round_s: Option<f64>,
    /// While the delay target cannot be met, the smallest delay in seconds that can be.
    pub smallest_delay_s: Option<f64>,
    /// While the latency that was asked for cannot be met, the least in seconds that seems feasible.
    pub least_latency_s: Option<f64>,
    /// Price of delay (κ) that the law applies now.
    pub price: Option<f64>,
    /// Number of stations whose bottleneck appears to lie elsewhere than at the access point.
    pub capped_elsewhere: u32,
    /// Number of reports ignored because they contradicted themselves.
    pub ignored_reports: u64,
}
