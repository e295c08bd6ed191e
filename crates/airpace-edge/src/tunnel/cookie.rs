//! Cookies: how the sender of an initiation proves that it receives what is sent to its address.
//!
//! They work like `mac2` of WireGuard (whitepaper, section 5.4.7). A cookie is a keyed hash of the
//! sender's address under a secret of the responder, so the responder stores nothing. It is sealed for
//! the sender of one particular initiation. The next initiation carries the keyed hash of its own
//! bytes under the cookie.
//!
//! SipHash-2-4 with 128 bits of output is the keyed hash in both places. It is a pseudorandom function
//! that was made for short inputs and for messages that strangers choose, and costs a fraction of a
//! microsecond, as each of them must.

use super::frame::{CHECK_BYTES, COOKIE_BYTES};
use airpace_units::Time;
use core::hash::Hasher as _;
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use siphasher::sip128::{Hasher128 as _, SipHasher24};

/// Proves to one responder that this end receives what is sent to its address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Cookie(pub(super) [u8; COOKIE_BYTES]);

/// Age at which the responder draws a new secret, and at which the initiator forgets a cookie (two
/// minutes in WireGuard, too).
const LIFETIME: Duration = Duration::from_secs(120);

impl Cookie {
    /// The proof behind an initiation's check.
    pub(super) fn proof(&self, message: &[u8], check: &[u8; CHECK_BYTES]) -> [u8; CHECK_BYTES] {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        hasher.write(message);
        hasher.write(check);
        hasher.finish128().as_bytes()
    }
}

/// Makes and verifies the cookies of a responder.
pub(super) struct CookieSecret {
    /// The latest secret, and the one before it.
    secrets: [[u8; 16]; 2],
    drawn_at: Time,
}

impl CookieSecret {
    pub(super) const fn new(secret: [u8; 16]) -> Self {
        Self {
            // Nobody was given a cookie of the one before.
            secrets: [secret; 2],
            drawn_at: Time::ZERO,
        }
    }

    /// Replaces the secret if it is old. The one before stays valid for as long again, so that a cookie
    /// does not become useless on its way.
    pub(super) fn renew(&mut self, now: Time, draw: impl FnOnce() -> [u8; 16]) {
        if now.saturating_since(self.drawn_at) >= LIFETIME {
            self.drawn_at = now;
            self.secrets = [draw(), self.secrets[0]];
        }
    }

    /// The cookie for an address.
    pub(super) fn cookie_for(&self, from: SocketAddr) -> Cookie {
        cookie(&self.secrets[0], from)
    }

    /// Whether `proof` shows that the sender of a message received a cookie at `from`.
    pub(super) fn is_proven(
        &self,
        from: SocketAddr,
        message: &[u8],
        check: &[u8; CHECK_BYTES],
        proof: &[u8; CHECK_BYTES],
    ) -> bool {
        self.secrets.iter().any(|secret| {
            let expected = cookie(secret, from).proof(message, check);
            is_equal(&expected, proof)
        })
    }
}

fn cookie(secret: &[u8; 16], from: SocketAddr) -> Cookie {
    let mut hasher = SipHasher24::new_with_key(secret);
    // A dual-stack socket shows IPv4 addresses in IPv6 form.
    match from.ip().to_canonical() {
        IpAddr::V4(v4) => hasher.write(&v4.octets()),
        IpAddr::V6(v6) => hasher.write(&v6.octets()),
    }
    hasher.write(&from.port().to_le_bytes());
    Cookie(hasher.finish128().as_bytes())
}

/// Compares in a time that does not depend on where the difference is.
fn is_equal(one: &[u8; CHECK_BYTES], other: &[u8; CHECK_BYTES]) -> bool {
    u128::from_le_bytes(*one) ^ u128::from_le_bytes(*other) == 0
}

/// The cookie that an initiator has from its responder.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceivedCookie {
    cookie: Cookie,
    received_at: Time,
}

impl ReceivedCookie {
    pub(super) const fn new(now: Time, cookie: Cookie) -> Self {
        Self {
            cookie,
            received_at: now,
        }
    }

    /// The cookie, unless the responder has forgotten its secret by now.
    pub(super) fn get(&self, now: Time) -> Option<Cookie> {
        let is_fresh = now.saturating_since(self.received_at) < LIFETIME;
        is_fresh.then_some(self.cookie)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::Ipv4Addr;

    const MESSAGE: &[u8] = b"an initiation";
    const CHECK: [u8; CHECK_BYTES] = [3; CHECK_BYTES];

    fn address(host: u8, port: u16) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::new(192, 0, 2, host), port))
    }

    #[test]
    fn a_proof_holds_for_its_address_port_and_message_alone() {
        let secret = CookieSecret::new([9; 16]);
        let proof = secret.cookie_for(address(1, 7)).proof(MESSAGE, &CHECK);
        assert!(secret.is_proven(address(1, 7), MESSAGE, &CHECK, &proof));
        assert!(!secret.is_proven(address(2, 7), MESSAGE, &CHECK, &proof));
        assert!(!secret.is_proven(address(1, 8), MESSAGE, &CHECK, &proof));
        assert!(!secret.is_proven(address(1, 7), b"another", &CHECK, &proof));
        assert!(!secret.is_proven(address(1, 7), MESSAGE, &[4; CHECK_BYTES], &proof));
        assert!(!secret.is_proven(address(1, 7), MESSAGE, &CHECK, &[0; CHECK_BYTES]));
        let mapped = SocketAddr::from((Ipv4Addr::new(192, 0, 2, 1).to_ipv6_mapped(), 7));
        assert!(secret.is_proven(mapped, MESSAGE, &CHECK, &proof));
    }

    #[test]
    fn a_cookie_is_valid_for_two_to_four_minutes() {
        let mut secret = CookieSecret::new([9; 16]);
        let cookie = secret.cookie_for(address(1, 7));
        let proof = cookie.proof(MESSAGE, &CHECK);
        let received = ReceivedCookie::new(Time::ZERO, cookie);
        for (seconds, new_secret, is_valid) in [(119, 1, true), (120, 2, true), (240, 3, false)] {
            let now = Time::from_millis(seconds * 1_000);
            secret.renew(now, || [new_secret; 16]);
            let is_proven = secret.is_proven(address(1, 7), MESSAGE, &CHECK, &proof);
            assert_eq!(is_proven, is_valid, "after {seconds} s");
            assert_eq!(received.get(now).is_some(), seconds < 120);
        }
    }
}
