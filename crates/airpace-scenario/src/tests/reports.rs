//! Reports that are lost, and reports of frames of A-MSDUs.

use super::{finished, loaded};
use crate::results::SimulationSummary;

const CELL: &str = "duration = \"6 s\"\nwarm_up = \"3 s\"\n[[node]]\nkind = \"ap\"\n\
    [[node]]\nkind = \"station\"\ncount = 3\nrate = \"mcs 7\"\n\
    [[node]]\nkind = \"host\"\n[[wire]]\na = \"host\"\nb = \"ap\"\n\
    [[flow]]\nkind = \"tcp\"\n[[flow]]\nkind = \"ping\"\n[[proxy]]\n";

/// A run in which these stations lose nine of ten reports from the first second on.
fn with_losses(stations: impl Iterator<Item = u32>) -> SimulationSummary {
    let mut text = CELL.to_owned();
    for station in stations {
        text.push_str(&format!(
            "[[change]]\nat = \"1 s\"\nnode = \"station-{station}\"\nreport_loss = 0.9\n"
        ));
    }
    finished(&loaded(&text, &[])).summary
}

/// Goodput of the download of a station, Mbit/s.
fn goodput(summary: &SimulationSummary, station: u32) -> f64 {
    let name = format!("station-{station}");
    let mut flows = summary.flows.iter();
    let flow = flows.find(|flow| flow.kind == "tcp" && flow.to == name);
    flow.unwrap().goodput_mbps
}

/// The longest of the stations' p95 pings, ms.
fn ping_p95(summary: &SimulationSummary) -> f64 {
    let pings = summary.flows.iter().filter(|flow| flow.kind == "ping");
    let p95 = pings.map(|flow| flow.rtt_ms.unwrap().p95);
    p95.fold(0.0, f64::max)
}

#[test]
fn a_station_that_loses_nine_of_ten_reports_goes_on_and_takes_nothing_from_the_others() {
    let plain = with_losses(0..0);
    let lossy = with_losses(1..2);
    for station in [2, 3] {
        let (before, after) = (goodput(&plain, station), goodput(&lossy, station));
        assert!(after >= 0.9 * before, "{station}: {before} and {after}");
    }
    assert!(goodput(&lossy, 1) > 5.0, "{}", goodput(&lossy, 1));
    let (before, after) = (ping_p95(&plain), ping_p95(&lossy));
    assert!(after <= 1.5 * before, "{before} and {after} ms");
}

#[test]
fn stations_that_all_lose_nine_of_ten_reports_have_a_third_of_the_goodput_and_short_pings() {
    let plain = with_losses(0..0);
    let lossy = with_losses(1..4);
    let (before, after) = (plain.totals.goodput_mbps, lossy.totals.goodput_mbps);
    assert!(after >= before / 3.0, "{before} and {after}");
    let (before, after) = (ping_p95(&plain), ping_p95(&lossy));
    assert!(after <= 1.5 * before, "{before} and {after} ms");
}

/// A proxy has no other sensor than its agents. While slots of which a classifier of arrival times was not
/// sure had no frames, such stations had a third of the goodput. Their PHY rates are not known, so they have
/// less than with a monitor interface.
#[test]
fn stations_whose_frames_are_told_apart_by_arrival_times_keep_their_goodput() {
    let goodput = |monitor: bool| {
        let text = format!(
            "warm_up = \"2 s\"\nduration = \"5 s\"\n[[node]]\nkind = \"ap\"\n\
             [[node]]\nkind = \"station\"\ncount = 3\nrate = [\"mcs 9\", \"mcs 4\", \"mcs 1\"]\nmonitor = {monitor}\n\
             [[flow]]\nkind = \"tcp\"\n[[proxy]]\n"
        );
        finished(&loaded(&text, &[])).summary.totals.goodput_mbps
    };
    let (shown, guessed) = (goodput(true), goodput(false));
    assert!(guessed > 0.5 * shown, "{guessed} of {shown} Mbit/s");
}

/// Agents with a monitor interface took an A-MSDU for a packet: a target of 40 packets was held as 80, and one of 96 was never reached.
#[test]
fn a_level_counts_the_packets_of_an_amsdu() {
    for (target, monitor) in [(40.0, true), (40.0, false), (96.0, true)] {
        let text = format!(
            "warm_up = \"2 s\"\nduration = \"2 s\"\n[channel]\namsdu = \"3100 B\"\n[[node]]\nkind = \"ap\"\n\
             [[node]]\nkind = \"station\"\nrate = \"mcs 9 nss 2\"\nmonitor = {monitor}\n\
             [[flow]]\nkind = \"saturate\"\n[[proxy]]\nlaw = \"nonlinear\"\nlevel = {target}\n"
        );
        let summary = finished(&loaded(&text, &[])).summary;
        // The level of a link is in MPDUs, with two packets each.
        let level = 2.0 * summary.links[0].level;
        assert!((level / target - 1.0).abs() < 0.03, "{target}: {level}");
    }
}
