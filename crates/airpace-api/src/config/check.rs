//! The second step: whether a configuration that parsed makes sense. Nothing of the machine is looked at.

use super::{
    AgentConfig, ControlConfig, KeySource, Law, ProxyConfig, QueueConfig, StationConfig, TunConfig,
};
use crate::keys::PrivateKey;
use airpace_config::quantity::{Size, Span};
use core::net::IpAddr;
use core::time::Duration;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Why a configuration was refused. Every message is one line, except that of the TOML parser, which shows the place.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// Malformed TOML, unknown key or malformed value.
    #[error("{0}")]
    Toml(#[from] toml::de::Error),
    /// Neither `private_key` nor `private_key_file`, or both.
    #[error("give one of private_key and private_key_file (`airpace keygen` makes a key)")]
    KeySource,
    /// A number outside of what makes sense.
    #[error("{key} = {value} is impossible: {allowed}")]
    Range {
        /// The key.
        key: &'static str,
        /// What was given.
        value: String,
        /// What is allowed.
        allowed: &'static str,
    },
    /// The delay target cannot be met by any rates.
    #[error(
        "control.delay_target = {target} is below the feasible: {stations} stations need at least {least}, \
         the overhead of one frame each"
    )]
    DelayTarget {
        /// What was given.
        target: Span,
        /// Number of stations.
        stations: usize,
        /// The smallest target that could be met at an infinite PHY rate.
        least: Span,
    },
    /// Two stations share what must be unique.
    #[error("stations `{first}` and `{second}` have the same {what}")]
    Duplicate {
        /// Name of the first station.
        first: String,
        /// Name of the second station.
        second: String,
        /// What they share.
        what: &'static str,
    },
    /// A station's address is outside of the tunnel's network.
    #[error("station `{station}`: {address} is outside of the tunnel's network {network}")]
    OutsideTunnel {
        /// Name of the station.
        station: String,
        /// Its address.
        address: IpAddr,
        /// The tunnel's network.
        network: String,
    },
    /// A station has the proxy's address.
    #[error("station `{station}`: {address} is the proxy's own address")]
    OwnAddress {
        /// Name of the station.
        station: String,
        /// Its address.
        address: IpAddr,
    },
    /// A name that the kernel would refuse for an interface.
    #[error("`{0}` is no name of an interface: 1 to 15 characters without `/` and blanks")]
    InterfaceName(String),
    /// Law `fixed` without its rate.
    #[error("control.law = \"fixed\" needs control.fixed_rate")]
    FixedRate,
    /// Load without a rate.
    #[error(
        "udp_load needs a rate, and control.law = \"none\" has none: use another law, or `fixed` with control.fixed_rate"
    )]
    UnpacedLoad,
    /// The proxy's own address would be routed into the tunnel.
    #[error(
        "route {route} contains the proxy's address {proxy}: the tunnel would swallow its own packets"
    )]
    RouteCycle {
        /// The route.
        route: String,
        /// The proxy's address.
        proxy: IpAddr,
    },
}

/// Least overhead of one frame at 5 GHz: DIFS 34 µs, VHT preamble of one stream 40 µs, SIFS 16 µs and a block ack at
/// 24 Mbit/s 32 µs (IEEE 802.11-2020, 10.3.2.3, 21.3.2, 17.3.2), without back-off.
const LEAST_OVERHEAD: Duration = Duration::from_micros(34 + 40 + 16 + 32);

pub(super) fn key_source<'a>(
    inline: Option<&'a PrivateKey>,
    file: Option<&'a PathBuf>,
) -> Result<KeySource<'a>, ConfigError> {
    match (inline, file) {
        (Some(key), None) => Ok(KeySource::Inline(key)),
        (None, Some(path)) => Ok(KeySource::File(path)),
        _ => Err(ConfigError::KeySource),
    }
}

fn range<T: ToString>(
    key: &'static str,
    value: T,
    holds: bool,
    allowed: &'static str,
) -> Result<(), ConfigError> {
    if holds {
        Ok(())
    } else {
        Err(ConfigError::Range {
            key,
            value: value.to_string(),
            allowed,
        })
    }
}

impl ProxyConfig {
    /// Checks what parsing cannot see.
    ///
    /// # Errors
    /// The first contradiction found.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.key_source()?;
        self.tun.check()?;
        self.queue.check()?;
        self.control.check(self.stations.len())?;
        self.check_fallback()?;
        if let Some(load) = &self.udp_load {
            let fits = (64..=65_000).contains(&load.payload.0.0);
            range("udp_load.payload", load.payload, fits, "64 B to 65000 B")?;
            if self.control.law == Law::None {
                return Err(ConfigError::UnpacedLoad);
            }
        }
        range(
            "station",
            "[]",
            !self.stations.is_empty(),
            "at least one [[station]] is needed",
        )?;
        for station in &self.stations {
            self.check_station(station)?;
        }
        unique(&self.stations, "name", |s| s.name.clone())?;
        unique(&self.stations, "public_key", |s| s.public_key.to_base64())?;
        unique(&self.stations, "address", |s| s.address.to_string())
    }

    fn check_fallback(&self) -> Result<(), ConfigError> {
        let fallback = &self.fallback;
        let (conservative, unshaped) = (
            fallback.conservative_after_slots,
            fallback.unshaped_after_slots,
        );
        range(
            "fallback.conservative_after_slots",
            conservative,
            conservative >= 1,
            "at least 1",
        )?;
        let later = unshaped > conservative;
        range(
            "fallback.unshaped_after_slots",
            unshaped,
            later,
            "more than conservative_after_slots",
        )?;
        range(
            "fallback.rate",
            fallback.rate,
            fallback.rate.0.bps() >= 10_000,
            "at least 10 kbit/s",
        )
    }

    fn check_station(&self, station: &StationConfig) -> Result<(), ConfigError> {
        range(
            "station.name",
            format!("\"{}\"", station.name),
            !station.name.is_empty(),
            "a name is needed",
        )?;
        let weight = station.weight;
        range(
            "station.weight",
            weight,
            weight.is_finite() && weight > 0.0,
            "a number greater than 0",
        )?;
        let (name, address) = (station.name.clone(), station.address);
        if address == self.tun.address.address() {
            return Err(ConfigError::OwnAddress {
                station: name,
                address,
            });
        }
        if !self.tun.address.contains(address) {
            return Err(ConfigError::OutsideTunnel {
                station: name,
                address,
                network: self.tun.address.to_string(),
            });
        }
        Ok(())
    }
}

impl AgentConfig {
    /// Checks what parsing cannot see.
    ///
    /// # Errors
    /// The first contradiction found.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.key_source()?;
        self.tun.check()?;
        self.queue.check()?;
        check_slot("slot", self.slot)?;
        range(
            "proxy",
            self.proxy,
            self.proxy.port() != 0,
            "a port is needed",
        )?;
        if let Some(monitor) = &self.monitor {
            check_interface(monitor)?;
        }
        let gather = self.uplink.gather_acks;
        range(
            "uplink.gather_acks",
            gather,
            gather.0 <= Duration::from_millis(20),
            "at most 20 ms",
        )?;
        if let Some(rate) = self.uplink.rate {
            range(
                "uplink.rate",
                rate,
                rate.0.bps() >= 10_000,
                "at least 10 kbit/s",
            )?;
        }
        for route in self.routes.iter().chain([&self.tun.address]) {
            if route.contains(self.proxy.ip()) {
                return Err(ConfigError::RouteCycle {
                    route: route.to_string(),
                    proxy: self.proxy.ip(),
                });
            }
        }
        Ok(())
    }
}

impl TunConfig {
    fn check(&self) -> Result<(), ConfigError> {
        check_interface(&self.name)?;
        range(
            "tun.mtu",
            self.mtu,
            (576..=9000).contains(&self.mtu.0.0),
            "576 B to 9000 B",
        )
    }
}

impl QueueConfig {
    fn check(&self) -> Result<(), ConfigError> {
        let least = match self.limit {
            airpace_config::quantity::QueueLimit::Packets(n) => n >= 1,
            airpace_config::quantity::QueueLimit::Bytes(bytes) => bytes.0 >= 2048,
        };
        range(
            "queue.limit",
            self.limit,
            least,
            "at least 1 packet or 2048 B",
        )?;
        range(
            "queue.memory",
            self.memory,
            self.memory >= Size::from_bytes(64 << 10),
            "at least 64 KiB",
        )?;
        range(
            "queue.flows",
            self.flows,
            (1..=65_536).contains(&self.flows),
            "1 to 65536",
        )?;
        let quantum = self.quantum.0.0;
        range(
            "queue.quantum",
            self.quantum,
            (64..=65_536).contains(&quantum),
            "64 B to 65536 B",
        )?;
        let target = self.target.0;
        range(
            "queue.target",
            self.target,
            !target.is_zero(),
            "more than 0",
        )?;
        range(
            "queue.interval",
            self.interval,
            self.interval.0 > target,
            "more than queue.target",
        )
    }
}

impl ControlConfig {
    fn check(&self, stations: usize) -> Result<(), ConfigError> {
        check_slot("control.slot", self.slot)?;
        let level = self.level_limit;
        range(
            "control.level_limit",
            level,
            (1.0..=1024.0).contains(&level),
            "1 to 1024 packets per frame",
        )?;
        let packet = self.packet.0.0;
        range(
            "control.packet",
            self.packet,
            (64..=9000).contains(&packet),
            "64 B to 9000 B",
        )?;
        range(
            "control.initial_rate",
            self.initial_rate,
            self.initial_rate.0.bps() >= 10_000,
            "at least 10 kbit/s",
        )?;
        let overhead = self.initial_overhead;
        let plausible =
            (Duration::from_micros(10)..=Duration::from_millis(100)).contains(&overhead.0);
        range(
            "control.initial_overhead",
            overhead,
            plausible,
            "10 us to 100 ms",
        )?;
        range(
            "control.burst",
            self.burst,
            self.burst.0 <= Duration::from_millis(10),
            "at most 10 ms",
        )?;
        self.check_fixed_rate()?;
        self.check_delay_target(stations)
    }

    fn check_fixed_rate(&self) -> Result<(), ConfigError> {
        match self.fixed_rate {
            None if self.law == Law::Fixed => Err(ConfigError::FixedRate),
            Some(rate) => range(
                "control.fixed_rate",
                rate,
                rate.0.bps() >= 10_000,
                "at least 10 kbit/s",
            ),
            None => Ok(()),
        }
    }

    fn check_delay_target(&self, stations: usize) -> Result<(), ConfigError> {
        let Some(target) = self.delay_target else {
            return Ok(());
        };
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
}

fn check_slot(key: &'static str, slot: Span) -> Result<(), ConfigError> {
    range(
        key,
        slot,
        (10..=10_000).contains(&slot.0.as_millis()),
        "10 ms to 10 s",
    )
}

fn check_interface(name: &str) -> Result<(), ConfigError> {
    // IFNAMSIZ is 16 with the final zero; the kernel refuses `/`, blanks and the names `.` and `..`.
    let valid = (1..=15).contains(&name.len())
        && !name.contains(|c: char| c == '/' || c.is_whitespace() || c.is_control())
        && name != "."
        && name != "..";
    if valid {
        Ok(())
    } else {
        Err(ConfigError::InterfaceName(name.to_owned()))
    }
}

fn unique(
    stations: &[StationConfig],
    what: &'static str,
    key: impl Fn(&StationConfig) -> String,
) -> Result<(), ConfigError> {
    let mut seen = BTreeMap::new();
    for station in stations {
        if let Some(first) = seen.insert(key(station), &station.name) {
            return Err(ConfigError::Duplicate {
                first: first.clone(),
                second: station.name.clone(),
                what,
            });
        }
    }
    Ok(())
}
