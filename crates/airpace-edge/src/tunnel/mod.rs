//! The tunnel: sealed datagrams between a proxy and its agents.
//!
//! Keys are agreed on by a Noise IK handshake between static keys. Data is sealed with the agreed
//! keys under explicit 64-bit counters (Noise, section 11.4), so loss and reordering do no harm,
//! and a window refuses replays (RFC 6479). The agent initiates, the proxy responds. A session is
//! replaced before it ends, and both are accepted for a while. A peer's address follows its
//! authentic data, so agents may roam.
//!
//! A datagram that is not authentic is never answered, and nothing is stored for it: it is dropped
//! and counted by [`Reason`]. An initiation costs one short hash unless its sender knows the
//! receiver's public key; if he does, the number that is processed per second is limited. What
//! remains possible: an attacker who records an initiation and replays it after the proxy has
//! restarted, before the agent's next one, obtains one response that he cannot use.
//!
//! The cryptography itself is a type parameter, [`Crypto`]. Nothing is allocated per datagram: data
//! is sealed and opened in place. The caller owns clock and socket: it passes the time and each
//! datagram to [`Tunnel::handle`], calls [`Tunnel::handle_timeout`] at [`Tunnel::deadline`], and
//! after either sends what [`Tunnel::poll`] returns.

mod config;
mod counts;
mod crypto;
mod frame;
mod gate;
mod peer;
mod session;

pub use airpace_core::wire::data::{InnerKind, SendTime};
pub use config::{MAX_PEERS, Timing, TunnelConfig};
pub use counts::{Counts, Reason};
pub use crypto::{Crypto, HandshakeCheck, Initiation, SessionKeys, StaticPublicKey, TransportKey};
pub use frame::{
    CHECK_BYTES, INITIATION_NOISE_BYTES, RESPONSE_NOISE_BYTES, SEAL_HEAD, SEAL_TAIL, STAMP_BYTES,
};

use airpace_core::wire::data;
use airpace_units::Time;
use core::net::SocketAddr;
use core::time::Duration;
use frame::{Checked, DataHeader, Frame, InitiationFrame, ResponseFrame};
use gate::{HandshakeLimiter, ProcessedInitiations};
use peer::Peer;
use session::IndexPair;
use std::collections::{BTreeMap, VecDeque};

/// A peer's position in [`TunnelConfig::peers`].
pub type PeerIdx = usize;

/// The result of handling a datagram.
#[derive(PartialEq, Eq, Debug)]
pub enum Received<'a> {
    /// Authentic data.
    Data(Opened<'a>),
    /// A handshake with this peer was completed (at the initiator) or answered (at the responder).
    Handshake(PeerIdx),
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

/// A datagram that the tunnel itself wants sent: a handshake message or a keepalive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transmit {
    /// The destination.
    pub to: SocketAddr,
    /// The datagram.
    pub bytes: Vec<u8>,
}

/// Something that the operator should know, at most once a minute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Warning {
    /// A handshake message is older than the last one of the same peer and is not a repetition that
    /// this process has seen. Most likely the peer's clock went back, and it will be refused until
    /// its clock has passed its last handshake.
    OldHandshake {
        /// The peer that made it.
        peer: PeerIdx,
        /// Where it came from.
        from: SocketAddr,
    },
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

/// How often timers are examined: fine enough for [`Timing`], and cheap with many peers.
const TICK: Duration = Duration::from_millis(50);

/// Least time between two warnings.
const WARNING_INTERVAL: Duration = Duration::from_secs(60);

/// One end of the tunnel. See the [module's description](self).
pub struct Tunnel<C: Crypto> {
    crypto: C,
    config: TunnelConfig,
    /// The check of handshake messages to this end.
    check: C::Check,
    limiter: HandshakeLimiter,
    processed: ProcessedInitiations,
    peers: Vec<Peer<C>>,
    by_key: BTreeMap<StaticPublicKey, PeerIdx>,
    outbox: VecDeque<Transmit>,
    next_tick: Time,
    /// The time stamp of this end's latest initiation.
    last_stamp: u64,
    warning: Option<Warning>,
    next_warning: Time,
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
        for (idx, key) in config.peers.iter().enumerate() {
            peers.push(Peer::new(crypto.check_for(key), config.connect_to));
            by_key.insert(*key, idx);
        }
        Self {
            check: crypto.check_for(&crypto.public_key()),
            limiter: HandshakeLimiter::new(crypto.random_key()),
            processed: ProcessedInitiations::new(),
            peers,
            by_key,
            outbox: VecDeque::new(),
            next_tick: Time::ZERO,
            last_stamp: 0,
            warning: None,
            next_warning: Time::ZERO,
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
    pub const fn poll_warning(&mut self) -> Option<Warning> {
        self.warning.take()
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
        let timing = self.config.timing;
        for idx in 0..self.peers.len() {
            self.peers[idx].expire(now, &timing);
            // If the responder renewed sessions too, both ends would do so at the same instant
            // (WireGuard whitepaper, section 6.2).
            if self.is_initiator() && self.peers[idx].wants_handshake(now, &timing) {
                self.initiate(now, idx);
            }
            if self.peers[idx].wants_keepalive(now, &timing) {
                self.send_keepalive(now, idx);
            }
        }
    }

    /// Starts a new handshake at once, for instance because the network has changed. Without effect
    /// at the responder.
    pub fn restart(&mut self, now: Time, peer: PeerIdx) {
        if self.is_initiator() && peer < self.peers.len() {
            self.peers[peer].reset_attempts(now);
            self.initiate(now, peer);
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
        let mut bytes = vec![0; SEAL_HEAD + SEAL_TAIL];
        // Without a session there is nothing to keep alive.
        if let Ok(to) = self.seal(now, idx, InnerKind::Keepalive, &mut bytes) {
            self.outbox.push_back(Transmit { to, bytes });
        }
    }

    fn initiate(&mut self, now: Time, idx: PeerIdx) {
        let Some(to) = self.peers[idx].initiation_to(self.config.connect_to) else {
            return;
        };
        let stamp = self.next_stamp(now);
        let random = self.crypto.random_u32();
        let peer = &mut self.peers[idx];
        let index = peer.index_for_pending(idx, random);
        let mut noise = [0; INITIATION_NOISE_BYTES];
        let handshake =
            self.crypto
                .initiate(&self.config.peers[idx], &stamp.to_le_bytes(), &mut noise);
        let header = data::first_handshake_header(index);
        let bytes = frame::handshake(&header, &noise, &peer.check, self.crypto.suite());
        // The number serves twice, which does no harm: the index is no secret, and takes its low 16
        // bits; the jitter depends on the high ones.
        peer.set_pending(now, handshake, index, &self.config.timing, random);
        self.outbox.push_back(Transmit { to, bytes });
    }

    /// A time stamp for an initiation, greater than all before.
    fn next_stamp(&mut self, now: Time) -> u64 {
        let epoch = u64::try_from(self.config.epoch.as_nanos()).unwrap_or(u64::MAX);
        // The responder refuses stamps that are not greater, even if the wall clock was set back in
        // between.
        self.last_stamp = epoch
            .saturating_add(now.as_nanos())
            .max(self.last_stamp.saturating_add(1));
        self.last_stamp
    }

    fn on_initiation(
        &mut self,
        now: Time,
        from: SocketAddr,
        frame: &InitiationFrame<'_>,
    ) -> Result<PeerIdx, Reason> {
        // The end that connects expects no initiations.
        if self.is_initiator() {
            return Err(Reason::Kind);
        }
        // From here on each step costs more than the one before.
        let suite = self.verify_check(frame.checked)?;
        // Repetitions must not use up the limits that are meant for new ones.
        if self.processed.contains(frame.checked.check) {
            return Err(Reason::OldHandshake);
        }
        let known = self.peers.iter().any(|peer| peer.endpoint == Some(from));
        if !self.limiter.admit(now, from, known) {
            return Err(Reason::Limited);
        }
        let initiation = self
            .crypto
            .open_initiation(suite, frame.noise)
            .ok_or(Reason::Handshake)?;
        let idx = *self.by_key.get(&initiation.peer).ok_or(Reason::Stranger)?;
        self.processed.insert(frame.checked.check);
        // A replay would cost the peer's genuine unconfirmed session (WireGuard whitepaper, section
        // 5.1).
        let stamp = u64::from_le_bytes(initiation.stamp);
        if stamp <= self.peers[idx].greatest_stamp {
            self.warn_of_old_handshake(now, from, idx);
            return Err(Reason::OldHandshake);
        }
        self.peers[idx].greatest_stamp = stamp;
        self.respond(now, from, idx, frame.sender, suite, initiation.responder)
    }

    fn respond(
        &mut self,
        now: Time,
        to: SocketAddr,
        idx: PeerIdx,
        sender: data::SessionIndex,
        suite: C::Suite,
        responder: C::Responder,
    ) -> Result<PeerIdx, Reason> {
        let random = self.crypto.random_u32();
        let peer = &mut self.peers[idx];
        let indices = IndexPair {
            own: peer.index_for_next(idx, random),
            peer: sender,
        };
        let mut noise = [0; RESPONSE_NOISE_BYTES];
        let keys = self
            .crypto
            .respond(responder, &mut noise)
            .ok_or(Reason::Handshake)?;
        let header = data::second_handshake_header(indices.own, indices.peer);
        let bytes = frame::handshake(&header, &noise, &peer.check, suite);
        // The peer's address stays as it is: only data proves that the initiation was not recorded
        // and sent from elsewhere.
        peer.set_next(now, keys, indices);
        self.outbox.push_back(Transmit { to, bytes });
        Ok(idx)
    }

    fn verify_check(&self, checked: Checked<'_>) -> Result<C::Suite, Reason> {
        self.check
            .verify(checked.message, checked.check)
            .ok_or(Reason::Check)
    }

    /// The message is not a repetition of one that this process has seen, so most likely the peer's
    /// clock went back. Without this warning the cause would stay hidden.
    fn warn_of_old_handshake(&mut self, now: Time, from: SocketAddr, peer: PeerIdx) {
        if now >= self.next_warning {
            self.next_warning = now + WARNING_INTERVAL;
            self.warning = Some(Warning::OldHandshake { peer, from });
        }
    }

    fn on_response(
        &mut self,
        now: Time,
        from: SocketAddr,
        frame: &ResponseFrame<'_>,
    ) -> Result<PeerIdx, Reason> {
        self.verify_check(frame.checked)?;
        let idx = peer::owner(frame.receiver);
        let peer = self.peers.get_mut(idx).ok_or(Reason::Session)?;
        peer.finish(now, from, &self.crypto, frame)?;
        self.counts.handshakes += 1;
        // The responder does not use the session until it has received data in it (WireGuard
        // whitepaper, section 6.3: key confirmation).
        self.send_keepalive(now, idx);
        Ok(idx)
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
        if newest {
            peer.endpoint = Some(from);
        }
        peer.last_received = Some(now);
        if peer.confirm(header.receiver) {
            self.counts.handshakes += 1;
        }
        self.counts.data += 1;
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

#[cfg(test)]
mod tests;
