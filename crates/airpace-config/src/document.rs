//! The TOML document before it is typed: settings from the command line are put in, and every key's place is kept, so that any later
//! refusal can point at the line (or the flag) that it is about.

use super::suggest::remedy;
use core::fmt;
use core::ops::Range;
use std::collections::BTreeMap;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A setting that replaces one of the file: `--set key=value`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Override {
    /// Dotted path; lists by index, by the `name` of their entries, or `*` for all of them: `flow.0.rate`, `node.station.count`.
    pub key: String,
    /// The value, as TOML or as bare text.
    pub value: String,
}

impl core::str::FromStr for Override {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (key, value) = text
            .split_once('=')
            .ok_or_else(|| format!("`{text}` is no key=value"))?;
        let (key, value) = (key.trim(), value.trim());
        if key.is_empty() || key.split('.').any(str::is_empty) {
            return Err(format!(
                "`{key}` is no key: write for example channel.width or flow.0.rate"
            ));
        }
        Ok(Self {
            key: key.to_owned(),
            value: value.to_owned(),
        })
    }
}

impl fmt::Display for Override {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.key, self.value)
    }
}

/// Where in the input a complaint belongs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// A line of the file.
    Line {
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// The line, and below it a caret under what is meant.
        excerpt: String,
    },
    /// A setting from the command line.
    Setting(Override),
    /// The whole.
    Whole,
}

/// Why a scenario was refused, and where.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct ScenarioError {
    /// What is wrong and what to do.
    pub message: String,
    /// Where.
    pub place: Place,
}

impl ScenarioError {
    /// The complaint in one line, `file` being the name of the file.
    #[must_use]
    pub fn one_line(&self, file: &str) -> String {
        match &self.place {
            Place::Line { line, column, .. } => format!("{file}:{line}:{column}: {}", self.message),
            Place::Setting(setting) => format!("--set {setting}: {}", self.message),
            Place::Whole => format!("{file}: {}", self.message),
        }
    }

    /// The line of the file with a caret, if it is about one.
    #[must_use]
    pub fn excerpt(&self) -> Option<&str> {
        match &self.place {
            Place::Line { excerpt, .. } => Some(excerpt),
            Place::Setting(_) | Place::Whole => None,
        }
    }
}

/// Where everything stands: the file's text, followed in the numbering of places by the settings of the command line.
#[derive(Clone, Debug)]
pub struct Source {
    text: String,
    settings: Vec<Override>,
    places: BTreeMap<String, Range<usize>>,
}

impl Source {
    /// A refusal of what stands at the dotted path `key`; of the table around it if there is nothing.
    #[must_use]
    pub fn refuse(&self, key: &str, message: impl Into<String>) -> ScenarioError {
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

    /// A refusal of a stretch of the text.
    pub fn refuse_at(&self, span: Option<Range<usize>>, message: String) -> ScenarioError {
        let place = match span {
            None => Place::Whole,
            Some(span) => match span
                .start
                .checked_sub(self.text.len() + 1)
                .and_then(|n| self.settings.get(n))
            {
                Some(setting) => Place::Setting(setting.clone()),
                None => self.line(&span),
            },
        };
        ScenarioError { message, place }
    }

    fn line(&self, span: &Range<usize>) -> Place {
        let start = span.start.min(self.text.len());
        let Some(before) = self.text.get(..start) else {
            return Place::Whole;
        };
        let begin = before.rfind('\n').map_or(0, |at| at + 1);
        let whole = self.text[begin..].lines().next().unwrap_or_default();
        let (line, column) = (
            before.matches('\n').count() + 1,
            before[begin..].chars().count() + 1,
        );
        let marked = self
            .text
            .get(
                start
                    ..span
                        .end
                        .clamp(start, begin + whole.len().max(start - begin)),
            )
            .unwrap_or_default();
        let carets = "^".repeat(marked.chars().count().max(1));
        // A tab keeps its width under itself.
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

/// Parses the text, puts the settings in and notes where everything stands.
pub fn open<'t>(
    text: &'t str,
    settings: &'t [Override],
) -> Result<(Spanned<DeTable<'t>>, Source), ScenarioError> {
    let mut source = Source {
        text: text.to_owned(),
        settings: settings.to_vec(),
        places: BTreeMap::new(),
    };
    let mut table = DeTable::parse(text)
        .map_err(|error| source.refuse_at(error.span(), error.message().to_owned()))?;
    for (index, setting) in settings.iter().enumerate() {
        // One past the end of the text and on: one place per setting.
        let at = text.len() + 1 + index;
        let path: Vec<&str> = setting.key.split('.').collect();
        let put = Put {
            path: &path,
            value: value(&setting.value, at),
            at,
        };
        put.into_table(table.get_mut())
            .map_err(|message| source.refuse_at(Some(at..at), message))?;
    }
    let (span, root) = (table.span(), table.into_inner());
    note_table(&root, "", &mut source.places);
    Ok((Spanned::new(span, root), source))
}

/// The value that the text of a setting writes: as TOML if it is that, else as it stands.
fn value(text: &str, at: usize) -> DeValue<'_> {
    let mut value = match DeValue::parse(text) {
        Ok(value) => value.into_inner(),
        Err(_) => DeValue::String(text.into()),
    };
    move_to(&mut value, at);
    value
}

/// Makes every place within `value` that of the setting.
fn move_to(value: &mut DeValue<'_>, at: usize) {
    match value {
        DeValue::Array(array) => {
            for item in array.iter_mut() {
                move_to(item.get_mut(), at);
                *item = Spanned::new(
                    at..at,
                    core::mem::replace(item.get_mut(), DeValue::Boolean(false)),
                );
            }
        }
        DeValue::Table(table) => {
            let items = core::mem::take(table);
            for (key, mut item) in items {
                move_to(item.get_mut(), at);
                table.insert(
                    Spanned::new(at..at, key.into_inner()),
                    Spanned::new(at..at, item.into_inner()),
                );
            }
        }
        _ => {}
    }
}

/// A value on its way to the place that its path names.
struct Put<'p, 't> {
    path: &'p [&'t str],
    value: DeValue<'t>,
    at: usize,
}

impl<'t> Put<'_, 't> {
    fn into_table(self, table: &mut DeTable<'t>) -> Result<(), String> {
        let Some((first, rest)) = self.path.split_first() else {
            return Ok(());
        };
        let place = self.at..self.at;
        if rest.is_empty() {
            let key = Spanned::new(place.clone(), (*first).into());
            table.insert(key, Spanned::new(place, self.value));
            return Ok(());
        }
        let present = table.get_mut(*first);
        let next = Put { path: rest, ..self };
        if let Some(value) = present {
            return next.into_value(first, value);
        }
        // A list of tables cannot come into being: its entries need more than one key.
        let mut inner = DeTable::new();
        next.into_table(&mut inner)?;
        table.insert(
            Spanned::new(place.clone(), (*first).into()),
            Spanned::new(place, DeValue::Table(inner)),
        );
        Ok(())
    }

    fn into_value(self, key: &str, value: &mut Spanned<DeValue<'t>>) -> Result<(), String> {
        let short = matches!(value.get_ref(), DeValue::String(_) | DeValue::Boolean(_));
        if short {
            // A short form gives way to the table that it stands for.
            *value = Spanned::new(self.at..self.at, DeValue::Table(DeTable::new()));
        }
        match value.get_mut() {
            DeValue::Table(table) => self.into_table(table),
            DeValue::Array(array) => self.into_list(key, array),
            _ => Err(format!(
                "`{key}` is a single value: it has no key `{}`",
                self.path[0]
            )),
        }
    }

    fn into_list(self, key: &str, array: &mut toml::de::DeArray<'t>) -> Result<(), String> {
        let which = self.path[0];
        let chosen = chosen(key, array, which)?;
        for index in chosen {
            let Some(item) = array.get_mut(index) else {
                continue;
            };
            let place = self.at..self.at;
            if self.path.len() == 1 {
                *item = Spanned::new(place, self.value.clone());
            } else {
                let next = Put {
                    path: &self.path[1..],
                    value: self.value.clone(),
                    at: self.at,
                };
                next.into_value(which, item)?;
            }
        }
        Ok(())
    }
}

/// The entries of a list that `which` names: an index, a name, or `*`.
fn chosen(key: &str, array: &toml::de::DeArray<'_>, which: &str) -> Result<Vec<usize>, String> {
    let len = array.len();
    if which == "*" {
        return Ok((0..len).collect());
    }
    if let Ok(index) = which.parse::<usize>() {
        let found = (index < len).then_some(vec![index]);
        return found.ok_or_else(|| {
            format!("`{key}` has {len} entries, counted from 0: there is no {index}")
        });
    }
    let names: Vec<&str> = array
        .iter()
        .map(|item| name_of(item.get_ref()).unwrap_or_default())
        .collect();
    let found: Vec<usize> = names
        .iter()
        .enumerate()
        .filter(|(_, name)| **name == which)
        .map(|(i, _)| i)
        .collect();
    match found.as_slice() {
        [] => Err(format!(
            "`{key}` has no entry `{which}`: {}",
            remedy(which, names)
        )),
        [one] => Ok(vec![*one]),
        _ => Err(format!(
            "`{key}` has several entries `{which}`: name them by their index, from 0"
        )),
    }
}

/// What an entry of a list goes by: its name, or else its kind.
fn name_of<'v>(value: &'v DeValue<'_>) -> Option<&'v str> {
    let table = value.as_table()?;
    let text = |key: &str| table.get(key).and_then(|value| value.get_ref().as_str());
    text("name").or_else(|| text("kind"))
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
