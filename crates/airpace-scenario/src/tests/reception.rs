//! What a scenario's channel makes of frames that overlap.

use super::*;
use airpace_sim::mac::{Hearing, MacConfig};

/// Two access points with a station each, at the given distance.
fn cells(distance: &str, channel: &str) -> String {
    format!(
        "\
duration = \"300 ms\"
warm_up = \"100 ms\"
[channel]
{channel}
[[node]]
name = \"one\"
kind = \"ap\"
[[node]]
name = \"other\"
kind = \"ap\"
position = [\"{distance}\", \"0 m\"]
[[node]]
name = \"here\"
kind = \"station\"
ap = \"one\"
position = [\"0 m\", \"3 m\"]
rate = \"mcs 7\"
[[node]]
name = \"there\"
kind = \"station\"
ap = \"other\"
position = [\"{distance}\", \"3 m\"]
rate = \"mcs 7\"
[[flow]]
kind = \"saturate\"
name = \"a\"
from = \"one\"
to = \"here\"
[[flow]]
kind = \"saturate\"
name = \"b\"
from = \"other\"
to = \"there\"
"
    )
}

fn mac(text: &str) -> MacConfig {
    let mut resolved = loaded(text, &[]).resolve().unwrap();
    resolved.world.channels.remove(0).mac
}

fn total_mbps(text: &str) -> f64 {
    let summary = finished(&loaded(text, &[])).summary;
    summary.flows.iter().map(|flow| flow.goodput_mbps).sum()
}

#[test]
fn neighbours_with_positions_are_received_by_their_powers() {
    assert!(matches!(
        mac(&cells("60 m", "")).hearing,
        Hearing::Powers(_)
    ));
    assert!(matches!(
        mac(&cells("10 m", "")).hearing,
        Hearing::Powers(_)
    ));
    let collide = "reception = \"collide\"";
    assert!(matches!(
        mac(&cells("60 m", collide)).hearing,
        Hearing::Matrix { .. }
    ));
    assert_eq!(mac(&cells("10 m", collide)).hearing, Hearing::All);
    // A single cell in which all are in range costs nothing more than before, unless it asks.
    assert_eq!(mac(CELL).hearing, Hearing::All);
    let near = CELL.replace("count = 2", "count = 2\ndistance = \"5 m\"");
    assert_eq!(mac(&near).hearing, Hearing::All);
    let asked = format!("{near}[[channel]]\nreception = \"sinr\"\n");
    assert!(matches!(mac(&asked).hearing, Hearing::Powers(_)));
    let hidden = CELL.replace("count = 2", "count = 9\nwithin = \"70 m\"");
    assert!(matches!(mac(&hidden).hearing, Hearing::Powers(_)));
    // Nothing says where the nodes stand.
    let second = "[[node]]\nname = \"second\"\nkind = \"ap\"\n[[node]]\nname = \"guest\"\nkind = \"station\"\nap = \"second\"\nrate = \"mcs 7\"\n";
    let cell = CELL.replace("kind = \"station\"", "kind = \"station\"\nap = \"ap\"");
    assert_eq!(mac(&format!("{cell}{second}")).hearing, Hearing::All);
}

#[test]
fn cells_beyond_carrier_sense_lose_nothing_by_power_and_most_by_all_or_nothing() {
    let by_power = total_mbps(&cells("60 m", ""));
    let all_or_nothing = total_mbps(&cells("60 m", "reception = \"collide\""));
    assert!(by_power > 480.0, "{by_power}");
    assert!(all_or_nothing < 100.0, "{all_or_nothing}");
}

#[test]
fn a_reception_that_cannot_be_is_refused_with_the_remedy() {
    let ranges = cells(
        "10 m",
        "reception = \"sinr\"\ncarrier_sense_range = \"50 m\"",
    );
    assert!(refusal(&ranges).contains("leave `carrier_sense_range` out"));
    let capture = format!("{CELL}[[channel]]\ncapture = true\n");
    assert!(refusal(&capture).contains("give the channel `reception = \"sinr\"`"));
    let captures = mac(&cells("10 m", "capture = true"));
    let Hearing::Powers(powers) = captures.hearing else {
        panic!("{:?}", captures.hearing)
    };
    assert!(powers.rules().capture.is_some());
}

#[test]
fn block_acks_are_asked_for_with_the_timing_of_ns3_or_on_request() {
    assert!(!mac(CELL).block_ack_requests);
    let asks = |keys: &str| mac(&format!("{CELL}[[channel]]\n{keys}\n")).block_ack_requests;
    assert!(asks("timing = \"ns3\""));
    assert!(!asks("timing = \"ns3\"\nblock_ack_requests = false"));
    assert!(asks("block_ack_requests = true"));
    let endless = mac(&format!("{CELL}[[channel]]\nendless_retries = true\n"));
    assert!(endless.endless_retries && !mac(CELL).endless_retries);
}
