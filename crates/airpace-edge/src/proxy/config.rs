//! What a proxy must know before it begins.

use super::InteractiveConfig;
use airpace_core::control::{LawConfig, RateController};
use airpace_core::pace::PaceConfig;
use airpace_core::queue::{CoDelConfig, FqCoDelConfig, L4sConfig};
use airpace_units::BitRate;
use core::fmt;
use core::time::Duration;
use std::sync::Arc;

/// Configuration of a [`Proxy`](super::Proxy). Durations of zero and rates that are not numbers are
/// the caller's to refuse: see `airpace-api` for the checks that configuration files get.
#[derive(Clone, PartialEq, Debug)]
pub struct ProxyConfig {
    /// What sets the stations' rates.
    pub pacing: Pacing,
    /// Length of a slot (Δ): one report per station and one decision each. Default 100 ms.
    pub slot: Duration,
    /// The rate of a station before its first report.
    pub start: StartRate,
    /// Bytes of a typical packet on the air, IP header included, by which rates in bit/s that no
    /// law gave become packets per second. Default 1500.
    pub packet_bytes: u32,
    /// Aggregation level assumed for rates that no law gave, packets per frame. Default 32.
    pub level: f64,
    /// Delay target (T̄) that the law was given, for the warning that it cannot be met. The law
    /// itself has it in [`ProxyConfig::pacing`].
    pub delay_target: Option<Duration>,
    /// The pacer of each station. Its `burst` is also how much packets are gathered: see
    /// [`super::GATHER_SHARE`].
    pub pace: PaceConfig,
    /// Overhead of a frame assumed for stations that report no PHY rate. Default 214 µs.
    pub frame_overhead: Duration,
    /// The queue in front of each pacer.
    pub queue: FqCoDelConfig,
    /// The low-latency queue beside it, for packets with ECT(1) (L4S, RFC 9330); `None`: they are
    /// queued like all others. Default on: it changes nothing for other packets.
    pub l4s: Option<L4sConfig>,
    /// What is done when reports stop coming.
    pub fallback: Fallback,
    /// Bytes that the way to the station adds to each packet: the headers of a tunnel, or nothing
    /// in-line.
    pub packet_overhead: u32,
    /// Whether packets are sent over the air in their own access category. A tunnel that hides their
    /// code points sends all of them as best effort. Default yes.
    pub keeps_category: bool,
    /// Priority for the packets of sparse flows at an access point with WMM. Default none.
    pub interactive: Option<InteractiveConfig>,
    /// Whether everything is measured and decided, and nothing is held back: packets leave at once,
    /// and the pacers only count which of them they would have held. Default no.
    pub dry_run: bool,
    /// Whether a record per station and slot is made (see [`super::SlotRecord`]). It costs 10 kB
    /// per station.
    pub records: bool,
    /// The stations, numbered in this order.
    pub stations: Vec<StationConfig>,
}

impl Default for ProxyConfig {
    fn default() -> Self {
        let pace = PaceConfig::default();
        Self {
            pacing: Pacing::Unpaced,
            slot: Duration::from_millis(100),
            start: StartRate::Fixed(BitRate::from_mbps(20)),
            packet_bytes: 1500,
            level: 32.0,
            delay_target: None,
            frame_overhead: pace.frame_overhead,
            pace,
            queue: FqCoDelConfig {
                codel: CoDelConfig::paced(),
                // What acknowledgements permit takes the station's airtime as its other packets do.
                charge_acknowledged: true,
                ..FqCoDelConfig::default()
            },
            l4s: Some(L4sConfig::default()),
            fallback: Fallback::default(),
            packet_overhead: 0,
            keeps_category: true,
            interactive: None,
            dry_run: false,
            records: false,
            stations: Vec::new(),
        }
    }
}

/// What sets the stations' rates.
#[derive(Clone, PartialEq, Debug)]
pub enum Pacing {
    /// A law, from the stations' reports.
    Law(LawConfig),
    /// A law of the user's own, from the same reports.
    Custom(CustomLaw),
    /// Every station has this rate, whatever it reports.
    Fixed(BitRate),
    /// Everything passes at once; reports are only recorded.
    Unpaced,
}

/// A rate law of the user's own: a function that makes a fresh controller.
///
/// ```
/// use airpace_core::control::{LawConfig, Law, Goal};
/// use airpace_edge::proxy::{CustomLaw, Pacing};
/// // Any type that implements `RateController` will do; here it is a built-in one.
/// let law = CustomLaw::new(|| {
///     LawConfig::named(Law::Linear, Goal::papers(24.0, None)).build().expect("valid")
/// });
/// assert!(matches!(Pacing::Custom(law), Pacing::Custom(_)));
/// ```
#[derive(Clone)]
pub struct CustomLaw(Arc<dyn Fn() -> Box<dyn RateController + Send> + Send + Sync>);

impl CustomLaw {
    /// `make` is called once for every proxy that begins, also when one begins anew.
    pub fn new(make: impl Fn() -> Box<dyn RateController + Send> + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
    }

    pub(super) fn make(&self) -> Box<dyn RateController + Send> {
        (self.0)()
    }
}

impl fmt::Debug for CustomLaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CustomLaw")
            .field(&self.make().name())
            .finish()
    }
}

/// Two custom laws are equal if they are clones of each other.
impl PartialEq for CustomLaw {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The rate of a station before its first report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StartRate {
    /// This one.
    Fixed(BitRate),
    /// Whatever the law gives to a station of which it knows nothing, as the papers' laws begin.
    FromLaw,
}

/// What is done when a station's reports stop coming. The next report ends it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fallback {
    /// Slots without a report after which a station is sent at most `rate`. Default 5.
    pub conservative_after_slots: u32,
    /// The conservative rate. Default 10 Mbit/s.
    pub rate: BitRate,
    /// Slots without a report after which a station is sent everything unshaped. Default 50.
    pub unshaped_after_slots: u32,
}

impl Default for Fallback {
    fn default() -> Self {
        Self {
            conservative_after_slots: 5,
            rate: BitRate::from_mbps(10),
            unshaped_after_slots: 50,
        }
    }
}

/// One station of a proxy.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StationConfig {
    /// Weight (φ) of the station's share. Default 1; the water-filling law takes 0.001 to 1000.
    pub weight: f64,
    /// Bytes of a packet of load, IP header and tunnel included, that is sent whenever nothing else
    /// waits and the station is paced. Default none.
    pub load_bytes: Option<u32>,
    /// Part of a gap (0 to 1) by which packets wait when pacing begins, so that stations which
    /// begin together are out of step. Default 0.
    pub phase: f64,
}

impl Default for StationConfig {
    fn default() -> Self {
        Self {
            weight: 1.0,
            load_bytes: None,
            phase: 0.0,
        }
    }
}
