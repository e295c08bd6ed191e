//! The emulated access point: the simulator's MAC under a real clock, so that real packets of the real kernel wait, aggregate
//! and collide as they would on the air.
//!
//! One thread owns a TUN device on the wired side and, per station, a TUN `wlan0` and a radiotap monitor `mon0`, each in a
//! network namespace. Nothing here decides anything about Wi-Fi: what is emulated is what [`airpace_sim::mac`] simulates. The
//! emulator measures its own lateness, and its report says so when the figures are not to be trusted.
//!
//! Everything (namespaces, devices, programs started inside) ends with the process, however it ends.
//!
//! Types to know: [`EmulatorConfig`], [`Emulator`] (a running cell, for programs that load it themselves) and [`run_command`]
//! (a cell for as long as a command runs).
//!
//! ```no_run
//! use airpace_core::phy::{GuardInterval, Standard, TxRate, Width};
//! use airpace_emu::{Emulator, EmulatorConfig};
//! use airpace_sim::mac::{CellConfig, StationConfig};
//!
//! let rate = TxRate::new(Standard::Vht, Width::Mhz80, 1, 9, GuardInterval::Ns800)?;
//! let config = EmulatorConfig::new(CellConfig::new(vec![StationConfig::new(rate)]), 1);
//! let emulator = Emulator::start(config, airpace_emu::NoObserver)?;
//! let socket = emulator.network().station(0).run(|| std::net::UdpSocket::bind("10.77.0.10:9"))??;
//! // … load it …
//! let report = emulator.stop()?;
//! println!("{:.1} Mbit/s", report.stations[0].down.goodput_mbps);
//! # drop(socket);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
mod address;
mod cell;
mod command;
mod config;
mod control;
mod delay;
mod emulator;
mod engine;
mod monitor;
mod network;
mod packet;
mod port;
mod series;
mod statistics;
mod trace;

pub use address::{BSSID, SERVER, station_address, station_mac};
pub use command::{GRACE, Outcome, environment, namespace_variable, run_command};
pub use config::{EmulatorConfig, EmulatorError, MAX_STATIONS, Monitor};
pub use control::Control;
pub use emulator::Emulator;
pub use engine::{NoObserver, Observer};
pub use network::Network;
pub use statistics::TRUSTED_LAG;
pub use trace::{TraceError, TraceFault, parse_trace};
