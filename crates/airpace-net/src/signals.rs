//! Signals as a file that can be polled: SIGINT (Ctrl-C), SIGTERM, SIGHUP.

use crate::sys;
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::signal::Signal;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Receives signals, which then no longer end the process, whichever thread the kernel delivers
/// them to.
///
/// A process can have one such value of each kind at a time: if there are two, the newer receives
/// the signals.
/// Dropping it restores the default actions. Child processes are not affected.
#[derive(Debug)]
pub struct Signals {
    /// The end of the pipe that the signals' numbers are read from, one byte each.
    reader: OwnedFd,
    /// The end that the handler writes to; kept open for it.
    _writer: OwnedFd,
    signals: &'static [Signal],
}

/// The signals that end a run.
const TERMINATION: &[Signal] = &[Signal::SIGINT, Signal::SIGTERM];
/// The same, and the signal of a terminal that is closed.
const END_OF_SESSION: &[Signal] = &[Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];
/// The signal that asks a daemon to read its configuration again.
const RELOAD: &[Signal] = &[Signal::SIGHUP];

impl Signals {
    /// Installs the handler for SIGINT and SIGTERM.
    ///
    /// # Errors
    /// When the process cannot open a pipe.
    pub fn termination() -> io::Result<Self> {
        Self::catch(TERMINATION)
    }

    /// Installs the handler for SIGINT and SIGTERM, and for SIGHUP unless the process ignores it
    /// (`nohup`).
    ///
    /// # Errors
    /// When the process cannot open a pipe.
    pub fn end_of_session() -> io::Result<Self> {
        if is_ignored(Signal::SIGHUP) {
            Self::termination()
        } else {
            Self::catch(END_OF_SESSION)
        }
    }

    /// Installs the handler for SIGHUP.
    ///
    /// # Errors
    /// When the process cannot open a pipe.
    pub fn reload() -> io::Result<Self> {
        Self::catch(RELOAD)
    }

    fn catch(signals: &'static [Signal]) -> io::Result<Self> {
        let (reader, writer) = nix::unistd::pipe2(OFlag::O_NONBLOCK | OFlag::O_CLOEXEC)?;
        sys::catch_signals(signals, writer.as_fd())?;
        Ok(Self {
            reader,
            _writer: writer,
            signals,
        })
    }

    /// Returns the next signal that has arrived, if any.
    ///
    /// # Errors
    /// When the pipe cannot be read, which only a bug can cause.
    pub fn next(&self) -> io::Result<Option<Signal>> {
        let mut number = [0];
        match nix::unistd::read(&self.reader, &mut number) {
            Ok(1) => Ok(Signal::try_from(i32::from(number[0])).ok()),
            Ok(_) | Err(Errno::EAGAIN) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        sys::release_signals(self.signals);
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }
}

/// Whether the process ignores a signal: `SigIgn` in `/proc/self/status` (proc_pid_status(5)). Without
/// that file signals count as heeded.
fn is_ignored(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // Signal 1 has the lowest bit.
    mask.is_some_and(|mask| mask & (1 << (signal as u32 - 1)) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_those_that_the_kernel_ignores() {
        // Rust programs ignore SIGPIPE from the start.
        assert!(is_ignored(Signal::SIGPIPE));
        assert!(!is_ignored(Signal::SIGURG));
    }

    #[test]
    fn a_signal_is_reported_once_and_does_not_end_the_process() {
        let signals = Signals::termination().unwrap();
        assert_eq!(signals.next().unwrap(), None);
        nix::sys::signal::kill(nix::unistd::Pid::this(), Signal::SIGTERM).unwrap();
        // The kernel may deliver it to another thread: wait for the byte.
        let mut poller = crate::poll::Poller::new().unwrap();
        poller
            .add(&signals, 0, crate::poll::Interest::Read)
            .unwrap();
        while poller.wait(&crate::clock::Clock::start(), None).unwrap() != crate::poll::Wake::Ready
        {
        }
        assert_eq!(signals.next().unwrap(), Some(Signal::SIGTERM));
        assert_eq!(signals.next().unwrap(), None);
    }
}
