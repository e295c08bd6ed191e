//! The reports of stations and the allocations of controllers.

pub mod claims;

use crate::sensor::USABLE;
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
    /// Receive timestamps of a socket ([`crate::meter::classifier`]).
    SocketTimestamps,
}

/// What observed a station, best first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Sensor {
    /// The agent on the station, with its own meter.
    #[default]
    Agent,
    /// A radio near the access point that hears the station's block acks ([`crate::sensor::block_ack`]).
    BlockAck,
    /// Bursts of acknowledgements in the uplink, of TCP and QUIC ([`crate::sensor::ack_burst`]).
    AckBurst,
    /// Round-trip times of live traffic ([`crate::sensor::waiting`]): no level, only a waiting time.
    WaitingTime,
    /// Nothing but what the sender itself has sent.
    None,
}

impl Sensor {
    /// Every sensor, best first.
    pub const ALL: [Self; 5] = [
        Self::Agent,
        Self::BlockAck,
        Self::AckBurst,
        Self::WaitingTime,
        Self::None,
    ];

    /// Its name in tables, telemetry and configuration.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::BlockAck => "block-ack",
            Self::AckBurst => "ack-burst",
            Self::WaitingTime => "waiting-time",
            Self::None => "none",
        }
    }
}

/// How a waiting time was measured, best first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum WaitSource {
    /// The sender's clock in each packet's header against its arrival.
    #[default]
    SendStamps,
    /// The block acknowledgement that covers the packet.
    BlockAcks,
    /// The acknowledgement of a TCP segment.
    TcpAcks,
}

/// How long the packets of a slot took through the access point, above the smallest time seen in
/// the last minute: waiting for the round, in a queue, and for retransmissions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WaitingTime {
    /// Mean.
    pub mean: Duration,
    /// Median.
    pub p50: Duration,
    /// 95th percentile.
    pub p95: Duration,
    /// 99th percentile.
    pub p99: Duration,
    /// How it was measured.
    pub source: WaitSource,
}

impl WaitingTime {
    /// All packets wait for the same time.
    #[cfg(test)]
    pub(crate) const fn constant(wait: Duration, source: WaitSource) -> Self {
        Self {
            mean: wait,
            p50: wait,
            p95: wait,
            p99: wait,
            source,
        }
    }

    /// The waiting time of two slots with these numbers of packets.
    fn joined(&self, later: &Self, packets: u32, later_packets: u32) -> Self {
        let all = (f64::from(packets) + f64::from(later_packets)).max(1.0);
        let share = f64::from(packets) / all;
        Self {
            mean: self.mean.mul_f64(share) + later.mean.mul_f64(1.0 - share),
            p50: self.p50.max(later.p50),
            p95: self.p95.max(later.p95),
            p99: self.p99.max(later.p99),
            source: self.source.max(later.source),
        }
    }
}

/// What a station's answers to what it is sent tell of its frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Answers {
    /// What has arrived.
    #[default]
    Tell,
    /// Which frames have arrived, as of QUIC that answers every second packet: what is in them is encrypted.
    Often,
    /// Little, as of QUIC that answers every tenth packet: they are encrypted and few, so that how long frames take is a guess.
    Seldom,
    /// The same, of a client that answers once for all packets that it reads at a time.
    AtOnce,
}

/// Whether other networks send on the channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OtherNetworks {
    /// They may, or may not.
    #[default]
    Unknown,
    /// None does.
    Silent,
    /// Their frames seem to stand among those of the access point. At the lowest PHY rates it seems so without them too.
    Sending,
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
    /// Largest number of packets received in one of those frames; 0 if it is not known. It shows how
    /// long the access point's frames can be.
    pub longest_frame: u32,
    /// Bytes of the packets received.
    pub bytes: u64,
    /// Arrival of the first and of the last counted frame, on the station's clock; `None` without
    /// frames.
    pub span: Option<(Time, Time)>,
    /// Sum over the counted frames of 1/R in seconds per bit, where R is the frame's PHY rate; 0 if
    /// the rate is unknown.
    pub inverse_rate_sum: f64,
    /// 1/R of the last frames in seconds per bit, the last ones weighing most; 0 if it is unknown.
    /// It follows a change of the PHY rate in the course of the slot.
    pub recent_inverse_rate: f64,
    /// Packets that did not arrive, by sequence number.
    pub lost: u32,
    /// Packets that arrived after a later one (retransmissions by the MAC).
    pub late: u32,
    /// Waiting time of the packets that arrived in the slot, if it was measured.
    pub wait: Option<WaitingTime>,
    /// Time from the composition of a frame of the level of this slot to the station's answer, as most
    /// frames show it, if the sensor saw it: what the frame takes on the air, and what is
    /// the same for all stations of an access point. It is not sent over the network.
    pub transit: Option<Duration>,
    /// What the transits of the access point's stations show of other networks. It is not sent over the network.
    pub others: OtherNetworks,
    /// IP bits per second of airtime, if the sensor saw how long frames take but could not tell the frames apart. It
    /// is not sent over the network.
    pub airtime_bps: Option<f64>,
    /// What the station's answers tell. It is not sent over the network.
    pub answers: Answers,
    /// PHY rate of the frames in which a station uploads, bit/s, if the sensor saw how long they took. It is
    /// not sent over the network.
    pub upload_bps: Option<f64>,
    /// How the level was measured.
    pub source: LevelSource,
    /// What observed the station. It is not sent over the network: it follows from the way the
    /// report came.
    pub sensor: Sensor,
    /// How far frames and level can be relied upon, 0 to 1. An agent's count by reference or MAC
    /// timestamp is certain (1). An agent that is not sure reports frames by a fixed gap; other
    /// sensors then report none. Over the network an agent only says whether it is sure.
    pub confidence: f64,
    /// What the sender knows; it fills this in on receipt.
    pub sender: SenderView,
}

/// What the sender knows about the slot. It is not sent over the network.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SenderView {
    /// Whether packets for this station waited at the sender's pacer during the slot. If not, the
    /// station is demand-limited and leaves its unused share to the others.
    pub backlogged: bool,
    /// Whether the sender's low-latency queue marked packets during the slot. Scalable flows keep
    /// that queue nearly empty and leave a part of the rate unused, but would use a higher one.
    pub marked: bool,
    /// Packets handed to the network for this station in the last slot.
    pub sent_packets: u32,
    /// Bytes of those packets.
    pub sent_bytes: u64,
    /// Those of the packets that had to wait for the sender's pacer. The others would have come at
    /// any rate.
    pub held_packets: u32,
    /// Frames in which packets came from the station in that time, reports included. They take
    /// airtime that is not the access point's.
    pub uplink_frames: u32,
    /// Bytes of the packets in them.
    pub uplink_bytes: u64,
    /// Whether packets for the station pass the sender unseen.
    pub bypassed: bool,
}

impl Default for SenderView {
    /// A sender that always has packets to send, as in constant-rate tests.
    fn default() -> Self {
        Self {
            backlogged: true,
            marked: false,
            sent_packets: 0,
            sent_bytes: 0,
            held_packets: 0,
            uplink_frames: 0,
            uplink_bytes: 0,
            bypassed: false,
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
            longest_frame: 0,
            bytes: 0,
            span: None,
            inverse_rate_sum: 0.0,
            recent_inverse_rate: 0.0,
            lost: 0,
            late: 0,
            wait: None,
            transit: None,
            others: OtherNetworks::Unknown,
            airtime_bps: None,
            answers: Answers::Tell,
            upload_bps: None,
            source: LevelSource::AmpduReference,
            sensor: Sensor::Agent,
            confidence: 1.0,
            sender: SenderView::default(),
        }
    }

    /// Whether frames could not be told apart reliably. Those that an agent reports all the same are for
    /// a sender that knows nothing better.
    #[must_use]
    pub fn is_unsure(&self) -> bool {
        self.confidence < USABLE
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

    /// Adds a later report of the same station, as if both slots had been one.
    ///
    /// Of the waiting times, the mean is that of all packets, and each quantile the larger one.
    pub fn append(&mut self, later: &Self) {
        let sum = u32::saturating_add;
        self.wait = match (self.wait, later.wait) {
            (Some(first), Some(second)) => Some(first.joined(&second, self.packets, later.packets)),
            (first, second) => first.or(second),
        };
        self.transit = later.transit.or(self.transit);
        self.others = later.others;
        self.airtime_bps = later.airtime_bps.or(self.airtime_bps);
        self.answers = later.answers;
        self.upload_bps = later.upload_bps.or(self.upload_bps);
        self.slot = later.slot;
        self.length = self.length.saturating_add(later.length);
        self.frames = sum(self.frames, later.frames);
        self.mpdus = sum(self.mpdus, later.mpdus);
        self.packets = sum(self.packets, later.packets);
        self.longest_frame = self.longest_frame.max(later.longest_frame);
        self.bytes = self.bytes.saturating_add(later.bytes);
        self.span = match (self.span, later.span) {
            (Some((first, _)), Some((_, last))) => Some((first, last)),
            (first, second) => first.or(second),
        };
        self.inverse_rate_sum += later.inverse_rate_sum;
        if later.recent_inverse_rate > 0.0 {
            self.recent_inverse_rate = later.recent_inverse_rate;
        }
        self.lost = sum(self.lost, later.lost);
        self.late = sum(self.late, later.late);
        self.source = self.source.max(later.source);
        // Frames of both are mixed now, so the whole is as good as the worse part.
        self.sensor = self.sensor.max(later.sensor);
        self.confidence = self.confidence.min(later.confidence);
        self.sender.backlogged |= later.sender.backlogged;
        self.sender.marked |= later.sender.marked;
        self.sender.sent_packets = sum(self.sender.sent_packets, later.sender.sent_packets);
        self.sender.held_packets = sum(self.sender.held_packets, later.sender.held_packets);
        self.sender.sent_bytes = self
            .sender
            .sent_bytes
            .saturating_add(later.sender.sent_bytes);
        self.sender.uplink_frames = sum(self.sender.uplink_frames, later.sender.uplink_frames);
        self.sender.uplink_bytes = self
            .sender
            .uplink_bytes
            .saturating_add(later.sender.uplink_bytes);
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
    /// Time from the decision on for which nothing is sent, so that a queue at the access point
    /// drains.
    pub pause: Duration,
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
            pause: Duration::ZERO,
        }
    }
}
