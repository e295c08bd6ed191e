//! A rate law of your own that imitates the built-in law `linear` (paper 000, Algorithm 1) and gives
//! the same figures. `examples/python/own_law.py` is the same in Python.
//!
//! ```text
//! $ cargo run -p airpace-examples --example own_law
//! law       TCP Mbit/s  ping p95 ms
//! built-in       260.0         7.77
//! own            260.0         7.77
//! ```
#![expect(clippy::print_stdout, reason = "an example prints its results")]

use airpace_core::control::RateController;
use airpace_core::report::{Allocation, SlotReport};
use airpace_edge::proxy::{CustomLaw, Pacing};
use airpace_scenario::results::FlowSummary;
use airpace_scenario::{Loaded, progress::Silent, run::run, stop::Stop};
use airpace_units::{StationId, Time};
use anyhow::{Context, Result, ensure};
use std::{collections::BTreeMap, path::Path};

const CELL: &str = r#"
    warm_up = "1 s"
    duration = "4 s"
    node = [{ kind = "ap" }, { kind = "station", count = 3, rate = "mcs 9" }]
    flow = [{ kind = "tcp" }, { kind = "ping", interval = "20 ms" }]
    proxy = [{ law = "linear", level = 24 }]
"#;
const TARGET_LEVEL: f64 = 24.0;
const PAYLOAD_BYTES: f64 = 1_470.0;

/// Moves each station's rate against the error of its level, x ← x − K (level − target).
#[derive(Default)]
struct Linear {
    mbps: BTreeMap<StationId, f64>,
    granted: Vec<Allocation>,
}

impl RateController for Linear {
    fn name(&self) -> &'static str {
        "own"
    }

    fn on_slot(&mut self, _now: Time, reports: &[SlotReport]) -> &[Allocation] {
        for report in reports {
            self.mbps.entry(report.station).or_insert(1.0);
        }
        let gain_mbps = 1.0 / self.mbps.len().max(1) as f64;
        for report in reports {
            let error = report.level().unwrap_or(1.0) - TARGET_LEVEL;
            let mbps = self.mbps.entry(report.station).or_default();
            *mbps = (*mbps - gain_mbps * error).clamp(0.05, 10_000.0);
        }
        let grants = self.mbps.iter().map(|(&station, mbps)| {
            let rate_pps = mbps * 1e6 / (8.0 * PAYLOAD_BYTES);
            Allocation::new(station, rate_pps, PAYLOAD_BYTES + 28.0, TARGET_LEVEL)
        });
        self.granted = grants.collect();
        &self.granted
    }

    fn remove(&mut self, station: StationId) {
        self.mbps.remove(&station);
    }
}

fn main() -> Result<()> {
    let loaded = Loaded::new(CELL, Vec::new(), Path::new("."))?;
    let built_in = loaded.resolve()?.world.proxies[0].edge.pacing.clone();
    let own = Pacing::Custom(CustomLaw::new(|| Box::new(Linear::default())));
    let mut figures: Vec<Vec<FlowSummary>> = Vec::new();
    println!("law       TCP Mbit/s  ping p95 ms");
    for (law, pacing) in [("built-in", built_in), ("own", own)] {
        let mut network = loaded.resolve()?;
        network.world.proxies[0].edge.pacing = pacing;
        let finished = run(&loaded, network, &Stop::default(), &Silent)?;
        let flows = finished.context("the run was stopped")?.summary.flows;
        let tcp_mbps: f64 = flows[..3].iter().map(|flow| flow.goodput_mbps).sum();
        let p95_ms = flows[3].rtt_ms.context("no reply came")?.p95;
        println!("{law:8}  {tcp_mbps:10.1}  {p95_ms:11.2}");
        figures.push(flows);
    }
    // They agree in every digit, not only in those that are printed.
    ensure!(figures[0] == figures[1], "the laws differ");
    Ok(())
}
