//! The way to the proxy: its address, the longest packet that the path takes, routes into the tunnel.

use super::{RunningAgent, refuse_cycle};
use crate::runtime;
use airpace_units::Time;
use core::time::Duration;

/// Silence of the proxy after which traffic takes the path without the tunnel. The proxy sends a
/// keepalive every second, so this is long enough for losses and a handshake or two.
const SILENCE: Duration = Duration::from_secs(10);
/// Time after which routes that the kernel refused are tried again.
const ROUTE_RETRY: Duration = Duration::from_secs(10);

impl RunningAgent<'_> {
    /// Looks the proxy's name up again if it does not answer, and keeps the way to it out of the
    /// tunnel.
    pub(super) fn follow_proxy(&mut self, now: Time) {
        let unanswered = self.tunnel.unanswered(0);
        if let Some(proxy) = self.lookup.poll(now, unanswered) {
            if let Err(error) = refuse_cycle(self.config, proxy) {
                tracing::warn!(event = "address-refused", %error, "this address of the proxy is passed over");
                return;
            }
            tracing::info!(event = "address-changed", proxy = %self.config.proxy, address = %proxy, "the proxy is looked for at another address");
            self.tunnel.set_connect_to(proxy);
            self.tunnel.restart(now, 0);
        }
        if let Some(endpoint) = self.tunnel.endpoint(0) {
            self.device.set_other_end(endpoint.ip());
        }
    }

    /// Follows what is known of the path to the proxy.
    pub(super) fn follow_path(&mut self) {
        runtime::limit_packets(&self.socket, &self.tunnel, 1, self.mtu);
        let path = self.tunnel.longest_payload(0);
        if path == self.path {
            return;
        }
        if let Some(longest) = path.filter(|&longest| longest < self.mtu || self.path.is_some()) {
            tracing::info!(
                event = "path-length",
                longest,
                mtu = self.mtu,
                "packets of up to this length reach the proxy in one piece"
            );
        }
        self.path = path;
    }

    /// Leads the routes into the tunnel while the proxy is heard, and withdraws them when it is
    /// not.
    pub(super) fn update_routes(&mut self, now: Time) {
        let alive = self.tunnel.is_alive(now, 0, SILENCE);
        if alive == self.device.is_routed() {
            return;
        }
        if !alive {
            self.device.withdraw_routes();
            tracing::warn!(
                event = "routes-withdrawn",
                "the proxy is silent: the routes into the tunnel are withdrawn"
            );
        } else if let Err(error) = self.device.add_routes() {
            self.next_route_check = now + ROUTE_RETRY;
            tracing::warn!(event = "routes-refused", %error, "the kernel refuses the routes into the tunnel");
        } else {
            tracing::info!(
                event = "routes-installed",
                "routes into the tunnel installed"
            );
        }
    }
}
