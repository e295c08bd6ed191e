//! Which sources packets from the tunnel may have.

use airpace_net::interfaces;
use airpace_units::Time;
use core::net::{IpAddr, Ipv4Addr};
use core::time::Duration;
use ipnet::IpNet;

/// Least time between two messages about refused packets.
const TELL_EVERY: Duration = Duration::from_secs(60);

/// Decides by their source which packets from the tunnel the station accepts.
///
/// A proxy must not be able to speak in the name of the station itself or of hosts in its own
/// networks, which the station's other programs may trust.
#[derive(Debug)]
pub(super) struct Accepted {
    /// What the configuration lists; empty if the rules below decide.
    listed: Vec<IpNet>,
    /// Networks that are reached through the tunnel.
    tunnelled: Vec<IpNet>,
    /// Name of the tunnel's interface.
    interface: String,
    /// The addresses of the station, and the networks of its other interfaces.
    own: Vec<IpAddr>,
    elsewhere: Vec<IpNet>,
    /// Packets that were refused.
    pub(super) refused: u64,
    /// The source of a packet that was refused and that was not told yet.
    untold: Option<IpAddr>,
    next_tell: Time,
}

impl Accepted {
    /// `tunnelled` are the networks of the tunnel and those that are routed into it.
    pub(super) fn new(listed: &[IpNet], tunnelled: &[IpNet], interface: &str) -> Self {
        let is_specific = |network: &&IpNet| network.prefix_len() > 0;
        Self {
            listed: listed.to_vec(),
            // A default route leads everywhere, so it says nothing about the networks nearby.
            tunnelled: tunnelled.iter().filter(is_specific).copied().collect(),
            interface: interface.to_owned(),
            own: Vec::new(),
            elsewhere: Vec::new(),
            refused: 0,
            untold: None,
            next_tell: Time::ZERO,
        }
    }

    /// Looks up the station's interfaces again, and tells of refused packets.
    pub(super) fn refresh(&mut self, now: Time) {
        // If the kernel does not answer, what was known before still holds.
        if let Ok(networks) = interfaces::networks() {
            self.set_networks(networks);
        }
        let Some(source) = self.untold.filter(|_| now >= self.next_tell) else {
            return;
        };
        self.untold = None;
        self.next_tell = now + TELL_EVERY;
        tracing::warn!(%source, refused = self.refused, "packets through the tunnel are refused because of their source: if it is where they should come from, add its network to accept_from");
    }

    fn set_networks(&mut self, networks: Vec<(String, IpNet)>) {
        self.own.clear();
        self.elsewhere.clear();
        for (interface, network) in networks {
            self.own.push(network.addr());
            if interface != self.interface {
                self.elsewhere.push(network.trunc());
            }
        }
    }

    /// Whether a packet is accepted. Those that are not are counted.
    pub(super) fn admits(&mut self, source: Option<IpAddr>) -> bool {
        let is_accepted = source.is_some_and(|source| self.is_accepted(source));
        if !is_accepted {
            self.refused += 1;
            self.untold = source;
        }
        is_accepted
    }

    fn is_accepted(&self, source: IpAddr) -> bool {
        let is_in = |networks: &[IpNet]| networks.iter().any(|network| network.contains(&source));
        if !self.listed.is_empty() {
            return is_in(&self.listed);
        }
        // No host sends from the first (RFC 1122, section 3.2.1.3; RFC 4291, section 2.7).
        let is_nobodys = source.is_unspecified()
            || source.is_loopback()
            || source.is_multicast()
            || source == IpAddr::V4(Ipv4Addr::BROADCAST);
        if is_nobodys || self.own.contains(&source) {
            return false;
        }
        is_in(&self.tunnelled) || !is_in(&self.elsewhere)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(listed: &[&str]) -> Accepted {
        let parse = |texts: &[&str]| -> Vec<IpNet> {
            texts.iter().map(|text| text.parse().expect(text)).collect()
        };
        let tunnelled = parse(&["10.77.0.2/24", "192.168.7.0/28", "0.0.0.0/0", "fd77::2/64"]);
        let mut accepted = Accepted::new(&parse(listed), &tunnelled, "airpace0");
        accepted.set_networks(
            [
                ("lo", "127.0.0.1/8"),
                ("airpace0", "10.77.0.2/24"),
                ("wlan0", "192.168.7.5/24"),
                ("wlan0", "fe80::5/64"),
            ]
            .map(|(name, network)| (name.to_owned(), network.parse().expect(network)))
            .to_vec(),
        );
        accepted
    }

    #[test]
    fn a_proxy_may_not_speak_for_the_station_or_its_neighbours() {
        let mut accepted = accepted(&[]);
        let mut is_accepted = |source: &str| accepted.admits(source.parse().ok());
        for source in [
            "10.77.0.1",
            "198.51.100.7",
            "192.168.7.1",
            "fd77::1",
            "2001:db8::1",
        ] {
            assert!(is_accepted(source), "{source}");
        }
        for source in [
            "10.77.0.2",
            "192.168.7.5",
            "192.168.7.200",
            "127.0.0.1",
            "0.0.0.0",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "fe80::1",
            "ff02::1",
            "not an address",
        ] {
            assert!(!is_accepted(source), "{source}");
        }
        assert_eq!(accepted.refused, 11);
    }

    #[test]
    fn a_list_alone_decides() {
        let mut accepted = accepted(&["192.168.7.0/24", "10.77.0.1/32"]);
        assert!(accepted.admits("192.168.7.200".parse().ok()));
        assert!(accepted.admits("10.77.0.1".parse().ok()));
        assert!(!accepted.admits("10.77.0.9".parse().ok()));
        assert!(!accepted.admits("198.51.100.7".parse().ok()));
    }
}
