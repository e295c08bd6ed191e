//! The block acks of one station.

use super::airtime::FrameAirtime;
use super::missed::{Likelihoods, Miss, Missed, Witnessed};
use super::{OnAir, Unusable, answers};
use crate::phy::SIFS;
use crate::sensor::frame_span;
use crate::wire::control::BlockAck;
use airpace_units::{BitRate, Time};
use core::time::Duration;

/// Sequence numbers count modulo 4096.
const MODULUS: u16 = 4096;
/// A sequence number further ahead than this is taken for an older one.
const HALF: u16 = MODULUS / 2;
/// After a silence this long the numbers may have wrapped around, so an advance says nothing.
const SILENCE: Duration = Duration::from_millis(500);
/// An answer begins SIFS after the frame; timestamps of data and control frames may differ by this
/// in addition. The answer to the next frame to the same station begins at least 170 µs later: SIFS,
/// block ack, AIFS and preamble.
const ANSWER_MARGIN: Duration = Duration::from_micros(60);
/// The preamble of VHT and HE data frames, for rates that follow from durations.
const PREAMBLE: Duration = Duration::from_micros(44);
/// Bytes that MPDU header, LLC, delimiter, padding and FCS add to an IP packet.
const MPDU_OVERHEAD_BYTES: f64 = 44.0;
/// Packets per MPDU below which there is no A-MSDU; packets on their way make up the difference.
const LEAST_AMSDU: f64 = 1.25;
/// Observations fade with this time constant, seconds.
const MEMORY_S: f64 = 2.0;
/// The share of missed block acks changes slowly, and takes many exchanges to be known.
const WITNESS_MEMORY_S: f64 = 20.0;
/// Weight of a frame in the mean PHY rate.
const RATE_GAIN: f64 = 0.1;
/// Fewest block acks in memory for an estimate.
const FEWEST: f64 = 8.0;
/// Packets that may wait for a station in an access point. Closed ones queue some hundreds to 2,500.
const MOST_WAITING: f64 = 3_000.0;
/// Unexplained packets, per packet handed over, that are still possible: stations of one access point
/// may send to each other.
const UNEXPLAINED_MOST: f64 = 0.25;
/// Unexplained packets in addition.
const UNEXPLAINED_SLACK: f64 = 128.0;

/// A slot as the sensor sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClosedSlot {
    pub(super) number: u64,
    pub(super) length: Duration,
    pub(super) frames: u32,
    pub(super) mpdus: u32,
    pub(super) packets: u32,
    pub(super) bytes: u64,
    pub(super) span: Option<(Time, Time)>,
    /// 1/R in s/bit; 0 if it is not known.
    pub(super) inverse_rate: f64,
    pub(super) holes: u32,
    pub(super) confidence: f64,
    /// Whether more was acknowledged than was sent, so that nothing of it is believed.
    pub(super) is_doubted: bool,
}

/// Counts of a slot, or faded sums.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// Block acks that acknowledge something new, and acknowledgements of single frames.
    answers: f64,
    /// Those of them that are acknowledgements of single frames.
    singles: f64,
    /// Sequence numbers by which they advance.
    advance: f64,
    /// Those of them for which no packet was handed over that they could acknowledge.
    unexplained: f64,
    /// MPDUs missing when a later one was first acknowledged.
    holes: f64,
    /// Packets handed over, and their bytes.
    packets: f64,
    bytes: f64,
}

impl Counts {
    /// Whether more packets were acknowledged than handed over: anybody may send block acks in the
    /// station's name.
    fn exceeds_what_was_sent(&self) -> bool {
        self.unexplained > UNEXPLAINED_MOST * self.packets + UNEXPLAINED_SLACK
    }

    /// Each acknowledges one MPDU.
    fn add_singles(&mut self, acks: f64) {
        self.singles += acks;
        self.answers += acks;
        self.advance += acks;
    }

    fn fade_in(&mut self, slot: &Self, keep: f64) {
        self.answers = self.answers * keep + slot.answers;
        self.singles = self.singles * keep + slot.singles;
        self.advance = self.advance * keep + slot.advance;
        self.unexplained = self.unexplained * keep + slot.unexplained;
        self.holes = self.holes * keep + slot.holes;
        self.packets = self.packets * keep + slot.packets;
        self.bytes = self.bytes * keep + slot.bytes;
    }
}

/// One station.
#[derive(Clone, Debug)]
pub(super) struct StationBlockAcks {
    /// Highest acknowledged number of each traffic identifier.
    highest: [Option<u16>; 8],
    /// Acknowledgements of single frames that the advance of the next block ack repeats.
    counted_singles: f64,
    /// Packets that may wait in the access point, at most.
    waiting: f64,
    /// End of the latest answer, and of the latest one before this slot.
    latest: Option<Time>,
    before: Option<Time>,
    /// The exchange whose beginning was heard and whose answer has not come yet.
    exchange: Option<Exchange>,
    missed: Missed,
    slot: u64,
    slot_start: Time,
    counts: Counts,
    recent: Counts,
    /// The slot that was closed last, for the division of acknowledgements without sender.
    closed: Counts,
    inverse_rate: f64,
    /// For the rate where nothing before the block acks is heard.
    airtime: FrameAirtime,
    frames_carried: f64,
    packets_carried: f64,
    /// Why the last slot had no usable estimate.
    unusable: Option<Unusable>,
}

/// An exchange of which something was heard before its answer.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    /// End of its CTS, if that was heard.
    cleared: Option<Time>,
    /// When its answer begins at the latest.
    answer_by: Time,
    /// End of the latest MPDU that was heard.
    data_end: Option<Time>,
    /// Whether the exchange before it was answered, so that the next advance is this frame's.
    follows: bool,
}

impl StationBlockAcks {
    pub(super) fn new(now: Time) -> Self {
        Self {
            highest: [None; 8],
            counted_singles: 0.0,
            // Whatever came before the sensor began may wait.
            waiting: MOST_WAITING,
            latest: None,
            before: None,
            exchange: None,
            missed: Missed::default(),
            slot: 0,
            slot_start: now,
            counts: Counts::default(),
            recent: Counts::default(),
            closed: Counts::default(),
            inverse_rate: 0.0,
            airtime: FrameAirtime::default(),
            frames_carried: 0.0,
            packets_carried: 0.0,
            unusable: None,
        }
    }

    pub(super) const fn unusable(&self) -> Option<Unusable> {
        self.unusable
    }

    pub(super) fn on_downlink(&mut self, bytes: u32) {
        self.counts.packets += 1.0;
        self.counts.bytes += f64::from(bytes);
    }

    /// The station has answered an RTS of the access point, and the exchange takes `duration` from
    /// the end of the CTS to that of the answer.
    pub(super) fn on_cts(&mut self, heard: OnAir, duration: Duration) {
        self.begin_exchange(heard.end.saturating_add(duration));
        if let Some(exchange) = &mut self.exchange {
            exchange.cleared = Some(heard.end);
        }
    }

    /// A data MPDU to the station was heard.
    pub(super) fn on_data(&mut self, heard: OnAir, rate: Option<BitRate>) {
        // Every MPDU of a frame is heard on its own, and may carry the time of the frame.
        let continues = self.exchange.is_some_and(|exchange| {
            let from = exchange.data_end.or(exchange.cleared);
            from.is_some_and(|end| heard.start <= end.saturating_add(2 * SIFS))
        });
        if !continues {
            self.begin_exchange(heard.end);
        }
        if let Some(exchange) = &mut self.exchange {
            let end = exchange
                .data_end
                .map_or(heard.end, |end| end.max(heard.end));
            exchange.data_end = Some(end);
            exchange.answer_by = end.saturating_add(SIFS + ANSWER_MARGIN);
        }
        if let Some(rate) = rate.filter(|rate| rate.bps() > 0) {
            self.learn_rate(1.0 / rate.as_bps_f64());
        }
    }

    fn begin_exchange(&mut self, answer_by: Time) {
        let unanswered = self.exchange.is_some();
        if unanswered {
            self.missed.on_unanswered();
        }
        self.exchange = Some(Exchange {
            cleared: None,
            answer_by,
            data_end: None,
            follows: !unanswered,
        });
    }

    /// Whether a data frame to the station was heard that ended just before `ack`.
    pub(super) fn awaits_ack(&self, ack: OnAir) -> bool {
        self.exchange
            .and_then(|exchange| exchange.data_end)
            .is_some_and(|end| answers(end, ack))
    }

    /// The station has acknowledged a frame of a single MPDU.
    pub(super) fn on_ack(&mut self, heard: OnAir) {
        self.answer(heard);
        self.counts.add_singles(1.0);
        self.counted_singles += 1.0;
        self.latest = Some(heard.end);
    }

    /// Takes the exchange that an answer ends, if its beginning was heard. An exchange that should
    /// have been answered before was not heard to its end.
    fn answer(&mut self, heard: OnAir) -> Option<Exchange> {
        let exchange = self.exchange.take()?;
        if heard.start <= exchange.answer_by {
            self.missed.on_answered();
            Some(exchange)
        } else {
            self.missed.on_unanswered();
            None
        }
    }

    /// A block ack of the station was heard. `free_since` is the end of the last frame before it that
    /// was heard, of whomever.
    pub(super) fn on_block_ack(
        &mut self,
        heard: OnAir,
        block_ack: &BlockAck<'_>,
        free_since: Option<Time>,
    ) {
        let exchange = self.answer(heard);
        let silence = self
            .latest
            .is_none_or(|latest| heard.end.saturating_since(latest) > SILENCE);
        let Some(highest) = block_ack.highest() else {
            return;
        };
        let known = &mut self.highest[usize::from(block_ack.tid & 7)];
        // A difference of numbers says nothing if so many may have been used between them.
        let is_ambiguous = silence || self.counted_singles >= f64::from(HALF / 2);
        let Some(before) = known.replace(highest).filter(|_| !is_ambiguous) else {
            self.latest = Some(heard.end);
            self.counted_singles = 0.0;
            return;
        };
        let advance = (highest + MODULUS - before) % MODULUS;
        if advance >= HALF {
            // An older frame was sent again: what is known stays known.
            *known = Some(before);
            return;
        }
        if advance == 0 {
            // The frame had nothing but retransmissions.
            return;
        }
        let missing = |&offset: &u16| block_ack.has((before + offset) % MODULUS) == Some(false);
        let holes = (1..=advance).filter(missing).count();
        let advance = self.without_singles(advance);
        self.counts.answers += 1.0;
        self.counts.advance += f64::from(advance);
        // At most 1024.
        self.counts.holes += holes as f64;
        self.missed.on_advance(advance);
        self.latest = Some(heard.end);
        if let Some(cleared) = exchange.filter(|e| e.follows).and_then(|e| e.cleared) {
            self.learn_rate_from(heard.start.saturating_since(cleared), advance);
        } else if exchange.is_none()
            && let Some(free_since) = free_since
        {
            let gap = heard.start.saturating_since(free_since);
            self.airtime.add(gap, advance);
        }
    }

    /// The MPDUs that a block ack acknowledges, of its `advance`: the single frames before it have been
    /// counted by their own acknowledgements.
    fn without_singles(&mut self, advance: u16) -> u16 {
        // It acknowledges one MPDU at least. Acknowledgements without sender may be others'.
        let repeated = self.counted_singles.floor().min(f64::from(advance - 1));
        self.counted_singles -= repeated;
        advance - repeated as u16
    }

    /// Counts what is acknowledged in a slot without having been handed over.
    fn explain(&mut self, counts: &mut Counts) {
        let left = self.waiting + counts.packets - counts.advance;
        counts.unexplained = (-left).max(0.0);
        self.waiting = left.clamp(0.0, MOST_WAITING);
    }

    /// Learns the PHY rate from the time between CTS and block ack: SIFS, the frame, SIFS.
    fn learn_rate_from(&mut self, between: Duration, advance: u16) {
        let Some(ppdu) = between.checked_sub(2 * SIFS + PREAMBLE) else {
            return;
        };
        let mean_bytes = self.recent.bytes / self.recent.packets.max(1.0);
        let packets = f64::from(advance) * self.packets_per_mpdu();
        let bits = 8.0 * packets * (mean_bytes + MPDU_OVERHEAD_BYTES);
        // Frames of data headers known already tell the rate more exactly.
        if mean_bytes > 0.0 && bits > 0.0 {
            self.learn_rate(ppdu.as_secs_f64() / bits);
        }
    }

    /// 1/R in s/bit, from data headers, protected exchanges or else the gaps before block acks; 0 if
    /// it is not known. `missed` is the probability that a block ack is missed.
    fn inverse_rate(&self, missed: f64) -> f64 {
        if self.inverse_rate > 0.0 {
            return self.inverse_rate;
        }
        let mean_bytes = self.recent.bytes / self.recent.packets.max(1.0);
        let bits = 8.0 * self.packets_per_mpdu() * (mean_bytes + MPDU_OVERHEAD_BYTES);
        match self.airtime.per_mpdu_s(missed) {
            Some(airtime_s) if mean_bytes > 0.0 => airtime_s / bits,
            _ => 0.0,
        }
    }

    fn learn_rate(&mut self, inverse: f64) {
        self.inverse_rate = if self.inverse_rate > 0.0 {
            self.inverse_rate + RATE_GAIN * (inverse - self.inverse_rate)
        } else {
            inverse
        };
    }

    /// Packets per MPDU: more than 1 with A-MSDU.
    fn packets_per_mpdu(&self) -> f64 {
        let ratio = self.recent.packets / self.recent.advance.max(1.0);
        if ratio < LEAST_AMSDU { 1.0 } else { ratio }
    }

    /// The weight with which acknowledgements without sender are ascribed to this station: frames of
    /// one MPDU are the likelier, the lower the level.
    pub(super) fn single_weight(&self) -> f64 {
        let answers = self.counts.answers + self.closed.answers;
        let advance = self.counts.advance + self.closed.advance;
        if answers > 0.0 {
            answers * (-(advance / answers - 1.0) / 1.5).exp()
        } else {
            0.0
        }
    }

    /// The exchanges whose beginning was heard.
    pub(super) const fn witnessed(&self) -> Witnessed {
        self.missed.witnessed()
    }

    /// Adds the likelihoods of probabilities of missing a block ack. Returns the number of advances
    /// that they follow from.
    pub(super) fn add_likelihoods(&self, sum: &mut Likelihoods) -> usize {
        self.missed.add_likelihoods(sum)
    }

    /// The slot of the cell is over.
    pub(super) fn forget_weight(&mut self) {
        self.closed = Counts::default();
    }

    /// Answers in memory.
    pub(super) const fn recent_answers(&self) -> f64 {
        self.recent.answers
    }

    /// Ends a slot. `anonymous_acks` are the station's share of acknowledgements without sender,
    /// `of_others` is the share of all answers in the cell that are not the station's.
    pub(super) fn close_slot(
        &mut self,
        now: Time,
        anonymous_acks: f64,
        cell: Miss,
        of_others: f64,
    ) -> ClosedSlot {
        let length = now.saturating_since(self.slot_start);
        let mut counts = core::mem::take(&mut self.counts);
        self.closed = counts;
        // Those beyond what the station was sent are another's.
        let anonymous_acks = anonymous_acks.min(counts.packets);
        counts.add_singles(anonymous_acks);
        self.counted_singles += anonymous_acks;
        self.explain(&mut counts);
        let keep = (-length.as_secs_f64() / MEMORY_S).exp();
        self.recent.fade_in(&counts, keep);
        let miss = self.missed.estimate(cell);
        self.airtime.close_slot(miss.probability);
        self.missed
            .fade((-length.as_secs_f64() / WITNESS_MEMORY_S).exp());
        let mut closed = ClosedSlot {
            number: self.slot,
            length,
            frames: 0,
            mpdus: 0,
            packets: 0,
            bytes: 0,
            span: None,
            inverse_rate: self.inverse_rate(miss.probability),
            // At most a block-ack window per answer.
            holes: counts.holes as u32,
            confidence: 0.0,
            is_doubted: self.recent.exceeds_what_was_sent(),
        };
        let unusable = if closed.is_doubted {
            Some(Unusable::Doubted)
        } else if self.recent.answers < FEWEST || counts.answers == 0.0 {
            Some(Unusable::Unheard)
        } else {
            miss.unusable()
        };
        // Of a station to which next to nothing is sent there is nothing to tell.
        self.unusable = unusable.filter(|_| counts.packets >= FEWEST);
        if unusable.is_none() && counts.advance > 0.0 {
            // As in the meter, frames that were sent again as a whole after a collision are no
            // samples: neither they nor their packets count, only their bytes.
            // A gap is as long as with a repetition if it has a frame of another station whose
            // answer was missed.
            let unheard = miss.probability * of_others;
            let first = 1.0 - self.airtime.repeated(unheard);
            let frames = first * counts.answers / (1.0 - miss.probability) + self.frames_carried;
            let all_packets = counts.advance * self.packets_per_mpdu();
            let packets = first * all_packets + self.packets_carried;
            // Whole numbers are reported; the rest counts in the next slot.
            closed.frames = frames as u32;
            closed.mpdus = ((first * counts.advance) as u32).max(closed.frames);
            closed.packets = (packets as u32).max(closed.mpdus);
            self.frames_carried = frames.fract();
            self.packets_carried = (packets - f64::from(closed.packets)).clamp(-64.0, 1.0);
            let mean_bytes = self.recent.bytes / self.recent.packets.max(1.0);
            closed.bytes = (all_packets * mean_bytes) as u64;
            closed.span = frame_span(
                self.before.unwrap_or(self.slot_start),
                self.latest,
                closed.frames,
            );
            closed.confidence = miss.confidence;
        }
        self.before = self.latest;
        self.slot += 1;
        self.slot_start = now;
        closed
    }
}
