//! Who may ask for what: the name under which a request reaches the box, and the token for changes.

use core::net::{IpAddr, Ipv6Addr};
use ring::hmac;
use ring::rand::SystemRandom;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Shortest token, characters.
const LEAST_CHARACTERS: usize = 16;
/// Longest token, characters: it must fit into the head of a request.
const MOST_CHARACTERS: usize = 1024;

/// Returns whether a request for `host` (the field `Host`) is for this box: by an address, by
/// `localhost`, or by one of `names`.
///
/// A foreign page can have its own name point to the box (DNS rebinding), and would then be allowed
/// to read what the box answers; but the browser tells that name. It cannot do so with an address.
pub(crate) fn is_own_host(host: Option<&str>, names: &[String]) -> bool {
    let Some(host) = host else { return false };
    let name = without_port(host);
    let bare = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'));
    if let Some(address) = bare {
        return address.parse::<Ipv6Addr>().is_ok();
    }
    name.parse::<IpAddr>().is_ok()
        || name.eq_ignore_ascii_case("localhost")
        || names.iter().any(|own| own.eq_ignore_ascii_case(name))
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

/// Why the file with the token for changes cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("token_file {}: {found}; {remedy}", path.display())]
pub struct TokenFileError {
    path: PathBuf,
    /// What is the matter with it.
    pub found: String,
    /// What to do.
    pub remedy: String,
}

/// Checks that a file holds a token for changes which nobody but its owner can read.
///
/// # Errors
/// It cannot be read, others can read it, or the token is too short or too long.
pub fn check_token_file(path: &Path) -> Result<(), TokenFileError> {
    read_token(path).map(drop)
}

/// The commands that write a token into a file.
#[must_use]
pub fn make_token(path: &Path) -> String {
    format!(
        "(umask 077; head -c 24 /dev/urandom | base64 > {}) makes a token",
        path.display()
    )
}

fn read_token(path: &Path) -> Result<String, TokenFileError> {
    let file = path.display();
    let unusable = |found: String, remedy: String| TokenFileError {
        path: path.to_owned(),
        found,
        remedy,
    };
    let unreadable = |error: io::Error| {
        let remedy = if error.kind() == io::ErrorKind::PermissionDenied {
            format!(
                "the user that airpace runs as must own it (the packaged service: chown airpace: {file})"
            )
        } else {
            make_token(path)
        };
        unusable(error.to_string(), remedy)
    };
    let text = airpace_net::files::read_text(path).map_err(unreadable)?;
    let metadata = fs::metadata(path).map_err(unreadable)?;
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(unusable(
            format!("it can be read by others (mode {mode:03o})"),
            format!("run chmod 600 {file}"),
        ));
    }
    let token = text.trim();
    if !(LEAST_CHARACTERS..=MOST_CHARACTERS).contains(&token.len()) {
        return Err(unusable(
            format!(
                "the token has {} characters, {LEAST_CHARACTERS} to {MOST_CHARACTERS} are needed",
                token.len()
            ),
            make_token(path),
        ));
    }
    Ok(token.to_owned())
}

/// The secret that changes need.
pub(crate) struct Token {
    key: hmac::Key,
    /// Of the token, so that the comparison takes the same time whatever is offered.
    tag: hmac::Tag,
}

impl Token {
    /// Reads the token from a file that nobody but its owner can read. White space around it does
    /// not belong to it.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        Self::new(&read_token(path)?)
    }

    /// The token with this text.
    pub(crate) fn new(token: &str) -> anyhow::Result<Self> {
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new())
            .map_err(|_| anyhow::anyhow!("the system gives no random numbers"))?;
        let tag = hmac::sign(&key, token.as_bytes());
        Ok(Self { key, tag })
    }

    /// Returns whether the field `Authorization` of a request is `Bearer` and the token.
    pub(crate) fn admits(&self, authorization: Option<&str>) -> bool {
        let Some((scheme, offered)) = authorization.and_then(|text| text.split_once(' ')) else {
            return false;
        };
        let is_token = hmac::verify(&self.key, offered.trim().as_bytes(), self.tag.as_ref());
        scheme.eq_ignore_ascii_case("bearer") && is_token.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_foreign_name_is_not_this_box() {
        let names = ["box.example".to_owned()];
        for own in [
            "localhost:8080",
            "127.0.0.1:8080",
            "[::1]:8080",
            "[fe80::1]",
            "10.0.0.2",
            "BOX.example",
        ] {
            assert!(is_own_host(Some(own), &names), "{own}");
        }
        for foreign in [
            "evil.example:8080",
            "localhost.evil.example",
            "",
            "[evil]:80",
            "1.2.3.4.evil",
        ] {
            assert!(!is_own_host(Some(foreign), &names), "{foreign}");
        }
        assert!(!is_own_host(None, &names));
    }

    #[test]
    fn only_the_whole_token_is_admitted() {
        let token = Token::new("0123456789abcdef").expect("random numbers");
        assert!(token.admits(Some("Bearer 0123456789abcdef")));
        for wrong in [
            None,
            Some("0123456789abcdef"),
            Some("Bearer"),
            Some("Bearer "),
            Some("Bearer 0123456789abcde"),
            Some("Bearer 0123456789abcdef0"),
            Some("Basic 0123456789abcdef"),
        ] {
            assert!(!token.admits(wrong), "{wrong:?}");
        }
    }
}
