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
    /// Has the law aim at something else until the configuration is read again.
    Aim {
        /// The name of an aim, or a latency: see
        /// [`ControlConfig::set_aim`](crate::config::ControlConfig::set_aim).
        aim: String,
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
    /// Frames that passed because they are longer than 3,840 bytes or than the MTU that the `wan` port had
    /// when the programs were attached.
    #[serde(default)]
    pub passed_large: u64,
    /// Observations that were lost because the process was late.
    pub observations_lost: u64,
    /// Stations that were crowded out: not learnt, or forgotten for others, because there were too
    /// many to which nothing had been sent. Their frames pass.
    #[serde(default)]
    pub crowded_out: u64,
    /// Reports of agents that were refused: datagrams with an unknown key, altered or repeated ones, and
    /// reports of stations that have not been heard or that came too often.
    #[serde(default)]
    pub reports_refused: u64,
    /// Rows that were left out of the telemetry because there were too many.
    #[serde(default)]
    pub rows_left_out: u64,
    /// Rows that the telemetry file did not take, since it was opened.
    #[serde(default)]
    pub rows_lost: u64,
    /// Wall-clock time of this status, seconds since 1970.
    #[serde(default)]
    pub unix_s: f64,
    /// What the law aims at, in words.
    #[serde(default)]
    pub aim: String,
    /// The access points.
    pub access_points: Vec<ApStatus>,
    /// What has happened lately, at most the last 256 events, the oldest first.
    #[serde(default)]
    pub events: Vec<EdgeEvent>,
}

impl EdgeStatus {
    /// Returns the status as `airpace status --json` prints it: as it is serialized, but with `aps` in
    /// place of `access_points`, and with the hardware address as `name` of a station that has none.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        let mut named = self.clone();
        for station in named
            .access_points
            .iter_mut()
            .flat_map(|ap| &mut ap.stations)
        {
            station.name = Some(station.label().to_owned());
        }
        let mut json = serde_json::to_value(named).unwrap_or_default();
        if let Some(fields) = json.as_object_mut()
            && let Some(aps) = fields.remove("access_points")
        {
            fields.insert("aps".to_owned(), aps);
        }
        json
    }
}

/// Something that has happened at an in-line box.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct EdgeEvent {
    /// Number of the event since the box began, from 1. A reader that has seen one need not look at
    /// those up to it again.
    pub number: u64,
    /// Wall-clock time in seconds since 1970.
    pub unix_s: f64,
    /// What has happened, in kebab-case: `station-joined`, `sensor-lost` and so on.
    pub kind: String,
    /// Name of the access point, if the event concerns one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ap: Option<String>,
    /// Hardware address of the station, if the event concerns one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub station: Option<String>,
    /// Name of the station, if one was known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The event in words, without time and station.
    pub text: String,
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
    /// What is the matter with the radio near it, and what to do; absent if it shows frames, or if there
    /// is none.
    #[serde(default)]
    pub radio_trouble: Option<String>,
    /// Stations to which at least 100 kbit/s are sent.
    #[serde(default)]
    pub active_stations: u64,
    /// Stations whose bottleneck appears to lie between the box and the access point.
    #[serde(default)]
    pub capped_elsewhere: u32,
    /// While the latency that was asked for cannot be met, the least that seems feasible, ms.
    #[serde(default)]
    pub least_latency_ms: Option<f64>,
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
    /// Share of the air that the station uses in both directions, 0 to 1; absent if it is not known.
    #[serde(default)]
    pub share: Option<f64>,
    /// What limits the station: `sender`, `fair-share`, `slow-station`, `backhaul`, `contention`,
    /// `no-sensor`, `sensor-lost`, `exempt`, `passing` or `idle`. `docs/operate.md` says what to do.
    #[serde(default)]
    pub limited_by: String,
    /// Why, in one sentence with the figures.
    #[serde(default)]
    pub reason: String,
    /// The sensor that it has lost, until that is back.
    #[serde(default)]
    pub lost_sensor: Option<String>,
    /// Why the radio near the access point does not tell of its frames, while it does not and packets are
    /// sent.
    #[serde(default)]
    pub radio_unused: Option<String>,
    /// Mbit/s sent to the access point, mean of about the last second.
    #[serde(default)]
    pub mean_sent_mbps: f64,
    /// Mbit/s that have arrived at the station, mean of about the last second; absent without a
    /// sensor.
    #[serde(default)]
    pub mean_goodput_mbps: Option<f64>,
    /// Granted rate in Mbit/s of IP packets, mean of about the last second, as in `reason`; absent when
    /// everything passes.
    #[serde(default)]
    pub mean_rate_mbps: Option<f64>,
    /// PHY rate of the frames to it, Mbit/s; absent until one is reported or assumed.
    #[serde(default)]
    pub phy_mbps: Option<f64>,
    /// Whether that rate is assumed, because no sensor reports it.
    #[serde(default)]
    pub phy_assumed: bool,
    /// Median time that packets have waited in the box in the last one to two seconds, ms.
    #[serde(default)]
    pub sojourn_p50_ms: Option<f64>,
    /// 95th percentile of the same time, ms.
    #[serde(default)]
    pub sojourn_p95_ms: Option<f64>,
    /// Delay because of Wi-Fi, ms: the median waiting times in the box and at the access point
    /// together; absent if neither is known.
    #[serde(default)]
    pub wifi_delay_ms: Option<f64>,
    /// Round trip between the box and the servers of its connections, ms, the one of the last slots
    /// that was disturbed least; absent without TCP that has timestamps.
    #[serde(default)]
    pub backhaul_rtt_ms: Option<f64>,
    /// What that round trip is above the smallest one of the same connection, ms: the delay in queues
    /// on the wired side.
    #[serde(default)]
    pub backhaul_delay_ms: Option<f64>,
    /// What the path to the access point carries, Mbit/s, if the bottleneck appears to lie there.
    #[serde(default)]
    pub backhaul_limit_mbps: Option<f64>,
}

impl EdgeStationStatus {
    /// Returns its name, or its hardware address if it has none.
    #[must_use]
    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.mac)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_of_the_status_has_the_names_that_readers_rely_on() {
        let status = EdgeStatus {
            access_points: vec![ApStatus {
                name: "hall".to_owned(),
                stations: vec![EdgeStationStatus {
                    mac: "02:00:00:00:00:01".to_owned(),
                    ..EdgeStationStatus::default()
                }],
                ..ApStatus::default()
            }],
            ..EdgeStatus::default()
        };
        let json = status.to_json();
        assert!(json.get("access_points").is_none());
        let ap = &json["aps"][0];
        assert_eq!(ap["name"], "hall");
        let station = &ap["stations"][0];
        assert_eq!(station["name"], "02:00:00:00:00:01");
        for key in [
            "mac",
            "goodput_mbps",
            "rate_mbps",
            "share",
            "level",
            "wait_p95_ms",
            "sensor",
            "confidence",
            "limited_by",
            "reason",
        ] {
            assert!(station.get(key).is_some(), "{key}: {station}");
        }
    }

    #[test]
    fn a_status_of_an_older_box_can_be_read() {
        let reply: EdgeReply = serde_json::from_str(
            r#"{"status":{"version":"0","pid":1,"uptime_s":1,"wan":"eth0","datapath":"native",
            "fail_open":true,"dry_run":false,"sent":0,"dropped":0,"refused":0,"passed_stale":0,
            "observations_lost":0,"access_points":[]}}"#,
        )
        .expect("fields that were added later have defaults");
        assert!(reply.status.is_some_and(|status| status.events.is_empty()));
    }

    #[test]
    fn a_request_for_an_aim_has_it_in_words() {
        let request: EdgeRequest =
            serde_json::from_str(r#"{"command":"aim","aim":"10 ms"}"#).expect("valid");
        let aim = "10 ms".to_owned();
        assert_eq!(request, EdgeRequest::Aim { aim });
    }
}
