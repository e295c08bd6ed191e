//! What the daemons log, in both forms.

use crate::shared::{Folder, airpace, folder, json};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What is run in namespaces of its own.
const SCRIPT: &str = include_str!("logs.sh");
/// The list of events.
const DOCUMENTED: &str = include_str!("../../../../docs/logs.md");

fn write(folder: &Folder, name: &str, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    // It holds a private key.
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// An agent's configuration that lets it log JSON.
fn agent(own: &Value, proxy: &Value, port: u16, name: &str) -> String {
    format!(
        "mode = \"sensor\"\nlog_format = \"json\"\nrealtime = false\ntelemetry = \"{name}.jsonl\"\n\
         proxy = \"127.0.0.1:{port}\"\nproxy_public_key = {}\nprivate_key = {}\n",
        proxy["public_key"], own["private_key"]
    )
}

/// Waits for the script, for two minutes at most.
#[expect(clippy::disallowed_methods, reason = "real processes take real time")]
fn wait(mut script: Child) -> Option<i32> {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(120) {
        if let Some(status) = script.try_wait().unwrap() {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    // All processes of its namespace end with it.
    script.kill().unwrap();
    script.wait().unwrap();
    None
}

/// The records of a log, of which each must be whole and listed in the documentation.
fn records(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut records = Vec::new();
    for line in text.lines() {
        let record: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        for key in ["time", "level", "event", "message"] {
            assert!(record[key].is_string(), "{key}: {line}");
        }
        let event = record["event"].as_str().unwrap();
        assert!(DOCUMENTED.contains(&format!("`{event}`")), "{line}");
        records.push(record);
    }
    records
}

fn find<'a>(records: &'a [Value], event: &str) -> &'a Value {
    let found = records.iter().find(|record| record["event"] == event);
    found.unwrap_or_else(|| panic!("no {event} in {records:?}"))
}

#[test]
fn handshakes_that_remain_unanswered_are_told_at_both_ends() {
    let folder = folder("logs");
    let (proxy, station, stranger) = (json("keygen"), json("keygen"), json("keygen"));
    write(
        &folder,
        "proxy.toml",
        &format!(
            "private_key = {}\nrealtime = false\ntelemetry = \"proxy.jsonl\"\n[tun]\naddress = \"10.77.0.1/24\"\n\
             [[station]]\nname = \"laptop\"\naddress = \"10.77.0.2\"\npublic_key = {}\n",
            proxy["private_key"], station["public_key"]
        ),
    );
    let agents = [
        ("stranger", agent(&stranger, &proxy, 51_900, "stranger")),
        ("wrong-key", agent(&station, &stranger, 51_900, "wrong-key")),
        ("wrong-port", agent(&station, &proxy, 51_901, "wrong-port")),
    ];
    for (name, text) in &agents {
        write(&folder, &format!("{name}.toml"), text);
    }
    let script = Command::new("unshare")
        .args(["-rnmpf", "--kill-child", "sh", "-c", SCRIPT, "sh"])
        .args([env!("CARGO_BIN_EXE_airpace").as_ref(), folder.path()])
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let code = wait(script);
    let log = |name: &str| -> PathBuf { folder.path().join(format!("{name}.log")) };
    let told = std::fs::read_to_string(log("proxy")).unwrap_or_default();
    if code == Some(77) || code == Some(1) && told.is_empty() {
        eprintln!("SKIPPED, NOTHING WAS TESTED: no namespaces or no TUN: {told}");
        return;
    }
    assert_eq!(code, Some(0), "{told}");

    let at_proxy = records(&log("proxy"));
    let unknown = find(&at_proxy, "handshake-unknown-key");
    assert_eq!(unknown["key"], stranger["public_key"]);
    assert_eq!(unknown["level"], "WARN");
    assert_eq!(find(&at_proxy, "handshake-for-other-key")["since_start"], 1);
    // Whatever strangers send, each cause is told once a minute.
    for event in ["handshake-unknown-key", "handshake-for-other-key"] {
        let count = at_proxy.iter().filter(|record| record["event"] == event);
        assert!(count.count() <= 2, "{at_proxy:?}");
    }
    find(&at_proxy, "proxy-ended");
    for (name, _) in &agents {
        let records = records(&log(name));
        let unanswered = find(&records, "handshake-unanswered");
        let message = unanswered["message"].as_str().unwrap();
        for reason in ["port", "firewall", "proxy_public_key", "public key"] {
            assert!(message.contains(reason), "{reason}: {message}");
        }
    }
}

#[test]
fn every_record_of_the_daemons_has_a_name_that_is_documented() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut sources = vec![root.join("airpace-cli/src/commands/emulate.rs")];
    let mut folders: Vec<PathBuf> = ["agent", "live", "net", "emu", "web"]
        .iter()
        .map(|name| root.join(format!("airpace-{name}/src")))
        .collect();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                sources.push(path);
            }
        }
    }
    let mut names = 0;
    for path in sources {
        let text = std::fs::read_to_string(&path).unwrap();
        for level in ["error", "warn", "info", "debug", "trace"] {
            for call in text.split(&format!("tracing::{level}!(")).skip(1) {
                let place = path.display();
                let name = call.trim_start().strip_prefix("event = \"");
                let name = name.unwrap_or_else(|| panic!("{place}: no event: {call:.60}"));
                let name = name.split('"').next().unwrap();
                let is_kebab = |c: char| c.is_ascii_lowercase() || c == '-';
                assert!(name.chars().all(is_kebab), "{place}: {name}");
                let row = format!("| `{name}` |");
                assert!(DOCUMENTED.contains(&row), "docs/logs.md lacks {name}");
                names += 1;
            }
        }
    }
    assert!(names > 60, "{names}");
}

#[test]
fn settings_of_the_log_are_documented_and_wrong_ones_are_told() {
    for line in ["--help", "agent --help"] {
        let help = airpace(line).stdout;
        assert!(help.contains("--log-format"), "{help}");
    }
    let help = airpace("--help").stdout;
    for part in ["AIRPACE_LOG ", "AIRPACE_LOG_FORMAT", "docs/logs.md"] {
        assert!(help.contains(part), "{part}: {help}");
    }
    for (variable, value) in [
        ("AIRPACE_LOG", "loud=very=much"),
        ("AIRPACE_LOG_FORMAT", "xml"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_airpace"))
            .env(variable, value)
            .args(["keygen"])
            .output()
            .unwrap();
        assert!(output.status.success());
        let log = String::from_utf8(output.stderr).unwrap();
        assert!(log.contains(value) && log.contains(variable), "{log}");
        assert!(log.ends_with(" [log-setting-ignored]\n"), "{log}");
    }
}

#[test]
fn failures_are_json_too_and_the_option_goes_before_the_environment() {
    let refused = |variable: &str, option: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_airpace"))
            .env("AIRPACE_LOG_FORMAT", variable)
            .args(option)
            .args(["proxy", "--config", "nowhere.toml"])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    for line in [
        refused("json", &[]),
        refused("human", &["--log-format", "json"]),
    ] {
        let record: Value = serde_json::from_str(&line).expect(&line);
        assert_eq!(record["event"], "failed");
        let message = record["message"].as_str().unwrap();
        assert!(message.contains("cannot read nowhere.toml"), "{message}");
    }
    let text = refused("json", &["--log-format", "human"]);
    assert!(text.starts_with("error: cannot read"), "{text}");
}
