//! The tunnel's network interface: creates it, and moves packets in and out with offload.

use crate::packet::{PacketBuf, Pool};
use airpace_api::config::TunConfig;
use airpace_net::netlink::{LinkError, Netlink, Route};
use airpace_net::offload::{Joiner, MAX_FRAME_BYTES, SuperPacket};
use airpace_net::tun::{self, Tun};
use airpace_units::Time;
use anyhow::Context as _;
use ipnet::IpNet;
use std::os::fd::{AsFd, BorrowedFd};

/// Most packets that wait in the kernel for the process to read them. Packets should wait in the
/// process's own queues, so the loop reads often; this is for bursts while it is not scheduled.
const KERNEL_QUEUE: u32 = 1000;

/// Frames of up to 64 kB that are read from the interface before the loop turns to its other work.
const FRAMES_PER_TURN: usize = 8;

/// Takes the packets that applications send.
pub(crate) trait Intake {
    /// The pool from which their buffers are taken.
    fn pool(&mut self) -> &mut Pool;

    /// Takes a packet.
    fn on_packet(&mut self, now: Time, packet: PacketBuf);
}

/// The interface, its routes, and the buffers for reading and writing super-packets.
pub(crate) struct Device {
    tun: Tun,
    netlink: Netlink,
    routes: Vec<Route>,
    /// Whether the routes lead into the tunnel.
    routed: bool,
    /// Buffer of the frame that is read.
    frame: Vec<u8>,
    /// Joins consecutive packets of a connection before they are written.
    joiner: Joiner,
    /// Packets that the kernel refused, or for which it had no room.
    pub(crate) refused: u64,
    /// Malformed frames from the kernel.
    pub(crate) malformed: u64,
}

impl Device {
    /// Creates the interface with its address, brings it up and adds the routes.
    pub(crate) fn open(config: &TunConfig, routes: &[IpNet]) -> anyhow::Result<Self> {
        let tun = Tun::open(&tun::TunConfig::ip(&config.name).with_offload())?;
        let name = tun.name().to_owned();
        let mut netlink = Netlink::open()?;
        // Validated to be at most 9000.
        netlink.set_mtu(&name, u32::try_from(config.mtu.0.0).unwrap_or(1420))?;
        netlink.set_queue_length(&name, KERNEL_QUEUE)?;
        let address = config.address;
        netlink.add_address(&name, address)?;
        netlink.set_up(&name)?;
        let routes = routes.iter().map(|&to| Route::through(to, &name)).collect();
        let joiner = Joiner::new(tun.udp_offload());
        let frame = vec![0; MAX_FRAME_BYTES];
        let mut device = Self {
            tun,
            netlink,
            routes,
            routed: false,
            frame,
            joiner,
            refused: 0,
            malformed: 0,
        };
        device
            .add_routes()
            .with_context(|| format!("routes through {name}"))?;
        Ok(device)
    }

    /// Whether the routes lead into the tunnel.
    pub(crate) const fn is_routed(&self) -> bool {
        self.routed
    }

    /// Leads the routes into the tunnel: all of them, or none if one is refused.
    pub(crate) fn add_routes(&mut self) -> Result<(), LinkError> {
        for (n, route) in self.routes.iter().enumerate() {
            if let Err(error) = self.netlink.add_route(route) {
                for added in &self.routes[..n] {
                    // The first error is the one to report.
                    let _ = self.netlink.delete_route(added);
                }
                return Err(error);
            }
        }
        self.routed = true;
        Ok(())
    }

    /// Removes the routes.
    pub(crate) fn withdraw_routes(&mut self) {
        for route in &self.routes {
            // It fails only if somebody else has removed the route already.
            let _ = self.netlink.delete_route(route);
        }
        self.routed = false;
    }

    pub(crate) fn name(&self) -> &str {
        self.tun.name()
    }

    /// Reads up to [`FRAMES_PER_TURN`] frames from the kernel and hands over their packets, each in
    /// a buffer of the pool.
    pub(crate) fn read(&mut self, now: Time, to: &mut impl Intake) -> anyhow::Result<()> {
        for _ in 0..FRAMES_PER_TURN {
            let read = self
                .tun
                .read(&mut self.frame)
                .context("reading the tunnel's interface")?;
            let Some(length) = read else { break };
            let Ok(packets) = SuperPacket::parse(&mut self.frame[..length]) else {
                self.malformed += 1;
                continue;
            };
            let longest = packets.max_bytes();
            for idx in 0..packets.count() {
                let mut buffer = to.pool().take(longest);
                if let Some(len) = packets.write(idx, &mut buffer) {
                    buffer.truncate(len);
                    to.on_packet(now, PacketBuf::new(now, buffer));
                }
            }
        }
        Ok(())
    }

    /// Takes a packet for the kernel. It may be held back for joining until [`Device::flush`].
    pub(crate) fn write(&mut self, packet: &[u8]) {
        let (tun, refused) = (&self.tun, &mut self.refused);
        self.joiner
            .push(packet, |frame| write_frame(tun, refused, frame));
    }

    /// Writes the packets that are held back for joining.
    pub(crate) fn flush(&mut self) {
        let (tun, refused) = (&self.tun, &mut self.refused);
        self.joiner.flush(|frame| write_frame(tun, refused, frame));
    }
}

fn write_frame(tun: &Tun, refused: &mut u64, frame: &[u8]) {
    if !matches!(tun.write(frame), Ok(true)) {
        *refused += 1;
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.tun.as_fd()
    }
}
