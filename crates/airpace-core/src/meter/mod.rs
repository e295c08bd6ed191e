//! The receiver's meter: turns arrivals into one [`SlotReport`] per slot.
//!
//! It has two inputs, of which either suffices:
//! - [`Meter::on_mpdu`]: the station's own MPDUs from a monitor interface. They give frames and
//!   levels, corrected by the MAC's sequence numbers and retry bits.
//! - [`Meter::on_packet`]: authenticated messages of the tunnel. They give losses, late packets,
//!   bytes and delay, and also frames and levels in a slot without MPDUs from a monitor.
//!
//! Frames are distinguished by A-MPDU reference, otherwise by MAC timestamp, otherwise by the times
//! of arrivals: by a fixed gap, or by a trained [`classifier`] ([`Grouping`]). Where the classifier
//! cannot tell, the report has the frames of the gap and a confidence below
//! [`USABLE`](crate::sensor::USABLE). References repeat on radios that count them in few bits.
//! Therefore MPDUs with the same reference must also agree in traffic identifier, block-ack window and, within the
//! airtime of what lies between them, MAC timestamps. The level of a slot is the number of first transmissions per frame that
//! carried any:
//! - A hole in the MAC's sequence numbers was in a frame and counts there. A hole in the tunnel's
//!   counters may be a packet that the access point's queue dropped, which was in no frame. It
//!   counts when a retransmission fills it; otherwise it is a loss.
//! - A frame that holds only retransmissions is not a sample.
//! - Retransmissions of packets not received before were the end of an earlier frame if they are
//!   few, and count there. Otherwise a whole frame was lost, and neither it nor its packets count.
//!
//! What arrives as video or voice (by its traffic identifier, or by [`Received::category`]) is in
//! frames of its own, which pass those of best effort. It says nothing about their level, the time
//! between them and how long packets wait for them, so neither its frames nor its packets count; its
//! losses and bytes do.
//!
//! The memory is fixed, whatever arrives.

pub mod classifier;
mod delay;
mod frames;
mod open_frame;
mod sequence;

#[cfg(test)]
mod tests;

use crate::phy::AccessCategory;
use crate::report::{Answers, LevelSource, OtherNetworks, SenderView, Sensor, SlotReport};
use crate::wire::ieee80211::DataHeader;
use crate::wire::radiotap::Radiotap;
use airpace_units::{BitRate, StationId, Time};
use core::time::Duration;
pub(crate) use delay::DelayMeter;
use frames::{FrameMeter, Tally};
use open_frame::Arrival;
use sequence::{MacWindow, Place, TunnelWindow};

/// Arrivals closer than this belong to one frame under [`Grouping::FixedGap`].
///
/// The packets of an A-MPDU are handed over together at its end, within microseconds. The next
/// frame to the same station ends no sooner than a SIFS (16 µs), a block acknowledgement (32 µs),
/// an AIFS of best effort (43 µs) and a preamble (40 µs) later. Half of these 131 µs is well away
/// from both.
pub const FRAME_GAP: Duration = Duration::from_micros(65);

/// How arrivals are grouped into frames if the radio reports neither reference nor timestamp.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Grouping {
    /// By the trained [`classifier`], which says when it cannot tell.
    #[default]
    Trained,
    /// By [`MeterConfig::frame_gap`] alone.
    FixedGap,
}

/// Parameters of a [`Meter`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MeterConfig {
    /// The station that reports.
    pub station: StationId,
    /// How arrivals are grouped into frames where only their times are known. Default
    /// [`Grouping::Trained`].
    pub grouping: Grouping,
    /// Arrivals closer than this belong to one frame under [`Grouping::FixedGap`], or if the radio
    /// reports A-MPDU status without a reference. Default [`FRAME_GAP`].
    pub frame_gap: Duration,
}

impl MeterConfig {
    /// Default parameters for a station.
    #[must_use]
    pub const fn new(station: StationId) -> Self {
        Self {
            station,
            grouping: Grouping::Trained,
            frame_gap: FRAME_GAP,
        }
    }
}

/// What the radio reports about the frame that carried a packet or MPDU.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FrameHints {
    /// A-MPDU reference number: the same for all MPDUs of one frame. Zero means that the radio
    /// reports A-MPDU status without a number.
    pub ampdu: Option<u32>,
    /// Whether the radio says that the MPDU was alone in its frame.
    pub single: bool,
    /// MAC timestamp in microseconds: without A-MPDU references, the same for all MPDUs of one
    /// frame.
    pub tsft_us: Option<u64>,
    /// PHY rate of the frame.
    pub rate: Option<BitRate>,
    /// Whether this MPDU was sent before; `None` if that is not known.
    pub retry: Option<bool>,
}

/// An MPDU to this station, from a monitor interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mpdu {
    /// When it was handed over, on this station's clock.
    pub arrival: Time,
    /// What the radio reports about its frame.
    pub frame: FrameHints,
    /// Sequence number of the MAC, 0 to 4095.
    pub sequence: u16,
    /// Traffic identifier; each has sequence numbers of its own.
    pub tid: Option<u8>,
    /// Packets (MSDUs) in it: 1 unless it is an A-MSDU.
    pub packets: u16,
    /// Bytes of these packets.
    pub bytes: u32,
}

impl Mpdu {
    /// The MPDU that radiotap and the 802.11 header describe, holding one packet of `bytes`.
    #[must_use]
    pub fn heard(arrival: Time, radiotap: &Radiotap, header: &DataHeader, bytes: u32) -> Self {
        let frame = FrameHints {
            ampdu: radiotap.ampdu.map(|a| a.reference),
            // Linux numbers A-MPDUs from 1 on, and iwlwifi reports the EOF bit of single frames in a
            // status without a number.
            single: radiotap
                .ampdu
                .is_some_and(|a| a.reference == 0 && a.eof().is_some()),
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

/// An authenticated message of the tunnel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Received {
    /// When it arrived, on this station's clock; preferably the kernel's timestamp.
    pub arrival: Time,
    /// What is known about its frame; all `None` for a plain socket.
    pub frame: FrameHints,
    /// The tunnel's counter. It counts every message, also those without a packet.
    pub sequence: u64,
    /// Bytes of the packet inside.
    pub bytes: u32,
    /// The access category in which it was sent over the air.
    pub category: AccessCategory,
    /// Time since it was sent plus an unknown constant, in nanoseconds ([`SendTime::offset_ns`]).
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

/// Sixteen traffic identifiers, and one for frames without.
const TIDS: usize = 17;

impl Meter {
    /// A meter whose first slot begins at `start`.
    #[must_use]
    pub fn new(config: MeterConfig, start: Time) -> Self {
        Self {
            config,
            slot: 0,
            slot_start: start,
            mac: FrameMeter::new(&config),
            mac_windows: [MacWindow::default(); TIDS],
            tunnel: FrameMeter::new(&config),
            tunnel_window: TunnelWindow::default(),
            delay: DelayMeter::new(),
            bytes: 0,
            late: 0,
            source: LevelSource::SocketTimestamps,
        }
    }

    /// Takes an MPDU to this station. The caller must leave out MPDUs to others and damaged ones.
    #[inline]
    pub fn on_mpdu(&mut self, mpdu: &Mpdu) {
        let category = mpdu.tid.map(AccessCategory::of_user_priority);
        if category.is_some_and(AccessCategory::has_precedence) {
            return;
        }
        let window =
            &mut self.mac_windows[mpdu.tid.map_or(TIDS - 1, |tid| usize::from(tid & 0x0f))];
        let place = window.place(mpdu.sequence, mpdu.frame.retry);
        let arrival = Arrival {
            at: mpdu.arrival,
            hints: mpdu.frame,
            place,
            sequence: Some(mpdu.sequence),
            tid: mpdu.tid,
            packets: u32::from(mpdu.packets.max(1)),
            bytes: mpdu.bytes,
        };
        self.mac.on_arrival(&arrival);
    }

    /// Takes a message of the tunnel.
    #[inline]
    pub fn on_packet(&mut self, received: &Received) {
        let place = self.tunnel_window.place(received.sequence);
        if place == Place::Duplicate {
            return;
        }
        if matches!(place, Place::Fill | Place::Behind) {
            self.late = self.late.saturating_add(1);
        }
        self.bytes = self.bytes.saturating_add(u64::from(received.bytes));
        if received.category.has_precedence() {
            return;
        }
        if let Some(delay_ns) = received.delay_ns {
            self.delay.on_sample(received.arrival, delay_ns);
        }
        let (at, hints, bytes) = (received.arrival, received.frame, received.bytes);
        self.tunnel.on_arrival(&Arrival {
            at,
            hints,
            place,
            sequence: None,
            tid: None,
            packets: 1,
            bytes,
        });
    }

    /// Reports that the sender's counter starts again, as it does with every session of the tunnel.
    /// Packets missing until now do not count as lost.
    pub fn restart_sequence(&mut self) {
        self.tunnel_window = TunnelWindow::default();
    }

    /// Forgets the MPDUs of the slot that runs, which cannot be trusted: the slot is told from the
    /// messages of the tunnel.
    pub fn discard_mpdus(&mut self) {
        self.mac = FrameMeter::new(&self.config);
        self.mac_windows = [MacWindow::default(); TIDS];
    }

    /// Whether the slot that runs shows what its predecessor did not: another PHY rate, or packets
    /// that wait far longer. A sender that learns of it now keeps a queue from growing through the
    /// rest of the slot.
    #[must_use]
    #[inline]
    pub fn has_news(&self) -> bool {
        self.mac.rate_has_changed() || self.tunnel.rate_has_changed() || self.delay.has_grown()
    }

    /// Whether packets wait about as long as in the last slot, or less.
    #[must_use]
    pub fn is_steady(&self) -> bool {
        self.delay.is_steady()
    }

    /// Time that the last packets have waited, on average, beyond what any did in the last seconds.
    #[must_use]
    pub fn recent_wait(&self) -> Duration {
        self.delay.recent()
    }

    /// Frames that the slot that runs has so far.
    #[must_use]
    pub fn frames(&self) -> u32 {
        let (mac, tunnel) = (self.mac.tally(), self.tunnel.tally());
        if mac.active {
            mac.frames
        } else {
            tunnel.frames
        }
    }

    /// Ends the slot now and begins the next.
    ///
    /// A frame of which packets may still arrive belongs to the next slot as a whole. A packet
    /// counts as lost if it was missing at the end of the previous slot and still is, or if 4096
    /// later ones arrived.
    ///
    /// If only the times of arrivals are known and the classifier cannot tell, the report has a
    /// confidence below [`USABLE`](crate::sensor::USABLE), and frames by
    /// [`MeterConfig::frame_gap`]: a sender without another sensor must not lose sight of the
    /// station.
    pub fn close_slot(&mut self, now: Time) -> SlotReport {
        let ((mac, mac_confidence), (tunnel, tunnel_confidence)) =
            (self.mac.close(now), self.tunnel.close(now));
        let (tally, confidence) = if mac.active {
            (mac, mac_confidence)
        } else {
            (tunnel, tunnel_confidence)
        };
        self.source = tally.source.unwrap_or(self.source);
        let mut report = self.report(now, &tally);
        report.confidence = confidence;
        if !tunnel.active {
            (report.bytes, report.late) = (mac.bytes, mac.late);
        }
        self.slot += 1;
        self.slot_start = now;
        report
    }

    /// Builds the report of the slot that ends now and resets the counts per slot.
    fn report(&mut self, now: Time, tally: &Tally) -> SlotReport {
        let (mpdus, packets) = tally.mpdus_and_packets();
        SlotReport {
            station: self.config.station,
            slot: self.slot,
            length: now.saturating_since(self.slot_start),
            frames: tally.frames,
            mpdus,
            packets,
            longest_frame: tally.longest_frame,
            bytes: core::mem::take(&mut self.bytes),
            span: tally.span,
            inverse_rate_sum: tally.inverse_rate_sum(),
            recent_inverse_rate: tally.recent_inverse_rate,
            lost: self.tunnel_window.settle(),
            late: core::mem::take(&mut self.late),
            wait: self.delay.close(),
            transit: None,
            others: OtherNetworks::Unknown,
            airtime_bps: None,
            answers: Answers::Tell,
            upload_bps: None,
            source: self.source,
            sensor: Sensor::Agent,
            confidence: 1.0,
            sender: SenderView::default(),
        }
    }
}
