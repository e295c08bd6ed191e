//! Uploads: what the air cannot take waits in the sender's kernel.

use super::ethernet::ethernet;
use super::{config, start};
use airpace_emu::{Emulator, EmulatorConfig, SERVER, station_address};
use airpace_net::netns::Namespace;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

const LENGTH: Duration = Duration::from_secs(3);

/// Returns how many TCP segments have been sent in a namespace, and how many of them again.
fn tcp_segments(namespace: &Namespace) -> (u64, u64) {
    let text = namespace
        .run(|| std::fs::read_to_string("/proc/thread-self/net/snmp").unwrap())
        .unwrap();
    let mut tcp = text.lines().filter(|line| line.starts_with("Tcp:"));
    let names = tcp.next().unwrap().split_whitespace();
    let values: Vec<&str> = tcp.next().unwrap().split_whitespace().collect();
    let column = |name: &str| names.clone().position(|known| known == name).unwrap();
    let value = |name: &str| values[column(name)].parse().unwrap();
    (value("OutSegs"), value("RetransSegs"))
}

/// Uploads from a station over one connection for [`LENGTH`]; returns the goodput in Mbit/s.
fn upload(emulator: &Emulator, station: usize, port: u16) -> f64 {
    let network = emulator.network();
    let listener = network
        .server()
        .run(|| TcpListener::bind((SERVER, port)).unwrap())
        .unwrap();
    let sender = network.station(station).spawn_thread("sender", move || {
        let mut stream = TcpStream::connect((SERVER, port)).unwrap();
        let begun = Instant::now();
        while begun.elapsed() < LENGTH {
            stream.write_all(&[7; 65_536]).unwrap();
        }
    });
    let mut stream = listener.accept().unwrap().0;
    let (mut bytes, mut buffer) = (0, vec![0; 1 << 20]);
    let begun = Instant::now();
    while let n @ 1.. = stream.read(&mut buffer).unwrap() {
        bytes += n;
    }
    sender.unwrap().join().unwrap().unwrap();
    bytes as f64 * 8e-6 / begun.elapsed().as_secs_f64()
}

/// Returns the round trips of datagrams between the server and a station, in ms, for [`LENGTH`];
/// those that are lost are missing.
fn echoes(emulator: &Emulator, station: usize) -> Vec<f64> {
    let network = emulator.network();
    let address = (station_address(station), 7);
    let echo = network
        .station(station)
        .run(|| UdpSocket::bind(address).unwrap())
        .unwrap();
    let echoing = std::thread::spawn(move || {
        let mut buffer = [0; 100];
        while let Ok((n @ 1.., from)) = echo.recv_from(&mut buffer) {
            echo.send_to(&buffer[..n], from).unwrap();
        }
    });
    let socket = network
        .server()
        .run(|| UdpSocket::bind((SERVER, 0)).unwrap())
        .unwrap();
    socket.connect(address).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_millis(500)))
        .unwrap();
    let (begun, mut round_trips_ms) = (Instant::now(), Vec::new());
    while begun.elapsed() < LENGTH {
        let sent = Instant::now();
        socket.send(&[7; 50]).unwrap();
        if socket.recv(&mut [0; 100]).is_ok() {
            round_trips_ms.push(sent.elapsed().as_secs_f64() * 1e3);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    socket.send(&[]).unwrap();
    echoing.join().unwrap();
    round_trips_ms
}

/// Uploads of one station, over this number of connections, beside the echoes of another.
fn uploads_wait_in_the_kernel(config: EmulatorConfig, connections: u16) {
    let Some(emulator) = start(config) else {
        return;
    };
    let (emulator_ref, mut round_trips_ms) = (&emulator, Vec::new());
    let mut mbps = vec![0.0; connections.into()];
    std::thread::scope(|scope| {
        for (port, mbps) in (9_100..).zip(&mut mbps) {
            scope.spawn(move || *mbps = upload(emulator_ref, 0, port));
        }
        scope.spawn(|| round_trips_ms = echoes(emulator_ref, 1));
    });
    let mbps: f64 = mbps.iter().sum();
    let (sent, again) = tcp_segments(emulator.network().station(0));
    let report = emulator.stop().unwrap();
    let up = &report.stations[0].up;
    round_trips_ms.sort_by(f64::total_cmp);
    let median_ms = round_trips_ms.get(round_trips_ms.len() / 2).copied();
    println!(
        "{mbps:.1} Mbit/s, {again} of {sent} segments sent again, longest queue {}, held back {}, \
         {} echoes, median {median_ms:.1?} ms, longest {:.1?} ms, {:?}",
        up.queue_max,
        report.stray.held_back,
        round_trips_ms.len(),
        round_trips_ms.last(),
        report.lag
    );
    assert!(mbps > 200.0, "{mbps}");
    assert_eq!((up.dropped_queue, up.dropped_retries), (0, 0));
    // Two aggregates of 64, and what one read of the device brings.
    assert!((64..=128 + 45).contains(&up.queue_max), "{}", up.queue_max);
    // The sender is held back by its device and has nothing to repair.
    assert!(again * 1_000 < sent, "{again} of {sent}");
    // A single connection may not fill the queue of its device within this time.
    assert!(report.stray.held_back > 0 || connections == 1);
    assert_eq!((report.stray.overflowed, report.stray.refused), (0, 0));
    // The other station does not share that queue. A machine that stalls can make any one echo
    // late, so the median is judged.
    assert!(round_trips_ms.len() > 80, "{}", round_trips_ms.len());
    assert!(median_ms < Some(40.0), "{median_ms:?}");
}

#[test]
fn an_upload_of_ip_packets_waits_in_its_kernel_and_others_pass() {
    uploads_wait_in_the_kernel(config(&[9, 9]), 1);
}

#[test]
fn an_upload_of_ethernet_frames_waits_in_its_kernel_and_others_pass() {
    uploads_wait_in_the_kernel(ethernet(&[9, 9]), 1);
}

#[test]
fn senders_that_find_the_queue_of_their_device_full_lose_nothing() {
    uploads_wait_in_the_kernel(ethernet(&[9, 9]), 6);
}
