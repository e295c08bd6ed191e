//! The emulated access point with real packets of the real kernel, in namespaces of the tests' own.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "tests by the real clock; what was skipped is said aloud"
)]

mod agreement;
mod cleanup;
mod monitor;
mod schemes;
mod traffic;

use airpace_core::phy::{GuardInterval, Standard, TxRate, Width};
use airpace_emu::{Emulator, EmulatorConfig, EmulatorError, NoObserver};
use airpace_sim::mac::{CellConfig, StationConfig};

/// VHT, 80 MHz, one stream.
fn station(mcs: u8) -> StationConfig {
    StationConfig::new(
        TxRate::new(Standard::Vht, Width::Mhz80, 1, mcs, GuardInterval::Ns800).unwrap(),
    )
}

fn config(mcs: &[u8]) -> EmulatorConfig {
    EmulatorConfig::new(
        CellConfig::new(mcs.iter().map(|&mcs| station(mcs)).collect()),
        1,
    )
}

/// A running cell, or a loud line and `None` where the system does not allow one.
fn start(config: EmulatorConfig) -> Option<Emulator> {
    match Emulator::start(config, NoObserver) {
        Ok(emulator) => Some(emulator),
        Err(EmulatorError::Namespace(error)) => {
            println!("SKIPPED, NOTHING WAS TESTED: {error} (try `unshare -rnm cargo test`)");
            None
        }
        Err(error) => panic!("{error}"),
    }
}
