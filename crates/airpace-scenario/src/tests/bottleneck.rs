//! A bottleneck before the access point: found, met, and left again when it is gone.

use super::*;

/// One station behind a wire that may be slower than its radio; the proxy stands before the wire.
const WIRE: &str = r#"
slot = "100 ms"
[[node]]
name = "server"
kind = "host"
[[node]]
name = "ap"
kind = "ap"
[[node]]
name = "laptop"
kind = "station"
rate = "mcs 9"
[[wire]]
a = "server"
b = "ap"
delay = "1 ms"
rate = "50 Mbit/s"
[[flow]]
kind = "tcp"
name = "bulk"
to = "laptop"
[[flow]]
kind = "ping"
to = "laptop"
interval = "50 ms"
[[proxy]]
at = "server"
"#;

/// A flow to the access point itself, which the proxy does not pace.
const RIVAL: &str = r#"
[[flow]]
kind = "udp-cbr"
name = "rival"
to = "ap"
rate = "380 Mbit/s"
start = "5 s"
stop = "11 s"
"#;

fn goodput(text: &str, settings: &[&str]) -> f64 {
    finished(&loaded(text, settings)).summary.flows[0].goodput_mbps
}

#[test]
fn a_slow_wire_before_the_access_point_is_found_within_three_seconds() {
    let summary = finished(&loaded(WIRE, &["warm_up=3 s", "duration=10 s"])).summary;
    assert!(summary.totals.run.bottleneck_alarms >= 1);
    let bulk = summary.flows[0].goodput_mbps;
    assert!(bulk > 44.0, "{bulk} of 48 Mbit/s");
    let ping = summary.flows[1].rtt_ms.expect("pings were answered").p95;
    assert!(ping < 15.0, "{ping} ms");
}

#[test]
fn the_rate_is_back_within_three_seconds_after_a_bottleneck_has_gone() {
    let text = format!("{WIRE}{RIVAL}").replace("rate = \"50 Mbit/s\"", "rate = \"400 Mbit/s\"");
    let alone = goodput(&text, &["warm_up=3 s", "duration=2 s"]);
    let beside = goodput(&text, &["warm_up=8 s", "duration=3 s"]);
    let after = goodput(&text, &["warm_up=14 s", "duration=2 s"]);
    assert!(beside < 0.5 * alone, "{beside} of {alone} Mbit/s");
    assert!(after > 0.9 * alone, "{after} of {alone} Mbit/s");
}

#[test]
fn an_ordinary_cell_raises_no_alarm() {
    let text = WIRE.replace("rate = \"50 Mbit/s\"", "rate = \"1 Gbit/s\"");
    for seed in ["seed=1", "seed=2"] {
        let summary = finished(&loaded(&text, &[seed, "duration=10 s"])).summary;
        assert_eq!(summary.totals.run.bottleneck_alarms, 0, "{seed}");
    }
}
