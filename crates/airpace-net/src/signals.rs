//! Ctrl-C and SIGTERM as a file that can be polled.

use crate::sys;
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::signal::Signal;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Receives SIGINT and SIGTERM, which then no longer end the process, whichever thread the kernel picks for them.
///
/// There can be one at a time: of two, the later receives. Dropping it brings the default back. Programs started meanwhile are
/// not affected.
#[derive(Debug)]
pub struct Signals {
    /// A handler writes the signal's number here, as one byte.
    reader: OwnedFd,
    /// Kept open for the handler.
    _writer: OwnedFd,
}

/// The signals that end a run.
const TERMINATION: [Signal; 2] = [Signal::SIGINT, Signal::SIGTERM];

impl Signals {
    /// Takes SIGINT and SIGTERM over.
    ///
    /// # Errors
    /// When the process has no file left.
    pub fn termination() -> io::Result<Self> {
        let (reader, writer) = nix::unistd::pipe2(OFlag::O_NONBLOCK | OFlag::O_CLOEXEC)?;
        sys::catch_signals(&TERMINATION, writer.as_fd())?;
        Ok(Self {
            reader,
            _writer: writer,
        })
    }

    /// The next signal that came, if any.
    ///
    /// # Errors
    /// When the file cannot be read, which only a bug can cause.
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
        sys::release_signals(&TERMINATION);
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_read_once_and_ends_nothing() {
        let signals = Signals::termination().unwrap();
        assert_eq!(signals.next().unwrap(), None);
        nix::sys::signal::kill(nix::unistd::Pid::this(), Signal::SIGTERM).unwrap();
        // Another thread may take it: wait for the byte.
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
