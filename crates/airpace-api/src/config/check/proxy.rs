//! Contradictions in the proxy's configuration.

use super::super::{LawChoice, ProxyConfig, StationConfig};
use super::{ConfigError, check_count};
use airpace_config::quantity::Span;
use core::time::Duration;
use std::collections::BTreeMap;

/// Least overhead of one frame at 5 GHz: DIFS 34 µs, VHT preamble of one stream 40 µs, SIFS 16 µs
/// and a block ack at 24 Mbit/s 32 µs (IEEE 802.11-2020, 10.3.2.3, 21.3.2, 17.3.2), without
/// back-off.
const LEAST_OVERHEAD: Duration = Duration::from_micros(34 + 40 + 16 + 32);

impl ProxyConfig {
    /// The first contradiction found.
    pub(in super::super) fn contradictions(&self) -> Result<(), ConfigError> {
        self.key_source()?;
        check_count(self.station.len())?;
        self.tun.contradictions()?;
        self.queue.contradictions(Self::codel())?;
        self.check_pacing()?;
        self.check_delay_target()?;
        if self.interactive_budget.is_some() && self.interactive.is_none() {
            return Err(ConfigError::InteractiveBudget);
        }
        self.check_fallback()?;
        if self.station.is_empty() {
            return Err(ConfigError::NoStation);
        }
        for (index, station) in self.station.iter().enumerate() {
            self.check_station(index, station)?;
        }
        unique(&self.station, "name", |s| s.name.clone())?;
        unique(&self.station, "public_key", |s| s.public_key.to_base64())?;
        unique(&self.station, "address", |s| s.address.to_string())?;
        self.check_networks_are_distinct()
    }

    /// A network that two stations have would lead to one of them only.
    fn check_networks_are_distinct(&self) -> Result<(), ConfigError> {
        let mut owners = BTreeMap::new();
        for (index, station) in self.station.iter().enumerate() {
            for network in &station.networks {
                if let Some(first) = owners.insert(network.trunc(), index)
                    && first != index
                {
                    return Err(ConfigError::Duplicate {
                        first: self.station[first].name.clone(),
                        second: station.name.clone(),
                        index,
                        what: "networks",
                    });
                }
            }
        }
        Ok(())
    }

    fn check_pacing(&self) -> Result<(), ConfigError> {
        self.control.contradictions()?;
        match self.control.law {
            LawChoice::None if self.udp_load.is_some() => Err(ConfigError::UnpacedLoad),
            _ => Ok(()),
        }
    }

    fn check_delay_target(&self) -> Result<(), ConfigError> {
        let Some(target) = self.control.delay_target else {
            return Ok(());
        };
        // Between two frames to one station, each of the others has one (at equal rates), which
        // takes its overhead at least.
        let stations = self.station.len();
        let least = LEAST_OVERHEAD.saturating_mul(u32::try_from(stations).unwrap_or(u32::MAX));
        if target.0 > least {
            Ok(())
        } else {
            Err(ConfigError::DelayTarget {
                target,
                stations,
                least: Span(least),
            })
        }
    }

    fn check_fallback(&self) -> Result<(), ConfigError> {
        let (conservative, unshaped) = (
            self.fallback.conservative_after_slots,
            self.fallback.unshaped_after_slots,
        );
        if unshaped > conservative {
            Ok(())
        } else {
            Err(ConfigError::NotLarger {
                key: "fallback.unshaped_after_slots",
                value: unshaped.to_string(),
                other: "conservative_after_slots",
                least: conservative.to_string(),
            })
        }
    }

    fn check_station(&self, index: usize, station: &StationConfig) -> Result<(), ConfigError> {
        let address = station.address;
        if station.name.is_empty() {
            return Err(ConfigError::NoName { index });
        }
        if self.tun.networks().any(|own| own.addr() == address) {
            return Err(ConfigError::OwnAddress {
                station: station.name.clone(),
                index,
                address,
            });
        }
        let is_inside = self
            .tun
            .networks()
            .any(|network| network.contains(&address));
        if !is_inside {
            return Err(ConfigError::OutsideTunnel {
                station: station.name.clone(),
                index,
                address,
                network: self.tun.address.to_string(),
            });
        }
        self.check_networks(index, station)
    }

    /// The proxy must be able to reach itself.
    fn check_networks(&self, index: usize, station: &StationConfig) -> Result<(), ConfigError> {
        for (at, network) in station.networks.iter().enumerate() {
            for own in self.tun.networks() {
                if network.contains(&own.addr()) {
                    return Err(ConfigError::OwnNetwork {
                        station: station.name.clone(),
                        key: format!("station.{index}.networks.{at}"),
                        network: network.to_string(),
                        address: own.addr(),
                    });
                }
            }
        }
        Ok(())
    }
}

/// Refuses two stations with the same value of the key `what`.
fn unique(
    stations: &[StationConfig],
    what: &'static str,
    value: impl Fn(&StationConfig) -> String,
) -> Result<(), ConfigError> {
    let mut seen = BTreeMap::new();
    for (index, station) in stations.iter().enumerate() {
        if let Some(first) = seen.insert(value(station), &station.name) {
            return Err(ConfigError::Duplicate {
                first: first.clone(),
                second: station.name.clone(),
                index,
                what,
            });
        }
    }
    Ok(())
}
