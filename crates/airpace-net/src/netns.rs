//! Network namespaces that vanish with the process.
//!
//! A [`Namespace`] has no name under `/run/netns`: an open file holds it. When the process ends, in whatever way, the kernel
//! closes the file, and with the last process inside goes the namespace with its interfaces. Other programs enter it through
//! [`Namespace::path`]: `nsenter --net=/proc/1234/fd/7 ping 10.77.0.1`.

use crate::clock::Clock;
use crate::netlink::{LinkError, Netlink};
use crate::sys;
use nix::errno::Errno;
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::signal::Signal;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;

/// Why a namespace could not be made or entered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NamespaceError {
    /// Namespaces need rights that this process lacks.
    #[error(
        "cannot create a network namespace: {0}; run as root, or allow user namespaces to this user (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)"
    )]
    Create(#[source] io::Error),
    /// No user namespace either.
    #[error(
        "not root, and cannot enter a user namespace: {0}; run as root, or allow user namespaces to this user (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)"
    )]
    User(#[source] io::Error),
    /// It cannot be entered.
    #[error("cannot enter the network namespace: {0}")]
    Enter(#[source] io::Error),
    /// It cannot be opened.
    #[error("cannot open the network namespace {path}: {source}")]
    Open {
        /// Where it was sought.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A kernel setting could not be made.
    #[error("cannot set {path} to {value}: {source}")]
    Sysctl {
        /// The setting's file.
        path: PathBuf,
        /// The value wanted.
        value: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// An interface could not be prepared.
    #[error(transparent)]
    Link(#[from] LinkError),
}

/// How this process may make namespaces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rights {
    /// It could all along (root, or CAP_SYS_ADMIN).
    Own,
    /// It has entered a user namespace in which it is root.
    UserNamespace,
}

/// Makes sure that this process may create namespaces and interfaces, entering a user namespace if it must.
///
/// Call it first thing in `main`: a process with a second thread cannot enter a user namespace.
///
/// # Errors
/// [`NamespaceError::User`] when the system allows neither.
pub fn acquire_rights() -> Result<Rights, NamespaceError> {
    if Namespace::new().is_ok() {
        return Ok(Rights::Own);
    }
    let (uid, gid) = (nix::unistd::getuid(), nix::unistd::getgid());
    let enter = || -> io::Result<()> {
        unshare_alone(
            CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS,
        )?;
        std::fs::write("/proc/self/setgroups", "deny")?;
        std::fs::write("/proc/self/uid_map", format!("0 {uid} 1"))?;
        std::fs::write("/proc/self/gid_map", format!("0 {gid} 1"))
    };
    enter().map_err(NamespaceError::User)?;
    Ok(Rights::UserNamespace)
}

/// Moves the only thread of the process. A thread that has been joined may still be on its way out of the thread group, for
/// which the kernel answers `EINVAL`: it is left a tenth of a second.
fn unshare_alone(flags: CloneFlags) -> nix::Result<()> {
    let clock = Clock::start();
    loop {
        match unshare(flags) {
            Err(Errno::EINVAL) if clock.now().as_nanos() < THREAD_EXIT_NS => thread::yield_now(),
            other => return other,
        }
    }
}

/// Longest that the exit of a joined thread may take: it is a matter of microseconds, or of time slices on a busy machine.
const THREAD_EXIT_NS: u64 = 100_000_000;

/// A network namespace, held by an open file.
#[derive(Debug)]
pub struct Namespace {
    file: OwnedFd,
}

impl Namespace {
    /// Creates an empty namespace. Even its loopback interface is down: see [`Namespace::prepare`].
    ///
    /// # Errors
    /// [`NamespaceError::Create`] without the rights: see [`acquire_rights`].
    pub fn new() -> Result<Self, NamespaceError> {
        // A thread of its own is moved, so that the caller stays where it is.
        in_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET).map_err(|e| NamespaceError::Create(e.into()))?;
            Self::current()
        })
    }

    /// The namespace of the calling thread.
    ///
    /// # Errors
    /// When /proc is not mounted.
    pub fn current() -> Result<Self, NamespaceError> {
        Self::open(Path::new("/proc/thread-self/ns/net"))
    }

    /// An existing namespace: `/run/netns/NAME`, `/proc/PID/ns/net`, or a path printed by [`Namespace::path`].
    ///
    /// # Errors
    /// When there is no such file or it may not be opened.
    pub fn open(path: &Path) -> Result<Self, NamespaceError> {
        let file = File::open(path).map_err(|source| NamespaceError::Open {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self { file: file.into() })
    }

    /// A path by which other processes of this machine can enter the namespace while this process lives.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!(
            "/proc/{}/fd/{}",
            std::process::id(),
            self.file.as_raw_fd()
        ))
    }

    /// The number of the file that holds the namespace.
    pub(crate) fn raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    /// Moves the calling thread into the namespace, for good. Sockets and devices that it has opened stay where they were.
    ///
    /// # Errors
    /// Without CAP_SYS_ADMIN.
    pub fn enter(&self) -> Result<(), NamespaceError> {
        setns(&self.file, CloneFlags::CLONE_NEWNET).map_err(|e| NamespaceError::Enter(e.into()))
    }

    /// Runs `work` inside the namespace, on a thread of its own, and waits for it. Sockets and devices opened there keep
    /// belonging to the namespace when they are returned.
    ///
    /// # Errors
    /// [`NamespaceError::Enter`]; `work` was then not run.
    ///
    /// # Panics
    /// If `work` panics.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, NamespaceError> {
        in_thread(|| self.enter().map(|()| work()))
    }

    /// Starts a thread inside the namespace.
    ///
    /// # Errors
    /// When no thread can be started. If the namespace cannot be entered, the thread's result is that error.
    pub fn spawn_thread<T: Send + 'static>(
        &self,
        name: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<thread::JoinHandle<Result<T, NamespaceError>>> {
        let namespace = self.try_clone()?;
        thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || namespace.enter().map(|()| work()))
    }

    /// Starts a program inside the namespace. It is killed when the calling thread ends, so that it does not outlive a crash;
    /// what it has started may: see [`crate::program::Program`].
    ///
    /// # Errors
    /// When the program cannot be started or the namespace not entered.
    pub fn spawn(&self, mut command: Command) -> io::Result<Child> {
        let network = Some(self.file.try_clone()?);
        sys::prepare_child(
            &mut command,
            sys::ChildSetup {
                network,
                on_parent_death: Signal::SIGKILL,
                own_init: false,
            },
        );
        command.spawn()
    }

    /// Another handle of the same namespace.
    ///
    /// # Errors
    /// When the process has no file left.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self {
            file: self.file.as_fd().try_clone_to_owned()?,
        })
    }

    /// Opens the tables of addresses and routes.
    ///
    /// # Errors
    /// When the namespace cannot be entered or no socket is left.
    pub fn netlink(&self) -> Result<Netlink, NamespaceError> {
        Ok(self.run(Netlink::open)??)
    }

    /// Brings the loopback interface up and silences what would send packets by itself: IPv6 (its neighbour discovery), and the
    /// reverse-path filter, which would drop packets in networks whose two directions differ.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn prepare(&self) -> Result<(), NamespaceError> {
        self.run(|| {
            Netlink::open()?.set_up("lo")?;
            for which in ["all", "default"] {
                set_sysctl(&format!("net/ipv4/conf/{which}/rp_filter"), "0")?;
                // A kernel without IPv6 has nothing to silence.
                ignore_missing(set_sysctl(
                    &format!("net/ipv6/conf/{which}/disable_ipv6"),
                    "1",
                ))?;
            }
            Ok(())
        })?
    }

    /// Sets a kernel setting of the namespace, for example `net/ipv4/ip_forward`.
    ///
    /// # Errors
    /// When there is no such setting or the value is refused.
    pub fn set_sysctl(&self, key: &str, value: &str) -> Result<(), NamespaceError> {
        self.run(|| set_sysctl(key, value))?
    }

    /// Sets the TCP congestion control of sockets created later in the namespace, for example `bbr`.
    ///
    /// # Errors
    /// When the kernel does not have it.
    pub fn set_congestion_control(&self, name: &str) -> Result<(), NamespaceError> {
        self.set_sysctl("net/ipv4/tcp_congestion_control", name)
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Starts a program in the calling thread's namespace that is killed when the calling thread ends.
///
/// # Errors
/// When it cannot be started.
pub fn spawn_here(mut command: Command) -> io::Result<Child> {
    sys::prepare_child(
        &mut command,
        sys::ChildSetup {
            network: None,
            on_parent_death: Signal::SIGKILL,
            own_init: false,
        },
    );
    command.spawn()
}

/// Writes a setting under /proc/sys, in the namespace of the calling thread.
///
/// # Errors
/// When there is no such setting or the value is refused.
pub fn set_sysctl(key: &str, value: &str) -> Result<(), NamespaceError> {
    let path = Path::new("/proc/sys").join(key);
    std::fs::write(&path, value).map_err(|source| NamespaceError::Sysctl {
        path,
        value: value.to_owned(),
        source,
    })
}

fn ignore_missing(result: Result<(), NamespaceError>) -> Result<(), NamespaceError> {
    match result {
        Err(NamespaceError::Sysctl { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            Ok(())
        }
        other => other,
    }
}

fn in_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let result = scope.spawn(work).join();
        result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
