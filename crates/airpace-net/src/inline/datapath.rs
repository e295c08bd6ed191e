//! Either kind of in-line path behind one interface.

use super::{
    AttachMode, InlineCounters, InlineError, InlineOptions, Observation, PacketPath, UplinkUse,
    XdpPath,
};
use crate::xsk::XskStatistics;
use std::io;
use std::os::fd::BorrowedFd;

/// The in-line path that this kernel allows.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is only one, and it is not moved while packets pass"
)]
pub enum InlinePath {
    /// Through XDP programs and AF_XDP sockets, beside a kernel bridge: fail-open.
    Xdp(XdpPath),
    /// Through packet sockets, in place of a kernel bridge: not fail-open.
    Packet(PacketPath),
    /// Nowhere, while a port is away: a kernel bridge carries all frames, if there is one. Nothing
    /// is received, and what is sent is refused.
    Closed,
}

impl InlinePath {
    /// Opens [`XdpPath`]. The caller may try [`InlinePath::open_packet`] when it is refused with
    /// [`InlineError::Load`], after taking the ports out of their bridge.
    ///
    /// # Errors
    /// As [`XdpPath::open`].
    pub fn open_xdp(
        wan: &str,
        access_points: &[&str],
        options: InlineOptions,
    ) -> Result<Self, InlineError> {
        XdpPath::open(wan, access_points, options).map(Self::Xdp)
    }

    /// Opens [`PacketPath`].
    ///
    /// # Errors
    /// As [`PacketPath::open`].
    pub fn open_packet(wan: &str, access_points: &[&str]) -> Result<Self, InlineError> {
        PacketPath::open(wan, access_points).map(Self::Packet)
    }

    /// Returns whether traffic continues when this process stops: a kernel bridge carries it.
    #[must_use]
    pub const fn is_fail_open(&self) -> bool {
        !matches!(self, Self::Packet(_))
    }

    /// Names the path for status and logs.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Xdp(path) => match path.wan_mode() {
                AttachMode::Native => "XDP, native",
                _ => "XDP, generic",
            },
            Self::Packet(_) => "AF_PACKET, a bridge in user space: not fail-open",
            Self::Closed => "closed, because a port is away",
        }
    }

    /// Returns the index of the wan port, as in [`Observation::interface`]; 0, which no interface
    /// has, of a closed path.
    #[must_use]
    pub fn wan_index(&self) -> u32 {
        match self {
            Self::Xdp(path) => path.wan_index(),
            Self::Packet(path) => path.wan_index(),
            Self::Closed => 0,
        }
    }

    /// Returns the indices of the access points' ports, in the order in which they were given.
    #[must_use]
    pub fn access_point_indices(&self) -> Vec<u32> {
        match self {
            Self::Xdp(path) => path.access_point_indices().collect(),
            Self::Packet(path) => path.access_point_indices().collect(),
            Self::Closed => Vec::new(),
        }
    }

    /// As [`XdpPath::beat`].
    ///
    /// # Errors
    /// As [`XdpPath::beat`].
    pub fn beat(&mut self) -> Result<(), InlineError> {
        match self {
            Self::Xdp(path) => path.beat(),
            Self::Packet(path) => {
                path.resume();
                Ok(())
            }
            Self::Closed => Ok(()),
        }
    }

    /// As [`XdpPath::set_untagged_only`]; without a kernel bridge nothing filters.
    pub const fn set_untagged_only(&mut self, untagged_only: bool) {
        if let Self::Xdp(path) = self {
            path.set_untagged_only(untagged_only);
        }
    }

    /// Lets all frames pass until the next [`InlinePath::beat`].
    ///
    /// # Errors
    /// As [`XdpPath::pause`].
    pub fn pause(&mut self) -> Result<(), InlineError> {
        match self {
            Self::Xdp(path) => path.pause(),
            Self::Packet(path) => {
                path.pause();
                Ok(())
            }
            Self::Closed => Ok(()),
        }
    }

    /// As [`XdpPath::insert_station`].
    ///
    /// # Errors
    /// As [`XdpPath::insert_station`].
    pub fn insert_station(&mut self, mac: [u8; 6], is_exempt: bool) -> Result<(), InlineError> {
        match self {
            Self::Xdp(path) => path.insert_station(mac, is_exempt),
            Self::Packet(path) => {
                path.insert_station(mac, is_exempt);
                Ok(())
            }
            Self::Closed => Ok(()),
        }
    }

    /// As [`XdpPath::remove_station`].
    ///
    /// # Errors
    /// As [`XdpPath::remove_station`].
    pub fn remove_station(&mut self, mac: [u8; 6]) -> Result<(), InlineError> {
        match self {
            Self::Xdp(path) => path.remove_station(mac),
            Self::Packet(path) => {
                path.remove_station(mac);
                Ok(())
            }
            Self::Closed => Ok(()),
        }
    }

    /// Passes about `most` waiting frames for stations to `on_frame`, with complete checksums, and
    /// returns their number. Call it on every wake-up: [`PacketPath`] also forwards all other
    /// frames then.
    ///
    /// # Errors
    /// As [`PacketPath::receive`].
    pub fn receive(&mut self, most: usize, on_frame: impl FnMut(&mut [u8])) -> io::Result<usize> {
        match self {
            Self::Xdp(path) => Ok(path.receive(most, on_frame)),
            Self::Packet(path) => path.receive(most, on_frame),
            Self::Closed => Ok(0),
        }
    }

    /// Queues a frame for the port number `access_point`; [`InlinePath::flush`] sends it. Returns
    /// `false` if there is no room: the caller keeps the frame.
    ///
    /// # Errors
    /// When the port is down or has been removed.
    pub fn push(&mut self, access_point: usize, frame: &[u8]) -> io::Result<bool> {
        match self {
            Self::Xdp(path) => path.push(access_point, frame),
            Self::Packet(path) => path.push(access_point, frame),
            Self::Closed => Err(io::ErrorKind::NetworkDown.into()),
        }
    }

    /// Sends the queued frames; returns how many the interfaces have not taken yet.
    ///
    /// # Errors
    /// As [`XdpPath::flush`].
    pub fn flush(&mut self) -> io::Result<usize> {
        match self {
            Self::Xdp(path) => path.flush(),
            Self::Packet(_) | Self::Closed => Ok(0),
        }
    }

    /// Passes up to `most` reports to `on_observation` and returns their number; see
    /// [`XdpPath::observe`].
    pub fn observe(&mut self, most: usize, on_observation: impl FnMut(Observation<'_>)) -> usize {
        match self {
            Self::Xdp(path) => path.observe(most, on_observation),
            Self::Packet(path) => path.observe(most, on_observation),
            Self::Closed => 0,
        }
    }

    /// Returns the files that become readable when frames or reports wait.
    #[must_use]
    pub fn files(&self) -> Vec<BorrowedFd<'_>> {
        match self {
            Self::Xdp(path) => path
                .frame_files()
                .chain([path.observation_file()])
                .collect(),
            Self::Packet(path) => path.frame_files().collect(),
            Self::Closed => Vec::new(),
        }
    }

    /// Returns the counters of the frames that arrived on the wan port.
    ///
    /// # Errors
    /// As [`XdpPath::counters`].
    pub fn counters(&self) -> Result<InlineCounters, InlineError> {
        match self {
            Self::Xdp(path) => path.counters(),
            Self::Packet(path) => Ok(path.counters()),
            Self::Closed => Ok(InlineCounters::default()),
        }
    }

    /// As [`XdpPath::uplink`].
    ///
    /// # Errors
    /// As [`XdpPath::uplink`].
    pub fn uplink(&self, mac: [u8; 6]) -> Result<Option<UplinkUse>, InlineError> {
        match self {
            Self::Xdp(path) => path.uplink(mac),
            Self::Packet(path) => Ok(path.uplink(mac)),
            Self::Closed => Ok(None),
        }
    }

    /// Returns what the kernel has dropped on the way to this process since the path was opened.
    ///
    /// # Errors
    /// As [`XdpPath::statistics`].
    pub fn statistics(&mut self) -> io::Result<XskStatistics> {
        match self {
            Self::Xdp(path) => path.statistics(),
            Self::Packet(path) => path.statistics(),
            Self::Closed => Ok(XskStatistics::default()),
        }
    }
}
