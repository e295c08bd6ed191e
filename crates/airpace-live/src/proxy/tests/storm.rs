//! One agent of a thousand sends a storm of reports.

use super::{PacketProxy, config, packet, report_bytes};
use crate::proxy::Output;
use ::core::net::{IpAddr, Ipv4Addr};
use ::core::time::Duration;
use airpace_api::config::ProxyConfig;
use airpace_units::Time;
use std::time::Instant;

const STATIONS: usize = 1000;
/// Reports of the storm per second.
const STORM: u64 = 2000;

fn thousand() -> ProxyConfig {
    let mut config = config(1);
    let first = config.station.remove(0);
    for n in 0..STATIONS {
        let mut station = first.clone();
        station.name = format!("station{n}");
        let [high, low] = u16::try_from(n + 2).expect("they are few").to_be_bytes();
        station.address = IpAddr::V4(Ipv4Addr::new(10, 77, high, low));
        config.station.push(station);
    }
    config
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the test prints what the storm costs"
)]
fn a_storm_of_reports_from_one_agent_loses_no_ping_and_floods_no_telemetry() {
    let config = thousand();
    let mut proxy = PacketProxy::new(&config, Duration::ZERO, [3; 16]).expect("valid");
    for station in 0..STATIONS {
        proxy.set_connected(Time::ZERO, station, true);
    }
    let (mut pings, mut passed, mut bytes) = (0, 0, 0);
    let mut longest = Duration::ZERO;
    let begin = Instant::now();
    let seconds = 3;
    for step in 0..seconds * STORM {
        let now = Time::from_nanos(step * 1_000_000_000 / STORM);
        let begin = Instant::now();
        // Every agent reports ten times a second; the first one does at every step, of half a slot.
        let mut report = airpace_core::wire::report::decode(
            airpace_units::StationId(0),
            &report_bytes(0, step, 2, 10.0),
        )
        .expect("valid");
        report.length = Duration::from_millis(50);
        proxy.on_report(now, 0, &airpace_core::wire::report::encode(&report));
        for station in (1..STATIONS).filter(|station| (*station as u64) % 200 == step % 200) {
            let bytes = report_bytes(station as u32, step / 200, 2, 10.0);
            proxy.on_report(now, station, &bytes);
        }
        if step % 200 == 0 {
            proxy.on_packet(now, packet(now, 7, 9, 84));
            pings += 1;
        }
        proxy.handle_timeout(now);
        while let Some(output) = proxy.poll(now) {
            if let Output::Packet { packet, .. } = output {
                passed += 1;
                proxy.pool().put(packet);
            }
        }
        while let Some(record) = proxy.poll_record() {
            bytes += serde_json::to_vec(&record).expect("it is plain").len() + 1;
        }
        longest = longest.max(begin.elapsed());
    }
    println!(
        "{passed} of {pings} pings, {} kB/s of telemetry, {:.1} % of one core, longest step {longest:?}",
        bytes as u64 / 1000 / seconds,
        100.0 * begin.elapsed().as_secs_f64() / seconds as f64,
    );
    assert!(pings - passed <= 1, "{passed} of {pings}");
    assert!(bytes as u64 <= seconds * 1_000_000, "{bytes} bytes");
    assert!(proxy.counts().surplus_reports > seconds * STORM * 9 / 10);
}
