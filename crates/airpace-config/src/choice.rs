//! Settings that are one of a few words.

use crate::declaration::{Kind, Word};
use crate::setting::Setting;
use crate::suggest::remedy;
use core::fmt;
use core::marker::PhantomData;
use core::str::FromStr;
use serde::de::Visitor;
use serde::{Deserializer, Serialize, Serializer};

/// A type each value of which goes by a word.
///
/// Enumerations that derive strum's `EnumString`, `VariantNames`, `IntoStaticStr` and `EnumMessage`
/// have it, so that the words are declared once, where the enumeration is; the doc comments of the
/// variants are their meanings. So do those declared by [`choice!`](macro@crate::choice).
pub trait Words: Clone {
    /// Every word with its meaning, in the order of the reference.
    fn words() -> Vec<Word>;
    /// The value that goes by `word`.
    fn from_word(word: &str) -> Option<Self>;
    /// The word that the value goes by.
    fn word(&self) -> &'static str;
}

impl<T> Words for T
where
    T: Clone + FromStr + strum::VariantNames + strum::EnumMessage + Into<&'static str>,
{
    fn words() -> Vec<Word> {
        let meaning = |word: &str| T::from_str(word).ok()?.get_documentation();
        let word = |word: &&'static str| Word {
            word,
            meaning: meaning(word).unwrap_or_default(),
        };
        T::VARIANTS.iter().map(word).collect()
    }
    fn from_word(word: &str) -> Option<Self> {
        word.parse().ok()
    }
    fn word(&self) -> &'static str {
        self.clone().into()
    }
}

/// A word of a type that another crate declares, as the value of a key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Choice<T>(pub T);

impl<T: Words> fmt::Display for Choice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.word())
    }
}

impl<T: Words> FromStr for Choice<T> {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        parse(text).map(Self)
    }
}

impl<T: Words> Serialize for Choice<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.word())
    }
}

impl<T: Words> Setting for Choice<T> {
    fn kind() -> Kind {
        Kind::Choice(T::words)
    }
    fn from_text(text: &str) -> Option<Self> {
        T::from_word(text).map(Self)
    }
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer).map(Self)
    }
}

/// The words of `Base`, declared elsewhere, and some more that only one user of them knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extended<Base, More> {
    /// One of the words declared elsewhere.
    Base(Base),
    /// One of the others.
    More(More),
}

impl<Base: Words, More: Words> Words for Extended<Base, More> {
    fn words() -> Vec<Word> {
        let mut words = Base::words();
        words.extend(More::words());
        words
    }
    fn from_word(word: &str) -> Option<Self> {
        let base = Base::from_word(word).map(Self::Base);
        base.or_else(|| More::from_word(word).map(Self::More))
    }
    fn word(&self) -> &'static str {
        match self {
            Self::Base(base) => base.word(),
            Self::More(more) => more.word(),
        }
    }
}

/// Parses a word.
///
/// # Errors
/// There is no such word; the message proposes the nearest, or lists them all.
#[doc(hidden)]
pub fn parse<T: Words>(text: &str) -> Result<T, String> {
    T::from_word(text).ok_or_else(|| {
        let words = T::words();
        let words = words.iter().map(|word| word.word);
        format!(
            "`{text}` is not one of the choices: {}",
            remedy(text, words)
        )
    })
}

/// Reads a word from a file.
#[doc(hidden)]
pub fn read<'de, T: Words, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_any(WordVisitor(PhantomData))
}

struct WordVisitor<T>(PhantomData<T>);

impl<T: Words> Visitor<'_> for WordVisitor<T> {
    type Value = T;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Kind::Choice(T::words))
    }
    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        parse(text).map_err(E::custom)
    }
}

/// Declares an enumeration that is a [`Setting`]: per variant what it means (its doc comment) and
/// its word.
///
/// ```
/// airpace_config::choice! {
///     /// In which order stations are served.
///     Order:
///     /// One after the other.
///     InTurn = "in-turn",
///     /// By the age of their first packet.
///     OldestFirst = "oldest-first",
/// }
/// assert_eq!("in-turn".parse(), Ok(Order::InTurn));
/// ```
#[macro_export]
macro_rules! choice {
    (
        $(#[doc = $doc:literal])* $name:ident:
        $($(#[doc = $text:literal])+ $variant:ident = $word:literal,)*
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum $name {
            $($(#[doc = $text])+ $variant,)*
        }

        impl $name {
            /// The word in a file.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }

        impl $crate::choice::Words for $name {
            fn words() -> Vec<$crate::declaration::Word> {
                vec![$($crate::declaration::Word {
                    word: $word,
                    meaning: concat!($($text),+).trim_ascii(),
                },)*]
            }
            fn from_word(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)*
                    _ => None,
                }
            }
            fn word(&self) -> &'static str {
                (*self).word()
            }
        }

        impl core::str::FromStr for $name {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                $crate::choice::parse(text)
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str((*self).word())
            }
        }

        impl $crate::serde::Serialize for $name {
            fn serialize<S>(&self, serializer: S) -> Result<S::Ok, S::Error>
            where
                S: $crate::serde::Serializer,
            {
                serializer.serialize_str((*self).word())
            }
        }

        impl $crate::setting::Setting for $name {
            fn kind() -> $crate::declaration::Kind {
                $crate::declaration::Kind::Choice(<Self as $crate::choice::Words>::words)
            }
            fn from_text(text: &str) -> Option<Self> {
                text.parse().ok()
            }
            fn read<'de, D>(deserializer: D) -> Result<Self, D::Error>
            where
                D: $crate::serde::Deserializer<'de>,
            {
                $crate::choice::read(deserializer)
            }
        }
    };
}
pub use crate::choice;
