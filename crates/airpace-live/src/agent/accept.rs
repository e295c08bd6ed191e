//! Which sources packets from the tunnel may have.

use airpace_net::interfaces;
use airpace_units::Time;
use core::net::{IpAddr, Ipv4Addr};
use core::time::Duration;
use ipnet::IpNet;

/// Least time between two messages about refused packets.
const TELL_EVERY: Duration = Duration::from_secs(60);

/// Time after which the station's addresses are looked up although the kernel has announced no change.
const LOOK_EVERY: Duration = Duration::from_secs(30);

/// Decides by their source which packets from the tunnel the station accepts.
///
/// A proxy must not be able to speak in the name of the station itself. Hosts in the station's other
/// networks may well send through the proxy, since these are often the proxy's networks too; where they
/// do not, the configuration lists what may.
#[derive(Debug)]
pub(super) struct Accepted {
    /// What the configuration lists; empty if the rules below decide.
    listed: Vec<IpNet>,
    /// The addresses of the station.
    own: Vec<IpAddr>,
    /// When they are looked up again.
    next_look: Time,
    /// Packets that were refused.
    pub(super) refused: u64,
    /// The source of a packet that was refused and that was not told yet.
    untold: Option<IpAddr>,
    next_tell: Time,
}

impl Accepted {
    /// `listed` are the networks of the configuration.
    pub(super) fn new(listed: &[IpNet]) -> Self {
        Self {
            listed: listed.to_vec(),
            own: Vec::new(),
            next_look: Time::ZERO,
            refused: 0,
            untold: None,
            next_tell: Time::ZERO,
        }
    }

    /// Takes notice that the kernel has announced a change of addresses or routes.
    pub(super) const fn on_change(&mut self) {
        self.next_look = Time::ZERO;
    }

    /// Whether the addresses must be looked up now.
    ///
    /// The kernel answers only when nobody else is changing interfaces, anywhere on the machine, which
    /// can take seconds. Packets wait meanwhile, so it is not asked without need.
    fn is_look_due(&mut self, now: Time) -> bool {
        let is_due = now >= self.next_look;
        if is_due {
            self.next_look = now + LOOK_EVERY;
        }
        is_due
    }

    /// Looks up the station's addresses again if they may have changed, and tells of refused packets.
    pub(super) fn refresh(&mut self, now: Time) {
        // If the kernel does not answer, what was known before still holds.
        if self.is_look_due(now)
            && let Ok(networks) = interfaces::networks()
        {
            self.own = networks.iter().map(|(_, network)| network.addr()).collect();
        }
        let Some(source) = self.untold.filter(|_| now >= self.next_tell) else {
            return;
        };
        self.untold = None;
        self.next_tell = now + TELL_EVERY;
        tracing::warn!(event = "source-refused", %source, refused = self.refused, "packets through the tunnel are refused because of their source: if it is where they should come from, add its network to accept_from");
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
        if !self.listed.is_empty() {
            return self.listed.iter().any(|network| network.contains(&source));
        }
        // No host sends from the first (RFC 1122, section 3.2.1.3; RFC 4291, section 2.7).
        let is_nobodys = source.is_unspecified()
            || source.is_loopback()
            || source.is_multicast()
            || source == IpAddr::V4(Ipv4Addr::BROADCAST);
        // Routers do not forward these (RFC 3927, section 7; RFC 4291, section 2.5.6).
        let is_link_local = match source {
            IpAddr::V4(v4) => v4.is_link_local(),
            IpAddr::V6(v6) => v6.is_unicast_link_local(),
        };
        !is_nobodys && !is_link_local && !self.own.contains(&source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(listed: &[&str]) -> Accepted {
        let listed: Vec<IpNet> = listed
            .iter()
            .map(|text| text.parse().expect(text))
            .collect();
        let mut accepted = Accepted::new(&listed);
        accepted.own = ["127.0.0.1", "10.77.0.2", "192.168.7.5", "fe80::5"]
            .map(|text| text.parse().expect(text))
            .to_vec();
        accepted
    }

    #[test]
    fn a_proxy_may_not_speak_for_the_station() {
        let mut accepted = accepted(&[]);
        let mut is_accepted = |source: &str| accepted.admits(source.parse().ok());
        for source in [
            "10.77.0.1",
            "198.51.100.7",
            "192.168.7.1",
            "192.168.7.200",
            "fd77::1",
            "2001:db8::1",
        ] {
            assert!(is_accepted(source), "{source}");
        }
        for source in [
            "10.77.0.2",
            "192.168.7.5",
            "169.254.0.1",
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
    fn addresses_are_looked_up_after_a_change_and_every_half_minute() {
        let mut accepted = Accepted::new(&[]);
        let mut looks = |second: u64| accepted.is_look_due(Time::from_millis(1000 * second));
        assert!(looks(0));
        assert!(!looks(1) && !looks(29));
        assert!(looks(30));
        accepted.on_change();
        assert!(accepted.is_look_due(Time::from_millis(31_000)));
        assert!(!accepted.is_look_due(Time::from_millis(32_000)));
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
