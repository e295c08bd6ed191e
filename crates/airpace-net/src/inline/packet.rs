//! The in-line path without BPF: a bridge in user space.

use super::classify::{Classified, FrameKind};
use super::port::{Port, SLOT_BYTES, shift_offsets};
use super::program::{InlineCounters, Observation, UplinkUse};
use super::{InlineError, ObservationKind, monotonic_ns};
use crate::netlink::Netlink;
use crate::offload::{HEADER_BYTES, SuperPacket};
use crate::xsk::XskStatistics;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// The in-line path through packet sockets, for kernels that run no XDP programs.
///
/// It is a bridge of its own: it reads and writes the frames of all ports, which must not be in a
/// kernel bridge. So it is slower than [`super::XdpPath`], and it is *not fail-open*: when this
/// process ends or stops, nothing passes.
#[derive(Debug)]
pub struct PacketPath {
    /// The wan port, then those of the access points.
    ports: Vec<Port>,
    /// Known stations, and whether they are exempt.
    stations: HashMap<[u8; 6], bool>,
    is_paused: bool,
    table: AddressTable,
    counters: InlineCounters,
    uplink: HashMap<[u8; 6], Source>,
    reports: VecDeque<Report>,
    /// The frame that is being forwarded, behind its offload header.
    frame: Vec<u8>,
    /// One of the packets that a super-packet was cut into.
    piece: Vec<u8>,
}

/// What a source has sent.
#[derive(Debug, Default)]
struct Source {
    used: UplinkUse,
    noticed_ns: Option<u64>,
    /// When it was last noticed on the wan port after it had been heard here.
    moved_ns: u64,
    /// The port where it was last heard.
    port: Option<usize>,
}

/// A report that waits to be read.
#[derive(Debug)]
struct Report {
    at_ns: u64,
    interface: u32,
    kind: ObservationKind,
    length: u32,
    before_bytes: u32,
    bytes: Vec<u8>,
}

/// Bytes of a frame in a report, fewer where the payload is encrypted: `SNAP_BYTES` and `SNAP_QUIC`
/// of the programs.
const SNAP_BYTES: usize = 160;
const SNAP_QUIC: usize = 80;
/// `SNAP_DHCP` of the programs.
const SNAP_DHCP: usize = 600;
/// `BURST_GAP_NS` of the programs.
const BURST_GAP_NS: u64 = 65_000;
/// Reports that may wait; further ones are lost and counted.
const MAX_REPORTS: usize = 16_384;
/// Sources and addresses that are remembered.
const MAX_ADDRESSES: usize = 8192;
/// A frame of an unknown source is reported at most once per this time and source.
const NOTICE_NS: u64 = 1_000_000_000;
/// How long an address is remembered, as in the kernel's bridge.
const AGEING_NS: u64 = 300_000_000_000;
/// Index of the wan port.
const WAN: usize = 0;

/// Behind which port each address is.
#[derive(Debug, Default)]
struct AddressTable {
    ports: HashMap<[u8; 6], (usize, u64)>,
}

impl AddressTable {
    fn learn(&mut self, mac: [u8; 6], port: usize, now_ns: u64) {
        if self.ports.len() >= MAX_ADDRESSES && !self.ports.contains_key(&mac) {
            // Forgotten addresses are learnt again from their next frames.
            self.ports.clear();
        }
        self.ports.insert(mac, (port, now_ns));
    }

    fn port_of(&self, mac: [u8; 6], now_ns: u64) -> Option<usize> {
        let &(port, at_ns) = self.ports.get(&mac)?;
        (now_ns.saturating_sub(at_ns) < AGEING_NS).then_some(port)
    }
}

impl PacketPath {
    /// Opens the interface `wan` and those of `access_points` in the calling thread's namespace,
    /// which must be up and in no bridge: see [`crate::bridge::BridgeChoice::None`].
    ///
    /// # Errors
    /// [`InlineError::Bridged`] when one is in a kernel bridge, [`InlineError::Link`] without
    /// CAP_NET_RAW.
    pub fn open(wan: &str, access_points: &[&str]) -> Result<Self, InlineError> {
        let mut link = Netlink::open()?;
        let mut ports = Vec::new();
        for &interface in [wan].iter().chain(access_points) {
            if link.port(interface)?.master.is_some() {
                return Err(InlineError::Bridged(interface.to_owned()));
            }
            ports.push(Port::open(&mut link, interface)?);
        }
        Ok(Self {
            ports,
            stations: HashMap::new(),
            is_paused: false,
            table: AddressTable::default(),
            counters: InlineCounters::default(),
            uplink: HashMap::new(),
            reports: VecDeque::new(),
            frame: Vec::with_capacity(SLOT_BYTES),
            piece: vec![0; SLOT_BYTES],
        })
    }

    /// Returns the index of the wan port, as in [`Observation::interface`].
    #[must_use]
    pub fn wan_index(&self) -> u32 {
        self.ports[WAN].index
    }

    /// Returns the indices of the access points' ports, in the order of [`PacketPath::open`].
    pub fn access_point_indices(&self) -> impl Iterator<Item = u32> {
        self.ports[WAN + 1..].iter().map(|port| port.index)
    }

    /// Forwards all frames until [`PacketPath::resume`].
    pub const fn pause(&mut self) {
        self.is_paused = true;
    }

    /// Ends a pause.
    pub const fn resume(&mut self) {
        self.is_paused = false;
    }

    /// Takes over the unicast frames for the station `mac`, or forwards them if `is_exempt`.
    pub fn insert_station(&mut self, mac: [u8; 6], is_exempt: bool) {
        self.stations.insert(mac, is_exempt);
    }

    /// Forwards the frames for the station `mac` again.
    pub fn remove_station(&mut self, mac: [u8; 6]) {
        self.stations.remove(&mac);
    }

    /// Forwards what waits at all ports, and passes the frames for stations to `on_frame`; returns
    /// their number. Super-packets are cut, so it may be somewhat more than `most`.
    ///
    /// # Errors
    /// When a port went down or was removed; the others have been served.
    pub fn receive(
        &mut self,
        most: usize,
        mut on_frame: impl FnMut(&mut [u8]),
    ) -> io::Result<usize> {
        let mut n = 0;
        let mut outcome = Ok(());
        for port in 0..self.ports.len() {
            while n < most {
                let waiting = match self.ports[port].take() {
                    Ok(waiting) => waiting,
                    Err(error) => {
                        outcome = Err(error);
                        break;
                    }
                };
                for i in 0..waiting.len() {
                    let mut frame = core::mem::take(&mut self.frame);
                    if waiting.read(i, &mut frame) {
                        n += self.handle(port, &mut frame, &mut on_frame);
                    }
                    self.frame = frame;
                }
                let is_empty = waiting.len() == 0;
                self.ports[port].put_back(waiting);
                if is_empty {
                    break;
                }
            }
        }
        outcome.map(|()| n)
    }

    /// Handles a frame, which follows its offload header, and returns how many packets of it were
    /// passed to `on_frame`.
    fn handle(
        &mut self,
        port: usize,
        buffer: &mut [u8],
        on_frame: &mut impl FnMut(&mut [u8]),
    ) -> usize {
        let now_ns = monotonic_ns();
        let frame = &buffer[HEADER_BYTES..];
        let (Some(to), Some(from)) = (address(frame, 0), address(frame, 6)) else {
            return 0;
        };
        let classified = Classified::of(frame);
        self.table.learn(from, port, now_ns);
        if port == WAN {
            self.report_downlink(frame, classified.kind, now_ns);
            self.report_move(frame, from, now_ns);
            if self.is_for_queue(to, classified) {
                return self.cut(classified.network, buffer, on_frame);
            }
        } else {
            self.report_uplink(port, frame, classified.kind, from, now_ns);
        }
        self.forward(port, to, buffer, now_ns);
        0
    }

    /// Decides on a frame of the wan port, in the order of the XDP program.
    fn is_for_queue(&mut self, to: [u8; 6], classified: Classified) -> bool {
        let exempt = self.stations.get(&to);
        let count = &mut self.counters;
        let reason = if self.is_paused {
            &mut count.stale
        } else if to[0] & 1 != 0 {
            &mut count.group
        } else if matches!(
            classified.kind,
            FrameKind::NotIp | FrameKind::Reported(ObservationKind::Eapol)
        ) {
            &mut count.not_ip
        } else if !classified.is_for_queue() {
            &mut count.control
        } else {
            match exempt {
                None => &mut count.unknown,
                Some(true) => &mut count.exempt,
                Some(false) => {
                    count.redirected += 1;
                    return true;
                }
            }
        };
        *reason += 1;
        false
    }

    /// Passes the packets of a frame one by one to `on_frame`, each with the Ethernet header.
    fn cut(
        &mut self,
        network: usize,
        buffer: &mut [u8],
        on_frame: &mut impl FnMut(&mut [u8]),
    ) -> usize {
        self.piece[..network].copy_from_slice(&buffer[HEADER_BYTES..HEADER_BYTES + network]);
        // The parser expects the offload header directly before the IP packet.
        // The network header begins within the first few dozen bytes.
        shift_offsets(buffer, -(network as i16));
        buffer.copy_within(..HEADER_BYTES, network);
        let Ok(packets) = SuperPacket::parse(&mut buffer[network..]) else {
            return 0;
        };
        for i in 0..packets.count() {
            if let Some(bytes) = packets.write(i, &mut self.piece[network..]) {
                on_frame(&mut self.piece[..network + bytes]);
            }
        }
        packets.count()
    }

    /// Sends a frame with its offload header to the port of its receiver, or to all others.
    fn forward(&self, from: usize, to: [u8; 6], buffer: &[u8], now_ns: u64) {
        // IEEE 802.1Q, table 8-1: bridges do not forward these (spanning tree, pause, LLDP).
        if to[..5] == [0x01, 0x80, 0xc2, 0, 0] && to[5] < 16 {
            return;
        }
        let known = self.table.port_of(to, now_ns);
        for (index, port) in self.ports.iter().enumerate() {
            if index != from && known.is_none_or(|only| only == index) {
                // A frame that does not fit is lost, as in any bridge.
                let _ = port.send(buffer);
            }
        }
    }

    fn report_downlink(&mut self, frame: &[u8], kind: FrameKind, now_ns: u64) {
        if let FrameKind::Reported(kind @ (ObservationKind::Arp | ObservationKind::Dhcp)) = kind {
            self.report(WAN, frame, kind, now_ns, 0);
        }
    }

    /// Reports a frame of the wan port whose source was last heard at another port, once each time.
    fn report_move(&mut self, frame: &[u8], from: [u8; 6], now_ns: u64) {
        if let Some(source) = self.uplink.get_mut(&from)
            && source.used.last_ns > source.moved_ns
        {
            source.moved_ns = now_ns;
            self.report(WAN, frame, ObservationKind::Moved, now_ns, 0);
        }
    }

    fn report_uplink(
        &mut self,
        port: usize,
        frame: &[u8],
        kind: FrameKind,
        from: [u8; 6],
        now_ns: u64,
    ) {
        let is_known = self.stations.contains_key(&from);
        if self.uplink.len() >= MAX_ADDRESSES && !self.uplink.contains_key(&from) {
            self.uplink.clear();
        }
        let source = self.uplink.entry(from).or_default();
        let has_roamed = source
            .port
            .replace(port)
            .is_some_and(|before| before != port);
        let used = &mut source.used;
        // The first frame begins a burst as well: the time of the last one is zero then.
        let begins_burst = now_ns.saturating_sub(used.last_ns) >= BURST_GAP_NS;
        used.bursts += u64::from(begins_burst);
        // As the programs report it.
        let before_bytes = used.bytes as u32;
        used.frames += 1;
        used.bytes += frame.len() as u64;
        used.last_ns = now_ns;
        let is_due = source
            .noticed_ns
            .is_none_or(|at| now_ns.saturating_sub(at) >= NOTICE_NS);
        if is_due {
            source.noticed_ns = Some(now_ns);
        }
        match kind {
            FrameKind::Reported(kind) => self.report(port, frame, kind, now_ns, before_bytes),
            // A station that has roamed is followed with its first frame, whatever that is.
            _ if has_roamed || is_due && !is_known => {
                self.report(
                    port,
                    frame,
                    ObservationKind::UnknownSource,
                    now_ns,
                    before_bytes,
                );
            }
            FrameKind::Ip if begins_burst && is_known => {
                self.report(port, frame, ObservationKind::Data, now_ns, before_bytes);
            }
            _ => {}
        }
    }

    /// `before_bytes` is what had come from the frame's source before it.
    fn report(
        &mut self,
        port: usize,
        frame: &[u8],
        kind: ObservationKind,
        now_ns: u64,
        before_bytes: u32,
    ) {
        if self.reports.len() >= MAX_REPORTS {
            self.counters.records_lost += 1;
            return;
        }
        let snap = match kind {
            ObservationKind::Quic | ObservationKind::Data => SNAP_QUIC,
            ObservationKind::Dhcp => SNAP_DHCP,
            _ => SNAP_BYTES,
        };
        self.counters.records += 1;
        self.reports.push_back(Report {
            at_ns: now_ns,
            interface: self.ports[port].index,
            kind,
            // Frames with their headers have less than 2^32 bytes.
            length: frame.len() as u32,
            before_bytes,
            bytes: frame[..frame.len().min(snap)].to_vec(),
        });
    }

    /// Passes up to `most` reports to `on_observation` and returns their number.
    pub fn observe(
        &mut self,
        most: usize,
        mut on_observation: impl FnMut(Observation<'_>),
    ) -> usize {
        let n = most.min(self.reports.len());
        for report in self.reports.drain(..n) {
            on_observation(Observation {
                at_ns: report.at_ns,
                interface: report.interface,
                kind: report.kind,
                length: report.length,
                before_bytes: report.before_bytes,
                bytes: &report.bytes,
            });
        }
        n
    }

    /// Sends a frame on the port number `access_point` in the order of [`PacketPath::open`].
    /// Returns `false` if there is no room or no such port: the caller keeps the frame.
    ///
    /// # Errors
    /// When the port is down or has been removed.
    pub fn push(&mut self, access_point: usize, frame: &[u8]) -> io::Result<bool> {
        match self.ports.get(WAN + 1 + access_point) {
            Some(port) => port.send_plain(frame),
            None => Ok(false),
        }
    }

    /// Returns the files that become readable when frames wait.
    pub fn frame_files(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.ports.iter().map(AsFd::as_fd)
    }

    /// Returns the counters of the frames that arrived on the wan port.
    #[must_use]
    pub const fn counters(&self) -> InlineCounters {
        self.counters
    }

    /// Returns what the source `mac` has sent through the ports of the access points.
    #[must_use]
    pub fn uplink(&self, mac: [u8; 6]) -> Option<UplinkUse> {
        self.uplink.get(&mac).map(|source| source.used)
    }

    /// Returns what the kernel has dropped since the path was opened.
    ///
    /// # Errors
    /// When the kernel does not answer, which only a bug can cause.
    pub fn statistics(&mut self) -> io::Result<XskStatistics> {
        let mut sum = XskStatistics::default();
        for port in &mut self.ports {
            sum.dropped += port.dropped()?;
        }
        Ok(sum)
    }
}

/// Returns the MAC address at `at`.
fn address(frame: &[u8], at: usize) -> Option<[u8; 6]> {
    frame.get(at..at + 6)?.try_into().ok()
}
