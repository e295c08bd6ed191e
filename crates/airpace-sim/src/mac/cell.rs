//! The common case: one access point and its stations, all in range of each other.

use super::{
    ConfigError, Direction, FrameRecord, Input, LinkConfig, MacConfig, Monitoring, Mpdu,
    PathConfig, Quality, RadioConfig, RadioId, Scheme,
};
use crate::rate::{RateAdaptation, Trace};
use airpace_core::phy::{AccessCategory, AmpduLimits, Standard, Timing, TxRate};
use airpace_core::queue::DEFAULT_WEIGHT;
use airpace_units::{StationId, Time};
use core::time::Duration;

/// A cell: one access point, its stations and what they share. [`MacConfig`] is the general case.
#[derive(Clone, Debug)]
pub struct CellConfig {
    /// The stations, indexed by [`StationId`].
    pub stations: Vec<StationConfig>,
    /// Whose PPDU durations to use (default the standard's).
    pub timing: Timing,
    /// Most MPDUs in one A-MPDU, on top of the standard's limits (N_max; default 64; HE allows 256,
    /// answered by longer block acks).
    pub max_mpdus: u16,
    /// Longest PPDU; the standard allows 5.484 ms (default), ath9k uses 4 ms.
    pub max_duration: Duration,
    /// How packets get to the air at the access point (default 2500 packets per station, a closed
    /// commercial one).
    pub access_point: PathConfig,
    /// How packets get to the air at each station (default 1000 packets, Linux's `txqueuelen`).
    pub station: PathConfig,
    /// Transmissions of an MPDU before it is given up (default 7, dot11ShortRetryLimit's default).
    pub retry_limit: u8,
    /// Access category of all data (default best effort); `None` leaves it to each packet.
    pub category: Option<AccessCategory>,
    /// Whether the access point sends beacons: 236 µs at 6 Mbit/s every 102.4 ms (default yes).
    pub beacons: bool,
    /// What is reported of every MPDU that is decoded, as [`super::Output::Heard`] (default
    /// [`Monitoring::Off`]).
    pub monitor: Monitoring,
    /// Whether receivers keep MPDUs until all before them have come, as the block-ack agreement
    /// demands (default yes).
    pub in_order: bool,
    /// Changes of the stations' rates, in order of time.
    pub trace: Vec<RateChange>,
}

/// One station.
#[derive(Clone, Copy, Debug)]
pub struct StationConfig {
    /// Rate of data to the station.
    pub rate: TxRate,
    /// Rate of data from the station.
    pub uplink_rate: TxRate,
    /// Probability that one MPDU of an A-MPDU to or from the station is not decoded, 0 to 1.
    pub loss: f64,
    /// Its weight where the access point shares out airtime (default [`DEFAULT_WEIGHT`]).
    pub weight: u16,
}

/// A change of a station's rate, both ways, at a given time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RateChange {
    /// When.
    pub at: Time,
    /// Whose.
    pub station: StationId,
    /// The rate from then on.
    pub rate: TxRate,
}

impl StationConfig {
    /// A loss-free station with the same rate both ways.
    #[must_use]
    pub const fn new(rate: TxRate) -> Self {
        Self {
            rate,
            uplink_rate: rate,
            loss: 0.0,
            weight: DEFAULT_WEIGHT,
        }
    }
}

impl CellConfig {
    /// A cell with the defaults named at each field.
    #[must_use]
    pub fn new(stations: Vec<StationConfig>) -> Self {
        Self {
            stations,
            timing: Timing::default(),
            max_mpdus: 64,
            max_duration: AmpduLimits::of(Standard::Vht).duration,
            access_point: PathConfig::of(Scheme::PerStation),
            station: PathConfig::default(),
            retry_limit: 7,
            category: Some(AccessCategory::BestEffort),
            beacons: true,
            monitor: Monitoring::Off,
            in_order: true,
            trace: Vec::new(),
        }
    }

    /// Checks every value.
    ///
    /// # Errors
    /// The first value that makes no sense, with its remedy.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.mac().map(|_| ())
    }

    /// The cell as radios and links: the access point is radio 0, station i is radio i + 1.
    ///
    /// # Errors
    /// The first value that makes no sense, with its remedy.
    pub fn mac(&self) -> Result<MacConfig, ConfigError> {
        if self.stations.is_empty() {
            return Err(ConfigError::NoStation);
        }
        if let Some(change) = self
            .trace
            .iter()
            .find(|change| change.station.index() >= self.stations.len())
        {
            return Err(ConfigError::UnknownStation(change.station));
        }
        if let Some(pair) = self.trace.windows(2).find(|pair| pair[1].at < pair[0].at) {
            return Err(ConfigError::TraceOrder(pair[1].at));
        }
        let stations = self.stations.iter().enumerate();
        let links: Vec<_> = stations
            .flat_map(|(index, station)| self.links(index, station))
            .collect();
        let mut config = MacConfig::new(self.radios(), links);
        config.timing = self.timing;
        config.retry_limit = self.retry_limit;
        (config.monitor, config.in_order) = (self.monitor, self.in_order);
        config.validate().map(|()| config)
    }

    fn radios(&self) -> Vec<RadioConfig> {
        let radio = |path| RadioConfig {
            category: self.category,
            path,
            max_mpdus: self.max_mpdus,
            max_duration: self.max_duration,
            ..RadioConfig::new()
        };
        let beacon = RadioConfig::access_point().beacon.filter(|_| self.beacons);
        let access_point = RadioConfig {
            beacon,
            ..radio(self.access_point.clone())
        };
        let station = radio(self.station.clone());
        let stations = core::iter::repeat_n(station, self.stations.len());
        core::iter::once(access_point).chain(stations).collect()
    }

    fn links(&self, index: usize, station: &StationConfig) -> [LinkConfig; 2] {
        let id = StationId::from_index(index);
        let link = |direction, rate| {
            let (from, to) = ends(id, direction);
            LinkConfig {
                quality: Quality::Loss(station.loss),
                weight: station.weight,
                ..LinkConfig::new(from, to, self.adaptation(id, rate))
            }
        };
        [
            link(Direction::Down, station.rate),
            link(Direction::Up, station.uplink_rate),
        ]
    }

    fn adaptation(&self, id: StationId, rate: TxRate) -> RateAdaptation {
        let changes = self.trace.iter().filter(|change| change.station == id);
        let mut entries = vec![(Time::ZERO, rate)];
        entries.extend(changes.map(|change| (change.at, change.rate)));
        match Trace::new(entries) {
            Ok(trace) if trace.next_change().is_some() => trace.into(),
            // The trace is known to be in order, so this station's has no changes.
            _ => rate.into(),
        }
    }
}

/// The access point of a cell.
pub const ACCESS_POINT: RadioId = RadioId(0);

/// Sender and receiver of what goes to or from a station of a cell.
#[must_use]
pub const fn ends(station: StationId, direction: Direction) -> (RadioId, RadioId) {
    let radio = RadioId(station.0.saturating_add(1));
    match direction {
        Direction::Down => (ACCESS_POINT, radio),
        Direction::Up => (radio, ACCESS_POINT),
    }
}

/// The station of a cell and the direction that two radios stand for.
#[must_use]
pub const fn station_of(from: RadioId, to: RadioId) -> (StationId, Direction) {
    if from.0 == ACCESS_POINT.0 {
        (StationId(to.0.saturating_sub(1)), Direction::Down)
    } else {
        (StationId(from.0.saturating_sub(1)), Direction::Up)
    }
}

impl<P> Input<P> {
    /// A packet reaches the access point of a cell for `station`.
    #[must_use]
    pub const fn down(station: StationId, packet: P) -> Self {
        let (from, to) = ends(station, Direction::Down);
        Self::Send { from, to, packet }
    }

    /// A packet leaves `station` of a cell for the access point.
    #[must_use]
    pub const fn up(station: StationId, packet: P) -> Self {
        let (from, to) = ends(station, Direction::Up);
        Self::Send { from, to, packet }
    }
}

impl FrameRecord {
    /// In a cell, the station that it is to or from.
    #[must_use]
    pub const fn station(&self) -> StationId {
        station_of(self.from, self.to).0
    }

    /// In a cell, which way it went.
    #[must_use]
    pub const fn direction(&self) -> Direction {
        station_of(self.from, self.to).1
    }
}

impl Mpdu {
    /// In a cell, the station that sent or received it.
    #[must_use]
    pub const fn station(&self) -> StationId {
        station_of(self.from, self.to).0
    }

    /// In a cell, which way it went.
    #[must_use]
    pub const fn direction(&self) -> Direction {
        station_of(self.from, self.to).1
    }
}
