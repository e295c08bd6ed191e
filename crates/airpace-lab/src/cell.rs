//! An emulated cell whose frames are logged.

use crate::bench::saturation::vht80;
use crate::frames::FrameLog;
use airpace_core::phy::RateError;
use airpace_emu::{Emulator, EmulatorConfig, Network, Observer, SERVER, station_address};
use airpace_net::netns::Namespace;
use airpace_sim::mac::{CellConfig, Direction, DropReason, FrameRecord, PathConfig, StationConfig};
use airpace_units::{StationId, Time};
use anyhow::{Context, Result};
use ipnet::Ipv4Net;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A closed access point that buffers `buffer_packets` per station, and stations with VHT at these
/// MCS indices, 80 MHz and one stream.
///
/// # Errors
/// If there is no such MCS.
pub fn closed(mcs: &[u8], buffer_packets: u32, seed: u64) -> Result<EmulatorConfig, RateError> {
    let stations = mcs
        .iter()
        .map(|&mcs| vht80(mcs).map(StationConfig::new))
        .collect::<Result<_, _>>()?;
    let mut cell = CellConfig::new(stations);
    cell.access_point = PathConfig::per_station(buffer_packets as usize);
    Ok(EmulatorConfig::new(cell, seed))
}

/// The bridge in the box of a cell that carries Ethernet frames.
pub(crate) const BRIDGE: &str = "br0";

/// The monitor interface of a radio near the access point, in the box.
pub(crate) const AIR: &str = "air0";

/// An address for the box, which agents on the stations can reach.
pub(crate) const BOX_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);

/// Length of the prefix of [`BOX_ADDRESS`], which server and stations share.
const BOX_PREFIX: u8 = 24;

/// A running emulated cell. Dropping it ends it.
#[derive(Debug)]
pub struct Cell {
    emulator: Emulator,
    log: Arc<Mutex<Option<FrameLog>>>,
    stations: usize,
    slot: Duration,
}

/// The records of a cell that has ended.
#[derive(Debug)]
pub struct CellRecord {
    /// Its frames since the recording began.
    pub frames: FrameLog,
    /// 99th percentile of the emulator's lateness against its own clock.
    pub lag_p99: Duration,
    /// Whether the emulator itself trusts the run.
    pub trusted: bool,
    /// The emulator's warnings about the run.
    pub warnings: Vec<String>,
}

impl Cell {
    /// Starts the cell. From [`Cell::record_from_now`] on its frames are logged in slots of length
    /// `slot`.
    ///
    /// # Errors
    /// If the cell is impossible, or namespaces or TUN devices cannot be created.
    pub fn start(config: EmulatorConfig, slot: Duration) -> Result<Self> {
        let stations = config.cell.stations.len();
        let log = Arc::new(Mutex::new(None));
        let emulator = Emulator::start(config, Logger(Arc::clone(&log)))
            .context("starting the emulated access point")?;
        Ok(Self {
            emulator,
            log,
            stations,
            slot,
        })
    }

    /// Discards the log and counts slots from now on.
    pub fn record_from_now(&self) {
        let log = FrameLog::new(self.stations, self.emulator.clock().now(), self.slot);
        *lock(&self.log) = Some(log);
    }

    /// The time on the cell's clock.
    pub(crate) fn now(&self) -> Time {
        self.emulator.clock().now()
    }

    /// The namespaces and monitors of the cell.
    pub(crate) fn network(&self) -> &Network {
        self.emulator.network()
    }

    /// The namespace of the wired server.
    #[must_use]
    pub fn server(&self) -> &Namespace {
        self.emulator.network().server()
    }

    /// The address of the wired server.
    #[must_use]
    pub fn server_address(&self) -> IpAddr {
        SERVER.into()
    }

    /// The namespace of a station.
    #[must_use]
    pub fn station(&self, index: usize) -> &Namespace {
        self.emulator.network().station(index)
    }

    /// The address of a station.
    #[must_use]
    pub fn station_address(&self, index: usize) -> IpAddr {
        station_address(index).into()
    }

    /// The namespace of the box between server and access point.
    ///
    /// # Errors
    /// If the cell does not carry Ethernet frames.
    pub fn box_namespace(&self) -> Result<&Namespace> {
        let namespace = self.emulator.network().box_namespace();
        namespace.context("only cells that carry Ethernet frames have a box")
    }

    /// Gives the box's bridge an address that server and stations can reach.
    pub(crate) fn address_the_bridge(&self) -> Result<()> {
        let address = Ipv4Net::new_assert(BOX_ADDRESS, BOX_PREFIX);
        let mut link = self.box_namespace()?.netlink()?;
        link.add_address(BRIDGE, address.into())
            .context("giving the box an address")
    }

    /// The emulator, by which stations leave, join and roam.
    pub(crate) const fn emulator(&self) -> &Emulator {
        &self.emulator
    }

    /// Stops the cell and returns its records.
    ///
    /// # Errors
    /// If the emulator has failed.
    pub fn finish(self) -> Result<CellRecord> {
        let report = self.emulator.stop().context("the emulated access point")?;
        for station in &report.stations {
            tracing::debug!(station = station.station, down = ?station.down, up = ?station.up, "totals of the whole run");
        }
        tracing::debug!(stray = ?report.stray, lag = ?report.lag, "totals of the whole run");
        let frames = lock(&self.log).take();
        Ok(CellRecord {
            frames: frames.unwrap_or_else(|| FrameLog::new(self.stations, Time::ZERO, self.slot)),
            lag_p99: Duration::from_secs_f64(report.lag.p99_ms.max(0.0) / 1e3),
            trusted: report.trusted,
            warnings: report.warnings,
        })
    }
}

/// Passes frames and drops to the log. The lock is held for nanoseconds only, so that the emulator
/// does not wait.
struct Logger(Arc<Mutex<Option<FrameLog>>>);

impl Observer for Logger {
    fn on_frame(&mut self, frame: &FrameRecord) {
        if let Some(log) = lock(&self.0).as_mut() {
            log.on_frame(frame);
        }
    }

    fn on_dropped(
        &mut self,
        at: Time,
        station: StationId,
        direction: Direction,
        _reason: DropReason,
    ) {
        if direction == Direction::Down
            && let Some(log) = lock(&self.0).as_mut()
        {
            log.on_drop(station, at);
        }
    }
}

/// The log stays usable after a writer has panicked.
fn lock(log: &Mutex<Option<FrameLog>>) -> MutexGuard<'_, Option<FrameLog>> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}
