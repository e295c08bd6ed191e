//! `airpace sim`: runs, sweeps, the reference, and refusals.

use crate::shared::{Folder, airpace, airpace_words, assert_refused, folder, json_of};
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

const CELL: &str = "\
title = \"two stations\"
warm_up = \"50 ms\"
duration = \"200 ms\"
[[node]]
kind = \"ap\"
[[node]]
kind = \"station\"
count = 2
rate = \"mcs 9\"
[[flow]]
kind = \"udp-cbr\"
rate = \"20 Mbit/s\"
";

fn file(folder: &Folder, text: &str) -> PathBuf {
    let path = folder.path().join("cell.toml");
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_run_prints_a_table_or_the_summary_as_json() {
    let folder = folder("sim-run");
    let path = file(&folder, CELL);
    let table = airpace(&format!("sim run {}", path.display()));
    assert_eq!(table.code, Some(0), "{}", table.stderr);
    assert!(
        table.stdout.starts_with("two stations\n\nstation "),
        "{}",
        table.stdout
    );
    assert!(
        table.stdout.contains("station-2") && table.stdout.contains("packets/s"),
        "{}",
        table.stdout
    );
    let line = format!("sim run {} --json --seed 5", path.display());
    let (first, second) = (airpace(&line), airpace(&line));
    let summary = json_of(&first);
    assert_eq!(summary["seed"], 5);
    assert_eq!(summary["format"], 1);
    assert_eq!(summary["scenario"]["text"], CELL);
    assert_eq!(summary["scenario"]["set"][0], "seed=5");
    let station = &summary["stations"][0];
    for key in ["goodput_mbps", "level", "sent", "received", "airtime_share"] {
        assert!(station[key].is_number(), "{key}: {station}");
    }
    assert!(
        ["mean", "p50", "p95", "p99", "min"]
            .iter()
            .all(|q| station["delay_ms"][q].is_number()),
        "{station}"
    );
    assert!(station["dropped"].is_object() && station["name"] == "station-1");
    assert!(summary["totals"]["goodput_mbps"].as_f64().unwrap() > 35.0);
    assert!(summary["packets_per_wall_s"].is_number());
    let without_wall = |text: &str| {
        text.lines()
            .filter(|l| !l.contains("wall_s"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(without_wall(&first.stdout), without_wall(&second.stdout));
}

#[test]
fn mistakes_show_the_line_and_the_remedy() {
    let folder = folder("sim-mistakes");
    let cases = [
        (
            "count = 2",
            "cuont = 2",
            ":8:1: [[node]] has no key `cuont`: did you mean `count`?\n8 | cuont = 2\n  | ^^^^^\n",
        ),
        (
            "\"mcs 9\"",
            "\"mcs 12\"",
            ":9:8: VHT has MCS 0 to 9, not 12\n9 | rate = \"mcs 12\"\n  |        ^^^^^^^^\n",
        ),
        (
            "\"20 Mbit/s\"",
            "20",
            ":12:8: `20` has no unit: write for example \"1.2 Gbit/s\"\n12 | rate = 20\n   |        ^^\n",
        ),
    ];
    for (from, to, said) in cases {
        let path = file(&folder, &CELL.replace(from, to));
        let run = airpace(&format!("sim run {}", path.display()));
        assert_eq!(run.code, Some(2), "{}", run.stderr);
        assert_eq!(run.stdout, "");
        assert_eq!(run.stderr, format!("error: {}{said}", path.display()));
    }
    let path = file(&folder, CELL);
    let path = path.display();
    for (arguments, said) in [
        (
            format!("sim run {path} --set node.station.cuont=3"),
            "--set node.station.cuont=3: [[node]] has no key `cuont`",
        ),
        (
            format!("sim run {path} --set nonsense"),
            "`nonsense` is not of the form key=value",
        ),
        (format!("sim run {path} --seed x"), "--seed"),
        (
            format!("sim sweep {path} --over node.station.count=1,0 --out out"),
            "--set node.station.count=0: out of range",
        ),
        (format!("sim sweep {path} --out out"), "--over"),
        (
            "sim run nowhere.toml".to_owned(),
            "cannot read nowhere.toml",
        ),
    ] {
        crate::shared::assert_refused(&arguments, said);
    }
}

#[test]
fn a_sweep_resumes_and_prints_means_with_intervals() {
    let folder = folder("sim-sweep");
    let path = file(&folder, CELL);
    let out = folder.path().join("out");
    let line = format!(
        "sim sweep {} --over node.station.count=1,2 --repeats 2 --out {}",
        path.display(),
        out.display()
    );
    let first = airpace(&line);
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    assert!(
        first.stdout.contains("node.station.count=2") && first.stdout.contains('±'),
        "{}",
        first.stdout
    );
    let again = airpace(&format!("{line} --json"));
    assert!(
        again.stderr.contains("4 of 4 runs are already done"),
        "{}",
        again.stderr
    );
    let rows = json_of(&again);
    assert_eq!(rows[1]["runs"], 2);
    assert!(rows[1]["goodput_mbps"]["ci95"].is_number());
    for name in ["runs.parquet", "stations.parquet", "flows.parquet"] {
        assert!(out.join(name).exists(), "{name}");
    }
    assert!(!out.join("runs.jsonl").exists());
    let with_summaries = airpace(&format!("{line} --summaries"));
    assert_eq!(with_summaries.code, Some(0), "{}", with_summaries.stderr);
    let summaries = std::fs::read_to_string(out.join("runs.jsonl")).unwrap();
    assert_eq!(summaries.lines().count(), 4);
    let again = airpace(&format!("{line} --summaries"));
    assert!(
        again.stderr.contains("4 of 4 runs are already done"),
        "{}",
        again.stderr
    );
}

#[test]
fn files_are_left_in_the_folder() {
    let folder = folder("sim-files");
    let path = file(&folder, CELL);
    let out = folder.path().join("out");
    let words = [
        "sim",
        "run",
        path.to_str().unwrap(),
        "--set",
        "record.pcap=true",
        "--out",
        out.to_str().unwrap(),
    ];
    let run = airpace_words(&words);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    for name in [
        "summary.json",
        "summary.parquet",
        "stations.parquet",
        "flows.parquet",
        "slots.parquet",
        "air.pcap",
    ] {
        assert!(out.join(name).exists(), "{name}");
    }
}

#[test]
fn every_scenario_that_the_help_names_exists() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = 0;
    for command in ["sim", "sim run", "sim sweep"] {
        let help = airpace(&format!("{command} --help")).stdout;
        let words = help.split_whitespace();
        for path in words.filter(|word| word.starts_with("scenarios/")) {
            assert!(root.join(path).exists(), "{command}: {path}");
            found += 1;
        }
    }
    assert!(found >= 3, "{found}");
}

#[test]
fn the_reference_lists_every_table_and_every_default() {
    let markdown = airpace("sim schema");
    assert_eq!(markdown.code, Some(0));
    for table in [
        "## Top level",
        "## [channel]",
        "## [[node]]",
        "## [[flow]]",
        "## [[proxy]]",
        "## [[change]]",
        "## [record]",
    ] {
        assert!(markdown.stdout.contains(table), "{table}");
    }
    let json = crate::shared::json("sim schema");
    assert_eq!(json["tables"]["[[node]]"]["count"]["default"], "1");
    assert_eq!(
        json["tables"]["[[flow]]"]["mss"]["derived_default"],
        "1448 B"
    );
    assert!(!markdown.stdout.contains("default is") && !markdown.stdout.contains("; default "));
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the run of another process is waited for"
)]
fn ctrl_c_ends_a_run_with_what_was_measured_and_130() {
    use std::io::Read as _;
    use std::process::{Command, Stdio};
    let folder = folder("sim-stop");
    let path = file(&folder, CELL);
    let path = path.to_str().unwrap();
    for (warm_up, printed) in [("0 s", true), ("90000 s", false)] {
        let warm_up = format!("warm_up={warm_up}");
        let words = [
            "sim",
            "run",
            path,
            "--set",
            "duration=900000 s",
            "--set",
            &warm_up,
        ];
        let mut child = Command::new(env!("CARGO_BIN_EXE_airpace"))
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_secs(1));
        Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status()
            .unwrap();
        let mut text = String::new();
        child
            .stdout
            .take()
            .unwrap()
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130));
        assert_eq!(text.contains("Stopped early"), printed, "{text}");
    }
}

#[test]
fn counts_and_loads_beyond_all_reason_are_refused_at_once() {
    let folder = folder("sim-bounds");
    let text = format!(
        "{CELL}name = \"bulk\"\n[[flow]]\nkind = \"ping\"\nname = \"ping\"\n\
         [[flow]]\nkind = \"tcp\"\nname = \"tcp\"\n[[flow]]\nkind = \"web\"\nname = \"web\"\n"
    );
    let path = file(&folder, &text);
    for (setting, advice) in [
        ("node.station.count=1000000000", "give 1 to 2000"),
        ("flow.ping.interval=1ns", "give 10 us to"),
        ("flow.web.interval=1ns", "give 10 us to"),
        ("flow.web.connections=1000000000", "give 1 to 64"),
        ("flow.bulk.rate=1000000Gbit/s", "too large"),
        ("flow.bulk.payload=1GiB", "give 1 B to"),
        ("flow.tcp.mss=1B", "give 64 B to"),
        ("node.ap.queue.limit=1000000000000packets", "too large"),
        ("node.ap.queue.limit=1000000000packets", "give 1 packet to"),
        ("duration=100000000000s", "too large"),
        ("slot=1ns", "give 1 ms to"),
    ] {
        let line = format!("sim run {} --set {setting}", path.display());
        assert_refused(&line, advice);
    }
}

#[test]
fn a_simulation_that_takes_minutes_says_so_before_it_starts() {
    let folder = folder("sim-long");
    let path = file(&folder, CELL);
    let out = folder.path().join("sweep");
    let run = format!("sim run {} --set duration=1000000s", path.display());
    let sweep = format!(
        "sim sweep {} --over duration=1000000s,900000s --repeats 5 --out {}",
        path.display(),
        out.display()
    );
    for line in [run, sweep] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_airpace"));
        command
            .args(line.split(' '))
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        let mut simulation = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        let mut errors = BufReader::new(simulation.stderr.take().unwrap());
        errors.read_line(&mut said).unwrap();
        simulation.kill().unwrap();
        simulation.wait().unwrap();
        assert!(said.contains("this will take about "), "{line}: {said}");
    }
}

#[test]
fn a_setting_that_makes_figures_meaningless_is_told_on_standard_error_and_in_json() {
    let folder = folder("sim-warned");
    let path = file(&folder, CELL);
    let line = format!("sim run {} --set", path.display());
    let said = airpace_words(
        &[
            line.split(' ').collect::<Vec<_>>(),
            vec!["flow.0.start=1 s", "--json"],
        ]
        .concat(),
    );
    assert!(
        said.stderr.contains(
            "nothing-arrived: `udp-cbr@station-2` starts at 1.0 s, but the run ends at 0.2 s"
        ),
        "{}",
        said.stderr
    );
    let warnings = &json_of(&said)["warnings"];
    assert_eq!(warnings[1]["name"], "nothing-arrived");
    assert_eq!(warnings[1]["who"], "udp-cbr@station-2");
    let well = airpace(&format!("sim run {} --json", path.display()));
    assert_eq!(json_of(&well)["warnings"], serde_json::json!([]));
    assert!(!well.stderr.contains("WARN"), "{}", well.stderr);
}
