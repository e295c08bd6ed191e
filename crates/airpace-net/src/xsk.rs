//! AF_XDP sockets: frames between a queue of an interface and this process, past the network stack.
//!
//! A [`Receiver`] gets the frames that an XDP program hands to it; a [`Sender`] puts frames on an
//! interface. Both copy once within the kernel, as virtual interfaces require, and work with every
//! driver. Each socket has chunks of memory of its own, so a forwarded frame is copied in this
//! process too; `examples/inline_throughput.rs` measures the whole.
//!
//! The sockets are built on the system calls, in `sys::xsk`. Of the crates for it, `xsk-rs` compiles
//! C libraries, and `xdp` leaves it to its caller that a packet does not outlive its memory.

use crate::sys::set_option;
use crate::sys::xsk::{self, CHUNK_BYTES, Chunks, Descriptor, Ring, RingKind};
use crate::udp::{Buffer, set_buffer};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Length of the longest frame that a socket receives: the kernel keeps `XDP_PACKET_HEADROOM` free
/// at the beginning of a chunk. The XDP program lets longer frames pass.
pub const MAX_RECEIVED_BYTES: usize = CHUNK_BYTES - 256;

/// Length of the longest frame that a socket sends.
pub const MAX_SENT_BYTES: usize = CHUNK_BYTES;

/// What the kernel has dropped or refused since a socket was opened (`XDP_STATISTICS`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct XskStatistics {
    /// Frames dropped although there was room, for example because they were too long.
    pub dropped: u64,
    /// Frames dropped because this process had not taken earlier ones.
    pub receive_ring_full: u64,
    /// Frames dropped because the kernel had no empty chunk.
    pub no_chunk: u64,
    /// Descriptors that the kernel refused; only a bug makes them.
    pub invalid: u64,
}

impl XskStatistics {
    /// Returns the frames that were lost on the way to this process.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.dropped + self.receive_ring_full + self.no_chunk
    }

    /// Adds the counts of another socket.
    pub(crate) const fn add(&mut self, other: Self) {
        self.dropped += other.dropped;
        self.receive_ring_full += other.receive_ring_full;
        self.no_chunk += other.no_chunk;
        self.invalid += other.invalid;
    }
}

/// Receives the frames that an XDP program redirects on one queue of an interface.
#[derive(Debug)]
pub struct Receiver {
    socket: OwnedFd,
    chunks: Chunks,
    fill: Ring<u64>,
    ring: Ring<Descriptor>,
    /// The kernel refuses to bind a socket without it; nothing is ever in it.
    _completion: Ring<u64>,
}

impl Receiver {
    /// Opens a socket for `queue` of the interface with index `interface`, with room for `chunks`
    /// frames (a power of two) of 4 KiB each.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] if the interface does not have the queue; without
    /// CAP_NET_RAW; on a kernel without AF_XDP.
    pub fn open(interface: u32, queue: u32, chunks: u32) -> io::Result<Self> {
        let socket = xsk::socket()?;
        let fd = socket.as_fd();
        let memory = Chunks::register(fd, chunks)?;
        let mut fill = Ring::create(fd, RingKind::Fill, chunks)?;
        let completion = Ring::create(fd, RingKind::Completion, 64)?;
        let ring = Ring::create(fd, RingKind::Receive, chunks)?;
        for chunk in 0..u64::from(chunks) {
            // The ring has an entry for each chunk.
            fill.produce(chunk * CHUNK_BYTES as u64);
        }
        fill.publish_produced();
        bind(fd, interface, queue)?;
        Ok(Self {
            socket,
            chunks: memory,
            fill,
            ring,
            _completion: completion,
        })
    }

    /// Passes up to `most` waiting frames to `on_frame` and returns their number. No system call is
    /// made.
    pub fn receive(&mut self, most: usize, mut on_frame: impl FnMut(&mut [u8])) -> usize {
        let mut n = 0;
        while n < most {
            let Some(descriptor) = self.ring.consume() else {
                break;
            };
            if let Some(frame) = self.chunks.frame(&descriptor) {
                on_frame(frame);
            }
            // The frame begins behind the headroom of its chunk.
            let chunk = descriptor.addr & !(CHUNK_BYTES as u64 - 1);
            // As many entries as chunks, so there is room.
            self.fill.produce(chunk);
            n += 1;
        }
        if n > 0 {
            self.ring.publish_consumed();
            self.fill.publish_produced();
        }
        n
    }

    /// Returns what the kernel has dropped since the socket was opened.
    ///
    /// # Errors
    /// When the kernel does not answer, which only a bug can cause.
    pub fn statistics(&self) -> io::Result<XskStatistics> {
        statistics(self.as_fd())
    }
}

impl AsFd for Receiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Sends frames on an interface, past its queueing discipline.
#[derive(Debug)]
pub struct Sender {
    socket: OwnedFd,
    chunks: Chunks,
    ring: Ring<Descriptor>,
    completion: Ring<u64>,
    /// Chunks that hold no frame. The last one used is used next, as it is still in the cache.
    empty: Vec<u64>,
    /// The kernel refuses to bind a socket without it; nothing is ever in it.
    _fill: Ring<u64>,
}

impl Sender {
    /// Opens a socket that sends on `queue` of the interface with index `interface`, with room for
    /// `chunks` frames (a power of two) of 4 KiB each.
    ///
    /// # Errors
    /// As [`Receiver::open`].
    pub fn open(interface: u32, queue: u32, chunks: u32) -> io::Result<Self> {
        let socket = xsk::socket()?;
        let fd = socket.as_fd();
        let memory = Chunks::register(fd, chunks)?;
        let fill = Ring::create(fd, RingKind::Fill, 64)?;
        let completion = Ring::create(fd, RingKind::Completion, chunks)?;
        let ring = Ring::create(fd, RingKind::Transmit, chunks)?;
        // Frames that the interface has not sent yet count against the buffer.
        set_buffer(fd, Buffer::Send, SEND_BUFFER_BYTES)?;
        // Frames per system call; kernels before 6.18 do not have the option and send 32.
        let _ = set_option(fd, libc::SOL_XDP, XDP_MAX_TX_SKB_BUDGET, FRAMES_PER_CALL);
        bind(fd, interface, queue)?;
        Ok(Self {
            socket,
            chunks: memory,
            ring,
            completion,
            empty: (0..u64::from(chunks))
                .map(|chunk| chunk * CHUNK_BYTES as u64)
                .collect(),
            _fill: fill,
        })
    }

    /// Queues a frame, which [`Sender::flush`] sends. Returns `false` if it is longer than
    /// [`MAX_SENT_BYTES`] or all chunks are in use; the caller keeps the frame or drops it.
    pub fn push(&mut self, frame: &[u8]) -> bool {
        let Ok(length) = u32::try_from(frame.len()) else {
            return false;
        };
        if frame.len() > MAX_SENT_BYTES {
            return false;
        }
        if self.empty.is_empty() {
            self.reclaim();
        }
        let Some(chunk) = self.empty.pop() else {
            return false;
        };
        let descriptor = Descriptor {
            addr: chunk,
            len: length,
            options: 0,
        };
        let Some(room) = self.chunks.frame(&descriptor) else {
            return false;
        };
        room.copy_from_slice(frame);
        // As many entries as chunks, so there is room.
        self.ring.produce(descriptor)
    }

    /// Sends the queued frames. Returns how many of them the interface has not taken yet; the next
    /// call tries again.
    ///
    /// # Errors
    /// When the interface is down ([`io::ErrorKind::NetworkDown`]) or has been removed.
    pub fn flush(&mut self) -> io::Result<usize> {
        self.ring.publish_produced();
        let mut waiting = self.ring.in_flight();
        while waiting > 0 {
            if !self.ring.needs_wakeup() {
                break;
            }
            match xsk::kick(self.socket.as_fd()) {
                Ok(()) => {}
                // EAGAIN: more frames than one call sends. ENOBUFS: completions must be taken
                // first. EBUSY: the interface is busy.
                Err(error)
                    if matches!(
                        error.raw_os_error(),
                        Some(libc::EAGAIN | libc::ENOBUFS | libc::EBUSY)
                    ) => {}
                Err(error) => return Err(error),
            }
            self.reclaim();
            let now_waiting = self.ring.in_flight();
            // No progress: the interface is busy, and trying at once would spin.
            if now_waiting == waiting {
                break;
            }
            waiting = now_waiting;
        }
        Ok(waiting as usize)
    }

    /// Takes the chunks back whose frames have been sent.
    fn reclaim(&mut self) {
        let before = self.empty.len();
        while let Some(chunk) = self.completion.consume() {
            self.empty.push(chunk);
        }
        if self.empty.len() > before {
            self.completion.publish_consumed();
        }
    }

    /// Returns what the kernel has refused since the socket was opened.
    ///
    /// # Errors
    /// When the kernel does not answer, which only a bug can cause.
    pub fn statistics(&self) -> io::Result<XskStatistics> {
        statistics(self.as_fd())
    }
}

impl AsFd for Sender {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Room for frames on their way through the interface.
const SEND_BUFFER_BYTES: usize = 8 << 20;

/// `XDP_MAX_TX_SKB_BUDGET` of `linux/if_xdp.h`.
const XDP_MAX_TX_SKB_BUDGET: libc::c_int = 9;

/// Most frames that one system call sends.
const FRAMES_PER_CALL: libc::c_int = 256;

/// Binds in copy mode: it works with every driver, whatever else is attached, and a driver that
/// shares its own buffers would have to restart its queues.
fn bind(socket: BorrowedFd<'_>, interface: u32, queue: u32) -> io::Result<()> {
    xsk::bind(
        socket,
        interface,
        queue,
        libc::XDP_COPY | libc::XDP_USE_NEED_WAKEUP,
    )
}

fn statistics(socket: BorrowedFd<'_>) -> io::Result<XskStatistics> {
    let raw = xsk::statistics(socket)?;
    Ok(XskStatistics {
        dropped: raw.rx_dropped,
        receive_ring_full: raw.rx_ring_full,
        no_chunk: raw.rx_fill_ring_empty_descs,
        invalid: raw.rx_invalid_descs + raw.tx_invalid_descs,
    })
}
