//! `airpace tool` over loopback.

use crate::shared::{airpace, assert_refused, folder, json_of};
use std::process::{Child, Command, Stdio};

/// A server that runs beside a test; `stop` ends it as a user would and returns what it printed.
struct Server(Child);

impl Server {
    fn start(line: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_airpace"));
        command
            .args(line.split_whitespace())
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        Self(command.spawn().unwrap())
    }

    fn stop(self) -> serde_json::Value {
        let pid = self.0.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-TERM", &pid])
                .status()
                .unwrap()
                .success()
        );
        let output = self.0.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

#[test]
fn bulk_tcp_reaches_its_receiver() {
    let server = Server::start("tool receive 127.0.0.1:47311");
    let sent = json_of(&airpace(
        "tool send 127.0.0.1:47311 --flows 2 --congestion cubic --for 300ms --json",
    ));
    let received = server.stop();
    assert_eq!(sent["flows"].as_array().unwrap().len(), 2);
    assert!(
        received["bytes"].as_u64().unwrap() > 0 && received["goodput_mbps"].as_f64().unwrap() > 0.0,
        "{received}"
    );
}

#[test]
fn pings_are_answered() {
    let server = Server::start("tool echo 127.0.0.1:47312");
    // The server may need a moment: some of the first pings may be lost.
    let pinged = json_of(&airpace(
        "tool ping 127.0.0.1:47312 --for 2s --interval 10ms",
    ));
    let answered = pinged["ping_ms"]["count"].as_u64().unwrap();
    assert!(
        answered > 0
            && answered + pinged["lost"].as_u64().unwrap() == pinged["sent"].as_u64().unwrap(),
        "{pinged}"
    );
    assert!(server.stop()["answered"].as_u64().unwrap() >= answered);
}

#[test]
fn responsiveness_is_measured_against_a_server_and_written_for_flent() {
    let folder = folder("flent");
    let file = folder.path().join("run.flent.gz");
    let server = Server::start("tool responsiveness-server 127.0.0.1:47313");
    let line = format!(
        "tool responsiveness 127.0.0.1:47313 --json --for 2s --connections 3 --flent {}",
        file.display()
    );
    let report = json_of(&airpace(&line));
    let shown = airpace("tool responsiveness 127.0.0.1:47313 --for 2s --connections 3");
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    let first = shown.stdout.lines().next().unwrap();
    let grades = ["poor", "fair", "good", "excellent"];
    let begins = |grade: &&str| first.starts_with(&format!("Responsiveness: {grade}, "));
    assert!(grades.iter().any(begins), "{first}");
    assert!(first.contains("round trips per minute"), "{first}");
    let served = server.stop();
    let grade = report["grade"].as_str().unwrap();
    assert!(grades.contains(&grade), "{report}");
    assert!(report["rpm"].as_f64().unwrap() > 0.0, "{report}");
    let qoo = report["qoo"].as_f64().unwrap();
    assert!((0.0..=100.0).contains(&qoo), "{report}");
    // The settings are a part of the result.
    assert_eq!(report["settings"]["most_connections"], 3, "{report}");
    assert_eq!(
        report["settings"]["requirement"]["latency"][2]["percentile"],
        99.0
    );
    assert!(served["answered"].as_u64().unwrap() > 0, "{served}");
    // The magic number of gzip.
    assert_eq!(std::fs::read(&file).unwrap()[..2], [0x1f, 0x8b]);
    assert_refused(
        "tool responsiveness 127.0.0.1:9 --flent run.json",
        "NAME.flent.gz",
    );
    assert_refused("tool responsiveness 127.0.0.1:9 --for 0s", "more than 0");
}

#[test]
fn tools_refuse_what_makes_no_sense() {
    assert_refused("tool ping 127.0.0.1:9 --interval=0ms", "more than 0");
    assert_refused("tool udp-send 127.0.0.1:9 --mbps 0", "above 0");
    assert_refused("tool send 127.0.0.1", "invalid socket address");
    assert_eq!(
        airpace("tool send 127.0.0.1:1 --congestion carrier-pigeon").code,
        Some(1)
    );
}
