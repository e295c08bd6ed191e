use airpace_core::phy::{AccessCategory, AmpduLimits, Standard, Timing, TxRate};
use airpace_units::{StationId, Time};
use core::time::Duration;
use thiserror::Error;

/// A cell: one access point, its stations and what they share.
#[derive(Clone, Debug)]
pub struct MacConfig {
    /// The stations, indexed by [`StationId`].
    pub stations: Vec<StationConfig>,
    /// Whose PPDU durations to use; the standard's by default.
    pub timing: Timing,
    /// Most MPDUs in one A-MPDU, on top of the standard's limits (N_max; default 64; HE allows 256, answered by longer block acks).
    pub max_mpdus: u16,
    /// Longest PPDU; the standard allows 5.484 ms (default), ath9k uses 4 ms.
    pub max_duration: Duration,
    /// Packets that the access point queues per station before it drops arrivals (default 2500, a closed commercial AP).
    pub ap_queue_packets: usize,
    /// Packets that a station queues for the uplink (default 1000, Linux's `txqueuelen`).
    pub station_queue_packets: usize,
    /// Transmissions of an MPDU before it is given up (default 7, dot11ShortRetryLimit's default).
    pub retry_limit: u8,
    /// Access category of all data (default best effort). The TXOP limit of video and voice bounds each frame with its answer, but
    /// for a single MPDU, which always goes; a TXOP holds one frame.
    pub category: AccessCategory,
    /// Whether the access point sends beacons: 236 µs at 6 Mbit/s every 102.4 ms (default yes).
    pub beacons: bool,
    /// Whether every MPDU decoded is also handed out as [`super::Output::Heard`], as a monitor interface would see it (default no).
    pub monitor: bool,
    /// Whether receivers hold MPDUs back behind a hole until it is filled, as the block-ack agreement demands (default yes).
    pub in_order: bool,
    /// Changes of rate and streams, in order of time.
    pub trace: Vec<RateChange>,
}

/// One station.
#[derive(Clone, Copy, Debug)]
pub struct StationConfig {
    /// Rate of downlink data.
    pub rate: TxRate,
    /// Rate of uplink data.
    pub uplink_rate: TxRate,
    /// Probability that one MPDU of an A-MPDU to or from the station is not decoded.
    pub loss: f64,
}

/// A change of a station's rate, both ways, at a given time.
#[derive(Clone, Copy, Debug)]
pub struct RateChange {
    /// When.
    pub at: Time,
    /// Whose.
    pub station: StationId,
    /// The rate from then on.
    pub rate: TxRate,
}

/// Networks that share the channel: saturated transmitters that are never part of the cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Neighbours {
    /// How many transmitters.
    pub count: u16,
    /// Airtime of each of their frames, acknowledgement included.
    pub airtime: Duration,
}

/// Why a cell cannot be built.
#[derive(Clone, Copy, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// There is nobody to send to.
    #[error("a cell needs at least one station")]
    NoStation,
    /// A loss probability outside [0, 1).
    #[error("the loss probability of {station} is {loss}; it must be at least 0 and below 1")]
    Loss {
        /// Whose.
        station: StationId,
        /// The value.
        loss: f64,
    },
    /// A limit of zero.
    #[error("{0} must be at least 1")]
    Zero(&'static str),
    /// The trace names a station that does not exist.
    #[error("the rate trace names {0}, but there are fewer stations")]
    UnknownStation(StationId),
    /// The trace is not in order of time.
    #[error("the rate trace goes back in time at {0}")]
    TraceOrder(Time),
}

impl StationConfig {
    /// A loss-free station with the same rate both ways.
    #[must_use]
    pub const fn new(rate: TxRate) -> Self {
        Self { rate, uplink_rate: rate, loss: 0.0 }
    }
}

impl MacConfig {
    /// A cell with the defaults named at each field.
    #[must_use]
    pub fn new(stations: Vec<StationConfig>) -> Self {
        Self {
            stations,
            timing: Timing::default(),
            max_mpdus: 64,
            max_duration: AmpduLimits::of(Standard::Vht).duration,
            ap_queue_packets: 2_500,
            station_queue_packets: 1_000,
            retry_limit: 7,
            category: AccessCategory::BestEffort,
            beacons: true,
            monitor: false,
            in_order: true,
            trace: Vec::new(),
        }
    }

    /// Checks every value.
    ///
    /// # Errors
    /// The first value that makes no sense, with its remedy.
    pub fn validate(&self) -> Result<(), ConfigError> {
        if self.stations.is_empty() {
            return Err(ConfigError::NoStation);
        }
        let limits = [
            ("the A-MPDU limit", usize::from(self.max_mpdus)),
            ("the access point's queue limit", self.ap_queue_packets),
            ("the station's queue limit", self.station_queue_packets),
            ("the retry limit", usize::from(self.retry_limit)),
        ];
        if let Some((name, _)) = limits.into_iter().find(|&(_, value)| value == 0) {
            return Err(ConfigError::Zero(name));
        }
        for (index, station) in self.stations.iter().enumerate() {
            if !(0.0..1.0).contains(&station.loss) {
                return Err(ConfigError::Loss { station: StationId::from_index(index), loss: station.loss });
            }
        }
        self.validate_trace()
    }

    fn validate_trace(&self) -> Result<(), ConfigError> {
        if let Some(change) = self.trace.iter().find(|change| change.station.index() >= self.stations.len()) {
            return Err(ConfigError::UnknownStation(change.station));
        }
        match self.trace.windows(2).find(|pair| pair[1].at < pair[0].at) {
            Some(pair) => Err(ConfigError::TraceOrder(pair[1].at)),
            None => Ok(()),
        }
    }
}
