//! The box is killed, stopped and ended: traffic continues, and nothing is left.

use super::frames::arp_request;
use super::{
    NATIVE, Wire, edge, eventually, program, snapshot, start, start_and_kill, testbed, traffic,
};
use airpace_lab::bench::edge::{EdgeTestbed, SERVER, pause, station_address, station_mac};
use core::net::SocketAddr;
use core::time::Duration;
use nix::sys::signal::Signal;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

/// The longest interruption that an operator is promised, ms.
const MOST_HOLE_MS: f64 = 300.0;

/// A TCP connection from the server to the station.
fn connect(bed: &EdgeTestbed) -> (TcpStream, TcpStream) {
    let at = SocketAddr::from((station_address(0), 8000));
    let listener = bed.stations[0]
        .run(|| TcpListener::bind(at))
        .unwrap()
        .unwrap();
    let server = bed.server.run(|| TcpStream::connect(at)).unwrap().unwrap();
    let (station, peer) = listener.accept().unwrap();
    assert_eq!(peer.ip(), SERVER);
    (server, station)
}

/// Sends a word through a connection, and receives it.
fn assert_alive((server, station): &mut (TcpStream, TcpStream)) {
    station
        .set_read_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    server.write_all(b"alive").unwrap();
    let mut word = [0; 5];
    station.read_exact(&mut word).unwrap();
    assert_eq!(&word, b"alive");
}

fn assert_short_hole(signal: Signal) {
    let Some(bed) = testbed(1, 1500) else { return };
    let Some(process) = start(&bed, "[control]\nlaw = \"none\"\n") else {
        return;
    };
    let traffic = traffic(&bed);
    let mut connection = connect(&bed);
    assert_alive(&mut connection);
    let arrivals = traffic
        .run(Duration::from_secs(2), Some(0.1), || {
            pause(Duration::from_secs(1));
            process.signal(signal)?;
            assert_alive(&mut connection);
            Ok(())
        })
        .unwrap();
    let hole_ms = arrivals.longest_gap.as_secs_f64() * 1e3;
    let lost = arrivals.sent - arrivals.received;
    eprintln!(
        "{signal}: hole {hole_ms:.1} ms, {lost} of {} packets lost",
        arrivals.sent
    );
    assert!(hole_ms <= MOST_HOLE_MS, "{hole_ms} ms");
    assert_alive(&mut connection);
    if signal == Signal::SIGSTOP {
        // It goes on where it was.
        process.signal(Signal::SIGCONT).unwrap();
        assert_alive(&mut connection);
        assert!(bed.status().unwrap().len() == 1);
    }
}

#[test]
fn traffic_continues_when_the_box_is_killed() {
    assert_short_hole(Signal::SIGKILL);
}

#[test]
fn traffic_continues_when_the_box_is_stopped() {
    assert_short_hole(Signal::SIGSTOP);
}

#[test]
fn an_ended_box_leaves_nothing() {
    let Some(bed) = testbed(2, 1500) else { return };
    let before = snapshot(&bed);
    let Some(mut process) = start(&bed, "") else {
        return;
    };
    let during = snapshot(&bed);
    assert!(
        during.contains("airpace-br") && during.contains("xdp"),
        "{during}"
    );
    process.signal(Signal::SIGTERM).unwrap();
    assert_eq!(process.wait().unwrap().code(), Some(0), "{}", process.log());
    assert_eq!(snapshot(&bed), before);
    assert_nothing_to_undo(&bed);
}

#[test]
fn a_killed_box_leaves_what_undo_removes() {
    let Some(bed) = testbed(2, 1500) else { return };
    let before = snapshot(&bed);
    let Some(mut process) = start(&bed, "") else {
        return;
    };
    for arguments in [&["--wan", "wan", "--undo"][..], &["--undo"]] {
        let (code, text) = edge(&bed, arguments);
        assert!(
            code == Some(1) && text.contains("runs on wan: end it"),
            "{text}"
        );
    }
    process.signal(Signal::SIGKILL).unwrap();
    process.wait().unwrap();
    let after = snapshot(&bed);
    assert!(
        after.contains("airpace-br") && !after.contains("prog/xdp"),
        "{after}"
    );
    let (code, text) = edge(&bed, &["--wan", "wan", "--undo"]);
    assert!(code == Some(0) && text.contains("restored"), "{text}");
    assert_eq!(snapshot(&bed), before);
    assert_nothing_to_undo(&bed);
}

#[test]
fn interfaces_that_do_not_exist_are_named_with_their_role() {
    let Some(bed) = testbed(1, 1500) else { return };
    let before = snapshot(&bed);
    let (code, text) = edge(&bed, &["--wan", "wann", "--undo"]);
    assert!(
        code == Some(2) && text.contains("no such interface"),
        "{text}"
    );
    for (words, role) in [
        (
            ["--wan", "wann", "--ap", "ap0"],
            "wan: there is no interface wann",
        ),
        (
            ["--wan", "wan", "--ap", "nope"],
            "access point's port: there is no interface nope",
        ),
    ] {
        let (code, text) = edge(&bed, &words);
        assert!(code == Some(1) && text.contains(role), "{text}");
    }
    let words = ["--wan", "wan", "--ap", "ap0", "--bridge", "br7"];
    let (code, text) = edge(&bed, &words);
    assert!(
        code == Some(1) && text.contains("bridge: there is no interface br7"),
        "{text}"
    );
    assert_eq!(snapshot(&bed), before);
}

#[test]
fn a_box_that_follows_a_killed_one_takes_its_bridge_over_and_loses_no_packet() {
    let Some(bed) = testbed(1, 1500) else { return };
    let before = snapshot(&bed);
    let settings = "[control]\nlaw = \"none\"\n";
    let Some(mut killed) = start(&bed, settings) else {
        return;
    };
    let traffic = traffic(&bed);
    killed.signal(Signal::SIGKILL).unwrap();
    killed.wait().unwrap();
    let mut second = None;
    let arrivals = traffic
        .run(Duration::from_secs(3), Some(0.02), || {
            second = Some(bed.start(program(), &format!("{NATIVE}{settings}"))?);
            let station = Wire::open(&bed.stations[0], "wlan0");
            station.send(&arp_request(station_mac(0), [10, 9, 0, 10]));
            eventually("the station is learnt again", || {
                bed.status().is_ok_and(|stations| stations.len() == 1)
            });
            Ok(())
        })
        .unwrap();
    let mut second = second.unwrap();
    let lost = arrivals.sent - arrivals.received;
    assert_eq!(lost, 0, "of {}\n{}", arrivals.sent, second.log());
    assert!(second.log().contains("is taken over"), "{}", second.log());
    second.signal(Signal::SIGTERM).unwrap();
    second.wait().unwrap();
    assert_eq!(snapshot(&bed), before);
}

#[test]
fn what_a_killed_box_has_left_is_restored_by_one_with_another_set_up() {
    let Some(bed) = testbed(2, 1500) else { return };
    let before = snapshot(&bed);
    let Some(_killed) = start_and_kill(&bed) else {
        return;
    };
    // The other port is not one of its own, and is no bridge.
    let (code, text) = edge(&bed, &["--wan", "wan", "--ap", "ap0", "--bridge", "ap1"]);
    assert!(code == Some(1) && text.contains("is restored"), "{text}");
    assert_eq!(snapshot(&bed), before);
}

#[test]
fn a_mistake_after_a_kill_leaves_the_bridge_that_carries_traffic() {
    let Some(bed) = testbed(1, 1500) else { return };
    let before = snapshot(&bed);
    let Some(_killed) = start_and_kill(&bed) else {
        return;
    };
    let left = snapshot(&bed);
    for (words, says) in [
        (&["--ap", "ap7"][..], "there is no interface ap7"),
        (&["--ap", "ap0", "--ap", "lo"], "lo has the address"),
        (
            &["--ap", "ap0", "--bridge", "br9"],
            "there is no interface br9",
        ),
        (
            &["--ap", "ap0", "--bridge", "airpace-br"],
            "made by an earlier run",
        ),
    ] {
        let (code, text) = edge(&bed, &[&["--wan", "wan"], words].concat());
        assert!(code == Some(1) && text.contains(says), "{text}");
        assert_eq!(snapshot(&bed), left);
    }
    let (code, text) = edge(&bed, &["--wan", "wan", "--undo"]);
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(snapshot(&bed), before);
}

#[test]
fn a_second_box_on_the_same_port_is_refused_and_harms_nothing() {
    let Some(bed) = testbed(1, 1500) else { return };
    let Some(_process) = start(&bed, "") else {
        return;
    };
    let during = snapshot(&bed);
    let (code, text) = edge(&bed, &["--wan", "wan", "--ap", "ap0"]);
    assert!(
        code == Some(1) && text.contains("runs already on wan"),
        "{text}"
    );
    assert_eq!(snapshot(&bed), during);
}

fn assert_nothing_to_undo(bed: &EdgeTestbed) {
    let (code, text) = edge(bed, &["--wan", "wan", "--undo"]);
    assert!(
        code == Some(0) && text.contains("nothing to undo"),
        "{text}"
    );
}
