//! The check of handshake messages: HMAC-SHA256 under a key derived from the receiver's public key.

use super::suite::Suite;
use airpace_api::keys::PublicKey;
use airpace_edge::tunnel::{CHECK_BYTES, HandshakeCheck};
use ring::{digest, hmac};

/// Computes and verifies the checks of handshake messages to one receiver.
pub(crate) struct HmacCheck {
    chacha20_poly1305: hmac::Key,
    aes_256_gcm: hmac::Key,
}

impl HmacCheck {
    pub(super) fn for_receiver(receiver: &PublicKey) -> Self {
        let key = |suite: Suite| {
            let label = suite.check_label();
            let text = format!("airpace handshake check v1 {label} {receiver}");
            let digest = digest::digest(&digest::SHA256, text.as_bytes());
            hmac::Key::new(hmac::HMAC_SHA256, digest.as_ref())
        };
        Self {
            chacha20_poly1305: key(Suite::Chacha20Poly1305),
            aes_256_gcm: key(Suite::Aes256Gcm),
        }
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
