//! Status, reload and exemption while packets pass.

use super::{edge, start, testbed, traffic};
use airpace_lab::bench::edge::{EdgeProcess, EdgeTestbed, pause};
use core::time::Duration;
use nix::sys::signal::Signal;
use std::fs;

const FIXED: &str = "[control]\nlaw = \"fixed\"\nfixed_rate = \"400 Mbit/s\"\n";
const STATION: &str = "[[station]]\nmac = \"02:00:00:00:01:00\"\n";

fn rewrite(bed: &EdgeTestbed, process: &EdgeProcess, settings: &str, stations: &str) {
    let text = bed.configuration(&format!("{}{settings}", super::NATIVE)) + stations;
    fs::write(process.config(), text).unwrap();
}

#[test]
fn reloading_and_exempting_lose_no_packet() {
    let Some(bed) = testbed(1, 1500) else { return };
    let Some(process) = start(&bed, FIXED) else {
        return;
    };
    let traffic = traffic(&bed);
    let run = |arguments: &[&str]| {
        let (code, text) = edge(&bed, arguments);
        assert_eq!(code, Some(0), "{text}");
    };
    let wait = || pause(Duration::from_millis(200));
    let arrivals = traffic
        .run(Duration::from_secs(3), Some(0.05), || {
            rewrite(
                &bed,
                &process,
                FIXED,
                &format!("{STATION}name = \"desk\"\n"),
            );
            run(&["reload"]);
            wait();
            run(&["exempt", "02:00:00:00:01:00"]);
            wait();
            assert!(bed.status()?[0].1.exempt);
            run(&["exempt", "02:00:00:00:01:00", "--off"]);
            wait();
            rewrite(
                &bed,
                &process,
                "leave_after = \"9 s\"\n",
                &format!("{STATION}exempt = true\n"),
            );
            process.signal(Signal::SIGHUP)?;
            wait();
            assert!(bed.status()?[0].1.exempt, "{}", process.log());
            rewrite(&bed, &process, FIXED, "");
            run(&["reload", "--wan", "wan"]);
            Ok(())
        })
        .unwrap();
    let lost = arrivals.sent - arrivals.received;
    assert_eq!(lost, 0, "of {} packets\n{}", arrivals.sent, process.log());
}

#[test]
fn what_cannot_be_reloaded_is_refused_and_the_old_configuration_stays() {
    let Some(bed) = testbed(1, 1500) else { return };
    let Some(process) = start(&bed, FIXED) else {
        return;
    };
    drop(traffic(&bed));
    rewrite(
        &bed,
        &process,
        FIXED,
        &format!("{STATION}name = \"desk\"\n"),
    );
    assert_eq!(edge(&bed, &["reload"]).0, Some(0));
    let refusals = [
        ("[queue]\nlimit = \"77 packets\"\n", "`queue` cannot change"),
        ("bridge = \"br7\"\n", "`bridge` cannot change"),
        ("leave_after = \"fortnight\"\n", "fortnight"),
        ("no_such_key = 1\n", "no_such_key"),
    ];
    for (settings, advice) in refusals {
        rewrite(&bed, &process, settings, "");
        let (code, text) = edge(&bed, &["reload"]);
        assert!(code == Some(1) && text.contains(advice), "{text}");
        let name = bed.status().unwrap()[0].1.name.clone();
        assert_eq!(name.as_deref(), Some("desk"), "the old configuration stays");
    }
}

#[test]
fn status_names_access_points_stations_rates_and_sensors() {
    let Some(bed) = testbed(2, 1500) else { return };
    let Some(_process) = start(&bed, "dry_run = true\n") else {
        return;
    };
    drop(traffic(&bed));
    let (code, text) = edge(&bed, &["status"]);
    assert_eq!(code, Some(0), "{text}");
    for word in [
        "dry run",
        "ap0 (ap0)",
        "ap1 (ap1)",
        "02:00:00:00:01:00",
        "10.9.0.10",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let (_, json) = edge(&bed, &["status", "--json"]);
    let status: serde_json::Value = serde_json::from_str(&json).unwrap();
    let station = &status["access_points"][0]["stations"][0];
    for key in [
        "mac",
        "mode",
        "rate_mbps",
        "goodput_mbps",
        "level",
        "wait_p50_ms",
        "wait_p95_ms",
        "sensor",
        "confidence",
        "exempt",
        "corrected_reports",
        "surplus_reports",
    ] {
        assert!(station.get(key).is_some(), "{key}: {station}");
    }
    let (code, text) = edge(&bed, &["exempt", "02:00:00:00:99:99"]);
    assert!(code == Some(1) && text.contains("has been heard"), "{text}");
    let (code, text) = edge(&bed, &["exempt", "not-an-address"]);
    assert!(code == Some(2) && text.contains("six bytes"), "{text}");
}

#[test]
fn requests_without_a_box_say_that_none_runs() {
    let Some(bed) = testbed(1, 1500) else { return };
    for arguments in [["status", "--json"], ["status", "--wan=wan"]] {
        let (code, text) = edge(&bed, &arguments);
        assert!(
            code == Some(1) && text.contains("no airpace edge runs"),
            "{text}"
        );
    }
}
