//! What to emulate, and why it can fail.

use crate::network::BRIDGE;
use crate::trace::StationMove;
use airpace_core::phy::{LegacyRate, TxRate};
use airpace_net::netns::NamespaceError;
use airpace_net::tun::{TunError, is_interface_name};
use airpace_sim::mac::{
    CellConfig, ConfigError, Direction, LinkConfig, MacConfig, Monitoring, PathConfig, RadioConfig,
    Scheme, ends,
};
use airpace_sim::rng;
use airpace_units::StationId;
use core::time::Duration;
use std::io;
use std::path::PathBuf;

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
    /// What the cell carries (default [`Layer::Ip`]).
    pub layer: Layer,
    /// Delay between server and access point, each way (default 1 ms).
    pub wired_delay: Duration,
    /// What the stations' monitor interfaces show (default [`Monitor::Whole`]).
    pub monitor: Monitor,
    /// Whether monitor interfaces also show control frames (block acks, acks, RTS and CTS) and
    /// beacons (default no; [`EmulatorConfig::with_ethernet`] turns it on).
    pub control_frames: bool,
    /// A third radio near the access point, with a monitor interface in the box's namespace
    /// (default none). It needs [`Layer::Ethernet`].
    pub air: Option<AirConfig>,
    /// Access points besides the first (default none), each with a port of its own in the box. They
    /// need [`Layer::Ethernet`]. The cell's configuration holds for each.
    pub further_access_points: Vec<AccessPointConfig>,
    /// Number of the channel of each access point (default empty: each has a channel of its own).
    /// All radios on one channel hear each other and contend for it. If there are any numbers,
    /// there must be one for each access point.
    pub channels: Vec<u16>,
    /// Index of the access point of each station at the beginning, 0 for the first; stations
    /// without an entry begin at the first. See [`crate::Emulator::roam`].
    pub home: Vec<usize>,
    /// What stations do in the course of the run, in the order of time (default empty). See
    /// [`crate::parse_trace`].
    pub moves: Vec<StationMove>,
    /// PSDUs longer than this many bytes are preceded by RTS and CTS (default `None`: never).
    pub rts_threshold: Option<u32>,
    /// Every so many beacons, one is a DTIM, after which frames for all stations are sent while any
    /// station sleeps (default 2, 1 to 255).
    pub dtim_period: u8,
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

/// What a cell carries.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Layer {
    /// IPv4 packets: TUN devices at the server and at the stations, without Ethernet, ARP or
    /// broadcasts.
    #[default]
    Ip,
    /// Ethernet frames: a port for a bridge on the wired side and TAP devices with MAC addresses at
    /// the stations.
    Ethernet(EthernetConfig),
}

/// The wired side of a cell that carries Ethernet frames.
///
/// The server and the access point each have a virtual cable into the namespace of a box between
/// them, in which nothing is configured:
///
/// ```text
///  server            box                    access point        stations
///  wired0 ═══════ lan0   ap0 ═══════════════ (emulator) ))) ((( wlan0, mon0
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EthernetConfig {
    /// Path of the box's namespace, which exists (`/run/netns/box`); `None` (default) for a new
    /// one.
    pub box_namespace: Option<PathBuf>,
    /// Name of the box's interface towards the server (default `lan0`).
    pub lan_port: String,
    /// Name of the box's interface towards the access point (default `ap0`).
    pub ap_port: String,
    /// Whether the box has a kernel bridge `br0` over its two ports (default yes). Without one,
    /// server and stations are separate until something in the box joins them.
    pub bridged: bool,
}

impl Default for EthernetConfig {
    fn default() -> Self {
        Self {
            box_namespace: None,
            lan_port: "lan0".to_owned(),
            ap_port: "ap0".to_owned(),
            bridged: true,
        }
    }
}

/// An access point besides the first.
#[derive(Clone, PartialEq, Debug)]
pub struct AccessPointConfig {
    /// Name of the box's interface towards it.
    pub port: String,
    /// A third radio on its channel.
    pub air: Option<AirConfig>,
}

/// Most access points of a cell.
pub const MAX_ACCESS_POINTS: usize = 8;

/// What a third radio near the access point hears.
#[derive(Clone, PartialEq, Debug)]
pub struct AirConfig {
    /// Name of its monitor interface (default `air0`).
    pub interface: String,
    /// Probability, 0 to 1, that it misses a data frame as a whole (default 1: data go out at high
    /// rates, in beams that point elsewhere). Of a frame that it hears, it has the MPDUs that the
    /// receiver has decoded. Without effect if `snr_db` is given.
    pub data_loss: f64,
    /// Probability, 0 to 1, that it misses a control frame, a beacon or a group-addressed frame,
    /// which have legacy rates (default 0).
    pub control_loss: f64,
    /// Signal-to-noise ratio in dB at which it receives the frames to and from each station
    /// (default empty: `data_loss` holds). Each MPDU and each control frame is missed with the
    /// probability that [`airpace_core::phy::error::ErrorModel`] has for its rate, length and
    /// ratio, control frames also with `control_loss`. If there are any ratios, there must be one
    /// for each station.
    pub snr_db: Vec<f64>,
}

impl Default for AirConfig {
    fn default() -> Self {
        Self {
            interface: "air0".to_owned(),
            data_loss: 1.0,
            control_loss: 0.0,
            snr_db: Vec::new(),
        }
    }
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
            layer: Layer::Ip,
            wired_delay: Duration::from_millis(1),
            monitor: Monitor::Whole,
            control_frames: false,
            air: None,
            further_access_points: Vec::new(),
            channels: Vec::new(),
            home: Vec::new(),
            moves: Vec::new(),
            rts_threshold: None,
            dtim_period: 2,
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

    /// Makes the cell carry Ethernet frames, and its monitors show control frames and beacons.
    #[must_use]
    pub fn with_ethernet(mut self, ethernet: EthernetConfig) -> Self {
        self.layer = Layer::Ethernet(ethernet);
        self.control_frames = true;
        self
    }

    /// Returns the radios and links of one cell: the access point, the stations and, where the cell
    /// carries Ethernet frames, a radio that stands for all stations as the receiver of
    /// group-addressed frames.
    pub(crate) fn mac(&self) -> Result<MacConfig, ConfigError> {
        let is_monitored =
            self.monitor != Monitor::Off || self.air_radios().flatten().next().is_some();
        let cell = CellConfig {
            monitor: if is_monitored {
                Monitoring::Packets
            } else {
                Monitoring::Off
            },
            ..self.cell.clone()
        };
        let mut mac = cell.mac()?;
        if self.layer != Layer::Ip {
            let group = StationId::from_index(self.cell.stations.len());
            let (from, to) = ends(group, Direction::Down);
            let rate = TxRate::legacy(GROUP_RATE);
            mac.radios.push(RadioConfig::new());
            mac.links.push(LinkConfig {
                group: true,
                ..LinkConfig::new(from, to, rate)
            });
        }
        for radio in &mut mac.radios {
            radio.rts_threshold = self.rts_threshold;
        }
        Ok(mac)
    }

    /// Checks all values.
    ///
    /// # Errors
    /// The first value that is out of range, with its limits.
    pub fn validate(&self) -> Result<(), EmulatorError> {
        self.cell.validate()?;
        self.validate_access_points()?;
        if self.dtim_period == 0 {
            return Err(EmulatorError::DtimPeriod);
        }
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

impl EmulatorConfig {
    /// Returns the third radio on the channel of each access point.
    pub(crate) fn air_radios(&self) -> impl Iterator<Item = Option<&AirConfig>> {
        let further = self.further_access_points.iter();
        core::iter::once(self.air.as_ref()).chain(further.map(|point| point.air.as_ref()))
    }

    /// Returns the number of access points.
    pub(crate) fn access_points(&self) -> usize {
        1 + self.further_access_points.len()
    }

    /// Returns the index of the access point with which a station begins.
    pub(crate) fn home_of(&self, station: usize) -> usize {
        self.home.get(station).copied().unwrap_or_default()
    }

    /// Returns the indices of the access points on each channel. The channels come in the order of
    /// their first access points.
    pub(crate) fn access_points_by_channel(&self) -> Vec<Vec<usize>> {
        let mut channels: Vec<(Option<u16>, Vec<usize>)> = Vec::new();
        for access_point in 0..self.access_points() {
            let number = self.channels.get(access_point).copied();
            let known = channels
                .iter_mut()
                .find(|(known, _)| number.is_some() && *known == number);
            match known {
                Some((_, access_points)) => access_points.push(access_point),
                None => channels.push((number, vec![access_point])),
            }
        }
        channels.into_iter().map(|(_, points)| points).collect()
    }

    fn validate_access_points(&self) -> Result<(), EmulatorError> {
        let n = self.access_points();
        let has_air = self.air_radios().flatten().next().is_some();
        if self.layer == Layer::Ip && (has_air || n > 1) {
            return Err(EmulatorError::NeedsEthernet);
        }
        if n > MAX_ACCESS_POINTS {
            return Err(EmulatorError::TooManyAccessPoints(n));
        }
        self.validate_names()?;
        for air in self.air_radios().flatten() {
            for loss in [air.data_loss, air.control_loss] {
                if !(0.0..=1.0).contains(&loss) {
                    return Err(EmulatorError::AirLoss(loss));
                }
            }
            let stations = self.cell.stations.len();
            if !air.snr_db.is_empty() && air.snr_db.len() != stations {
                return Err(EmulatorError::AirRatios {
                    ratios: air.snr_db.len(),
                    stations,
                });
            }
            if let Some(&snr_db) = air.snr_db.iter().find(|snr_db| !snr_db.is_finite()) {
                return Err(EmulatorError::AirRatio(snr_db));
            }
        }
        if !self.channels.is_empty() && self.channels.len() != n {
            return Err(EmulatorError::Channels {
                channels: self.channels.len(),
                access_points: n,
            });
        }
        match self.home.iter().find(|&&home| home >= n) {
            Some(&home) => Err(EmulatorError::UnknownAccessPoint(home)),
            None => Ok(()),
        }
    }

    /// Checks the names of the interfaces in the box.
    fn validate_names(&self) -> Result<(), EmulatorError> {
        let Layer::Ethernet(ethernet) = &self.layer else {
            return Ok(());
        };
        let mut taken = vec!["lo"];
        taken.extend(ethernet.bridged.then_some(BRIDGE));
        let further = self.further_access_points.iter();
        let ports = [&ethernet.lan_port, &ethernet.ap_port]
            .into_iter()
            .chain(further.map(|point| &point.port));
        let radios = self.air_radios().flatten().map(|air| &air.interface);
        for name in ports.chain(radios) {
            if !is_interface_name(name) {
                return Err(TunError::Name(name.clone()).into());
            }
            if taken.contains(&name.as_str()) {
                return Err(EmulatorError::NameTaken(name.clone()));
            }
            taken.push(name);
        }
        Ok(())
    }
}

/// Rate of group-addressed frames: the lowest basic rate of OFDM.
const GROUP_RATE: LegacyRate = LegacyRate::Mbps6;

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
    /// A probability that the third radio misses a frame is out of range.
    #[error("the third radio misses frames with probability {0}: give 0 to 1")]
    AirLoss(f64),
    /// There must be a signal-to-noise ratio for each station or none.
    #[error(
        "{ratios} signal-to-noise ratios at the third radio for {stations} stations: give one each"
    )]
    AirRatios {
        /// Ratios given.
        ratios: usize,
        /// Stations of the cell.
        stations: usize,
    },
    /// A signal-to-noise ratio at the third radio is not a finite number.
    #[error("a signal-to-noise ratio of {0} dB at the third radio: give a finite number")]
    AirRatio(f64),
    /// There must be a channel for each access point or none.
    #[error("{channels} channels for {access_points} access points: give one each")]
    Channels {
        /// Channels given.
        channels: usize,
        /// Access points of the run.
        access_points: usize,
    },
    /// A third radio, or a second access point, needs a box, which only Ethernet cells have.
    #[error("third radios and further access points need a cell that carries Ethernet frames")]
    NeedsEthernet,
    /// There are too many access points.
    #[error("{0} access points: at most {MAX_ACCESS_POINTS} are possible")]
    TooManyAccessPoints(usize),
    /// Two interfaces of the box would have this name.
    #[error("the box already has an interface `{0}`: give each port and radio a name of its own")]
    NameTaken(String),
    /// A station begins at an access point that does not exist.
    #[error("a station begins at access point {0}, but there are fewer (the first is 0)")]
    UnknownAccessPoint(usize),
    /// There would be no DTIM.
    #[error("a DTIM period of 0: give at least 1")]
    DtimPeriod,
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
                | Self::AirLoss(_)
                | Self::AirRatios { .. }
                | Self::AirRatio(_)
                | Self::Channels { .. }
                | Self::NeedsEthernet
                | Self::TooManyAccessPoints(_)
                | Self::Device(TunError::Name(_))
                | Self::NameTaken(_)
                | Self::UnknownAccessPoint(_)
                | Self::DtimPeriod
        )
    }
}
