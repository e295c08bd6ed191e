use super::namespace;
use airpace_net::clock::Clock;
use airpace_net::poll::{Interest, Poller, Wake};
use airpace_net::program::Program;
use core::time::Duration;
use std::process::Command;

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(script);
    command
}

/// Returns how many processes have `mark` in their command line.
fn processes(mark: &str) -> usize {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|p| std::fs::read_to_string(p.path().join("cmdline")).ok())
        .filter(|c| c.contains(mark))
        .count()
}

/// Returns a duration for `sleep` that no other process uses.
fn mark(n: u32) -> String {
    format!("9{:06}{n}", std::process::id())
}

/// Waits up to five seconds until no process has `mark` in its command line.
fn all_end(mark: &str) -> bool {
    let clock = Clock::start();
    let mut poller = Poller::new().unwrap();
    while clock.now().as_secs_f64() < 5.0 {
        if processes(mark) == 0 {
            return true;
        }
        poller
            .wait(&clock, Some(clock.now() + Duration::from_millis(5)))
            .unwrap();
    }
    false
}

#[test]
fn a_program_runs_in_the_namespace_and_returns_its_status() {
    let Some(namespace) = namespace() else { return };
    namespace
        .netlink()
        .unwrap()
        .add_veth("only-here", "peer", None)
        .unwrap();
    let program = Program::spawn(
        shell("grep -q only-here /proc/net/dev && exit 42"),
        Some(&namespace),
    )
    .unwrap();
    assert_eq!(program.wait().unwrap().code(), Some(42));
    let program = Program::spawn(shell("kill -KILL $$"), None).unwrap();
    assert_eq!(program.wait().unwrap().code(), Some(128 + 9));
    assert!(Program::spawn(Command::new("/no/such/program"), None).is_err());
}

#[test]
fn the_end_of_a_program_can_be_polled() {
    if namespace().is_none() {
        return;
    }
    let program = Program::spawn(shell("sleep 0.05"), None).unwrap();
    let clock = Clock::start();
    let mut poller = Poller::new().unwrap();
    poller.add(&program, 1, Interest::Read).unwrap();
    assert_eq!(
        poller
            .wait(&clock, Some(clock.now() + Duration::from_secs(5)))
            .unwrap(),
        Wake::Ready
    );
    assert!(program.wait().unwrap().success());
}

#[test]
fn background_processes_of_a_program_end_with_it() {
    if namespace().is_none() {
        return;
    }
    let mark = mark(1);
    let program = Program::spawn(shell(&format!("setsid sleep {mark} & exit 0")), None).unwrap();
    assert!(program.wait().unwrap().success());
    assert!(all_end(&mark));
}

#[test]
fn a_program_can_be_terminated_and_is_killed_when_dropped() {
    if namespace().is_none() {
        return;
    }
    let program = Program::spawn(
        shell("trap 'exit 7' TERM; while :; do sleep 0.01; done"),
        None,
    )
    .unwrap();
    let clock = Clock::start();
    let mut poller = Poller::new().unwrap();
    while !program.has_ended() {
        poller
            .wait(&clock, Some(clock.now() + Duration::from_millis(20)))
            .unwrap();
        program.terminate();
    }
    // 128 + SIGTERM if the signal came before the shell had set its trap.
    assert!(matches!(program.wait().unwrap().code(), Some(7 | 143)));

    let mark = mark(2);
    let program =
        Program::spawn(shell(&format!("trap '' TERM; sleep {mark} & wait")), None).unwrap();
    drop(program);
    assert!(all_end(&mark));
}
