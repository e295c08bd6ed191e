//! The law of a configuration.

use super::{Pacing, ProxyConfig, ProxyError, StationConfig};
use airpace_core::control::{AssumeRates, ConfigError, RateController};
use airpace_units::StationId;
use core::time::Duration;

/// The controller that `pacing` asks for, as every proxy has it: stations without a monitor
/// interface report no PHY rates, so rates are assumed for them from `frame_overhead`. `None` if
/// nothing is measured.
///
/// # Errors
/// The law refuses its parameters.
pub fn controller(
    pacing: &Pacing,
    frame_overhead: Duration,
) -> Result<Option<Box<dyn RateController + Send>>, ConfigError> {
    let law = match pacing {
        Pacing::Law(law) => law.build()?,
        Pacing::Custom(law) => law.make(),
        Pacing::Fixed(_) | Pacing::Unpaced => return Ok(None),
    };
    Ok(Some(Box::new(AssumeRates::new(law, frame_overhead))))
}

/// The controller of a configuration, told the stations' weights.
pub(super) fn build(
    config: &ProxyConfig,
) -> Result<Option<Box<dyn RateController + Send>>, ProxyError> {
    let Some(mut law) = controller(&config.pacing, config.frame_overhead)? else {
        return Ok(None);
    };
    for (station, StationConfig { weight, .. }) in config.stations.iter().enumerate() {
        if *weight != 1.0 && !law.set_weight(StationId::from_index(station), *weight) {
            return Err(ProxyError::Weight {
                station,
                law: law.name(),
            });
        }
    }
    Ok(Some(law))
}
