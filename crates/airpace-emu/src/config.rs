use airpace_net::netns::NamespaceError;
use airpace_net::tun::TunError;
use airpace_sim::mac::{CellConfig, ConfigError, PathConfig, Scheme};
use airpace_sim::rng::Stream;
use core::time::Duration;
use std::io;

pub use crate::address::MAX_STATIONS;

/// What to emulate.
#[derive(Clone, Debug)]
pub struct EmulatorConfig {
    /// The cell, exactly as the simulator takes it. `monitor` is set by [`EmulatorConfig::monitor`].
    pub cell: CellConfig,
    /// Seed of back-off and losses.
    pub seed: u64,
    /// What the report calls the way in which the access point queues (default `per-station`).
    pub access_point: String,
    /// Delay between server and access point, each way (default 1 ms).
    pub wired_delay: Duration,
    /// What the stations' monitor interfaces show.
    pub monitor: Monitor,
    /// Whether packets of one frame and one flow are handed to the kernel joined, as drivers with GRO do (default yes). TCP
    /// receivers then acknowledge less often, and a UDP socket that asks for GRO gets several datagrams at once.
    pub join: bool,
    /// MTU of all interfaces in bytes (default 1500).
    pub mtu: u32,
    /// Whether the report has a time series (default yes). It is bounded: beyond 36,000 slots of a station, or 360,000 in all,
    /// neighbouring slots are merged.
    pub series: bool,
    /// Length of the slots of the time series (default 100 ms).
    pub slot: Duration,
    /// Priority under SCHED_FIFO of the emulator's thread, if the system permits one (default 10); `None` asks for none.
    pub realtime: Option<u8>,
}

/// What the monitor interfaces `mon0` show of each frame that their station receives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Monitor {
    /// There are none.
    Off,
    /// Headers and as many bytes of the frame, counted from the 802.11 header on.
    Snap(usize),
    /// Everything but the frame check sequence (default).
    Whole,
}

impl EmulatorConfig {
    /// An emulation of `cell` with the defaults named at each field.
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

    /// The same with an access point that queues by `scheme`, its flow queues keyed by a secret that is drawn from the seed: a run can be
    /// repeated, and a sender that does not know the seed cannot aim for another flow's queue.
    #[must_use]
    pub fn with_access_point(mut self, scheme: Scheme) -> Self {
        self.cell.access_point = PathConfig {
            key: flow_key(self.seed),
            ..PathConfig::of(scheme)
        };
        scheme.name().clone_into(&mut self.access_point);
        self
    }

    /// Checks every value.
    ///
    /// # Errors
    /// The first value that makes no sense, with its remedy.
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

/// The secret of the flow queues' hashes.
fn flow_key(seed: u64) -> [u8; 16] {
    let mut stream = Stream::new(seed, "flow key", 0);
    let words: [[u8; 4]; 4] = core::array::from_fn(|_| stream.up_to(u32::MAX).to_le_bytes());
    core::array::from_fn(|i| words[i / 4][i % 4])
}

/// Longest wired delay: beyond it the packets under way would fill the memory.
const MAX_WIRED_DELAY: Duration = Duration::from_secs(2);

/// Why an emulation cannot start or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmulatorError {
    /// The cell makes no sense.
    #[error(transparent)]
    Cell(#[from] ConfigError),
    /// More stations than addresses.
    #[error("{0} stations: at most {MAX_STATIONS} are possible")]
    TooManyStations(usize),
    /// An MTU that IP or 802.11 does not allow.
    #[error("an MTU of {0} bytes: give 68 (RFC 791) to 2304 (the largest MSDU)")]
    Mtu(u32),
    /// Slots too short to mean anything.
    #[error("slots of {0:?}: give at least 1 ms")]
    Slot(Duration),
    /// A delay beyond reason.
    #[error("a wired delay of {0:?}: give at most {MAX_WIRED_DELAY:?}")]
    WiredDelay(Duration),
    /// A namespace could not be made.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// A device could not be made.
    #[error(transparent)]
    Device(#[from] TunError),
    /// The command could not be run.
    #[error("cannot run {program}: {source}")]
    Command {
        /// The program.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// The loop's files failed.
    #[error("the emulator's loop cannot go on: {0}")]
    Loop(#[from] io::Error),
    /// The loop's thread is gone.
    #[error("the emulator's thread has panicked; this is a bug")]
    Panicked,
}

impl EmulatorError {
    /// Whether the configuration is at fault (exit code 2) rather than the system.
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
