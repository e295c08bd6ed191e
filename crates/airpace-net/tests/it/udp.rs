use airpace_net::clock::Clock;
use airpace_net::udp::{ReceiveBatch, TrafficClass, Transmit, UdpOptions, UdpSocket};
use core::time::Duration;
use std::io::IoSlice;

/// Two sockets on the loopback interface of a new namespace where that is allowed, because the
/// caller's may be down.
fn pair() -> (UdpSocket, UdpSocket) {
    let open = || {
        let socket =
            || UdpSocket::bind("127.0.0.1:0".parse().unwrap(), UdpOptions::default()).unwrap();
        (socket(), socket())
    };
    match super::namespace() {
        Some(namespace) => namespace.run(open).unwrap(),
        None => open(),
    }
}

/// Expedited forwarding, and ECT(1).
const CLASS: TrafficClass = TrafficClass(46 << 2 | 1);

#[test]
fn segments_arrive_with_their_timestamp_and_traffic_class() {
    let (a, b) = pair();
    let clock = Clock::start();
    let before = clock.now();
    let bytes: Vec<u8> = (0..2500_u16).map(|i| (i % 251) as u8).collect();
    let parts = [IoSlice::new(&bytes[..700]), IoSlice::new(&bytes[700..])];
    let message = Transmit {
        to: Some(b.local_addr().unwrap()),
        parts: &parts,
        segment: Some(1000),
        class: CLASS,
    };
    assert_eq!(a.send(&[message]).unwrap(), 1);

    let mut batch = ReceiveBatch::new(8, 65_536);
    let mut got = Vec::new();
    while got.len() < bytes.len() {
        b.receive(&mut batch).unwrap();
        for datagram in batch.iter() {
            assert_eq!(datagram.from, a.local_addr().unwrap());
            assert_eq!(datagram.class, CLASS);
            let stamp = clock.realtime_map().time(datagram.stamp.unwrap());
            assert!(
                stamp + Duration::from_millis(1) > before
                    && stamp < clock.now() + Duration::from_millis(1)
            );
            assert!(
                datagram
                    .segments()
                    .all(|s| s.len() == 1000 || s.len() == 500)
            );
            got.extend_from_slice(datagram.bytes);
        }
    }
    assert_eq!(got, bytes);
    assert_eq!(b.receive(&mut batch).unwrap(), 0);
}

#[test]
fn more_messages_than_fit_one_system_call_can_be_sent_at_once() {
    let (a, b) = pair();
    let to = b.local_addr().unwrap();
    let parts: Vec<[IoSlice<'_>; 1]> = (0..150).map(|_| [IoSlice::new(b"x")]).collect();
    let messages: Vec<_> = parts
        .iter()
        .map(|p| Transmit {
            to: Some(to),
            parts: p,
            segment: None,
            class: TrafficClass::DEFAULT,
        })
        .collect();
    assert_eq!(a.send(&messages).unwrap(), 150);
    let mut batch = ReceiveBatch::new(64, 2048);
    let mut n = 0;
    while b.receive(&mut batch).unwrap() > 0 {
        n += batch.iter().map(|d| d.bytes.len()).sum::<usize>();
    }
    assert_eq!(n, 150);
}

#[test]
fn a_message_that_is_too_long_is_an_error() {
    let (a, b) = pair();
    assert!(
        a.send_one(b.local_addr().unwrap(), &[0; 70_000], TrafficClass::DEFAULT)
            .is_err()
    );
}

#[test]
fn the_traffic_class_arrives_over_every_kind_of_address() {
    let open =
        |address: &str| UdpSocket::bind(address.parse().unwrap(), UdpOptions::default()).unwrap();
    let exchange = |from: &str, to: &str, address: &str| {
        let (a, b) = (open(from), open(to));
        let port = b.local_addr().unwrap().port();
        let to = format!("{address}:{port}").parse().unwrap();
        assert!(a.send_one(to, b"x", CLASS).unwrap());
        let mut batch = ReceiveBatch::new(8, 2048);
        assert_eq!(b.receive(&mut batch).unwrap(), 1);
        assert_eq!(batch.iter().next().unwrap().class, CLASS, "to {address}");
        assert_eq!(
            batch.iter_mut().next().unwrap().class,
            CLASS,
            "to {address}"
        );
    };
    let all = || {
        exchange("127.0.0.1:0", "127.0.0.1:0", "127.0.0.1");
        // A new namespace may have no IPv6.
        if std::net::UdpSocket::bind("[::1]:0").is_ok() {
            exchange("[::]:0", "[::]:0", "[::1]");
        }
        // IPv4 between sockets for both versions.
        exchange("[::]:0", "[::]:0", "[::ffff:127.0.0.1]");
    };
    match super::namespace() {
        Some(namespace) => namespace.run(all).unwrap(),
        None => all(),
    }
}
