//! What is kept per peer: at most four sessions or handshakes, and when the peer was heard.

use super::gate::Check;
use super::noise::Pending;
use super::session::{Agreed, Session};
use super::{Reason, Timing};
use airpace_units::Time;
use core::net::SocketAddr;

/// The roles that a session can have. Each has at most one holder, so memory per peer is fixed.
#[derive(Default)]
struct Sessions {
    /// In which data is sent.
    current: Option<Box<Session>>,
    /// Replaced; data under way is still accepted.
    previous: Option<Box<Session>>,
    /// Offered by the responder, not yet confirmed by data of the initiator.
    next: Option<Box<Session>>,
    /// Offered by the initiator, not yet answered.
    pending: Option<Box<Pending>>,
}

pub(super) struct Peer {
    /// Signs handshakes to the peer.
    pub(super) check: Check,
    pub(super) endpoint: Option<SocketAddr>,
    pub(super) greatest_stamp: u64,
    pub(super) last_sent: Time,
    pub(super) last_received: Option<Time>,
    sessions: Sessions,
    next_attempt: Time,
    /// Initiations since there last was nothing to initiate.
    attempts: u32,
}

/// Bits of an index that tell its owner (14) and which of the owner's four it is (2); the rest is random.
const PLACE_BITS: u32 = 16;

/// The peer that an index belongs to.
pub(super) const fn owner(index: u32) -> usize {
    ((index & ((1 << PLACE_BITS) - 1)) >> 2) as usize
}

impl Peer {
    pub(super) fn new(check: Check, endpoint: Option<SocketAddr>) -> Self {
        Self {
            check,
            endpoint,
            greatest_stamp: 0,
            last_sent: Time::ZERO,
            last_received: None,
            sessions: Sessions::default(),
            next_attempt: Time::ZERO,
            attempts: 0,
        }
    }

    /// A fresh index of this peer, `idx` in the list, that none of the sessions has.
    fn fresh_index(&self, idx: usize, random: u32) -> u32 {
        let owner = u32::try_from(idx).expect("peers are at most 2^14") << 2;
        let base = (random << PLACE_BITS) | owner;
        let s = &self.sessions;
        let used = [&s.current, &s.previous, &s.next]
            .map(|session| session.as_ref().map(|session| session.own_index));
        let pending = s.pending.as_ref().map(|pending| pending.own_index);
        let is_free = |place: u32| {
            used.iter()
                .chain([&pending])
                .flatten()
                .all(|index| index & 3 != place)
        };
        let place = (0..4)
            .find(|&place| is_free(place))
            .expect("one role is vacated before its index is drawn");
        base | place
    }

    /// Gives up the pending handshake, and draws the index of a new one.
    pub(super) fn index_for_pending(&mut self, idx: usize, random: u32) -> u32 {
        self.sessions.pending = None;
        self.fresh_index(idx, random)
    }

    /// Gives up the unconfirmed session, and draws the index of a new one.
    pub(super) fn index_for_next(&mut self, idx: usize, random: u32) -> u32 {
        self.sessions.next = None;
        self.fresh_index(idx, random)
    }

    /// Awaits the response. Each attempt gives up the one before, so the time between them doubles until it exceeds the round
    /// trip, however long the queues on the way are; up to a quarter is added at random, so that the agents that lost a proxy
    /// do not stay in step.
    pub(super) fn set_pending(
        &mut self,
        now: Time,
        pending: Pending,
        (timing, random): (&Timing, u32),
    ) {
        self.sessions.pending = Some(Box::new(pending));
        let wait = timing
            .retry
            .saturating_mul(1 << self.attempts.min(31))
            .min(timing.retry_limit);
        self.next_attempt =
            now + wait + wait.mul_f64(f64::from(random) / f64::from(u32::MAX) / 4.0);
        self.attempts = self.attempts.saturating_add(1);
    }

    /// Forgets earlier attempts: the next is made at once, and repeated soon.
    pub(super) fn start_over(&mut self, now: Time) {
        self.next_attempt = now;
        self.attempts = 0;
    }

    /// Where the next initiation goes: to where the peer was last heard, and every other time to where it was configured to be,
    /// as a peer that moved without a word is not where it was.
    pub(super) fn initiation_to(&self, configured: Option<SocketAddr>) -> Option<SocketAddr> {
        if self.attempts.is_multiple_of(2) {
            self.endpoint.or(configured)
        } else {
            configured.or(self.endpoint)
        }
    }

    pub(super) fn set_next(&mut self, now: Time, agreed: Agreed) {
        self.sessions.next = Some(Box::new(Session::new(now, agreed)));
    }

    /// Completes the pending handshake with a response that came `from` there.
    pub(super) fn finish(
        &mut self,
        (now, from): (Time, SocketAddr),
        (sender, receiver): (u32, u32),
        datagram: &[u8],
    ) -> Result<(), Reason> {
        let pending = self
            .sessions
            .pending
            .as_mut()
            .filter(|pending| pending.own_index == receiver);
        // A forged response leaves the handshake pending.
        let agreed = pending
            .ok_or(Reason::Session)?
            .finish(sender, datagram)
            .ok_or(Reason::Handshake)?;
        self.sessions.pending = None;
        self.sessions.previous = self.sessions.current.take();
        self.sessions.current = Some(Box::new(Session::new(now, agreed)));
        self.last_received = Some(now);
        self.endpoint = Some(from);
        self.attempts = 0;
        Ok(())
    }

    /// Makes the responder's new session current once the initiator has used it; tells whether it did.
    pub(super) fn confirm(&mut self, index: u32) -> bool {
        let Some(next) = self.sessions.next.take_if(|next| next.own_index == index) else {
            return false;
        };
        self.sessions.previous = self.sessions.current.replace(next);
        true
    }

    /// The session in which to send.
    pub(super) fn sending(&mut self, now: Time, timing: &Timing) -> Option<&mut Session> {
        self.sessions
            .current
            .as_deref_mut()
            .filter(|session| is_alive(session, now, timing))
    }

    pub(super) fn is_connected(&self, now: Time, timing: &Timing) -> bool {
        self.endpoint.is_some()
            && self
                .sessions
                .current
                .as_deref()
                .is_some_and(|s| is_alive(s, now, timing))
    }

    /// The session that a datagram claims to belong to, and whether the datagram is newer than all before: only then may it
    /// tell where the peer is.
    pub(super) fn receiving(
        &mut self,
        now: Time,
        (receiver, counter): (u32, u64),
        timing: &Timing,
    ) -> Result<(&mut Session, bool), Reason> {
        let s = &mut self.sessions;
        let is_mine = |session: &&mut Session| session.own_index == receiver;
        let is_current = s
            .current
            .as_ref()
            .is_some_and(|session| session.own_index == receiver);
        let is_next = s
            .next
            .as_ref()
            .is_some_and(|session| session.own_index == receiver);
        let session = [&mut s.current, &mut s.next, &mut s.previous]
            .into_iter()
            .filter_map(|session| session.as_deref_mut())
            .find(is_mine)
            .filter(|session| is_alive(session, now, timing))
            .ok_or(Reason::Session)?;
        let newest = (is_current || is_next) && session.is_newest(counter);
        Ok((session, newest))
    }

    /// Forgets the keys of sessions that are over.
    pub(super) fn expire(&mut self, now: Time, timing: &Timing) {
        let s = &mut self.sessions;
        for session in [&mut s.current, &mut s.previous, &mut s.next] {
            session.take_if(|session| !is_alive(session, now, timing));
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
        let dead = silence.is_none_or(|silence| silence >= timing.dead_after);
        let old = now.saturating_since(current.established) >= timing.rekey_after;
        let renew = current.initiator && (old || current.messages() >= timing.rekey_after_messages);
        dead || renew || !is_alive(current, now, timing)
    }

    pub(super) fn wants_keepalive(&self, now: Time, timing: &Timing) -> bool {
        self.sessions.current.is_some() && now.saturating_since(self.last_sent) >= timing.keepalive
    }
}

/// Whether a session may still be used: young enough, and far from the last counter.
fn is_alive(session: &Session, now: Time, timing: &Timing) -> bool {
    let limit = timing.rekey_after_messages.saturating_mul(16);
    now.saturating_since(session.established) < timing.reject_after && session.sealed < limit
}
