//! The event loop: real packets and real time on one side, the sans-IO cell on the other.

use crate::cell::{Cell, Ports};
use crate::config::{EmulatorConfig, EmulatorError};
use crate::monitor::Monitors;
use crate::network::{Devices, Network};
use crate::port::{Device, Read, ReadBuffers};
use crate::remote::{Change, Changes};
use crate::statistics::Statistics;
use airpace_net::clock::Clock;
use airpace_net::poll::{Interest, Poller};
use airpace_net::tun::Tun;
use airpace_sim::mac::{Direction, DropReason, FrameRecord};
use airpace_units::{StationId, Time};
use core::cell::RefCell;
use nix::sys::eventfd::EventFd;
use std::io;
use std::rc::Rc;
use std::sync::Arc;

/// Observes the events of the cell. It is called in the emulator's thread, so it must be quick and
/// must not block.
pub trait Observer: Send {
    /// A frame has left the air. Its times are on the emulator's clock. Frames for all stations
    /// count as those of the station behind the last.
    fn on_frame(&mut self, frame: &FrameRecord);
    /// A packet has been dropped.
    fn on_dropped(
        &mut self,
        at: Time,
        station: StationId,
        direction: Direction,
        reason: DropReason,
    );
}

/// Ignores all events.
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
    network: Arc<Network>,
    ports: Ports,
    /// The cell of each access point.
    cells: Vec<Cell>,
    /// Index of the access point of each station.
    home: Vec<usize>,
    changes: Arc<Changes>,
    buffers: ReadBuffers,
}

/// Token of the file that becomes readable when the loop is to stop. Stations have tokens from zero
/// on.
const STOP: u64 = u64::MAX;

/// Token of the changes that other threads ask for.
const CHANGES: u64 = u64::MAX - 1;

/// Token of the wired side of the first access point; those of the others are below.
const WIRED: u64 = u64::MAX - 2;

/// Tokens above this are not those of stations.
const STATIONS_END: u64 = u64::MAX - 100;

/// Most super-packets that are read from one device before the cell's events have their turn. Each
/// takes about 10 µs.
const READS_PER_TURN: usize = 4;

impl Engine {
    pub(crate) fn new(
        config: &EmulatorConfig,
        network: Arc<Network>,
        devices: Devices,
        observer: Box<dyn Observer>,
        stop: &EventFd,
        changes: Arc<Changes>,
        clock: Clock,
    ) -> Result<Self, EmulatorError> {
        let poller = Poller::new()?;
        poller.add(stop, STOP, Interest::Read)?;
        poller.add(&*changes, CHANGES, Interest::Read)?;
        for (index, wired) in (0..).zip(&devices.wired) {
            poller.add(wired, WIRED - index, Interest::Read)?;
        }
        for (token, station) in (0..).zip(&devices.stations) {
            poller.add(station, token, Interest::Read)?;
        }
        let interfaces = devices.monitors.into_iter().map(|tun| tun.map(Rc::new));
        let interfaces: Vec<Option<Rc<Tun>>> = interfaces.collect();
        let observer = Rc::new(RefCell::new(observer));
        let mut cells = Vec::new();
        for (index, air) in devices.air.into_iter().enumerate() {
            let monitors = Monitors::new(config, index, interfaces.clone(), air);
            cells.push(Cell::new(config, index, monitors, Rc::clone(&observer))?);
        }
        let mut home = config.home.clone();
        home.resize(config.cell.stations.len(), 0);
        Ok(Self {
            clock,
            poller,
            network,
            ports: Ports::new(devices.wired, devices.stations, config.join),
            cells,
            home,
            changes,
            buffers: ReadBuffers::new(),
        })
    }

    /// Runs until it is told to stop.
    pub(crate) fn run(mut self) -> Result<Statistics, EmulatorError> {
        loop {
            let deadline = self.cells.iter().map(Cell::deadline).min();
            self.poller.wait(&self.clock, deadline)?;
            // What was due before the packets were read happens before them.
            self.advance();
            let tokens: Vec<u64> = self.poller.ready().map(|ready| ready.token).collect();
            for token in tokens {
                match token {
                    STOP => return Ok(self.finish()),
                    CHANGES => self.make_changes(),
                    wired if wired > STATIONS_END => self.read_wired((WIRED - wired) as usize)?,
                    station => self.read_station(station as usize)?,
                }
            }
        }
    }

    /// Lets everything happen in all cells that is due.
    fn advance(&mut self) {
        for cell in &mut self.cells {
            cell.advance(self.clock.now(), &self.clock, &mut self.ports);
        }
    }

    /// Completes the statistics.
    fn finish(mut self) -> Statistics {
        self.advance();
        let mut cells = self.cells.into_iter();
        let first = cells.next().expect("there is a first access point");
        let mut statistics = first.statistics;
        for cell in cells {
            statistics.add(cell.statistics);
        }
        statistics.stray.refused = self.ports.refused();
        // The devices still exist, so the kernel can be asked what they have dropped.
        match self.network.overflowed() {
            Ok(packets) => statistics.stray.overflowed = packets,
            Err(error) => {
                tracing::warn!(%error, "cannot read the kernel's drop counters");
            }
        }
        for wired in &self.ports.wired {
            match wired.device.unread() {
                Ok(packets) => statistics.stray.overflowed += packets,
                Err(error) => tracing::warn!(%error, "cannot read the socket's drop counter"),
            }
        }
        statistics
    }

    fn make_changes(&mut self) {
        for change in self.changes.take() {
            let now = self.clock.now();
            let station = change.station();
            let Some(&home) = self.home.get(station.index()) else {
                continue;
            };
            let Change::Roam(_, to) = change else {
                self.cells[home].change(now, change, &self.clock, &mut self.ports);
                continue;
            };
            if to == home || to >= self.cells.len() {
                continue;
            }
            self.cells[home].advance(now, &self.clock, &mut self.ports);
            self.cells[home].release(station);
            self.home[station.index()] = to;
            let join = Change::Join(station);
            self.cells[to].change(now, join, &self.clock, &mut self.ports);
            self.cells[to].announce(now, station);
        }
    }

    /// Puts packets from the server on the wire to an access point.
    fn read_wired(&mut self, index: usize) -> io::Result<()> {
        for _ in 0..READS_PER_TURN {
            let cell = &mut self.cells[index];
            let now = cell.logical_time(self.clock.now());
            let read = self.ports.wired[index].read(&mut self.buffers, |packet| {
                cell.on_wired_packet(now, packet);
            });
            match read {
                Ok(Read::Nothing) => break,
                Ok(Read::Packets { malformed }) => {
                    cell.statistics.stray.unroutable += malformed;
                }
                Err(error) => return self.give_up(&self.ports.wired[index].device, &error),
            }
        }
        Ok(())
    }

    /// Passes packets from a station to its MAC, where they wait for the air.
    fn read_station(&mut self, index: usize) -> io::Result<()> {
        let station = StationId::from_index(index);
        let cell = &mut self.cells[self.home[index]];
        for _ in 0..READS_PER_TURN {
            let now = cell.logical_time(self.clock.now());
            let mut packets = core::mem::take(&mut cell.arrivals);
            let read = self.ports.stations[index]
                .wlan
                .read(&mut self.buffers, |packet| packets.push(packet));
            for packet in packets.drain(..) {
                cell.on_station_packet(now, station, packet, &self.clock, &mut self.ports);
            }
            cell.arrivals = packets;
            match read {
                Ok(Read::Nothing) => break,
                Ok(Read::Packets { malformed }) => {
                    cell.statistics.stray.unroutable += malformed;
                }
                Err(error) => {
                    return self.give_up(&self.ports.stations[index].wlan.device, &error);
                }
            }
        }
        Ok(())
    }

    /// Stops listening to a device that cannot be read, because somebody has removed its interface
    /// or taken it down. The rest of the cell goes on.
    fn give_up(&self, device: &Device, error: &io::Error) -> io::Result<()> {
        tracing::warn!(interface = device.name(), %error, "the interface cannot be read any more");
        self.poller.remove(device)
    }
}
