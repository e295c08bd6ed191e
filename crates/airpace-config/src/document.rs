//! Reading a file: the text becomes a table with the settings of the command line in place, and the
//! place of every key is kept, so that any later refusal can point at the line, or the setting,
//! that it is about.

mod overrides;

pub use overrides::Override;

use crate::section::Section;
use core::ops::Range;
use std::collections::BTreeMap;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Reads a file: its `text`, with `settings` in place of what the text says.
///
/// The [`Source`] that is returned turns the caller's own checks into errors that point at the
/// right place.
///
/// # Errors
/// Malformed TOML, unknown and missing keys, values of the wrong type or out of range, settings of
/// keys that do not exist; each with its place and a remedy.
pub fn read<T: Section>(text: &str, settings: &[Override]) -> Result<(T, Source), DocumentError> {
    let (table, source) = parse(text, settings)?;
    let deserializer = toml::de::Deserializer::from(table);
    match T::read(deserializer) {
        Ok(section) => Ok((section, source)),
        Err(error) => Err(source.refuse_at(error.span(), error.message().to_owned())),
    }
}

/// The keys at the top level of a file, in no particular order.
///
/// # Errors
/// Malformed TOML.
pub fn top_level_keys(text: &str) -> Result<Vec<String>, DocumentError> {
    let (table, _) = parse(text, &[])?;
    let keys = table.get_ref().keys();
    Ok(keys.map(|key| key.get_ref().to_string()).collect())
}

/// Why a file was refused, and where.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct DocumentError {
    /// What is wrong and what to do about it.
    pub message: String,
    /// The place that the message is about.
    pub place: Place,
}

/// The place in a file that an error is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// A line of the file.
    Line {
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// The line, with a caret below the part that is meant.
        excerpt: String,
    },
    /// A setting from the command line.
    Setting(Override),
    /// The file as a whole.
    Whole,
}

impl DocumentError {
    /// The error in one line; `file` is the name of the file. Control characters, which a value that
    /// the message repeats may contain, are escaped.
    #[must_use]
    pub fn one_line(&self, file: &str) -> String {
        let text = match &self.place {
            Place::Line { line, column, .. } => format!("{file}:{line}:{column}: {}", self.message),
            Place::Setting(setting) => format!("--set {setting}: {}", self.message),
            Place::Whole => format!("{file}: {}", self.message),
        };
        let mut line = String::with_capacity(text.len());
        for character in text.chars() {
            if character.is_control() {
                line.extend(character.escape_default());
            } else {
                line.push(character);
            }
        }
        line
    }

    /// The line of the file with a caret, if the error is about one.
    #[must_use]
    pub fn excerpt(&self) -> Option<&str> {
        match &self.place {
            Place::Line { excerpt, .. } => Some(excerpt),
            Place::Setting(_) | Place::Whole => None,
        }
    }
}

/// An error about the value of a key, found by a check that does not know where the key stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyError {
    /// Dotted path of the key, lists by index: `node.2.rate`. Empty for the file as a whole.
    pub key: String,
    /// What is wrong and what to do about it.
    pub message: String,
}

impl KeyError {
    /// An error about the value of `key`.
    pub fn new(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            message: message.into(),
        }
    }
}

/// Refuses the value of `key`: `return refuse("node.2.rate", "…")`.
///
/// # Errors
/// Always.
pub fn refuse<T>(key: impl Into<String>, message: impl Into<String>) -> Result<T, KeyError> {
    Err(KeyError::new(key, message))
}

/// The text and the settings that a file was read from, and where each key stands.
///
/// Places are ranges of bytes of the text. A setting has an empty range behind the end of the text,
/// one byte further for each setting, because the parser carries ranges of bytes along and nothing
/// else.
#[derive(Clone, Debug)]
pub struct Source {
    text: String,
    settings: Vec<Override>,
    places: BTreeMap<String, Range<usize>>,
}

impl Source {
    /// An error at the value of the dotted path `key`, or at the table around it if the key was
    /// left out.
    #[must_use]
    pub fn refuse(&self, key: &str, message: impl Into<String>) -> DocumentError {
        let mut key = key;
        let span = loop {
            if let Some(span) = self.places.get(key) {
                break Some(span.clone());
            }
            match key.rsplit_once('.') {
                Some((parent, _)) => key = parent,
                None => break None,
            }
        };
        self.refuse_at(span, message.into())
    }

    /// The error of a check, with its place in the file.
    #[must_use]
    pub fn locate(&self, error: KeyError) -> DocumentError {
        self.refuse(&error.key, error.message)
    }

    /// An error at a range of bytes.
    fn refuse_at(&self, span: Option<Range<usize>>, message: String) -> DocumentError {
        let place = match span {
            None => Place::Whole,
            Some(span) => match self.setting_at(&span) {
                Some(setting) => Place::Setting(setting.clone()),
                None => self.line(&span),
            },
        };
        DocumentError { message, place }
    }

    /// The place that stands for the setting of this index.
    fn place_of_setting(&self, index: usize) -> usize {
        self.text.len() + 1 + index
    }

    fn setting_at(&self, span: &Range<usize>) -> Option<&Override> {
        let index = span.start.checked_sub(self.text.len() + 1)?;
        self.settings.get(index)
    }

    fn line(&self, span: &Range<usize>) -> Place {
        let start = span.start.min(self.text.len());
        let Some(before) = self.text.get(..start) else {
            return Place::Whole;
        };
        let begin = before.rfind('\n').map_or(0, |at| at + 1);
        let whole = self.text[begin..].lines().next().unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before[begin..].chars().count() + 1;
        // A value of several lines is marked to the end of its first.
        let end_of_line = (begin + whole.len()).max(start);
        let marked = self.text.get(start..span.end.clamp(start, end_of_line));
        let carets = "^".repeat(marked.unwrap_or_default().chars().count().max(1));
        // A tab above a tab, so that the caret stands below what it marks.
        let blanks: String = before[begin..]
            .chars()
            .map(|c| if c == '\t' { '\t' } else { ' ' })
            .collect();
        let margin = " ".repeat(line.to_string().len());
        let excerpt = format!("{line} | {whole}\n{margin} | {blanks}{carets}");
        Place::Line {
            line,
            column,
            excerpt,
        }
    }
}

/// Parses the text, puts the settings in, and notes where every key stands.
fn parse<'t>(
    text: &'t str,
    settings: &'t [Override],
) -> Result<(Spanned<DeTable<'t>>, Source), DocumentError> {
    let mut source = Source {
        text: text.to_owned(),
        settings: settings.to_vec(),
        places: BTreeMap::new(),
    };
    let mut table = DeTable::parse(text)
        .map_err(|error| source.refuse_at(error.span(), error.message().to_owned()))?;
    for (index, setting) in settings.iter().enumerate() {
        let place = source.place_of_setting(index);
        overrides::apply(setting, table.get_mut(), place)
            .map_err(|message| source.refuse_at(Some(place..place), message))?;
    }
    let (span, root) = (table.span(), table.into_inner());
    note_table(&root, "", &mut source.places);
    Ok((Spanned::new(span, root), source))
}

fn note_table(table: &DeTable<'_>, path: &str, places: &mut BTreeMap<String, Range<usize>>) {
    for (key, value) in table {
        let path = if path.is_empty() {
            key.get_ref().to_string()
        } else {
            format!("{path}.{}", key.get_ref())
        };
        note(value, path, places);
    }
}

fn note(value: &Spanned<DeValue<'_>>, path: String, places: &mut BTreeMap<String, Range<usize>>) {
    match value.get_ref() {
        DeValue::Table(table) => note_table(table, &path, places),
        DeValue::Array(array) => {
            for (index, item) in array.iter().enumerate() {
                note(item, format!("{path}.{index}"), places);
            }
        }
        _ => {}
    }
    places.insert(path, value.span());
}
