//! Networks: an address with the length of its prefix.

use crate::declaration::Kind;
use crate::setting::Setting;
use core::fmt;
use core::net::IpAddr;
use ipnet::IpNet;
use serde::de::Visitor;
use serde::{Deserializer, de};

/// `"10.77.0.1/24"`, `"fd77::1/64"`; an address without a prefix is a network of one host (`/32`,
/// `/128`).
impl Setting for IpNet {
    fn kind() -> Kind {
        Kind::Value {
            what: "network address with a prefix",
            example: "\"10.77.0.1/24\"",
        }
    }
    fn from_text(text: &str) -> Option<Self> {
        let text = text.trim();
        match text.parse::<IpAddr>() {
            Ok(host) => Some(host.into()),
            Err(_) => text.parse().ok(),
        }
    }
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NetworkVisitor)
    }
}

struct NetworkVisitor;

impl Visitor<'_> for NetworkVisitor {
    type Value = IpNet;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", IpNet::kind())
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<IpNet, E> {
        IpNet::from_text(text).ok_or_else(|| {
            E::custom(format!(
                "`{text}` is not an address with a prefix: write for example \"10.77.0.1/24\""
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_keeps_its_host_part_and_without_a_prefix_stands_for_one_host() {
        let network = IpNet::from_text("10.77.0.1/24").expect("valid");
        assert_eq!(network.to_string(), "10.77.0.1/24");
        let host = IpNet::from_text("10.77.0.1").expect("valid");
        assert_eq!(host.to_string(), "10.77.0.1/32");
        let host = IpNet::from_text("fd77::1").expect("valid");
        assert_eq!(host.to_string(), "fd77::1/128");
    }

    #[test]
    fn texts_that_are_not_networks_are_refused() {
        for text in [
            "",
            "10.0.0.1/33",
            "10.0.0",
            "10.0.0.1/",
            "fd77::/129",
            "10.0.0.1/-1",
        ] {
            assert!(IpNet::from_text(text).is_none(), "{text}");
        }
    }
}
