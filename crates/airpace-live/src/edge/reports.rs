//! Reports of agents on stations: datagrams of the tunnel that carry no traffic.

use super::frame::FrameBuf;
use crate::batch::Batch;
use crate::crypto::{NoiseIk, Tunnel};
use crate::keys::{self, KeyPair};
use crate::runtime;
use crate::warnings::{self, Growth};
use airpace_api::config::{Cipher, EdgeConfig};
use airpace_api::mac::MacAddress;
use airpace_core::wire::ieee80211::MacAddr;
use airpace_core::wire::report;
use airpace_edge::inline::Inline;
use airpace_edge::tunnel::{InnerKind, PeerIdx, Received, Timing, TunnelConfig};
use airpace_net::clock::Clock;
use airpace_net::udp::{ReceiveBatch, UdpOptions, UdpSocket};
use airpace_units::{StationId, Time};
use anyhow::Context as _;
use std::os::fd::{AsFd, BorrowedFd};

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
    refused: RefusedReports,
    told_refused: Growth,
    told_dropped: Growth,
}

/// Authentic reports that were refused, by reason.
#[derive(Clone, Copy, Debug, Default)]
struct RefusedReports {
    /// They cannot be read.
    malformed: u64,
    /// The station has not been heard at an access point's port.
    unheard: u64,
    /// They repeat the one before.
    repeated: u64,
}

impl RefusedReports {
    const fn total(&self) -> u64 {
        self.malformed + self.unheard + self.repeated
    }
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
        tracing::info!(event = "reports-started", listen = %agents.listen, agents = stations.len(), "reports");
        Ok(Some(Self {
            // The agents choose the cipher of their sessions.
            tunnel: Tunnel::new(NoiseIk::new(key_pair, Cipher::default()), tunnel_config),
            clock,
            socket,
            room: ReceiveBatch::new(16, 2_048),
            batch: Batch::new(),
            stations,
            refused: RefusedReports::default(),
            told_refused: Growth::default(),
            told_dropped: Growth::default(),
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
            warnings::log(warning, self.tunnel.counts(), station);
        }
        warnings::tell_of_drops(now, &mut self.told_dropped, self.tunnel.counts());
        if let Some(refused) = self.told_refused.take(now, self.refused.total()) {
            let RefusedReports {
                malformed,
                unheard,
                repeated,
            } = self.refused;
            tracing::warn!(
                event = "reports-refused",
                refused,
                malformed,
                unheard,
                repeated,
                "reports of agents were refused: unheard are those of stations whose frames have not come through an access point's port (is `mac` right, and does their traffic pass the box?)"
            );
        }
    }

    /// Datagrams and authentic reports that were refused since the start.
    pub(super) fn refused(&self) -> u64 {
        self.tunnel.counts().dropped() + self.refused.total()
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
                let mac = self.stations[opened.peer];
                match report::decode(StationId(0), opened.payload) {
                    Err(_) => self.refused.malformed += 1,
                    Ok(_) if !inline.knows(mac) => self.refused.unheard += 1,
                    Ok(report) => {
                        let is_taken = inline.on_report(now, mac, report);
                        self.refused.repeated += u64::from(!is_taken);
                    }
                }
            }
        }
    }

    /// Logs what was counted in the whole run.
    pub(super) fn log_end(&self) {
        let tunnel = self.tunnel.counts();
        tracing::info!(
            event = "reports-ended",
            received = tunnel.data,
            handshakes = tunnel.handshakes,
            hostile = tunnel.dropped(),
            bad_reports = self.refused.total(),
            "reports end"
        );
        runtime::log_drops(tunnel);
    }
}
