//! Targets of delay that cannot be met, and a law that fails at one that can.

use super::*;
use crate::warnings::WarningName::{DelayTargetInfeasible, LawCollapsed};

/// Stations for which packets always wait.
const SATURATED: &str = "\
duration = \"3 s\"
warm_up = \"3 s\"
[[node]]
kind = \"ap\"
[[node]]
kind = \"station\"
rate = \"mcs 9\"
[[proxy]]
[[flow]]
kind = \"saturate\"
";

fn told(text: &str, stations: u32, law: &str, delay: &str, settings: &[&str]) -> Vec<Warning> {
    let own = [
        format!("node.station.count={stations}"),
        format!("proxy.0.law={law}"),
        format!("proxy.0.delay={delay}"),
    ];
    let own = own.iter().map(String::as_str);
    let settings: Vec<&str> = own.chain(settings.iter().copied()).collect();
    finished(&loaded(text, &settings)).summary.warnings
}

/// The only warning of a run.
#[track_caller]
fn only(stations: u32, law: &str, delay: &str, settings: &[&str]) -> Warning {
    let mut found = told(SATURATED, stations, law, delay, settings);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

#[test]
fn a_target_below_a_round_of_one_packet_each_is_infeasible_with_waterfill() {
    let one = only(1, "waterfill", "100 us", &[]);
    assert_eq!(
        one.to_string(),
        "delay-target-infeasible: `ap` cannot meet its target of delay: rounds are to take at \
         most 100 us, but with 1.2 packets in each frame, hardly more than the least, a round of \
         the one busy station takes 236 us. Set its `delay` to more than that, or let fewer \
         stations share the air."
    );
    let twenty = only(20, "waterfill", "500 us", &[]);
    assert_eq!(twenty.name, DelayTargetInfeasible);
    let round = "a round of the 20 busy stations takes 4.8 ms";
    assert!(twenty.text.contains(round), "{twenty}");
}

#[test]
fn what_is_told_of_the_least_round_is_feasible() {
    assert_eq!(told(SATURATED, 1, "waterfill", "240 us", &[]), []);
    assert_eq!(told(SATURATED, 20, "waterfill", "4.8 ms", &[]), []);
}

#[test]
fn law_nonlinear_is_told_the_least_round_and_that_it_collapses_below_it() {
    let short = only(10, "nonlinear", "500 us", &[]);
    assert_eq!(short.name, DelayTargetInfeasible);
    let round = "a round of the 10 busy stations takes 2.3 ms";
    assert!(short.text.contains(round), "{short}");
    assert!(!short.text.contains("collapsed"), "{short}");
    // Its rates fall without end.
    let long = only(10, "nonlinear", "500 us", &["warm_up=60 s"]);
    let idle = "Its law has collapsed below that: rounds of ";
    assert!(
        long.text.contains(round) && long.text.contains(idle),
        "{long}"
    );
}

#[test]
fn law_nonlinear_that_is_stuck_at_one_packet_has_collapsed() {
    let slots = ["slot=500 ms", "warm_up=5 s", "duration=5 s"];
    for law in ["nonlinear", "nonlinear-corrected"] {
        let stuck = only(20, law, "5 ms", &slots);
        assert_eq!(stuck.name, LawCollapsed);
        let means = "frames of 1.4 packets would still meet the target. Choose another `law`, such \
                     as waterfill, or a longer `delay`.";
        assert!(stuck.text.contains(means), "{stuck}");
    }
    assert_eq!(told(SATURATED, 20, "waterfill", "5 ms", &slots), []);
    let missed = only(20, "nonlinear", "4.7 ms", &["warm_up=60 s"]);
    assert_eq!(missed.name, LawCollapsed);
    let means = "such frames would need only about 4.5 ms";
    assert!(missed.text.contains(means), "{missed}");
}

#[test]
fn targets_that_are_met_give_no_warning() {
    for law in ["waterfill", "nonlinear"] {
        for (stations, delay) in [(1, "300 us"), (10, "3 ms"), (10, "100 ms"), (20, "5 ms")] {
            assert_eq!(
                told(SATURATED, stations, law, delay, &[]),
                [],
                "{law}, {stations} stations, {delay}"
            );
        }
    }
    // The other laws have no such target.
    assert_eq!(told(SATURATED, 10, "linear", "500 us", &[]), []);
}

#[test]
fn rare_packets_and_packets_that_the_law_does_not_hold_back_give_no_warning() {
    let rare = SATURATED.replace(
        "kind = \"saturate\"",
        "kind = \"udp-cbr\"\nrate = \"1 Mbit/s\"",
    );
    for law in ["waterfill", "nonlinear"] {
        assert_eq!(told(&rare, 10, law, "5 ms", &[]), [], "{law}");
    }
    assert_eq!(told(&rare, 1, "waterfill", "300 us", &[]), []);
}
