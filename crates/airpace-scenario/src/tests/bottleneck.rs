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
fn a_source_that_sends_less_than_it_is_granted_reveals_a_slow_wire_too() {
    let bulk = "kind = \"tcp\"\nname = \"bulk\"";
    let text = WIRE.replace(bulk, "kind = \"udp-poisson\"\nrate = \"60 Mbit/s\"");
    assert_ne!(text, WIRE);
    let summary = finished(&loaded(&text, &["warm_up=3 s", "duration=5 s"])).summary;
    assert!(summary.totals.run.bottleneck_alarms >= 1);
    let ping = summary.flows[1].rtt_ms.expect("pings were answered").p95;
    assert!(ping < 15.0, "{ping} ms");
}

/// A wire that is a little slower than a radio whose optimum is 589 Mbit/s.
fn slightly_slow_wire(mbps: u32) -> String {
    WIRE.replace("\"mcs 9\"", "{ mcs = 9, nss = 2 }")
        .replace("50 Mbit/s", &format!("{mbps} Mbit/s"))
}

#[test]
fn a_wire_slightly_slower_than_the_air_is_found_within_five_seconds() {
    for (mbps, kind) in [(520, "saturate"), (520, "tcp"), (480, "tcp"), (560, "tcp")] {
        let text =
            slightly_slow_wire(mbps).replace("kind = \"tcp\"", &format!("kind = \"{kind}\""));
        let summary = finished(&loaded(&text, &["warm_up=5 s", "duration=5 s"])).summary;
        let case = format!("{kind} over {mbps} Mbit/s");
        assert!(summary.totals.run.bottleneck_alarms >= 1, "{case}");
        let ping = summary.flows[1].rtt_ms.expect("pings were answered").p95;
        assert!(ping < 15.0, "{case}: {ping} ms");
        let bulk = summary.flows[0].goodput_mbps;
        assert!(bulk > 0.9 * f64::from(mbps), "{case}: {bulk} Mbit/s");
    }
}

#[test]
fn two_stations_behind_a_slow_wire_share_it_without_a_queue() {
    let text = WIRE
        .replace("name = \"laptop\"", "name = \"laptop\"\ncount = 2")
        .replace("name = \"bulk\"\n", "");
    // TCP whose window fills the wire's queue leaves none at the proxy.
    for seed in ["seed=2", "seed=7", "seed=8"] {
        let summary = finished(&loaded(&text, &[seed, "warm_up=5 s", "duration=10 s"])).summary;
        assert!(summary.totals.run.bottleneck_alarms >= 1, "{seed}");
        let goodputs: Vec<f64> = summary.flows.iter().map(|flow| flow.goodput_mbps).collect();
        assert!(goodputs[0].min(goodputs[1]) > 10.0, "{seed}: {goodputs:?}");
        let pings = summary
            .flows
            .iter()
            .filter(|flow| flow.name.starts_with("ping"));
        for ping in pings {
            let p95 = ping.rtt_ms.expect("pings were answered").p95;
            assert!(p95 < 25.0, "{seed}: {p95} ms");
        }
    }
}

#[test]
fn the_rate_is_back_within_three_seconds_after_a_bottleneck_has_gone() {
    let text = format!("{WIRE}{RIVAL}").replace("rate = \"50 Mbit/s\"", "rate = \"400 Mbit/s\"");
    let bulk = "kind = \"tcp\"\nname = \"bulk\"";
    let constant = text.replace(bulk, "kind = \"udp-cbr\"\nrate = \"290 Mbit/s\"");
    // Cubic needs a second more to grow from the window that the bottleneck has left it.
    for (text, back_after, share) in [
        (constant, "warm_up=14 s", 0.95),
        (text, "warm_up=15 s", 0.9),
    ] {
        let alone = goodput(&text, &["warm_up=3 s", "duration=2 s"]);
        let beside = goodput(&text, &["warm_up=8 s", "duration=3 s"]);
        let after = goodput(&text, &[back_after, "duration=2 s"]);
        assert!(beside < 0.5 * alone, "{beside} of {alone} Mbit/s");
        assert!(after > share * alone, "{after} of {alone} Mbit/s");
    }
}

#[test]
fn an_ordinary_cell_raises_no_alarm() {
    let text = WIRE.replace("rate = \"50 Mbit/s\"", "rate = \"1 Gbit/s\"");
    for seed in ["seed=1", "seed=2"] {
        let summary = finished(&loaded(&text, &[seed, "duration=10 s"])).summary;
        assert_eq!(summary.totals.run.bottleneck_alarms, 0, "{seed}");
    }
}
