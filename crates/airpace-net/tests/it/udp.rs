use airpace_net::clock::Clock;
use airpace_net::udp::{Ecn, ReceiveBatch, Transmit, UdpOptions, UdpSocket};
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

#[test]
fn segments_arrive_with_their_timestamp_and_ecn_field() {
    let (a, b) = pair();
    let clock = Clock::start();
    let before = clock.now();
    let bytes: Vec<u8> = (0..2500_u16).map(|i| (i % 251) as u8).collect();
    let parts = [IoSlice::new(&bytes[..700]), IoSlice::new(&bytes[700..])];
    let message = Transmit {
        to: Some(b.local_addr().unwrap()),
        parts: &parts,
        segment: Some(1000),
        ecn: Ecn::ECT_1,
    };
    assert_eq!(a.send(&[message]).unwrap(), 1);

    let mut batch = ReceiveBatch::new(8, 65_536);
    let mut got = Vec::new();
    while got.len() < bytes.len() {
        b.receive(&mut batch).unwrap();
        for datagram in batch.iter() {
            assert_eq!(datagram.from, a.local_addr().unwrap());
            assert_eq!(datagram.ecn, Ecn::ECT_1);
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
            ecn: Ecn::NOT_ECT,
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
        a.send_one(b.local_addr().unwrap(), &[0; 70_000], Ecn::NOT_ECT)
            .is_err()
    );
}
