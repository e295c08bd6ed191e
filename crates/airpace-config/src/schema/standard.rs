//! The reference as JSON Schema (draft 2020-12), for editors.

use super::{Table, one_line, tables};
use crate::declaration::{Absent, Bounds, Field, Kind, Word};
use crate::section::Section;
use serde_json::{Map, Value, json};

/// The JSON Schema (draft 2020-12) of a file. What it accepts is a superset of what reading accepts:
/// ranges of quantities with a unit, and contradictions between keys, are beyond it.
#[must_use]
pub fn json_schema<S: Section>(title: &str) -> Value {
    let mut root = Map::new();
    let mut definitions = Map::new();
    for Table { name, fields } in tables::<S>() {
        let table = table(fields);
        if root.is_empty() {
            root = table;
        } else {
            definitions.insert(definition(name), Value::Object(table));
        }
    }
    let mut schema = Map::new();
    schema.insert(
        "$schema".to_owned(),
        json!("https://json-schema.org/draft/2020-12/schema"),
    );
    schema.insert("title".to_owned(), json!(title));
    schema.extend(root);
    schema.insert("$defs".to_owned(), Value::Object(definitions));
    Value::Object(schema)
}

/// The name of a table among the definitions. It stands in references, so it has no characters that
/// those would escape.
fn definition(name: &str) -> String {
    let words: Vec<&str> = name
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
        .collect();
    words.join("-")
}

fn table(fields: &[Field]) -> Map<String, Value> {
    let keys = fields
        .iter()
        .map(|field| (field.key.to_owned(), key(field)));
    let keys: Map<String, Value> = keys.collect();
    let required: Vec<&str> = fields
        .iter()
        .filter(|field| matches!(field.absent, Absent::Required(_)))
        .map(|field| field.key)
        .collect();
    let table = json!({
        "type": "object",
        "properties": keys,
        "required": required,
        "additionalProperties": false,
    });
    match table {
        Value::Object(table) => table,
        _ => Map::new(),
    }
}

fn key(field: &Field) -> Value {
    let declared = (field.kind)();
    let mut schema = kind(declared, field.bounds);
    let mut description = one_line(field.doc);
    if let Some(Bounds { low, high }) = field.bounds {
        description.push_str(&format!(" From {low} to {high}."));
    }
    if let Kind::Choice(words) = declared.element() {
        let meaning = |word: &Word| {
            let meaning = one_line(word.meaning);
            format!(" `{}`: {meaning}", word.word)
        };
        description.extend(words().iter().map(meaning));
    }
    schema.insert("description".to_owned(), json!(description));
    if let Absent::Default(text) = field.absent {
        // As it is written in TOML, so that a number is a number.
        let default = serde_json::from_str(&declared.written(text));
        schema.insert(
            "default".to_owned(),
            default.unwrap_or_else(|_| json!(text)),
        );
    }
    Value::Object(schema)
}

fn kind(declared: Kind, bounds: Option<Bounds>) -> Map<String, Value> {
    let schema = match declared {
        Kind::Value { what, example } => return value(what, example, bounds),
        Kind::Choice(words) => {
            let words: Vec<&str> = words().iter().map(|word| word.word).collect();
            json!({ "type": "string", "enum": words })
        }
        Kind::Table { name, short, .. } => {
            let table = json!({ "$ref": format!("#/$defs/{}", definition(name)) });
            if short {
                json!({ "anyOf": [table, { "type": "string" }] })
            } else {
                table
            }
        }
        Kind::List(of) => {
            let one = Value::Object(kind(of(), bounds));
            json!({ "anyOf": [one, { "type": "array", "items": one }] })
        }
    };
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

fn value(what: &str, example: &str, bounds: Option<Bounds>) -> Map<String, Value> {
    // Examples are written as in TOML, which for these values is JSON, too.
    let example: Value = serde_json::from_str(example).unwrap_or(Value::Null);
    let kind = match &example {
        Value::Bool(_) => "boolean",
        Value::Number(_) if what.starts_with("whole") => "integer",
        Value::Number(_) => "number",
        Value::Array(_) => "array",
        _ => "string",
    };
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!(kind));
    schema.insert("examples".to_owned(), json!([example]));
    if let (Value::Number(_), Some(bounds)) = (&example, bounds) {
        for (name, bound) in [("minimum", bounds.low), ("maximum", bounds.high)] {
            if let Ok(Value::Number(bound)) = serde_json::from_str(bound) {
                schema.insert(name.to_owned(), Value::Number(bound));
            }
        }
    }
    schema
}
