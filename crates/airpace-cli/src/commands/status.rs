//! `airpace status`: how the in-line box that runs here stands.

use crate::dashboard;
use crate::output::{self, Table};
use airpace_api::operator::{EdgeEvent, EdgeRequest, EdgeStationStatus, EdgeStatus};
use airpace_live::edge::ask;
use anyhow::bail;
use clap::Args;
use std::process::ExitCode;

const EXAMPLES: &str = "Examples:
  airpace status                 access points and stations, what limits each and why, last events
  airpace status --watch         the same as a dashboard with the last minutes; q ends it
  airpace status --json          for programs: aps, their stations, events
  airpace status --wan eth0      the box on this port, if several run here

Share is the part of the air that a station uses. Waits are those at the access point, 95 of 100
packets wait less. Wi-Fi delay is the median wait in the box and at the access point together; wired
is the round trip between the box and the servers. docs/operate.md explains every field, and what to do
about each limit.

The box writes the answer to a Unix socket in /run/airpace that root and its group may use: run this as
root.";

/// Most events that the text shows.
const EVENTS: usize = 10;

/// Show access points and stations of the in-line box, what limits each station, and why.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Status {
    /// Interface of the box towards the wired network, if several boxes run here.
    #[arg(long, value_name = "INTERFACE")]
    wan: Option<String>,
    /// Print JSON.
    #[arg(long, conflicts_with = "watch")]
    json: bool,
    /// Show a dashboard in the terminal, until q is pressed.
    #[arg(long)]
    watch: bool,
}

pub(crate) fn run(args: &Status) -> anyhow::Result<ExitCode> {
    if args.watch {
        let wan = args.wan.clone();
        return dashboard::run(move || request(wan.as_deref()));
    }
    let status = request(args.wan.as_deref())?;
    if args.json {
        output::json(&status.to_json())?;
    } else {
        output::text(&as_text(&status))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Asks the box that runs here for its status.
pub(crate) fn request(wan: Option<&str>) -> anyhow::Result<EdgeStatus> {
    let reply = ask(wan, &EdgeRequest::Status)?;
    match (reply.error, reply.status) {
        (Some(error), _) => bail!("{error}"),
        (None, Some(status)) => Ok(status),
        (None, None) => bail!("the box did not send its status"),
    }
}

fn as_text(status: &EdgeStatus) -> String {
    let dry_run = if status.dry_run {
        "; dry run: nothing is paced, rates are those that would have been granted"
    } else {
        ""
    };
    let mut text = format!(
        "{} ({}), for {:.0} s, aim: {}{dry_run}\n",
        status.wan, status.datapath, status.uptime_s, status.aim
    );
    if let Some(reason) = &status.passing {
        text.push_str(&format!("ALL FRAMES PASS UNPACED: {reason}\n"));
    }
    if status.passed_large > 0 {
        let frames = status.passed_large;
        text.push_str(&format!(
            "{frames} frames were too long to be paced (docs/operate.md, `passed_large`)\n"
        ));
    }
    for ap in &status.access_points {
        text.push_str(&format!("\n{} ({})", ap.name, ap.ports.join(", ")));
        if let Some(share) = ap.air_of_others {
            text.push_str(&format!(", others use {:.0} % of the air", 100.0 * share));
        }
        text.push('\n');
        if let Some(trouble) = &ap.radio_trouble {
            text.push_str(&format!("{trouble}\n"));
        }
        if ap.stations.is_empty() {
            text.push_str("no station has been heard yet\n");
            continue;
        }
        text.push_str(&stations(&ap.stations));
    }
    if !status.events.is_empty() {
        text.push_str("\nlast events (UTC)\n");
    }
    let first = status.events.len().saturating_sub(EVENTS);
    for event in &status.events[first..] {
        text.push_str(&line(event));
    }
    text
}

/// The table of an access point's stations, and what limits each in words.
fn stations(stations: &[EdgeStationStatus]) -> String {
    let mut table = Table::new([
        "station",
        "Mbit/s",
        "granted",
        "share",
        "level",
        "p95 ms",
        "Wi-Fi ms",
        "wired ms",
        "sensor",
        "conf",
        "limited by",
    ]);
    for station in stations {
        let share = station.share.map(|share| 100.0 * share);
        table.row([
            station.label().to_owned(),
            number(station.mean_goodput_mbps.or(Some(station.mean_sent_mbps))),
            number(station.mean_rate_mbps.or(station.rate_mbps)),
            share.map_or_else(|| "-".to_owned(), |share| format!("{share:.0}%")),
            number(station.level),
            number(station.wait_p95_ms),
            number(station.wifi_delay_ms),
            number(station.backhaul_rtt_ms),
            station.sensor.clone().unwrap_or_else(|| "-".to_owned()),
            number(station.confidence),
            station.limited_by.clone(),
        ]);
    }
    let mut text = table.to_string();
    for station in stations {
        text.push_str(&format!("{}: {}\n", station.label(), station.reason));
    }
    text
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.1}"))
}

fn line(event: &EdgeEvent) -> String {
    // Seconds since 1970 are positive and far below 2^63.
    let seconds = event.unix_s.max(0.0) as u64 % 86_400;
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    let place = event
        .ap
        .as_ref()
        .map_or_else(String::new, |ap| format!("{ap}: "));
    let station = event.name.as_deref().or(event.station.as_deref());
    let who = station.map_or_else(String::new, |name| format!("{name} "));
    format!(
        "{hours:02}:{minutes:02}:{:02}  {:<18}  {place}{who}{}\n",
        seconds % 60,
        event.kind,
        event.text
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use airpace_api::operator::ApStatus;

    #[test]
    fn the_text_names_limits_reasons_and_the_last_events() {
        let event = |number: u64| EdgeEvent {
            number,
            unix_s: 1_790_000_000.0 + number as f64,
            kind: "sensor-lost".to_owned(),
            ap: Some("hall".to_owned()),
            station: Some("02:00:00:00:00:01".to_owned()),
            name: Some("tv".to_owned()),
            text: format!("has lost its agent sensor {number}"),
        };
        let status = EdgeStatus {
            wan: "eth0".to_owned(),
            aim: "balanced".to_owned(),
            passing: Some("eth1 was removed".to_owned()),
            passed_large: 7,
            access_points: vec![ApStatus {
                name: "hall".to_owned(),
                air_of_others: Some(0.25),
                radio_trouble: Some("the radio air0 has been down for 9 s".to_owned()),
                stations: vec![EdgeStationStatus {
                    mac: "02:00:00:00:00:01".to_owned(),
                    share: Some(0.4),
                    limited_by: "fair-share".to_owned(),
                    reason: "paced to its fair share".to_owned(),
                    ..EdgeStationStatus::default()
                }],
                ..ApStatus::default()
            }],
            events: (1..=12).map(event).collect(),
            ..EdgeStatus::default()
        };
        let text = as_text(&status);
        for words in [
            "ALL FRAMES PASS UNPACED: eth1 was removed",
            "7 frames were too long to be paced",
            "others use 25 % of the air",
            "the radio air0 has been down for 9 s\n",
            "40%",
            "02:00:00:00:00:01: paced to its fair share",
            "14:13:32  sensor-lost         hall: tv has lost its agent sensor 12",
        ] {
            assert!(text.contains(words), "{words}:\n{text}");
        }
        assert!(
            !text.contains("agent sensor 2\n"),
            "ten events are enough:\n{text}"
        );
    }
}
