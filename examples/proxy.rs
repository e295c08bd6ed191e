//! The proxy driven by hand in virtual time: packets and reports go in, packets come out. Two
//! stations receive frames of 20 packets; after a second, station 1 stops reporting.
//!
//! ```text
//! $ cargo run -p airpace-examples --example proxy
//! ```
#![expect(clippy::print_stdout, reason = "an example prints its results")]

use airpace_core::control::{Goal, Law, LawConfig};
use airpace_core::packet::Packet;
use airpace_core::report::SlotReport;
use airpace_edge::proxy::{Output, Pacing, Proxy, ProxyConfig, StationConfig};
use airpace_units::{StationId, Time};
use anyhow::Result;
use std::hash::Hasher;
use std::time::Duration;

const SLOT: Duration = Duration::from_millis(100);

/// A packet of 1500 bytes of one flow that does not take part in ECN.
struct ToyPacket;

impl Packet for ToyPacket {
    fn bytes(&self) -> u32 {
        1_500
    }
    fn hash_flow<H: Hasher>(&self, _state: &mut H) {}
    fn mark_ce(&mut self) -> bool {
        false
    }
}

/// A slot in which frames of 20 packets at 390 Mbit/s, one every 2 ms, reached the station.
fn report(station: usize, slot: u64, now: Time) -> SlotReport {
    SlotReport {
        slot,
        frames: 50,
        mpdus: 1_000,
        packets: 1_000,
        bytes: 1_500_000,
        span: Some((
            now - Duration::from_millis(99),
            now - Duration::from_millis(1),
        )),
        inverse_rate_sum: 50.0 / 390e6,
        ..SlotReport::silent(StationId(station as u32), SLOT)
    }
}

fn main() -> Result<()> {
    let goal = Goal {
        level: 32.0,
        delay: None,
    };
    let config = ProxyConfig {
        pacing: Pacing::Law(LawConfig::named(Law::Linear, goal)),
        slot: SLOT,
        stations: vec![StationConfig::default(); 2],
        ..ProxyConfig::default()
    };
    let mut proxy = Proxy::new(config, |station| [station as u8; 16])?;
    (0..2).for_each(|station| proxy.set_connected(Time::ZERO, station, true));

    println!("  time  packets sent  modes");
    for slot in 0..70 {
        let (begin, mut sent) = (Time::ZERO + SLOT * slot, [0, 0]);
        // A burst arrives at the beginning of each slot; deadlines say when to come again.
        for packet in 0..2_000 {
            proxy.enqueue(begin, packet % 2, ToyPacket);
        }
        while let Some(now) = proxy
            .deadline()
            .map(|due| due.max(begin))
            .filter(|due| *due < begin + SLOT)
        {
            proxy.handle_timeout(now);
            while let Some(Output::Packet { station, .. }) = proxy.poll(now) {
                sent[station] += 1;
            }
        }
        let end = begin + SLOT;
        proxy.on_report(end, report(0, slot.into(), end));
        if slot < 10 {
            proxy.on_report(end, report(1, slot.into(), end));
        }
        println!("{end:?} {sent:?} {:?} {:?}", proxy.mode(0), proxy.mode(1));
    }
    Ok(())
}
