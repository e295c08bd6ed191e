//! Contradictions in the in-line box's configuration.

use super::super::EdgeConfig;
use super::{ConfigError, check_count, check_interface};
use std::collections::{BTreeMap, BTreeSet};

impl EdgeConfig {
    /// The first contradiction found.
    pub(in super::super) fn contradictions(&self) -> Result<(), ConfigError> {
        check_interface("wan", &self.wan)?;
        if let Some(bridge) = &self.bridge {
            check_interface("bridge", bridge)?;
        }
        self.queue.contradictions(Self::codel())?;
        self.control.contradictions()?;
        if self.ap.is_empty() {
            return Err(ConfigError::NoAccessPoint);
        }
        self.check_ports()?;
        self.check_addresses()?;
        self.check_radios()?;
        self.check_listeners()?;
        self.check_agents()
    }

    fn check_ports(&self) -> Result<(), ConfigError> {
        let mut seen = BTreeMap::from([(self.wan.as_str(), true)]);
        for (index, ap) in self.ap.iter().enumerate() {
            if ap.ports.is_empty() {
                return Err(ConfigError::NoAccessPointPort { index });
            }
            for (at, port) in ap.ports.iter().enumerate() {
                check_interface("ap.ports", port)?;
                let is_taken = seen.get(port.as_str()).copied();
                // Access points behind the same switch share a port if their stations are told
                // apart.
                let must_be_alone = is_taken == Some(true) || ap.stations.is_empty();
                if is_taken.is_some() && must_be_alone {
                    return Err(ConfigError::PortTwice {
                        key: format!("ap.{index}.ports.{at}"),
                        name: port.clone(),
                    });
                }
                seen.insert(port, false);
            }
        }
        Ok(())
    }

    fn check_addresses(&self) -> Result<(), ConfigError> {
        let mut listed = BTreeMap::new();
        for (index, ap) in self.ap.iter().enumerate() {
            for (at, &mac) in ap.stations.iter().enumerate() {
                if listed.insert(mac, index).is_some() {
                    let key = format!("ap.{index}.stations.{at}");
                    return Err(ConfigError::StationTwice { key, mac });
                }
            }
        }
        let (mut known, mut names) = (BTreeMap::new(), BTreeSet::new());
        for (index, station) in self.station.iter().enumerate() {
            if let Some(name) = &station.name
                && !names.insert(name)
            {
                return Err(ConfigError::NameTwice {
                    key: format!("station.{index}.name"),
                    name: name.clone(),
                });
            }
            if known.insert(station.mac, index).is_some() {
                let key = format!("station.{index}.mac");
                return Err(ConfigError::StationTwice {
                    key,
                    mac: station.mac,
                });
            }
        }
        Ok(())
    }

    /// A radio is not a port. Access points may share one: their frames name them.
    fn check_radios(&self) -> Result<(), ConfigError> {
        for (index, ap) in self.ap.iter().enumerate() {
            let Some(radio) = &ap.radio else { continue };
            check_interface("ap.radio", radio)?;
            let is_port = *radio == self.wan || self.ports().any(|(_, port)| port == radio);
            if is_port {
                return Err(ConfigError::RadioIsPort {
                    key: format!("ap.{index}.radio"),
                    name: radio.clone(),
                });
            }
        }
        Ok(())
    }

    /// Two listeners cannot have one address.
    fn check_listeners(&self) -> Result<(), ConfigError> {
        let (Some(metrics), Some(web)) = (&self.metrics, &self.web) else {
            return Ok(());
        };
        // The system gives each a port of its own for port 0.
        if metrics.listen == web.listen && web.listen.port() != 0 {
            return Err(ConfigError::SharedAddress {
                address: web.listen,
            });
        }
        Ok(())
    }

    /// Agents need a box that can read their reports, and one key each.
    fn check_agents(&self) -> Result<(), ConfigError> {
        let mut keys = BTreeSet::new();
        for (index, station) in self.station.iter().enumerate() {
            let Some(key) = station.public_key else {
                continue;
            };
            if self.agents.is_none() {
                return Err(ConfigError::NoAgents { index });
            }
            if !keys.insert(key) {
                return Err(ConfigError::AgentKeyTwice { index });
            }
        }
        if let Some(agents) = &self.agents {
            agents.key_source()?;
            check_count(keys.len())?;
            if keys.is_empty() {
                return Err(ConfigError::NoAgentKey);
            }
        }
        Ok(())
    }
}
