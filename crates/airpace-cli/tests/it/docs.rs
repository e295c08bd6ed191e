//! Runs the commands that the documentation shows, or says of each which other test does or why none
//! can.
//!
//! `docs/deploy.md` says itself, by a comment before each block, where the block is run ([`deploy`]).
//! For all other pages [`plan`] has a rule for each command; a command without a rule, and a rule
//! without a command, fail.

mod commands;
mod deploy;
mod guide;
mod lab;
mod packages;
mod plan;

use crate::shared::{Folder, airpace_words, folder};
use commands::Command;
use guide::{Action, Block};
use lab::Lab;
use plan::Way;
use std::path::Path;
use std::process::Stdio;

/// What the page about metrics has in the file, for the box of the guide.
const EDGE_TOML: &str = "wan = \"eth0\"\n[[ap]]\nports = [\"eth1\"]\n[metrics]\n[web]\n\
    token_file = \"/etc/airpace/web.token\"\n";

/// The commands that are run in this way, in the order of the pages.
fn planned(way: &Way) -> Vec<Command> {
    let mut commands = commands::all();
    commands.retain(|command| plan::way(command).is_some_and(|found| found.1 == *way));
    assert!(!commands.is_empty(), "no command is run by {way:?}");
    commands
}

#[test]
fn every_command_of_the_pages_is_run_or_has_a_reason() {
    let commands = commands::all();
    let (mut used, mut faults) = (vec![false; plan::RULES.len()], Vec::new());
    for command in &commands {
        match plan::way(command) {
            Some((Some(rule), _)) => used[rule] = true,
            Some((None, _)) => {}
            None => faults.push(format!("{}: {}", command.page, command.line)),
        }
    }
    assert!(
        faults.is_empty(),
        "no rule of docs/plan.rs says how these are run, or why not:\n{}",
        faults.join("\n")
    );
    for (rule, is_used) in plan::RULES.iter().zip(used) {
        assert!(is_used, "no page shows what this rule is for: {rule:?}");
    }
    assert!(commands.len() > 100, "only {} commands", commands.len());
}

#[test]
fn commands_stand_in_blocks_that_say_so() {
    for (page, text) in commands::pages() {
        let stray = commands::stray(&text);
        assert_eq!(
            stray,
            Vec::<String>::new(),
            "{page}: begin the block with ```sh"
        );
    }
}

#[test]
fn commands_that_are_only_named_have_a_help_text() {
    let mut seen = Vec::new();
    for command in planned(&Way::Help) {
        if seen.contains(&command.line) {
            continue;
        }
        let words: Vec<&str> = command.line.split_whitespace().skip(1).collect();
        let run = airpace_words(&[&words[..], &["--help"]].concat());
        assert!(
            run.code == Some(0) && run.stdout.contains("Usage:"),
            "{}: {}\n{}",
            command.page,
            command.line,
            run.stderr
        );
        seen.push(command.line);
    }
}

#[test]
fn tests_that_pages_name_exist() {
    let mut lines = planned(&Way::Test);
    lines.dedup_by(|a, b| a.line == b.line);
    for command in lines {
        let fault = commands::missing_test(&command.line);
        assert_eq!(fault, None, "{}: {}", command.page, command.line);
    }
}

/// A copy of what the commands read, in which simulated networks last for a moment.
fn workplace() -> Folder {
    let folder = folder("docs-workplace");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let programs = folder.path().join("target/release");
    std::fs::create_dir_all(&programs).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_airpace"), programs.join("airpace")).unwrap();
    let scenarios = folder.path().join("scenarios");
    std::fs::create_dir_all(&scenarios).unwrap();
    for entry in std::fs::read_dir(root.join("scenarios")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let copy = scenarios.join(path.file_name().unwrap());
        if text.contains("[[change]]") {
            // A change after the end of the run is refused.
            std::fs::write(copy, text).unwrap();
            continue;
        }
        let is_kept =
            |line: &&str| !line.starts_with("warm_up =") && !line.starts_with("duration =");
        let kept: Vec<&str> = text.lines().filter(is_kept).collect();
        let text = format!(
            "warm_up = \"100 ms\"\nduration = \"200 ms\"\n{}\n",
            kept.join("\n")
        );
        std::fs::write(copy, text).unwrap();
    }
    folder
}

#[test]
fn commands_that_need_only_files_succeed() {
    let folder = workplace();
    for command in planned(&Way::Files) {
        let mut shell = std::process::Command::new("bash");
        let line = format!("PATH=\"$PWD/target/release:$PATH\"\n{}", command.line);
        shell.args(["-euc", &line]).env("SHELL", "/bin/sh");
        shell.current_dir(folder.path());
        let output = shell.stdin(Stdio::null()).output().unwrap();
        let log = String::from_utf8_lossy(&output.stderr);
        if command.line.contains(" emulate ") && log.contains("/dev/net/tun") {
            eprintln!("SKIPPED, WAS NOT TESTED: {}: {log}", command.line);
            continue;
        }
        let is_done = output.status.success() && !log.contains("panicked");
        assert!(is_done, "{}: {}\n{log}", command.page, command.line);
    }
}

/// Runs a command in the lab; returns what it printed.
fn run(lab: &mut Lab, machine: &str, command: &Command) -> String {
    // The pages do not know the station of this test.
    let line = command.line.replace("MAC", "02:00:00:00:01:02");
    // What is printed may lack the end of its last line, for which the lab waits.
    let shell = format!("( {line}\n) < /dev/null; code=$?; echo; ( exit $code )");
    let (status, printed) = lab.shell(machine, &shell);
    assert_eq!(status, 0, "{}: {line}\n{printed}", command.page);
    printed
}

/// A block that runs until it is stopped.
fn lasting(machine: &str, line: &str) -> Block {
    Block {
        action: Action::UntilStopped(machine.to_owned()),
        heading: String::new(),
        text: format!("{line}\n"),
    }
}

#[test]
fn commands_for_a_running_box_succeed() {
    let Some(mut lab) = Lab::in_the_cable("operate") else {
        return;
    };
    // The user of the packaged service, in the private /etc of the machine.
    let users = "echo airpace:x:4711:4711::/:/bin/false >> /etc/passwd; \
        echo airpace:x:4711: >> /etc/group; mkdir -p /etc/airpace";
    assert_eq!(lab.shell("box", users).0, 0);
    for command in planned(&Way::BeforeBox) {
        run(&mut lab, "box", &command);
    }
    let write = format!("cat > /etc/airpace/edge.toml <<'END'\n{EDGE_TOML}END");
    assert_eq!(lab.shell("box", &write).0, 0);
    let start = lasting("box", "airpace edge --config /etc/airpace/edge.toml");
    lab.start("box", &start);
    lab.expect_answers(&start);
    // The bridge carries frames before the box can be asked.
    let wait = "timeout 30 sh -c 'until airpace status > /dev/null 2>&1; do sleep 0.1; done'";
    assert_eq!(lab.shell("box", wait).0, 0, "{}", lab.logs());
    for command in planned(&Way::Box) {
        let printed = run(&mut lab, "box", &command);
        let is_http = command.line.starts_with("curl");
        if is_http && printed.contains("command not found") {
            eprintln!("SKIPPED, WAS NOT TESTED: there is no curl");
            continue;
        }
        assert!(
            !printed.contains("\"error\""),
            "{}: {printed}",
            command.line
        );
        if command.line.ends_with("/metrics") {
            assert!(printed.contains("airpace_station_limited_by{"), "{printed}");
        }
    }
    lab.stop_all();
    for command in planned(&Way::AfterBox) {
        run(&mut lab, "box", &command);
    }
    let links = lab.links("box");
    assert!(!links.contains("airpace-br"), "nothing is left: {links}");
}

#[test]
fn commands_between_two_machines_succeed() {
    let Some(mut lab) = Lab::in_the_cable("between") else {
        return;
    };
    // The address of the page, and a bridge in place of the box.
    let setup = [
        ("gateway", "ip addr add 10.77.0.1/32 dev lo"),
        (
            "box",
            "ip link add br0 type bridge && ip link set eth0 master br0 && ip link set eth1 master br0 \
             && ip link set br0 up",
        ),
        ("station", "ip route add 10.77.0.1/32 via 192.168.1.1"),
    ];
    for (machine, line) in setup {
        let (status, printed) = lab.shell(machine, line);
        assert_eq!(status, 0, "{line}: {printed}");
    }
    for command in planned(&Way::Server) {
        let start = lasting("gateway", &command.line);
        lab.start("gateway", &start);
        lab.expect_answers(&start);
    }
    for command in planned(&Way::Client) {
        let printed = run(&mut lab, "station", &command);
        assert!(printed.contains("round trips per minute"), "{printed}");
    }
    lab.stop_all();
}
