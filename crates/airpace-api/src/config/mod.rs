//! Configuration of the in-line box, of the proxy and of the agent, as TOML.
//!
//! Reading ([`EdgeConfig::from_toml`], [`ProxyConfig::from_toml`], [`AgentConfig::from_toml`]) never touches the machine. It
//! refuses unknown keys, values without a unit and values out of range, then contradictions between
//! keys, each with the line and a remedy. Serializing gives the effective configuration, defaults
//! included, in a form that reads back to the same. Relative paths are relative to the folder of the
//! configuration file: whoever reads a file calls `in_folder`. The tables are declared with
//! [`airpace_config`]; `airpace proxy --schema` and `airpace agent --schema` print the reference
//! made from these declarations.

mod agent;
mod aim;
mod check;
mod edge;
mod hide;
mod law;
mod output;
mod paths;
mod proxy;
mod spell_out;

pub use agent::{AgentConfig, AgentMode, FrameGrouping, UplinkConfig};
pub use aim::AimError;
pub use airpace_config::document::{DocumentError, Override};
pub use check::{ConfigError, MAX_STATIONS};
pub use edge::{
    AgentsConfig, ApConfig, Datapath, EdgeConfig, EdgeStationConfig, MetricsConfig, WebConfig,
};
pub use law::LawChoice;
pub use output::{LogFormat, TelemetryDetail};
pub use proxy::{
    ControlConfig, FallbackConfig, Interactive, ProxyConfig, StationConfig, UdpLoadConfig,
};

use crate::keys::PrivateKey;
use airpace_config::document;
use airpace_config::quantity::{QueueLimit, Size, Span};
use airpace_config::schema::{self, Given};
use airpace_config::section::Section;
use airpace_config::{choice, section};
use ipnet::IpNet;
use std::path::PathBuf;

/// Where the private key is: in the configuration or in a file of its own (mode 0600); exactly one
/// must be given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KeySource<'a> {
    /// The key itself.
    Inline(&'a PrivateKey),
    /// A file that holds the key as base64 text.
    File(&'a PathBuf),
}

section! {
    /// The tunnel's network interface.
    TunConfig as "[tun]" {
        /// Name of the interface, at most 15 characters.
        name: String = default("airpace0"),
        /// Address of this end within the tunnel, with the prefix of the tunnel's network.
        address: IpNet = required("10.77.0.1/24"),
        /// Further addresses of this end within the tunnel, for example one of IPv6.
        more_addresses: Vec<IpNet> = nested,
        /// Largest packet on the interface (MTU). 1420 B are 1500 B on the path, less 28 B of IPv4
        /// and UDP and 40 B of the tunnel, less 12 B to spare. Where the path takes less, TCP is told
        /// so, and other packets are cut into fragments outside. IPv6 needs at least 1280 B.
        mtu: Size = default("1420 B", "576 B", "9000 B"),
        /// Whether the outer header has the packet's DSCP, by which access points with WMM choose
        /// the access category. Code points from CS6 upwards are never copied. Set it to false if
        /// senders beyond your control mark bulk traffic: the outer DSCP is then 0. The ECN field
        /// is always copied, and marks of the networks in between reach the packet (RFC 6040).
        copy_dscp: bool = default("true"),
    }
}

section! {
    /// The queue in front of a pacer: FQ-CoDel (RFC 8290). The defaults are those of the RFCs, but
    /// for the target, and the memory that of Linux.
    QueueConfig as "[queue]" {
        /// Most packets or bytes in the queue (RFC 8290, section 5.2.3); at least 1 packet or 2048
        /// B. A limit in bytes also permits at most one packet per 512 bytes, because short packets
        /// occupy whole buffers.
        limit: QueueLimit = default("10240 packets"),
        /// Most memory that the packets may hold.
        memory: Size = default("32 MiB", "64 KiB", "64 GiB"),
        /// Number of flow queues to which flows are hashed (RFC 8290, section 5.2.4).
        flows: u32 = default("1024", "1", "65536"),
        /// Bytes that a flow may send per turn (RFC 8290, section 5.2.5).
        quantum: Size = default("1514 B", "64 B", "65536 B"),
        /// CoDel's target of the standing sojourn time (RFC 8289, section 4.4). It is longer than the
        /// 5 ms of the RFC, because over Wi-Fi packets and acknowledgements come in bunches.
        target: Option<Span> = optional("20 ms in the wire; 10 ms at a tunnel", "1 ns", "10 s"),
        /// CoDel's interval (RFC 8289, section 4.3); longer than the target.
        interval: Span = default("100 ms", "2 ns", "100 s"),
        /// Whether packets of ECN-capable flows are marked instead of dropped.
        ecn: bool = default("true"),
    }
}

choice! {
    /// The AEAD cipher of a tunnel. The agent chooses; the proxy accepts either.
    Cipher:
    /// AES-256-GCM if the agent's processor has AES instructions, otherwise ChaCha20-Poly1305.
    Auto = "auto",
    /// Fast on any processor.
    Chacha20Poly1305 = "chacha20-poly1305",
    /// About twice as fast where the processor has AES instructions.
    Aes256Gcm = "aes-256-gcm",
}

#[expect(
    clippy::derivable_impls,
    reason = "the macro that declares the enumeration cannot derive it"
)]
impl Default for Cipher {
    fn default() -> Self {
        Self::Auto
    }
}

/// A file with every key, as [`EdgeConfig::example`] and its like give it.
fn example<T: Section>(what: &str, given: &[Given<'_>]) -> String {
    let heading = format!(
        "{what}\n\nEvery key is here. Those that begin with # are not set: they then have this value, or \
         what their comment says. After a change: airpace check FILE, and airpace doctor FILE for what is missing on this machine."
    );
    schema::example::<T>(&heading, given)
}

/// Reads a configuration, then checks it for contradictions; errors of both have their place in
/// `text`.
fn read<T: Section>(
    text: &str,
    settings: &[Override],
    check: impl FnOnce(&T) -> Result<(), ConfigError>,
) -> Result<T, DocumentError> {
    let (config, source) = document::read::<T>(text, settings).map_err(hide::secrets_in_excerpt)?;
    match check(&config) {
        Ok(()) => Ok(config),
        Err(error) => Err(hide::secrets_in_excerpt(
            source.refuse(&error.key(), error.to_string()),
        )),
    }
}

#[cfg(test)]
mod tests;
