//! The MAC with the wires on both sides of it, and the devices that it is connected to.

use crate::address::station_of;
use crate::config::{EmulatorConfig, EmulatorError};
use crate::delay::DelayLine;
use crate::engine::Observer;
use crate::monitor::MonitorWriter;
use crate::network::Devices;
use crate::packet::EmulatedPacket;
use crate::port::Port;
use crate::series;
use crate::statistics::Statistics;
use airpace_net::clock::Clock;
use airpace_net::tun::Tun;
use airpace_sim::mac::{
    CellConfig, Direction, FrameRecord, Input, Mac, Mpdu, Output, ends,
    station_of as station_and_direction,
};
use airpace_units::{StationId, Time};

/// All devices of a cell.
pub(crate) struct Ports {
    pub(crate) wired: Port,
    pub(crate) stations: Vec<StationPorts>,
}

/// The devices of one station.
pub(crate) struct StationPorts {
    pub(crate) wlan: Port,
    monitor: Option<Tun>,
    /// Whether packets have been written to `wlan` and not flushed.
    unflushed: bool,
}

impl Ports {
    pub(crate) fn new(devices: Devices, join: bool) -> Self {
        let station = |station: crate::network::StationDevices| StationPorts {
            wlan: Port::new(station.wlan, join),
            monitor: station.monitor,
            unflushed: false,
        };
        let stations = devices.stations.into_iter().map(station).collect();
        Self {
            wired: Port::new(devices.wired, join),
            stations,
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
        self.wired.refused + self.stations.iter().map(|s| s.wlan.refused).sum::<u64>()
    }
}

/// The MAC, the wires on both sides of it, and the statistics. It works in logical time; it reads
/// the real clock only to measure how late it is.
pub(crate) struct Cell {
    mac: Mac<EmulatedPacket>,
    /// From the server to the access point.
    pub(crate) wire_down: DelayLine<(StationId, EmulatedPacket)>,
    /// From the access point to the server.
    wire_up: DelayLine<EmulatedPacket>,
    pub(crate) statistics: Statistics,
    observer: Box<dyn Observer>,
    monitor: Option<MonitorWriter>,
    /// The frame whose MPDUs the MAC is reporting.
    frame: Option<FrameRecord>,
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
        observer: Box<dyn Observer>,
    ) -> Result<Self, EmulatorError> {
        let monitor = MonitorWriter::new(config.monitor);
        let cell = CellConfig {
            monitor: monitor.is_some(),
            ..config.cell.clone()
        };
        let n = cell.stations.len();
        let statistics = Statistics::new(n, config.slot, config.series.then(|| series::limit(n)));
        Ok(Self {
            mac: Mac::cell(&cell, config.seed)?,
            wire_down: DelayLine::new(config.wired_delay),
            wire_up: DelayLine::new(config.wired_delay),
            statistics,
            observer,
            monitor,
            frame: None,
            reached: Time::ZERO,
            delivered_down: None,
            delivered_up: None,
            arrivals: Vec::new(),
        })
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
            if let Some((at, (station, packet))) = self.wire_down.pop(at) {
                self.handle(at, Input::down(station, packet), clock, ports);
            } else if let Some((at, packet)) = self.wire_up.pop(at) {
                // Packets that came out at different times are not joined.
                if self.delivered_up.is_some_and(|due| due != at) {
                    self.flush_up(clock, ports);
                }
                self.delivered_up = Some(at);
                ports.wired.write(&packet);
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
        self.flush_down(clock, ports);
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
            ports.wired.flush();
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
                self.observer.on_frame(&frame);
                self.frame = Some(frame);
            }
            Output::Heard { mpdu, packet } => self.show_on_monitor(&mpdu, &packet, ports),
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
                self.observer.on_dropped(at, station, direction, reason);
            }
        }
    }

    /// Shows an MPDU that a station has decoded on its monitor.
    fn show_on_monitor(&mut self, mpdu: &Mpdu, packet: &EmulatedPacket, ports: &mut Ports) {
        // The access point has no monitor interface.
        if mpdu.direction() != Direction::Down {
            return;
        }
        let monitor = ports
            .stations
            .get(mpdu.station().index())
            .and_then(|s| s.monitor.as_ref());
        if let (Some(writer), Some(frame), Some(tun)) = (&mut self.monitor, &self.frame, monitor) {
            self.statistics.stray.unheard += u64::from(!writer.show(frame, mpdu, packet, tun));
        }
    }

    /// Passes a packet on: downlink to the station's kernel; uplink to the wire, or back into the
    /// air if it is for another station.
    fn deliver(&mut self, at: Time, mpdu: &Mpdu, packet: EmulatedPacket, ports: &mut Ports) {
        if mpdu.direction() == Direction::Down {
            if let Some(station) = ports.stations.get_mut(mpdu.station().index()) {
                station.wlan.write(&packet);
                station.unflushed = true;
                self.delivered_down = Some(at);
            }
            return;
        }
        match station_of(packet.as_slice(), ports.stations.len()) {
            // The MAC gets it at the time that the cell has reached: the end of the frame or later.
            Some(index) => {
                let input = Input::down(StationId::from_index(index), packet);
                self.mac.handle(self.logical_time(at), input);
            }
            None => self.wire_up.push(at, packet),
        }
    }
}

#[cfg(test)]
mod tests;
