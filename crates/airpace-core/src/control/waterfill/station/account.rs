//! What a slot shows of the packets that wait for a station, and of the path to it.

use super::super::super::sample::{Sample, Wait};
use super::super::backlog::{BacklogSlot, usual_wait_s};
use super::super::config::WaterfillConfig;
use super::super::elsewhere::SlotTraffic;
use super::{EDGE_FRAMES, GREEDY_SLOTS, StationEstimate};

/// Frames above this share of the longest count as full: the access point had more packets waiting.
const FULL_SHARE: f64 = 0.9;
/// Packets that wait for this many gaps between frames ...
const LATE_GAPS: f64 = 4.0;
/// ... and this many seconds have waited before the access point, unless its frames are full.
const LATE_S: f64 = 0.02;
/// ... and the station receives less than this share of its fair rate.
const LATE_SHARE: f64 = 0.8;
/// Frames below this share of the target level are shorter than intended: means over some ten slots
/// that show a queue are within a few per cent of it.
const SHORT_SHARE: f64 = 0.93;
/// Weight of one slot in the mean of the waiting time's 95th percentile.
const WAIT_GAIN: f64 = 0.2;
/// A wait after which no other is measured for so long, seconds, or for four times itself, is over: of slow
/// connections of QUIC only the long ones are measured.
const WAIT_OVER_S: f64 = 1.0;
const WAIT_OVER_FACTOR: f64 = 4.0;
/// Time without frames counts only so much: the next burst may wait as long as the last one.
const IDLE_PART: f64 = 0.1;
/// A station that sends at least this share of its rate uses all it is granted: a scalable flow
/// leaves a part of it, because its queue is nearly empty.
const EAGER_SHARE: f64 = 0.75;
/// Packets that neither were received nor wait are concealed from this many slots' packets on ...
const CONCEALED_SLOTS: f64 = 2.0;
/// ... if the packets received have waited for less than this share of the time that those take.
const CONCEALED_SHARE: f64 = 0.25;
/// Packets that were sent and not told of for this many reports in a row are on the air ...
const DEFICIT_REPORTS: u8 = 4;
/// ... if the frames that are told of hold less than this share of what was sent.
const DEFICIT_SHARE: f64 = 0.8;

impl StationEstimate {
    /// Finds out how many packets wait, whether frames are full, and whether the path before the
    /// access point is the bottleneck.
    pub(super) fn account(&mut self, sample: &Sample, config: &WaterfillConfig) {
        let Some(level) = sample.level else {
            self.pass_without_wait(IDLE_PART * sample.length_s, config);
            // Nothing came because nothing was to be sent. (A station that sleeps has a backlog.)
            if !sample.backlogged {
                self.greedy_slots = self.greedy_slots.saturating_sub(1);
            } else if sample.is_unseen() {
                self.greedy_slots = GREEDY_SLOTS;
            }
            return;
        };
        let sent_pps = sample.sent_pps.unwrap_or(if sample.backlogged {
            self.granted.rate_pps
        } else {
            sample.received_pps
        });
        // Frames that a slot has too few of to show a gap leave the slot itself as a bound.
        let gap_s = sample
            .round_s
            .unwrap_or(0.0)
            .max(sample.length_s / (sample.frames + 1.0));
        match sample.wait {
            Some(wait) => self.take_wait(wait),
            None => self.pass_without_wait(sample.length_s, config),
        }
        self.deficit_reports = match self.heard {
            Some(heard)
                if heard.frame_pps < DEFICIT_SHARE * sent_pps
                    && self.elsewhere.cap_pps().is_none() =>
            {
                self.deficit_reports.saturating_add(1)
            }
            _ => 0,
        };
        let slot = BacklogSlot {
            sent_pps,
            gap_s,
            full: level >= FULL_SHARE * self.longest_frame(config),
            target_level: self.target_level,
        };
        self.backlog.observe(sample, &slot);
        self.concealed_pps = self.concealed_pps(sample, sent_pps);
        self.frame_limit
            .observe(sample, self.phy_bps, self.backlog.packets() > 0.0);
        // The limit may just have been learned.
        self.full = level >= FULL_SHARE * self.longest_frame(config);
        // While frames are full the access point is the bottleneck, so the gaps are rounds even if
        // the source is idle at times.
        self.paced |= self.full && sample.backlogged;
        let eager = sent_pps >= EAGER_SHARE * self.granted.rate_pps - 1.0 / sample.length_s;
        self.greedy_slots = if self.paced || eager || sample.marked {
            GREEDY_SLOTS
        } else {
            self.greedy_slots.saturating_sub(1)
        };
        // A source that sends less than it is granted may still send more than the path carries, as
        // may TCP whose window has filled the path's queue. A cap is revised only while it binds.
        let may_find = sample.sent_pps.is_some() && self.elsewhere.cap_pps().is_none();
        if sample.backlogged || may_find {
            let late_s = LATE_GAPS * gap_s + LATE_S;
            self.elsewhere.observe(&SlotTraffic {
                sent_pps,
                received_pps: sample.received_pps,
                lost_pps: sample.lost_pps,
                edge_pps: (EDGE_FRAMES * level + 2.0) / sample.length_s,
                full: self.full,
                short: level < SHORT_SHARE * self.target_level
                    && sample.received_pps < self.granted.fair_pps,
                late: sample.wait.map(|wait| {
                    wait.median_s > late_s
                        && sample.received_pps < LATE_SHARE * self.granted.fair_pps
                }),
                waiting: sample.wait.map(|wait| wait.median_s > usual_wait_s(gap_s)),
            });
        }
    }

    /// Returns [`StationEstimate::concealed_pps`]. A queue of so many packets would make packets wait; so
    /// if these have waited for a small part of that time only, there is no such queue.
    pub(super) fn concealed_pps(&self, sample: &Sample, sent_pps: f64) -> f64 {
        // A queue at the access point does not grow for ever.
        if self.deficit_reports > DEFICIT_REPORTS {
            return sent_pps;
        }
        let Some(wait) = sample.wait else { return 0.0 };
        let balance = self.backlog.balance();
        let is_much = balance > CONCEALED_SLOTS * sent_pps * sample.length_s;
        let waits = wait.p95_s * sent_pps > CONCEALED_SHARE * balance;
        if is_much && !waits { sent_pps } else { 0.0 }
    }

    fn take_wait(&mut self, wait: Wait) {
        let before_s = self.wait_p95_s.unwrap_or(wait.p95_s);
        self.wait_p95_s = Some(before_s + WAIT_GAIN * (wait.p95_s - before_s));
        self.waitless_s = 0.0;
    }

    /// No wait has been measured for `length_s`. A latency that was asked for was met meanwhile at the price that the
    /// last one has caused, so that is kept.
    fn pass_without_wait(&mut self, length_s: f64, config: &WaterfillConfig) {
        if config.latency.is_some() {
            return;
        }
        self.waitless_s += length_s;
        let over_s = WAIT_OVER_S.max(WAIT_OVER_FACTOR * self.wait_p95_s.unwrap_or(0.0));
        if self.waitless_s > over_s {
            self.wait_p95_s = None;
        }
    }
}
