//! Keys as text. Generating keys needs randomness and belongs to the live system.

use airpace_config::setting::text_settings;
use core::fmt;
use core::str::FromStr;
use serde::{Serialize, Serializer};

/// A Curve25519 public key; as text 44 characters of base64 with padding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey(pub [u8; 32]);

/// A Curve25519 private key, in the same text form. Serialization prints it, `Debug` never does.
#[derive(Clone, PartialEq, Eq)]
pub struct PrivateKey(pub [u8; 32]);

/// A secret that the two ends of a tunnel share besides their key pairs, in the same text form.
/// `Debug` never prints it.
#[derive(Clone, PartialEq, Eq)]
pub struct PresharedKey(pub [u8; 32]);

/// Why a text was refused as a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// It is not 32 bytes in base64.
    #[error(
        "this is not a key: 32 bytes in base64 (44 characters) are expected; the command `keygen` makes them"
    )]
    Malformed,
    /// It is a public key with which every private key yields the same secret.
    #[error(
        "this public key protects nothing (a point of low order): the command `keygen` makes proper ones"
    )]
    LowOrder,
}

fn key_bytes(text: &str) -> Result<[u8; 32], KeyError> {
    use base64::Engine as _;
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(text.trim())
        .map_err(|_| KeyError::Malformed)?;
    bytes.try_into().map_err(|_| KeyError::Malformed)
}

/// Points of Curve25519 and its twist whose order divides the cofactor: a key agreement with them
/// yields zero for every private key. Little-endian, as RFC 7748 encodes them: 0, 1, the two of
/// order 8, and p − 1, p, p + 1 with p = 2²⁵⁵ − 19.
#[rustfmt::skip]
const LOW_ORDER: [[u8; 32]; 7] = [
    [0; 32],
    [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    [0xe0, 0xeb, 0x7a, 0x7c, 0x3b, 0x41, 0xb8, 0xae, 0x16, 0x56, 0xe3, 0xfa, 0xf1, 0x9f, 0xc4, 0x6a,
     0xda, 0x09, 0x8d, 0xeb, 0x9c, 0x32, 0xb1, 0xfd, 0x86, 0x62, 0x05, 0x16, 0x5f, 0x49, 0xb8, 0x00],
    [0x5f, 0x9c, 0x95, 0xbc, 0xa3, 0x50, 0x8c, 0x24, 0xb1, 0xd0, 0xb1, 0x55, 0x9c, 0x83, 0xef, 0x5b,
     0x04, 0x44, 0x5c, 0xc4, 0x58, 0x1c, 0x8e, 0x86, 0xd8, 0x22, 0x4e, 0xdd, 0xd0, 0x9f, 0x11, 0x57],
    near_p(0xec),
    near_p(0xed),
    near_p(0xee),
];

/// 2²⁵⁵ − 256 plus the lowest byte.
const fn near_p(lowest: u8) -> [u8; 32] {
    let mut bytes = [0xff; 32];
    bytes[0] = lowest;
    bytes[31] = 0x7f;
    bytes
}

impl PublicKey {
    /// The key of these bytes, unless a session with its owner would protect nothing.
    ///
    /// # Errors
    /// [`KeyError::LowOrder`]: every private key yields the same secret with this key.
    pub fn checked(bytes: [u8; 32]) -> Result<Self, KeyError> {
        // The topmost bit takes no part in a key agreement (RFC 7748, section 5).
        let mut point = bytes;
        point[31] &= 0x7f;
        if LOW_ORDER.contains(&point) {
            Err(KeyError::LowOrder)
        } else {
            Ok(Self(bytes))
        }
    }
}

fn key_text(bytes: &[u8; 32]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// The text form of a key; `$checked` turns its bytes into the key.
macro_rules! key_text_form {
    ($name:ident, $checked:expr) => {
        impl FromStr for $name {
            type Err = KeyError;
            fn from_str(text: &str) -> Result<Self, KeyError> {
                key_bytes(text).and_then($checked)
            }
        }
        impl $name {
            /// The key as base64 text.
            #[must_use]
            pub fn to_base64(&self) -> String {
                key_text(&self.0)
            }
        }
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.to_base64())
            }
        }
    };
}
key_text_form!(PublicKey, PublicKey::checked);
key_text_form!(PrivateKey, |bytes| Ok(PrivateKey(bytes)));
key_text_form!(PresharedKey, |bytes| Ok(PresharedKey(bytes)));

text_settings! {
    PublicKey: "public key", "\"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\"";
    // Deliberately invalid, so that the example cannot be used as a key.
    PrivateKey: "private key", "\"44 characters of base64\"";
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_base64())
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PrivateKey(hidden)")
    }
}

impl fmt::Debug for PresharedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PresharedKey(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_keys_do_not_reach_logs() {
        let key = PrivateKey([7; 32]);
        assert_eq!(format!("{key:?}"), "PrivateKey(hidden)");
        assert_eq!(key.to_base64().parse(), Ok(key));
        assert_eq!("AAAA".parse::<PublicKey>(), Err(KeyError::Malformed));
    }

    #[test]
    fn public_keys_that_protect_nothing_are_refused() {
        for point in LOW_ORDER {
            for top in [0, 0x80] {
                let mut bytes = point;
                bytes[31] |= top;
                assert_eq!(
                    PublicKey(bytes).to_base64().parse::<PublicKey>(),
                    Err(KeyError::LowOrder),
                    "{bytes:x?}"
                );
                assert!(PrivateKey(bytes).to_base64().parse::<PrivateKey>().is_ok());
            }
        }
        assert!(PublicKey([9; 32]).to_base64().parse::<PublicKey>().is_ok());
    }
}
