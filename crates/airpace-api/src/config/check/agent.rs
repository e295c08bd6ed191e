//! Contradictions in the agent's configuration.

use super::super::{AgentConfig, AgentMode, TunConfig};
use super::{ConfigError, check_interface};
use core::net::IpAddr;
use ipnet::IpNet;

impl AgentConfig {
    /// The first contradiction found.
    pub(in super::super) fn contradictions(&self) -> Result<(), ConfigError> {
        self.key_source()?;
        self.check_mode()?;
        self.queue.contradictions(Self::codel())?;
        if self.proxy.port() == 0 {
            let proxy = self.proxy.clone();
            return Err(ConfigError::NoPort { proxy });
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
                ("accept_from", !self.accept_from.is_empty()),
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

    /// The tunnel's packets to the proxy must not be routed into the tunnel. Default routes are led
    /// around it by routing rules. A name is checked when it is looked up.
    fn check_routes(&self) -> Result<(), ConfigError> {
        let Some(proxy) = self.proxy.address() else {
            return Ok(());
        };
        match self.route_to(proxy.ip()) {
            Some((key, route)) => Err(ConfigError::RouteCycle {
                key,
                route: route.to_string(),
                proxy: proxy.ip(),
            }),
            None => Ok(()),
        }
    }

    /// The route into the tunnel that contains the proxy's address, which would swallow the tunnel's
    /// own packets, and its key. Default routes are none of them.
    #[must_use]
    pub fn route_to(&self, proxy: IpAddr) -> Option<(String, IpNet)> {
        let listed = self
            .routes
            .iter()
            .enumerate()
            .map(|(index, route)| (format!("routes.{index}"), *route))
            .filter(|(_, route)| route.prefix_len() > 0);
        // The kernel routes the networks of the interface's own addresses into it.
        let own = self
            .tun
            .iter()
            .flat_map(TunConfig::networks)
            .map(|network| ("tun.address".to_owned(), *network));
        listed.chain(own).find(|(_, route)| route.contains(&proxy))
    }
}
