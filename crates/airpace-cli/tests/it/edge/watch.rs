//! The dashboard in a real terminal: it shows the box, says when the box is gone, and leaves the
//! terminal as it was.

use super::{program, start, testbed, traffic};
use crate::terminal::Watch;
use airpace_lab::bench::edge::EdgeTestbed;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::process::Command;

/// `airpace status --watch` on the box's machine.
fn watched(bed: &EdgeTestbed) -> Watch {
    let mut command = Command::new(program());
    command.args(["status", "--watch"]);
    Watch::start(command, |command| bed.middle.spawn(command).unwrap())
}

#[test]
fn the_dashboard_shows_the_box_says_when_it_is_gone_and_ends_with_q() {
    let Some(bed) = testbed(1, 1500) else { return };
    let Some(process) = start(&bed, "") else {
        return;
    };
    drop(traffic(&bed));
    let mut watch = watched(&bed);
    watch.wait_for("limited by");
    watch.wait_for("02:00:00:00:01:0");
    drop(process);
    watch.wait_for("ANSWER");
    watch.press("q");
    assert_eq!(watch.end(), Some(0));
}

#[test]
fn ctrl_c_and_a_signal_end_the_dashboard_and_restore_the_terminal() {
    let Some(bed) = testbed(1, 1500) else { return };
    let Some(_process) = start(&bed, "") else {
        return;
    };
    let mut watch = watched(&bed);
    watch.wait_for("quit");
    watch.press("\x03");
    assert_eq!(watch.end(), Some(130));
    let mut watch = watched(&bed);
    watch.wait_for("quit");
    let pid = i32::try_from(watch.child.id()).unwrap();
    kill(Pid::from_raw(pid), Signal::SIGTERM).unwrap();
    assert_eq!(watch.end(), Some(0));
}
