//! The in-line box's configuration.

use super::{
    ConfigError, ControlConfig, DocumentError, KeySource, LogFormat, QueueConfig, TelemetryDetail,
};
use crate::keys::{PrivateKey, PublicKey};
use crate::mac::MacAddress;
use airpace_config::document::Override;
use airpace_config::quantity::{Size, Span};
use airpace_config::schema::Given;
use airpace_config::{choice, section};
use core::net::SocketAddr;
use std::path::PathBuf;

choice! {
    /// How frames are taken out of the bridge.
    Datapath:
    /// XDP in the driver if it can, else generic XDP; without BPF a bridge in user space.
    Auto = "auto",
    /// XDP in the driver.
    Native = "native",
    /// XDP in the network stack: works with every driver, slower.
    Generic = "generic",
    /// Packet sockets in place of a kernel bridge. Not fail-open.
    Packet = "packet",
}

#[expect(
    clippy::derivable_impls,
    reason = "the macro that declares the enumeration cannot derive it"
)]
impl Default for Datapath {
    fn default() -> Self {
        Self::Auto
    }
}

section! {
    /// The in-line box: it stands between the wired network and access points, and paces what each
    /// station is sent. Nothing is installed or configured on the stations.
    EdgeConfig as "the in-line box's configuration" {
        /// Interface towards the wired network.
        wan: String = required("eth0"),
        /// An existing bridge that the ports are in, or are to join.
        bridge: Option<String> = optional("the one that the ports are in; else a bridge `airpace-br` is made, or `airpace-br1` and so on if the name is taken, and deleted at the end"),
        /// Whether a bridge that was made stays after the end, so that traffic continues.
        keep_bridge: bool = default("false"),
        /// How frames are taken out of the bridge.
        datapath: Datapath = default("auto"),
        /// Whether everything is measured and decided, and nothing is paced.
        dry_run: bool = default("false"),
        /// Silence after which a station counts as gone.
        leave_after: Span = default("300 s", "1 s", "1000000 s"),
        /// File to which rows about stations are appended, JSON objects one a line. SIGHUP opens it
        /// anew.
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
        /// the system refuses it, airpace logs that and continues without.
        realtime: bool = default("true"),
        /// The rate control.
        control: ControlConfig = nested,
        /// The queue in front of each station's pacer.
        queue: QueueConfig = nested,
        /// Whether packets with ECT(1) wait in a low-latency queue of their own (L4S, RFC 9332). It
        /// has no effect if `ecn` of the queue is off.
        l4s: bool = default("true"),
        /// Where agents on stations send their reports. They are optional: stations without one are
        /// observed by the other sensors.
        agents: Option<AgentsConfig> = optional("no agents"),
        /// Where metrics for Prometheus are served.
        metrics: Option<MetricsConfig> = optional("not served"),
        /// Where the web page is served.
        web: Option<WebConfig> = optional("not served"),
        /// The access points, at least one. Each is a medium of its own.
        ap: Vec<ApConfig> = nested,
        /// Stations of which more is to be said than that they exist.
        station: Vec<EdgeStationConfig> = nested,
    }
}

section! {
    /// An access point.
    ApConfig as "[[ap]]" {
        /// Name in logs and telemetry.
        name: Option<String> = optional("the name of its first port"),
        /// Interfaces behind which it is. Access points that share a port need `stations`.
        ports: Vec<String> = nested,
        /// Hardware addresses of its stations, wherever they are heard.
        stations: Vec<MacAddress> = nested,
        /// Monitor interface (radiotap) of a radio near it, on its channel: `air0` for example. The
        /// block acks, RTS and CTS that it hears tell the frames of every station, with nothing on
        /// the stations.
        radio: Option<String> = optional("none"),
        /// Its address on the air (BSSID), if `radio` is not to learn it from the block acks of its
        /// stations.
        bssid: Option<MacAddress> = optional("learnt"),
    }
}

section! {
    /// Agents on stations that send reports and carry no traffic: `airpace-agent` with mode
    /// `sensor`. Each station with one has its `public_key` in `[[station]]`.
    AgentsConfig as "[agents]" {
        /// UDP address on which the box waits for reports. The box needs an address of its own that
        /// stations can reach, on the bridge for example.
        listen: SocketAddr = default("0.0.0.0:51900"),
        /// The box's private key, if it is not in a file.
        private_key: Option<PrivateKey> = optional,
        /// File that holds the box's private key. A relative path starts in the folder of this
        /// configuration, here and in all other keys.
        private_key_file: Option<PathBuf> = optional,
    }
}

section! {
    /// Metrics in the text format of Prometheus, at `/metrics`. They name every station, and are
    /// not protected: whoever reaches the address can read them.
    MetricsConfig as "[metrics]" {
        /// TCP address at which they are served.
        listen: SocketAddr = default("127.0.0.1:9110"),
    }
}

section! {
    /// The web page. Whoever reaches the address can see it; changes need the token.
    WebConfig as "[web]" {
        /// TCP address at which it is served.
        listen: SocketAddr = default("127.0.0.1:8080"),
        /// File that holds the token for changes, 16 characters or more. Nobody but its owner may
        /// read it.
        token_file: Option<PathBuf> = optional("the page changes nothing"),
        /// Names under which browsers reach the page, if not by `localhost` or an address. Requests
        /// for other names are refused, because a foreign page could make them.
        hosts: Vec<String> = nested,
    }
}

section! {
    /// What is known of a station.
    EdgeStationConfig as "[[station]]" {
        /// Hardware address.
        mac: MacAddress = required("02:00:00:00:00:01"),
        /// Name in logs and telemetry.
        name: Option<String> = optional("the one that it gives itself by DHCP"),
        /// Weight φ of the station's share.
        weight: f64 = default("1", "0.001", "1000"),
        /// Whether its frames pass without being queued or paced.
        exempt: bool = default("false"),
        /// Public key of the agent on it, whose reports count for this station alone.
        public_key: Option<PublicKey> = optional("no agent"),
        /// File that holds a secret which the agent has, too (see `keygen --preshared`).
        preshared_key_file: Option<PathBuf> = optional("none"),
    }
}

impl AgentsConfig {
    /// Where the private key is.
    ///
    /// # Errors
    /// Both places or none are given.
    pub fn key_source(&self) -> Result<KeySource<'_>, ConfigError> {
        super::check::key_source(
            "agents.private_key",
            self.private_key.as_ref(),
            self.private_key_file.as_ref(),
        )
    }
}

impl EdgeConfig {
    /// A file with every key, its explanation and its default, for an operator to edit. It reads as a
    /// valid configuration of interfaces, keys and stations that do not exist.
    #[must_use]
    pub fn example() -> String {
        const GIVEN: &[Given<'_>] = &[
            ("wan", "\"eth0\""),
            ("#telemetry", "\"/var/log/airpace/edge.jsonl\""),
            ("#agents.private_key_file", "\"/etc/airpace/edge.key\""),
            ("#web.token_file", "\"/etc/airpace/web.token\""),
            ("#station.name", "\"printer\""),
            (
                "#station.preshared_key_file",
                "\"/etc/airpace/printer.psk\"",
            ),
            ("ap.ports", "[\"eth1\"]"),
        ];
        super::example::<Self>("The in-line box: airpace edge --config FILE.", GIVEN)
    }

    /// Reads a configuration and checks it.
    ///
    /// # Errors
    /// Malformed TOML, unknown or missing keys, values out of range, contradictions; with the line
    /// and a remedy.
    pub fn from_toml(text: &str) -> Result<Self, DocumentError> {
        Self::from_toml_with(text, &[])
    }

    /// Reads a configuration in which `settings` replace what the text says, or add to it.
    ///
    /// # Errors
    /// As of [`EdgeConfig::from_toml`].
    pub fn from_toml_with(text: &str, settings: &[Override]) -> Result<Self, DocumentError> {
        super::read(text, settings, Self::contradictions)
    }

    /// Checks a configuration that was not read from a file, as [`EdgeConfig::from_toml`] does.
    ///
    /// # Errors
    /// A value out of range, or a contradiction; the place is that in [`EdgeConfig::to_toml`].
    pub fn validate(&self) -> Result<(), DocumentError> {
        Self::from_toml(&self.to_toml()).map(drop)
    }

    /// The effective configuration as TOML that reads back to the same.
    #[must_use]
    pub fn to_toml(&self) -> String {
        toml::to_string(self)
            .expect("texts, numbers and tables with text keys are all representable")
    }

    /// The ports towards access points, with the index of the access point of each.
    pub fn ports(&self) -> impl Iterator<Item = (usize, &str)> {
        self.ap
            .iter()
            .enumerate()
            .flat_map(|(index, ap)| ap.ports.iter().map(move |port| (index, port.as_str())))
    }
}
