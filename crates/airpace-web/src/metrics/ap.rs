//! Metrics of an access point.

use super::{Metric, Subject, count, encode_all, gauge, milli};
use airpace_api::operator::{ApStatus, EdgeStatus};
use core::fmt;
use prometheus_client::encoding::DescriptorEncoder;

pub(super) const METRICS: &[Metric<ApStatus>] = &[
    gauge(
        "airpace_ap_stations",
        "",
        "Stations of the access point.",
        |ap| count(ap.stations.len() as u64),
    ),
    gauge(
        "airpace_ap_active_stations",
        "",
        "Stations to which at least 100 kbit/s are sent.",
        |ap| count(ap.active_stations),
    ),
    gauge(
        "airpace_ap_aimed_round",
        "seconds",
        "Time between two frames to a station at which the law aims.",
        |ap| milli(ap.aimed_round_ms),
    ),
    gauge(
        "airpace_ap_least_latency",
        "seconds",
        "The least latency that seems feasible, while the one that was asked for is not.",
        |ap| milli(ap.least_latency_ms),
    ),
    gauge(
        "airpace_ap_delay_price",
        "",
        "Price of delay that the law applies.",
        |ap| ap.price,
    ),
    gauge(
        "airpace_ap_air_of_others",
        "ratio",
        "Share of the air that others than the access point and its stations used.",
        |ap| ap.air_of_others,
    ),
    gauge(
        "airpace_ap_stations_capped_elsewhere",
        "",
        "Stations whose bottleneck appears to lie between the box and the access point.",
        |ap| Some(f64::from(ap.capped_elsewhere)),
    ),
];

pub(super) fn encode(encoder: &mut DescriptorEncoder<'_>, status: &EdgeStatus) -> fmt::Result {
    let mut subjects = Vec::new();
    for ap in &status.access_points {
        subjects.push(Subject {
            labels: vec![("ap", ap.name.as_str())],
            of: ap,
        });
    }
    encode_all(encoder, METRICS, &subjects)
}
