//! A run that is watched, in a real terminal.

use crate::terminal::Watch;
use std::process::{Command, Stdio};

const CELL: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../scenarios/002-f1-cell.toml"
);

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_airpace"));
    command
        .args(["sim", "run", CELL, "--watch"])
        .args(arguments);
    command
}

fn watch(arguments: &[&str]) -> Watch {
    Watch::start(command(arguments), |mut command| command.spawn().unwrap())
}

#[test]
fn a_run_is_drawn_until_its_end_and_its_figures_follow() {
    let mut watch = watch(&["--set", "duration=300 ms", "--set", "warm_up=100 ms"]);
    watch.wait_for("receiver");
    watch.wait_for("goodput Mbit/s");
    assert_eq!(watch.end(), Some(0));
}

#[test]
fn a_run_that_is_watched_slowly_ends_when_it_is_told_to() {
    // An hour of real time.
    let slow = [
        "--speed",
        "0.001",
        "--set",
        "warm_up=0 s",
        "--set",
        "duration=3600 ms",
    ];
    let mut ended = watch(&slow);
    ended.wait_for("scroll");
    ended.press(" ");
    ended.wait_for("PAUSED");
    ended.press("q");
    ended.wait_for("Stopped early");
    assert_eq!(ended.end(), Some(0));
    let mut interrupted = watch(&slow);
    interrupted.wait_for("scroll");
    interrupted.press("\x03");
    assert_eq!(interrupted.end(), Some(130));
}

#[test]
fn a_run_is_not_drawn_where_nobody_could_see_it() {
    let output = command(&[]).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("--watch needs a terminal"), "{error}");
    assert!(output.stdout.is_empty());
}

#[test]
fn speeds_that_are_none_are_refused() {
    for speed in ["0", "-1", "inf", "fast"] {
        let output = command(&["--speed", speed]).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains("give a number above 0"), "{error}");
    }
}
