//! The tunnel: sealed datagrams between a proxy and its agents.
//!
//! Keys are agreed on by a Noise IKpsk2 handshake between static keys. Data is sealed with the agreed
//! keys under explicit 64-bit counters (Noise, section 11.4), so loss and reordering do no harm,
//! and a window refuses replays (RFC 6479). The agent initiates, the proxy responds. A session is
//! replaced before it ends, and both are accepted for a while. A peer's address follows its
//! authentic data, so agents may roam.
//!
//! Nothing is stored for a datagram that is not authentic: it is dropped and counted by [`Reason`].
//! None is answered either, with one exception. An initiation costs a few short hashes unless its
//! sender knows the receiver's public key. If there are many whose sender does, their senders are
//! sent a cookie with which they must prove their address, and the number that is processed per
//! second is limited by address. What remains possible: an attacker who records an initiation and
//! replays it after the proxy has restarted, before the agent's next one, obtains one response that
//! he cannot use.
//!
//! The cryptography itself is a type parameter, [`Crypto`]. Nothing is allocated per datagram: data
//! is sealed and opened in place. The caller owns clock and socket: it passes the time and each
//! datagram to [`Tunnel::handle`], calls [`Tunnel::handle_timeout`] at [`Tunnel::deadline`], and
//! after either sends what [`Tunnel::poll`] returns.

mod config;
mod cookie;
mod counts;
mod crypto;
mod frame;
mod gate;
mod handshake;
mod path;
mod peer;
mod session;
mod warning;

pub use airpace_core::wire::data::{InnerKind, SendTime};
pub use config::{MAX_PEERS, PeerConfig, Timing, TunnelConfig};
pub use counts::{Counts, Reason};
pub use crypto::{
    Crypto, HandshakeCheck, Initiation, PresharedKey, SessionKeys, StaticPublicKey, TransportKey,
};
pub use frame::{
    CHECK_BYTES, COOKIE_BYTES, COOKIE_NONCE_BYTES, INITIATION_NOISE_BYTES, RESPONSE_NOISE_BYTES,
    SEAL_HEAD, SEAL_TAIL, SEALED_COOKIE_BYTES, STAMP_BYTES,
};
pub use warning::Warning;

use airpace_units::Time;
use cookie::CookieSecret;
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use frame::{DataHeader, Frame};
use gate::{HandshakeLimiter, ProcessedInitiations};
use path::PathSearch;
use peer::Peer;
use std::collections::{BTreeMap, VecDeque};
use warning::Warnings;

/// A peer's position in [`TunnelConfig::peers`].
pub type PeerIdx = usize;

/// The result of handling a datagram.
#[derive(PartialEq, Eq, Debug)]
pub enum Received<'a> {
    /// Authentic data.
    Data(Opened<'a>),
    /// A handshake with this peer was completed (at the initiator) or answered (at the responder).
    Handshake(PeerIdx),
    /// This peer has sent a cookie, with which this end proves its address in its next initiation.
    Cookie(PeerIdx),
    /// The datagram was dropped and counted.
    Dropped(Reason),
}

/// Authentic data of a peer.
#[derive(PartialEq, Eq, Debug)]
pub struct Opened<'a> {
    /// The sender.
    pub peer: PeerIdx,
    /// What the payload is.
    pub kind: InnerKind,
    /// The session it came in. Counters of different sessions are unrelated.
    pub session: u32,
    /// How many messages the sender had sealed before this one in the session.
    pub counter: u64,
    /// When it was sealed, by the sender's clock.
    pub sent: SendTime,
    /// The payload, decrypted in place.
    pub payload: &'a mut [u8],
}

/// A datagram that the tunnel itself wants sent: a handshake message, a keepalive or a probe.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transmit {
    /// The destination.
    pub to: SocketAddr,
    /// The datagram.
    pub bytes: Vec<u8>,
    /// Whether it must be lost rather than cut into fragments on its way: it probes the path.
    pub in_one_piece: bool,
}

impl Transmit {
    const fn new(to: SocketAddr, bytes: Vec<u8>) -> Self {
        Self {
            to,
            bytes,
            in_one_piece: false,
        }
    }
}

/// Why a payload could not be sealed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// There is no session with the peer: drop the packet, or wait.
    #[error("there is no session with the peer")]
    NoSession,
    /// The datagram has no room for head and tail.
    #[error(
        "a datagram to be sealed needs {SEAL_HEAD} bytes of room in front and {SEAL_TAIL} behind"
    )]
    NoRoom,
}

/// Bytes of the IP and UDP headers around a datagram.
const IPV4_UDP_HEADER_BYTES: u16 = 20 + 8;
const IPV6_UDP_HEADER_BYTES: u16 = 40 + 8;

/// How often timers are examined: fine enough for [`Timing`], and cheap with many peers.
const TICK: Duration = Duration::from_millis(50);

/// One end of the tunnel. See the [module's description](self).
pub struct Tunnel<C: Crypto> {
    crypto: C,
    config: TunnelConfig,
    /// The check of handshake messages to this end.
    check: C::Check,
    limiter: HandshakeLimiter,
    processed: ProcessedInitiations,
    cookies: CookieSecret,
    peers: Vec<Peer<C>>,
    by_key: BTreeMap<StaticPublicKey, PeerIdx>,
    /// How many peers were last heard from at each address, at the responder.
    endpoints: BTreeMap<SocketAddr, usize>,
    outbox: VecDeque<Transmit>,
    next_tick: Time,
    /// The time stamp of this end's latest initiation.
    last_stamp: u64,
    warnings: Warnings,
    counts: Counts,
}

impl<C: Crypto> Tunnel<C> {
    /// One end of a tunnel, without sessions.
    ///
    /// # Panics
    /// With more than [`MAX_PEERS`] peers.
    #[must_use]
    pub fn new(mut crypto: C, config: TunnelConfig) -> Self {
        assert!(
            config.peers.len() <= MAX_PEERS,
            "a tunnel has at most {MAX_PEERS} peers"
        );
        let mut peers = Vec::with_capacity(config.peers.len());
        let mut by_key = BTreeMap::new();
        for (idx, peer) in config.peers.iter().enumerate() {
            let check = crypto.check_for(&peer.public_key);
            let path = config.probe_for.map(|payload| {
                PathSearch::new(payload.saturating_add((SEAL_HEAD + SEAL_TAIL) as u16))
            });
            peers.push(Peer::new(
                check,
                peer.preshared_key,
                config.connect_to,
                path,
            ));
            by_key.insert(peer.public_key, idx);
        }
        Self {
            check: crypto.check_for(&crypto.public_key()),
            limiter: HandshakeLimiter::new(crypto.random_key()),
            processed: ProcessedInitiations::new(),
            cookies: CookieSecret::new(crypto.random_key()),
            peers,
            by_key,
            endpoints: BTreeMap::new(),
            outbox: VecDeque::new(),
            next_tick: Time::ZERO,
            last_stamp: 0,
            warnings: Warnings::default(),
            counts: Counts::default(),
            crypto,
            config,
        }
    }

    /// Takes a datagram from the network. Data is decrypted in place.
    pub fn handle<'a>(
        &mut self,
        now: Time,
        from: SocketAddr,
        datagram: &'a mut [u8],
    ) -> Received<'a> {
        let result = match frame::parse(datagram) {
            Ok(Frame::Data(header)) => self
                .on_data(now, from, header, datagram)
                .map(Received::Data),
            Ok(Frame::Initiation(initiation)) => self
                .on_initiation(now, from, &initiation)
                .map(Received::Handshake),
            Ok(Frame::Response(response)) => self
                .on_response(now, from, &response)
                .map(Received::Handshake),
            Ok(Frame::Cookie(cookie)) => self.on_cookie(now, &cookie).map(Received::Cookie),
            Err(Reason::Version) => Err(self.on_other_version(now, from, datagram)),
            Err(reason) => Err(reason),
        };
        result.unwrap_or_else(|reason| {
            self.counts.drop_for(reason);
            Received::Dropped(reason)
        })
    }

    /// Seals a payload in place, between [`SEAL_HEAD`] and [`SEAL_TAIL`] bytes of room, and returns
    /// where to send it.
    ///
    /// # Errors
    /// There is no session with the peer, or no room. Then nothing was changed.
    pub fn seal(
        &mut self,
        now: Time,
        peer: PeerIdx,
        kind: InnerKind,
        datagram: &mut [u8],
    ) -> Result<SocketAddr, SealError> {
        if datagram.len() < SEAL_HEAD + SEAL_TAIL {
            return Err(SealError::NoRoom);
        }
        let peer = self.peers.get_mut(peer).ok_or(SealError::NoSession)?;
        let to = peer.endpoint.ok_or(SealError::NoSession)?;
        let session = peer
            .sending(now, &self.config.timing)
            .ok_or(SealError::NoSession)?;
        session.seal(now, kind, datagram);
        peer.last_sent = now;
        Ok(to)
    }

    /// Whether data can be sealed for the peer.
    #[must_use]
    pub fn is_connected(&self, now: Time, peer: PeerIdx) -> bool {
        self.peers
            .get(peer)
            .is_some_and(|peer| peer.is_connected(now, &self.config.timing))
    }

    /// Whether there is a session with the peer and something authentic has arrived from it within
    /// the last `silence`.
    #[must_use]
    pub fn is_alive(&self, now: Time, peer: PeerIdx, silence: Duration) -> bool {
        let heard_recently = self
            .last_received(peer)
            .is_some_and(|at| now.saturating_since(at) < silence);
        heard_recently && self.is_connected(now, peer)
    }

    /// When something authentic last arrived from the peer.
    #[must_use]
    pub fn last_received(&self, peer: PeerIdx) -> Option<Time> {
        self.peers.get(peer)?.last_received
    }

    /// Where the peer was last heard from; before that, where it is configured to be.
    #[must_use]
    pub fn endpoint(&self, peer: PeerIdx) -> Option<SocketAddr> {
        self.peers.get(peer)?.endpoint
    }

    /// The longest payload that is known to reach the peer without being cut into fragments; `None`
    /// while nothing is known, or if the path is not probed.
    #[must_use]
    pub fn longest_payload(&self, peer: PeerIdx) -> Option<u16> {
        let datagram = self.peers.get(peer)?.path.as_ref()?.found()?;
        Some(datagram.saturating_sub((SEAL_HEAD + SEAL_TAIL) as u16))
    }

    /// What was received so far.
    #[must_use]
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The next datagram that the tunnel itself wants sent. Drain it after each `handle`,
    /// `handle_timeout` and `restart`.
    pub fn poll(&mut self) -> Option<Transmit> {
        self.outbox.pop_front()
    }

    /// A warning that was not yet taken. It suffices to ask now and then.
    pub fn poll_warning(&mut self) -> Option<Warning> {
        self.warnings.poll()
    }

    /// How many initiations to the peer have remained unanswered since it was last in order.
    #[must_use]
    pub fn unanswered(&self, peer: PeerIdx) -> u32 {
        self.peers.get(peer).map_or(0, Peer::attempts)
    }

    /// When to call [`Tunnel::handle_timeout`] next.
    #[must_use]
    pub const fn deadline(&self) -> Option<Time> {
        Some(self.next_tick)
    }

    /// Renews sessions, repeats handshakes, sends keepalives, and forgets the keys of ended
    /// sessions.
    pub fn handle_timeout(&mut self, now: Time) {
        if now < self.next_tick {
            return;
        }
        self.next_tick = now + TICK;
        self.cookies.renew(now, || self.crypto.random_key());
        let timing = self.config.timing;
        for idx in 0..self.peers.len() {
            self.peers[idx].expire(now, &timing);
            // If the responder renewed sessions too, both ends would do so at the same instant
            // (WireGuard whitepaper, section 6.2).
            if self.is_initiator() && self.peers[idx].wants_handshake(now, &timing) {
                self.attempt(now, idx);
            }
            if self.peers[idx].wants_keepalive(now, &timing) {
                self.send_keepalive(now, idx);
            }
            self.probe_path(now, idx);
        }
    }

    /// Starts a new handshake at once, for instance because the network has changed. Without effect
    /// at the responder.
    pub fn restart(&mut self, now: Time, peer: PeerIdx) {
        if self.is_initiator() && peer < self.peers.len() {
            self.peers[peer].reset_attempts(now);
            self.attempt(now, peer);
        }
    }

    /// Sets where to connect to, because the peer's name has another address now. Without effect at
    /// the responder.
    pub fn set_connect_to(&mut self, to: SocketAddr) {
        let Some(before) = self.config.connect_to else {
            return;
        };
        self.config.connect_to = Some(to);
        for peer in &mut self.peers {
            // An address that the peer itself has shown stays: it may be there still.
            if peer.endpoint == Some(before) {
                peer.endpoint = Some(to);
            }
        }
    }

    /// Updates the wall-clock time since 1970 at [`Time::ZERO`], which changes when the wall clock
    /// is set. Without it, an end that started while its clock was behind would go on sending
    /// stamps older than those of its earlier runs.
    pub const fn set_epoch(&mut self, epoch: Duration) {
        self.config.epoch = epoch;
    }

    const fn is_initiator(&self) -> bool {
        self.config.connect_to.is_some()
    }

    fn send_keepalive(&mut self, now: Time, idx: PeerIdx) {
        self.send_own(now, idx, InnerKind::Keepalive, &[], SEAL_HEAD + SEAL_TAIL);
    }

    /// Sends a message of the tunnel's own: `body`, filled up with zeros to a datagram of `length`
    /// bytes.
    fn send_own(&mut self, now: Time, idx: PeerIdx, kind: InnerKind, body: &[u8], length: usize) {
        let mut bytes = vec![0; length.max(SEAL_HEAD + body.len() + SEAL_TAIL)];
        bytes[SEAL_HEAD..SEAL_HEAD + body.len()].copy_from_slice(body);
        // Without a session there is nothing to keep alive, and no path to probe.
        if let Ok(to) = self.seal(now, idx, kind, &mut bytes) {
            self.outbox.push_back(Transmit {
                in_one_piece: kind == InnerKind::Probe,
                ..Transmit::new(to, bytes)
            });
        }
    }

    /// Sends the probes of the path to a peer that are due.
    fn probe_path(&mut self, now: Time, idx: PeerIdx) {
        let peer = &mut self.peers[idx];
        let (true, Some(to), Some(path)) = (
            peer.is_connected(now, &self.config.timing),
            peer.endpoint,
            peer.path.as_mut(),
        ) else {
            return;
        };
        let headers = match to.ip().to_canonical() {
            IpAddr::V4(_) => IPV4_UDP_HEADER_BYTES,
            IpAddr::V6(_) => IPV6_UDP_HEADER_BYTES,
        };
        for length in path.due(now, headers) {
            self.send_own(now, idx, InnerKind::Probe, &[], usize::from(length));
        }
    }

    /// Answers a probe, or takes the answer to one.
    fn on_probe(&mut self, now: Time, idx: PeerIdx, kind: InnerKind, body: &[u8]) {
        if kind == InnerKind::Probe {
            let length = SEAL_HEAD + body.len() + SEAL_TAIL;
            let length = u16::try_from(length).unwrap_or(u16::MAX).to_le_bytes();
            self.send_own(now, idx, InnerKind::ProbeReply, &length, 0);
        } else if let Ok(length) = body.try_into()
            && let Some(path) = &mut self.peers[idx].path
        {
            path.on_answer(now, u16::from_le_bytes(length));
        }
    }

    fn on_data<'a>(
        &mut self,
        now: Time,
        from: SocketAddr,
        header: DataHeader,
        datagram: &'a mut [u8],
    ) -> Result<Opened<'a>, Reason> {
        let idx = peer::owner(header.receiver);
        let peer = self.peers.get_mut(idx).ok_or(Reason::Session)?;
        let receiving = peer.receiving(now, header, &self.config.timing)?;
        let newest = receiving.newest;
        let plain = receiving.session.open(header.counter, datagram)?;
        // Everything below happens only for authentic data.
        if newest && peer.endpoint != Some(from) {
            move_endpoint(&mut self.endpoints, peer.endpoint.replace(from), from);
            if let Some(path) = &mut peer.path {
                path.restart(now);
            }
        }
        peer.last_received = Some(now);
        if peer.confirm(header.receiver) {
            self.counts.handshakes += 1;
        }
        self.counts.data += 1;
        if matches!(plain.kind, InnerKind::Probe | InnerKind::ProbeReply) {
            self.on_probe(now, idx, plain.kind, plain.body);
        }
        Ok(Opened {
            peer: idx,
            kind: plain.kind,
            session: header.receiver.0,
            counter: header.counter,
            sent: plain.sent,
            payload: plain.body,
        })
    }
}

/// Follows a peer from one address to another.
fn move_endpoint(
    endpoints: &mut BTreeMap<SocketAddr, usize>,
    before: Option<SocketAddr>,
    now_at: SocketAddr,
) {
    if let Some(before) = before
        && let Some(peers) = endpoints.get_mut(&before)
    {
        *peers -= 1;
        if *peers == 0 {
            endpoints.remove(&before);
        }
    }
    *endpoints.entry(now_at).or_default() += 1;
}

#[cfg(test)]
mod tests;
