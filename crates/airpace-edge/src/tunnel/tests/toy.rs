//! Cryptography that protects nothing but refuses everything that real cryptography refuses.
//!
//! It follows the pattern of Noise IKpsk2 step by step, in a group in which everybody can compute
//! logarithms: the integers modulo 2⁶⁴ under addition, so that a key agreement is a multiplication.
//! Tags are SipHash values.

use crate::tunnel::{
    CHECK_BYTES, COOKIE_BYTES, COOKIE_NONCE_BYTES, Crypto, HandshakeCheck, INITIATION_NOISE_BYTES,
    Initiation, PresharedKey, RESPONSE_NOISE_BYTES, SEAL_TAIL, SEALED_COOKIE_BYTES, STAMP_BYTES,
    SessionKeys, StaticPublicKey, TransportKey,
};
use core::hash::Hasher as _;
use rand_core::{Rng as _, SeedableRng as _};
use rand_pcg::Pcg64;
use siphasher::sip::SipHasher13;
use siphasher::sip128;

/// One end's toy cryptography.
pub(super) struct Toy {
    private: u64,
    suite: ToySuite,
    random: Pcg64,
}

/// Two suites that differ in nothing but their name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ToySuite {
    Red,
    Blue,
}

/// The generator of the group.
const GENERATOR: u64 = 0x9e37_79b9_7f4a_7c15;
/// Sealed bytes are complemented, so that a payload that was not opened cannot be mistaken for one
/// that was.
const MASK: u8 = 0xff;

impl Toy {
    /// `seed` is the seed of everything random.
    pub(super) fn new(private: u64, suite: ToySuite, seed: u64) -> Self {
        Self {
            private,
            suite,
            random: Pcg64::seed_from_u64(seed),
        }
    }

    /// The public key of a private key.
    pub(super) fn public(private: u64) -> StaticPublicKey {
        StaticPublicKey(group_element(private.wrapping_mul(GENERATOR)))
    }
}

/// 32 bytes that begin with a number.
fn group_element(number: u64) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    bytes
}

/// The number that the bytes begin with.
fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(*bytes.first_chunk().expect("eight bytes"))
}

/// A key derived from others.
fn derive(parts: &[u64]) -> u64 {
    let mut hasher = SipHasher13::new();
    for part in parts {
        hasher.write_u64(*part);
    }
    hasher.finish()
}

fn tag(key: u64, nonce: u64, bytes: &[u8]) -> [u8; 16] {
    sip128::SipHasher13::new_with_keys(key, nonce)
        .hash(bytes)
        .as_bytes()
}

fn session_keys(secret: u64) -> (ToyKey, ToyKey) {
    (ToyKey(derive(&[secret, 1])), ToyKey(derive(&[secret, 2])))
}

/// An initiation that awaits its response.
pub(super) struct ToyInitiator {
    preshared: PresharedKey,
    ephemeral: u64,
    private: u64,
    secret: u64,
}

/// An initiation that was opened.
pub(super) struct ToyResponder {
    initiator_ephemeral: u64,
    initiator_static: u64,
    secret: u64,
}

impl Crypto for Toy {
    type Suite = ToySuite;
    type Check = ToyCheck;
    type Initiator = ToyInitiator;
    type Responder = ToyResponder;
    type Key = ToyKey;

    fn random_u32(&mut self) -> u32 {
        self.random.next_u32()
    }

    fn random_key(&mut self) -> [u8; 16] {
        let mut key = [0; 16];
        self.random.fill_bytes(&mut key);
        key
    }

    fn public_key(&self) -> StaticPublicKey {
        Self::public(self.private)
    }

    fn suite(&self) -> ToySuite {
        self.suite
    }

    fn check_for(&self, receiver: &StaticPublicKey) -> ToyCheck {
        ToyCheck::for_receiver(receiver)
    }

    fn initiate(
        &mut self,
        responder: &StaticPublicKey,
        preshared: &PresharedKey,
        stamp: &[u8; STAMP_BYTES],
        message: &mut [u8; INITIATION_NOISE_BYTES],
    ) -> ToyInitiator {
        let responder = number(&responder.0);
        let ephemeral = self.random.next_u64();
        // e, es
        message[..32].copy_from_slice(&Self::public(ephemeral).0);
        let secret = derive(&[self.suite as u64, ephemeral.wrapping_mul(responder)]);
        // s
        message[32..64].copy_from_slice(&self.public_key().0);
        let check = tag(secret, 0, &message[..64]);
        message[64..80].copy_from_slice(&check);
        // ss
        let secret = derive(&[secret, self.private.wrapping_mul(responder)]);
        message[80..88].copy_from_slice(stamp);
        let check = tag(secret, 0, &message[..88]);
        message[88..].copy_from_slice(&check);
        ToyInitiator {
            preshared: *preshared,
            ephemeral,
            private: self.private,
            secret,
        }
    }

    fn open_initiation(
        &self,
        suite: ToySuite,
        message: &[u8; INITIATION_NOISE_BYTES],
    ) -> Option<Initiation<ToyResponder>> {
        let initiator_ephemeral = number(&message[..32]);
        let initiator_static = number(&message[32..64]);
        let secret = derive(&[suite as u64, self.private.wrapping_mul(initiator_ephemeral)]);
        if message[64..80] != tag(secret, 0, &message[..64]) {
            return None;
        }
        let secret = derive(&[secret, self.private.wrapping_mul(initiator_static)]);
        if message[88..] != tag(secret, 0, &message[..88]) {
            return None;
        }
        Some(Initiation {
            responder: ToyResponder {
                initiator_ephemeral,
                initiator_static,
                secret,
            },
            peer: StaticPublicKey(message[32..64].try_into().expect("32 bytes")),
            stamp: message[80..88].try_into().expect("8 bytes"),
        })
    }

    fn respond(
        &mut self,
        responder: ToyResponder,
        preshared: &PresharedKey,
        message: &mut [u8; RESPONSE_NOISE_BYTES],
    ) -> Option<SessionKeys<ToyKey>> {
        let ephemeral = self.random.next_u64();
        // e, ee, se, psk
        message[..32].copy_from_slice(&Self::public(ephemeral).0);
        let secret = derive(&[
            responder.secret,
            ephemeral.wrapping_mul(responder.initiator_ephemeral),
            ephemeral.wrapping_mul(responder.initiator_static),
            number(&preshared.0),
        ]);
        let check = tag(secret, 0, &message[..32]);
        message[32..].copy_from_slice(&check);
        let (receive, send) = session_keys(secret);
        Some(SessionKeys { send, receive })
    }

    fn finish(
        &self,
        initiator: &mut ToyInitiator,
        message: &[u8; RESPONSE_NOISE_BYTES],
    ) -> Option<SessionKeys<ToyKey>> {
        let responder_ephemeral = number(&message[..32]);
        let secret = derive(&[
            initiator.secret,
            initiator.ephemeral.wrapping_mul(responder_ephemeral),
            initiator.private.wrapping_mul(responder_ephemeral),
            number(&initiator.preshared.0),
        ]);
        if message[32..] != tag(secret, 0, &message[..32]) {
            return None;
        }
        let (send, receive) = session_keys(secret);
        Some(SessionKeys { send, receive })
    }
}

/// A check keyed by the receiver's public key.
pub(super) struct ToyCheck(u64);

impl ToyCheck {
    pub(super) fn for_receiver(receiver: &StaticPublicKey) -> Self {
        Self(number(&receiver.0))
    }
}

impl HandshakeCheck for ToyCheck {
    type Suite = ToySuite;

    fn compute(&self, suite: ToySuite, message: &[u8]) -> [u8; CHECK_BYTES] {
        tag(self.0, suite as u64, message)
    }

    fn verify(&self, message: &[u8], check: &[u8; CHECK_BYTES]) -> Option<ToySuite> {
        [ToySuite::Red, ToySuite::Blue]
            .into_iter()
            .find(|&suite| self.compute(suite, message) == *check)
    }

    fn seal_cookie(
        &self,
        check: &[u8; CHECK_BYTES],
        nonce: &[u8; COOKIE_NONCE_BYTES],
        cookie: &[u8; COOKIE_BYTES],
    ) -> [u8; SEALED_COOKIE_BYTES] {
        let mut sealed = [0; SEALED_COOKIE_BYTES];
        let plain = cookie.map(|byte| byte ^ MASK);
        sealed[..COOKIE_BYTES].copy_from_slice(&plain);
        let key = derive(&[self.0, number(check), number(&check[8..])]);
        sealed[COOKIE_BYTES..].copy_from_slice(&tag(key, number(nonce), &plain));
        sealed
    }

    fn open_cookie(
        &self,
        check: &[u8; CHECK_BYTES],
        nonce: &[u8; COOKIE_NONCE_BYTES],
        sealed: &[u8; SEALED_COOKIE_BYTES],
    ) -> Option<[u8; COOKIE_BYTES]> {
        let (plain, _) = sealed.split_first_chunk::<COOKIE_BYTES>()?;
        let cookie = plain.map(|byte| byte ^ MASK);
        (self.seal_cookie(check, nonce, &cookie) == *sealed).then_some(cookie)
    }
}

/// One direction's key.
pub(super) struct ToyKey(u64);

impl TransportKey for ToyKey {
    fn seal(&self, counter: u64, plain: &mut [u8]) -> [u8; SEAL_TAIL] {
        for byte in &mut *plain {
            *byte ^= MASK;
        }
        tag(self.0, counter, plain)
    }

    fn open<'a>(&self, counter: u64, sealed: &'a mut [u8]) -> Option<&'a mut [u8]> {
        let (plain, check) = sealed.split_last_chunk_mut::<SEAL_TAIL>()?;
        if *check != tag(self.0, counter, plain) {
            return None;
        }
        for byte in &mut *plain {
            *byte ^= MASK;
        }
        Some(plain)
    }
}
