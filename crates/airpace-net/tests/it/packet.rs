use super::namespace;
use airpace_net::packet::PacketSocket;
use airpace_net::tun::{LINK_TYPE_RADIOTAP, Tun, TunConfig};
use airpace_net::udp::ReceiveBatch;

#[test]
fn frames_written_to_a_monitor_are_heard_cut_at_the_snap_length() {
    let Some(namespace) = namespace() else { return };
    let config = TunConfig::link("mon0").with_link_type(LINK_TYPE_RADIOTAP);
    let monitor = namespace.run(|| Tun::open(&config)).unwrap().unwrap();
    namespace.netlink().unwrap().set_up("mon0").unwrap();
    let socket = namespace
        .run(|| PacketSocket::open("mon0", 1 << 20))
        .unwrap()
        .unwrap();
    let frame: Vec<u8> = (0..200).collect();
    for _ in 0..3 {
        assert!(monitor.write(&frame).unwrap());
    }
    let mut batch = ReceiveBatch::new(16, 64);
    assert_eq!(socket.receive(&mut batch).unwrap(), 3);
    for heard in batch.frames() {
        assert_eq!((heard.bytes, heard.length), (&frame[..64], 200));
        assert!(heard.stamp.is_some());
    }
    let counts = socket.statistics().unwrap();
    assert_eq!((counts.received, counts.dropped), (3, 0));
    drop(monitor);
    assert!(socket.receive(&mut batch).is_err(), "the interface is gone");
}

#[test]
fn an_unknown_interface_is_refused() {
    assert!(PacketSocket::open("no-such-if", 1 << 16).is_err());
}
