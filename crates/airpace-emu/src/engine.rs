//! The loop: real packets and real time on one side, the sans-IO cell on the other.

use crate::address::station_of;
use crate::cell::{Cell, Ports};
use crate::config::{EmulatorConfig, EmulatorError};
use crate::control::Control;
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
use std::sync::mpsc::{Receiver, TryRecvError};

/// Sees what happens in the cell, in the emulator's thread: it must be quick and must not block.
pub trait Observer: Send {
    /// A frame has left the air; times are on the emulator's clock.
    fn on_frame(&mut self, frame: &FrameRecord);
    /// A packet is gone.
    fn on_dropped(
        &mut self,
        at: Time,
        station: StationId,
        direction: Direction,
        reason: DropReason,
    );
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
    network: Arc<Network>,
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
        (network, devices): (Arc<Network>, Devices),
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
        Ok(Self {
            clock,
            poller,
            network,
            ports,
            cell,
            buffers: ReadBuffers::new(),
            control,
            bell,
        })
    }

    /// Runs until told to stop.
    pub(crate) fn run(mut self) -> Result<Statistics, EmulatorError> {
        loop {
            let deadline = self.cell.deadline();
            self.poller.wait(&self.clock, Some(deadline))?;
            self.cell
                .advance(self.clock.now(), &self.clock, &mut self.ports);
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
                Ok(control) => {
                    let now = self.clock.now();
                    control
                        .inputs()
                        .for_each(|input| self.cell.take(now, input, &self.clock, &mut self.ports));
                }
                Err(TryRecvError::Empty) => return Order::GoOn,
                Err(TryRecvError::Disconnected) => return Order::Stop,
            }
        }
    }

    /// The devices are still there: what they have dropped can be read.
    fn finish(mut self) -> Statistics {
        self.cell
            .advance(self.clock.now(), &self.clock, &mut self.ports);
        let mut statistics = self.cell.statistics;
        statistics.stray.refused = self.ports.refused();
        match self.network.overflowed() {
            Ok(packets) => statistics.stray.overflowed = packets,
            Err(error) => {
                tracing::warn!(%error, "whether the system dropped packets unread is not known")
            }
        }
        statistics
    }

    /// Packets from the server start on the wire.
    fn read_wired(&mut self) -> io::Result<()> {
        for _ in 0..READS_PER_TURN {
            let now = self.cell.at_least(self.clock.now());
            let (cell, buffers) = (&mut self.cell, &mut self.buffers);
            let stations = self.ports.stations.len();
            let (mut unroutable, wire) = (0, &mut cell.wire_down);
            let read = self.ports.wired.read(buffers, |packet| {
                match station_of(packet.as_slice(), stations) {
                    Some(station) => wire.push(now, (StationId::from_index(station), packet)),
                    None => unroutable += 1,
                }
            });
            let Some(malformed) = self.done(read, WIRED)? else {
                return Ok(());
            };
            self.cell.statistics.stray.unroutable += unroutable + malformed;
        }
        Ok(())
    }

    /// Packets from a station wait for the air.
    fn read_station(&mut self, index: usize) -> io::Result<()> {
        for _ in 0..READS_PER_TURN {
            let now = self.cell.at_least(self.clock.now());
            let mut packets = core::mem::take(&mut self.cell.arrivals);
            let read = self.ports.stations[index]
                .wlan
                .read(&mut self.buffers, |packet| packets.push(packet));
            let station = StationId::from_index(index);
            for packet in packets.drain(..) {
                self.cell.take(
                    now,
                    Input::up(station, packet),
                    &self.clock,
                    &mut self.ports,
                );
            }
            self.cell.arrivals = packets;
            let Some(malformed) = self.done(read, index as u64)? else {
                return Ok(());
            };
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
                let tun: &Tun = if token == WIRED {
                    &self.ports.wired.tun
                } else {
                    &self.ports.stations[token as usize].wlan.tun
                };
                tracing::warn!(interface = tun.name(), %error, "the interface cannot be read and is given up");
                self.poller.remove(tun)?;
                Ok(None)
            }
        }
    }
}
