//! The handshake: Noise IK with static keys.

use super::frame::{INITIATION, MAC, RESPONSE, STAMP};
use super::session::{Agreed, Key};
use super::suite::Suite;
use airpace_api::keys::PublicKey;
use airpace_core::wire::data::{self, SessionIndex};
use snow::{Builder, HandshakeState};
use zeroize::Zeroizing;

/// Bound into every handshake, so that another protocol or version cannot be mistaken for this one.
const PROLOGUE: &[u8] = b"airpace tunnel v1";

const FIRST: usize = data::FIRST_HANDSHAKE_HEADER_BYTES;
const SECOND: usize = data::SECOND_HANDSHAKE_HEADER_BYTES;

fn builder(suite: Suite, private: &[u8; 32]) -> Builder<'_> {
    let params = suite
        .protocol()
        .parse()
        .expect("the protocol's name is well-formed");
    let builder = Builder::new(params)
        .local_private_key(private)
        .expect("set once");
    builder.prologue(PROLOGUE).expect("set once")
}

fn agreed(
    state: &mut HandshakeState,
    suite: Suite,
    indices: (u32, u32),
    initiator: bool,
) -> Agreed {
    let (forward, backward) = state.dangerously_get_raw_split();
    let (forward, backward) = (Zeroizing::new(forward), Zeroizing::new(backward));
    let (send, receive) = if initiator {
        (&forward, &backward)
    } else {
        (&backward, &forward)
    };
    Agreed {
        send: Key::new(suite, send),
        receive: Key::new(suite, receive),
        own_index: indices.0,
        peer_index: indices.1,
        initiator,
    }
}

/// An initiation that awaits its response.
pub(super) struct Pending {
    state: HandshakeState,
    suite: Suite,
    pub(super) own_index: u32,
}

/// Writes an initiation. The last [`MAC`] bytes are left to the gate.
pub(super) fn initiate(
    suite: Suite,
    private: &[u8; 32],
    peer: &PublicKey,
    own_index: u32,
    stamp: u64,
) -> (Pending, Vec<u8>) {
    let builder = builder(suite, private)
        .remote_public_key(&peer.0)
        .expect("set once");
    let mut state = builder
        .build_initiator()
        .expect("an initiator of IK has both static keys");
    let mut message = vec![0; INITIATION];
    message[..FIRST].copy_from_slice(&data::first_handshake_header(SessionIndex(own_index)));
    let n = state
        .write_message(&stamp.to_le_bytes(), &mut message[FIRST..INITIATION - MAC])
        .expect("the message is of the exact size and the first of the pattern");
    debug_assert_eq!(n, INITIATION - MAC - FIRST);
    (
        Pending {
            state,
            suite,
            own_index,
        },
        message,
    )
}

impl Pending {
    /// Takes the response; `None` if it is not from the peer.
    pub(super) fn finish(&mut self, sender: u32, datagram: &[u8]) -> Option<Agreed> {
        let mut payload = [0; 16];
        let n = self
            .state
            .read_message(&datagram[SECOND..RESPONSE - MAC], &mut payload)
            .ok()?;
        (n == 0).then(|| agreed(&mut self.state, self.suite, (self.own_index, sender), true))
    }
}

/// An initiation that was opened: authentic, but possibly old.
pub(super) struct Opened {
    state: HandshakeState,
    suite: Suite,
    sender: u32,
    pub(super) peer: PublicKey,
    pub(super) stamp: u64,
}

/// Opens an initiation; `None` if it was not made for this key.
pub(super) fn open(
    suite: Suite,
    private: &[u8; 32],
    sender: u32,
    datagram: &[u8],
) -> Option<Opened> {
    let mut state = builder(suite, private)
        .build_responder()
        .expect("a responder of IK has its static key");
    let mut payload = [0; 64];
    let n = state
        .read_message(&datagram[FIRST..INITIATION - MAC], &mut payload)
        .ok()?;
    let stamp: [u8; STAMP] = payload[..n].try_into().ok()?;
    let peer = PublicKey(state.get_remote_static()?.try_into().ok()?);
    Some(Opened {
        state,
        suite,
        sender,
        peer,
        stamp: u64::from_le_bytes(stamp),
    })
}

impl Opened {
    /// Writes the response. The last [`MAC`] bytes are left to the gate.
    pub(super) fn respond(mut self, own_index: u32) -> Option<(Agreed, Vec<u8>)> {
        let mut message = vec![0; RESPONSE];
        let header =
            data::second_handshake_header(SessionIndex(own_index), SessionIndex(self.sender));
        message[..SECOND].copy_from_slice(&header);
        self.state
            .write_message(&[], &mut message[SECOND..RESPONSE - MAC])
            .ok()?;
        Some((
            agreed(&mut self.state, self.suite, (own_index, self.sender), false),
            message,
        ))
    }
}
