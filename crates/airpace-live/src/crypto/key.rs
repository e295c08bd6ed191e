//! The key of one direction of a session: an AEAD of `ring`.

use super::suite::Suite;
use airpace_edge::tunnel::{SEAL_TAIL, TransportKey};
use ring::aead::{AES_256_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};

/// Seals or opens the data of one direction of a session.
pub(crate) struct AeadKey {
    key: LessSafeKey,
    suite: Suite,
}

impl AeadKey {
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

    /// The nonce of a counter: 32 zero bits, then the counter in the byte order of the cipher
    /// (Noise, sections 12.3 and 12.4).
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

impl TransportKey for AeadKey {
    fn seal(&self, counter: u64, plain: &mut [u8]) -> [u8; SEAL_TAIL] {
        let tag = self
            .key
            .seal_in_place_separate_tag(self.nonce(counter), Aad::empty(), plain)
            .expect("a datagram is far below the ciphers' limit of 64 GiB");
        *tag.as_ref()
            .first_chunk()
            .expect("both ciphers have tags of 16 bytes")
    }

    fn open<'a>(&self, counter: u64, sealed: &'a mut [u8]) -> Option<&'a mut [u8]> {
        self.key
            .open_in_place(self.nonce(counter), Aad::empty(), sealed)
            .ok()
    }
}
