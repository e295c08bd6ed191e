//! Arms: what stands at or in front of the access point, and the settings of its knob.

use airpace_config::choice::Choice;
use airpace_scenario::file::{NodeKind, NodeQueue, Scenario};
use airpace_sim::mac::Scheme;
use strum::{Display, EnumIter, EnumMessage, EnumString, IntoEnumIterator as _};

/// What stands at or in front of the access point.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Debug,
    Display,
    EnumIter,
    EnumMessage,
    EnumString,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Arm {
    /// The access point as the cell has it.
    Closed,
    /// An access point with FQ-CoDel in its MAC (paper 004).
    FqMac,
    /// An access point with FQ-CoDel in its MAC and airtime fairness (paper 004). The utility of all
    /// arms is relative to it.
    Airtime,
    /// The published law of equal rates, over its target level.
    Linear,
    /// The published law of rates in proportion to the PHY rates, over its target level.
    LinearPf,
    /// The published law by dual multipliers, over its target level.
    Dual,
    /// The published law with a delay target, over that target.
    Nonlinear,
    /// Our law without a price on delay, over the level limit.
    Level,
    /// Our law over the price on delay κ.
    Price,
    /// Our law as it is without configuration.
    Default,
    /// Our law with `aim = "low-latency"`.
    LowLatency,
    /// Our law with `aim = "throughput"`.
    Throughput,
    /// Our law with `latency = "10 ms"`.
    #[strum(serialize = "latency-10ms")]
    Latency,
}

/// An arm with a value of its knob.
#[derive(Clone, PartialEq, Debug)]
pub struct Setting {
    /// The arm.
    pub arm: Arm,
    /// The value of the knob, as `level = 24`; empty for arms without a knob.
    pub label: String,
    /// The queues of the access point, in place of the cell's.
    scheme: Option<Scheme>,
    /// The keys of the proxy's table, if there is a proxy.
    proxy: Option<String>,
}

/// Levels of the published laws in packets per frame, for frames of at most [`USUAL_LIMIT`] MPDUs.
const LEVELS: [u16; 6] = [8, 16, 24, 32, 40, 48];
/// Most MPDUs per frame of 802.11ac and of most access points.
const USUAL_LIMIT: u16 = 64;
/// Delay targets of the nonlinear law, ms.
const DELAYS_MS: [u16; 4] = [3, 5, 10, 20];
/// Prices on delay κ.
const PRICES: [f64; 7] = [0.1, 0.15, 0.25, 0.4, 0.6, 1.0, 1.5];

impl Arm {
    /// Every arm that is compared unless others are asked for.
    #[must_use]
    pub fn usual() -> Vec<Self> {
        Self::iter().filter(|arm| *arm != Self::Level).collect()
    }

    /// Whether it is one of the published laws.
    #[must_use]
    pub const fn is_published_law(self) -> bool {
        matches!(
            self,
            Self::Linear | Self::LinearPf | Self::Dual | Self::Nonlinear
        )
    }

    /// Whether it is our law with the price on delay.
    #[must_use]
    pub const fn is_ours(self) -> bool {
        matches!(
            self,
            Self::Price | Self::Default | Self::LowLatency | Self::Throughput | Self::Latency
        )
    }

    /// Its settings where frames hold at most `limit` MPDUs. With `coarse` every other value of the
    /// knob.
    #[must_use]
    pub fn settings(self, limit: u16, coarse: bool) -> Vec<Setting> {
        let step = if coarse { 2 } else { 1 };
        match self {
            Self::Closed => vec![self.queued(None)],
            Self::FqMac => vec![self.queued(Some(Scheme::FqMac))],
            Self::Airtime => vec![self.queued(Some(Scheme::Airtime))],
            Self::Linear | Self::LinearPf | Self::Dual => {
                let law = format!("law = \"{self}\", slot = \"100 ms\"");
                self.over_levels(&law, limit, step)
            }
            Self::Level => self.over_levels("law = \"waterfill\"", limit, step),
            Self::Nonlinear => {
                // Three quarters of the longest frame, as 48 of 64 in the paper.
                let level = (limit / 4 * 3).max(1);
                let law = format!("law = \"nonlinear\", level = {level}, slot = \"100 ms\"");
                let delays = DELAYS_MS.iter().step_by(step);
                let settings = delays.map(|ms| self.knob(&law, &format!("delay = \"{ms} ms\"")));
                settings.collect()
            }
            Self::Price => {
                let prices = PRICES.iter().step_by(step);
                let settings = prices.map(|price| self.knob("", &format!("price = {price:?}")));
                settings.collect()
            }
            Self::Default => vec![self.knob("", "")],
            Self::LowLatency | Self::Throughput => {
                vec![self.knob("", &format!("aim = \"{self}\""))]
            }
            Self::Latency => vec![self.knob("", "latency = \"10 ms\"")],
        }
    }

    /// A setting without proxy.
    const fn queued(self, scheme: Option<Scheme>) -> Setting {
        Setting {
            arm: self,
            label: String::new(),
            scheme,
            proxy: None,
        }
    }

    /// A setting of a proxy with the keys `law` and the key of the knob.
    fn knob(self, law: &str, knob: &str) -> Setting {
        let separator = if law.is_empty() || knob.is_empty() {
            ""
        } else {
            ", "
        };
        Setting {
            arm: self,
            label: knob.replace('"', ""),
            scheme: None,
            proxy: Some(format!("{law}{separator}{knob}")),
        }
    }

    /// A setting per level: the usual ones and, where frames have another limit, the same shares of
    /// that limit.
    fn over_levels(self, law: &str, limit: u16, step: usize) -> Vec<Setting> {
        let mut levels = Vec::new();
        for level in LEVELS.into_iter().step_by(step) {
            levels.push(u32::from(level));
            levels.push(u32::from(level) * u32::from(limit) / u32::from(USUAL_LIMIT));
        }
        // A target at the limit itself can only be met by a queue that is never empty.
        levels.retain(|&level| level >= 1 && level < u32::from(limit));
        levels.sort_unstable();
        levels.dedup();
        let settings = levels
            .iter()
            .map(|level| self.knob(law, &format!("level = {level}")));
        settings.collect()
    }
}

impl Setting {
    /// The list of proxies in the notation of scenario files.
    pub(super) fn proxies(&self) -> String {
        match &self.proxy {
            Some(keys) => format!("[{{ {keys} }}]"),
            None => "[]".to_owned(),
        }
    }

    /// Replaces the queues of the access points.
    pub(super) fn replace_queues(&self, scenario: &mut Scenario) {
        let Some(scheme) = self.scheme else { return };
        for node in &mut scenario.node {
            if node.kind == NodeKind::Ap {
                node.queue = NodeQueue {
                    scheme: Choice(scheme),
                    ..NodeQueue::default()
                };
            }
        }
    }
}
