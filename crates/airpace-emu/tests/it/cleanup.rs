//! Nothing outlives the emulator, however it ends.

use super::config;
use airpace_emu::{EmulatorError, NoObserver, run_command};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The helper's command: prints which namespaces it is in, leaves a daemon behind, and waits.
const SCRIPT: &str = "readlink /proc/self/ns/net; \
    test -n \"$AIRPACE_NS_STA0\" && nsenter --net=$AIRPACE_NS_STA0 readlink /proc/self/ns/net; \
    setsid sleep 987 & sleep 986";

/// Not a test by itself: the other tests run it as a process that they can kill.
#[test]
#[ignore = "started by the tests of this module"]
fn helper_holds_a_cell() {
    let mut command = Command::new("sh");
    command.args(["-c", SCRIPT]);
    match run_command(config(&[9]), NoObserver, command) {
        Ok(outcome) => println!(
            "ended interrupted={:?} status={:?}",
            outcome.interrupted,
            outcome.status.code()
        ),
        Err(EmulatorError::Namespace(_)) => println!("SKIPPED"),
        Err(error) => panic!("{error}"),
    }
}

/// A running helper, with the namespaces of its server and its station.
struct Helper {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
    namespaces: [String; 2],
}

fn helper() -> Option<Helper> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([
        "--ignored",
        "--exact",
        "cleanup::helper_holds_a_cell",
        "--nocapture",
    ]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut namespaces = Vec::new();
    for line in &mut lines {
        let line = line.unwrap();
        // The test harness prints on the same line.
        if line.contains("SKIPPED") {
            println!("SKIPPED, NOTHING WAS TESTED: no namespaces (try `unshare -rnm cargo test`)");
            child.wait().unwrap();
            return None;
        }
        if let Some(at) = line.find("net:[") {
            namespaces.push(line[at..].to_owned());
        }
        if namespaces.len() == 2 {
            break;
        }
    }
    let namespaces: [String; 2] = namespaces.try_into().unwrap();
    assert_ne!(namespaces[0], namespaces[1]);
    Some(Helper {
        child,
        lines,
        namespaces,
    })
}

/// Returns the number of processes inside the namespaces.
fn inside(namespaces: &[String]) -> usize {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let links = all.filter_map(|p| std::fs::read_link(p.path().join("ns/net")).ok());
    links
        .filter(|l| namespaces.iter().any(|n| l.as_os_str() == n.as_str()))
        .count()
}

fn wait_until_empty(namespaces: &[String]) {
    let begun = Instant::now();
    while inside(namespaces) > 0 {
        assert!(
            begun.elapsed() < Duration::from_secs(5),
            "processes are left in {namespaces:?}"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn signal(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
}

#[test]
fn a_crash_leaves_nothing_behind() {
    let Some(mut helper) = helper() else { return };
    assert!(inside(&helper.namespaces) >= 2);
    signal(&helper.child, Signal::SIGKILL);
    helper.child.wait().unwrap();
    wait_until_empty(&helper.namespaces);
}

#[test]
fn signals_end_the_run_with_a_report() {
    for (which, number) in [(Signal::SIGTERM, 15), (Signal::SIGINT, 2)] {
        let Some(mut helper) = helper() else { return };
        signal(&helper.child, which);
        let rest: Vec<String> = helper.lines.by_ref().map(Result::unwrap).collect();
        let said = format!("interrupted=Some({number})");
        assert!(rest.iter().any(|line| line.contains(&said)), "{rest:?}");
        assert!(helper.child.wait().unwrap().success());
        wait_until_empty(&helper.namespaces);
    }
}
