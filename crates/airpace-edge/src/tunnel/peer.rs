//! What is kept per peer: at most four sessions or handshakes, and when the peer was last heard
//! from.

use super::cookie::{Cookie, ReceivedCookie};
use super::frame::{CHECK_BYTES, CookieFrame, DataHeader, ResponseFrame};
use super::path::PathSearch;
use super::session::{IndexPair, Session};
use super::{Crypto, HandshakeCheck as _, PeerIdx, PresharedKey, Reason, SessionKeys, Timing};
use airpace_core::wire::data::SessionIndex;
use airpace_units::Time;
use core::net::SocketAddr;

/// An initiation that awaits its response.
pub(super) struct PendingHandshake<H> {
    pub(super) handshake: H,
    pub(super) own_index: SessionIndex,
    /// Where the initiation was sent to.
    pub(super) to: SocketAddr,
    /// The check of the initiation, to which a cookie is sealed.
    pub(super) check: [u8; CHECK_BYTES],
    pub(super) cause: Cause,
}

/// Why an initiation is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cause {
    /// A session is needed, and it is time for an attempt.
    Due,
    /// The attempt before was answered with a cookie, which this one uses.
    Cookie,
}

/// The roles that a session can have (WireGuard whitepaper, section 6.3). Each has at most one
/// holder, so memory per peer is fixed.
struct Sessions<C: Crypto> {
    /// Data is sent in this session.
    current: Option<Box<Session<C::Key>>>,
    /// Replaced; data on its way is still accepted.
    previous: Option<Box<Session<C::Key>>>,
    /// Offered by the responder, not yet confirmed by data of the initiator.
    next: Option<Box<Session<C::Key>>>,
    /// Offered by the initiator, not yet answered.
    pending: Option<Box<PendingHandshake<C::Initiator>>>,
}

/// The tunnel's state for one peer.
pub(super) struct Peer<C: Crypto> {
    /// The check of handshake messages to the peer.
    pub(super) check: C::Check,
    pub(super) preshared_key: PresharedKey,
    pub(super) endpoint: Option<SocketAddr>,
    /// What proves this end's address to the peer.
    cookie: Option<ReceivedCookie>,
    /// The highest time stamp of the initiations accepted from the peer.
    pub(super) greatest_stamp: u64,
    pub(super) last_sent: Time,
    pub(super) last_received: Option<Time>,
    /// The longest datagram that passes to the peer, if that is to be found out.
    pub(super) path: Option<PathSearch>,
    sessions: Sessions<C>,
    next_attempt: Time,
    /// Initiations sent since a session was last in order.
    attempts: u32,
}

/// Low bits of a session's index that are not random: 14 name the peer, 2 the place among its four
/// sessions. With them a datagram finds its keys without a table.
const PLACE_BITS: u32 = 16;

/// The peer that a session of this end belongs to. It may not exist: the index may come from
/// anybody.
pub(super) const fn owner(index: SessionIndex) -> PeerIdx {
    ((index.0 & ((1 << PLACE_BITS) - 1)) >> 2) as usize
}

impl<C: Crypto> Peer<C> {
    pub(super) fn new(
        check: C::Check,
        preshared_key: PresharedKey,
        endpoint: Option<SocketAddr>,
        path: Option<PathSearch>,
    ) -> Self {
        Self {
            check,
            preshared_key,
            endpoint,
            cookie: None,
            greatest_stamp: 0,
            last_sent: Time::ZERO,
            last_received: None,
            path,
            sessions: Sessions {
                current: None,
                previous: None,
                next: None,
                pending: None,
            },
            next_attempt: Time::ZERO,
            attempts: 0,
        }
    }

    /// An index that none of the sessions of this peer, the `idx`-th of the tunnel, has.
    fn fresh_index(&self, idx: PeerIdx, random: u32) -> SessionIndex {
        let s = &self.sessions;
        let mut taken = [false; 4];
        for session in [&s.current, &s.previous, &s.next].into_iter().flatten() {
            taken[(session.own_index().0 & 3) as usize] = true;
        }
        if let Some(pending) = &s.pending {
            taken[(pending.own_index.0 & 3) as usize] = true;
        }
        let place = (0..4_u32)
            .find(|&place| !taken[place as usize])
            .expect("the role is vacated before its index is drawn, so at most three are taken");
        let owner = u32::try_from(idx).expect("there are at most 2^14 peers") << 2;
        SessionIndex((random << PLACE_BITS) | owner | place)
    }

    /// Abandons the pending handshake, and draws the index of a new one.
    pub(super) fn index_for_pending(&mut self, idx: PeerIdx, random: u32) -> SessionIndex {
        self.sessions.pending = None;
        self.fresh_index(idx, random)
    }

    /// Abandons the unconfirmed session, and draws the index of a new one.
    pub(super) fn index_for_next(&mut self, idx: PeerIdx, random: u32) -> SessionIndex {
        self.sessions.next = None;
        self.fresh_index(idx, random)
    }

    /// Awaits the response to an initiation, and schedules the next attempt.
    pub(super) fn set_pending(
        &mut self,
        now: Time,
        pending: PendingHandshake<C::Initiator>,
        timing: &Timing,
        random: u32,
    ) {
        let cause = pending.cause;
        self.sessions.pending = Some(Box::new(pending));
        if cause == Cause::Cookie {
            // It belongs to the attempt before, whose time has been scheduled.
            return;
        }
        // Each attempt abandons the one before, so the time between attempts must come to exceed
        // the round trip, however long the queues on the path are: it doubles.
        let wait = timing
            .retry
            .saturating_mul(1 << self.attempts.min(31))
            .min(timing.retry_limit);
        // Agents that lost the same proxy must not stay in step.
        let jitter = wait.mul_f64(f64::from(random) / f64::from(u32::MAX) / 4.0);
        self.next_attempt = now + wait + jitter;
        self.attempts = self.attempts.saturating_add(1);
    }

    /// The cookie to prove this end's address with, if the peer has sent one recently.
    pub(super) fn cookie(&self, now: Time) -> Option<Cookie> {
        self.cookie.as_ref()?.get(now)
    }

    /// Keeps the cookie that answers the pending initiation. Returns where to send that initiation
    /// again; `None` if it has been sent again already.
    pub(super) fn take_cookie(
        &mut self,
        now: Time,
        frame: &CookieFrame<'_>,
    ) -> Result<Option<SocketAddr>, Reason> {
        let pending = self
            .sessions
            .pending
            .as_ref()
            .filter(|pending| pending.own_index == frame.receiver)
            .ok_or(Reason::Session)?;
        let cookie = self
            .check
            .open_cookie(&pending.check, frame.nonce, frame.sealed)
            .ok_or(Reason::Handshake)?;
        self.cookie = Some(ReceivedCookie::new(now, Cookie(cookie)));
        // Once for each attempt: otherwise somebody on the path could have initiations sent without
        // end.
        Ok((pending.cause == Cause::Due).then_some(pending.to))
    }

    /// Forgets earlier attempts: the next one takes place at once and is repeated soon.
    pub(super) fn reset_attempts(&mut self, now: Time) {
        self.next_attempt = now;
        self.attempts = 0;
    }

    /// Initiations sent since a session was last in order, without those that carry a new cookie.
    pub(super) const fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Where the next initiation goes.
    pub(super) fn initiation_to(&self, configured: Option<SocketAddr>) -> Option<SocketAddr> {
        // A peer that moved unnoticed is not where it was last heard from, so every other attempt
        // goes to the configured address.
        if self.attempts.is_multiple_of(2) {
            self.endpoint.or(configured)
        } else {
            configured.or(self.endpoint)
        }
    }

    /// Keeps the session that this end, the responder, has offered.
    pub(super) fn set_next(&mut self, now: Time, keys: SessionKeys<C::Key>, indices: IndexPair) {
        let session = Session::new(now, keys, indices);
        self.sessions.next = Some(Box::new(session));
    }

    /// Completes the pending handshake with a response that arrived from `from`.
    pub(super) fn finish(
        &mut self,
        now: Time,
        from: SocketAddr,
        crypto: &C,
        response: &ResponseFrame<'_>,
    ) -> Result<(), Reason> {
        let pending = self
            .sessions
            .pending
            .as_mut()
            .filter(|pending| pending.own_index == response.receiver)
            .ok_or(Reason::Session)?;
        // A forged response leaves the handshake pending.
        let keys = crypto
            .finish(&mut pending.handshake, response.noise)
            .ok_or(Reason::Handshake)?;
        let indices = IndexPair {
            own: response.receiver,
            peer: response.sender,
        };
        let session = Session::new(now, keys, indices);
        self.sessions.pending = None;
        self.sessions.previous = self.sessions.current.replace(Box::new(session));
        self.last_received = Some(now);
        self.endpoint = Some(from);
        self.attempts = 0;
        Ok(())
    }

    /// Makes the responder's new session current if `index` is its index, because the initiator has
    /// used it. Returns whether it is.
    pub(super) fn confirm(&mut self, index: SessionIndex) -> bool {
        let next = self.sessions.next.take_if(|next| next.own_index() == index);
        let Some(next) = next else {
            return false;
        };
        self.sessions.previous = self.sessions.current.replace(next);
        true
    }

    /// The session in which to send.
    pub(super) fn sending(&mut self, now: Time, timing: &Timing) -> Option<&mut Session<C::Key>> {
        self.sessions
            .current
            .as_deref_mut()
            .filter(|session| is_usable(session, now, timing))
    }

    pub(super) fn is_connected(&self, now: Time, timing: &Timing) -> bool {
        let current = self.sessions.current.as_deref();
        self.endpoint.is_some() && current.is_some_and(|session| is_usable(session, now, timing))
    }

    /// The session that a datagram claims to belong to, and whether the peer's address may follow
    /// the datagram if it proves authentic.
    pub(super) fn receiving(
        &mut self,
        now: Time,
        header: DataHeader,
        timing: &Timing,
    ) -> Result<Receiving<'_, C::Key>, Reason> {
        let s = &mut self.sessions;
        let is_named = |session: &Session<C::Key>| session.own_index() == header.receiver;
        let is_previous = s.previous.as_deref().is_some_and(is_named);
        let session = [&mut s.current, &mut s.next, &mut s.previous]
            .into_iter()
            .filter_map(|session| session.as_deref_mut())
            .find(|session| is_named(session))
            .filter(|session| is_usable(session, now, timing))
            .ok_or(Reason::Session)?;
        // Only the newest datagram shows where the peer is now: an older one may have been delayed
        // or held back by somebody who wants the traffic sent elsewhere.
        let newest = !is_previous && session.is_newest(header.counter);
        Ok(Receiving { session, newest })
    }

    /// Forgets the keys of sessions that have ended.
    pub(super) fn expire(&mut self, now: Time, timing: &Timing) {
        let s = &mut self.sessions;
        for session in [&mut s.current, &mut s.previous, &mut s.next] {
            session.take_if(|session| !is_usable(session, now, timing));
        }
    }

    /// Whether the initiator is to start a handshake now.
    pub(super) fn wants_handshake(&mut self, now: Time, timing: &Timing) -> bool {
        if !self.needs_session(now, timing) {
            self.attempts = 0;
            return false;
        }
        now >= self.next_attempt
    }

    /// Whether there is no session, or one that is to be replaced.
    fn needs_session(&self, now: Time, timing: &Timing) -> bool {
        let Some(current) = self.sessions.current.as_deref() else {
            return true;
        };
        let silence = self.last_received.map(|at| now.saturating_since(at));
        let silent = silence.is_none_or(|silence| silence >= timing.dead_after);
        let old = now.saturating_since(current.established) >= timing.rekey_after;
        let worn = current.messages() >= timing.rekey_after_messages;
        silent || old || worn || !is_usable(current, now, timing)
    }

    pub(super) fn wants_keepalive(&self, now: Time, timing: &Timing) -> bool {
        self.sessions.current.is_some() && now.saturating_since(self.last_sent) >= timing.keepalive
    }
}

/// A session that a datagram names.
pub(super) struct Receiving<'a, K> {
    pub(super) session: &'a mut Session<K>,
    /// Whether the datagram claims to be newer than all others of the peer.
    pub(super) newest: bool,
}

/// Whether a session may still be used: young enough, and far from the limit of its cipher.
fn is_usable<K: super::TransportKey>(session: &Session<K>, now: Time, timing: &Timing) -> bool {
    // Renewal begins at a sixteenth of the limit and is retried until then.
    let limit = timing.rekey_after_messages.saturating_mul(16);
    now.saturating_since(session.established) < timing.reject_after && session.sealed < limit
}
