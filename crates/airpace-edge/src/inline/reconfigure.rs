//! Changes of the configuration while the box runs.

use super::config::{InlineConfig, KnownStation};
use super::{DownlinkFrame, Inline};
use crate::proxy::ProxyError;
use airpace_core::wire::ieee80211::MacAddr;
use airpace_units::Time;

/// Why a box cannot take over another configuration.
#[derive(Clone, Copy, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReconfigureError {
    /// It has other access points or ports.
    #[error("the access points and their ports cannot change while the box runs: restart it")]
    Ports,
    /// The law refuses its parameters or a weight.
    #[error(transparent)]
    Law(#[from] ProxyError),
}

impl<F: DownlinkFrame> Inline<F> {
    /// Applies another configuration without losing a frame: the stations' names, weights and
    /// exemptions, their access points, the law and its aim, and when stations leave. Queues keep
    /// their limits.
    ///
    /// A station that is exempt, or not, because somebody has called
    /// [`set_exempt`](Inline::set_exempt) stays so unless its exemption differs between the two
    /// configurations.
    ///
    /// # Errors
    /// See [`ReconfigureError`]; then nothing has changed.
    pub fn reconfigure(&mut self, now: Time, config: InlineConfig) -> Result<(), ReconfigureError> {
        let is_same_shape =
            config.media.len() == self.config.media.len() && config.ports == self.config.ports;
        if !is_same_shape {
            return Err(ReconfigureError::Ports);
        }
        // Checked for all before anything is changed for one.
        config
            .proxy
            .check(config.stations.iter().map(|station| station.weight))?;
        for (medium, wanted) in self.media.iter_mut().zip(&config.media) {
            medium.reconfigure(now, &config.proxy)?;
            medium.name.clone_from(&wanted.name);
        }
        let before = core::mem::replace(&mut self.config, config);
        let macs: Vec<MacAddr> = self.by_mac.keys().copied().collect();
        for mac in macs {
            self.apply_known(now, mac, known_station(&before, mac));
        }
        Ok(())
    }

    /// Applies the configuration to a learnt station. `before` is its part of the old configuration.
    fn apply_known(&mut self, now: Time, mac: MacAddr, before: Option<&KnownStation>) {
        let known = known_station(&self.config, mac).cloned();
        let weight = known.as_ref().map_or(1.0, |known| known.weight);
        let is_exempt = known.as_ref().is_some_and(|known| known.is_exempt);
        let was_exempt = before.is_some_and(|before| before.is_exempt);
        if known.is_some()
            && let Some(&index) = self.by_mac.get(&mac)
        {
            self.confirm(index);
        }
        let Some(station) = self.station_mut(mac) else {
            return;
        };
        station.configured_name = known.and_then(|known| known.name);
        station.weight = weight;
        let (seat, port) = (station.seat, station.port);
        // The configuration has been checked, so the law supports the weight.
        let _ = self.media[seat.medium]
            .proxy
            .set_weight(seat.station, weight);
        if is_exempt != was_exempt {
            self.set_exempt(now, mac, is_exempt);
        }
        let medium = self.medium_of(port, mac);
        if medium != seat.medium
            && let Some(&index) = self.by_mac.get(&mac)
        {
            self.move_to(now, index, medium);
        }
    }
}

fn known_station(config: &InlineConfig, mac: MacAddr) -> Option<&KnownStation> {
    config.stations.iter().find(|known| known.mac == mac)
}
