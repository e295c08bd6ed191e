//! The in-line box in front of two emulated access points.

use super::SoakPlan;
use super::announce::{Announcements, Subject};
use super::daemon::Daemon;
use super::pings::{Pinger, echo_socket};
use super::schedule::{Disturbance, Step};
use super::tunnel::{kill_or_start, stop_or_continue};
use super::watch::Figures;
use crate::cell::{Cell, closed};
use crate::demo::inline::port;
use crate::tool::Stop;
use crate::tool::bulk::{self, Receiver, SendConfig};
use airpace_api::config::{ApConfig, EdgeConfig};
use airpace_emu::{AccessPointConfig, EthernetConfig, Monitor};
use airpace_net::netns::Namespace;
use airpace_units::StationId;
use anyhow::{Context, Result, bail};
use std::net::SocketAddr;
use std::path::Path;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// VHT MCS of the stations, 80 MHz and one stream.
const MCS: [u8; 4] = [9, 4, 7, 1];
/// Stations behind the box.
pub(super) const STATIONS: usize = MCS.len();
/// Access points, between which the stations roam.
const ACCESS_POINTS: usize = 2;
/// Packets that an access point buffers for a station.
const BUFFER_PACKETS: u32 = 2_500;
/// Time between two pings to one station.
const PING_INTERVAL: Duration = Duration::from_millis(100);
/// Slots of the emulator's log, which is off.
const SLOT: Duration = Duration::from_millis(100);

/// A download to one station once a minute.
const LOAD_EVERY: Duration = Duration::from_secs(60);
/// When in the minute it begins.
const LOAD_AT: Duration = Duration::from_secs(25);
/// How long it lasts.
const LOAD_FOR: Duration = Duration::from_secs(15);
/// How long a flow may take to connect.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// TCP port of the downloads.
const BULK_PORT: u16 = 7_008;

/// The cell, the box, and pings through it.
pub(super) struct InlinePart {
    // Fields are dropped in this order.
    pinger: Pinger,
    load: Option<JoinHandle<Result<()>>>,
    next_load: Duration,
    loads: usize,
    edge: Daemon,
    cell: Cell,
    /// Index of the access point of each station.
    home: Vec<usize>,
}

impl InlinePart {
    /// Starts the cell, the box and the pings.
    pub(super) fn start(
        plan: &SoakPlan,
        folder: &Path,
        announcements: &Announcements,
    ) -> Result<Self> {
        let home: Vec<usize> = (0..STATIONS).map(|index| index % ACCESS_POINTS).collect();
        let cell = cell(plan.seed, &home)?;
        let access_point = |index| ApConfig {
            ports: vec![port(index)],
            ..ApConfig::default()
        };
        let config = EdgeConfig {
            wan: EthernetConfig::default().lan_port,
            ap: (0..ACCESS_POINTS).map(access_point).collect(),
            ..EdgeConfig::default()
        };
        let edge = Daemon::start(
            &plan.program,
            "edge",
            "edge",
            &config.to_toml(),
            folder,
            cell.box_namespace()?,
        )?;
        let mut echoes = Vec::new();
        let mut addresses = Vec::new();
        for station in 0..STATIONS {
            echoes.push(echo_socket(cell.station(station))?);
            addresses.push(cell.station_address(station));
        }
        let subject: fn(Option<usize>) -> Subject = Subject::Inline;
        let pinger = Pinger::start(
            cell.server(),
            &addresses,
            echoes,
            PING_INTERVAL,
            announcements,
            subject,
        )?;
        Ok(Self {
            pinger,
            load: None,
            next_load: LOAD_AT,
            loads: 0,
            edge,
            cell,
            home,
        })
    }

    pub(super) const fn pings(&self) -> &Pinger {
        &self.pinger
    }

    pub(super) fn edge_figures(&self) -> Option<Figures> {
        self.edge.figures()
    }

    /// Begins or ends a disturbance.
    pub(super) fn disturb(&mut self, what: Disturbance, step: Step) -> Result<()> {
        let begins = matches!(step, Step::Begin { .. });
        let emulator = self.cell.emulator();
        match what {
            Disturbance::KillBox => return kill_or_start(&mut self.edge, begins),
            Disturbance::StopBox => return stop_or_continue(&self.edge, begins),
            Disturbance::LeaveStation(index) if begins => emulator.leave(StationId(index as u32)),
            Disturbance::LeaveStation(index) => emulator.join(StationId(index as u32)),
            Disturbance::RoamStation(index) => {
                self.home[index] = (self.home[index] + 1) % ACCESS_POINTS;
                emulator.roam(StationId(index as u32), self.home[index]);
            }
            other => bail!("{other:?} is not of the in-line box"),
        }
        Ok(())
    }

    /// Downloads to one station after the other.
    pub(super) fn load(&mut self, now: Duration, stop: &Stop) {
        if now < self.next_load {
            return;
        }
        self.next_load += LOAD_EVERY;
        if let Some(done) = self.load.take() {
            join_load(done);
        }
        let station = self.loads % STATIONS;
        self.loads += 1;
        let to = SocketAddr::new(self.cell.station_address(station), BULK_PORT);
        match download(self.cell.server(), self.cell.station(station), to, stop) {
            Ok(thread) => self.load = Some(thread),
            Err(error) => tracing::warn!(%error, "the download was not started"),
        }
    }

    /// Why the box has ended although nobody ended it.
    pub(super) fn ended_by_themselves(&mut self) -> Vec<String> {
        let mut ended: Vec<String> = self.edge.ended_by_itself().into_iter().collect();
        if !self.cell.emulator().is_running() {
            ended.push("the emulated access point ended".to_owned());
        }
        ended
    }

    /// Ends everything; returns what did not end as it should.
    pub(super) fn end(self) -> Vec<String> {
        let Self {
            pinger,
            load,
            mut edge,
            cell,
            ..
        } = self;
        drop(pinger);
        if let Some(load) = load {
            join_load(load);
        }
        let failures = [edge.end().err(), cell.finish().err()];
        let failures = failures.into_iter().flatten();
        failures.map(|error| format!("{error:#}")).collect()
    }
}

fn cell(seed: u64, home: &[usize]) -> Result<Cell> {
    let mut config = closed(&MCS, BUFFER_PACKETS, seed)?.with_ethernet(EthernetConfig {
        bridged: false,
        ..EthernetConfig::default()
    });
    config.monitor = Monitor::Off;
    config.series = false;
    config.home = home.to_vec();
    for index in 1..ACCESS_POINTS {
        config.further_access_points.push(AccessPointConfig {
            port: port(index),
            air: None,
        });
    }
    Cell::start(config, SLOT)
}

/// Starts a download from server to station, which ends by itself.
fn download(
    server: &Namespace,
    station: &Namespace,
    to: SocketAddr,
    stop: &Stop,
) -> Result<JoinHandle<Result<()>>> {
    let receiver = station.run(|| Receiver::bind(to))??;
    let (server, stop) = (server.try_clone()?, stop.clone());
    let run = move || {
        let done = Stop::default();
        std::thread::scope(|scope| {
            let receiving = scope.spawn(|| receiver.run(Instant::now(), &done));
            let config = SendConfig {
                to,
                flows: 1,
                congestion: Some("cubic".to_owned()),
                duration: LOAD_FOR,
                patience: CONNECT_WITHIN,
            };
            let sent = server.run(|| bulk::send(&config, &stop));
            done.raise();
            // A receiver that failed is one that got nothing, and the sender says so.
            let _ = receiving.join();
            sent?.map(drop)
        })
    };
    std::thread::Builder::new()
        .name("download".to_owned())
        .spawn(run)
        .context("starting a thread")
}

/// Downloads may break while the box is away.
fn join_load(load: JoinHandle<Result<()>>) {
    match load.join() {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "a download"),
        Err(_) => tracing::error!("a download panicked"),
    }
}
