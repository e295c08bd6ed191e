//! What is delivered beside the program fits what it tells.

use serde_json::Value;
use std::collections::BTreeSet;

const DASHBOARD: &str = include_str!("../../../../dist/grafana/airpace.json");
const RULES: &str = include_str!("../../../../dist/prometheus/airpace.rules.yml");
const FIXTURES: [&str; 3] = [
    include_str!("../../fixtures/slow-station.json"),
    include_str!("../../fixtures/backhaul.json"),
    include_str!("../../fixtures/sensor-lost.json"),
];

/// The names of our metrics in a text.
fn named(text: &str) -> BTreeSet<String> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = text.split(|c| !is_of_name(c));
    words
        .filter(|word| word.starts_with("airpace_"))
        .map(str::to_owned)
        .collect()
}

fn expressions(dashboard: &Value) -> Vec<&str> {
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().unwrap());
    targets
        .map(|target| target["expr"].as_str().unwrap())
        .collect()
}

#[test]
fn dashboard_and_rules_name_only_metrics_that_exist() {
    let told = airpace_web::metric_names();
    for (file, text) in [("dashboard", DASHBOARD), ("rules", RULES)] {
        let unknown: Vec<String> = named(text).difference(&told).cloned().collect();
        assert!(unknown.is_empty(), "{file}: {unknown:?}");
    }
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    assert!(expressions(&dashboard).len() >= 20);
}

#[test]
fn there_is_an_alert_for_each_state_that_an_operator_must_know() {
    for alert in [
        "AirpaceDown",
        "AirpacePacingSuspended",
        "AirpaceDelayAboveAim",
        "AirpaceSensorLost",
        "AirpaceBackhaulLimited",
        "AirpaceTelemetryDropped",
    ] {
        assert!(RULES.contains(&format!("alert: {alert}\n")), "{alert}");
    }
}

#[test]
fn the_fixtures_of_the_page_have_the_fields_of_the_status() {
    use airpace_api::operator::{ApStatus, EdgeStationStatus, EdgeStatus};
    let status = EdgeStatus {
        access_points: vec![ApStatus {
            stations: vec![EdgeStationStatus::default()],
            ..ApStatus::default()
        }],
        ..EdgeStatus::default()
    };
    let told = status.to_json();
    for text in FIXTURES {
        let fixture: Value = serde_json::from_str(text).unwrap();
        for place in ["", "/aps/0", "/aps/0/stations/0"] {
            let keys = |value: &Value| -> BTreeSet<String> {
                let object = value.pointer(place).unwrap().as_object().unwrap();
                object.keys().cloned().collect()
            };
            assert_eq!(keys(&fixture["status"]), keys(&told), "{place}");
        }
    }
}
