//! The loop: real packets and real time on one side, the sans-IO cell on the other.

use crate::address::station_of;
use crate::config::{EmulatorConfig, EmulatorError};
use crate::control::Control;
use crate::delay::DelayLine;
use crate::monitor::MonitorWriter;
use crate::network::Devices;
use crate::packet::EmulatedPacket;
use crate::port::{Port, Read, ReadBuffers};
use crate::statistics::Statistics;
use airpace_core::packet::Packet;
use airpace_net::clock::Clock;
use airpace_net::poll::{Interest, Poller};
use airpace_net::tun::Tun;
use airpace_sim::mac::{Direction, DropReason, FrameRecord, Input, Mac, Mpdu, Output};
use airpace_units::{StationId, Time};
use nix::sys::eventfd::EventFd;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};

/// Sees what happens in the cell, in the emulator's thread: it must be quick and must not block.
pub trait Observer: Send {
    /// A frame has left the air; times are on the emulator's clock.
    fn on_frame(&mut self, frame: &FrameRecord);
    /// A packet is gone.
    fn on_dropped(&mut self, at: Time, station: StationId, direction: Direction, reason: DropReason);
}

/// Looks away.
#[derive(Clone, Copy, Debug)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn on_frame(&mut self, _: &FrameRecord) {}
    fn on_dropped(&mut self, _: Time, _: StationId, _: Direction, _: DropReason) {}
}

/// The cell under a real clock.
pub(crate) struct Engine {
    clock: Clock,
    poller: Poller,
    ports: Ports,
    cell: Cell,
    buffers: ReadBuffers,
    control: Receiver<Control>,
    bell: Arc<EventFd>,
}

/// What the loop does when the bell rings.
#[derive(PartialEq, Eq)]
enum Order {
    GoOn,
    Stop,
}

/// Token of the bell; stations have theirs from zero, the wired side is [`WIRED`].
const BELL: u64 = u64::MAX;
const WIRED: u64 = u64::MAX - 1;

/// Super-packets read from one device before the cell's events have their turn again. Each takes up to some 10 µs.
const READS_PER_TURN: usize = 4;

impl Engine {
    pub(crate) fn new(
        config: &EmulatorConfig,
        devices: Devices,
        observer: Box<dyn Observer>,
        (control, bell): (Receiver<Control>, Arc<EventFd>),
        clock: Clock,
    ) -> Result<Self, EmulatorError> {
        let poller = Poller::new()?;
        poller.add(&*bell, BELL, Interest::Read)?;
        poller.add(&devices.wired, WIRED, Interest::Read)?;
        for (token, station) in (0..).zip(&devices.stations) {
            poller.add(&station.wlan, token, Interest::Read)?;
        }
        let cell = Cell::new(config, observer)?;
        let ports = Ports::new(devices, config.join);
        Ok(Self { clock, poller, ports, cell, buffers: ReadBuffers::new(), control, bell })
    }

    /// Runs until told to stop.
    pub(crate) fn run(mut self) -> Result<Statistics, EmulatorError> {
        loop {
            let deadline = self.cell.deadline();
            self.poller.wait(&self.clock, Some(deadline))?;
            self.cell.advance(self.clock.now(), &self.clock, &mut self.ports);
            let tokens: Vec<u64> = self.poller.ready().map(|ready| ready.token).collect();
            for token in tokens {
                match token {
                    BELL => {
                        if self.obey() == Order::Stop {
                            return Ok(self.finish());
                        }
                    }
                    WIRED => self.read_wired()?,
                    station => self.read_station(station as usize)?,
                }
            }
        }
    }

    fn obey(&mut self) -> Order {
        // The bell is read empty so that it can ring again; its count does not matter.
        let _ = self.bell.read();
        loop {
            match self.control.try_recv() {
                Ok(control) => self.cell.handle(self.clock.now(), control.input(), &self.clock, &mut self.ports),
                Err(TryRecvError::Empty) => return Order::GoOn,
                Err(TryRecvError::Disconnected) => return Order::Stop,
            }
        }
    }

    fn finish(mut self) -> Statistics {
        self.cell.advance(self.clock.now(), &self.clock, &mut self.ports);
        let mut statistics = self.cell.statistics;
        statistics.stray.refused = self.ports.refused();
        statistics
    }

    /// Packets from the server start on the wire.
    fn read_wired(&mut self) -> io::Result<()> {
        for _ in 0..READS_PER_TURN {
            let now = self.cell.at_least(self.clock.now());
            let (cell, buffers) = (&mut self.cell, &mut self.buffers);
            let stations = self.ports.stations.len();
            let (mut unroutable, wire) = (0, &mut cell.wire_down);
            let read = self.ports.wired.read(buffers, |packet| match station_of(packet.as_slice(), stations) {
                Some(station) => wire.push(now, (StationId::from_index(station), packet)),
                None => unroutable += 1,
            });
            let Some(malformed) = self.done(read, WIRED)? else { return Ok(()) };
            self.cell.statistics.stray.unroutable += unroutable + malformed;
        }
        Ok(())
    }

    /// Packets from a station wait for the air.
    fn read_station(&mut self, index: usize) -> io::Result<()> {
        for _ in 0..READS_PER_TURN {
            let now = self.cell.at_least(self.clock.now());
            let mut packets = core::mem::take(&mut self.cell.arrivals);
            let read = self.ports.stations[index].wlan.read(&mut self.buffers, |packet| packets.push(packet));
            let station = StationId::from_index(index);
            for packet in packets.drain(..) {
                self.cell.handle(now, Input::Uplink { station, packet }, &self.clock, &mut self.ports);
            }
            self.cell.arrivals = packets;
            let Some(malformed) = self.done(read, index as u64)? else { return Ok(()) };
            self.cell.statistics.stray.unroutable += malformed;
        }
        Ok(())
    }

    /// Whether there may be more to read. A device that fails is listened to no longer: it has been taken away.
    fn done(&self, read: io::Result<Read>, token: u64) -> io::Result<Option<u64>> {
        match read {
            Ok(Read::Nothing) => Ok(None),
            Ok(Read::Packets { malformed }) => Ok(Some(malformed)),
            Err(error) => {
                let tun: &Tun =
                    if token == WIRED { &self.ports.wired.tun } else { &self.ports.stations[token as usize].wlan.tun };
                tracing::warn!(interface = tun.name(), %error, "the interface cannot be read and is given up");
                self.poller.remove(tun)?;
                Ok(None)
            }
        }
    }
}

/// All devices.
struct Ports {
    wired: Port,
    stations: Vec<StationPorts>,
}

struct StationPorts {
    wlan: Port,
    monitor: Option<Tun>,
    /// Packets were written and not flushed.
    dirty: bool,
}

impl Ports {
    fn new(devices: Devices, join: bool) -> Self {
        let station = |station: crate::network::StationDevices| StationPorts {
            wlan: Port::new(station.wlan, join),
            monitor: station.monitor,
            dirty: false,
        };
        let stations = devices.stations.into_iter().map(station).collect();
        Self { wired: Port::new(devices.wired, join), stations }
    }

    fn flush_stations(&mut self) {
        for station in &mut self.stations {
            if core::mem::take(&mut station.dirty) {
                station.wlan.flush();
            }
        }
    }

    fn refused(&self) -> u64 {
        self.wired.refused + self.stations.iter().map(|s| s.wlan.refused).sum::<u64>()
    }
}

/// The MAC, the wires before and behind it, and what is counted. Knows real time only to measure how late it is.
struct Cell {
    mac: Mac<EmulatedPacket>,
    wire_down: DelayLine<(StationId, EmulatedPacket)>,
    wire_up: DelayLine<EmulatedPacket>,
    statistics: Statistics,
    observer: Box<dyn Observer>,
    monitor: Option<MonitorWriter>,
    /// The frame whose MPDUs are being handed out.
    frame: Option<FrameRecord>,
    /// Logical time that has been reached.
    reached: Time,
    /// Reused room for packets just read.
    arrivals: Vec<EmulatedPacket>,
}

impl Cell {
    fn new(config: &EmulatorConfig, observer: Box<dyn Observer>) -> Result<Self, EmulatorError> {
        let monitor = MonitorWriter::new(config.monitor);
        let cell = airpace_sim::mac::MacConfig { monitor: monitor.is_some(), ..config.cell.clone() };
        let statistics = Statistics::new(cell.stations.len(), config.slot);
        Ok(Self {
            mac: Mac::new(cell, config.seed)?,
            wire_down: DelayLine::new(config.wired_delay),
            wire_up: DelayLine::new(config.wired_delay),
            statistics,
            observer,
            monitor,
            frame: None,
            reached: Time::ZERO,
            arrivals: Vec::new(),
        })
    }

    /// Logical time never goes back.
    fn at_least(&self, now: Time) -> Time {
        now.max(self.reached)
    }

    /// When [`Cell::advance`] is due.
    fn deadline(&self) -> Time {
        let dues = [self.mac.deadline(), self.wire_down.deadline(), self.wire_up.deadline()];
        dues.into_iter().flatten().fold(self.statistics.slot_end(), Time::min)
    }

    /// Lets everything happen that is due by `now`, each at its own time.
    fn advance(&mut self, now: Time, clock: &Clock, ports: &mut Ports) {
        loop {
            let at = self.deadline();
            if at > now {
                break;
            }
            if let Some((at, (station, packet))) = self.wire_down.pop(at) {
                self.handle(at, Input::Downlink { station, packet }, clock, ports);
            } else if let Some((at, packet)) = self.wire_up.pop(at) {
                self.statistics.on_lag(clock.now().saturating_since(at));
                ports.wired.write(&packet);
            } else if self.mac.deadline().is_some_and(|due| due <= at) {
                self.handle(at, Input::Tick, clock, ports);
            } else {
                let mac = &mut self.mac;
                self.statistics.end_slot(|station| (mac.queued(station), mac.take_queue_peak(station)));
            }
        }
        ports.wired.flush();
    }

    /// One input to the cell, and what comes of it.
    fn handle(&mut self, at: Time, input: Input<EmulatedPacket>, clock: &Clock, ports: &mut Ports) {
        let at = self.at_least(at);
        self.reached = at;
        self.mac.handle(at, input);
        let mut any = false;
        while let Some(output) = self.mac.poll() {
            any |= matches!(output, Output::Delivered { .. });
            self.act(output, clock, ports);
        }
        if any {
            ports.flush_stations();
        }
    }

    fn act(&mut self, output: Output<EmulatedPacket>, clock: &Clock, ports: &mut Ports) {
        match output {
            Output::Frame(frame) => {
                // The shorter of two frames that collided becomes known at the end of the longer: that is not late.
                if !frame.collided {
                    self.statistics.on_lag(clock.now().saturating_since(frame.end));
                }
                self.statistics.on_frame(&frame);
                self.observer.on_frame(&frame);
                self.frame = Some(frame);
            }
            Output::Heard { mpdu, packet } => self.show(&mpdu, &packet, ports),
            Output::Delivered { at, mpdu, packet } => {
                self.statistics.on_delivered(mpdu.station, mpdu.direction, packet.bytes());
                self.deliver(at, &mpdu, packet, ports);
            }
            Output::Dropped { at, station, direction, reason, .. } => {
                self.statistics.on_dropped(station, direction, reason);
                self.observer.on_dropped(at, station, direction, reason);
            }
        }
    }

    fn show(&mut self, mpdu: &Mpdu, packet: &EmulatedPacket, ports: &mut Ports) {
        if mpdu.direction != Direction::Down {
            return;
        }
        let monitor = ports.stations.get(mpdu.station.index()).and_then(|s| s.monitor.as_ref());
        if let (Some(writer), Some(frame), Some(tun)) = (&mut self.monitor, &self.frame, monitor) {
            self.statistics.stray.unheard += u64::from(!writer.show(frame, mpdu, packet, tun));
        }
    }

    /// Down to the station's kernel; up to the wire, or back into the air if it is for another station.
    fn deliver(&mut self, at: Time, mpdu: &Mpdu, packet: EmulatedPacket, ports: &mut Ports) {
        if mpdu.direction == Direction::Down {
            if let Some(station) = ports.stations.get_mut(mpdu.station.index()) {
                station.wlan.write(&packet);
                station.dirty = true;
            }
            return;
        }
        match station_of(packet.as_slice(), ports.stations.len()) {
            // The cell takes it at the time it has reached, which is the end of the frame or a little later.
            Some(index) => {
                let input = Input::Downlink { station: StationId::from_index(index), packet };
                self.mac.handle(self.at_least(at), input);
            }
            None => self.wire_up.push(at, packet),
        }
    }
}
