//! Handshakes: what an end sends for a session, and what it does with such messages of others.

use super::frame::{self, Checked, CookieFrame, InitiationFrame, ResponseFrame};
use super::peer::{self, Cause, PendingHandshake};
use super::session::IndexPair;
use super::{
    COOKIE_NONCE_BYTES, Crypto, HandshakeCheck as _, INITIATION_NOISE_BYTES, PeerIdx,
    RESPONSE_NOISE_BYTES, Reason, Transmit, Tunnel, Warning,
};
use airpace_core::wire::data;
use airpace_units::Time;
use core::net::SocketAddr;

/// Attempts without an answer after which the operator is told: the fifth follows about eight
/// seconds after the first.
const ATTEMPTS_BEFORE_WARNING: u32 = 4;

/// Datagrams of the tunnel's own beyond which no cookies are added to them: strangers must not fill
/// the memory while the network takes nothing.
const MAX_WAITING: usize = 4096;

impl<C: Crypto> Tunnel<C> {
    /// Begins an attempt to agree on a session with a peer.
    pub(super) fn attempt(&mut self, now: Time, idx: PeerIdx) {
        let peer = &self.peers[idx];
        let Some(to) = peer.initiation_to(self.config.connect_to) else {
            return;
        };
        if peer.attempts() >= ATTEMPTS_BEFORE_WARNING {
            let warning = Warning::NoAnswer { peer: idx, to };
            self.warnings.raise(now, warning);
        }
        self.initiate(now, idx, to, Cause::Due);
    }

    /// Sends an initiation.
    fn initiate(&mut self, now: Time, idx: PeerIdx, to: SocketAddr, cause: Cause) {
        let stamp = self.next_stamp(now);
        let random = self.crypto.random_u32();
        let peer = &mut self.peers[idx];
        let own_index = peer.index_for_pending(idx, random);
        let mut noise = [0; INITIATION_NOISE_BYTES];
        let handshake = self.crypto.initiate(
            &self.config.peers[idx].public_key,
            &peer.preshared_key,
            &stamp.to_le_bytes(),
            &mut noise,
        );
        let header = data::first_handshake_header(own_index);
        let (mut bytes, check) =
            frame::handshake(&header, &noise, &peer.check, self.crypto.suite());
        let message = &bytes[..header.len() + noise.len()];
        let proof = match peer.cookie(now) {
            Some(cookie) => cookie.proof(message, &check),
            None => [0; frame::CHECK_BYTES],
        };
        bytes.extend_from_slice(&proof);
        let pending = PendingHandshake {
            handshake,
            own_index,
            to,
            check,
            cause,
        };
        // The number serves twice, which does no harm: the index is no secret, and takes its low 16
        // bits; the jitter depends on the high ones.
        peer.set_pending(now, pending, &self.config.timing, random);
        self.outbox.push_back(Transmit::new(to, bytes));
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

    pub(super) fn on_initiation(
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
        let suite = match self.verify_check(frame.checked) {
            Ok(suite) => suite,
            Err(reason) => {
                self.warnings.raise(now, Warning::OtherKey { from });
                return Err(reason);
            }
        };
        // Repetitions must not use up the limits that are meant for new ones.
        if self.processed.contains(frame.checked.check) {
            return Err(Reason::OldHandshake);
        }
        self.admit(now, from, frame)?;
        let Some(initiation) = self.crypto.open_initiation(suite, frame.noise) else {
            let warning = Warning::UnreadableInitiation { from };
            self.warnings.raise(now, warning);
            return Err(Reason::Handshake);
        };
        let Some(&idx) = self.by_key.get(&initiation.peer) else {
            let key = initiation.peer;
            self.warnings.raise(now, Warning::UnknownKey { key, from });
            return Err(Reason::Stranger);
        };
        self.processed.insert(frame.checked.check);
        // A replay would cost the peer's genuine unconfirmed session (WireGuard whitepaper, section
        // 5.1).
        let stamp = u64::from_le_bytes(initiation.stamp);
        if stamp <= self.peers[idx].greatest_stamp {
            // The message is not a repetition of one that this process has seen, so most likely the
            // peer's clock went back. Without this warning the cause would stay hidden.
            let warning = Warning::OldHandshake { peer: idx, from };
            self.warnings.raise(now, warning);
            return Err(Reason::OldHandshake);
        }
        self.peers[idx].greatest_stamp = stamp;
        self.respond(now, from, idx, frame.sender, suite, initiation.responder)
    }

    /// Applies the limits to an initiation whose check is right.
    fn admit(
        &mut self,
        now: Time,
        from: SocketAddr,
        frame: &InitiationFrame<'_>,
    ) -> Result<(), Reason> {
        let Checked { message, check } = frame.checked;
        if self.cookies.is_proven(from, message, check, frame.proof) {
            let known = self.endpoints.contains_key(&from);
            let is_admitted = self.limiter.admit_proven(now, from.ip(), known);
            return is_admitted.then_some(()).ok_or(Reason::Limited);
        }
        if self.limiter.admit_unproven(now, from.ip()) {
            return Ok(());
        }
        // Whoever cannot read what is sent to this address gets no further. The answer is less than
        // half as long as the initiation, so nobody can use it to amplify a flood.
        self.send_cookie(from, frame);
        Err(Reason::Unproven)
    }

    fn send_cookie(&mut self, to: SocketAddr, frame: &InitiationFrame<'_>) {
        if self.outbox.len() >= MAX_WAITING {
            // The caller cannot send. Whoever asked will ask again.
            return;
        }
        let mut nonce = [0; COOKIE_NONCE_BYTES];
        let random = self.crypto.random_key();
        nonce.copy_from_slice(&random[..COOKIE_NONCE_BYTES]);
        let cookie = self.cookies.cookie_for(to);
        let sealed = self
            .check
            .seal_cookie(frame.checked.check, &nonce, &cookie.0);
        let header = data::cookie_header(frame.sender);
        let bytes = [&header[..], &nonce, &sealed].concat();
        self.outbox.push_back(Transmit::new(to, bytes));
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
            .respond(responder, &peer.preshared_key, &mut noise)
            .ok_or(Reason::Handshake)?;
        let header = data::second_handshake_header(indices.own, indices.peer);
        let (bytes, _) = frame::handshake(&header, &noise, &peer.check, suite);
        // The peer's address stays as it is: only data proves that the initiation was not recorded
        // and sent from elsewhere.
        peer.set_next(now, keys, indices);
        self.outbox.push_back(Transmit::new(to, bytes));
        Ok(idx)
    }

    fn verify_check(&self, checked: Checked<'_>) -> Result<C::Suite, Reason> {
        self.check
            .verify(checked.message, checked.check)
            .ok_or(Reason::Check)
    }

    pub(super) fn on_response(
        &mut self,
        now: Time,
        from: SocketAddr,
        frame: &ResponseFrame<'_>,
    ) -> Result<PeerIdx, Reason> {
        self.verify_check(frame.checked)?;
        let idx = peer::owner(frame.receiver);
        let peer = self.peers.get_mut(idx).ok_or(Reason::Session)?;
        if let Err(reason) = peer.finish(now, from, &self.crypto, frame) {
            if reason == Reason::Handshake {
                let warning = Warning::UnreadableResponse { peer: idx, from };
                self.warnings.raise(now, warning);
            }
            return Err(reason);
        }
        self.counts.handshakes += 1;
        // The responder does not use the session until it has received data in it (WireGuard
        // whitepaper, section 6.3: key confirmation).
        self.send_keepalive(now, idx);
        Ok(idx)
    }

    /// Takes a cookie, and sends the initiation that it answers again, with a proof.
    pub(super) fn on_cookie(
        &mut self,
        now: Time,
        frame: &CookieFrame<'_>,
    ) -> Result<PeerIdx, Reason> {
        let idx = peer::owner(frame.receiver);
        let peer = self.peers.get_mut(idx).ok_or(Reason::Session)?;
        if let Some(to) = peer.take_cookie(now, frame)? {
            self.initiate(now, idx, to, Cause::Cookie);
        }
        Ok(idx)
    }

    /// Tells the operator of a handshake message of another version, if its sender knows this end's
    /// public key: then it is meant to be a peer.
    pub(super) fn on_other_version(
        &mut self,
        now: Time,
        from: SocketAddr,
        datagram: &[u8],
    ) -> Reason {
        if let Some(checked) = frame::of_other_version(datagram)
            && let [_, version, ..] = *datagram
            && self.verify_check(checked).is_ok()
        {
            let warning = Warning::OtherVersion { version, from };
            self.warnings.raise(now, warning);
        }
        Reason::Version
    }
}
