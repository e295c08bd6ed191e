//! The proxy's loop: bytes and time in and out of the sans-IO parts, nothing else.

use super::{Output, PacketProxy, Totals};
use crate::batch::Batch;
use crate::crypto::{NoiseIk, Tunnel, random_key};
use crate::device::Device;
use crate::keys::KeyPair;
use crate::runtime::{self, Journal, Loop, Stop};
use airpace_api::config::{Cipher, ProxyConfig};
use airpace_edge::tunnel::{InnerKind, Received, StaticPublicKey, Timing, TunnelConfig, Warning};
use airpace_net::clock::Clock;
use airpace_net::udp::{ReceiveBatch, UdpOptions, UdpSocket};
use airpace_units::Time;
use anyhow::Context as _;
use core::net::IpAddr;
use core::time::Duration;

/// Runs the proxy in the network namespace of the calling thread until `stop` becomes readable (see [`Stop`]).
///
/// It creates the interface and the socket, and both are gone when it returns or the process ends. What it returns has also been
/// logged.
///
/// # Errors
/// The configuration is contradictory, the key cannot be read, or the system refuses the interface or the socket.
pub fn run_proxy(config: &ProxyConfig, stop: Stop<'_>) -> anyhow::Result<Totals> {
    config.validate()?;
    let keys = KeyPair::load(&config.key_source()?)?;
    let (clock, epoch) = runtime::start_clock();
    // The agents choose the cipher of their sessions.
    let crypto = NoiseIk::new(keys, Cipher::default());
    let tunnel_config = TunnelConfig {
        peers: config
            .station
            .iter()
            .map(|station| StaticPublicKey(station.public_key.0))
            .collect(),
        connect_to: None,
        epoch,
        timing: Timing::default(),
    };
    let tunnel = Tunnel::new(crypto, tunnel_config);
    let core = PacketProxy::new(config, epoch, random_key())?;
    let device = Device::open(&config.tun, &[])?;
    let options = UdpOptions {
        stamp: false,
        ..UdpOptions::default()
    };
    let socket = UdpSocket::bind(config.listen, options)
        .with_context(|| format!("listening on {}", config.listen))?;
    let journal = Journal::open(config.telemetry.as_deref())?;
    tracing::info!(listen = %config.listen, interface = %device.name(), stations = config.station.len(), "proxy");
    let mut proxy = Proxy {
        addresses: config
            .station
            .iter()
            .map(|station| station.address)
            .collect(),
        load: vec![0; 65_536],
        batch: Batch::new(),
        spoofed: 0,
        next_look: Time::ZERO,
        tunnel,
        core,
        device,
        socket,
        journal,
    };
    proxy.run(clock, config.realtime, stop)?;
    Ok(proxy.report_end())
}

/// Silence after which a station is gone although its session is not over. Both ends send at least once a second
/// ([`Timing::keepalive`]), so that this many datagrams would have to be lost in a row.
const GONE_AFTER: Duration = Duration::from_secs(10);

/// Whether a station is present: it has a session and was heard from recently.
fn is_present(tunnel: &Tunnel, now: Time, station: usize) -> bool {
    tunnel.is_alive(now, station, GONE_AFTER)
}

struct Proxy {
    tunnel: Tunnel,
    core: PacketProxy,
    device: Device,
    socket: UdpSocket,
    batch: Batch,
    journal: Journal,
    addresses: Vec<IpAddr>,
    /// Body of load datagrams.
    load: Vec<u8>,
    /// Packets from stations under an address that is not theirs.
    spoofed: u64,
    next_look: Time,
}

impl Proxy {
    fn run(&mut self, clock: Clock, realtime: bool, stop: Stop<'_>) -> anyhow::Result<()> {
        let mut wait = Loop::new(clock, realtime, stop, &self.device, &self.socket)?;
        let mut received = ReceiveBatch::new(16, 65_536);
        loop {
            let now = clock.now();
            self.on_time(now);
            let blocked = !self.send(now);
            let deadline = if blocked {
                self.tunnel.deadline()
            } else {
                self.deadline()
            };
            let ready = wait.wait(&self.socket, deadline, blocked)?;
            if ready.stop {
                break;
            }
            if ready.socket {
                self.receive(clock.now(), &mut received);
            }
            if ready.device {
                self.device.read(clock.now(), &mut self.core)?;
            }
        }
        Ok(())
    }

    fn deadline(&self) -> Option<Time> {
        [self.tunnel.deadline(), self.core.deadline()]
            .into_iter()
            .flatten()
            .min()
    }

    fn on_time(&mut self, now: Time) {
        self.tunnel.handle_timeout(now);
        self.core.handle_timeout(now);
        if now >= self.next_look {
            // Sessions end without an event.
            self.next_look = now + runtime::SESSION_CHECK;
            for station in 0..self.addresses.len() {
                self.core
                    .set_connected(now, station, is_present(&self.tunnel, now, station));
            }
        }
        if let Some(Warning::OldHandshake { peer, from }) = self.tunnel.poll_warning() {
            let station = self.addresses[peer];
            tracing::warn!(%from, %station, "a handshake is older than the station's last one: the station's clock has gone back, or the handshake was recorded");
        }
        while let Some(record) = self.core.poll_record() {
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
            while self.batch.has_room(self.load.len().min(9_100)) {
                let Some(output) = self.core.poll(now) else {
                    break;
                };
                more = true;
                self.seal(now, output);
            }
            if !self.batch.flush(&self.socket) {
                return false;
            }
            if !more {
                return true;
            }
        }
    }

    fn seal(&mut self, now: Time, output: Output) {
        // Without a session there is nothing to be done; the core learns of it at the next look.
        match output {
            Output::Packet { station, packet } => {
                let payload = packet.as_bytes();
                let kind = InnerKind::Packet;
                let _ = self
                    .batch
                    .seal(now, &mut self.tunnel, station, kind, payload);
                self.core.pool().put(packet);
            }
            Output::Load { station, body } => {
                let body = &self.load[..body.min(self.load.len())];
                let kind = InnerKind::Padding;
                let _ = self.batch.seal(now, &mut self.tunnel, station, kind, body);
            }
        }
    }

    fn receive(&mut self, now: Time, received: &mut ReceiveBatch) {
        // Errors that the network reports, such as an agent that is gone, concern datagrams sent before.
        if self.socket.receive(received).is_err() {
            return;
        }
        for message in received.iter_mut() {
            let from = message.from;
            for datagram in message.bytes.chunks_mut(message.segment) {
                self.on_datagram(now, from, datagram);
            }
        }
        self.device.flush();
    }

    fn on_datagram(&mut self, now: Time, from: core::net::SocketAddr, datagram: &mut [u8]) {
        let Received::Data(opened) = self.tunnel.handle(now, from, datagram) else {
            return;
        };
        self.core.set_connected(now, opened.peer, true);
        match opened.kind {
            InnerKind::Packet
                if runtime::source(opened.payload) == Some(self.addresses[opened.peer]) =>
            {
                self.device.write(opened.payload);
            }
            InnerKind::Packet => self.spoofed += 1,
            InnerKind::Report => self.core.on_report(now, opened.peer, opened.payload),
            InnerKind::Padding | InnerKind::Keepalive => {}
        }
    }

    fn report_end(&self) -> Totals {
        let (counts, tunnel) = (self.core.counts(), self.tunnel.counts());
        tracing::info!(
            received = tunnel.data,
            hostile = tunnel.dropped(),
            refused_by_network = self.batch.refused,
            refused_by_kernel = self.device.refused,
            spoofed = self.spoofed,
            unroutable = counts.unroutable,
            away = counts.away,
            bad_reports = counts.bad_reports,
            contradictory_reports = self.core.diagnostics().ignored_reports,
            "proxy ends"
        );
        runtime::log_drops(tunnel);
        Totals {
            tunnel: *tunnel,
            core: counts,
            spoofed: self.spoofed,
        }
    }
}
