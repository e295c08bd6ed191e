//! The in-line path: frames for known stations, taken out of a bridge, queued by the caller and
//! sent to the access point.
//!
//! A box stands between the wired network (the *wan* port) and access points (their ports), and its
//! kernel bridges them ([`crate::bridge`]). [`XdpPath`] attaches an XDP program to each port. That
//! of the wan port hands unicast IP frames for known stations to this process; all else stays in
//! the bridge, and so does everything as soon as this process has not called [`XdpPath::beat`] for
//! 200 ms, has closed its sockets or has ended. Uplink frames never leave the bridge: the headers
//! that sensors need come as [`Observation`]s.
//!
//! Kernels from 5.18 on have what the programs call. Frames longer than [`MAX_RECEIVED_BYTES`]
//! (jumbo frames) pass.
//!
//! What was found out about virtual interfaces (veth, Linux 6.18):
//!
//! - Native XDP makes the peer segment what it sends. Generic XDP does not: a local sender's TCP
//!   then arrives in packets of up to 64 KiB, which pass as too long. Physical interfaces deliver
//!   packets of the MTU in either mode, since the kernel turns receive offloads off.
//! - A local sender leaves checksums to the device in either mode; [`XdpPath::receive`] completes
//!   them.
//! - A VLAN tag that the sender's kernel keeps beside the packet (`tx-vlan-offload`, as VLAN
//!   devices and bridges do) is invisible to XDP and lost when a packet is redirected.
//!   [`crate::bridge::BridgeState::set_up`] turns that off at the peer, if it is in the same network
//!   namespace; elsewhere turn it off there: `ethtool -K PEER txvlan off`. Tags of physical interfaces
//!   stay in the packet, because it turns `rx-vlan-offload` off.

mod classify;
mod datapath;
mod packet;
mod port;
mod program;

pub use datapath::InlinePath;
pub use packet::PacketPath;
pub use program::{InlineCounters, Observation, UplinkUse};

use crate::netlink::{LinkError, Netlink};
use crate::offload::complete_checksum;
use crate::xsk::{MAX_RECEIVED_BYTES, MAX_SENT_BYTES, Receiver, Sender, XskStatistics};
use nix::time::{ClockId, clock_gettime};
use program::{Programs, Role, refuse_occupied, socket_error};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// See [`crate::fuzzing`].
#[cfg(fuzzing)]
pub(crate) fn fuzz_is_for_queue(frame: &[u8]) -> bool {
    classify::Classified::of(frame).is_for_queue()
}

/// A heartbeat older than this lets every frame pass, in nanoseconds (`HEARTBEAT_NS`).
pub const HEARTBEAT_NS: u64 = 200_000_000;

/// Where an XDP program runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AttachMode {
    /// In the driver where it can, else generic.
    #[default]
    Auto,
    /// In the driver, before the kernel allocates a packet.
    Native,
    /// In the network stack: works with every driver, slower.
    Generic,
}

/// What a reported frame is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ObservationKind {
    /// ARP.
    Arp,
    /// Neighbour discovery of IPv6 (RFC 4861).
    NeighbourDiscovery,
    /// DHCP or DHCPv6.
    Dhcp,
    /// EAPOL or pre-authentication (IEEE 802.1X).
    Eapol,
    /// Any frame of a source that is not a known station, at most one per second and source; or of
    /// one that was heard at another port before.
    UnknownSource,
    /// A TCP segment with at most 128 bytes of payload.
    Tcp,
    /// UDP from or to port 443.
    Quic,
    /// A frame on the wan port whose source was last heard at the port of an access point: it has
    /// moved to the wired network, or a loop has returned one of its frames before.
    Moved,
    /// The first IP frame that is none of the others, of a group that came from a known station at
    /// once, as those of one frame on the air do.
    Data,
}

impl ObservationKind {
    /// Returns the kind of a record (`enum kind` of the program).
    const fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::Arp),
            2 => Some(Self::NeighbourDiscovery),
            3 => Some(Self::Dhcp),
            4 => Some(Self::Eapol),
            5 => Some(Self::UnknownSource),
            6 => Some(Self::Tcp),
            7 => Some(Self::Quic),
            8 => Some(Self::Moved),
            9 => Some(Self::Data),
            _ => None,
        }
    }
}

/// Why the in-line path could not be opened or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InlineError {
    /// The kernel refuses the programs.
    #[error(
        "cannot load the XDP programs: {0}; they need Linux 5.18 or later with CONFIG_BPF_SYSCALL \
         and CONFIG_XDP_SOCKETS, and root or CAP_BPF and CAP_NET_ADMIN"
    )]
    Load(#[source] Box<dyn core::error::Error + Send + Sync>),
    /// Another XDP program is attached to the interface.
    #[error(
        "the XDP program {program} (id {id}) is attached to {interface}; stop the program that \
         uses it, or detach it: ip link set dev {interface} xdp off"
    )]
    Occupied {
        /// Name of the interface.
        interface: String,
        /// Name of the attached program.
        program: String,
        /// The kernel's number of the program; 0 if unknown.
        id: u32,
    },
    /// The interface refuses the program.
    #[error("cannot attach an XDP program to {interface}: {source}")]
    Attach {
        /// Name of the interface.
        interface: String,
        /// The kernel's answer.
        source: Box<dyn core::error::Error + Send + Sync>,
    },
    /// An AF_XDP socket could not be opened.
    #[error("cannot open an AF_XDP socket on queue {queue} of {interface}: {source}")]
    Socket {
        /// Name of the interface.
        interface: String,
        /// The queue.
        queue: u32,
        /// The kernel's answer.
        source: io::Error,
    },
    /// An interface is in a kernel bridge, which would forward each frame a second time.
    #[error(
        "{0} is in a kernel bridge, and without XDP programs airpace must be the bridge itself;          take the interface out of it: ip link set dev {0} nomaster"
    )]
    Bridged(String),
    /// A map of the programs could not be read or written.
    #[error("cannot access a map of the XDP programs: {0}")]
    Map(#[from] aya::maps::MapError),
    /// An interface could not be read or configured.
    #[error(transparent)]
    Link(#[from] LinkError),
}

/// Returns whether an error says that a port is down or has been removed.
#[must_use]
pub fn is_port_away(error: &io::Error) -> bool {
    let away = [libc::ENETDOWN, libc::ENXIO, libc::ENODEV];
    error
        .raw_os_error()
        .is_some_and(|code| away.contains(&code))
}

/// Loads the programs and unloads them again.
pub(crate) fn try_load() -> Result<(), InlineError> {
    Programs::load(MAX_RECEIVED_BYTES).map(drop)
}

/// Options of an [`XdpPath`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InlineOptions {
    /// Where the programs run. Default [`AttachMode::Auto`].
    pub mode: AttachMode,
    /// Frames that each receive queue of the wan port has room for until they are received, and
    /// each port of an access point until they are sent: a power of two. Default 2048, which takes
    /// 8 MiB of memory for each queue and port.
    pub chunks: u32,
}

impl Default for InlineOptions {
    fn default() -> Self {
        Self {
            mode: AttachMode::Auto,
            chunks: 2048,
        }
    }
}

impl InlineOptions {
    /// Returns the bytes of memory that the kernel keeps locked for each queue and port.
    #[must_use]
    pub const fn socket_bytes(&self) -> u64 {
        self.chunks as u64 * MAX_SENT_BYTES as u64
    }
}

/// A port of an access point.
#[derive(Debug)]
struct AccessPointPort {
    index: u32,
    sender: Sender,
    /// Whether the interface was down when frames were last sent.
    is_down: bool,
}

/// The in-line path through XDP programs and AF_XDP sockets. Dropping it detaches the programs and
/// closes the sockets, and all frames pass through the bridge.
#[derive(Debug)]
pub struct XdpPath {
    // Detached first, so that no frame is redirected to a socket that is being closed.
    programs: Programs,
    wan_index: u32,
    wan_mode: AttachMode,
    receivers: Vec<Receiver>,
    access_points: Vec<AccessPointPort>,
}

impl XdpPath {
    /// Attaches the programs to the interface `wan` and to those of `access_points`, in the calling
    /// thread's namespace. Nothing is redirected before the first [`XdpPath::beat`] and
    /// [`XdpPath::insert_station`].
    ///
    /// # Errors
    /// [`InlineError::Load`] on an old kernel or without the rights, [`InlineError::Occupied`] when
    /// an interface has an XDP program; nothing is left behind.
    pub fn open(
        wan: &str,
        access_points: &[&str],
        options: InlineOptions,
    ) -> Result<Self, InlineError> {
        let mut link = Netlink::open()?;
        let wan_index = link.index(wan)?;
        for interface in access_points.iter().chain([&wan]) {
            refuse_occupied(&mut link, interface)?;
        }
        let longest = link.mtu(wan)? as usize + LINK_HEADER_BYTES;
        let mut programs = Programs::load(longest.min(MAX_RECEIVED_BYTES))?;
        let receivers = open_receivers(wan, wan_index, options.chunks)?;
        for (queue, receiver) in (0..).zip(&receivers) {
            programs.set_socket(queue, receiver.as_fd())?;
        }
        let mut ports = Vec::new();
        for interface in access_points {
            let index = link.index(interface)?;
            programs.attach(interface, Role::AccessPoint, options.mode)?;
            let sender = Sender::open(index, 0, options.chunks)
                .map_err(|source| socket_error(interface, 0, source))?;
            ports.push(AccessPointPort {
                index,
                sender,
                is_down: false,
            });
        }
        let wan_mode = programs.attach(wan, Role::Wan, options.mode)?;
        Ok(Self {
            programs,
            wan_index,
            wan_mode,
            receivers,
            access_points: ports,
        })
    }

    /// Returns where the program of the wan port runs: native or generic.
    #[must_use]
    pub const fn wan_mode(&self) -> AttachMode {
        self.wan_mode
    }

    /// Returns the index of the wan port, as in [`Observation::interface`].
    #[must_use]
    pub const fn wan_index(&self) -> u32 {
        self.wan_index
    }

    /// Returns the indices of the access points' ports, in the order of [`XdpPath::open`].
    pub fn access_point_indices(&self) -> impl ExactSizeIterator<Item = u32> {
        self.access_points.iter().map(|port| port.index)
    }

    /// Says that this process is alive. Call it at least every 100 ms: when the last call is older
    /// than 200 ms, all frames pass.
    ///
    /// # Errors
    /// When the kernel refuses, which only a bug can cause.
    pub fn beat(&mut self) -> Result<(), InlineError> {
        self.programs.set_heartbeat(monotonic_ns())
    }

    /// Lets all frames pass at once, until the next [`XdpPath::beat`].
    ///
    /// # Errors
    /// When the kernel refuses, which only a bug can cause.
    pub fn pause(&mut self) -> Result<(), InlineError> {
        let long_ago = monotonic_ns().saturating_sub(2 * HEARTBEAT_NS);
        self.programs.set_heartbeat(long_ago)
    }

    /// Has frames with a VLAN tag pass, or not, from the next [`XdpPath::beat`] on. They must pass
    /// where the bridge filters VLANs ([`crate::bridge::Forwarding::UntaggedUnchanged`]).
    pub const fn set_untagged_only(&mut self, untagged_only: bool) {
        self.programs.set_untagged_only(untagged_only);
    }

    /// Takes over the unicast frames for the station `mac`, or lets them pass although it is known
    /// if `is_exempt`. A known station is changed.
    ///
    /// # Errors
    /// When 4096 stations are known.
    pub fn insert_station(&mut self, mac: [u8; 6], is_exempt: bool) -> Result<(), InlineError> {
        self.programs.insert_station(mac, is_exempt)
    }

    /// Lets the frames for the station `mac` pass again.
    ///
    /// # Errors
    /// When the kernel refuses, which only a bug can cause.
    pub fn remove_station(&mut self, mac: [u8; 6]) -> Result<(), InlineError> {
        self.programs.remove_station(mac)
    }

    /// Passes up to `most` waiting frames for stations to `on_frame`, with their checksums
    /// completed, and returns their number. Does not block and makes no system call.
    pub fn receive(&mut self, most: usize, mut on_frame: impl FnMut(&mut [u8])) -> usize {
        let mut n = 0;
        // Another queue is the first each time, so that a busy one does not starve the others.
        self.receivers.rotate_left(1);
        for receiver in &mut self.receivers {
            n += receiver.receive(most - n, |frame| {
                complete_checksum(frame);
                on_frame(frame);
            });
        }
        n
    }

    /// Queues a frame for the port number `access_point` in the order of [`XdpPath::open`];
    /// [`XdpPath::flush`] sends it. Returns `false` if there is no room or no such port: the caller
    /// keeps the frame.
    ///
    /// # Errors
    /// When the port was down or removed at the last flush and has no room: nothing is gained by
    /// keeping the frame.
    pub fn push(&mut self, access_point: usize, frame: &[u8]) -> io::Result<bool> {
        let Some(port) = self.access_points.get_mut(access_point) else {
            return Ok(false);
        };
        if port.sender.push(frame) {
            return Ok(true);
        }
        if port.is_down {
            return Err(io::ErrorKind::NetworkDown.into());
        }
        Ok(false)
    }

    /// Sends the queued frames on all ports. Returns how many the interfaces have not taken yet;
    /// the next call tries again.
    ///
    /// # Errors
    /// When a port is down or has been removed; the others have been served.
    pub fn flush(&mut self) -> io::Result<usize> {
        let mut waiting = 0;
        let mut failure = None;
        for port in &mut self.access_points {
            let flushed = port.sender.flush();
            port.is_down = flushed.is_err();
            match flushed {
                Ok(n) => waiting += n,
                Err(error) => failure = Some(error),
            }
        }
        match failure {
            Some(error) => Err(error),
            None => Ok(waiting),
        }
    }

    /// Sends `frames` on the port number `access_point`; returns how many of them were taken.
    ///
    /// # Errors
    /// As [`XdpPath::flush`].
    pub fn send<'a>(
        &mut self,
        access_point: usize,
        frames: impl IntoIterator<Item = &'a [u8]>,
    ) -> io::Result<usize> {
        let mut n = 0;
        for frame in frames {
            if !self.push(access_point, frame)? {
                // Sending makes room; a frame that is too long stays where it is.
                self.flush()?;
                if !self.push(access_point, frame)? {
                    break;
                }
            }
            n += 1;
        }
        self.flush()?;
        Ok(n)
    }

    /// Passes up to `most` reports to `on_observation` and returns their number. Reports of TCP and
    /// QUIC do not make the file ready before many wait, so call it on every wake-up.
    pub fn observe(&mut self, most: usize, on_observation: impl FnMut(Observation<'_>)) -> usize {
        self.programs.observe(most, on_observation)
    }

    /// Returns the files that become readable when frames for stations wait.
    pub fn frame_files(&self) -> impl ExactSizeIterator<Item = BorrowedFd<'_>> {
        self.receivers.iter().map(AsFd::as_fd)
    }

    /// Returns the file that becomes readable when reports wait.
    #[must_use]
    pub fn observation_file(&self) -> BorrowedFd<'_> {
        self.programs.ring_fd()
    }

    /// Returns the counters of the frames that arrived on the wan port.
    ///
    /// # Errors
    /// When the kernel refuses, which only a bug can cause.
    pub fn counters(&self) -> Result<InlineCounters, InlineError> {
        self.programs.counters()
    }

    /// Returns what the source `mac` has sent through the ports of the access points; `None` if
    /// nothing. The 8192 sources that sent most recently are kept; one that comes back after it was
    /// forgotten is counted from zero.
    ///
    /// # Errors
    /// When the kernel refuses, which only a bug can cause.
    pub fn uplink(&self, mac: [u8; 6]) -> Result<Option<UplinkUse>, InlineError> {
        self.programs.uplink(mac)
    }

    /// Returns what the kernel has dropped on the way to this process since the path was opened.
    ///
    /// # Errors
    /// When the kernel does not answer, which only a bug can cause.
    pub fn statistics(&self) -> io::Result<XskStatistics> {
        let mut sum = XskStatistics::default();
        for receiver in &self.receivers {
            sum.add(receiver.statistics()?);
        }
        for port in &self.access_points {
            sum.add(port.sender.statistics()?);
        }
        Ok(sum)
    }
}

/// Bytes of an Ethernet header and two VLAN tags, which the MTU does not count.
const LINK_HEADER_BYTES: usize = 14 + 2 * 4;

/// Most receive queues of a wan port; the programs have room for as many sockets.
const MAX_QUEUES: u32 = 64;

/// Opens a socket for each receive queue of an interface.
fn open_receivers(interface: &str, index: u32, chunks: u32) -> Result<Vec<Receiver>, InlineError> {
    let mut receivers = Vec::new();
    for queue in 0..MAX_QUEUES {
        match Receiver::open(index, queue, chunks) {
            Ok(receiver) => receivers.push(receiver),
            // The interface has no further queue.
            Err(error) if queue > 0 && error.kind() == io::ErrorKind::InvalidInput => break,
            Err(source) => return Err(socket_error(interface, queue, source)),
        }
    }
    Ok(receivers)
}

/// Returns CLOCK_MONOTONIC, which BPF programs read as well.
fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).map(core::time::Duration::from);
    // Linux always has this clock, and 2^64 ns are 584 years.
    now.map_or(0, |since_boot| since_boot.as_nanos() as u64)
}
