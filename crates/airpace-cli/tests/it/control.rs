//! `airpace control`.

use crate::shared::assert_refused;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

fn control(arguments: &[&str]) -> std::process::Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_airpace"));
    command
        .arg("control")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().unwrap()
}

#[test]
fn each_line_is_answered_before_the_next_is_sent() {
    let mut child = control(&["--law", "linear", "--level", "32"]);
    let mut stdin = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    for slot in 0..3 {
        writeln!(
            stdin,
            r#"{{"time_us":{slot},"reports":[{{"station":0,"length_us":1000}}]}}"#
        )
        .unwrap();
        let answer: serde_json::Value =
            serde_json::from_str(&answers.next().unwrap().unwrap()).unwrap();
        assert_eq!(answer["allocations"][0]["level"], 32.0);
    }
    drop(stdin);
    assert!(answers.next().is_none());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_line_that_cannot_be_used_ends_with_exit_code_2_and_one_line_that_says_why() {
    let mut child = control(&[]);
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"{\"time_us\":0}\n{\"time_us\":0,\"reports\":7}\n")
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{complaint}");
    assert_eq!(
        output.stdout.split(|&byte| byte == b'\n').count(),
        2,
        "the first line was answered"
    );
    assert!(
        complaint.starts_with("error: line 2:") && complaint.lines().count() == 1,
        "{complaint}"
    );
}

#[test]
fn values_that_make_no_sense_are_refused() {
    assert_refused("control --law magic", "waterfill");
    assert_refused("control --level 5000", "--level");
    assert_refused("control --level 0.5", "--level");
    assert_refused("control --level 5000", "between 1 and 4096");
    assert_refused("control --delay-ms 1e300", "--delay-ms");
    assert_refused("control --law linear --initial-mbps 1e9", "initial_mbps");
}
