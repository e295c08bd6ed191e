//! How a table is declared, once: its keys with their types, defaults, ranges and explanations.

use crate::declaration::{Absent, Bounds, Field, Kind};
use crate::setting::Setting;
use crate::suggest::remedy;
use core::fmt;
use core::marker::PhantomData;
use serde::Deserializer;
use serde::de::{DeserializeSeed, Error as _, MapAccess, Visitor};
use serde::ser::SerializeMap;

/// A table of a configuration file, declared by the macro [`section!`](macro@crate::section).
pub trait Section: Setting + Default {
    /// What the table is called in messages.
    const NAME: &'static str;
    /// Its keys, in the order of the reference.
    fn fields() -> &'static [Field];
    /// Reads the value of `key` from `map`.
    ///
    /// # Errors
    /// The value has another type or is out of range.
    fn read_value<'de, A: MapAccess<'de>>(
        &mut self,
        key: &'static str,
        map: &mut A,
    ) -> Result<(), A::Error>;
    /// Checks the bounds of every key. Reading a table checks them as it goes; a short form does not.
    ///
    /// # Errors
    /// A value is out of range.
    fn check_bounds(&self) -> Result<(), String>;
    /// The table that a single word stands for, where there is a short form.
    ///
    /// # Errors
    /// There is no short form, or `text` is not one.
    fn from_short(text: &str) -> Result<Self, String> {
        Err(format!(
            "`{text}` stands where a table is needed: {} {{ … }}",
            Self::NAME
        ))
    }
}

/// Declares a table: a struct whose fields are the keys.
///
/// `Name as "what messages call it" { keys }`, or `Name as "…" or Name::parse { keys }` where a
/// single word may stand for the table. Each key has an explanation (its doc comment), a type that
/// is a [`Setting`], and what holds if it is left out. Bounds are two further texts, `low, high`,
/// both included:
///
/// | form | if the key is left out |
/// |---|---|
/// | `default("5 ms")`, `default("5 ms", low, high)` | this value |
/// | `required("station")`, `required("20 s", low, high)` | the table is refused; the text is an example |
/// | `optional`, `optional(low, high)` | `None` |
/// | `optional("that of the AP")`, `optional("that of the AP", low, high)` | `None`; the reference shows the text as default |
/// | `nested` | the defaults of the nested table, or an empty list |
/// | `nested("one with all defaults")` | the same; the reference shows the text as default |
/// | `list(low, high)` | an empty list |
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
                Self { $($field: $crate::__default_of!($type, $how $(($($arg),*))?),)* }
            }
        }

        impl $crate::section::Section for $name {
            const NAME: &'static str = $table;
            fn fields() -> &'static [$crate::declaration::Field] {
                const FIELDS: &[$crate::declaration::Field] = &[
                    $($crate::declaration::Field {
                        key: stringify!($field),
                        doc: concat!($($text),+),
                        kind: <$type as $crate::setting::Setting>::kind,
                        absent: $crate::__absent_of!($how $(($($arg),*))?),
                        bounds: $crate::__bounds_of!($how $(($($arg),*))?),
                    },)*
                ];
                FIELDS
            }
            fn read_value<'de, A: $crate::serde::de::MapAccess<'de>>(
                &mut self,
                key: &'static str,
                map: &mut A,
            ) -> Result<(), A::Error> {
                $(if key == stringify!($field) {
                    let bounds = $crate::__bounds_of!($how $(($($arg),*))?);
                    self.$field = $crate::section::read_bounded(map, bounds)?;
                })*
                Ok(())
            }
            fn check_bounds(&self) -> Result<(), String> {
                $(
                    let bounds = $crate::__bounds_of!($how $(($($arg),*))?);
                    $crate::section::check_bounded(stringify!($field), &self.$field, bounds)?;
                )*
                Ok(())
            }
            $(fn from_short(text: &str) -> Result<Self, String> {
                $short(text)
            })?
        }

        impl $crate::serde::Serialize for $name {
            fn serialize<S>(&self, serializer: S) -> Result<S::Ok, S::Error>
            where
                S: $crate::serde::Serializer,
            {
                let mut map = $crate::serde::Serializer::serialize_map(serializer, None)?;
                $($crate::section::write_value(&mut map, stringify!($field), &self.$field)?;)*
                $crate::serde::ser::SerializeMap::end(map)
            }
        }

        impl $crate::setting::Setting for $name {
            fn kind() -> $crate::declaration::Kind {
                $crate::declaration::Kind::Table {
                    name: $table,
                    fields: <Self as $crate::section::Section>::fields,
                    short: !<[&str]>::is_empty(&[$(stringify!($short))?]),
                }
            }
            fn from_text(text: &str) -> Option<Self> {
                $crate::section::read_short(text).ok()
            }
            fn read<'de, D>(deserializer: D) -> Result<Self, D::Error>
            where
                D: $crate::serde::Deserializer<'de>,
            {
                $crate::section::read_section(deserializer)
            }
        }
    };
}
pub use crate::section;

/// The value of a key that is left out.
#[doc(hidden)]
#[macro_export]
macro_rules! __default_of {
    ($type:ty, default($text:literal $(, $low:literal, $high:literal)?)) => {
        <$type as $crate::setting::Setting>::from_text($text)
            .expect("the declared default is a value")
    };
    // A placeholder only: reading refuses the table if the key is left out.
    ($type:ty, required($text:literal $(, $low:literal, $high:literal)?)) => {
        <$type as $crate::setting::Setting>::from_text($text)
            .expect("the declared example is a value")
    };
    ($type:ty, optional $(($($arg:literal),*))?) => {
        None
    };
    ($type:ty, nested $(($text:literal))?) => {
        <$type>::default()
    };
    ($type:ty, list($low:literal, $high:literal)) => {
        Vec::new()
    };
}

/// What the reference says of a key that is left out.
#[doc(hidden)]
#[macro_export]
macro_rules! __absent_of {
    (default($text:literal $(, $low:literal, $high:literal)?)) => {
        $crate::declaration::Absent::Default($text)
    };
    (required($text:literal $(, $low:literal, $high:literal)?)) => {
        $crate::declaration::Absent::Required($text)
    };
    (optional $(($low:literal, $high:literal))?) => {
        $crate::declaration::Absent::Nothing
    };
    (optional($text:literal $(, $low:literal, $high:literal)?)) => {
        $crate::declaration::Absent::Derived($text)
    };
    (nested) => {
        $crate::declaration::Absent::Nested
    };
    (nested($text:literal)) => {
        $crate::declaration::Absent::Derived($text)
    };
    (list($low:literal, $high:literal)) => {
        $crate::declaration::Absent::Nothing
    };
}

/// The bounds of a key's value.
#[doc(hidden)]
#[macro_export]
macro_rules! __bounds_of {
    ($how:ident($low:literal, $high:literal)) => {
        Some($crate::declaration::Bounds {
            low: $low,
            high: $high,
        })
    };
    ($how:ident($text:literal, $low:literal, $high:literal)) => {
        Some($crate::declaration::Bounds {
            low: $low,
            high: $high,
        })
    };
    ($($other:tt)*) => {
        None
    };
}

/// Reads a table.
#[doc(hidden)]
pub fn read_section<'de, T: Section, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_any(SectionVisitor(PhantomData))
}

/// Reads a table: refuses unknown keys with the nearest known one, and missing keys with an
/// example.
struct SectionVisitor<T>(PhantomData<T>);

impl<'de, T: Section> Visitor<'de> for SectionVisitor<T> {
    type Value = T;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a table ({})", T::NAME)
    }
    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        read_short(text).map_err(E::custom)
    }
    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<T, E> {
        self.visit_str(if value { "true" } else { "false" })
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        let mut section = T::default();
        let mut given: Vec<&str> = Vec::new();
        let known = KnownKey {
            fields: T::fields(),
            table: T::NAME,
        };
        while let Some(key) = map.next_key_seed(known)? {
            section.read_value(key, &mut map)?;
            given.push(key);
        }
        match first_missing(T::fields(), &given) {
            None => Ok(section),
            Some(missing) => Err(A::Error::custom(format!("{} lacks {missing}", T::NAME))),
        }
    }
}

/// The first key that must be given and was not, with an example. A nested table that is left out
/// counts as empty.
fn first_missing(fields: &[Field], given: &[&str]) -> Option<String> {
    for field in fields.iter().filter(|field| !given.contains(&field.key)) {
        let key = field.key;
        match (field.absent, (field.kind)()) {
            (Absent::Required(example), kind) => {
                let example = kind.written(example);
                return Some(format!("`{key}`: add for example {key} = {example}"));
            }
            (Absent::Nested, Kind::Table { name, fields, .. }) => {
                if let Some(missing) = first_missing(fields(), &[]) {
                    return Some(format!("the table {name}, which needs {missing}"));
                }
            }
            _ => {}
        }
    }
    None
}

/// Reads a key and returns the declared key that it is.
#[derive(Clone, Copy)]
struct KnownKey {
    fields: &'static [Field],
    table: &'static str,
}

impl<'de> DeserializeSeed<'de> for KnownKey {
    type Value = &'static str;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<&'static str, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KnownKey {
    type Value = &'static str;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }
    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<&'static str, E> {
        let keys: Vec<&'static str> = self.fields.iter().map(|field| field.key).collect();
        if let Some(key) = keys.iter().find(|key| **key == text) {
            return Ok(key);
        }
        let remedy = remedy(text, keys);
        Err(E::custom(format!(
            "{} has no key `{text}`: {remedy}",
            self.table
        )))
    }
}

/// Reads the next value of `map` and refuses it outside its bounds.
#[doc(hidden)]
pub fn read_bounded<'de, T: Setting, A: MapAccess<'de>>(
    map: &mut A,
    bounds: Option<Bounds>,
) -> Result<T, A::Error> {
    map.next_value_seed(BoundedValue(bounds, PhantomData))
}

/// Reads the short form of a table.
#[doc(hidden)]
pub fn read_short<T: Section>(text: &str) -> Result<T, String> {
    let section = T::from_short(text)?;
    section.check_bounds()?;
    Ok(section)
}

/// Refuses the value of `key` outside its bounds.
#[doc(hidden)]
pub fn check_bounded<T: Setting>(
    key: &str,
    value: &T,
    bounds: Option<Bounds>,
) -> Result<(), String> {
    match bounds {
        Some(Bounds { low, high }) if !value.within(low, high) => {
            Err(format!("{key} is out of range: give {low} to {high}"))
        }
        _ => Ok(()),
    }
}

/// Checks the bounds while the value is read, so that the error gets the place of the value.
struct BoundedValue<T>(Option<Bounds>, PhantomData<T>);

impl<'de, T: Setting> DeserializeSeed<'de> for BoundedValue<T> {
    type Value = T;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        let value = T::read(deserializer)?;
        match self.0 {
            Some(Bounds { low, high }) if !value.within(low, high) => Err(D::Error::custom(
                format!("out of range: give {low} to {high}"),
            )),
            _ => Ok(value),
        }
    }
}

/// Writes `value` under `key` unless the key was left out.
#[doc(hidden)]
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
