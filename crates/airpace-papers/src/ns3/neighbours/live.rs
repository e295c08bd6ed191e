//! Settings run in ns-3 by the program of `validation/ns3`.

use super::NeighboursRun;
use crate::ns3::program::{self, Ns3};
use airpace_sim::channel::Position;
use anyhow::Context as _;
use serde::Deserialize;

/// The parts of the program's output that are used.
#[derive(Deserialize)]
struct Output {
    flows: Vec<Flow>,
    wall_s: f64,
}

#[derive(Deserialize)]
struct Flow {
    goodput_mbps: f64,
}

/// Runs a setting in ns-3. Returns it with the results, and the wall time that it took in seconds.
///
/// # Errors
/// If the program cannot be started, fails, or does not print results.
pub fn run(ns3: &Ns3, setting: &NeighboursRun) -> anyhow::Result<(NeighboursRun, f64)> {
    let text = program::run(&ns3.program, &setting.flags())
        .with_context(|| format!("{} {}", setting.family, setting.name))?;
    let output: Output =
        serde_json::from_str(&text).context("the ns-3 program printed no results")?;
    let goodput = output.flows.iter().map(|flow| flow.goodput_mbps);
    let run = NeighboursRun {
        goodput_mbps: goodput.collect(),
        ..setting.clone()
    };
    Ok((run, output.wall_s))
}

impl NeighboursRun {
    /// The setting as flags of the program in `validation/ns3`.
    #[must_use]
    pub fn flags(&self) -> Vec<String> {
        let (positions, ends) = self.radios();
        let (access_points, stations) = positions.split_at(self.cells());
        let powers = self.powers_dbm.iter().take(self.cells());
        // Flows are numbered in the order of their stations in both simulators.
        let starts = (0..ends.len()).map(|flow| self.start(flow).as_secs_f64() * 1e3);
        let uplink = ends.iter().any(|(from, _)| from.index() >= self.cells());
        vec![
            "neighbours".to_owned(),
            format!("--access-points={}", places(access_points)),
            format!("--places={}", places(stations)),
            format!("--uplink={uplink}"),
            format!("--exponent={}", self.exponent),
            format!("--powers={}", list(powers.copied())),
            format!("--mcs={}", self.mcs),
            format!("--rts={}", self.rts),
            format!("--requests={}", self.requests),
            format!("--starts={}", list(starts)),
            format!("--payload={}", super::PAYLOAD_BYTES),
            format!("--seed={}", self.seed),
            format!("--warm={}", self.warm_up.as_secs_f64()),
            format!("--duration={}", self.duration.as_secs_f64()),
        ]
    }
}

fn places(positions: &[Position]) -> String {
    let place = |at: &Position| format!("{}:{}", at.x, at.y);
    positions.iter().map(place).collect::<Vec<_>>().join(",")
}

fn list(values: impl Iterator<Item = f64>) -> String {
    let texts = values.map(|value| value.to_string());
    texts.collect::<Vec<_>>().join(",")
}
