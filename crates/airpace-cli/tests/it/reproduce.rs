//! `airpace reproduce`: the list, rows as JSON and text, and complaints.

use crate::shared::{airpace, assert_refused, folder, json};

#[test]
fn without_rows_it_lists_them() {
    let run = airpace("reproduce");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    for id in ["000-F7", "002-F9-live", "003-F2/3", "004-F9/10", "004-T2"] {
        assert!(run.stdout.contains(id), "{id}: {}", run.stdout);
    }
    let rows = json("reproduce");
    let rows = rows["rows"].as_array().unwrap();
    assert!(rows.len() > 25, "{}", rows.len());
    assert!(rows.iter().all(|row| {
        ["id", "source", "kind", "claim"]
            .iter()
            .all(|key| row[key].is_string())
    }));
}

#[test]
fn a_row_is_told_as_json_and_leaves_its_data() {
    let folder = folder("reproduce");
    let out = folder.path().join("out");
    let printed = json(&format!("reproduce 003-T1 000-F7 --out {}", out.display()));
    let rows = printed["rows"].as_array().unwrap();
    assert_eq!([&rows[0]["id"], &rows[1]["id"]], ["000-F7", "003-T1"]);
    for row in rows {
        assert_eq!(row["verdict"], "holds", "{row}");
        assert!(
            ["measured", "expected", "note"]
                .iter()
                .all(|key| row[key].is_string()),
            "{row}"
        );
        assert!(
            row["relations"]
                .as_array()
                .unwrap()
                .iter()
                .all(|relation| relation["verdict"] == "holds" && relation["printed"].is_string())
        );
    }
    assert!(out.join("reproduction.json").exists() && out.join("003-T1.json").exists());
    let markdown = airpace("reproduce 003-T1 --markdown");
    assert!(
        markdown.stdout.contains("## 003-T1: holds"),
        "{}",
        markdown.stdout
    );
}

#[test]
fn unknown_rows_are_refused_with_the_nearest() {
    assert_refused("reproduce 004-T3", "`004-T1`");
    assert_refused("reproduce 003-T1 nonsense", "`nonsense`");
    assert_refused("reproduce 003 --seeds 0", "--seeds");
    assert_refused("reproduce 003 --duration 5", "--duration");
    assert_refused("reproduce 003 --horizon 0", "--horizon 2");
    assert_refused("reproduce 003 --resume", "--out");
}
