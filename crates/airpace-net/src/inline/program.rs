//! Loads the XDP programs of `bpf/edge.bpf.c`, attaches them and reads and writes their maps.

use super::{AttachMode, InlineError, ObservationKind};
use crate::netlink::Netlink;
use aya::maps::{Array, HashMap, MapData, MapError, PerCpuArray, RingBuf, XskMap};
use aya::programs::{ProgramError, Xdp, XdpMode, loaded_programs};
use aya::{Ebpf, EbpfLoader};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// The compiled programs. `make bpf` makes them from the sources beside them.
static OBJECT: &[u8] = aya::include_bytes_aligned!("../../bpf/edge.bpf.o");

/// The bit of a station's flags that lets its frames pass (`STATION_EXEMPT`).
const EXEMPT: u32 = 1;

/// Counters of the frames that arrived on the wired port, by what was done with them, since the
/// programs were loaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct InlineCounters {
    /// Handed to this process.
    pub redirected: u64,
    /// Passed because this process had not written its heartbeat recently.
    pub stale: u64,
    /// Passed: multicast or broadcast.
    pub group: u64,
    /// Passed: not for a known station.
    pub unknown: u64,
    /// Passed: for an exempt station.
    pub exempt: u64,
    /// Passed: neither IPv4 nor IPv6.
    pub not_ip: u64,
    /// Passed: ARP, neighbour discovery or DHCP, and SCTP.
    pub control: u64,
    /// Passed: longer than [`crate::xsk::MAX_RECEIVED_BYTES`], or than the MTU of the wan port at the
    /// time when the path was opened.
    pub large: u64,
    /// Passed: the queue has no socket.
    pub no_socket: u64,
    /// Records put into the ring, of frames in both directions.
    pub records: u64,
    /// Records lost because the ring was full.
    pub records_lost: u64,
    /// Passed: the source was last heard behind an access point, and the bridge must learn where it
    /// is now.
    pub moved: u64,
    /// Passed: with a VLAN tag, while the bridge filters VLANs.
    pub tagged: u64,
}

impl InlineCounters {
    /// Returns the sum of what two paths have counted.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            redirected: self.redirected + other.redirected,
            stale: self.stale + other.stale,
            group: self.group + other.group,
            unknown: self.unknown + other.unknown,
            exempt: self.exempt + other.exempt,
            not_ip: self.not_ip + other.not_ip,
            control: self.control + other.control,
            large: self.large + other.large,
            no_socket: self.no_socket + other.no_socket,
            records: self.records + other.records,
            records_lost: self.records_lost + other.records_lost,
            moved: self.moved + other.moved,
            tagged: self.tagged + other.tagged,
        }
    }
}

/// What a source has sent through the ports of the access points.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UplinkUse {
    /// Frames.
    pub frames: u64,
    /// Bytes of these frames, from their Ethernet headers on.
    pub bytes: u64,
    /// Groups of frames less than 65 µs apart, as the packets of one frame on the air arrive.
    pub bursts: u64,
    /// When the last of them came: CLOCK_MONOTONIC in nanoseconds.
    pub last_ns: u64,
}

/// A frame that one of the programs has reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Observation<'a> {
    /// When it came: CLOCK_MONOTONIC in nanoseconds.
    pub at_ns: u64,
    /// Index of the interface that received it.
    pub interface: u32,
    /// What it is.
    pub kind: ObservationKind,
    /// Length of the whole frame in bytes.
    pub length: u32,
    /// Bytes that had come from its source through the ports of the access points before it, modulo 2³².
    pub before_bytes: u32,
    /// The beginning of the frame: at most 160 bytes, or 600 of DHCP messages.
    pub bytes: &'a [u8],
}

impl UplinkUse {
    /// Numbers in `struct uplink`.
    pub(crate) const WORDS: usize = 7;

    /// Reads `struct uplink`, whose last fields are for the programs alone.
    pub(crate) const fn from_words(words: [u64; Self::WORDS]) -> Self {
        let [frames, bytes, bursts, last_ns, ..] = words;
        Self {
            frames,
            bytes,
            bursts,
            last_ns,
        }
    }
}

impl<'a> Observation<'a> {
    /// Bytes before the frame (`struct record`).
    const HEADER_BYTES: usize = 24;

    /// Reads a record of the ring; `None` if this version does not know its kind.
    pub(crate) fn parse(record: &'a [u8]) -> Option<Self> {
        let (header, frame) = record.split_at_checked(Self::HEADER_BYTES)?;
        let captured = u16::from_ne_bytes([header[16], header[17]]);
        Some(Self {
            at_ns: u64::from_ne_bytes(header[..8].try_into().ok()?),
            interface: u32::from_ne_bytes(header[8..12].try_into().ok()?),
            kind: ObservationKind::from_code(header[18])?,
            length: u32::from_ne_bytes(header[12..16].try_into().ok()?),
            before_bytes: u32::from_ne_bytes(header[20..24].try_into().ok()?),
            bytes: frame.get(..usize::from(captured))?,
        })
    }
}

/// The loaded programs and their maps. Dropping it detaches and unloads them.
pub(super) struct Programs {
    ebpf: Ebpf,
    stations: HashMap<MapData, [u8; 6], u32>,
    control: Array<MapData, [u64; 3]>,
    /// Longest frame that is redirected.
    max_frame: u64,
    /// Whether frames with a VLAN tag pass.
    untagged_only: bool,
    counters: PerCpuArray<MapData, u64>,
    sockets: XskMap<MapData>,
    uplink: HashMap<MapData, [u8; 6], [u64; UplinkUse::WORDS]>,
    ring: RingBuf<MapData>,
}

/// The programs by the names that they have in the source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Wan,
    AccessPoint,
}

impl Role {
    const fn program(self) -> &'static str {
        match self {
            Self::Wan => "edge_wan",
            Self::AccessPoint => "edge_ap",
        }
    }
}

impl Programs {
    /// Loads the programs into the kernel; nothing runs before [`Programs::attach`].
    /// They redirect frames of up to `max_frame` bytes.
    pub(super) fn load(max_frame: usize) -> Result<Self, InlineError> {
        raise_memory_limit();
        let mut ebpf = EbpfLoader::new()
            .load(OBJECT)
            .map_err(|error| InlineError::Load(Box::new(error)))?;
        for role in [Role::Wan, Role::AccessPoint] {
            program(&mut ebpf, role)?.load().map_err(load_error)?;
        }
        let mut take = |name: &'static str| {
            ebpf.take_map(name)
                .ok_or_else(|| InlineError::Load(format!("the object has no map {name}").into()))
        };
        Ok(Self {
            stations: take("STATIONS")?.try_into()?,
            control: take("CONTROL")?.try_into()?,
            max_frame: max_frame as u64,
            untagged_only: false,
            counters: take("COUNTERS")?.try_into()?,
            sockets: take("SOCKETS")?.try_into()?,
            uplink: take("UPLINK")?.try_into()?,
            ring: take("RECORDS_RING")?.try_into()?,
            ebpf,
        })
    }

    /// Attaches a program to `interface` and returns whether the driver runs it.
    pub(super) fn attach(
        &mut self,
        interface: &str,
        role: Role,
        wanted: AttachMode,
    ) -> Result<AttachMode, InlineError> {
        let index = Netlink::open()?.index(interface)?;
        let program = program(&mut self.ebpf, role)?;
        if wanted != AttachMode::Generic {
            match program.attach_to_if_index(index, XdpMode::Driver) {
                Ok(_) => return Ok(AttachMode::Native),
                Err(error) if wanted == AttachMode::Native => {
                    return Err(attach_error(interface, error));
                }
                Err(error) => {
                    tracing::debug!(event = "xdp-not-in-driver", interface, %error, "the driver does not run XDP programs");
                }
            }
        }
        program
            .attach_to_if_index(index, XdpMode::Skb)
            .map_err(|error| attach_error(interface, error))?;
        Ok(AttachMode::Generic)
    }

    /// Makes `socket` the receiver of a queue. The kernel forgets it when it is closed.
    pub(super) fn set_socket(
        &mut self,
        queue: u32,
        socket: BorrowedFd<'_>,
    ) -> Result<(), InlineError> {
        Ok(self.sockets.set(queue, socket.as_raw_fd(), 0)?)
    }

    pub(super) fn set_heartbeat(&mut self, now_ns: u64) -> Result<(), InlineError> {
        // `struct control`.
        let control = [now_ns, self.max_frame, u64::from(self.untagged_only)];
        Ok(self.control.set(0, control, 0)?)
    }

    /// Has frames with a VLAN tag pass, or not, from the next heartbeat on.
    pub(super) const fn set_untagged_only(&mut self, untagged_only: bool) {
        self.untagged_only = untagged_only;
    }

    pub(super) fn insert_station(
        &mut self,
        mac: [u8; 6],
        is_exempt: bool,
    ) -> Result<(), InlineError> {
        let flags = if is_exempt { EXEMPT } else { 0 };
        Ok(self.stations.insert(mac, flags, 0)?)
    }

    pub(super) fn remove_station(&mut self, mac: [u8; 6]) -> Result<(), InlineError> {
        match self.stations.remove(&mac) {
            Err(MapError::KeyNotFound) => Ok(()),
            Err(MapError::SyscallError(call))
                if call.io_error.kind() == io::ErrorKind::NotFound =>
            {
                Ok(())
            }
            other => Ok(other?),
        }
    }

    /// Passes the records that wait in the ring to `on_observation` and returns their number.
    pub(super) fn observe(
        &mut self,
        most: usize,
        mut on_observation: impl FnMut(Observation<'_>),
    ) -> usize {
        let mut n = 0;
        while n < most {
            let Some(record) = self.ring.next() else {
                break;
            };
            n += 1;
            if let Some(observation) = Observation::parse(&record) {
                on_observation(observation);
            }
        }
        n
    }

    pub(super) fn ring_fd(&self) -> BorrowedFd<'_> {
        self.ring.as_fd()
    }

    pub(super) fn counters(&self) -> Result<InlineCounters, InlineError> {
        let sum = |outcome: u32| -> Result<u64, InlineError> {
            Ok(self.counters.get(&outcome, 0)?.iter().sum())
        };
        // In the order of `enum outcome`.
        Ok(InlineCounters {
            redirected: sum(0)?,
            stale: sum(1)?,
            group: sum(2)?,
            unknown: sum(3)?,
            exempt: sum(4)?,
            not_ip: sum(5)?,
            control: sum(6)?,
            large: sum(7)?,
            no_socket: sum(8)?,
            records: sum(9)?,
            records_lost: sum(10)?,
            moved: sum(11)?,
            tagged: sum(12)?,
        })
    }

    pub(super) fn uplink(&self, mac: [u8; 6]) -> Result<Option<UplinkUse>, InlineError> {
        match self.uplink.get(&mac, 0) {
            Ok(words) => Ok(Some(UplinkUse::from_words(words))),
            Err(MapError::KeyNotFound) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl core::fmt::Debug for Programs {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Programs").finish_non_exhaustive()
    }
}

fn program(ebpf: &mut Ebpf, role: Role) -> Result<&mut Xdp, InlineError> {
    let name = role.program();
    let program = ebpf
        .program_mut(name)
        .ok_or_else(|| InlineError::Load(format!("the object has no program {name}").into()))?;
    program.try_into().map_err(load_error)
}

/// The buffers of AF_XDP count as locked memory, of which an ordinary limit is 8 MiB, and before Linux
/// 5.11 the maps do as well.
fn raise_memory_limit() {
    use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit, setrlimit};
    let limit = Resource::RLIMIT_MEMLOCK;
    if setrlimit(limit, RLIM_INFINITY, RLIM_INFINITY).is_ok() {
        return;
    }
    // Without the right to raise the hard limit, what needs more fails with an error of its own.
    if let Ok((_, hard)) = getrlimit(limit) {
        let _ = setrlimit(limit, hard, hard);
    }
}

fn load_error(error: ProgramError) -> InlineError {
    InlineError::Load(Box::new(error))
}

fn attach_error(interface: &str, error: ProgramError) -> InlineError {
    let busy = Some(libc::EBUSY);
    if let ProgramError::SyscallError(call) = &error
        && call.io_error.raw_os_error() == busy
    {
        return occupied(interface, 0);
    }
    InlineError::Attach {
        interface: interface.to_owned(),
        source: Box::new(error),
    }
}

/// Refuses an interface on which an XDP program is attached.
pub(super) fn refuse_occupied(link: &mut Netlink, interface: &str) -> Result<(), InlineError> {
    match link.xdp_program(interface)? {
        Some(id) => Err(occupied(interface, id)),
        None => Ok(()),
    }
}

/// The error for an interface on which the program `id` (0 if unknown) is attached.
fn occupied(interface: &str, id: u32) -> InlineError {
    let name = loaded_programs()
        .filter_map(Result::ok)
        .find(|info| info.id() == id)
        .and_then(|info| info.name_as_str().map(str::to_owned));
    InlineError::Occupied {
        interface: interface.to_owned(),
        program: name.unwrap_or_else(|| "of unknown name".to_owned()),
        id,
    }
}

/// Returns the error of a system call for `source`, so that callers can match its kind.
pub(super) fn socket_error(interface: &str, queue: u32, source: io::Error) -> InlineError {
    InlineError::Socket {
        interface: interface.to_owned(),
        queue,
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_and_malformed_ones_refused() {
        let mut record = vec![0; 24 + 160];
        record[..8].copy_from_slice(&7_u64.to_ne_bytes());
        record[8..12].copy_from_slice(&3_u32.to_ne_bytes());
        record[12..16].copy_from_slice(&1500_u32.to_ne_bytes());
        record[16..18].copy_from_slice(&60_u16.to_ne_bytes());
        record[18] = 6;
        let observation = Observation::parse(&record).unwrap();
        assert_eq!((observation.at_ns, observation.interface), (7, 3));
        assert_eq!((observation.length, observation.bytes.len()), (1500, 60));
        assert_eq!(observation.kind, ObservationKind::Tcp);
        assert!(Observation::parse(&record[..23]).is_none());
        record[18] = 99;
        assert!(Observation::parse(&record).is_none(), "an unknown kind");
        record[18] = 6;
        record[16..18].copy_from_slice(&161_u16.to_ne_bytes());
        assert!(
            Observation::parse(&record).is_none(),
            "longer than the record"
        );
    }
}
