//! The box as a service manager sees it.

use super::{program, testbed};
use airpace_lab::bench::edge::EdgeTestbed;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Silence that the manager permits, in microseconds. The box gives a sign every 100 ms.
const WATCHDOG_US: &str = "300000";

/// A service manager with a box that it has started.
struct Managed {
    socket: UnixDatagram,
    folder: PathBuf,
    child: Child,
}

impl Managed {
    fn start(bed: &EdgeTestbed) -> Self {
        let folder = std::env::temp_dir().join(format!("airpace-manager-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let address = folder.join("notify");
        let socket = UnixDatagram::bind(&address).unwrap();
        let config = folder.join("edge.toml");
        fs::write(&config, bed.configuration("realtime = false")).unwrap();
        let mut command = Command::new(program());
        command.arg("edge").arg("--config").arg(&config);
        command.env("NOTIFY_SOCKET", &address);
        command.env("WATCHDOG_USEC", WATCHDOG_US);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        Self {
            child: bed.middle.spawn(command).unwrap(),
            socket,
            folder,
        }
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().cast_signed()), signal).unwrap();
    }

    /// The next message within so long.
    fn next(&self, patience: Duration) -> Option<String> {
        self.socket.set_read_timeout(Some(patience)).unwrap();
        let mut bytes = [0; 512];
        let n = self.socket.recv(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes[..n]).into_owned())
    }

    /// Waits for a message that begins so.
    fn await_message(&self, start: &str) -> String {
        for _ in 0..1000 {
            let message = self.next(Duration::from_secs(20));
            let message = message.unwrap_or_else(|| panic!("silence before {start}"));
            if message.starts_with(start) {
                return message;
            }
        }
        panic!("no {start}");
    }
}

impl Drop for Managed {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn signs_of_life_end_with_sigstop_and_resume_with_sigcont() {
    let Some(bed) = testbed(1, 1500) else { return };
    let mut manager = Managed::start(&bed);
    manager.await_message("READY=1");
    assert!(bed.status().is_ok(), "it was ready before it answered");
    let status = manager.await_message("STATUS=");
    assert!(status.contains("paces 0 stations"), "{status}");
    manager.await_message("WATCHDOG=1");
    manager.signal(Signal::SIGSTOP);
    // What it sent before it stopped is still to be read.
    while manager.next(Duration::from_millis(900)).is_some() {}
    assert_eq!(manager.next(Duration::from_millis(900)), None);
    manager.signal(Signal::SIGCONT);
    manager.await_message("WATCHDOG=1");
    manager.signal(Signal::SIGTERM);
    manager.await_message("STOPPING=1");
    assert!(manager.child.wait().unwrap().success());
}
