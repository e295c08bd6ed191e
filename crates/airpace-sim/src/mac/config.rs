//! The configuration of radios, links and what they share.

use super::Monitoring;
use super::path::PathConfig;
use crate::channel;
use crate::radio::{Hearing, RadioId};
use crate::rate::RateAdaptation;
use airpace_core::phy::error::{BitHazard, ErrorModel};
use airpace_core::phy::{
    AccessCategory, AmpduLimits, Edca, LegacyRate, Medium, Standard, Timing, TxRate,
};
use airpace_core::queue::DEFAULT_WEIGHT;
use airpace_units::{StationId, Time};
use core::time::Duration;
use thiserror::Error;

/// Radios that share a channel, the links between them and what they hear.
/// [`super::CellConfig::mac`] returns one for the common case.
#[derive(Clone, Debug)]
pub struct MacConfig {
    /// The radios, indexed by [`RadioId`].
    pub radios: Vec<RadioConfig>,
    /// Directed links: who may send data to whom. Acknowledgements need no link of their own.
    pub links: Vec<LinkConfig>,
    /// Who senses and disturbs whom.
    pub hearing: Hearing,
    /// Band and slots (default 5 GHz).
    pub medium: Medium,
    /// Whose PPDU durations to use (default the standard's).
    pub timing: Timing,
    /// Transmissions of an MPDU before it is given up (default 7, dot11ShortRetryLimit's default).
    pub retry_limit: u8,
    /// Whether a sender that gets no block ack asks for it with a block-ack request, again and
    /// again, instead of sending the frame again (default no; ns-3 3.44 does). What the request
    /// shows to be missing is then sent again.
    pub block_ack_requests: bool,
    /// Whether the MPDUs of an A-MPDU are sent again without limit, so that the retry limit counts
    /// only frames of a single MPDU and RTS without an answer (default no; ns-3 3.44 does).
    pub endless_retries: bool,
    /// What is reported of every MPDU that is decoded, as [`super::Output::Heard`] (default
    /// [`Monitoring::Off`]).
    pub monitor: Monitoring,
    /// Whether control frames and beacons are reported, too, by [`super::Mac::poll_control`]
    /// (default no).
    pub controls: bool,
    /// Whether receivers keep MPDUs until all before them have come, as the block-ack agreement
    /// demands (default yes).
    pub in_order: bool,
}

/// One radio. Its links and its beacons decide whether it is an access point, a station or a relay.
#[derive(Clone, Debug)]
pub struct RadioConfig {
    /// Channel access parameters, indexed by [`AccessCategory`].
    pub edca: [Edca; 4],
    /// The access category of all data that the radio sends; `None` (default) leaves it to each
    /// packet.
    pub category: Option<AccessCategory>,
    /// Its beacons; `None` (default) for a radio that is not an access point.
    pub beacon: Option<Beacon>,
    /// How packets get from the network layer to the air (default a queue of 1000 packets per link,
    /// Linux's `txqueuelen`).
    pub path: PathConfig,
    /// Most MPDUs in one A-MPDU, on top of the standard's limits (N_max; default 64; HE allows 256,
    /// answered by longer block acks).
    pub max_mpdus: u16,
    /// Most bytes in one A-MPDU, on top of the standard's limits (default: those alone).
    pub max_bytes: u32,
    /// Longest PPDU; the standard allows 5.484 ms (default), ath9k uses 4 ms.
    pub max_duration: Duration,
    /// Most bytes in one A-MSDU: an MPDU that carries several packets; 0 (default) for one packet
    /// per MPDU. The standard allows 3839 or 7935 bytes (HT) and up to 11,398 (VHT, HE).
    pub max_amsdu: u32,
    /// PSDUs longer than this many bytes are preceded by RTS and CTS; `None` (default) for never.
    pub rts_threshold: Option<u32>,
    /// The rate of the CTS that it sends to itself before each frame that is not DSSS and has no RTS,
    /// so that stations that know nothing but DSSS defer (ERP protection, 10.3.2.13 and 18); `None`
    /// (default) for none. Group-addressed frames go without.
    pub cts_to_self: Option<LegacyRate>,
    /// Whether it is told of beacons and other management frames for everybody that it receives
    /// (default no). Access points that answer probes, and stations that look for access points, do.
    pub listens: bool,
    /// Key of the radio's random draws and, with that of the peer, of its links' draws (see
    /// [`crate::rng::key`]). `None` (default) uses its number, so that a radio added before it
    /// changes the draws.
    pub stream: Option<u64>,
}

/// Beacons of an access point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Beacon {
    /// When the first is due. Choose different times for different access points.
    pub first: Duration,
    /// Time from one to the next, usually 100 time units of 1.024 ms (clause 11.1.3.2).
    pub interval: Duration,
    /// Airtime of each.
    pub airtime: Duration,
}

impl Default for Beacon {
    /// 160 bytes at 6 Mbit/s, 236 µs, every 102.4 ms, as ns-3 3.44 sends them.
    fn default() -> Self {
        let interval = Duration::from_micros(102_400);
        Self {
            first: interval,
            interval,
            airtime: Duration::from_micros(236),
        }
    }
}

/// A directed link.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    /// The sender.
    pub from: RadioId,
    /// The receiver.
    pub to: RadioId,
    /// How the rate of each frame is chosen.
    pub adaptation: RateAdaptation,
    /// How MPDUs are lost without collisions (default not at all).
    pub quality: Quality,
    /// The receiver's weight where the sender shares out airtime (default [`DEFAULT_WEIGHT`]).
    pub weight: u16,
    /// Whether the frames are group-addressed: each is sent once, without RTS, and nobody
    /// acknowledges it (10.3.6; default no). The receiver stands for the whole group. Give the link
    /// a non-HT rate, because group frames are not aggregated.
    pub group: bool,
    /// The radios that a link with `group` leads to, each of which receives a frame or not. If there
    /// are any, the receiver is the sender itself, to which the packets are to be addressed (default
    /// none: the receiver stands for the group).
    pub members: Vec<RadioId>,
    /// Whether the ends need not hear each other at the beginning (default no): a station that moves
    /// comes into range of further access points.
    pub may_be_out_of_range: bool,
}

/// How MPDUs of a link are lost without collisions.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Quality {
    /// Each MPDU with this probability, from 0 to 1, whatever its length and rate.
    Loss(f64),
    /// By the signal-to-noise ratio, the rate of the frame and the length of the MPDU.
    Noise(Box<Noise>),
}

/// A link whose errors follow from its signal-to-noise ratio.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Noise {
    /// The ratio.
    pub signal: Signal,
    /// The probabilities of error at a ratio.
    pub model: ErrorModel,
}

/// The signal-to-noise ratio of a link.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum Signal {
    /// Constant, in dB, over the noise of each frame's width.
    Constant(f64),
    /// By positions and powers, with or without fading.
    Channel(channel::Link),
}

impl Signal {
    /// The number of the interval in which `now` lies; the ratio does not change within an
    /// interval.
    pub(super) fn interval(&self, now: Time) -> u64 {
        match self {
            Self::Constant(_) => 0,
            Self::Channel(link) => link.interval(now),
        }
    }

    /// The ratio in dB for frames at `rate`.
    pub(super) fn snr_db(&self, now: Time, rate: TxRate) -> f64 {
        match self {
            Self::Constant(snr_db) => *snr_db,
            Self::Channel(link) => link.snr_db(now, rate),
        }
    }
}

impl Noise {
    /// The hazard for the bits of a frame at `rate` that begins at `now`.
    pub(super) fn bit_hazard(&self, now: Time, rate: TxRate) -> BitHazard {
        match &self.signal {
            Signal::Constant(snr_db) => self.model.bit_hazard(rate, *snr_db),
            Signal::Channel(link) => link.bit_hazard(&self.model, now, rate),
        }
    }
}

impl Quality {
    /// Errors by `signal` with ns-3's default error model.
    #[must_use]
    pub fn of(signal: Signal) -> Self {
        Self::Noise(Box::new(Noise {
            signal,
            model: ErrorModel::default(),
        }))
    }
}

/// Neighbouring networks on the channel: saturated transmitters that exchange nothing with the
/// radios. Every radio hears them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Neighbours {
    /// Number of transmitters.
    pub count: u16,
    /// Airtime of each of their frames, acknowledgement included.
    pub airtime: Duration,
}

/// Why a configuration is refused.
#[derive(Clone, Copy, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A cell without stations.
    #[error("a cell needs at least one station")]
    NoStation,
    /// There is no radio, or there are too many.
    #[error("{0} radios: at least 1 and at most 65,535 are possible")]
    Radios(usize),
    /// A link names a radio that does not exist.
    #[error("a link names {0}, but there are fewer radios")]
    UnknownRadio(RadioId),
    /// A link from a radio to itself.
    #[error("{0} has a link to itself")]
    Loop(RadioId),
    /// Two links with the same ends.
    #[error("there are two links from {from} to {to}")]
    Twice {
        /// The sender.
        from: RadioId,
        /// The receiver.
        to: RadioId,
    },
    /// One end of a link does not sense the other.
    #[error("there is a link from {from} to {to}, but one of them does not sense the other")]
    Unheard {
        /// The sender.
        from: RadioId,
        /// The receiver.
        to: RadioId,
    },
    /// A relation of the hearing has another number of radios than the configuration.
    #[error("the hearing matrix covers {hearing} radios, but there are {radios}")]
    Hearing {
        /// Radios of the relation.
        hearing: usize,
        /// Radios configured.
        radios: usize,
    },
    /// A loss probability outside [0, 1].
    #[error(
        "the loss probability from {from} to {to} is {loss}; it must be at least 0 and at most 1"
    )]
    Loss {
        /// The sender.
        from: RadioId,
        /// The receiver.
        to: RadioId,
        /// The value.
        loss: f64,
    },
    /// A limit of zero.
    #[error("{0} must be at least 1")]
    Zero(&'static str),
    /// A smallest contention window above the largest.
    #[error("{radio} has a smallest contention window of {min}, which is above the largest, {max}")]
    Window {
        /// Whose.
        radio: RadioId,
        /// The smallest.
        min: u16,
        /// The largest.
        max: u16,
    },
    /// A queueing discipline above queues that do not push back.
    #[error(
        "{0} has a queueing discipline above queues that are not shared by all links: let the driver's queue be shared"
    )]
    Unshared(RadioId),
    /// A queue sizing without a queueing discipline that it could size.
    #[error(
        "{0} sizes a queueing discipline, but has none whose limit can be set: use a FIFO or FQ-CoDel"
    )]
    Unsized(RadioId),
    /// The rate trace of a cell names a station that does not exist.
    #[error("the rate trace names {0}, but there are fewer stations")]
    UnknownStation(StationId),
    /// The rate trace of a cell is not in order of time.
    #[error("the rate trace goes back in time at {0}")]
    TraceOrder(Time),
}

impl RadioConfig {
    /// A radio without beacons and with the defaults named at each field.
    #[must_use]
    pub fn new() -> Self {
        use AccessCategory::{Background, BestEffort, Video, Voice};
        Self {
            edca: [Background, BestEffort, Video, Voice].map(Edca::of),
            category: None,
            beacon: None,
            path: PathConfig::per_station(1_000),
            max_mpdus: 64,
            max_bytes: u32::MAX,
            max_duration: AmpduLimits::of(Standard::Vht).duration,
            max_amsdu: 0,
            rts_threshold: None,
            cts_to_self: None,
            listens: false,
            stream: None,
        }
    }

    /// An access point: a radio that sends beacons.
    #[must_use]
    pub fn access_point() -> Self {
        Self {
            beacon: Some(Beacon::default()),
            ..Self::new()
        }
    }

    /// Channel access parameters of one category.
    pub(super) const fn edca(&self, category: AccessCategory) -> &Edca {
        &self.edca[category as usize]
    }

    /// The rate of the CTS to itself before a frame at `rate`, if there is one.
    pub(super) fn own_cts(&self, rate: TxRate) -> Option<LegacyRate> {
        self.cts_to_self
            .filter(|_| rate.standard() != Standard::Dsss)
    }

    fn validate(&self, id: RadioId) -> Result<(), ConfigError> {
        if self.max_mpdus == 0 {
            return Err(ConfigError::Zero("the A-MPDU limit"));
        }
        if let Some(beacon) = self.beacon
            && beacon.interval < Duration::from_micros(1)
        {
            return Err(ConfigError::Zero("the beacon interval in microseconds"));
        }
        if self.edca.iter().any(|edca| edca.aifsn == 0) {
            return Err(ConfigError::Zero("the AIFSN"));
        }
        self.path.validate(id)?;
        match self.edca.iter().find(|edca| edca.cw_min > edca.cw_max) {
            Some(edca) => Err(ConfigError::Window {
                radio: id,
                min: edca.cw_min,
                max: edca.cw_max,
            }),
            None => Ok(()),
        }
    }
}

impl Default for RadioConfig {
    fn default() -> Self {
        Self::new()
    }
}

impl LinkConfig {
    /// A loss-free link.
    #[must_use]
    pub fn new(from: RadioId, to: RadioId, adaptation: impl Into<RateAdaptation>) -> Self {
        Self {
            from,
            to,
            adaptation: adaptation.into(),
            quality: Quality::Loss(0.0),
            weight: DEFAULT_WEIGHT,
            group: false,
            members: Vec::new(),
            may_be_out_of_range: false,
        }
    }

    fn validate(&self, radios: usize) -> Result<(), ConfigError> {
        let (from, to) = (self.from, self.to);
        if let Some(&unknown) = [from, to].iter().find(|id| id.index() >= radios) {
            return Err(ConfigError::UnknownRadio(unknown));
        }
        if (from == to) != (self.group && !self.members.is_empty()) {
            return Err(ConfigError::Loop(from));
        }
        if let Some(&unknown) = self.members.iter().find(|id| id.index() >= radios) {
            return Err(ConfigError::UnknownRadio(unknown));
        }
        match self.quality {
            Quality::Loss(loss) if !(0.0..=1.0).contains(&loss) => {
                Err(ConfigError::Loss { from, to, loss })
            }
            Quality::Loss(_) | Quality::Noise(_) => Ok(()),
        }
    }
}

impl MacConfig {
    /// Radios and links with the defaults named at each field; everyone hears everyone.
    #[must_use]
    pub fn new(radios: Vec<RadioConfig>, links: Vec<LinkConfig>) -> Self {
        Self {
            radios,
            links,
            hearing: Hearing::All,
            medium: Medium::GHZ_5,
            timing: Timing::default(),
            retry_limit: 7,
            block_ack_requests: false,
            endless_retries: false,
            monitor: Monitoring::Off,
            controls: false,
            in_order: true,
        }
    }

    /// Checks every value.
    ///
    /// # Errors
    /// The first value that makes no sense, with its remedy.
    pub fn validate(&self) -> Result<(), ConfigError> {
        if !(1..=0xffff).contains(&self.radios.len()) {
            return Err(ConfigError::Radios(self.radios.len()));
        }
        if self.retry_limit == 0 {
            return Err(ConfigError::Zero("the retry limit"));
        }
        for (index, radio) in self.radios.iter().enumerate() {
            radio.validate(RadioId::from_index(index))?;
        }
        let radios = self.radios.len();
        if let Some(hearing) = self.hearing.size_other_than(radios) {
            return Err(ConfigError::Hearing { hearing, radios });
        }
        for link in &self.links {
            link.validate(radios)?;
            let (from, to) = (link.from, link.to);
            let must_hear = from != to && !link.may_be_out_of_range;
            let senses = |from, to| self.hearing.senses(from, to);
            if must_hear && !(senses(from, to) && senses(to, from)) {
                return Err(ConfigError::Unheard { from, to });
            }
        }
        let mut ends: Vec<_> = self.links.iter().map(|link| (link.from, link.to)).collect();
        ends.sort_unstable();
        match ends.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(ConfigError::Twice {
                from: pair[0].0,
                to: pair[0].1,
            }),
            None => Ok(()),
        }
    }
}
