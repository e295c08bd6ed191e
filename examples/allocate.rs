//! The proportional fair rates of four stations with different PHY rates: first with frames of at
//! most 32 packets as the only limit, then with a delay target, then with one that is too short.
//!
//! ```text
//! $ cargo run -p airpace-examples --example allocate
//! no delay target
//!   2 x MCS 9:   82.1 Mbit/s in frames of 32.0
//!   1 x MCS 9:   82.1 Mbit/s in frames of 32.0
//!   1 x MCS 4:   42.6 Mbit/s in frames of 16.6
//!   1 x MCS 1:   14.2 Mbit/s in frames of  5.5
//!   a round takes 4.68 ms
//! delay target 3 ms
//!   2 x MCS 9:  128.0 Mbit/s in frames of 32.0
//!   1 x MCS 9:   70.5 Mbit/s in frames of 17.6
//!   1 x MCS 4:   31.7 Mbit/s in frames of  7.9
//!   1 x MCS 1:   10.6 Mbit/s in frames of  2.6
//!   a round takes 3.00 ms
//! delay target 0.5 ms
//!   a delay target of 0.5 ms cannot be held: overhead and one packet for each station take 1.1476207977207977 ms; ask for more than that
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
            println!("  {streams} x MCS {mcs}: {mbps:6.1} Mbit/s in frames of {level:4.1}");
        }
        println!("  a round takes {:.2} ms", solution.round_s * 1e3);
    }
    Ok(())
}
