//! The monitor interface, which may go away and come back while the agent runs.

use crate::runtime::Loop;
use airpace_net::interfaces::interface_of;
use airpace_net::packet::PacketSocket;
use airpace_net::udp::ReceiveBatch;
use anyhow::Context as _;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Bytes of the buffer of captured frames: some hundred milliseconds of a fast network.
const CAPTURE_BUFFER: usize = 8 << 20;

pub(super) struct Monitor {
    name: String,
    socket: Option<PacketSocket>,
    /// Whether its loss was told and its return was not.
    lost: bool,
    /// Frames for which the buffers had no room.
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

    /// Listens again if the interface went away; to be called once in a while. Failure is no news: the loss was told.
    pub(super) fn recover(&mut self, wait: &mut Loop) {
        if self.socket.is_none() {
            let _ = self.listen(wait);
        }
    }

    /// Receives frames; an interface that went down or away is left.
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
                self.leave(&error);
                return false;
            }
        }
        true
    }

    fn leave(&mut self, error: &std::io::Error) {
        self.count_dropped();
        // Closed, the socket is waited for no longer.
        self.socket = None;
        if !self.lost {
            self.lost = true;
            let interface = &self.name;
            tracing::warn!(%interface, %error, "no frames from the monitor interface: arrival times tell them apart for now");
        }
    }

    /// Adds what the kernel has counted since the last call.
    pub(super) fn count_dropped(&mut self) {
        let statistics = self
            .socket
            .as_ref()
            .and_then(|socket| socket.statistics().ok());
        self.dropped += u64::from(statistics.map_or(0, |statistics| statistics.dropped));
    }
}

/// Whose frames on the monitor are the station's own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Own {
    /// The network that leads to the proxy is not up yet.
    #[default]
    Unknown,
    /// All: the interface that leads to the proxy is an emulated one, without a hardware address.
    All,
    /// Those to this hardware address.
    To([u8; 6]),
}

impl Own {
    /// What is to hold after the interface was looked up again. A station keeps its address while its network is away, and never
    /// takes the frames of others for its own once it had one.
    pub(super) const fn or_now(self, found: Self) -> Self {
        match (self, found) {
            (_, Self::To(_)) | (Self::Unknown, _) => found,
            _ => self,
        }
    }

    /// Looks up the interface that leads to the proxy.
    pub(super) fn look_up(proxy: SocketAddr) -> Self {
        let find = || {
            let probe = std::net::UdpSocket::bind(any_address(proxy)).ok()?;
            probe.connect(proxy).ok()?;
            interface_of(probe.local_addr().ok()?.ip()).ok()?
        };
        find().map_or(Self::Unknown, |interface| {
            interface.hardware.map_or(Self::All, Self::To)
        })
    }
}

/// Any address of this machine, of the family of `like`.
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
            (Own::Unknown, Own::Unknown),
            (Own::To([2; 6]), Own::To([2; 6])),
            (Own::Unknown, Own::To([2; 6])),
            (Own::All, Own::To([2; 6])),
            (Own::To([3; 6]), Own::To([3; 6])),
        ];
        let mut own = Own::default();
        for (found, expected) in steps {
            own = own.or_now(found);
            assert_eq!(own, expected, "{found:?}");
        }
        assert_eq!(Own::Unknown.or_now(Own::All), Own::All);
    }
}
