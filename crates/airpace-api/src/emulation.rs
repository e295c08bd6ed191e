//! What a run of the emulated access point reports.

use serde::{Deserialize, Serialize};

/// Version of [`EmulationReport`]; it changes when a field changes its meaning or is removed.
pub const EMULATION_FORMAT: u32 = 1;

/// A whole run. Times are in seconds since its start, on the emulator's clock.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct EmulationReport {
    /// [`EMULATION_FORMAT`].
    pub format: u32,
    /// Seed of back-off and losses.
    pub seed: u64,
    /// Length of the run in seconds.
    pub duration_s: f64,
    /// Whether the emulator kept up: the 99th percentile of its lag is at most 1 ms, and no packet
    /// was lost between it and the system in either direction.
    pub trusted: bool,
    /// Why the figures should not be trusted, and other remarks; one sentence each.
    pub warnings: Vec<String>,
    /// How late the emulator was, by its own clock.
    pub lag: Lag,
    /// Whether the loop ran with real-time priority.
    pub realtime: bool,
    /// How the access point queues: the name of its scheme, or `custom`.
    #[serde(default)]
    pub access_point: String,
    /// Jain's index of the stations' airtime in both directions together; 1 means equal shares.
    #[serde(default)]
    pub jain_airtime: f64,
    /// Per station, in order.
    pub stations: Vec<StationEmulation>,
    /// Packets that belong to no station, and packets that the system did not take.
    pub stray: Stray,
    /// Length of the slots in seconds. In a long run, neighbouring slots are merged and the length
    /// doubles.
    pub slot_s: f64,
}

/// Real time minus logical time at the ends of frames and at deliveries.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Lag {
    /// Events measured.
    pub events: u64,
    /// Median in milliseconds.
    pub p50_ms: f64,
    /// 99th percentile in milliseconds.
    pub p99_ms: f64,
    /// Largest in milliseconds.
    pub max_ms: f64,
}

/// Packets that did not belong to the cell or did not cross its border.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Stray {
    /// Packets with no destination in the cell.
    pub unroutable: u64,
    /// Packets that are longer than the largest MSDU, 2304 bytes.
    #[serde(default)]
    pub oversized: u64,
    /// Packets for all stations that the access point's queue or a collision has lost.
    #[serde(default)]
    pub group_lost: u64,
    /// Frames from stations that are not associated.
    #[serde(default)]
    pub unassociated: u64,
    /// Refused by the system: an interface was down or its queue full.
    pub refused: u64,
    /// Sent into the cell, but dropped by the system because the emulator did not read them in
    /// time.
    #[serde(default)]
    pub overflowed: u64,
    /// Packets and super-packets from stations that the full queue of their `wlan0` has not taken,
    /// because the station's queue for the air was full. TCP sends them later; datagrams are lost.
    #[serde(default)]
    pub held_back: u64,
    /// Frames for which a monitor interface had no room.
    pub unheard: u64,
}

/// One station's share of a run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StationEmulation {
    /// Index of the station.
    pub station: u32,
    /// Its address.
    pub address: String,
    /// PHY rate of its last frame, for example `VHT 80 MHz MCS 9 × 1, 800 ns`; empty without
    /// frames.
    pub rate: String,
    /// Share of the run during which its frames in both directions and their responses occupied the
    /// channel.
    #[serde(default)]
    pub airtime: f64,
    /// From the access point to the station.
    pub down: DirectionTotals,
    /// From the station to the access point.
    pub up: DirectionTotals,
    /// The time series; empty if it was not asked for.
    pub slots: Vec<EmulationSlot>,
}

/// One direction's totals.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct DirectionTotals {
    /// Packets that the receiver passed up.
    pub packets: u64,
    /// Bytes of those packets, IP header included.
    pub bytes: u64,
    /// Those bytes over the whole run in Mbit/s.
    pub goodput_mbps: f64,
    /// Frames that carried new packets.
    pub frames: u64,
    /// Frames that carried retransmissions only.
    pub retry_frames: u64,
    /// Mean new packets per frame that carried any; `None` without frames.
    pub level: Option<f64>,
    /// Mean time between the ends of frames that carried new packets, in milliseconds.
    pub round_ms: Option<f64>,
    /// Share of the run during which the frames and their responses occupied the channel.
    pub airtime: f64,
    /// MPDUs sent again.
    pub retries: u64,
    /// Frames that collided.
    pub collisions: u64,
    /// Packets dropped by the sender's queues: the sum of [`DirectionTotals::drops`].
    pub dropped_queue: u64,
    /// The same by reason.
    #[serde(default)]
    pub drops: QueueDrops,
    /// Packets delivered with a Congestion Experienced mark that the sender's queue set.
    #[serde(default)]
    pub marked: u64,
    /// Packets given up at the retry limit.
    pub dropped_retries: u64,
    /// Longest queue of the sender, in packets. That of a station is bounded: the rest waits in its
    /// kernel.
    pub queue_max: u64,
}

/// Packets that queues dropped, by reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct QueueDrops {
    /// The queue was full, in packets or bytes: tail drop.
    pub full: u64,
    /// CoDel: packets had waited too long, and the packet could not be marked.
    pub codel: u64,
    /// All flow queues together were full, and the packet stood at the head of the longest.
    pub longest_flow: u64,
    /// The receiver had left.
    pub gone: u64,
    /// Any other reason.
    pub other: u64,
}

impl QueueDrops {
    /// Packets dropped for any reason.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.full + self.codel + self.longest_flow + self.gone + self.other
    }
}

/// One station in one slot.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct EmulationSlot {
    /// Beginning of the slot.
    pub at_s: f64,
    /// Downlink frames that carried new packets.
    pub frames: u32,
    /// New packets in them, delivered or not.
    pub packets: u32,
    /// Packets per frame; `None` without frames.
    pub level: Option<f64>,
    /// Bytes delivered to the station.
    pub bytes: u64,
    /// Packets waiting at the access point at the end of the slot.
    pub queue: u32,
    /// The most that waited during the slot.
    pub queue_max: u32,
    /// Seconds during which the downlink frames and their responses occupied the channel.
    pub airtime_s: f64,
    /// MPDUs sent again, downlink.
    pub retries: u32,
    /// Packets dropped, downlink.
    pub dropped: u32,
    /// Uplink frames that carried new packets.
    pub up_frames: u32,
    /// Bytes delivered to the access point.
    pub up_bytes: u64,
    /// Seconds during which the uplink frames and their responses occupied the channel.
    pub up_airtime_s: f64,
}
