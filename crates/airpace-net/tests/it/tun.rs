use super::namespace;
use airpace_net::clock::Clock;
use airpace_net::netns::Namespace;
use airpace_net::poll::{Interest, Poller};
use airpace_net::tun::{Tun, TunConfig};
use core::time::Duration;
use std::net::UdpSocket;

fn device(namespace: &Namespace, config: TunConfig) -> Tun {
    let tun = namespace.run(|| Tun::open(&config)).unwrap().unwrap();
    let mut link = namespace.netlink().unwrap();
    link.add_address(tun.name(), "10.9.0.1/24".parse().unwrap())
        .unwrap();
    link.set_queue_length(tun.name(), 2000).unwrap();
    link.set_up(tun.name()).unwrap();
    tun
}

/// Reads the next packet, waiting at most a second.
fn read(tun: &Tun, buffer: &mut [u8]) -> usize {
    let clock = Clock::start();
    let mut poller = Poller::new().unwrap();
    poller.add(tun, 0, Interest::Read).unwrap();
    poller
        .wait(&clock, Some(clock.now() + Duration::from_secs(1)))
        .unwrap();
    tun.read(buffer).unwrap().expect("a packet arrives")
}

#[test]
fn packets_pass_to_and_from_the_kernel() {
    let Some(namespace) = namespace() else { return };
    let tun = device(&namespace, TunConfig::ip("test%d"));
    assert_eq!(tun.name(), "test0");
    let mut buffer = [0; 2000];
    assert_eq!(tun.read(&mut buffer).unwrap(), None);

    let socket = namespace
        .run(|| UdpSocket::bind("10.9.0.1:7000").unwrap())
        .unwrap();
    socket.send_to(b"question", "10.9.0.2:7").unwrap();
    let n = read(&tun, &mut buffer);
    assert_eq!(&buffer[n - 8..n], b"question");

    // Swapping addresses and ports turns the question into its echo; the checksums stay correct.
    let packet = &mut buffer[..n];
    for (a, b, len) in [(12, 16, 4), (20, 22, 2)] {
        for i in 0..len {
            packet.swap(a + i, b + i);
        }
    }
    assert!(tun.write(packet).unwrap());
    let mut answer = [0; 16];
    socket
        .set_read_timeout(Some(Duration::from_secs(1)))
        .unwrap();
    assert_eq!(socket.recv(&mut answer).unwrap(), 8);
}

#[test]
fn dropping_the_device_removes_the_interface() {
    let Some(namespace) = namespace() else { return };
    let tun = device(&namespace, TunConfig::ip("gone"));
    drop(tun);
    assert!(namespace.netlink().unwrap().index("gone").is_err());
}

#[test]
fn a_device_has_the_link_type_that_it_was_given() {
    let Some(namespace) = namespace() else { return };
    // ARPHRD_IEEE80211_RADIOTAP and ARPHRD_RAWIP of linux/if_arp.h.
    for link_type in [803, 519] {
        let config = TunConfig::link("tap0").with_link_type(link_type);
        let _tap = namespace.run(|| Tun::open(&config)).unwrap().unwrap();
        let found = namespace.netlink().unwrap().link_type("tap0").unwrap();
        assert_eq!(found, link_type);
    }
}

#[test]
fn packets_that_a_full_queue_drops_are_counted() {
    let Some(namespace) = namespace() else { return };
    let _unread = device(&namespace, TunConfig::ip("tun0"));
    let mut link = namespace.netlink().unwrap();
    link.set_queue_length("tun0", 8).unwrap();
    assert_eq!(link.transmit_drops("tun0").unwrap(), 0);
    let socket = namespace
        .run(|| UdpSocket::bind("10.9.0.1:7000").unwrap())
        .unwrap();
    for _ in 0..20 {
        socket.send_to(b"unread", "10.9.0.2:7").unwrap();
    }
    assert_eq!(link.transmit_drops("tun0").unwrap(), 12);
    assert!(link.transmit_drops("tun1").is_err());
}
