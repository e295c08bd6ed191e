//! Warnings of the tunnel, as an operator reads them.

use airpace_core::wire::data;
use airpace_edge::tunnel::{PeerIdx, Warning};

/// Logs a warning of a tunnel. `name` names a peer.
pub(crate) fn log(warning: Warning, name: impl Fn(PeerIdx) -> String) {
    match warning {
        Warning::OldHandshake { peer, from } => {
            let peer = name(peer);
            tracing::warn!(%from, peer, "a handshake is older than the peer's last one: its clock was set back, or somebody replays a recorded handshake");
        }
        Warning::OtherVersion { version, from } => {
            let own = data::VERSION;
            tracing::warn!(%from, version, own, "a peer uses another version of the tunnel: install the same release of airpace at both ends");
        }
        Warning::NoAnswer { peer, to } => {
            let peer = name(peer);
            tracing::warn!(%to, peer, "no answer to several handshakes: is it running and reachable, is it of the same release, and does it know this end's public key?");
        }
        Warning::UnreadableResponse { peer, from } => {
            let peer = name(peer);
            tracing::warn!(%from, peer, "the answer to a handshake cannot be read: the two ends probably have different preshared keys, or only one has one");
        }
        // The enumeration may grow.
        other => tracing::warn!(?other, "tunnel"),
    }
}
