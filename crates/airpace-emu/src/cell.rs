//! The MAC between its wires, and the devices that it is joined to.

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

/// All devices.
pub(crate) struct Ports {
    pub(crate) wired: Port,
    pub(crate) stations: Vec<StationPorts>,
}

pub(crate) struct StationPorts {
    pub(crate) wlan: Port,
    monitor: Option<Tun>,
    /// Packets were written and not flushed.
    dirty: bool,
}

impl Ports {
    pub(crate) fn new(devices: Devices, join: bool) -> Self {
        let station = |station: crate::network::StationDevices| StationPorts {
            wlan: Port::new(station.wlan, join),
            monitor: station.monitor,
            dirty: false,
        };
        let stations = devices.stations.into_iter().map(station).collect();
        Self {
            wired: Port::new(devices.wired, join),
            stations,
        }
    }

    fn flush_stations(&mut self) {
        for station in &mut self.stations {
            if core::mem::take(&mut station.dirty) {
                station.wlan.flush();
            }
        }
    }

    pub(crate) fn refused(&self) -> u64 {
        self.wired.refused + self.stations.iter().map(|s| s.wlan.refused).sum::<u64>()
    }
}

/// The MAC, the wires before and behind it, and what is counted. Knows real time only to measure how late it is.
pub(crate) struct Cell {
    mac: Mac<EmulatedPacket>,
    pub(crate) wire_down: DelayLine<(StationId, EmulatedPacket)>,
    wire_up: DelayLine<EmulatedPacket>,
    pub(crate) statistics: Statistics,
    observer: Box<dyn Observer>,
    monitor: Option<MonitorWriter>,
    /// The frame whose MPDUs are being handed out.
    frame: Option<FrameRecord>,
    /// Logical time that has been reached.
    reached: Time,
    /// Ends of the frames, or times on the wire, of packets that were written to stations and to the wired side and not flushed.
    handing_down: Option<Time>,
    handing_up: Option<Time>,
    /// Reused room for packets just read.
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
            handing_down: None,
            handing_up: None,
            arrivals: Vec::new(),
        })
    }

    /// Logical time never goes back.
    pub(crate) fn at_least(&self, now: Time) -> Time {
        now.max(self.reached)
    }

    /// When [`Cell::advance`] is due.
    pub(crate) fn deadline(&self) -> Time {
        let dues = [
            self.mac.deadline(),
            self.wire_down.deadline(),
            self.wire_up.deadline(),
        ];
        dues.into_iter()
            .flatten()
            .fold(self.statistics.slot_end(), Time::min)
    }

    /// Lets everything happen that is due by `now`, each at its own time.
    pub(crate) fn advance(&mut self, now: Time, clock: &Clock, ports: &mut Ports) {
        loop {
            let at = self.deadline();
            if at > now {
                break;
            }
            if let Some((at, (station, packet))) = self.wire_down.pop(at) {
                self.handle(at, Input::down(station, packet), clock, ports);
            } else if let Some((at, packet)) = self.wire_up.pop(at) {
                if self.handing_up.is_some_and(|due| due != at) {
                    self.flush_up(clock, ports);
                }
                self.handing_up = Some(at);
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

    /// An input of the present: what was due before it, in the air and on the wires, comes first.
    pub(crate) fn take(
        &mut self,
        now: Time,
        input: Input<EmulatedPacket>,
        clock: &Clock,
        ports: &mut Ports,
    ) {
        let now = self.at_least(now);
        self.advance(now, clock, ports);
        self.handle(now, input, clock, ports);
    }

    /// One input to the cell, and what comes of it.
    fn handle(&mut self, at: Time, input: Input<EmulatedPacket>, clock: &Clock, ports: &mut Ports) {
        let at = self.at_least(at);
        self.reached = at;
        self.mac.handle(at, input);
        while let Some(output) = self.mac.poll() {
            self.act(output, clock, ports);
        }
        self.flush_down(clock, ports);
    }

    /// Hands over what a frame has brought to the stations. This runs their kernels' input, and counts as lateness.
    fn flush_down(&mut self, clock: &Clock, ports: &mut Ports) {
        if let Some(due) = self.handing_down.take() {
            ports.flush_stations();
            self.statistics.on_lag(clock.now().saturating_since(due));
        }
    }

    /// Hands over what has come out of the wire at one time.
    fn flush_up(&mut self, clock: &Clock, ports: &mut Ports) {
        if let Some(due) = self.handing_up.take() {
            ports.wired.flush();
            self.statistics.on_lag(clock.now().saturating_since(due));
        }
    }

    fn act(&mut self, output: Output<EmulatedPacket>, clock: &Clock, ports: &mut Ports) {
        match output {
            Output::Frame(frame) => {
                self.flush_down(clock, ports);
                // The shorter of two frames that collided becomes known at the end of the longer: that is not late.
                if !frame.collided {
                    self.statistics
                        .on_lag(clock.now().saturating_since(frame.end));
                }
                self.statistics.on_frame(&frame);
                self.observer.on_frame(&frame);
                self.frame = Some(frame);
            }
            Output::Heard { mpdu, packet } => self.show(&mpdu, &packet, ports),
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

    fn show(&mut self, mpdu: &Mpdu, packet: &EmulatedPacket, ports: &mut Ports) {
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

    /// Down to the station's kernel; up to the wire, or back into the air if it is for another station.
    fn deliver(&mut self, at: Time, mpdu: &Mpdu, packet: EmulatedPacket, ports: &mut Ports) {
        if mpdu.direction() == Direction::Down {
            if let Some(station) = ports.stations.get_mut(mpdu.station().index()) {
                station.wlan.write(&packet);
                station.dirty = true;
                self.handing_down = Some(at);
            }
            return;
        }
        match station_of(packet.as_slice(), ports.stations.len()) {
            // The cell takes it at the time it has reached, which is the end of the frame or a little later.
            Some(index) => {
                let input = Input::down(StationId::from_index(index), packet);
                self.mac.handle(self.at_least(at), input);
            }
            None => self.wire_up.push(at, packet),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network;
    use airpace_core::phy::{GuardInterval, Standard, TxRate, Width};
    use airpace_sim::mac::{DropReason, StationConfig};
    use core::time::Duration;
    use std::sync::{Arc, Mutex};

    /// Keeps the frames.
    struct Frames(Arc<Mutex<Vec<FrameRecord>>>);

    impl Observer for Frames {
        fn on_frame(&mut self, frame: &FrameRecord) {
            self.0.lock().unwrap().push(*frame);
        }
        fn on_dropped(&mut self, _: Time, _: StationId, _: Direction, _: DropReason) {}
    }

    fn packet() -> EmulatedPacket {
        let mut bytes = [0; 40];
        (bytes[0], bytes[3]) = (0x45, 40);
        EmulatedPacket::copy(&bytes).unwrap()
    }

    type Bench = (Cell, Ports, Arc<Mutex<Vec<FrameRecord>>>);

    /// A cell of one station at the end of 1 ms of wire; a loud line and `None` where the system has no namespaces.
    fn bench() -> Option<Bench> {
        let rate = TxRate::new(Standard::Vht, Width::Mhz80, 1, 9, GuardInterval::Ns800).unwrap();
        let config = EmulatorConfig::new(CellConfig::new(vec![StationConfig::new(rate)]), 1);
        let Ok((_, devices)) = network::create(&config) else {
            println!("SKIPPED, NOTHING WAS TESTED: no namespaces (try `unshare -rnm cargo test`)");
            return None;
        };
        let frames = Arc::new(Mutex::new(Vec::new()));
        let cell = Cell::new(&config, Box::new(Frames(Arc::clone(&frames)))).unwrap();
        Some((cell, Ports::new(devices, true), frames))
    }

    #[test]
    fn what_is_due_on_the_wire_comes_before_what_is_read_late() {
        let Some((mut cell, mut ports, frames)) = bench() else {
            return;
        };
        let (clock, station) = (Clock::start(), StationId(0));
        cell.wire_down.push(Time::ZERO, (station, packet()));
        // The loop wakes at 5 ms and finds a packet from the station; the one on the wire was at the access point at 1 ms.
        cell.take(
            Time::from_millis(5),
            Input::up(station, packet()),
            &clock,
            &mut ports,
        );
        cell.advance(Time::from_millis(6), &clock, &mut ports);
        let frames = frames.lock().unwrap();
        let starts: Vec<_> = frames
            .iter()
            .map(|frame| (frame.direction(), frame.start.as_nanos() / 1_000_000))
            .collect();
        assert_eq!(starts, [(Direction::Down, 1), (Direction::Up, 5)]);
    }

    #[test]
    fn each_frame_and_each_delivery_is_measured() {
        let Some((mut cell, mut ports, _)) = bench() else {
            return;
        };
        let (clock, station) = (Clock::start(), StationId(0));
        cell.wire_down.push(Time::ZERO, (station, packet()));
        cell.advance(Time::from_millis(3), &clock, &mut ports);
        assert_eq!(
            cell.statistics.lag().events,
            2,
            "the frame's end, and its delivery"
        );
        cell.take(
            Time::from_millis(4),
            Input::up(station, packet()),
            &clock,
            &mut ports,
        );
        cell.advance(
            Time::from_millis(5) + Duration::from_millis(1),
            &clock,
            &mut ports,
        );
        assert_eq!(
            cell.statistics.lag().events,
            4,
            "the frame's end, and what comes out of the wire"
        );
    }
}
