//! Tells the service manager how a daemon is: the protocol of `sd_notify(3)`.

use core::time::Duration;
use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The connection to a service manager.
#[derive(Debug)]
pub struct Notifier {
    socket: UnixDatagram,
    watchdog: Option<Duration>,
}

impl Notifier {
    /// Connects to the manager that started this process; `None` if none asks to be told
    /// (`NOTIFY_SOCKET`).
    ///
    /// # Errors
    /// The socket that the environment names cannot be used.
    pub fn from_environment() -> io::Result<Option<Self>> {
        let Some(address) = std::env::var_os("NOTIFY_SOCKET") else {
            return Ok(None);
        };
        let number = |name| {
            let text = std::env::var_os(name)?;
            text.to_str()?.parse::<u64>().ok()
        };
        let mut interval = number("WATCHDOG_USEC").filter(|us| *us > 0);
        let pid = number("WATCHDOG_PID");
        if pid.is_some_and(|pid| pid != u64::from(std::process::id())) {
            // The variables are meant for a process that started this one.
            interval = None;
        }
        Self::connect(&address, interval.map(Duration::from_micros)).map(Some)
    }

    /// Connects to `address`, a path, or a name without a file that begins with `@`. `watchdog` is the
    /// silence after which the manager takes this process for dead.
    ///
    /// # Errors
    /// Nobody listens there, or it is an address of another kind.
    pub fn connect(address: &OsStr, watchdog: Option<Duration>) -> io::Result<Self> {
        let to = match address.as_bytes() {
            [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
            [b'/', ..] => SocketAddr::from_pathname(address)?,
            _ => {
                return Err(io::Error::new(
                    io::ErrorKind::Unsupported,
                    "NOTIFY_SOCKET is neither a path nor begins with @",
                ));
            }
        };
        let socket = UnixDatagram::unbound()?;
        socket.connect_addr(&to)?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket, watchdog })
    }

    /// The silence after which the manager takes this process for dead; `None` if it does not watch.
    #[must_use]
    pub const fn watchdog(&self) -> Option<Duration> {
        self.watchdog
    }

    /// Sends assignments, one a line: `READY=1`. It never waits.
    ///
    /// # Errors
    /// The manager does not take it, for example because it has not read earlier ones.
    pub fn tell(&self, state: &str) -> io::Result<()> {
        self.socket.send(state.as_bytes()).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(manager: &UnixDatagram) -> String {
        let mut bytes = [0; 256];
        let n = manager.recv(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes[..n]).into_owned()
    }

    #[test]
    fn states_reach_a_socket_with_a_file_and_one_without() {
        let name = format!("airpace-notify-{}", std::process::id());
        let path = std::env::temp_dir().join(&name);
        let _ = std::fs::remove_file(&path);
        let with_file = UnixDatagram::bind(&path).unwrap();
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let without_file = UnixDatagram::bind_addr(&address).unwrap();
        let abstract_name = format!("@{name}");
        for (manager, address) in [
            (&with_file, path.as_os_str()),
            (&without_file, OsStr::new(&abstract_name)),
        ] {
            let notifier = Notifier::connect(address, None).unwrap();
            notifier.tell("READY=1\nSTATUS=up").unwrap();
            assert_eq!(received(manager), "READY=1\nSTATUS=up");
        }
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_manager_that_does_not_read_cannot_make_the_daemon_wait() {
        let name = format!("airpace-notify-full-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let _manager = UnixDatagram::bind_addr(&address).unwrap();
        let notifier = Notifier::connect(OsStr::new(&format!("@{name}")), None).unwrap();
        let refused = (0..100_000).any(|_| notifier.tell("WATCHDOG=1").is_err());
        assert!(refused);
    }

    #[test]
    fn addresses_of_other_kinds_and_without_a_listener_are_refused() {
        for address in ["vsock:2:1", "", "/nonexistent/notify"] {
            assert!(Notifier::connect(OsStr::new(address), None).is_err());
        }
    }
}
