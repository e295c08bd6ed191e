//! `airpace proxy` and `airpace agent`: their configuration, and how they end.

use crate::shared::{Folder, airpace, assert_refused, assert_refused_at_line, folder, json};
use std::fs::{OpenOptions, Permissions};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const STATION: &str = "[[station]]\nname = \"laptop\"\naddress = \"10.77.0.2\"";

/// A file with a proxy's configuration and new keys, changed by `edit`.
fn proxy_file(folder: &Folder, edit: impl Fn(String) -> String) -> PathBuf {
    let (own, station) = (json("keygen"), json("keygen"));
    let text = format!(
        "private_key = {}\n[tun]\naddress = \"10.77.0.1/24\"\n[control]\ndelay_target = \"20 ms\"\n{STATION}\npublic_key = {}\n",
        own["private_key"], station["public_key"]
    );
    let path = folder.path().join("proxy.toml");
    std::fs::write(&path, edit(text)).unwrap();
    // It holds a private key.
    std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    path
}

/// A file with an agent's configuration and new keys, changed by `edit`.
fn agent_file(folder: &Folder, edit: impl Fn(String) -> String) -> PathBuf {
    let (own, proxy) = (json("keygen"), json("keygen"));
    let text = format!(
        "proxy = \"192.0.2.1:51900\"\nproxy_public_key = {}\nprivate_key = {}\n[tun]\naddress = \"10.77.0.2/24\"\n",
        proxy["public_key"], own["private_key"]
    );
    let path = folder.path().join("agent.toml");
    std::fs::write(&path, edit(text)).unwrap();
    // It holds a private key.
    std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    path
}

#[test]
fn the_printed_configuration_has_every_default_and_is_one() {
    let folder = folder("print");
    for (verb, path) in [
        ("proxy", proxy_file(&folder, |t| t)),
        ("agent", agent_file(&folder, |t| t)),
    ] {
        let printed = airpace(&format!(
            "{verb} --config {} --print-config",
            path.display()
        ));
        assert_eq!(printed.code, Some(0), "{}", printed.stderr);
        assert!(
            printed.stdout.contains("slot = \"100 ms\""),
            "{}",
            printed.stdout
        );
        assert!(
            printed.stdout.contains("target = \"10 ms\""),
            "{}",
            printed.stdout
        );
        std::fs::write(&path, &printed.stdout).unwrap();
        let again = airpace(&format!(
            "{verb} --config {} --print-config",
            path.display()
        ));
        assert_eq!(again.stdout, printed.stdout);
    }
}

#[test]
fn options_give_the_ports_that_the_file_of_a_box_leaves_out_or_other_ones() {
    let folder = folder("ports");
    let path = folder.path().join("edge.toml");
    let print = |text: &str, options: &str| {
        std::fs::write(&path, text).unwrap();
        airpace(&format!(
            "edge --config {} --print-config {options}",
            path.display()
        ))
    };
    let without = print("dry_run = true\n", "--wan lan0 --ap ap0 --ap ap1");
    assert_eq!(without.code, Some(0), "{}", without.stderr);
    let whole = print(
        "wan = \"x0\"\ndry_run = true\n[[ap]]\nports = [\"x1\"]\n",
        "--wan lan0 --ap ap0 --ap ap1",
    );
    assert_eq!(whole.stdout, without.stdout);
    for part in [
        "wan = \"lan0\"",
        "\"ap0\"",
        "\"ap1\"",
        "dry_run = true",
        "target = \"20 ms\"",
    ] {
        assert!(whole.stdout.contains(part), "{part}: {}", whole.stdout);
    }
    let half = print("dry_run = true\n", "--wan lan0");
    assert_eq!(half.code, Some(2));
    assert!(half.stderr.contains("[[ap]]"), "{}", half.stderr);
    let wrong = print("dry_run = 1\n", "--wan lan0 --ap ap0");
    assert!(wrong.stderr.contains("edge.toml:1:11"), "{}", wrong.stderr);
}

#[test]
fn the_defaults_of_a_box_are_printed_without_naming_its_ports() {
    let folder = folder("defaults");
    let printed = airpace("edge --print-config");
    assert_eq!(printed.code, Some(0), "{}", printed.stderr);
    assert!(
        printed.stdout.contains("wan = \"eth0\""),
        "{}",
        printed.stdout
    );
    let path = folder.path().join("edge.toml");
    std::fs::write(&path, &printed.stdout).unwrap();
    let again = airpace(&format!("edge --config {} --print-config", path.display()));
    assert_eq!(again.stdout, printed.stdout);
    let half = airpace("edge --print-config --ap ap0");
    assert_eq!(half.code, Some(2));
    assert!(half.stderr.contains("--wan"), "{}", half.stderr);
}

#[test]
fn relative_paths_in_a_file_start_in_its_folder_and_not_in_the_working_directory() {
    let folder = folder("paths");
    let in_folder = |name: &str| folder.path().join(name).display().to_string();
    let made = airpace(&format!("keygen --out {}", in_folder("own.key")));
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let proxy = proxy_file(&folder, |text| {
        let rest = &text[text.find('[').unwrap()..];
        format!(
            "private_key_file = \"own.key\"\ntelemetry = \"rows.jsonl\"\n{rest}preshared_key_file = \"/etc/shared\"\n"
        )
    });
    let agent = agent_file(&folder, |text| {
        let text: String = text
            .lines()
            .filter(|line| !line.starts_with("private_key"))
            .map(|line| format!("{line}\n"))
            .collect();
        format!("private_key_file = \"own.key\"\npreshared_key_file = \"../shared.key\"\n{text}")
    });
    for (verb, path) in [("proxy", &proxy), ("agent", &agent)] {
        let line = format!("{verb} --config {} --print-config", path.display());
        let printed = airpace(&line);
        assert_eq!(printed.code, Some(0), "{}", printed.stderr);
        let key = format!("private_key_file = {:?}", in_folder("own.key"));
        assert!(printed.stdout.contains(&key), "{}", printed.stdout);
        let named = match verb {
            "proxy" => [in_folder("rows.jsonl"), "/etc/shared".to_owned()],
            _ => [in_folder("../shared.key"), String::new()],
        };
        for path in named {
            assert!(printed.stdout.contains(&path), "{}", printed.stdout);
        }
    }
    // The key is found there: the run gets as far as the secret, which is missing.
    let run = airpace(&format!("agent --config {}", agent.display()));
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(run.stderr.contains("shared.key"), "{}", run.stderr);
    assert!(!run.stderr.contains("own.key"), "{}", run.stderr);
}

#[test]
fn flags_win_over_the_file() {
    let folder = folder("flags");
    let path = proxy_file(&folder, |t| t);
    let line = format!("proxy --config {} --print-config", path.display());
    assert!(!airpace(&line).stdout.contains("udp_load"));
    assert!(
        airpace(&format!("{line} --udp-load"))
            .stdout
            .contains("[udp_load]")
    );
}

#[test]
fn mistakes_in_a_configuration_are_shown_at_their_line_with_a_remedy() {
    let folder = folder("mistakes");
    let target = "delay_target = \"20 ms\"";
    let cases = [
        (
            target,
            "delay_taget = \"20 ms\"",
            "proxy.toml:5:1: [control] has no key `delay_taget`: did you mean `delay_target`?",
        ),
        (
            target,
            "delay_target = 20",
            "proxy.toml:5:16: `20` has no unit",
        ),
        (target, "delay_target = \"20\"", "has no unit"),
        (
            target,
            "delay_target = \"1 us\"",
            "proxy.toml:5:16: 1 us is below the feasible",
        ),
        (target, "level_limit = nan", "give 1 to 1024"),
        (
            target,
            "law = \"magic\"",
            "`magic` is not one of the choices",
        ),
        ("[tun]", "[tun", "proxy.toml:2:"),
        (
            "[tun]",
            "[tunnel]\n[tun]",
            "proxy.toml:2:2: the proxy's configuration has no key `tunnel`",
        ),
        ("10.77.0.1/24", "10.77.0.1/99", "`10.77.0.1/99` is not"),
        (
            "10.77.0.2",
            "10.78.0.2",
            "proxy.toml:8:11: station `laptop`: 10.78.0.2 is outside of the tunnel's network",
        ),
        (
            "private_key",
            "private_key_file = \"x\"\nprivate_key",
            "proxy.toml:2:15: give one of",
        ),
    ];
    for (from, to, advice) in cases {
        let path = proxy_file(&folder, |text| {
            assert!(text.contains(from), "{from}");
            text.replacen(from, to, 1)
        });
        assert_refused_at_line(&format!("proxy --config {}", path.display()), advice);
    }
    let path = agent_file(&folder, |text| text.replace("10.77.0.2/24", "192.0.2.7/24"));
    assert_refused_at_line(
        &format!("agent --config {}", path.display()),
        "the tunnel would swallow its own packets",
    );
    let path = agent_file(&folder, |text| text.replace("192.0.2.1:51900", "192.0.2.1"));
    assert_refused_at_line(
        &format!("agent --config {}", path.display()),
        "agent.toml:1:9: `192.0.2.1` is not an address or name with a port: write for example",
    );
}

#[test]
fn more_stations_than_a_tunnel_can_have_are_refused_as_bad_input() {
    let folder = folder("crowd");
    let path = proxy_file(&folder, |text| {
        let at = text.find("[[station]]").unwrap();
        let (head, station) = text.split_at(at);
        format!("{head}{}", format!("{station}\n").repeat(16_385))
    });
    assert_refused_at_line(
        &format!("proxy --config {}", path.display()),
        "16385 stations are too many: one proxy or box takes at most 16384",
    );
}

#[test]
fn an_error_message_does_not_show_a_private_key() {
    let folder = folder("secret");
    let path = proxy_file(&folder, |text| {
        text.replacen("private_key", "privat_key", 1)
    });
    let text = std::fs::read_to_string(&path).unwrap();
    let key = text.split('"').nth(1).unwrap();
    let run = airpace(&format!("proxy --config {}", path.display()));
    assert!(
        run.stderr.contains("did you mean `private_key`?"),
        "{}",
        run.stderr
    );
    assert!(!run.stderr.contains(key), "{}", run.stderr);
}

#[test]
fn the_reference_of_keys_needs_no_configuration() {
    for verb in ["proxy", "agent"] {
        let reference = airpace(&format!("{verb} --schema"));
        assert_eq!(reference.code, Some(0), "{}", reference.stderr);
        for part in [
            "## [tun]",
            "| `mtu` | ",
            "1420 B",
            "| `private_key_file` | ",
        ] {
            assert!(
                reference.stdout.contains(part),
                "{part}: {}",
                reference.stdout
            );
        }
    }
}

#[test]
fn files_that_do_not_exist_are_refused() {
    let folder = folder("absent");
    assert_refused("proxy --config nowhere.toml", "cannot read nowhere.toml");
    assert_refused("agent --config nowhere.toml", "cannot read nowhere.toml");
    assert_refused("proxy", "--config");
    let path = proxy_file(&folder, |text| {
        format!(
            "private_key_file = \"nowhere.key\"\n{}",
            &text[text.find('[').unwrap()..]
        )
    });
    assert_refused(&format!("proxy --config {}", path.display()), "nowhere.key");
}

/// Starts the program in its own namespaces, sends it `signal` once it runs, and returns its exit
/// code and log; `None` if the system does not let it run.
fn stopped_by(signal: &str, verb: &str, config: &Path) -> Option<(Option<i32>, String)> {
    let mut command = Command::new("unshare");
    command
        .args(["-rnm", env!("CARGO_BIN_EXE_airpace"), verb, "--config"])
        .arg(config);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut log = String::new();
    // The first line says that it runs, or why it does not.
    stderr.read_line(&mut log).unwrap();
    if log.contains("INFO") {
        Command::new("kill")
            .args([&format!("-{signal}"), &child.id().to_string()])
            .status()
            .unwrap();
    }
    stderr.read_to_string(&mut log).unwrap();
    let code = child.wait().unwrap().code();
    let has_run = log.contains("INFO");
    if !has_run && (log.contains("not permitted") || log.contains("/dev/net/tun")) {
        eprintln!("SKIPPED: this system allows no namespaces or no TUN: {log}");
        return None;
    }
    Some((code, log))
}

#[test]
fn ctrl_c_ends_proxy_and_agent_with_130_and_a_service_stop_with_0() {
    let folder = folder("signals");
    for (verb, path) in [
        ("proxy", proxy_file(&folder, |t| t)),
        ("agent", agent_file(&folder, |t| t)),
    ] {
        for (signal, should) in [("INT", 130), ("TERM", 0)] {
            let Some((code, log)) = stopped_by(signal, verb, &path) else {
                return;
            };
            assert_eq!(code, Some(should), "{verb} {signal}: {log}");
        }
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test is about real time")]
fn a_stalled_log_and_telemetry_pipe_do_not_keep_the_proxy_from_ending_within_a_second() {
    let folder = folder("stalled");
    let telemetry = folder.path().join("telemetry");
    let made = Command::new("mkfifo").arg(&telemetry).status().unwrap();
    assert!(made.success());
    // A pipe holds 64 KiB; nobody reads from either.
    let full = [b'\n'; 1 << 16];
    let mut telemetry_ends = OpenOptions::new()
        .read(true)
        .write(true)
        .open(&telemetry)
        .unwrap();
    telemetry_ends.write_all(&full).unwrap();
    let path = proxy_file(&folder, |text| {
        format!("telemetry = {:?}\n{text}", telemetry.display().to_string())
    });
    if stopped_by("TERM", "proxy", &path).is_none() {
        return;
    }
    let (_reader, mut stderr) = std::io::pipe().unwrap();
    stderr.write_all(&full).unwrap();
    let mut child = Command::new("unshare")
        .args([
            "-rnm",
            env!("CARGO_BIN_EXE_airpace"),
            "-vv",
            "proxy",
            "--config",
        ])
        .arg(&path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(stderr)
        .spawn()
        .unwrap();
    // It has no way to say that it runs.
    std::thread::sleep(Duration::from_secs(2));
    assert!(child.try_wait().unwrap().is_none(), "it runs");
    let begin = Instant::now();
    let pid = child.id().to_string();
    Command::new("kill").args(["-TERM", &pid]).status().unwrap();
    let code = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status.code();
        }
        if begin.elapsed() > Duration::from_secs(5) {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let took = begin.elapsed();
    assert!(took < Duration::from_secs(1), "{took:?}");
    assert_eq!(code, Some(0));
}
