//! Metrics of a station.

use super::{
    MOST_STATIONS, Metric, States, Subject, count, counter, encode_all, encode_info, encode_states,
    flag, gauge, mega, milli,
};
use airpace_api::operator::{EdgeStationStatus, EdgeStatus};
use core::fmt;
use prometheus_client::encoding::DescriptorEncoder;

pub(super) const INFO: &str = "airpace_station";

pub(super) const METRICS: &[Metric<EdgeStationStatus>] = &[
    gauge(
        "airpace_station_granted_rate",
        "bits_per_second",
        "Granted rate, in bits of IP packets.",
        |of| mega(of.rate_mbps),
    ),
    gauge(
        "airpace_station_sent",
        "bits_per_second",
        "Sent to the access point, mean of about the last second.",
        |of| mega(Some(of.mean_sent_mbps)),
    ),
    gauge(
        "airpace_station_goodput",
        "bits_per_second",
        "Arrived at the station, mean of about the last second.",
        |of| mega(of.mean_goodput_mbps),
    ),
    gauge(
        "airpace_station_uplink",
        "bits_per_second",
        "Came from the station in the last slot.",
        |of| mega(of.uplink_mbps),
    ),
    gauge(
        "airpace_station_phy_rate",
        "bits_per_second",
        "PHY rate of the frames to the station.",
        |of| mega(of.phy_mbps),
    ),
    gauge(
        "airpace_station_backhaul_limit",
        "bits_per_second",
        "What the path to the access point carries, if the bottleneck appears to lie there.",
        |of| mega(of.backhaul_limit_mbps),
    ),
    gauge(
        "airpace_station_wifi_delay",
        "seconds",
        "Median waiting times in the box and at the access point together.",
        |of| milli(of.wifi_delay_ms),
    ),
    gauge(
        "airpace_station_ap_wait_p50",
        "seconds",
        "Median waiting time at the access point.",
        |of| milli(of.wait_p50_ms),
    ),
    gauge(
        "airpace_station_ap_wait_p95",
        "seconds",
        "95th percentile of the waiting time at the access point.",
        |of| milli(of.wait_p95_ms),
    ),
    gauge(
        "airpace_station_box_wait_p50",
        "seconds",
        "Median waiting time in the box.",
        |of| milli(of.sojourn_p50_ms),
    ),
    gauge(
        "airpace_station_box_wait_p95",
        "seconds",
        "95th percentile of the waiting time in the box.",
        |of| milli(of.sojourn_p95_ms),
    ),
    gauge(
        "airpace_station_backhaul_rtt",
        "seconds",
        "Round trip between the box and the servers of the station's connections.",
        |of| milli(of.backhaul_rtt_ms),
    ),
    gauge(
        "airpace_station_backhaul_delay",
        "seconds",
        "What that round trip is above the smallest one.",
        |of| milli(of.backhaul_delay_ms),
    ),
    gauge(
        "airpace_station_silent",
        "seconds",
        "Time since the station was last heard.",
        |of| Some(of.silent_s),
    ),
    gauge(
        "airpace_station_air_share",
        "ratio",
        "Share of the air that the station uses in both directions.",
        |of| of.share,
    ),
    gauge(
        "airpace_station_sensor_confidence",
        "ratio",
        "How far the observed level can be relied upon.",
        |of| of.confidence,
    ),
    gauge(
        "airpace_station_aggregation_level",
        "packets",
        "Observed packets per frame on the air.",
        |of| of.level,
    ),
    gauge(
        "airpace_station_backlog",
        "packets",
        "Packets that wait in the box.",
        |of| count(of.backlog_packets),
    ),
    gauge(
        "airpace_station_held",
        "packets",
        "Packets that waited for the pacer in the last slot.",
        |of| of.held_packets.map(f64::from),
    ),
    gauge(
        "airpace_station_weight",
        "",
        "Weight of the station's share.",
        |of| Some(of.weight),
    ),
    gauge(
        "airpace_station_exempt",
        "",
        "Whether the station's frames pass unpaced.",
        |of| flag(of.exempt),
    ),
    gauge(
        "airpace_station_sensor_lost",
        "",
        "Whether its agent or the radio is missed, or a lost sensor limits the station.",
        |of| flag(misses_sensor(of)),
    ),
    gauge(
        "airpace_station_phy_rate_assumed",
        "",
        "Whether the PHY rate is assumed, because no sensor reports it.",
        |of| flag(of.phy_assumed),
    ),
    counter(
        "airpace_station_reports_corrected",
        "Reports of the station's agent that claimed what cannot be.",
        |of| count(of.corrected_reports),
    ),
    counter(
        "airpace_station_reports_surplus",
        "Reports of the station's agent that came too often.",
        |of| count(of.surplus_reports),
    ),
];

/// Whether an operator should look after a sensor. The one that needs TCP comes and goes with it.
fn misses_sensor(of: &EdgeStationStatus) -> bool {
    let lost = of.lost_sensor.as_deref();
    of.limited_by == "sensor-lost" || lost.is_some_and(|sensor| sensor != "ack-burst")
}

/// What can limit a station, the first that applies first.
pub(super) const CAUSES: &[&str] = &[
    "passing",
    "exempt",
    "idle",
    "backhaul",
    "sensor-lost",
    "no-sensor",
    "slow-station",
    "contention",
    "fair-share",
    "sender",
];

pub(super) const STATES: &[States<EdgeStationStatus>] = &[
    States {
        name: "airpace_station_limited_by",
        label: "cause",
        words: CAUSES,
        help: "Whether this cause limits the station.",
        value: |of| &of.limited_by,
    },
    States {
        name: "airpace_station_sensor",
        label: "sensor",
        words: &["agent", "block-ack", "ack-burst", "waiting-time", "none"],
        help: "Whether this sensor observes the station.",
        value: |of| of.sensor.as_deref().unwrap_or("none"),
    },
    States {
        name: "airpace_station_mode",
        label: "mode",
        words: &["controlled", "starting", "conservative", "unshaped"],
        help: "Whether the station is paced in this mode.",
        value: |of| &of.mode,
    },
];

pub(super) fn encode(encoder: &mut DescriptorEncoder<'_>, status: &EdgeStatus) -> fmt::Result {
    let mut subjects = Vec::new();
    for ap in &status.access_points {
        for station in &ap.stations {
            subjects.push(Subject {
                labels: vec![("ap", ap.name.as_str()), ("station", station.mac.as_str())],
                of: station,
            });
        }
    }
    subjects.sort_by(|a, b| {
        let by_use = b.of.mean_sent_mbps.total_cmp(&a.of.mean_sent_mbps);
        by_use.then_with(|| a.of.mac.cmp(&b.of.mac))
    });
    subjects.truncate(MOST_STATIONS);
    let mut infos = Vec::new();
    for subject in &subjects {
        let mut labels = subject.labels.clone();
        labels.push(("name", subject.of.label()));
        infos.push(labels);
    }
    let help = "The station: its name, or its hardware address if it has none.";
    encode_info(encoder, INFO, help, &infos)?;
    encode_all(encoder, METRICS, &subjects)?;
    encode_states(encoder, STATES, &subjects)
}
