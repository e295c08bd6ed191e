//! The XDP programs and AF_XDP sockets between a server and a station.

use super::topology::{
    SERVER, STATION, Topology, internet_sum, ipv4_frame, receive, test_frame, udp_frame,
};
use airpace_net::clock::Clock;
use airpace_net::inline::{AttachMode, InlineError, ObservationKind, XdpPath};
use core::time::Duration;
use std::process::{Command, Stdio};

const BOTH: [AttachMode; 2] = [AttachMode::Native, AttachMode::Generic];
/// Long enough for a frame to pass two pairs of interfaces on a busy machine.
const QUIET_MS: u64 = 60;

/// Keeps a path alive and forwards frames through it for `span`, as a daemon would.
fn forward(path: &mut XdpPath, span: Duration) {
    let clock = Clock::start();
    let end = clock.now() + span;
    while clock.now() < end {
        path.beat().unwrap();
        let frames = receive(path);
        path.send(0, frames.iter().map(Vec::as_slice)).unwrap();
    }
}

#[test]
fn frames_for_a_known_station_go_through_the_socket_unchanged() {
    let Some(topology) = Topology::new(1500) else {
        return;
    };
    for mode in BOTH {
        let Some(mut path) = topology.path(mode) else {
            return;
        };
        assert_eq!(path.wan_mode(), mode);
        let (server, mut station) = (topology.at_server(), topology.at_station());
        let tag = [0x81, 0, 0x20, 7];
        let outer = [0x88, 0xa8, 0, 9];
        let frames = [
            test_frame(STATION, SERVER),
            udp_frame(STATION, SERVER, &[tag], 5001, 1400),
            udp_frame(STATION, SERVER, &[outer, tag], 5001, 10),
            udp_frame(STATION, SERVER, &[], 443, 1472),
        ];
        path.beat().unwrap();
        for frame in &frames {
            server.send(frame);
        }
        let mut received = receive(&mut path);
        for _ in 0..20 {
            if received.len() < frames.len() {
                received.extend(receive(&mut path));
            }
        }
        assert_eq!(received, frames, "{mode:?}");
        assert!(station.frames(QUIET_MS).is_empty(), "none has passed");
        let sent = path.send(0, received.iter().map(Vec::as_slice)).unwrap();
        assert_eq!(sent, frames.len());
        assert_eq!(station.frames(QUIET_MS), frames, "{mode:?}");
        assert_eq!(path.counters().unwrap().redirected, 4);
        assert_eq!(path.statistics().unwrap().lost(), 0);
    }
}

/// An Ethernet frame with the given type and payload.
fn ethernet(to: [u8; 6], ether_type: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = [to, SERVER].concat();
    frame.extend(ether_type.to_be_bytes());
    frame.extend(payload);
    frame
}

/// An IPv6 packet in an Ethernet frame.
fn ipv6(to: [u8; 6], next_header: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0, 0, payload.len() as u8, next_header, 255];
    packet.extend([0xfd; 32]);
    packet.extend(payload);
    ethernet(to, 0x86dd, &packet)
}

#[test]
fn all_other_frames_pass_unchanged() {
    let Some(topology) = Topology::new(9000) else {
        return;
    };
    for mode in BOTH {
        let Some(mut path) = topology.path(mode) else {
            return;
        };
        let (server, mut station) = (topology.at_server(), topology.at_station());
        path.insert_station([2, 0, 0, 0, 0, 7], true).unwrap();
        let frames = [
            test_frame([2, 0, 0, 0, 0, 6], SERVER),
            test_frame([2, 0, 0, 0, 0, 7], SERVER),
            test_frame([0xff; 6], SERVER),
            test_frame([1, 0, 0x5e, 0, 0, 0xfb], SERVER),
            ethernet([0xff; 6], 0x0806, &[0, 1, 8, 0, 6, 4, 0, 1]),
            ethernet(STATION, 0x0806, &[0, 1, 8, 0, 6, 4, 0, 2]),
            ethernet(STATION, 0x888e, &[2, 3]),
            ethernet(STATION, 0x88b5, &[1, 2, 3]),
            udp_frame(STATION, SERVER, &[], 68, 300),
            udp_frame(STATION, SERVER, &[[0x81, 0, 0, 5]], 68, 300),
            ipv6(STATION, 58, &[136, 0, 0, 0]),
            ipv6(STATION, 17, &[2, 35, 2, 34, 0, 8, 0, 0]),
            ipv4_frame(STATION, SERVER, &[], 132, &[0; 40]),
            // Longer than a chunk of the socket, and in several buffers of the kernel.
            udp_frame(STATION, SERVER, &[], 5001, 3850),
            udp_frame(STATION, SERVER, &[], 5001, 8900),
        ];
        path.beat().unwrap();
        for frame in &frames {
            server.send(frame);
        }
        assert_eq!(station.frames(QUIET_MS), frames, "{mode:?}");
        let counters = path.counters().unwrap();
        assert_eq!(counters.redirected, 0);
        assert_eq!((counters.unknown, counters.exempt), (1, 1));
        assert_eq!((counters.group, counters.not_ip), (3, 2));
        assert_eq!((counters.control, counters.large), (6, 2));
    }
}

#[test]
fn everything_passes_when_the_heartbeat_is_old_or_the_path_is_closed() {
    let Some(topology) = Topology::new(1500) else {
        return;
    };
    let frame = test_frame(STATION, SERVER);
    for mode in BOTH {
        let Some(mut path) = topology.path(mode) else {
            return;
        };
        let (server, mut station) = (topology.at_server(), topology.at_station());
        path.beat().unwrap();
        server.send(&frame);
        assert!(!station.arrives(&frame, QUIET_MS));
        // Without a beat for longer than 200 ms.
        assert!(station.frames(250).is_empty());
        server.send(&frame);
        assert!(station.arrives(&frame, QUIET_MS), "{mode:?}");
        path.beat().unwrap();
        path.pause().unwrap();
        server.send(&frame);
        assert!(station.arrives(&frame, QUIET_MS), "{mode:?}");
        assert_eq!(path.counters().unwrap().stale, 2);
        path.beat().unwrap();
        path.remove_station(STATION).unwrap();
        path.remove_station(STATION).unwrap();
        server.send(&frame);
        assert!(station.arrives(&frame, QUIET_MS), "{mode:?}");
        path.insert_station(STATION, false).unwrap();
        path.beat().unwrap();
        drop(path);
        server.send(&frame);
        assert!(station.arrives(&frame, QUIET_MS), "{mode:?}");
        let mut link = topology.middle.netlink().unwrap();
        for port in ["wan", "ap"] {
            assert_eq!(link.xdp_program(port).unwrap(), None);
        }
    }
}

#[test]
fn a_port_with_another_program_is_refused_by_the_name_of_that_program() {
    let Some(topology) = Topology::new(1500) else {
        return;
    };
    let Some(_path) = topology.path(AttachMode::Auto) else {
        return;
    };
    let error = topology.try_path(AttachMode::Auto).unwrap_err();
    assert!(matches!(error, InlineError::Occupied { .. }), "{error}");
    let text = error.to_string();
    assert!(
        text.contains("edge_ap") && text.contains("xdp off"),
        "{text}"
    );
}

#[test]
fn headers_that_sensors_need_are_reported() {
    let Some(topology) = Topology::new(1500) else {
        return;
    };
    let Some(mut path) = topology.path(AttachMode::Auto) else {
        return;
    };
    let (server, station) = (topology.at_server(), topology.at_station());
    let tcp = |payload: usize| {
        let mut segment = vec![0; 20 + payload];
        // Twenty bytes of header.
        segment[12] = 0x50;
        ipv4_frame(SERVER, STATION, &[], 6, &segment)
    };
    path.beat().unwrap();
    let stranger = [2, 0, 0, 0, 0, 5];
    for frame in [
        tcp(0),
        tcp(128),
        tcp(129),
        udp_frame(SERVER, STATION, &[], 443, 1000),
        test_frame(SERVER, stranger),
        test_frame(SERVER, stranger),
        test_frame(SERVER, STATION),
        ethernet(SERVER, 0x888e, &[1]),
    ] {
        station.send(&frame);
    }
    let arp = ethernet([0xff; 6], 0x0806, &[0, 1, 8, 0, 6, 4, 0, 1]);
    server.send(&arp);
    let mut seen = Vec::new();
    let wan = path.wan_index();
    let n = path.observe(usize::MAX, |o| {
        seen.push((o.kind, o.interface == wan, o.length, o.bytes.len()));
        assert!(o.at_ns > 0);
    });
    assert_eq!(n, 7);
    assert_eq!(
        seen,
        [
            (ObservationKind::Tcp, false, 54, 54),
            (ObservationKind::Tcp, false, 182, 160),
            (ObservationKind::Quic, false, 1042, 80),
            (ObservationKind::UnknownSource, false, 106, 106),
            (ObservationKind::Eapol, false, 15, 15),
            (ObservationKind::Arp, true, 22, 22),
            // The frame of EAPOL came from the same source, on the other side.
            (ObservationKind::Moved, true, 22, 22),
        ]
    );
    let of = |mac| path.uplink(mac).unwrap().unwrap();
    assert_eq!(of(STATION).frames, 5);
    assert_eq!((of(stranger).frames, of(stranger).bytes), (2, 212));
    assert!((1..=5).contains(&of(STATION).bursts));
    assert_eq!(path.uplink([2, 9, 9, 9, 9, 9]).unwrap(), None);
    assert_eq!(path.counters().unwrap().records, 7);
}

#[test]
fn the_first_data_frame_of_a_group_from_a_known_station_is_reported() {
    let Some(topology) = Topology::new(1500) else {
        return;
    };
    let Some(mut path) = topology.path(AttachMode::Auto) else {
        return;
    };
    path.insert_station(STATION, false).unwrap();
    path.beat().unwrap();
    let station = topology.at_station();
    let clock = Clock::start();
    let mut next = Duration::ZERO;
    let stranger = [2, 0, 0, 0, 0, 5];
    for source in [STATION, STATION, STATION, stranger, stranger] {
        // Each is a group of its own.
        station.send(&test_frame(SERVER, source));
        next += Duration::from_millis(2);
        while clock.now().as_secs_f64() < next.as_secs_f64() {}
    }
    let mut seen = Vec::new();
    path.observe(usize::MAX, |o| seen.push((o.kind, o.bytes.len())));
    // The first frame of an address is only noticed.
    let data = (ObservationKind::Data, 80);
    assert_eq!(seen, [data, data, (ObservationKind::UnknownSource, 106)]);
}

/// Runs as the box in a process of its own, until it is killed.
#[test]
#[ignore = "started by other tests"]
fn helper_inline_box() {
    let path = XdpPath::open("wan", &["ap"], Default::default());
    let Ok(mut path) = path else { return };
    path.insert_station(STATION, false).unwrap();
    loop {
        forward(&mut path, Duration::from_secs(1));
    }
}

/// Sends a frame each millisecond for a second; `disturb` runs after a third of it. Returns the
/// longest time in milliseconds in which none arrived.
fn longest_hole(topology: &Topology, mut disturb: impl FnMut()) -> u64 {
    let (server, mut station) = (topology.at_server(), topology.at_station());
    let frame = test_frame(STATION, SERVER);
    let clock = Clock::start();
    let (mut last, mut longest, mut is_disturbed) = (clock.now(), Duration::ZERO, false);
    while clock.now().as_secs_f64() < 1.0 {
        server.send(&frame);
        if !is_disturbed && clock.now().as_secs_f64() > 0.3 {
            disturb();
            is_disturbed = true;
        }
        let arrived = station.arrives(&frame, 1);
        let now = clock.now();
        if arrived {
            last = now;
        }
        longest = longest.max(now.saturating_since(last));
    }
    longest.as_millis() as u64
}

#[test]
fn traffic_continues_when_the_process_is_killed_or_stopped() {
    let Some(topology) = Topology::new(1500) else {
        return;
    };
    if topology.path(AttachMode::Auto).is_none() {
        return;
    }
    for signal in ["-KILL", "-STOP"] {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--ignored", "--exact", "inline::helper_inline_box"])
            .stdout(Stdio::null());
        let mut child = topology.middle.spawn(command).unwrap();
        let mut link = topology.middle.netlink().unwrap();
        let clock = Clock::start();
        while link.xdp_program("wan").unwrap().is_none() {
            assert!(
                clock.now().as_secs_f64() < 10.0,
                "the helper does not start"
            );
        }
        let id = child.id().to_string();
        let hole = longest_hole(&topology, || {
            let status = Command::new("kill").args([signal, &id]).status().unwrap();
            assert!(status.success());
        });
        println!("{signal}: hole of {hole} ms");
        assert!(hole <= 300, "{signal}: hole of {hole} ms");
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(link.xdp_program("wan").unwrap(), None);
    }
}

#[test]
fn checksums_that_the_sender_left_to_the_device_are_complete() {
    let Some(topology) = Topology::new(1500) else {
        return;
    };
    for mode in BOTH {
        let Some(mut path) = topology.path(mode) else {
            return;
        };
        let socket = topology
            .server
            .run(|| std::net::UdpSocket::bind("10.9.0.1:0").unwrap())
            .unwrap();
        let (server, mut station) = (topology.at_server(), topology.at_station());
        drop(server);
        socket.send_to(b"hello", "10.9.0.2:5001").unwrap();
        // The first datagram waits for the station's answer to ARP, which the bridge carries.
        let mut frames = receive(&mut path);
        for _ in 0..10 {
            if frames.is_empty() {
                path.beat().unwrap();
                frames = receive(&mut path);
            }
        }
        let datagram = frames.iter().find(|f| f[12..14] == [8, 0]).unwrap();
        assert_ne!(datagram[40..42], [0, 0]);
        assert!(udp_checksum_is_valid(datagram), "{mode:?}");
        path.send(0, [&datagram[..]]).unwrap();
        assert!(station.arrives(datagram, QUIET_MS));
    }
}

/// Checks a UDP datagram over IPv4 without options.
fn udp_checksum_is_valid(frame: &[u8]) -> bool {
    let length = usize::from(u16::from_be_bytes([frame[38], frame[39]]));
    let mut bytes = frame[26..34].to_vec();
    bytes.extend([0, 17]);
    bytes.extend(&frame[38..40]);
    bytes.extend(&frame[34..34 + length]);
    internet_sum(&bytes) == 0xffff
}

#[test]
fn a_tcp_transfer_passes_the_path_in_both_modes() {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    const BYTES: usize = 20_000_000;
    let Some(topology) = Topology::new(1500) else {
        return;
    };
    for mode in BOTH {
        let Some(mut path) = topology.path(mode) else {
            return;
        };
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
        while !receiver.is_finished() {
            forward(&mut path, Duration::from_millis(5));
            path.observe(usize::MAX, |_| {});
            assert!(clock.now().as_secs_f64() < 60.0, "the transfer is stuck");
        }
        sender.join().unwrap().unwrap();
        assert!(receiver.join().unwrap(), "{mode:?}: all bytes arrive");
        let counters = path.counters().unwrap();
        println!(
            "{mode:?}: {} Mbit/s, {counters:?}",
            (BYTES as f64 * 8e-6 / clock.now().as_secs_f64()) as u64
        );
        assert!(counters.redirected > 0 && counters.records > 0);
    }
}

#[test]
fn the_object_in_the_tree_was_made_from_the_sources_beside_it() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("bpf");
    let sums = std::fs::read_to_string(folder.join("edge.bpf.sha256")).unwrap();
    let mut n = 0;
    for line in sums.lines() {
        let (sum, name) = line.split_once("  ").unwrap();
        let bytes = std::fs::read(folder.join(name)).unwrap();
        let digest = ring::digest::digest(&ring::digest::SHA256, &bytes);
        let text: String = digest.as_ref().iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(text, sum, "{name} has changed: run `make bpf`");
        n += 1;
    }
    assert_eq!(n, 3);
}

#[test]
fn the_bridge_can_be_told_where_an_address_is() {
    let Some(topology) = Topology::new(1500) else {
        return;
    };
    let mac = [2, 0, 0, 0, 0, 9];
    let mut link = topology.middle.netlink().unwrap();
    let port = link.index("wan").unwrap();
    let (server, mut station) = (topology.at_server(), topology.at_station());
    let frame = test_frame(mac, SERVER);
    server.send(&frame);
    assert!(station.arrives(&frame, QUIET_MS), "it is flooded");
    for _ in 0..2 {
        link.learn_address(port, mac).unwrap();
    }
    server.send(&frame);
    assert!(
        !station.arrives(&frame, QUIET_MS),
        "it is behind the same port"
    );
}

#[test]
fn a_source_that_has_moved_to_the_wired_side_is_reported_and_teaches_the_bridge() {
    let Some(topology) = Topology::new(1500) else {
        return;
    };
    for mode in BOTH {
        let Some(mut path) = topology.path(mode) else {
            return;
        };
        let (mut server, station) = (topology.at_server(), topology.at_station());
        // A loop returns a frame of the server, and the bridge believes it.
        path.beat().unwrap();
        station.send(&test_frame([0xff; 6], SERVER));
        forward(&mut path, Duration::from_millis(QUIET_MS));
        server.frames(1);
        let up = test_frame(SERVER, STATION);
        station.send(&up);
        assert!(
            !server.arrives(&up, QUIET_MS),
            "{mode:?}: the bridge is misled"
        );
        let mut moved = 0;
        path.observe(64, |seen| {
            assert_ne!(seen.kind, ObservationKind::Moved);
        });
        for _ in 0..3 {
            path.beat().unwrap();
            server.send(&test_frame(STATION, SERVER));
            forward(&mut path, Duration::from_millis(QUIET_MS));
        }
        path.observe(64, |seen| {
            moved +=
                usize::from(seen.kind == ObservationKind::Moved && seen.bytes[6..12] == SERVER);
        });
        assert_eq!((moved, path.counters().unwrap().moved), (1, 1), "{mode:?}");
        station.send(&up);
        assert!(
            server.arrives(&up, QUIET_MS),
            "{mode:?}: the bridge knows again"
        );
    }
}

#[test]
fn frames_with_tags_pass_where_the_bridge_filters_vlans() {
    let Some(topology) = Topology::new(1500) else {
        return;
    };
    let Some(mut path) = topology.path(AttachMode::Native) else {
        return;
    };
    let (server, mut station) = (topology.at_server(), topology.at_station());
    path.set_untagged_only(true);
    path.beat().unwrap();
    let tagged = udp_frame(STATION, SERVER, &[[0x81, 0, 0x20, 7]], 5001, 100);
    server.send(&tagged);
    server.send(&test_frame(STATION, SERVER));
    assert!(station.arrives(&tagged, QUIET_MS));
    let counters = path.counters().unwrap();
    assert_eq!((counters.tagged, counters.redirected), (1, 1));
}
