//! The reference of scenario files, from the declarations themselves: for people as Markdown, for programs as JSON.

use crate::section::{Absent, Field, Kind, Section};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// The reference as Markdown.
#[must_use]
pub fn markdown<S: Section>(title: &str) -> String {
    let mut text = format!(
        "# {title}\n\nTOML. Quantities carry their unit, as in \"20 ms\", \"390 Mbit/s\", \"1470 B\", \"16 dBm\", \"40 m\". Where a list is \
         allowed, a single value stands for a list of one. Keys marked * must be there.\n",
    );
    for (name, fields) in tables::<S>() {
        let _ = write!(
            text,
            "\n## {name}\n\n| key | value | default | meaning |\n|---|---|---|---|\n"
        );
        for field in fields {
            let _ = writeln!(text, "{}", row(field));
        }
    }
    text
}

fn row(field: &Field) -> String {
    let mark = if matches!(field.absent, Absent::Refused(_)) {
        "*"
    } else {
        ""
    };
    let default = match field.absent {
        Absent::Default("") => "empty".to_owned(),
        Absent::Default(text) => text.to_owned(),
        Absent::Nothing | Absent::Refused(_) | Absent::Nested => String::new(),
    };
    let range = field
        .bounds
        .map_or(String::new(), |(low, high)| format!("; {low} to {high}"));
    format!(
        "| `{}`{mark} | {}{range} | {default} | {} |",
        field.key,
        describe((field.kind)()),
        field.doc.trim()
    )
}

fn describe(kind: Kind) -> String {
    match kind {
        Kind::Value(what, example) => format!("{what}, {example}"),
        Kind::Choice(words) => {
            let words = words
                .iter()
                .map(|(word, meaning)| format!("\"{word}\" ({})", meaning.trim_end_matches('.')));
            words.collect::<Vec<_>>().join(", ")
        }
        Kind::Table(name, _) => format!("table, see {name}"),
        Kind::List(of) => format!("{}, or a list", describe(of())),
    }
}

/// Every table, in the order in which they are first mentioned.
fn tables<S: Section>() -> Vec<(&'static str, &'static [Field])> {
    let mut found: Vec<(&'static str, &'static [Field])> = vec![("Top level", S::fields())];
    let mut next = 0;
    while let Some(&(_, fields)) = found.get(next) {
        for field in fields {
            let Kind::Table(name, fields) = innermost((field.kind)()) else {
                continue;
            };
            if !found.iter().any(|(known, _)| *known == name) {
                found.push((name, fields()));
            }
        }
        next += 1;
    }
    found
}

fn innermost(kind: Kind) -> Kind {
    match kind {
        Kind::List(of) => innermost(of()),
        other => other,
    }
}

/// The reference as JSON: per table its keys with type, default, bounds and meaning.
#[must_use]
pub fn json<S: Section>(format: u32) -> Value {
    let tables: Map<String, Value> = tables::<S>()
        .into_iter()
        .map(|(name, fields)| {
            let keys: Map<String, Value> = fields
                .iter()
                .map(|field| (field.key.to_owned(), key(field)))
                .collect();
            (name.to_owned(), Value::Object(keys))
        })
        .collect();
    json!({ "format": format, "tables": tables })
}

fn key(field: &Field) -> Value {
    let mut key = kind((field.kind)());
    key.insert("meaning".to_owned(), json!(field.doc.trim()));
    key.insert(
        "required".to_owned(),
        json!(matches!(field.absent, Absent::Refused(_))),
    );
    if let Absent::Default(text) = field.absent {
        key.insert("default".to_owned(), json!(text));
    }
    if let Some((low, high)) = field.bounds {
        key.insert("minimum".to_owned(), json!(low));
        key.insert("maximum".to_owned(), json!(high));
    }
    Value::Object(key)
}

fn kind(kind: Kind) -> Map<String, Value> {
    let value = match kind {
        Kind::Value(what, example) => json!({ "type": what, "example": example }),
        Kind::Choice(words) => {
            let words: Map<String, Value> = words
                .iter()
                .map(|(word, text)| ((*word).to_owned(), json!(text)))
                .collect();
            json!({ "type": "choice", "words": words })
        }
        Kind::Table(name, _) => json!({ "type": "table", "table": name }),
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
