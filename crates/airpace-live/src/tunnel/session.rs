//! An established session: two keys, a counter, a replay window.

use super::Reason;
use super::frame::{SEAL_HEAD, SEAL_TAIL};
use super::suite::Suite;
use airpace_core::wire::data::{
    self, Inner, InnerKind, SendTime, SessionIndex, TRANSPORT_HEADER_BYTES,
};
use airpace_core::wire::replay::ReplayWindow;
use airpace_units::Time;
use ring::aead::{AES_256_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};

/// One direction's key.
pub(super) struct Key {
    key: LessSafeKey,
    suite: Suite,
}

impl Key {
    pub(super) fn new(suite: Suite, bytes: &[u8; 32]) -> Self {
        let algorithm = match suite {
            Suite::Chacha20Poly1305 => &CHACHA20_POLY1305,
            Suite::Aes256Gcm => &AES_256_GCM,
        };
        let key = UnboundKey::new(algorithm, bytes).expect("both ciphers have keys of 32 bytes");
        Self {
            key: LessSafeKey::new(key),
            suite,
        }
    }

    /// The nonce of a counter, as the Noise specification (section 12) forms it for each cipher.
    fn nonce(&self, counter: u64) -> Nonce {
        let mut bytes = [0; 12];
        let counter = match self.suite {
            Suite::Chacha20Poly1305 => counter.to_le_bytes(),
            Suite::Aes256Gcm => counter.to_be_bytes(),
        };
        bytes[4..].copy_from_slice(&counter);
        Nonce::assume_unique_for_key(bytes)
    }
}

/// A session as both ends hold it after a handshake.
pub(super) struct Session {
    send: Key,
    receive: Key,
    pub(super) own_index: u32,
    peer_index: u32,
    pub(super) established: Time,
    /// Messages sealed so far; the counter of the next.
    pub(super) sealed: u64,
    window: ReplayWindow,
    /// One more than the highest counter accepted.
    received: u64,
    /// Whether this end started the handshake, and so has to renew it.
    pub(super) initiator: bool,
}

/// What a handshake leaves behind.
pub(super) struct Agreed {
    pub(super) send: Key,
    pub(super) receive: Key,
    pub(super) own_index: u32,
    pub(super) peer_index: u32,
    pub(super) initiator: bool,
}

impl Session {
    pub(super) fn new(now: Time, agreed: Agreed) -> Self {
        Self {
            send: agreed.send,
            receive: agreed.receive,
            own_index: agreed.own_index,
            peer_index: agreed.peer_index,
            established: now,
            sealed: 0,
            window: ReplayWindow::new(),
            received: 0,
            initiator: agreed.initiator,
        }
    }

    /// Messages of the direction in which more were sent: the limits of the ciphers hold for either key.
    pub(super) fn messages(&self) -> u64 {
        self.sealed.max(self.received)
    }

    /// Whether a counter is higher than all accepted before.
    pub(super) const fn is_newest(&self, counter: u64) -> bool {
        counter >= self.received
    }

    /// Seals the payload between [`SEAL_HEAD`] and [`SEAL_TAIL`] bytes of room, in place.
    pub(super) fn seal(&mut self, now: Time, kind: InnerKind, datagram: &mut [u8]) {
        let counter = self.sealed;
        self.sealed += 1;
        let (header, rest) = datagram.split_at_mut(TRANSPORT_HEADER_BYTES);
        header.copy_from_slice(&data::transport_header(
            SessionIndex(self.peer_index),
            counter,
        ));
        let (plain, tag_room) = rest.split_at_mut(rest.len() - SEAL_TAIL);
        let inner = data::inner_header(kind, SendTime::of(now));
        plain[..inner.len()].copy_from_slice(&inner);
        let nonce = self.send.nonce(counter);
        let tag = self
            .send
            .key
            .seal_in_place_separate_tag(nonce, Aad::empty(), plain);
        let tag = tag.expect("a datagram is far below the ciphers' limit of 64 GiB");
        tag_room.copy_from_slice(tag.as_ref());
    }

    /// Opens a data datagram in place.
    pub(super) fn open<'a>(
        &mut self,
        counter: u64,
        datagram: &'a mut [u8],
    ) -> Result<Plain<'a>, Reason> {
        self.window.check(counter).map_err(|_| Reason::Replayed)?;
        let sealed = &mut datagram[TRANSPORT_HEADER_BYTES..];
        let nonce = self.receive.nonce(counter);
        let plain = self
            .receive
            .key
            .open_in_place(nonce, Aad::empty(), sealed)
            .map_err(|_| Reason::Forged)?;
        self.window.accept(counter).map_err(|_| Reason::Replayed)?;
        self.received = self.received.max(counter.saturating_add(1));
        let Inner { kind, sent, .. } = Inner::parse(plain).map_err(|_| Reason::Kind)?;
        Ok(Plain {
            kind,
            sent,
            body: &mut plain[SEAL_HEAD - TRANSPORT_HEADER_BYTES..],
        })
    }
}

/// What a datagram held.
pub(super) struct Plain<'a> {
    pub(super) kind: InnerKind,
    pub(super) sent: SendTime,
    pub(super) body: &'a mut [u8],
}
