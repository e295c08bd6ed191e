//! What an operator should know of the tunnel: warnings, and datagrams that were dropped.

use airpace_api::keys::PublicKey;
use airpace_core::wire::data;
use airpace_edge::tunnel::{Counts, PeerIdx, Reason, Warning};
use airpace_units::Time;
use core::time::Duration;

/// Logs a warning of a tunnel. `counts` are those of the tunnel, and `name` names a peer.
pub(crate) fn log(warning: Warning, counts: &Counts, name: impl Fn(PeerIdx) -> String) {
    match warning {
        Warning::OldHandshake { peer, from } => {
            let peer = name(peer);
            tracing::warn!(event = "handshake-old", %from, peer, "a handshake is older than the peer's last one: its clock was set back, or somebody replays a recorded handshake");
        }
        Warning::OtherVersion { version, from } => {
            let own = data::VERSION;
            tracing::warn!(event = "handshake-other-version", %from, version, own, "a peer uses another version of the tunnel: install the same release of airpace at both ends");
        }
        Warning::NoAnswer { peer, to } => {
            let peer = name(peer);
            tracing::warn!(event = "handshake-unanswered", %to, peer, "no answer to several handshakes: is it running, is the port right, does a firewall let UDP through, is proxy_public_key its key, does it know this end's public key, and is it of the same release? Its log says if a handshake was refused");
        }
        Warning::UnreadableResponse { peer, from } => {
            let peer = name(peer);
            tracing::warn!(event = "handshake-answer-unreadable", %from, peer, "the answer to a handshake cannot be read: the two ends probably have different preshared keys, or only one has one");
        }
        // The enumeration may grow.
        other => log_refused(other, counts),
    }
}

/// Logs a warning about a handshake of somebody who is no peer. Such warnings come once a minute at
/// most, whatever strangers send, so each says how many there were since the start.
fn log_refused(warning: Warning, counts: &Counts) {
    match warning {
        Warning::UnknownKey { key, from } => {
            let since_start = counts.dropped_for(Reason::Stranger);
            let key = PublicKey(key.0);
            tracing::warn!(event = "handshake-unknown-key", %from, %key, since_start, "a handshake came from a public key that is not configured: if it is a station's, add it to its [[station]]");
        }
        Warning::OtherKey { from } => {
            let since_start = counts.dropped_for(Reason::Check);
            tracing::warn!(event = "handshake-for-other-key", %from, since_start, "a handshake was meant for a public key other than this end's: if it came from a station, correct proxy_public_key there");
        }
        Warning::UnreadableInitiation { from } => {
            let since_start = counts.dropped_for(Reason::Handshake);
            tracing::warn!(event = "handshake-unreadable", %from, since_start, "a handshake cannot be decrypted: it was altered on its way, or its sender is of another release");
        }
        other => tracing::warn!(event = "tunnel-warning", ?other, "tunnel"),
    }
}

/// Least time between two messages about what was dropped or refused.
const TELL_EVERY: Duration = Duration::from_secs(60);

/// Says when the operator is told of something that is counted: when it has grown, and once a minute
/// at most.
#[derive(Debug, Default)]
pub(crate) struct Growth {
    told: u64,
    next: Time,
}

impl Growth {
    /// By how much `count` has grown since this last returned something; `None` if it has not, or if
    /// that was less than a minute ago.
    pub(crate) fn take(&mut self, now: Time, count: u64) -> Option<u64> {
        if count <= self.told || now < self.next {
            return None;
        }
        let grown = count - self.told;
        (self.told, self.next) = (count, now.saturating_add(TELL_EVERY));
        Some(grown)
    }
}

/// Tells of datagrams of a tunnel that were dropped since this was last told, by reason.
pub(crate) fn tell_of_drops(now: Time, told: &mut Growth, counts: &Counts) {
    let Some(dropped) = told.take(now, counts.dropped()) else {
        return;
    };
    let reasons: Vec<String> = Reason::ALL
        .into_iter()
        .filter(|&reason| counts.dropped_for(reason) > 0)
        .map(|reason| format!("{}: {}", reason.name(), counts.dropped_for(reason)))
        .collect();
    tracing::warn!(
        event = "datagrams-dropped",
        dropped,
        since_start = reasons.join(", "),
        "datagrams to the tunnel's port were dropped"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grows_is_told_once_a_minute() {
        let mut growth = Growth::default();
        let second = |s: u64| Time::from_millis(1000 * s);
        assert_eq!(growth.take(second(0), 0), None);
        assert_eq!(growth.take(second(1), 3), Some(3));
        assert_eq!(growth.take(second(2), 1_000_000), None);
        assert_eq!(growth.take(second(61), 1_000_000), Some(999_997));
        assert_eq!(growth.take(second(200), 1_000_000), None);
    }
}
