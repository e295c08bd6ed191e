//! The monitor interface, which may go away and come back while the agent runs.

use crate::runtime::Loop;
use airpace_net::interfaces::{Interface, interface_of};
use airpace_net::packet::PacketSocket;
use airpace_net::udp::ReceiveBatch;
use anyhow::Context as _;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Size of the kernel's buffer of captured frames in bytes: some hundred milliseconds of a fast
/// network.
const CAPTURE_BUFFER: usize = 8 << 20;

/// A monitor interface, whether it is there or not.
pub(super) struct Monitor {
    name: String,
    /// `None` while the interface is down or away.
    socket: Option<PacketSocket>,
    /// Whether its loss was logged and its return was not.
    lost: bool,
    /// Frames that the kernel dropped because the buffer was full.
    pub(super) dropped: u64,
}

impl Monitor {
    /// Starts listening to the interface `name`.
    pub(super) fn open(name: &str, wait: &mut Loop) -> anyhow::Result<Self> {
        let mut monitor = Self {
            name: name.to_owned(),
            socket: None,
            lost: false,
            dropped: 0,
        };
        monitor
            .listen(wait)
            .with_context(|| format!("reading frames of the monitor interface {name}"))?;
        Ok(monitor)
    }

    fn listen(&mut self, wait: &mut Loop) -> anyhow::Result<()> {
        let socket = PacketSocket::open(&self.name, CAPTURE_BUFFER)?;
        wait.add_monitor(&socket)?;
        self.socket = Some(socket);
        Ok(())
    }

    /// Listens again if the interface went away; to be called once in a while. A failure is not
    /// logged, because the loss was.
    pub(super) fn recover(&mut self, wait: &mut Loop) {
        if self.socket.is_none() {
            let _ = self.listen(wait);
        }
    }

    /// Receives frames; returns `false` if there is no interface. An interface that goes down or
    /// away is closed.
    pub(super) fn receive(&mut self, room: &mut ReceiveBatch) -> bool {
        let Some(socket) = &self.socket else {
            return false;
        };
        match socket.receive(room) {
            Ok(0) => {}
            Ok(_) if self.lost => {
                self.lost = false;
                tracing::info!(interface = %self.name, "the monitor interface is back");
            }
            Ok(_) => {}
            Err(error) => {
                self.close(&error);
                return false;
            }
        }
        true
    }

    fn close(&mut self, error: &std::io::Error) {
        self.count_dropped();
        // Closing the socket also removes it from the poller.
        self.socket = None;
        if !self.lost {
            self.lost = true;
            let interface = &self.name;
            tracing::warn!(%interface, %error, "the monitor interface is gone: frames are told apart by arrival times");
        }
    }

    /// Adds the frames that the kernel has dropped since the last call.
    pub(super) fn count_dropped(&mut self) {
        if let Some(socket) = &self.socket
            && let Ok(statistics) = socket.statistics()
        {
            self.dropped += u64::from(statistics.dropped);
        }
    }
}

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

/// The interface that leads to `address`; `None` if none does.
fn interface_towards(address: SocketAddr) -> Option<Interface> {
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
