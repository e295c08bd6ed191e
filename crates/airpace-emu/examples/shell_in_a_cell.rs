//! Runs a command (or a shell) on the wired side of a cell with two stations:
//! `cargo run --release -p airpace-emu --example shell_in_a_cell -- iperf3 -s`.
#![expect(clippy::print_stderr, reason = "an example prints its results")]

use airpace_core::phy::{GuardInterval, Standard, TxRate, Width};
use airpace_emu::{EmulatorConfig, NoObserver, run_command};
use airpace_sim::mac::{CellConfig, StationConfig};
use std::process::Command;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    airpace_net::netns::acquire_rights()?;
    let station = |mcs| {
        TxRate::new(Standard::Vht, Width::Mhz80, 1, mcs, GuardInterval::Ns800)
            .map(StationConfig::new)
    };
    let config = EmulatorConfig::new(CellConfig::new(vec![station(9)?, station(4)?]), 1);
    let mut words = std::env::args_os().skip(1);
    let mut command = Command::new(words.next().unwrap_or_else(|| "sh".into()));
    command.args(words);
    let outcome = run_command(config, NoObserver, command)?;
    let report = outcome.report;
    for station in &report.stations {
        eprintln!(
            "{}: {:.1} Mbit/s down, level {:?}",
            station.address, station.down.goodput_mbps, station.down.level
        );
    }
    eprintln!(
        "lag p99 {:.3} ms; {}",
        report.lag.p99_ms,
        report.warnings.join(" ")
    );
    Ok(())
}
