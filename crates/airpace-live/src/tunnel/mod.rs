//! The tunnel: sealed datagrams between a proxy and its agents, sans-IO.
//!
//! Keys are agreed by Noise IK between static keys (Curve25519, BLAKE2s, ChaCha20-Poly1305 or AES-256-GCM); data is sealed with
//! the agreed keys under explicit 64-bit counters, so that loss and reordering do no harm, and a window keeps replays out.
//! The agent initiates, the proxy responds. A new handshake takes place before a session ends, and both sessions are
//! accepted for a while. The peer's address follows authentic data (roaming).
//!
//! Nothing unauthenticated is answered and nothing is stored for it: it is dropped and counted by [`Reason`]. An initiation
//! costs one short hash unless its sender knows the receiver's public key, and then it is bounded per second. What
//! remains possible: who records an initiation and plays it back after the proxy has restarted, before the agent's next one,
//! gets one response that he cannot use.
//!
//! Nothing is allocated per datagram: data is sealed and opened in place.

mod counts;
mod frame;
mod gate;
mod noise;
mod peer;
mod session;
mod suite;

pub use airpace_core::wire::data::{InnerKind, SendTime};
pub use counts::{Counts, Reason};
pub use frame::{SEAL_HEAD, SEAL_TAIL};

use crate::keys::KeyPair;
use airpace_api::config::Cipher;
use airpace_api::keys::PublicKey;
use airpace_units::Time;
use core::net::SocketAddr;
use core::time::Duration;
use frame::{Frame, Malformed};
use gate::{Check, Limiter, Processed};
use peer::Peer;
use ring::rand::{SecureRandom as _, SystemRandom};
use std::collections::{HashMap, VecDeque};
use suite::Suite;

/// A peer's place in the list that the tunnel was made with.
pub type PeerIdx = usize;

/// When sessions are renewed and peers given up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// Age at which the initiator renews a session. Default 120 s (as WireGuard).
    pub rekey_after: Duration,
    /// Age at which a session ends. Default 180 s (as WireGuard).
    pub reject_after: Duration,
    /// Messages in either direction after which the initiator renews a session. Default 2²⁴, the limit of AES-GCM in RFC 8446, section 5.5.
    pub rekey_after_messages: u64,
    /// Time between the first two attempts of a handshake; it doubles with each further one. Default 500 ms.
    pub retry: Duration,
    /// Longest time between attempts, up to a quarter of it besides: round trips must be shorter. Default 8 s.
    pub retry_limit: Duration,
    /// Silence after which a keepalive is sent. Default 1 s.
    pub keepalive: Duration,
    /// Silence of the peer after which the initiator starts anew. Default 4 s.
    pub dead_after: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            rekey_after: Duration::from_secs(120),
            reject_after: Duration::from_secs(180),
            rekey_after_messages: 1 << 24,
            retry: Duration::from_millis(500),
            retry_limit: Duration::from_secs(8),
            keepalive: Duration::from_secs(1),
            dead_after: Duration::from_secs(4),
        }
    }
}

/// What one end of a tunnel is made from.
#[derive(Clone, Debug)]
pub struct TunnelConfig {
    /// This end's keys.
    pub keys: KeyPair,
    /// The peers that may connect, or the one to connect to.
    pub peers: Vec<PublicKey>,
    /// Where to connect to; `None` for the end that awaits. With an address there is one peer.
    pub connect_to: Option<SocketAddr>,
    /// Cipher of the sessions that this end initiates.
    pub cipher: Cipher,
    /// Wall-clock time since 1970 at [`Time::ZERO`]: initiations carry it, so that old ones can be told from new ones. See
    /// [`Tunnel::set_epoch`].
    pub epoch: Duration,
    /// When sessions are renewed and peers given up.
    pub timing: Timing,
}

/// What a datagram turned out to be.
#[derive(PartialEq, Eq, Debug)]
pub enum Received<'a> {
    /// Authentic data.
    Data(Opened<'a>),
    /// A handshake was completed with this peer (at the initiator) or answered (at the responder).
    Handshake(PeerIdx),
    /// It was dropped and counted.
    Dropped(Reason),
}

/// Authentic data of a peer.
#[derive(PartialEq, Eq, Debug)]
pub struct Opened<'a> {
    /// Who sent it.
    pub peer: PeerIdx,
    /// What it is.
    pub kind: InnerKind,
    /// The session it came in: counters of different sessions have nothing to do with each other.
    pub session: u32,
    /// The sender's count of messages before this one in the session.
    pub counter: u64,
    /// When it was sealed, on the sender's clock.
    pub sent: SendTime,
    /// The payload, decrypted in place.
    pub payload: &'a mut [u8],
}

/// A datagram that the tunnel itself wants sent: handshakes and keepalives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transmit {
    /// Where to.
    pub to: SocketAddr,
    /// The datagram.
    pub bytes: Vec<u8>,
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

/// Peers that one tunnel can have: indices of sessions have 16 bits for 4 sessions of each.
pub const MAX_PEERS: usize = 1 << 14;

/// How often timers are looked at: fine enough for [`Timing`], and cheap with many peers.
const TICK: Duration = Duration::from_millis(50);

/// Time between warnings of old handshakes.
const WARNING_INTERVAL: Duration = Duration::from_secs(60);

/// One end of the tunnel. See the module's description.
pub struct Tunnel {
    config: TunnelConfig,
    /// Of the sessions that this end initiates.
    suite: Suite,
    /// Checks initiations and responses to this end.
    check: Check,
    limiter: Limiter,
    processed: Processed,
    random: SystemRandom,
    peers: Vec<Peer>,
    /// Looked up, never iterated.
    by_key: HashMap<PublicKey, PeerIdx>,
    outbox: VecDeque<Transmit>,
    next_tick: Time,
    last_stamp: u64,
    /// When the next warning of an old handshake may be given.
    next_warning: Time,
    counts: Counts,
}

impl Tunnel {
    /// One end of a tunnel without sessions.
    ///
    /// # Panics
    /// With more than [`MAX_PEERS`] peers, or without a source of randomness.
    #[must_use]
    pub fn new(config: TunnelConfig) -> Self {
        assert!(
            config.peers.len() <= MAX_PEERS,
            "a tunnel has at most {MAX_PEERS} peers"
        );
        let random = SystemRandom::new();
        let mut key = [0; 16];
        random
            .fill(&mut key)
            .expect("Linux has a source of randomness");
        let peers = config
            .peers
            .iter()
            .map(|key| Peer::new(Check::of(key), config.connect_to))
            .collect();
        let by_key = config
            .peers
            .iter()
            .enumerate()
            .map(|(idx, key)| (*key, idx))
            .collect();
        Self {
            suite: Suite::of(config.cipher),
            check: Check::of(&config.keys.public),
            limiter: Limiter::new(key),
            processed: Processed::new(),
            random,
            peers,
            by_key,
            outbox: VecDeque::new(),
            next_tick: Time::ZERO,
            last_stamp: 0,
            next_warning: Time::ZERO,
            counts: Counts::default(),
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
            Ok(Frame::Data { receiver, counter }) => self
                .on_data(now, from, (receiver, counter), datagram)
                .map(Received::Data),
            Ok(Frame::Initiation { sender }) => self
                .on_initiation(now, from, sender, datagram)
                .map(Received::Handshake),
            Ok(Frame::Response { sender, receiver }) => self
                .on_response((now, from), (sender, receiver), datagram)
                .map(Received::Handshake),
            Err(Malformed::Length) => Err(Reason::Length),
            Err(Malformed::Kind) => Err(Reason::Kind),
        };
        result.unwrap_or_else(|reason| {
            self.counts.drop_for(reason);
            Received::Dropped(reason)
        })
    }

    /// Seals a payload in place, between [`SEAL_HEAD`] and [`SEAL_TAIL`] bytes of room, and tells where to send it.
    ///
    /// # Errors
    /// There is no session with the peer, or no room. Nothing has been changed then.
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

    /// Whether there is a session with the peer and something authentic has come within `silence`.
    #[must_use]
    pub fn is_alive(&self, now: Time, peer: PeerIdx, silence: Duration) -> bool {
        let heard = self
            .last_received(peer)
            .is_some_and(|at| now.saturating_since(at) < silence);
        heard && self.is_connected(now, peer)
    }

    /// When something authentic last came from the peer.
    #[must_use]
    pub fn last_received(&self, peer: PeerIdx) -> Option<Time> {
        self.peers.get(peer)?.last_received
    }

    /// Where the peer was last heard from.
    #[must_use]
    pub fn endpoint(&self, peer: PeerIdx) -> Option<SocketAddr> {
        self.peers.get(peer)?.endpoint
    }

    /// What has come in so far.
    #[must_use]
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The next datagram that the tunnel itself wants sent. To be drained after each `handle` and `handle_timeout`.
    pub fn poll(&mut self) -> Option<Transmit> {
        self.outbox.pop_front()
    }

    /// When [`Tunnel::handle_timeout`] is to be called next.
    #[must_use]
    pub const fn deadline(&self) -> Option<Time> {
        Some(self.next_tick)
    }

    /// Renews sessions, repeats handshakes, sends keepalives, forgets keys that are over.
    pub fn handle_timeout(&mut self, now: Time) {
        if now < self.next_tick {
            return;
        }
        self.next_tick = now + TICK;
        for idx in 0..self.peers.len() {
            let timing = self.config.timing;
            self.peers[idx].expire(now, &timing);
            if self.config.connect_to.is_some() && self.peers[idx].wants_handshake(now, &timing) {
                self.initiate(now, idx);
            }
            if self.peers[idx].wants_keepalive(now, &timing) {
                self.send_keepalive(now, idx);
            }
        }
    }

    /// Starts anew, for instance when the network has changed.
    pub fn restart(&mut self, now: Time, peer: PeerIdx) {
        if self.config.connect_to.is_some() && peer < self.peers.len() {
            self.peers[peer].start_over(now);
            self.initiate(now, peer);
        }
    }

    /// Tells the wall-clock time since 1970 at [`Time::ZERO`] again, which changes when the wall clock is set. An end that
    /// began with a clock that was behind would else stay behind the stamps of its earlier runs.
    pub const fn set_epoch(&mut self, epoch: Duration) {
        self.config.epoch = epoch;
    }

    fn send_keepalive(&mut self, now: Time, idx: PeerIdx) {
        let mut bytes = vec![0; SEAL_HEAD + SEAL_TAIL];
        if let Ok(to) = self.seal(now, idx, InnerKind::Keepalive, &mut bytes) {
            self.outbox.push_back(Transmit { to, bytes });
        }
    }

    fn initiate(&mut self, now: Time, idx: PeerIdx) {
        let Some(to) = self.peers[idx].initiation_to(self.config.connect_to) else {
            return;
        };
        let stamp = self.stamp(now);
        let random = self.random_u32();
        let index = self.peers[idx].index_for_pending(idx, random);
        let (config, peer) = (&self.config, &mut self.peers[idx]);
        let private = &config.keys.private.0;
        let (pending, mut bytes) =
            noise::initiate(self.suite, private, &config.peers[idx], index, stamp);
        peer.check.sign(self.suite, &mut bytes);
        peer.set_pending(now, pending, (&config.timing, random));
        self.outbox.push_back(Transmit { to, bytes });
    }

    /// A time stamp for an initiation, greater than any before.
    fn stamp(&mut self, now: Time) -> u64 {
        let since_boot = u64::try_from(self.config.epoch.as_nanos()).unwrap_or(u64::MAX);
        self.last_stamp = since_boot
            .saturating_add(now.as_nanos())
            .max(self.last_stamp.saturating_add(1));
        self.last_stamp
    }

    fn random_u32(&self) -> u32 {
        let mut bytes = [0; 4];
        self.random
            .fill(&mut bytes)
            .expect("Linux has a source of randomness");
        u32::from_le_bytes(bytes)
    }

    fn on_initiation(
        &mut self,
        now: Time,
        from: SocketAddr,
        sender: u32,
        datagram: &[u8],
    ) -> Result<PeerIdx, Reason> {
        // The end that connects awaits no initiations.
        if self.config.connect_to.is_some() {
            return Err(Reason::Kind);
        }
        let suite = self.check.suite_of(datagram).ok_or(Reason::Check)?;
        // Repeats must not use up what may be computed for new ones.
        if self.processed.has(datagram) {
            return Err(Reason::OldHandshake);
        }
        let known = self.peers.iter().any(|peer| peer.endpoint == Some(from));
        if !self.limiter.admit(now, from, known) {
            return Err(Reason::Limited);
        }
        let private = &self.config.keys.private.0;
        let opened = noise::open(suite, private, sender, datagram).ok_or(Reason::Handshake)?;
        let idx = *self.by_key.get(&opened.peer).ok_or(Reason::Stranger)?;
        self.processed.note(datagram);
        if opened.stamp <= self.peers[idx].greatest_stamp {
            self.warn_of_old_handshake(now, from, idx);
            return Err(Reason::OldHandshake);
        }
        self.peers[idx].greatest_stamp = opened.stamp;
        let random = self.random_u32();
        let index = self.peers[idx].index_for_next(idx, random);
        let (agreed, mut bytes) = opened.respond(index).ok_or(Reason::Handshake)?;
        self.peers[idx].check.sign(suite, &mut bytes);
        self.peers[idx].set_next(now, agreed);
        self.outbox.push_back(Transmit { to: from, bytes });
        Ok(idx)
    }

    /// Not a repeat of what this process has seen, so most likely a peer whose clock went back, which nobody would find out.
    fn warn_of_old_handshake(&mut self, now: Time, from: SocketAddr, idx: PeerIdx) {
        if now < self.next_warning {
            return;
        }
        self.next_warning = now + WARNING_INTERVAL;
        let peer = &self.config.peers[idx];
        tracing::warn!(%from, %peer, "a handshake is older than the peer's last: its clock has gone back, or it was recorded");
    }

    fn on_response(
        &mut self,
        (now, from): (Time, SocketAddr),
        (sender, receiver): (u32, u32),
        datagram: &[u8],
    ) -> Result<PeerIdx, Reason> {
        self.check.suite_of(datagram).ok_or(Reason::Check)?;
        let idx = peer::owner(receiver);
        let peer = self.peers.get_mut(idx).ok_or(Reason::Session)?;
        peer.finish((now, from), (sender, receiver), datagram)?;
        self.counts.handshakes += 1;
        // The responder uses the session only after it has seen data in it.
        self.send_keepalive(now, idx);
        Ok(idx)
    }

    fn on_data<'a>(
        &mut self,
        now: Time,
        from: SocketAddr,
        (receiver, counter): (u32, u64),
        datagram: &'a mut [u8],
    ) -> Result<Opened<'a>, Reason> {
        let idx = peer::owner(receiver);
        let peer = self.peers.get_mut(idx).ok_or(Reason::Session)?;
        let (session, newest) = peer.receiving(now, (receiver, counter), &self.config.timing)?;
        let plain = session.open(counter, datagram)?;
        if newest {
            peer.endpoint = Some(from);
        }
        peer.last_received = Some(now);
        if peer.confirm(receiver) {
            self.counts.handshakes += 1;
        }
        self.counts.data += 1;
        let session::Plain { kind, sent, body } = plain;
        Ok(Opened {
            peer: idx,
            kind,
            session: receiver,
            counter,
            sent,
            payload: body,
        })
    }
}

#[cfg(test)]
mod tests;
