//! The agent's loop: bytes and time in and out of the sans-IO parts, nothing else.

use super::PacketAgent;
use super::monitor::{Monitor, Own, any_address};
use crate::batch::Batch;
use crate::crypto::{NoiseIk, Tunnel, random_key};
use crate::device::Device;
use crate::keys::KeyPair;
use crate::runtime::{self, Journal, Loop, Stop};
use airpace_api::config::AgentConfig;
use airpace_edge::tunnel::{InnerKind, Received, StaticPublicKey, Timing, TunnelConfig};
use airpace_net::clock::{Clock, RealtimeMap};
use airpace_net::udp::{ReceiveBatch, UdpOptions, UdpSocket};
use airpace_units::Time;
use anyhow::Context as _;
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
    let crypto = NoiseIk::new(keys, config.cipher);
    let tunnel_config = TunnelConfig {
        peers: vec![StaticPublicKey(config.proxy_public_key.0)],
        connect_to: Some(config.proxy),
        epoch,
        timing: Timing::default(),
    };
    let tunnel = Tunnel::new(crypto, tunnel_config);
    let core = PacketAgent::new(clock.now(), config, epoch, random_key());
    let mut device = Device::open(&config.tun, &config.routes)?;
    // The kernel takes the routes; they wait for a session.
    device.withdraw_routes();
    // Frames are told apart by the arrival of single datagrams until the monitor tells them.
    let options = UdpOptions {
        join: false,
        send_buffer: SEND_BUFFER,
        ..UdpOptions::default()
    };
    let socket = UdpSocket::bind(any_address(config.proxy), options)
        .context("opening the tunnel's socket")?;
    let journal = Journal::open(config.telemetry.as_deref())?;
    tracing::info!(proxy = %config.proxy, interface = %device.name(), monitor = ?config.monitor, "agent");
    let mut wait = Loop::new(clock, config.realtime, stop, &device, &socket)?;
    let monitor = config
        .monitor
        .as_deref()
        .map(|name| Monitor::open(name, &mut wait))
        .transpose()?;
    let mut agent = Agent {
        stamps: clock.realtime_map(),
        batch: Batch::with_capacity(BATCH_BYTES),
        own: Own::default(),
        joining: false,
        metered: 0,
        next_refresh: Time::ZERO,
        next_look: Time::ZERO,
        config,
        clock,
        tunnel,
        core,
        device,
        socket,
        monitor,
        journal,
    };
    agent.run(&mut wait)
}

/// The socket's send buffer in bytes (the kernel counts twice this, bookkeeping included): where the network exerts back-pressure,
/// packets are to wait in FQ-CoDel and not here. Some batches, so that the network need not wait for the process.
const SEND_BUFFER: usize = 64 << 10;
/// Bytes sealed at once, which no queue can reach any more.
const BATCH_BYTES: usize = 32 << 10;
/// Bytes read of each captured frame: the headers of radiotap and 802.11.
const SNAP: usize = 160;

struct Agent<'a> {
    config: &'a AgentConfig,
    clock: Clock,
    tunnel: Tunnel,
    core: PacketAgent,
    device: Device,
    socket: UdpSocket,
    monitor: Option<Monitor>,
    /// Whose frames the monitor's are to be to count.
    own: Own,
    /// Whether the kernel joins datagrams, which then share a stamp: only while the monitor tells frames apart.
    joining: bool,
    /// Frames counted when the last slot ended.
    metered: u64,
    batch: Batch,
    journal: Journal,
    /// Maps the kernel's stamps onto the clock.
    stamps: RealtimeMap,
    next_refresh: Time,
    next_look: Time,
}

/// The wall clock is slewed by at most 500 ppm, so that a map of this age is wrong by at most half a millisecond.
const REFRESH: Duration = Duration::from_secs(1);
/// Silence of the proxy, which sends a keepalive each second, after which traffic takes the plain path: long enough for losses and
/// a handshake or two.
const SILENCE: Duration = Duration::from_secs(10);
/// Time until routes that the kernel refused are tried again.
const ROUTES_AGAIN: Duration = Duration::from_secs(10);
/// Batches of joined datagrams that are taken from the socket at most before the kernel joins no more.
const DRAIN: usize = 64;

/// Room for what the kernel hands over at once.
struct Rooms {
    datagrams: ReceiveBatch,
    frames: ReceiveBatch,
}

impl Agent<'_> {
    fn run(&mut self, wait: &mut Loop) -> anyhow::Result<()> {
        let mut rooms = Rooms {
            datagrams: ReceiveBatch::new(16, 65_536),
            frames: ReceiveBatch::new(64, SNAP),
        };
        loop {
            let now = self.clock.now();
            self.on_time(now, wait);
            if self.on_slot(now) {
                self.join_no_more_if_silent(&mut rooms.datagrams);
            }
            let blocked = !self.send(now);
            let own = if blocked { None } else { self.core.deadline() };
            let deadline = [self.tunnel.deadline(), own].into_iter().flatten().min();
            let ready = wait.wait(&self.socket, deadline, blocked)?;
            if ready.stop {
                break;
            }
            // Frames first, so that a slot that ends now has them.
            if ready.monitor {
                self.capture(&mut rooms.frames);
            }
            if ready.socket {
                self.receive(&mut rooms.datagrams);
            }
            if ready.device {
                self.device.read(self.clock.now(), &mut self.core)?;
            }
        }
        self.report_end();
        Ok(())
    }

    fn on_time(&mut self, now: Time, wait: &mut Loop) {
        self.tunnel.handle_timeout(now);
        if now >= self.next_refresh {
            self.next_refresh = now + REFRESH;
            self.refresh(wait);
        }
        if now >= self.next_look {
            self.next_look = now + runtime::SESSION_CHECK;
            self.look_after_routes(now);
        }
    }

    /// Follows what changes outside: the wall clock, the network, the monitor.
    fn refresh(&mut self, wait: &mut Loop) {
        self.stamps = self.clock.realtime_map();
        self.tunnel.set_epoch(self.stamps.epoch());
        self.core.set_epoch(self.stamps.epoch());
        if let Some(monitor) = &mut self.monitor {
            monitor.recover(wait);
            self.own = self.own.or_now(Own::look_up(self.config.proxy));
            if let Own::To(station) = self.own {
                self.core.listen_for(station);
            }
        }
    }

    /// Leads the routes into the tunnel while it carries anything, and back to the plain path when it does not.
    fn look_after_routes(&mut self, now: Time) {
        let alive = self.tunnel.is_alive(now, 0, SILENCE);
        if alive == self.device.is_routed() {
            return;
        }
        if !alive {
            self.device.withdraw_routes();
            tracing::warn!("nothing from the proxy: the routes are withdrawn");
        } else if let Err(error) = self.device.add_routes() {
            self.next_look = now + ROUTES_AGAIN;
            tracing::warn!(%error, "the routes are refused");
        } else {
            tracing::info!("the routes lead into the tunnel");
        }
    }

    /// Ends a slot that is over, if one is.
    fn on_slot(&mut self, now: Time) -> bool {
        let Some((report, record)) = self.core.handle_timeout(now) else {
            return false;
        };
        // Without a session nobody is there to read it.
        let _ = self
            .batch
            .seal(now, &mut self.tunnel, 0, InnerKind::Report, &report);
        self.journal.write(&record);
        self.journal.flush();
        true
    }

    /// A slot has ended. If the monitor told no frames in it, arrival times have to, and datagrams that the kernel joins have but
    /// one.
    fn join_no_more_if_silent(&mut self, room: &mut ReceiveBatch) {
        let metered = core::mem::replace(&mut self.metered, self.core.counts().metered);
        if !self.joining || self.metered > metered {
            return;
        }
        // Of those joined already the kernel would not tell where to cut them.
        for _ in 0..DRAIN {
            if self.receive(room) == 0 {
                break;
            }
        }
        self.join(false);
    }

    fn join(&mut self, join: bool) {
        // Where the kernel cannot join datagrams, they come singly.
        let _ = self.socket.set_join(join);
        self.joining = join;
    }

    /// Sends what may leave now; `false` if the socket's buffer is full.
    fn send(&mut self, now: Time) -> bool {
        while let Some(own) = self.tunnel.poll() {
            self.batch.push(own.to, &own.bytes);
        }
        loop {
            let mut more = false;
            while self.batch.has_room(9_100) {
                let Some(packet) = self.core.poll(now) else {
                    break;
                };
                more = true;
                // Without a session the packet is lost, as it would be without a network.
                let _ = self.batch.seal(
                    now,
                    &mut self.tunnel,
                    0,
                    InnerKind::Packet,
                    packet.as_bytes(),
                );
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

    /// Takes datagrams from the socket; returns how many messages there were.
    fn receive(&mut self, room: &mut ReceiveBatch) -> usize {
        // Errors that the network reports, such as a proxy that is gone, concern datagrams sent before.
        let Ok(n) = self.socket.receive(room) else {
            return 0;
        };
        let now = self.clock.now();
        for message in room.iter_mut() {
            let arrival = message
                .stamp
                .map_or(now, |stamp| self.stamps.time(stamp).min(now));
            for datagram in message.bytes.chunks_mut(message.segment) {
                let Received::Data(opened) = self.tunnel.handle(now, message.from, datagram) else {
                    continue;
                };
                self.core.on_message(arrival, &opened);
                if opened.kind == InnerKind::Packet {
                    self.device.write(opened.payload);
                }
            }
        }
        self.device.flush();
        n
    }

    fn capture(&mut self, room: &mut ReceiveBatch) {
        let Some(monitor) = &mut self.monitor else {
            return;
        };
        if !monitor.receive(room) || self.own == Own::Unknown {
            return;
        }
        let (now, metered) = (self.clock.now(), self.core.counts().metered);
        for frame in room.frames() {
            let arrival = frame
                .stamp
                .map_or(now, |stamp| self.stamps.time(stamp).min(now));
            self.core.on_frame(arrival, frame.bytes, frame.length);
        }
        if !self.joining && self.core.counts().metered > metered {
            self.join(true);
        }
    }

    fn report_end(&mut self) {
        let (frames, tunnel) = (self.core.counts(), self.tunnel.counts());
        let lost_frames = self.monitor.as_mut().map_or(0, |monitor| {
            monitor.count_dropped();
            monitor.dropped
        });
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
