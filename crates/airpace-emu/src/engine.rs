//! The event loop: real packets and real time on one side, the sans-IO cell on the other.

use crate::cell::{Cell, Ports};
use crate::config::{EmulatorConfig, EmulatorError};
use crate::monitor::Monitors;
use crate::network::{Devices, Network};
use crate::port::{Device, Read, ReadBuffers};
use crate::remote::Changes;
use crate::statistics::Statistics;
use airpace_net::clock::Clock;
use airpace_net::poll::{Interest, Poller};
use airpace_sim::mac::{Direction, DropReason, FrameRecord};
use airpace_units::{StationId, Time};
use nix::sys::eventfd::EventFd;
use std::io;
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
    cell: Cell,
    changes: Arc<Changes>,
    buffers: ReadBuffers,
}

/// Token of the file that becomes readable when the loop is to stop. Stations have tokens from zero
/// on.
const STOP: u64 = u64::MAX;

/// Token of the changes that other threads ask for.
const CHANGES: u64 = u64::MAX - 2;

/// Token of the device on the wired side.
const WIRED: u64 = u64::MAX - 1;

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
        poller.add(&devices.wired, WIRED, Interest::Read)?;
        for (token, station) in (0..).zip(&devices.stations) {
            poller.add(station, token, Interest::Read)?;
        }
        let monitors = Monitors::new(config, devices.monitors, devices.air);
        Ok(Self {
            clock,
            poller,
            network,
            ports: Ports::new(devices.wired, devices.stations, config.join),
            cell: Cell::new(config, monitors, observer)?,
            changes,
            buffers: ReadBuffers::new(),
        })
    }

    /// Runs until it is told to stop.
    pub(crate) fn run(mut self) -> Result<Statistics, EmulatorError> {
        loop {
            let deadline = self.cell.deadline();
            self.poller.wait(&self.clock, Some(deadline))?;
            // What was due before the packets were read happens before them.
            self.cell
                .advance(self.clock.now(), &self.clock, &mut self.ports);
            let tokens: Vec<u64> = self.poller.ready().map(|ready| ready.token).collect();
            for token in tokens {
                match token {
                    STOP => return Ok(self.finish()),
                    CHANGES => self.make_changes(),
                    WIRED => self.read_wired()?,
                    station => self.read_station(station as usize)?,
                }
            }
        }
    }

    /// Completes the statistics.
    fn finish(mut self) -> Statistics {
        self.cell
            .advance(self.clock.now(), &self.clock, &mut self.ports);
        let mut statistics = self.cell.statistics;
        statistics.stray.refused = self.ports.refused();
        // The devices still exist, so the kernel can be asked what they have dropped.
        match self.network.overflowed() {
            Ok(packets) => statistics.stray.overflowed = packets,
            Err(error) => {
                tracing::warn!(%error, "cannot read the kernel's drop counters");
            }
        }
        match self.ports.wired.device.unread() {
            Ok(packets) => statistics.stray.overflowed += packets,
            Err(error) => tracing::warn!(%error, "cannot read the socket's drop counter"),
        }
        statistics
    }

    fn make_changes(&mut self) {
        for change in self.changes.take() {
            self.cell
                .change(self.clock.now(), change, &self.clock, &mut self.ports);
        }
    }

    /// Puts packets from the server on the wire.
    fn read_wired(&mut self) -> io::Result<()> {
        for _ in 0..READS_PER_TURN {
            let now = self.cell.logical_time(self.clock.now());
            let cell = &mut self.cell;
            let read = self.ports.wired.read(&mut self.buffers, |packet| {
                cell.on_wired_packet(now, packet);
            });
            match read {
                Ok(Read::Nothing) => break,
                Ok(Read::Packets { malformed }) => {
                    self.cell.statistics.stray.unroutable += malformed;
                }
                Err(error) => return self.give_up(&self.ports.wired.device, &error),
            }
        }
        Ok(())
    }

    /// Passes packets from a station to its MAC, where they wait for the air.
    fn read_station(&mut self, index: usize) -> io::Result<()> {
        let station = StationId::from_index(index);
        for _ in 0..READS_PER_TURN {
            let now = self.cell.logical_time(self.clock.now());
            let mut packets = core::mem::take(&mut self.cell.arrivals);
            let read = self.ports.stations[index]
                .wlan
                .read(&mut self.buffers, |packet| packets.push(packet));
            for packet in packets.drain(..) {
                self.cell
                    .on_station_packet(now, station, packet, &self.clock, &mut self.ports);
            }
            self.cell.arrivals = packets;
            match read {
                Ok(Read::Nothing) => break,
                Ok(Read::Packets { malformed }) => {
                    self.cell.statistics.stray.unroutable += malformed;
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
