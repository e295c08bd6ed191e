//! The memory that an AF_XDP socket shares with the kernel: frames in chunks, and four rings of
//! descriptors (kernel documentation, `networking/af_xdp`).
//!
//! Everything that needs unsafe code for AF_XDP is here; [`crate::xsk`] builds safe sockets on it.

use super::check;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, Ordering};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

pub(crate) use libc::{xdp_desc as Descriptor, xdp_statistics as RawStatistics};

/// Bytes of a chunk, in which one frame lies.
pub(crate) const CHUNK_BYTES: usize = 4096;

/// A shared mapping, removed on drop.
#[derive(Debug)]
struct Mapping {
    address: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a mapping belongs to the process, not to the thread that made it.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps `bytes` of anonymous memory, or of the ring at `offset` of a socket.
    fn new(bytes: usize, ring: Option<(BorrowedFd<'_>, libc::off_t)>) -> io::Result<Self> {
        let (flags, fd, offset) = match ring {
            Some((socket, offset)) => (libc::MAP_SHARED, socket.as_raw_fd(), offset),
            None => (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0),
        };
        // SAFETY: without MAP_FIXED, the kernel chooses an unused range, so no memory of this
        // process changes.
        let address = unsafe {
            libc::mmap(
                core::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                flags | libc::MAP_POPULATE,
                fd,
                offset,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let address = NonNull::new(address.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { address, bytes })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by `new`, and the owner of `self` keeps no reference into it.
        unsafe { libc::munmap(self.address.as_ptr().cast(), self.bytes) };
    }
}

/// The chunks of memory in which a socket's frames lie (UMEM).
#[derive(Debug)]
pub(crate) struct Chunks {
    memory: Mapping,
}

impl Chunks {
    /// Makes room for `n` frames and registers it with `socket`.
    pub(crate) fn register(socket: BorrowedFd<'_>, n: u32) -> io::Result<Self> {
        let memory = Mapping::new(n as usize * CHUNK_BYTES, None)?;
        // SAFETY: an xdp_umem_reg is plain data for which all zeroes is a value.
        let mut registration: libc::xdp_umem_reg = unsafe { core::mem::zeroed() };
        registration.addr = memory.address.as_ptr() as u64;
        registration.len = memory.bytes as u64;
        registration.chunk_size = CHUNK_BYTES as u32;
        set(socket, libc::XDP_UMEM_REG, &registration)?;
        Ok(Self { memory })
    }

    /// Returns the bytes that a descriptor names; `None` if they are not inside the chunks.
    ///
    /// The caller owns the chunk: it has received it from the kernel and not returned it yet.
    pub(crate) fn frame(&mut self, descriptor: &Descriptor) -> Option<&mut [u8]> {
        let begin = usize::try_from(descriptor.addr).ok()?;
        let end = begin.checked_add(descriptor.len as usize)?;
        if end > self.memory.bytes {
            return None;
        }
        // SAFETY: the range is inside the mapping, as just checked. The kernel writes to a chunk
        // only while it is in the fill ring, where the caller puts it after the use. `&mut self`
        // excludes a second reference of this process.
        Some(unsafe {
            core::slice::from_raw_parts_mut(
                self.memory.address.as_ptr().add(begin),
                descriptor.len as usize,
            )
        })
    }
}

/// A ring of `T` between one producer and one consumer, of which this process is one and the kernel
/// the other. All positions count upwards and wrap.
#[derive(Debug)]
pub(crate) struct Ring<T> {
    memory: Mapping,
    offsets: libc::xdp_ring_offset,
    /// Entries, a power of two, less one.
    mask: u32,
    /// The own position, which is published in batches.
    local: u32,
    /// The other side's position when it was last read.
    remote: u32,
    entry: core::marker::PhantomData<T>,
}

/// Which ring of a socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RingKind {
    /// Empty chunks for the kernel to receive into.
    Fill,
    /// Chunks whose frames have been sent.
    Completion,
    /// Received frames.
    Receive,
    /// Frames to send.
    Transmit,
}

impl RingKind {
    const fn option(self) -> libc::c_int {
        match self {
            Self::Fill => libc::XDP_UMEM_FILL_RING,
            Self::Completion => libc::XDP_UMEM_COMPLETION_RING,
            Self::Receive => libc::XDP_RX_RING,
            Self::Transmit => libc::XDP_TX_RING,
        }
    }

    const fn page(self) -> libc::off_t {
        match self {
            Self::Fill => libc::XDP_UMEM_PGOFF_FILL_RING as libc::off_t,
            Self::Completion => libc::XDP_UMEM_PGOFF_COMPLETION_RING as libc::off_t,
            Self::Receive => libc::XDP_PGOFF_RX_RING,
            Self::Transmit => libc::XDP_PGOFF_TX_RING,
        }
    }

    const fn of(self, offsets: &libc::xdp_mmap_offsets) -> libc::xdp_ring_offset {
        match self {
            Self::Fill => offsets.fr,
            Self::Completion => offsets.cr,
            Self::Receive => offsets.rx,
            Self::Transmit => offsets.tx,
        }
    }
}

/// What a ring may hold; both types are what the kernel puts there.
pub(crate) trait Entry: Copy {}
impl Entry for u64 {}
impl Entry for Descriptor {}

impl<T: Entry> Ring<T> {
    /// Creates the ring `kind` of `socket` with `n` entries, a power of two.
    pub(crate) fn create(socket: BorrowedFd<'_>, kind: RingKind, n: u32) -> io::Result<Self> {
        set(socket, kind.option(), &n)?;
        let offsets = kind.of(&offsets(socket)?);
        let bytes = offsets.desc as usize + n as usize * size_of::<T>();
        Ok(Self {
            memory: Mapping::new(bytes, Some((socket, kind.page())))?,
            offsets,
            mask: n - 1,
            local: 0,
            remote: 0,
            entry: core::marker::PhantomData,
        })
    }

    fn word(&self, offset: u64) -> &AtomicU32 {
        // SAFETY: the kernel says that a 32-bit word, which both sides access atomically, is at
        // this offset of the mapping. Mappings begin at a page, and the offsets are multiples of 4.
        unsafe {
            self.memory
                .address
                .add(offset as usize)
                .cast::<AtomicU32>()
                .as_ref()
        }
    }

    fn entry(&self, position: u32) -> *mut T {
        let base = self
            .memory
            .address
            .as_ptr()
            .wrapping_add(self.offsets.desc as usize);
        base.cast::<T>()
            .wrapping_add((position & self.mask) as usize)
    }

    /// Returns whether the kernel wants to be told about new entries.
    pub(crate) fn needs_wakeup(&self) -> bool {
        self.word(self.offsets.flags).load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }

    /// As the producer: adds an entry, which the kernel sees after [`Ring::publish_produced`].
    /// Returns `false` if the ring is full.
    pub(crate) fn produce(&mut self, entry: T) -> bool {
        if self.local.wrapping_sub(self.remote) > self.mask {
            self.remote = self.word(self.offsets.consumer).load(Ordering::Acquire);
            if self.local.wrapping_sub(self.remote) > self.mask {
                return false;
            }
        }
        // SAFETY: the pointer is inside the mapping, because the mask bounds the position, and
        // aligned. The kernel has consumed this entry and does not touch it before it is published.
        unsafe { self.entry(self.local).write(entry) };
        self.local = self.local.wrapping_add(1);
        true
    }

    /// As the producer: lets the kernel see the entries that were added.
    pub(crate) fn publish_produced(&mut self) {
        self.word(self.offsets.producer)
            .store(self.local, Ordering::Release);
    }

    /// As the producer: returns how many entries the kernel has not consumed yet.
    pub(crate) fn in_flight(&mut self) -> u32 {
        self.remote = self.word(self.offsets.consumer).load(Ordering::Acquire);
        self.local.wrapping_sub(self.remote)
    }

    /// As the consumer: takes an entry, which returns to the kernel after
    /// [`Ring::publish_consumed`].
    pub(crate) fn consume(&mut self) -> Option<T> {
        if self.local == self.remote {
            self.remote = self.word(self.offsets.producer).load(Ordering::Acquire);
            if self.local == self.remote {
                return None;
            }
        }
        // SAFETY: the pointer is inside the mapping, because the mask bounds the position, and
        // aligned. The kernel has published this entry and does not touch it before it is returned.
        let entry = unsafe { self.entry(self.local).read() };
        self.local = self.local.wrapping_add(1);
        Some(entry)
    }

    /// As the consumer: returns the room of the taken entries to the kernel.
    pub(crate) fn publish_consumed(&mut self) {
        self.word(self.offsets.consumer)
            .store(self.local, Ordering::Release);
    }
}

/// Opens an AF_XDP socket.
pub(crate) fn socket() -> io::Result<OwnedFd> {
    // SAFETY: the call takes numbers only.
    let fd = check(unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) })?;
    // SAFETY: the kernel has just given this process the descriptor, and nobody else knows it. A
    // descriptor fits the type that it was converted from.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// Binds `socket` to a queue of an interface.
pub(crate) fn bind(
    socket: BorrowedFd<'_>,
    interface: u32,
    queue: u32,
    flags: u16,
) -> io::Result<()> {
    let address = libc::sockaddr_xdp {
        sxdp_family: libc::AF_XDP as u16,
        sxdp_flags: flags,
        sxdp_ifindex: interface,
        sxdp_queue_id: queue,
        sxdp_shared_umem_fd: 0,
    };
    let length = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the pointer and the length describe `address`, which the kernel copies.
    check(unsafe {
        libc::bind(
            socket.as_raw_fd(),
            core::ptr::from_ref(&address).cast(),
            length,
        )
    })
    .map(drop)
}

/// Asks the kernel to send what is in the transmit ring.
pub(crate) fn kick(socket: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the call names no buffer and no address.
    let result = unsafe {
        libc::sendto(
            socket.as_raw_fd(),
            core::ptr::null(),
            0,
            libc::MSG_DONTWAIT,
            core::ptr::null(),
            0,
        )
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Returns the socket's counts since it was opened.
pub(crate) fn statistics(socket: BorrowedFd<'_>) -> io::Result<RawStatistics> {
    get(socket, libc::XDP_STATISTICS)
}

fn offsets(socket: BorrowedFd<'_>) -> io::Result<libc::xdp_mmap_offsets> {
    get(socket, libc::XDP_MMAP_OFFSETS)
}

/// Types of the kernel's interface that consist of integers only, so that all zeroes is a value.
trait Plain: Copy {}
impl Plain for u32 {}
impl Plain for libc::xdp_mmap_offsets {}
impl Plain for libc::xdp_statistics {}
impl Plain for libc::xdp_umem_reg {}

fn set<T: Plain>(socket: BorrowedFd<'_>, option: libc::c_int, value: &T) -> io::Result<()> {
    // SAFETY: the pointer and the length describe `value`, which the kernel copies.
    check(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_XDP,
            option,
            core::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    })
    .map(drop)
}

fn get<T: Plain>(socket: BorrowedFd<'_>, option: libc::c_int) -> io::Result<T> {
    // SAFETY: all zeroes is a value of these types.
    let mut value: T = unsafe { core::mem::zeroed() };
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the pointer and the length describe `value`; the kernel writes at most `length` bytes.
    check(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_XDP,
            option,
            (&raw mut value).cast(),
            &raw mut length,
        )
    })?;
    Ok(value)
}
