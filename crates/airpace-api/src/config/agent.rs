//! The agent's configuration.

use super::{
    Cipher, ConfigError, DocumentError, KeySource, LogFormat, QueueConfig, TelemetryDetail,
    TunConfig,
};
use crate::endpoint::Endpoint;
use crate::keys::{PrivateKey, PublicKey};
use airpace_config::quantity::{Rate, Size, Span};
use airpace_config::schema::Given;
use airpace_config::{choice, section};
use airpace_core::meter::Grouping;
use ipnet::IpNet;
use std::path::PathBuf;

choice! {
    /// What an agent does besides reporting.
    AgentMode:
    /// It carries the station's traffic through a tunnel to a proxy.
    Tunnel = "tunnel",
    /// Nothing: it only sends reports to an in-line box, and the station's traffic takes its usual
    /// way. There is no interface, address or route.
    Sensor = "sensor",
}

choice! {
    /// How receive timestamps are grouped into frames where no monitor interface shows them.
    FrameGrouping:
    /// By a trained classifier, which says when it cannot tell.
    Trained = "trained",
    /// Packets less than 65 µs apart are of one frame.
    FixedGap = "fixed-gap",
}

impl FrameGrouping {
    /// What the meter calls it.
    #[must_use]
    pub const fn meter(self) -> Grouping {
        match self {
            Self::Trained => Grouping::Trained,
            Self::FixedGap => Grouping::FixedGap,
        }
    }
}

#[expect(
    clippy::derivable_impls,
    reason = "the macro that declares the enumeration cannot derive it"
)]
impl Default for AgentMode {
    fn default() -> Self {
        Self::Tunnel
    }
}

section! {
    /// The agent: a small program on a station that reports what the frames it receives look like.
    ///
    /// Its `Default` has examples in place of keys that must be given; read a configuration with
    /// [`AgentConfig::from_toml`].
    AgentConfig as "the agent's configuration" {
        /// Whether the station's traffic goes through the agent, or the agent only reports.
        mode: AgentMode = default("tunnel"),
        /// UDP address of the proxy, or its name and port; in mode `sensor`, that on which the
        /// in-line box listens for reports. A name is looked up again when handshakes remain
        /// unanswered.
        proxy: Endpoint = required("192.0.2.1:51900"),
        /// Public key of the proxy, or of the in-line box.
        proxy_public_key: PublicKey = required("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="),
        /// The agent's private key, if it is not in a file.
        private_key: Option<PrivateKey> = optional,
        /// File that holds the agent's private key. A relative path starts in the folder of this
        /// configuration, here and in all other keys.
        private_key_file: Option<PathBuf> = optional,
        /// File that holds a secret which the other end has, too, so that recorded traffic stays
        /// unreadable even to a quantum computer. `keygen --preshared` makes it.
        preshared_key_file: Option<PathBuf> = optional("none"),
        /// Cipher of the tunnel.
        cipher: Cipher = default("auto"),
        /// Monitor interface (radiotap) from which frames are read, `mon0` for example. Without it,
        /// receive timestamps are grouped into frames: those of the tunnel's socket, or in mode
        /// `sensor` those of the packets on `interface`.
        monitor: Option<String> = optional,
        /// Wi-Fi interface of the station, on which mode `sensor` times packets by their headers
        /// while no monitor interface shows frames.
        interface: Option<String> = optional("the interface that leads to the box"),
        /// How receive timestamps are grouped into frames.
        grouping: FrameGrouping = default("trained"),
        /// Length of a slot Δ: one report each, sooner with news and later with few frames. The
        /// proxy follows its own slot.
        slot: Span = default("100 ms", "10 ms", "10 s"),
        /// File to which rows about slots are appended, JSON objects one a line. SIGHUP opens it anew.
        telemetry: Option<PathBuf> = optional("not written"),
        /// How much is written: a row for each slot, or summaries.
        telemetry_detail: TelemetryDetail = default("summary"),
        /// Size at which the file is renamed to `NAME.1`, in place of an older one, and a new file is
        /// begun. So there is at most twice as much on the disk.
        telemetry_limit: Size = default("100 MB", "1 MB", "1000 GiB"),
        /// Form of the log; the option `--log-format` and the environment variable `AIRPACE_LOG_FORMAT`
        /// go before.
        log_format: LogFormat = default("human"),
        /// Whether to ask for real-time scheduling, so that deadlines are met on a busy machine. If
        /// the system refuses it, the agent logs that and continues without.
        realtime: bool = default("true"),
        /// Networks that are routed into the tunnel besides the tunnel's own, while there is a
        /// session. Traffic takes the plain path before the first handshake, after 10 s without a
        /// sign of the proxy, and when the agent ends. `0.0.0.0/0` and `::/0` are possible: routing
        /// rules then keep the tunnel's own packets, and networks that the station reaches without a
        /// default route, out of the tunnel.
        routes: Vec<IpNet> = nested,
        /// Networks whose packets may arrive through the tunnel. If there are none here, packets from
        /// everywhere are accepted, except from this station's own addresses and from addresses that no
        /// router forwards.
        accept_from: Vec<IpNet> = nested,
        /// The tunnel's interface, which mode `tunnel` needs.
        tun: Option<TunConfig> = optional("none, in mode `sensor`"),
        /// The way from the station to the proxy.
        uplink: UplinkConfig = nested,
        /// The queue in front of the uplink.
        queue: QueueConfig = nested,
    }
}

section! {
    /// The way from the station to the proxy.
    UplinkConfig as "[uplink]" {
        /// Rate to which the uplink is shaped, so that its queue stands in the agent. Without a
        /// rate, packets are sent as fast as the network takes them: the queue then stands in the
        /// agent as far as the network exerts back-pressure on the socket. Wi-Fi drivers do; TUN
        /// devices (and so the emulated access point) and virtual Ethernet do not, and need a rate.
        rate: Option<Rate> = optional("unlimited", "10 kbit/s", "1000 Gbit/s"),
        /// How long pure TCP acknowledgements may be held to share a frame with later packets; 0 ms
        /// holds none. Each frame of their own contends with the access point, and one in sixteen
        /// collides with a whole data frame.
        gather_acks: Span = default("5 ms", "0 ms", "20 ms"),
        /// Whether acknowledgements that are held together and tell their sender nothing that a
        /// later one does not are dropped. Duplicates, selective acknowledgements, and changes of
        /// the window, of ECN feedback or of options always leave.
        thin_acks: bool = default("true"),
    }
}

impl AgentConfig {
    /// A file with every key, its explanation and its default, for an operator to edit. It reads as a
    /// valid configuration of interfaces, keys and stations that do not exist.
    #[must_use]
    pub fn example() -> String {
        const GIVEN: &[Given<'_>] = &[
            ("#telemetry", "\"/var/log/airpace/agent.jsonl\""),
            ("private_key_file", "\"/etc/airpace/agent.key\""),
            ("tun.address", "\"10.77.0.2/24\""),
        ];
        super::example::<Self>("The agent: airpace-agent run --config FILE.", GIVEN)
    }

    /// Reads a configuration and checks it.
    ///
    /// # Errors
    /// Malformed TOML, unknown or missing keys, values out of range, contradictions; with the line
    /// and a remedy.
    pub fn from_toml(text: &str) -> Result<Self, DocumentError> {
        super::read(text, &[], Self::contradictions)
    }

    /// Checks a configuration that was not read from a file, as [`AgentConfig::from_toml`] does.
    ///
    /// # Errors
    /// A value out of range, or a contradiction; the place is that in [`AgentConfig::to_toml`].
    pub fn validate(&self) -> Result<(), DocumentError> {
        Self::from_toml(&self.to_toml()).map(drop)
    }

    /// The effective configuration as TOML that reads back to the same.
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
        super::check::key_source(
            "private_key",
            self.private_key.as_ref(),
            self.private_key_file.as_ref(),
        )
    }
}
