//! How a setting that is one of a few words is declared, once.

/// Declares an enumeration: per variant its word and what it means. The first is the default.
#[macro_export]
macro_rules! choice {
    ($(#[doc = $doc:literal])* $name:ident: $($(#[doc = $text:literal])+ $variant:ident = $word:literal,)*) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum $name {
            $($(#[doc = $text])+ $variant,)*
        }

        impl $name {
            /// Every word and what it means.
            pub const WORDS: &'static [(&'static str, &'static str)] = &[$(($word, concat!($($text),+).trim_ascii()),)*];

            /// The word in a scenario file.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }

        impl core::str::FromStr for $name {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                match text {
                    $($word => Ok(Self::$variant),)*
                    _ => {
                        let words = Self::WORDS.iter().map(|(word, _)| *word);
                        Err(format!("`{text}` is none of them: {}", $crate::suggest::remedy(text, words)))
                    }
                }
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(self.word())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.word())
            }
        }

        impl $crate::section::Setting for $name {
            fn kind() -> $crate::section::Kind {
                $crate::section::Kind::Choice(Self::WORDS)
            }
            fn from_text(text: &str) -> Option<Self> {
                text.parse().ok()
            }
            fn read<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let word = deserializer.deserialize_any($crate::section::Word(Self::WORDS))?;
                word.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
pub use crate::choice;
