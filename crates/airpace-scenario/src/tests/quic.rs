//! Stations under QUIC, of which a box in the wire sees the spin bit.

use super::cell::{AGENTS, cell};
use super::*;

const OBSERVED: &str = "reports = \"observed\"";
const CLOSED: &str = "law = \"none\"";

/// Goodput in Mbit/s of a download to a station at each of these MCS, over QUIC where marked, and the longest
/// p95 of their pings in milliseconds: the means over three seeds.
fn downloads(stations: &[(u8, bool)], proxy: &str) -> (Vec<f64>, f64) {
    const SEEDS: u32 = 3;
    let (mut nodes, mut flows) = (String::new(), String::new());
    for (index, (mcs, is_quic)) in stations.iter().enumerate() {
        nodes +=
            &format!("[[node]]\nname = \"s{index}\"\nkind = \"station\"\nrate = \"mcs {mcs}\"\n");
        flows += &format!(
            "[[flow]]\nname = \"download-{index}\"\nkind = \"tcp\"\nto = \"s{index}\"\nquic = {is_quic}\n"
        );
    }
    let text = format!("{}{flows}[[proxy]]\n{proxy}\n", cell(&nodes));
    let (mut goodput, mut p95_ms) = (vec![0.0; stations.len()], 0.0);
    for seed in 1..=SEEDS {
        let seed = format!("seed={seed}");
        let settings = [
            "duration=10 s",
            "node.ap.queue.limit=\"2500 packets\"",
            &seed,
        ];
        let summary = finished(&loaded(&text, &settings)).summary;
        let (pings, downloads): (Vec<_>, Vec<_>) =
            summary.flows.iter().partition(|flow| flow.kind == "ping");
        for (mean, download) in goodput.iter_mut().zip(downloads) {
            *mean += download.goodput_mbps / f64::from(SEEDS);
        }
        let p95 = pings
            .iter()
            .filter_map(|ping| ping.rtt_ms)
            .map(|rtt| rtt.p95);
        p95_ms += p95.fold(0.0, f64::max) / f64::from(SEEDS);
    }
    (goodput, p95_ms)
}

fn sum(goodput: &[f64]) -> f64 {
    goodput.iter().sum()
}

#[test]
fn equal_stations_under_quic_alone_have_what_agents_give_without_a_queue() {
    for (mcs, stations) in [(9, 1), (0, 1), (4, 3)] {
        let stations = vec![(mcs, true); stations];
        let (closed, closed_ms) = downloads(&stations, CLOSED);
        let (agents, _) = downloads(&stations, AGENTS);
        let (observed, observed_ms) = downloads(&stations, OBSERVED);
        println!(
            "{stations:?}: {closed:.1?} {closed_ms:.0} ms, {observed:.1?} {observed_ms:.0} ms"
        );
        for (observed, agents) in observed.iter().zip(&agents) {
            assert!(observed >= &(0.9 * agents), "{observed} {agents}");
        }
        // Nothing but the spin bit tells of them: the p95 was that of the access point.
        assert!(observed_ms <= 0.45 * closed_ms, "{observed_ms} {closed_ms}");
        assert!(observed_ms <= 60.0, "{observed_ms}");
    }
}

#[test]
fn different_stations_under_quic_alone_share_a_cell_without_a_queue() {
    let stations = [(9, true), (4, true), (1, true)];
    let (closed, closed_ms) = downloads(&stations, CLOSED);
    let (observed, observed_ms) = downloads(&stations, OBSERVED);
    println!("{closed:.1?} {closed_ms:.0} ms, {observed:.1?} {observed_ms:.0} ms");
    // Waits hardly tell who takes the air, so the fast one has less than with agents.
    assert!(
        sum(&observed) >= 0.9 * sum(&closed),
        "{observed:?} {closed:?}"
    );
    for (observed, closed) in observed.iter().zip(&closed) {
        assert!(observed >= &(0.8 * closed), "{observed} {closed}");
    }
    assert!(observed_ms <= 0.1 * closed_ms, "{observed_ms} {closed_ms}");
}

#[test]
fn quic_beside_tcp_has_what_the_rounds_of_the_others_tell() {
    for stations in [
        [(9, true), (4, false), (1, false)],
        [(9, false), (4, false), (1, true)],
    ] {
        let (agents, agents_ms) = downloads(&stations, AGENTS);
        let (observed, observed_ms) = downloads(&stations, OBSERVED);
        println!(
            "{stations:?}: {agents:.1?} {agents_ms:.0} ms, {observed:.1?} {observed_ms:.0} ms"
        );
        for (observed, agents) in observed.iter().zip(&agents) {
            assert!(observed >= &(0.9 * agents), "{observed} {agents}");
        }
        assert!(observed_ms <= 1.2 * agents_ms, "{observed_ms} {agents_ms}");
    }
}
