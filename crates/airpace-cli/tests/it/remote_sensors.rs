//! The in-line box with a radio near the access point, and with agents on the stations, behind the
//! emulated access point.

use crate::shared::{airpace_words, folder};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Length of the downloads, seconds.
const SECONDS: &str = "8";

/// One cell at a time: two of them would be late on a machine of two cores.
static ALONE: Mutex<()> = Mutex::new(());

/// The sensors that spoke for each station, slot by slot.
type Slots = BTreeMap<String, Vec<String>>;

/// Runs a download to each of `stations` stations, and prints goodput and ping. Returns which
/// sensor spoke for each station in each slot of the download; `None`, loudly, where the system does not permit the set-up.
fn run(sensor: &str, stations: &str) -> Option<Slots> {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = folder(&format!("remote-{sensor}-{stations}"));
    let place = folder.path().to_str().unwrap();
    let cell = ["--layer", "ethernet", "--stations", stations, "--air"];
    let script = include_str!("remote_sensors.sh");
    let program = env!("CARGO_BIN_EXE_airpace");
    let command = [
        "--", "sh", "-c", script, "sh", program, place, sensor, SECONDS,
    ];
    let run = airpace_words(&[&["emulate"][..], &cell, &command].concat());
    if run.code != Some(0) {
        // Without the rights for namespaces, or for BPF, nothing can be tested.
        assert!(matches!(run.code, Some(1 | 77)), "{}", run.stderr);
        eprintln!("SKIPPED, NOTHING WAS TESTED: {} {}", run.stdout, run.stderr);
        return None;
    }
    print_results(folder.path(), sensor);
    let text = std::fs::read_to_string(folder.path().join("edge.jsonl")).unwrap();
    let mut slots = Slots::new();
    for line in text.lines() {
        let slot: Value = serde_json::from_str(line).unwrap();
        // Slots without a download say nothing about the sensors. What is zero is not written.
        if slot["sent_mbps"].as_f64().unwrap_or(0.0) > 1.0
            && let (Some(station), Some(sensor)) =
                (slot["station"].as_str(), slot["sensor"].as_str())
        {
            let sensors = slots.entry(station.to_owned()).or_default();
            sensors.push(sensor.to_owned());
        }
    }
    Some(slots)
}

fn print_results(folder: &Path, sensor: &str) {
    for index in 0.. {
        let read = |name: &str| {
            let text = std::fs::read_to_string(folder.join(format!("{name}{index}.json"))).ok()?;
            serde_json::from_str::<Value>(&text).ok()
        };
        let (Some(received), Some(ping)) = (read("received"), read("ping")) else {
            return;
        };
        let (goodput, p95) = (&received["goodput_mbps"], &ping["ping_ms"]["p95"]);
        eprintln!("{sensor}, station {index}: {goodput} Mbit/s, p95 ping {p95} ms");
    }
}

/// Asserts that `sensor` spoke for each of `stations` stations in most slots once it had begun to. The
/// slots before belong to the sensors that need nothing to learn: many on a busy machine.
fn assert_speaks(slots: &Slots, sensor: &str, stations: usize) {
    assert_eq!(slots.len(), stations, "{slots:?}");
    for sensors in slots.values() {
        let first = sensors.iter().position(|speaks| speaks == sensor);
        let after = &sensors[first.unwrap_or(sensors.len())..];
        let own = after.iter().filter(|speaks| *speaks == sensor).count();
        assert!(own > 10 && own * 2 > after.len(), "{slots:?}");
    }
}

#[test]
fn a_radio_near_the_access_point_speaks_for_its_stations() {
    for stations in [1, 3] {
        let Some(slots) = run("radio", &stations.to_string()) else {
            return;
        };
        assert_speaks(&slots, "block-ack", stations);
    }
}

#[test]
fn agents_beside_the_box_speak_for_their_stations() {
    for stations in [1, 3] {
        let Some(slots) = run("agents", &stations.to_string()) else {
            return;
        };
        assert_speaks(&slots, "agent", stations);
    }
}
