//! Changes of interfaces, addresses and routes, as the kernel announces them.

use super::{LinkError, refused};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Tells that interfaces, addresses or routes have changed in the network namespace of the thread
/// that opened it.
#[derive(Debug)]
pub struct RouteEvents {
    socket: Socket,
}

/// Groups of messages (`linux/rtnetlink.h`): interfaces, and addresses and routes of both IP versions.
const GROUPS: [libc::c_int; 5] = [
    libc::RTMGRP_LINK,
    libc::RTMGRP_IPV4_IFADDR,
    libc::RTMGRP_IPV4_ROUTE,
    libc::RTMGRP_IPV6_IFADDR,
    libc::RTMGRP_IPV6_ROUTE,
];

/// Most messages that are read at once, so that a flood of changes does not hold up the caller.
const MOST_AT_ONCE: usize = 256;

impl RouteEvents {
    /// Begins to listen.
    ///
    /// # Errors
    /// When the process cannot open another socket.
    pub fn open() -> Result<Self, LinkError> {
        let open = || -> io::Result<Socket> {
            let mut socket = Socket::new(NETLINK_ROUTE)?;
            let groups = GROUPS.iter().fold(0, |groups, group| groups | group);
            socket.bind(&SocketAddr::new(0, groups.cast_unsigned()))?;
            socket.set_non_blocking(true)?;
            Ok(socket)
        };
        let socket = open().map_err(|source| refused("listen for changes of routes", source))?;
        Ok(Self { socket })
    }

    /// Takes what was announced, and returns whether there was anything.
    pub fn take(&self) -> bool {
        let mut has_changed = false;
        let mut buffer = [0; 64];
        for _ in 0..MOST_AT_ONCE {
            // What has changed is not read: it may be out of date, and the kernel drops
            // announcements when there are too many (ENOBUFS), which is one as well.
            match self.socket.recv(&mut &mut buffer[..], 0) {
                Ok(_) => has_changed = true,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => {
                    has_changed = true;
                    break;
                }
            }
        }
        has_changed
    }
}

impl AsFd for RouteEvents {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
