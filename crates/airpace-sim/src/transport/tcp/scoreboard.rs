//! The segments that are sent and not yet acknowledged, by offset and by the time of their last transmission.

use super::delivery::Mark;
use super::ranges::RangeSet;
use super::segment::Block;
use airpace_units::Time;
use std::collections::VecDeque;

/// No neighbour in the list. Segments are numbered from zero and never as many.
const NONE: u64 = u64::MAX;

/// A segment on its way.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub(super) offset: u64,
    /// When it was last sent.
    pub(super) sent: Time,
    /// What had been delivered then.
    pub(super) mark: Mark,
    pub(super) len: u32,
    pub(super) fin: bool,
    /// Reported by a SACK block.
    pub(super) sacked: bool,
    /// Taken for lost.
    pub(super) lost: bool,
    /// Sent again after its last loss.
    pub(super) resent: bool,
    /// Ever sent again: no round-trip time can be had from it (Karn).
    pub(super) ever_resent: bool,
    older: u64,
    newer: u64,
}

impl Segment {
    pub(super) fn new(offset: u64, len: u32, fin: bool, sent: Time, mark: Mark) -> Self {
        let (sacked, lost, resent, ever_resent) = (false, false, false, false);
        Self {
            offset,
            sent,
            mark,
            len,
            fin,
            sacked,
            lost,
            resent,
            ever_resent,
            older: NONE,
            newer: NONE,
        }
    }

    /// Number of the byte after the last, a FIN counted.
    pub(super) fn end(&self) -> u64 {
        self.offset + u64::from(self.len) + u64::from(self.fin)
    }

    /// Whether it is in the list by time: it may yet arrive, and nobody knows.
    fn is_pending(&self) -> bool {
        !self.sacked && (!self.lost || self.resent)
    }
}

/// What is in flight (the scoreboard of RFC 6675, section 3, with the list by time of RFC 8985, section 6).
#[derive(Clone, Debug)]
pub(super) struct Scoreboard {
    segments: VecDeque<Segment>,
    /// Number of the first segment.
    first: u64,
    /// Ends of the list by time of last transmission.
    oldest: u64,
    newest: u64,
    n_sacked: u32,
    n_lost: u32,
    n_resent: u32,
    sacked: RangeSet,
    /// Nothing below this waits to be sent again.
    resend_from: u64,
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

    /// Segments not yet acknowledged cumulatively.
    pub(super) fn n_segments(&self) -> u32 {
        self.segments.len() as u32 // 2^32 segments are 6 TB in flight.
    }

    /// Segments thought to be in the network (Linux `tcp_packets_in_flight`; `pipe` of RFC 6675).
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

    /// Where the highest segment begins that was reported by a SACK block.
    pub(super) fn highest_sacked(&self) -> u64 {
        self.highest_sacked
    }

    pub(super) fn front(&self) -> Option<&Segment> {
        self.segments.front()
    }

    /// The segment with the highest offset of which no SACK block told.
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

    /// Adds a segment that has been sent for the first time.
    pub(super) fn push(&mut self, segment: Segment) {
        let id = self.first + self.segments.len() as u64;
        self.segments.push_back(segment);
        self.link_newest(id);
    }

    /// Takes off the first segment if `ack` covers it.
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

    /// Marks what `block` reports and calls `visit` for each segment that is news, as it was before.
    pub(super) fn sack(&mut self, block: Block, mut visit: impl FnMut(&Segment)) {
        let mut news = core::mem::take(&mut self.sacked);
        news.for_each_gap(block, |gap| self.sack_gap(gap, &mut visit));
        news.insert(block);
        self.sacked = news;
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

    /// The segment of which nothing has been heard for longest.
    pub(super) fn oldest(&self) -> Option<u64> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    /// The one sent after `id`.
    pub(super) fn newer(&self, id: u64) -> Option<u64> {
        let newer = self.get(id).newer;
        (newer != NONE).then_some(newer)
    }

    /// Takes a pending segment for lost.
    pub(super) fn mark_lost(&mut self, id: u64) {
        self.unlink(id);
        let index = self.index(id);
        let segment = &mut self.segments[index];
        self.n_lost += u32::from(!segment.lost);
        self.n_resent -= u32::from(segment.resent);
        (segment.lost, segment.resent) = (true, false);
        self.resend_from = self.resend_from.min(id);
    }

    /// Takes everything pending for lost of which `is_lost` says so.
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

    /// Takes back every loss of a segment not yet sent again.
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
                self.link_oldest(id);
            }
        }
    }

    /// The lost segment with the lowest offset that has not been sent again.
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

    /// Notes that a segment is sent again.
    pub(super) fn resend(&mut self, id: u64, now: Time, mark: Mark) -> &Segment {
        let index = self.index(id);
        if self.segments[index].is_pending() {
            self.unlink(id);
        }
        let segment = &mut self.segments[index];
        self.n_resent += u32::from(!segment.resent);
        (segment.resent, segment.ever_resent) = (true, true);
        (segment.sent, segment.mark) = (now, mark);
        self.link_newest(id);
        &self.segments[index]
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

    /// Takes a segment out of the list by time, if it is there.
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
