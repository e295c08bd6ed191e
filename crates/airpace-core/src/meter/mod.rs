//! The receiver's meter: from what arrives to a [`SlotReport`] per slot.
//!
//! Two feeds, either or both:
//! - [`Meter::on_mpdu`]: what a monitor interface shows of the station's own MPDUs. Gives frames and levels, corrected by the MAC's
//!   sequence numbers and retry bits.
//! - [`Meter::on_packet`]: authenticated messages of the tunnel. Gives losses, late packets, bytes and delay, and, in a slot in which
//!   the monitor shows nothing, frames and levels as well.
//!
//! Frames are told apart by A-MPDU reference, else by MAC timestamp, else by gaps between arrivals. The level of a slot is first
//! transmissions per frame that carried any:
//! - a hole in the MAC's sequence numbers was in a frame, and is counted there. A hole in the tunnel's may be a packet that the access
//!   point's queue dropped, which was in no frame: it is counted when a retransmission fills it, and otherwise is a loss;
//! - a frame of retransmissions alone is no sample;
//! - retransmissions of packets never heard of before were the end of an earlier frame if they are few, and are counted there;
//!   otherwise a whole frame was lost, and neither it nor its packets are counted.
//!
//! Memory is fixed, whatever arrives.

mod delay;
mod frames;
mod sequence;

#[cfg(test)]
mod tests;

use crate::report::{LevelSource, SenderView, SlotReport};
use crate::wire::ieee80211::DataHeader;
use crate::wire::radiotap::Radiotap;
use airpace_units::{BitRate, StationId, Time};
use core::time::Duration;
use delay::DelayMeter;
use frames::{Arrival, FrameMeter, Tally};
use sequence::{MacWindow, Place, TunnelWindow};

/// Arrivals closer than this are of one frame, if nothing better tells.
///
/// The packets of an A-MPDU are handed over together at its end, within microseconds; the next frame to the same station ends no
/// sooner than a SIFS (16 µs), a block acknowledgement (32 µs), an AIFS of best effort (43 µs) and a preamble (40 µs) later. Half
/// of these 131 µs lies well away from both.
pub const FRAME_GAP: Duration = Duration::from_micros(65);

/// Parameters of a [`Meter`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MeterConfig {
    /// The station whose reports these are.
    pub station: StationId,
    /// See [`FRAME_GAP`], the default.
    pub frame_gap: Duration,
}

impl MeterConfig {
    /// Default parameters for a station.
    #[must_use]
    pub const fn new(station: StationId) -> Self {
        Self {
            station,
            frame_gap: FRAME_GAP,
        }
    }
}

/// What the radio tells of the frame that something came in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FrameHints {
    /// A-MPDU reference number: the same for all MPDUs of one frame.
    pub ampdu: Option<u32>,
    /// MAC timestamp in microseconds: the same for all MPDUs of one frame.
    pub tsft_us: Option<u64>,
    /// PHY rate of the frame.
    pub rate: Option<BitRate>,
    /// Whether this MPDU was sent before; `None` if that is not known.
    pub retry: Option<bool>,
}

/// An MPDU to this station, heard by a monitor interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mpdu {
    /// When it was handed over, on this station's clock.
    pub arrival: Time,
    /// What the radio tells.
    pub frame: FrameHints,
    /// Sequence number of the MAC, 0 to 4095.
    pub sequence: u16,
    /// Traffic identifier: each counts sequence numbers of its own.
    pub tid: Option<u8>,
    /// Packets (MSDUs) in it: 1 unless it is an A-MSDU.
    pub packets: u16,
    /// Bytes of these packets.
    pub bytes: u32,
}

impl Mpdu {
    /// What radiotap and the 802.11 header tell of an MPDU that holds one packet of `bytes`.
    #[must_use]
    pub fn heard(arrival: Time, radiotap: &Radiotap, header: &DataHeader, bytes: u32) -> Self {
        let frame = FrameHints {
            ampdu: radiotap.ampdu.map(|a| a.reference),
            tsft_us: radiotap.tsft_us,
            rate: radiotap.rate().map(|r| r.rate()),
            retry: Some(header.retry),
        };
        Self {
            arrival,
            frame,
            sequence: header.sequence,
            tid: header.tid,
            packets: 1,
            bytes,
        }
    }
}

/// A message of the tunnel that proved authentic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Received {
    /// When it arrived, on this station's clock; best the kernel's timestamp.
    pub arrival: Time,
    /// What is known of its frame; all `None` for a plain socket.
    pub frame: FrameHints,
    /// The tunnel's counter. Every message counts, also those without a packet.
    pub sequence: u64,
    /// Bytes of the packet inside.
    pub bytes: u32,
    /// Time since it was sent, up to an unknown constant, in nanoseconds ([`SendTime::offset_ns`]).
    ///
    /// [`SendTime::offset_ns`]: crate::wire::data::SendTime::offset_ns
    pub delay_ns: Option<i64>,
}

/// Groups arrivals into frames and slots.
#[derive(Clone, Debug)]
pub struct Meter {
    config: MeterConfig,
    slot: u64,
    slot_start: Time,
    mac: FrameMeter,
    mac_windows: [MacWindow; TIDS],
    tunnel: FrameMeter,
    tunnel_window: TunnelWindow,
    delay: DelayMeter,
    bytes: u64,
    late: u32,
    source: LevelSource,
}

/// Sixteen traffic identifiers, and one place for frames without.
const TIDS: usize = 17;

impl Meter {
    /// A meter whose first slot begins at `start`.
    #[must_use]
    pub fn new(config: MeterConfig, start: Time) -> Self {
        Self {
            config,
            slot: 0,
            slot_start: start,
            mac: FrameMeter::new(config.frame_gap),
            mac_windows: [MacWindow::default(); TIDS],
            tunnel: FrameMeter::new(config.frame_gap),
            tunnel_window: TunnelWindow::default(),
            delay: DelayMeter::new(),
            bytes: 0,
            late: 0,
            source: LevelSource::SocketTimestamps,
        }
    }

    /// An MPDU to this station was heard. MPDUs to others, and damaged ones, are the caller's to sort out.
    pub fn on_mpdu(&mut self, mpdu: &Mpdu) {
        let window =
            &mut self.mac_windows[mpdu.tid.map_or(TIDS - 1, |tid| usize::from(tid & 0x0f))];
        let place = window.place(mpdu.sequence, mpdu.frame.retry);
        let arrival = Arrival {
            at: mpdu.arrival,
            hints: mpdu.frame,
            place,
            packets: u32::from(mpdu.packets.max(1)),
            bytes: mpdu.bytes,
        };
        self.mac.on_arrival(&arrival);
    }

    /// A message of the tunnel arrived.
    pub fn on_packet(&mut self, received: &Received) {
        let place = self.tunnel_window.place(received.sequence);
        if place == Place::Duplicate {
            return;
        }
        if matches!(place, Place::Fill | Place::Behind) {
            self.late = self.late.saturating_add(1);
        }
        self.bytes = self.bytes.saturating_add(u64::from(received.bytes));
        if let Some(delay_ns) = received.delay_ns {
            self.delay.on_sample(received.arrival, delay_ns);
        }
        let (at, hints, bytes) = (received.arrival, received.frame, received.bytes);
        self.tunnel.on_arrival(&Arrival {
            at,
            hints,
            place,
            packets: 1,
            bytes,
        });
    }

    /// The sender's counter starts anew, as it does with every session of the tunnel. What was missing before is given up: it is
    /// not counted as lost.
    pub fn restart_sequence(&mut self) {
        self.tunnel_window = TunnelWindow::default();
    }

    /// Ends the slot now and begins the next.
    ///
    /// A frame of which packets may still arrive belongs to the next slot as a whole. A packet is lost if it was missing at the end
    /// of the last slot already and still is, or if 4096 later ones came.
    pub fn close_slot(&mut self, now: Time) -> SlotReport {
        let (mac, tunnel) = (self.mac.close(now), self.tunnel.close(now));
        let monitored = mac.active;
        let tally = if monitored { mac } else { tunnel };
        self.source = tally.source.unwrap_or(self.source);
        let mut report = self.report(now, &tally);
        if !tunnel.active {
            (report.bytes, report.late) = (mac.bytes, mac.late);
        }
        self.slot += 1;
        self.slot_start = now;
        report
    }

    /// The report of the slot that ends now; what is counted per slot begins anew.
    fn report(&mut self, now: Time, tally: &Tally) -> SlotReport {
        let (mpdus, packets) = tally.mpdus_and_packets();
        SlotReport {
            station: self.config.station,
            slot: self.slot,
            length: now.saturating_since(self.slot_start),
            frames: tally.frames,
            mpdus,
            packets,
            bytes: core::mem::take(&mut self.bytes),
            span: tally.span,
            inverse_rate_sum: tally.inverse_rate_sum(),
            lost: self.tunnel_window.settle(),
            late: core::mem::take(&mut self.late),
            delay: self.delay.close(),
            source: self.source,
            sender: SenderView::default(),
        }
    }
}
