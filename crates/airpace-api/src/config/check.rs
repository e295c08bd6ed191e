//! The second step: whether the values of a configuration contradict each other. The machine is not
//! looked at.

mod agent;
mod edge;
mod proxy;

use super::{ControlConfig, KeySource, LawChoice, QueueConfig, TunConfig};
use crate::endpoint::Endpoint;
use crate::keys::PrivateKey;
use airpace_config::choice::Words as _;
use airpace_config::quantity::{QueueLimit, Size, Span};
use airpace_core::control::Law;
use airpace_core::queue::CoDelConfig;
use core::net::IpAddr;
use ipnet::IpNet;
use std::path::PathBuf;

/// A contradiction in a configuration. [`ConfigError::key`] tells which key it is about.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// Neither `private_key` nor `private_key_file`, or both.
    #[error("give one of private_key and private_key_file (the command `keygen` makes a key)")]
    KeySource {
        /// The key that holds a private key.
        key: &'static str,
    },
    /// There is no station.
    #[error("at least one [[station]] is needed")]
    NoStation,
    /// More stations than a tunnel can tell apart.
    #[error("{count} stations are too many: one proxy or box takes at most {MAX_STATIONS}")]
    TooManyStations {
        /// How many there are.
        count: usize,
    },
    /// A station without a name.
    #[error("the name is empty: logs and telemetry need one")]
    NoName {
        /// Index of the station.
        index: usize,
    },
    /// The delay target cannot be met by any rates.
    #[error(
        "{target} is below the feasible: {stations} stations need at least {least}, \
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
        /// Index of the second station.
        index: usize,
        /// The key that they share.
        what: &'static str,
    },
    /// A station's address is outside of the tunnel's network.
    #[error("station `{station}`: {address} is outside of the tunnel's network {network}")]
    OutsideTunnel {
        /// Name of the station.
        station: String,
        /// Index of the station.
        index: usize,
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
        /// Index of the station.
        index: usize,
        /// Its address.
        address: IpAddr,
    },
    /// A network of a station contains the proxy's address.
    #[error("station `{station}`: {network} contains the proxy's own address {address}")]
    OwnNetwork {
        /// Name of the station.
        station: String,
        /// The key.
        key: String,
        /// The network.
        network: String,
        /// The proxy's address.
        address: IpAddr,
    },
    /// Packets of IPv6 do not fit the interface.
    #[error(
        "{mtu} is too small for {address}: IPv6 needs an MTU of at least 1280 B (RFC 8200, section 5)"
    )]
    SmallMtu {
        /// The MTU.
        mtu: Size,
        /// The address of IPv6.
        address: String,
    },
    /// A name that the kernel would refuse for an interface.
    #[error("`{name}` is not a valid interface name: use 1 to 15 characters without `/` or spaces")]
    InterfaceName {
        /// The key.
        key: &'static str,
        /// What was given.
        name: String,
    },
    /// A queue in which no packet has room.
    #[error("{limit} is too small: give at least 1 packet or 2048 B")]
    QueueLimit {
        /// What was given.
        limit: QueueLimit,
    },
    /// A value must be larger than that of another key.
    #[error("{value} is too small: it must be more than {other} = {least}")]
    NotLarger {
        /// The key.
        key: &'static str,
        /// Its value.
        value: String,
        /// The other key.
        other: &'static str,
        /// The other key's value.
        least: String,
    },
    /// Law `fixed` without its rate.
    #[error("law = \"fixed\" needs fixed_rate")]
    FixedRate,
    /// A goal of law `waterfill` for another law, which would ignore it.
    #[error("law {law} has no `{key}`: leave it out, or leave out `law` for law waterfill")]
    ForeignGoal {
        /// The key in `[control]`.
        key: &'static str,
        /// The law.
        law: &'static str,
    },
    /// A budget for packets that are not told apart.
    #[error("`interactive_budget` needs `interactive`: add interactive = \"video\" or \"voice\"")]
    InteractiveBudget,
    /// Load without a rate.
    #[error(
        "udp_load needs a rate, and control.law = \"none\" has none: \
         use another law, or `fixed` with control.fixed_rate"
    )]
    UnpacedLoad,
    /// The in-line box has no access point.
    #[error("at least one [[ap]] with a port is needed, for example: ports = [\"eth1\"]")]
    NoAccessPoint,
    /// An access point has no port.
    #[error("this access point has no port: name the interface behind which it is")]
    NoAccessPointPort {
        /// Index of the access point.
        index: usize,
    },
    /// An interface has two roles.
    #[error(
        "{name} is used twice: each port needs an interface of its own, unless access points that share it list their stations"
    )]
    PortTwice {
        /// The key.
        key: String,
        /// The interface.
        name: String,
    },
    /// A hardware address stands in two places.
    #[error("{mac} stands here twice, or with two access points")]
    StationTwice {
        /// The key.
        key: String,
        /// The address.
        mac: crate::mac::MacAddress,
    },
    /// Two stations have one name, by which commands choose a station.
    #[error("{name:?} is the name of another station already: give each a name of its own")]
    NameTwice {
        /// The key.
        key: String,
        /// The name.
        name: String,
    },
    /// A radio is one of the ports.
    #[error(
        "{name} is a port already: a radio is a monitor interface of its own (iw phy phy0 interface add air0 type monitor)"
    )]
    RadioIsPort {
        /// The key.
        key: String,
        /// The interface.
        name: String,
    },
    /// A station has an agent, and there is no key with which to read its reports.
    #[error(
        "this station's agent has nobody to report to: add [agents] with listen and private_key_file"
    )]
    NoAgents {
        /// Index of the station.
        index: usize,
    },
    /// Reports are awaited, and no station may send one.
    #[error(
        "no agent may report: give a [[station]] the public_key that `airpace-agent keygen` prints on it"
    )]
    NoAgentKey,
    /// Metrics and page are served at the same address.
    #[error("metrics and web cannot share {address}: give one of them another port")]
    SharedAddress {
        /// The address.
        address: core::net::SocketAddr,
    },
    /// Two stations have the same agent.
    #[error("two stations have this public_key: each agent needs a key of its own")]
    AgentKeyTwice {
        /// Index of the second station.
        index: usize,
    },
    /// An agent that carries traffic has no interface for it.
    #[error(
        "mode \"tunnel\" needs the table [tun]: add for example address = \"10.77.0.2/24\" to it, or set mode = \"sensor\""
    )]
    NoTunnel,
    /// A key that has no meaning in the agent's mode.
    #[error("mode \"{mode}\" has no `{key}`: leave it out, or change the mode")]
    ForeignMode {
        /// The key.
        key: &'static str,
        /// The mode.
        mode: &'static str,
    },
    /// The proxy's address has no port.
    #[error("{proxy} needs a port other than 0: write for example \"192.0.2.1:51900\"")]
    NoPort {
        /// What was given.
        proxy: Endpoint,
    },
    /// The proxy's own address would be routed into the tunnel.
    #[error(
        "route {route} contains the proxy's address {proxy}: the tunnel would swallow its own packets"
    )]
    RouteCycle {
        /// The key.
        key: String,
        /// The route.
        route: String,
        /// The proxy's address.
        proxy: IpAddr,
    },
}

impl ConfigError {
    /// Dotted path of the key that the error is about, lists by index: `station.1.address`. Empty
    /// for the file as a whole.
    #[must_use]
    pub fn key(&self) -> String {
        match self {
            Self::NoStation | Self::TooManyStations { .. } => "station".to_owned(),
            Self::NoName { index } => format!("station.{index}.name"),
            Self::DelayTarget { .. } => "control.delay_target".to_owned(),
            Self::Duplicate { index, what, .. } => format!("station.{index}.{what}"),
            Self::OutsideTunnel { index, .. } | Self::OwnAddress { index, .. } => {
                format!("station.{index}.address")
            }
            // A key that was left out has no place; if there are both private keys, the one that is
            // not in a file is the one to remove.
            Self::KeySource { key }
            | Self::InterfaceName { key, .. }
            | Self::NotLarger { key, .. }
            | Self::ForeignMode { key, .. } => (*key).to_owned(),
            Self::QueueLimit { .. } => "queue.limit".to_owned(),
            Self::FixedRate => "control.law".to_owned(),
            Self::ForeignGoal { key, .. } => format!("control.{key}"),
            Self::InteractiveBudget => "interactive_budget".to_owned(),
            Self::UnpacedLoad => "udp_load".to_owned(),
            Self::NoPort { .. } => "proxy".to_owned(),
            Self::NoAccessPoint => "ap".to_owned(),
            Self::NoAccessPointPort { index } => format!("ap.{index}.ports"),
            Self::NoAgents { index } | Self::AgentKeyTwice { index } => {
                format!("station.{index}.public_key")
            }
            Self::NoAgentKey => "agents".to_owned(),
            Self::SharedAddress { .. } => "web.listen".to_owned(),
            Self::NoTunnel => "mode".to_owned(),
            Self::SmallMtu { .. } => "tun.mtu".to_owned(),
            Self::OwnNetwork { key, .. }
            | Self::RadioIsPort { key, .. }
            | Self::PortTwice { key, .. }
            | Self::StationTwice { key, .. }
            | Self::NameTwice { key, .. }
            | Self::RouteCycle { key, .. } => key.clone(),
        }
    }
}

/// Most stations of a proxy or box: as many peers as a tunnel can have, whose sessions name their
/// peer in 14 bits.
pub const MAX_STATIONS: usize = 1 << 14;

/// Least MTU of IPv6 (RFC 8200, section 5).
const IPV6_MTU: u64 = 1280;

pub(super) fn key_source<'a>(
    key: &'static str,
    inline: Option<&'a PrivateKey>,
    file: Option<&'a PathBuf>,
) -> Result<KeySource<'a>, ConfigError> {
    match (inline, file) {
        (Some(key), None) => Ok(KeySource::Inline(key)),
        (None, Some(path)) => Ok(KeySource::File(path)),
        _ => Err(ConfigError::KeySource { key }),
    }
}

impl ControlConfig {
    fn contradictions(&self) -> Result<(), ConfigError> {
        match self.law {
            LawChoice::Fixed if self.fixed_rate.is_none() => Err(ConfigError::FixedRate),
            _ => self.check_goal(),
        }
    }

    /// Refuses a goal that the law would ignore.
    fn check_goal(&self) -> Result<(), ConfigError> {
        if self.law == LawChoice::Measured(Law::Waterfill) {
            return Ok(());
        }
        let keys = [
            ("aim", self.aim.is_some()),
            ("latency", self.latency.is_some()),
        ];
        for (key, is_given) in keys {
            if is_given {
                let law = self.law.word();
                return Err(ConfigError::ForeignGoal { key, law });
            }
        }
        Ok(())
    }
}

impl TunConfig {
    fn contradictions(&self) -> Result<(), ConfigError> {
        check_interface("tun.name", &self.name)?;
        let of_ipv6 = self.networks().find(|network| network.addr().is_ipv6());
        match of_ipv6 {
            Some(address) if self.mtu.0.0 < IPV6_MTU => Err(ConfigError::SmallMtu {
                mtu: self.mtu,
                address: address.to_string(),
            }),
            _ => Ok(()),
        }
    }

    /// All addresses of this end within the tunnel, with the prefixes of their networks.
    pub fn networks(&self) -> impl Iterator<Item = &IpNet> {
        core::iter::once(&self.address).chain(&self.more_addresses)
    }
}

/// Refuses more stations than a tunnel can have peers.
fn check_count(count: usize) -> Result<(), ConfigError> {
    if count > MAX_STATIONS {
        return Err(ConfigError::TooManyStations { count });
    }
    Ok(())
}

impl QueueConfig {
    /// `codel` has the values that hold where the configuration has none.
    fn contradictions(&self, codel: CoDelConfig) -> Result<(), ConfigError> {
        let has_room = match self.limit {
            QueueLimit::Packets(packets) => packets >= 1,
            QueueLimit::Bytes(bytes) => bytes.0 >= 2048,
        };
        if !has_room {
            return Err(ConfigError::QueueLimit { limit: self.limit });
        }
        let target = self.target.unwrap_or(Span(codel.target));
        if self.interval > target {
            Ok(())
        } else {
            Err(ConfigError::NotLarger {
                key: "queue.interval",
                value: self.interval.to_string(),
                other: "target",
                least: target.to_string(),
            })
        }
    }
}

fn check_interface(key: &'static str, name: &str) -> Result<(), ConfigError> {
    // IFNAMSIZ is 16 with the final zero; the kernel refuses `/`, blanks and the names `.` and
    // `..`.
    let valid = (1..=15).contains(&name.len())
        && !name.contains(|c: char| c == '/' || c.is_whitespace() || c.is_control())
        && name != "."
        && name != "..";
    if valid {
        Ok(())
    } else {
        Err(ConfigError::InterfaceName {
            key,
            name: name.to_owned(),
        })
    }
}
