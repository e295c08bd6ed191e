//! The reports of stations and the allocations of controllers.

use airpace_units::{StationId, Time};
use core::time::Duration;

/// How an aggregation level was measured, best first (see [`crate::meter`]).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LevelSource {
    /// A-MPDU reference numbers of a monitor interface.
    AmpduReference,
    /// Equal MAC timestamps (TSFT).
    Tsft,
    /// Counters of the radio.
    Counters,
    /// Receive timestamps of a socket, grouped by gaps.
    SocketTimestamps,
}

/// One-way delay within a slot, relative to the smallest delay seen so far. For display only;
/// control does not use it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DelayQuantiles {
    /// Median.
    pub p50: Duration,
    /// 95th percentile.
    pub p95: Duration,
    /// 99th percentile.
    pub p99: Duration,
}

/// What one station received in one slot, and what its sender knows about that slot.
///
/// A report with `frames == 0` is valid: the station is alive but received nothing.
#[derive(Clone, PartialEq, Debug)]
pub struct SlotReport {
    /// The station.
    pub station: StationId,
    /// Slot number, counted by the station from zero.
    pub slot: u64,
    /// Length of the slot.
    pub length: Duration,
    /// Number of data frames (PPDUs) that carried new packets. A frame that holds only
    /// retransmissions is not counted.
    pub frames: u32,
    /// MPDUs in those frames: first transmissions, holes included.
    pub mpdus: u32,
    /// Packets (MSDUs) in those frames; equal to `mpdus` without A-MSDU. The aggregation level is
    /// `packets / frames`.
    pub packets: u32,
    /// Bytes of the packets received.
    pub bytes: u64,
    /// Arrival of the first and of the last counted frame, on the station's clock; `None` without
    /// frames.
    pub span: Option<(Time, Time)>,
    /// Sum over the counted frames of 1/R in seconds per bit, where R is the frame's PHY rate; 0 if
    /// the rate is unknown.
    pub inverse_rate_sum: f64,
    /// Packets that did not arrive, by sequence number.
    pub lost: u32,
    /// Packets that arrived after a later one (retransmissions by the MAC).
    pub late: u32,
    /// Delay within the slot, if the sender stamps its packets.
    pub delay: Option<DelayQuantiles>,
    /// How the level was measured.
    pub source: LevelSource,
    /// What the sender knows; it fills this in on receipt.
    pub sender: SenderView,
}

/// What the sender knows about the slot. It is not sent over the network.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SenderView {
    /// Whether packets for this station waited at the sender's pacer during the slot. If not, the
    /// station is demand-limited and leaves its unused share to the others.
    pub backlogged: bool,
    /// Packets handed to the network for this station in the last slot.
    pub sent_packets: u32,
    /// Bytes of those packets.
    pub sent_bytes: u64,
}

impl Default for SenderView {
    /// A sender that always has packets to send, as in constant-rate tests.
    fn default() -> Self {
        Self {
            backlogged: true,
            sent_packets: 0,
            sent_bytes: 0,
        }
    }
}

impl SlotReport {
    /// The report of a station that has received nothing in its first slot. It makes the station
    /// known to a law.
    #[must_use]
    pub fn silent(station: StationId, length: Duration) -> Self {
        Self {
            station,
            slot: 0,
            length,
            frames: 0,
            mpdus: 0,
            packets: 0,
            bytes: 0,
            span: None,
            inverse_rate_sum: 0.0,
            lost: 0,
            late: 0,
            delay: None,
            source: LevelSource::AmpduReference,
            sender: SenderView::default(),
        }
    }

    /// Mean packets per frame, the aggregation level μ̃ = P/F; `None` without frames.
    #[must_use]
    pub fn level(&self) -> Option<f64> {
        (self.frames > 0).then(|| f64::from(self.packets) / f64::from(self.frames))
    }

    /// Mean time between frames in seconds, D = (t_last − t_first)/(F − 1); `None` with fewer than
    /// two frames.
    ///
    /// Slot length / F would not do: the estimate of the overhead amplifies its quantisation error
    /// many times.
    #[must_use]
    pub fn round_s(&self) -> Option<f64> {
        let (first, last) = self.span?;
        let gaps = self.frames.checked_sub(1).filter(|&g| g > 0)?;
        Some(last.checked_since(first)?.as_secs_f64() / f64::from(gaps))
    }

    /// Harmonic mean of the PHY rate over frames in bit/s; `None` if it is unknown.
    #[must_use]
    pub fn phy_rate_bps(&self) -> Option<f64> {
        (self.inverse_rate_sum > 0.0).then(|| f64::from(self.frames) / self.inverse_rate_sum)
    }

    /// Packets received per second of the slot.
    #[must_use]
    pub fn received_pps(&self) -> f64 {
        let seconds = self.length.as_secs_f64();
        if seconds > 0.0 {
            f64::from(self.packets) / seconds
        } else {
            0.0
        }
    }
}

/// The rate a controller grants to one station.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Allocation {
    /// The station.
    pub station: StationId,
    /// Packets per second.
    pub rate_pps: f64,
    /// Bytes per second at the controller's packet size. With mixed sizes, a pacer uses airtime
    /// instead.
    pub rate_bytes_per_s: f64,
    /// Target aggregation level, packets per frame.
    pub level: f64,
}

impl Allocation {
    /// A rate of `rate_pps` packets of `packet_bytes` each per second, at which frames should have
    /// `level` packets.
    #[must_use]
    pub fn new(station: StationId, rate_pps: f64, packet_bytes: f64, level: f64) -> Self {
        Self {
            station,
            rate_pps,
            rate_bytes_per_s: rate_pps * packet_bytes,
            level,
        }
    }
}
