//! A radio channel: the MAC with the cells on it, the wires of their access points, and the devices
//! that they are connected to.

mod cell;
mod changes;
mod ports;

use crate::config::{EmulatorConfig, EmulatorError};
use crate::engine::Observer;
use crate::forwarding::{Destination, MAX_MSDU_BYTES, is_sender};
use crate::medium::{CellOutput, Medium};
use crate::monitor::Monitors;
use crate::packet::EmulatedPacket;
use crate::statistics::{StationQueues, Statistics};
use airpace_core::packet::Packet as _;
use airpace_sim::mac::{Direction, Mpdu, Output, station_of as station_and_direction};
use airpace_sim::rng;
use airpace_units::{StationId, Time};
use cell::Cell;
use core::cell::RefCell;
use std::rc::Rc;

pub(crate) use ports::Ports;

/// The observer, which all channels of a run call.
pub(crate) type SharedObserver = Rc<RefCell<Box<dyn Observer>>>;

/// The MAC of a channel, its cells with the wires on both sides, and the statistics. It works in
/// logical time; it reads the real clock only to measure how late it is.
pub(crate) struct Channel {
    medium: Medium<EmulatedPacket>,
    cells: Vec<Cell>,
    observer: SharedObserver,
    monitors: Option<Monitors>,
    /// Logical time that the channel has reached.
    reached: Time,
    /// End of the frame whose packets have been written to stations and not flushed, and its cell.
    delivered_down: Option<(Time, usize)>,
}

impl Channel {
    /// Returns the channel of these access points, of which there is at least one.
    pub(crate) fn new(
        config: &EmulatorConfig,
        access_points: &[usize],
        monitors: Option<Monitors>,
        observer: SharedObserver,
    ) -> Result<Self, EmulatorError> {
        let seed = seed_of(config.seed, access_points[0]);
        let mut channel = Self {
            medium: Medium::new(&config.mac()?, access_points.len(), seed)?,
            cells: Vec::new(),
            observer,
            monitors,
            reached: Time::ZERO,
            delivered_down: None,
        };
        for &access_point in access_points {
            channel.cells.push(Cell::new(config, access_point));
        }
        if let Some(monitors) = &mut channel.monitors {
            for station in 0..config.cell.stations.len() {
                let is_here = access_points.contains(&config.home_of(station));
                monitors.set_present(StationId::from_index(station), is_here);
            }
        }
        Ok(channel)
    }

    /// Converts the present to logical time, which never goes back: events may already have been
    /// handled whose time is a little later than a clock that was read before.
    pub(crate) fn logical_time(&self, now: Time) -> Time {
        now.max(self.reached)
    }

    /// Returns when the next event is due.
    pub(crate) fn deadline(&self) -> Time {
        let mut deadline = self.medium.deadline().unwrap_or(Time::MAX);
        for cell in &self.cells {
            deadline = deadline.min(cell.deadline());
        }
        deadline
    }

    /// Returns how many packets of a station wait for the air.
    pub(crate) fn uplink_queue(&self, cell: usize, station: StationId) -> usize {
        self.medium.queued(cell, station, Direction::Up)
    }

    /// Returns the statistics of all cells together.
    pub(crate) fn into_statistics(self) -> Statistics {
        let mut cells = self.cells.into_iter().map(|cell| cell.statistics);
        let mut sum = cells.next().expect("a channel has an access point");
        for statistics in cells {
            sum.add(statistics);
        }
        sum
    }

    /// Counts packets that were not whole.
    pub(crate) fn count_malformed(&mut self, cell: usize, packets: u64) {
        self.cells[cell].statistics.stray.unroutable += packets;
    }

    /// Handles all events that are due by `now`, each at its own logical time.
    pub(crate) fn advance(&mut self, now: Time, ports: &mut Ports) {
        loop {
            let at = self.deadline();
            if at > now {
                break;
            }
            // Of events at the same time, packets come first, so that the MAC can send them in the
            // frame that it composes now. A slot ends last, so that it has all events up to its
            // end.
            if self.take_from_wires(at, ports) {
                continue;
            }
            if self.medium.deadline().is_some_and(|due| due <= at) {
                self.begin_event(at);
                self.medium.advance(at);
                self.finish_event(at, ports);
            } else {
                self.end_slots(at);
            }
        }
        for cell in 0..self.cells.len() {
            self.flush_up(cell, ports);
        }
    }

    /// Takes one packet that has come out of a wire by `at`; returns whether there was one.
    fn take_from_wires(&mut self, at: Time, ports: &mut Ports) -> bool {
        for index in 0..self.cells.len() {
            let cell = &mut self.cells[index];
            if let Some((at, (destination, packet))) = cell.wire_down.pop(at) {
                if let Some((station, packet)) = cell.admit(destination, packet) {
                    self.send(at, index, station, Direction::Down, packet, ports);
                }
                return true;
            }
            if let Some((at, packet)) = cell.wire_up.pop(at) {
                // Packets that came out at different times are not joined.
                if cell.delivered_up.is_some_and(|due| due != at) {
                    self.flush_up(index, ports);
                }
                let cell = &mut self.cells[index];
                cell.delivered_up = Some(at);
                ports.wired[cell.access_point].write(&packet);
                return true;
            }
        }
        false
    }

    /// Ends the slots of the statistics that are over at `at`.
    fn end_slots(&mut self, at: Time) {
        let medium = &mut self.medium;
        for (index, cell) in self.cells.iter_mut().enumerate() {
            if cell.statistics.slot_end() > at {
                continue;
            }
            cell.statistics.end_slot(|station| StationQueues {
                length: medium.queued(index, station, Direction::Down),
                peak: medium.take_queue_peak(index, station, Direction::Down),
                uplink_peak: medium.take_queue_peak(index, station, Direction::Up),
            });
        }
    }

    /// Gives a packet to the MAC at `at` and handles what follows from it.
    fn send(
        &mut self,
        at: Time,
        cell: usize,
        station: StationId,
        direction: Direction,
        packet: EmulatedPacket,
        ports: &mut Ports,
    ) {
        let at = self.begin_event(at);
        self.medium.send(at, cell, station, direction, packet);
        self.finish_event(at, ports);
    }

    /// Moves logical time on to an event at `at`; returns its logical time.
    fn begin_event(&mut self, at: Time) -> Time {
        self.reached = self.logical_time(at);
        self.reached
    }

    /// Handles everything that the MAC reports after an event at `at`.
    fn finish_event(&mut self, at: Time, ports: &mut Ports) {
        while let Some(CellOutput { cell, output }) = self.medium.poll() {
            self.handle_output(cell, output, ports);
        }
        self.end_frame();
        self.flush_down(ports);
        for cell in 0..self.cells.len() {
            self.follow_beacon(at, cell, ports);
        }
    }

    /// Shows the beacon that an access point may have begun at `at`, and sends what waits for it.
    fn follow_beacon(&mut self, at: Time, index: usize, ports: &mut Ports) {
        let sent = self.medium.beacon_airtime(index);
        let cell = &mut self.cells[index];
        if sent == cell.beacon_airtime {
            return;
        }
        cell.beacon_airtime = sent;
        if let Some(monitors) = &mut self.monitors {
            let dtim = cell.presence.dtim();
            monitors.on_beacon(at, cell.access_point, dtim, &cell.presence.waiting());
        }
        let released = cell.presence.on_beacon();
        let group = cell.forwarding.group();
        for packet in released.group {
            self.send(at, index, group, Direction::Down, packet, ports);
        }
        for (station, packet) in released.unicast {
            self.send(at, index, station, Direction::Down, packet, ports);
        }
    }

    /// Shows the answer to the frame whose MPDUs the MAC has reported.
    fn end_frame(&mut self) {
        if let Some(monitors) = &mut self.monitors {
            monitors.end_frame();
            self.cells[0].statistics.stray.unheard = monitors.refused;
        }
    }

    /// A packet has come from the server: puts it on the wire of a cell's access point.
    pub(crate) fn on_wired_packet(&mut self, now: Time, cell: usize, packet: EmulatedPacket) {
        self.cells[cell].on_wired_packet(now, packet);
    }

    /// A station's kernel sends a packet, which waits for the air.
    pub(crate) fn on_station_packet(
        &mut self,
        now: Time,
        cell: usize,
        station: StationId,
        packet: EmulatedPacket,
        ports: &mut Ports,
    ) {
        let sender = &mut self.cells[cell];
        if packet.bytes() > MAX_MSDU_BYTES {
            sender.statistics.stray.oversized += 1;
        } else if sender.presence.is_absent(station) {
            sender.statistics.stray.unassociated += 1;
        } else {
            let now = self.logical_time(now);
            // What was due before in the air and on the wires happens first.
            self.advance(now, ports);
            self.send(now, cell, station, Direction::Up, packet, ports);
        }
    }

    /// Passes the packets that a frame has brought to the stations' kernels. The time that their
    /// network stacks take counts as lateness.
    fn flush_down(&mut self, ports: &mut Ports) {
        if let Some((due, cell)) = self.delivered_down.take() {
            ports.flush_stations();
            let lag = ports.clock.now().saturating_since(due);
            self.cells[cell].statistics.on_lag(lag);
        }
    }

    /// Passes the packets that have come out of the wire of a cell to the server's kernel.
    fn flush_up(&mut self, cell: usize, ports: &mut Ports) {
        let cell = &mut self.cells[cell];
        if let Some(due) = cell.delivered_up.take() {
            ports.wired[cell.access_point].flush();
            let lag = ports.clock.now().saturating_since(due);
            cell.statistics.on_lag(lag);
        }
    }

    /// Acts on one output of the MAC.
    fn handle_output(&mut self, cell: usize, output: Output<EmulatedPacket>, ports: &mut Ports) {
        match output {
            Output::Frame(frame) => {
                // The packets of the frame before are not joined with those of this one.
                self.flush_down(ports);
                let statistics = &mut self.cells[cell].statistics;
                // The MAC reports a frame that has collided at the end of the longest of the
                // frames, which says nothing about lateness.
                if !frame.collided {
                    statistics.on_lag(ports.clock.now().saturating_since(frame.end));
                }
                statistics.on_frame(&frame);
                self.observer.borrow_mut().on_frame(&frame);
                if let Some(monitors) = &mut self.monitors {
                    monitors.begin_frame(self.cells[cell].access_point, &frame);
                }
            }
            Output::Heard { mpdu, packet, .. } => {
                if let (Some(monitors), Some(packet)) = (&mut self.monitors, packet) {
                    monitors.on_heard(&mpdu, &packet);
                }
            }
            Output::Delivered { at, mpdu, packet } => {
                let statistics = &mut self.cells[cell].statistics;
                statistics.on_delivered(mpdu.station(), mpdu.direction(), &packet);
                match mpdu.direction() {
                    Direction::Down => self.deliver_down(at, cell, &mpdu, &packet, ports),
                    Direction::Up => self.deliver_up(at, cell, &mpdu, packet),
                }
            }
            Output::Dropped {
                at,
                from,
                to,
                reason,
                ..
            } => {
                let (station, direction) = station_and_direction(from, to);
                let statistics = &mut self.cells[cell].statistics;
                statistics.on_dropped(station, direction, reason);
                let mut observer = self.observer.borrow_mut();
                observer.on_dropped(at, station, direction, reason);
            }
        }
    }

    /// Passes a packet to the kernel of its station, or of all stations of the cell.
    fn deliver_down(
        &mut self,
        at: Time,
        index: usize,
        mpdu: &Mpdu,
        packet: &EmulatedPacket,
        ports: &mut Ports,
    ) {
        let (station, cell) = (mpdu.station(), &mut self.cells[index]);
        if cell.presence.is_absent(station) {
            // It has gone to another access point while this one had frames for it.
            return cell.statistics.on_undelivered(station, 1);
        }
        self.delivered_down = Some((at, index));
        if station != cell.forwarding.group() {
            return ports.write_to_station(station.index(), packet);
        }
        for index in 0..ports.stations.len() {
            let is_here = !cell.presence.is_absent(StationId::from_index(index));
            if is_here && !is_sender(index, packet) {
                ports.write_to_station(index, packet);
            }
        }
    }

    /// Passes a packet from a station on: to the wire, or back into the air if it is for another
    /// station, or both if it is for all.
    fn deliver_up(&mut self, at: Time, index: usize, mpdu: &Mpdu, packet: EmulatedPacket) {
        let (sender, logical) = (mpdu.station(), self.logical_time(at));
        let cell = &mut self.cells[index];
        let destination = cell.destination(&packet);
        if destination != Destination::Station(sender)
            && let Some((receiver, packet)) = cell.admit(destination, packet.clone())
        {
            // The MAC gets it at the time that the channel has reached: the end of the frame or
            // later. What the MAC reports is handled after what is being handled now.
            self.medium
                .send(logical, index, receiver, Direction::Down, packet);
        }
        if matches!(destination, Destination::Wired | Destination::Group) {
            self.cells[index].wire_up.push(at, packet);
        }
    }
}

/// Returns the seed of the channel whose first access point is this: of the first, that of the run.
fn seed_of(seed: u64, access_point: usize) -> u64 {
    match access_point {
        0 => seed,
        _ => rng::key(&format!("{seed} access point {access_point}")),
    }
}

#[cfg(test)]
mod tests;
