//! Real packets through the emulated access point: a station downloads for two seconds by the
//! kernel's TCP and is pinged meanwhile. This needs root or user namespaces; where neither is
//! allowed, the program says so and ends. The figures vary from run to run.
//!
//! ```text
//! $ cargo run -p airpace-examples --example emulated
//! goodput 143 Mbit/s in frames of 62 packets
//! ping p50 94 ms
//! ```
#![expect(clippy::print_stdout, reason = "an example prints its results")]
#![expect(
    clippy::disallowed_methods,
    reason = "real packets move by the machine's clock"
)]

use airpace_core::phy::{GuardInterval, Standard, TxRate, Width};
use airpace_emu::{Emulator, EmulatorConfig, NoObserver, station_address};
use airpace_lab::stats::Samples;
use airpace_lab::tool::{Stop, bulk, ping};
use airpace_sim::mac::{CellConfig, StationConfig};
use anyhow::Result;
use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

const DURATION: Duration = Duration::from_secs(2);

fn main() -> Result<()> {
    // Before any thread starts: a process with several threads cannot enter a user namespace.
    if let Err(error) = airpace_net::netns::acquire_rights() {
        println!("SKIPPED: {error}");
        return Ok(());
    }
    let rate = TxRate::new(Standard::Vht, Width::Mhz80, 1, 4, GuardInterval::Ns800)?;
    let cell = CellConfig::new(vec![StationConfig::new(rate)]);
    let emulator = match Emulator::start(EmulatorConfig::new(cell, 1), NoObserver) {
        Ok(emulator) => emulator,
        Err(error) if error.is_bad_input() => return Err(error.into()),
        Err(error) => {
            println!("SKIPPED: {error}");
            return Ok(());
        }
    };

    // A tool uses the namespace of its thread, in which `run` puts it.
    let (server, station) = (emulator.network().server(), emulator.network().station(0));
    let tcp = SocketAddr::from((station_address(0), 7_008));
    let echo = SocketAddr::from((station_address(0), 7_007));
    let receiver = station.run(|| bulk::Receiver::bind(tcp))??;
    let echo_socket = station.run(|| UdpSocket::bind(echo))??;
    let download = bulk::SendConfig {
        to: tcp,
        flows: 1,
        congestion: Some("cubic".to_owned()),
        duration: DURATION,
        patience: DURATION,
    };
    let pings = ping::PingConfig {
        to: echo,
        interval: Duration::from_millis(10),
        duration: DURATION,
        patience: DURATION,
    };

    let (start, stop) = (Instant::now(), Stop::default());
    let pings = thread::scope(|scope| -> Result<_> {
        scope.spawn(|| receiver.run(start, &stop));
        scope.spawn(|| ping::echo(&echo_socket, &stop));
        let pinger = scope.spawn(|| server.run(|| ping::ping(&pings, start, &stop)));
        let sent = server.run(|| bulk::send(&download, &stop));
        let answered = pinger.join().expect("the pinger returns its errors");
        // The servers run until they are told to stop, also if a client has failed.
        stop.raise();
        sent??;
        answered?
    })?;

    let round_trips: Samples = pings.iter().filter_map(|ping| ping.rtt_ms).collect();
    let down = &emulator.stop()?.stations[0].down;
    let level = down.level.unwrap_or_default();
    println!(
        "goodput {:.0} Mbit/s in frames of {level:.0} packets",
        down.goodput_mbps
    );
    println!("ping p50 {:.0} ms", round_trips.quantiles().p50);
    Ok(())
}
