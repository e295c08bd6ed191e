//! What a run of either simulator comes to.

use super::setting::Setting;
use airpace_sim::traffic::DelayStatistic;
use airpace_sim::world::{LinkCounts, Outcome, World};
use serde::Deserialize;
use std::time::Instant;

/// What a run comes to.
#[derive(Clone, PartialEq, Debug)]
pub struct Figures {
    /// Each station.
    pub stations: Vec<Part>,
    /// All stations together.
    pub all: Part,
    /// Packets received in the whole run, the warm-up included.
    pub received: u64,
    /// What the simulation took of real time, in seconds.
    pub wall_s: f64,
}

/// One station, or all.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
pub struct Part {
    /// Payload received, Mbit/s.
    pub goodput_mbps: f64,
    /// Mean MPDUs per data frame.
    pub level: f64,
    /// Delay from the source to the end of the PPDU; `None` if nothing came.
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
    /// Packets received per second of real time.
    #[must_use]
    pub fn packets_per_s(&self) -> f64 {
        self.received as f64 / self.wall_s
    }
}

/// Runs a setting in this project's simulator.
///
/// # Errors
/// A setting that cannot be.
pub fn simulate(setting: &Setting) -> anyhow::Result<Figures> {
    let mut world = World::new(setting.world()?)?;
    let begin = Instant::now();
    world.run();
    let wall_s = begin.elapsed().as_secs_f64();
    Ok(figures(&world.outcome(), wall_s))
}

fn figures(outcome: &Outcome, wall_s: f64) -> Figures {
    let window_s = outcome.window.as_secs_f64();
    let mut all = (0, LinkCounts::default(), DelayStatistic::default());
    let mut stations = Vec::new();
    for flow in &outcome.flows {
        let delay = &flow.counts.forward.delay;
        let to_station = |link: &&airpace_sim::world::LinkSummary| link.to == flow.to;
        let counts = outcome
            .links
            .iter()
            .find(to_station)
            .map(|link| link.counts)
            .unwrap_or_default();
        stations.push(part(flow.payload_bytes, &counts, delay, window_s));
        all.0 += flow.payload_bytes;
        all.1.frames += counts.frames;
        all.1.mpdus += counts.mpdus;
        all.2.merge(delay);
    }
    let received = outcome.totals.delivered;
    Figures {
        stations,
        all: part(all.0, &all.1, &all.2, window_s),
        received,
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
