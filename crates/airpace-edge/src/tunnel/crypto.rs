//! What the tunnel needs of cryptography.
//!
//! The tunnel decides *when* a handshake takes place, *which* keys are valid and *what* is refused;
//! an implementation of [`Crypto`] agrees on keys by a Noise IKpsk2 handshake, seals, opens, and
//! supplies random numbers. `airpace-live` implements it with `snow` and `ring`; the tests here
//! with a toy that fits on a page.
//!
//! Everything is a method of a type parameter, so the compiler generates the data path for each
//! implementation separately: no virtual call and no allocation per datagram.

use super::frame::{
    CHECK_BYTES, COOKIE_BYTES, COOKIE_NONCE_BYTES, INITIATION_NOISE_BYTES, RESPONSE_NOISE_BYTES,
    SEAL_TAIL, SEALED_COOKIE_BYTES, STAMP_BYTES,
};
use core::fmt;

/// The long-term Curve25519 public key that identifies one end of a tunnel.
///
/// Whoever reads it from a configuration must refuse points of low order: with such a key everybody
/// agrees on the same secret.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StaticPublicKey(pub [u8; 32]);

/// A secret that two ends share besides their key pairs; 32 zero bytes stand for none.
///
/// An attacker who records sessions today and has a quantum computer one day cannot read them without
/// it.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct PresharedKey(pub [u8; 32]);

impl fmt::Debug for PresharedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PresharedKey(hidden)")
    }
}

/// One end's cryptography: its private key, its cipher and its source of random numbers.
///
/// The handshake is Noise IKpsk2 (revision 34, sections 7.5 and 9) over Curve25519 and a hash of 32
/// bytes.
/// Messages have the lengths that this pattern gives them; the types of the arguments say which.
pub trait Crypto {
    /// A cipher suite that a handshake may use. The initiator chooses it, the responder follows.
    type Suite: Copy;
    /// Computes and verifies the checks of handshake messages to one receiver.
    type Check: HandshakeCheck<Suite = Self::Suite>;
    /// An initiation that was sent and awaits its response.
    type Initiator;
    /// An initiation that was opened and can be answered.
    type Responder;
    /// Seals or opens the data of one direction of a session.
    type Key: TransportKey;

    /// A uniformly distributed random number. Session indices and the jitter of retries are drawn
    /// from it; the tunnel stays secure if strangers can predict them.
    fn random_u32(&mut self) -> u32;

    /// A key that strangers cannot predict, for the hash that assigns source addresses to rate
    /// limits, and for the secret behind cookies.
    fn random_key(&mut self) -> [u8; 16];

    /// The static public key of this end.
    fn public_key(&self) -> StaticPublicKey;

    /// The suite of the handshakes that this end initiates.
    fn suite(&self) -> Self::Suite;

    /// The check of handshake messages to `receiver`.
    fn check_for(&self, receiver: &StaticPublicKey) -> Self::Check;

    /// Begins a handshake of this end's [`suite`](Self::suite) with `responder`, and writes the
    /// first Noise message (`e, es, s, ss`) with `stamp` as its payload. `preshared` is needed to
    /// read the second message.
    fn initiate(
        &mut self,
        responder: &StaticPublicKey,
        preshared: &PresharedKey,
        stamp: &[u8; STAMP_BYTES],
        message: &mut [u8; INITIATION_NOISE_BYTES],
    ) -> Self::Initiator;

    /// Opens a first Noise message; `None` if it was not made for this end or was altered.
    fn open_initiation(
        &self,
        suite: Self::Suite,
        message: &[u8; INITIATION_NOISE_BYTES],
    ) -> Option<Initiation<Self::Responder>>;

    /// Answers an initiation with the second Noise message (`e, ee, se, psk`) and an empty payload.
    /// `None` if no keys can be agreed on, in which case nothing is to be sent.
    fn respond(
        &mut self,
        responder: Self::Responder,
        preshared: &PresharedKey,
        message: &mut [u8; RESPONSE_NOISE_BYTES],
    ) -> Option<SessionKeys<Self::Key>>;

    /// Reads the second Noise message; `None` if it is not the responder's answer to this
    /// initiation.
    ///
    /// After a failure `initiator` must still accept the genuine response: a forged one must not
    /// end the handshake.
    fn finish(
        &self,
        initiator: &mut Self::Initiator,
        message: &[u8; RESPONSE_NOISE_BYTES],
    ) -> Option<SessionKeys<Self::Key>>;
}

/// A short keyed hash behind every handshake message, like `mac1` of WireGuard (whitepaper, section
/// 5.4.4): only those who know the receiver's public key can compute it, and verifying it costs far
/// less than the handshake itself.
///
/// There is one key for each suite, so the check also says which suite the sender has chosen.
pub trait HandshakeCheck {
    /// See [`Crypto::Suite`].
    type Suite: Copy;

    /// The check of `message`, which is everything in front of the check.
    fn compute(&self, suite: Self::Suite, message: &[u8]) -> [u8; CHECK_BYTES];

    /// The suite for which `check` is the right check of `message`; `None` if there is none.
    fn verify(&self, message: &[u8], check: &[u8; CHECK_BYTES]) -> Option<Self::Suite>;

    /// Seals a cookie for the sender of the message with this check. `nonce` is random.
    ///
    /// Only those who have seen the message can make or read it.
    fn seal_cookie(
        &self,
        check: &[u8; CHECK_BYTES],
        nonce: &[u8; COOKIE_NONCE_BYTES],
        cookie: &[u8; COOKIE_BYTES],
    ) -> [u8; SEALED_COOKIE_BYTES];

    /// Opens a cookie that answers the message with this check; `None` if it is not authentic.
    fn open_cookie(
        &self,
        check: &[u8; CHECK_BYTES],
        nonce: &[u8; COOKIE_NONCE_BYTES],
        sealed: &[u8; SEALED_COOKIE_BYTES],
    ) -> Option<[u8; COOKIE_BYTES]>;
}

/// The key of one direction of a session: an AEAD with a tag of 16 bytes and without associated
/// data.
pub trait TransportKey {
    /// Encrypts `plain` in place and returns the tag. Each `counter` is used at most once per key:
    /// it is the nonce.
    fn seal(&self, counter: u64, plain: &mut [u8]) -> [u8; SEAL_TAIL];

    /// Decrypts in place what [`seal`](Self::seal) has left, followed by its tag, and returns the
    /// plaintext. `None` if it is not authentic; then the bytes are unspecified.
    fn open<'a>(&self, counter: u64, sealed: &'a mut [u8]) -> Option<&'a mut [u8]>;
}

/// An authentic first handshake message, which may still be a replay.
pub struct Initiation<R> {
    /// What is needed to answer it.
    pub responder: R,
    /// The initiator.
    pub peer: StaticPublicKey,
    /// The payload: the initiator's time stamp.
    pub stamp: [u8; STAMP_BYTES],
}

/// What a completed handshake yields (Noise, section 5.2, `Split()`).
pub struct SessionKeys<K> {
    /// Seals what this end sends.
    pub send: K,
    /// Opens what this end receives.
    pub receive: K,
}
