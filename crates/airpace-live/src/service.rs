//! What a daemon tells the service manager that started it: that it is ready, that its loop turns,
//! how it stands, and that it ends.

use airpace_net::notify::Notifier;
use airpace_units::Time;
use core::time::Duration;

/// A daemon as its service manager sees it. Without a manager nothing happens.
#[derive(Debug)]
pub(crate) struct Service {
    notifier: Option<Notifier>,
    is_ready: bool,
    /// When the next sign of life is due.
    next_sign: Time,
    status: String,
}

impl Service {
    /// Connects to the manager, if there is one.
    pub(crate) fn begin() -> Self {
        let notifier = Notifier::from_environment().unwrap_or_else(|error| {
            tracing::warn!(event = "service-manager-unreachable", %error, "the service manager cannot be told that the daemon is ready");
            None
        });
        Self::with(notifier)
    }

    const fn with(notifier: Option<Notifier>) -> Self {
        Self {
            notifier,
            is_ready: false,
            next_sign: Time::ZERO,
            status: String::new(),
        }
    }

    /// Says that the loop turns. The first time it also says that the daemon is ready, so the loop must
    /// have everything that it needs.
    pub(crate) fn turn(&mut self, now: Time) {
        if !self.is_ready {
            self.is_ready = true;
            self.tell("READY=1");
        }
        if let Some(interval) = self.interval()
            && now >= self.next_sign
        {
            self.next_sign = now.saturating_add(interval);
            self.tell("WATCHDOG=1");
        }
    }

    /// When the loop must turn next, so that the manager does not take it for dead.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.interval().map(|_| self.next_sign)
    }

    /// Says how the daemon stands, if that has changed.
    pub(crate) fn status(&mut self, status: String) {
        if self.status != status {
            // A line break would begin another assignment.
            self.tell(&format!("STATUS={}", status.replace('\n', " ")));
            self.status = status;
        }
    }

    /// Says that the daemon ends.
    pub(crate) fn stopping(&self) {
        self.tell("STOPPING=1");
    }

    /// A third of the silence that the manager permits, so that one sign may be lost.
    fn interval(&self) -> Option<Duration> {
        Some(self.notifier.as_ref()?.watchdog()? / 3)
    }

    fn tell(&self, state: &str) {
        if let Some(notifier) = &self.notifier {
            // A manager that does not listen now hears the next one.
            let _ = notifier.tell(state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixDatagram;

    struct Manager {
        socket: UnixDatagram,
        path: std::path::PathBuf,
    }

    impl Manager {
        fn new(name: &str) -> Self {
            let name = format!("airpace-service-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            let _ = std::fs::remove_file(&path);
            let socket = UnixDatagram::bind(&path).unwrap();
            socket.set_nonblocking(true).unwrap();
            Self { socket, path }
        }

        fn service(&self, watchdog: Option<Duration>) -> Service {
            let notifier = Notifier::connect(self.path.as_os_str(), watchdog).unwrap();
            Service::with(Some(notifier))
        }

        /// What came since the last call.
        fn heard(&self) -> Vec<String> {
            let mut bytes = [0; 256];
            let mut heard = Vec::new();
            while let Ok(n) = self.socket.recv(&mut bytes) {
                heard.push(String::from_utf8_lossy(&bytes[..n]).into_owned());
            }
            heard
        }
    }

    impl Drop for Manager {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.path);
        }
    }

    #[test]
    fn signs_of_life_come_three_times_per_interval_and_only_from_turns() {
        let manager = Manager::new("signs");
        let mut service = manager.service(Some(Duration::from_secs(3)));
        let at = |ms: u64| Time::from_millis(ms);
        service.turn(at(10));
        assert_eq!(manager.heard(), ["READY=1", "WATCHDOG=1"]);
        assert_eq!(service.deadline(), Some(at(1010)));
        service.turn(at(500));
        assert!(manager.heard().is_empty());
        service.turn(at(1010));
        assert_eq!(manager.heard(), ["WATCHDOG=1"]);
    }

    #[test]
    fn without_a_watchdog_the_loop_is_not_woken() {
        let manager = Manager::new("silent");
        let mut service = manager.service(None);
        service.turn(Time::ZERO);
        assert_eq!(service.deadline(), None);
        assert_eq!(manager.heard(), ["READY=1"]);
        let mut alone = Service::with(None);
        alone.turn(Time::ZERO);
        assert_eq!(alone.deadline(), None);
    }

    #[test]
    fn a_status_is_told_when_it_changes_and_stays_one_line() {
        let manager = Manager::new("status");
        let mut service = manager.service(None);
        service.status("1 station".to_owned());
        service.status("1 station".to_owned());
        service.status("all pass:\nWATCHDOG=trigger".to_owned());
        service.stopping();
        assert_eq!(
            manager.heard(),
            [
                "STATUS=1 station",
                "STATUS=all pass: WATCHDOG=trigger",
                "STOPPING=1"
            ]
        );
    }
}
