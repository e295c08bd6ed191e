//! Whether datagrams may be cut into fragments on their way.

use super::{TrafficClass, UdpSocket};
use crate::sys;
use core::sync::atomic::Ordering;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd as _;

/// `IP_PMTUDISC_DONT` and `IPV6_PMTUDISC_DONT` of `linux/in.h` and `linux/in6.h`: this machine and
/// routers of IPv4 cut datagrams where it is necessary.
const MAY_BE_CUT: libc::c_int = libc::IP_PMTUDISC_DONT;
/// `IP_PMTUDISC_PROBE` and `IPV6_PMTUDISC_PROBE`: nobody cuts datagrams, and what routers have said of
/// the path is ignored.
const MUST_STAY_WHOLE: libc::c_int = libc::IP_PMTUDISC_PROBE;

impl UdpSocket {
    /// Lets datagrams be cut into fragments where the path takes less. By default Linux forbids that
    /// to routers and relies on their complaints, which are often filtered: datagrams then vanish.
    ///
    /// # Errors
    /// When the kernel refuses, which only a bug can cause.
    pub fn allow_fragments(&self) -> io::Result<()> {
        self.set_discovery(MAY_BE_CUT)
    }

    /// Sends one datagram that is lost rather than cut into fragments, and then allows fragments
    /// again; returns `false` if the send buffer is full.
    ///
    /// # Errors
    /// Why it could not be sent: `EMSGSIZE` if it exceeds the MTU of the interface.
    pub fn send_in_one_piece(&self, to: SocketAddr, bytes: &[u8]) -> io::Result<bool> {
        self.set_discovery(MUST_STAY_WHOLE)?;
        // The kernel also refuses what exceeds the limit, but a path may have become wider.
        let limit = self.ipv6_limit.load(Ordering::Relaxed);
        self.limit_ipv6_packets(None)?;
        let sent = self.send_one(to, bytes, TrafficClass::DEFAULT);
        self.limit_ipv6_packets((limit > 0).then_some(limit))?;
        self.allow_fragments()?;
        sent
    }

    /// Cuts datagrams over IPv6 into packets of at most `bytes` (at least 1280), because routers of
    /// IPv6 cut none; `None` leaves it to what routers have said of the path. Without effect on IPv4.
    ///
    /// # Errors
    /// When `bytes` is less than 1280.
    pub fn limit_ipv6_packets(&self, bytes: Option<u16>) -> io::Result<()> {
        let bytes = bytes.unwrap_or(0);
        if bytes == self.ipv6_limit.load(Ordering::Relaxed) || self.local_addr()?.is_ipv4() {
            return Ok(());
        }
        let (fd, value) = (self.as_fd(), libc::c_int::from(bytes));
        sys::set_option(fd, libc::IPPROTO_IPV6, libc::IPV6_MTU, value)?;
        self.ipv6_limit.store(bytes, Ordering::Relaxed);
        Ok(())
    }

    fn set_discovery(&self, value: libc::c_int) -> io::Result<()> {
        let is_ipv4 = self.local_addr()?.is_ipv4();
        let of_ipv4 = sys::set_option(self.as_fd(), libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, value);
        if is_ipv4 {
            return of_ipv4;
        }
        // A dual-stack socket also sends IPv4. One that is bound to an address of IPv6 does not, so a
        // refusal of the other option is harmless.
        sys::set_option(
            self.as_fd(),
            libc::IPPROTO_IPV6,
            libc::IPV6_MTU_DISCOVER,
            value,
        )
    }
}
