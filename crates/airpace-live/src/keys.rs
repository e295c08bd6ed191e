//! Key pairs, preshared keys and the files that hold them.

use crate::crypto::random_bytes;
use airpace_api::config::KeySource;
use airpace_api::keys::{KeyError, PresharedKey, PrivateKey, PublicKey};
use airpace_edge::tunnel::{self, PeerConfig, StaticPublicKey};
use snow::resolvers::{CryptoResolver as _, DefaultResolver};
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A Curve25519 key pair.
#[derive(Clone, Debug)]
pub struct KeyPair {
    /// The private key, which stays on this machine.
    pub private: PrivateKey,
    /// The public key, for the configuration of the other end.
    pub public: PublicKey,
}

/// Why a key file cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyFileError {
    /// The file cannot be read.
    #[error("cannot read the key file {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system call.
        source: io::Error,
    },
    /// The file exists already or cannot be created.
    #[error("cannot create the key file {path}: {source}")]
    Create {
        /// The file.
        path: PathBuf,
        /// The error of the system call.
        source: io::Error,
    },
    /// The file does not hold a key.
    #[error("{path}: {source}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Why.
        source: KeyError,
    },
    /// Other users may read the file.
    #[error("{path} can be read by others (mode {mode:03o}): run chmod 600 {path}")]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
}

impl KeyPair {
    /// A new key pair from the system's random numbers.
    ///
    /// # Panics
    /// If the system has no source of random numbers.
    #[must_use]
    pub fn generate() -> Self {
        Self::from_private(PrivateKey(random_bytes()))
    }

    /// The pair that belongs to a private key.
    ///
    /// # Panics
    /// Never: Curve25519 is always built in.
    #[must_use]
    pub fn from_private(private: PrivateKey) -> Self {
        let curve = snow::params::DHChoice::Curve25519;
        let mut dh = DefaultResolver
            .resolve_dh(&curve)
            .expect("the default resolver has Curve25519");
        dh.set(&private.0);
        let mut public = [0; 32];
        public.copy_from_slice(&dh.pubkey()[..32]);
        Self {
            private,
            public: PublicKey(public),
        }
    }

    /// The pair whose private key a configuration gives, inline or by file.
    ///
    /// # Errors
    /// The file cannot be read, does not hold a key, or can be read by other users.
    pub fn load(source: &KeySource<'_>) -> Result<Self, KeyFileError> {
        match source {
            KeySource::Inline(key) => Ok(Self::from_private((*key).clone())),
            KeySource::File(path) => Self::read(path),
        }
    }

    /// Reads a private key from a file, which only its owner may be able to read.
    ///
    /// # Errors
    /// The file cannot be read, does not hold a key, or can be read by other users.
    pub fn read(path: &Path) -> Result<Self, KeyFileError> {
        Ok(Self::from_private(read_key(path)?))
    }

    /// Writes the private key into a new file with mode 0600. An existing file is never
    /// overwritten.
    ///
    /// # Errors
    /// The file exists already or cannot be created.
    pub fn write_new(&self, path: &Path) -> Result<(), KeyFileError> {
        write_new_file(path, &self.private.to_base64())
    }
}

/// Reads a key from a file, which only its owner may be able to read.
fn read_key<K: FromStr<Err = KeyError>>(path: &Path) -> Result<K, KeyFileError> {
    let read = |source| KeyFileError::Read {
        path: path.to_owned(),
        source,
    };
    let mode = fs::metadata(path).map_err(read)?.permissions().mode() & 0o777;
    // The mode is not corrected silently: others may have read the key already.
    if mode & 0o077 != 0 {
        return Err(KeyFileError::Exposed {
            path: path.to_owned(),
            mode,
        });
    }
    let text = zeroize::Zeroizing::new(airpace_net::files::read_text(path).map_err(read)?);
    text.parse().map_err(|source| KeyFileError::Malformed {
        path: path.to_owned(),
        source,
    })
}

/// Writes a line into a new file with mode 0600.
fn write_new_file(path: &Path, line: &str) -> Result<(), KeyFileError> {
    let write = || {
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        writeln!(file, "{line}")
    };
    write().map_err(|source| KeyFileError::Create {
        path: path.to_owned(),
        source,
    })
}

/// A new preshared key from the system's random numbers.
///
/// # Panics
/// If the system has no source of random numbers.
#[must_use]
pub fn generate_preshared() -> PresharedKey {
    PresharedKey(random_bytes())
}

/// Writes a preshared key into a new file with mode 0600. An existing file is never overwritten.
///
/// # Errors
/// The file exists already or cannot be created.
pub fn write_new_preshared(key: &PresharedKey, path: &Path) -> Result<(), KeyFileError> {
    write_new_file(path, &key.to_base64())
}

/// A peer of a tunnel, with the preshared key that its file holds, if there is one.
pub(crate) fn peer(
    public_key: PublicKey,
    preshared_key_file: Option<&Path>,
) -> Result<PeerConfig, KeyFileError> {
    let preshared_key = match preshared_key_file {
        Some(path) => tunnel::PresharedKey(read_key::<PresharedKey>(path)?.0),
        None => tunnel::PresharedKey::default(),
    };
    Ok(PeerConfig {
        public_key: StaticPublicKey(public_key.0),
        preshared_key,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_public_key_follows_from_the_private_key() {
        // RFC 7748, section 6.1: Alice's key pair.
        let private = [
            0x77, 0x07, 0x6d, 0x0a, 0x73, 0x18, 0xa5, 0x7d, 0x3c, 0x16, 0xc1, 0x72, 0x51, 0xb2,
            0x66, 0x45, 0xdf, 0x4c, 0x2f, 0x87, 0xeb, 0xc0, 0x99, 0x2a, 0xb1, 0x77, 0xfb, 0xa5,
            0x1d, 0xb9, 0x2c, 0x2a,
        ];
        let public = [
            0x85, 0x20, 0xf0, 0x09, 0x89, 0x30, 0xa7, 0x54, 0x74, 0x8b, 0x7d, 0xdc, 0xb4, 0x3e,
            0xf7, 0x5a, 0x0d, 0xbf, 0x3a, 0x0d, 0x26, 0x38, 0x1a, 0xf4, 0xeb, 0xa4, 0xa9, 0x8e,
            0xaa, 0x9b, 0x4e, 0x6a,
        ];
        assert_eq!(
            KeyPair::from_private(PrivateKey(private)).public,
            PublicKey(public)
        );
        assert_ne!(KeyPair::generate().public, KeyPair::generate().public);
    }

    #[test]
    fn exactly_the_public_keys_that_yield_a_known_secret_are_refused() {
        let dh = |private: [u8; 32], public: [u8; 32]| {
            let mut dh = DefaultResolver
                .resolve_dh(&snow::params::DHChoice::Curve25519)
                .expect("built in");
            dh.set(&private);
            let mut shared = [0; 32];
            dh.dh(&public, &mut shared).map_or([0; 32], |()| shared)
        };
        let near_p = |lowest| {
            [[lowest].as_slice(), &[0xff; 30], &[0x7f]]
                .concat()
                .try_into()
                .expect("32 bytes")
        };
        let one = [[1].as_slice(), &[0; 31]]
            .concat()
            .try_into()
            .expect("32 bytes");
        let points: Vec<[u8; 32]> = vec![
            [0; 32],
            one,
            near_p(0xec),
            near_p(0xed),
            near_p(0xee),
            near_p(0xef),
            [9; 32],
        ];
        for point in points {
            let secret = dh([3; 32], point) != [0; 32] && dh([200; 32], point) != [0; 32];
            assert_eq!(PublicKey::checked(point).is_ok(), secret, "{point:x?}");
        }
    }

    #[test]
    fn private_key_files_are_closed_to_others_and_never_overwritten() {
        let folder = std::env::temp_dir().join(format!("airpace-keys-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a temporary folder");
        let path = folder.join("key");
        let pair = KeyPair::generate();
        pair.write_new(&path).expect("written");
        assert_eq!(
            fs::metadata(&path).expect("there").permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(KeyPair::read(&path).expect("read").public, pair.public);
        assert!(matches!(
            pair.write_new(&path),
            Err(KeyFileError::Create { .. })
        ));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("changed");
        assert!(matches!(
            KeyPair::read(&path),
            Err(KeyFileError::Exposed { mode: 0o644, .. })
        ));
        let path = folder.join("preshared");
        let key = generate_preshared();
        write_new_preshared(&key, &path).expect("written");
        let read = peer(pair.public, Some(&path)).expect("read");
        assert_eq!(read.preshared_key.0, key.0);
        assert_eq!(
            peer(pair.public, None).expect("none").preshared_key.0,
            [0; 32]
        );
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("changed");
        assert!(matches!(
            peer(pair.public, Some(&path)),
            Err(KeyFileError::Exposed { mode: 0o640, .. })
        ));
        fs::remove_dir_all(&folder).expect("removed");
    }
}
