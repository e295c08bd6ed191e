//! Kernel TCP between two namespaces through devices with offload.

use super::namespace;
use airpace_net::clock::Clock;
use airpace_net::netlink::Route;
use airpace_net::netns::Namespace;
use airpace_net::offload::{Joiner, MAX_FRAME_BYTES, SuperPacket};
use airpace_net::poll::{Interest, Poller};
use airpace_net::tun::{Tun, TunConfig};
use core::time::Duration;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};

fn device(namespace: &Namespace, last: u8) -> Tun {
    let config = TunConfig::ip("tun0").with_offload();
    let tun = namespace.run(|| Tun::open(&config)).unwrap().unwrap();
    let mut link = namespace.netlink().unwrap();
    link.add_address("tun0", IpAddr::from([10, 9, 0, last]).into())
        .unwrap();
    link.set_mtu("tun0", 1400).unwrap();
    link.set_queue_length("tun0", 4000).unwrap();
    link.set_up("tun0").unwrap();
    let network = "10.9.0.0/24".parse().unwrap();
    link.add_route(&Route::through(network, "tun0")).unwrap();
    tun
}

/// Moves the waiting packets from `from` to `to`: super-packets are cut, and their packets joined
/// again.
fn forward(from: &Tun, to: &Tun, joiner: &mut Joiner, buffer: &mut [u8]) -> usize {
    let mut out = [0; 2048];
    let mut n = 0;
    for _ in 0..16 {
        let Some(length) = from.read(buffer).unwrap() else {
            break;
        };
        let packets = SuperPacket::parse(&mut buffer[..length]).unwrap();
        assert!(packets.max_bytes() <= 1400);
        for i in 0..packets.count() {
            let bytes = packets.write(i, &mut out).unwrap();
            joiner.push(&out[..bytes], |frame| assert!(to.write(frame).unwrap()));
            n += 1;
        }
    }
    joiner.flush(|frame| assert!(to.write(frame).unwrap()));
    n
}

#[test]
fn a_tcp_transfer_arrives_unchanged_through_cutting_and_joining() {
    let (Some(a), Some(b)) = (namespace(), namespace()) else {
        return;
    };
    let (left, right) = (device(&a, 1), device(&b, 2));
    let listener = b
        .run(|| TcpListener::bind("10.9.0.2:9000").unwrap())
        .unwrap();
    const BYTES: usize = 20_000_000;
    let receiver = std::thread::spawn(move || {
        let mut data = Vec::with_capacity(BYTES);
        listener.accept().unwrap().0.read_to_end(&mut data).unwrap();
        data.iter()
            .enumerate()
            .all(|(i, &b)| b == (i % 251) as u8)
            .then_some(data.len())
    });
    let sender = a.spawn_thread("sender", || {
        let data: Vec<u8> = (0..BYTES).map(|i| (i % 251) as u8).collect();
        TcpStream::connect("10.9.0.2:9000")
            .unwrap()
            .write_all(&data)
            .unwrap();
    });

    let clock = Clock::start();
    let mut poller = Poller::new().unwrap();
    poller.add(&left, 0, Interest::Read).unwrap();
    poller.add(&right, 1, Interest::Read).unwrap();
    let mut buffer = vec![0; MAX_FRAME_BYTES];
    let mut there = Joiner::new(right.udp_offload());
    let mut back = Joiner::new(left.udp_offload());
    let mut packets = 0;
    while !receiver.is_finished() {
        poller
            .wait(&clock, Some(clock.now() + Duration::from_millis(10)))
            .unwrap();
        packets += forward(&left, &right, &mut there, &mut buffer);
        forward(&right, &left, &mut back, &mut buffer);
        assert!(clock.now().as_secs_f64() < 60.0, "the transfer is stuck");
    }
    sender.unwrap().join().unwrap().unwrap();
    assert_eq!(receiver.join().unwrap(), Some(BYTES));
    println!(
        "{packets} packets, {:.0} Mbit/s",
        BYTES as f64 * 8e-6 / clock.now().as_secs_f64()
    );
}
