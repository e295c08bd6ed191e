//! Nodes that move: who hears whom follows.

use super::*;
use airpace_sim::mac::Hearing;
use airpace_sim::world::Change;
use std::time::Duration;

/// Two stations on either side of their access point that send to it.
const SIDES: &str = "\
duration = \"1 s\"
warm_up = \"200 ms\"
[[node]]
kind = \"ap\"
[[node]]
name = \"west\"
kind = \"station\"
position = [\"-3 m\", \"0 m\"]
rate = \"mcs 1\"
[[node]]
name = \"east\"
kind = \"station\"
position = [\"3 m\", \"0 m\"]
rate = \"mcs 1\"
[[flow]]
kind = \"saturate\"
from = \"each station\"
to = \"ap\"
";

/// They go to where they hear the access point and not each other.
const APART: &str = "\
[[change]]
at = \"50 ms\"
node = \"west\"
position = [\"-40 m\", \"0 m\"]
[[change]]
at = \"50 ms\"
node = \"east\"
position = [\"40 m\", \"0 m\"]
";

/// Share of the frames that others disturbed, and goodput in Mbit/s.
fn collisions(text: &str, settings: &[&str]) -> (f64, f64) {
    let summary = finished(&loaded(text, settings)).summary;
    let shares = summary.links.iter().map(|link| link.collision_share);
    (
        shares.sum::<f64>() / summary.links.len() as f64,
        summary.totals.goodput_mbps,
    )
}

#[test]
fn stations_that_move_apart_no_longer_hear_each_other() {
    let (near, _) = collisions(SIDES, &[]);
    let there = [
        "node.west.position=['-40 m', '0 m']",
        "node.east.position=['40 m', '0 m']",
    ];
    let (hidden, hidden_mbps) = collisions(SIDES, &there);
    let (moved, moved_mbps) = collisions(&format!("{SIDES}{APART}"), &[]);
    assert!(near < 0.2 && hidden > 2.0 * near, "{near} {hidden}");
    assert!((moved / hidden - 1.0).abs() < 0.1, "{moved} {hidden}");
    assert!(
        (moved_mbps / hidden_mbps - 1.0).abs() < 0.1,
        "{moved_mbps} {hidden_mbps}"
    );
    // By the all-or-nothing model who hears whom stays as it was.
    let collide = ["channel.reception=collide"];
    let (stays, _) = collisions(&format!("{SIDES}{APART}"), &collide);
    assert!(stays < 0.2, "{stays}");
}

#[test]
fn a_station_that_stays_within_everybodys_range_keeps_the_cheaper_channel() {
    let near = APART.replace("40 m", "5 m");
    let hearing = |text: String| {
        let world = loaded(&text, &[]).resolve().unwrap().world;
        world.channels[0].mac.hearing.clone()
    };
    assert_eq!(hearing(format!("{SIDES}{near}")), Hearing::All);
    assert!(matches!(
        hearing(format!("{SIDES}{APART}")),
        Hearing::Powers(_)
    ));
}

#[test]
fn a_node_walks_in_a_straight_line_until_its_next_change() {
    let walk = "\
[[change]]
at = \"100 ms\"
node = \"west\"
position = [\"-43 m\", \"0 m\"]
walk = \"1 s\"
[[change]]
at = \"550 ms\"
node = \"west\"
position = [\"-3 m\", \"0 m\"]
";
    let world = loaded(&format!("{SIDES}{walk}"), &["channel.reception=sinr"])
        .resolve()
        .unwrap()
        .world;
    let mut places = Vec::new();
    for (at, change) in &world.changes {
        if let Change::Powers { pairs, .. } = change {
            places.push((at.since(airpace_units::Time::ZERO), pairs[0].sent_dbm));
        }
    }
    let times: Vec<Duration> = places.iter().map(|(at, _)| *at).collect();
    let expected = [200, 300, 400, 500, 550].map(Duration::from_millis);
    assert_eq!(times, expected);
    // 16 dBm, 46.68 dB at 1 m and the third power of the distance: 7, 11, 15, 19 and 3 m.
    for ((_, dbm), metres) in places.iter().zip([7.0, 11.0, 15.0, 19.0, 3.0_f64]) {
        let due = 16.0 - 46.6777 - 30.0 * metres.log10();
        assert!((dbm - due).abs() < 0.01, "{dbm} {due}");
    }
    let nowhere = "[[change]]\nat = \"1 s\"\nnode = \"west\"\nloss = 0.1\nwalk = \"1 s\"\n";
    let error = Loaded::new(&format!("{SIDES}{nowhere}"), Vec::new(), &folder()).unwrap_err();
    let said = error.one_line("x.toml");
    assert!(said.contains("say with `position`"), "{said}");
}
