use super::{
    ConfigError, Dual, DualConfig, Linear, LinearConfig, LinearPf, LinearPfConfig, Nonlinear,
    NonlinearConfig, RateController, Regulated, SetPoint, UnknownLaw, Waterfill, WaterfillConfig,
};
use core::time::Duration;

/// The laws by name: the four published ones and ours.
pub const LAW_NAMES: [&str; 5] = ["linear", "linear-pf", "dual", "nonlinear", "waterfill"];

/// Variants of published laws, offered for comparison.
pub const VARIANT_NAMES: [&str; 2] = ["linear-pf-argmax", "nonlinear-corrected"];

/// What the operator wants, whatever the law.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Goal {
    /// Most packets per frame on average (N̄; the target of the linear laws, which know no delay).
    pub level: f64,
    /// Longest round time (T̄); `None` leaves only the level. The linear laws and `dual` do not look at it.
    pub delay: Option<Duration>,
}

/// A law and its configuration.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum LawConfig {
    /// 000, Algorithm 1.
    Linear(LinearConfig),
    /// 000, Algorithm 2.
    LinearPf(LinearPfConfig),
    /// 000, eq. 27–31.
    Dual(DualConfig),
    /// 002, eq. 24–26 and 33.
    Nonlinear(NonlinearConfig),
    /// Ours.
    Waterfill(WaterfillConfig),
}

impl Default for LawConfig {
    fn default() -> Self {
        Self::Waterfill(WaterfillConfig::default())
    }
}

/// Stands for "no delay target" in a law that must have one: far beyond any round.
const NO_DELAY_TARGET: Duration = Duration::from_secs(10);

impl LawConfig {
    /// The configuration of the law called `name`, aimed at `goal`, everything else at its default.
    ///
    /// # Errors
    /// If no law has that name.
    pub fn named(name: &str, goal: Goal) -> Result<Self, UnknownLaw> {
        let Goal { level, delay } = goal;
        let linear_pf = |regulated| {
            Self::LinearPf(LinearPfConfig {
                target_level: level,
                regulated,
                ..LinearPfConfig::default()
            })
        };
        let nonlinear = |set_point| {
            let delay_target = delay.unwrap_or(NO_DELAY_TARGET);
            Self::Nonlinear(NonlinearConfig {
                level_limit: level,
                delay_target,
                set_point,
                ..NonlinearConfig::default()
            })
        };
        Ok(match name {
            "linear" => Self::Linear(LinearConfig {
                target_level: level,
                ..LinearConfig::default()
            }),
            "linear-pf" => linear_pf(Regulated::Fastest),
            "linear-pf-argmax" => linear_pf(Regulated::Slowest),
            "dual" => Self::Dual(DualConfig {
                target_level: level,
                ..DualConfig::default()
            }),
            "nonlinear" => nonlinear(SetPoint::Published),
            "nonlinear-corrected" => nonlinear(SetPoint::Corrected),
            "waterfill" => Self::Waterfill(WaterfillConfig {
                level_limit: level,
                delay_target: delay,
                ..WaterfillConfig::default()
            }),
            _ => {
                return Err(UnknownLaw {
                    name: name.to_owned(),
                });
            }
        })
    }

    /// Builds the controller.
    ///
    /// # Errors
    /// If a value of the configuration is refused.
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
