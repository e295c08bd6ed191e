//! The handshake: Noise IK with static keys.

use super::frame::{self, INITIATION, MAC, NOISE_1, RESPONSE, STAMP};
use super::session::{Agreed, Key};
use airpace_api::config::Cipher;
use airpace_api::keys::PublicKey;
use snow::{Builder, HandshakeState};
use zeroize::Zeroizing;

/// Bound into every handshake, so that another protocol or version cannot be mistaken for this one.
const PROLOGUE: &[u8] = b"airpace tunnel v1";

fn protocol(cipher: Cipher) -> &'static str {
    match cipher {
        Cipher::Chacha20Poly1305 => "Noise_IK_25519_ChaChaPoly_BLAKE2s",
        Cipher::Aes256Gcm => "Noise_IK_25519_AESGCM_BLAKE2s",
    }
}

fn cipher_byte(cipher: Cipher) -> u8 {
    match cipher {
        Cipher::Chacha20Poly1305 => 0,
        Cipher::Aes256Gcm => 1,
    }
}

/// The cipher that an initiation names, if there is such a one.
pub(super) fn cipher_of(byte: u8) -> Option<Cipher> {
    [Cipher::Chacha20Poly1305, Cipher::Aes256Gcm].into_iter().find(|&cipher| cipher_byte(cipher) == byte)
}

fn builder(cipher: Cipher, private: &[u8; 32]) -> Builder<'_> {
    let params = protocol(cipher).parse().expect("the protocol's name is well-formed");
    let builder = Builder::new(params).local_private_key(private).expect("set once");
    builder.prologue(PROLOGUE).expect("set once")
}

fn agreed(state: &mut HandshakeState, cipher: Cipher, indices: (u32, u32), initiator: bool) -> Agreed {
    let (forward, backward) = state.dangerously_get_raw_split();
    let (forward, backward) = (Zeroizing::new(forward), Zeroizing::new(backward));
    let (send, receive) = if initiator { (&forward, &backward) } else { (&backward, &forward) };
    Agreed {
        send: Key::new(cipher, send),
        receive: Key::new(cipher, receive),
        own_index: indices.0,
        peer_index: indices.1,
        initiator,
    }
}

/// An initiation that awaits its response.
pub(super) struct Pending {
    state: HandshakeState,
    cipher: Cipher,
    pub(super) own_index: u32,
}

/// Writes an initiation. The last [`MAC`] bytes are left to the gate.
pub(super) fn initiate(
    cipher: Cipher,
    private: &[u8; 32],
    peer: &PublicKey,
    own_index: u32,
    stamp: u64,
) -> (Pending, Vec<u8>) {
    let builder = builder(cipher, private).remote_public_key(&peer.0).expect("set once");
    let mut state = builder.build_initiator().expect("an initiator of IK has both static keys");
    let mut message = vec![0; INITIATION];
    message[0] = frame::KIND_INITIATION;
    message[1] = cipher_byte(cipher);
    message[4..8].copy_from_slice(&own_index.to_le_bytes());
    let n = state
        .write_message(&stamp.to_le_bytes(), &mut message[8..INITIATION - MAC])
        .expect("the message is of the exact size and the first of the pattern");
    debug_assert_eq!(n, NOISE_1);
    (Pending { state, cipher, own_index }, message)
}

impl Pending {
    /// Takes the response; `None` if it is not from the peer.
    pub(super) fn finish(&mut self, sender: u32, datagram: &[u8]) -> Option<Agreed> {
        let mut payload = [0; 16];
        let n = self.state.read_message(&datagram[12..RESPONSE - MAC], &mut payload).ok()?;
        (n == 0).then(|| agreed(&mut self.state, self.cipher, (self.own_index, sender), true))
    }
}

/// An initiation that was opened: authentic, but possibly old.
pub(super) struct Opened {
    state: HandshakeState,
    cipher: Cipher,
    sender: u32,
    pub(super) peer: PublicKey,
    pub(super) stamp: u64,
}

/// Opens an initiation; `None` if it was not made for this key.
pub(super) fn open(cipher: Cipher, private: &[u8; 32], sender: u32, datagram: &[u8]) -> Option<Opened> {
    let mut state = builder(cipher, private).build_responder().expect("a responder of IK has its static key");
    let mut payload = [0; 64];
    let n = state.read_message(&datagram[8..INITIATION - MAC], &mut payload).ok()?;
    let stamp: [u8; STAMP] = payload[..n].try_into().ok()?;
    let peer = PublicKey(state.get_remote_static()?.try_into().ok()?);
    Some(Opened { state, cipher, sender, peer, stamp: u64::from_le_bytes(stamp) })
}

impl Opened {
    /// Writes the response. The last [`MAC`] bytes are left to the gate.
    pub(super) fn respond(mut self, own_index: u32) -> Option<(Agreed, Vec<u8>)> {
        let mut message = vec![0; RESPONSE];
        message[0] = frame::KIND_RESPONSE;
        message[4..8].copy_from_slice(&own_index.to_le_bytes());
        message[8..12].copy_from_slice(&self.sender.to_le_bytes());
        self.state.write_message(&[], &mut message[12..RESPONSE - MAC]).ok()?;
        Some((agreed(&mut self.state, self.cipher, (own_index, self.sender), false), message))
    }
}
