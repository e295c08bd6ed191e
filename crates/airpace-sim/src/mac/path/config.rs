//! What the transmit paths of a radio consist of.

use super::custom::{CustomQueues, QueueFactory};
use super::driver::DriverRules;
use crate::mac::{ConfigError, RadioId};
use airpace_core::queue::{
    AirtimeConfig, AirtimeLimitConfig, CoDelConfig, FqCoDelConfig, FqMacConfig, WqmConfig,
};
use strum::{Display, EnumMessage, EnumString, IntoStaticStr, VariantArray};

/// The way of a packet from the network layer to the air: an optional queueing discipline, the
/// queues of the driver or of the MAC, the schedule by which they are served, and the aggregates
/// that are composed ahead for the hardware.
///
/// [`PathConfig::of`] returns the paths that Linux has had and that papers 003 and 004 compare,
/// [`PathConfig::custom`] one with queues of your own.
#[derive(Clone, PartialEq, Debug)]
pub struct PathConfig {
    /// The queueing discipline above the driver, one instance per access category (Linux's `mq`).
    /// It passes on as much as the driver's queue has room for, so that queue must be shared by the
    /// links. `None` (default): packets go straight to the queues below.
    pub qdisc: Option<Qdisc>,
    /// Adapts the size of the queueing discipline (003); `None` (default) leaves it as it is.
    pub wqm: Option<WqmConfig>,
    /// The queues below the queueing discipline.
    pub queues: Queues,
    /// The order in which links are served (default round robin).
    pub schedule: Schedule,
    /// Serves links such that all with packets get equal (or weighted) airtime: 004's Algorithm 3.
    /// It takes the place of `schedule`; `None` (default) for no such service.
    pub airtime_fairness: Option<AirtimeConfig>,
    /// Aggregates per access category that are composed before the channel is won, the one on the
    /// air included. 0 (default): each is composed on winning the channel, as in ns-3. ath9k keeps
    /// 2.
    pub hardware: u16,
    /// Limits the airtime that is composed ahead (Linux's AQL); `None` (default): only `hardware`
    /// limits it.
    pub airtime_limit: Option<AirtimeLimitConfig>,
    /// How the driver composes frames; see [`PathConfig::drive_by`]. Default
    /// [`DriverRules::NONE`].
    pub driver: DriverRules,
    /// Secret of the hashes that tell flows apart.
    pub key: [u8; 16],
}

/// A queueing discipline.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Qdisc {
    /// First in, first out, with tail drop.
    Fifo {
        /// Most packets that it holds.
        packets: usize,
    },
    /// CoDel (RFC 8289).
    Codel {
        /// Its parameters.
        config: CoDelConfig,
        /// Most packets that it holds.
        packets: usize,
    },
    /// FQ-CoDel (RFC 8290).
    FqCodel(FqCoDelConfig),
}

/// The queues below the queueing discipline.
#[derive(Clone, PartialEq, Debug)]
pub enum Queues {
    /// A FIFO for each link and access category.
    Fifo(QueueLimit),
    /// Flow queues under CoDel, grouped by link and access category: 004's FQ-MAC. All links and
    /// categories of the radio share them.
    FlowQueues(FqMacConfig),
    /// A queue of the user's own for each link and access category.
    Custom(CustomQueues),
}

/// How much the queues of one access category hold before they drop arrivals (tail drop) or, below
/// a queueing discipline, push back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueLimit {
    /// Most packets; at least 1.
    pub packets: usize,
    /// Whether each link has the limit to itself.
    pub scope: QueueScope,
    /// Whether packets count until they are acknowledged, as in ns-3, or only while they wait.
    pub in_flight: bool,
}

/// Whether the links of a radio share a limit. Displayed, parsed and listed (`strum`) as `separate`
/// and `shared`.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Debug,
    Default,
    Display,
    EnumMessage,
    EnumString,
    IntoStaticStr,
    VariantArray,
    // By its path, because the trait has a constant of the same name as `VariantArray`.
    strum::VariantNames,
)]
pub enum QueueScope {
    /// Each link has the whole limit.
    #[default]
    #[strum(serialize = "separate")]
    Link,
    /// The links of the radio share the limit.
    #[strum(serialize = "shared")]
    Radio,
}

/// The order in which the links of a radio are served. Displayed, parsed and listed (`strum`) as
/// `round-robin` and `oldest-first`.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Debug,
    Default,
    Display,
    EnumMessage,
    EnumString,
    IntoStaticStr,
    VariantArray,
    // By its path, because the trait has a constant of the same name as `VariantArray`.
    strum::VariantNames,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Schedule {
    /// In turn: a link goes to the tail when its frame is acknowledged or given up, and keeps its
    /// turn until then. With aggregates composed ahead it goes there when its aggregate is
    /// composed.
    #[default]
    RoundRobin,
    /// The link whose oldest packet came first.
    OldestFirst,
}

/// The transmit paths that the papers compare. Displayed, parsed and listed (`strum`) in kebab
/// case, such as `fq-codel`.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Debug,
    Default,
    Display,
    EnumMessage,
    EnumString,
    IntoStaticStr,
    VariantArray,
    // By its path, because the trait has a constant of the same name as `VariantArray`.
    strum::VariantNames,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Scheme {
    /// A closed access point: a FIFO for each station, served in turn.
    #[default]
    PerStation,
    /// Linux before 4.8: `pfifo` of 1000 packets over the driver's queue.
    Fifo,
    /// CoDel in place of `pfifo`.
    Codel,
    /// FQ-CoDel in place of `pfifo`.
    FqCodel,
    /// 004's FQ-MAC: flow queues within the MAC, stations in turn.
    FqMac,
    /// 004's airtime fairness on top of FQ-MAC.
    Airtime,
    /// 003's WQM: `pfifo` of a size that follows the rate.
    Wqm,
    /// WQM's size for an FQ-CoDel queueing discipline: flow separation as 003 leaves it to future
    /// work.
    WqmFq,
}

impl Scheme {
    /// All schemes, in the order of the enumeration.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The name in scenarios, flags and tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Linux's `txqueuelen` of 003 and 004.
const TXQUEUELEN: usize = 1_000;
/// Packets that ath9k holds per access category before it stops the queueing discipline: a quarter
/// of its 512 buffers less 5.
const DRIVER_PACKETS: usize = 123;
/// Most aggregates that a path under the airtime queue limit composes ahead: more than the limit
/// ever allows.
const FIRMWARE_AGGREGATES: u16 = 64;
/// Aggregates that ath9k keeps in the hardware's queue (004 §3.2).
pub(super) const HARDWARE_AGGREGATES: u16 = 2;

impl PathConfig {
    /// Packets of a closed access point's queue for each station, as measured on commercial ones
    /// (paper 000).
    pub const PER_STATION_PACKETS: usize = 2_500;

    /// A FIFO of `packets` packets for each link, not counting those in flight. Links are served in
    /// turn, and frames are composed on winning the channel.
    #[must_use]
    pub const fn per_station(packets: usize) -> Self {
        Self::queued(QueueLimit::per_link(packets))
    }

    /// A FIFO under this limit for each link. Links are served in turn, and frames are composed on
    /// winning the channel.
    #[must_use]
    pub const fn queued(limit: QueueLimit) -> Self {
        Self {
            qdisc: None,
            wqm: None,
            queues: Queues::Fifo(limit),
            schedule: Schedule::RoundRobin,
            airtime_fairness: None,
            hardware: 0,
            airtime_limit: None,
            driver: DriverRules::NONE,
            key: [0; 16],
        }
    }

    /// A queue of your own for each link and access category, built by `factory`. Links are served
    /// in turn, and frames are composed on winning the channel. See [`super::TransmitQueue`] for an
    /// example.
    #[must_use]
    pub fn custom(factory: impl QueueFactory + 'static) -> Self {
        Self {
            queues: Queues::Custom(CustomQueues::new(factory)),
            ..Self::default()
        }
    }

    /// The path of a scheme, with the parameters of the papers or of the Linux version that they
    /// used.
    #[must_use]
    pub fn of(scheme: Scheme) -> Self {
        let linux = |qdisc| {
            let driver = QueueLimit::shared(DRIVER_PACKETS);
            Self {
                qdisc: Some(qdisc),
                queues: Queues::Fifo(driver),
                hardware: HARDWARE_AGGREGATES,
                ..Self::default()
            }
        };
        let flow_queues = || {
            let queues = Queues::FlowQueues(FqMacConfig::default());
            Self {
                queues,
                hardware: HARDWARE_AGGREGATES,
                ..Self::default()
            }
        };
        let fifo = Qdisc::Fifo {
            packets: TXQUEUELEN,
        };
        let fq_codel = Qdisc::FqCodel(FqCoDelConfig::default());
        match scheme {
            Scheme::PerStation => Self::per_station(Self::PER_STATION_PACKETS),
            Scheme::Fifo => linux(fifo),
            Scheme::Codel => linux(Qdisc::Codel {
                config: CoDelConfig::default(),
                packets: TXQUEUELEN,
            }),
            Scheme::FqCodel => linux(fq_codel),
            Scheme::FqMac => flow_queues(),
            Scheme::Airtime => Self {
                airtime_fairness: Some(AirtimeConfig::default()),
                ..flow_queues()
            },
            Scheme::Wqm => Self {
                wqm: Some(WqmConfig::default()),
                ..linux(fifo)
            },
            Scheme::WqmFq => Self {
                wqm: Some(WqmConfig::default()),
                ..linux(fq_codel)
            },
        }
    }

    /// Limits the airtime that is composed ahead, and not the number of aggregates: so do drivers
    /// that leave the limit to Linux's AQL.
    pub fn limit_airtime(&mut self, limit: AirtimeLimitConfig) {
        self.airtime_limit = Some(limit);
        self.hardware = FIRMWARE_AGGREGATES;
    }

    /// The limit of the queues below the queueing discipline, if they are FIFOs.
    #[must_use]
    pub const fn limit(&self) -> Option<QueueLimit> {
        match self.queues {
            Queues::Fifo(limit) => Some(limit),
            Queues::FlowQueues(_) | Queues::Custom(_) => None,
        }
    }

    pub(in crate::mac) fn validate(&self, radio: RadioId) -> Result<(), ConfigError> {
        let qdisc = match self.qdisc {
            Some(Qdisc::Fifo { packets } | Qdisc::Codel { packets, .. }) => packets,
            Some(Qdisc::FqCodel(config)) => config.packet_limit as usize,
            None => 1,
        };
        let below = match &self.queues {
            Queues::Fifo(limit) => limit.packets,
            Queues::FlowQueues(config) => config.packet_limit as usize,
            Queues::Custom(_) => 1,
        };
        if qdisc == 0 || below == 0 {
            return Err(ConfigError::Zero("the queue limit"));
        }
        if self.wqm.is_some() && !matches!(self.qdisc, Some(Qdisc::Fifo { .. } | Qdisc::FqCodel(_)))
        {
            return Err(ConfigError::Unsized(radio));
        }
        let pushes_back = matches!(
            self.queues,
            Queues::Fifo(QueueLimit {
                scope: QueueScope::Radio,
                ..
            })
        );
        if self.qdisc.is_some() && !pushes_back {
            Err(ConfigError::Unshared(radio))
        } else {
            Ok(())
        }
    }
}

impl Default for PathConfig {
    /// [`PathConfig::per_station`] with Linux's `txqueuelen` of 1000 packets.
    fn default() -> Self {
        Self::per_station(TXQUEUELEN)
    }
}

impl QueueLimit {
    /// `packets` packets for each link, not counting those in flight.
    #[must_use]
    pub const fn per_link(packets: usize) -> Self {
        Self {
            packets,
            scope: QueueScope::Link,
            in_flight: false,
        }
    }

    /// `packets` packets for all links together, counting those in flight, as in ns-3.
    #[must_use]
    pub const fn shared(packets: usize) -> Self {
        Self {
            packets,
            scope: QueueScope::Radio,
            in_flight: true,
        }
    }
}
