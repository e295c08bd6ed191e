//! How a table of a scenario file is declared, once: its keys with their types, defaults, ranges and explanations. Reading, the
//! refusal of unknown keys, writing and the reference (`airpace sim schema`) all follow from that one declaration.

use super::suggest::remedy;
use core::fmt;
use core::marker::PhantomData;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize};

/// One key of a table, for the reference.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The key.
    pub key: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// What may stand there.
    pub kind: fn() -> Kind,
    /// What holds if it is left out.
    pub absent: Absent,
    /// The smallest and the largest value, as they would be written.
    pub bounds: Option<(&'static str, &'static str)>,
}

/// What holds if a key is left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Absent {
    /// This value, as it would be written.
    Default(&'static str),
    /// Nothing; the explanation says what that means.
    Nothing,
    /// It must be there; an example.
    Refused(&'static str),
    /// The defaults of the nested table.
    Nested,
}

/// What may stand behind a key.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A single value: what it is and an example, as it would be written in TOML.
    Value(&'static str, &'static str),
    /// One of a few words, each with its meaning.
    Choice(&'static [(&'static str, &'static str)]),
    /// A table, with its name.
    Table(&'static str, fn() -> &'static [Field]),
    /// One or several of these.
    List(fn() -> Kind),
}

/// A value that can stand behind a key.
pub trait Setting: Serialize + Sized {
    /// What may stand there.
    fn kind() -> Kind;
    /// The value that `text` writes, for defaults and bounds.
    fn from_text(text: &str) -> Option<Self>;
    /// Reads the value.
    ///
    /// # Errors
    /// If what stands there is something else.
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
    /// Whether the value lies between two others, as they would be written.
    fn within(&self, _low: &str, _high: &str) -> bool {
        true
    }
    /// Whether nothing was given.
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

/// One or several: a single value stands for a list of one.
impl<T: Setting> Setting for Vec<T> {
    fn kind() -> Kind {
        Kind::List(T::kind)
    }
    fn from_text(text: &str) -> Option<Self> {
        T::from_text(text).map(|value| vec![value])
    }
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneOrMany::<T>(PhantomData))
    }
    fn within(&self, low: &str, high: &str) -> bool {
        self.iter().all(|value| value.within(low, high))
    }
    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

/// Reads one value or a list of them.
struct OneOrMany<T>(PhantomData<T>);

/// Reads a list element the way a value is read.
struct Element<T>(PhantomData<T>);

impl<'de, T: Setting> DeserializeSeed<'de> for Element<T> {
    type Value = T;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        T::read(deserializer)
    }
}

/// Takes a single primitive value for a list of one.
#[macro_export]
macro_rules! one_for_many {
    ($($method:ident($type:ty);)*) => {
        $(fn $method<E: serde::de::Error>(self, value: $type) -> Result<Vec<T>, E> {
            Ok(vec![T::read(serde::de::IntoDeserializer::into_deserializer(value))?])
        })*
    };
}

impl<'de, T: Setting> Visitor<'de> for OneOrMany<T> {
    type Value = Vec<T>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, or a list of such", T::kind())
    }
    one_for_many! { visit_bool(bool); visit_i64(i64); visit_u64(u64); visit_f64(f64); visit_str(&str); }
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

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(what, example) => write!(f, "a {what} such as {example}"),
            Self::Choice(words) => {
                write!(
                    f,
                    "one of {}",
                    words
                        .iter()
                        .map(|(word, _)| *word)
                        .collect::<Vec<_>>()
                        .join(", ")
                )
            }
            Self::Table(name, _) => write!(f, "a table ({name})"),
            Self::List(of) => write!(f, "{}, or a list of such", of()),
        }
    }
}

/// Reads a number, a truth value or a text, each only as what it is.
struct Primitive<T>(PhantomData<T>);

impl<T: Setting> Primitive<T> {
    fn read<E: serde::de::Error>(text: &str) -> Result<T, E> {
        T::from_text(text)
            .ok_or_else(|| E::custom(format!("`{text}` does not fit here: give {}", T::kind())))
    }
}

impl<T: Setting> Visitor<'_> for Primitive<T> {
    type Value = T;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", T::kind())
    }
    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<T, E> {
        Self::read(if value { "true" } else { "false" })
    }
    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<T, E> {
        Self::read(&value.to_string())
    }
    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<T, E> {
        Self::read(&value.to_string())
    }
    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<T, E> {
        Self::read(&value.to_string())
    }
}

/// What all types have that parse from, and are ordered by, their text form.
#[macro_export]
macro_rules! text_form {
    ($what:literal, $example:literal) => {
        fn kind() -> Kind {
            Kind::Value($what, $example)
        }
        fn from_text(text: &str) -> Option<Self> {
            text.parse().ok()
        }
        fn within(&self, low: &str, high: &str) -> bool {
            let bound = |text: &str| text.parse::<Self>().ok();
            bound(low).is_none_or(|low| *self >= low)
                && bound(high).is_none_or(|high| *self <= high)
        }
    };
}

/// Numbers and truth values.
#[macro_export]
macro_rules! primitives {
    ($($type:ty: $what:literal, $example:literal;)*) => {
        $(impl Setting for $type {
            text_form!($what, $example);
            fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(Primitive(PhantomData))
            }
        })*
    };
}

/// Types that read themselves.
#[macro_export]
macro_rules! quantities {
    ($($type:ty: $what:literal, $example:literal;)*) => {
        $(impl Setting for $type {
            text_form!($what, $example);
            fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::deserialize(deserializer)
            }
        })*
    };
}

primitives! {
    bool: "truth value", "true";
    u8: "whole number", "9";
    u16: "whole number", "64";
    u32: "whole number", "1000";
    u64: "whole number", "1";
    f64: "number", "0.5";
}

quantities! {
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

/// A table of a scenario file; made by the macro `section!`.
pub trait Section: Sized + Default {
    /// What the table is called in messages.
    const NAME: &'static str;
    /// Its keys, in the order of the reference.
    fn fields() -> &'static [Field];
    /// Reads the value of `key` from `map`.
    ///
    /// # Errors
    /// If the value does not fit.
    fn read_value<'de, A: MapAccess<'de>>(
        &mut self,
        key: &'static str,
        map: &mut A,
    ) -> Result<(), A::Error>;
    /// The table that a single word stands for, where there is a short form.
    ///
    /// # Errors
    /// If there is none, or the word is not one.
    fn from_short(text: &str) -> Result<Self, String> {
        Err(format!(
            "`{text}` stands where a table is needed: {} {{ … }}",
            Self::NAME
        ))
    }
}

/// Reads a section: refuses unknown keys with the nearest known one, and missing ones with an example.
pub struct SectionVisitor<T>(pub PhantomData<T>);

impl<'de, T: Section> Visitor<'de> for SectionVisitor<T> {
    type Value = T;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a table ({})", T::NAME)
    }
    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        T::from_short(text).map_err(E::custom)
    }
    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<T, E> {
        self.visit_str(if value { "true" } else { "false" })
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        let fields = T::fields();
        let mut section = T::default();
        let mut missing: Vec<&Field> = fields
            .iter()
            .filter(|f| matches!(f.absent, Absent::Refused(_)))
            .collect();
        while let Some(key) = map.next_key_seed(KeySeed {
            fields,
            table: T::NAME,
        })? {
            section.read_value(key, &mut map)?;
            missing.retain(|field| field.key != key);
        }
        let Some(field) = missing.first() else {
            return Ok(section);
        };
        let Absent::Refused(example) = field.absent else {
            return Ok(section);
        };
        Err(A::Error::custom(format!(
            "{} lacks `{}`: add for example {} = {example}",
            T::NAME,
            field.key,
            field.key
        )))
    }
}

/// Reads a key and answers with the one of the section that it is.
struct KeySeed {
    fields: &'static [Field],
    table: &'static str,
}

impl<'de> DeserializeSeed<'de> for KeySeed {
    type Value = &'static str;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<&'static str, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeySeed {
    type Value = &'static str;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }
    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<&'static str, E> {
        self.fields
            .iter()
            .map(|field| field.key)
            .find(|key| *key == text)
            .ok_or_else(|| {
                let keys: Vec<&str> = self.fields.iter().map(|field| field.key).collect();
                E::custom(format!(
                    "{} has no key `{text}`: {}",
                    self.table,
                    remedy(text, keys)
                ))
            })
    }
}

/// Reads a value and refuses it outside its bounds.
pub struct Bounded<T>(pub Option<(&'static str, &'static str)>, pub PhantomData<T>);

impl<'de, T: Setting> DeserializeSeed<'de> for Bounded<T> {
    type Value = T;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        let value = T::read(deserializer)?;
        match self.0 {
            Some((low, high)) if !value.within(low, high) => Err(D::Error::custom(format!(
                "out of range: give {low} to {high}"
            ))),
            _ => Ok(value),
        }
    }
}

/// Writes `value` under `key` unless nothing was given.
pub fn write_value<M: SerializeMap, T: Setting>(
    map: &mut M,
    key: &str,
    value: &T,
) -> Result<(), M::Error> {
    if value.is_absent() {
        Ok(())
    } else {
        map.serialize_entry(key, value)
    }
}

/// Declares a table: per key its explanation, type and what holds if it is left out, with bounds where there are any.
#[macro_export]
macro_rules! section {
    ($(#[doc = $doc:literal])* $name:ident as $table:literal $(or $short:path)? {
        $($(#[doc = $text:literal])+ $field:ident: $type:ty = $how:ident $(($($arg:literal),*))?,)*
    }) => {
        $(#[doc = $doc])*
        #[derive(Clone, PartialEq, Debug)]
        pub struct $name {
            $($(#[doc = $text])+ pub $field: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $crate::section::default_of!($type, $how $(($($arg),*))?),)* }
            }
        }

        impl $crate::section::Section for $name {
            const NAME: &'static str = $table;
            fn fields() -> &'static [$crate::section::Field] {
                const FIELDS: &[$crate::section::Field] = &[
                    $($crate::section::Field {
                        key: stringify!($field),
                        doc: concat!($($text),+),
                        kind: <$type as $crate::section::Setting>::kind,
                        absent: $crate::section::absent_of!($how $(($($arg),*))?),
                        bounds: $crate::section::bounds_of!($how $(($($arg),*))?),
                    },)*
                ];
                FIELDS
            }
            fn read_value<'de, A: serde::de::MapAccess<'de>>(
                &mut self,
                key: &'static str,
                map: &mut A,
            ) -> Result<(), A::Error> {
                $(if key == stringify!($field) {
                    let bounds = $crate::section::bounds_of!($how $(($($arg),*))?);
                    let seed = $crate::section::Bounded(bounds, core::marker::PhantomData);
                    self.$field = map.next_value_seed(seed)?;
                })*
                Ok(())
            }
            $(fn from_short(text: &str) -> Result<Self, String> {
                $short(text)
            })?
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any($crate::section::SectionVisitor(core::marker::PhantomData))
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut map = serializer.serialize_map(None)?;
                $($crate::section::write_value(&mut map, stringify!($field), &self.$field)?;)*
                serde::ser::SerializeMap::end(map)
            }
        }

        impl $crate::section::Setting for $name {
            fn kind() -> $crate::section::Kind {
                $crate::section::Kind::Table($table, <Self as $crate::section::Section>::fields)
            }
            fn from_text(text: &str) -> Option<Self> {
                <Self as $crate::section::Section>::from_short(text).ok()
            }
            fn read<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                serde::Deserialize::deserialize(deserializer)
            }
        }
    };
}

/// The value of a key that is left out.
#[macro_export]
macro_rules! default_of {
    ($type:ty, default($text:literal $(, $low:literal, $high:literal)?)) => {
        <$type as $crate::section::Setting>::from_text($text)
            .expect("the declared default is a value")
    };
    // Never seen: reading refuses the table without the key.
    ($type:ty, required($text:literal $(, $low:literal, $high:literal)?)) => {
        <$type as $crate::section::Setting>::from_text($text)
            .expect("the declared example is a value")
    };
    ($type:ty, optional $(($low:literal, $high:literal))?) => {
        None
    };
    ($type:ty, nested) => {
        <$type>::default()
    };
    ($type:ty, list($low:literal, $high:literal)) => {
        Vec::new()
    };
}

/// What the reference says of a key that is left out.
#[macro_export]
macro_rules! absent_of {
    (default($text:literal $(, $low:literal, $high:literal)?)) => {
        $crate::section::Absent::Default($text)
    };
    (required($text:literal $(, $low:literal, $high:literal)?)) => {
        $crate::section::Absent::Refused($text)
    };
    (optional $(($low:literal, $high:literal))?) => {
        $crate::section::Absent::Nothing
    };
    (nested) => {
        $crate::section::Absent::Nested
    };
    (list($low:literal, $high:literal)) => {
        $crate::section::Absent::Nothing
    };
}

/// The bounds of a key's value.
#[macro_export]
macro_rules! bounds_of {
    (optional($low:literal, $high:literal)) => {
        Some(($low, $high))
    };
    (list($low:literal, $high:literal)) => {
        Some(($low, $high))
    };
    ($how:ident($text:literal, $low:literal, $high:literal)) => {
        Some(($low, $high))
    };
    ($($other:tt)*) => {
        None
    };
}

pub use crate::{absent_of, bounds_of, default_of, section};

/// Reads one of a few words.
pub struct Word(pub &'static [(&'static str, &'static str)]);

impl Visitor<'_> for Word {
    type Value = String;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Kind::Choice(self.0))
    }
    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<String, E> {
        Ok(text.to_owned())
    }
}
