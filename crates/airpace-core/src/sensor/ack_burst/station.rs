//! The bursts of one station.

use super::agreement::{Agreement, Agreements};
use super::closed_slot::ClosedSlot;
use super::estimate::{CellAir, Observed};
use super::flow::{Arrived, Flow, TICK_S};
use super::handed_over::HandedOver;
use super::path::PathDelay;
use super::quic::{ASKS_LEAST, Unanswered};
use super::transit::{PEAK_LEAST, TRANSIT_COMMON, Transits, transit_of};
use super::uploads::{SEGMENT_BYTES, Uploads};
use super::{DownlinkPacket, UplinkAck, UplinkQuic};
use crate::report::OtherNetworks;
use crate::sensor::USABLE;
use crate::sensor::burst_gap::BurstGap;
use crate::sensor::connections::Connections;
use crate::sensor::frame_span;
use airpace_units::Time;
use core::time::Duration;

/// Bytes of the IP and TCP headers of a segment with timestamps, which are not acknowledged.
const HEADER_BYTES: u64 = 52;
/// Bytes of the longest usual acknowledgement: in Ethernet (14) and IPv6 (RFC 8200, 40), with timestamps and two
/// selective blocks (RFC 9293, 20; RFC 7323, 12; RFC 2018, 20). Where they are shorter, fourteen of them hide half
/// a segment of an upload.
const ACK_BYTES: u32 = 106;
/// Most bytes that a burst uploads: the longest A-MPDU of 802.11ax is 6.5 MB (IEEE 802.11ax-2021, table 9-25). More
/// means that the count of bytes began anew.
const BURST_MOST: u32 = 6_500_631;

/// An access point composes its next frame this long after the first packet of an answer has passed the box: the rest of
/// the answer, SIFS, block ack, AIFS and half the first back-off window (IEEE 802.11-2020, 10.3 and table 9-155).
const COMPOSED_AFTER: Duration = Duration::from_micros(150);

/// The most by which a segment takes longer than in the slot before, beside other networks.
const SLOWER_MOST: f64 = 1.1;
/// Slots of which the transits of QUIC count, and the least density of what they agree about: how many packets a burst
/// answers is a guess, so that those of the own frame scatter, and only the densest peak tells.
const HIDDEN_SLOTS: u64 = 20;
const HIDDEN_PEAK_LEAST: f64 = 1.0;
/// The least density where other networks send. With a foreign frame in half of the transits, the densest peak is often one of
/// transits that hold such a frame, but that of the own frame is nearly as dense: 0.6 to 1.0 of it beside networks with 20 or
/// 60 Mbit/s (simulated).
const OTHERS_PEAK_LEAST: f64 = 0.6;

/// The burst that runs.
#[derive(Clone, Copy, Debug, Default)]
struct Burst {
    /// Its number, counted from the start.
    number: u64,
    last: Option<Time>,
    /// Whether it acknowledges anything.
    acknowledges: bool,
    /// When the station wrote its first acknowledgement, and by how much later the latest one, on
    /// the station's clock in seconds.
    written_s: Option<(f64, f64)>,
    /// When its first acknowledgement came.
    answered: Option<Time>,
    /// The segments that it answers.
    handed_over: HandedOver,
    /// When another station answered the frame before, if one did.
    others: Option<Time>,
    /// Whether another station answered at nearly the same time.
    with_others: bool,
    /// Segments that it acknowledges, with those that are still missing.
    segments: u32,
    /// Acknowledgements in it, whether of anything new or not.
    acks: u32,
    /// Bytes that had come from the station before it.
    before_bytes: Option<u32>,
    /// How long before it the latest burst of any station began.
    since_latest: Option<Duration>,
    /// It answers the packets of QUIC that were handed over up to this time.
    answers_until: Option<Time>,
    /// Whether that time is a guess.
    is_guessed: bool,
}

impl Burst {
    /// Segments that the station uploads in it; `until_bytes` had come from the station at its end. 0 if
    /// that is not known.
    fn uploaded_segments(&self, until_bytes: Option<u32>) -> u32 {
        let Some((until, before)) = until_bytes.zip(self.before_bytes) else {
            return 0;
        };
        let bytes = until.wrapping_sub(before);
        if bytes > BURST_MOST {
            return 0;
        }
        let acks = self.acks.saturating_mul(ACK_BYTES);
        bytes.saturating_sub(acks) / SEGMENT_BYTES
    }
}

/// One station.
#[derive(Clone, Debug)]
pub(super) struct StationBursts {
    flows: Connections<Flow>,
    quic: Connections<Unanswered>,
    gap: BurstGap,
    burst: Burst,
    slot: u64,
    slot_start: Time,
    /// The slot that runs.
    observed: Observed,
    bytes: u64,
    /// The last second or so.
    recent: Observed,
    /// When the station wrote its latest acknowledgement, on its clock.
    written_s: Option<f64>,
    /// The last burst of the slots before, and the latest one.
    before: Option<Time>,
    latest: Option<Time>,
    /// Fractions of frames and packets, carried to the next slot.
    frames_carried: f64,
    packets_carried: f64,
    path: PathDelay,
    transits: Transits,
    /// How many of them agree.
    told: Agreement,
    /// What the last slots told that a segment takes, seconds; 0 until they have.
    segment_s: f64,
    /// What it told of frames per burst.
    frames_per_burst: f64,
    /// Those of bursts that answer packets of QUIC.
    hidden_transits: Transits,
    /// How many of them agree.
    guessed: Agreement,
    /// Whether the slot before told an airtime.
    tells_airtime: bool,
    uploads: Uploads,
}

impl StationBursts {
    pub(super) fn new(now: Time) -> Self {
        Self {
            flows: Connections::default(),
            quic: Connections::default(),
            gap: BurstGap::default(),
            burst: Burst::default(),
            slot: 0,
            slot_start: now,
            observed: Observed::default(),
            bytes: 0,
            recent: Observed::default(),
            written_s: None,
            before: None,
            latest: None,
            frames_carried: 0.0,
            packets_carried: 0.0,
            path: PathDelay::default(),
            transits: Transits::default(),
            told: Agreement::default(),
            guessed: Agreement::default(),
            segment_s: 0.0,
            frames_per_burst: 1.0,
            hidden_transits: Transits::over(HIDDEN_SLOTS),
            tells_airtime: false,
            uploads: Uploads::default(),
        }
    }

    /// Whether the station acknowledged something within `span` before `now`.
    pub(super) fn is_active(&self, now: Time, span: Duration) -> bool {
        self.latest
            .is_some_and(|latest| now.saturating_since(latest) < span)
    }

    pub(super) fn on_downlink(&mut self, now: Time, packet: &DownlinkPacket) {
        self.observed.packets += 1.0;
        if let Some(quic) = packet.quic {
            if self
                .quic
                .seen(now, quic.flow)
                .on_packet(now, packet.bytes, quic.is_fixed)
            {
                self.observed.eliciting += 1.0;
                self.observed.hidden += 1.0;
                self.observed.hidden_bytes += f64::from(packet.bytes);
            } else if packet.bytes < ASKS_LEAST && quic.is_fixed {
                self.observed.bare_acks += 1.0;
            }
        }
        let Some(segment) = packet.tcp else { return };
        // SYN, FIN and RST are too few to matter.
        if segment.payload == 0 {
            self.observed.bare_acks += 1.0;
            return;
        }
        if self.flows.seen(now, segment.flow).on_segment(now, &segment) {
            self.observed.eliciting += 1.0;
        }
    }

    /// An uplink packet has come: it continues the burst that runs or begins one. Returns whether it
    /// begins one. `latest` is when the last burst of any station began, `before_bytes` how much had come
    /// from this one before. `way` is the way to the access point and back, which is taken off
    /// transits.
    pub(super) fn on_uplink(
        &mut self,
        now: Time,
        latest: Option<Time>,
        before_bytes: Option<u32>,
        way: Duration,
    ) -> bool {
        let gap = self.burst.last.map(|last| now.saturating_since(last));
        let begins = gap.is_none_or(|gap| self.gap.separates(gap));
        if begins {
            self.end_burst(before_bytes, way);
            self.burst.before_bytes = before_bytes;
            self.burst.since_latest = latest.map(|latest| now.saturating_since(latest));
        }
        self.burst.last = Some(now);
        begins
    }

    /// What it takes of the air, and how many frames it has; `None` if that is not known.
    pub(super) fn air(&self) -> Option<CellAir> {
        if self.uploads.are_seen() {
            return None;
        }
        self.recent.air(self.segment_s, self.frames_per_burst)
    }

    /// The way to the access point and back, as far as this station tells it.
    pub(super) fn way(&self, now: Time) -> Option<Duration> {
        self.path.delay(now, self.segment_s)
    }

    /// Another station answers at nearly the same time as this one.
    pub(super) fn answers_with_others(&mut self) {
        self.burst.with_others = true;
    }

    /// Ends the burst that runs; `until_bytes` have come from the station with it and before. `way` is as for
    /// [`Self::on_uplink`].
    fn end_burst(&mut self, until_bytes: Option<u32>, way: Duration) {
        let burst = self.burst;
        let uploaded = burst.uploaded_segments(until_bytes);
        if uploaded > 0 && burst.acknowledges {
            self.observed.uploading += 1.0;
        }
        // Before a burst that answers something there may have been a frame to the station.
        if let Some(since) = burst.since_latest.filter(|_| burst.segments == 0) {
            self.uploads.add(since, uploaded);
        }
        let tells = !burst.with_others && !burst.is_guessed;
        if let Some(answered) = burst.answered.filter(|_| tells) {
            // The least times count for the way, so none may be too short because too much was taken off.
            let whole = answered.saturating_since(burst.handed_over.last);
            let all = burst.handed_over.segments.saturating_add(uploaded);
            // Which packets of QUIC a burst answers is not known, only that its frame was composed after the
            // others' answer.
            let follows_others = burst.answers_until.is_some();
            if !follows_others {
                self.path.add(answered, whole, all);
            }
            // The frame is on the air from the later of two events on: the last packet has come to the
            // access point, and another station has answered the frame before.
            let since_arrival = whole.saturating_sub(way);
            let since_others = burst.others.map(|others| answered.saturating_since(others));
            let (since, answers) =
                match since_others.filter(|since| follows_others || *since < since_arrival) {
                    Some(since) => (since, burst.handed_over.segments),
                    None => (
                        since_arrival,
                        burst.handed_over.in_last_frame(since_arrival),
                    ),
                };
            // The answer comes with what the station uploads in the same frame: its time is taken off. As long
            // as it is not known, such a segment is taken to last as long as one that is answered.
            let (upload, segments) = match self.uploads.time_of(uploaded) {
                Some(upload) => (upload, answers),
                None => (Duration::ZERO, answers.saturating_add(uploaded)),
            };
            let transits = if follows_others {
                &mut self.hidden_transits
            } else {
                &mut self.transits
            };
            transits.add(since.saturating_sub(upload), segments);
        }
        self.burst = Burst {
            number: self.burst.number + 1,
            ..Burst::default()
        };
    }

    /// An acknowledgement has come. `others` is when another station answered the frame before, if
    /// one did. Returns whether a burst that acknowledges something begins.
    pub(super) fn on_ack(&mut self, now: Time, ack: &UplinkAck, others: Option<Time>) -> bool {
        self.burst.acks += 1;
        let burst = self.burst.number;
        let flow = self.flows.seen(now, ack.flow);
        let mut handed_over = self.burst.handed_over;
        let Some(Arrived { segments, bytes }) = flow.on_ack(ack, |at| handed_over.add(at)) else {
            return false;
        };
        let written_s = ack
            .timestamps
            .and_then(|stamps| flow.written_s(now, stamps.value));
        if bytes == 0 {
            if let Some(written_s) = written_s {
                self.advance_clock(written_s);
            }
            return false;
        }
        flow.acknowledged = now;
        let repeats = core::mem::replace(&mut flow.burst, burst) == burst;
        if let Some(written_s) = written_s {
            self.advance_clock(written_s);
        }
        self.observed.stamped += f64::from(u8::from(written_s.is_some()));
        self.burst.handed_over = handed_over;
        let bytes = bytes + HEADER_BYTES * u64::from(segments);
        self.count_answer(now, Arrived { segments, bytes }, repeats, others)
    }

    /// Counts an answer of a connection, not the first one in this burst if it `repeats`. Returns whether a burst that
    /// acknowledges something begins.
    fn count_answer(
        &mut self,
        now: Time,
        arrived: Arrived,
        repeats: bool,
        others: Option<Time>,
    ) -> bool {
        self.observed.acks += 1.0;
        self.observed.repeats += f64::from(u8::from(repeats));
        self.observed.segments += f64::from(arrived.segments);
        self.burst.segments += arrived.segments;
        self.bytes += arrived.bytes;
        if self.burst.handed_over.segments > 0 && self.burst.answered.is_none() {
            self.burst.answered = Some(now);
            self.burst.others = others;
        }
        let begins = !core::mem::replace(&mut self.burst.acknowledges, true);
        if begins {
            self.observed.bursts += 1.0;
            self.latest = Some(now);
        }
        begins
    }

    /// A QUIC packet has come. Parameters and result are as for [`Self::on_ack`].
    pub(super) fn on_quic(&mut self, now: Time, packet: &UplinkQuic, others: Option<Time>) -> bool {
        self.burst.acks += 1;
        let burst = self.burst.number;
        let flow = self.quic.seen(now, packet.spin.flow);
        // The frame was composed when the answer to the one before was over, if there was one.
        let composed = others.map(|at| at.saturating_add(COMPOSED_AFTER));
        let by_others = composed.filter(|&at| flow.has_until(at));
        let guess = Time::ZERO + now.saturating_since(Time::ZERO + TRANSIT_COMMON);
        let known = self.burst.answers_until;
        let until = known.or(by_others).unwrap_or(guess);
        let mut handed_over = self.burst.handed_over;
        let arrived = flow.answer_until(until, |at| handed_over.add(at));
        let repeats = flow.burst == burst;
        // A large packet with what the station uploads need not be an answer.
        let may_answer = repeats && packet.bytes < ASKS_LEAST;
        if arrived.segments == 0 && !may_answer {
            return false;
        }
        if arrived.segments > 0 && known.is_none() {
            self.burst.answers_until = Some(until);
            self.burst.is_guessed = by_others.is_none();
        }
        flow.burst = burst;
        flow.answered = now;
        self.burst.handed_over = handed_over;
        self.count_answer(now, arrived, repeats, others)
    }

    /// Counts how far the station's clock advances within the burst.
    fn advance_clock(&mut self, written_s: f64) {
        if self.burst.written_s.is_none() {
            let later_s = self.written_s.map(|last_s| written_s - last_s);
            let crosses = later_s.is_none_or(|later_s| later_s > TICK_S / 2.0);
            self.observed.crossings += f64::from(u8::from(crosses));
        }
        self.written_s = Some(written_s);
        let (first_s, advance_s) = self.burst.written_s.unwrap_or((written_s, 0.0));
        // The phases of two connections are known to a fraction of a tick, so whole ticks count.
        let advance_now_s = ((written_s - first_s) / TICK_S).round() * TICK_S;
        let more_s = (advance_now_s - advance_s).max(0.0);
        self.observed.clock_s += more_s;
        self.burst.written_s = Some((first_s, advance_s + more_s));
    }

    /// How many of its transits agree.
    pub(super) const fn agreements(&self) -> Agreements {
        Agreements {
            told: self.told,
            guessed: self.guessed,
        }
    }

    /// What a segment takes, seconds, if the slots tell `told_s`.
    ///
    /// Frames of other networks are in the times of short frames, which then seem slow; a slower station is sent less, and
    /// its frames become shorter still. So beside other networks it becomes slower little by little.
    fn believed_s(&self, told_s: f64, foreign_s: f64) -> f64 {
        if foreign_s > 0.0 && self.segment_s > 0.0 {
            told_s.min(self.segment_s * SLOWER_MOST)
        } else {
            told_s
        }
    }

    pub(super) fn close_slot(
        &mut self,
        now: Time,
        contending: usize,
        foreign_s: f64,
        others: OtherNetworks,
    ) -> ClosedSlot {
        let length = now.saturating_since(self.slot_start);
        let mut observed = core::mem::take(&mut self.observed);
        observed.seconds = length.as_secs_f64();
        let began = self.slot_start;
        let flows = self.flows.iter().filter(|flow| flow.acknowledged >= began);
        let quic = self.quic.iter().filter(|flow| flow.answered >= began);
        // At most `FLOWS`.
        observed.flows = (flows.count() + quic.count()) as f64;
        self.recent.add(&observed, length);
        let estimate = self
            .recent
            .estimate(contending, self.gap.clarity(), foreign_s);
        self.frames_per_burst = estimate.frames_per_burst;
        let is_among_others = others != OtherNetworks::Silent && self.guessed.is_among_others();
        let hidden_least = if is_among_others {
            OTHERS_PEAK_LEAST
        } else {
            HIDDEN_PEAK_LEAST
        };
        let is_hidden = self.recent.is_hidden();
        let hidden = self.hidden_transits.close(hidden_least);
        self.guessed
            .observe(hidden.and_then(|of| of.agreement).filter(|_| is_hidden));
        let hidden_s = hidden.map(|of| of.per_segment_s);
        let mut agreement = None;
        let mut closed = ClosedSlot {
            number: self.slot,
            length,
            frames: 0,
            packets: 0,
            bytes: core::mem::take(&mut self.bytes),
            span: None,
            confidence: 0.0,
            transit: None,
            airtime_bps: None,
            answers: self.recent.answers(),
            upload_bps: self.uploads.close(),
        };
        if estimate.confidence > 0.0 && observed.bursts > 0.0 {
            let frames = observed.bursts * estimate.frames_per_burst + self.frames_carried;
            let packets =
                observed.segments * self.recent.packets_per_segment() + self.packets_carried;
            // Whole numbers are reported; the rest counts in the next slot, so that nothing is lost
            // in the long run.
            closed.frames = frames as u32;
            closed.packets = (packets as u32).max(closed.frames);
            self.frames_carried = frames.fract();
            self.packets_carried = packets - f64::from(closed.packets);
            closed.span = frame_span(
                self.before.unwrap_or(self.slot_start),
                self.latest,
                closed.frames,
            );
            closed.confidence = estimate.confidence;
            let level = f64::from(closed.packets) / f64::from(closed.frames.max(1));
            let segments = level / self.recent.packets_per_segment();
            let told = self.transits.close(PEAK_LEAST);
            agreement = told.and_then(|of| of.agreement).filter(|_| !is_hidden);
            let told_s = told.map(|of| self.believed_s(of.per_segment_s, foreign_s));
            self.segment_s = told_s.unwrap_or(self.segment_s);
            let segment_s = if is_hidden { hidden_s } else { told_s };
            closed.transit = segment_s.and_then(|of| transit_of(of, segments));
        }
        self.told.observe(agreement);
        let was_told = self.tells_airtime;
        let airtime_bps = hidden_s.and_then(|of| self.recent.airtime_bps(of, was_told));
        self.tells_airtime = airtime_bps.is_some();
        closed.airtime_bps = airtime_bps.filter(|_| estimate.confidence < USABLE);
        self.before = self.latest;
        self.slot += 1;
        self.slot_start = now;
        closed
    }
}
