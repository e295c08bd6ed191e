//! The MAC with the wires on both sides of it, and the devices that it is connected to.

mod changes;

use crate::config::{EmulatorConfig, EmulatorError, Layer};
use crate::delay::DelayLine;
use crate::engine::Observer;
use crate::forwarding::{Destination, Forwarding, MAX_MSDU_BYTES, is_sender};
use crate::monitor::Monitors;
use crate::packet::EmulatedPacket;
use crate::port::{Device, Port};
use crate::presence::{Admission, Presence};
use crate::series;
use crate::statistics::Statistics;
use airpace_core::packet::Packet as _;
use airpace_net::clock::Clock;
use airpace_sim::mac::{
    ACCESS_POINT, Direction, Input, Mac, Mpdu, Output, ends, station_of as station_and_direction,
};
use airpace_sim::rng;
use airpace_units::{StationId, Time};
use core::cell::RefCell;
use core::time::Duration;
use std::rc::Rc;

/// The observer, which all cells of a run call.
pub(crate) type SharedObserver = Rc<RefCell<Box<dyn Observer>>>;

/// All devices that packets go through.
pub(crate) struct Ports {
    /// The wired side of each access point.
    pub(crate) wired: Vec<Port>,
    pub(crate) stations: Vec<StationPort>,
}

/// The device of one station.
pub(crate) struct StationPort {
    pub(crate) wlan: Port,
    /// Whether packets have been written to `wlan` and not flushed.
    unflushed: bool,
}

impl Ports {
    pub(crate) fn new(wired: Vec<Device>, stations: Vec<Device>, join: bool) -> Self {
        let mut ports = Vec::with_capacity(stations.len());
        for wlan in stations {
            ports.push(StationPort {
                wlan: Port::new(wlan, join),
                unflushed: false,
            });
        }
        Self {
            wired: wired
                .into_iter()
                .map(|device| Port::new(device, join))
                .collect(),
            stations: ports,
        }
    }

    /// Passes a packet to a station's kernel; see [`Ports::flush_stations`].
    fn write_to_station(&mut self, index: usize, packet: &EmulatedPacket) {
        if let Some(station) = self.stations.get_mut(index) {
            station.wlan.write(packet);
            station.unflushed = true;
        }
    }

    fn flush_stations(&mut self) {
        for station in &mut self.stations {
            if core::mem::take(&mut station.unflushed) {
                station.wlan.flush();
            }
        }
    }

    /// Returns how many frames the kernel has not accepted.
    pub(crate) fn refused(&self) -> u64 {
        let wired: u64 = self.wired.iter().map(|port| port.refused).sum();
        wired + self.stations.iter().map(|s| s.wlan.refused).sum::<u64>()
    }
}

/// The MAC, the wires on both sides of it, and the statistics. It works in logical time; it reads
/// the real clock only to measure how late it is.
pub(crate) struct Cell {
    /// Index of its access point.
    index: usize,
    mac: Mac<EmulatedPacket>,
    forwarding: Forwarding,
    presence: Presence,
    /// Probability of each station that an MPDU is lost while the station is there.
    loss: Vec<f64>,
    /// From the server to the access point.
    wire_down: DelayLine<(Destination, EmulatedPacket)>,
    /// From the access point to the server.
    wire_up: DelayLine<EmulatedPacket>,
    pub(crate) statistics: Statistics,
    observer: SharedObserver,
    monitors: Option<Monitors>,
    /// How long the access point has sent beacons, by which a new one is noticed.
    beacon_airtime: Duration,
    /// Logical time that the cell has reached.
    reached: Time,
    /// End of the frame whose packets have been written to stations and not flushed.
    delivered_down: Option<Time>,
    /// Time at which packets came out of the wire that have been written to the server and not
    /// flushed.
    delivered_up: Option<Time>,
    /// Reused room for packets that have just been read.
    pub(crate) arrivals: Vec<EmulatedPacket>,
}

impl Cell {
    pub(crate) fn new(
        config: &EmulatorConfig,
        index: usize,
        monitors: Option<Monitors>,
        observer: SharedObserver,
    ) -> Result<Self, EmulatorError> {
        let n = config.cell.stations.len();
        let forwarding = match config.layer {
            Layer::Ip => Forwarding::Ip { stations: n },
            Layer::Ethernet(_) => Forwarding::Ethernet { stations: n },
        };
        let statistics = Statistics::new(n, config.slot, config.series.then(|| series::limit(n)));
        let mut cell = Self {
            index,
            mac: Mac::new(config.mac()?, seed_of(config.seed, index))?,
            forwarding,
            presence: Presence::new(n, config.dtim_period),
            loss: config.cell.stations.iter().map(|s| s.loss).collect(),
            wire_down: DelayLine::new(config.wired_delay),
            wire_up: DelayLine::new(config.wired_delay),
            statistics,
            observer,
            monitors,
            beacon_airtime: Duration::ZERO,
            reached: Time::ZERO,
            delivered_down: None,
            delivered_up: None,
            arrivals: Vec::new(),
        };
        for station in 0..n {
            if config.home.get(station).copied().unwrap_or_default() != index {
                cell.release(StationId::from_index(station));
            }
        }
        Ok(cell)
    }

    /// Converts the present to logical time, which never goes back: events may already have been
    /// handled whose time is a little later than a clock that was read before.
    pub(crate) fn logical_time(&self, now: Time) -> Time {
        now.max(self.reached)
    }

    /// Returns when the next event is due.
    pub(crate) fn deadline(&self) -> Time {
        let mut deadline = self.statistics.slot_end();
        let others = [
            self.mac.deadline(),
            self.wire_down.deadline(),
            self.wire_up.deadline(),
        ];
        for due in others.into_iter().flatten() {
            deadline = deadline.min(due);
        }
        deadline
    }

    /// Handles all events that are due by `now`, each at its own logical time.
    pub(crate) fn advance(&mut self, now: Time, clock: &Clock, ports: &mut Ports) {
        loop {
            let at = self.deadline();
            if at > now {
                break;
            }
            // Of events at the same time, packets come first, so that the MAC can send them in the
            // frame that it composes now. A slot ends last, so that it has all events up to its
            // end.
            if let Some((at, (destination, packet))) = self.wire_down.pop(at) {
                self.send_down(at, destination, packet, clock, ports);
            } else if let Some((at, packet)) = self.wire_up.pop(at) {
                // Packets that came out at different times are not joined.
                if self.delivered_up.is_some_and(|due| due != at) {
                    self.flush_up(clock, ports);
                }
                self.delivered_up = Some(at);
                ports.wired[self.index].write(&packet);
            } else if self.mac.deadline().is_some_and(|due| due <= at) {
                self.handle(at, Input::Tick, clock, ports);
            } else {
                let mac = &mut self.mac;
                self.statistics.end_slot(|station| {
                    let (from, to) = ends(station, Direction::Down);
                    (mac.queued(from, to), mac.take_queue_peak(from, to))
                });
            }
        }
        self.flush_up(clock, ports);
    }

    /// Handles an input of the present, after everything that was due before it in the air and on
    /// the wires.
    pub(crate) fn handle_now(
        &mut self,
        now: Time,
        input: Input<EmulatedPacket>,
        clock: &Clock,
        ports: &mut Ports,
    ) {
        let now = self.logical_time(now);
        self.advance(now, clock, ports);
        self.handle(now, input, clock, ports);
    }

    /// Handles one input and all that follows from it.
    fn handle(&mut self, at: Time, input: Input<EmulatedPacket>, clock: &Clock, ports: &mut Ports) {
        let at = self.logical_time(at);
        self.reached = at;
        self.mac.handle(at, input);
        while let Some(output) = self.mac.poll() {
            self.handle_output(output, clock, ports);
        }
        self.end_frame();
        self.flush_down(clock, ports);
        self.follow_beacon(at, clock, ports);
    }

    /// Sends a packet into the air, or keeps it for a station that sleeps.
    fn send_down(
        &mut self,
        at: Time,
        destination: Destination,
        packet: EmulatedPacket,
        clock: &Clock,
        ports: &mut Ports,
    ) {
        if let Some(input) = self.admit(destination, packet) {
            self.handle(at, input, clock, ports);
        }
    }

    /// Decides about a packet at the access point: returns it as an input of the MAC if it is to be
    /// sent now.
    fn admit(
        &mut self,
        destination: Destination,
        packet: EmulatedPacket,
    ) -> Option<Input<EmulatedPacket>> {
        let (station, admission) = match destination {
            Destination::Station(station) => (station, self.presence.admit(station, packet)),
            Destination::Group => (self.forwarding.group(), self.presence.admit_group(packet)),
            Destination::Wired => return None,
        };
        match admission {
            Admission::Send(packet) => return Some(Input::down(station, packet)),
            Admission::Buffered { dropped: false } => {}
            Admission::Buffered { dropped: true } | Admission::Absent => {
                self.statistics.on_undelivered(station, 1);
            }
        }
        None
    }

    /// Shows the beacon that the access point may have begun at `at`, and sends what waits for it.
    fn follow_beacon(&mut self, at: Time, clock: &Clock, ports: &mut Ports) {
        let sent = self.mac.airtime(ACCESS_POINT).beacons;
        if sent == self.beacon_airtime {
            return;
        }
        self.beacon_airtime = sent;
        if let Some(monitors) = &mut self.monitors {
            monitors.on_beacon(at, self.presence.dtim(), &self.presence.waiting());
        }
        let released = self.presence.on_beacon();
        for packet in released.group {
            let group = self.forwarding.group();
            self.handle(at, Input::down(group, packet), clock, ports);
        }
        for (station, packet) in released.unicast {
            self.handle(at, Input::down(station, packet), clock, ports);
        }
    }

    /// Shows the answer to the frame whose MPDUs the MAC has reported.
    fn end_frame(&mut self) {
        if let Some(monitors) = &mut self.monitors {
            monitors.end_frame();
            self.statistics.stray.unheard = monitors.refused;
        }
    }

    /// A packet has come from the server: puts it on the wire.
    pub(crate) fn on_wired_packet(&mut self, now: Time, packet: EmulatedPacket) {
        if packet.bytes() > MAX_MSDU_BYTES {
            self.statistics.stray.oversized += 1;
            return;
        }
        match self.forwarding.downlink(&packet) {
            Some(destination) => self.wire_down.push(now, (destination, packet)),
            None => self.statistics.stray.unroutable += 1,
        }
    }

    /// A station's kernel sends a packet, which waits for the air.
    pub(crate) fn on_station_packet(
        &mut self,
        now: Time,
        station: StationId,
        packet: EmulatedPacket,
        clock: &Clock,
        ports: &mut Ports,
    ) {
        if packet.bytes() > MAX_MSDU_BYTES {
            self.statistics.stray.oversized += 1;
        } else if self.presence.is_absent(station) {
            self.statistics.stray.unassociated += 1;
        } else {
            self.handle_now(now, Input::up(station, packet), clock, ports);
        }
    }

    /// Passes the packets that a frame has brought to the stations' kernels. The time that their
    /// network stacks take counts as lateness.
    fn flush_down(&mut self, clock: &Clock, ports: &mut Ports) {
        if let Some(due) = self.delivered_down.take() {
            ports.flush_stations();
            self.statistics.on_lag(clock.now().saturating_since(due));
        }
    }

    /// Passes the packets that have come out of the wire to the server's kernel.
    fn flush_up(&mut self, clock: &Clock, ports: &mut Ports) {
        if let Some(due) = self.delivered_up.take() {
            ports.wired[self.index].flush();
            self.statistics.on_lag(clock.now().saturating_since(due));
        }
    }

    /// Acts on one output of the MAC.
    fn handle_output(&mut self, output: Output<EmulatedPacket>, clock: &Clock, ports: &mut Ports) {
        match output {
            Output::Frame(frame) => {
                // The packets of the frame before are not joined with those of this one.
                self.flush_down(clock, ports);
                // The MAC reports a frame that has collided at the end of the longest of the
                // frames, which says nothing about lateness.
                if !frame.collided {
                    self.statistics
                        .on_lag(clock.now().saturating_since(frame.end));
                }
                self.statistics.on_frame(&frame);
                self.observer.borrow_mut().on_frame(&frame);
                if let Some(monitors) = &mut self.monitors {
                    monitors.begin_frame(&frame);
                }
            }
            Output::Heard { mpdu, packet } => {
                if let Some(monitors) = &mut self.monitors {
                    monitors.on_heard(&mpdu, &packet);
                }
            }
            Output::Delivered { at, mpdu, packet } => {
                self.statistics
                    .on_delivered(mpdu.station(), mpdu.direction(), &packet);
                self.deliver(at, &mpdu, packet, ports);
            }
            Output::Dropped {
                at,
                from,
                to,
                reason,
                ..
            } => {
                let (station, direction) = station_and_direction(from, to);
                self.statistics.on_dropped(station, direction, reason);
                self.observer
                    .borrow_mut()
                    .on_dropped(at, station, direction, reason);
            }
        }
    }

    /// Passes a packet on: downlink to the stations' kernels; uplink to the wire, or back into the
    /// air if it is for another station, or both if it is for all.
    fn deliver(&mut self, at: Time, mpdu: &Mpdu, packet: EmulatedPacket, ports: &mut Ports) {
        let station = mpdu.station();
        if mpdu.direction() == Direction::Down {
            if self.presence.is_absent(station) {
                // It has gone to another access point while this one had frames for it.
                return self.statistics.on_undelivered(station, 1);
            }
            self.delivered_down = Some(at);
            if station != self.forwarding.group() {
                return ports.write_to_station(station.index(), &packet);
            }
            for index in 0..ports.stations.len() {
                let is_here = !self.presence.is_absent(StationId::from_index(index));
                if is_here && !is_sender(index, &packet) {
                    ports.write_to_station(index, &packet);
                }
            }
            return;
        }
        let destination = match self.forwarding.destination(&packet) {
            // It may be at another access point.
            Destination::Station(to) if self.presence.is_absent(to) => Destination::Wired,
            other => other,
        };
        if destination != Destination::Station(station) && destination != Destination::Wired {
            // The MAC gets it at the time that the cell has reached: the end of the frame or later.
            if let Some(input) = self.admit(destination, packet.clone()) {
                self.mac.handle(self.logical_time(at), input);
            }
        }
        if matches!(destination, Destination::Wired | Destination::Group) {
            self.wire_up.push(at, packet);
        }
    }
}

/// Returns the seed of the cell of an access point: of the first, that of the run.
fn seed_of(seed: u64, access_point: usize) -> u64 {
    match access_point {
        0 => seed,
        _ => rng::key(&format!("{seed} access point {access_point}")),
    }
}

#[cfg(test)]
mod tests;
