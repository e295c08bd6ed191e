//! Contradictions in the agent's configuration.

use super::super::{AgentConfig, AgentMode};
use super::{ConfigError, check_interface};

impl AgentConfig {
    /// The first contradiction found.
    pub(in super::super) fn contradictions(&self) -> Result<(), ConfigError> {
        self.key_source()?;
        self.check_mode()?;
        self.queue.contradictions()?;
        if self.proxy.port() == 0 {
            return Err(ConfigError::NoPort { proxy: self.proxy });
        }
        if let Some(monitor) = &self.monitor {
            check_interface("monitor", monitor)?;
        }
        if let Some(interface) = &self.interface {
            check_interface("interface", interface)?;
        }
        self.check_routes()
    }

    /// Refuses keys that the agent's mode would ignore, and a tunnel without an interface.
    fn check_mode(&self) -> Result<(), ConfigError> {
        let is_sensor = self.mode == AgentMode::Sensor;
        let foreign = if is_sensor {
            vec![
                ("tun", self.tun.is_some()),
                ("routes", !self.routes.is_empty()),
                ("uplink.rate", self.uplink.rate.is_some()),
            ]
        } else {
            vec![("interface", self.interface.is_some())]
        };
        for (key, is_given) in foreign {
            if is_given {
                let mode = self.mode.word();
                return Err(ConfigError::ForeignMode { key, mode });
            }
        }
        match &self.tun {
            Some(tun) => tun.contradictions(),
            None if is_sensor => Ok(()),
            None => Err(ConfigError::NoTunnel),
        }
    }

    /// The tunnel's packets to the proxy must not be routed into the tunnel.
    fn check_routes(&self) -> Result<(), ConfigError> {
        let proxy = self.proxy.ip();
        let mut routes = Vec::new();
        for (index, route) in self.routes.iter().enumerate() {
            routes.push((format!("routes.{index}"), route));
        }
        // The kernel routes the network of the interface's own address into it.
        if let Some(tun) = &self.tun {
            routes.push(("tun.address".to_owned(), &tun.address));
        }
        for (key, route) in routes {
            if route.contains(&proxy) {
                return Err(ConfigError::RouteCycle {
                    key,
                    route: route.to_string(),
                    proxy,
                });
            }
        }
        Ok(())
    }
}
