//! Metrics of the whole box.

use super::{MOST_STATIONS, Metric, Subject, count, counter, encode_all, encode_info, flag, gauge};
use airpace_api::operator::EdgeStatus;
use core::fmt;
use prometheus_client::encoding::DescriptorEncoder;

pub(super) const INFO: &str = "airpace_edge";

pub(super) const METRICS: &[Metric<EdgeStatus>] = &[
    gauge(
        "airpace_start_time",
        "seconds",
        "Time at which airpace began, since 1970.",
        |edge| Some((edge.unix_s - edge.uptime_s).round()),
    ),
    gauge(
        "airpace_stations",
        "",
        "Stations behind all access points.",
        |edge| count(stations(edge) as u64),
    ),
    gauge(
        "airpace_stations_without_series",
        "",
        "Stations that have no series because there are too many.",
        |edge| count(stations(edge).saturating_sub(MOST_STATIONS) as u64),
    ),
    gauge(
        "airpace_pacing_suspended",
        "",
        "Whether all frames pass in the bridge unpaced, because a port or the bridge is not as it must be.",
        |edge| flag(edge.passing.is_some()),
    ),
    gauge(
        "airpace_dry_run",
        "",
        "Whether everything is measured and nothing is paced.",
        |edge| flag(edge.dry_run),
    ),
    gauge(
        "airpace_fail_open",
        "",
        "Whether traffic continues when the process stops.",
        |edge| flag(edge.fail_open),
    ),
    counter(
        "airpace_frames_sent",
        "Frames that left for stations.",
        |edge| count(edge.sent),
    ),
    counter(
        "airpace_frames_dropped",
        "Frames that the queues dropped.",
        |edge| count(edge.dropped),
    ),
    counter(
        "airpace_frames_refused",
        "Frames that a port refused.",
        |edge| count(edge.refused),
    ),
    counter(
        "airpace_frames_passed_stale",
        "Frames that passed unpaced because the process had stood still for 200 ms.",
        |edge| count(edge.passed_stale),
    ),
    counter(
        "airpace_frames_passed_large",
        "Frames that passed unpaced because they are longer than 3,840 bytes or than the MTU that the wan port had when the programs were attached.",
        |edge| count(edge.passed_large),
    ),
    counter(
        "airpace_observations_lost",
        "Observations that were lost because the process was late.",
        |edge| count(edge.observations_lost),
    ),
    counter(
        "airpace_stations_crowded_out",
        "Stations that were not learnt, or forgotten for others.",
        |edge| count(edge.crowded_out),
    ),
    counter(
        "airpace_reports_refused",
        "Reports of agents that were refused: unknown keys, altered or repeated ones, stations that have not been heard, too many.",
        |edge| count(edge.reports_refused),
    ),
    counter(
        "airpace_telemetry_rows_left_out",
        "Rows that were left out of the telemetry because there were too many.",
        |edge| count(edge.rows_left_out),
    ),
    counter(
        "airpace_telemetry_rows_lost",
        "Rows that the telemetry file did not take, since it was opened.",
        |edge| count(edge.rows_lost),
    ),
    counter("airpace_events", "Events since airpace began.", |edge| {
        count(edge.events.last().map_or(0, |event| event.number))
    }),
];

pub(super) fn encode(encoder: &mut DescriptorEncoder<'_>, status: &EdgeStatus) -> fmt::Result {
    let labels = vec![
        ("version", status.version.as_str()),
        ("wan", status.wan.as_str()),
        ("datapath", status.datapath.as_str()),
        ("aim", status.aim.as_str()),
    ];
    let help = "The box: its version, wired port, datapath and aim.";
    encode_info(encoder, INFO, help, &[labels])?;
    let subject = Subject {
        labels: Vec::new(),
        of: status,
    };
    encode_all(encoder, METRICS, &[subject])
}

fn stations(status: &EdgeStatus) -> usize {
    status
        .access_points
        .iter()
        .map(|ap| ap.stations.len())
        .sum()
}
