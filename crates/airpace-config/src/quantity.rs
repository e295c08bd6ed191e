//! Values with their unit, as configuration files have them: `"100 ms"`, `"1.2 Gbit/s"`,
//! `"2500 packets"`, `"64 KiB"`.
//!
//! Decimals are scaled as integers and rounded to the base unit (1 ns, 1 bit/s, 1 byte), so that the
//! numbers that programs print (`18.628999999999998 Mbit/s`, `1e-05 s`) are accepted. A value above zero that
//! would be rounded to zero is refused. What [`core::fmt::Display`] prints parses back to the same
//! value. Bare numbers are refused with a hint.

use airpace_units::{BitRate, Bytes};
use core::fmt;
use core::str::FromStr;
use core::time::Duration;
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Why a value with a unit was refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QuantityError {
    /// There is a number and no unit.
    #[error("`{text}` has no unit: write for example \"{example}\"")]
    NoUnit {
        /// What was given.
        text: String,
        /// A valid value of the kind.
        example: &'static str,
    },
    /// The unit is not one of this kind.
    #[error("`{unit}` is not a unit here: use one of {allowed}")]
    UnknownUnit {
        /// What was given.
        unit: String,
        /// The units of the kind.
        allowed: &'static str,
    },
    /// The number is not a plain decimal number.
    #[error("`{text}` is not a number: write for example \"{example}\"")]
    NoNumber {
        /// What was given.
        text: String,
        /// A valid value of the kind.
        example: &'static str,
    },
    /// No link has such a rate.
    #[error("`{text}` is too large: rates are 1 Tbit/s at most")]
    RateTooLarge {
        /// What was given.
        text: String,
    },
    /// The number cannot be represented.
    #[error("`{text}` is too large or smaller than {finest}")]
    OutOfRange {
        /// What was given.
        text: String,
        /// The base unit of the kind.
        finest: &'static str,
    },
}

/// Largest rate, twenty times that of the fastest radio: a load beyond it is a slip, and would take
/// a simulation hours.
const RATE_MOST_BPS: u64 = 1_000_000_000_000;

/// A kind of quantity, and the texts for its errors.
struct Kind {
    /// The units, largest first, each with its size in base units. Among units of equal size the
    /// first is printed.
    units: &'static [(&'static str, u64)],
    allowed: &'static str,
    example: &'static str,
    finest: &'static str,
    /// Whether decimals are printed. Sizes are printed as whole numbers: fractions of KiB help
    /// nobody.
    decimals: bool,
}

const TIME: Kind = Kind {
    units: &[
        ("s", 1_000_000_000),
        ("ms", 1_000_000),
        ("us", 1_000),
        ("µs", 1_000),
        ("ns", 1),
    ],
    allowed: "ns, us, ms, s",
    example: "100 ms",
    finest: "1 ns",
    decimals: true,
};
const RATE: Kind = Kind {
    units: &[
        ("Gbit/s", 1_000_000_000),
        ("Mbit/s", 1_000_000),
        ("kbit/s", 1_000),
        ("bit/s", 1),
    ],
    allowed: "bit/s, kbit/s, Mbit/s, Gbit/s",
    example: "1.2 Gbit/s",
    finest: "1 bit/s",
    decimals: true,
};
const SIZE: Kind = Kind {
    units: &[
        ("GiB", 1 << 30),
        ("MiB", 1 << 20),
        ("KiB", 1 << 10),
        ("MB", 1_000_000),
        ("kB", 1_000),
        ("B", 1),
    ],
    allowed: "B, kB (1000 B), KiB (1024 B), MB, MiB, GiB",
    example: "64 KiB",
    finest: "1 byte",
    decimals: false,
};

impl Kind {
    /// Parses `text` into base units.
    fn parse(&self, text: &str) -> Result<u64, QuantityError> {
        let trimmed = text.trim();
        let split = number_length(trimmed);
        let (number, unit) = (trimmed[..split].trim(), trimmed[split..].trim());
        if number.is_empty() {
            return Err(QuantityError::NoNumber {
                text: text.to_owned(),
                example: self.example,
            });
        }
        if unit.is_empty() {
            return Err(QuantityError::NoUnit {
                text: text.to_owned(),
                example: self.example,
            });
        }
        let (_, size) = self
            .units
            .iter()
            .find(|(name, _)| *name == unit)
            .ok_or_else(|| QuantityError::UnknownUnit {
                unit: unit.to_owned(),
                allowed: self.allowed,
            })?;
        self.scale(text, number, *size)
    }

    /// `number` · `size`, rounded to a whole number; not to zero unless `number` is zero.
    fn scale(&self, text: &str, number: &str, size: u64) -> Result<u64, QuantityError> {
        let no_number = || QuantityError::NoNumber {
            text: text.to_owned(),
            example: self.example,
        };
        let out_of_range = || QuantityError::OutOfRange {
            text: text.to_owned(),
            finest: self.finest,
        };
        let (number, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
        let exponent: i32 = exponent.parse().map_err(|_| out_of_range())?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let fraction = fraction.trim_end_matches('0');
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return Err(no_number());
        }
        let is_digit = |c: &char| *c != '_';
        let digits: String = whole
            .chars()
            .chain(fraction.chars())
            .filter(is_digit)
            .collect();
        let decimals = i32::try_from(fraction.chars().filter(is_digit).count());
        let mantissa = if digits.is_empty() {
            0
        } else {
            digits.parse::<u128>().map_err(|_| out_of_range())?
        };
        let product = mantissa
            .checked_mul(u128::from(size))
            .ok_or_else(out_of_range)?;
        let decimals = decimals.ok().and_then(|count| count.checked_sub(exponent));
        let decimals = decimals.ok_or_else(out_of_range)?;
        let power = 10_u128.checked_pow(decimals.unsigned_abs());
        let value = match power {
            Some(power) if decimals >= 0 => {
                product / power + u128::from(product % power >= power.div_ceil(2))
            }
            Some(power) => product.checked_mul(power).ok_or_else(out_of_range)?,
            None if mantissa == 0 => 0,
            None => return Err(out_of_range()),
        };
        if value == 0 && mantissa > 0 {
            return Err(out_of_range());
        }
        u64::try_from(value).map_err(|_| out_of_range())
    }

    /// Prints `value` base units in the largest unit of which it is an exact short decimal of at
    /// least one.
    fn print(&self, value: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A value that needs more than three decimals is printed in the next smaller unit.
        let steps: u64 = if self.decimals { 1_000 } else { 1 };
        for (unit, size) in self.units.iter().filter(|(_, size)| value >= *size) {
            // The product stays below 2^64 · 10^3 < 2^74.
            let scaled = u128::from(value) * u128::from(steps);
            if scaled.is_multiple_of(u128::from(*size)) {
                let scaled = scaled / u128::from(*size);
                let (whole, part) = (scaled / u128::from(steps), scaled % u128::from(steps));
                let part = format!("{part:03}");
                let part = part.trim_end_matches('0');
                let point = if part.is_empty() { "" } else { "." };
                return write!(f, "{whole}{point}{part} {unit}");
            }
        }
        let (unit, _) = self
            .units
            .iter()
            .find(|(_, size)| *size == 1)
            .expect("each kind has its base unit");
        write!(f, "{value} {unit}")
    }
}

/// Length in bytes of the decimal number at the beginning of `text`, exponent included.
fn number_length(text: &str) -> usize {
    let digits = |text: &str, is_part: fn(char) -> bool| {
        text.find(|c: char| !is_part(c)).unwrap_or(text.len())
    };
    let mantissa = digits(text, |c| c.is_ascii_digit() || c == '.' || c == '_');
    let Some(exponent) = text[mantissa..].strip_prefix(['e', 'E']) else {
        return mantissa;
    };
    let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    match digits(unsigned, |c| c.is_ascii_digit()) {
        0 => mantissa,
        places => text.len() - unsigned.len() + places,
    }
}

/// Reads a text, and refuses numbers with a hint at the missing unit.
struct TextVisitor<T>(&'static str, core::marker::PhantomData<T>);

impl<T: FromStr<Err = QuantityError>> Visitor<'_> for TextVisitor<T> {
    type Value = T;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a text with a unit, for example \"{}\"", self.0)
    }
    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<T, E> {
        Err(E::custom(QuantityError::NoUnit {
            text: number.to_string(),
            example: self.0,
        }))
    }
    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<T, E> {
        Err(E::custom(QuantityError::NoUnit {
            text: number.to_string(),
            example: self.0,
        }))
    }
    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<T, E> {
        Err(E::custom(QuantityError::NoUnit {
            text: number.to_string(),
            example: self.0,
        }))
    }
}

/// Reads and writes a quantity as its text.
macro_rules! text_serde {
    ($name:ident, $example:expr) => {
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(TextVisitor($example, core::marker::PhantomData))
            }
        }
    };
}

/// A span of time: `"100 ms"`, `"2.5 s"`, `"200 us"`; units ns, us (µs), ms, s.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Span(pub Duration);

/// A rate: `"58.5 Mbit/s"`, `"1.2 Gbit/s"`; units bit/s, kbit/s, Mbit/s, Gbit/s, all decimal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Rate(pub BitRate);

/// A size: `"1500 B"`, `"64 KiB"`, `"4 MiB"`; units B, kB, KiB, MB, MiB, GiB.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Size(pub Bytes);

/// A limit of a queue in packets or in bytes: `"2500 packets"`, `"64 KiB"`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueLimit {
    /// A number of packets.
    Packets(u32),
    /// A number of bytes.
    Bytes(Bytes),
}

mod radio;

pub use radio::{Decibels, Frequency, Length, Packets, Power};

text_serde!(Span, "100 ms");
text_serde!(Rate, "1.2 Gbit/s");
text_serde!(Size, "64 KiB");
text_serde!(QueueLimit, "2500 packets");

impl Span {
    /// A span of `ms` milliseconds.
    #[must_use]
    pub const fn from_millis(ms: u64) -> Self {
        Self(Duration::from_millis(ms))
    }
}

impl FromStr for Span {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        TIME.parse(text).map(|ns| Self(Duration::from_nanos(ns)))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        TIME.print(u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX), f)
    }
}

impl FromStr for Rate {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let bps = RATE.parse(text)?;
        if bps > RATE_MOST_BPS {
            return Err(QuantityError::RateTooLarge {
                text: text.to_owned(),
            });
        }
        Ok(Self(BitRate::from_bps(bps)))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        RATE.print(self.0.bps(), f)
    }
}

impl Size {
    /// A size of `bytes` bytes.
    #[must_use]
    pub const fn from_bytes(bytes: u64) -> Self {
        Self(Bytes(bytes))
    }
}

impl FromStr for Size {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        SIZE.parse(text).map(|bytes| Self(Bytes(bytes)))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        SIZE.print(self.0.0, f)
    }
}

/// The number of packets in `number`, which stands in `text` before the unit.
fn packets(text: &str, number: &str, example: &'static str) -> Result<u32, QuantityError> {
    let number = number.trim();
    number.parse().map_err(|_| {
        let text = text.to_owned();
        if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) {
            let finest = "1 packet";
            QuantityError::OutOfRange { text, finest }
        } else {
            QuantityError::NoNumber { text, example }
        }
    })
}

impl FromStr for QueueLimit {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let trimmed = text.trim();
        if let Some(number) = trimmed
            .strip_suffix("packets")
            .or_else(|| trimmed.strip_suffix("packet"))
        {
            return packets(text, number, "2500 packets").map(Self::Packets);
        }
        match SIZE.parse(text) {
            Ok(bytes) => Ok(Self::Bytes(Bytes(bytes))),
            Err(QuantityError::NoUnit { text, .. }) => Err(QuantityError::NoUnit {
                text,
                example: "2500 packets",
            }),
            Err(QuantityError::UnknownUnit { unit, .. }) => Err(QuantityError::UnknownUnit {
                unit,
                allowed: "packets, B, kB, KiB, MB, MiB, GiB",
            }),
            Err(other) => Err(other),
        }
    }
}

impl fmt::Display for QueueLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(1) => write!(f, "1 packet"),
            Self::Packets(n) => write!(f, "{n} packets"),
            Self::Bytes(bytes) => Size(*bytes).fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_print_and_parse_back() {
        for text in [
            "100 ms", "1.5 ms", "2 s", "200 us", "90 s", "7 ns", "0 ns", "1.001 us", "5484 us",
        ] {
            let span: Span = text.parse().expect(text);
            assert_eq!(
                span.to_string().parse::<Span>(),
                Ok(span),
                "{text} printed as {span}"
            );
        }
        for text in ["1.2 Gbit/s", "58.5 Mbit/s", "0 bit/s", "1234567 bit/s"] {
            let rate: Rate = text.parse().expect(text);
            assert_eq!(
                rate.to_string().parse::<Rate>(),
                Ok(rate),
                "{text} printed as {rate}"
            );
        }
        for text in [
            "2500 packets",
            "1 packet",
            "64 KiB",
            "1500 B",
            "4 MiB",
            "1 MB",
        ] {
            let limit: QueueLimit = text.parse().expect(text);
            assert_eq!(
                limit.to_string().parse::<QueueLimit>(),
                Ok(limit),
                "{text} printed as {limit}"
            );
        }
        assert_eq!(
            "1.5 ms".parse::<Span>().expect("valid").to_string(),
            "1.5 ms"
        );
        assert_eq!(
            "100ms".parse::<Span>().expect("valid").to_string(),
            "100 ms"
        );
    }

    #[test]
    fn numbers_that_programs_print_are_rounded_to_the_base_unit() {
        for (printed, meant) in [
            ("18.628999999999998 Mbit/s", "18.629 Mbit/s"),
            ("0.1 bit/s", ""),
            ("0.5 bit/s", "1 bit/s"),
            ("1e+9 bit/s", "1 Gbit/s"),
            ("1.2345E1 Mbit/s", "12345 kbit/s"),
            ("0e-99 bit/s", "0 bit/s"),
        ] {
            let meant: Option<Rate> = meant.parse().ok();
            assert_eq!(printed.parse::<Rate>().ok(), meant, "{printed}");
        }
        assert_eq!("1e-05 s".parse::<Span>(), "10 us".parse());
        assert_eq!("0.30000000000000004 ms".parse::<Span>(), "300 us".parse());
    }

    #[test]
    fn values_without_or_with_a_wrong_unit_are_refused_with_a_hint() {
        let message = |e: Result<Span, QuantityError>| e.expect_err("must be refused").to_string();
        assert_eq!(
            message("100".parse()),
            "`100` has no unit: write for example \"100 ms\""
        );
        assert_eq!(
            message("100 parsec".parse()),
            "`parsec` is not a unit here: use one of ns, us, ms, s"
        );
        assert_eq!(
            message("fast".parse()),
            "`fast` is not a number: write for example \"100 ms\""
        );
        assert_eq!(
            message("0.1 ns".parse()),
            "`0.1 ns` is too large or smaller than 1 ns"
        );
        assert_eq!(
            message("99999999999 s".parse()),
            "`99999999999 s` is too large or smaller than 1 ns"
        );
        for text in [
            "1e99999999999 s",
            "1e40 s",
            "1e-40 s",
            "1e-2147483648 s",
            "1e ms",
            "e3 ms",
        ] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
        assert!("-5 ms".parse::<Span>().is_err());
        assert!("1.2.3 ms".parse::<Span>().is_err());
        assert!("".parse::<QueueLimit>().is_err());
    }
}
