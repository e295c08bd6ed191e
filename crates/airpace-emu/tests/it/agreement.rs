//! The emulated cell has the figures of the simulated one: it is the same MAC under another clock.

use super::{start, station};
use airpace_api::emulation::EmulationReport;
use airpace_emu::{EmulatorConfig, station_address};
use airpace_net::clock::Clock;
use airpace_net::netns::Namespace;
use airpace_net::poll::Poller;
use airpace_net::udp::{TrafficClass, Transmit, UdpOptions, UdpSocket};
use airpace_sim::mac::{CellConfig, Datagram, Direction, Input, Mac, Output, ends};
use airpace_units::{StationId, Time};
use std::io::IoSlice;
use std::net::SocketAddr;
use std::time::Duration;

const PAYLOAD: usize = 1470;
/// IPv4 and UDP.
const HEADERS: u32 = 28;
/// Time at the beginning that is not compared: sockets open and queues fill.
const SETTLING: Duration = Duration::from_millis(500);

/// The figures of a station that are compared.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    bytes: u64,
    frames: u64,
    packets: u64,
}

impl Figures {
    fn level(&self) -> f64 {
        self.packets as f64 / self.frames as f64
    }
}

/// Runs the cell in virtual time. Every station always has packets waiting.
fn simulate(config: &CellConfig, from: Duration, to: Duration) -> Vec<Figures> {
    let mut mac = Mac::cell(config, 7).unwrap();
    let mut figures = vec![Figures::default(); config.stations.len()];
    let window = Time::ZERO + from..Time::ZERO + to;
    let mut now = Time::ZERO;
    while now < window.end {
        for index in 0..figures.len() {
            let (from, to) = ends(StationId::from_index(index), Direction::Down);
            while mac.queued(from, to) < 200 {
                mac.handle(
                    now,
                    Input::Send {
                        from,
                        to,
                        packet: Datagram::new(0, PAYLOAD as u32 + HEADERS),
                    },
                );
            }
        }
        now = mac.deadline().unwrap();
        mac.handle(now, Input::Tick);
        while let Some(output) = mac.poll() {
            match output {
                Output::Frame(frame)
                    if window.contains(&frame.end) && frame.mpdus > frame.retries =>
                {
                    figures[frame.station().index()].frames += 1;
                    figures[frame.station().index()].packets +=
                        u64::from(frame.mpdus - frame.retries);
                }
                Output::Delivered { at, mpdu, .. }
                    if window.contains(&at) && mpdu.direction() == Direction::Down =>
                {
                    figures[mpdu.station().index()].bytes += PAYLOAD as u64 + u64::from(HEADERS);
                }
                _ => {}
            }
        }
    }
    figures
}

/// Sends datagrams to all stations until `end`, to each at `pps` packets per second.
fn flood(server: &Namespace, stations: usize, pps: f64, end: Duration) {
    let send = move || {
        let socket =
            UdpSocket::bind("10.77.0.1:0".parse().unwrap(), UdpOptions::default()).unwrap();
        let (clock, mut poller, bytes) =
            (Clock::start(), Poller::new().unwrap(), [0; PAYLOAD * 40]);
        let mut sent = 0.0;
        while clock.now() < Time::ZERO + end {
            poller
                .wait(&clock, Some(clock.now() + Duration::from_millis(1)))
                .unwrap();
            let due = (clock.now().as_secs_f64() * pps - sent).min(40.0).floor();
            // A late sender does not catch up, because the queues are full.
            sent = (sent + due).max(clock.now().as_secs_f64() * pps - 40.0);
            let parts = [IoSlice::new(&bytes[..PAYLOAD * due as usize])];
            for index in 0..stations {
                let to = Some(SocketAddr::from((station_address(index), 9)));
                let segment = Some(PAYLOAD as u16);
                let _ = socket.send(&[Transmit {
                    to,
                    parts: &parts,
                    segment,
                    class: TrafficClass::DEFAULT,
                }]);
            }
        }
    };
    server.run(send).unwrap();
}

/// Runs the cell with real packets under the real clock. Every station's buffer is kept full.
fn emulate(config: EmulatorConfig, pps: f64, to: Duration) -> Option<EmulationReport> {
    let stations = config.cell.stations.len();
    let emulator = start(config)?;
    let network = emulator.network();
    // Without a socket, the kernel would answer each datagram with an ICMP error.
    let bind = |index: usize| std::net::UdpSocket::bind((station_address(index), 9)).unwrap();
    let sockets: Vec<_> = (0..stations)
        .map(|index| network.station(index).run(|| bind(index)).unwrap())
        .collect();
    flood(network.server(), stations, pps, to);
    drop(sockets);
    Some(emulator.stop().unwrap())
}

/// Sums up the slots of each station between `from` and `to`.
fn figures(report: &EmulationReport, from: Duration, to: Duration) -> Vec<Figures> {
    // A microsecond more than the error of the beginnings, which are floating-point numbers.
    let (from, to) = (from.as_secs_f64() - 1e-6, to.as_secs_f64() - 1e-6);
    let mut figures = Vec::new();
    for station in &report.stations {
        let mut sum = Figures::default();
        for slot in station
            .slots
            .iter()
            .filter(|s| s.at_s >= from && s.at_s < to)
        {
            sum.bytes += slot.bytes;
            sum.frames += u64::from(slot.frames);
            sum.packets += u64::from(slot.packets);
        }
        figures.push(sum);
    }
    figures
}

/// Largest relative difference of the goodput that is accepted.
const GOODPUT_TOLERANCE: f64 = 0.03;

/// Largest relative difference of the aggregation level that is accepted.
const LEVEL_TOLERANCE: f64 = 0.05;

/// Compares a cell of stations with these MCS for `length`, for a test of this name.
fn compare(test: &str, mcs: &[u8], loss: f64, pps: f64, length: Duration) {
    let stations = mcs.iter().map(|&mcs| airpace_sim::mac::StationConfig {
        loss,
        ..station(mcs)
    });
    let config = EmulatorConfig::new(CellConfig::new(stations.collect()), 11);
    let (from, to) = (SETTLING, SETTLING + length);
    let simulated = simulate(&config.cell, from, to);
    let Some(report) = emulate(config, pps, to + Duration::from_millis(200)) else {
        return;
    };
    let emulated = figures(&report, from, to);
    println!(
        "MCS {mcs:?}, loss {loss}: lag p50 {:.3} p99 {:.3} max {:.3} ms",
        report.lag.p50_ms, report.lag.p99_ms, report.lag.max_ms
    );
    // Its figures are then those of the machine.
    if !report.trusted {
        eprintln!(
            "SKIPPED, WAS NOT TESTED: {test}, MCS {mcs:?}, loss {loss}: the machine was too busy (lag p99 \
             {:.2} ms)",
            report.lag.p99_ms
        );
        return;
    }
    for (index, (s, e)) in simulated.iter().zip(&emulated).enumerate() {
        let mbps = |f: &Figures| f.bytes as f64 * 8e-6 / length.as_secs_f64();
        let (goodput, level) = (mbps(e) / mbps(s) - 1.0, e.level() / s.level() - 1.0);
        println!(
            "  sta{index}: simulated {:.1} Mbit/s, level {:.2}; \
             emulated {:.1} ({:+.2} %), {:.2} ({:+.2} %); drops {}",
            mbps(s),
            s.level(),
            mbps(e),
            goodput * 100.0,
            e.level(),
            level * 100.0,
            report.stations[index].down.dropped_queue,
        );
        assert!(goodput.abs() <= GOODPUT_TOLERANCE, "goodput of sta{index}");
        assert!(level.abs() <= LEVEL_TOLERANCE, "level of sta{index}");
    }
}

#[test]
fn a_saturated_cell_has_the_simulated_figures() {
    compare(
        "a_saturated_cell_has_the_simulated_figures",
        &[4],
        0.0,
        40_000.0,
        Duration::from_secs(1),
    );
}

#[test]
#[ignore = "half a minute of real time: make test-full"]
fn saturated_cells_of_several_kinds_have_the_simulated_figures() {
    let test = "saturated_cells_of_several_kinds_have_the_simulated_figures";
    let length = Duration::from_secs(6);
    compare(test, &[9], 0.0, 45_000.0, length);
    compare(test, &[9], 0.1, 45_000.0, length);
    compare(test, &[9, 4, 1], 0.0, 15_000.0, length);
    compare(test, &[9; 10], 0.0, 4_000.0, length);
}
