//! Quantities of scenarios: lengths and levels, which may be negative and need not be exact,
//! frequencies, and numbers of packets.

use super::{Kind, QuantityError, TextVisitor};
use core::fmt;
use core::str::FromStr;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A kind of quantity that is a real number, and the texts for its errors. Units are multiples of
/// the first.
struct Real {
    units: &'static [(&'static str, f64)],
    allowed: &'static str,
    example: &'static str,
}

impl Real {
    fn parse(&self, text: &str) -> Result<f64, QuantityError> {
        let trimmed = text.trim();
        let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '_' | '-' | '+');
        let split = trimmed.find(|c| !is_number(c)).unwrap_or(trimmed.len());
        let (number, unit) = (
            trimmed[..split].trim().replace('_', ""),
            trimmed[split..].trim(),
        );
        let no_number = || QuantityError::NoNumber {
            text: text.to_owned(),
            example: self.example,
        };
        let number: f64 = number.parse().map_err(|_| no_number())?;
        if unit.is_empty() {
            return Err(QuantityError::NoUnit {
                text: text.to_owned(),
                example: self.example,
            });
        }
        let size = self
            .units
            .iter()
            .find(|(name, _)| *name == unit)
            .map(|(_, size)| size);
        let size = size.ok_or_else(|| QuantityError::UnknownUnit {
            unit: unit.to_owned(),
            allowed: self.allowed,
        })?;
        let value = number * size;
        if value.is_finite() {
            Ok(value)
        } else {
            Err(no_number())
        }
    }
}

const LENGTH: Real = Real {
    units: &[("m", 1.0), ("cm", 0.01), ("km", 1000.0)],
    allowed: "cm, m, km",
    example: "40 m",
};
const POWER: Real = Real {
    units: &[("dBm", 1.0)],
    allowed: "dBm",
    example: "16 dBm",
};
const RATIO: Real = Real {
    units: &[("dB", 1.0)],
    allowed: "dB",
    example: "7 dB",
};
const FREQUENCY: Kind = Kind {
    units: &[
        ("GHz", 1_000_000_000),
        ("MHz", 1_000_000),
        ("kHz", 1_000),
        ("Hz", 1),
    ],
    allowed: "Hz, kHz, MHz, GHz",
    example: "80 MHz",
    finest: "1 Hz",
    decimals: true,
};

/// A length or a coordinate in metres: `"40 m"`, `"-2.5 m"`; units cm, m, km.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Length(pub f64);

/// A power in dBm: `"16 dBm"`, `"-82 dBm"`.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Power(pub f64);

/// A ratio of powers in dB: `"7 dB"`.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Decibels(pub f64);

/// A frequency or a bandwidth in Hz: `"80 MHz"`, `"2.4 GHz"`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Frequency(pub u64);

/// Parses, prints, reads and writes a real quantity as its text.
macro_rules! real {
    ($($name:ident: $kind:ident, $unit:literal, $example:literal;)*) => {
        $(impl FromStr for $name {
            type Err = QuantityError;
            fn from_str(text: &str) -> Result<Self, QuantityError> {
                $kind.parse(text).map(Self)
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{} {}", self.0, $unit)
            }
        }
        text_serde!($name, $example);)*
    };
}

real! {
    Length: LENGTH, "m", "40 m";
    Power: POWER, "dBm", "16 dBm";
    Decibels: RATIO, "dB", "7 dB";
}

/// A number of packets: `"1000 packets"`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Packets(pub u32);

impl FromStr for Packets {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let example = "1000 packets";
        let number = text
            .trim_end()
            .strip_suffix("packets")
            .or_else(|| text.trim_end().strip_suffix("packet"));
        let Some(number) = number else {
            let is_number = text.trim().parse::<u64>().is_ok();
            return Err(match text.trim().rsplit(' ').next() {
                Some(unit) if !is_number => QuantityError::UnknownUnit {
                    unit: unit.to_owned(),
                    allowed: "packets",
                },
                _ => QuantityError::NoUnit {
                    text: text.to_owned(),
                    example,
                },
            });
        };
        super::packets(text, number, example).map(Self)
    }
}

impl fmt::Display for Packets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} packet{}", self.0, if self.0 == 1 { "" } else { "s" })
    }
}

text_serde!(Packets, "1000 packets");

impl FromStr for Frequency {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        FREQUENCY.parse(text).map(Self)
    }
}

impl fmt::Display for Frequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        FREQUENCY.print(self.0, f)
    }
}

text_serde!(Frequency, "80 MHz");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_print_and_parse_back() {
        for text in ["40 m", "-2.5 m", "0.1 m"] {
            assert_eq!(text.parse::<Length>().expect("valid").to_string(), text);
        }
        assert_eq!("1.5 km".parse::<Length>(), Ok(Length(1500.0)));
        assert_eq!(
            "-82 dBm".parse::<Power>().expect("valid").to_string(),
            "-82 dBm"
        );
        assert_eq!("46.6777 dB".parse::<Decibels>(), Ok(Decibels(46.6777)));
        assert_eq!("1 packet".parse(), Ok(Packets(1)));
        assert_eq!(
            "800 packets".parse::<Packets>().expect("valid").to_string(),
            "800 packets"
        );
        assert_eq!(
            "2.4 GHz".parse::<Frequency>().expect("valid").to_string(),
            "2.4 GHz"
        );
    }

    #[test]
    fn values_without_or_with_a_wrong_unit_are_refused_with_a_hint() {
        let message = |e: Result<Power, QuantityError>| e.expect_err("must be refused").to_string();
        assert_eq!(
            message("16".parse()),
            "`16` has no unit: write for example \"16 dBm\""
        );
        assert_eq!(
            message("16 W".parse()),
            "`W` is not a unit here: use one of dBm"
        );
        assert_eq!(
            message("much dBm".parse()),
            "`much dBm` is not a number: write for example \"16 dBm\""
        );
        for text in ["1000", "-5 packets", "1.5 packets", "64 KiB", "packets", ""] {
            assert!(text.parse::<Packets>().is_err(), "{text}");
        }
        assert_eq!(
            "1000000000000 packets"
                .parse::<Packets>()
                .expect_err("it is too large")
                .to_string(),
            "`1000000000000 packets` is too large or smaller than 1 packet"
        );
        for text in ["nan m", "inf m", "1e999 m", "", "m", "--4 m"] {
            assert!(text.parse::<Length>().is_err(), "{text}");
        }
    }
}
