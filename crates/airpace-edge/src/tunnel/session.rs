//! An established session: two keys, a counter, a replay window.

use super::frame::{SEAL_HEAD, SEAL_TAIL};
use super::{Reason, SessionKeys, TransportKey};
use airpace_core::wire::data::{
    self, Inner, InnerKind, SendTime, SessionIndex, TRANSPORT_HEADER_BYTES,
};
use airpace_core::wire::replay::ReplayWindow;
use airpace_units::Time;

/// The indices of a session, one for each end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct IndexPair {
    pub(super) own: SessionIndex,
    pub(super) peer: SessionIndex,
}

/// A session as both ends hold it after a handshake.
pub(super) struct Session<K> {
    keys: SessionKeys<K>,
    indices: IndexPair,
    pub(super) established: Time,
    /// Messages sealed so far; the counter of the next one.
    pub(super) sealed: u64,
    window: ReplayWindow,
    /// One more than the highest counter accepted.
    received: u64,
}

impl<K: TransportKey> Session<K> {
    pub(super) fn new(now: Time, keys: SessionKeys<K>, indices: IndexPair) -> Self {
        Self {
            keys,
            indices,
            established: now,
            sealed: 0,
            window: ReplayWindow::new(),
            received: 0,
        }
    }

    /// The index by which datagrams of the peer name this session.
    pub(super) const fn own_index(&self) -> SessionIndex {
        self.indices.own
    }

    /// Messages of the busier direction: the limits of the ciphers hold for each of the two keys.
    pub(super) fn messages(&self) -> u64 {
        self.sealed.max(self.received)
    }

    /// Whether a counter is higher than all accepted before.
    pub(super) const fn is_newest(&self, counter: u64) -> bool {
        counter >= self.received
    }

    /// Seals, in place, the payload between [`SEAL_HEAD`] and [`SEAL_TAIL`] bytes of room.
    pub(super) fn seal(&mut self, now: Time, kind: InnerKind, datagram: &mut [u8]) {
        let counter = self.sealed;
        self.sealed += 1;
        let (header, rest) = datagram.split_at_mut(TRANSPORT_HEADER_BYTES);
        header.copy_from_slice(&data::transport_header(self.indices.peer, counter));
        let (plain, tag) = rest.split_at_mut(rest.len() - SEAL_TAIL);
        let inner = data::inner_header(kind, SendTime::of(now));
        plain[..inner.len()].copy_from_slice(&inner);
        tag.copy_from_slice(&self.keys.send.seal(counter, plain));
    }

    /// Opens a data datagram in place.
    pub(super) fn open<'a>(
        &mut self,
        counter: u64,
        datagram: &'a mut [u8],
    ) -> Result<Plain<'a>, Reason> {
        // RFC 6479 separates the check from the update: the window may move only after the datagram
        // was found authentic, but a replay need not be decrypted to be refused.
        self.window.check(counter).map_err(|_| Reason::Replayed)?;
        let sealed = &mut datagram[TRANSPORT_HEADER_BYTES..];
        let plain = self
            .keys
            .receive
            .open(counter, sealed)
            .ok_or(Reason::Forged)?;
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

/// The content of an opened datagram.
pub(super) struct Plain<'a> {
    pub(super) kind: InnerKind,
    pub(super) sent: SendTime,
    pub(super) body: &'a mut [u8],
}
