//! The in-line box with a radio near the access point, with agents on the stations, and with nothing but a
//! station that sleeps or uses QUIC, behind the emulated access point.

use crate::shared::{airpace_words, folder};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Length of the downloads, seconds.
const SECONDS: &str = "8";
/// The same of one during which the station sleeps, and what it does meanwhile.
const SECONDS_WITH_SLEEP: &str = "18";
const SLEEP: &str = "6s 0 sleep 3\n11s 0 wake\n";

/// One cell at a time: two of them would be late on a machine of two cores.
static ALONE: Mutex<()> = Mutex::new(());

/// The slots of each station: the sensor that spoke for it, and what it was sent, Mbit/s.
type Slots = BTreeMap<String, Vec<(String, f64)>>;

/// Runs a download to each of `stations` stations, and prints goodput and ping. Returns the slots of the
/// download; `None`, loudly, where the system does not permit the set-up.
fn run(sensor: &str, stations: &str, seconds: &str, options: &[&str]) -> Option<Slots> {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = folder(&format!("remote-{sensor}-{stations}"));
    let place = folder.path().to_str().unwrap();
    std::fs::write(folder.path().join("quic.py"), include_str!("quic.py")).unwrap();
    let cell = ["--layer", "ethernet", "--stations", stations];
    let script = include_str!("remote_sensors.sh");
    let program = env!("CARGO_BIN_EXE_airpace");
    let command = [
        "--", "sh", "-c", script, "sh", program, place, sensor, seconds,
    ];
    let run = airpace_words(&[&["emulate"][..], &cell, options, &command].concat());
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
        // What is zero is not written.
        let sent_mbps = slot["sent_mbps"].as_f64().unwrap_or(0.0);
        if let (Some(station), Some(sensor)) = (slot["station"].as_str(), slot["sensor"].as_str()) {
            let of_station = slots.entry(station.to_owned()).or_default();
            of_station.push((sensor.to_owned(), sent_mbps));
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
        // Of QUIC there is only the figure.
        let goodput = received.get("goodput_mbps").unwrap_or(&received);
        let p95 = &ping["ping_ms"]["p95"];
        eprintln!("{sensor}, station {index}: {goodput} Mbit/s, p95 ping {p95} ms");
    }
}

/// Asserts that `sensor` spoke for each of `stations` stations in most slots once it had begun to. The
/// slots before belong to the sensors that need nothing to learn: many on a busy machine.
fn assert_speaks(slots: &Slots, sensor: &str, stations: usize) {
    assert_eq!(slots.len(), stations, "{slots:?}");
    for slots in slots.values() {
        // Slots without a download say nothing about the sensors.
        let sensors: Vec<&str> = slots
            .iter()
            .filter(|slot| slot.1 > 1.0)
            .map(|slot| slot.0.as_str())
            .collect();
        let first = sensors.iter().position(|speaks| *speaks == sensor);
        let after = &sensors[first.unwrap_or(sensors.len())..];
        let own = after.iter().filter(|speaks| **speaks == sensor).count();
        assert!(own > 10 && own * 2 > after.len(), "{slots:?}");
    }
}

#[test]
fn a_radio_near_the_access_point_speaks_for_its_stations() {
    for stations in [1, 3] {
        let Some(slots) = run("radio", &stations.to_string(), SECONDS, &["--air"]) else {
            return;
        };
        assert_speaks(&slots, "block-ack", stations);
    }
}

#[test]
fn agents_beside_the_box_speak_for_their_stations() {
    for stations in [1, 3] {
        let Some(slots) = run("agents", &stations.to_string(), SECONDS, &[]) else {
            return;
        };
        assert_speaks(&slots, "agent", stations);
    }
}

#[test]
fn a_station_that_sleeps_during_a_download_has_its_rate_again_when_it_wakes() {
    let folder = folder("sleep");
    let trace = folder.path().join("sleep.trace");
    std::fs::write(&trace, SLEEP).unwrap();
    let options = ["--trace", trace.to_str().unwrap()];
    let Some(slots) = run("nothing", "1", SECONDS_WITH_SLEEP, &options) else {
        return;
    };
    let sent: Vec<f64> = slots.values().flatten().map(|slot| slot.1).collect();
    let first = sent.iter().position(|mbps| *mbps > 1.0).unwrap();
    let last = sent.iter().rposition(|mbps| *mbps > 1.0).unwrap();
    let seconds: Vec<f64> = sent[first..=last]
        .chunks(10)
        .map(|slots| slots.iter().sum::<f64>() / slots.len() as f64)
        .collect();
    eprintln!("sent in each second, Mbit/s: {seconds:.0?}");
    let most = seconds.iter().copied().fold(0.0, f64::max);
    let least = seconds[1..seconds.len() - 3]
        .iter()
        .copied()
        .fold(f64::MAX, f64::min);
    assert!(least < 0.3 * most, "it did not sleep: {seconds:.0?}");
    // When the time between beacons was taken for a round, it had a hundredth for twenty seconds.
    let awake = seconds[seconds.len() - 3..].iter().sum::<f64>() / 3.0;
    assert!(awake > 0.3 * most, "{seconds:.0?}");
}

#[test]
fn a_download_over_quic_is_noticed() {
    let Some(slots) = run("quic", "1", SECONDS, &["--mcs", "1"]) else {
        return;
    };
    let slots: Vec<&(String, f64)> = slots.values().flatten().collect();
    let of = |sensor: &str| slots.iter().filter(|slot| slot.0 == sensor).count();
    let (waits, levels) = (of("waiting-time"), of("ack-burst"));
    let loaded = slots.iter().filter(|slot| slot.1 > 1.0).count();
    eprintln!(
        "levels were known in {levels} slots and waits alone in {waits}, of {loaded} with traffic"
    );
    // Before the spin bit was read and answers were counted, nothing was known of a station that uses nothing
    // but QUIC.
    let told = waits + levels;
    assert!(told > 10, "{slots:?}");
}
