//! Programs that cannot outlive this process, nor leave processes of their own behind.

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

/// A running program in a PID namespace of its own, together with everything that it starts.
///
/// The init process of that namespace is a small process between this one and the program. When the
/// program ends, or when this process ends in whatever way (including SIGKILL), the init process
/// ends and the kernel kills all other processes of the namespace, daemons included. The program
/// sees the caller's /proc. Dropping the value kills the program.
#[derive(Debug)]
pub struct Program {
    /// The init process.
    child: Child,
    /// Readable once the init process has ended.
    ended: Arc<EventFd>,
    /// The thread that started it; `None` once it has been joined.
    keeper: Option<JoinHandle<()>>,
}

impl Program {
    /// Starts `command`, inside `namespace` if one is given.
    ///
    /// # Errors
    /// When the program cannot be started, for example without CAP_SYS_ADMIN: see
    /// [`crate::netns::acquire_rights`].
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
        // The kernel sends the parent-death signal when the thread that started the child ends, so
        // this thread stays as long as the child. It also enters a PID namespace for its children,
        // which the caller's thread must not.
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

    /// Asks the program to end (SIGTERM).
    pub fn terminate(&self) {
        self.signal(Signal::SIGTERM);
    }

    /// Kills the program and all that it has started.
    pub fn kill(&self) {
        self.signal(Signal::SIGKILL);
    }

    fn signal(&self, signal: Signal) {
        // The child is not reaped before `wait`, so its number cannot belong to another process. If
        // it has ended already, there is nobody to tell.
        let _ = kill(pid_of(&self.child), signal);
    }

    /// Returns whether the program has ended; its file ([`AsFd`]) is readable then.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.keeper.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits for the end of the program. If signal `n` has killed it, the exit code is 128 + n, as
    /// in a shell.
    ///
    /// # Errors
    /// When the process has been reaped elsewhere.
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
            // It returns nothing, and `spawn` would have reported its panic.
            let _ = keeper.join();
        }
    }
}

impl AsFd for Program {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ended.as_fd()
    }
}

/// Starts the program, reports to `started`, stays until it has ended, and then rings `bell`.
fn keep(mut command: Command, started: &Sender<io::Result<Child>>, bell: &EventFd) {
    let child = unshare(CloneFlags::CLONE_NEWPID)
        .map_err(io::Error::from)
        .and_then(|()| command.spawn());
    let pid = child.as_ref().ok().map(pid_of);
    if started.send(child).is_ok()
        && let Some(pid) = pid
    {
        // WNOWAIT leaves the process to be reaped by the owner of the `Program`.
        let _ = waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT);
    }
    let _ = bell.write(1);
}

/// Returns the process number of a child.
fn pid_of(child: &Child) -> Pid {
    // The kernel's process numbers are at most 2^22.
    Pid::from_raw(child.id().cast_signed())
}
