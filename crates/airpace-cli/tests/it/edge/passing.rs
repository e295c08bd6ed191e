//! Frames of all kinds pass the box unchanged: compared on both sides byte for byte.

use super::frames::{arp_request, content, datagram, dhcp_request, ipv4, ipv6, other, udp};
use super::{Wire, eventually, start, testbed, traffic};
use airpace_api::operator::{EdgeEvent, EdgeRequest};
use airpace_lab::bench::edge::{EdgeTestbed, SERVER_MAC, pause, station_mac};
use core::time::Duration;

const QUIET: Duration = Duration::from_millis(150);
const TAG: [u8; 4] = [0x81, 0, 0x20, 7];
const OUTER_TAG: [u8; 4] = [0x88, 0xa8, 0, 9];
const GROUP_V6: [u8; 16] = [0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xfb];
const HOST_V6: [u8; 16] = [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9];

/// Frames of every kind from one host to another, each named.
fn all_kinds(to: [u8; 6], from: [u8; 6]) -> Vec<(&'static str, Vec<u8>)> {
    let addresses = [[192, 0, 2, 1], [192, 0, 2, 2]];
    let tcp = {
        let mut segment = vec![0; 20];
        segment[..4].copy_from_slice(&[0x13, 0x88, 0x13, 0x89]);
        segment[12..14].copy_from_slice(&[0x50, 0x10]);
        segment.extend(content(1000));
        segment
    };
    let echo = [vec![128, 0, 0, 0, 0, 1, 0, 1], content(56)].concat();
    let solicitation = [vec![135, 0, 0, 0, 0, 0, 0, 0], HOST_V6.to_vec()].concat();
    let mdns = datagram((5353, 5353), &content(90));
    let v4_group = [1, 0, 0x5e, 0, 0, 0xfb];
    let v6_group = [0x33, 0x33, 0, 0, 0, 0xfb];
    vec![
        ("UDP", udp(to, from, &[], (5001, 5001), &content(64))),
        ("QUIC", udp(to, from, &[], (50_001, 443), &content(1200))),
        ("TCP", ipv4(to, from, &[], 6, 0x4000, addresses, &tcp)),
        (
            "first fragment",
            ipv4(to, from, &[], 17, 0x2000, addresses, &content(1480)),
        ),
        (
            "last fragment",
            ipv4(to, from, &[], 17, 185, addresses, &content(500)),
        ),
        (
            "SCTP",
            ipv4(to, from, &[], 132, 0x4000, addresses, &content(60)),
        ),
        ("VLAN", udp(to, from, &[TAG], (5001, 5002), &content(1400))),
        (
            "two VLAN tags",
            udp(to, from, &[OUTER_TAG, TAG], (5001, 5003), &content(800)),
        ),
        ("jumbo", udp(to, from, &[], (5001, 5004), &content(8900))),
        ("IPv6 echo", ipv6(to, from, 58, HOST_V6, &echo)),
        (
            "IPv6 UDP",
            ipv6(to, from, 17, HOST_V6, &datagram((1, 2), &content(1300))),
        ),
        (
            "neighbour discovery",
            ipv6(v6_group, from, 58, GROUP_V6, &solicitation),
        ),
        (
            "mDNS",
            ipv4(
                v4_group,
                from,
                &[],
                17,
                0,
                [[192, 0, 2, 1], [224, 0, 0, 251]],
                &mdns,
            ),
        ),
        ("mDNS over IPv6", ipv6(v6_group, from, 17, GROUP_V6, &mdns)),
        ("broadcast", udp([0xff; 6], from, &[], (9, 9), &content(40))),
        ("ARP", arp_request(from, [192, 0, 2, 1])),
        (
            "DHCP to the client",
            udp(to, from, &[], (67, 68), &content(300)),
        ),
        ("EAPOL", other(to, from, 0x888e, &content(99))),
        ("an unknown protocol", other(to, from, 0x88b5, &content(77))),
    ]
}

/// Sends all frames and checks that each arrives once, unchanged. The hosts' own kernels send
/// others in between.
fn assert_all_arrive(from: &Wire, to: &mut Wire, frames: &[(&'static str, Vec<u8>)]) {
    to.frames(Duration::from_millis(1));
    for (_, frame) in frames {
        from.send(frame);
    }
    let arrived = to.frames(QUIET);
    for (name, frame) in frames {
        let count = arrived.iter().filter(|other| *other == frame).count();
        assert_eq!(count, 1, "{name} of {} bytes", frame.len());
    }
}

fn wires(bed: &EdgeTestbed) -> (Wire, Wire) {
    (
        Wire::open(&bed.server, "eth0"),
        Wire::open(&bed.stations[0], "wlan0"),
    )
}

#[test]
fn frames_of_all_kinds_pass_unchanged_in_both_directions() {
    let Some(bed) = testbed(1, 9000) else { return };
    // Jumbo frames are queued up to the length of a socket's chunk and pass beyond it.
    let Some(_process) = start(&bed, "") else {
        return;
    };
    drop(traffic(&bed));
    let (server, station) = (SERVER_MAC, station_mac(0));
    let (mut at_server, mut at_station) = wires(&bed);
    assert_all_arrive(&at_server, &mut at_station, &all_kinds(station, server));
    assert_all_arrive(&at_station, &mut at_server, &all_kinds(server, station));
    let stranger = [2, 0, 0, 0, 9, 9];
    assert_all_arrive(&at_server, &mut at_station, &all_kinds(stranger, server));
    eventually("the jumbo frame to the station is told", || {
        let reply = bed.ask(&EdgeRequest::Status).unwrap();
        let status = reply.status.unwrap();
        let is_told = |event: &EdgeEvent| event.kind == "frames-too-long";
        let mut stations = status.access_points.iter().flat_map(|ap| &ap.stations);
        status.passed_large == 1
            && status.events.iter().any(is_told)
            && stations.any(|station| station.reason.contains("too long to be paced"))
    });
}

#[test]
fn a_station_is_learnt_with_its_name_and_addresses_and_leaves_by_silence() {
    let Some(bed) = testbed(1, 1500) else { return };
    let Some(_process) = start(&bed, "leave_after = \"2 s\"\n") else {
        return;
    };
    let (_, at_station) = wires(&bed);
    // Not one of the hosts' own addresses, so that no kernel speaks for it.
    let phone = [2, 0, 0, 0, 7, 7];
    let of_phone = || {
        let stations = bed.status().unwrap();
        stations
            .into_iter()
            .map(|(_, station)| station)
            .find(|station| station.mac == "02:00:00:00:07:07")
    };
    eventually("the phone is learnt", || {
        at_station.send(&dhcp_request(phone, "pixel-9"));
        at_station.send(&arp_request(phone, [192, 0, 2, 77]));
        of_phone().is_some_and(|phone| phone.name.is_some() && !phone.addresses.is_empty())
    });
    let phone = of_phone().unwrap();
    assert_eq!(phone.name.as_deref(), Some("pixel-9"));
    assert_eq!(phone.addresses, ["192.0.2.77"]);
    eventually("the phone has left", || of_phone().is_none());
}

#[test]
fn a_station_that_roams_to_another_port_is_sent_its_frames_there() {
    let Some(bed) = testbed(2, 1500) else { return };
    let Some(_process) = start(&bed, "") else {
        return;
    };
    let phone = [2, 0, 0, 0, 7, 7];
    let at_server = Wire::open(&bed.server, "eth0");
    let mut ends = [0, 1].map(|index: usize| Wire::open(&bed.stations[index], "wlan0"));
    for index in [0, 1, 0] {
        let port = format!("ap{index}");
        eventually("the phone is heard at the port", || {
            ends[index].send(&arp_request(phone, [192, 0, 2, 77]));
            let stations = bed.status().unwrap();
            let found = stations
                .iter()
                .find(|(_, station)| station.mac == "02:00:00:00:07:07");
            found.is_some_and(|(ap, _)| *ap == port)
        });
        for end in &mut ends {
            end.frames(Duration::from_millis(1));
        }
        let frame = udp(phone, SERVER_MAC, &[], (1, 2), &content(index + 100));
        at_server.send(&frame);
        let seen = ends
            .each_mut()
            .map(|end| end.frames(QUIET).contains(&frame));
        assert_eq!(seen, [index == 0, index == 1]);
    }
}

#[test]
fn a_station_that_roams_is_followed_with_its_first_frame_of_any_kind() {
    let Some(bed) = testbed(2, 1500) else { return };
    if let Some(_process) = start(&bed, "") {
        assert_follows_a_quiet_station(&bed);
    }
}

#[test]
fn a_bridge_in_user_space_follows_a_station_with_its_first_frame_of_any_kind() {
    let Some(bed) = testbed(2, 1500) else { return };
    let settings = "datapath = \"packet\"\nrealtime = false\n";
    let _process = bed.start(super::program(), settings).unwrap();
    assert_follows_a_quiet_station(&bed);
}

/// Lets a station roam that then sends nothing but what an access point announces it with.
fn assert_follows_a_quiet_station(bed: &EdgeTestbed) {
    let phone = [2, 0, 0, 0, 7, 8];
    let at_server = Wire::open(&bed.server, "eth0");
    let mut ends = [0, 1].map(|index: usize| Wire::open(&bed.stations[index], "wlan0"));
    eventually("the phone is known", || {
        ends[0].send(&arp_request(phone, [192, 0, 2, 78]));
        let stations = bed.status().unwrap();
        stations
            .iter()
            .any(|(_, station)| station.mac == "02:00:00:00:07:08")
    });
    for (number, index) in [1, 0, 1].into_iter().enumerate() {
        // The XID frame of IEEE 802.11F, section 6.3: broadcast, LLC, 6 bytes.
        let mut update = vec![0xff; 6];
        update.extend(phone);
        update.extend([0, 6, 0, 1, 0xaf, 0x81, 1, 0]);
        update.resize(60, 0);
        ends[index].send(&update);
        pause(Duration::from_millis(50));
        for end in &mut ends {
            end.frames(Duration::from_millis(1));
        }
        let frame = udp(phone, SERVER_MAC, &[], (1, 2), &content(number + 200));
        at_server.send(&frame);
        let seen = ends
            .each_mut()
            .map(|end| end.frames(QUIET).contains(&frame));
        assert_eq!(seen, [index == 0, index == 1]);
    }
}
