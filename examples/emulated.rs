//! Real packets through the emulated access point: the kernel's own TCP downloads to a station for
//! two seconds while the station is pinged. Needs root or user namespaces; says so where it may not.
//! The figures vary from run to run:
//!
//! ```text
//! $ cargo run -p airpace-examples --example emulated
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
use anyhow::{Result, anyhow};
use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

const DURATION: Duration = Duration::from_secs(2);

fn main() -> Result<()> {
    // Before any thread starts: a process with several cannot enter a user namespace.
    if let Err(error) = airpace_net::netns::acquire_rights() {
        println!("SKIPPED: {error}");
        return Ok(());
    }
    let rate = TxRate::new(Standard::Vht, Width::Mhz80, 1, 4, GuardInterval::Ns800)?;
    let cell = CellConfig::new(vec![StationConfig::new(rate)]);
    let emulator = match Emulator::start(EmulatorConfig::new(cell, 1), NoObserver) {
        Ok(emulator) => emulator,
        Err(error) => {
            println!("SKIPPED: {error}");
            return Ok(());
        }
    };

    // A tool uses the namespace of its thread.
    let (server, station) = (emulator.network().server(), emulator.network().station(0));
    let address = station_address(0);
    let (tcp, echo) = (
        SocketAddr::from((address, 7_008)),
        SocketAddr::from((address, 7_007)),
    );
    let (start, stop) = (Instant::now(), Stop::default());
    let receiver = station.run(|| bulk::Receiver::bind(tcp))??;
    let socket = station.run(|| UdpSocket::bind(echo))??;
    let pings = thread::scope(|scope| {
        scope.spawn(|| receiver.run(start, &stop));
        scope.spawn(|| ping::echo(&socket, &stop));
        let sender = scope.spawn(|| {
            server.enter()?;
            let (congestion, patience) = (Some("cubic".to_owned()), DURATION);
            bulk::send(
                &bulk::SendConfig {
                    to: tcp,
                    flows: 1,
                    congestion,
                    duration: DURATION,
                    patience,
                },
                &stop,
            )
        });
        let pinger = scope.spawn(|| {
            server.enter()?;
            let interval = Duration::from_millis(10);
            ping::ping(
                &ping::PingConfig {
                    to: echo,
                    interval,
                    duration: DURATION,
                    patience: DURATION,
                },
                start,
                &stop,
            )
        });
        let (flows, pings) = (sender.join(), pinger.join());
        stop.raise();
        flows.map_err(|_| anyhow!("the sender panicked"))??;
        pings.map_err(|_| anyhow!("the pinger panicked"))?
    })?;

    let round_trips: Samples = pings.iter().filter_map(|ping| ping.rtt_ms).collect();
    let report = emulator.stop()?;
    let down = &report.stations[0].down;
    println!(
        "goodput {:.0} Mbit/s in frames of {:.0} packets",
        down.goodput_mbps,
        down.level.unwrap_or_default()
    );
    println!("ping p50 {:.0} ms", round_trips.quantiles().p50);
    Ok(())
}
