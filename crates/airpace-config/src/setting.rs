//! Values that can stand behind a key.

use crate::declaration::Kind;
use core::fmt::{self, Display};
use core::marker::PhantomData;
use core::str::FromStr;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, IntoDeserializer as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// A value that can stand behind a key.
///
/// Types that are written as text implement it by [`text_settings!`](macro@crate::text_settings),
/// tables by [`section!`](macro@crate::section), and enumerations by
/// [`choice!`](macro@crate::choice).
pub trait Setting: Serialize + Sized {
    /// What the value may be.
    fn kind() -> Kind;
    /// Parses the value from the form in which defaults, examples and bounds are declared: without
    /// quotes.
    fn from_text(text: &str) -> Option<Self>;
    /// Reads the value from a file.
    ///
    /// # Errors
    /// The file holds something else in its place.
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
    /// Whether the value lies between two others, both included. Values without an order always do.
    fn within(&self, _low: &str, _high: &str) -> bool {
        true
    }
    /// Whether the value stands for a key that was left out, so that it is not written.
    fn is_absent(&self) -> bool {
        false
    }
}

impl<T: Setting> Setting for Option<T> {
    fn kind() -> Kind {
        T::kind()
    }
    fn from_text(text: &str) -> Option<Self> {
        T::from_text(text).map(Some)
    }
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::read(deserializer).map(Some)
    }
    fn within(&self, low: &str, high: &str) -> bool {
        self.as_ref().is_none_or(|value| value.within(low, high))
    }
    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

/// A list, for which a single value may stand.
impl<T: Setting> Setting for Vec<T> {
    fn kind() -> Kind {
        Kind::List(T::kind)
    }
    fn from_text(text: &str) -> Option<Self> {
        T::from_text(text).map(|value| vec![value])
    }
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ListVisitor::<T>(PhantomData))
    }
    fn within(&self, low: &str, high: &str) -> bool {
        self.iter().all(|value| value.within(low, high))
    }
    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

/// Reads a list of values, or a single value as a list of one.
struct ListVisitor<T>(PhantomData<T>);

/// Passes a single primitive value on to `T`, as the only element of a list.
macro_rules! visit_single_values {
    ($($method:ident($type:ty);)*) => {
        $(fn $method<E: serde::de::Error>(self, value: $type) -> Result<Vec<T>, E> {
            Ok(vec![T::read(value.into_deserializer())?])
        })*
    };
}

impl<'de, T: Setting> Visitor<'de> for ListVisitor<T> {
    type Value = Vec<T>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Vec::<T>::kind())
    }
    visit_single_values! {
        visit_bool(bool); visit_i64(i64); visit_u64(u64); visit_f64(f64); visit_str(&str);
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Vec<T>, A::Error> {
        Ok(vec![T::read(MapAccessDeserializer::new(map))?])
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<T>, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = seq.next_element_seed(Element(PhantomData))? {
            values.push(value);
        }
        Ok(values)
    }
}

/// Reads an element of a list as [`Setting::read`] does.
struct Element<T>(PhantomData<T>);

impl<'de, T: Setting> DeserializeSeed<'de> for Element<T> {
    type Value = T;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        T::read(deserializer)
    }
}

/// Implements [`Setting`] for types that are written as text in quotes: they implement
/// [`core::str::FromStr`] with an error that says what to write instead, and `Serialize` as the
/// same text.
///
/// ```
/// use airpace_config::setting::text_settings;
/// # use std::fmt;
/// #[derive(Clone, PartialEq, Debug)]
/// struct Interface(String);
///
/// impl std::str::FromStr for Interface {
///     type Err = String;
///     fn from_str(text: &str) -> Result<Self, String> {
///         if text.len() <= 15 {
///             Ok(Self(text.to_owned()))
///         } else {
///             Err(format!("`{text}` is longer than 15 characters"))
///         }
///     }
/// }
/// # impl airpace_config::serde::Serialize for Interface {
/// #     fn serialize<S: airpace_config::serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
/// #         s.serialize_str(&self.0)
/// #     }
/// # }
///
/// text_settings! {
///     Interface: "name of a network interface", "\"wlan0\"";
/// }
/// ```
#[macro_export]
macro_rules! text_settings {
    ($($type:ty: $what:literal, $example:literal;)*) => {
        $(impl $crate::setting::Setting for $type {
            fn kind() -> $crate::declaration::Kind {
                $crate::declaration::Kind::Value { what: $what, example: $example }
            }
            fn from_text(text: &str) -> Option<Self> {
                text.parse().ok()
            }
            fn read<'de, D>(deserializer: D) -> Result<Self, D::Error>
            where
                D: $crate::serde::Deserializer<'de>,
            {
                $crate::setting::read_text(deserializer)
            }
        })*
    };
}
pub use crate::text_settings;

/// Reads a text and parses it.
#[doc(hidden)]
pub fn read_text<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Setting + FromStr<Err: Display>,
    D: Deserializer<'de>,
{
    deserializer.deserialize_any(TextVisitor(PhantomData))
}

struct TextVisitor<T>(PhantomData<T>);

impl<T: Setting + FromStr<Err: Display>> Visitor<'_> for TextVisitor<T> {
    type Value = T;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", T::kind())
    }
    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}

/// Reads a number or a boolean strictly: a quoted number is refused.
struct PrimitiveVisitor<T>(PhantomData<T>);

impl<T: Setting> PrimitiveVisitor<T> {
    fn parse<E: serde::de::Error>(text: &str) -> Result<T, E> {
        T::from_text(text)
            .ok_or_else(|| E::custom(format!("`{text}` does not fit here: give {}", T::kind())))
    }
}

impl<T: Setting> Visitor<'_> for PrimitiveVisitor<T> {
    type Value = T;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", T::kind())
    }
    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<T, E> {
        Self::parse(if value { "true" } else { "false" })
    }
    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<T, E> {
        Self::parse(&value.to_string())
    }
    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<T, E> {
        Self::parse(&value.to_string())
    }
    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<T, E> {
        Self::parse(&value.to_string())
    }
}

/// [`Setting`] for types with an order, which their text form parses to.
macro_rules! ordered_settings {
    ($read:expr; $($type:ty: $what:literal, $example:literal;)*) => {
        $(impl Setting for $type {
            fn kind() -> Kind {
                Kind::Value { what: $what, example: $example }
            }
            fn from_text(text: &str) -> Option<Self> {
                text.parse().ok()
            }
            fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                ($read)(deserializer)
            }
            fn within(&self, low: &str, high: &str) -> bool {
                // A bound that does not parse binds nothing. NaN lies within no bounds.
                let above = low.parse::<Self>().map_or(true, |low| *self >= low);
                let below = high.parse::<Self>().map_or(true, |high| *self <= high);
                above && below
            }
        })*
    };
}

ordered_settings! {
    |deserializer: D| deserializer.deserialize_any(PrimitiveVisitor(PhantomData));
    bool: "boolean", "true";
    u8: "whole number", "9";
    u16: "whole number", "64";
    u32: "whole number", "1000";
    u64: "whole number", "1";
    f64: "number", "0.5";
}

ordered_settings! {
    Self::deserialize;
    String: "text", "\"name\"";
    crate::quantity::Span: "time", "\"20 ms\"";
    crate::quantity::Rate: "rate", "\"390 Mbit/s\"";
    crate::quantity::Size: "size", "\"1470 B\"";
    crate::quantity::Packets: "number of packets", "\"1000 packets\"";
    crate::quantity::Length: "length", "\"40 m\"";
    crate::quantity::Power: "power", "\"16 dBm\"";
    crate::quantity::Decibels: "ratio", "\"7 dB\"";
    crate::quantity::Frequency: "frequency", "\"80 MHz\"";
}

text_settings! {
    crate::quantity::QueueLimit: "number of packets or size", "\"2500 packets\"";
    std::path::PathBuf: "path of a file", "\"/etc/airpace/proxy.key\"";
}

/// [`Setting`] for addresses, whose own parsing errors do not say what to write instead.
macro_rules! address_settings {
    ($($type:ty: $what:literal, $example:literal;)*) => {
        $(impl Setting for $type {
            fn kind() -> Kind {
                Kind::Value { what: $what, example: $example }
            }
            fn from_text(text: &str) -> Option<Self> {
                text.parse().ok()
            }
            fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(AddressVisitor(PhantomData))
            }
        })*
    };
}

address_settings! {
    core::net::IpAddr: "IP address", "\"10.7.0.2\"";
    core::net::SocketAddr: "IP address and port", "\"192.0.2.1:51900\"";
}

struct AddressVisitor<T>(PhantomData<T>);

impl<T: Setting> Visitor<'_> for AddressVisitor<T> {
    type Value = T;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", T::kind())
    }
    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        PrimitiveVisitor::<T>::parse(text)
    }
}
