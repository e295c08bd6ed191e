//! Ports that are removed and come back, and bridges that begin to drop or change frames.
//!
//! While anything is not as it was when the programs were attached, all frames pass in the bridge:
//! pacing can wait, traffic cannot.

use super::run::{PORTS, RunningEdge};
use super::waiter::Waiter;
use airpace_net::bridge::Forwarding;
use airpace_net::netlink::{LinkError, Netlink};
use airpace_units::Time;
use core::time::Duration;

/// Interval between checks of the ports and the bridge.
const INTERVAL: Duration = Duration::from_secs(1);
/// The same after an error of a port: a port that stays down must not cause a check per frame.
const INTERVAL_AFTER_ERROR: Duration = Duration::from_millis(50);

/// The state of the ports.
pub(super) struct PortWatch {
    /// `None` without the right to ask the kernel; then errors of ports are all that is noticed.
    link: Option<Netlink>,
    last: Time,
    /// Whether a port has refused frames since the last check.
    is_suspicious: bool,
    /// Ports that were removed and are not attached again.
    lost: Vec<String>,
    passing: Option<String>,
}

impl PortWatch {
    pub(super) fn new() -> Self {
        Self {
            link: Netlink::open().ok(),
            // The first check comes before the first heartbeat.
            last: Time::ZERO,
            is_suspicious: false,
            lost: Vec::new(),
            passing: None,
        }
    }

    /// Requests a check of the ports soon, because one has refused a frame.
    pub(super) const fn suspect(&mut self) {
        self.is_suspicious = true;
    }

    /// Returns why all frames currently pass unpaced; `None` while those of stations are redirected.
    pub(super) fn passing(&self) -> Option<&str> {
        self.passing.as_deref()
    }

    fn is_due(&self, now: Time) -> bool {
        let interval = if self.is_suspicious {
            INTERVAL_AFTER_ERROR
        } else {
            INTERVAL
        };
        now >= self.last.saturating_add(interval)
    }

    /// Notes the ports that are away. Logs and returns those that were not known to be.
    fn note_lost(&mut self, away: Vec<String>) -> Vec<String> {
        let mut new = Vec::new();
        for port in away {
            if !self.lost.contains(&port) {
                tracing::warn!(
                    event = "port-removed",
                    port,
                    "the interface has been removed"
                );
                self.lost.push(port.clone());
                new.push(port);
            }
        }
        new
    }
}

impl RunningEdge {
    /// Checks the ports and the bridge if that is due. While something is wrong, all frames pass; when
    /// it has ended, the programs are attached again.
    pub(super) fn look_after_ports(&mut self, now: Time, waiter: &Waiter) -> anyhow::Result<()> {
        if !self.watch.is_due(now) {
            return Ok(());
        }
        self.watch.last = now;
        self.watch.is_suspicious = false;
        let Some(link) = &mut self.watch.link else {
            return Ok(());
        };
        let away = self.setup.lost_ports(link);
        for port in self.watch.note_lost(away) {
            self.note(
                "port-removed",
                format!("the interface {port} has been removed"),
            );
        }
        if !self.watch.lost.is_empty() {
            if !self.setup.is_closed() {
                // A frame that is redirected now would wait for a port that may never come back.
                self.setup.close();
            }
            if let Err(error) = self.return_to_ports(waiter) {
                let ports = self.watch.lost.join(", ");
                return self.pass_because(Some(format!("{ports} was removed: {error}")));
            }
            tracing::info!(
                event = "port-back",
                ports = self.watch.lost.join(", "),
                "back in the bridge, with the programs attached"
            );
            let back = core::mem::take(&mut self.watch.lost).join(", ");
            self.note("port-returned", format!("{back} is back in the bridge"));
        }
        let obstacle = self.obstacle();
        self.pass_because(obstacle)
    }

    /// Attaches the programs again if all ports exist.
    fn return_to_ports(&mut self, waiter: &Waiter) -> anyhow::Result<()> {
        self.setup.reopen(&self.watch.lost)?;
        self.ports = self.setup.path.access_point_indices();
        self.senders.set_port(self.setup.path.wan_index());
        for station in self.inline.stations() {
            if !station.is_exempt {
                self.setup.path.insert_station(station.mac.0, false)?;
            }
        }
        // The files of the closed path have left the loop by themselves.
        for file in self.setup.path.files() {
            waiter.add(file, PORTS)?;
        }
        Ok(())
    }

    /// Returns why the bridge would not forward the frames that are redirected past it.
    fn obstacle(&mut self) -> Option<String> {
        let looked = match self.setup.forwarding() {
            Ok(forwarding) => Ok(forwarding),
            Err(error) => self.remake_bridge(error),
        };
        match looked {
            Ok(Forwarding::Obstructed(obstacle)) => Some(obstacle.to_string()),
            Ok(forwarding) => {
                let untagged_only = forwarding == Forwarding::UntaggedUnchanged;
                self.setup.path.set_untagged_only(untagged_only);
                None
            }
            Err(error) => Some(error.to_string()),
        }
    }

    /// Makes the bridge again if it was made for this run and an operator has deleted it.
    fn remake_bridge(&mut self, error: LinkError) -> Result<Forwarding, LinkError> {
        self.setup.repair_bridge().map_err(|_| error)?;
        let forwarding = self.setup.forwarding()?;
        let text = "the bridge had been removed, and is there again";
        tracing::warn!(event = "bridge-remade", "{text}");
        self.note("bridge-remade", text);
        Ok(forwarding)
    }

    /// Lets all frames pass for a reason, or ends that, and logs a change.
    fn pass_because(&mut self, reason: Option<String>) -> anyhow::Result<()> {
        if reason == self.watch.passing {
            return Ok(());
        }
        match &reason {
            Some(reason) => {
                tracing::warn!(event = "pacing-paused", "all frames pass unpaced: {reason}");
                self.note(
                    "pacing-suspended",
                    format!("all frames pass unpaced: {reason}"),
                );
                self.setup.path.pause()?;
            }
            None => {
                tracing::info!(
                    event = "pacing-resumed",
                    "frames for stations are paced again"
                );
                self.note("pacing-resumed", "frames for stations are paced again");
            }
        }
        self.watch.passing = reason;
        // Without the pause, the next turn writes a heartbeat at once.
        self.next_beat = Time::ZERO;
        Ok(())
    }
}
