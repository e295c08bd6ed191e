//! What an operator asks of a running in-line box over its Unix socket, and what it answers: one
//! JSON object per line each.
//!
//! ```
//! use airpace_api::operator::EdgeRequest;
//!
//! let request: EdgeRequest = serde_json::from_str(r#"{"command":"status"}"#)?;
//! assert_eq!(request, EdgeRequest::Status);
//! # Ok::<(), serde_json::Error>(())
//! ```

use serde::{Deserialize, Serialize};

/// A request.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case")]
pub enum EdgeRequest {
    /// Asks how the box and its stations stand.
    Status,
    /// Asks the box to read its configuration again.
    Reload,
    /// Lets the frames of a station pass without being queued or paced, or ends that.
    Exempt {
        /// Hardware address of the station.
        station: String,
        /// Whether it is to be exempt.
        exempt: bool,
    },
}

/// The answer to a request.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct EdgeReply {
    /// Why the request was refused; absent if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What was done, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<String>,
    /// How the box stands, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<EdgeStatus>,
}

/// How an in-line box stands. Fields are added, but never renamed or given another meaning.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct EdgeStatus {
    /// Version of the program.
    pub version: String,
    /// Number of its process.
    pub pid: u32,
    /// Seconds since it began.
    pub uptime_s: f64,
    /// Port towards the wired network.
    pub wan: String,
    /// How frames are taken out of the bridge, in words.
    pub datapath: String,
    /// Whether traffic continues when the process stops.
    pub fail_open: bool,
    /// Why all frames pass in the bridge unpaced at present, in words; absent while those of
    /// stations are paced.
    #[serde(default)]
    pub passing: Option<String>,
    /// Whether nothing is paced: what is granted would have been granted.
    pub dry_run: bool,
    /// Frames that left for stations.
    pub sent: u64,
    /// Frames that the queues dropped.
    pub dropped: u64,
    /// Frames that a port refused.
    pub refused: u64,
    /// Frames that passed because the process had stood still for 200 ms.
    pub passed_stale: u64,
    /// Observations that were lost because the process was late.
    pub observations_lost: u64,
    /// Stations that were crowded out: not learnt, or forgotten for others, because there were too
    /// many to which nothing had been sent. Their frames pass.
    #[serde(default)]
    pub crowded_out: u64,
    /// Rows that were left out of the telemetry because there were too many.
    #[serde(default)]
    pub rows_left_out: u64,
    /// The access points.
    pub access_points: Vec<ApStatus>,
}

/// How an access point stands.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ApStatus {
    /// Its name.
    pub name: String,
    /// The interfaces behind which it is.
    pub ports: Vec<String>,
    /// Time between two frames to a station at which the law aims, ms.
    pub aimed_round_ms: Option<f64>,
    /// Price of delay (κ) that the law applies.
    pub price: Option<f64>,
    /// Share of the air that others than the access point and its stations used in the last slot, 0
    /// to 1, as far as the radio near it has heard; absent without a radio.
    #[serde(default)]
    pub air_of_others: Option<f64>,
    /// The stations, by hardware address.
    pub stations: Vec<EdgeStationStatus>,
}

/// How a station stands.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct EdgeStationStatus {
    /// Hardware address.
    pub mac: String,
    /// Name, if one is known.
    pub name: Option<String>,
    /// IP addresses that it has told by ARP, neighbour discovery or DHCP, the newest first.
    pub addresses: Vec<String>,
    /// Weight (φ) of its share.
    pub weight: f64,
    /// Whether its frames pass unqueued.
    pub exempt: bool,
    /// `controlled`, `starting` (not observed yet), `conservative` or `unshaped` (not observed for
    /// some time).
    pub mode: String,
    /// Granted rate in Mbit/s of IP packets; absent when everything passes.
    pub rate_mbps: Option<f64>,
    /// Mbit/s sent to the access point in the last slot.
    pub sent_mbps: Option<f64>,
    /// Mbit/s acknowledged in the last slot.
    pub goodput_mbps: Option<f64>,
    /// Mbit/s that came from the station in the last slot.
    pub uplink_mbps: Option<f64>,
    /// Observed aggregation level, packets per frame.
    pub level: Option<f64>,
    /// Median waiting time at the access point, ms.
    pub wait_p50_ms: Option<f64>,
    /// 95th percentile of the same time, ms.
    pub wait_p95_ms: Option<f64>,
    /// What observed the station: `agent`, `block-ack`, `ack-burst`, `waiting-time` or `none`.
    pub sensor: Option<String>,
    /// How far the observed level can be relied upon, 0 to 1.
    pub confidence: Option<f64>,
    /// Packets that waited for the pacer in the last slot, or in a dry run would have waited.
    pub held_packets: Option<u32>,
    /// Packets that wait in the box now.
    pub backlog_packets: u64,
    /// Its agent's reports that claimed what contradicts the standard or what was sent, since it came.
    #[serde(default)]
    pub corrected_reports: u64,
    /// Its agent's reports that did not count because too many came, since it came.
    #[serde(default)]
    pub surplus_reports: u64,
    /// Seconds since the station was last heard.
    pub silent_s: f64,
}
