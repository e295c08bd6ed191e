//! The receiving end of a connection.

use super::ranges::RangeSet;
use super::segment::{AckSegment, Block, CeCounts, DataSegment, SackBlocks, TIMESTAMP_UNIT};
use airpace_core::packet::Ecn;
use airpace_units::Time;
use core::time::Duration;
use std::collections::VecDeque;

/// Longest time for which an acknowledgement waits for a second segment (Linux `TCP_DELACK_MIN`,
/// HZ/25).
const DELAYED_ACK: Duration = Duration::from_millis(40);
/// Acknowledgements sent without delay at the start and after reordering or loss (Linux
/// `TCP_MAX_QUICKACKS`).
const QUICK_ACKS: u8 = 16;
/// Payload in bytes of the largest packet that generic receive offload builds (Linux: 65,535 bytes
/// with headers).
const MERGED_BYTES: u64 = 65_535 - 52;

/// How a receiver behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReceiverConfig {
    /// Receive buffer in bytes, which bounds the window (default 6 MB). The application reads at
    /// once.
    pub buffer: u32,
    /// Whether consecutive packets that arrive at the same instant are merged and acknowledged as
    /// one, as a host with generic receive offload does (default no).
    ///
    /// The driver delivers all packets of the instant, then calls [`Receiver::on_timeout`] when
    /// [`Receiver::deadline`] says so, and polls.
    pub merge: bool,
    /// Full segments after which an acknowledgement is not delayed (default 2, RFC 5681, section 4.2; QUIC in
    /// Chromium: 10).
    pub ack_every: u32,
    /// Whether duplicates are reported (RFC 2883; default yes).
    pub duplicate_sack: bool,
}

impl Default for ReceiverConfig {
    fn default() -> Self {
        Self {
            buffer: 6_000_000,
            merge: false,
            ack_every: 2,
            duplicate_sack: true,
        }
    }
}

/// Counters of a receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReceiverStatistics {
    /// Segments that arrived.
    pub segments: u64,
    /// Segments without new data.
    pub duplicates: u64,
    /// Segments that arrived beyond a gap.
    pub out_of_order: u64,
    /// Segments dropped because they were beyond the window.
    pub beyond_window: u64,
    /// Segments that a queue had marked with congestion experienced.
    pub marked: u64,
    /// Acknowledgements sent.
    pub acks: u64,
}

/// A receiver: accepts data in any order, delivers it in order, and acknowledges as Linux does.
///
/// Every second full segment is acknowledged at once, others within 40 ms (RFC 5681, section 4.2;
/// RFC 9293, section 3.8.6.3). The first 16 segments, segments that leave or fill a gap, duplicates
/// and congestion marks are acknowledged without delay.
#[derive(Clone, Debug)]
pub struct Receiver {
    config: ReceiverConfig,
    /// The next byte in order, RCV.NXT.
    next: u64,
    /// Data that has arrived beyond a gap.
    held: RangeSet,
    /// Blocks of `held` by the time of their last change, the most recent first, as SACK options
    /// report them.
    recent: VecDeque<Block>,
    /// A duplicate that the next acknowledgement reports.
    duplicate: Option<Block>,
    /// End of the stream including its FIN, once known.
    end: Option<u64>,
    /// The right edge of the window, which never moves back (RFC 9293, section 3.8.6).
    window_edge: u64,
    /// The cumulative acknowledgement sent last.
    acknowledged: u64,
    /// The timestamp to echo, TS.Recent.
    echo: Time,
    /// Whether acknowledgements carry ECN-Echo.
    congestion_echo: bool,
    /// The counters of accurate ECN feedback; `None` until a segment with ECT(1) arrives.
    accurate_ecn: Option<CeCounts>,
    /// Acknowledgements still to be sent without delay.
    quick_acks_left: u8,
    /// The largest payload seen, which counts as a full segment.
    segment_bytes: u32,
    /// When the delayed acknowledgement is due.
    delayed: Option<Time>,
    merging: Option<Merging>,
    queue: VecDeque<AckSegment>,
    statistics: ReceiverStatistics,
}

/// Packets of one instant that are not yet acknowledged.
#[derive(Clone, Copy, Debug)]
struct Merging {
    at: Time,
    timestamp: u64,
    end: u64,
    bytes: u64,
    urgency: AckUrgency,
}

/// When a segment must be acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum AckUrgency {
    /// With the next segment or after the delay.
    Delayed,
    /// Without delay.
    Immediate,
}

impl Receiver {
    /// A receiver that waits for a connection.
    #[must_use]
    pub fn new(config: ReceiverConfig) -> Self {
        Self {
            config,
            next: 0,
            held: RangeSet::default(),
            recent: VecDeque::with_capacity(SackBlocks::MOST + 1),
            duplicate: None,
            end: None,
            window_edge: u64::from(config.buffer),
            acknowledged: 0,
            echo: Time::ZERO,
            congestion_echo: false,
            accurate_ecn: None,
            quick_acks_left: QUICK_ACKS,
            segment_bytes: 0,
            delayed: None,
            merging: None,
            queue: VecDeque::new(),
            statistics: ReceiverStatistics::default(),
        }
    }

    /// A segment arrives; `congestion_experienced` says whether a queue marked it (RFC 3168). Drain
    /// [`Receiver::poll_ack`] afterwards.
    pub fn on_data(&mut self, now: Time, segment: &DataSegment, congestion_experienced: bool) {
        self.statistics.segments += 1;
        if self
            .merging
            .is_some_and(|merging| !merging.continues(now, segment))
        {
            self.end_merge();
        }
        if segment.syn {
            self.echo = segment.timestamp;
            return self.send_ack(true);
        }
        let urgency = self
            .on_marks(segment, congestion_experienced)
            .max(self.accept(segment));
        if !self.config.merge {
            return self.acknowledge(now, urgency);
        }
        let merging = self
            .merging
            .get_or_insert_with(|| Merging::new(now, segment));
        merging.end = segment.end();
        merging.bytes += u64::from(segment.len);
        merging.urgency = merging.urgency.max(urgency);
    }

    /// The next acknowledgement to send at `now`.
    pub fn poll_ack(&mut self, now: Time) -> Option<AckSegment> {
        if self.merging.is_some_and(|merging| merging.at < now) {
            self.end_merge();
        }
        self.queue.pop_front()
    }

    /// When to call [`Receiver::on_timeout`]. With [`ReceiverConfig::merge`] this may be the very
    /// instant of an arrival, after all arrivals of that instant.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.merging.map(|merging| merging.at).or(self.delayed)
    }

    /// Tells the receiver that the time of [`Receiver::deadline`] has come; an earlier call does
    /// nothing. Drain [`Receiver::poll_ack`] afterwards.
    pub fn on_timeout(&mut self, now: Time) {
        if self.merging.is_some_and(|merging| merging.at <= now) {
            self.end_merge();
        }
        if self.delayed.is_some_and(|due| due <= now) {
            self.send_ack(false);
        }
    }

    /// Bytes delivered in order so far.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        self.next - u64::from(self.is_complete())
    }

    /// Whether the whole stream has arrived, up to its FIN.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.end == Some(self.next)
    }

    /// The counters so far.
    #[must_use]
    pub fn statistics(&self) -> ReceiverStatistics {
        self.statistics
    }

    /// ECN (RFC 3168, section 6.1.3): echoes a mark until the sender says that it has reduced its
    /// window.
    fn on_marks(&mut self, segment: &DataSegment, congestion_experienced: bool) -> AckUrgency {
        // Senders of ECT(1) must use accurate feedback (RFC 9331, section 4.2), so the codepoint
        // stands for its negotiation.
        if segment.ecn == Ecn::Ect1 {
            let counts = self.accurate_ecn.get_or_insert_default();
            if congestion_experienced {
                self.statistics.marked += 1;
                counts.packets += 1;
                counts.bytes += u64::from(segment.len);
                counts.has_news = true;
            }
            return AckUrgency::Delayed;
        }
        if segment.window_reduced {
            self.congestion_echo = false;
        }
        if !congestion_experienced {
            return AckUrgency::Delayed;
        }
        self.statistics.marked += 1;
        let first = !core::mem::replace(&mut self.congestion_echo, true);
        if first {
            self.quick_acks_left = self.quick_acks_left.max(2);
        }
        if first {
            AckUrgency::Immediate
        } else {
            AckUrgency::Delayed
        }
    }

    /// Accepts the payload of a segment.
    fn accept(&mut self, segment: &DataSegment) -> AckUrgency {
        self.segment_bytes = self.segment_bytes.max(segment.len);
        // RFC 7323, section 4.3, rule 2: echo the timestamp of the earliest segment that is not yet
        // acknowledged.
        if segment.offset <= self.acknowledged && segment.timestamp >= self.echo {
            self.echo = segment.timestamp;
        }
        let block = Block {
            start: segment.offset,
            end: segment.end(),
        };
        // A FIN takes no room in the buffer, hence the one byte. A segment beyond the window is
        // answered so that the sender learns the window (RFC 9293, section 3.10.7.4).
        if block.end > self.window_edge.saturating_add(1) {
            self.statistics.beyond_window += 1;
            return AckUrgency::Immediate;
        }
        if block.end <= self.next || self.held.contains(&block) {
            return self.accept_duplicate(block);
        }
        if segment.fin {
            self.end = Some(block.end);
        }
        if block.start > self.next {
            self.accept_out_of_order(block)
        } else {
            self.accept_in_order(block)
        }
    }

    fn accept_duplicate(&mut self, block: Block) -> AckUrgency {
        self.statistics.duplicates += 1;
        // The sender may have lost acknowledgements or be recovering: it needs acknowledgements
        // soon.
        self.quick_acks_left = QUICK_ACKS;
        if self.config.duplicate_sack && block.bytes() > 0 {
            self.duplicate = Some(block);
        }
        AckUrgency::Immediate
    }

    fn accept_out_of_order(&mut self, block: Block) -> AckUrgency {
        self.statistics.out_of_order += 1;
        self.quick_acks_left = QUICK_ACKS;
        let merged = self.held.insert(block);
        self.recent.retain(|old| !merged.contains(old));
        self.recent.push_front(merged);
        self.recent.truncate(SackBlocks::MOST + 1);
        AckUrgency::Immediate
    }

    fn accept_in_order(&mut self, block: Block) -> AckUrgency {
        self.next = block.end;
        // Filling a gap is acknowledged at once, so that the sender leaves recovery (RFC 5681,
        // section 4.2).
        let had_gap = !self.held.is_empty();
        if had_gap {
            // Joining everything below `next` to the first block tells how far the data is now in
            // order.
            self.held.insert(Block {
                start: 0,
                end: self.next,
            });
            self.next = self.held.first().map_or(self.next, |first| first.end);
            self.held.remove_below(self.next);
            let next = self.next;
            self.recent.retain(|old| old.end > next);
        }
        if had_gap || self.is_complete() {
            AckUrgency::Immediate
        } else {
            AckUrgency::Delayed
        }
    }

    /// Acknowledges the packets merged so far.
    fn end_merge(&mut self) {
        if let Some(merging) = self.merging.take() {
            self.acknowledge(merging.at, merging.urgency);
        }
    }

    /// Sends an acknowledgement now, or starts the delay of one.
    fn acknowledge(&mut self, now: Time, urgency: AckUrgency) {
        let unacknowledged = self.next - self.acknowledged;
        let delayed = u64::from(self.config.ack_every.saturating_sub(1));
        if urgency == AckUrgency::Immediate
            || self.quick_acks_left > 0
            || unacknowledged > delayed * u64::from(self.segment_bytes)
        {
            self.send_ack(false);
        } else if unacknowledged > 0 && self.delayed.is_none() {
            self.delayed = Some(now + DELAYED_ACK);
        }
    }

    fn send_ack(&mut self, syn: bool) {
        // Data beyond a gap takes up the buffer; data in order is read at once.
        let room = u64::from(self.config.buffer).saturating_sub(self.held.bytes());
        self.window_edge = self.window_edge.max(self.next + room);
        let window = u32::try_from(self.window_edge - self.next).unwrap_or(u32::MAX);
        let sack = self.sack();
        self.queue.push_back(AckSegment {
            ack: self.next,
            echo: self.echo,
            window,
            syn,
            congestion_echo: self.congestion_echo,
            accurate_ecn: self.accurate_ecn,
            sack,
        });
        if let Some(counts) = &mut self.accurate_ecn {
            counts.has_news = false;
        }
        self.acknowledged = self.next;
        self.delayed = None;
        self.quick_acks_left = self.quick_acks_left.saturating_sub(1);
        self.statistics.acks += 1;
    }

    /// The SACK option: a duplicate first (RFC 2883, section 4), then the blocks by recency (RFC
    /// 2018, section 4).
    fn sack(&mut self) -> Option<Box<SackBlocks>> {
        let duplicate = self.duplicate.take();
        if duplicate.is_none() && self.recent.is_empty() {
            return None;
        }
        let mut blocks = Box::<SackBlocks>::default();
        for &block in duplicate.iter().chain(&self.recent) {
            blocks.push(block);
        }
        Some(blocks)
    }
}

impl Merging {
    fn new(at: Time, segment: &DataSegment) -> Self {
        let timestamp = segment.timestamp.as_nanos() / TIMESTAMP_UNIT;
        Self {
            at,
            timestamp,
            end: segment.offset,
            bytes: 0,
            urgency: AckUrgency::Delayed,
        }
    }

    /// Whether `segment` can be merged with those before it: the same instant and timestamp,
    /// consecutive, and not too long.
    fn continues(&self, now: Time, segment: &DataSegment) -> bool {
        self.at == now
            && self.end == segment.offset
            && self.timestamp == segment.timestamp.as_nanos() / TIMESTAMP_UNIT
            && self.bytes + u64::from(segment.len) <= MERGED_BYTES
    }
}

#[cfg(test)]
mod tests;
