//! Programs that cannot outlive this process, nor leave anything of theirs behind.

use crate::netns::Namespace;
use crate::sys;
use nix::sched::{CloneFlags, unshare};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

/// A running program in a process namespace of its own, together with everything that it starts.
///
/// A small parent process stands between: when the program ends, or when this process ends in whatever way (SIGKILL included),
/// the kernel kills all that is left, background processes and daemons too. The program sees the /proc of the caller.
/// Dropping it kills it.
#[derive(Debug)]
pub struct Program {
    child: Child,
    ended: Arc<EventFd>,
    keeper: Option<JoinHandle<()>>,
}

impl Program {
    /// Starts `command`, inside `namespace` if one is given.
    ///
    /// # Errors
    /// When the program cannot be started; without CAP_SYS_ADMIN (see [`crate::netns::acquire_rights`]).
    pub fn spawn(mut command: Command, namespace: Option<&Namespace>) -> io::Result<Self> {
        let network = namespace
            .map(|n| n.as_fd().try_clone_to_owned())
            .transpose()?;
        sys::prepare_child(
            &mut command,
            sys::ChildSetup {
                network,
                on_parent_death: Signal::SIGKILL,
                own_init: true,
            },
        );
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        let ended = Arc::new(EventFd::from_value_and_flags(0, flags)?);
        let bell = Arc::clone(&ended);
        let (sender, started) = channel();
        // The kernel ties a child to the thread that started it, so one thread stays as long as the child does. It also
        // leaves the process namespace for its children, which the other threads must not.
        let keeper = thread::Builder::new()
            .name("keeper".into())
            .spawn(move || keep(command, &sender, &bell))?;
        let child = started
            .recv()
            .map_err(|_| io::Error::other("the thread that starts the program has panicked"))??;
        Ok(Self {
            child,
            ended,
            keeper: Some(keeper),
        })
    }

    /// Process number of the small parent.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Asks the program to end (SIGTERM).
    pub fn terminate(&self) {
        self.signal(Signal::SIGTERM);
    }

    /// Kills the program and all that it has started.
    pub fn kill(&self) {
        self.signal(Signal::SIGKILL);
    }

    fn signal(&self, signal: Signal) {
        // The child is not waited for before `wait`, so its number cannot have been given to another process; if it has ended
        // already there is nobody to tell.
        let _ = i32::try_from(self.id()).map(|pid| kill(Pid::from_raw(pid), signal));
    }

    /// Whether the program has ended; the file of [`AsFd`] is readable then.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.keeper.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits for the end. A program that was killed by signal `n` has exit code 128 + n, as in a shell.
    ///
    /// # Errors
    /// When it was waited for elsewhere.
    pub fn wait(mut self) -> io::Result<ExitStatus> {
        self.child.wait()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            self.kill();
            let _ = self.child.wait();
        }
        if let Some(keeper) = self.keeper.take() {
            // It has nothing to return, and its panic would have been seen in `spawn`.
            let _ = keeper.join();
        }
    }
}

impl AsFd for Program {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ended.as_fd()
    }
}

/// Starts the program and stays until it has ended.
fn keep(mut command: Command, started: &Sender<io::Result<Child>>, bell: &EventFd) {
    let child = unshare(CloneFlags::CLONE_NEWPID)
        .map_err(io::Error::from)
        .and_then(|()| command.spawn());
    let pid = child
        .as_ref()
        .ok()
        .and_then(|child| i32::try_from(child.id()).ok());
    if started.send(child).is_ok()
        && let Some(pid) = pid
    {
        // Left to be waited for by the owner.
        let _ = waitid(
            Id::Pid(Pid::from_raw(pid)),
            WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT,
        );
    }
    let _ = bell.write(1);
}
