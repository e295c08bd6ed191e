//! The figures of a run of either simulator.

use super::setting::Setting;
use airpace_sim::traffic::DelayStatistic;
use airpace_sim::world::{LinkCounts, Outcome, World};
use serde::Deserialize;
use std::time::Instant;

/// The figures of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Figures {
    /// Per station, in order.
    pub stations: Vec<Part>,
    /// All stations together.
    pub all: Part,
    /// Packets received in the whole run, including the warm-up.
    pub received: u64,
    /// Wall time of the simulation, seconds.
    pub wall_s: f64,
}

/// The figures of one station, or of all.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
pub struct Part {
    /// Payload received, Mbit/s.
    pub goodput_mbps: f64,
    /// Mean MPDUs per data frame.
    pub level: f64,
    /// Delay from the source to the end of the PPDU; `None` if nothing arrived.
    #[serde(rename = "delay_ms")]
    pub delay: Option<Delay>,
}

/// Delays in ms.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
pub struct Delay {
    /// Mean.
    pub mean: f64,
    /// 95th percentile.
    pub p95: f64,
}

impl Figures {
    /// Packets received per second of wall time.
    #[must_use]
    pub fn packets_per_s(&self) -> f64 {
        self.received as f64 / self.wall_s
    }
}

/// Runs a setting in this project's simulator.
///
/// # Errors
/// A setting that the simulator refuses.
pub fn simulate(setting: &Setting) -> anyhow::Result<Figures> {
    let mut world = World::new(setting.world()?)?;
    let begin = Instant::now();
    world.run();
    let wall_s = begin.elapsed().as_secs_f64();
    Ok(figures(&world.outcome(), wall_s))
}

fn figures(outcome: &Outcome, wall_s: f64) -> Figures {
    let window_s = outcome.window.as_secs_f64();
    let mut payload_bytes = 0;
    let mut frames = LinkCounts::default();
    let mut delays = DelayStatistic::default();
    let mut stations = Vec::new();
    for flow in &outcome.flows {
        let delay = &flow.counts.forward.delay;
        let link = outcome.links.iter().find(|link| link.to == flow.to);
        let counts = link.map(|link| link.counts).unwrap_or_default();
        stations.push(part(flow.payload_bytes, &counts, delay, window_s));
        payload_bytes += flow.payload_bytes;
        frames.frames += counts.frames;
        frames.mpdus += counts.mpdus;
        delays.merge(delay);
    }
    Figures {
        stations,
        all: part(payload_bytes, &frames, &delays, window_s),
        received: outcome.totals.delivered,
        wall_s,
    }
}

fn part(payload_bytes: u64, link: &LinkCounts, delay: &DelayStatistic, window_s: f64) -> Part {
    let delay = delay.summary().map(|delay| Delay {
        mean: delay.mean.as_secs_f64() * 1e3,
        p95: delay.p95.as_secs_f64() * 1e3,
    });
    Part {
        goodput_mbps: payload_bytes as f64 * 8e-6 / window_s,
        level: link.level().unwrap_or_default(),
        delay,
    }
}
