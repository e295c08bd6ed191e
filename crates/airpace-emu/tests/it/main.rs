//! Tests of the emulated access point with packets of the real kernel, each in namespaces of its
//! own.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "tests by the real clock; they report what they skip"
)]

mod access_points;
mod agreement;
mod cleanup;
mod control_frames;
mod ethernet;
mod monitor;
mod schemes;
mod traffic;
mod uploads;

use airpace_core::phy::{GuardInterval, Standard, TxRate, Width};
use airpace_emu::{Emulator, EmulatorConfig, EmulatorError, NoObserver};
use airpace_sim::mac::{CellConfig, StationConfig};

/// Returns a station with VHT, 80 MHz and one spatial stream.
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

/// Starts a cell; prints a line and returns `None` where the system does not allow one.
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
