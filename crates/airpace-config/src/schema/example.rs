//! A file with every key and its explanation, to be edited.

use super::{describe_words, one_line};
use crate::declaration::{Absent, Bounds, Field, Kind};
use crate::section::Section;

/// Columns of a comment.
const WIDTH: usize = 98;

/// A setting that an example makes, for which there is no default: dotted path of the key, and the
/// value as it is written in TOML. With `#` before the path, the key stays commented out.
pub type Given<'a> = (&'a str, &'a str);

/// A file with every key, its explanation and its default.
///
/// Keys that have a default are commented out as `#key = value`. Keys that must be given have the
/// example of their declaration, or what `given` says. Lists of tables, and tables without which there
/// is a meaning, are commented out unless `given` names a key of theirs.
#[must_use]
pub fn example<S: Section>(heading: &str, given: &[Given<'_>]) -> String {
    let mut text = String::new();
    comment(&mut text, heading);
    table(&mut text, S::fields(), "", given, true);
    text
}

/// Writes the keys of a table, then the tables in it.
fn table(text: &mut String, fields: &[Field], path: &str, given: &[Given<'_>], is_active: bool) {
    let is_table = |field: &&Field| matches!((field.kind)().element(), Kind::Table { .. });
    for field in fields.iter().filter(|field| !is_table(field)) {
        key(text, field, path, given, is_active);
    }
    for field in fields.iter().filter(is_table) {
        let Kind::Table { fields, .. } = (field.kind)().element() else {
            continue;
        };
        let fields = fields();
        let inner = dotted(path, field.key);
        let prefix = format!("{inner}.");
        let is_list = matches!((field.kind)(), Kind::List(_));
        let has_required = fields
            .iter()
            .any(|field| matches!(field.absent, Absent::Required(_)));
        let is_given = given.iter().any(|(key, _)| key.starts_with(&prefix));
        // An empty table of defaults says nothing, and keys below it can be uncommented one by one.
        let is_harmless = field.absent == Absent::Nested && !is_list && !has_required;
        let is_active = is_active && (is_given || is_harmless);
        text.push('\n');
        comment(text, field.doc);
        let (open, close) = if is_list { ("[[", "]]") } else { ("[", "]") };
        let mark = if is_active { "" } else { "#" };
        text.push_str(&format!("{mark}{open}{inner}{close}\n"));
        table(text, fields, &inner, given, is_active);
    }
}

fn key(text: &mut String, field: &Field, path: &str, given: &[Given<'_>], is_active: bool) {
    let declared = (field.kind)();
    let own = dotted(path, field.key);
    let value = given.iter().find(|(key, _)| *key == own);
    let shown = given
        .iter()
        .find(|(key, _)| key.strip_prefix('#') == Some(&own));
    let mut explanation = one_line(field.doc);
    if let Kind::Choice(words) = declared.element() {
        explanation.push_str(&format!(" One of {}.", describe_words(&words())));
    }
    if let Some(Bounds { low, high }) = field.bounds {
        explanation.push_str(&format!(" From {low} to {high}."));
    }
    if let Absent::Derived(default) = field.absent {
        explanation.push_str(&format!(" Default: {default}."));
    }
    text.push('\n');
    comment(text, &explanation);
    let is_required = matches!(field.absent, Absent::Required(_));
    let written = match (value.or(shown), field.absent) {
        (Some((_, value)), _) => (*value).to_owned(),
        (None, Absent::Default(value) | Absent::Required(value)) => declared.written(value),
        (None, _) => match declared {
            Kind::List(_) => "[]".to_owned(),
            // The example of a kind of values may be out of this key's range.
            Kind::Value { example, .. } => field
                .bounds
                .map_or_else(|| example.to_owned(), |bounds| declared.written(bounds.low)),
            Kind::Choice(words) => {
                let first = words().first().map_or("", |word| word.word);
                format!("\"{first}\"")
            }
            Kind::Table { .. } => "{}".to_owned(),
        },
    };
    let mark = if is_active && (value.is_some() || is_required) {
        ""
    } else {
        "#"
    };
    text.push_str(&format!("{mark}{} = {written}\n", field.key));
}

fn dotted(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

/// Writes text as comments of bounded width. A line break in it stays.
fn comment(text: &mut String, words: &str) {
    for paragraph in words.split("\n\n") {
        let mut line = String::from("#");
        for word in paragraph.split_whitespace() {
            if line.len() > 1 && line.chars().count() + 1 + word.chars().count() > WIDTH {
                text.push_str(&line);
                text.push('\n');
                line = String::from("#");
            }
            line.push(' ');
            line.push_str(word);
        }
        text.push_str(&line);
        text.push('\n');
    }
}
