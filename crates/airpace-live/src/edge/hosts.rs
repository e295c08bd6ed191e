//! Hosts on both sides of the box: the addresses of stations, and who sends to stations.

use airpace_core::wire::ethernet::Binding;
use airpace_core::wire::ieee80211::MacAddr;
use airpace_net::netlink::Netlink;
use airpace_units::Time;
use core::net::IpAddr;
use core::time::Duration;
use std::collections::{HashMap, HashSet};

/// Most addresses that are shown per station; a host has a few of IPv6 and one of IPv4.
const MOST_ADDRESSES: usize = 4;

/// The IP addresses that stations have announced. The caller forgets a station when it leaves.
#[derive(Debug, Default)]
pub(super) struct HostAddresses {
    hosts: HashMap<MacAddr, Vec<IpAddr>>,
}

impl HostAddresses {
    /// Notes a binding. The newest address of a host comes first.
    pub(super) fn learn(&mut self, binding: Binding) {
        let addresses = self.hosts.entry(binding.mac).or_default();
        addresses.retain(|&known| known != binding.address);
        addresses.insert(0, binding.address);
        addresses.truncate(MOST_ADDRESSES);
    }

    /// Returns the addresses of a host, the newest first.
    pub(super) fn of(&self, mac: MacAddr) -> &[IpAddr] {
        self.hosts.get(&mac).map_or(&[], Vec::as_slice)
    }

    /// Forgets a host.
    pub(super) fn forget(&mut self, mac: MacAddr) {
        self.hosts.remove(&mac);
    }
}

/// How often the bridge is told about a sender. It forgets an address after 300 s.
const REFRESH: Duration = Duration::from_secs(60);
/// Most senders that are remembered within a minute.
const MOST_SENDERS: usize = 8192;
/// Most senders that the bridge is told about in one call: a message takes some 10 µs.
const MOST_PER_TURN: usize = 16;

/// Keeps the bridge's forwarding table fresh.
///
/// The bridge does not see the frames that are taken out of it, so it forgets their senders after
/// 300 s and floods what stations send to them to all ports.
#[derive(Debug)]
pub(super) struct WiredSenders {
    netlink: Option<Netlink>,
    wan: u32,
    /// Senders of this period.
    seen: HashSet<[u8; 6]>,
    last: [u8; 6],
    /// Senders of the last period that the bridge has not been told of.
    pending: Vec<[u8; 6]>,
    next: Time,
}

impl WiredSenders {
    /// Tells the bridge of the port with index `wan`. Without `netlink` no bridge is told.
    pub(super) fn new(now: Time, netlink: Option<Netlink>, wan: u32) -> Self {
        Self {
            netlink,
            wan,
            seen: HashSet::new(),
            last: [0; 6],
            pending: Vec::new(),
            next: now.saturating_add(REFRESH),
        }
    }

    /// The wired port has another index from now on, because it was removed and made again.
    pub(super) const fn set_port(&mut self, wan: u32) {
        self.wan = wan;
    }

    /// Notes the sender of a frame.
    pub(super) fn see(&mut self, sender: [u8; 6]) {
        // Mostly the same one as before: a router.
        if sender == self.last {
            return;
        }
        self.last = sender;
        if self.seen.len() < MOST_SENDERS {
            self.seen.insert(sender);
        }
    }

    /// Tells the bridge about a few senders per call, and about each once a minute.
    pub(super) fn refresh(&mut self, now: Time) {
        if now >= self.next {
            self.next = now.saturating_add(REFRESH);
            self.pending.extend(self.seen.drain());
            // The next frame counts as one of a new period.
            self.last = [0; 6];
        }
        let Some(netlink) = &mut self.netlink else {
            return self.pending.clear();
        };
        for _ in 0..MOST_PER_TURN {
            let Some(sender) = self.pending.pop() else {
                return;
            };
            if let Err(error) = netlink.learn_address(self.wan, sender) {
                tracing::debug!(event = "bridge-refresh-failed", %error, "the bridge will flood frames for this address");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::Ipv4Addr;

    #[test]
    fn the_newest_address_of_a_host_is_its_first_and_old_ones_are_forgotten() {
        let mut hosts = HostAddresses::default();
        let mac = MacAddr([2, 0, 0, 0, 0, 1]);
        for last in [1, 2, 3, 4, 5, 2] {
            let address = Ipv4Addr::new(10, 0, 0, last).into();
            hosts.learn(Binding { mac, address });
        }
        let lasts: Vec<String> = hosts.of(mac).iter().map(ToString::to_string).collect();
        assert_eq!(lasts, ["10.0.0.2", "10.0.0.5", "10.0.0.4", "10.0.0.3"]);
        hosts.forget(mac);
        assert!(hosts.of(mac).is_empty());
    }

    #[test]
    fn senders_are_told_once_per_period() {
        let mut senders = WiredSenders::new(Time::ZERO, None, 1);
        for sender in [[1; 6], [2; 6], [1; 6]] {
            senders.see(sender);
        }
        assert_eq!(senders.seen.len(), 2);
        senders.refresh(Time::from_millis(61_000));
        assert!(senders.seen.is_empty() && senders.pending.is_empty());
    }
}
