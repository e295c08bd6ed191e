//! TUN and TAP devices: network interfaces whose other end is this process.

use crate::sys;
use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

/// What a device carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Layer {
    /// IP packets (TUN).
    #[default]
    Ip,
    /// Ethernet frames, or frames of the link type asked for (TAP).
    Link,
}

/// Which device to create.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TunConfig {
    /// Name of the interface, 1 to 15 bytes; the kernel replaces a `%d` in it by the first free
    /// number.
    pub name: String,
    /// Whether it carries IP packets or frames.
    pub layer: Layer,
    /// Link type, one of the constants `ARPHRD_*` of `linux/if_arp.h`; `None` keeps the kernel's
    /// default.
    pub link_type: Option<u16>,
    /// Whether TCP (and, since Linux 6.2, UDP) super-packets are exchanged with the kernel; see
    /// [`crate::offload`]. Every packet is then preceded by [`crate::offload::HEADER_BYTES`] bytes,
    /// in both directions.
    pub offload: bool,
}

impl TunConfig {
    /// Returns the configuration of an IP device without offload.
    #[must_use]
    pub fn ip(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }

    /// Returns the configuration of a link-layer device.
    #[must_use]
    pub fn link(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            layer: Layer::Link,
            ..Self::default()
        }
    }

    /// Sets the link type, one of the constants `ARPHRD_*` of `linux/if_arp.h`.
    #[must_use]
    pub fn with_link_type(mut self, link_type: u16) -> Self {
        self.link_type = Some(link_type);
        self
    }

    /// Turns offload on: see [`TunConfig::offload`].
    #[must_use]
    pub fn with_offload(mut self) -> Self {
        self.offload = true;
        self
    }
}

/// Why a device could not be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TunError {
    /// This process may not open the TUN driver.
    #[error("cannot open /dev/net/tun: {0}; run as root or give this user access to the device")]
    Open(#[source] io::Error),
    /// The name is not one that an interface can have.
    #[error(
        "`{0}` cannot be the name of an interface: give 1 to 15 bytes without `/`, `:` or spaces"
    )]
    Name(String),
    /// The kernel refused the device.
    #[error(
        "cannot create the interface {name}: {source}; it needs CAP_NET_ADMIN in this network \
         namespace and a free name"
    )]
    Create {
        /// The interface's name.
        name: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The kernel refused to set a property of the device.
    #[error("cannot set {property} of the interface {name}: {source}")]
    Property {
        /// The interface's name.
        name: String,
        /// The property.
        property: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
}

/// A TUN or TAP device. The interface exists as long as this value, and ends with the process in
/// any case, however it ends.
///
/// Reads and writes never block. The interface is down at first: see
/// [`crate::netlink::Netlink::set_up`].
#[derive(Debug)]
pub struct Tun {
    file: File,
    name: String,
    udp_offload: bool,
}

impl Tun {
    /// Creates a device in the network namespace of the calling thread.
    ///
    /// # Errors
    /// See [`TunError`].
    pub fn open(config: &TunConfig) -> Result<Self, TunError> {
        let name = interface_name(&config.name)?;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
            .open("/dev/net/tun")
            .map_err(TunError::Open)?;
        let name = sys::tun_attach(
            file.as_fd(),
            &name,
            config.layer == Layer::Link,
            config.offload,
        )
        .map_err(|source| TunError::Create {
            name: config.name.clone(),
            source,
        })?;
        let mut tun = Self {
            file,
            name,
            udp_offload: false,
        };
        tun.set_properties(config)?;
        Ok(tun)
    }

    fn set_properties(&mut self, config: &TunConfig) -> Result<(), TunError> {
        if let Some(link_type) = config.link_type {
            // The kernel changes the type only while the interface is down, as it is now.
            sys::tun_set_link(self.file.as_fd(), link_type)
                .map_err(|source| self.refused("the link type", source))?;
        }
        if config.offload {
            // Kernels before 6.2 do not segment UDP and refuse the whole set; they accept TCP
            // alone.
            self.udp_offload = sys::tun_set_offload(self.file.as_fd(), true).is_ok();
            if !self.udp_offload {
                sys::tun_set_offload(self.file.as_fd(), false)
                    .map_err(|source| self.refused("offload", source))?;
            }
        }
        Ok(())
    }

    fn refused(&self, property: &'static str, source: io::Error) -> TunError {
        TunError::Property {
            name: self.name.clone(),
            property,
            source,
        }
    }

    /// Returns the name of the interface.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether UDP super-packets are exchanged with the kernel, besides those of TCP.
    #[must_use]
    pub const fn udp_offload(&self) -> bool {
        self.udp_offload
    }

    /// Returns another handle of the same device, which then exists as long as either.
    ///
    /// # Errors
    /// When the process cannot open another file.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self {
            file: self.file.try_clone()?,
            name: self.name.clone(),
            udp_offload: self.udp_offload,
        })
    }

    /// Reads one packet that the kernel sends out of the interface; `None` if no packet waits. A
    /// packet that is longer than `buffer` is cut off.
    ///
    /// # Errors
    /// When the interface has been removed or is down (`EBADFD`, `EIO`).
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match io::Read::read(&mut &self.file, buffer) {
            Ok(n) => Ok(Some(n)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Hands one packet to the kernel as received by the interface; returns `false` if the kernel
    /// had no room and dropped it.
    ///
    /// # Errors
    /// `EINVAL` if the bytes are not a packet, `EIO` while the interface is down.
    pub fn write(&self, packet: &[u8]) -> io::Result<bool> {
        match io::Write::write(&mut &self.file, packet) {
            Ok(_) => Ok(true),
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => Ok(false),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Whether an interface may have this name, by the rules of the kernel's `dev_valid_name`: 1 to 15 bytes without
/// `/`, `:` and spaces, and neither `.` nor `..`.
#[must_use]
pub fn is_interface_name(name: &str) -> bool {
    (1..libc::IFNAMSIZ).contains(&name.len())
        && !name.contains(|c: char| matches!(c, '/' | ':' | '\0') || c.is_whitespace())
        && name != "."
        && name != ".."
}

fn interface_name(name: &str) -> Result<CString, TunError> {
    match CString::new(name) {
        Ok(c_name) if is_interface_name(name) => Ok(c_name),
        _ => Err(TunError::Name(name.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_no_interface_can_have_are_refused_before_the_kernel_is_asked() {
        for name in ["", "a/b", "sixteen-bytes-xx", "a b", ".", "nul\0"] {
            assert!(
                matches!(Tun::open(&TunConfig::ip(name)), Err(TunError::Name(_))),
                "{name:?}"
            );
        }
    }
}
