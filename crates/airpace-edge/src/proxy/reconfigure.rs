//! Another configuration for a proxy that runs.

use super::{Pacing, Proxy, ProxyConfig, ProxyError, StationConfig, controller};
use airpace_core::control::RateController;
use airpace_core::packet::Packet;
use airpace_units::{StationId, Time};

impl ProxyConfig {
    /// Checks whether a proxy can begin with this configuration and stations of these `weights`.
    ///
    /// # Errors
    /// The law refuses its parameters or a weight.
    pub fn check(&self, weights: impl IntoIterator<Item = f64>) -> Result<(), ProxyError> {
        let Some(mut law) = controller(&self.pacing, self.frame_overhead)? else {
            return Ok(());
        };
        for (station, weight) in weights.into_iter().enumerate() {
            set_weight(law.as_mut(), station, weight)?;
        }
        Ok(())
    }
}

impl<P: Packet> Proxy<P> {
    /// Takes over the pacing, the slot, the rates for missing reports, the dry run and the records of another
    /// configuration, without losing a packet. Queues, pacers and stations stay as they are.
    ///
    /// Another aim of the same law continues from what the law has learnt, if the law can do that;
    /// else a new controller learns anew, and the rates of the old one hold until it decides.
    ///
    /// # Errors
    /// The law refuses its parameters or a weight; then nothing has changed.
    pub fn reconfigure(&mut self, now: Time, config: &ProxyConfig) -> Result<(), ProxyError> {
        config.check(self.config.stations.iter().map(|station| station.weight))?;
        if config.pacing != self.config.pacing
            || config.frame_overhead != self.config.frame_overhead
        {
            let is_same_law = match (&mut self.law, &config.pacing) {
                (Some(law), Pacing::Law(wanted)) => law.reconfigure(wanted),
                _ => false,
            };
            if !is_same_law {
                self.law = controller(&config.pacing, config.frame_overhead)?;
                for (station, StationConfig { weight, .. }) in
                    self.config.stations.iter().enumerate()
                {
                    if let Some(law) = &mut self.law {
                        set_weight(law.as_mut(), station, *weight)?;
                    }
                }
            }
        }
        self.config.pacing = config.pacing.clone();
        self.config.frame_overhead = config.frame_overhead;
        self.config.slot = config.slot;
        self.config.start = config.start;
        self.config.packet_bytes = config.packet_bytes;
        self.config.level = config.level;
        self.config.delay_target = config.delay_target;
        self.config.fallback = config.fallback;
        self.config.dry_run = config.dry_run;
        self.config.records = config.records;
        for station in 0..self.stations.len() {
            let paced = &mut self.stations[station];
            paced.dry_run = config.dry_run;
            paced.slot.record_sojourns(config.records);
            self.update_mode(now, station);
        }
        Ok(())
    }
}

/// Tells a law the weight of a station. Laws without weights accept 1.
fn set_weight(
    law: &mut (dyn RateController + Send),
    station: usize,
    weight: f64,
) -> Result<(), ProxyError> {
    if weight != 1.0 && !law.set_weight(StationId::from_index(station), weight) {
        return Err(ProxyError::Weight {
            station,
            law: law.name(),
        });
    }
    Ok(())
}
