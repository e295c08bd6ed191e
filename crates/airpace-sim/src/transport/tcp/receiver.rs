//! The receiving end.

use super::ranges::RangeSet;
use super::segment::{AckSegment, Block, DataSegment, SackBlocks};
use airpace_units::Time;
use core::time::Duration;
use std::collections::VecDeque;

/// Longest time that an acknowledgement waits for a second segment (Linux `TCP_DELACK_MIN`, HZ/25).
const DELAYED_ACK: Duration = Duration::from_millis(40);
/// Acknowledgements sent without delay at the start and after disorder (Linux `TCP_MAX_QUICKACKS`).
const QUICK_ACKS: u8 = 16;
/// Largest super-packet that generic receive offload makes, in bytes of payload (Linux: 65,535 bytes with headers).
const MERGED_BYTES: u64 = 65_535 - 52;
/// Unit of the timestamps that senders write, in nanoseconds; packets whose timestamps differ are not merged (Linux: 1 ms).
const TIMESTAMP_UNIT: u64 = 1_000_000;

/// How a receiver behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReceiverConfig {
    /// Receive buffer, bytes: bound of the window (default 6 MB). The application reads at once.
    pub buffer: u32,
    /// Whether packets that arrive at one instant are acknowledged as one, as a host with generic receive offload does (default no).
    ///
    /// The driver hands over all packets of the instant, then calls [`Receiver::on_timeout`], as [`Receiver::deadline`] asks, and polls.
    pub merge: bool,
    /// Whether duplicates are reported (RFC 2883; default yes).
    pub duplicate_sack: bool,
}

impl Default for ReceiverConfig {
    fn default() -> Self {
        Self {
            buffer: 6_000_000,
            merge: false,
            duplicate_sack: true,
        }
    }
}

/// What a receiver has seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReceiverStatistics {
    /// Segments that arrived, whatever became of them.
    pub segments: u64,
    /// Segments that brought nothing new.
    pub duplicates: u64,
    /// Segments that arrived beyond a hole.
    pub out_of_order: u64,
    /// Segments beyond the window, dropped.
    pub beyond_window: u64,
    /// Segments that a queue had marked.
    pub marked: u64,
    /// Acknowledgements sent.
    pub acks: u64,
}

/// A receiver: takes data in any order, hands it up in order, acknowledges as Linux does.
///
/// Every second full segment is acknowledged at once, others within 40 ms (RFC 5681, section 4.2; RFC 1122, section 4.2.3.2); the first 16, those that
/// leave or fill a hole, duplicates and marks without delay.
#[derive(Clone, Debug)]
pub struct Receiver {
    config: ReceiverConfig,
    /// The next byte in order, RCV.NXT.
    next: u64,
    /// What has arrived beyond it.
    held: RangeSet,
    /// Blocks of `held` by the time of their last change, the latest first.
    recent: VecDeque<Block>,
    /// A duplicate to be reported.
    duplicate: Option<Block>,
    /// End of the stream with its FIN, once known.
    end: Option<u64>,
    /// The edge of the window; it never goes back.
    window_edge: u64,
    /// What was last acknowledged.
    acknowledged: u64,
    /// The timestamp to echo, TS.Recent.
    echo: Time,
    congestion_echo: bool,
    quick: u8,
    /// The largest payload seen: what counts as a full segment.
    segment_bytes: u32,
    delayed: Option<Time>,
    merging: Option<Merging>,
    queue: VecDeque<AckSegment>,
    statistics: ReceiverStatistics,
}

/// Packets of one instant that are not yet answered.
#[derive(Clone, Copy, Debug)]
struct Merging {
    at: Time,
    timestamp: u64,
    end: u64,
    bytes: u64,
    answer: Answer,
}

/// What a segment asks for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Answer {
    /// An acknowledgement, in time.
    Usual,
    /// An acknowledgement without delay.
    Now,
}

impl Receiver {
    /// A receiver that listens.
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
            quick: QUICK_ACKS,
            segment_bytes: 0,
            delayed: None,
            merging: None,
            queue: VecDeque::new(),
            statistics: ReceiverStatistics::default(),
        }
    }

    /// A segment arrives; `congestion_experienced` tells whether a queue marked it (RFC 3168). Drain [`Receiver::poll_ack`] afterwards.
    pub fn on_data(&mut self, now: Time, segment: &DataSegment, congestion_experienced: bool) {
        self.statistics.segments += 1;
        if self
            .merging
            .is_some_and(|merging| !merging.continues(now, segment))
        {
            self.end_merging();
        }
        if segment.syn {
            self.echo = segment.timestamp;
            return self.send_ack(true);
        }
        let answer = self
            .on_marks(segment, congestion_experienced)
            .max(self.take(segment));
        if !self.config.merge {
            return self.answer(now, answer);
        }
        let merging = self
            .merging
            .get_or_insert_with(|| Merging::new(now, segment));
        merging.end = segment.end();
        merging.bytes += u64::from(segment.len);
        merging.answer = merging.answer.max(answer);
    }

    /// The next acknowledgement to send at `now`.
    pub fn poll_ack(&mut self, now: Time) -> Option<AckSegment> {
        if self.merging.is_some_and(|merging| merging.at < now) {
            self.end_merging();
        }
        self.queue.pop_front()
    }

    /// When [`Receiver::on_timeout`] is due: with [`ReceiverConfig::merge`] at the very instant of an arrival, after all arrivals of that instant.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.merging.map(|merging| merging.at).or(self.delayed)
    }

    /// The time of [`Receiver::deadline`] has come; nothing happens before it. Drain [`Receiver::poll_ack`] afterwards.
    pub fn on_timeout(&mut self, now: Time) {
        if self.merging.is_some_and(|merging| merging.at <= now) {
            self.end_merging();
        }
        if self.delayed.is_some_and(|due| due <= now) {
            self.send_ack(false);
        }
    }

    /// Bytes handed up in order so far.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        self.next - u64::from(self.is_complete())
    }

    /// Whether the stream has arrived whole, up to its FIN.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.end == Some(self.next)
    }

    /// What it has seen so far.
    #[must_use]
    pub fn statistics(&self) -> ReceiverStatistics {
        self.statistics
    }

    /// ECN's part (RFC 3168, section 6.1.3): echo a mark until the sender says that it has reacted.
    fn on_marks(&mut self, segment: &DataSegment, congestion_experienced: bool) -> Answer {
        if segment.window_reduced {
            self.congestion_echo = false;
        }
        if !congestion_experienced {
            return Answer::Usual;
        }
        self.statistics.marked += 1;
        let first = !core::mem::replace(&mut self.congestion_echo, true);
        if first {
            self.quick = self.quick.max(2);
        }
        if first { Answer::Now } else { Answer::Usual }
    }

    /// Takes in the payload.
    fn take(&mut self, segment: &DataSegment) -> Answer {
        self.segment_bytes = self.segment_bytes.max(segment.len);
        // RFC 7323, section 4.3, rule 2: the echo is that of the earliest segment not yet acknowledged.
        if segment.offset <= self.acknowledged && segment.timestamp >= self.echo {
            self.echo = segment.timestamp;
        }
        let block = Block {
            start: segment.offset,
            end: segment.end(),
        };
        if block.end > self.window_edge.saturating_add(1) {
            self.statistics.beyond_window += 1;
            return Answer::Now;
        }
        if block.end <= self.next || self.held.contains(&block) {
            return self.take_duplicate(block);
        }
        if segment.fin {
            self.end = Some(block.end);
        }
        if block.start > self.next {
            self.take_beyond(block)
        } else {
            self.take_in_order(block)
        }
    }

    fn take_duplicate(&mut self, block: Block) -> Answer {
        self.statistics.duplicates += 1;
        self.quick = QUICK_ACKS;
        if self.config.duplicate_sack && block.bytes() > 0 {
            self.duplicate = Some(block);
        }
        Answer::Now
    }

    fn take_beyond(&mut self, block: Block) -> Answer {
        self.statistics.out_of_order += 1;
        self.quick = QUICK_ACKS;
        let merged = self.held.insert(block);
        self.recent.retain(|old| !merged.contains(old));
        self.recent.push_front(merged);
        self.recent.truncate(SackBlocks::MOST + 1);
        Answer::Now
    }

    fn take_in_order(&mut self, block: Block) -> Answer {
        self.next = block.end;
        let had_hole = !self.held.is_empty();
        if had_hole {
            self.held.insert(Block {
                start: 0,
                end: self.next,
            });
            self.next = self.held.first().map_or(self.next, |first| first.end);
            self.held.remove_below(self.next);
            let next = self.next;
            self.recent.retain(|old| old.end > next);
        }
        if had_hole || self.is_complete() {
            Answer::Now
        } else {
            Answer::Usual
        }
    }

    fn end_merging(&mut self) {
        if let Some(merging) = self.merging.take() {
            self.answer(merging.at, merging.answer);
        }
    }

    fn answer(&mut self, now: Time, answer: Answer) {
        let waiting = self.next - self.acknowledged;
        if answer == Answer::Now || self.quick > 0 || waiting > u64::from(self.segment_bytes) {
            self.send_ack(false);
        } else if waiting > 0 && self.delayed.is_none() {
            self.delayed = Some(now + DELAYED_ACK);
        }
    }

    fn send_ack(&mut self, syn: bool) {
        let room = u64::from(self.config.buffer).saturating_sub(self.held.bytes());
        self.window_edge = self.window_edge.max(self.next + room);
        let window = u32::try_from(self.window_edge - self.next).unwrap_or(u32::MAX);
        let (ack, echo, congestion_echo) = (self.next, self.echo, self.congestion_echo);
        let sack = self.sack();
        self.queue.push_back(AckSegment {
            ack,
            echo,
            window,
            syn,
            congestion_echo,
            sack,
        });
        self.acknowledged = self.next;
        self.delayed = None;
        self.quick = self.quick.saturating_sub(1);
        self.statistics.acks += 1;
    }

    fn sack(&mut self) -> Option<Box<SackBlocks>> {
        let duplicate = self.duplicate.take();
        if duplicate.is_none() && self.recent.is_empty() {
            return None;
        }
        let mut blocks = Box::<SackBlocks>::default();
        duplicate
            .iter()
            .chain(&self.recent)
            .for_each(|&block| blocks.push(block));
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
            answer: Answer::Usual,
        }
    }

    /// Whether `segment` goes on where the last one ended, and fits.
    fn continues(&self, now: Time, segment: &DataSegment) -> bool {
        self.at == now
            && self.end == segment.offset
            && self.timestamp == segment.timestamp.as_nanos() / TIMESTAMP_UNIT
            && self.bytes + u64::from(segment.len) <= MERGED_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1_000;

    fn data(index: u64) -> DataSegment {
        DataSegment {
            offset: index * u64::from(MSS),
            len: MSS,
            syn: false,
            fin: false,
            ecn_capable: true,
            window_reduced: false,
            retransmission: false,
            timestamp: Time::from_millis(index),
        }
    }

    /// A receiver past its quick acknowledgements; the next segment is number 16.
    fn steady(config: ReceiverConfig) -> Receiver {
        let mut receiver = Receiver::new(config);
        for index in 0..16 {
            receiver.on_data(Time::ZERO, &data(index), false);
            receiver.on_timeout(Time::ZERO);
            assert!(receiver.poll_ack(Time::ZERO).is_some());
        }
        receiver
    }

    fn acks(receiver: &mut Receiver) -> Vec<u64> {
        core::iter::from_fn(|| receiver.poll_ack(Time::ZERO))
            .map(|ack| ack.ack / u64::from(MSS))
            .collect()
    }

    #[test]
    fn every_second_segment_is_acknowledged_and_a_single_one_after_40_ms() {
        let mut receiver = steady(ReceiverConfig::default());
        receiver.on_data(Time::ZERO, &data(16), false);
        assert!(acks(&mut receiver).is_empty());
        receiver.on_data(Time::ZERO, &data(17), false);
        assert_eq!(acks(&mut receiver), [18]);
        receiver.on_data(Time::from_millis(1), &data(18), false);
        assert_eq!(receiver.deadline(), Some(Time::from_millis(41)));
        receiver.on_timeout(Time::from_millis(40));
        assert!(acks(&mut receiver).is_empty());
        receiver.on_timeout(Time::from_millis(41));
        assert_eq!(acks(&mut receiver), [19]);
        assert_eq!(receiver.deadline(), None);
    }

    #[test]
    fn holes_are_reported_at_once_the_latest_block_first() {
        let mut receiver = steady(ReceiverConfig::default());
        for index in [17, 19, 20, 23, 26, 18] {
            receiver.on_data(Time::ZERO, &data(index), false);
        }
        let ack = core::iter::from_fn(|| receiver.poll_ack(Time::ZERO))
            .last()
            .unwrap();
        let blocks: Vec<_> = ack
            .blocks()
            .iter()
            .map(|b| (b.start / 1_000, b.end / 1_000))
            .collect();
        assert_eq!(
            (ack.ack, blocks),
            (16_000, vec![(17, 21), (26, 27), (23, 24)])
        );
        receiver.on_data(Time::ZERO, &data(16), false);
        let ack = receiver.poll_ack(Time::ZERO).unwrap();
        assert_eq!((ack.ack, ack.blocks().len()), (21_000, 2));
    }

    #[test]
    fn a_duplicate_is_reported_once() {
        let mut receiver = steady(ReceiverConfig::default());
        receiver.on_data(Time::ZERO, &data(3), false);
        let ack = receiver.poll_ack(Time::ZERO).unwrap();
        assert_eq!(
            ack.blocks(),
            [Block {
                start: 3_000,
                end: 4_000
            }]
        );
        receiver.on_data(Time::ZERO, &data(16), false);
        assert_eq!(receiver.poll_ack(Time::ZERO).unwrap().sack, None);
        assert_eq!(receiver.statistics().duplicates, 1);
    }

    #[test]
    fn the_echo_is_that_of_the_earliest_segment_not_yet_acknowledged() {
        let mut receiver = steady(ReceiverConfig::default());
        receiver.on_data(Time::ZERO, &data(16), false);
        receiver.on_data(Time::ZERO, &data(17), false);
        assert_eq!(
            receiver.poll_ack(Time::ZERO).unwrap().echo,
            Time::from_millis(16)
        );
    }

    #[test]
    fn a_mark_is_echoed_until_the_sender_has_reacted() {
        let mut receiver = Receiver::new(ReceiverConfig::default());
        let mut echo = |index, marked, window_reduced| {
            receiver.on_data(
                Time::ZERO,
                &DataSegment {
                    window_reduced,
                    ..data(index)
                },
                marked,
            );
            receiver.poll_ack(Time::ZERO).unwrap().congestion_echo
        };
        assert!(!echo(0, false, false));
        assert!(echo(1, true, false));
        assert!(echo(2, false, false));
        assert!(!echo(3, false, true));
    }

    #[test]
    fn merged_packets_get_one_acknowledgement_for_each_super_packet() {
        let mut receiver = steady(ReceiverConfig {
            merge: true,
            ..ReceiverConfig::default()
        });
        for index in 16..116 {
            receiver.on_data(
                Time::ZERO,
                &DataSegment {
                    timestamp: Time::ZERO,
                    ..data(index)
                },
                false,
            );
        }
        assert_eq!(receiver.deadline(), Some(Time::ZERO));
        receiver.on_timeout(Time::ZERO);
        assert_eq!(acks(&mut receiver), [16 + 65, 116]);
        assert_eq!(receiver.deadline(), None);
    }

    #[test]
    fn the_window_shrinks_by_what_is_held_but_its_edge_never_goes_back() {
        let mut receiver = Receiver::new(ReceiverConfig {
            buffer: 5_000,
            ..ReceiverConfig::default()
        });
        receiver.on_data(Time::ZERO, &data(1), false);
        assert_eq!(receiver.poll_ack(Time::ZERO).unwrap().window, 5_000);
        receiver.on_data(Time::ZERO, &data(0), false);
        assert_eq!(receiver.poll_ack(Time::ZERO).unwrap().window, 5_000);
        receiver.on_data(Time::ZERO, &data(7), false);
        assert_eq!(receiver.statistics().beyond_window, 1);
    }

    #[test]
    fn a_fin_completes_the_stream_when_all_before_it_is_there() {
        let mut receiver = Receiver::new(ReceiverConfig::default());
        receiver.on_data(
            Time::ZERO,
            &DataSegment {
                fin: true,
                ..data(1)
            },
            false,
        );
        assert!(!receiver.is_complete());
        receiver.on_data(Time::ZERO, &data(0), false);
        assert!(receiver.is_complete());
        assert_eq!(
            (receiver.delivered(), acks(&mut receiver).len()),
            (2_000, 2)
        );
    }
}
