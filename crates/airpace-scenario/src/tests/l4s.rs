//! The bar for low latency: a scalable flow waits for at most 2 ms at the proxy, at the same rate as
//! a classic flow beside it.

use super::*;
use crate::results::FlowSummary;

/// The two flows of `scenarios/l4s.toml`: Prague and Cubic.
fn flows(settings: &[&str]) -> [FlowSummary; 2] {
    let text = fs::read_to_string(folder().join("l4s.toml")).unwrap();
    let flows = finished(&loaded(&text, settings)).summary.flows;
    flows.try_into().expect("the scenario has two flows")
}

/// 99th percentile of the time that the packets waited at the proxy, milliseconds.
fn wait_p99_ms(flow: &FlowSummary) -> f64 {
    flow.proxy_wait_ms.expect("it passes the proxy").p99
}

/// Seeds of each setting. The ratio differs by up to 0.06 between seeds, whatever CoDel's target is, and
/// its mean at 2.5 ms is within 0.02 of the bar: two were too few to tell.
const SEEDS: u32 = 4;

/// Mean over the seeds of the 99th percentile of Prague's wait at the proxy, milliseconds, of the
/// ratio of Prague's goodput to Cubic's, and of the sum of both, Mbit/s.
fn means(one_way: &str, settings: &[&str]) -> [f64; 3] {
    let mut sums = [0.0; 3];
    for seed in 1..=SEEDS {
        let seed = format!("seed={seed}");
        let delay = format!("wire.0.delay={one_way}");
        // Over 50 ms it takes half a minute from the first rate to the share.
        let run = [&["warm_up=40 s", "duration=10 s", &delay, &seed], settings].concat();
        let [prague, cubic] = flows(&run);
        assert_eq!(prague.dropped.values().sum::<u64>(), 0, "{run:?}");
        sums[0] += wait_p99_ms(&prague);
        sums[1] += prague.goodput_mbps / cubic.goodput_mbps;
        sums[2] += prague.goodput_mbps + cubic.goodput_mbps;
    }
    sums.map(|sum| sum / f64::from(SEEDS))
}

#[test]
fn a_scalable_flow_waits_two_milliseconds_at_most_and_shares_equally_with_cubic() {
    for one_way in ["2.5 ms", "10 ms", "25 ms"] {
        let [p99, ratio, total] = means(one_way, &[]);
        println!("{one_way}: p99 {p99} ms, ratio {ratio}");
        assert!(p99 <= 2.0, "{one_way}: {p99} ms");
        assert!((0.8..=1.25).contains(&ratio), "{one_way}: {ratio}");
        assert!(total > 220.0, "{one_way}: {total} Mbit/s");
    }
}

#[test]
fn a_scalable_flow_alone_uses_its_station() {
    let [prague, _] = flows(&["flow.cubic.stop=1 ms"]);
    assert!(prague.goodput_mbps > 230.0, "{prague:?}");
    assert!(wait_p99_ms(&prague) <= 2.0, "{prague:?}");
}

#[test]
fn a_scalable_flow_waits_as_briefly_and_gets_as_much_beside_a_cubic_flow_of_another_station() {
    let two_stations = [
        "node.station.count=2",
        "flow.prague.to=\"station-1\"",
        "flow.cubic.to=\"station-2\"",
    ];
    for one_way in ["2.5 ms", "10 ms", "25 ms"] {
        let [p99, ratio, _] = means(one_way, &two_stations);
        println!("{one_way}: p99 {p99} ms, ratio {ratio}");
        assert!(p99 <= 2.0, "{one_way}: {p99} ms");
        assert!((0.8..=1.25).contains(&ratio), "{one_way}: {ratio}");
    }
}

#[test]
fn without_the_low_latency_queue_a_scalable_flow_waits_like_any_other() {
    let [prague, _] = flows(&["proxy.0.l4s=false", "duration=5 s"]);
    assert!(wait_p99_ms(&prague) > 5.0, "{prague:?}");
}
