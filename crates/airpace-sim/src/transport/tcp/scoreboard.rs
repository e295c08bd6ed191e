//! The segments that are sent and not yet cumulatively acknowledged, by offset and by the time of
//! their last transmission.

use super::delivery::DeliverySnapshot;
use super::ranges::RangeSet;
use super::segment::Block;
use airpace_units::Time;
use std::collections::VecDeque;

/// No neighbour in the list: segments are numbered from zero and never reach this number.
const NONE: u64 = u64::MAX;

/// A segment that was sent.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub(super) offset: u64,
    /// When it was last sent.
    pub(super) sent: Time,
    /// What had been delivered at that time.
    pub(super) snapshot: DeliverySnapshot,
    pub(super) len: u32,
    pub(super) fin: bool,
    /// Whether a SACK block has reported it.
    pub(super) sacked: bool,
    /// Whether it was declared lost.
    pub(super) lost: bool,
    /// Whether it was retransmitted after it was last declared lost.
    pub(super) resent: bool,
    /// Whether it was ever retransmitted: then it yields no round-trip time (Karn's algorithm, RFC
    /// 6298, section 3).
    pub(super) ever_resent: bool,
    /// Neighbours in the list by time of last transmission.
    older: u64,
    newer: u64,
}

impl Segment {
    pub(super) fn new(
        offset: u64,
        len: u32,
        fin: bool,
        sent: Time,
        snapshot: DeliverySnapshot,
    ) -> Self {
        Self {
            offset,
            sent,
            snapshot,
            len,
            fin,
            sacked: false,
            lost: false,
            resent: false,
            ever_resent: false,
            older: NONE,
            newer: NONE,
        }
    }

    /// Offset of the byte after the last; a FIN counts as a byte.
    pub(super) fn end(&self) -> u64 {
        self.offset + u64::from(self.len) + u64::from(self.fin)
    }

    /// Whether its last transmission may still arrive. Such segments form the list by time.
    fn is_pending(&self) -> bool {
        !self.sacked && (!self.lost || self.resent)
    }
}

/// The segments in flight: the scoreboard of RFC 6675, section 3, with the list by time of
/// transmission that RFC 8985, section 6, goes through.
#[derive(Clone, Debug)]
pub(super) struct Scoreboard {
    segments: VecDeque<Segment>,
    /// Number of the first segment in `segments`.
    first: u64,
    /// Ends of the list by time of last transmission.
    oldest: u64,
    newest: u64,
    n_sacked: u32,
    n_lost: u32,
    n_resent: u32,
    sacked: RangeSet,
    /// No segment below this number waits to be retransmitted.
    resend_from: u64,
    /// Offset of the highest segment that a SACK block has reported.
    highest_sacked: u64,
}

impl Scoreboard {
    pub(super) fn new() -> Self {
        Self {
            segments: VecDeque::with_capacity(1_024),
            first: 0,
            oldest: NONE,
            newest: NONE,
            n_sacked: 0,
            n_lost: 0,
            n_resent: 0,
            sacked: RangeSet::default(),
            resend_from: 0,
            highest_sacked: 0,
        }
    }

    /// Segments not yet cumulatively acknowledged.
    pub(super) fn n_segments(&self) -> u32 {
        self.segments.len() as u32 // 2^32 segments are 6 TB in flight.
    }

    /// Segments estimated to be in the network (Linux `tcp_packets_in_flight`; `pipe` of RFC 6675).
    pub(super) fn in_flight(&self) -> u32 {
        self.n_segments() + self.n_resent - self.n_sacked - self.n_lost
    }

    pub(super) fn n_sacked(&self) -> u32 {
        self.n_sacked
    }

    pub(super) fn n_lost(&self) -> u32 {
        self.n_lost
    }

    pub(super) fn n_resent(&self) -> u32 {
        self.n_resent
    }

    /// Offset of the highest segment that a SACK block has reported.
    pub(super) fn highest_sacked(&self) -> u64 {
        self.highest_sacked
    }

    pub(super) fn front(&self) -> Option<&Segment> {
        self.segments.front()
    }

    /// The segment with the highest offset that no SACK block has reported.
    pub(super) fn last_unanswered(&self) -> Option<u64> {
        let index = self.segments.iter().rposition(|segment| !segment.sacked)?;
        Some(self.first + index as u64)
    }

    pub(super) fn get(&self, id: u64) -> &Segment {
        &self.segments[self.index(id)]
    }

    fn index(&self, id: u64) -> usize {
        (id - self.first) as usize
    }

    /// Adds a segment that was sent for the first time.
    pub(super) fn push(&mut self, segment: Segment) {
        let id = self.first + self.segments.len() as u64;
        self.segments.push_back(segment);
        self.link_newest(id);
    }

    /// Removes and returns the first segment if `ack` covers it.
    pub(super) fn pop_acknowledged(&mut self, ack: u64) -> Option<Segment> {
        if self.segments.front()?.end() > ack {
            return None;
        }
        self.unlink(self.first);
        let segment = self.segments.pop_front()?;
        self.first += 1;
        self.n_sacked -= u32::from(segment.sacked);
        self.n_lost -= u32::from(segment.lost);
        self.n_resent -= u32::from(segment.resent);
        Some(segment)
    }

    /// Forgets SACK blocks below `ack`.
    pub(super) fn forget_below(&mut self, ack: u64) {
        if !self.sacked.is_empty() {
            self.sacked.remove_below(ack);
        }
    }

    /// Marks the segments that `block` reports and calls `visit` for each that was not reported
    /// before, in its state before.
    pub(super) fn sack(&mut self, block: Block, mut visit: impl FnMut(&Segment)) {
        // Blocks repeat earlier reports, so only the parts not reported before are searched. The
        // set is taken out while its gaps are visited, because visiting changes the rest of the
        // scoreboard.
        let mut sacked = core::mem::take(&mut self.sacked);
        sacked.for_each_gap(block, |gap| self.sack_gap(gap, &mut visit));
        sacked.insert(block);
        self.sacked = sacked;
    }

    fn sack_gap(&mut self, gap: Block, visit: &mut impl FnMut(&Segment)) {
        let from = self
            .segments
            .partition_point(|segment| segment.offset < gap.start);
        for index in from..self.segments.len() {
            if self.segments[index].end() > gap.end {
                break;
            }
            self.unlink(self.first + index as u64);
            let segment = &mut self.segments[index];
            visit(segment);
            self.n_sacked += 1;
            self.n_lost -= u32::from(segment.lost);
            self.n_resent -= u32::from(segment.resent);
            self.highest_sacked = self.highest_sacked.max(segment.offset);
            (segment.sacked, segment.lost, segment.resent) = (true, false, false);
        }
    }

    /// The pending segment that was sent first.
    pub(super) fn oldest(&self) -> Option<u64> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    /// The pending segment sent next after `id`.
    pub(super) fn newer(&self, id: u64) -> Option<u64> {
        let newer = self.get(id).newer;
        (newer != NONE).then_some(newer)
    }

    /// Declares a pending segment lost.
    pub(super) fn mark_lost(&mut self, id: u64) {
        self.unlink(id);
        let index = self.index(id);
        let segment = &mut self.segments[index];
        self.n_lost += u32::from(!segment.lost);
        self.n_resent -= u32::from(segment.resent);
        (segment.lost, segment.resent) = (true, false);
        self.resend_from = self.resend_from.min(id);
    }

    /// Declares lost every pending segment for which `is_lost` returns true, and returns their
    /// number.
    pub(super) fn mark_pending_lost(&mut self, is_lost: impl Fn(&Segment) -> bool) -> u32 {
        let mut n = 0;
        for id in self.first..self.first + self.segments.len() as u64 {
            let segment = self.get(id);
            if segment.is_pending() && is_lost(segment) {
                self.mark_lost(id);
                n += 1;
            }
        }
        n
    }

    /// Revokes all declarations of loss.
    pub(super) fn unmark_losses(&mut self) {
        for id in (self.first..self.first + self.segments.len() as u64).rev() {
            let index = self.index(id);
            let segment = &mut self.segments[index];
            if !segment.lost {
                continue;
            }
            segment.lost = false;
            self.n_lost -= 1;
            if !segment.resent {
                // It becomes pending again. Going through the segments backwards keeps the list in
                // order of offsets, which is the order in which they were first sent.
                self.link_oldest(id);
            }
        }
    }

    /// The lost segment with the lowest offset that has not been retransmitted (NextSeg rule 1 of
    /// RFC 6675, section 4).
    pub(super) fn next_to_resend(&mut self) -> Option<u64> {
        if self.n_lost == 0 {
            return None;
        }
        self.resend_from = self.resend_from.max(self.first);
        while self.resend_from < self.first + self.segments.len() as u64 {
            let segment = self.get(self.resend_from);
            if segment.lost && !segment.resent {
                return Some(self.resend_from);
            }
            self.resend_from += 1;
        }
        None
    }

    /// Records that a segment is retransmitted at `now`.
    pub(super) fn resend(&mut self, id: u64, now: Time, snapshot: DeliverySnapshot) -> &Segment {
        let index = self.index(id);
        if self.segments[index].is_pending() {
            self.unlink(id);
        }
        let segment = &mut self.segments[index];
        self.n_resent += u32::from(!segment.resent);
        (segment.resent, segment.ever_resent) = (true, true);
        (segment.sent, segment.snapshot) = (now, snapshot);
        self.link_newest(id);
        &self.segments[index]
    }

    /// Takes back the transmission of the segments from `offset` on, which were sent once.
    pub(super) fn take_back(&mut self, offset: u64) {
        while self
            .segments
            .back()
            .is_some_and(|last| last.offset >= offset)
        {
            self.unlink(self.first + self.segments.len() as u64 - 1);
            self.segments.pop_back();
        }
    }

    /// Takes back the retransmission of the segment at `offset`: it waits to be sent again.
    pub(super) fn take_back_resent(&mut self, offset: u64) {
        let index = self
            .segments
            .partition_point(|segment| segment.offset < offset);
        if self
            .segments
            .get(index)
            .is_some_and(|segment| segment.offset == offset && segment.lost && segment.resent)
        {
            self.mark_lost(self.first + index as u64);
        }
    }

    fn link_newest(&mut self, id: u64) {
        let (index, newest) = (self.index(id), self.newest);
        (self.segments[index].older, self.segments[index].newer) = (newest, NONE);
        if newest == NONE {
            self.oldest = id;
        } else {
            let newest = self.index(newest);
            self.segments[newest].newer = id;
        }
        self.newest = id;
    }

    fn link_oldest(&mut self, id: u64) {
        let (index, oldest) = (self.index(id), self.oldest);
        (self.segments[index].older, self.segments[index].newer) = (NONE, oldest);
        if oldest == NONE {
            self.newest = id;
        } else {
            let oldest = self.index(oldest);
            self.segments[oldest].older = id;
        }
        self.oldest = id;
    }

    /// Removes a segment from the list by time, if it is in it.
    fn unlink(&mut self, id: u64) {
        let segment = self.get(id);
        if !segment.is_pending() {
            return;
        }
        let (older, newer) = (segment.older, segment.newer);
        if older == NONE {
            self.oldest = newer;
        } else {
            let older = self.index(older);
            self.segments[older].newer = newer;
        }
        if newer == NONE {
            self.newest = older;
        } else {
            let newer = self.index(newer);
            self.segments[newer].older = older;
        }
    }
}
