//! Configuration of the proxy and of the agent, as TOML.
//!
//! Parsing ([`ProxyConfig::from_toml`], [`AgentConfig::from_toml`]) never touches the machine and refuses unknown keys;
//! checking ([`ProxyConfig::validate`], [`AgentConfig::validate`]) is a second step that still touches nothing. Every value
//! with a dimension carries its unit (see [`airpace_config::quantity`]). Serialising gives the effective configuration, defaults
//! included, in a form that parses back to the same.

mod agent;
mod check;
mod proxy;

pub use agent::{AgentConfig, UplinkConfig};
pub use check::ConfigError;
pub use proxy::{ControlConfig, FallbackConfig, Law, ProxyConfig, StationConfig, UdpLoadConfig};

use crate::keys::PrivateKey;
use crate::network::Network;
use airpace_config::quantity::{QueueLimit, Size, Span};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Where the private key is: in the configuration or in a file of its own (mode 0600), one of both.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KeySource<'a> {
    /// The key itself.
    Inline(&'a PrivateKey),
    /// A file that holds the key as base64 text.
    File(&'a PathBuf),
}

/// The tunnel's network interface.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TunConfig {
    /// Name of the interface, at most 15 characters. Default `airpace0`.
    #[serde(default = "tun_name")]
    pub name: String,
    /// Address of this end within the tunnel, with the prefix of the tunnel's network.
    pub address: Network,
    /// Largest packet on the interface. Default 1420 B: 1500 B on the path less 28 B of IP and UDP and 40 B of the tunnel,
    /// less some room.
    #[serde(default = "tun_mtu")]
    pub mtu: Size,
}

/// Real-time scheduling of proxy and agent unless configured otherwise.
const fn realtime() -> bool {
    true
}

fn tun_name() -> String {
    "airpace0".to_owned()
}

fn tun_mtu() -> Size {
    Size::from_bytes(1420)
}

/// FQ-CoDel (RFC 8290) in front of the pacer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct QueueConfig {
    /// Most packets in the queue. Default 10240 packets (RFC 8290 §5.2.3). A limit in bytes also permits at most one packet
    /// per 512 bytes, as short packets occupy whole buffers.
    pub limit: QueueLimit,
    /// Most memory the packets may hold. Default 32 MiB (as Linux).
    pub memory: Size,
    /// Number of flow queues that flows are hashed to. Default 1024 (RFC 8290 §5.2.4).
    pub flows: u32,
    /// Bytes a flow may send per turn. Default 1514 B (RFC 8290 §5.2.5).
    pub quantum: Size,
    /// CoDel's target of the standing sojourn time. Default 5 ms (RFC 8289 §4.4).
    pub target: Span,
    /// CoDel's interval. Default 100 ms (RFC 8289 §4.3).
    pub interval: Span,
    /// Whether packets of ECN-capable flows are marked in place of being dropped. Default true.
    pub ecn: bool,
}

impl Default for QueueConfig {
    fn default() -> Self {
        Self {
            limit: QueueLimit::Packets(10_240),
            memory: Size::from_bytes(32 << 20),
            flows: 1024,
            quantum: Size::from_bytes(1514),
            target: Span::from_millis(5),
            interval: Span::from_millis(100),
            ecn: true,
        }
    }
}

/// The AEAD cipher of a tunnel. The agent chooses; the proxy accepts either.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cipher {
    /// AES-256-GCM if the agent's processor has AES instructions, else ChaCha20-Poly1305.
    #[default]
    Auto,
    /// ChaCha20-Poly1305, fast on any processor.
    Chacha20Poly1305,
    /// AES-256-GCM, about twice as fast where the processor has AES instructions.
    Aes256Gcm,
}

#[cfg(test)]
mod tests;
