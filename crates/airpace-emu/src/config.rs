//! What to emulate, and why it can fail.

use airpace_net::netns::NamespaceError;
use airpace_net::tun::TunError;
use airpace_sim::mac::{CellConfig, ConfigError, PathConfig, Scheme};
use airpace_sim::rng;
use core::time::Duration;
use std::io;

pub use crate::address::MAX_STATIONS;

/// Configuration of an emulated cell.
#[derive(Clone, Debug)]
pub struct EmulatorConfig {
    /// The cell, as the simulator takes it. Its `monitor` is replaced according to
    /// [`EmulatorConfig::monitor`].
    pub cell: CellConfig,
    /// Seed of backoff and losses.
    pub seed: u64,
    /// Name of the access point's queueing scheme in the report (default `per-station`).
    pub access_point: String,
    /// Delay between server and access point, each way (default 1 ms).
    pub wired_delay: Duration,
    /// What the stations' monitor interfaces show (default [`Monitor::Whole`]).
    pub monitor: Monitor,
    /// Whether packets of a flow that arrive in one frame are joined for the kernel, as drivers
    /// with GRO do (default yes). TCP receivers then acknowledge less often, and a UDP socket that
    /// asks for GRO gets several datagrams at once.
    pub join: bool,
    /// MTU of all interfaces in bytes (default 1500).
    pub mtu: u32,
    /// Whether the report has a time series (default yes). When it reaches 36,000 slots per
    /// station, or 360,000 in all, neighbouring slots are merged.
    pub series: bool,
    /// Length of the slots of the time series (default 100 ms, at least 1 ms).
    pub slot: Duration,
    /// Priority of the emulator's thread under SCHED_FIFO, if the system permits it (default 10);
    /// `None` leaves the thread under the ordinary scheduler.
    pub realtime: Option<u8>,
}

/// What the monitor interface `mon0` of a station shows of each frame that the station receives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Monitor {
    /// The stations have no monitor interfaces.
    Off,
    /// The radiotap header and the first so many bytes of the frame, including its 802.11 header.
    Snap(usize),
    /// The radiotap header and the whole frame except the frame check sequence.
    Whole,
}

impl EmulatorConfig {
    /// Returns the configuration of `cell` with the default of each other field.
    #[must_use]
    pub fn new(cell: CellConfig, seed: u64) -> Self {
        Self {
            cell,
            seed,
            access_point: "per-station".to_owned(),
            wired_delay: Duration::from_millis(1),
            monitor: Monitor::Whole,
            join: true,
            mtu: 1500,
            series: true,
            slot: Duration::from_millis(100),
            realtime: Some(10),
        }
    }

    /// Sets the access point's queueing scheme.
    ///
    /// The hash key of its flow queues is drawn from the seed: a run can be repeated, and a sender
    /// that does not know the seed cannot choose another flow's queue.
    #[must_use]
    pub fn with_access_point(mut self, scheme: Scheme) -> Self {
        self.cell.access_point = PathConfig {
            key: rng::hash_key(self.seed, "flow key", 0),
            ..PathConfig::of(scheme)
        };
        scheme.name().clone_into(&mut self.access_point);
        self
    }

    /// Checks all values.
    ///
    /// # Errors
    /// The first value that is out of range, with its limits.
    pub fn validate(&self) -> Result<(), EmulatorError> {
        self.cell.validate()?;
        let n = self.cell.stations.len();
        if n > MAX_STATIONS {
            return Err(EmulatorError::TooManyStations(n));
        }
        if !(68..=2304).contains(&self.mtu) {
            return Err(EmulatorError::Mtu(self.mtu));
        }
        if self.slot < Duration::from_millis(1) {
            return Err(EmulatorError::Slot(self.slot));
        }
        if self.wired_delay > MAX_WIRED_DELAY {
            return Err(EmulatorError::WiredDelay(self.wired_delay));
        }
        Ok(())
    }
}

/// Longest wired delay: with more, the packets on the wire would need too much memory.
const MAX_WIRED_DELAY: Duration = Duration::from_secs(2);

/// Why an emulation cannot start or continue.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmulatorError {
    /// The cell's configuration is invalid.
    #[error(transparent)]
    Cell(#[from] ConfigError),
    /// There are more stations than addresses.
    #[error("{0} stations: at most {MAX_STATIONS} are possible")]
    TooManyStations(usize),
    /// IP or 802.11 does not allow the MTU.
    #[error("an MTU of {0} bytes: give 68 (RFC 791) to 2304 (the largest MSDU)")]
    Mtu(u32),
    /// The slots of the time series are too short.
    #[error("slots of {0:?}: give at least 1 ms")]
    Slot(Duration),
    /// The wired delay is too long.
    #[error("a wired delay of {0:?}: give at most {MAX_WIRED_DELAY:?}")]
    WiredDelay(Duration),
    /// A namespace could not be created or configured.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// A device could not be created.
    #[error(transparent)]
    Device(#[from] TunError),
    /// The command could not be started.
    #[error("cannot run {program}: {source}")]
    Command {
        /// The command's program.
        program: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The event loop failed.
    #[error("the emulator's event loop cannot continue: {0}")]
    Loop(#[from] io::Error),
    /// The emulator's thread has panicked.
    #[error("the emulator's thread has panicked; this is a bug")]
    Panicked,
}

impl EmulatorError {
    /// Returns whether the configuration is at fault (exit code 2) rather than the system.
    #[must_use]
    pub const fn is_bad_input(&self) -> bool {
        matches!(
            self,
            Self::Cell(_)
                | Self::TooManyStations(_)
                | Self::Mtu(_)
                | Self::Slot(_)
                | Self::WiredDelay(_)
        )
    }
}
