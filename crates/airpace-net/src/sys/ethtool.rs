//! Requests of ethtool (`SIOCETHTOOL`).

use super::check;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use std::ffi::CStr;
use std::io;
use std::os::fd::AsRawFd;

/// `ETHTOOL_GDRVINFO` of `linux/ethtool.h`.
const GET_DRIVER: u32 = 3;
/// Length of `struct ethtool_drvinfo`, whose name of the driver follows the command.
const DRIVER_INFO_BYTES: usize = 196;
const NAME: core::ops::Range<usize> = 4..36;

/// Runs a command that reads or writes one number, and returns that number.
pub(crate) fn number(interface: &CStr, command: u32, value: u32) -> io::Result<u32> {
    // `struct ethtool_value`: command and data.
    let mut exchange = [command, value];
    // SAFETY: the callers' commands exchange an ethtool_value, whose layout `exchange` has.
    unsafe { run(interface, &mut exchange) }?;
    Ok(exchange[1])
}

/// Returns the name of the driver of an interface.
pub(crate) fn driver(interface: &CStr) -> io::Result<String> {
    let mut info = [0; DRIVER_INFO_BYTES / 4];
    info[0] = GET_DRIVER;
    // SAFETY: the command writes an ethtool_drvinfo, whose length `info` has.
    unsafe { run(interface, &mut info) }?;
    let bytes: Vec<u8> = info.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let name = bytes[NAME].split(|byte| *byte == 0).next();
    Ok(String::from_utf8_lossy(name.unwrap_or_default()).into_owned())
}

/// Runs the command that `exchange` begins with. The structures of ethtool are of words.
///
/// # Safety
/// `exchange` is at least as long as the structure that the command reads or writes.
unsafe fn run(interface: &CStr, exchange: &mut [u32]) -> io::Result<()> {
    let any = socket(
        AddressFamily::Inet,
        SockType::Datagram,
        SockFlag::SOCK_CLOEXEC,
        None,
    )?;
    // SAFETY: an ifreq is plain data for which all zeroes is a value.
    let mut request: libc::ifreq = unsafe { core::mem::zeroed() };
    // One byte stays zero, so the name is terminated.
    let room = request.ifr_name.len() - 1;
    for (to, from) in request.ifr_name[..room]
        .iter_mut()
        .zip(interface.to_bytes())
    {
        *to = *from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = exchange.as_mut_ptr().cast();
    // SAFETY: SIOCETHTOOL reads the ifreq, and reads and writes what its data points at, which is long
    // enough by this function's contract and outlives the call.
    check(unsafe {
        libc::ioctl(
            any.as_raw_fd(),
            libc::SIOCETHTOOL as libc::Ioctl,
            &raw mut request,
        )
    })
    .map(drop)
}
