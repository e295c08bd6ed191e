//! The declaration of a key: type, range and default. The reference follows from this.

use core::fmt;

/// One key of a table.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The key.
    pub key: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// What its value may be.
    pub kind: fn() -> Kind,
    /// What holds if the key is left out.
    pub absent: Absent,
    /// The smallest and the largest value.
    pub bounds: Option<Bounds>,
}

/// The smallest and the largest value that a key may have, both included, as they are written in a
/// file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// The smallest value.
    pub low: &'static str,
    /// The largest value.
    pub high: &'static str,
}

/// What holds if a key is left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Absent {
    /// This value, as it is written in a file.
    Default(&'static str),
    /// A value that depends on other keys; the text says how, for the reference.
    Derived(&'static str),
    /// Nothing; the explanation of the key says what that means.
    Nothing,
    /// The key must be given; the text is an example of its value.
    Required(&'static str),
    /// The defaults of the nested table, or an empty list.
    Nested,
}

/// What the value of a key may be.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A single value.
    Value {
        /// What it is, as a noun: `time`.
        what: &'static str,
        /// An example as it is written in TOML, quotes included.
        example: &'static str,
    },
    /// One of a few words.
    Choice(fn() -> Vec<Word>),
    /// A table.
    Table {
        /// What the table is called in messages and in the reference.
        name: &'static str,
        /// Its keys.
        fields: fn() -> &'static [Field],
        /// Whether a single word may stand for the table.
        short: bool,
    },
    /// One value of this kind or a list of them.
    List(fn() -> Kind),
}

/// One of the words between which a key lets the user choose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Word {
    /// The word as it is written in a file.
    pub word: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

impl Kind {
    /// `text` as it is written in TOML: within quotes unless it is a number or a boolean.
    #[must_use]
    pub fn written(&self, text: &str) -> String {
        match self {
            Self::Value { example, .. } if !example.starts_with('"') => text.to_owned(),
            Self::Table { .. } => text.to_owned(),
            Self::Value { .. } | Self::Choice(_) => format!("\"{text}\""),
            Self::List(of) => of().written(text),
        }
    }

    /// The kind of the elements if this is a list, else the kind itself.
    #[must_use]
    pub fn element(self) -> Self {
        match self {
            Self::List(of) => of().element(),
            other => other,
        }
    }
}

/// The kind within a message: "expected …", "give …".
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value { what, example } => {
                let article = if what.starts_with(['a', 'e', 'i', 'o', 'I']) {
                    "an"
                } else {
                    "a"
                };
                write!(f, "{article} {what} such as {example}")
            }
            Self::Choice(words) => {
                let words: Vec<&str> = words().iter().map(|word| word.word).collect();
                write!(f, "one of {}", words.join(", "))
            }
            Self::Table { name, .. } => write!(f, "a table ({name})"),
            Self::List(of) => write!(f, "{}, or a list of such", of()),
        }
    }
}
