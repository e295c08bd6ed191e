//! The law of a configuration.

use super::{Pacing, ProxyConfig, ProxyError, StationConfig};
use airpace_core::control::{AssumeRates, RateController};
use airpace_units::StationId;

/// The law of the configuration, told the stations' weights; `None` if nothing is measured.
pub(super) fn build(
    config: &ProxyConfig,
) -> Result<Option<Box<dyn RateController + Send>>, ProxyError> {
    let law = match &config.pacing {
        Pacing::Law(law) => law.build()?,
        Pacing::Custom(law) => law.make(),
        Pacing::Fixed(_) | Pacing::Unpaced => return Ok(None),
    };
    let name = law.name();
    // Stations without a monitor interface report no PHY rates.
    let mut law = AssumeRates::new(law, config.frame_overhead);
    for (station, StationConfig { weight, .. }) in config.stations.iter().enumerate() {
        if *weight != 1.0 && !law.set_weight(StationId::from_index(station), *weight) {
            return Err(ProxyError::Weight { station, law: name });
        }
    }
    Ok(Some(Box::new(law)))
}
