//! `airpace check` and `airpace schema`.

use crate::shared::{airpace, assert_refused, assert_refused_at_line, json, json_of};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// A file that is removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("airpace-{}-{name}", std::process::id()));
        fs::write(&path, text).unwrap();
        Self(path)
    }

    fn name(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every scenario that is delivered.
fn scenarios() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in ["scenarios", "scenarios/frontier"] {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|end| end == "toml") {
                found.push(path);
            }
        }
    }
    assert!(found.len() > 30, "{found:?}");
    found
}

/// The files of `airpace dist`, in a folder that is removed at the end.
struct Dist(PathBuf);

impl Dist {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("airpace-{}-{name}", std::process::id()));
        let run = airpace(&format!("dist --out {}", folder.display()));
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        Self(folder)
    }

    /// The example configurations, with the kind of each.
    fn examples(&self) -> [(&'static str, PathBuf); 3] {
        [
            ("edge", self.0.join("airpace/etc/edge.toml")),
            ("proxy", self.0.join("airpace/etc/proxy.toml")),
            ("agent", self.0.join("airpace-agent/etc/agent.toml")),
        ]
    }
}

impl Drop for Dist {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn files_of_every_kind_are_recognised_and_summarised() {
    let dist = Dist::new("kinds");
    for (kind, path) in dist.examples() {
        let report = json(&format!("check {}", path.display()));
        assert_eq!(
            (&report["kind"], &report["ok"]),
            (&kind.into(), &true.into())
        );
        assert!(!report["summary"].as_array().unwrap().is_empty());
    }
    for path in scenarios() {
        let report = json(&format!("check {}", path.display()));
        assert_eq!(report["kind"], "scenario", "{}", path.display());
    }
    let edge = airpace(&format!("check {}", dist.examples()[0].1.display()));
    assert!(
        edge.stdout.contains("ok, for airpace edge"),
        "{}",
        edge.stdout
    );
    assert!(
        edge.stdout.contains("eth0 (wired network) and eth1"),
        "{}",
        edge.stdout
    );
}

#[test]
fn a_refused_file_is_told_with_its_line_also_as_json() {
    let file = Scratch::new(
        "wrong.toml",
        "wan = \"eth0\"\ndry_rnu = true\n[[ap]]\nports = \"eth1\"\n",
    );
    assert_refused_at_line(&format!("check {}", file.name()), "did you mean `dry_run`?");
    let run = airpace(&format!("check --json {}", file.name()));
    assert_eq!(run.code, Some(2));
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(
        (&report["kind"], &report["ok"]),
        (&"edge".into(), &false.into())
    );
    assert_eq!(report["error"]["line"], 2);
    assert!(report["error"]["excerpt"].as_str().unwrap().contains('^'));

    let broken = Scratch::new("broken.toml", "wan = \n");
    assert_refused_at_line(&format!("check {}", broken.name()), "broken.toml:1");
    let strange = Scratch::new("strange.toml", "colour = \"red\"\n");
    assert_refused(&format!("check {}", strange.name()), "--as names the kind");
    assert_refused_at_line(
        &format!("check {} --as agent", strange.name()),
        "no key `colour`",
    );
    assert_refused("check /nonexistent.toml", "cannot read /nonexistent.toml");
}

/// Checks a value against a JSON Schema, as far as those of this program go, and returns what does
/// not fit.
fn misfits(value: &Value, schema: &Value, root: &Value, at: &str, found: &mut Vec<String>) {
    if let Some(reference) = schema["$ref"].as_str() {
        let pointer = reference.strip_prefix('#').unwrap();
        let target = root.pointer(pointer);
        let target = target.unwrap_or_else(|| panic!("{reference} leads nowhere"));
        return misfits(value, target, root, at, found);
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        let fits = choices.iter().any(|choice| {
            let mut found = Vec::new();
            misfits(value, choice, root, at, &mut found);
            found.is_empty()
        });
        if !fits {
            found.push(format!("{at}: {value} is none of {choices:?}"));
        }
        return;
    }
    let fits = match schema["type"].as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        other => panic!("type {other}"),
    };
    if !fits {
        return found.push(format!("{at}: {value} is not of type {}", schema["type"]));
    }
    if let Some(words) = schema["enum"].as_array()
        && !words.contains(value)
    {
        found.push(format!("{at}: {value} is none of {words:?}"));
    }
    if let (Some(number), Some(least)) = (value.as_f64(), schema["minimum"].as_f64())
        && number < least
    {
        found.push(format!("{at}: {value} is too small"));
    }
    for (item, i) in value.as_array().into_iter().flatten().zip(0..) {
        if schema.get("items").is_some() {
            misfits(item, &schema["items"], root, &format!("{at}.{i}"), found);
        }
    }
    let Some(table) = value.as_object() else {
        return;
    };
    for (key, value) in table {
        match schema["properties"].get(key) {
            Some(inner) => misfits(value, inner, root, &format!("{at}.{key}"), found),
            None => found.push(format!("{at}.{key} is unknown")),
        }
    }
    for key in schema["required"].as_array().unwrap() {
        if table.get(key.as_str().unwrap()).is_none() {
            found.push(format!("{at}.{key} is missing"));
        }
    }
}

fn misfits_of(text: &str, kind: &str) -> Vec<String> {
    let schema = json_of(&airpace(&format!("schema {kind} --json")));
    assert_eq!(
        schema["$schema"],
        "https://json-schema.org/draft/2020-12/schema"
    );
    let value: Value = toml::from_str(text).unwrap();
    let mut found = Vec::new();
    misfits(&value, &schema, &schema, "", &mut found);
    found
}

#[test]
fn what_is_delivered_fits_its_json_schema() {
    let dist = Dist::new("schema");
    for (kind, path) in dist.examples() {
        let found = misfits_of(&fs::read_to_string(path).unwrap(), kind);
        assert!(found.is_empty(), "{kind}: {found:#?}");
    }
    let schema = json_of(&airpace("schema scenario --json"));
    for path in scenarios() {
        let value: Value = toml::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let mut found = Vec::new();
        misfits(&value, &schema, &schema, "", &mut found);
        assert!(found.is_empty(), "{}: {found:#?}", path.display());
    }
}

#[test]
fn a_json_schema_refuses_what_reading_refuses() {
    let with = |line: &str| format!("wan = \"eth0\"\n{line}\n[[ap]]\nports = [\"eth1\"]\n");
    assert!(misfits_of(&with("datapath = \"native\""), "edge").is_empty());
    for line in [
        "dry_rnu = true",
        "datapath = \"fast\"",
        "dry_run = \"yes\"",
        "control = 1",
    ] {
        assert_eq!(misfits_of(&with(line), "edge").len(), 1, "{line}");
    }
    assert_eq!(
        misfits_of("dry_run = true\n", "edge"),
        [".\"wan\" is missing"]
    );
    let weight = with("") + "[[station]]\nmac = \"02:00:00:00:00:01\"\nweight = 0.0\n";
    assert_eq!(misfits_of(&weight, "edge").len(), 1);
}

#[test]
fn the_reference_is_printed_for_people() {
    for kind in ["edge", "proxy", "agent", "scenario"] {
        let run = airpace(&format!("schema {kind}"));
        assert!(
            run.stdout.starts_with("# ") && run.stdout.contains("| key |"),
            "{kind}"
        );
    }
    assert_refused("schema router", "'router'");
}

#[test]
fn a_package_gets_man_pages_and_completions_of_both_programs() {
    let dist = Dist::new("dist");
    for (file, word) in [
        ("airpace/man/airpace-edge.1", "\\-\\-wan"),
        ("airpace/man/airpace-edge-status.1", "status"),
        ("airpace/bash/airpace", "doctor"),
        ("airpace/zsh/_airpace", "doctor"),
        ("airpace/fish/airpace.fish", "doctor"),
        ("airpace/schema/edge.schema.json", "2020-12"),
        ("airpace-agent/man/airpace-agent-run.1", "config"),
        ("airpace-agent/bash/airpace-agent", "keygen"),
    ] {
        let text = fs::read_to_string(dist.0.join(file)).unwrap();
        assert!(text.contains(word), "{file} lacks {word}");
    }
    assert!(
        !dist.0.join("airpace/man/airpace-validate.1").exists(),
        "hidden"
    );
}
