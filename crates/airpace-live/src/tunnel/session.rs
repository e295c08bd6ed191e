//! An established session: two keys, a counter, a replay window.

use super::Reason;
use super::frame::{self, Content, DATA_HEADER, DataHeader, SEAL_HEAD, SEAL_TAIL, SEND_TIME};
use airpace_api::config::Cipher;
use airpace_core::wire::replay::ReplayWindow;
use airpace_units::Time;
use ring::aead::{AES_256_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};

/// One direction's key.
pub(super) struct Key {
    key: LessSafeKey,
    cipher: Cipher,
}

impl Key {
    pub(super) fn new(cipher: Cipher, bytes: &[u8; 32]) -> Self {
        let algorithm = match cipher {
            Cipher::Chacha20Poly1305 => &CHACHA20_POLY1305,
            Cipher::Aes256Gcm => &AES_256_GCM,
        };
        let key = UnboundKey::new(algorithm, bytes).expect("both ciphers have keys of 32 bytes");
        Self { key: LessSafeKey::new(key), cipher }
    }

    /// The nonce of a counter, as the Noise specification (section 12) forms it for each cipher.
    fn nonce(&self, counter: u64) -> Nonce {
        let mut bytes = [0; 12];
        let counter = match self.cipher {
            Cipher::Chacha20Poly1305 => counter.to_le_bytes(),
            Cipher::Aes256Gcm => counter.to_be_bytes(),
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

    /// Whether a counter is higher than all accepted before.
    pub(super) const fn is_newest(&self, counter: u64) -> bool {
        counter >= self.received
    }

    /// Seals the payload between [`SEAL_HEAD`] and [`SEAL_TAIL`] bytes of room, in place.
    pub(super) fn seal(&mut self, now: Time, content: Content, datagram: &mut [u8]) {
        let counter = self.sealed;
        self.sealed += 1;
        let (header, rest) = datagram.split_at_mut(DATA_HEADER);
        frame::write_data_header(DataHeader { content, receiver: self.peer_index, counter }, header);
        let body = rest.len() - SEAL_TAIL;
        let (plain, tag_room) = rest.split_at_mut(body);
        // Wraps after 71 minutes; only differences between neighbours are looked at.
        let sent_us = (now.as_nanos() / 1_000) as u32;
        plain[..SEND_TIME].copy_from_slice(&sent_us.to_le_bytes());
        let tag = self
            .send
            .key
            .seal_in_place_separate_tag(self.send.nonce(counter), Aad::from(&*header), plain)
            .expect("a datagram is far below the ciphers' limit of 64 GiB");
        tag_room.copy_from_slice(tag.as_ref());
    }

    /// Opens a data datagram in place; returns the send time in µs and the payload.
    pub(super) fn open<'a>(&mut self, header: DataHeader, datagram: &'a mut [u8]) -> Result<(u32, &'a mut [u8]), Reason> {
        self.window.check(header.counter).map_err(|_| Reason::Replayed)?;
        let (head, sealed) = datagram.split_at_mut(DATA_HEADER);
        let nonce = self.receive.nonce(header.counter);
        let plain = self.receive.key.open_in_place(nonce, Aad::from(&*head), sealed).map_err(|_| Reason::Forged)?;
        self.window.accept(header.counter).map_err(|_| Reason::Replayed)?;
        self.received = self.received.max(header.counter.saturating_add(1));
        let (time, payload) = plain.split_at_mut(SEAL_HEAD - DATA_HEADER);
        let sent_us = u32::from_le_bytes([time[0], time[1], time[2], time[3]]);
        Ok((sent_us, payload))
    }
}
