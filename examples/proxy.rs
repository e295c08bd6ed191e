//! The proxy driven by hand in virtual time: packets and reports go in, packets come out. Two
//! stations report frames of 20 packets, fewer than the 32 that the law aims at, so their rates
//! rise. From slot 5 on, station 1 no longer reports: it gets the conservative rate, and in the end
//! everything that waits for it.
//!
//! ```text
//! $ cargo run -p airpace-examples --example proxy
//! slot  sent to 0  to 1  waiting  mode of 1
//!    0        168   168     1664  starting
//!    1         54    54     3554  controlled
//!    2         89    89     5372  controlled
//!    3        127   127     7114  controlled
//!    4        177   177     8756  controlled
//!    5        226   226    10298  controlled
//!    6        250   226    11816  controlled
//!    7        276   226    13306  controlled
//!    8        370    83    14843  conservative
//!    9        420    84    16329  conservative
//!   10        470    83    17766  conservative
//!   11        519  10233     8816  unshaped
//!   12        618  1000     9192  unshaped
//!   13        716  1000     9469  unshaped
//! ```
#![expect(clippy::print_stdout, reason = "an example prints its results")]

use airpace_core::control::{Goal, Law, LawConfig};
use airpace_core::packet::Packet;
use airpace_core::report::SlotReport;
use airpace_edge::proxy::{Fallback, Output, Pacing, Proxy, ProxyConfig, StationConfig};
use airpace_units::{StationId, Time};
use anyhow::{Context, Result};
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
fn report(station: u32, slot: u32, now: Time) -> SlotReport {
    SlotReport {
        slot: slot.into(),
        frames: 50,
        mpdus: 1_000,
        packets: 1_000,
        bytes: 1_500_000,
        span: Some((
            now - Duration::from_millis(99),
            now - Duration::from_millis(1),
        )),
        inverse_rate_sum: 50.0 / 390e6,
        ..SlotReport::silent(StationId(station), SLOT)
    }
}

fn main() -> Result<()> {
    let (level, delay) = (32.0, None);
    let config = ProxyConfig {
        pacing: Pacing::Law(LawConfig::named(Law::Linear, Goal::papers(level, delay))),
        slot: SLOT,
        fallback: Fallback {
            conservative_after_slots: 3,
            unshaped_after_slots: 6,
            ..Fallback::default()
        },
        stations: vec![StationConfig::default(); 2],
        ..ProxyConfig::default()
    };
    let mut proxy = Proxy::new(config, |station| [station as u8; 16])?;
    proxy.set_connected(Time::ZERO, 0, true);
    proxy.set_connected(Time::ZERO, 1, true);

    println!("slot  sent to 0  to 1  waiting  mode of 1");
    for slot in 0..14 {
        let begin = Time::ZERO + SLOT * slot;
        let end = begin + SLOT;
        for packet in 0..2_000 {
            proxy.enqueue(begin, packet % 2, ToyPacket);
        }
        let mut sent = [0, 0];
        // The proxy says when it wants to be called again: now, or at some time of the slot.
        while let Some(deadline) = proxy.deadline().filter(|&deadline| deadline < end) {
            let now = deadline.max(begin);
            proxy.handle_timeout(now);
            while let Some(Output::Packet { station, .. }) = proxy.poll(now) {
                sent[station] += 1;
            }
        }
        let mode = proxy.mode(1).context("there is a station 1")?;
        let waiting = proxy.backlog();
        println!(
            "{slot:4}  {:9}  {:4}  {waiting:7}  {mode}",
            sent[0], sent[1]
        );
        proxy.on_report(end, report(0, slot, end));
        if slot < 5 {
            proxy.on_report(end, report(1, slot, end));
        }
    }
    Ok(())
}
