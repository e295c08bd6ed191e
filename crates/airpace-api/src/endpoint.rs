//! Where a UDP service is, by number or by name.

use airpace_config::setting::text_settings;
use core::fmt;
use core::net::SocketAddr;
use core::str::FromStr;
use serde::{Serialize, Serializer};

/// Address and port of a UDP service: `192.0.2.1:51900`, `[2001:db8::1]:51900` or
/// `proxy.example.net:51900`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Endpoint {
    /// By number.
    Address(SocketAddr),
    /// By name, which may have another address tomorrow.
    Name {
        /// The name.
        host: String,
        /// The port.
        port: u16,
    },
}

/// A text that is not an [`Endpoint`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "`{0}` is not an address or name with a port: write for example \"192.0.2.1:51900\", \
     \"[2001:db8::1]:51900\" or \"proxy.example.net:51900\""
)]
pub struct EndpointError(String);

impl Endpoint {
    /// The address, if it is given by number.
    #[must_use]
    pub const fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::Address(address) => Some(*address),
            Self::Name { .. } => None,
        }
    }

    /// The port.
    #[must_use]
    pub const fn port(&self) -> u16 {
        match self {
            Self::Address(address) => address.port(),
            Self::Name { port, .. } => *port,
        }
    }
}

impl From<SocketAddr> for Endpoint {
    fn from(address: SocketAddr) -> Self {
        Self::Address(address)
    }
}

impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        if let Ok(address) = text.parse() {
            return Ok(Self::Address(address));
        }
        let error = || EndpointError(text.to_owned());
        let (host, port) = text.rsplit_once(':').ok_or_else(error)?;
        let port = port.parse().map_err(|_| error())?;
        if is_host_name(host) {
            Ok(Self::Name {
                host: host.to_owned(),
                port,
            })
        } else {
            Err(error())
        }
    }
}

/// Whether a text can be a host name (RFC 1123, section 2.1). A text of digits and dots is a mistyped
/// address.
fn is_host_name(text: &str) -> bool {
    let is_label = |label: &str| {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        (1..=63).contains(&label.len()) && label.bytes().all(is_allowed)
    };
    let name = text.strip_suffix('.').unwrap_or(text);
    name.len() <= 253
        && name.split('.').all(is_label)
        && name.bytes().any(|byte| byte.is_ascii_alphabetic())
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            Self::Name { host, port } => write!(f, "{host}:{port}"),
        }
    }
}

impl Serialize for Endpoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

text_settings! {
    Endpoint: "address or name, with a port", "\"192.0.2.1:51900\"";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_names_with_a_port_are_read_and_written() {
        for text in [
            "192.0.2.1:51900",
            "[2001:db8::1]:51900",
            "proxy.example.net:51900",
            "proxy:1",
            "a-b.c_d.example.:9",
        ] {
            let endpoint: Endpoint = text.parse().expect(text);
            assert_eq!(endpoint.to_string(), text);
            let is_number = text.starts_with(['1', '[']);
            assert_eq!(endpoint.address().is_some(), is_number, "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "proxy.example.net",
            "192.0.2.1",
            "192.0.2.300:51900",
            "2001:db8::1:51900",
            "proxy:port",
            "proxy:70000",
            ":51900",
            "a b:51900",
            "a..b:51900",
        ] {
            let error = text.parse::<Endpoint>().expect_err(text);
            assert!(error.to_string().contains("51900"));
        }
    }
}
