//! The reference of a configuration file, made from the declarations: Markdown for people, JSON for
//! programs, JSON Schema for editors, and an example with every key.

mod example;
mod standard;

pub use example::{Given, example};
pub use standard::json_schema;

use crate::declaration::{Absent, Bounds, Field, Kind, Word};
use crate::section::Section;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// The reference as Markdown: one table of keys per table of the file.
#[must_use]
pub fn markdown<S: Section>(title: &str) -> String {
    let mut text = format!(
        "# {title}\n\nTOML. Quantities carry their unit, as in \"20 ms\", \"390 Mbit/s\", \"1470 B\", \"16 dBm\", \"40 m\". \
         Where a list is allowed, a single value stands for a list of one. Keys marked * must be given.\n",
    );
    for Table { name, fields } in tables::<S>() {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "\n## {name}\n\n| key | value | default | meaning |\n|---|---|---|---|\n"
        );
        for field in fields {
            text.push_str(&row(field));
        }
    }
    text
}

fn row(field: &Field) -> String {
    let mark = if matches!(field.absent, Absent::Required(_)) {
        "*"
    } else {
        ""
    };
    let default = match field.absent {
        Absent::Default("") => "empty",
        Absent::Default(text) | Absent::Derived(text) => text,
        Absent::Nothing | Absent::Required(_) | Absent::Nested => "",
    };
    let range = match field.bounds {
        Some(Bounds { low, high }) => format!("; {low} to {high}"),
        None => String::new(),
    };
    let kind = describe((field.kind)());
    let meaning = one_line(field.doc);
    format!(
        "| `{}`{mark} | {kind}{range} | {default} | {meaning} |\n",
        field.key
    )
}

fn describe(kind: Kind) -> String {
    match kind {
        Kind::Value { what, example } => format!("{what}, {example}"),
        Kind::Choice(words) => describe_words(&words()),
        Kind::Table { name, .. } => format!("table, see {name}"),
        Kind::List(of) => format!("{}, or a list", describe(of())),
    }
}

/// Words with their meanings.
fn describe_words(words: &[Word]) -> String {
    let describe = |word: &Word| {
        format!(
            "\"{}\" ({})",
            word.word,
            one_line(word.meaning).trim_end_matches('.')
        )
    };
    words.iter().map(describe).collect::<Vec<_>>().join(", ")
}

/// A doc comment as one line of text.
fn one_line(doc: &str) -> String {
    doc.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A table of the reference.
struct Table {
    name: &'static str,
    fields: &'static [Field],
}

/// All tables, in the order in which they are first mentioned.
fn tables<S: Section>() -> Vec<Table> {
    let mut found = vec![Table {
        name: "Top level",
        fields: S::fields(),
    }];
    let mut next = 0;
    while let Some(table) = found.get(next) {
        for field in table.fields {
            let Kind::Table { name, fields, .. } = (field.kind)().element() else {
                continue;
            };
            if !found.iter().any(|known| known.name == name) {
                found.push(Table {
                    name,
                    fields: fields(),
                });
            }
        }
        next += 1;
    }
    found
}

/// The reference as JSON: per table its keys with type, default, bounds and meaning. `format` is
/// the version of the format of the files.
#[must_use]
pub fn json<S: Section>(format: u32) -> Value {
    let mut described = Map::new();
    for Table { name, fields } in tables::<S>() {
        let keys = fields
            .iter()
            .map(|field| (field.key.to_owned(), key(field)));
        described.insert(name.to_owned(), Value::Object(keys.collect()));
    }
    json!({ "format": format, "tables": described })
}

fn key(field: &Field) -> Value {
    let mut key = kind((field.kind)());
    let mut insert = |name: &str, value: Value| key.insert(name.to_owned(), value);
    insert("meaning", json!(one_line(field.doc)));
    insert(
        "required",
        json!(matches!(field.absent, Absent::Required(_))),
    );
    match field.absent {
        Absent::Default(text) => insert("default", json!(text)),
        Absent::Derived(text) => insert("derived_default", json!(text)),
        Absent::Nothing | Absent::Required(_) | Absent::Nested => None,
    };
    if let Some(Bounds { low, high }) = field.bounds {
        insert("minimum", json!(low));
        insert("maximum", json!(high));
    }
    Value::Object(key)
}

fn kind(kind: Kind) -> Map<String, Value> {
    let value = match kind {
        Kind::Value { what, example } => json!({ "type": what, "example": example }),
        Kind::Choice(words) => {
            let words = words();
            let words = words
                .iter()
                .map(|word| (word.word.to_owned(), json!(one_line(word.meaning))));
            json!({ "type": "choice", "words": Map::from_iter(words) })
        }
        Kind::Table { name, .. } => json!({ "type": "table", "table": name }),
        Kind::List(of) => {
            let mut inner = self::kind(of());
            inner.insert("list".to_owned(), json!(true));
            return inner;
        }
    };
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
