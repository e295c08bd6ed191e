use super::{
    ConfigError, Dual, DualConfig, Linear, LinearConfig, LinearPf, LinearPfConfig, Nonlinear,
    NonlinearConfig, RateController, Regulated, SetPoint, UnknownLaw, Waterfill, WaterfillConfig,
};
use core::time::Duration;
use strum::{Display, EnumIter, EnumMessage, EnumString, IntoStaticStr, VariantNames};

/// A rate law. Its name in configurations, command lines and tables is the variant in kebab-case:
/// `linear-pf`. References of configurations show the variants' descriptions.
///
/// ```
/// use airpace_core::control::Law;
///
/// assert_eq!("linear-pf".parse(), Ok(Law::LinearPf));
/// assert_eq!(Law::Waterfill.to_string(), "waterfill");
/// assert!("pid".parse::<Law>().is_err());
/// ```
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    Debug,
    Default,
    EnumString,
    Display,
    IntoStaticStr,
    EnumIter,
    EnumMessage,
    VariantNames,
)]
#[strum(serialize_all = "kebab-case", parse_err_ty = UnknownLaw, parse_err_fn = unknown_law)]
pub enum Law {
    /// Paper 000, Algorithm 1: integral control of the aggregation level, for each station by
    /// itself.
    Linear,
    /// Paper 000, Algorithm 2: integral control of the fastest station; the others follow in
    /// proportion to their PHY rates.
    LinearPf,
    /// Paper 000, eq. 27–31: dual ascent with measured levels.
    Dual,
    /// Paper 002, eq. 24–26 and 33: an inner loop for each station and an outer loop for the delay
    /// target.
    Nonlinear,
    /// Our law: water-filling on the measured round.
    #[default]
    Waterfill,
    /// `linear-pf` as Algorithm 2 is printed: it regulates the slowest station. For comparison
    /// only.
    LinearPfArgmax,
    /// `nonlinear` with the interior optimum as an additional bound on the level.
    NonlinearCorrected,
}

impl Law {
    /// The names of all laws, for command lines and messages.
    pub const NAMES: &'static [&'static str] = <Self as VariantNames>::VARIANTS;

    /// The four published laws and ours, without the variants: the rows of every comparison.
    pub const COMPARED: [Self; 5] = [
        Self::Linear,
        Self::LinearPf,
        Self::Dual,
        Self::Nonlinear,
        Self::Waterfill,
    ];

    /// The law's name: `linear-pf` for [`Law::LinearPf`].
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

fn unknown_law(name: &str) -> UnknownLaw {
    UnknownLaw {
        name: name.to_owned(),
    }
}

/// What an operator wants of law `waterfill`: how much goodput a shorter wait is worth. Its name in
/// configurations is the variant in kebab-case: `low-latency`.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    Debug,
    Default,
    EnumString,
    Display,
    IntoStaticStr,
    EnumIter,
    EnumMessage,
    VariantNames,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Aim {
    /// Nearly the full rate at a few milliseconds.
    #[default]
    Balanced,
    /// The shortest waits; they cost up to a third of the rate.
    LowLatency,
    /// The full rate, with waits as short as that allows.
    Throughput,
}

impl Aim {
    /// The price of delay (κ) that stands for the aim. `docs/design/delay-price.md` has the
    /// frontier from which the values are chosen.
    #[must_use]
    pub const fn price(self) -> f64 {
        match self {
            Self::LowLatency => 0.5,
            Self::Balanced => 0.15,
            Self::Throughput => 0.08,
        }
    }
}

/// What the operator wants from the controller, independent of the law. The default leaves
/// everything to the law.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Goal {
    /// Largest mean aggregation level, packets per frame (N̄). The linear laws and `dual` regulate
    /// to it as their target, which is [`Goal::DEFAULT_LEVEL`] if there is none.
    pub level: Option<f64>,
    /// Longest round time (T̄). The linear laws and `dual` ignore it.
    pub delay: Option<Duration>,
    /// The aim of law `waterfill`; the published laws have none.
    pub aim: Option<Aim>,
    /// Price of delay (κ) instead of that of the aim.
    pub price: Option<f64>,
    /// Time within which law `waterfill` lets 95 of 100 packets pass the access point.
    pub latency: Option<Duration>,
}

impl Goal {
    /// Level that the published laws regulate to without another, packets per frame: half of a
    /// block-ack window of 64, as in the papers' experiments.
    pub const DEFAULT_LEVEL: f64 = 32.0;

    /// The papers' problem: a limit of the level and perhaps of the round time, and no price of
    /// delay.
    #[must_use]
    pub const fn papers(level: f64, delay: Option<Duration>) -> Self {
        Self {
            level: Some(level),
            delay,
            aim: None,
            price: None,
            latency: None,
        }
    }

    /// The price of delay (κ) for law `waterfill`. Bounds alone pose the papers' problem, in which
    /// delay has no price.
    #[must_use]
    pub fn price(&self) -> f64 {
        let only_bounds = self.level.is_some() || self.delay.is_some();
        match (self.price, self.aim) {
            (Some(price), _) => price,
            (None, Some(aim)) => aim.price(),
            (None, None) if only_bounds && self.latency.is_none() => 0.0,
            (None, None) => Aim::default().price(),
        }
    }
}

/// A law with its configuration. A variant of a published law differs from that law in one field.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum LawConfig {
    /// [`Law::Linear`].
    Linear(LinearConfig),
    /// [`Law::LinearPf`] and [`Law::LinearPfArgmax`].
    LinearPf(LinearPfConfig),
    /// [`Law::Dual`].
    Dual(DualConfig),
    /// [`Law::Nonlinear`] and [`Law::NonlinearCorrected`].
    Nonlinear(NonlinearConfig),
    /// [`Law::Waterfill`].
    Waterfill(WaterfillConfig),
}

impl Default for LawConfig {
    fn default() -> Self {
        Self::Waterfill(WaterfillConfig::default())
    }
}

/// The delay target of a law that must have one, where the operator set none: far beyond any round.
const NO_DELAY_TARGET: Duration = Duration::from_secs(10);

impl LawConfig {
    /// The configuration of `law` for `goal`, with every other value at its default.
    ///
    /// The goal is checked by [`LawConfig::build`].
    #[must_use]
    pub fn named(law: Law, goal: Goal) -> Self {
        let default_frame_level = WaterfillConfig::default().frame_level;
        match law {
            Law::Linear => Self::Linear(LinearConfig {
                target_level: goal.level.unwrap_or(Goal::DEFAULT_LEVEL),
                ..LinearConfig::default()
            }),
            Law::LinearPf => Self::linear_pf(goal, Regulated::Fastest),
            Law::LinearPfArgmax => Self::linear_pf(goal, Regulated::Slowest),
            Law::Dual => Self::Dual(DualConfig {
                target_level: goal.level.unwrap_or(Goal::DEFAULT_LEVEL),
                ..DualConfig::default()
            }),
            Law::Nonlinear => Self::nonlinear(goal, SetPoint::Published),
            Law::NonlinearCorrected => Self::nonlinear(goal, SetPoint::Corrected),
            Law::Waterfill => Self::Waterfill(WaterfillConfig {
                price: goal.price(),
                latency: goal.latency,
                level_limit: goal.level,
                delay_target: goal.delay,
                // A limit beyond it says that the access point's frames are longer.
                frame_level: default_frame_level.max(goal.level.unwrap_or(0.0)),
                ..WaterfillConfig::default()
            }),
        }
    }

    fn linear_pf(goal: Goal, regulated: Regulated) -> Self {
        Self::LinearPf(LinearPfConfig {
            target_level: goal.level.unwrap_or(Goal::DEFAULT_LEVEL),
            regulated,
            ..LinearPfConfig::default()
        })
    }

    fn nonlinear(goal: Goal, set_point: SetPoint) -> Self {
        Self::Nonlinear(NonlinearConfig {
            level_limit: goal.level.unwrap_or(Goal::DEFAULT_LEVEL),
            delay_target: goal.delay.unwrap_or(NO_DELAY_TARGET),
            set_point,
            ..NonlinearConfig::default()
        })
    }

    /// Builds the controller.
    ///
    /// # Errors
    /// If a value of the configuration lies outside its range.
    pub fn build(self) -> Result<Box<dyn RateController + Send>, ConfigError> {
        Ok(match self {
            Self::Linear(config) => Box::new(Linear::new(config)?),
            Self::LinearPf(config) => Box::new(LinearPf::new(config)?),
            Self::Dual(config) => Box::new(Dual::new(config)?),
            Self::Nonlinear(config) => Box::new(Nonlinear::new(config)?),
            Self::Waterfill(config) => Box::new(Waterfill::new(config)?),
        })
    }
}
