//! The check of handshake messages: HMAC-SHA256 under a key derived from the receiver's public key.
//! Cookies are sealed under keys derived from the receiver's public key and the check that they
//! answer.

use super::suite::Suite;
use airpace_api::keys::PublicKey;
use airpace_edge::tunnel::{
    CHECK_BYTES, COOKIE_BYTES, COOKIE_NONCE_BYTES, HandshakeCheck, SEALED_COOKIE_BYTES,
};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use ring::{digest, hmac};

/// Computes and verifies the checks of handshake messages to one receiver.
pub(crate) struct HmacCheck {
    chacha20_poly1305: hmac::Key,
    aes_256_gcm: hmac::Key,
    /// Derives the keys of cookies.
    cookies: hmac::Key,
}

impl HmacCheck {
    pub(super) fn for_receiver(receiver: &PublicKey) -> Self {
        let key = |purpose: &str| {
            let text = format!("airpace {purpose} {receiver}");
            let digest = digest::digest(&digest::SHA256, text.as_bytes());
            hmac::Key::new(hmac::HMAC_SHA256, digest.as_ref())
        };
        // The label of checks stays that of version 1, so that ends of different versions can tell
        // each other from strangers.
        let of_suite = |suite: Suite| key(&format!("handshake check v1 {}", suite.check_label()));
        Self {
            chacha20_poly1305: of_suite(Suite::Chacha20Poly1305),
            aes_256_gcm: of_suite(Suite::Aes256Gcm),
            cookies: key("cookie v2"),
        }
    }

    /// The key that seals the cookie for the message with this check.
    fn cookie_key(&self, check: &[u8; CHECK_BYTES]) -> LessSafeKey {
        let bytes = hmac::sign(&self.cookies, check);
        let key = UnboundKey::new(&CHACHA20_POLY1305, bytes.as_ref())
            .expect("SHA-256 has as many bytes as a key");
        LessSafeKey::new(key)
    }
}

impl HandshakeCheck for HmacCheck {
    type Suite = Suite;

    fn compute(&self, suite: Suite, message: &[u8]) -> [u8; CHECK_BYTES] {
        let key = match suite {
            Suite::Chacha20Poly1305 => &self.chacha20_poly1305,
            Suite::Aes256Gcm => &self.aes_256_gcm,
        };
        let tag = hmac::sign(key, message);
        // RFC 2104, section 5: half of the hash's output suffices.
        *tag.as_ref()
            .first_chunk()
            .expect("SHA-256 has 32 bytes, more than a check")
    }

    fn verify(&self, message: &[u8], check: &[u8; CHECK_BYTES]) -> Option<Suite> {
        // The comparison need not take constant time: the key derives from a public key, which
        // every peer knows.
        Suite::ALL
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
        let (text, tag) = sealed.split_at_mut(COOKIE_BYTES);
        text.copy_from_slice(cookie);
        // A key repeats only with a repeated initiation, so random nonces do not collide.
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let computed = self
            .cookie_key(check)
            .seal_in_place_separate_tag(nonce, Aad::from(check), text)
            .expect("a cookie is far below the cipher's limit of 64 GiB");
        tag.copy_from_slice(computed.as_ref());
        sealed
    }

    fn open_cookie(
        &self,
        check: &[u8; CHECK_BYTES],
        nonce: &[u8; COOKIE_NONCE_BYTES],
        sealed: &[u8; SEALED_COOKIE_BYTES],
    ) -> Option<[u8; COOKIE_BYTES]> {
        let mut bytes = *sealed;
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let opened = self
            .cookie_key(check)
            .open_in_place(nonce, Aad::from(check), &mut bytes)
            .ok()?;
        (&*opened).try_into().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_holds_for_its_receiver_suite_and_message_alone() {
        let receiver = HmacCheck::for_receiver(&PublicKey([1; 32]));
        let other = HmacCheck::for_receiver(&PublicKey([2; 32]));
        let mut message = [5; 44];
        for suite in Suite::ALL {
            let check = receiver.compute(suite, &message);
            assert_eq!(receiver.verify(&message, &check), Some(suite));
            assert_eq!(other.verify(&message, &check), None);
            message[3] ^= 1;
            assert_eq!(receiver.verify(&message, &check), None);
        }
    }

    #[test]
    fn a_cookie_is_opened_for_its_receiver_and_check_alone() {
        let receiver = HmacCheck::for_receiver(&PublicKey([1; 32]));
        let other = HmacCheck::for_receiver(&PublicKey([2; 32]));
        let (check, nonce, cookie) = ([7; CHECK_BYTES], [8; COOKIE_NONCE_BYTES], [9; 16]);
        let sealed = receiver.seal_cookie(&check, &nonce, &cookie);
        assert!(!sealed.windows(4).any(|bytes| bytes == &cookie[..4]));
        assert_eq!(receiver.open_cookie(&check, &nonce, &sealed), Some(cookie));
        assert_eq!(other.open_cookie(&check, &nonce, &sealed), None);
        assert_eq!(receiver.open_cookie(&[6; 16], &nonce, &sealed), None);
        assert_eq!(receiver.open_cookie(&check, &[6; 12], &sealed), None);
        let mut altered = sealed;
        altered[3] ^= 1;
        assert_eq!(receiver.open_cookie(&check, &nonce, &altered), None);
    }

    #[test]
    fn the_check_is_the_one_of_version_1() {
        // Both ends must compute the same bytes, so a change of them needs a new version of the
        // tunnel.
        let check = HmacCheck::for_receiver(&PublicKey([1; 32]));
        let bytes = Suite::ALL.map(|suite| check.compute(suite, b"airpace"));
        // Computed with Python's `hashlib` and `hmac`.
        let expected = [
            0xb58c_65ea_74cb_3d24_d4a8_05ed_4462_8d88_u128,
            0x5336_742c_3eab_799f_1c97_5e78_1c0b_b58a_u128,
        ];
        assert_eq!(bytes, expected.map(u128::to_be_bytes));
    }
}
