//! A program in a real terminal, which is on a second screen meanwhile.

use airpace_net::clock::Clock;
use core::time::Duration;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::pty::{Winsize, openpty};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::process::{Child, Command, Stdio};

/// What leaves the second screen, where the dashboard is, and shows the cursor (xterm).
const LEAVE: &str = "\x1b[?1049l";
/// How long a screen is waited for: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(30);

/// A program in a terminal of 80 by 24.
pub(crate) struct Watch {
    pub(crate) child: Child,
    terminal: File,
    /// All that was written to the terminal.
    pub(crate) written: String,
}

impl Watch {
    /// Runs `command` in a terminal; `spawn` starts it.
    pub(crate) fn start(mut command: Command, spawn: impl FnOnce(Command) -> Child) -> Self {
        let size = Winsize {
            ws_row: 24,
            ws_col: 80,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let pair = openpty(Some(&size), None).unwrap();
        let end = || Stdio::from(pair.slave.try_clone().unwrap());
        command.env("TERM", "xterm");
        command.stdin(end()).stdout(end()).stderr(end());
        Self {
            child: spawn(command),
            terminal: File::from(pair.master),
            written: String::new(),
        }
    }

    /// Reads what is written until `text` is among it.
    pub(crate) fn wait_for(&mut self, text: &str) {
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

    pub(crate) fn press(&mut self, keys: &str) {
        self.terminal.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for the end, with the terminal as before, and returns the exit code.
    pub(crate) fn end(mut self) -> Option<i32> {
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
