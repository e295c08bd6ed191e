//! The agent's loop: bytes and time in and out of the sans-IO parts, nothing else.

use super::AgentCore;
use crate::batch::Batch;
use crate::device::Device;
use crate::keys::KeyPair;
use crate::packet::PacketBuf;
use crate::runtime::{self, Journal, Loop, Stop};
use crate::tunnel::{InnerKind, Received, Timing, Tunnel, TunnelConfig};
use airpace_api::config::AgentConfig;
use airpace_net::clock::{Clock, RealtimeMap};
use airpace_net::interfaces::interface_of;
use airpace_net::packet::PacketSocket;
use airpace_net::udp::{ReceiveBatch, UdpOptions, UdpSocket};
use airpace_units::Time;
use anyhow::Context as _;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::time::Duration;

/// Runs the agent in the network namespace of the calling thread until `stop` becomes readable (see [`Stop`]).
///
/// It creates the interface, its routes and the socket, and all are gone when it returns or the process ends.
///
/// # Errors
/// The configuration is contradictory, the key cannot be read, or the system refuses the interface, the monitor or the socket.
pub fn run_agent(config: &AgentConfig, stop: Stop<'_>) -> anyhow::Result<()> {
    config.validate()?;
    let keys = KeyPair::load(&config.key_source()?)?;
    let (clock, epoch) = runtime::start_clock();
    let tunnel = Tunnel::new(TunnelConfig {
        keys,
        peers: vec![config.proxy_public_key],
        connect_to: Some(config.proxy),
        cipher: config.cipher,
        epoch,
        timing: Timing::default(),
    });
    let mut core = AgentCore::new(clock.now(), config, epoch, runtime::random_key());
    let monitor = config.monitor.as_deref().map(open_monitor).transpose()?;
    if let Some(station) = own_hardware(config.proxy) {
        core.listen_for(station);
    }
    let device = Device::open(&config.tun, &config.routes)?;
    // Frames are told apart by the arrival of single datagrams unless the monitor tells them.
    let options = UdpOptions { join: monitor.is_some(), ..UdpOptions::default() };
    let socket = UdpSocket::bind(any_address(config.proxy), options).context("opening the tunnel's socket")?;
    let journal = Journal::open(config.telemetry.as_deref())?;
    tracing::info!(proxy = %config.proxy, interface = %device.name(), monitor = ?config.monitor, "agent");
    let stamps = clock.realtime_map();
    let (batch, next_map) = (Batch::new(), Time::ZERO);
    let mut agent = Agent { clock, tunnel, core, device, socket, monitor, batch, journal, stamps, next_map };
    agent.run(config.realtime, stop)
}

/// Bytes of the buffer of captured frames: some hundred milliseconds of a fast network.
const CAPTURE_BUFFER: usize = 8 << 20;
/// Bytes read of each captured frame: the headers of radiotap and 802.11.
const SNAP: usize = 160;

fn open_monitor(name: &str) -> anyhow::Result<PacketSocket> {
    PacketSocket::open(name, CAPTURE_BUFFER).with_context(|| format!("reading frames of the monitor interface {name}"))
}

/// Hardware address of the interface that leads to the proxy, if it has one (a Wi-Fi interface has, an emulated one has not).
fn own_hardware(proxy: SocketAddr) -> Option<[u8; 6]> {
    let probe = std::net::UdpSocket::bind(any_address(proxy)).ok()?;
    probe.connect(proxy).ok()?;
    interface_of(probe.local_addr().ok()?.ip()).ok()??.hardware
}

fn any_address(like: SocketAddr) -> SocketAddr {
    let any = if like.is_ipv4() { IpAddr::V4(Ipv4Addr::UNSPECIFIED) } else { IpAddr::V6(Ipv6Addr::UNSPECIFIED) };
    SocketAddr::new(any, 0)
}

struct Agent {
    clock: Clock,
    tunnel: Tunnel,
    core: AgentCore,
    device: Device,
    socket: UdpSocket,
    monitor: Option<PacketSocket>,
    batch: Batch,
    journal: Journal,
    /// Maps the kernel's stamps onto the clock.
    stamps: RealtimeMap,
    next_map: Time,
}

/// Frames read from the interface before the other things have their turn: up to 64 kB each.
const FRAMES_PER_TURN: usize = 8;
/// The wall clock is slewed by at most 500 ppm, so that a map of this age is wrong by at most half a millisecond.
const MAP_AGE: Duration = Duration::from_secs(1);

/// Room for what the kernel hands over at once.
struct Rooms {
    datagrams: ReceiveBatch,
    frames: ReceiveBatch,
}

impl Agent {
    fn run(&mut self, realtime: bool, stop: Stop<'_>) -> anyhow::Result<()> {
        let mut wait = Loop::new(self.clock, realtime, stop, (&self.device, &self.socket))?;
        if let Some(monitor) = &self.monitor {
            wait.add_monitor(monitor)?;
        }
        let mut rooms = Rooms { datagrams: ReceiveBatch::new(16, 65_536), frames: ReceiveBatch::new(64, SNAP) };
        loop {
            let now = self.clock.now();
            self.on_time(now);
            let blocked = !self.send(now);
            let own = if blocked { None } else { self.core.deadline() };
            let deadline = [self.tunnel.deadline(), own].into_iter().flatten().min();
            let ready = wait.wait(&self.socket, deadline, blocked)?;
            if ready.stop {
                break;
            }
            // Frames first, so that a slot that ends now has them.
            if ready.monitor {
                self.capture(&mut rooms.frames, &mut wait)?;
            }
            if ready.socket {
                self.receive(&mut rooms.datagrams);
            }
            if ready.device {
                self.read_device()?;
            }
        }
        self.report_end();
        Ok(())
    }

    fn on_time(&mut self, now: Time) {
        self.tunnel.handle_timeout(now);
        if now >= self.next_map {
            self.next_map = now + MAP_AGE;
            self.stamps = self.clock.realtime_map();
        }
        if let Some((report, record)) = self.core.handle_timeout(now) {
            // Without a session nobody is there to read it.
            let _ = self.batch.seal(now, &mut self.tunnel, (0, InnerKind::Report), &report);
            self.journal.write(&record);
        }
        self.journal.flush();
    }

    /// Sends what may leave now; `false` if the socket's buffer is full.
    fn send(&mut self, now: Time) -> bool {
        while let Some(own) = self.tunnel.poll() {
            self.batch.push(own.to, &own.bytes);
        }
        loop {
            let mut more = false;
            while self.batch.has_room(9_100) {
                let Some(packet) = self.core.poll(now) else { break };
                more = true;
                // Without a session the packet is lost, as it would be without a network.
                let _ = self.batch.seal(now, &mut self.tunnel, (0, InnerKind::Packet), packet.as_bytes());
                self.core.pool().put(packet);
            }
            if !self.batch.flush(&self.socket) {
                return false;
            }
            if !more {
                return true;
            }
        }
    }

    fn receive(&mut self, room: &mut ReceiveBatch) {
        // Errors that the network reports, such as a proxy that is gone, concern datagrams sent before.
        if self.socket.receive(room).is_err() {
            return;
        }
        let now = self.clock.now();
        for message in room.iter_mut() {
            let arrival = message.stamp.map_or(now, |stamp| self.stamps.time(stamp).min(now));
            for datagram in message.bytes.chunks_mut(message.segment) {
                let Received::Data(opened) = self.tunnel.handle(now, message.from, datagram) else { continue };
                self.core.on_message(arrival, &opened);
                if opened.kind == InnerKind::Packet {
                    self.device.write(opened.payload);
                }
            }
        }
        self.device.flush();
    }

    fn capture(&mut self, room: &mut ReceiveBatch, wait: &mut Loop) -> anyhow::Result<()> {
        let Some(monitor) = &self.monitor else { return Ok(()) };
        if let Err(error) = monitor.receive(room) {
            tracing::warn!(%error, "the monitor interface is gone: frames are told apart by arrival times from now on");
            wait.remove_monitor(monitor)?;
            self.monitor = None;
            return Ok(());
        }
        let now = self.clock.now();
        for frame in room.frames() {
            let arrival = frame.stamp.map_or(now, |stamp| self.stamps.time(stamp).min(now));
            self.core.on_frame(arrival, frame.bytes, frame.length);
        }
        Ok(())
    }

    fn read_device(&mut self) -> anyhow::Result<()> {
        let now = self.clock.now();
        for _ in 0..FRAMES_PER_TURN {
            let core = &mut self.core;
            let mut pool = core::mem::take(core.pool());
            let read = self.device.read(&mut pool, |pool, bytes| {
                core::mem::swap(core.pool(), pool);
                core.on_packet(now, PacketBuf::new(now, bytes));
                core::mem::swap(core.pool(), pool);
            });
            *core.pool() = pool;
            if !read.context("reading the tunnel's interface")? {
                break;
            }
        }
        Ok(())
    }

    fn report_end(&self) {
        let (frames, tunnel) = (self.core.counts(), self.tunnel.counts());
        let lost_frames = self.monitor.as_ref().and_then(|m| m.statistics().ok()).map_or(0, |s| s.dropped);
        tracing::info!(
            received = tunnel.data,
            hostile = tunnel.dropped(),
            refused_by_network = self.batch.refused,
            refused_by_kernel = self.device.refused,
            frames = frames.metered,
            foreign_frames = frames.foreign,
            lost_frames,
            "agent ends"
        );
        runtime::log_drops(tunnel);
    }
}
