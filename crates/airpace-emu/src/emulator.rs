//! A running cell.

use crate::config::{EmulatorConfig, EmulatorError};
use crate::engine::{Engine, Observer};
use crate::network::{self, Network};
use crate::remote::{Change, Changes};
use crate::statistics::{RunDescription, Statistics};
use airpace_api::emulation::EmulationReport;
use airpace_core::phy::TxRate;
use airpace_net::clock::Clock;
use airpace_net::realtime;
use airpace_units::{StationId, Time};
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// A running cell. Dropping the value stops the cell.
#[derive(Debug)]
pub struct Emulator {
    network: Arc<Network>,
    clock: Clock,
    seed: u64,
    access_point: String,
    /// Readable once the loop is to stop.
    stop: Arc<EventFd>,
    changes: Arc<Changes>,
    /// `None` once the thread has been joined.
    thread: Option<JoinHandle<Result<FinishedRun, EmulatorError>>>,
}

/// What the loop leaves when it has been stopped.
struct FinishedRun {
    statistics: Statistics,
    end: Time,
    realtime: RealtimePriority,
}

/// Whether the emulator's thread has real-time priority.
enum RealtimePriority {
    NotRequested,
    Granted,
    /// The system's reason.
    Refused(String),
}

impl Emulator {
    /// Creates the namespaces and devices, and starts the event loop in a thread of its own.
    ///
    /// # Errors
    /// What is wrong with the configuration ([`EmulatorError::is_bad_input`]), or what the system
    /// refuses. `main` should call [`airpace_net::netns::acquire_rights`] first.
    pub fn start(
        config: EmulatorConfig,
        observer: impl Observer + 'static,
    ) -> Result<Self, EmulatorError> {
        config.validate()?;
        let (network, devices) = network::create(&config)?;
        let network = Arc::new(network);
        let flags = EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC;
        let stop = EventFd::from_value_and_flags(0, flags).map_err(std::io::Error::from)?;
        let stop = Arc::new(stop);
        let changes = Arc::new(Changes::new()?);
        let loop_changes = Arc::clone(&changes);
        let (seed, access_point) = (config.seed, config.access_point.clone());
        let clock = Clock::start();
        let (loop_network, loop_stop) = (Arc::clone(&network), Arc::clone(&stop));
        let body = move || {
            let realtime = request_priority(config.realtime);
            let observer = Box::new(observer);
            let engine = Engine::new(
                &config,
                loop_network,
                devices,
                observer,
                &loop_stop,
                loop_changes,
                clock,
            )?;
            Ok(FinishedRun {
                statistics: engine.run()?,
                end: clock.now(),
                realtime,
            })
        };
        let thread = thread::Builder::new().name("emulator".into()).spawn(body)?;
        Ok(Self {
            network,
            clock,
            seed,
            access_point,
            stop,
            changes,
            thread: Some(thread),
        })
    }

    /// Returns the namespaces, to run programs and threads in.
    #[must_use]
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Returns the clock of the cell's times; it was zero at the start.
    #[must_use]
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Returns whether the event loop still runs; it ends early only if it fails.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.thread
            .as_ref()
            .is_some_and(|thread| !thread.is_finished())
    }

    /// Lets a station sleep until [`Emulator::wake`]. The access point first sends what it has in
    /// its queue for the station, and buffers what comes later. The station wakes for every
    /// `listen_interval`-th beacon (102.4 ms; at least 1) and is sent what is buffered; it wakes by
    /// itself to send. Frames for all stations wait for the DTIM while any station sleeps.
    ///
    /// Without beacons ([`airpace_sim::mac::CellConfig::beacons`]), nothing is sent until it wakes.
    /// Does nothing if the station is absent or does not exist.
    pub fn sleep(&self, station: StationId, listen_interval: u16) {
        self.changes.push(Change::Sleep(station, listen_interval));
    }

    /// Wakes a station, which is sent what the access point has buffered.
    pub fn wake(&self, station: StationId) {
        self.changes.push(Change::Wake(station));
    }

    /// Takes a station out of range without notice: frames to it in the access point's queue are not
    /// acknowledged, packets that come later are dropped, and what its kernel sends is lost.
    pub fn leave(&self, station: StationId) {
        self.changes.push(Change::Leave(station));
    }

    /// Brings a station back that has left.
    pub fn join(&self, station: StationId) {
        self.changes.push(Change::Join(station));
    }

    /// Moves a station to another access point, by its index. The new one tells the wired side by a
    /// frame with the station's address. What the previous one has queued for the station is sent
    /// there and lost; what the station has queued still goes out there. Does nothing if there is no
    /// such station or access point.
    pub fn roam(&self, station: StationId, access_point: usize) {
        self.changes.push(Change::Roam(station, access_point));
    }

    /// Changes the rate of a station's frames in both directions.
    pub fn set_rate(&self, station: StationId, rate: TxRate) {
        self.changes.push(Change::SetRate(station, rate));
    }

    /// Changes the probability (0 to 1) that an MPDU to or from a station is lost.
    pub fn set_loss(&self, station: StationId, loss: f64) {
        self.changes.push(Change::SetLoss(station, loss));
    }

    /// Stops the cell and returns its report. The devices are removed then, and the namespaces when
    /// the last program inside ends.
    ///
    /// # Errors
    /// Why the event loop had failed before.
    pub fn stop(mut self) -> Result<EmulationReport, EmulatorError> {
        let finished = self.end_thread().ok_or(EmulatorError::Panicked)??;
        let (realtime, no_realtime) = match finished.realtime {
            RealtimePriority::NotRequested => (false, None),
            RealtimePriority::Granted => (true, None),
            RealtimePriority::Refused(reason) => (false, Some(reason)),
        };
        let (seed, access_point) = (self.seed, core::mem::take(&mut self.access_point));
        let duration = finished.end.since(Time::ZERO);
        Ok(finished.statistics.report(RunDescription {
            seed,
            duration,
            no_realtime,
            realtime,
            access_point,
        }))
    }

    /// Tells the event loop to stop and waits for its end; `None` if it has panicked or has been
    /// stopped before.
    fn end_thread(&mut self) -> Option<Result<FinishedRun, EmulatorError>> {
        // Only a counter of 2^64 - 1 would refuse, and this is written twice at most.
        let _ = self.stop.write(1);
        self.thread.take()?.join().ok()
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.end_thread();
    }
}

/// Asks for real-time priority for the calling thread.
fn request_priority(priority: Option<u8>) -> RealtimePriority {
    match priority.map(realtime::try_fifo) {
        None => RealtimePriority::NotRequested,
        Some(Ok(())) => RealtimePriority::Granted,
        Some(Err(error)) => {
            tracing::debug!(event = "realtime-refused", %error, "no real-time priority");
            RealtimePriority::Refused(error.to_string())
        }
    }
}
