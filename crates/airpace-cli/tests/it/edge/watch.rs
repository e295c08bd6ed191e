//! The dashboard in a real terminal: it shows the box, says when the box is gone, and leaves the
//! terminal as it was.

use super::{program, start, testbed, traffic};
use airpace_lab::bench::edge::EdgeTestbed;
use airpace_net::clock::Clock;
use core::time::Duration;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::pty::{Winsize, openpty};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::process::{Child, Command, Stdio};

/// What leaves the second screen, where the dashboard is, and shows the cursor (xterm).
const LEAVE: &str = "\x1b[?1049l";
/// How long a screen is waited for: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(30);

/// `airpace status --watch` in a terminal of 80 by 24.
struct Watch {
    child: Child,
    terminal: File,
    /// All that was written to the terminal.
    written: String,
}

impl Watch {
    fn start(bed: &EdgeTestbed) -> Self {
        let size = Winsize {
            ws_row: 24,
            ws_col: 80,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let pair = openpty(Some(&size), None).unwrap();
        let end = || Stdio::from(pair.slave.try_clone().unwrap());
        let mut command = Command::new(program());
        command.args(["status", "--watch"]).env("TERM", "xterm");
        command.stdin(end()).stdout(end()).stderr(end());
        Self {
            child: bed.middle.spawn(command).unwrap(),
            terminal: File::from(pair.master),
            written: String::new(),
        }
    }

    /// Reads what is written until `text` is among it.
    fn wait_for(&mut self, text: &str) {
        let clock = Clock::start();
        let end = clock.now() + PATIENCE;
        while !self.written.contains(text) {
            let shown = self.written.chars().rev().take(2000).collect::<Vec<_>>();
            let shown: String = shown.into_iter().rev().collect();
            assert!(clock.now() < end, "no {text:?} at the end of: {shown:?}");
            self.read();
        }
    }

    /// Reads what is written within a tenth of a second.
    fn read(&mut self) {
        let mut files = [PollFd::new(self.terminal.as_fd(), PollFlags::POLLIN)];
        if poll(&mut files, PollTimeout::from(100_u8)).unwrap() == 0 {
            return;
        }
        let mut chunk = [0; 4096];
        // The other end is closed when the program has ended.
        if let Ok(count) = self.terminal.read(&mut chunk) {
            let text = String::from_utf8_lossy(&chunk[..count]);
            self.written.push_str(&text);
        }
    }

    fn press(&mut self, keys: &str) {
        self.terminal.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for the end, with the terminal as before, and returns the exit code.
    fn end(mut self) -> Option<i32> {
        self.wait_for(LEAVE);
        let clock = Clock::start();
        let end = clock.now() + PATIENCE;
        while clock.now() < end {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            self.read();
        }
        panic!("it does not end");
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_dashboard_shows_the_box_says_when_it_is_gone_and_ends_with_q() {
    let Some(bed) = testbed(1, 1500) else { return };
    let Some(process) = start(&bed, "") else {
        return;
    };
    drop(traffic(&bed));
    let mut watch = Watch::start(&bed);
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
    let mut watch = Watch::start(&bed);
    watch.wait_for("quit");
    watch.press("\x03");
    assert_eq!(watch.end(), Some(130));
    let mut watch = Watch::start(&bed);
    watch.wait_for("quit");
    let pid = i32::try_from(watch.child.id()).unwrap();
    kill(Pid::from_raw(pid), Signal::SIGTERM).unwrap();
    assert_eq!(watch.end(), Some(0));
}
