//! Requests to a running box.

use crate::output::{self, Table};
use airpace_agent::failure::bad_input;
use airpace_api::config::ControlConfig;
use airpace_api::mac::MacAddress;
use airpace_api::operator::{EdgeReply, EdgeRequest, EdgeStationStatus, EdgeStatus};
use airpace_live::edge::ask;
use anyhow::bail;
use clap::{Args, Subcommand};
use std::process::ExitCode;

/// The request.
#[derive(Subcommand)]
pub(crate) enum Operation {
    /// Show the access points and stations of the box that runs here.
    Status(Status),
    /// Have the box that runs here read its configuration again.
    Reload(Reload),
    /// Let the frames of a station pass unpaced, until airpace ends.
    Exempt(Exempt),
    /// Have the law aim at something else, until the configuration is reloaded or airpace ends.
    Aim(Aim),
}

/// Which box.
#[derive(Args)]
pub(crate) struct Target {
    /// Interface of the box towards the wired network, if several boxes run here.
    #[arg(long, value_name = "INTERFACE")]
    wan: Option<String>,
}

/// `airpace edge status`.
#[derive(Args)]
pub(crate) struct Status {
    #[command(flatten)]
    target: Target,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// `airpace edge reload`.
#[derive(Args)]
pub(crate) struct Reload {
    #[command(flatten)]
    target: Target,
}

/// `airpace edge exempt`.
#[derive(Args)]
pub(crate) struct Exempt {
    #[command(flatten)]
    target: Target,
    /// Hardware address of the station, or its name, if no other has it.
    #[arg(value_name = "STATION")]
    station: String,
    /// Pace the station again.
    #[arg(long)]
    off: bool,
}

const AIMS: &str = "Examples:
  airpace edge aim balanced         nearly the full rate at a few milliseconds
  airpace edge aim low-latency      the shortest waits; they cost up to a third of the rate
  airpace edge aim throughput       the full rate, with waits as short as that allows
  airpace edge aim \"10 ms\"          95 of 100 packets pass the access point within 10 ms (1 ms to 10 s)

No packet is lost. `airpace edge reload` returns to the aim of the configuration; to keep another one, set
`aim` or `latency` of `[control]` there.";

/// `airpace edge aim`.
#[derive(Args)]
#[command(after_help = AIMS)]
pub(crate) struct Aim {
    #[command(flatten)]
    target: Target,
    /// Name of an aim, or a latency with its unit.
    #[arg(value_name = "AIM")]
    aim: String,
}

pub(crate) fn run(operation: &Operation) -> anyhow::Result<ExitCode> {
    match operation {
        Operation::Status(status) => {
            let reply = request(&status.target, &EdgeRequest::Status)?;
            let Some(stands) = reply.status else {
                bail!("the box did not send its status");
            };
            if status.json {
                output::json(&stands)?;
            } else {
                output::text(&as_text(&stands))?;
            }
        }
        Operation::Reload(reload) => tell(&reload.target, &EdgeRequest::Reload)?,
        Operation::Exempt(exempt) => {
            let station = station(&exempt.target, &exempt.station)?;
            let request = EdgeRequest::Exempt {
                station: station.to_string(),
                exempt: !exempt.off,
            };
            tell(&exempt.target, &request)?;
        }
        Operation::Aim(aim) => {
            // What is no aim at all is refused here; the box knows its law.
            let mut any = ControlConfig::default();
            any.set_aim(&aim.aim).map_err(bad_input)?;
            let request = EdgeRequest::Aim {
                aim: aim.aim.clone(),
            };
            tell(&aim.target, &request)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The hardware address of the station that an argument names.
fn station(target: &Target, named: &str) -> anyhow::Result<MacAddress> {
    let refused = match named.parse() {
        Ok(mac) => return Ok(mac),
        Err(refused) => refused,
    };
    let Some(stands) = request(target, &EdgeRequest::Status)?.status else {
        bail!("the box did not send its status");
    };
    let stations = stands.access_points.iter().flat_map(|ap| &ap.stations);
    let found: Vec<&str> = stations
        .filter(|station| station.name.as_deref() == Some(named))
        .map(|station| station.mac.as_str())
        .collect();
    match found[..] {
        [mac] => mac.parse().map_err(bad_input),
        [] => Err(bad_input(format!(
            "no station is called {named}, and as an address: {refused}. `airpace edge status` lists the stations that have been \
             heard. To exempt one that has yet to come, set `exempt = true` in its [[station]] and run `airpace edge reload`"
        ))),
        _ => Err(bad_input(format!(
            "{} stations are called {named}, as stations choose their names themselves: give the address of one of {}",
            found.len(),
            found.join(", ")
        ))),
    }
}

/// Sends a request and prints what was done.
fn tell(target: &Target, what: &EdgeRequest) -> anyhow::Result<()> {
    let done = request(target, what)?.done.unwrap_or_default();
    output::text(&format!("{done}\n"))
}

fn request(target: &Target, request: &EdgeRequest) -> anyhow::Result<EdgeReply> {
    let reply = ask(target.wan.as_deref(), request)?;
    match reply.error {
        Some(error) => bail!("{error}"),
        None => Ok(reply),
    }
}

fn as_text(status: &EdgeStatus) -> String {
    let dry_run = if status.dry_run {
        "; dry run: nothing is paced, rates are those that would have been granted"
    } else {
        ""
    };
    let mut text = format!(
        "{} ({}), for {:.0} s{dry_run}\n",
        status.wan, status.datapath, status.uptime_s
    );
    if let Some(reason) = &status.passing {
        text.push_str(&format!("ALL FRAMES PASS UNPACED: {reason}\n"));
    }
    if status.crowded_out > 0 {
        text.push_str(&format!(
            "{} addresses were crowded out: too many appear to which nothing is sent\n",
            status.crowded_out
        ));
    }
    for ap in &status.access_points {
        text.push_str(&format!("\n{} ({})\n", ap.name, ap.ports.join(", ")));
        if let Some(share) = ap.air_of_others {
            let percent = 100.0 * share;
            text.push_str(&format!("others use {percent:.0} % of the air\n"));
        }
        if ap.stations.is_empty() {
            text.push_str("no station has been heard yet\n");
            continue;
        }
        let mut table = Table::new([
            "station",
            "name",
            "address",
            "mode",
            "rate",
            "sent",
            "goodput",
            "up",
            "level",
            "wait p50",
            "p95",
            "sensor",
            "sure",
            "waiting",
            "corrected",
            "surplus",
        ]);
        for station in &ap.stations {
            table.row(row(station));
        }
        text.push_str(&table.to_string());
    }
    text.push_str(
        "\nrates in Mbit/s, waits at the access point in ms, waiting: packets in the box, corrected and \
         surplus: reports of an agent that claim what cannot be, or come too often\n",
    );
    text
}

fn row(station: &EdgeStationStatus) -> [String; 16] {
    let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |v| format!("{v:.1}"));
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
    let mode = if station.exempt {
        "exempt".to_owned()
    } else {
        station.mode.clone()
    };
    [
        station.mac.clone(),
        text(&station.name),
        text(&station.addresses.first().cloned()),
        mode,
        number(station.rate_mbps),
        number(station.sent_mbps),
        number(station.goodput_mbps),
        number(station.uplink_mbps),
        number(station.level),
        number(station.wait_p50_ms),
        number(station.wait_p95_ms),
        text(&station.sensor),
        number(station.confidence),
        station.backlog_packets.to_string(),
        station.corrected_reports.to_string(),
        station.surplus_reports.to_string(),
    ]
}
