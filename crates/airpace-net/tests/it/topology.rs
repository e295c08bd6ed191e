//! A server and a station with a box between them, each in a namespace of its own.

use airpace_net::bridge::{BridgeChoice, BridgeState};
use airpace_net::clock::Clock;
use airpace_net::inline::{AttachMode, InlineError, InlineOptions, XdpPath};
use airpace_net::netns::Namespace;
use airpace_net::packet::PacketSocket;
use airpace_net::poll::{Interest, Poller};
use airpace_net::udp::ReceiveBatch;
use core::time::Duration;
use std::io::ErrorKind;

pub(crate) const SERVER: [u8; 6] = [2, 0, 0, 0, 0, 1];
pub(crate) const STATION: [u8; 6] = [2, 0, 0, 0, 0, 2];

/// How often sockets are tried that an earlier path may still have, 20 ms apart.
const BUSY_RETRIES: usize = 500;

/// `server`:eth0 – wan:`middle`:ap – wlan0:`station`, with wan and ap in the bridge br0.
pub(crate) struct Topology {
    pub(crate) server: Namespace,
    pub(crate) middle: Namespace,
    pub(crate) station: Namespace,
    pub(crate) bridge: BridgeState,
}

impl Topology {
    /// Builds it and waits until the bridge forwards; `None` where the system does not allow
    /// namespaces.
    pub(crate) fn new(mtu: u32) -> Option<Self> {
        let (server, middle, station) = (
            super::namespace()?,
            super::namespace()?,
            super::namespace()?,
        );
        let mut link = middle.netlink().unwrap();
        link.add_veth("wan", "eth0", Some(&server)).unwrap();
        link.add_veth("ap", "wlan0", Some(&station)).unwrap();
        for (namespace, name, mac, address) in [
            (&server, "eth0", SERVER, "10.9.0.1/24"),
            (&station, "wlan0", STATION, "10.9.0.2/24"),
        ] {
            let mut link = namespace.netlink().unwrap();
            link.set_hardware_address(name, mac).unwrap();
            link.add_address(name, address.parse().unwrap()).unwrap();
            link.set_mtu(name, mtu).unwrap();
            link.set_up(name).unwrap();
        }
        for name in ["wan", "ap"] {
            link.set_mtu(name, mtu).unwrap();
        }
        let bridge = middle
            .run(|| BridgeState::set_up(BridgeChoice::Make("br0"), &["wan", "ap"]).unwrap())
            .unwrap();
        let topology = Self {
            server,
            middle,
            station,
            bridge,
        };
        topology.wait_for_carrier();
        Some(topology)
    }

    /// The kernel notices asynchronously that both ends of a pair are up.
    fn wait_for_carrier(&self) {
        let (mut server, mut station) = (self.at_server(), self.at_station());
        let (down, up) = (test_frame(STATION, SERVER), test_frame(SERVER, STATION));
        for _ in 0..300 {
            let _ = server.socket.send(&down);
            let _ = station.socket.send(&up);
            if station.arrives(&down, 5) && server.arrives(&up, 5) {
                return;
            }
        }
        panic!("the bridge does not forward");
    }

    pub(crate) fn at_server(&self) -> Wire {
        Wire::open(&self.server, "eth0")
    }

    pub(crate) fn at_station(&self) -> Wire {
        Wire::open(&self.station, "wlan0")
    }

    /// Opens the in-line path with the station in it; `None` where the kernel does not run XDP
    /// programs.
    pub(crate) fn path(&self, mode: AttachMode) -> Option<XdpPath> {
        match self.try_path(mode) {
            Ok(mut path) => {
                path.insert_station(STATION, false).unwrap();
                path.beat().unwrap();
                Some(path)
            }
            Err(error @ InlineError::Load(_)) => {
                println!("SKIPPED, NOTHING WAS TESTED: {error}");
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    pub(crate) fn try_path(&self, mode: AttachMode) -> Result<XdpPath, InlineError> {
        let options = InlineOptions {
            mode,
            ..InlineOptions::default()
        };
        let open = || XdpPath::open("wan", &["ap"], options);
        let clock = Clock::start();
        let mut timer = Poller::new().unwrap();
        // The kernel closes the sockets of an earlier path a while after they were dropped.
        for _ in 0..BUSY_RETRIES {
            match self.middle.run(open).unwrap() {
                Err(InlineError::Socket { source, .. })
                    if source.kind() == ErrorKind::ResourceBusy => {}
                opened => return opened,
            }
            let pause = Duration::from_millis(20);
            timer
                .wait(&clock, Some(clock.now().saturating_add(pause)))
                .unwrap();
        }
        self.middle.run(open).unwrap()
    }
}

/// One end of the topology, seen by a packet socket.
pub(crate) struct Wire {
    pub(crate) socket: PacketSocket,
    batch: ReceiveBatch,
    poller: Poller,
}

impl Wire {
    fn open(namespace: &Namespace, interface: &str) -> Self {
        let socket = namespace
            .run(|| PacketSocket::open(interface, 4 << 20).unwrap())
            .unwrap();
        let poller = Poller::new().unwrap();
        poller.add(&socket, 0, Interest::Read).unwrap();
        Self {
            socket,
            batch: ReceiveBatch::new(64, 16_384),
            poller,
        }
    }

    /// Sends a frame into the topology.
    pub(crate) fn send(&self, frame: &[u8]) {
        assert!(self.socket.send(frame).unwrap());
    }

    /// Returns the frames that arrive until none has come for `quiet_ms`.
    pub(crate) fn frames(&mut self, quiet_ms: u64) -> Vec<Vec<u8>> {
        let clock = Clock::start();
        let mut frames = Vec::new();
        loop {
            let end = clock.now() + Duration::from_millis(quiet_ms);
            self.poller.wait(&clock, Some(end)).unwrap();
            if self.socket.receive(&mut self.batch).unwrap() == 0 {
                return frames;
            }
            frames.extend(self.batch.frames().map(|captured| captured.with_tag()));
        }
    }

    /// Returns whether `frame` is among the frames that arrive until it is quiet.
    pub(crate) fn arrives(&mut self, frame: &[u8], quiet_ms: u64) -> bool {
        self.frames(quiet_ms).iter().any(|other| other == frame)
    }
}

/// A UDP datagram over IPv4 in an Ethernet frame, with a checksum of zero (none).
pub(crate) fn test_frame(to: [u8; 6], from: [u8; 6]) -> Vec<u8> {
    udp_frame(to, from, &[], 5001, 64)
}

/// The same with VLAN tags, a destination port and a length of the payload.
pub(crate) fn udp_frame(
    to: [u8; 6],
    from: [u8; 6],
    tags: &[[u8; 4]],
    port: u16,
    payload: u16,
) -> Vec<u8> {
    let mut segment = vec![0x13, 0x88];
    segment.extend(port.to_be_bytes());
    segment.extend((8 + payload).to_be_bytes());
    segment.extend([0, 0]);
    segment.extend((0..payload).map(|i| i as u8));
    ipv4_frame(to, from, tags, 17, &segment)
}

/// An IPv4 packet in an Ethernet frame. Its header is valid: a kernel with bridge netfilter drops
/// others.
pub(crate) fn ipv4_frame(
    to: [u8; 6],
    from: [u8; 6],
    tags: &[[u8; 4]],
    protocol: u8,
    payload: &[u8],
) -> Vec<u8> {
    let mut frame = [to, from].concat();
    for tag in tags {
        frame.extend(tag);
    }
    frame.extend([8, 0]);
    let mut header = vec![0x45, 0];
    header.extend((20 + payload.len() as u16).to_be_bytes());
    header.extend([0, 1, 0x40, 0, 64, protocol, 0, 0]);
    header.extend([192, 0, 2, 1, 192, 0, 2, 2]);
    let sum = !internet_sum(&header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    frame.extend(header);
    frame.extend(payload);
    frame
}

/// Sums sixteen bits at a time, with the carries (RFC 1071).
pub(crate) fn internet_sum(bytes: &[u8]) -> u16 {
    let mut sum = 0_u32;
    for pair in bytes.chunks(2) {
        sum += u32::from(u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)]));
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Receives what waits in the path, waiting up to a tenth of a second for the first frame.
pub(crate) fn receive(path: &mut XdpPath) -> Vec<Vec<u8>> {
    let clock = Clock::start();
    let mut poller = Poller::new().unwrap();
    for file in path.frame_files() {
        poller.add(file, 0, Interest::Read).unwrap();
    }
    poller
        .wait(&clock, Some(clock.now() + Duration::from_millis(100)))
        .unwrap();
    let mut frames = Vec::new();
    path.receive(usize::MAX, |frame| frames.push(frame.to_vec()));
    frames
}
