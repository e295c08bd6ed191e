//! Which station an address within the tunnel belongs to.

use airpace_api::config::StationConfig;
use core::net::IpAddr;
use ipnet::IpNet;
use std::collections::HashMap;

/// The addresses and networks of all stations, which are numbered as in the configuration.
pub(super) struct StationAddresses {
    hosts: HashMap<IpAddr, usize>,
    /// Networks with more than one address, the longest prefixes first.
    networks: Vec<(IpNet, usize)>,
}

impl StationAddresses {
    pub(super) fn new(stations: &[StationConfig]) -> Self {
        let mut hosts = HashMap::new();
        let mut networks = Vec::new();
        for (idx, station) in stations.iter().enumerate() {
            for &network in &station.networks {
                if network.prefix_len() == network.max_prefix_len() {
                    hosts.insert(network.addr(), idx);
                } else {
                    networks.push((network, idx));
                }
            }
        }
        // A station's address within the tunnel is its own, whatever networks others have.
        for (idx, station) in stations.iter().enumerate() {
            hosts.insert(station.address, idx);
        }
        networks.sort_by_key(|(network, _)| core::cmp::Reverse(network.prefix_len()));
        Self { hosts, networks }
    }

    /// The station that has the address; `None` if none has.
    pub(super) fn station_of(&self, address: IpAddr) -> Option<usize> {
        if let Some(&station) = self.hosts.get(&address) {
            return Some(station);
        }
        let (_, station) = self
            .networks
            .iter()
            .find(|(network, _)| network.contains(&address))?;
        Some(*station)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_belongs_to_the_station_with_the_longest_prefix() {
        let station = |address: &str, networks: &[&str]| StationConfig {
            address: address.parse().expect(address),
            networks: networks
                .iter()
                .map(|text| text.parse().expect(text))
                .collect(),
            ..StationConfig::default()
        };
        let addresses = StationAddresses::new(&[
            station("10.77.0.2", &["10.8.0.0/16", "fd77::2/128", "10.77.0.3/32"]),
            station("10.77.0.3", &["10.8.1.0/24", "fd78::/64"]),
        ]);
        for (address, expected) in [
            ("10.77.0.2", Some(0)),
            ("10.77.0.3", Some(1)),
            ("10.8.2.1", Some(0)),
            ("10.8.1.1", Some(1)),
            ("fd77::2", Some(0)),
            ("fd77::3", None),
            ("fd78::9", Some(1)),
            ("10.77.0.9", None),
        ] {
            let found = addresses.station_of(address.parse().expect(address));
            assert_eq!(found, expected, "{address}");
        }
    }
}
