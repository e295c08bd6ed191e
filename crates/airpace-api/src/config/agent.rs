//! The agent's configuration.

use super::{Cipher, ConfigError, KeySource, QueueConfig, TunConfig};
use crate::keys::{PrivateKey, PublicKey};
use crate::network::Network;
use airpace_config::quantity::{Rate, Span};
use core::net::SocketAddr;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The agent: a small program on a station that reports what the frames it receives look like.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentConfig {
    /// UDP address of the proxy.
    pub proxy: SocketAddr,
    /// The proxy's public key.
    pub proxy_public_key: PublicKey,
    /// The agent's private key, if it is not in a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private_key: Option<PrivateKey>,
    /// File that holds the agent's private key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private_key_file: Option<PathBuf>,
    /// Cipher of the tunnel: `auto`, `chacha20-poly1305` or `aes-256-gcm`. Default `auto`.
    #[serde(default)]
    pub cipher: Cipher,
    /// Monitor interface (radiotap) from which frames are read, `mon0` for example. Without it the socket's receive
    /// timestamps are grouped into frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub monitor: Option<String>,
    /// Length of a slot Δ: one report each. Default 100 ms; 10 ms to 10 s. The proxy follows its own slot.
    #[serde(default = "slot")]
    pub slot: Span,
    /// File to which one JSON object per slot is appended (see [`crate::telemetry`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub telemetry: Option<PathBuf>,
    /// Whether real-time scheduling is asked for, so that deadlines are met on a busy machine; refused, the agent says so and goes on
    /// without. Default true.
    #[serde(default = "super::realtime")]
    pub realtime: bool,
    /// Networks that are routed into the tunnel besides the tunnel's own, while there is a session: traffic takes the plain path
    /// before the first handshake, after 10 s without a sign of the proxy, and when the agent ends.
    #[serde(default)]
    pub routes: Vec<Network>,
    /// The tunnel's interface.
    pub tun: TunConfig,
    /// The uplink.
    #[serde(default)]
    pub uplink: UplinkConfig,
    /// The queue in front of the uplink.
    #[serde(default)]
    pub queue: QueueConfig,
}

fn slot() -> Span {
    Span::from_millis(100)
}

impl AgentConfig {
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

/// The way from the station to the proxy.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UplinkConfig {
    /// Rate to which the uplink is shaped, so that its queue stands in the agent. Default none: sent as fast as the network takes
    /// it. The queue then stands in the agent as far as the network exerts back-pressure on the socket, as Wi-Fi drivers do;
    /// TUN devices (and so the emulated access point) and virtual Ethernet do not, and need a rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// How long pure TCP acknowledgements may be held to share a frame of the air with later packets. Each frame of their own
    /// contends with the access point, and one in sixteen collides with a whole data frame. Default 5 ms; 0 to 20 ms, 0 holds none.
    pub gather_acks: Span,
}

impl Default for UplinkConfig {
    fn default() -> Self {
        Self {
            rate: None,
            gather_acks: Span::from_millis(5),
        }
    }
}
