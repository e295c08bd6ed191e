//! Reports of agents on stations: datagrams of the tunnel that carry no traffic.

use super::frame::FrameBuf;
use crate::batch::Batch;
use crate::crypto::{NoiseIk, Tunnel};
use crate::keys::{self, KeyPair};
use crate::{runtime, warnings};
use airpace_api::config::{Cipher, EdgeConfig};
use airpace_api::mac::MacAddress;
use airpace_core::wire::ieee80211::MacAddr;
use airpace_core::wire::report;
use airpace_edge::inline::Inline;
use airpace_edge::tunnel::{InnerKind, PeerIdx, Reason, Received, Timing, TunnelConfig};
use airpace_net::clock::Clock;
use airpace_net::udp::{ReceiveBatch, UdpOptions, UdpSocket};
use airpace_units::{StationId, Time};
use anyhow::Context as _;
use core::time::Duration;
use std::os::fd::{AsFd, BorrowedFd};

/// Least time between two messages about datagrams that were dropped.
const TELL_EVERY: Duration = Duration::from_secs(60);

/// Waits for the reports of agents.
pub(super) struct Reports {
    tunnel: Tunnel,
    /// The tunnel's clock, which goes on while the machine is suspended; that of the box stands still.
    clock: Clock,
    socket: UdpSocket,
    room: ReceiveBatch,
    batch: Batch,
    /// The station of each agent, in the order of the tunnel's peers.
    stations: Vec<MacAddr>,
    /// Authentic reports that were malformed, or of stations that are not known.
    bad: u64,
    /// Datagrams dropped until it was last told.
    told_dropped: u64,
    next_tell: Time,
}

impl Reports {
    /// Opens the socket; `None` if no agents are configured.
    pub(super) fn open(config: &EdgeConfig) -> anyhow::Result<Option<Self>> {
        let Some(agents) = &config.agents else {
            return Ok(None);
        };
        let key_pair = KeyPair::load(&agents.key_source()?)?;
        let (clock, epoch) = runtime::start_clock();
        let mut stations = Vec::new();
        let mut peers = Vec::new();
        for station in &config.station {
            if let Some(key) = station.public_key {
                stations.push(MacAddr(station.mac.0));
                peers.push(keys::peer(key, station.preshared_key_file.as_deref())?);
            }
        }
        let tunnel_config = TunnelConfig {
            peers,
            connect_to: None,
            epoch,
            probe_for: None,
            timing: Timing::default(),
        };
        let options = UdpOptions {
            stamp: false,
            join: false,
            ..UdpOptions::default()
        };
        let socket = UdpSocket::bind(agents.listen, options)
            .with_context(|| format!("listening for reports of agents on {}", agents.listen))?;
        tracing::info!(listen = %agents.listen, agents = stations.len(), "reports");
        Ok(Some(Self {
            // The agents choose the cipher of their sessions.
            tunnel: Tunnel::new(NoiseIk::new(key_pair, Cipher::default()), tunnel_config),
            clock,
            socket,
            room: ReceiveBatch::new(16, 2_048),
            batch: Batch::new(),
            stations,
            bad: 0,
            told_dropped: 0,
            next_tell: Time::ZERO,
        }))
    }

    /// The socket, to be waited for.
    pub(super) fn file(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Does what is due: sessions, answers to handshakes, messages to the operator.
    pub(super) fn on_time(&mut self, now: Time) {
        self.tunnel.handle_timeout(self.clock.now());
        while self.batch.has_room(runtime::MAX_PAYLOAD)
            && let Some(datagram) = self.tunnel.poll()
        {
            self.batch.push(datagram);
        }
        // Whoever misses an answer asks again.
        let _ = self.batch.flush(&self.socket);
        while let Some(warning) = self.tunnel.poll_warning() {
            let station = |peer: PeerIdx| MacAddress(self.stations[peer].0).to_string();
            warnings::log(warning, station);
        }
        self.tell_of_drops(now);
    }

    /// Tells of datagrams that were dropped since this was last told, at most once a minute.
    fn tell_of_drops(&mut self, now: Time) {
        let counts = self.tunnel.counts();
        let dropped = counts.dropped();
        if dropped == self.told_dropped || now < self.next_tell {
            return;
        }
        self.next_tell = now.saturating_add(TELL_EVERY);
        let reasons: Vec<String> = Reason::ALL
            .into_iter()
            .filter(|&reason| counts.dropped_for(reason) > 0)
            .map(|reason| format!("{}: {}", reason.name(), counts.dropped_for(reason)))
            .collect();
        tracing::warn!(
            dropped = dropped - self.told_dropped,
            since_start = reasons.join(", "),
            "datagrams to the port for reports were dropped"
        );
        self.told_dropped = dropped;
    }

    /// Takes the datagrams that have come, and hands reports to the box.
    pub(super) fn receive(&mut self, now: Time, inline: &mut Inline<FrameBuf>) {
        // An error of the network, such as an unreachable agent, concerns datagrams sent earlier.
        if self.socket.receive(&mut self.room).is_err() {
            return;
        }
        let tunnel_now = self.clock.now();
        for message in self.room.iter_mut() {
            for datagram in message.bytes.chunks_mut(message.segment) {
                let received = self.tunnel.handle(tunnel_now, message.from, datagram);
                let Received::Data(opened) = received else {
                    continue;
                };
                // Keepalives say nothing, and there is no traffic in this mode.
                if opened.kind != InnerKind::Report {
                    continue;
                }
                // The seat of the station, and so its number, is known to the box alone.
                let is_taken = match report::decode(StationId(0), opened.payload) {
                    Ok(report) => inline.on_report(now, self.stations[opened.peer], report),
                    Err(_) => false,
                };
                self.bad += u64::from(!is_taken);
            }
        }
    }

    /// Logs what was counted in the whole run.
    pub(super) fn log_end(&self) {
        let tunnel = self.tunnel.counts();
        tracing::info!(
            received = tunnel.data,
            handshakes = tunnel.handshakes,
            hostile = tunnel.dropped(),
            bad_reports = self.bad,
            "reports end"
        );
        runtime::log_drops(tunnel);
    }
}
