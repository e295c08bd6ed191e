//! The tunnel's network interface: creates it, and moves packets in and out with offload.

use crate::packet::{PacketBuf, Pool};
use airpace_api::config::TunConfig;
use airpace_net::netlink::{LinkError, Netlink, Route, RouteEvents, Rule};
use airpace_net::offload::{Joiner, MAX_FRAME_BYTES, SuperPacket};
use airpace_net::tun::{self, Tun};
use airpace_units::Time;
use anyhow::Context as _;
use core::net::IpAddr;
use core::time::Duration;
use ipnet::IpNet;
use std::io::ErrorKind;
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

/// Number of the routing table of default routes into the tunnel: the tunnel's usual port.
const DEFAULT_ROUTES_TABLE: u32 = 51_900;
/// Priorities of the rules that lead to it, just above Linux's main table.
const FIRST_PRIORITY: u32 = 32_750;

/// The interface, its routes, and the buffers for reading and writing super-packets.
pub(crate) struct Device {
    tun: Tun,
    netlink: Netlink,
    addresses: Vec<IpNet>,
    routes: Vec<Route>,
    /// The IP versions, by whether it is IPv4, whose default route leads into the tunnel.
    default_versions: Vec<bool>,
    /// Rules that keep packets to the other end of the tunnel out of it, and lead others to the
    /// default routes.
    rules: Vec<Rule>,
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
    /// Creates the interface with its addresses, brings it up and adds the routes.
    ///
    /// A default route needs `other_end`, the address of the other end of the tunnel outside of it.
    pub(crate) fn open(
        config: &TunConfig,
        routes: &[IpNet],
        other_end: Option<IpAddr>,
    ) -> anyhow::Result<Self> {
        let tun = Tun::open(&tun::TunConfig::ip(&config.name).with_offload())?;
        let name = tun.name().to_owned();
        let mut netlink = Netlink::open()?;
        // Validated to be at most 9000.
        netlink.set_mtu(&name, u32::try_from(config.mtu.0.0).unwrap_or(1420))?;
        netlink.set_queue_length(&name, KERNEL_QUEUE)?;
        let addresses: Vec<IpNet> = config.networks().copied().collect();
        for &address in &addresses {
            netlink.add_address(&name, address)?;
        }
        netlink.set_up(&name)?;
        let mut default_versions = Vec::new();
        let mut own_routes = Vec::new();
        for &to in routes {
            let route = Route::through(to, &name);
            if to.prefix_len() > 0 {
                own_routes.push(route);
                continue;
            }
            // In the main table it would swallow the tunnel's own packets.
            own_routes.push(route.in_table(DEFAULT_ROUTES_TABLE));
            default_versions.push(to.addr().is_ipv4());
        }
        let joiner = Joiner::new(tun.udp_offload());
        let mut device = Self {
            tun,
            netlink,
            addresses,
            routes: own_routes,
            default_versions,
            rules: Vec::new(),
            routed: false,
            frame: vec![0; MAX_FRAME_BYTES],
            joiner,
            refused: 0,
            malformed: 0,
        };
        device.rules = device.rules_around(other_end);
        device
            .add_routes()
            .with_context(|| format!("routes through {name}"))?;
        Ok(device)
    }

    /// The rules for default routes into the tunnel, for each IP version that has one: first packets
    /// to the other end take their usual way, then those to networks that have a route of their own;
    /// all others enter the tunnel.
    fn rules_around(&self, other_end: Option<IpAddr>) -> Vec<Rule> {
        let mut rules = Vec::new();
        for &is_ipv4 in &self.default_versions {
            if let Some(other_end) = other_end.filter(|address| address.is_ipv4() == is_ipv4) {
                rules.push(Rule::main_table_for(other_end, FIRST_PRIORITY));
            }
            let (second, third) = (FIRST_PRIORITY + 1, FIRST_PRIORITY + 2);
            rules.push(Rule::main_table_without_default(is_ipv4, second));
            rules.push(Rule::in_table(is_ipv4, DEFAULT_ROUTES_TABLE, third));
        }
        rules
    }

    /// Follows the other end of the tunnel to another address outside.
    pub(crate) fn set_other_end(&mut self, other_end: IpAddr) {
        let rules = self.rules_around(Some(other_end.to_canonical()));
        if rules == self.rules {
            return;
        }
        let before = core::mem::replace(&mut self.rules, rules);
        if self.routed {
            self.delete_rules(&before);
            self.restore();
        }
    }

    /// Whether the routes lead into the tunnel.
    pub(crate) const fn is_routed(&self) -> bool {
        self.routed
    }

    /// Leads the routes into the tunnel: all of them, or none if one is refused.
    pub(crate) fn add_routes(&mut self) -> Result<(), LinkError> {
        self.routed = true;
        if let Err(error) = self.try_add_routes() {
            // The first error is the one to report.
            self.withdraw_routes();
            return Err(error);
        }
        Ok(())
    }

    fn try_add_routes(&mut self) -> Result<(), LinkError> {
        for (n, route) in self.routes.iter().enumerate() {
            if let Err(error) = self.netlink.add_route(route) {
                // Those behind it are somebody else's, or none.
                for added in &self.routes[..n] {
                    let _ = self.netlink.delete_route(added);
                }
                self.routed = false;
                return Err(error);
            }
        }
        for rule in &self.rules {
            // A process that was killed may have left its rules behind.
            unless_there(self.netlink.add_rule(rule))?;
        }
        Ok(())
    }

    /// Removes the routes.
    pub(crate) fn withdraw_routes(&mut self) {
        if !self.routed {
            return;
        }
        self.routed = false;
        // Packets take their usual way as soon as no rule leads to the default routes.
        let rules = self.rules.clone();
        self.delete_rules(&rules);
        for route in &self.routes {
            // It fails only if somebody else has removed the route already.
            let _ = self.netlink.delete_route(route);
        }
    }

    fn delete_rules(&mut self, rules: &[Rule]) {
        for rule in rules.iter().rev() {
            // It fails only if somebody else has removed the rule already.
            let _ = self.netlink.delete_rule(rule);
        }
    }

    /// Puts back what the kernel has removed while the interface was down: addresses of IPv6, routes
    /// and rules. Returns whether anything was missing.
    ///
    /// What the kernel refuses, because the interface is still down, is tried again at the next
    /// change.
    pub(crate) fn restore(&mut self) -> bool {
        let mut was_missing = false;
        let name = self.tun.name().to_owned();
        for &address in &self.addresses {
            was_missing |= self.netlink.add_address(&name, address).is_ok();
        }
        if !self.routed {
            return was_missing;
        }
        for route in &self.routes {
            was_missing |= self.netlink.add_route(route).is_ok();
        }
        for rule in &self.rules {
            was_missing |= self.netlink.add_rule(rule).is_ok();
        }
        was_missing
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

/// Puts the interface's addresses and routes back when the kernel has removed them.
pub(crate) struct Restoration {
    events: RouteEvents,
    /// Whether something has changed since the last look.
    has_changed: bool,
    /// Until when what is missing is looked for, after something has changed.
    until: Time,
    next: Time,
}

/// Least time between two restorations, so that a flood of changes elsewhere costs little.
const RESTORE_EVERY: Duration = Duration::from_millis(200);
/// Time after a change for which restorations are repeated: the kernel refuses a route while the
/// interface is on its way up.
const RESTORE_FOR: Duration = Duration::from_secs(5);

impl Restoration {
    pub(crate) const fn new(events: RouteEvents) -> Self {
        Self {
            events,
            has_changed: false,
            until: Time::ZERO,
            next: Time::ZERO,
        }
    }

    /// The events, to be waited for.
    pub(crate) const fn events(&self) -> &RouteEvents {
        &self.events
    }

    /// Takes what the kernel has announced.
    pub(crate) fn take_events(&mut self) {
        self.has_changed |= self.events.take();
    }

    /// Puts back what is missing, if something has changed.
    pub(crate) fn restore(&mut self, now: Time, device: &mut Device) {
        if core::mem::take(&mut self.has_changed) {
            self.until = now + RESTORE_FOR;
        }
        if now >= self.until || now < self.next {
            return;
        }
        self.next = now + RESTORE_EVERY;
        if device.restore() {
            tracing::info!(event = "interface-restored", interface = %device.name(), "addresses and routes that were removed are back");
        }
    }
}

/// Takes it as done if what was to be added is there already.
fn unless_there(added: Result<(), LinkError>) -> Result<(), LinkError> {
    match added {
        Err(error) if error.source.kind() == ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

impl Drop for Device {
    /// Routes vanish with the interface, rules do not.
    fn drop(&mut self) {
        self.withdraw_routes();
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
