//! The two ciphers that a session can have.

use airpace_api::config::Cipher;

/// A cipher that was decided on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Suite {
    Chacha20Poly1305,
    Aes256Gcm,
}

impl Suite {
    /// Both, in the order in which the checks of handshakes are tried.
    pub(super) const ALL: [Self; 2] = [Self::Chacha20Poly1305, Self::Aes256Gcm];

    /// What a configuration means on this machine.
    pub(super) fn of(cipher: Cipher) -> Self {
        match cipher {
            Cipher::Chacha20Poly1305 => Self::Chacha20Poly1305,
            Cipher::Aes256Gcm => Self::Aes256Gcm,
            Cipher::Auto if has_aes() => Self::Aes256Gcm,
            Cipher::Auto => Self::Chacha20Poly1305,
        }
    }

    /// The Noise protocol with this cipher.
    pub(super) const fn protocol(self) -> &'static str {
        match self {
            Self::Chacha20Poly1305 => "Noise_IK_25519_ChaChaPoly_BLAKE2s",
            Self::Aes256Gcm => "Noise_IK_25519_AESGCM_BLAKE2s",
        }
    }
}

/// Whether the processor has instructions for AES and for the multiplication of GCM.
fn has_aes() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("aes")
        && std::arch::is_x86_feature_detected!("pclmulqdq");
    #[cfg(target_arch = "aarch64")]
    return std::arch::is_aarch64_feature_detected!("aes")
        && std::arch::is_aarch64_feature_detected!("pmull");
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    return false;
}
