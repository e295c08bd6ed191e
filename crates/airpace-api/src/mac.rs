//! Hardware addresses as text.

use airpace_config::setting::text_settings;
use core::fmt;
use core::str::FromStr;
use serde::{Serialize, Serializer};

/// The hardware address of a station: six bytes in hexadecimal, separated by colons or hyphens.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct MacAddress(pub [u8; 6]);

/// A text that is not the address of a station.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MacError {
    /// It does not have six bytes.
    #[error("this is not a hardware address: write six bytes as in 3c:22:fb:01:02:03")]
    Malformed,
    /// The address of a group.
    #[error("this is the address of a group, which no station has")]
    Group,
}

impl FromStr for MacAddress {
    type Err = MacError;

    fn from_str(text: &str) -> Result<Self, MacError> {
        let mut bytes = [0; 6];
        let mut parts = text.split([':', '-']);
        for byte in &mut bytes {
            let part = parts.next().ok_or(MacError::Malformed)?;
            let is_hex = part.len() == 2 && part.bytes().all(|b| b.is_ascii_hexdigit());
            if !is_hex {
                return Err(MacError::Malformed);
            }
            *byte = u8::from_str_radix(part, 16).map_err(|_| MacError::Malformed)?;
        }
        if parts.next().is_some() {
            return Err(MacError::Malformed);
        }
        // The lowest bit of the first byte marks groups (IEEE 802-2014, 8.2.2).
        if bytes[0] & 1 != 0 {
            return Err(MacError::Group);
        }
        Ok(Self(bytes))
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl Serialize for MacAddress {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

text_settings! {
    MacAddress: "hardware address", "\"3c:22:fb:01:02:03\"";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_in_both_notations_and_written_with_colons() {
        for text in ["3c:22:fb:0A:02:03", "3c-22-fb-0a-02-03"] {
            let mac: MacAddress = text.parse().expect("a valid address");
            assert_eq!(mac.to_string(), "3c:22:fb:0a:02:03");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "3c:22:fb:01:02",
            "3c:22:fb:01:02:03:04",
            "3c:22:fb:01:02:g3",
            "+c:22:fb:01:02:03",
            "3c22.fb01.0203",
        ] {
            assert_eq!(
                text.parse::<MacAddress>(),
                Err(MacError::Malformed),
                "{text}"
            );
        }
        assert_eq!(
            "ff:ff:ff:ff:ff:ff".parse::<MacAddress>(),
            Err(MacError::Group)
        );
    }
}
