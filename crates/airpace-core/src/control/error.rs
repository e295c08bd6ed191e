use thiserror::Error;

/// A controller configuration that cannot work.
#[derive(Clone, Copy, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A value that must be a positive number is not.
    #[error("{name} must be a positive number, but is {value}")]
    NotPositive {
        /// The value's name in the configuration.
        name: &'static str,
        /// What was given.
        value: f64,
    },
    /// A value lies outside its range.
    #[error("{name} must lie between {least} and {most}, but is {value}")]
    OutOfRange {
        /// The value's name in the configuration.
        name: &'static str,
        /// What was given.
        value: f64,
        /// The least value allowed.
        least: f64,
        /// The greatest value allowed.
        most: f64,
    },
}

/// A name that no law has.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error(
    "no control law is called \"{name}\"; there are linear, linear-pf, linear-pf-argmax, dual, nonlinear, nonlinear-corrected and waterfill"
)]
pub struct UnknownLaw {
    /// The name that was asked for.
    pub name: String,
}

/// Refuses what is not a positive, finite number.
pub(super) fn positive(name: &'static str, value: f64) -> Result<(), ConfigError> {
    if value.is_finite() && value > 0.0 {
        Ok(())
    } else {
        Err(ConfigError::NotPositive { name, value })
    }
}

/// Refuses what does not lie within `least..=most`.
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
