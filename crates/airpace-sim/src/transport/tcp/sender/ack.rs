//! Processing of acknowledgements (Linux `tcp_ack`).

use super::{Phase, Sender};
use crate::transport::tcp::congestion::{AckEvent, CongestionControl};
use crate::transport::tcp::delivery::RateSample;
use crate::transport::tcp::recovery::AckCounts;
use crate::transport::tcp::scoreboard::Segment;
use crate::transport::tcp::segment::{AckSegment, Block};
use airpace_units::Time;
use core::time::Duration;

/// What one acknowledgement reports.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckSummary {
    /// Segments newly acknowledged, cumulatively or selectively.
    pub(super) delivered: u32,
    /// Whether the cumulative acknowledgement advanced.
    pub(super) advanced: bool,
    /// Whether SACK blocks reported something new.
    pub(super) sacked: bool,
    /// Whether a duplicate was reported (D-SACK), and whether it was the tail loss probe.
    pub(super) duplicate: bool,
    pub(super) probe_was_duplicate: bool,
    /// Whether a segment below `Recovery::high` that was sent only once has arrived.
    pub(super) original: bool,
    /// Whether a congestion mark was echoed.
    pub(super) marked: bool,
    /// The echoed timestamp.
    pub(super) echo: Time,
    /// Segments newly reported as marked by accurate ECN feedback.
    newly_marked: u32,
    /// Segments newly declared lost.
    pub(super) lost: u32,
    /// Segments in flight before the acknowledgement.
    prior_in_flight: u32,
    /// Round-trip time of the most recently sent of the reported segments that were sent only once.
    rtt: Option<Duration>,
    /// Sending times of the segments that were sent only once, acknowledged cumulatively and
    /// selectively.
    acked: Option<SendingTimes>,
    selected: Option<SendingTimes>,
}

/// The earliest and the latest sending time of some segments.
#[derive(Clone, Copy, Debug)]
struct SendingTimes {
    first: Time,
    last: Time,
}

impl AckSummary {
    /// Counts a newly delivered segment; `high` is the end of the current recovery.
    fn count(&mut self, segment: &Segment, high: u64, selectively: bool) {
        self.delivered += 1;
        // Karn's algorithm: it is not known which transmission of a retransmitted segment arrived.
        if segment.ever_resent {
            return;
        }
        self.original |= segment.end() <= high;
        let times = if selectively {
            &mut self.selected
        } else {
            &mut self.acked
        };
        let sent = segment.sent;
        *times = Some(match *times {
            None => SendingTimes {
                first: sent,
                last: sent,
            },
            Some(known) => SendingTimes {
                first: known.first.min(sent),
                last: known.last.max(sent),
            },
        });
    }
}

impl Sender {
    /// An acknowledgement arrives. Drain [`Sender::poll_transmit`] afterwards. Acknowledgements of
    /// data that was never sent are ignored.
    pub fn on_ack(&mut self, now: Time, ack: &AckSegment) {
        if ack.syn {
            return self.on_syn_ack(now, ack);
        }
        // RFC 9293, section 3.10.7.4: an acknowledgement of something not yet sent is not
        // acceptable.
        if self.phase != Phase::Established || ack.ack > self.stream.next {
            return;
        }
        self.timers.refused = None;
        let marked = ack.congestion_echo && self.config.ecn;
        let prior_in_flight = self.board.in_flight();
        let mut summary = AckSummary {
            marked,
            echo: ack.echo,
            prior_in_flight,
            newly_marked: self.count_marks(ack),
            ..AckSummary::default()
        };
        let mut sample = RateSample::default();
        self.process_sack_blocks(now, ack, &mut summary, &mut sample);
        if ack.ack > self.stream.acknowledged {
            self.advance_acknowledged(now, ack.ack, &mut summary, &mut sample);
        }
        // Acknowledgements may be reordered: only the largest edge counts.
        self.stream.window_edge = self
            .stream
            .window_edge
            .max(ack.ack.saturating_add(u64::from(ack.window)));
        summary.rtt = self.sample_rtt(now, &summary);
        let prior_lost = self.delivery.lost;
        self.rack.adapt(
            sample.prior_delivered.unwrap_or(u64::MAX),
            self.delivery.delivered,
        );
        self.on_probe_answer(now, ack.ack, &summary);
        self.update_recovery(now, &mut summary);
        summary.lost = u32::try_from(self.delivery.lost - prior_lost).unwrap_or(u32::MAX);
        sample.finish(&mut self.delivery, now, self.rtt.min());
        self.run_congestion_control(now, &summary, &sample);
    }

    /// Returns how many more segments were marked than the receiver has reported before.
    fn count_marks(&mut self, ack: &AckSegment) -> u32 {
        let reported = ack.accurate_ecn.map_or(0, |counts| counts.packets);
        // Acknowledgements may be reordered: only a larger counter is news.
        let new = reported.saturating_sub(self.ce_reported);
        self.ce_reported += new;
        self.statistics.marked += new;
        u32::try_from(new).unwrap_or(u32::MAX)
    }

    fn on_syn_ack(&mut self, now: Time, ack: &AckSegment) {
        let Phase::SynSent { at, n } = self.phase else {
            return;
        };
        self.phase = Phase::Established;
        self.stream.window_edge = u64::from(ack.window);
        // After a lost SYN the path is not trusted with more than one segment (RFC 5681, section
        // 3.1).
        if n > 0 {
            self.window.segments = 1;
        } else {
            let rtt = now.saturating_since(at);
            self.rtt.on_min_sample(now, rtt);
            self.rtt.on_sample(rtt, 0, 0);
        }
    }

    fn process_sack_blocks(
        &mut self,
        now: Time,
        ack: &AckSegment,
        summary: &mut AckSummary,
        sample: &mut RateSample,
    ) {
        let blocks = ack.blocks();
        let Some(&first) = blocks.first() else { return };
        // RFC 2883, section 4: the first block is a duplicate if it is below the cumulative
        // acknowledgement or within the second block.
        let duplicate =
            first.start < ack.ack || blocks.get(1).is_some_and(|second| second.contains(&first));
        if duplicate {
            self.on_duplicate(first, summary);
        }
        // Only blocks within what is in flight are valid.
        let (start, end) = (self.stream.acknowledged.max(ack.ack), self.stream.next);
        for block in blocks.iter().skip(usize::from(duplicate)) {
            if block.start >= start && block.end <= end && block.start < block.end {
                self.process_sack_block(now, *block, summary, sample);
            }
        }
    }

    fn on_duplicate(&mut self, block: Block, summary: &mut AckSummary) {
        if block.end > self.stream.next {
            return;
        }
        summary.duplicate = true;
        summary.probe_was_duplicate = self
            .timers
            .probe
            .is_some_and(|probe| probe.resent && probe.end == block.end);
        self.rack.on_duplicate();
        self.recovery.on_duplicate(block.end);
    }

    fn process_sack_block(
        &mut self,
        now: Time,
        block: Block,
        summary: &mut AckSummary,
        sample: &mut RateSample,
    ) {
        let (high, min_rtt) = (self.recovery.high, self.rtt.min());
        // As of before this block: what lies below it and was sent only once has been overtaken.
        let highest = self.board.highest_sacked();
        let (rack, delivery) = (&mut self.rack, &mut self.delivery);
        self.board.sack(block, |segment| {
            summary.sacked = true;
            summary.count(segment, high, true);
            sample.on_delivered(delivery, segment);
            rack.on_delivered(now, segment, min_rtt);
            if !segment.ever_resent && segment.offset < highest {
                rack.on_reordering();
            }
        });
    }

    /// The cumulative acknowledgement advances to `ack`.
    fn advance_acknowledged(
        &mut self,
        now: Time,
        ack: u64,
        summary: &mut AckSummary,
        sample: &mut RateSample,
    ) {
        let (high, min_rtt) = (self.recovery.high, self.rtt.min());
        let highest = self.board.highest_sacked();
        while let Some(segment) = self.board.pop_acknowledged(ack) {
            if segment.sacked {
                // A SACK block has reported it before.
                continue;
            }
            summary.count(&segment, high, false);
            sample.on_delivered(&mut self.delivery, &segment);
            self.rack.on_delivered(now, &segment, min_rtt);
            if !segment.ever_resent && segment.offset < highest {
                self.rack.on_reordering();
            }
        }
        self.board.forget_below(ack);
        self.stream.acknowledged = ack;
        summary.advanced = true;
        // RFC 6298, section 5.3: an acknowledgement of new data restarts the timer.
        self.timers.progress = now;
        self.timers.probe_from = now;
        self.timers.backoff = 0;
    }

    /// Samples the round-trip time and returns that of the most recently sent segment (Linux
    /// `tcp_ack_update_rtt`).
    fn sample_rtt(&mut self, now: Time, summary: &AckSummary) -> Option<Duration> {
        // If everything reported was retransmitted, the timestamp tells which transmission arrived
        // (RFC 7323, section 4.1).
        let echoed = (summary.advanced && summary.delivered > 0).then_some(SendingTimes {
            first: summary.echo,
            last: summary.echo,
        });
        let times = summary.acked.or(summary.selected).or(echoed)?;
        let rtt = now.checked_since(times.first)?;
        let newest = now.checked_since(times.last)?;
        self.rtt.on_min_sample(now, newest);
        self.rtt
            .on_sample(rtt, self.stream.acknowledged, self.stream.next);
        self.statistics.rtt_samples += 1;
        self.statistics.rtt_sum += rtt;
        Some(newest)
    }

    /// Lets proportional rate reduction and congestion control set the window (Linux
    /// `tcp_cong_control`).
    fn run_congestion_control(&mut self, now: Time, summary: &AckSummary, sample: &RateSample) {
        let reducing = self.recovery.is_reducing() && !self.congestion.governs_window();
        if reducing {
            let counts = AckCounts {
                delivered: summary.delivered,
                lost: summary.lost,
                advanced: summary.advanced,
            };
            self.recovery
                .reduce(counts, self.board.in_flight(), &mut self.window);
        }
        let event = AckEvent {
            now,
            delivered: summary.delivered,
            lost: summary.lost,
            marked: summary.newly_marked,
            prior_in_flight: summary.prior_in_flight,
            in_flight: self.board.in_flight(),
            rtt: summary.rtt,
            smoothed_rtt: self.rtt.smoothed(),
            acknowledged: self.stream.acknowledged,
            sent: self.stream.next,
            state: self.recovery.state,
            window_limited: self.is_window_limited(),
            may_grow: !reducing && summary.advanced,
            next_send: self.pacer.next(),
            sample,
            delivery: &self.delivery,
        };
        self.congestion.on_ack(&event, &mut self.window);
        // While BBR measures the round-trip time it sends less than the path carries.
        if self.congestion.is_probing_delay() {
            self.delivery.on_app_limited(self.board.in_flight());
        }
    }
}
