//! Differentiated services and ECN through the tunnel, with a network in between that marks.

use crate::testbed;
use airpace_api::config::LawChoice;
use airpace_lab::bench::datapath::{AGENT, PROXY, PROXY_OUTSIDE, Testbed};
use airpace_net::netns::Namespace;
use airpace_net::udp::{ReceiveBatch, TrafficClass, UdpOptions, UdpSocket};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::{Duration, Instant};

const CE: u8 = 3;
const ECT_0: u8 = 2;
/// The class selector 3 or AF31, which WMM sends as video.
const AF31: u8 = 26 << 2;
/// Nothing is changed.
const UNCHANGED: u8 = 0xff;

fn bind(at: &Namespace, address: Ipv4Addr) -> UdpSocket {
    let options = UdpOptions {
        join: false,
        ..UdpOptions::default()
    };
    let open = || UdpSocket::bind((address, 0).into(), options);
    at.run(open).unwrap().unwrap()
}

/// A network between agent and proxy that may write the ECN field of what passes.
struct Relay {
    /// The ECN field to write, or [`UNCHANGED`].
    writes: Arc<AtomicU8>,
    /// The highest traffic class that has passed.
    seen: Arc<AtomicU8>,
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Relay {
    /// Puts a relay in front of the proxy.
    fn start(bed: &mut Testbed) -> Self {
        let proxy = bed.agent.proxy.address().unwrap();
        let outside = bind(&bed.proxy_side, PROXY_OUTSIDE);
        let inside = bind(&bed.proxy_side, PROXY_OUTSIDE);
        bed.agent.proxy = outside.local_addr().unwrap().into();
        let relay = Self {
            writes: Arc::new(AtomicU8::new(UNCHANGED)),
            seen: Arc::default(),
            stop: Arc::default(),
            thread: None,
        };
        let (writes, seen, stop) = (relay.writes.clone(), relay.seen.clone(), relay.stop.clone());
        let mut batch = ReceiveBatch::new(32, 2048);
        let forward = move || {
            let mut agent: Option<SocketAddr> = None;
            while !stop.load(Ordering::Relaxed) {
                for (from, to) in [(&outside, &inside), (&inside, &outside)] {
                    let _ = from.receive(&mut batch);
                    for datagram in batch.iter() {
                        let is_up = datagram.from != proxy;
                        if is_up {
                            agent = Some(datagram.from);
                        }
                        seen.fetch_max(datagram.class.0, Ordering::Relaxed);
                        let class = match writes.load(Ordering::Relaxed) {
                            UNCHANGED => datagram.class.0,
                            ecn => datagram.class.0 & !3 | ecn,
                        };
                        let receiver = if is_up { Some(proxy) } else { agent };
                        if let Some(receiver) = receiver {
                            let _ = to.send_one(receiver, datagram.bytes, TrafficClass(class));
                        }
                    }
                }
                std::thread::sleep(Duration::from_micros(200));
            }
        };
        Self {
            thread: Some(std::thread::spawn(forward)),
            ..relay
        }
    }

    fn write(&self, ecn: u8) {
        self.writes.store(ecn, Ordering::Relaxed);
    }
}

impl Relay {
    fn end(mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

/// Sends datagrams of a class until one arrives; returns its class. `None` if none does.
fn class_at_arrival(
    from: &UdpSocket,
    to: &UdpSocket,
    address: SocketAddr,
    class: u8,
    limit: Duration,
) -> Option<u8> {
    let (start, mut batch) = (Instant::now(), ReceiveBatch::new(32, 2048));
    // What an earlier call has sent may still arrive.
    std::thread::sleep(Duration::from_millis(20));
    while to.receive(&mut batch).unwrap() > 0 {}
    while start.elapsed() < limit {
        let _ = from.send_one(address, b"ecn", TrafficClass(class));
        std::thread::sleep(Duration::from_millis(5));
        if to.receive(&mut batch).unwrap() > 0 {
            return Some(batch.iter().last().unwrap().class.0);
        }
    }
    None
}

#[test]
fn code_points_go_out_and_marks_of_the_network_come_in_both_ways() {
    let Some(mut bed) = testbed() else { return };
    bed.proxy.control.law = LawChoice::None;
    let relay = Relay::start(&mut bed);
    let (proxy, agent) = (bed.start_proxy().unwrap(), bed.start_agent().unwrap());
    let server = bind(&bed.proxy_side, Ipv4Addr::UNSPECIFIED);
    let station = bind(&bed.agent_side, Ipv4Addr::UNSPECIFIED);
    let port = |socket: &UdpSocket| socket.local_addr().unwrap().port();
    let to_station = SocketAddr::from((AGENT, port(&station)));
    let to_server = SocketAddr::from((PROXY, port(&server)));
    let (long, short) = (Duration::from_secs(20), Duration::from_millis(200));
    for (from, to, address) in [
        (&server, &station, to_station),
        (&station, &server, to_server),
    ] {
        let arrives = |class, limit| class_at_arrival(from, to, address, class, limit);
        relay.write(UNCHANGED);
        assert_eq!(arrives(0, long), Some(0), "to {address}");
        relay.seen.store(0, Ordering::Relaxed);
        assert_eq!(arrives(AF31 | ECT_0, long), Some(AF31 | ECT_0));
        // The outer header had the same.
        assert_eq!(relay.seen.load(Ordering::Relaxed), AF31 | ECT_0);
        relay.write(CE);
        assert_eq!(arrives(AF31 | ECT_0, long), Some(AF31 | CE));
        assert_eq!(arrives(AF31, short), None, "its transport knows no marks");
        // A network that clears the field hides no mark of the packet.
        relay.write(0);
        assert_eq!(arrives(AF31 | CE, long), Some(AF31 | CE));
    }
    agent.stop().unwrap();
    proxy.stop().unwrap();
    relay.end();
}
