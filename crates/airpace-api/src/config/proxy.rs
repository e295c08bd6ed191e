//! The proxy's configuration.

use super::{ConfigError, KeySource, QueueConfig, TunConfig};
use crate::keys::{PrivateKey, PublicKey};
use airpace_config::quantity::{Rate, Size, Span};
use core::net::{IpAddr, SocketAddr};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The proxy: the box in front of the access point that paces what each station is sent.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProxyConfig {
    /// UDP address on which agents are awaited. Default `0.0.0.0:51900`.
    #[serde(default = "listen")]
    pub listen: SocketAddr,
    /// The proxy's private key, if it is not in a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private_key: Option<PrivateKey>,
    /// File that holds the proxy's private key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private_key_file: Option<PathBuf>,
    /// File to which one JSON object per station and slot is appended (see [`crate::telemetry`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub telemetry: Option<PathBuf>,
    /// Whether real-time scheduling is asked for, so that deadlines are met on a busy machine; refused, the proxy says so and goes on
    /// without. Default true.
    #[serde(default = "super::realtime")]
    pub realtime: bool,
    /// The tunnel's interface.
    pub tun: TunConfig,
    /// The rate control.
    #[serde(default)]
    pub control: ControlConfig,
    /// The queue in front of each station's pacer.
    #[serde(default)]
    pub queue: QueueConfig,
    /// What is done without reports.
    #[serde(default)]
    pub fallback: FallbackConfig,
    /// Constant load to each station in place of real traffic only; the papers' prototype.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub udp_load: Option<UdpLoadConfig>,
    /// The stations that may connect.
    #[serde(rename = "station", default)]
    pub stations: Vec<StationConfig>,
}

fn listen() -> SocketAddr {
    SocketAddr::from(([0, 0, 0, 0], 51_900))
}

impl ProxyConfig {
    /// Parses TOML.
    ///
    /// # Errors
    /// Malformed TOML, unknown keys, values without a unit; the message shows the line.
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        Ok(toml::from_str(text)?)
    }

    /// The effective configuration as TOML that parses back to the same.
    #[must_use]
    pub fn to_toml(&self) -> String {
        toml::to_string(self)
            .expect("texts, numbers and tables with text keys are all representable")
    }

    /// Where the private key is.
    ///
    /// # Errors
    /// Both places or none are given.
    pub fn key_source(&self) -> Result<KeySource<'_>, ConfigError> {
        super::check::key_source(self.private_key.as_ref(), self.private_key_file.as_ref())
    }
}

/// The rate control.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ControlConfig {
    /// The law. Default `waterfill`.
    pub law: Law,
    /// Length of a slot Δ: one report and one decision each. Default 100 ms; 10 ms to 10 s.
    pub slot: Span,
    /// Operating limit of the aggregation level N̄ in packets per frame, at least 1. Default 32.
    pub level_limit: f64,
    /// Delay target T̄: the mean time between frames to one station that must not be exceeded. Default none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_target: Option<Span>,
    /// Size of a typical IP packet on the air, by which packets per second become bytes per second. Default 1500 B.
    pub packet: Size,
    /// Overhead of one frame assumed until it has been measured (channel access, preamble, acknowledgement). Default 214 us.
    pub initial_overhead: Span,
    /// Rate at which a station's first packets are paced, until a report has told more. Default 20 Mbit/s.
    pub initial_rate: Rate,
    /// The rate of law `fixed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixed_rate: Option<Rate>,
    /// Longest burst that leaves the proxy at once, as time at the station's rate. Default 200 us.
    pub burst: Span,
}

impl Default for ControlConfig {
    fn default() -> Self {
        Self {
            law: Law::Waterfill,
            slot: Span::from_millis(100),
            level_limit: 32.0,
            delay_target: None,
            packet: Size::from_bytes(1500),
            initial_overhead: Span(core::time::Duration::from_micros(214)),
            initial_rate: Rate(airpace_units::BitRate::from_mbps(20)),
            fixed_rate: None,
            burst: Span(core::time::Duration::from_micros(200)),
        }
    }
}

/// The law that turns reports into rates.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Law {
    /// Integral control of the level, per station.
    Linear,
    /// Integral control of the fastest station, the others in proportion to their rates.
    LinearPf,
    /// Dual ascent.
    Dual,
    /// Nonlinear inner and outer loop.
    Nonlinear,
    /// Water-filling on the measured round; ours.
    #[default]
    Waterfill,
    /// Each station at `fixed_rate`, for benchmarks.
    Fixed,
    /// No pacing at all: the tunnel alone, for comparison.
    None,
}

/// What is done when a station's reports stop coming. Everything recovers by itself with the next report.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FallbackConfig {
    /// Slots without a report after which a station is sent at most `rate`. Default 5.
    pub conservative_after_slots: u32,
    /// The conservative rate. Default 10 Mbit/s.
    pub rate: Rate,
    /// Slots without a report after which a station is sent everything unshaped. Default 50.
    pub unshaped_after_slots: u32,
}

impl Default for FallbackConfig {
    fn default() -> Self {
        Self {
            conservative_after_slots: 5,
            rate: Rate(airpace_units::BitRate::from_mbps(10)),
            unshaped_after_slots: 50,
        }
    }
}

/// Constant paced UDP to every connected station at the rate it is granted. Real traffic goes first.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UdpLoadConfig {
    /// Payload of the IP packets on the air (UDP header and tunnel included). Default 1470 B.
    pub payload: Size,
}

impl Default for UdpLoadConfig {
    fn default() -> Self {
        Self {
            payload: Size::from_bytes(1470),
        }
    }
}

/// A station that may connect.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StationConfig {
    /// Name in logs and telemetry.
    pub name: String,
    /// Public key of the station's agent.
    pub public_key: PublicKey,
    /// Address of the station within the tunnel.
    pub address: IpAddr,
    /// Weight φ of the station's share. Default 1.
    #[serde(default = "weight")]
    pub weight: f64,
}

fn weight() -> f64 {
    1.0
}
