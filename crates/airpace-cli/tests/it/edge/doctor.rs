//! `airpace doctor` between the namespaces of the test bed.

use super::{eventually, program, snapshot, start, testbed};
use crate::shared::folder;
use airpace_lab::bench::edge::EdgeTestbed;
use serde_json::Value;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

/// Runs `airpace doctor --json` in the box.
fn doctor(bed: &EdgeTestbed, arguments: &[&str]) -> (Option<i32>, Value) {
    let mut command = Command::new(program());
    command.args(["doctor", "--json"]).args(arguments);
    let output = bed.middle.run(|| command.output()).unwrap().unwrap();
    let report = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    (output.status.code(), report)
}

fn check<'a>(report: &'a Value, name: &str) -> &'a Value {
    let checks = report["checks"].as_array().unwrap();
    let found = checks.iter().find(|check| check["name"] == name);
    found.unwrap_or_else(|| panic!("no check `{name}`: {report:#}"))
}

#[test]
fn every_obstacle_is_told_with_its_remedy_and_nothing_is_changed() {
    let Some(bed) = testbed(1, 1500) else { return };
    let before = snapshot(&bed);
    let ports = ["--wan", "wan", "--ap", "ap0"];
    let (_, report) = doctor(&bed, &ports);
    for name in [
        "kernel",
        "rights",
        "locked memory",
        "bridge",
        "clock",
        "wan: driver",
        "ap0: bridging",
    ] {
        check(&report, name);
    }
    assert_eq!(
        check(&report, "wan: driver")["found"]
            .as_str()
            .unwrap()
            .split(',')
            .next(),
        Some("veth")
    );
    assert_eq!(check(&report, "ap0: bridging")["ok"], true);

    let (code, report) = doctor(&bed, &["--wan", "wan", "--ap", "eth9"]);
    let missing = check(&report, "eth9");
    assert_eq!(
        (code, &missing["ok"], &report["ok"]),
        (Some(1), &false.into(), &false.into())
    );
    assert!(missing["remedy"].as_str().unwrap().contains("ap0"));
    assert_eq!(snapshot(&bed), before);

    let mut link = bed.middle.netlink().unwrap();
    link.add_address("ap0", "10.1.2.3/24".parse().unwrap())
        .unwrap();
    link.set_mtu("wan", 9000).unwrap();
    let (code, report) = doctor(&bed, &ports);
    assert_eq!(code, Some(1));
    let remedy = |name| check(&report, name)["remedy"].as_str().unwrap().to_owned();
    assert!(remedy("ap0: bridging").contains("ip address add 10.1.2.3/PREFIX dev br0"));
    assert_eq!(remedy("MTU of the ports"), "ip link set wan mtu 1500");
    assert!(remedy("wan: MTU").contains("unpaced"));
}

#[test]
fn a_port_that_is_down_is_missing_until_it_is_switched_on() {
    let Some(bed) = testbed(1, 1500) else { return };
    let ports = ["--wan", "wan", "--ap", "ap0"];
    let mut link = bed.middle.netlink().unwrap();
    link.set_down("ap0").unwrap();
    let (code, report) = doctor(&bed, &ports);
    let carrier = check(&report, "ap0: carrier");
    assert_eq!((code, &carrier["ok"]), (Some(1), &false.into()));
    assert_eq!(carrier["remedy"], "ip link set ap0 up");
    link.set_up("ap0").unwrap();
    eventually("the port has a carrier", || {
        let (_, report) = doctor(&bed, &ports);
        check(&report, "ap0: carrier")["ok"] == true
    });
}

#[test]
fn without_a_radio_one_line_speaks_of_wifi() {
    let Some(bed) = testbed(1, 1500) else { return };
    // A machine with a radio in this namespace has more to say.
    let (_, report) = doctor(&bed, &["--wan", "wan", "--ap", "ap0"]);
    let lines = |report: &Value| {
        let checks = report["checks"].as_array().unwrap().clone();
        let mut text = checks.iter().map(|check| check.to_string().to_lowercase());
        let is_about = |line: &String| line.contains("wi-fi") || line.contains("iw phy");
        text.by_ref().filter(is_about).count()
    };
    assert_eq!(lines(&report), 1, "{report:#}");
    let config = std::env::temp_dir().join(format!("airpace-doctor-{}.toml", std::process::id()));
    std::fs::write(
        &config,
        "wan = \"wan\"\n[[ap]]\nports = [\"ap0\"]\nradio = \"air0\"\n",
    )
    .unwrap();
    let (code, report) = doctor(&bed, &[config.to_str().unwrap()]);
    std::fs::remove_file(&config).unwrap();
    assert_eq!(code, Some(1));
    assert_eq!(lines(&report), 1, "{report:#}");
    let remedy = &check(&report, "air0: monitor")["remedy"];
    assert!(!remedy.as_str().unwrap().contains("iw phy"), "{remedy}");
}

#[test]
fn the_page_without_a_token_and_with_one_that_does_not_serve_is_told() {
    let Some(bed) = testbed(1, 1500) else { return };
    let folder = folder("doctor-token");
    let config = folder.path().join("edge.toml");
    let token = folder.path().join("web.token");
    let examine = |web: &str| {
        let text = format!("wan = \"wan\"\n[[ap]]\nports = [\"ap0\"]\n{web}");
        fs::write(&config, text).unwrap();
        let (_, report) = doctor(&bed, &[config.to_str().unwrap()]);
        let plan = check(&report, "airpace edge")["ok"].as_bool().unwrap();
        (check(&report, "web: token").clone(), plan)
    };
    let text = |check: &Value, key: &str| check[key].as_str().unwrap_or_default().to_owned();
    let write = |token_text: &str, mode: u32| {
        fs::write(&token, token_text).unwrap();
        fs::set_permissions(&token, Permissions::from_mode(mode)).unwrap();
    };
    let (none, _) = examine("[web]\n");
    assert_eq!(none["ok"], true);
    assert!(text(&none, "found").contains("changes nothing"), "{none}");
    assert!(text(&none, "remedy").contains("token_file = "), "{none}");

    // A relative path starts in the folder of the configuration.
    let with_token = "[web]\ntoken_file = \"web.token\"\n";
    let refused = |found: &str, remedy: &str| {
        let (check, plan) = examine(with_token);
        assert_eq!((&check["ok"], plan), (&false.into(), false), "{check}");
        assert!(text(&check, "found").contains(found), "{check}");
        assert!(text(&check, "found").contains("does not start"), "{check}");
        assert!(text(&check, "remedy").contains(remedy), "{check}");
    };
    refused("No such file", "makes a token");
    write("0123456789abcdef\n", 0o644);
    refused("mode 644", "chmod 600");
    write("short\n", 0o600);
    refused("5 characters, 16 to", "makes a token");
    write("0123456789abcdef\n", 0o600);
    let (good, _) = examine(with_token);
    assert_eq!(good["ok"], true, "{good}");
    let (open, _) = examine("[web]\nlisten = \"0.0.0.0:8080\"\ntoken_file = \"web.token\"\n");
    let advice = text(&open, "remedy");
    assert!(
        advice.contains("on the wire") || advice.contains("chown airpace:"),
        "{open}"
    );
    // Without a page nothing is said of tokens.
    fs::write(&config, "wan = \"wan\"\n[[ap]]\nports = [\"ap0\"]\n").unwrap();
    let (_, report) = doctor(&bed, &[config.to_str().unwrap()]);
    assert!(!report.to_string().contains("token"), "{report:#}");
}

#[test]
fn a_running_box_is_recognised_and_nothing_is_missing() {
    let Some(bed) = testbed(1, 1500) else { return };
    let Some(process) = start(&bed, "") else {
        return;
    };
    let config = process.config();
    let (code, report) = doctor(&bed, &[config.to_str().unwrap()]);
    assert_eq!((code, &report["ok"]), (Some(0), &true.into()), "{report:#}");
    let found = check(&report, "airpace edge")["found"].as_str().unwrap();
    assert_eq!(found, "runs on wan");
    assert!(
        check(&report, "wan: XDP")["found"]
            .as_str()
            .unwrap()
            .contains("of the box that runs")
    );
    assert!(process.log().contains("in-line"));
}
