//! Stations that upload as much as the medium takes, beside downloads.

use super::*;

const CELL: &str = r#"
slot = "100 ms"
[[node]]
name = "server"
kind = "host"
[[node]]
kind = "ap"
[[node]]
kind = "station"
count = 4
rate = ["mcs 9", "mcs 7", "mcs 5", "mcs 3"]
[[wire]]
a = "server"
b = "ap"
delay = "1 ms"
[[flow]]
name = "upload"
kind = "tcp"
from = "station-1"
to = "server"
[[flow]]
name = "upload2"
kind = "tcp"
from = "station-3"
to = "server"
[[flow]]
kind = "tcp"
name = "down"
[[flow]]
kind = "ping"
interval = "100 ms"
[[proxy]]
at = "ap"
"#;

#[test]
fn an_upload_counts_towards_the_airtime_of_its_station() {
    // Five seconds of single runs differ by a quarter, so it is the mean over three seeds that is
    // judged.
    let (mut down, mut own_down, mut upload, mut p95_ms) = (0.0, 0.0, 0.0, 0.0);
    for seed in ["seed=1", "seed=2", "seed=3"] {
        let summary = finished(&loaded(CELL, &["warm_up=5 s", "duration=5 s", seed])).summary;
        for flow in &summary.flows {
            match flow.name.as_str() {
                "down@station-2" => down += flow.goodput_mbps / 3.0,
                "down@station-1" => own_down += flow.goodput_mbps / 3.0,
                "upload" => upload += flow.goodput_mbps / 3.0,
                _ => {}
            }
            if flow.kind == "ping" {
                p95_ms += flow.rtt_ms.expect("pings were answered").p95 / 12.0;
            }
        }
    }
    // Without that, the acknowledgements of the uploads take the access point's frames: 26 Mbit/s
    // to the station that does not upload, and pings of 135 ms.
    assert!(down > 30.0, "{down} Mbit/s");
    // The station's own download shares its airtime with the upload. It had 1 to 2 Mbit/s, and the upload 75,
    // when acknowledgements cost only their own bytes.
    assert!(upload > 35.0, "{upload} Mbit/s");
    assert!(own_down > 0.75 * upload, "{own_down} of {upload} Mbit/s");
    assert!(p95_ms < 40.0, "{p95_ms} ms");
}

#[test]
fn a_latency_is_met_beside_uploads() {
    let text = format!("{CELL}latency = \"10 ms\"\n");
    // Fifty pings decide on a p95, so it is the mean over three seeds that is judged.
    let mut sums_ms = [0.0; 4];
    for seed in ["seed=1", "seed=2", "seed=3"] {
        let summary = finished(&loaded(&text, &["warm_up=5 s", "duration=5 s", seed])).summary;
        let pings = summary.flows.iter().filter(|flow| flow.kind == "ping");
        for (ping, sum_ms) in pings.zip(&mut sums_ms) {
            *sum_ms += ping.rtt_ms.expect("pings were answered").p95;
        }
    }
    for sum_ms in sums_ms {
        assert!(sum_ms / 3.0 < 30.0, "{sums_ms:?} ms in three runs");
    }
}
