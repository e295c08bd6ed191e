//! What the in-line box reads from the kernel's programs, and the tunnel's real cryptography, for the
//! fuzz targets, which are outside of this crate. It exists only in builds with `--cfg fuzzing`, as
//! `cargo fuzz` makes them.

use crate::crypto::NoiseIk;
use crate::keys::KeyPair;
use airpace_api::config::Cipher;
use airpace_api::keys::PrivateKey;
use airpace_edge::tunnel::Crypto;

pub use crate::edge::fuzzing::{UplinkReader, observe, operator};

/// The cryptography of an end with this private key.
#[must_use]
pub fn noise(private_key: [u8; 32]) -> impl Crypto {
    let keys = KeyPair::from_private(PrivateKey(private_key));
    NoiseIk::new(keys, Cipher::Chacha20Poly1305)
}
