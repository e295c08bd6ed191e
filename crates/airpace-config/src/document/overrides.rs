//! Settings of the command line, which replace values of the file before it is typed.

use crate::suggest::remedy;
use core::fmt;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// A setting that replaces one of the file: `--set key=value`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Override {
    /// Dotted path of the key. Entries of lists go by index, by `name` (or else `kind`), or `*` for
    /// all of them: `flow.0.rate`, `node.station.count`.
    pub key: String,
    /// The value, as TOML or as bare text.
    pub value: String,
}

impl core::str::FromStr for Override {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let Some((key, value)) = text.split_once('=') else {
            return Err(format!("`{text}` is not of the form key=value"));
        };
        let (key, value) = (key.trim(), value.trim());
        if key.is_empty() || key.split('.').any(str::is_empty) {
            return Err(format!(
                "`{key}` is not a key: write for example channel.width or flow.0.rate"
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

/// Puts a setting into the table of the file. Errors in its value will be found at `place`.
///
/// # Errors
/// The path of the key leads through something that is not there; the message says what.
pub(super) fn apply<'t>(
    setting: &'t Override,
    table: &mut DeTable<'t>,
    place: usize,
) -> Result<(), String> {
    let path: Vec<&str> = setting.key.split('.').collect();
    let assignment = Assignment {
        path: &path,
        value: parse_value(&setting.value, place),
        place,
    };
    assignment.into_table(table)
}

/// The value of a setting: as TOML if it parses as that, else the text itself.
fn parse_value(text: &str, place: usize) -> DeValue<'_> {
    let mut value = match DeValue::parse(text) {
        Ok(value) => value.into_inner(),
        Err(_) => DeValue::String(text.into()),
    };
    relocate(&mut value, place);
    value
}

/// Gives everything within `value` the place of the setting.
fn relocate(value: &mut DeValue<'_>, place: usize) {
    match value {
        DeValue::Array(array) => {
            for item in array.iter_mut() {
                let mut inner = core::mem::replace(item.get_mut(), DeValue::Boolean(false));
                relocate(&mut inner, place);
                *item = Spanned::new(place..place, inner);
            }
        }
        DeValue::Table(table) => {
            for (key, item) in core::mem::take(table) {
                let mut inner = item.into_inner();
                relocate(&mut inner, place);
                let key = Spanned::new(place..place, key.into_inner());
                table.insert(key, Spanned::new(place..place, inner));
            }
        }
        _ => {}
    }
}

/// A value, and the rest of the path to where it belongs.
struct Assignment<'p, 't> {
    path: &'p [&'t str],
    value: DeValue<'t>,
    place: usize,
}

impl<'t> Assignment<'_, 't> {
    fn into_table(self, table: &mut DeTable<'t>) -> Result<(), String> {
        let Some((first, rest)) = self.path.split_first() else {
            return Ok(());
        };
        let span = self.place..self.place;
        if rest.is_empty() {
            let key = Spanned::new(span.clone(), (*first).into());
            table.insert(key, Spanned::new(span, self.value));
            return Ok(());
        }
        let next = Assignment { path: rest, ..self };
        if let Some(value) = table.get_mut(*first) {
            return next.into_value(first, value);
        }
        // What is not there yet becomes a table. A list of tables cannot be started like this: its
        // entries need more than one key.
        let mut inner = DeTable::new();
        next.into_table(&mut inner)?;
        let key = Spanned::new(span.clone(), (*first).into());
        table.insert(key, Spanned::new(span, DeValue::Table(inner)));
        Ok(())
    }

    fn into_value(self, key: &str, value: &mut Spanned<DeValue<'t>>) -> Result<(), String> {
        // A short form such as `rate = "mcs 9"` gives way to the table that it stands for.
        if matches!(value.get_ref(), DeValue::String(_) | DeValue::Boolean(_)) {
            *value = Spanned::new(self.place..self.place, DeValue::Table(DeTable::new()));
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

    fn into_list(self, key: &str, array: &mut DeArray<'t>) -> Result<(), String> {
        let (which, rest) = (self.path[0], &self.path[1..]);
        for index in select_entries(key, array, which)? {
            let Some(item) = array.get_mut(index) else {
                continue;
            };
            if rest.is_empty() {
                *item = Spanned::new(self.place..self.place, self.value.clone());
            } else {
                let next = Assignment {
                    path: rest,
                    value: self.value.clone(),
                    place: self.place,
                };
                next.into_value(which, item)?;
            }
        }
        Ok(())
    }
}

/// The indices of the entries of a list that `which` selects: an index, a name, or `*`.
fn select_entries(key: &str, array: &DeArray<'_>, which: &str) -> Result<Vec<usize>, String> {
    let len = array.len();
    if which == "*" {
        return Ok((0..len).collect());
    }
    if let Ok(index) = which.parse::<usize>() {
        return if index < len {
            Ok(vec![index])
        } else {
            Err(format!(
                "`{key}` has {len} entries, counted from 0: {index} is not one of them"
            ))
        };
    }
    let mut names = Vec::new();
    let mut found = Vec::new();
    for (index, item) in array.iter().enumerate() {
        let name = entry_name(item.get_ref()).unwrap_or_default();
        if name == which {
            found.push(index);
        }
        names.push(name);
    }
    match found.as_slice() {
        [] => Err(format!(
            "`{key}` has no entry `{which}`: {}",
            remedy(which, names)
        )),
        [_] => Ok(found),
        _ => Err(format!(
            "`{key}` has several entries `{which}`: name them by their index, from 0"
        )),
    }
}

/// What an entry of a list goes by: its name, or else its kind.
fn entry_name<'v>(value: &'v DeValue<'_>) -> Option<&'v str> {
    let table = value.as_table()?;
    let text = |key: &str| table.get(key).and_then(|value| value.get_ref().as_str());
    text("name").or_else(|| text("kind"))
}
