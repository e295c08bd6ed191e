//! The event loop: real packets and real time on one side, the sans-IO cell on the other.

use crate::address::station_of;
use crate::cell::{Cell, Ports};
use crate::config::{EmulatorConfig, EmulatorError};
use crate::network::{Devices, Network};
use crate::port::{Read, ReadBuffers};
use crate::statistics::Statistics;
use airpace_net::clock::Clock;
use airpace_net::poll::{Interest, Poller};
use airpace_net::tun::Tun;
use airpace_sim::mac::{Direction, DropReason, FrameRecord, Input};
use airpace_units::{StationId, Time};
use nix::sys::eventfd::EventFd;
use std::io;
use std::sync::Arc;

/// Observes the events of the cell. It is called in the emulator's thread, so it must be quick and
/// must not block.
pub trait Observer: Send {
    /// A frame has left the air. Its times are on the emulator's clock.
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
    buffers: ReadBuffers,
}

/// Token of the file that becomes readable when the loop is to stop. Stations have tokens from zero
/// on.
const STOP: u64 = u64::MAX;

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
        clock: Clock,
    ) -> Result<Self, EmulatorError> {
        let poller = Poller::new()?;
        poller.add(stop, STOP, Interest::Read)?;
        poller.add(&devices.wired, WIRED, Interest::Read)?;
        for (token, station) in (0..).zip(&devices.stations) {
            poller.add(&station.wlan, token, Interest::Read)?;
        }
        Ok(Self {
            clock,
            poller,
            network,
            ports: Ports::new(devices, config.join),
            cell: Cell::new(config, observer)?,
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
        statistics
    }

    /// Puts packets from the server on the wire.
    fn read_wired(&mut self) -> io::Result<()> {
        let stations = self.ports.stations.len();
        for _ in 0..READS_PER_TURN {
            let now = self.cell.logical_time(self.clock.now());
            let wire = &mut self.cell.wire_down;
            let mut unroutable = 0;
            let read = self.ports.wired.read(&mut self.buffers, |packet| {
                match station_of(packet.as_slice(), stations) {
                    Some(station) => wire.push(now, (StationId::from_index(station), packet)),
                    None => unroutable += 1,
                }
            });
            match read {
                Ok(Read::Nothing) => break,
                Ok(Read::Packets { malformed }) => {
                    self.cell.statistics.stray.unroutable += unroutable + malformed;
                }
                Err(error) => return self.give_up(&self.ports.wired.tun, &error),
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
                let input = Input::up(station, packet);
                self.cell
                    .handle_now(now, input, &self.clock, &mut self.ports);
            }
            self.cell.arrivals = packets;
            match read {
                Ok(Read::Nothing) => break,
                Ok(Read::Packets { malformed }) => {
                    self.cell.statistics.stray.unroutable += malformed;
                }
                Err(error) => {
                    return self.give_up(&self.ports.stations[index].wlan.tun, &error);
                }
            }
        }
        Ok(())
    }

    /// Stops listening to a device that cannot be read, because somebody has removed its interface
    /// or taken it down. The rest of the cell goes on.
    fn give_up(&self, tun: &Tun, error: &io::Error) -> io::Result<()> {
        tracing::warn!(interface = tun.name(), %error, "the interface cannot be read any more");
        self.poller.remove(tun)
    }
}
