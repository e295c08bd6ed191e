//! A monitor interface, which may go away and come back at run time.

use airpace_core::wire::radiotap;
use airpace_edge::inline::RadioState;
use airpace_net::netlink::Netlink;
use airpace_net::packet::PacketSocket;
use airpace_net::udp::ReceiveBatch;
use anyhow::{Context as _, bail};
use std::io::ErrorKind;

/// Size of the kernel's buffer of captured frames in bytes: some hundred milliseconds of a fast
/// network.
const CAPTURE_BUFFER: usize = 8 << 20;

/// Bytes read of each captured frame: the headers of radiotap and 802.11.
pub(crate) const SNAP: usize = 160;

/// `ENODEV` of Linux.
const NO_SUCH_DEVICE: i32 = 19;

/// A monitor interface, whether it is there or not.
#[derive(Debug)]
pub(crate) struct Monitor {
    name: String,
    /// `None` while the interface is down or away.
    socket: Option<PacketSocket>,
    /// What is done without it, for the log.
    without: &'static str,
    /// Whether its loss was logged and its return was not.
    lost: bool,
    /// Frames that the kernel dropped because the buffer was full.
    pub(crate) dropped: u64,
}

impl Monitor {
    /// Starts listening to the interface `name`. `without` says in the log what is done while the
    /// interface is away.
    ///
    /// # Errors
    /// There is no such interface, its frames do not begin with radiotap headers, or the system
    /// refuses the socket.
    pub(crate) fn open(name: &str, without: &'static str) -> anyhow::Result<Self> {
        let mut monitor = Self {
            name: name.to_owned(),
            socket: None,
            without,
            lost: false,
            dropped: 0,
        };
        monitor
            .listen()
            .with_context(|| format!("reading frames of the monitor interface {name}"))?;
        Ok(monitor)
    }

    fn listen(&mut self) -> anyhow::Result<()> {
        let socket = match PacketSocket::open(&self.name, CAPTURE_BUFFER) {
            Err(error) if error.raw_os_error() == Some(NO_SUCH_DEVICE) => {
                bail!(
                    "there is no such interface: `iw phy phy0 interface add {} type monitor` adds it",
                    self.name
                )
            }
            opened => opened?,
        };
        let link_type = socket.link_type()?;
        if link_type != radiotap::INTERFACE_TYPE {
            bail!(
                "its frames have no radiotap headers (link type {link_type}): a monitor interface is needed, which for example `iw phy phy0 interface add air0 type monitor` adds"
            );
        }
        self.socket = Some(socket);
        Ok(())
    }

    /// The interface's name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The socket; `None` while the interface is away.
    pub(crate) const fn socket(&self) -> Option<&PacketSocket> {
        self.socket.as_ref()
    }

    /// How the interface stands.
    pub(crate) fn state(&self) -> RadioState {
        if self.socket.is_some() {
            return RadioState::Up;
        }
        let found = Netlink::open().and_then(|mut link| link.index(&self.name));
        match found {
            Err(error) if error.is_missing() => RadioState::Missing,
            // It exists, or the kernel does not tell.
            _ => RadioState::Down,
        }
    }

    /// Listens again if the interface went away; to be called once in a while. Returns whether there
    /// is a new socket. A failure is not logged, because the loss was.
    pub(crate) fn recover(&mut self) -> bool {
        self.socket.is_none() && self.listen().is_ok()
    }

    /// Receives frames; returns `false` if there is no interface. An interface that goes down or
    /// away is closed.
    pub(crate) fn receive(&mut self, room: &mut ReceiveBatch) -> bool {
        let Some(socket) = &self.socket else {
            return false;
        };
        match socket.receive(room) {
            Ok(0) => {}
            Ok(_) if self.lost => {
                self.lost = false;
                tracing::info!(event = "monitor-back", interface = %self.name, "the monitor interface is back");
            }
            Ok(_) => {}
            Err(error) => {
                self.close(&error);
                return false;
            }
        }
        true
    }

    fn close(&mut self, error: &std::io::Error) {
        self.count_dropped();
        // Closing the socket also removes it from the poller.
        self.socket = None;
        if !self.lost {
            self.lost = true;
            let (interface, without) = (&self.name, self.without);
            let what = match error.kind() {
                ErrorKind::NetworkDown => "down",
                _ => "gone",
            };
            tracing::warn!(event = "monitor-gone", %interface, %error, "the monitor interface is {what}: {without}");
        }
    }

    /// Adds the frames that the kernel has dropped since the last call.
    pub(crate) fn count_dropped(&mut self) {
        if let Some(socket) = &self.socket
            && let Ok(statistics) = socket.statistics()
        {
            self.dropped += u64::from(statistics.dropped);
        }
    }
}
