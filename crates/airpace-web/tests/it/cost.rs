//! What a scrape and a look at the page cost.

use airpace_api::operator::{ApStatus, EdgeEvent, EdgeStationStatus, EdgeStatus};
use core::time::Duration;
use nix::time::{ClockId, clock_gettime};
use std::sync::Arc;

/// CPU time of this thread.
fn cpu_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)
        .unwrap()
        .into()
}

fn status(stations: usize) -> EdgeStatus {
    let station = |n: usize| {
        EdgeStationStatus {
        mac: format!("02:00:00:00:00:{n:02x}"),
        name: Some(format!("station-{n}")),
        rate_mbps: Some(12.3),
        mean_sent_mbps: 11.1,
        mean_goodput_mbps: Some(10.9),
        uplink_mbps: Some(0.7),
        wait_p50_ms: Some(2.1),
        wait_p95_ms: Some(7.7),
        share: Some(0.01),
        sensor: Some("block-ack".to_owned()),
        limited_by: "fair-share".to_owned(),
        reason: "paced to its fair share of the air: it gets 11 Mbit/s of the 12 Mbit/s it may have; the air is shared with 99 other stations".to_owned(),
        mode: "controlled".to_owned(),
        ..EdgeStationStatus::default()
    }
    };
    EdgeStatus {
        access_points: vec![ApStatus {
            stations: (0..stations).map(station).collect(),
            ..ApStatus::default()
        }],
        events: vec![EdgeEvent::default(); 256],
        ..EdgeStatus::default()
    }
}

#[test]
fn metrics_and_status_of_100_stations_cost_little() {
    const ROUNDS: u32 = 20;
    let status = Arc::new(status(100));
    let began = cpu_time();
    let mut bytes = 0;
    for _ in 0..ROUNDS {
        bytes = airpace_web::metrics_text(&status).len();
    }
    let metrics = (cpu_time() - began) / ROUNDS;
    let began = cpu_time();
    let mut json_bytes = 0;
    for _ in 0..ROUNDS {
        json_bytes = status.to_json().to_string().len();
    }
    let json = (cpu_time() - began) / ROUNDS;
    eprintln!(
        "100 stations: metrics {metrics:?} for {bytes} bytes, status {json:?} for {json_bytes} bytes"
    );
    // A scrape each 15 s and a look at the page each 2 s are 2 % of a core with 40 ms each at most;
    // this is an unoptimised build on a busy machine.
    assert!(metrics < Duration::from_millis(100), "{metrics:?}");
    assert!(json < Duration::from_millis(40), "{json:?}");
}
