//! Keys as text. Making keys needs randomness and belongs to the live system.

use core::fmt;
use core::str::FromStr;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// 32 bytes of key material as base64 text with padding, 44 characters.
///
/// Whether it is a public or a private key is told by the field that holds it; [`PrivateKey`] hides itself from logs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey(pub [u8; 32]);

/// A private key; printed only by serialisation, never by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct PrivateKey(pub [u8; 32]);

/// Why a text is no key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("this is no key: 32 bytes in base64 (44 characters) are expected; `airpace keygen` makes them")]
pub struct KeyError;

fn key_bytes(text: &str) -> Result<[u8; 32], KeyError> {
    use base64::Engine as _;
    let bytes = base64::engine::general_purpose::STANDARD.decode(text.trim()).map_err(|_| KeyError)?;
    bytes.try_into().map_err(|_| KeyError)
}

fn key_text(bytes: &[u8; 32]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

macro_rules! key_serde {
    ($name:ident) => {
        impl FromStr for $name {
            type Err = KeyError;
            fn from_str(text: &str) -> Result<Self, KeyError> {
                key_bytes(text).map(Self)
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
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
            }
        }
    };
}
key_serde!(PublicKey);
key_serde!(PrivateKey);

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_keys_do_not_reach_logs() {
        let key = PrivateKey([7; 32]);
        assert_eq!(format!("{key:?}"), "PrivateKey(hidden)");
        assert_eq!(key.to_base64().parse(), Ok(key));
        assert_eq!("AAAA".parse::<PublicKey>(), Err(KeyError));
    }
}
