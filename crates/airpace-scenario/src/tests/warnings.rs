//! Warnings: settings that are accepted and make figures meaningless.

use super::*;
use crate::warnings::{Warning, WarningName};

fn warnings(text: &str, settings: &[&str]) -> Vec<Warning> {
    finished(&loaded(text, settings)).summary.warnings
}

/// The only warning of a run.
#[track_caller]
fn only(text: &str, settings: &[&str]) -> Warning {
    let mut found = warnings(text, settings);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

#[test]
fn a_run_with_sensible_settings_has_no_warnings() {
    assert_eq!(warnings(CELL, &["duration=2 s"]), []);
}

/// Three access points in a row with a station each: the outer two do not sense each other, the one
/// between them senses both.
const ROW: &str = "\
duration = \"500 ms\"
warm_up = \"100 ms\"
[[node]]
name = \"left\"
kind = \"ap\"
position = [\"0 m\", \"0 m\"]
[[node]]
name = \"middle\"
kind = \"ap\"
position = [\"30 m\", \"0 m\"]
[[node]]
name = \"right\"
kind = \"ap\"
position = [\"60 m\", \"0 m\"]
[[node]]
name = \"a\"
kind = \"station\"
ap = \"left\"
[[node]]
name = \"b\"
kind = \"station\"
ap = \"middle\"
[[node]]
name = \"c\"
kind = \"station\"
ap = \"right\"
[[flow]]
name = \"to-a\"
kind = \"saturate\"
from = \"left\"
to = \"a\"
[[flow]]
name = \"to-b\"
kind = \"saturate\"
from = \"middle\"
to = \"b\"
[[flow]]
name = \"to-c\"
kind = \"saturate\"
from = \"right\"
to = \"c\"
";

#[test]
fn an_access_point_that_hardly_wins_the_channel_is_named_with_its_share() {
    // By the seed, it has from 0.7 to 3 % of the time in two seconds.
    let settings = ["node.*.rate=mcs 7", "duration=2 s", "seed=2"];
    let starved = only(ROW, &settings);
    assert_eq!(
        (starved.name, starved.who.as_str()),
        (WarningName::ChannelNeverWon, "middle"),
        "{starved}"
    );
    assert!(
        starved
            .text
            .starts_with("had packets to send for 100 % of the measured time, and its "),
        "{starved}"
    );
    // Where all sense each other, all send.
    let near = ["node.left.position=['25 m', '0 m']", "duration=2 s"];
    let near = [
        &settings[..],
        &near,
        &["node.right.position=['35 m', '0 m']"],
    ]
    .concat();
    assert_eq!(warnings(ROW, &near), []);
}

#[test]
fn many_stations_that_share_the_channel_evenly_are_not_starved() {
    let up = CELL.replace(
        "kind = \"udp-cbr\"",
        "from = \"each station\"\nto = \"ap\"\nkind = \"udp-cbr\"",
    );
    assert_eq!(
        warnings(&up, &["node.station.count=60", "duration=2 s"]),
        []
    );
}

#[test]
fn a_receiver_that_decodes_nothing_is_named_with_rate_and_power() {
    let far = [
        "node.station.distance=50 m",
        "node.station.count=1",
        "duration=500 ms",
    ];
    let found = warnings(CELL, &far);
    let deaf: Vec<&Warning> = (found.iter())
        .filter(|warning| warning.name == WarningName::NothingDecoded)
        .collect();
    assert_eq!(deaf.len(), 1, "{found:?}");
    assert_eq!(deaf[0].who, "station");
    for part in [
        "decoded 0 of the ",
        "that `ap` sent",
        "at 780.0 Mbit/s and received at -82 dBm",
        "lower `rate`",
    ] {
        assert!(deaf[0].text.contains(part), "{part}: {}", deaf[0]);
    }
    let silent = found.last().unwrap();
    assert_eq!(
        (silent.name, silent.who.as_str()),
        (WarningName::NothingArrived, "udp-cbr")
    );
    assert!(silent.text.contains("by retry_limit"), "{silent}");
}

#[test]
fn flows_without_packets_say_why() {
    let text = |flow: &[&str]| {
        let settings = [&["duration=500 ms", "flow.0.to=station-1"], flow].concat();
        let silent = only(CELL, &settings);
        assert_eq!(silent.name, WarningName::NothingArrived);
        silent.text
    };
    let late = text(&["flow.0.start=2 s"]);
    assert!(
        late.starts_with("starts at 2.0 s, but the run ends at 0.6 s"),
        "{late}"
    );
    let early = text(&["flow.0.stop=20 ms"]);
    assert!(
        early.starts_with("stops at 0.0 s, but figures are taken only"),
        "{early}"
    );
    let slow = text(&["flow.0.rate=1 kbit/s"]);
    assert!(
        slow.starts_with("sent no packet from 0.1 s to 0.6 s"),
        "{slow}"
    );
}

#[test]
fn a_law_without_reports_is_told() {
    let lost = format!(
        "{CELL}[[proxy]]\n[[change]]\nat = \"0 s\"\nnode = \"station-2\"\nreport_loss = 1\n"
    );
    let silent = only(&lost, &["duration=2 s"]);
    assert_eq!(
        (silent.name, silent.who.as_str()),
        (WarningName::NoReports, "station-2")
    );
    assert!(
        silent.text.contains("the proxy at `ap` in 2.0 s"),
        "{silent}"
    );
    assert_eq!(
        warnings(&format!("{CELL}[[proxy]]\n"), &["duration=2 s"]),
        []
    );
}

#[test]
fn what_is_measured_for_too_short_a_time_is_told() {
    let slots = only(&format!("{CELL}[[proxy]]\nslot = \"100 ms\"\n"), &[]);
    assert_eq!(slots.name, WarningName::MeasuredTooShort);
    assert!(slots.text.starts_with("decided 2.0 times"), "{slots}");
    let tcp = CELL.replace("kind = \"udp-cbr\"\nrate = \"50 Mbit/s\"", "kind = \"tcp\"");
    let wired = format!(
        "{tcp}[[node]]\nname = \"server\"\nkind = \"host\"\n[[wire]]\na = \"server\"\nb = \"ap\"\n\
         delay = \"50 ms\"\n"
    );
    let trips = only(&wired, &["duration=500 ms", "warm_up=500 ms"]);
    assert_eq!(trips.name, WarningName::MeasuredTooShort);
    assert!(
        trips.text.contains("round trips of")
            && trips.text.contains("another flow has too few as well"),
        "{trips}"
    );
    assert_eq!(warnings(&wired, &["duration=3 s", "warm_up=500 ms"]), []);
}

#[test]
fn rows_of_a_sweep_have_the_names_of_their_warnings() {
    use crate::sweep;
    let out = std::env::temp_dir().join(format!("airpace-sim-warned-{}", std::process::id()));
    fs::remove_dir_all(&out).ok();
    let axes = ["flow.0.start=0 s,2 s".parse().unwrap()];
    let jobs = sweep::jobs(&loaded(CELL, &[]), &axes, 2).unwrap();
    let mut journal = sweep::Journal::open(&out, false).unwrap();
    let execution = sweep::Execution {
        parallel: 1,
        stop: &Stop::default(),
        progress: &Silent,
        clock: &|| std::time::Duration::ZERO,
    };
    sweep::execute(&jobs, &mut journal, &execution).unwrap();
    let dataset = journal.dataset(&jobs).unwrap();
    let rows = sweep::rows(&sweep::finished(&jobs, &dataset));
    assert!(rows[0].warnings.is_empty(), "{rows:?}");
    assert_eq!(rows[1].warnings["nothing-arrived"], 2);
    let text = sweep::table(&rows);
    assert!(
        text.contains("Warning nothing-arrived in 2 of 2 runs of flow.0.start=2 s"),
        "{text}"
    );
    fs::remove_dir_all(&out).ok();
}

/// Scenarios of which 8 s say nothing: stations join after 15 s, and a slow station needs 16 s for
/// ten round trips.
const SLOW: [&str; 2] = ["002-f6-joining.toml", "004-f9-thirty.toml"];

#[test]
fn scenarios_of_the_folder_give_no_warning() {
    let mut found = Vec::new();
    for folder in [folder(), folder().join("frontier")] {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if !path.is_file() {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let duration = if SLOW.contains(&name.as_str()) {
                "duration=17 s"
            } else {
                "duration=8 s"
            };
            // Most changes come later.
            for warning in warnings(&text, &["warm_up=500 ms", duration, "change=[]"]) {
                found.push(format!("{name}: {warning}"));
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}
