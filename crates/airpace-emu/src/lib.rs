//! The emulated access point: the simulator's MAC under a real clock, so that packets of the real
//! kernel are queued, aggregated and retransmitted as they would be on the air.
//!
//! One thread owns a TUN device on the wired side and, for each station, a TUN device `wlan0` and a
//! radiotap monitor `mon0`, each in a network namespace. With [`Layer::Ethernet`] the access point
//! is one at layer 2: its wired side is a port that a bridge can take, and the stations have MAC
//! addresses, broadcasts and IPv6. This crate makes no decisions about Wi-Fi:
//! it emulates what [`airpace_sim::mac`] simulates. The emulator measures its own lateness, and its
//! report says when the figures cannot be trusted.
//!
//! Everything (namespaces, devices, programs inside) ends with the process, however it ends.
//!
//! To know: [`EmulatorConfig`], [`Emulator`] (a running cell, for programs that generate the load
//! themselves) and [`run_command`] (a cell that runs as long as a command).
//!
//! ```no_run
//! use airpace_core::phy::{GuardInterval, Standard, TxRate, Width};
//! use airpace_emu::{Emulator, EmulatorConfig};
//! use airpace_sim::mac::{CellConfig, StationConfig};
//!
//! let rate = TxRate::new(Standard::Vht, Width::Mhz80, 1, 9, GuardInterval::Ns800)?;
//! let config = EmulatorConfig::new(CellConfig::new(vec![StationConfig::new(rate)]), 1);
//! let emulator = Emulator::start(config, airpace_emu::NoObserver)?;
//! let station = emulator.network().station(0);
//! let socket = station.run(|| std::net::UdpSocket::bind("10.77.0.10:9"))??;
//! // … generate load …
//! let report = emulator.stop()?;
//! println!("{:.1} Mbit/s", report.stations[0].down.goodput_mbps);
//! # drop(socket);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
mod address;
mod channel;
mod command;
mod config;
mod delay;
mod emulator;
mod engine;
mod forwarding;
mod frame_log;
mod medium;
mod monitor;
mod network;
mod packet;
mod port;
mod presence;
mod remote;
mod series;
mod statistics;
mod trace;

pub use address::{BSSID, SERVER, SERVER_MAC, bssid, station_address, station_mac};
pub use command::{GRACE, Outcome, environment, namespace_variable, run_command};
pub use config::{
    AccessPointConfig, AirConfig, EmulatorConfig, EmulatorError, EthernetConfig, Layer,
    MAX_ACCESS_POINTS, MAX_STATIONS, Monitor,
};
pub use emulator::Emulator;
pub use engine::{NoObserver, Observer};
pub use frame_log::{FrameLog, TrueLevel};
pub use network::Network;
pub use statistics::TRUSTED_LAG;
pub use trace::{Move, StationMove, Trace, TraceError, TraceFault, parse_trace};
