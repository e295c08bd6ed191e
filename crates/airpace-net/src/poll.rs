//! Waits for files and for precise deadlines.

use crate::clock::Clock;
use crate::sys;
use airpace_units::Time;
use core::time::Duration;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Which directions of a file to wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interest {
    /// Something to read.
    Read,
    /// Room to write.
    Write,
    /// Something to read, or room to write.
    Both,
}

impl Interest {
    fn flags(self) -> EpollFlags {
        match self {
            Self::Read => EpollFlags::EPOLLIN,
            Self::Write => EpollFlags::EPOLLOUT,
            Self::Both => EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT,
        }
    }
}

/// Why [`Poller::wait`] returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wake {
    /// At least one file is ready: see [`Poller::ready`].
    Ready,
    /// The deadline has passed, and no file is ready.
    Deadline,
    /// A signal handler ran.
    Interrupted,
}

/// A file that is ready.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ready {
    /// The token it was added with.
    pub token: u64,
    /// Something can be read.
    pub readable: bool,
    /// Something can be written.
    pub writable: bool,
    /// The other end has been closed, or the device has been removed.
    pub closed: bool,
}

/// Waits for files (level triggered) and for deadlines. The timeouts of `epoll_pwait2` are in
/// nanoseconds, those of `epoll_wait` in milliseconds.
#[derive(Debug)]
pub struct Poller {
    epoll: Epoll,
    events: Vec<EpollEvent>,
    n_ready: usize,
}

impl Poller {
    /// Files reported by one wait; the next wait reports the others.
    const BATCH: usize = 64;

    /// Creates a poller without files, and asks the kernel to wake the calling thread without the
    /// usual 50 µs of timer slack (`PR_SET_TIMERSLACK`).
    ///
    /// # Errors
    /// When the kernel cannot create another epoll instance.
    pub fn new() -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        reduce_timer_slack();
        Ok(Self {
            epoll,
            events: vec![EpollEvent::empty(); Self::BATCH],
            n_ready: 0,
        })
    }

    /// Adds a file; `token` comes back in [`Ready`].
    ///
    /// # Errors
    /// When the file was added before or cannot be polled.
    pub fn add(&self, file: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        Ok(self
            .epoll
            .add(file, EpollEvent::new(interest.flags(), token))?)
    }

    /// Changes what to wait for.
    ///
    /// # Errors
    /// When the file was not added.
    pub fn modify(&self, file: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        Ok(self
            .epoll
            .modify(file, &mut EpollEvent::new(interest.flags(), token))?)
    }

    /// Removes a file. A closed file removes itself.
    ///
    /// # Errors
    /// When the file was not added.
    pub fn remove(&self, file: impl AsFd) -> io::Result<()> {
        Ok(self.epoll.delete(file)?)
    }

    /// Waits until a file is ready or `deadline` has passed. Without a deadline, it waits for a
    /// file for as long as it takes.
    ///
    /// Ready files are reported even if the deadline has passed, so that neither starves the other.
    /// A deadline in the past costs one system call.
    ///
    /// # Errors
    /// When the kernel refuses to wait, which only a bug can cause.
    pub fn wait(&mut self, clock: &Clock, deadline: Option<Time>) -> io::Result<Wake> {
        loop {
            let now = clock.now();
            let timeout = deadline.map(|at| at.saturating_since(now));
            let wake = self.wait_once(timeout)?;
            // A deadline is never early, whatever the resolution of the kernel's timers.
            let is_early = wake == Wake::Deadline && deadline.is_some_and(|at| clock.now() < at);
            if !is_early {
                return Ok(wake);
            }
        }
    }

    fn wait_once(&mut self, timeout: Option<Duration>) -> io::Result<Wake> {
        self.n_ready = 0;
        match sys::epoll_pwait2(self.epoll.0.as_fd(), &mut self.events, timeout) {
            Ok(0) => Ok(Wake::Deadline),
            Ok(n) => {
                self.n_ready = n;
                Ok(Wake::Ready)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(Wake::Interrupted),
            Err(error) => Err(error),
        }
    }

    /// Returns the files that the last [`Poller::wait`] found ready.
    pub fn ready(&self) -> impl Iterator<Item = Ready> + '_ {
        self.events[..self.n_ready].iter().map(|event| {
            let flags = event.events();
            Ready {
                token: event.data(),
                readable: flags.contains(EpollFlags::EPOLLIN),
                writable: flags.contains(EpollFlags::EPOLLOUT),
                closed: flags.intersects(EpollFlags::EPOLLHUP | EpollFlags::EPOLLERR),
            }
        })
    }
}

impl AsFd for Poller {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.0.as_fd()
    }
}

/// Asks for exact timers for the calling thread. If the kernel refuses, deadlines are met later,
/// which the callers measure.
fn reduce_timer_slack() {
    if let Err(error) = nix::sys::prctl::set_timerslack(1) {
        tracing::warn!(event = "timer-slack", %error, "the kernel keeps its timer slack: deadlines are met 50 µs late");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_deadline_is_never_early() {
        let clock = Clock::start();
        let mut poller = Poller::new().unwrap();
        for _ in 0..10 {
            let at = clock.now() + Duration::from_micros(300);
            assert_eq!(poller.wait(&clock, Some(at)).unwrap(), Wake::Deadline);
            assert!(clock.now() >= at);
        }
    }

    #[test]
    fn a_readable_file_is_reported_with_its_token() {
        let clock = Clock::start();
        let (mut a, b) = UnixStream::pair().unwrap();
        let mut poller = Poller::new().unwrap();
        poller.add(&b, 7, Interest::Read).unwrap();
        a.write_all(b"x").unwrap();
        assert_eq!(poller.wait(&clock, None).unwrap(), Wake::Ready);
        let ready: Vec<_> = poller.ready().collect();
        assert_eq!(
            ready,
            [Ready {
                token: 7,
                readable: true,
                writable: false,
                closed: false
            }]
        );
        // A deadline in the past does not hide the file.
        assert_eq!(poller.wait(&clock, Some(Time::ZERO)).unwrap(), Wake::Ready);
    }
}
