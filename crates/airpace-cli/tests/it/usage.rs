//! What all commands have in common.

use crate::shared::{airpace, assert_refused};
use std::process::{Command, Stdio};

const COMMANDS: [&str; 17] = [
    "edge",
    "doctor",
    "check",
    "schema",
    "demo",
    "emulate",
    "proxy",
    "agent",
    "keygen",
    "allocate",
    "airtime",
    "sim",
    "step",
    "reproduce",
    "control",
    "bench",
    "tool",
];

#[test]
fn every_command_has_help_with_an_example() {
    let general = airpace("--help").stdout;
    for command in COMMANDS {
        assert!(
            general.contains(&format!("  {command}")),
            "{command} is not in the list"
        );
        let help = airpace(&format!("{command} --help"));
        assert_eq!(help.code, Some(0));
        assert!(
            help.stdout.contains("Examples:")
                && help.stdout.contains(&format!("airpace {command}")),
            "{command}"
        );
    }
}

#[test]
fn an_unknown_command_or_flag_is_one_line_with_a_tip() {
    assert_refused("airtme", "'airtime'");
    assert_refused("airtime --mcs 9 --mpdu 3", "'--mpdus'");
    assert_refused("airtime", "--mcs <MCS>");
}

#[test]
fn without_arguments_it_shows_help_and_fails() {
    let run = airpace("");
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("Usage:"));
}

#[test]
fn a_reader_that_closes_the_output_is_not_an_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_airpace"))
        .args(["airtime", "--mcs", "9"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(
        output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
