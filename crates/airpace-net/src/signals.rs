//! Ctrl-C and SIGTERM as a file that can be polled.

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Receives signals in place of their handlers.
///
/// Create it in the main thread before other threads start: threads inherit the blocked set, and a thread that does not block
/// the signal would be killed by it. Children started through [`crate::netns::Namespace::spawn`] get the default set back.
#[derive(Debug)]
pub struct Signals {
    file: SignalFd,
}

impl Signals {
    /// Blocks SIGINT and SIGTERM in this thread and in those it starts, and opens the file.
    ///
    /// # Errors
    /// When the kernel has no file left.
    pub fn termination() -> io::Result<Self> {
        Self::of(&[Signal::SIGINT, Signal::SIGTERM])
    }

    /// Blocks SIGINT, SIGTERM and SIGCHLD (a child ended), and opens the file.
    ///
    /// # Errors
    /// When the kernel has no file left.
    pub fn termination_and_children() -> io::Result<Self> {
        Self::of(&[Signal::SIGINT, Signal::SIGTERM, Signal::SIGCHLD])
    }

    fn of(signals: &[Signal]) -> io::Result<Self> {
        let set: SigSet = signals.iter().copied().collect();
        set.thread_block()?;
        Ok(Self { file: SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)? })
    }

    /// The next signal that came, if any.
    ///
    /// # Errors
    /// When the file cannot be read, which only a bug can cause.
    pub fn next(&self) -> io::Result<Option<Signal>> {
        let Some(info) = self.file.read_signal()? else {
            return Ok(None);
        };
        Ok(i32::try_from(info.ssi_signo).ok().and_then(|n| Signal::try_from(n).ok()))
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
