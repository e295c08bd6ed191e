//! A scenario of a few lines is read, run, and printed as a table. `airpace sim run FILE` does the
//! same with a file; `scenarios/` has many.
//!
//! ```text
//! $ cargo run -p airpace-examples --example scenario
//! station  goodput Mbit/s  level  delay p95 ms  airtime %
//! near              116.1   32.1          3.78       18.7
//! middle            116.3   32.2          4.36       34.3
//! far                27.6    7.6          4.36       36.3
//! ```
#![expect(clippy::print_stdout, reason = "an example prints its results")]

use airpace_scenario::Loaded;
use airpace_scenario::progress::Silent;
use airpace_scenario::run::run;
use airpace_scenario::stop::Stop;
use anyhow::{Context, Result};
use std::path::Path;

/// Three stations with different rates behind airpace, which always has packets for them.
const SCENARIO: &str = r#"
    warm_up = "1 s"
    duration = "2 s"
    node = [
        { kind = "ap" },
        { name = "near", kind = "station", rate = "mcs 9 nss 2" },
        { name = "middle", kind = "station", rate = "mcs 9" },
        { name = "far", kind = "station", rate = "mcs 2" },
    ]
    flow = [{ kind = "saturate" }]
    proxy = [{ law = "waterfill", level = 32, delay = "5 ms" }]
"#;

fn main() -> Result<()> {
    // Traces would be looked for in this folder; the scenario names none.
    let loaded = Loaded::new(SCENARIO, Vec::new(), Path::new("."))?;
    let network = loaded.resolve()?;
    let finished = run(&loaded, network, &Stop::default(), &Silent)?.context("stopped early")?;

    println!("station  goodput Mbit/s  level  delay p95 ms  airtime %");
    for station in &finished.summary.stations {
        let level = station.level.unwrap_or_default();
        let p95_ms = station.delay_ms.unwrap_or_default().p95;
        println!(
            "{:7}  {:14.1}  {level:5.1}  {p95_ms:12.2}  {:9.1}",
            station.name,
            station.goodput_mbps,
            100.0 * station.airtime_share
        );
    }
    Ok(())
}
