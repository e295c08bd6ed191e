//! The tunnel's cryptography: Noise IKpsk2 by `snow`, ciphers, hashes and random numbers by `ring`.
//!
//! Protocols: `Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s` and `Noise_IKpsk2_25519_AESGCM_BLAKE2s`. After the
//! handshake `snow` only hands over the two keys; data is sealed by [`AeadKey`], which takes
//! explicit counters and works in place.

mod check;
mod key;
mod suite;

use crate::keys::KeyPair;
use airpace_api::config::Cipher;
use airpace_api::keys::PublicKey;
use airpace_edge::tunnel::{
    self, Crypto, INITIATION_NOISE_BYTES, Initiation, PresharedKey, RESPONSE_NOISE_BYTES,
    STAMP_BYTES, SessionKeys, StaticPublicKey,
};
use check::HmacCheck;
use key::AeadKey;
use ring::rand::{SecureRandom as _, SystemRandom};
use snow::{Builder, HandshakeState};
use suite::Suite;
use zeroize::Zeroizing;

/// A tunnel with real cryptography.
pub(crate) type Tunnel = tunnel::Tunnel<NoiseIk>;

/// Bound into every handshake (Noise, section 6), so that no other protocol or version can be
/// mistaken for this one.
const PROLOGUE: &[u8] = b"airpace tunnel v2";

/// The place of the preshared key in the pattern: behind the second message (Noise, section 9.3).
const PSK_PLACE: u8 = 2;

/// One end's key pair and cipher suite.
pub(crate) struct NoiseIk {
    keys: KeyPair,
    suite: Suite,
}

/// A handshake between two messages, and the suite that it uses.
pub(crate) struct Handshake {
    state: HandshakeState,
    suite: Suite,
}

/// Which of the two keys of a handshake is for sending (Noise, section 5.3: the first is the
/// initiator's).
#[derive(Clone, Copy)]
enum Role {
    Initiator,
    Responder,
}

impl NoiseIk {
    /// `cipher` is that of the handshakes that this end initiates. It accepts either from its
    /// peers.
    pub(crate) fn new(keys: KeyPair, cipher: Cipher) -> Self {
        Self {
            keys,
            suite: Suite::of(cipher),
        }
    }

    fn builder(&self, suite: Suite) -> Builder<'_> {
        let params = suite
            .protocol()
            .parse()
            .expect("the protocol's name is well-formed");
        Builder::new(params)
            .local_private_key(&self.keys.private.0)
            .and_then(|builder| builder.prologue(PROLOGUE))
            .expect("each is set once")
    }
}

/// Random bytes of the system, which nobody can predict.
///
/// # Panics
/// If the system has no source of random numbers.
pub(crate) fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    SystemRandom::new()
        .fill(&mut bytes)
        .expect("Linux has a source of random numbers");
    bytes
}

/// A random key for a hash function, so that strangers cannot choose inputs that collide.
pub(crate) fn random_key() -> [u8; 16] {
    random_bytes()
}

impl Crypto for NoiseIk {
    type Suite = Suite;
    type Check = HmacCheck;
    type Initiator = Handshake;
    type Responder = Handshake;
    type Key = AeadKey;

    fn random_u32(&mut self) -> u32 {
        u32::from_le_bytes(random_bytes())
    }

    fn random_key(&mut self) -> [u8; 16] {
        random_key()
    }

    fn public_key(&self) -> StaticPublicKey {
        StaticPublicKey(self.keys.public.0)
    }

    fn suite(&self) -> Suite {
        self.suite
    }

    fn check_for(&self, receiver: &StaticPublicKey) -> HmacCheck {
        HmacCheck::for_receiver(&PublicKey(receiver.0))
    }

    fn initiate(
        &mut self,
        responder: &StaticPublicKey,
        preshared: &PresharedKey,
        stamp: &[u8; STAMP_BYTES],
        message: &mut [u8; INITIATION_NOISE_BYTES],
    ) -> Handshake {
        let mut state = self
            .builder(self.suite)
            .remote_public_key(&responder.0)
            .and_then(|builder| builder.psk(PSK_PLACE, &preshared.0))
            .and_then(Builder::build_initiator)
            .expect("an initiator of IKpsk2 has both static keys and the other, each set once");
        let written = state
            .write_message(stamp, message)
            .expect("the message is of the exact size and the first of the pattern");
        debug_assert_eq!(written, INITIATION_NOISE_BYTES);
        Handshake {
            state,
            suite: self.suite,
        }
    }

    fn open_initiation(
        &self,
        suite: Suite,
        message: &[u8; INITIATION_NOISE_BYTES],
    ) -> Option<Initiation<Handshake>> {
        let mut state = self
            .builder(suite)
            .build_responder()
            .expect("a responder of IKpsk2 has its static key");
        // `snow` wants room for payload and tag while it decrypts.
        let mut payload = [0; STAMP_BYTES + 16];
        let n = state.read_message(message, &mut payload).ok()?;
        let stamp = payload[..n].try_into().ok()?;
        let peer = StaticPublicKey(state.get_remote_static()?.try_into().ok()?);
        Some(Initiation {
            responder: Handshake { state, suite },
            peer,
            stamp,
        })
    }

    fn respond(
        &mut self,
        mut responder: Handshake,
        preshared: &PresharedKey,
        message: &mut [u8; RESPONSE_NOISE_BYTES],
    ) -> Option<SessionKeys<AeadKey>> {
        // Only now is it known which peer it is.
        responder
            .state
            .set_psk(PSK_PLACE.into(), &preshared.0)
            .ok()?;
        responder.state.write_message(&[], message).ok()?;
        Some(responder.split(Role::Responder))
    }

    fn finish(
        &self,
        initiator: &mut Handshake,
        message: &[u8; RESPONSE_NOISE_BYTES],
    ) -> Option<SessionKeys<AeadKey>> {
        let mut payload = [0; 16];
        // `snow` restores the state before a message that it cannot read, so the genuine response
        // is still accepted.
        let n = initiator.state.read_message(message, &mut payload).ok()?;
        (n == 0).then(|| initiator.split(Role::Initiator))
    }
}

impl Handshake {
    /// The two keys of a completed handshake.
    fn split(&mut self, role: Role) -> SessionKeys<AeadKey> {
        let (of_initiator, of_responder) = self.state.dangerously_get_raw_split();
        let of_initiator = Zeroizing::new(of_initiator);
        let of_responder = Zeroizing::new(of_responder);
        let (send, receive) = match role {
            Role::Initiator => (&of_initiator, &of_responder),
            Role::Responder => (&of_responder, &of_initiator),
        };
        SessionKeys {
            send: AeadKey::new(self.suite, send),
            receive: AeadKey::new(self.suite, receive),
        }
    }
}

#[cfg(test)]
mod tests;
