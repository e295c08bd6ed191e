//! The cell in virtual time: `scenarios/004-f1-latency.toml` with the scheme and the times of the
//! plan.

use super::{CellFigures, Plan, StationFigures, rates};
use crate::tool::Stop;
use airpace_scenario::file::Override;
use airpace_scenario::progress::Silent;
use airpace_scenario::results::{FlowSummary, SimulationSummary};
use airpace_scenario::{Loaded, run as simulation};
use airpace_sim::mac::{PathConfig, Queues, Scheme};
use anyhow::{Context, Result};
use std::path::Path;

const SCENARIO: &str = include_str!("../../../../../scenarios/004-f1-latency.toml");

pub(super) fn run(plan: &Plan, scheme: Scheme, stop: &Stop) -> Result<CellFigures> {
    let loaded = Loaded::new(SCENARIO, settings(plan, scheme), Path::new("."))?;
    let mut resolved = loaded.resolve()?;
    // Only the summary is used.
    (resolved.world.record, resolved.world.slot) = Default::default();
    let finished = simulation::run(&loaded, resolved, stop, &Silent)?;
    let finished = finished
        .filter(|run| !run.summary.interrupted)
        .context("the comparison was stopped")?;
    figures(&finished.summary)
}

fn settings(plan: &Plan, scheme: Scheme) -> Vec<Override> {
    let queue = match PathConfig::of(scheme).queues {
        // The closed access point of the emulator has a larger buffer than a scenario's default.
        Queues::Fifo(limit) if scheme == Scheme::PerStation => {
            format!(
                "{{ scheme = \"{}\", limit = \"{} packets\" }}",
                scheme.name(),
                limit.packets
            )
        }
        _ => format!("{{ scheme = \"{}\" }}", scheme.name()),
    };
    let pairs = [
        ("node.ap.queue", queue),
        ("warm_up", format!("{} ms", plan.ramp.as_millis())),
        ("duration", format!("{} ms", plan.measure.as_millis())),
        ("seed", plan.seed.to_string()),
        (
            "flow.1.interval",
            format!("{} ms", plan.ping_interval.as_millis()),
        ),
    ];
    pairs
        .map(|(key, value)| Override {
            key: key.to_owned(),
            value,
        })
        .to_vec()
}

fn figures(summary: &SimulationSummary) -> Result<CellFigures> {
    let all: f64 = summary.stations.iter().map(|s| s.airtime_share).sum();
    let mut stations = Vec::new();
    for (rate, station) in rates()?.into_iter().zip(&summary.stations) {
        let is_ping = |flow: &&FlowSummary| {
            flow.kind == "ping" && [&flow.from, &flow.to].contains(&&station.name)
        };
        let flow = summary.flows.iter().find(is_ping);
        let ping = flow
            .and_then(|flow| flow.rtt_ms.as_ref())
            .with_context(|| format!("no ping to {} was answered", station.name))?;
        stations.push(StationFigures {
            phy_mbps: rate.rate().as_mbps_f64(),
            goodput_mbps: station.goodput_mbps,
            ping_p50_ms: ping.p50,
            ping_p95_ms: ping.p95,
            airtime: if all > 0.0 {
                station.airtime_share / all
            } else {
                0.0
            },
        });
    }
    Ok(CellFigures::new(stations))
}

#[cfg(test)]
mod tests {
    use super::super::{MAX_DURATION, MAX_MPDUS, WIRED_DELAY, emulated};
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_scenario_describes_the_emulated_cell() {
        let plan = Plan::new(Duration::from_secs(1));
        for &scheme in Scheme::ALL {
            let emulated = emulated::config(&plan, scheme, &rates().unwrap()).cell;
            let loaded = Loaded::new(SCENARIO, settings(&plan, scheme), Path::new(".")).unwrap();
            let world = loaded.resolve().unwrap().world;
            assert!(world.wires.iter().all(|wire| wire.delay == WIRED_DELAY));
            let mac = &world.channels[0].mac;
            assert!(mac.radios.iter().all(|radio| (radio.max_duration, radio.max_mpdus) == (MAX_DURATION, MAX_MPDUS)));
            for (simulated, emulated) in [(0, &emulated.access_point), (1, &emulated.station)] {
                let simulated = &mac.radios[simulated].path;
                // Each has its own hash key.
                let emulated = PathConfig {
                    key: simulated.key,
                    ..emulated.clone()
                };
                assert_eq!(*simulated, emulated, "{}", scheme.name());
            }
            assert_eq!(mac.radios.len(), emulated.stations.len() + 1);
        }
    }
}
