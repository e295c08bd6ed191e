//! `airpace demo`; what it shows is measured by `make demo`.

use crate::shared::{airpace, assert_refused, folder, json_of};

#[test]
fn demos_that_make_no_sense_are_refused() {
    assert_refused("demo --arms cubic,reno", "airpace-cubic");
    assert_refused("demo --stations 9,12", "MCS 0 to 9");
    assert_refused("demo --stations nine", "not an MCS index");
    assert_refused(
        "demo --stations 9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9",
        "at most 16",
    );
    assert_refused("demo --load 14", "has no unit");
    assert_refused("demo --load=3s --ramp=4s", "--ramp");
    assert_refused("demo --level NaN", "--level");
    assert_refused("demo --flows 0", "1..=64");
}

/// Runs arms on two stations for a moment; `None`, loudly, where the system does not allow it.
fn short_demo(arms: &str, load: &str) -> Option<serde_json::Value> {
    let folder = folder("demo");
    let out = folder.path().display();
    let times = format!("--idle=200ms --load={load} --ramp=2s");
    let run = airpace(&format!(
        "demo --out {out} --arms {arms} --stations 9,4 {times} --json"
    ));
    let denied = [
        "Operation not permitted",
        "Permission denied",
        "/dev/net/tun",
        "user namespace",
    ];
    if run.code == Some(1) && denied.iter().any(|text| run.stderr.contains(text)) {
        eprintln!(
            "SKIPPED: this system allows no namespaces or no TUN: {}",
            run.stderr
        );
        return None;
    }
    Some(json_of(&run))
}

/// Whether a station of the arm was observed by this sensor at the end.
fn is_observed_by(arm: &serde_json::Value, sensor: &str) -> bool {
    let stations = arm["per_station"].as_array().unwrap();
    stations.iter().any(|station| station["sensor"] == sensor)
}

#[test]
fn each_arm_of_the_in_line_box_observes_its_stations_by_its_own_sensor() {
    let sensors = [
        ("edge-acks", "ack-burst"),
        ("edge-radio", "block-ack"),
        ("edge-agents", "agent"),
    ];
    let Some(summary) = short_demo("edge-acks,edge-radio,edge-agents", "6s") else {
        return;
    };
    for (arm, (name, sensor)) in summary["arms"].as_array().unwrap().iter().zip(sensors) {
        assert_eq!(arm["name"], name);
        for station in arm["per_station"].as_array().unwrap() {
            eprintln!("{name}: {}", station["sensor"]);
            assert!(station["goodput_mbps"].as_f64() > Some(1.0), "{station}");
            assert!(station["ping_ms"]["p95"].as_f64() > Some(0.0), "{station}");
        }
        if !is_observed_by(arm, sensor) {
            // On a busy machine a sensor may need longer than that.
            let longer = short_demo(name, "20s").expect("the first run was allowed");
            let arm = &longer["arms"][0];
            assert!(
                is_observed_by(arm, sensor),
                "{name}: {}",
                arm["per_station"]
            );
        }
    }
}
