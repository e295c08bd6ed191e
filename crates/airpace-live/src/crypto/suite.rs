//! The two cipher suites that a session can have.

use airpace_api::config::Cipher;

/// A cipher suite, after `Auto` was decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Suite {
    Chacha20Poly1305,
    Aes256Gcm,
}

impl Suite {
    /// Both suites, in the order in which handshake checks are tried.
    pub(super) const ALL: [Self; 2] = [Self::Chacha20Poly1305, Self::Aes256Gcm];

    /// The suite that a configuration asks for, on this machine.
    pub(super) fn of(cipher: Cipher) -> Self {
        match cipher {
            Cipher::Chacha20Poly1305 => Self::Chacha20Poly1305,
            Cipher::Aes256Gcm => Self::Aes256Gcm,
            Cipher::Auto if has_aes() => Self::Aes256Gcm,
            Cipher::Auto => Self::Chacha20Poly1305,
        }
    }

    /// The full name of the Noise protocol with this cipher (Noise, section 8).
    pub(super) const fn protocol(self) -> &'static str {
        match self {
            Self::Chacha20Poly1305 => "Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s",
            Self::Aes256Gcm => "Noise_IKpsk2_25519_AESGCM_BLAKE2s",
        }
    }

    /// The name from which the key of handshake checks is derived. Both ends must use the same one:
    /// it is part of the protocol.
    pub(super) const fn check_label(self) -> &'static str {
        match self {
            Self::Chacha20Poly1305 => "Chacha20Poly1305",
            Self::Aes256Gcm => "Aes256Gcm",
        }
    }
}

/// Whether the processor has instructions for AES and for the carry-less multiplication of GCM.
/// Without them AES-GCM is slow.
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
