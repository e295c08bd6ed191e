//! What an operator sees of a running box: limits and their reasons, events, the aim, and who may ask.

use super::{airpace, edge, eventually, own_file, start, testbed, traffic};
use airpace_lab::bench::edge::EdgeTestbed;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

const LIMITS: [&str; 10] = [
    "sender",
    "fair-share",
    "slow-station",
    "backhaul",
    "contention",
    "no-sensor",
    "sensor-lost",
    "exempt",
    "passing",
    "idle",
];

fn status(bed: &EdgeTestbed) -> Value {
    let (code, text) = airpace(bed, &["status", "--json"]);
    assert_eq!(code, Some(0), "{text}");
    serde_json::from_str(&text).unwrap()
}

fn kinds(status: &Value) -> Vec<String> {
    let events = status["events"].as_array().unwrap().iter();
    events
        .map(|event| event["kind"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn the_status_says_what_limits_each_station_and_what_has_happened() {
    let Some(bed) = testbed(2, 1500) else { return };
    let Some(_process) = start(&bed, "") else {
        return;
    };
    drop(traffic(&bed));
    let of_first = |status: &Value| status["aps"][0]["stations"][0].clone();
    let shown = status(&bed);
    assert_eq!(shown["aps"][0]["name"], "ap0");
    let station = of_first(&shown);
    let (mac, name) = (&station["mac"], &station["name"]);
    assert_eq!((mac, mac), (name, &Value::from("02:00:00:00:01:00")));
    let limit = station["limited_by"].as_str().unwrap();
    assert!(LIMITS.contains(&limit), "{station}");
    assert!(!station["reason"].as_str().unwrap().is_empty());
    for key in ["goodput_mbps", "rate_mbps", "share", "level", "wait_p95_ms"] {
        assert!(station.get(key).is_some(), "{key}: {station}");
    }
    eventually("without traffic the station is idle", || {
        of_first(&status(&bed))["limited_by"] == "idle"
    });
    edge(&bed, &["exempt", "02:00:00:00:01:00"]);
    let shown = status(&bed);
    let station = of_first(&shown);
    assert_eq!(station["limited_by"], "exempt", "{station}");
    let kinds = kinds(&shown);
    for kind in ["began", "station-joined", "exempted"] {
        assert!(kinds.iter().any(|known| known == kind), "{kind}: {kinds:?}");
    }
    let (code, text) = airpace(&bed, &["status"]);
    assert_eq!(code, Some(0), "{text}");
    for words in ["limited by", "02:00:00:00:01:00: exempt", "station-joined"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn another_aim_holds_until_the_configuration_is_reloaded() {
    let Some(bed) = testbed(1, 1500) else { return };
    let Some(_process) = start(&bed, "") else {
        return;
    };
    assert_eq!(status(&bed)["aim"], "balanced");
    let (code, text) = edge(&bed, &["aim", "10 ms"]);
    assert!(code == Some(0) && text.contains("within 10 ms"), "{text}");
    assert_eq!(status(&bed)["aim"], "95 of 100 packets within 10 ms");
    let (code, text) = edge(&bed, &["aim", "low-latency", "--wan", "wan"]);
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = edge(&bed, &["aim", "fast"]);
    assert!(code == Some(2) && text.contains("low-latency"), "{text}");
    assert_eq!(status(&bed)["aim"], "low-latency", "the old aim stays");
    let (code, text) = edge(&bed, &["reload"]);
    assert_eq!(code, Some(0), "{text}");
    let shown = status(&bed);
    assert_eq!(shown["aim"], "balanced");
    assert_eq!(
        kinds(&shown),
        ["began", "aim-changed", "aim-changed", "reloaded"]
    );
}

#[test]
fn a_law_without_an_aim_refuses_one() {
    let Some(bed) = testbed(1, 1500) else { return };
    let fixed = "[control]\nlaw = \"fixed\"\nfixed_rate = \"400 Mbit/s\"\n";
    let Some(_process) = start(&bed, fixed) else {
        return;
    };
    let (code, text) = edge(&bed, &["aim", "balanced"]);
    assert!(
        code == Some(1) && text.contains("law `fixed` has no aim"),
        "{text}"
    );
}

#[test]
fn only_root_and_its_group_may_ask() {
    let Some(bed) = testbed(1, 1500) else { return };
    let Some(_process) = start(&bed, "") else {
        return;
    };
    let socket = fs::metadata(own_file(&bed, "wan", "sock")).unwrap();
    assert_eq!(socket.permissions().mode() & 0o777, 0o660);
    let owner = fs::metadata("/proc/self").unwrap();
    assert_eq!((socket.uid(), socket.gid()), (owner.uid(), owner.gid()));
}

#[test]
fn a_dashboard_needs_a_terminal_and_a_status_a_box() {
    let Some(bed) = testbed(1, 1500) else { return };
    let (code, text) = airpace(&bed, &["status", "--watch"]);
    assert!(
        code == Some(2) && text.contains("needs a terminal"),
        "{text}"
    );
    let (code, text) = airpace(&bed, &["status", "--watch", "--json"]);
    assert_eq!(code, Some(2), "{text}");
    let (code, text) = airpace(&bed, &["status"]);
    assert!(
        code == Some(1) && text.contains("no airpace edge runs"),
        "{text}"
    );
}
