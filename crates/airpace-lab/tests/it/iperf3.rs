//! iperf3 through the emulated access point.

use crate::namespaces_allowed;
use airpace_lab::cell::{Cell, closed};
use airpace_net::netns::Namespace;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// Starts iperf3 in a namespace. The child ends with the thread that starts it, so the caller waits
/// for it.
fn iperf3(namespace: &Namespace, arguments: &[&str]) -> std::io::Result<std::process::Child> {
    let mut command = Command::new("iperf3");
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    namespace.spawn(command)
}

fn mbps(client: &Output) -> f64 {
    let report: serde_json::Value = serde_json::from_slice(&client.stdout).unwrap();
    report["end"]["sum_received"]["bits_per_second"]
        .as_f64()
        .unwrap_or_else(|| panic!("{report:#}"))
        / 1e6
}

#[test]
fn iperf3_works_through_the_emulated_access_point() {
    if Command::new("iperf3").arg("--version").output().is_err() {
        println!("SKIPPED: iperf3 is not installed (`make test` installs it where it may)");
        return;
    }
    if !namespaces_allowed() {
        return;
    }
    let cell = Cell::start(closed(&[9], 2_500, 1).unwrap(), Duration::from_millis(100)).unwrap();
    let station = cell.station_address(0).to_string();
    let server = iperf3(
        cell.station(0),
        &["--server", "--one-off", "--bind", &station],
    )
    .unwrap();
    // The client of iperf3 cannot wait for its server.
    let client = (0..50).find_map(|_| {
        std::thread::sleep(Duration::from_millis(100));
        let client = iperf3(
            cell.server(),
            &["--client", &station, "--time", "2", "--json"],
        )
        .unwrap();
        Some(client.wait_with_output().unwrap()).filter(|output| output.status.success())
    });
    let rate = mbps(&client.expect("iperf3 connects within 5 s"));
    assert!(server.wait_with_output().unwrap().status.success());
    // The PHY rate is 390 Mbit/s. A busy machine may stay far below it.
    assert!(rate > 20.0 && rate < 390.0, "{rate} Mbit/s");
    println!("iperf3: {rate:.1} Mbit/s");
    cell.finish().unwrap();
}
