//! The agent in mode `sensor`: it reports to an in-line box, and touches no traffic.

use super::PacketAgent;
use super::lookup::Lookup;
use super::monitor::{Delivered, OwnFrames, interface_towards, open_monitor};
use super::telemetry::AgentTelemetry;
use crate::batch::Batch;
use crate::capture::{Monitor, SNAP};
use crate::crypto::{NoiseIk, Tunnel, random_key};
use crate::keys::{self, KeyPair};
use crate::runtime::{self, Stop};
use crate::service::Service;
use crate::warnings;
use airpace_api::config::AgentConfig;
use airpace_core::wire::ethernet::Ethernet;
use airpace_core::wire::ieee80211::MacAddr;
use airpace_core::wire::ip;
use airpace_edge::tunnel::{InnerKind, Timing, TunnelConfig};
use airpace_net::clock::{Clock, RealtimeMap};
use airpace_net::interfaces;
use airpace_net::offload::{self, HEADER_BYTES};
use airpace_net::packet::{Captured, PacketSocket};
use airpace_net::poll::{Interest, Poller};
use airpace_net::signals::Signals;
use airpace_net::udp::{ReceiveBatch, TrafficClass, UdpOptions, UdpSocket};
use airpace_units::Time;
use core::time::Duration;

/// Size of the kernel's buffer of captured packets in bytes. The kernel counts whole packets, of
/// which only the headers are read.
const TAP_BUFFER: usize = 8 << 20;
/// How often the interfaces and the map of timestamps are looked at again.
const REFRESH: Duration = Duration::from_secs(1);
/// IP and TCP headers of a segment with timestamps, bytes: the length of the last segment of a
/// super-packet decides how many there are, and may err by this without harm.
const SEGMENT_HEADERS: u32 = 52;

const STOP: u64 = 0;
const SOCKET: u64 = 1;
const MONITOR: u64 = 2;
const TAP: u64 = 3;
const HANGUP: u64 = 4;

/// Runs the agent in mode `sensor` until `stop` becomes readable. `config` has been validated.
pub(super) fn run(
    config: &AgentConfig,
    stop: Stop<'_>,
    hangup: Option<&Signals>,
) -> anyhow::Result<()> {
    let key_pair = KeyPair::load(&config.key_source()?)?;
    let preshared_key_file = config.preshared_key_file.as_deref();
    let peer = keys::peer(config.proxy_public_key, preshared_key_file)?;
    let (clock, epoch) = runtime::start_clock();
    let Some(mut lookup) = Lookup::first(&config.proxy, clock, stop)? else {
        return Ok(());
    };
    let tunnel_config = TunnelConfig {
        peers: vec![peer],
        connect_to: Some(lookup.address()),
        epoch,
        probe_for: None,
        timing: Timing::default(),
    };
    let tunnel = Tunnel::new(NoiseIk::new(key_pair, config.cipher), tunnel_config);
    let packets = PacketAgent::new(clock.now(), config, epoch, random_key());
    let socket = lookup.open_socket(UdpOptions::default())?;
    let telemetry = AgentTelemetry::open(config, hangup)?;
    let monitor = open_monitor(config)?;
    tracing::info!(event = "agent-started", box = %config.proxy, monitor = config.monitor.as_deref(), interface = config.interface.as_deref(), "agent that only reports");
    let mut poller = Poller::new()?;
    poller.add(stop, STOP, Interest::Read)?;
    poller.add(&socket, SOCKET, Interest::Read)?;
    if let Some(signals) = hangup {
        poller.add(signals, HANGUP, Interest::Read)?;
    }
    if let Some(socket) = monitor.as_ref().and_then(Monitor::socket) {
        poller.add(socket, MONITOR, Interest::Read)?;
    }
    runtime::ask_for_real_time(config.realtime);
    let mut agent = SensorAgent {
        stamps: clock.realtime_map(),
        batch: Batch::new(),
        own_frames: OwnFrames::default(),
        delivered: Delivered::default(),
        tap: None,
        needs_tap: true,
        metered_before: 0,
        next_refresh: Time::ZERO,
        lookup,
        config,
        clock,
        tunnel,
        packets,
        socket,
        monitor,
        telemetry,
    };
    agent.run(&mut poller)
}

/// The agent with everything that it has opened.
struct SensorAgent<'a> {
    config: &'a AgentConfig,
    clock: Clock,
    tunnel: Tunnel,
    packets: PacketAgent,
    socket: UdpSocket,
    batch: Batch,
    monitor: Option<Monitor>,
    /// Which of the monitor's frames are for this station.
    own_frames: OwnFrames,
    /// What the kernel has delivered, against which the monitor's frames are held.
    delivered: Delivered,
    /// Times the packets on the station's interface.
    tap: Option<Tap>,
    /// Whether no monitor interface shows frames, so that packets must be timed.
    needs_tap: bool,
    /// Frames metered until the end of the last slot.
    metered_before: u64,
    telemetry: AgentTelemetry<'a>,
    /// Where the box is.
    lookup: Lookup,
    /// Maps the kernel's timestamps to the clock.
    stamps: RealtimeMap,
    next_refresh: Time,
}

/// The packets that an interface receives.
struct Tap {
    interface: String,
    hardware: [u8; 6],
    socket: PacketSocket,
}

impl SensorAgent<'_> {
    /// Runs until the stop file becomes readable.
    fn run(&mut self, poller: &mut Poller) -> anyhow::Result<()> {
        let mut datagrams = ReceiveBatch::new(4, 2_048);
        let mut frames = ReceiveBatch::new(64, SNAP);
        let mut service = Service::begin();
        service.status(format!("reports to {}", self.config.proxy));
        loop {
            let now = self.clock.now();
            self.on_time(now, poller);
            self.send(now);
            service.turn(now);
            let deadlines = [
                self.tunnel.deadline(),
                self.packets.deadline(),
                service.deadline(),
            ];
            let deadline = deadlines.into_iter().flatten().min();
            poller.wait(&self.clock, deadline)?;
            let ready: Vec<u64> = poller.ready().map(|file| file.token).collect();
            if ready.contains(&STOP) {
                service.stopping();
                break;
            }
            if ready.contains(&HANGUP) {
                self.telemetry.on_hangup()?;
            }
            if ready.contains(&MONITOR) {
                self.capture(&mut frames);
            }
            if ready.contains(&TAP) {
                self.time_packets(&mut frames);
            }
            if ready.contains(&SOCKET) {
                self.receive(&mut datagrams);
            }
        }
        self.log_end();
        Ok(())
    }

    /// Does what is due: handshakes, interfaces that come and go, the end of the slot.
    fn on_time(&mut self, now: Time, poller: &Poller) {
        self.tunnel.handle_timeout(now);
        while let Some(warning) = self.tunnel.poll_warning() {
            warnings::log(warning, self.tunnel.counts(), |_| "the box".to_owned());
        }
        if now >= self.next_refresh {
            self.next_refresh = now + REFRESH;
            self.refresh(poller);
            if let Some(address) = self.lookup.poll(now, self.tunnel.unanswered(0)) {
                tracing::info!(event = "address-changed", box = %self.config.proxy, %address, "the box is looked for at another address");
                self.tunnel.set_connect_to(address);
                self.tunnel.restart(now, 0);
            }
        }
        self.delivered.report(now, &mut self.packets);
        let Some((report, record)) = self.packets.handle_timeout(now) else {
            return;
        };
        // Without a session there is nobody to send the report to.
        let _ = self.batch.seal(
            now,
            &mut self.tunnel,
            0,
            InnerKind::Report,
            &report,
            TrafficClass::DEFAULT,
        );
        self.telemetry.write(record);
        self.choose_source(poller);
    }

    /// Follows changes of the wall clock, the network and the interfaces.
    fn refresh(&mut self, poller: &Poller) {
        self.stamps = self.clock.realtime_map();
        self.tunnel.set_epoch(self.stamps.epoch());
        self.packets.set_epoch(self.stamps.epoch());
        self.own_frames = self
            .own_frames
            .update(OwnFrames::look_up(self.lookup.address()));
        if let OwnFrames::To(station) = self.own_frames {
            self.packets.listen_for(station);
        }
        self.delivered.refresh(
            self.config.interface.as_deref(),
            self.lookup.address(),
            &self.packets,
        );
        if let Some(monitor) = &mut self.monitor
            && monitor.recover()
            && let Some(socket) = monitor.socket()
        {
            let _ = poller.add(socket, MONITOR, Interest::Read);
        }
        if self.needs_tap {
            self.open_tap(poller);
        }
    }

    /// At the end of a slot: packets are timed if the monitor has shown no frames in it.
    fn choose_source(&mut self, poller: &Poller) {
        let metered = self.packets.counts().metered;
        self.needs_tap = metered == self.metered_before;
        self.metered_before = metered;
        if !self.needs_tap {
            // Closing the socket also removes it from the poller.
            self.tap = None;
        } else if self.tap.is_none() {
            self.open_tap(poller);
        }
    }

    /// Listens to the station's interface, unless that is done already. A failure is not logged: the
    /// network may be away.
    fn open_tap(&mut self, poller: &Poller) {
        let found = match &self.config.interface {
            Some(name) => {
                let hardware = interfaces::hardware_address(name).ok().flatten();
                hardware.map(|hardware| (name.clone(), hardware))
            }
            None => interface_towards(self.lookup.address())
                .and_then(|found| Some((found.name, found.hardware?))),
        };
        let Some((interface, hardware)) = found else {
            self.tap = None;
            return;
        };
        let is_same = |tap: &Tap| tap.interface == interface && tap.hardware == hardware;
        if self.tap.as_ref().is_some_and(is_same) {
            return;
        }
        self.tap = PacketSocket::open_with_offload(&interface, TAP_BUFFER)
            .ok()
            .filter(|socket| poller.add(socket, TAP, Interest::Read).is_ok())
            .map(|socket| Tap {
                interface,
                hardware,
                socket,
            });
    }

    /// Sends what the tunnel and the slots have left to send.
    fn send(&mut self, now: Time) {
        while let Some(datagram) = self.tunnel.poll() {
            self.batch.push(datagram);
        }
        // Nothing is taken from the uplink, but its queue keeps time.
        let nothing = self.packets.poll(now);
        debug_assert!(nothing.is_none(), "no uplink packet was handed in");
        // A report that the socket has no room for is sent with the next.
        let _ = self.batch.flush(&self.socket);
    }

    /// Takes datagrams of the box: handshakes and keepalives.
    fn receive(&mut self, room: &mut ReceiveBatch) {
        // An error of the network, such as an unreachable box, concerns datagrams sent earlier.
        if self.socket.receive(room).is_err() {
            return;
        }
        let now = self.clock.now();
        for message in room.iter_mut() {
            for datagram in message.bytes.chunks_mut(message.segment) {
                // What is dropped has been counted; there is nothing in what is not.
                let _ = self.tunnel.handle(now, message.from, datagram);
            }
        }
    }

    /// Takes frames from the monitor interface.
    fn capture(&mut self, room: &mut ReceiveBatch) {
        let Some(monitor) = &mut self.monitor else {
            return;
        };
        // Before the station's address is known, frames of others cannot be told from its own.
        if !monitor.receive(room) || self.own_frames == OwnFrames::Unknown {
            return;
        }
        let now = self.clock.now();
        for frame in room.frames() {
            let arrival = self.stamps.arrival(now, frame.stamp);
            self.packets.on_frame(arrival, frame.bytes, frame.length);
        }
    }

    /// Takes the headers of packets from the station's interface.
    fn time_packets(&mut self, room: &mut ReceiveBatch) {
        let Some(tap) = &self.tap else {
            return;
        };
        if tap.socket.receive(room).is_err() {
            // It is opened again when the interface is back.
            self.tap = None;
            return;
        }
        let hardware = MacAddr(tap.hardware);
        let now = self.clock.now();
        for frame in room.frames() {
            let arrival = self.stamps.arrival(now, frame.stamp);
            if let Some(seen) = PacketsSeen::read(&frame, hardware) {
                self.packets
                    .on_plain_packets(arrival, seen.packets, seen.bytes, seen.class);
            }
        }
    }

    /// Logs what was counted in the whole run.
    fn log_end(&mut self) {
        let (frames, tunnel) = (self.packets.counts(), self.tunnel.counts());
        let mut lost_frames = 0;
        if let Some(monitor) = &mut self.monitor {
            monitor.count_dropped();
            lost_frames = monitor.dropped;
        }
        tracing::info!(
            event = "agent-ended",
            received = tunnel.data,
            hostile = tunnel.dropped(),
            refused_by_network = self.batch.refused,
            frames = frames.metered,
            foreign_frames = frames.foreign,
            doubted_frames = frames.doubted,
            lost_frames,
            "agent ends"
        );
        runtime::log_drops(tunnel);
    }
}

/// What a captured frame says of the packets in it, which the kernel may have joined.
struct PacketsSeen {
    packets: u32,
    /// Bytes of all packets, with IP headers.
    bytes: u32,
    class: u8,
}

impl PacketsSeen {
    /// `None` if the frame is not an IP packet for the station `hardware`.
    fn read(frame: &Captured<'_>, hardware: MacAddr) -> Option<Self> {
        let ethernet = Ethernet::parse(frame.bytes.get(HEADER_BYTES..)?).ok()?;
        let class = ip::traffic_class(ethernet.payload)?;
        if ethernet.destination != hardware {
            return None;
        }
        let before_ip = frame.bytes.len() - ethernet.payload.len();
        let joined = u32::try_from(frame.length.checked_sub(before_ip)?).ok()?;
        let Some(segment) = offload::segment_payload(frame.bytes) else {
            return Some(Self {
                packets: 1,
                bytes: joined,
                class,
            });
        };
        let payload = joined.saturating_sub(SEGMENT_HEADERS).max(1);
        let packets = payload.div_ceil(u32::from(segment));
        // Every packet but the first had headers that joining has removed.
        let bytes = joined.saturating_add((packets - 1) * SEGMENT_HEADERS);
        Some(Self {
            packets,
            bytes,
            class,
        })
    }
}
