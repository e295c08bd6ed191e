//! What a driver and its firmware do with frames, beyond what 802.11 allows.

use super::{PathConfig, Queues};
use airpace_core::queue::AirtimeLimitConfig;
use core::time::Duration;
use strum::{Display, EnumMessage, EnumString, IntoStaticStr, VariantArray};

/// Rules by which a driver composes frames. With [`DriverRules::NONE`] frames are composed as 802.11
/// allows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DriverRules {
    /// Whether an aggregate must be short enough at every rate of the retry chain, because the
    /// hardware sends the same aggregate at all of them (ath9k: `ath_lookup_rate`).
    pub chain_limit: bool,
    /// Whether a frame at a rate that is being probed carries a single MPDU (ath9k).
    pub lone_probes: bool,
    /// Whether frames of the access category voice carry a single MPDU: mac80211 makes no block-ack
    /// agreement for it.
    pub lone_voice: bool,
    /// Whether MPDUs that are sent again go in frames of their own (Broadcom, paper 000 §2.3).
    pub lone_retries: bool,
    /// Frames composed ahead, the one on the air included, before a receiver that is never sent
    /// aggregates must wait (ath9k: `ATH_NON_AGGR_MIN_QDEPTH`). 0: as many as of aggregates.
    pub lone_ahead: u16,
    /// Frames composed at a turn of such a receiver (ath9k: 2, `ath_tx_form_burst`); at least 1.
    pub lone_burst: u16,
    /// Whether the driver goes through its list of receivers for each packet that it is given and
    /// for each frame that is done, before it is given more (ath9k: `ath_txq_schedule`). When the
    /// hardware's queue is full, the receiver at the head of the list goes to its tail unserved, so
    /// that the order depends on how many packets come. Where airtime is shared out, it stays.
    pub passes_over: bool,
    /// Whether airtime that is shared out is that of the frames alone, block-ack requests included, as
    /// the driver computes it (ath9k: `ath_tx_count_airtime`, `ath_rx_count_airtime`), without RTS,
    /// CTS and acknowledgements. A frame that is given up because no RTS was answered counts once.
    pub counts_frames_alone: bool,
    /// Longest frame (ath9k: 4 ms); `None` for the radio's own limit.
    pub max_duration: Option<Duration>,
    /// Most MPDUs in a frame (ath9k: half a block-ack window); `None` for the radio's own limit.
    pub max_mpdus: Option<u16>,
}

impl DriverRules {
    /// No rules.
    pub const NONE: Self = Self {
        chain_limit: false,
        lone_probes: false,
        lone_voice: false,
        lone_retries: false,
        lone_ahead: 0,
        lone_burst: 1,
        passes_over: false,
        counts_frames_alone: false,
        max_duration: None,
        max_mpdus: None,
    };

    /// The rules of ath9k.
    pub const ATH9K: Self = Self {
        chain_limit: true,
        lone_probes: true,
        lone_voice: true,
        lone_retries: false,
        lone_ahead: 8,
        lone_burst: 2,
        passes_over: true,
        counts_frames_alone: true,
        max_duration: Some(Duration::from_millis(4)),
        max_mpdus: Some(32),
    };
}

/// Drivers whose behaviour is known. Displayed, parsed and listed (`strum`) in kebab case.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Debug,
    Display,
    EnumMessage,
    EnumString,
    IntoStaticStr,
    VariantArray,
    // By its path, because the trait has a constant of the same name as `VariantArray`.
    strum::VariantNames,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Driver {
    /// Linux's driver for Atheros 802.11n: two aggregates ahead, or eight frames to receivers without
    /// aggregation, which get two at a turn; receivers passed over while the hardware is busy;
    /// airtime counted without acknowledgements; aggregates of at most 4 ms and 32 MPDUs that fit every
    /// rate of the retry chain; probes and voice unaggregated.
    Ath9k,
    /// Linux's driver for MediaTek: mac80211's queues under the airtime queue limit (AQL); voice
    /// unaggregated.
    Mt76,
    /// A closed access point: frames are composed when the channel is won.
    Closed,
    /// Broadcom's: as closed, with retransmissions in frames of their own.
    Broadcom,
}

impl PathConfig {
    /// Makes the path that of a driver. What the scheme says of queues and of the order of service
    /// stays; the depth of the hardware's queue and the rules for frames are the driver's. The
    /// airtime queue limit of [`Driver::Mt76`] takes effect only where the MAC has flow queues.
    pub fn drive_by(&mut self, driver: Driver) {
        let has_flow_queues = matches!(self.queues, Queues::FlowQueues(_));
        match driver {
            Driver::Ath9k => {
                self.hardware = super::config::HARDWARE_AGGREGATES;
                self.driver = DriverRules::ATH9K;
            }
            Driver::Mt76 => {
                if has_flow_queues {
                    self.limit_airtime(AirtimeLimitConfig::default());
                }
                self.driver = DriverRules {
                    lone_voice: true,
                    ..DriverRules::NONE
                };
            }
            Driver::Closed | Driver::Broadcom => {
                self.hardware = 0;
                self.driver = DriverRules {
                    lone_retries: driver == Driver::Broadcom,
                    ..DriverRules::NONE
                };
            }
        }
    }
}
