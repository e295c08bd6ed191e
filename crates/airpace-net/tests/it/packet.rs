use super::namespace;
use airpace_net::packet::PacketSocket;
use airpace_net::tun::{Tun, TunConfig};
use airpace_net::udp::ReceiveBatch;

#[test]
fn frames_that_an_interface_receives_are_captured_up_to_the_snap_length() {
    let Some(namespace) = namespace() else { return };
    let config = TunConfig::link("tap0");
    let tap = namespace.run(|| Tun::open(&config)).unwrap().unwrap();
    namespace.netlink().unwrap().set_up("tap0").unwrap();
    let socket = namespace
        .run(|| PacketSocket::open("tap0", 1 << 20))
        .unwrap()
        .unwrap();
    // Ethernet.
    assert_eq!(socket.link_type().unwrap(), 1);
    let frame: Vec<u8> = (0..200).collect();
    for _ in 0..3 {
        assert!(tap.write(&frame).unwrap());
    }
    let mut batch = ReceiveBatch::new(16, 64);
    assert_eq!(socket.receive(&mut batch).unwrap(), 3);
    for captured in batch.frames() {
        assert_eq!((captured.bytes, captured.length), (&frame[..64], 200));
        assert!(captured.stamp.is_some());
    }
    let counts = socket.statistics().unwrap();
    assert_eq!((counts.received, counts.dropped), (3, 0));
    drop(tap);
    assert!(socket.receive(&mut batch).is_err(), "the interface is gone");
}

#[test]
fn an_unknown_interface_is_refused() {
    assert!(PacketSocket::open("no-such-if", 1 << 16).is_err());
}
