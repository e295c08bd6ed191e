use super::namespace;
use airpace_net::clock::Clock;
use airpace_net::netns::Namespace;
use airpace_net::poll::{Interest, Poller};
use airpace_net::tun::{LINK_TYPE_RADIOTAP, Tun, TunConfig};
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
    tun.read(buffer).unwrap().expect("a packet came")
}

#[test]
fn packets_of_the_kernel_come_and_go() {
    let Some(namespace) = namespace() else { return };
    let tun = device(&namespace, TunConfig::ip("wlan%d"));
    assert_eq!(tun.name(), "wlan0");
    let mut buffer = [0; 2000];
    assert_eq!(tun.read(&mut buffer).unwrap(), None);

    let socket = namespace
        .run(|| UdpSocket::bind("10.9.0.1:7000").unwrap())
        .unwrap();
    socket.send_to(b"question", "10.9.0.2:7").unwrap();
    let n = read(&tun, &mut buffer);
    assert_eq!(&buffer[n - 8..n], b"question");

    // Swapping addresses and ports turns the question into its echo and leaves the checksums right.
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
fn the_interface_goes_with_its_device() {
    let Some(namespace) = namespace() else { return };
    let tun = device(&namespace, TunConfig::ip("gone"));
    drop(tun);
    assert!(namespace.netlink().unwrap().index("gone").is_err());
}

#[test]
fn a_monitor_has_the_radiotap_link_type() {
    let Some(namespace) = namespace() else { return };
    let config = TunConfig::link("mon0").with_link_type(LINK_TYPE_RADIOTAP);
    let _tun = namespace.run(|| Tun::open(&config)).unwrap().unwrap();
    let kind = namespace.netlink().unwrap().link_type("mon0").unwrap();
    assert_eq!(kind, LINK_TYPE_RADIOTAP);
}

#[test]
fn what_the_full_queue_of_a_device_drops_is_counted() {
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
