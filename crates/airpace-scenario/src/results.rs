//! The figures of a run: the summary that `airpace sim run --json` prints.
//!
//! Within one [`SIMULATION_FORMAT`], fields are added but never changed or removed. The same
//! scenario, seed and version give the same bytes except for [`SimulationSummary::wall_s`] and
//! [`SimulationSummary::packets_per_wall_s`].

use crate::warnings::Warning;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// Version of the format of [`SimulationSummary`] and of the files beside it.
pub const SIMULATION_FORMAT: u32 = 1;

/// A run's summary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SimulationSummary {
    /// [`SIMULATION_FORMAT`].
    pub format: u32,
    /// Version of airpace.
    pub program_version: String,
    /// Seed of every random draw.
    pub seed: u64,
    /// What was run.
    pub scenario: ScenarioRecord,
    /// Time at the beginning that the figures leave out, seconds.
    pub warm_up_s: f64,
    /// Time over which the figures were taken, seconds; shorter than the scenario's if the run was
    /// stopped.
    pub duration_s: f64,
    /// Whether the run was stopped before its end.
    pub interrupted: bool,
    /// Every station, in the order of the scenario.
    pub stations: Vec<StationSummary>,
    /// Every flow.
    pub flows: Vec<FlowSummary>,
    /// Every directed radio link that carried frames.
    pub links: Vec<LinkSummary>,
    /// Every proxy, in the order of the scenario.
    #[serde(default)]
    pub proxies: Vec<ProxySummary>,
    /// The hand-overs of stations that roam, in the whole run, in order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hand_overs: Vec<HandOverSummary>,
    /// The whole network.
    pub totals: TotalsSummary,
    /// Why figures are not to be trusted, if there are reasons.
    #[serde(default)]
    pub warnings: Vec<Warning>,
    /// Wall time that the run took, seconds.
    pub wall_s: f64,
    /// Packets that arrived, warm-up included, per second of wall time.
    pub packets_per_wall_s: f64,
}

impl SimulationSummary {
    /// Sets the time that the run took, and the pace that follows from it.
    pub fn set_wall_time(&mut self, wall: Duration) {
        self.wall_s = wall.as_secs_f64();
        // A run cannot take less than a nanosecond; a coarse clock may say so.
        self.packets_per_wall_s = self.totals.run.delivered as f64 / self.wall_s.max(1e-9);
    }
}

/// A station has gone from one access point to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HandOverSummary {
    /// Name of the station.
    pub station: String,
    /// Name of the access point that it left.
    pub from: String,
    /// Name of the one with which it was associated then.
    pub to: String,
    /// When it was associated, seconds from the beginning of the run.
    pub at_s: f64,
    /// How long it had no access point before, milliseconds.
    pub interruption_ms: f64,
}

/// What was run, so that it can be run again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScenarioRecord {
    /// Its title.
    pub title: String,
    /// Hash of every setting, defaults included, but not of the seed; 32 hexadecimal digits
    /// (SipHash-2-4, 128 bits).
    pub hash: String,
    /// The file's text.
    pub text: String,
    /// The settings that replaced some of the file's, as `key=value`.
    pub set: Vec<String>,
}

/// The flows that end at a station and those that start there, each from its sender to its
/// receiver, without answers. A flow between two stations counts at both, so sums over stations can
/// exceed [`TotalsSummary`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StationSummary {
    /// Its name.
    pub name: String,
    /// Payload of its flows that was delivered to the receiving applications, Mbit/s.
    pub goodput_mbps: f64,
    /// Mean MPDUs per data frame to it, or from it if there were no frames to it; `null` without
    /// frames.
    pub level: Option<f64>,
    /// One-way delay of the packets of its flows, milliseconds; `null` without packets.
    pub delay_ms: Option<DelaySummary>,
    /// Packets that its flows' senders sent.
    pub sent: u64,
    /// Packets of its flows that arrived.
    pub received: u64,
    /// Packets of its flows that were lost, by reason.
    pub dropped: BTreeMap<String, u64>,
    /// Share of the time in which the channel carried frames to it or from it, and their answers.
    pub airtime_share: f64,
    /// The same as the driver of its access point counts it, which is what a scheme that shares
    /// airtime out goes by; `null` in summaries of builds that did not count it.
    #[serde(default)]
    pub counted_airtime_share: Option<f64>,
}

impl StationSummary {
    /// Packets of its flows that were lost, for whatever reason.
    #[must_use]
    pub fn dropped_packets(&self) -> u64 {
        self.dropped.values().sum()
    }
}

/// Delays in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DelaySummary {
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Smallest.
    pub min: f64,
}

/// The figures of a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowSummary {
    /// Its name.
    pub name: String,
    /// What it is, as in the scenario: `tcp`, `udp-cbr`, ….
    pub kind: String,
    /// Sender.
    pub from: String,
    /// Receiver.
    pub to: String,
    /// Payload delivered to the receiving application, Mbit/s.
    pub goodput_mbps: f64,
    /// One-way delay of its packets, milliseconds.
    pub delay_ms: Option<DelaySummary>,
    /// The part of the delay for which the packets waited in the queue of an airpace proxy,
    /// milliseconds; `None` if none passed through one.
    pub proxy_wait_ms: Option<DelaySummary>,
    /// Packets sent towards the receiver.
    pub sent: u64,
    /// Packets that arrived there.
    pub received: u64,
    /// Packets lost, by reason.
    pub dropped: BTreeMap<String, u64>,
    /// Round-trip time, milliseconds: of pings, or as the TCP sender measures it.
    pub rtt_ms: Option<DelaySummary>,
    /// Segments that the TCP sender retransmitted.
    pub retransmits: Option<u64>,
    /// Mean opinion score of a call (ITU-T G.107), 1 to 4.5, of what is heard behind an adaptive
    /// jitter buffer.
    pub mos: Option<f64>,
    /// Mean opinion score by the network's mean delay plus twice its mean jitter, and its loss, as
    /// flent computed it when 004's Table 2 was made (see `Call::flent_score` of `airpace-core`).
    pub network_mos: Option<f64>,
    /// Time from request to the last object of a web page, seconds.
    pub page_load_s: Option<PageLoadSummary>,
}

impl FlowSummary {
    /// Its packets that were lost, for whatever reason.
    #[must_use]
    pub fn dropped_packets(&self) -> u64 {
        self.dropped.values().sum()
    }
}

/// Loading times of web pages, seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PageLoadSummary {
    /// Number of pages that were loaded.
    pub count: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Shortest.
    pub min: f64,
    /// Longest.
    pub max: f64,
}

/// A directed radio link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkSummary {
    /// Name of the channel.
    pub channel: String,
    /// Sender.
    pub from: String,
    /// Receiver.
    pub to: String,
    /// Data frames.
    pub frames: u64,
    /// Mean MPDUs per frame.
    pub level: f64,
    /// Mean over windows of 50 ms of the MPDUs per frame in each: the "average number of MPDUs per
    /// A-MPDU" that Minstrel-HT of Linux reports in `rc_stats`.
    #[serde(default)]
    pub windowed_level: f64,
    /// Standard deviation of the MPDUs per frame.
    pub level_deviation: f64,
    /// Share of the sent MPDUs that were retransmissions.
    pub retry_share: f64,
    /// Share of the frames that others disturbed.
    pub collision_share: f64,
    /// Harmonic mean of the data rate, Mbit/s.
    pub phy_mbps: f64,
    /// Share of the time in which the channel carried its frames and their answers.
    pub airtime_share: f64,
    /// Share of the time in which the channel carried its data frames alone.
    pub ppdu_share: f64,
    /// Mean number of packets left in the queue when a frame was built.
    pub queue: f64,
    /// Time from the arrival of a packet at the sender's queue to the end of the frame that
    /// delivered it, milliseconds.
    #[serde(default)]
    pub wait_ms: Option<DelaySummary>,
}

/// A proxy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProxySummary {
    /// Name of the node at which it stands.
    pub at: String,
    /// How often its law reported that the bottleneck of stations lies elsewhere than at the access
    /// point, in the whole run.
    pub bottleneck_alarms: u64,
    /// If the latency that was asked for could not be met at the end of the run, the least that
    /// seemed feasible, milliseconds.
    pub least_latency_ms: Option<f64>,
}

/// The whole network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TotalsSummary {
    /// Payload delivered to all applications, Mbit/s.
    pub goodput_mbps: f64,
    /// Mean of the stations' levels.
    pub level: Option<f64>,
    /// Delay of the packets of all flows from sender to receiver, milliseconds; answers do not
    /// count.
    pub delay_ms: Option<DelaySummary>,
    /// Packets that the flows' senders sent.
    pub sent: u64,
    /// Packets that arrived.
    pub received: u64,
    /// Packets that were lost, for whatever reason.
    pub dropped: u64,
    /// Share of the time in which the air was busy, mean over the channels, as the first radio of
    /// each hears it.
    pub airtime_share: f64,
    /// Jain's index of the stations' airtime; 1 if all are equal.
    pub jain_airtime: Option<f64>,
    /// Jain's index of the stations' goodput.
    pub jain_goodput: Option<f64>,
    /// Packets of the whole run.
    #[serde(default)]
    pub run: RunTotals,
}

/// Packets of all flows in both directions over the whole run, warm-up included:
/// `sent = delivered + dropped + held`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunTotals {
    /// Packets that left their sources, answers included.
    pub sent: u64,
    /// Packets that arrived.
    pub delivered: u64,
    /// Packets that were lost, for whatever reason.
    pub dropped: u64,
    /// Packets that were still under way at the end.
    pub held: u64,
    /// How often a proxy reported that the bottleneck of stations lies elsewhere than at the access
    /// point.
    #[serde(default)]
    pub bottleneck_alarms: u64,
}

/// One finished run of a sweep with all its figures: a line of `runs.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepRun {
    /// Hash of scenario, seed and program version, which tells one run from another.
    pub key: String,
    /// The values of the point, in the order of the command line: `key=value`.
    pub over: Vec<String>,
    /// Number of the repetition, from zero.
    pub repeat: u32,
    /// Its figures.
    pub summary: SimulationSummary,
}
