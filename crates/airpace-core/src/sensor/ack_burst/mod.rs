//! Levels and rounds from bursts of acknowledgements, of TCP and of QUIC.
//!
//! A station answers the segments of a downlink frame with acknowledgements that leave together, in
//! its next uplink frame, and so reach the box within microseconds. What a burst newly acknowledges
//! is what the downlink frames before it carried. How many frames that were is the question: the
//! access point and the station contend for the air, and the access point often sends two or three
//! frames before the station sends one. `docs/design/sensors.md` has the method, its equations and
//! its limits.
//!
//! One [`AckBurst`] observes all stations of an access point. The caller tells it of every packet
//! that is handed to the access point and of every packet that comes back, and closes the slot of each
//! station.

mod agreement;
mod closed_slot;
mod estimate;
mod flow;
mod handed_over;
mod path;
mod quic;
mod station;
#[cfg(test)]
mod tests;
mod transit;
mod turns;
mod uploads;

use crate::report::{LevelSource, OtherNetworks, Sensor, SlotReport};
use crate::wire::tcp::Timestamps;
use crate::wire::transport::SackBlock;
use airpace_units::{StationId, Time};
use core::time::Duration;
use estimate::CellAir;
use station::StationBursts;
use std::collections::BTreeMap;
pub use transit::SegmentTransit;
pub(crate) use transit::{TRANSIT_COMMON, transit_of};
use turns::Turns;

/// A connection, whatever its direction: a hash of addresses and ports, in an order that does not
/// depend on the direction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FlowKey(pub u64);

/// A packet that is handed to the access point for a station.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DownlinkPacket {
    /// IP bytes.
    pub bytes: u32,
    /// The TCP segment in it; `None` for everything else.
    pub tcp: Option<DownlinkSegment>,
    /// The spin bit of the QUIC packet with a short header in it; `None` for everything else.
    pub quic: Option<SpinBit>,
}

/// A TCP segment to a station.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DownlinkSegment {
    /// The connection.
    pub flow: FlowKey,
    /// Sequence number of the first byte of payload.
    pub sequence: u32,
    /// Bytes of payload.
    pub payload: u32,
    /// The value of its timestamps option, if present.
    pub timestamp: Option<u32>,
}

/// The spin bit of a QUIC packet with a short header (RFC 9000 §17.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpinBit {
    /// The connection.
    pub flow: FlowKey,
    /// The bit.
    pub is_set: bool,
    /// Whether the fixed bit is set. Ends may agree to set it at random (RFC 9287), and most other traffic never sets it.
    pub is_fixed: bool,
}

impl SpinBit {
    /// The spin bit of a packet whose fixed bit is set.
    #[must_use]
    pub const fn new(flow: FlowKey, is_set: bool) -> Self {
        Self {
            flow,
            is_set,
            is_fixed: true,
        }
    }
}

/// A TCP acknowledgement from a station.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UplinkAck {
    /// The connection.
    pub flow: FlowKey,
    /// Acknowledgement number.
    pub number: u32,
    /// The timestamps option, if present.
    pub timestamps: Option<Timestamps>,
    /// The highest of the blocks that it acknowledges selectively, if any.
    pub highest_sack: Option<SackBlock>,
    /// How much had come from the station before, in all, in bytes modulo 2³², with or without Ethernet
    /// headers. Without it, what the station uploads in the same frame is not known.
    pub before_bytes: Option<u32>,
}

/// A QUIC packet with a short header from a station.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UplinkQuic {
    /// Its spin bit.
    pub spin: SpinBit,
    /// IP bytes.
    pub bytes: u32,
    /// As in [`UplinkAck`].
    pub before_bytes: Option<u32>,
}

/// Derives slot reports from the bursts of acknowledgements of all stations of an access point.
#[derive(Clone, Debug, Default)]
pub struct AckBurst {
    stations: BTreeMap<StationId, StationBursts>,
    turns: Turns,
    /// How many stations contended, and when that was counted, until one is heard again.
    contending: Option<(Time, usize)>,
    /// The way to the access point and back, and when it was last determined.
    way: (Time, Duration),
    /// When it was last determined for how long other networks send between two frames of the cell, and that time, seconds.
    foreign_s: (Time, f64),
    /// What transits show of other networks, and when that was determined.
    others: (Time, OtherNetworks),
}

/// Time constant with which it is forgotten that other networks send, while the cell does not tell, seconds.
const FOREIGN_MEMORY_S: f64 = 3.0;
/// Less than this between two frames of the cell does not count, seconds.
const FOREIGN_LEAST_S: f64 = 50e-6;

/// A station without an acknowledgement for this long does not contend.
const CONTENDS: Duration = Duration::from_millis(200);

impl AckBurst {
    /// A sensor that knows no station yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A packet is handed to the access point for `station`, after all queues of the box.
    pub fn on_downlink(&mut self, now: Time, station: StationId, packet: &DownlinkPacket) {
        self.station(now, station).on_downlink(now, packet);
    }

    /// A TCP acknowledgement from `station` passes the box.
    pub fn on_ack(&mut self, now: Time, station: StationId, ack: &UplinkAck) {
        self.contending = None;
        let others = self.turns.before(now, station);
        let (latest, way) = (self.turns.latest(), self.way.1);
        let own = self.station(now, station);
        own.on_uplink(now, latest, ack.before_bytes, way);
        if own.on_ack(now, ack, others) {
            self.take_turn(now, station);
        }
    }

    /// A QUIC packet with a short header from `station` passes the box.
    pub fn on_quic(&mut self, now: Time, station: StationId, packet: &UplinkQuic) {
        self.contending = None;
        let others = self.turns.before(now, station);
        let (latest, way) = (self.turns.latest(), self.way.1);
        let own = self.station(now, station);
        let begins = own.on_uplink(now, latest, packet.before_bytes, way);
        if own.on_quic(now, packet, others) || begins {
            self.take_turn(now, station);
        }
    }

    /// An uplink packet without a TCP acknowledgement passes the box: UDP other than QUIC, or the data of
    /// an upload. Of packets that come together, the first is enough. `before_bytes` is how much had come
    /// from the station before, in all, modulo 2³²; without it nothing is learnt of how fast the station
    /// uploads.
    pub fn on_uplink_other(&mut self, now: Time, station: StationId, before_bytes: Option<u32>) {
        self.contending = None;
        let (latest, way) = (self.turns.latest(), self.way.1);
        if self
            .station(now, station)
            .on_uplink(now, latest, before_bytes, way)
        {
            self.take_turn(now, station);
        }
    }

    /// A burst of `station` begins. If another station's began just before, the frames that both answer
    /// were sent one after the other, and how long each took is not known.
    fn take_turn(&mut self, now: Time, station: StationId) {
        let mut follows = false;
        for other in self.turns.just_before(now, station) {
            follows = true;
            if let Some(other) = self.stations.get_mut(&other) {
                other.answers_with_others();
            }
        }
        if follows && let Some(own) = self.stations.get_mut(&station) {
            own.answers_with_others();
        }
        self.turns.add(now, station);
    }

    /// Ends the slot of `station` and begins its next one. Without a usable estimate the report has
    /// no frames and confidence 0.
    pub fn close_slot(&mut self, now: Time, station: StationId) -> SlotReport {
        let contending = self.contending(now);
        self.determine_way(now);
        self.determine_foreign(now);
        self.determine_others(now);
        let (foreign_s, others) = (self.foreign_s.1, self.others.1);
        let slot = self
            .station(now, station)
            .close_slot(now, contending.max(1), foreign_s, others);
        SlotReport {
            slot: slot.number,
            frames: slot.frames,
            mpdus: slot.packets,
            packets: slot.packets,
            bytes: slot.bytes,
            span: slot.span,
            source: LevelSource::SocketTimestamps,
            sensor: Sensor::AckBurst,
            confidence: slot.confidence,
            transit: slot.transit,
            others,
            airtime_bps: slot.airtime_bps,
            answers: slot.answers,
            upload_bps: slot.upload_bps,
            ..SlotReport::silent(station, slot.length)
        }
    }

    /// Determines the way to the access point and back, once for all slots that end at the same time.
    ///
    /// Whatever else is in a station's times makes it seem longer: frames to others, above all to stations that
    /// nobody sees. So the shortest counts.
    fn determine_way(&mut self, now: Time) {
        if self.way.0 != now {
            let ways = self.stations.values().filter_map(|of| of.way(now));
            self.way = (now, ways.min().unwrap_or_default());
        }
    }

    /// Determines for how long other networks send between two frames of the cell, once for all slots that end at the
    /// same time. While the cell does not tell, because what a station takes of the air is not known, as under UDP, or
    /// frames hold little, what it told before fades.
    fn determine_foreign(&mut self, now: Time) {
        let (before, before_s) = self.foreign_s;
        if before == now {
            return;
        }
        let mut stations = self.stations.values();
        let cell = stations.try_fold(CellAir::default(), |cell, of| Some(cell.add(of.air()?)));
        let foreign_s = cell.and_then(CellAir::foreign_s).unwrap_or_else(|| {
            let since = now.saturating_since(before);
            before_s * (-since.as_secs_f64() / FOREIGN_MEMORY_S).exp()
        });
        let is_telling = foreign_s >= FOREIGN_LEAST_S;
        self.foreign_s = (now, if is_telling { foreign_s } else { 0.0 });
    }

    /// Determines what transits show of other networks, once for all slots that end at the same time.
    fn determine_others(&mut self, now: Time) {
        if self.others.0 != now {
            let agreements = self.stations.values().map(StationBursts::agreements);
            self.others = (now, agreement::others(agreements));
        }
    }

    /// How many stations contend. The slots of many stations end at the same time, so they are
    /// counted once for all.
    fn contending(&mut self, now: Time) -> usize {
        if let Some((at, contending)) = self.contending
            && at == now
        {
            return contending;
        }
        let stations = self.stations.values();
        let contending = stations
            .filter(|station| station.is_active(now, CONTENDS))
            .count();
        self.contending = Some((now, contending));
        contending
    }

    /// Forgets a station that has left.
    pub fn remove(&mut self, station: StationId) {
        self.contending = None;
        self.stations.remove(&station);
    }

    fn station(&mut self, now: Time, station: StationId) -> &mut StationBursts {
        self.stations
            .entry(station)
            .or_insert_with(|| StationBursts::new(now))
    }
}
