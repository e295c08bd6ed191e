use super::Law;
use thiserror::Error;

/// Why a controller's configuration was refused.
#[derive(Clone, Copy, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A value that must be positive and finite is not.
    #[error("{name} must be a positive number, but is {value}")]
    NotPositive {
        /// The value's name in the configuration.
        name: &'static str,
        /// The value that was given.
        value: f64,
    },
    /// A value lies outside its range.
    #[error("{name} must lie between {least} and {most}, but is {value}")]
    OutOfRange {
        /// The value's name in the configuration.
        name: &'static str,
        /// The value that was given.
        value: f64,
        /// The smallest allowed value.
        least: f64,
        /// The largest allowed value.
        most: f64,
    },
}

/// The error of parsing a [`Law`] from a name that no law has.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("no control law is called \"{name}\"; the laws are {}", Law::NAMES.join(", "))]
pub struct UnknownLaw {
    /// The name that was given.
    pub name: String,
}

/// Checks that `value` is positive and finite.
pub(super) fn positive(name: &'static str, value: f64) -> Result<(), ConfigError> {
    if value.is_finite() && value > 0.0 {
        Ok(())
    } else {
        Err(ConfigError::NotPositive { name, value })
    }
}

/// Checks that `value` lies within `least..=most`.
pub(super) fn within(
    name: &'static str,
    value: f64,
    least: f64,
    most: f64,
) -> Result<(), ConfigError> {
    if value >= least && value <= most {
        Ok(())
    } else {
        Err(ConfigError::OutOfRange {
            name,
            value,
            least,
            most,
        })
    }
}
