//! Level, goodput and delay of a cell by the model, without simulating anything: five stations at
//! 780 Mbit/s (VHT, 80 MHz, two streams, MCS 9), each offered a fifth of the load.
//!
//! ```text
//! $ cargo run -p airpace-examples --example model
//! offered Mbit/s  stable  level  goodput Mbit/s  delay ms
//!            200  true      4.6           200.0      0.82
//!            400  true     14.4           400.0      1.36
//!            500  true     25.1           500.0      1.95
//!            600  true     49.1           600.0      3.28
//!            700  false    64.0           630.5       inf
//! ```
#![expect(clippy::print_stdout, reason = "an example prints its results")]

use airpace_core::model::{Downlink, Link, mean_delay_s, round_variation};
use airpace_core::phy::{AccessCategory, Edca, GuardInterval, SLOT, Standard, Timing};
use airpace_core::phy::{TxRate, Width};
use anyhow::{Context, Result};

const STATIONS: usize = 5;
const IP_BYTES: u32 = 1_500;

fn main() -> Result<()> {
    let rate = TxRate::new(Standard::Vht, Width::Mhz80, 2, 9, GuardInterval::Ns800)?;
    let category = AccessCategory::BestEffort;
    let link = Link::of_phy(rate, IP_BYTES, category, Timing::Standard);
    let downlink = Downlink::new(vec![link; STATIONS])?;

    println!("offered Mbit/s  stable  level  goodput Mbit/s  delay ms");
    for offered_mbps in [200.0, 400.0, 500.0, 600.0, 700.0] {
        let packets_per_s = offered_mbps * 1e6 / (8.0 * f64::from(IP_BYTES));
        let rates_pps = [packets_per_s / STATIONS as f64; STATIONS];
        let stable = downlink.is_stable(&rates_pps);
        let operating = downlink.refined(&rates_pps);
        let level = operating.level[0];
        let round_s = operating.round_s.context("the medium is idle")?;

        // An overloaded access point sends full frames; its queue, and so the delay, has no bound.
        let (goodput_mbps, delay_ms) = if stable {
            let variation = round_variation(
                round_s,
                STATIONS,
                Edca::of(category).cw_min,
                SLOT.as_secs_f64(),
            );
            let preamble_s = rate.preamble(Timing::Standard).as_secs_f64();
            let ppdu_s = preamble_s + level * link.seconds_per_packet;
            (offered_mbps, mean_delay_s(round_s, variation, ppdu_s) * 1e3)
        } else {
            let sent_pps = STATIONS as f64 * level / round_s;
            (sent_pps * 8e-6 * f64::from(IP_BYTES), f64::INFINITY)
        };
        println!("{offered_mbps:14}  {stable:6}  {level:5.1}  {goodput_mbps:14.1}  {delay_ms:8.2}");
    }
    Ok(())
}
