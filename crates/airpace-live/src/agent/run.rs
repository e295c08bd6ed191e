//! The agent's loop: it carries bytes and time between the system and the state machines, and
//! decides nothing itself.

mod way;

use super::PacketAgent;
use super::accept::Accepted;
use super::lookup::Lookup;
use super::monitor::{Delivered, OwnFrames, open_monitor};
use super::sensor;
use super::telemetry::AgentTelemetry;
use crate::batch::Batch;
use crate::capture::{Monitor, SNAP};
use crate::crypto::{NoiseIk, Tunnel, random_key};
use crate::device::{Device, Restoration};
use crate::keys::{self, KeyPair};
use crate::runtime::{self, Loop, Stop};
use crate::warnings;
use airpace_api::config::{AgentConfig, AgentMode};
use airpace_core::wire::{encap, ip};
use airpace_edge::tunnel::{InnerKind, Received, Timing, TunnelConfig};
use airpace_net::clock::{Clock, RealtimeMap};
use airpace_net::netlink::RouteEvents;
use airpace_net::signals::Signals;
use airpace_net::udp::{ReceiveBatch, TrafficClass, UdpOptions, UdpSocket};
use airpace_units::Time;
use anyhow::Context as _;
use core::net::SocketAddr;
use core::time::Duration;

/// Runs the agent in the network namespace of the calling thread until `stop` becomes readable (see
/// [`Stop`]).
///
/// It creates the interface, its routes and the socket. All are gone when it returns or the process
/// ends. In mode `sensor` there is only the socket. When `hangup` receives a signal (SIGHUP), the
/// telemetry file is opened again.
///
/// # Errors
/// The configuration is contradictory, the key cannot be read, or the system refuses the interface,
/// the monitor or the socket.
pub fn run_agent(
    config: &AgentConfig,
    stop: Stop<'_>,
    hangup: Option<&Signals>,
) -> anyhow::Result<()> {
    config.validate()?;
    if config.mode == AgentMode::Sensor {
        return sensor::run(config, stop, hangup);
    }
    let key_pair = KeyPair::load(&config.key_source()?)?;
    let preshared_key_file = config.preshared_key_file.as_deref();
    let peer = keys::peer(config.proxy_public_key, preshared_key_file)?;
    let (clock, epoch) = runtime::start_clock();
    let Some(mut lookup) = Lookup::first(&config.proxy, clock, stop)? else {
        return Ok(());
    };
    let proxy = lookup.address();
    refuse_cycle(config, proxy)?;
    let tun = config.tun.as_ref().context("mode `tunnel` needs [tun]")?;
    let mtu = runtime::mtu(tun);
    let crypto = NoiseIk::new(key_pair, config.cipher);
    let tunnel_config = TunnelConfig {
        peers: vec![peer],
        connect_to: Some(proxy),
        epoch,
        probe_for: Some(mtu),
        timing: Timing::default(),
    };
    let tunnel = Tunnel::new(crypto, tunnel_config);
    let packets = PacketAgent::new(clock.now(), config, epoch, random_key());
    let mut device = Device::open(tun, &config.routes, Some(proxy.ip()))?;
    // Opening the device has shown that the kernel accepts the routes. Traffic takes them only once
    // there is a session.
    device.withdraw_routes();
    // Until the monitor shows frames, they are told apart by the arrival times of datagrams, which
    // must therefore not be joined.
    let options = UdpOptions {
        join: false,
        send_buffer: SEND_BUFFER,
        ..UdpOptions::default()
    };
    let socket = lookup.open_socket(options)?;
    socket
        .allow_fragments()
        .context("allowing datagrams to be cut into fragments")?;
    let events = RouteEvents::open()?;
    let telemetry = AgentTelemetry::open(config, hangup)?;
    tracing::info!(event = "agent-started", proxy = %config.proxy, address = %proxy, interface = %device.name(), monitor = ?config.monitor, "agent");
    let mut wait = Loop::new(clock, config.realtime, stop, &device, &socket)?;
    wait.add_route_events(&events)?;
    wait.add_hangup(hangup)?;
    let monitor = open_monitor(config)?;
    if let Some(socket) = monitor.as_ref().and_then(Monitor::socket) {
        wait.add_monitor(socket)?;
    }
    let mut agent = RunningAgent {
        stamps: clock.realtime_map(),
        batch: Batch::with_capacity(BATCH_BYTES),
        falsely_marked: 0,
        own_frames: OwnFrames::default(),
        delivered: Delivered::default(),
        copy_dscp: tun.copy_dscp,
        accepted: Accepted::new(&config.accept_from),
        restoration: Restoration::new(events),
        lookup,
        mtu,
        path: None,
        joining: false,
        metered_before: 0,
        next_refresh: Time::ZERO,
        next_route_check: Time::ZERO,
        config,
        clock,
        tunnel,
        packets,
        device,
        socket,
        monitor,
        telemetry,
    };
    agent.run(&mut wait)
}

/// What the service manager shows.
fn status(proxy_is_heard: bool) -> String {
    let status = if proxy_is_heard {
        "connected to the proxy"
    } else {
        "the proxy is silent: traffic takes the path without the tunnel"
    };
    status.to_owned()
}

/// Refuses an address of the proxy that would be routed into the tunnel.
fn refuse_cycle(config: &AgentConfig, proxy: SocketAddr) -> anyhow::Result<()> {
    if let Some((_, route)) = config.route_to(proxy.ip().to_canonical()) {
        anyhow::bail!(
            "route {route} contains the proxy's address {proxy}: the tunnel would swallow its own packets"
        );
    }
    Ok(())
}

/// The socket's send buffer in bytes (the kernel reserves twice this, for its bookkeeping). It is
/// small, because packets should wait in FQ-CoDel and not here when the network exerts
/// back-pressure, and holds two batches, so that the network need not wait for the process.
const SEND_BUFFER: usize = 64 << 10;
/// Bytes sealed at once. The queue can no longer drop, mark or reorder what is sealed.
const BATCH_BYTES: usize = 32 << 10;

/// The agent with everything that it has opened.
struct RunningAgent<'a> {
    config: &'a AgentConfig,
    clock: Clock,
    tunnel: Tunnel,
    packets: PacketAgent,
    device: Device,
    socket: UdpSocket,
    monitor: Option<Monitor>,
    /// Which of the monitor's frames are for this station.
    own_frames: OwnFrames,
    /// What the kernel has delivered, against which the monitor's frames are held.
    delivered: Delivered,
    /// Whether the kernel joins datagrams. Joined datagrams share one timestamp, so this is only
    /// for as long as the monitor tells frames apart.
    joining: bool,
    /// Frames metered until the end of the last slot.
    metered_before: u64,
    batch: Batch,
    /// Whether the outer header has the packet's code point.
    copy_dscp: bool,
    /// Packets that were marked on their way although their transport is not ECN-capable.
    falsely_marked: u64,
    /// Which sources packets from the tunnel may have.
    accepted: Accepted,
    restoration: Restoration,
    /// Where the proxy is.
    lookup: Lookup,
    /// Largest packet on the interface, bytes.
    mtu: u16,
    /// Longest payload that the path was known to take when that was last logged.
    path: Option<u16>,
    telemetry: AgentTelemetry<'a>,
    /// Maps the kernel's timestamps to the clock.
    stamps: RealtimeMap,
    next_refresh: Time,
    next_route_check: Time,
}

/// Age at which the map of timestamps is renewed. The kernel slews the wall clock by at most 500
/// ppm (adjtimex), so a map of this age is wrong by at most half a millisecond.
const REFRESH: Duration = Duration::from_secs(1);
/// Most batches of joined datagrams that are taken from the socket before joining is turned off.
const MAX_DRAINED_BATCHES: usize = 64;

impl RunningAgent<'_> {
    /// Runs until the stop file becomes readable.
    fn run(&mut self, wait: &mut Loop) -> anyhow::Result<()> {
        let mut datagrams = ReceiveBatch::new(16, 65_536);
        let mut frames = ReceiveBatch::new(64, SNAP);
        let mut told = None;
        loop {
            let now = self.clock.now();
            self.on_time(now, wait);
            let is_heard = self.device.is_routed();
            if told != Some(is_heard) {
                told = Some(is_heard);
                wait.tell_status(status(is_heard));
            }
            if self.end_slot(now) {
                self.stop_joining_without_frames(&mut datagrams);
            }
            let blocked = !self.send(now);
            // While the socket is full, the queue's deadlines would only spin the loop.
            let packets = if blocked {
                None
            } else {
                self.packets.deadline()
            };
            let deadline = [self.tunnel.deadline(), packets]
                .into_iter()
                .flatten()
                .min();
            let ready = wait.wait(&self.socket, deadline, blocked)?;
            if ready.stop {
                break;
            }
            if ready.hangup {
                self.telemetry.on_hangup()?;
            }
            // Frames first, so that the report of a slot that ends now includes them.
            if ready.monitor {
                self.capture(&mut frames);
            }
            if ready.socket {
                self.receive(&mut datagrams);
            }
            if ready.routes {
                self.restoration.take_events();
                self.accepted.on_change();
            }
            if ready.device {
                self.device.read(self.clock.now(), &mut self.packets)?;
            }
        }
        self.log_end();
        Ok(())
    }

    /// Runs due work: tunnel timers, monitor and proxy address, routes.
    fn on_time(&mut self, now: Time, wait: &mut Loop) {
        self.tunnel.handle_timeout(now);
        while let Some(warning) = self.tunnel.poll_warning() {
            warnings::log(warning, self.tunnel.counts(), |_| "the proxy".to_owned());
        }
        self.restoration.restore(now, &mut self.device);
        if now >= self.next_refresh {
            self.next_refresh = now + REFRESH;
            self.refresh(wait);
            self.accepted.refresh(now);
            self.follow_proxy(now);
            self.follow_path();
        }
        if now >= self.next_route_check {
            self.next_route_check = now + runtime::SESSION_CHECK;
            self.update_routes(now);
        }
    }

    /// Follows changes of the wall clock, the network and the monitor interface.
    fn refresh(&mut self, wait: &mut Loop) {
        self.stamps = self.clock.realtime_map();
        self.tunnel.set_epoch(self.stamps.epoch());
        self.packets.set_epoch(self.stamps.epoch());
        if let Some(monitor) = &mut self.monitor {
            if monitor.recover()
                && let Some(socket) = monitor.socket()
            {
                // Without the poller its frames are read when something else wakes the loop.
                let _ = wait.add_monitor(socket);
            }
            let found = OwnFrames::look_up(self.lookup.address());
            self.own_frames = self.own_frames.update(found);
            if let OwnFrames::To(station) = self.own_frames {
                self.packets.listen_for(station);
            }
            self.delivered
                .refresh(None, self.lookup.address(), &self.packets);
        }
    }

    /// Ends the slot if it is over: reports and records it. Returns whether it was.
    fn end_slot(&mut self, now: Time) -> bool {
        self.delivered.report(now, &mut self.packets);
        let Some((report, record)) = self.packets.handle_timeout(now) else {
            return false;
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
        true
    }

    /// At the end of a slot: if the monitor has shown no frames in it, tells the kernel to stop
    /// joining datagrams. Frames must then be told apart by arrival times, and joined datagrams
    /// share one.
    fn stop_joining_without_frames(&mut self, room: &mut ReceiveBatch) {
        let metered = self.packets.counts().metered;
        let is_silent = metered == self.metered_before;
        self.metered_before = metered;
        if !self.joining || !is_silent {
            return;
        }
        // Once joining is off, the kernel no longer says where datagrams that it has joined already
        // must be cut, so these are taken first.
        for _ in 0..MAX_DRAINED_BATCHES {
            if self.receive(room) == 0 {
                break;
            }
        }
        self.set_joining(false);
    }

    fn set_joining(&mut self, joining: bool) {
        // A kernel that cannot join datagrams hands them over one by one, which is as good.
        let _ = self.socket.set_join(joining);
        self.joining = joining;
    }

    /// Sends everything that may leave now; returns `false` if the socket's buffer is full.
    fn send(&mut self, now: Time) -> bool {
        // Handshakes and keepalives are the tunnel's own.
        while let Some(datagram) = self.tunnel.poll() {
            self.batch.push(datagram);
        }
        loop {
            let mut more = false;
            while self.batch.has_room(runtime::MAX_PAYLOAD) {
                let Some(packet) = self.packets.poll(now) else {
                    break;
                };
                more = true;
                let class = encap::outer_class(packet.as_bytes(), self.copy_dscp);
                // Without a session the packet is lost, as without a network.
                let _ = self.batch.seal(
                    now,
                    &mut self.tunnel,
                    0,
                    InnerKind::Packet,
                    packet.as_bytes(),
                    TrafficClass(class),
                );
                self.packets.pool().put(packet);
            }
            if !self.batch.flush(&self.socket) {
                return false;
            }
            if !more {
                return true;
            }
        }
    }

    /// Takes datagrams from the socket; returns the number of messages, each of one or more
    /// datagrams.
    fn receive(&mut self, room: &mut ReceiveBatch) -> usize {
        // An error of the network, such as an unreachable proxy, concerns datagrams sent earlier.
        let Ok(messages) = self.socket.receive(room) else {
            return 0;
        };
        let now = self.clock.now();
        for message in room.iter_mut() {
            let arrival = self.stamps.arrival(now, message.stamp);
            for datagram in message.bytes.chunks_mut(message.segment) {
                let Received::Data(opened) = self.tunnel.handle(now, message.from, datagram) else {
                    continue;
                };
                self.packets.on_message(arrival, &opened, message.class.0);
                if opened.kind != InnerKind::Packet {
                    continue;
                }
                if !self.accepted.admits(ip::source(opened.payload)) {
                    continue;
                }
                if encap::take_ecn(opened.payload, message.class.0).is_err() {
                    self.falsely_marked += 1;
                    continue;
                }
                // What the sender announces limits what this station will send on this path.
                let path = self.tunnel.longest_payload(0);
                runtime::clamp_mss(opened.payload, path, self.mtu);
                self.device.write(opened.payload);
            }
        }
        self.device.flush();
        messages
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
        let metered_before = self.packets.counts().metered;
        for frame in room.frames() {
            let arrival = self.stamps.arrival(now, frame.stamp);
            self.packets.on_frame(arrival, frame.bytes, frame.length);
        }
        if !self.joining && self.packets.counts().metered > metered_before {
            self.set_joining(true);
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
            refused_by_kernel = self.device.refused,
            frames = frames.metered,
            foreign_frames = frames.foreign,
            doubted_frames = frames.doubted,
            lost_frames,
            falsely_marked = self.falsely_marked,
            refused_sources = self.accepted.refused,
            thinned_acks = frames.thinned_acks,
            "agent ends"
        );
        runtime::log_drops(tunnel);
    }
}
