//! Status, reload and exemption while packets pass.

use super::{edge, start, testbed, traffic};
use crate::shared::{airpace, folder, json};
use airpace_api::operator::EdgeRequest;
use airpace_lab::bench::edge::{EdgeProcess, EdgeTestbed, pause};
use core::time::Duration;
use nix::sys::signal::Signal;
use std::fs;
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

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
    // What the box has counted tells where they went.
    let counts = bed.ask(&EdgeRequest::Status).unwrap().status;
    let (sent, log) = (arrivals.sent, process.log());
    assert_eq!(lost, 0, "of {sent} packets\n{counts:?}\n{log}");
}

#[test]
fn a_station_whose_exemption_ends_has_not_come_anew() {
    let Some(bed) = testbed(1, 1500) else { return };
    let Some(process) = start(&bed, "") else {
        return;
    };
    drop(traffic(&bed));
    let joined = || process.log().matches(" joined station=").count();
    let before = joined();
    assert!(before > 0, "{}", process.log());
    for arguments in [
        &["exempt", "02:00:00:00:01:00"][..],
        &["exempt", "02:00:00:00:01:00", "--off"],
    ] {
        assert_eq!(edge(&bed, arguments).0, Some(0));
    }
    drop(traffic(&bed));
    assert_eq!(joined(), before, "{}", process.log());
    assert!(
        !process.log().contains(" left station="),
        "{}",
        process.log()
    );
    assert!(!bed.status().unwrap()[0].1.exempt);
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

/// Waits until the box has logged `event`, for ten seconds.
fn logs(process: &EdgeProcess, event: &str) -> bool {
    (0..200).any(|_| {
        pause(Duration::from_millis(50));
        process.log().contains(event)
    })
}

#[test]
fn a_telemetry_file_that_was_moved_away_is_made_again_after_sighup() {
    let Some(bed) = testbed(1, 1500) else { return };
    let folder = folder("edge-telemetry");
    let (file, moved) = (folder.path().join("rows"), folder.path().join("moved"));
    let settings = format!(
        "log_format = \"json\"\ntelemetry = \"{}\"\n",
        file.display()
    );
    let Some(process) = start(&bed, &settings) else {
        return;
    };
    fs::rename(&file, &moved).unwrap();
    // The configuration is refused, and the file is opened again all the same.
    fs::write(process.config(), "no_such_key = 1\n").unwrap();
    process.signal(Signal::SIGHUP).unwrap();
    let log = || process.log();
    assert!(logs(&process, "\"configuration-refused\""), "{}", log());
    assert!(logs(&process, "\"telemetry-reopened\""), "{}", log());
    assert!(file.exists());
}

#[test]
fn refused_reports_are_told_to_the_operator_of_the_box() {
    let Some(bed) = testbed(1, 1500) else { return };
    let folder = folder("edge-reports");
    let key = folder.path().join("box.key");
    let made = airpace(&format!("keygen --out {}", key.display()));
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let (own, agent) = (made.stdout.trim().to_owned(), json("keygen"));
    bed.middle.netlink().unwrap().set_up("lo").unwrap();
    // Nothing ever comes from this station through a port of an access point.
    let settings = format!(
        "log_format = \"json\"\n[agents]\nlisten = \"127.0.0.1:51900\"\nprivate_key_file = \"{}\"\n\
         [[station]]\nmac = \"02:00:00:00:77:00\"\npublic_key = {}\n",
        key.display(),
        agent["public_key"]
    );
    let file = folder.path().join("agent.toml");
    fs::write(
        &file,
        format!(
            "mode = \"sensor\"\nrealtime = false\nproxy = \"127.0.0.1:51900\"\nproxy_public_key = \"{own}\"\nprivate_key = {}\n",
            agent["private_key"]
        ),
    )
    .unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let Some(process) = start(&bed, &settings) else {
        return;
    };
    let mut command = Command::new(super::program());
    command.args(["agent", "--config"]).arg(&file);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut agent = bed.middle.spawn(command).unwrap();
    let is_told = logs(&process, "\"reports-refused\"");
    let refused = || {
        let reply = bed.ask(&EdgeRequest::Status).unwrap();
        reply.status.unwrap().reports_refused
    };
    assert!(refused() > 0, "unheard reports count");
    agent.kill().unwrap();
    agent.wait().unwrap();
    let log = process.log();
    assert!(is_told, "{log}");
    let line = log.lines().find(|line| line.contains("reports-refused"));
    let record: serde_json::Value = serde_json::from_str(line.unwrap()).unwrap();
    assert!(record["unheard"].as_u64().unwrap() > 0, "{record}");
    assert_eq!(record["malformed"], 0, "{record}");
    let before = refused();
    bed.middle
        .run(|| UdpSocket::bind("127.0.0.1:0")?.send_to(&[7; 72], "127.0.0.1:51900"))
        .unwrap()
        .unwrap();
    super::eventually("forged datagrams count", || refused() > before);
}
