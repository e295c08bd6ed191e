//! A proxy that learns from a radio near the access point what its stations get.

use super::cell::{AGENTS, cell};
use super::*;

/// Goodput of all downloads in Mbit/s, and the largest p95 of the pings in milliseconds.
#[derive(Clone, Copy, Debug)]
struct Figures {
    mbps: f64,
    p95_ms: f64,
}

/// Runs a cell whose stations have these rates and a TCP download each.
fn figures(rates: &[&str], proxy: &str, seed: u64) -> Figures {
    let rates: Vec<String> = rates.iter().map(|rate| format!("\"{rate}\"")).collect();
    let stations = format!(
        "[[node]]\nkind = \"station\"\ncount = {}\nrate = [{}]\n",
        rates.len(),
        rates.join(", ")
    );
    let cell = cell(&stations);
    let text = format!("{cell}[[flow]]\nkind = \"tcp\"\n[[proxy]]\n{proxy}\n");
    let seed = format!("seed={seed}");
    let settings = ["duration=10 s", "flow.ping.interval=\"20 ms\"", &seed];
    let summary = finished(&loaded(&text, &settings)).summary;
    let mut figures = Figures {
        mbps: 0.0,
        p95_ms: 0.0,
    };
    for flow in &summary.flows {
        match flow.rtt_ms.filter(|_| flow.kind == "ping") {
            Some(rtt) => figures.p95_ms = figures.p95_ms.max(rtt.p95),
            None => figures.mbps += flow.goodput_mbps,
        }
    }
    figures
}

/// Means over runs with different seeds.
fn means(rates: &[&str], proxy: &str) -> Figures {
    const SEEDS: [u64; 3] = [1, 2, 3];
    let mut sum = Figures {
        mbps: 0.0,
        p95_ms: 0.0,
    };
    for seed in SEEDS {
        let run = figures(rates, proxy, seed);
        sum.mbps += run.mbps / SEEDS.len() as f64;
        sum.p95_ms += run.p95_ms / SEEDS.len() as f64;
    }
    sum
}

/// Largest ratio of a radio's p95 to that of agents.
const P95_RATIO: f64 = 1.2;

/// Compares a radio with agents in a cell.
fn compare(rates: &[&str], radio: &str) {
    let agents = means(rates, AGENTS);
    let heard = means(rates, &format!("reports = \"radio\"\n{radio}"));
    let goodput = heard.mbps / agents.mbps;
    let p95 = heard.p95_ms / agents.p95_ms;
    println!(
        "{rates:?} {radio}: agents {:.1} Mbit/s, {:.2} ms; radio {:.1} Mbit/s ({goodput:.3}), \
         {:.2} ms ({p95:.2})",
        agents.mbps, agents.p95_ms, heard.mbps, heard.p95_ms
    );
    assert!(goodput >= 0.95, "{heard:?} {agents:?}");
    assert!(p95 <= P95_RATIO, "{heard:?} {agents:?}");
}

#[test]
fn a_radio_serves_one_station_as_an_agent_does() {
    compare(&["mcs 9"], "");
}

#[test]
fn a_radio_serves_one_slower_station_as_an_agent_does() {
    compare(&["mcs 4"], "");
}

#[test]
fn a_radio_serves_three_equal_stations_as_agents_do() {
    compare(&["mcs 9", "mcs 9", "mcs 9"], "");
}

#[test]
fn a_radio_serves_three_stations_of_mixed_rates_as_agents_do() {
    compare(&["mcs 9", "mcs 4", "mcs 1"], "");
}

#[test]
fn a_radio_that_misses_a_fifth_of_the_block_acks_serves_as_well() {
    compare(&["mcs 9"], "air_loss_control = 0.2");
    compare(&["mcs 9", "mcs 9", "mcs 9"], "air_loss_control = 0.2");
    compare(&["mcs 9", "mcs 4", "mcs 1"], "air_loss_control = 0.2");
}

#[test]
fn a_radio_that_hears_data_serves_as_well() {
    compare(&["mcs 9", "mcs 4", "mcs 1"], "air_loss = 0.1");
}

#[test]
fn what_the_radio_misses_is_drawn_from_the_seed() {
    let run = |seed| {
        figures(
            &["mcs 9"],
            "reports = \"radio\"\nair_loss_control = 0.3",
            seed,
        )
    };
    let (once, again, other) = (run(1), run(1), run(2));
    assert_eq!((once.mbps, once.p95_ms), (again.mbps, again.p95_ms));
    assert_ne!((once.mbps, once.p95_ms), (other.mbps, other.p95_ms));
}
