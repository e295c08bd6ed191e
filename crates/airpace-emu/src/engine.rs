//! The event loop: real packets and real time on one side, the sans-IO channels on the other.

use crate::channel::{Channel, Ports};
use crate::config::{EmulatorConfig, EmulatorError};
use crate::monitor::Monitors;
use crate::network::{Devices, Network};
use crate::packet::EmulatedPacket;
use crate::port::{Device, Read, ReadBuffers};
use crate::remote::{Change, Changes};
use crate::statistics::Statistics;
use crate::trace::StationMove;
use airpace_net::clock::Clock;
use airpace_net::poll::{Interest, Poller};
use airpace_net::tun::Tun;
use airpace_sim::mac::{Direction, DropReason, FrameRecord};
use airpace_units::{StationId, Time};
use core::cell::RefCell;
use nix::sys::eventfd::EventFd;
use std::collections::VecDeque;
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

/// The channels under a real clock.
pub(crate) struct Engine {
    clock: Clock,
    poller: Poller,
    network: Arc<Network>,
    ports: Ports,
    channels: Vec<Channel>,
    /// The cell of each access point.
    cells: Vec<CellIndex>,
    /// Index of the access point of each station.
    home: Vec<usize>,
    changes: Arc<Changes>,
    /// What stations will do, in the order of time.
    moves: VecDeque<StationMove>,
    /// Packets that may wait for the air at a station before its device is read no more.
    uplink_limit: usize,
    /// Stations whose devices are not read, because enough of their packets wait for the air.
    held_back: Vec<usize>,
    buffers: ReadBuffers,
    /// Reused room for packets that have just been read.
    arrivals: Vec<EmulatedPacket>,
}

/// Where the cell of an access point is.
#[derive(Clone, Copy, Debug)]
struct CellIndex {
    /// Index of its channel.
    channel: usize,
    /// Index among the cells of that channel.
    cell: usize,
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

/// Longest aggregates that may wait for the air at a station: one that is composed at the next
/// access, and one for the access after it, because the loop reads on only after the first. Wi-Fi
/// drivers hold as much (ath9k: two aggregates).
const AGGREGATES_AHEAD: usize = 2;

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
        let mut air = devices.air;
        let mut channels = Vec::new();
        let mut cells = vec![None; config.access_points()];
        for access_points in config.access_points_by_channel() {
            let mut radios = Vec::new();
            for (cell, &access_point) in access_points.iter().enumerate() {
                let channel = channels.len();
                cells[access_point] = Some(CellIndex { channel, cell });
                let radio = air.get_mut(access_point).and_then(Option::take);
                radios.extend(radio.map(|tun| (access_point, tun)));
            }
            let monitors = Monitors::new(config, interfaces.clone(), radios);
            let observer = Rc::clone(&observer);
            channels.push(Channel::new(config, &access_points, monitors, observer)?);
        }
        let stations = 0..config.cell.stations.len();
        Ok(Self {
            clock,
            poller,
            network,
            ports: Ports::new(clock, devices.wired, devices.stations, config.join),
            channels,
            // Every access point is on one channel.
            cells: cells.into_iter().flatten().collect(),
            home: stations.map(|station| config.home_of(station)).collect(),
            changes,
            moves: config.moves.iter().copied().collect(),
            uplink_limit: AGGREGATES_AHEAD * usize::from(config.cell.max_mpdus),
            held_back: Vec::new(),
            buffers: ReadBuffers::new(),
            arrivals: Vec::new(),
        })
    }

    /// Runs until it is told to stop.
    pub(crate) fn run(mut self) -> Result<Statistics, EmulatorError> {
        loop {
            self.poller.wait(&self.clock, self.deadline())?;
            // What was due before the packets were read happens before them.
            self.advance();
            self.make_moves();
            self.read_on()?;
            let tokens: Vec<u64> = self.poller.ready().map(|ready| ready.token).collect();
            for token in tokens {
                match token {
                    STOP => return Ok(self.finish()),
                    CHANGES => self.make_changes(),
                    wired if wired > STATIONS_END => self.read_wired((WIRED - wired) as usize)?,
                    // The devices of stations that have just been held back are read later.
                    station if self.held_back.contains(&(station as usize)) => {}
                    station => self.read_station(station as usize)?,
                }
            }
        }
    }

    /// Returns when something happens next by itself.
    fn deadline(&self) -> Option<Time> {
        let events = self.channels.iter().map(Channel::deadline);
        events.chain(self.moves.front().map(|next| next.at)).min()
    }

    /// Lets everything happen on all channels that is due.
    fn advance(&mut self) {
        for channel in &mut self.channels {
            channel.advance(self.clock.now(), &mut self.ports);
        }
    }

    /// Completes the statistics.
    fn finish(mut self) -> Statistics {
        self.advance();
        let mut channels = self.channels.into_iter();
        let first = channels.next().expect("there is a first access point");
        let mut statistics = first.into_statistics();
        for channel in channels {
            statistics.add(channel.into_statistics());
        }
        statistics.stray.refused = self.ports.refused();
        // The devices still exist, so the kernel can be asked what they have dropped.
        match self.network.overflowed() {
            Ok(packets) => statistics.stray.overflowed = packets,
            Err(error) => {
                tracing::warn!(event = "counters-unreadable", %error, "cannot read the kernel's drop counters");
            }
        }
        match self.network.held_back() {
            Ok(packets) => statistics.stray.held_back = packets,
            Err(error) => {
                tracing::warn!(event = "counters-unreadable", %error, "cannot read the kernel's drop counters");
            }
        }
        for wired in &self.ports.wired {
            match wired.device.unread() {
                Ok(packets) => statistics.stray.overflowed += packets,
                Err(error) => {
                    tracing::warn!(event = "counters-unreadable", %error, "cannot read the socket's drop counter")
                }
            }
        }
        statistics
    }

    /// Lets stations sleep, leave, come back and roam whose time has come.
    fn make_moves(&mut self) {
        while let Some(due) = self.moves.front()
            && due.at <= self.clock.now()
        {
            let change = Change::from(*due);
            self.moves.pop_front();
            self.make_change(change);
        }
    }

    /// Makes the changes that other threads have asked for.
    fn make_changes(&mut self) {
        for change in self.changes.take() {
            self.make_change(change);
        }
    }

    fn make_change(&mut self, change: Change) {
        let now = self.clock.now();
        let station = change.station();
        let Some(&home) = self.home.get(station.index()) else {
            return;
        };
        let CellIndex { channel, cell } = self.cells[home];
        let Change::Roam(_, to) = change else {
            self.channels[channel].change(now, cell, change, &mut self.ports);
            return;
        };
        if to == home || to >= self.cells.len() {
            return;
        }
        let left = &mut self.channels[channel];
        left.advance(now, &mut self.ports);
        left.release(cell, station);
        self.home[station.index()] = to;
        let CellIndex { channel, cell } = self.cells[to];
        let joined = &mut self.channels[channel];
        joined.change(now, cell, Change::Join(station), &mut self.ports);
        joined.announce(now, cell, station);
    }

    /// Puts packets from the server on the wire to an access point.
    fn read_wired(&mut self, access_point: usize) -> io::Result<()> {
        let CellIndex { channel, cell } = self.cells[access_point];
        let channel = &mut self.channels[channel];
        let port = &self.ports.wired[access_point];
        for _ in 0..READS_PER_TURN {
            let now = channel.logical_time(self.clock.now());
            let read = port.read(&mut self.buffers, |packet| {
                channel.on_wired_packet(now, cell, packet);
            });
            match read {
                Ok(Read::Nothing) => break,
                Ok(Read::Packets { malformed }) => channel.count_malformed(cell, malformed),
                Err(error) => return self.give_up(&port.device, &error),
            }
        }
        Ok(())
    }

    /// Passes packets from a station to its MAC, where they wait for the air. While enough of them
    /// wait, the device is not read, so that its queue fills and the kernel holds its senders back.
    fn read_station(&mut self, index: usize) -> io::Result<()> {
        let station = StationId::from_index(index);
        let CellIndex { channel, cell } = self.cells[self.home[index]];
        let channel = &mut self.channels[channel];
        for _ in 0..READS_PER_TURN {
            if channel.uplink_queue(cell, station) >= self.uplink_limit {
                self.held_back.push(index);
                return self.poller.remove(&self.ports.stations[index].wlan.device);
            }
            let now = channel.logical_time(self.clock.now());
            let arrivals = &mut self.arrivals;
            let port = &self.ports.stations[index].wlan;
            let read = port.read(&mut self.buffers, |packet| arrivals.push(packet));
            for packet in self.arrivals.drain(..) {
                channel.on_station_packet(now, cell, station, packet, &mut self.ports);
            }
            match read {
                Ok(Read::Nothing) => break,
                Ok(Read::Packets { malformed }) => channel.count_malformed(cell, malformed),
                Err(error) => {
                    return self.give_up(&self.ports.stations[index].wlan.device, &error);
                }
            }
        }
        Ok(())
    }

    /// Reads the devices of stations again whose packets have left for the air.
    fn read_on(&mut self) -> io::Result<()> {
        let mut waiting = 0;
        while let Some(&index) = self.held_back.get(waiting) {
            let CellIndex { channel, cell } = self.cells[self.home[index]];
            let station = StationId::from_index(index);
            if self.channels[channel].uplink_queue(cell, station) >= self.uplink_limit {
                waiting += 1;
                continue;
            }
            self.held_back.swap_remove(waiting);
            let device = &self.ports.stations[index].wlan.device;
            self.poller.add(device, index as u64, Interest::Read)?;
            // It may be held back again, behind those that are still to be asked.
            self.read_station(index)?;
        }
        Ok(())
    }

    /// Stops listening to a device that cannot be read, because somebody has removed its interface
    /// or taken it down. The rest of the cell goes on.
    fn give_up(&self, device: &Device, error: &io::Error) -> io::Result<()> {
        tracing::warn!(event = "interface-unreadable", interface = device.name(), %error, "the interface cannot be read any more");
        self.poller.remove(device)
    }
}
