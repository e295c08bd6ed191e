//! The proportional fair rates of four stations with different PHY rates: first with frames of at
//! most 32 packets as the only limit, then with a delay target, then with one that is too short.
//!
//! ```text
//! $ cargo run -p airpace-examples --example allocate
//! ```
#![expect(clippy::print_stdout, reason = "an example prints its results")]

use airpace_core::alloc::{Problem, Station, waterfill};
use airpace_core::model::Link;
use airpace_core::phy::{AccessCategory, GuardInterval, Standard, Timing, TxRate, Width};
use anyhow::Result;

/// Spatial streams and MCS of each station.
const RATES: [(u8, u8); 4] = [(2, 9), (1, 9), (1, 4), (1, 1)];
const IP_BYTES: u32 = 1_500;
const LEVEL_LIMIT: f64 = 32.0;

fn main() -> Result<()> {
    let mut stations = Vec::new();
    for (streams, mcs) in RATES {
        let rate = TxRate::new(
            Standard::Vht,
            Width::Mhz80,
            streams,
            mcs,
            GuardInterval::Ns800,
        )?;
        let category = AccessCategory::BestEffort;
        let link = Link::of_phy(rate, IP_BYTES, category, Timing::Standard);
        stations.push(Station::new(
            link.seconds_per_packet,
            link.overhead_s,
            LEVEL_LIMIT,
        ));
    }

    for delay_s in [None, Some(3e-3), Some(0.5e-3)] {
        let problem = Problem::new(stations.clone(), delay_s)?;
        match delay_s {
            None => println!("no delay target"),
            Some(delay_s) => println!("delay target {} ms", delay_s * 1e3),
        }
        let solution = match waterfill(&problem) {
            Ok(solution) => solution,
            Err(infeasible) => {
                println!("  {infeasible}");
                continue;
            }
        };
        for (station, (streams, mcs)) in RATES.iter().enumerate() {
            let mbps = solution.rate_pps[station] * 8e-6 * f64::from(IP_BYTES);
            let level = solution.level[station];
            println!("  MCS {mcs}, {streams} streams: {mbps:6.1} Mbit/s in frames of {level:4.1}");
        }
        println!("  a round takes {:.2} ms", solution.round_s * 1e3);
    }
    Ok(())
}
