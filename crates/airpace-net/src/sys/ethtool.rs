//! The request of ethtool that answers with a structure.

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

/// Returns the name of the driver of an interface.
pub(crate) fn driver(interface: &CStr) -> io::Result<String> {
    let any = socket(
        AddressFamily::Inet,
        SockType::Datagram,
        SockFlag::SOCK_CLOEXEC,
        None,
    )?;
    // Words, so that the structure is aligned.
    let mut info = [0_u32; DRIVER_INFO_BYTES / 4];
    info[0] = GET_DRIVER;
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
    request.ifr_ifru.ifru_data = info.as_mut_ptr().cast();
    // SAFETY: SIOCETHTOOL reads the ifreq, and this command writes an ethtool_drvinfo to what its data
    // points at: `info` has its length and outlives the call.
    check(unsafe {
        libc::ioctl(
            any.as_raw_fd(),
            libc::SIOCETHTOOL as libc::Ioctl,
            &raw mut request,
        )
    })?;
    let bytes: Vec<u8> = info.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let name = bytes[NAME].split(|byte| *byte == 0).next();
    Ok(String::from_utf8_lossy(name.unwrap_or_default()).into_owned())
}
