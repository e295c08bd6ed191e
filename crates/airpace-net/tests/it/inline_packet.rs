//! The in-line path without BPF between a server and a station.

use super::topology::{SERVER, STATION, Topology, ipv4_frame, test_frame, udp_frame};
use airpace_net::bridge::{BridgeChoice, BridgeState};
use airpace_net::clock::Clock;
use airpace_net::inline::{InlineError, InlinePath, ObservationKind};
use airpace_net::poll::{Interest, Poller};
use core::time::Duration;

const QUIET_MS: u64 = 60;

/// Takes the ports out of the bridge and opens the path, with the station in it.
fn open(topology: &Topology) -> InlinePath {
    let open = || {
        topology.bridge.undo().unwrap();
        BridgeState::set_up(BridgeChoice::None, &["wan", "ap"]).unwrap();
        InlinePath::open_packet("wan", &["ap"]).unwrap()
    };
    let mut path = topology.middle.run(open).unwrap();
    path.insert_station(STATION, false).unwrap();
    path.beat().unwrap();
    path
}

/// Lets the path work until nothing has come for 20 ms; returns the frames for stations.
fn work(path: &mut InlinePath) -> Vec<Vec<u8>> {
    let clock = Clock::start();
    let mut poller = Poller::new().unwrap();
    for file in path.files() {
        poller.add(file, 0, Interest::Read).unwrap();
    }
    let mut frames = Vec::new();
    loop {
        let end = clock.now() + Duration::from_millis(20);
        poller.wait(&clock, Some(end)).unwrap();
        path.receive(usize::MAX, |frame| frames.push(frame.to_vec()))
            .unwrap();
        if clock.now() >= end {
            return frames;
        }
    }
}

#[test]
fn without_bpf_frames_for_stations_are_handed_over_and_others_forwarded_unchanged() {
    let Some(topology) = Topology::new(9000) else {
        return;
    };
    let mut path = open(&topology);
    assert!(!path.is_fail_open() && path.name().contains("not fail-open"));
    let (mut server, mut station) = (topology.at_server(), topology.at_station());
    let tag = [0x81, 0, 0x20, 7];
    let outer = [0x88, 0xa8, 0, 9];
    let queued = [
        test_frame(STATION, SERVER),
        udp_frame(STATION, SERVER, &[tag], 5001, 1400),
        udp_frame(STATION, SERVER, &[outer, tag], 5001, 8000),
    ];
    let forwarded = [
        test_frame([2, 0, 0, 0, 0, 6], SERVER),
        udp_frame([2, 0, 0, 0, 0, 6], SERVER, &[outer, tag], 5001, 100),
        test_frame([0xff; 6], SERVER),
        udp_frame(STATION, SERVER, &[tag], 68, 300),
        ipv4_frame(STATION, SERVER, &[], 132, &[0; 40]),
    ];
    for frame in queued.iter().chain(&forwarded) {
        server.send(frame);
    }
    assert_eq!(work(&mut path), queued);
    assert_eq!(station.frames(QUIET_MS), forwarded);
    for frame in &queued {
        assert!(path.push(0, frame).unwrap());
    }
    assert_eq!(path.flush().unwrap(), 0);
    assert_eq!(station.frames(QUIET_MS), queued);
    assert!(!path.push(1, &queued[0]).unwrap(), "there is no such port");

    let up = udp_frame(SERVER, STATION, &[tag], 443, 200);
    station.send(&up);
    assert!(work(&mut path).is_empty());
    assert!(server.arrives(&up, QUIET_MS));
    let mut seen = Vec::new();
    path.observe(usize::MAX, |o| seen.push((o.kind, o.bytes.len())));
    assert_eq!(
        seen,
        [(ObservationKind::Dhcp, 346), (ObservationKind::Quic, 80)]
    );
    assert_eq!(path.uplink(STATION).unwrap().unwrap().frames, 1);
    let counters = path.counters().unwrap();
    assert_eq!((counters.redirected, counters.unknown), (3, 2));
    assert_eq!((counters.group, counters.control), (1, 2));
    assert_eq!(path.statistics().unwrap().lost(), 0);

    path.pause().unwrap();
    server.send(&queued[0]);
    assert!(work(&mut path).is_empty());
    assert!(station.arrives(&queued[0], QUIET_MS));
}

#[test]
fn without_bpf_a_tcp_transfer_is_cut_into_packets_and_its_checksums_are_complete() {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    const BYTES: usize = 5_000_000;
    let Some(topology) = Topology::new(1500) else {
        return;
    };
    let mut path = open(&topology);
    let listener = topology
        .station
        .run(|| TcpListener::bind("10.9.0.2:9000").unwrap())
        .unwrap();
    let receiver = std::thread::spawn(move || {
        let mut data = Vec::with_capacity(BYTES);
        listener.accept().unwrap().0.read_to_end(&mut data).unwrap();
        data.iter().enumerate().all(|(i, &b)| b == (i % 251) as u8) && data.len() == BYTES
    });
    let sender = topology
        .server
        .spawn_thread("sender", || {
            let data: Vec<u8> = (0..BYTES).map(|i| (i % 251) as u8).collect();
            let mut stream = TcpStream::connect("10.9.0.2:9000").unwrap();
            stream.write_all(&data).unwrap();
        })
        .unwrap();
    let clock = Clock::start();
    let mut poller = Poller::new().unwrap();
    for file in path.files() {
        poller.add(file, 0, Interest::Read).unwrap();
    }
    while !receiver.is_finished() {
        let end = clock.now() + Duration::from_millis(10);
        poller.wait(&clock, Some(end)).unwrap();
        let mut frames = Vec::new();
        path.receive(256, |frame| frames.push(frame.to_vec()))
            .unwrap();
        for frame in &frames {
            assert!(frame.len() <= 1514);
            assert!(path.push(0, frame).unwrap());
        }
        path.observe(usize::MAX, |_| {});
        assert!(clock.now().as_secs_f64() < 60.0, "the transfer is stuck");
    }
    sender.join().unwrap().unwrap();
    assert!(receiver.join().unwrap(), "all bytes arrive");
    assert!(path.counters().unwrap().redirected > 0);
}

#[test]
fn without_bpf_a_port_in_a_kernel_bridge_is_refused() {
    let Some(topology) = Topology::new(1500) else {
        return;
    };
    let open = || InlinePath::open_packet("wan", &["ap"]).unwrap_err();
    let error = topology.middle.run(open).unwrap();
    assert!(matches!(error, InlineError::Bridged(_)));
    assert!(error.to_string().contains("nomaster"));
}
