//! Network namespaces that disappear with the process.
//!
//! A [`Namespace`] has no name under `/run/netns`: an open file holds it. When the process ends, in
//! whatever way, the kernel closes the file; when no process is inside any more, it removes the
//! namespace with all its interfaces. Other programs enter it by [`Namespace::path`]:
//! `nsenter --net=/proc/1234/fd/7 ping 10.77.0.1`.

mod living;

pub use living::in_use;

use crate::clock::Clock;
use crate::netlink::{LinkError, Netlink};
use crate::sys;
use nix::errno::Errno;
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::signal::Signal;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;

/// Why a namespace could not be created, entered or configured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NamespaceError {
    /// This process may not create network namespaces.
    #[error(
        "cannot create a network namespace: {0}; run as root, or allow user namespaces to this \
         user (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone, \
         kernel.apparmor_restrict_unprivileged_userns)"
    )]
    Create(#[source] io::Error),
    /// This process may not create network namespaces, nor enter a user namespace where it may.
    #[error(
        "not root, and cannot enter a user namespace: {0}; run as root, or allow user namespaces \
         to this user (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone, \
         kernel.apparmor_restrict_unprivileged_userns)"
    )]
    User(#[source] io::Error),
    /// The namespace cannot be entered.
    #[error("cannot enter the network namespace: {0}")]
    Enter(#[source] io::Error),
    /// The namespace's file cannot be opened.
    #[error("cannot open the network namespace {path}: {source}")]
    Open {
        /// Path of the file.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A kernel setting could not be changed.
    #[error("cannot set {path} to {value}: {source}")]
    Sysctl {
        /// Path of the setting.
        path: PathBuf,
        /// The value that it should have.
        value: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// An interface, address or route could not be configured.
    #[error(transparent)]
    Link(#[from] LinkError),
}

/// Returns a number of the calling thread's network namespace that the kernel gives to no other until the
/// machine restarts, unlike the inode of its file; `None` before Linux 5.14.
#[must_use]
pub fn cookie() -> Option<u64> {
    let socket = UnixDatagram::unbound().ok()?;
    sys::namespace_cookie(socket.as_fd()).ok()
}

/// Ensures that this process may create namespaces and interfaces. If it is neither root nor has
/// CAP_SYS_ADMIN, it enters a user namespace, in which it is root.
///
/// Call it at the beginning of `main`: a process with a second thread cannot enter a user
/// namespace.
///
/// # Errors
/// [`NamespaceError::User`] when the system allows neither.
pub fn acquire_rights() -> Result<(), NamespaceError> {
    if Namespace::new().is_ok() {
        return Ok(());
    }
    let (uid, gid) = (nix::unistd::getuid(), nix::unistd::getgid());
    let enter = || -> io::Result<()> {
        unshare_alone(
            CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS,
        )?;
        // The kernel accepts the map of groups only after this (user_namespaces(7)).
        std::fs::write("/proc/self/setgroups", "deny")?;
        std::fs::write("/proc/self/uid_map", format!("0 {uid} 1"))?;
        std::fs::write("/proc/self/gid_map", format!("0 {gid} 1"))
    };
    enter().map_err(NamespaceError::User)
}

/// Returns whether this process is root in the first user namespace. Root of another one, which
/// [`acquire_rights`] may have entered, may create network namespaces and interfaces but not load BPF
/// programs or write to the system's folders.
#[must_use]
pub fn is_system_root() -> bool {
    // Only the first user namespace maps all ids to themselves.
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let fields: Vec<&str> = map.split_whitespace().collect();
    nix::unistd::geteuid().is_root() && fields == ["0", "0", "4294967295"]
}

/// Moves the only thread of the process into new namespaces. A thread that has been joined may
/// still be leaving the thread group; the kernel answers `EINVAL` until it has, for which this
/// waits a tenth of a second.
fn unshare_alone(flags: CloneFlags) -> nix::Result<()> {
    let clock = Clock::start();
    loop {
        match unshare(flags) {
            Err(Errno::EINVAL) if clock.now().as_nanos() < THREAD_EXIT_NS => thread::yield_now(),
            other => return other,
        }
    }
}

/// Longest time that the exit of a joined thread may take. It usually takes microseconds, and a few
/// time slices on a busy machine.
const THREAD_EXIT_NS: u64 = 100_000_000;

/// A network namespace, held by an open file.
#[derive(Debug)]
pub struct Namespace {
    file: OwnedFd,
}

impl Namespace {
    /// Creates an empty namespace, in which even the loopback interface is down: see
    /// [`Namespace::prepare`].
    ///
    /// # Errors
    /// [`NamespaceError::Create`] without the rights: see [`acquire_rights`].
    pub fn new() -> Result<Self, NamespaceError> {
        // The thread that unshares moves into the new namespace; the caller stays where it is.
        in_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET).map_err(|e| NamespaceError::Create(e.into()))?;
            Self::current()
        })
    }

    /// Returns the namespace of the calling thread.
    ///
    /// # Errors
    /// When /proc is not mounted.
    pub fn current() -> Result<Self, NamespaceError> {
        Self::open(Path::new("/proc/thread-self/ns/net"))
    }

    /// Opens an existing namespace: `/run/netns/NAME`, `/proc/PID/ns/net`, or a path returned by
    /// [`Namespace::path`].
    ///
    /// # Errors
    /// When the file does not exist or may not be opened.
    pub fn open(path: &Path) -> Result<Self, NamespaceError> {
        let file = File::open(path).map_err(|source| NamespaceError::Open {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self { file: file.into() })
    }

    /// Returns a path by which other processes of this machine can enter the namespace as long as
    /// this process lives.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!(
            "/proc/{}/fd/{}",
            std::process::id(),
            self.file.as_raw_fd()
        ))
    }

    /// Returns the descriptor of the file that holds the namespace.
    pub(crate) fn raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    /// Moves the calling thread into the namespace. Sockets and devices that it has opened stay in
    /// their namespace.
    ///
    /// # Errors
    /// Without CAP_SYS_ADMIN.
    pub fn enter(&self) -> Result<(), NamespaceError> {
        setns(&self.file, CloneFlags::CLONE_NEWNET).map_err(|e| NamespaceError::Enter(e.into()))
    }

    /// Runs `work` inside the namespace, on a new thread, and waits for its result. Sockets and
    /// devices that it opens and returns stay in the namespace.
    ///
    /// # Errors
    /// [`NamespaceError::Enter`]; `work` has not run then.
    ///
    /// # Panics
    /// If `work` panics.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, NamespaceError> {
        in_thread(|| self.enter().map(|()| work()))
    }

    /// Starts a thread inside the namespace.
    ///
    /// # Errors
    /// When the thread cannot be started. If it cannot enter the namespace, that error is its
    /// result.
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

    /// Starts a program inside the namespace. It is killed when the calling thread ends, so that it
    /// does not outlive a crash; its own children may, other than those of a
    /// [`crate::program::Program`].
    ///
    /// # Errors
    /// When the program cannot be started or the namespace cannot be entered.
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

    /// Returns another handle of the same namespace.
    ///
    /// # Errors
    /// When the process cannot open another file.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self {
            file: self.file.as_fd().try_clone_to_owned()?,
        })
    }

    /// Opens the namespace's tables of interfaces, addresses and routes.
    ///
    /// # Errors
    /// When the namespace cannot be entered, or the process cannot open another socket.
    pub fn netlink(&self) -> Result<Netlink, NamespaceError> {
        Ok(self.run(Netlink::open)??)
    }

    /// Brings the loopback interface up and turns off two things that would disturb an experiment:
    /// IPv6, whose neighbour discovery sends packets by itself, and the reverse-path filter, which
    /// drops packets that arrive by another interface than the one that leads back.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn prepare(&self) -> Result<(), NamespaceError> {
        self.run(|| {
            Netlink::open()?.set_up("lo")?;
            for which in ["all", "default"] {
                set_sysctl(&format!("net/ipv4/conf/{which}/rp_filter"), "0")?;
                let disabled = set_sysctl(&format!("net/ipv6/conf/{which}/disable_ipv6"), "1");
                match disabled {
                    // A kernel without IPv6 does not have the setting.
                    Err(NamespaceError::Sysctl { source, .. })
                        if source.kind() == io::ErrorKind::NotFound => {}
                    other => other?,
                }
            }
            Ok(())
        })?
    }

    /// Changes a kernel setting of the namespace, for example `net/ipv4/ip_forward`.
    ///
    /// # Errors
    /// When the setting does not exist or the kernel refuses the value.
    pub fn set_sysctl(&self, key: &str, value: &str) -> Result<(), NamespaceError> {
        self.run(|| set_sysctl(key, value))?
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Writes a setting under /proc/sys, in the namespace of the calling thread.
fn set_sysctl(key: &str, value: &str) -> Result<(), NamespaceError> {
    let path = Path::new("/proc/sys").join(key);
    std::fs::write(&path, value).map_err(|source| NamespaceError::Sysctl {
        path,
        value: value.to_owned(),
        source,
    })
}

/// Runs `work` on a new thread and waits for its result; passes its panic on.
fn in_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let result = scope.spawn(work).join();
        result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
