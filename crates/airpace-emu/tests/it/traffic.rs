//! Traffic of the real kernel through the cell.

use super::{config, start};
use airpace_emu::{Emulator, EmulatorError, NoObserver, Observer};
use airpace_sim::mac::{Direction, DropReason, FrameRecord};
use airpace_units::{StationId, Time};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn the_round_trip_of_a_datagram_takes_the_time_of_wire_and_air() {
    let Some(emulator) = start(config(&[9, 4])) else {
        return;
    };
    let network = emulator.network();
    let echo = network
        .station(1)
        .run(|| UdpSocket::bind("10.77.0.11:7").unwrap())
        .unwrap();
    let echoing = std::thread::spawn(move || {
        let mut buffer = [0; 2000];
        for _ in 0..20 {
            let (n, from) = echo.recv_from(&mut buffer).unwrap();
            echo.send_to(&buffer[..n], from).unwrap();
        }
    });
    let socket = network
        .server()
        .run(|| UdpSocket::bind("10.77.0.1:0").unwrap())
        .unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    let mut best = Duration::MAX;
    for i in 0..20_u8 {
        let sent = Instant::now();
        socket.send_to(&[i; 1000], "10.77.0.11:7").unwrap();
        let mut buffer = [0; 2000];
        assert_eq!(socket.recv(&mut buffer).unwrap(), 1000);
        assert_eq!(buffer[..1000], [i; 1000]);
        best = best.min(sent.elapsed());
    }
    echoing.join().unwrap();
    // Twice 1 ms on the wire, and a little time on the air.
    assert!(
        best >= Duration::from_millis(2) && best < Duration::from_millis(20),
        "{best:?}"
    );
    let report = emulator.stop().unwrap();
    println!("{:?}", report.lag);
    assert_eq!(
        (
            report.stations[1].down.packets,
            report.stations[1].up.packets
        ),
        (20, 20)
    );
    assert_eq!(report.stations[0].down.packets, 0);
    assert_eq!(report.stations[1].address, "10.77.0.11");
}

#[test]
fn stations_reach_each_other_through_the_access_point() {
    let Some(emulator) = start(config(&[9, 9])) else {
        return;
    };
    let network = emulator.network();
    let to = network
        .station(1)
        .run(|| UdpSocket::bind("10.77.0.11:9").unwrap())
        .unwrap();
    to.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let from = network
        .station(0)
        .run(|| UdpSocket::bind("10.77.0.10:0").unwrap())
        .unwrap();
    from.send_to(b"neighbour", "10.77.0.11:9").unwrap();
    let mut buffer = [0; 16];
    assert_eq!(to.recv(&mut buffer).unwrap(), 9);
    let report = emulator.stop().unwrap();
    assert_eq!(
        (
            report.stations[0].up.packets,
            report.stations[1].down.packets
        ),
        (1, 1)
    );
}

#[test]
fn a_tcp_download_fills_frames() {
    let Some(emulator) = start(config(&[9])) else {
        return;
    };
    let network = emulator.network();
    let listener = network
        .station(0)
        .run(|| TcpListener::bind("10.77.0.10:9000").unwrap())
        .unwrap();
    let sender = network.server().spawn_thread("sender", || {
        let mut stream = TcpStream::connect("10.77.0.10:9000").unwrap();
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(2) {
            stream.write_all(&[7; 65_536]).unwrap();
        }
    });
    let mut bytes = 0;
    let mut stream = listener.accept().unwrap().0;
    let mut buffer = vec![0; 1 << 20];
    loop {
        match stream.read(&mut buffer).unwrap() {
            0 => break,
            n => bytes += n as u64,
        }
    }
    sender.unwrap().join().unwrap().unwrap();
    let report = emulator.stop().unwrap();
    let down = &report.stations[0].down;
    println!("{:?} {:?} {down:?}", report.lag, report.stray);
    assert_eq!(report.stray.overflowed, 0, "every packet was read");
    assert!(down.bytes > bytes, "the headers count too");
    assert!(
        down.goodput_mbps > 100.0 && down.level.unwrap() > 10.0,
        "{down:?}"
    );
    assert!(
        report.stations[0].up.packets > 100,
        "acknowledgements are sent over the air"
    );
    let slots = &report.stations[0].slots;
    assert!(slots.len() >= 19 && slots.iter().map(|s| s.bytes).sum::<u64>() <= down.bytes);
    assert!(
        slots.iter().any(|s| s.queue > 100),
        "the access point's buffer fills"
    );
}

#[test]
fn a_tcp_upload_contends_for_the_air() {
    let Some(emulator) = start(config(&[9])) else {
        return;
    };
    let network = emulator.network();
    let listener = network
        .server()
        .run(|| TcpListener::bind("10.77.0.1:9000").unwrap())
        .unwrap();
    let sender = network.station(0).spawn_thread("sender", || {
        TcpStream::connect("10.77.0.1:9000")
            .unwrap()
            .write_all(&vec![7; 10_000_000])
            .unwrap();
    });
    let mut bytes = Vec::new();
    listener
        .accept()
        .unwrap()
        .0
        .read_to_end(&mut bytes)
        .unwrap();
    sender.unwrap().join().unwrap().unwrap();
    assert_eq!(bytes.len(), 10_000_000);
    let report = emulator.stop().unwrap();
    let (up, down) = (&report.stations[0].up, &report.stations[0].down);
    assert_eq!(report.stray.overflowed, 0, "every packet was read");
    assert!(up.bytes > 10_000_000 && up.level.unwrap() > 5.0, "{up:?}");
    assert!(
        down.packets > 0 && up.collisions > 0,
        "acknowledgements contend with data: {down:?}"
    );
}

#[test]
fn a_trace_changes_the_rate_in_the_middle_of_a_run() {
    let mut config = config(&[9]);
    let trace = airpace_emu::parse_trace("300ms 0 1", &config.cell.stations, 1).unwrap();
    config.cell.trace = trace.rates;
    let Some(emulator) = start(config) else {
        return;
    };
    let server = emulator.network().server();
    let socket = server
        .run(|| UdpSocket::bind("10.77.0.1:0").unwrap())
        .unwrap();
    while emulator.clock().now().as_secs_f64() < 0.5 {
        socket.send_to(&[0; 500], "10.77.0.10:9").unwrap();
        std::thread::sleep(Duration::from_millis(10));
    }
    let report = emulator.stop().unwrap();
    assert!(
        report.stations[0].rate.contains("MCS 1"),
        "{}",
        report.stations[0].rate
    );
}

/// An observer that delays the emulator at every frame.
struct SlowObserver;

impl Observer for SlowObserver {
    fn on_frame(&mut self, _: &FrameRecord) {
        std::thread::sleep(Duration::from_millis(300));
    }
    fn on_dropped(&mut self, _: Time, _: StationId, _: Direction, _: DropReason) {}
}

#[test]
fn packets_that_a_late_emulator_does_not_read_are_counted() {
    if start(config(&[9])).is_none() {
        return;
    }
    let emulator = Emulator::start(config(&[9]), SlowObserver).unwrap();
    let socket = emulator
        .network()
        .server()
        .run(|| UdpSocket::bind("10.77.0.1:0").unwrap())
        .unwrap();
    let begun = Instant::now();
    let mut sent = 0;
    // More than the 4000 packets that the kernel's queue has room for.
    while sent < 20_000 && begun.elapsed() < Duration::from_secs(5) {
        socket.send_to(&[0; 100], "10.77.0.10:9").unwrap();
        sent += 1;
    }
    let report = emulator.stop().unwrap();
    println!("{:?} of {sent}", report.stray);
    assert!(
        report.stray.overflowed > 0 && !report.trusted,
        "{:?}",
        report.stray
    );
    assert!(
        report
            .warnings
            .iter()
            .any(|warning| warning.contains("did not read")),
        "{:?}",
        report.warnings
    );
}

#[test]
fn iperf3_runs_through_it() {
    let found = Command::new("iperf3")
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    if found.is_err() {
        println!("SKIPPED, NOTHING WAS TESTED: no iperf3");
        return;
    }
    let Some(emulator) = start(config(&[9])) else {
        return;
    };
    let network = emulator.network();
    let mut server = Command::new("timeout");
    server
        .args(["20", "iperf3", "--server", "--one-off"])
        .stdout(Stdio::null());
    let mut server = network.station(0).spawn(server).unwrap();
    let mbps = (0..50).find_map(|_| {
        // The server may not be listening yet.
        std::thread::sleep(Duration::from_millis(100));
        let mut client = Command::new("timeout");
        client.args([
            "20",
            "iperf3",
            "--client",
            "10.77.0.10",
            "--time",
            "1",
            "--format",
            "m",
        ]);
        client.stdout(Stdio::piped()).stderr(Stdio::null());
        let output = network
            .server()
            .spawn(client)
            .unwrap()
            .wait_with_output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let line = text.lines().find(|line| line.ends_with("receiver"))?;
        let words: Vec<&str> = line.split_whitespace().collect();
        words
            .iter()
            .position(|&w| w == "Mbits/sec")
            .and_then(|i| words[i - 1].parse::<f64>().ok())
    });
    assert!(server.wait().unwrap().success());
    assert!(mbps.unwrap() > 50.0, "{mbps:?}");
}

#[test]
fn invalid_cells_are_refused_before_anything_is_created() {
    let refused = |change: fn(&mut airpace_emu::EmulatorConfig)| {
        let mut config = config(&[9]);
        change(&mut config);
        let error = airpace_emu::Emulator::start(config, NoObserver)
            .err()
            .unwrap();
        assert!(
            error.is_bad_input() && !error.to_string().contains('\n'),
            "{error}"
        );
        error
    };
    assert!(matches!(
        refused(|c| c.mtu = 9000),
        EmulatorError::Mtu(9000)
    ));
    refused(|c| c.slot = Duration::ZERO);
    refused(|c| c.wired_delay = Duration::from_secs(60));
    refused(|c| c.cell.stations.clear());
    refused(|c| c.cell.stations = vec![c.cell.stations[0]; 241]);
    refused(|c| c.cell.stations[0].loss = 1.5);
}
