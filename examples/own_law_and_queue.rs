//! A rate law and a queue of your own in a simulated network, beside the built-in ones. Nothing is
//! forked: both are trait objects in the network's configuration.
//!
//! ```text
//! $ cargo run -p airpace-examples --example own_law_and_queue
//! law       queue     TCP Mbit/s  ping p95 ms
//! none      built-in       318.2         34.3
//! none      own            293.0          5.5
//! built-in  built-in       274.0          4.8
//! built-in  own            274.8          5.1
//! own       built-in       272.7          5.3
//! own       own            274.9          5.1
//! ```
#![expect(clippy::print_stdout, reason = "an example prints its results")]

use airpace_core::control::RateController;
use airpace_core::queue::DropReason;
use airpace_core::report::{Allocation, SlotReport};
use airpace_edge::proxy::{CustomLaw, Pacing};
use airpace_scenario::{Loaded, progress::Silent, run::run, stop::Stop};
use airpace_sim::mac::{PacketStore, PathConfig, QueueSite, QueuedPacket, TransmitQueue};
use airpace_units::{StationId, Time};
use anyhow::{Context, Result};
use std::{collections::VecDeque, path::Path};

const NETWORK: &str = r#"
    warm_up = "4 s"
    duration = "4 s"
    slot = "100 ms"
    node = [{ kind = "ap" }, { kind = "station" }]
    flow = [{ kind = "tcp" }, { kind = "ping", interval = "20 ms" }]
    proxy = [{ law = "waterfill", level = 24 }]
"#;

/// Raises a station's rate by a tenth while its frames have fewer than 24 packets, and lowers it by
/// a tenth otherwise.
struct UpAndDown(Vec<Allocation>);

impl RateController for UpAndDown {
    fn name(&self) -> &'static str {
        "up-and-down"
    }

    fn on_slot(&mut self, _now: Time, reports: &[SlotReport]) -> &[Allocation] {
        for report in reports {
            let known = self.0.iter().find(|old| old.station == report.station);
            let frames_are_short = report.level() < Some(24.0);
            let factor = if frames_are_short { 1.1 } else { 0.9 };
            let rate_pps = factor * known.map_or(2_000.0, |known| known.rate_pps);
            self.remove(report.station);
            let granted = Allocation::new(report.station, rate_pps, 1_500.0, 24.0);
            self.0.push(granted);
        }
        &self.0
    }

    fn remove(&mut self, station: StationId) {
        self.0.retain(|known| known.station != station);
    }
}

/// First in, first out. Of more than a hundred packets the oldest is dropped.
struct DropOldest(VecDeque<QueuedPacket>);

impl TransmitQueue for DropOldest {
    fn enqueue(&mut self, _now: Time, packet: QueuedPacket, store: &mut dyn PacketStore) {
        self.0.push_back(packet);
        if self.0.len() > 100 {
            let oldest = self.0.pop_front().expect("there are a hundred packets");
            store.discard(oldest, DropReason::PacketLimit);
        }
    }

    fn dequeue(&mut self, _now: Time, _store: &mut dyn PacketStore) -> Option<QueuedPacket> {
        self.0.pop_front()
    }
}

fn main() -> Result<()> {
    let loaded = Loaded::new(NETWORK, Vec::new(), Path::new("."))?;
    let world = loaded.resolve()?.world;
    let built_in_law = world.proxies[0].edge.pacing.clone();
    let own_law = Pacing::Custom(CustomLaw::new(|| Box::new(UpAndDown(Vec::new()))));
    let built_in_queue = world.channels[0].mac.radios[0].path.clone();
    let own_queue = PathConfig::custom(|_: &QueueSite| -> Box<dyn TransmitQueue> {
        Box::new(DropOldest(VecDeque::new()))
    });

    println!("law       queue     TCP Mbit/s  ping p95 ms");
    for (law, pacing) in [
        ("none", Pacing::Unpaced),
        ("built-in", built_in_law),
        ("own", own_law),
    ] {
        for (queue, path) in [("built-in", &built_in_queue), ("own", &own_queue)] {
            let mut network = loaded.resolve()?;
            network.world.proxies[0].edge.pacing = pacing.clone();
            network.world.channels[0].mac.radios[0].path = path.clone();
            let finished = run(&loaded, network, &Stop::default(), &Silent)?;
            let flows = finished.context("the run was stopped")?.summary.flows;
            let p95_ms = flows[1].rtt_ms.context("no reply came")?.p95;
            let tcp_mbps = flows[0].goodput_mbps;
            println!("{law:8}  {queue:8}  {tcp_mbps:10.1}  {p95_ms:11.1}");
        }
    }
    Ok(())
}
