//! What happens to the ports and the bridge while the box runs: interfaces are pulled out and come
//! back, links go down, a loop returns frames, the bridge begins to filter.

use super::frames::{arp_request, udp};
use super::{Wire, eventually, start, testbed};
use airpace_api::operator::{EdgeRequest, EdgeStatus};
use airpace_lab::bench::edge::{
    EdgeProcess, EdgeTestbed, SERVER, SERVER_MAC, pause, station_address, station_mac,
};
use airpace_net::clock::Clock;
use airpace_net::netns::Namespace;
use core::net::Ipv4Addr;
use core::time::Duration;
use nix::sys::signal::Signal;
use std::process::Command;

const SETTINGS: &str = "[control]\nlaw = \"none\"\n";
const QUIET: Duration = Duration::from_millis(100);

/// Runs a command in a namespace.
fn run(namespace: &Namespace, words: &str) {
    let mut words = words.split(' ');
    let mut command = Command::new(words.next().unwrap());
    command.args(words);
    let output = namespace.run(|| command.output()).unwrap().unwrap();
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {printed}");
}

fn status(bed: &EdgeTestbed) -> EdgeStatus {
    let reply = bed.ask(&EdgeRequest::Status).unwrap();
    reply.status.unwrap()
}

/// Makes a port of the box again, with the host behind it.
fn plug_in(
    bed: &EdgeTestbed,
    port: &str,
    namespace: &Namespace,
    interface: &str,
    mac: [u8; 6],
    ip: Ipv4Addr,
) {
    let mut link = bed.middle.netlink().unwrap();
    link.add_veth(port, interface, Some(namespace)).unwrap();
    let mut link = namespace.netlink().unwrap();
    link.set_hardware_address(interface, mac).unwrap();
    let address = format!("{ip}/24").parse().unwrap();
    link.add_address(interface, address).unwrap();
    link.set_up(interface).unwrap();
}

/// A UDP frame from the server to a station, which no other test frame equals.
fn downlink(station: u8, number: u16) -> Vec<u8> {
    udp(station_mac(station), SERVER_MAC, &[], (9, number), b"down")
}

/// Whether frames from the server reach a station.
fn arrives(bed: &EdgeTestbed, station: u8) -> bool {
    let server = Wire::open(&bed.server, "eth0");
    let mut at_station = Wire::open(&bed.stations[usize::from(station)], "wlan0");
    let frame = downlink(station, 77);
    server.send(&frame);
    at_station.frames(QUIET).contains(&frame)
}

/// Waits until frames from the server reach a station through the box's queues.
fn assert_paced(bed: &EdgeTestbed, station: u8) {
    let mut at_station = Wire::open(&bed.stations[usize::from(station)], "wlan0");
    let ip = station_address(station).octets();
    eventually("the station's frames are paced", || {
        at_station.send(&arp_request(station_mac(station), ip));
        let before = status(bed).sent;
        at_station.frames(Duration::from_millis(1));
        arrives(bed, station) && status(bed).sent > before
    });
}

fn is_passing(bed: &EdgeTestbed, why: &str) -> bool {
    status(bed)
        .passing
        .is_some_and(|reason| reason.contains(why))
}

#[test]
fn a_port_that_is_removed_and_made_again_is_paced_again_without_a_restart() {
    let Some(bed) = testbed(2, 1500) else { return };
    if let Some(process) = start(&bed, SETTINGS) {
        assert_follows_ports(&bed, process);
    }
}

#[test]
fn a_bridge_in_user_space_follows_ports_that_are_removed_and_made_again() {
    let Some(bed) = testbed(2, 1500) else { return };
    let settings = format!("datapath = \"packet\"\nrealtime = false\n{SETTINGS}");
    let process = bed.start(super::program(), &settings).unwrap();
    assert_follows_ports(&bed, process);
}

/// Removes ports and makes them again while the box runs.
fn assert_follows_ports(bed: &EdgeTestbed, mut process: EdgeProcess) {
    for station in [0, 1] {
        assert_paced(bed, station);
    }
    run(&bed.middle, "ip link del ap0");
    eventually("the box has noticed", || is_passing(bed, "ap0"));
    let is_fail_open = status(bed).fail_open;
    assert_eq!(arrives(bed, 1), is_fail_open, "the bridge carries the rest");
    let ip = station_address(0);
    plug_in(bed, "ap0", &bed.stations[0], "wlan0", station_mac(0), ip);
    eventually("the box has attached again", || {
        status(bed).passing.is_none()
    });
    for station in [0, 1] {
        assert_paced(bed, station);
    }
    run(&bed.middle, "ip link del wan");
    eventually("the box has noticed", || is_passing(bed, "wan"));
    plug_in(bed, "wan", &bed.server, "eth0", SERVER_MAC, SERVER);
    eventually("the box has attached again", || {
        status(bed).passing.is_none()
    });
    assert_paced(bed, 0);
    process.signal(Signal::SIGTERM).unwrap();
    assert_eq!(process.wait().unwrap().code(), Some(0), "{}", process.log());
    let links = bed.middle.run(|| Command::new("ip").arg("link").output());
    let links = String::from_utf8(links.unwrap().unwrap().stdout).unwrap();
    assert!(
        !links.contains("airpace-br") && !links.contains("xdp"),
        "{links}"
    );
}

#[test]
fn a_link_that_goes_down_and_up_is_paced_again_and_others_do_not_notice() {
    let Some(bed) = testbed(2, 1500) else { return };
    let Some(process) = start(&bed, SETTINGS) else {
        return;
    };
    for station in [0, 1] {
        assert_paced(&bed, station);
    }
    run(&bed.middle, "ip link set ap0 down");
    // More frames than the port's ring has room for: those for the other port must not wait behind
    // them.
    let server = Wire::open(&bed.server, "eth0");
    for number in 0..3000 {
        server.send(&downlink(0, number));
        if number % 100 == 0 {
            pause(Duration::from_millis(2));
        }
    }
    eventually("the other station is still served", || arrives(&bed, 1));
    let before = process.cpu_time().unwrap();
    pause(Duration::from_millis(500));
    let used = process.cpu_time().unwrap() - before;
    assert!(used < Duration::from_millis(100), "it spins: {used:?}");
    run(&bed.middle, "ip link set ap0 up");
    for station in [0, 1] {
        assert_paced(&bed, station);
    }
    run(&bed.middle, "ip link set wan down");
    pause(Duration::from_millis(1200));
    run(&bed.middle, "ip link set wan up");
    assert_paced(&bed, 0);
}

#[test]
fn a_bridge_that_somebody_deletes_is_made_again() {
    let Some(bed) = testbed(1, 1500) else { return };
    let Some(_process) = start(&bed, SETTINGS) else {
        return;
    };
    assert_paced(&bed, 0);
    run(&bed.middle, "ip link del airpace-br");
    assert_paced(&bed, 0);
    let mut at_server = Wire::open(&bed.server, "eth0");
    let request = arp_request(station_mac(0), [10, 9, 0, 10]);
    eventually("broadcasts pass the bridge", || {
        Wire::open(&bed.stations[0], "wlan0").send(&request);
        at_server.frames(QUIET).contains(&request)
    });
    eventually("the operator is told", || {
        let status = bed.ask(&EdgeRequest::Status).unwrap().status.unwrap();
        status
            .events
            .iter()
            .any(|event| event.kind == "bridge-remade")
    });
}

#[test]
fn a_loop_that_returns_a_frame_of_the_gateway_does_not_cut_it_off() {
    let Some(bed) = testbed(1, 1500) else { return };
    let Some(_process) = start(&bed, SETTINGS) else {
        return;
    };
    assert_paced(&bed, 0);
    let mut at_server = Wire::open(&bed.server, "eth0");
    let at_station = Wire::open(&bed.stations[0], "wlan0");
    for _ in 0..3 {
        at_station.send(&udp([0xff; 6], SERVER_MAC, &[], (5, 6), b"returned"));
        let gateway = "02:00:00:00:00:01";
        // Long enough for the bridge and the box to believe it.
        pause(Duration::from_millis(100));
        // The next frames from the right side put everything right.
        assert!(arrives(&bed, 0));
        assert!(arrives(&bed, 0));
        at_server.frames(Duration::from_millis(1));
        let up = udp(SERVER_MAC, station_mac(0), &[], (7, 8), b"up");
        at_station.send(&up);
        assert!(
            at_server.frames(QUIET).contains(&up),
            "the gateway is cut off"
        );
        let is_station = |mac: &str| {
            let stations = bed.status().unwrap();
            stations.iter().any(|(_, station)| station.mac == mac)
        };
        eventually("the gateway is not a station", || !is_station(gateway));
        assert!(is_station("02:00:00:00:01:00"));
    }
}

#[test]
fn thousands_of_invented_addresses_do_not_crowd_out_a_station() {
    let Some(bed) = testbed(1, 1500) else { return };
    let folder = std::env::temp_dir().join(format!("airpace-crowd-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let telemetry = folder.join("edge.jsonl");
    let settings = format!("telemetry = \"{}\"\n", telemetry.display());
    let Some(process) = start(&bed, &settings) else {
        return;
    };
    assert_paced(&bed, 0);
    let at_station = Wire::open(&bed.stations[0], "wlan0");
    let mut number: u32 = 0;
    let (clock, before) = (Clock::start(), process.cpu_time().unwrap());
    let began = clock.now();
    // 6,000 addresses a second for three seconds.
    for turn in 0..300 {
        for _ in 0..60 {
            let [_, _, high, low] = number.to_be_bytes();
            let from = [6, 0x66, 0, 0, high, low];
            at_station.send(&udp(SERVER_MAC, from, &[], (5, 9), b"invented"));
            number += 1;
        }
        if turn % 50 == 49 {
            assert_paced(&bed, 0);
        }
        pause(Duration::from_millis(8));
    }
    let used = process.cpu_time().unwrap() - before;
    let share = used.as_secs_f64() / clock.now().since(began).as_secs_f64();
    let stands = status(&bed);
    let stations = &stands.access_points[0].stations;
    let real = stations.iter().find(|s| s.mac == "02:00:00:00:01:00");
    assert!(real.is_some(), "the station is still known");
    assert!(stations.len() <= 600, "{} stations", stations.len());
    assert!(stands.crowded_out > 5000, "{}", stands.crowded_out);
    assert!(
        process
            .log()
            .contains("an attacker may be inventing addresses")
    );
    assert!(process.log().lines().count() < 1000, "the log is bounded");
    let bytes = std::fs::metadata(&telemetry).unwrap().len();
    eprintln!("{number} addresses: {share:.3} of a processor, {bytes} bytes of telemetry");
    // A quarter in an optimised build; this one may share its processor's cache with anything.
    assert!(share < 0.5, "{share} of a processor");
    assert!(bytes < 2_000_000, "{bytes} bytes of telemetry");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_bridge_that_would_drop_frames_between_the_ports_is_refused_or_left_to_decide() {
    let Some(bed) = testbed(1, 1500) else { return };
    run(&bed.middle, "ip link add br9 type bridge");
    run(&bed.middle, "ip link set br9 up");
    for port in ["wan", "ap0"] {
        run(&bed.middle, &format!("ip link set {port} master br9"));
        run(&bed.middle, &format!("ip link set {port} up"));
        run(
            &bed.middle,
            &format!("bridge link set dev {port} isolated on"),
        );
    }
    let arguments = ["--wan", "wan", "--ap", "ap0", "--bridge", "br9"];
    let (code, text) = super::edge(&bed, &arguments);
    assert!(code == Some(1) && text.contains("are isolated"), "{text}");
    run(&bed.middle, "bridge link set dev wan isolated off");
    let settings = format!("bridge = \"br9\"\n{SETTINGS}");
    let Some(_process) = start(&bed, &settings) else {
        return;
    };
    assert_paced(&bed, 0);
    run(&bed.middle, "bridge link set dev wan isolated on");
    eventually("all frames pass", || is_passing(&bed, "isolated"));
    assert!(!arrives(&bed, 0), "the bridge decides, and drops");
    run(&bed.middle, "bridge link set dev wan isolated off");
    assert_paced(&bed, 0);
    // The spanning tree listens and learns for two seconds each.
    run(
        &bed.middle,
        "ip link set br9 type bridge stp_state 1 forward_delay 200",
    );
    run(&bed.middle, "ip link set ap0 down");
    run(&bed.middle, "ip link set ap0 up");
    eventually("all frames pass", || is_passing(&bed, "spanning tree"));
    assert_paced(&bed, 0);
}
