//! The monitor interface: which of its frames are for this station, and what of them was delivered.

use super::PacketAgent;
use crate::capture::Monitor;
use airpace_api::config::AgentConfig;
use airpace_net::interfaces::{self, Interface, interface_of};
use airpace_units::Time;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Which frames on the monitor interface are for this station.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum OwnFrames {
    /// Unknown: the network that leads to the proxy is not up yet.
    #[default]
    Unknown,
    /// All: the interface that leads to the proxy is emulated and has no hardware address.
    All,
    /// Those to this hardware address.
    To([u8; 6]),
}

impl OwnFrames {
    /// The value after the interface was looked up again with the result `found`. A station keeps
    /// its address while its network is away, and never counts the frames of others once it has had
    /// one.
    pub(super) const fn update(self, found: Self) -> Self {
        match (self, found) {
            (_, Self::To(_)) | (Self::Unknown, _) => found,
            _ => self,
        }
    }

    /// Looks up the interface that leads to the proxy.
    pub(super) fn look_up(proxy: SocketAddr) -> Self {
        let Some(interface) = interface_towards(proxy) else {
            return Self::Unknown;
        };
        interface.hardware.map_or(Self::All, Self::To)
    }
}

/// The monitor interface, if one is configured.
pub(super) fn open_monitor(config: &AgentConfig) -> anyhow::Result<Option<Monitor>> {
    let open = |name| Monitor::open(name, "frames are told apart by arrival times");
    config.monitor.as_deref().map(open).transpose()
}

/// Tells the agent what the kernel has delivered on the station's interface, and the operator when
/// the monitor shows more than that.
#[derive(Debug, Default)]
pub(super) struct Delivered {
    interface: Option<String>,
    was_doubting: bool,
}

impl Delivered {
    /// Looks the interface up again, and logs what has changed. `configured` names the interface.
    pub(super) fn refresh(
        &mut self,
        configured: Option<&str>,
        proxy: SocketAddr,
        agent: &PacketAgent,
    ) {
        self.interface = match configured {
            Some(name) => Some(name.to_owned()),
            None => interface_towards(proxy).map(|found| found.name),
        };
        let is_doubting = agent.is_doubting();
        if core::mem::replace(&mut self.was_doubting, is_doubting) != is_doubting {
            if is_doubting {
                tracing::warn!(
                    event = "monitor-doubted",
                    "the monitor shows more frames to this station than were delivered: somebody forges \
                     them, or the monitor interface belongs to another network; they do not count"
                );
            } else {
                tracing::info!(
                    event = "monitor-trusted",
                    "the monitor agrees with what was delivered again"
                );
            }
        }
    }

    /// Hands the agent the figure for a slot that ends at `now`.
    pub(super) fn report(&self, now: Time, agent: &mut PacketAgent) {
        if !agent.is_slot_due(now) {
            return;
        }
        let Some(interface) = &self.interface else {
            return;
        };
        // An interface that is away delivers nothing, and its frames are not judged.
        if let Ok(Some(total)) = interfaces::received_bytes(interface) {
            agent.on_delivered(total);
        }
    }
}

/// The interface that leads to `address`; `None` if none does.
pub(super) fn interface_towards(address: SocketAddr) -> Option<Interface> {
    // Connecting a UDP socket sends nothing: the kernel only chooses the route.
    let probe = std::net::UdpSocket::bind(any_address(address)).ok()?;
    probe.connect(address).ok()?;
    let source = probe.local_addr().ok()?.ip();
    interface_of(source).ok()?
}

/// The unspecified address (any address of this machine) of the same family as `like`.
pub(super) fn any_address(like: SocketAddr) -> SocketAddr {
    let any = if like.is_ipv4() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED)
    } else {
        IpAddr::V6(Ipv6Addr::UNSPECIFIED)
    };
    SocketAddr::new(any, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_station_takes_a_new_address_and_keeps_it_while_the_network_is_away() {
        let steps = [
            (OwnFrames::Unknown, OwnFrames::Unknown),
            (OwnFrames::To([2; 6]), OwnFrames::To([2; 6])),
            (OwnFrames::Unknown, OwnFrames::To([2; 6])),
            (OwnFrames::All, OwnFrames::To([2; 6])),
            (OwnFrames::To([3; 6]), OwnFrames::To([3; 6])),
        ];
        let mut own = OwnFrames::default();
        for (found, expected) in steps {
            own = own.update(found);
            assert_eq!(own, expected, "{found:?}");
        }
        assert_eq!(OwnFrames::Unknown.update(OwnFrames::All), OwnFrames::All);
    }
}
