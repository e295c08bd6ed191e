//! The proxy's loop: it carries bytes and time between the system and the state machines, and
//! decides nothing itself.

use super::{Output, PacketProxy, Totals};
use crate::batch::Batch;
use crate::crypto::{NoiseIk, Tunnel, random_key};
use crate::device::{Device, Restoration};
use crate::journal::Journal;
use crate::keys::{self, KeyPair};
use crate::runtime::{self, Loop, Stop};
use crate::warnings::{self, Growth};
use airpace_api::config::{Cipher, MAX_STATIONS, ProxyConfig, TelemetryDetail};
use airpace_core::wire::ip::IPV4_UDP_HEADER_BYTES;
use airpace_core::wire::{encap, ip};
use airpace_edge::tunnel::{InnerKind, MAX_PEERS, Received, Timing, TunnelConfig};
use airpace_net::clock::Clock;
use airpace_net::netlink::RouteEvents;
use airpace_net::signals::Signals;
use airpace_net::udp::{ReceiveBatch, TrafficClass, UdpOptions, UdpSocket};
use airpace_units::Time;
use anyhow::Context as _;
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use ipnet::IpNet;

// The configuration refuses what the tunnel would panic at.
const _: () = assert!(MAX_STATIONS == MAX_PEERS);

/// Runs the proxy in the network namespace of the calling thread until `stop` becomes readable (see
/// [`Stop`]).
///
/// It creates the interface and the socket. Both are gone when it returns or the process ends. It
/// also logs the totals that it returns. When `hangup` receives a signal (SIGHUP), the telemetry file
/// is opened again.
///
/// # Errors
/// The configuration is contradictory, the key cannot be read, or the system refuses the interface
/// or the socket.
pub fn run_proxy(
    config: &ProxyConfig,
    stop: Stop<'_>,
    hangup: Option<&Signals>,
) -> anyhow::Result<Totals> {
    config.validate()?;
    let key_pair = KeyPair::load(&config.key_source()?)?;
    let (clock, epoch) = runtime::start_clock();
    // The agents choose the cipher of their sessions.
    let crypto = NoiseIk::new(key_pair, Cipher::default());
    let mut peers = Vec::with_capacity(config.station.len());
    for station in &config.station {
        let preshared_key_file = station.preshared_key_file.as_deref();
        peers.push(keys::peer(station.public_key, preshared_key_file)?);
    }
    let mtu = runtime::mtu(&config.tun);
    let tunnel_config = TunnelConfig {
        peers,
        connect_to: None,
        epoch,
        probe_for: Some(mtu),
        timing: Timing::default(),
    };
    let tunnel = Tunnel::new(crypto, tunnel_config);
    let packets = PacketProxy::new(config, epoch, random_key())?;
    let device = Device::open(&config.tun, &routes_to_stations(config), None)?;
    let options = UdpOptions {
        stamp: false,
        ..UdpOptions::default()
    };
    let socket = UdpSocket::bind(config.listen, options)
        .with_context(|| format!("listening on {}", config.listen))?;
    socket
        .allow_fragments()
        .context("allowing datagrams to be cut into fragments")?;
    let events = RouteEvents::open()?;
    let journal = Journal::open(config.telemetry.as_deref(), config.telemetry_limit.0.0)?;
    tracing::info!(event = "proxy-started", listen = %config.listen, interface = %device.name(), stations = config.station.len(), "proxy");
    let mut proxy = RunningProxy {
        addresses: config
            .station
            .iter()
            .map(|station| station.address)
            .collect(),
        padding: vec![0; 65_536],
        batch: Batch::new(),
        spoofed: 0,
        falsely_marked: 0,
        mtu,
        restoration: Restoration::new(events),
        next_path_check: Time::ZERO,
        copy_dscp: config.tun.copy_dscp,
        next_session_check: Time::ZERO,
        present: 0,
        tunnel,
        packets,
        device,
        socket,
        journal,
        detail: config.telemetry_detail,
        told_dropped: Growth::default(),
        told_refused: Growth::default(),
    };
    proxy.run(clock, config.realtime, stop, hangup)?;
    proxy.end_rows();
    Ok(proxy.log_end())
}

/// The networks of stations that the kernel does not route into the tunnel already, because of the
/// interface's own addresses.
fn routes_to_stations(config: &ProxyConfig) -> Vec<IpNet> {
    let is_connected = |network: &IpNet| config.tun.networks().any(|own| own.contains(network));
    let networks = config.station.iter().flat_map(|station| &station.networks);
    networks
        .filter(|network| !is_connected(network))
        .copied()
        .collect()
}

/// Silence after which a station counts as gone although its session has not ended. Both ends send
/// at least once a second ([`Timing::keepalive`]), so ten datagrams would have to be lost in a row.
const GONE_AFTER: Duration = Duration::from_secs(10);

/// Whether a station is present: it has a session, and something came from it recently.
fn is_present(tunnel: &Tunnel, now: Time, station: usize) -> bool {
    tunnel.is_alive(now, station, GONE_AFTER)
}

/// The proxy with everything that it has opened.
struct RunningProxy {
    tunnel: Tunnel,
    packets: PacketProxy,
    device: Device,
    socket: UdpSocket,
    batch: Batch,
    journal: Journal,
    detail: TelemetryDetail,
    told_dropped: Growth,
    told_refused: Growth,
    /// Address of each station.
    addresses: Vec<IpAddr>,
    /// Payload of load datagrams.
    padding: Vec<u8>,
    /// Packets from a station whose source is not one of its own addresses.
    spoofed: u64,
    /// Largest packet on the interface, bytes.
    mtu: u16,
    restoration: Restoration,
    next_path_check: Time,
    /// Packets that were marked on their way although their transport is not ECN-capable.
    falsely_marked: u64,
    /// Whether the outer header has the packet's code point.
    copy_dscp: bool,
    next_session_check: Time,
    /// Stations that were present at the last check.
    present: usize,
}

impl RunningProxy {
    /// Runs until the stop file becomes readable.
    fn run(
        &mut self,
        clock: Clock,
        realtime: bool,
        stop: Stop<'_>,
        hangup: Option<&Signals>,
    ) -> anyhow::Result<()> {
        let mut wait = Loop::new(clock, realtime, stop, &self.device, &self.socket)?;
        wait.add_hangup(hangup)?;
        wait.add_route_events(self.restoration.events())?;
        let mut received = ReceiveBatch::new(16, 65_536);
        let mut told = None;
        loop {
            let now = clock.now();
            self.on_time(now);
            if told != Some(self.present) {
                told = Some(self.present);
                let (present, all) = (self.present, self.addresses.len());
                wait.tell_status(format!("{present} of {all} stations are connected"));
            }
            let blocked = !self.send(now);
            // While the socket is full, the pacers' deadlines would only spin the loop.
            let deadline = if blocked {
                self.tunnel.deadline()
            } else {
                self.deadline()
            };
            let ready = wait.wait(&self.socket, deadline, blocked)?;
            if ready.stop {
                break;
            }
            if ready.hangup && runtime::was_hung_up(hangup)? {
                self.journal.reopen();
            }
            if ready.socket {
                self.receive(clock.now(), &mut received);
            }
            if ready.routes {
                self.restoration.take_events();
            }
            if ready.device {
                self.device.read(clock.now(), &mut self.packets)?;
            }
        }
        Ok(())
    }

    fn deadline(&self) -> Option<Time> {
        [self.tunnel.deadline(), self.packets.deadline()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Does what is due: timers, sessions that have ended, telemetry.
    fn on_time(&mut self, now: Time) {
        self.tunnel.handle_timeout(now);
        self.packets.handle_timeout(now);
        self.restoration.restore(now, &mut self.device);
        if now >= self.next_path_check {
            self.next_path_check = now + runtime::PATH_CHECK;
            let count = self.addresses.len();
            runtime::limit_packets(&self.socket, &self.tunnel, count, self.mtu);
        }
        if now >= self.next_session_check {
            // Sessions end without an event.
            self.next_session_check = now + runtime::SESSION_CHECK;
            self.present = 0;
            for station in 0..self.addresses.len() {
                let present = is_present(&self.tunnel, now, station);
                self.present += usize::from(present);
                self.packets.set_connected(now, station, present);
            }
        }
        while let Some(warning) = self.tunnel.poll_warning() {
            warnings::log(warning, self.tunnel.counts(), |peer| {
                self.addresses[peer].to_string()
            });
        }
        self.tell_of_refusals(now);
        while let Some(record) = self.packets.poll_record() {
            match self.detail {
                TelemetryDetail::Slots => self.journal.write(&record),
                TelemetryDetail::Summary => self.journal.write_compact(&record),
            }
        }
    }

    /// Tells of datagrams and reports that were refused since this was last told.
    fn tell_of_refusals(&mut self, now: Time) {
        warnings::tell_of_drops(now, &mut self.told_dropped, self.tunnel.counts());
        let malformed = self.packets.counts().bad_reports;
        if let Some(refused) = self.told_refused.take(now, malformed) {
            tracing::warn!(
                event = "reports-refused",
                refused,
                malformed,
                "reports of agents cannot be read: install the same release of airpace at both ends"
            );
        }
    }

    /// Writes the summaries that have not ended.
    fn end_rows(&mut self) {
        while let Some(record) = self.packets.poll_last_record() {
            self.journal.write_compact(&record);
        }
    }

    /// Sends everything that may leave now; returns `false` if the socket's buffer is full.
    fn send(&mut self, now: Time) -> bool {
        loop {
            let mut more = false;
            while self.batch.has_room(runtime::MAX_PAYLOAD) {
                // First what is the tunnel's own: handshakes, keepalives, probes.
                if let Some(datagram) = self.tunnel.poll() {
                    self.batch.push(datagram);
                } else if let Some(output) = self.packets.poll(now) {
                    self.seal(now, output);
                } else {
                    break;
                }
                more = true;
            }
            if !self.batch.flush(&self.socket) {
                return false;
            }
            if !more {
                return true;
            }
        }
    }

    /// Seals a packet or load into the batch.
    fn seal(&mut self, now: Time, output: Output) {
        // Without a session it is lost; the proxy learns of that at the next check of sessions.
        match output {
            Output::Packet {
                station,
                packet,
                priority,
            } => {
                let payload = packet.as_bytes();
                let kind = InnerKind::Packet;
                let own = encap::outer_class(payload, self.copy_dscp);
                let class = TrafficClass(encap::with_priority(own, priority));
                let _ = self
                    .batch
                    .seal(now, &mut self.tunnel, station, kind, payload, class);
                self.packets.pool().put(packet);
            }
            Output::Load { station, body } => {
                let body = &self.padding[..body.min(self.padding.len())];
                let kind = InnerKind::Padding;
                let class = TrafficClass::DEFAULT;
                let _ = self
                    .batch
                    .seal(now, &mut self.tunnel, station, kind, body, class);
            }
        }
    }

    /// Takes datagrams from the socket.
    fn receive(&mut self, now: Time, received: &mut ReceiveBatch) {
        // An error of the network, such as an unreachable agent, concerns datagrams sent earlier.
        if self.socket.receive(received).is_err() {
            return;
        }
        for message in received.iter_mut() {
            let (from, class) = (message.from, message.class);
            for datagram in message.bytes.chunks_mut(message.segment) {
                self.on_datagram(now, from, class, datagram);
            }
        }
        self.device.flush();
    }

    /// Handles a datagram: packets go to the interface, reports to the proxy.
    fn on_datagram(
        &mut self,
        now: Time,
        from: SocketAddr,
        class: TrafficClass,
        datagram: &mut [u8],
    ) {
        let bytes = u32::try_from(datagram.len()).unwrap_or(u32::MAX);
        let Received::Data(opened) = self.tunnel.handle(now, from, datagram) else {
            return;
        };
        self.packets.set_connected(now, opened.peer, true);
        self.packets.on_uplink(
            now,
            opened.peer,
            bytes.saturating_add(IPV4_UDP_HEADER_BYTES),
        );
        match opened.kind {
            InnerKind::Packet => {
                // A station may only send under its own addresses.
                let owner = ip::source(opened.payload).and_then(|at| self.packets.station_of(at));
                if owner != Some(opened.peer) {
                    self.spoofed += 1;
                } else if encap::take_ecn(opened.payload, class.0).is_err() {
                    self.falsely_marked += 1;
                } else {
                    // What the station announces limits what it will be sent on this path.
                    let path = self.tunnel.longest_payload(opened.peer);
                    runtime::clamp_mss(opened.payload, path, self.mtu);
                    self.device.write(opened.payload);
                }
            }
            InnerKind::Report => self.packets.on_report(now, opened.peer, opened.payload),
            // The tunnel has taken what there is to take.
            InnerKind::Padding
            | InnerKind::Keepalive
            | InnerKind::Probe
            | InnerKind::ProbeReply => {}
        }
    }

    /// Logs what was counted in the whole run, and returns it.
    fn log_end(&self) -> Totals {
        let (counts, tunnel) = (self.packets.counts(), self.tunnel.counts());
        tracing::info!(
            event = "proxy-ended",
            received = tunnel.data,
            hostile = tunnel.dropped(),
            refused_by_network = self.batch.refused,
            refused_by_kernel = self.device.refused,
            spoofed = self.spoofed,
            falsely_marked = self.falsely_marked,
            unroutable = counts.unroutable,
            away = counts.away,
            bad_reports = counts.bad_reports,
            telemetry_left_out = self.packets.records_left_out(),
            telemetry_lost = self.journal.lost(),
            corrected_reports = counts.corrected_reports,
            surplus_reports = counts.surplus_reports,
            contradictory_reports = self.packets.diagnostics().ignored_reports,
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
