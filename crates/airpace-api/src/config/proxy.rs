//! The proxy's configuration.

use super::{
    ConfigError, DocumentError, KeySource, LawChoice, LogFormat, QueueConfig, TelemetryDetail,
    TunConfig,
};
use crate::keys::{PrivateKey, PublicKey};
use airpace_config::choice;
use airpace_config::choice::Choice;
use airpace_config::quantity::{Rate, Size, Span};
use airpace_config::schema::Given;
use airpace_config::section;
use airpace_core::control::{Aim, Goal};
use core::net::{IpAddr, SocketAddr};
use ipnet::IpNet;
use std::path::PathBuf;

choice! {
    /// Access category of the packets of sparse flows.
    Interactive:
    /// Video.
    Video = "video",
    /// Voice.
    Voice = "voice",
}

section! {
    /// The proxy: the box in front of the access point that paces what each station is sent.
    ///
    /// Its `Default` has examples in place of keys that must be given; read a configuration with
    /// [`ProxyConfig::from_toml`].
    ProxyConfig as "the proxy's configuration" {
        /// UDP address on which the proxy waits for agents.
        listen: SocketAddr = default("0.0.0.0:51900"),
        /// The proxy's private key, if it is not in a file.
        private_key: Option<PrivateKey> = optional,
        /// File that holds the proxy's private key. A relative path starts in the folder of this
        /// configuration, here and in all other keys.
        private_key_file: Option<PathBuf> = optional,
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
        /// the system refuses it, the proxy logs that and continues without.
        realtime: bool = default("true"),
        /// Access category that the outer header of packets of sparse flows asks for (calls, games,
        /// pings, requests), so that an access point with WMM sends them before everything that
        /// waits in it. Video is AF41 outside, voice EF. A flow that sends more than 1 Mbit/s is
        /// not sparse.
        interactive: Option<Interactive> = optional("off"),
        /// Most airtime of those packets, of all stations together, as a share of the time.
        /// Stations that need more than there is get equal parts; what exceeds the budget is sent
        /// as best effort. Only with `interactive`.
        interactive_budget: Option<f64> = optional("0.02", "0.001", "0.5"),
        /// The tunnel's interface.
        tun: TunConfig = nested,
        /// The rate control.
        control: ControlConfig = nested,
        /// The queue in front of each station's pacer.
        queue: QueueConfig = nested,
        /// Whether packets with ECT(1) wait in a low-latency queue of their own (L4S, RFC 9332). It
        /// has no effect if `ecn` of the queue is off.
        l4s: bool = default("true"),
        /// What happens while reports are missing.
        fallback: FallbackConfig = nested,
        /// Constant load to each station besides real traffic, as the papers' prototype sends it.
        udp_load: Option<UdpLoadConfig> = optional("no load"),
        /// The stations that may connect; at least one.
        station: Vec<StationConfig> = nested,
    }
}

section! {
    /// The rate control.
    ControlConfig as "[control]" {
        /// The law that turns reports into rates.
        law: LawChoice = default("waterfill"),
        /// Length of a slot Δ: one report and one decision each.
        slot: Span = default("100 ms", "10 ms", "10 s"),
        /// What law `waterfill` aims at. `level_limit` and `delay_target` without it pose the
        /// papers' problem, in which delay has no price.
        aim: Option<Choice<Aim>> = optional("balanced"),
        /// Time within which law `waterfill` lets 95 of 100 packets pass the access point, waiting
        /// included. It is met by moving the price of delay.
        latency: Option<Span> = optional("the aim alone", "1 ms", "10 s"),
        /// Operating limit of the aggregation level N̄ in packets per frame.
        level_limit: Option<f64> = optional("32; for law waterfill as long as frames can be", "1", "1024"),
        /// Delay target T̄: the mean time between frames to one station that must not be exceeded.
        delay_target: Option<Span> = optional("none"),
        /// Size of a typical IP packet on the air, by which packets per second become bytes per
        /// second.
        packet: Size = default("1500 B", "64 B", "9000 B"),
        /// Overhead of one frame that is assumed until it has been measured (channel access,
        /// preamble, acknowledgement).
        initial_overhead: Span = default("214 us", "10 us", "100 ms"),
        /// Rate at which a station's first packets are paced, until a report has told more.
        initial_rate: Rate = default("20 Mbit/s", "10 kbit/s", "1000 Gbit/s"),
        /// The rate of law `fixed`.
        fixed_rate: Option<Rate> = optional("10 kbit/s", "1000 Gbit/s"),
        /// Longest burst that leaves the proxy at once, as time at the station's rate.
        burst: Span = default("200 us", "0 s", "10 ms"),
    }
}

impl ControlConfig {
    /// What the law is asked for.
    #[must_use]
    pub fn goal(&self) -> Goal {
        Goal {
            level: self.level_limit,
            delay: self.delay_target.map(|target| target.0),
            aim: self.aim.map(|aim| aim.0),
            price: None,
            latency: self.latency.map(|latency| latency.0),
        }
    }
}

section! {
    /// What happens while a station's reports are missing. Everything recovers by itself with the
    /// next report.
    FallbackConfig as "[fallback]" {
        /// Slots without a report after which a station is sent at most `rate`.
        conservative_after_slots: u32 = default("5", "1", "1000000"),
        /// The conservative rate.
        rate: Rate = default("10 Mbit/s", "10 kbit/s", "1000 Gbit/s"),
        /// Slots without a report after which a station is sent everything unshaped; more than
        /// `conservative_after_slots`.
        unshaped_after_slots: u32 = default("50", "2", "1000000"),
    }
}

section! {
    /// Constant paced UDP to every connected station at the rate that it is granted. Real traffic
    /// goes first.
    UdpLoadConfig as "[udp_load]" {
        /// Payload of the IP packets on the air (UDP header and tunnel included).
        payload: Size = default("1470 B", "64 B", "65000 B"),
    }
}

section! {
    /// A station that may connect.
    StationConfig as "[[station]]" {
        /// Name in logs and telemetry.
        name: String = required("laptop"),
        /// Public key of the station's agent.
        public_key: PublicKey = required("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="),
        /// File that holds a secret which the station's agent has, too (see `keygen --preshared`).
        preshared_key_file: Option<PathBuf> = optional("none"),
        /// Address of the station within the tunnel.
        address: IpAddr = required("10.77.0.2"),
        /// Further addresses and networks that are reached through the station, for example its
        /// address of IPv6. The proxy routes them into the tunnel.
        networks: Vec<IpNet> = nested,
        /// Weight φ of the station's share.
        weight: f64 = default("1", "0.000001", "1000000"),
    }
}

impl ProxyConfig {
    /// A file with every key, its explanation and its default, for an operator to edit. It reads as a
    /// valid configuration of interfaces, keys and stations that do not exist.
    #[must_use]
    pub fn example() -> String {
        const GIVEN: &[Given<'_>] = &[
            ("#telemetry", "\"/var/log/airpace/proxy.jsonl\""),
            ("private_key_file", "\"/etc/airpace/proxy.key\""),
            ("tun.address", "\"10.77.0.1/24\""),
            ("station.name", "\"laptop\""),
        ];
        super::example::<Self>("The proxy: airpace proxy --config FILE.", GIVEN)
    }

    /// Reads a configuration and checks it.
    ///
    /// # Errors
    /// Malformed TOML, unknown or missing keys, values out of range, contradictions; with the line
    /// and a remedy.
    pub fn from_toml(text: &str) -> Result<Self, DocumentError> {
        super::read(text, &[], Self::contradictions)
    }

    /// Checks a configuration that was not read from a file, as [`ProxyConfig::from_toml`] does.
    ///
    /// # Errors
    /// A value out of range, or a contradiction; the place is that in [`ProxyConfig::to_toml`].
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
