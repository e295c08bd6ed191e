//! An address with the length of its network's prefix.

use core::fmt;
use core::net::IpAddr;
use core::str::FromStr;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An address and the prefix of the network it lies in: `"10.77.0.1/24"`, `"fd77::1/64"`.
///
/// A bare address is a network of one host (`/32`, `/128`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

/// Why a text is no [`Network`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is no address with a prefix: write for example \"10.77.0.1/24\"")]
pub struct NetworkError(String);

impl Network {
    /// `address` within a network of `prefix` leading bits; `None` if the address has fewer bits.
    #[must_use]
    pub fn new(address: IpAddr, prefix: u8) -> Option<Self> {
        let bits = if address.is_ipv4() { 32 } else { 128 };
        (prefix <= bits).then_some(Self { address, prefix })
    }

    /// The address itself, host part included.
    #[must_use]
    pub const fn address(self) -> IpAddr {
        self.address
    }

    /// Number of leading bits that name the network.
    #[must_use]
    pub const fn prefix(self) -> u8 {
        self.prefix
    }

    /// The network itself: the host part zero, as a route wants it.
    #[must_use]
    pub fn masked(self) -> Self {
        let address = match self.address {
            IpAddr::V4(v4) => {
                let mask = u32::MAX
                    .checked_shl(32 - u32::from(self.prefix))
                    .unwrap_or(0);
                IpAddr::V4((u32::from(v4) & mask).into())
            }
            IpAddr::V6(v6) => {
                let mask = u128::MAX
                    .checked_shl(128 - u32::from(self.prefix))
                    .unwrap_or(0);
                IpAddr::V6((u128::from(v6) & mask).into())
            }
        };
        Self {
            address,
            prefix: self.prefix,
        }
    }

    /// Whether `address` lies in the network.
    #[must_use]
    pub fn contains(self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let host_bits = 32 - u32::from(self.prefix);
                (u32::from(own) ^ u32::from(other))
                    .checked_shr(host_bits)
                    .unwrap_or(0)
                    == 0
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let host_bits = 128 - u32::from(self.prefix);
                (u128::from(own) ^ u128::from(other))
                    .checked_shr(host_bits)
                    .unwrap_or(0)
                    == 0
            }
            _ => false,
        }
    }

    /// Whether the two networks share an address.
    #[must_use]
    pub fn overlaps(self, other: Self) -> bool {
        if self.prefix <= other.prefix {
            self.contains(other.address)
        } else {
            other.contains(self.address)
        }
    }
}

impl FromStr for Network {
    type Err = NetworkError;
    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let wrong = || NetworkError(text.to_owned());
        let (address, prefix) = text
            .trim()
            .split_once('/')
            .map_or((text.trim(), None), |(a, p)| (a, Some(p)));
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let prefix = match prefix {
            Some(prefix) => prefix.parse().map_err(|_| wrong())?,
            None if address.is_ipv4() => 32,
            None => 128,
        };
        Self::new(address, prefix).ok_or_else(wrong)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

impl Serialize for Network {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Network {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(text: &str) -> Network {
        text.parse().expect(text)
    }

    #[test]
    fn networks_contain_their_hosts_only() {
        assert!(network("10.77.0.1/24").contains("10.77.0.9".parse().expect("valid")));
        assert!(!network("10.77.0.1/24").contains("10.77.1.9".parse().expect("valid")));
        assert!(network("0.0.0.0/0").contains("10.77.1.9".parse().expect("valid")));
        assert!(!network("0.0.0.0/0").contains("::1".parse().expect("valid")));
        assert!(network("fd77::/64").overlaps(network("fd77::5")));
        assert!(!network("10.0.0.1/32").overlaps(network("10.0.0.2/32")));
    }

    #[test]
    fn the_host_part_can_be_cut_off() {
        assert_eq!(network("10.77.3.1/16").masked(), network("10.77.0.0/16"));
        assert_eq!(network("10.77.3.1/0").masked(), network("0.0.0.0/0"));
        assert_eq!(network("fd77::5/64").masked(), network("fd77::/64"));
        assert_eq!(network("10.77.3.1").masked(), network("10.77.3.1/32"));
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for text in [
            "",
            "10.0.0.1/33",
            "10.0.0",
            "10.0.0.1/",
            "fd77::/129",
            "10.0.0.1/-1",
        ] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
        assert_eq!(network("10.0.0.1").to_string(), "10.0.0.1/32");
    }
}
