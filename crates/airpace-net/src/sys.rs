//! All unsafe code of the workspace: system calls that have no safe wrapper.
#![expect(
    unsafe_code,
    reason = "system calls without a safe wrapper, and memory shared with the kernel; nothing else \
              lives here"
)]

pub(crate) mod ethtool;
pub(crate) mod xsk;

use crate::udp::control::{self, Control, Kind};
use crate::udp::{MAX_MESSAGES, ReceiveBatch, TrafficClass, Transmit};
use core::sync::atomic::{AtomicI32, Ordering};
use core::time::Duration;
use nix::errno::Errno;
use nix::sys::epoll::EpollEvent;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal};
use nix::sys::socket::{SockaddrLike, SockaddrStorage};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid};
use std::ffi::CStr;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Turns the C convention of −1 and `errno` into a result.
fn check(result: libc::c_int) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

fn timespec(span: Duration) -> libc::timespec {
    libc::timespec {
        tv_sec: libc::time_t::try_from(span.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: span.subsec_nanos().into(),
    }
}

/// epoll_wait with a timeout in nanoseconds; `None` waits without a limit.
pub(crate) fn epoll_pwait2(
    epoll: BorrowedFd<'_>,
    events: &mut [EpollEvent],
    timeout: Option<Duration>,
) -> io::Result<usize> {
    let spec = timeout.map(timespec);
    let spec_ptr = spec.as_ref().map_or(core::ptr::null(), core::ptr::from_ref);
    let room = libc::c_int::try_from(events.len()).unwrap_or(libc::c_int::MAX);
    // SAFETY: nix's EpollEvent is a transparent wrapper of epoll_event, and `events` has `room` of
    // them. `spec_ptr` is null or points at `spec`, which outlives the call. A null signal mask
    // leaves the thread's mask as it is.
    check(unsafe {
        libc::epoll_pwait2(
            epoll.as_raw_fd(),
            events.as_mut_ptr().cast(),
            room,
            spec_ptr,
            core::ptr::null(),
        )
    })
}

/// Puts the calling thread under SCHED_FIFO; its children fall back to the ordinary scheduler.
pub(crate) fn set_fifo(priority: i32) -> io::Result<()> {
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    let param = libc::sched_param {
        sched_priority: priority,
    };
    // SAFETY: `param` outlives the call; pid 0 is the calling thread.
    check(unsafe { libc::sched_setscheduler(0, policy, &param) }).map(drop)
}

/// Attaches an open /dev/net/tun to a new interface and returns the name that the kernel gave it.
pub(crate) fn tun_attach(
    file: BorrowedFd<'_>,
    name: &CStr,
    link_layer: bool,
    offload: bool,
) -> io::Result<String> {
    // SAFETY: an ifreq is plain data for which all zeroes is a value.
    let mut request: libc::ifreq = unsafe { core::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.to_bytes()) {
        *to = *from as libc::c_char;
    }
    let kind = if link_layer {
        libc::IFF_TAP
    } else {
        libc::IFF_TUN
    };
    let header = if offload { libc::IFF_VNET_HDR } else { 0 };
    request.ifr_ifru.ifru_flags = (kind | libc::IFF_NO_PI | header) as libc::c_short;
    // SAFETY: TUNSETIFF reads and writes one ifreq, which `request` is.
    check(unsafe {
        libc::ioctl(
            file.as_raw_fd(),
            libc::TUNSETIFF as libc::Ioctl,
            &mut request,
        )
    })?;
    // SAFETY: the kernel leaves a terminated name in ifr_name.
    let chosen = unsafe { CStr::from_ptr(request.ifr_name.as_ptr()) };
    Ok(chosen.to_string_lossy().into_owned())
}

/// Sets the link type (`ARPHRD_*`) of an interface that is down.
pub(crate) fn tun_set_link(file: BorrowedFd<'_>, link_type: u16) -> io::Result<()> {
    // SAFETY: TUNSETLINK takes its argument by value.
    check(unsafe {
        libc::ioctl(
            file.as_raw_fd(),
            libc::TUNSETLINK as libc::Ioctl,
            libc::c_ulong::from(link_type),
        )
    })
    .map(drop)
}

/// Lets both sides leave checksums incomplete and TCP segments joined; UDP datagrams too if `udp`.
pub(crate) fn tun_set_offload(file: BorrowedFd<'_>, udp: bool) -> io::Result<()> {
    let tcp = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6;
    let flags = if udp {
        tcp | libc::TUN_F_USO4 | libc::TUN_F_USO6
    } else {
        tcp
    };
    // SAFETY: TUNSETOFFLOAD takes its argument by value.
    check(unsafe {
        libc::ioctl(
            file.as_raw_fd(),
            libc::TUNSETOFFLOAD as libc::Ioctl,
            libc::c_ulong::from(flags),
        )
    })
    .map(drop)
}

/// What is set up in a child process before it executes its program.
#[derive(Debug)]
pub(crate) struct ChildSetup {
    /// The network namespace that it enters; `None` leaves it in that of the caller.
    pub(crate) network: Option<OwnedFd>,
    /// The signal that it gets when the thread that started it ends.
    pub(crate) on_parent_death: Signal,
    /// Whether the child is the first process of a PID namespace. It then stays as the init process
    /// of that namespace and runs the program as its child.
    pub(crate) own_init: bool,
}

/// Arranges for `command` to apply `setup` in the child.
pub(crate) fn prepare_child(command: &mut Command, setup: ChildSetup) {
    let apply = move || {
        if let Some(network) = &setup.network {
            nix::sched::setns(network, nix::sched::CloneFlags::CLONE_NEWNET)?;
        }
        nix::sys::prctl::set_pdeathsig(setup.on_parent_death)?;
        if setup.own_init {
            fork_from_init()?;
        }
        SigSet::empty().thread_set_mask()?;
        Ok(())
    };
    // SAFETY: between fork and exec, the closure only makes async-signal-safe system calls and
    // allocates nothing.
    unsafe { command.pre_exec(apply) };
}

/// Forks and returns in the child. The parent stays as the init process until the child ends.
fn fork_from_init() -> nix::Result<()> {
    // The kernel discards signals for an init process that neither blocks nor handles them.
    SigSet::all().thread_set_mask()?;
    // SAFETY: this is the only thread of a process that is about to execute a program, and neither
    // side allocates.
    match unsafe { nix::unistd::fork() }? {
        ForkResult::Child => Ok(()),
        ForkResult::Parent { child } => stay_as_init(child),
    }
}

/// Reaps orphans, passes SIGTERM and SIGHUP on, and exits with the program's status. The kernel
/// then kills all other processes of the namespace.
fn stay_as_init(program: Pid) -> ! {
    // One of them is the pipe whose closing tells the caller that the program has been executed.
    // SAFETY: nothing in this process uses files from here on.
    unsafe { libc::close_range(3, libc::c_uint::MAX, 0) };
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::Exited(pid, code)) if pid == program => exit_at_once(code),
            // As shells report it.
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == program => {
                exit_at_once(128 + signal as i32)
            }
            // No child has ended: sleep until a signal comes, SIGCHLD or one to pass on.
            Ok(WaitStatus::StillAlive) => {
                if let Ok(signal @ (Signal::SIGTERM | Signal::SIGHUP)) = SigSet::all().wait() {
                    let _ = nix::sys::signal::kill(program, signal);
                }
            }
            Err(Errno::ECHILD) => exit_at_once(1),
            _ => {}
        }
    }
}

fn exit_at_once(code: i32) -> ! {
    // SAFETY: this ends the process without running the exit handlers that it inherited.
    unsafe { libc::_exit(code) }
}

/// The files that the signal handler writes to, by the number of the signal; −1 for none.
static SIGNAL_PIPES: [AtomicI32; 65] = [const { AtomicI32::new(-1) }; 65];

/// Installs a handler that writes the numbers of `signals` to `pipe`, which must not block and must
/// stay open until [`release_signals`].
pub(crate) fn catch_signals(signals: &[Signal], pipe: BorrowedFd<'_>) -> nix::Result<()> {
    let action = SigAction::new(
        SigHandler::Handler(on_signal),
        SaFlags::SA_RESTART,
        SigSet::empty(),
    );
    for &signal in signals {
        SIGNAL_PIPES[signal as usize].store(pipe.as_raw_fd(), Ordering::SeqCst);
        // SAFETY: the handler only loads an atomic and calls write, which is async-signal-safe, and
        // it restores errno.
        unsafe { nix::sys::signal::sigaction(signal, &action) }?;
    }
    Ok(())
}

/// Restores the default actions.
pub(crate) fn release_signals(signals: &[Signal]) {
    let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    for &signal in signals {
        // SAFETY: the default action runs no code of this process. The kernel accepts it for every
        // signal that could be caught.
        let _ = unsafe { nix::sys::signal::sigaction(signal, &default) };
        SIGNAL_PIPES[signal as usize].store(-1, Ordering::SeqCst);
    }
}

extern "C" fn on_signal(number: libc::c_int) {
    let errno = Errno::last_raw();
    // Signals are numbered from 1 to 64.
    let byte = number as u8;
    let pipe = &SIGNAL_PIPES[usize::from(byte)];
    // SAFETY: the call reads one byte, from `byte`. If the pipe is full or already closed, it fails
    // without harm.
    unsafe { libc::write(pipe.load(Ordering::SeqCst), (&raw const byte).cast(), 1) };
    Errno::set_raw(errno);
}

/// Sets a socket option whose value is an int.
pub(crate) fn set_option(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    option: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the pointer and the length describe `value`, which the kernel copies.
    check(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            core::ptr::from_ref(&value).cast(),
            length,
        )
    })
    .map(drop)
}

/// Binds a packet socket to all protocols of one interface.
pub(crate) fn bind_to_interface(socket: BorrowedFd<'_>, index: u32) -> io::Result<()> {
    // SAFETY: a sockaddr_ll is plain data for which all zeroes is a value.
    let mut name: libc::sockaddr_ll = unsafe { core::mem::zeroed() };
    name.sll_family = libc::AF_PACKET as libc::c_ushort;
    name.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    name.sll_ifindex = libc::c_int::try_from(index).unwrap_or(-1);
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the pointer and the length describe `name`, which the kernel copies.
    check(unsafe {
        libc::bind(
            socket.as_raw_fd(),
            core::ptr::from_ref(&name).cast(),
            length,
        )
    })
    .map(drop)
}

/// The link type of the interface to which a packet socket is bound.
pub(crate) fn link_type(socket: BorrowedFd<'_>) -> io::Result<u16> {
    // SAFETY: a sockaddr_ll is plain data for which all zeroes is a value.
    let mut name: libc::sockaddr_ll = unsafe { core::mem::zeroed() };
    let mut length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the pointers and the length describe `name` and `length`, which the kernel writes. It
    // writes fewer bytes for an interface without a hardware address, as monitor interfaces may be.
    check(unsafe {
        libc::getsockname(
            socket.as_raw_fd(),
            core::ptr::from_mut(&mut name).cast(),
            &raw mut length,
        )
    })?;
    Ok(name.sll_hatype)
}

/// Switches an interface to promiscuous mode until the packet socket is closed.
pub(crate) fn join_promiscuous(socket: BorrowedFd<'_>, index: u32) -> io::Result<()> {
    let request = libc::packet_mreq {
        mr_ifindex: libc::c_int::try_from(index).unwrap_or(-1),
        mr_type: libc::PACKET_MR_PROMISC as libc::c_ushort,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    // SAFETY: the pointer and the length describe `request`, which the kernel copies.
    check(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_ADD_MEMBERSHIP,
            core::ptr::from_ref(&request).cast(),
            size_of_val(&request) as libc::socklen_t,
        )
    })
    .map(drop)
}

/// Returns the numbers of frames received and dropped since the previous call.
pub(crate) fn packet_statistics(socket: BorrowedFd<'_>) -> io::Result<(u32, u32)> {
    let mut counts = [0_u32; 2];
    let mut length = size_of_val(&counts) as libc::socklen_t;
    // SAFETY: PACKET_STATISTICS fills a struct of two unsigned ints; `counts` has its layout.
    check(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            counts.as_mut_ptr().cast(),
            &raw mut length,
        )
    })?;
    Ok((counts[0], counts[1]))
}

/// Returns the number of the network namespace of a socket, which the kernel never uses again.
pub(crate) fn namespace_cookie(socket: BorrowedFd<'_>) -> io::Result<u64> {
    let mut cookie = 0_u64;
    let mut length = size_of_val(&cookie) as libc::socklen_t;
    // SAFETY: SO_NETNS_COOKIE fills a u64; the pointer and the length describe `cookie`.
    check(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_NETNS_COOKIE,
            (&raw mut cookie).cast(),
            &raw mut length,
        )
    })?;
    Ok(cookie)
}

/// Reads the kernel's view of a TCP connection.
pub(crate) fn tcp_info(socket: BorrowedFd<'_>) -> nix::Result<libc::tcp_info> {
    // SAFETY: `tcp_info` consists of integers only, for which all-zero bytes are a value.
    let mut info: libc::tcp_info = unsafe { core::mem::zeroed() };
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    let pointer = (&raw mut info).cast();
    // SAFETY: `pointer` and `length` describe `info`, which outlives the call; the kernel writes at
    // most `length` bytes.
    Errno::result(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            pointer,
            &raw mut length,
        )
    })?;
    Ok(info)
}

/// Room for the headers of one batch. Their pointers are set for every call.
type Headers = [core::mem::MaybeUninit<libc::mmsghdr>; MAX_MESSAGES];

/// Receives messages into `batch`, with their lengths, and returns their number.
pub(crate) fn recvmmsg(socket: BorrowedFd<'_>, batch: &mut ReceiveBatch) -> io::Result<usize> {
    let mut headers: Headers = [const { core::mem::MaybeUninit::uninit() }; MAX_MESSAGES];
    let mut vectors = [const { core::mem::MaybeUninit::<libc::iovec>::uninit() }; MAX_MESSAGES];
    let slots = batch.filled.len();
    let slot_bytes = batch.slot_bytes;
    for (i, slot) in batch
        .buffer
        .chunks_exact_mut(slot_bytes)
        .enumerate()
        .take(slots)
    {
        let vector = vectors[i].write(libc::iovec {
            iov_base: slot.as_mut_ptr().cast(),
            iov_len: slot_bytes,
        });
        // SAFETY: an mmsghdr is plain data for which all zeroes is a value.
        let mut header: libc::mmsghdr = unsafe { core::mem::zeroed() };
        header.msg_hdr.msg_name = batch.names[i].0.as_mut_ptr().cast();
        header.msg_hdr.msg_namelen = batch.names[i].0.len() as libc::socklen_t;
        header.msg_hdr.msg_iov = vector;
        header.msg_hdr.msg_iovlen = 1;
        header.msg_hdr.msg_control = batch.controls[i].0.as_mut_ptr().cast();
        header.msg_hdr.msg_controllen = batch.controls[i].0.len();
        headers[i].write(header);
    }
    let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
    // SAFETY: the first `slots` headers are initialised. Their pointers lead into `batch` and
    // `vectors`, which outlive the call and are not used otherwise during it.
    let n = check(unsafe {
        libc::recvmmsg(
            socket.as_raw_fd(),
            headers.as_mut_ptr().cast(),
            slots as libc::c_uint,
            flags,
            core::ptr::null_mut(),
        )
    })?;
    for (header, filled) in headers.iter().zip(&mut batch.filled).take(n) {
        // SAFETY: the first `slots` headers are initialised, and `n` is at most `slots`.
        let header = unsafe { header.assume_init_ref() };
        filled.bytes = header.msg_len as usize;
        filled.control_bytes = header.msg_hdr.msg_controllen;
    }
    Ok(n)
}

/// Sends up to [`MAX_MESSAGES`] messages and returns how many the kernel has taken.
pub(crate) fn sendmmsg(socket: BorrowedFd<'_>, messages: &[Transmit<'_>]) -> io::Result<usize> {
    let mut headers: Headers = [const { core::mem::MaybeUninit::uninit() }; MAX_MESSAGES];
    let mut controls = [Control::new(); MAX_MESSAGES];
    let mut names = [const { None::<SockaddrStorage> }; MAX_MESSAGES];
    for (i, message) in messages.iter().enumerate() {
        names[i] = message.to.map(SockaddrStorage::from);
        // SAFETY: an mmsghdr is plain data for which all zeroes is a value.
        let mut header: libc::mmsghdr = unsafe { core::mem::zeroed() };
        if let Some(name) = &names[i] {
            header.msg_hdr.msg_name = name.as_ptr().cast_mut().cast();
            header.msg_hdr.msg_namelen = name.len();
        }
        // IoSlice is guaranteed to have the layout of iovec, and the kernel only reads it.
        header.msg_hdr.msg_iov = message.parts.as_ptr().cast_mut().cast();
        header.msg_hdr.msg_iovlen = message.parts.len();
        header.msg_hdr.msg_controllen = build_control(&mut controls[i], message);
        if header.msg_hdr.msg_controllen > 0 {
            header.msg_hdr.msg_control = controls[i].0.as_mut_ptr().cast();
        }
        headers[i].write(header);
    }
    // SAFETY: one header per message is initialised. Their pointers lead into `names`, `controls`
    // and the caller's slices, which outlive the call.
    check(unsafe {
        libc::sendmmsg(
            socket.as_raw_fd(),
            headers.as_mut_ptr().cast(),
            messages.len() as libc::c_uint,
            libc::MSG_DONTWAIT,
        )
    })
}

/// Writes the control messages of `message` and returns their length.
fn build_control(control: &mut Control, message: &Transmit<'_>) -> usize {
    let mut n = 0;
    if let Some(segment) = message.segment {
        n = control::push(control, n, Kind::UDP_SEGMENT, &segment.to_ne_bytes());
    }
    if message.class != TrafficClass::DEFAULT {
        let value = libc::c_int::from(message.class.0).to_ne_bytes();
        // To an IPv4 address in IPv6 form, a dual-stack socket sends IPv4, which ignores the option
        // of IPv6.
        let kind = match message.to {
            Some(SocketAddr::V6(to)) if to.ip().to_ipv4_mapped().is_none() => Kind::IPV6_CLASS,
            _ => Kind::IPV4_CLASS,
        };
        n = control::push(control, n, kind, &value);
    }
    n
}
