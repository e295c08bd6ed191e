//! What an acknowledgement tells (Linux `tcp_ack`).

use super::{Phase, Sender};
use crate::transport::tcp::congestion::{AckEvent, CongestionControl};
use crate::transport::tcp::delivery::RateSample;
use crate::transport::tcp::recovery::Newly;
use crate::transport::tcp::scoreboard::Segment;
use crate::transport::tcp::segment::{AckSegment, Block};
use airpace_units::Time;
use core::time::Duration;

/// What one acknowledgement brought.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct News {
    /// Segments newly delivered, cumulatively or not.
    pub(super) delivered: u32,
    /// Whether the cumulative acknowledgement advanced.
    pub(super) advanced: bool,
    /// Whether SACK blocks reported something new.
    pub(super) sacked: bool,
    /// Whether a duplicate was reported, and whether it was the probe.
    pub(super) duplicate: bool,
    pub(super) probe_was_duplicate: bool,
    /// Whether something sent once before `Recovery::high` arrived.
    pub(super) original: bool,
    /// Whether a congestion mark was echoed.
    pub(super) marked: bool,
    /// The timestamp echoed.
    pub(super) echo: Time,
    /// Segments newly taken for lost.
    pub(super) lost: u32,
    /// Segments in flight before it.
    prior_in_flight: u32,
    /// Round-trip time of the newest segment sent once that it reports.
    rtt: Option<Duration>,
    /// First and last sending times among segments sent once: acknowledged, and selectively acknowledged.
    acked: Option<(Time, Time)>,
    selected: Option<(Time, Time)>,
}

impl News {
    fn count(&mut self, segment: &Segment, high: u64, selectively: bool) {
        self.delivered += 1;
        if segment.ever_resent {
            return;
        }
        self.original |= segment.end() <= high;
        let times = if selectively {
            &mut self.selected
        } else {
            &mut self.acked
        };
        let (first, last) = times.unwrap_or((segment.sent, segment.sent));
        *times = Some((first.min(segment.sent), last.max(segment.sent)));
    }
}

impl Sender {
    /// An acknowledgement arrives. Drain [`Sender::poll_transmit`] afterwards. One that makes no sense is dropped.
    pub fn on_ack(&mut self, now: Time, ack: &AckSegment) {
        if ack.syn {
            return self.on_syn_ack(now, ack);
        }
        if self.phase != Phase::Established || ack.ack > self.stream.next {
            return;
        }
        let marked = ack.congestion_echo && self.config.ecn;
        let prior_in_flight = self.board.in_flight();
        let mut news = News {
            marked,
            echo: ack.echo,
            prior_in_flight,
            ..News::default()
        };
        let mut sample = RateSample::default();
        self.take_blocks(now, ack, &mut news, &mut sample);
        if ack.ack > self.stream.acknowledged {
            self.advance(now, ack.ack, &mut news, &mut sample);
        }
        self.stream.window_edge = self
            .stream
            .window_edge
            .max(ack.ack.saturating_add(u64::from(ack.window)));
        news.rtt = self.measure(now, &news);
        let prior_lost = self.delivery.lost;
        self.rack.adapt(
            sample.prior_delivered.unwrap_or(u64::MAX),
            self.delivery.delivered,
        );
        self.answer_probe(now, ack.ack, &news);
        self.assess(now, &mut news);
        news.lost = u32::try_from(self.delivery.lost - prior_lost).unwrap_or(u32::MAX);
        sample.finish(&mut self.delivery, now, self.rtt.min());
        self.control(now, &news, &sample);
    }

    fn on_syn_ack(&mut self, now: Time, ack: &AckSegment) {
        let Phase::SynSent { at, n } = self.phase else {
            return;
        };
        self.phase = Phase::Established;
        self.stream.window_edge = u64::from(ack.window);
        // After a lost SYN the path is not trusted with more than one segment (RFC 5681, section 3.1).
        if n > 0 {
            self.window.segments = 1;
        } else {
            let rtt = now.saturating_since(at);
            self.rtt.on_min_sample(now, rtt);
            self.rtt.on_sample(rtt, 0, 0);
        }
    }

    fn take_blocks(
        &mut self,
        now: Time,
        ack: &AckSegment,
        news: &mut News,
        sample: &mut RateSample,
    ) {
        let blocks = ack.blocks();
        let Some(&first) = blocks.first() else { return };
        let duplicate =
            first.start < ack.ack || blocks.get(1).is_some_and(|second| second.contains(&first));
        if duplicate {
            self.on_duplicate(first, news);
        }
        let edges = (self.stream.acknowledged.max(ack.ack), self.stream.next);
        for block in blocks.iter().skip(usize::from(duplicate)) {
            if block.start >= edges.0 && block.end <= edges.1 && block.start < block.end {
                self.take_block(now, *block, news, sample);
            }
        }
    }

    fn on_duplicate(&mut self, block: Block, news: &mut News) {
        if block.end > self.stream.next {
            return;
        }
        news.duplicate = true;
        news.probe_was_duplicate = self
            .clock
            .probe
            .is_some_and(|probe| probe.resent && probe.end == block.end);
        self.rack.on_duplicate();
        self.recovery.on_duplicate(block.end);
    }

    fn take_block(&mut self, now: Time, block: Block, news: &mut News, sample: &mut RateSample) {
        let (high, min_rtt, highest) = (
            self.recovery.high,
            self.rtt.min(),
            self.board.highest_sacked(),
        );
        let (rack, delivery) = (&mut self.rack, &mut self.delivery);
        self.board.sack(block, |segment| {
            news.sacked = true;
            news.count(segment, high, true);
            sample.on_delivered(delivery, segment);
            rack.on_delivered(now, segment, min_rtt);
            if !segment.ever_resent && segment.offset < highest {
                rack.on_reordering();
            }
        });
    }

    /// The cumulative acknowledgement advances to `ack`.
    fn advance(&mut self, now: Time, ack: u64, news: &mut News, sample: &mut RateSample) {
        let (high, min_rtt, highest) = (
            self.recovery.high,
            self.rtt.min(),
            self.board.highest_sacked(),
        );
        while let Some(segment) = self.board.pop_acknowledged(ack) {
            if segment.sacked {
                continue;
            }
            news.count(&segment, high, false);
            sample.on_delivered(&mut self.delivery, &segment);
            self.rack.on_delivered(now, &segment, min_rtt);
            if !segment.ever_resent && segment.offset < highest {
                self.rack.on_reordering();
            }
        }
        self.board.forget_below(ack);
        self.stream.acknowledged = ack;
        news.advanced = true;
        self.clock.progress = now;
        self.clock.probe_from = now;
        self.clock.backoff = 0;
    }

    /// Takes round-trip times (Karn's rule; timestamps where nothing else tells) and returns that of the newest segment.
    fn measure(&mut self, now: Time, news: &News) -> Option<Duration> {
        let echoed = (news.advanced && news.delivered > 0).then_some((news.echo, news.echo));
        let (first, last) = news.acked.or(news.selected).or(echoed)?;
        let (rtt, newest) = (now.checked_since(first)?, now.checked_since(last)?);
        self.rtt.on_min_sample(now, newest);
        self.rtt
            .on_sample(rtt, self.stream.acknowledged, self.stream.next);
        self.statistics.rtt_samples += 1;
        self.statistics.rtt_sum += rtt;
        Some(newest)
    }

    /// Lets congestion control set the window.
    fn control(&mut self, now: Time, news: &News, sample: &RateSample) {
        let reducing = self.recovery.is_reducing() && !self.congestion.governs_window();
        if reducing {
            let newly = Newly {
                delivered: news.delivered,
                lost: news.lost,
                advanced: news.advanced,
            };
            self.recovery
                .reduce(newly, self.board.in_flight(), &mut self.window);
        }
        let event = AckEvent {
            now,
            delivered: news.delivered,
            lost: news.lost,
            prior_in_flight: news.prior_in_flight,
            in_flight: self.board.in_flight(),
            rtt: news.rtt,
            smoothed_rtt: self.rtt.smoothed(),
            acknowledged: self.stream.acknowledged,
            sent: self.stream.next,
            state: self.recovery.state,
            window_limited: self.is_window_limited(),
            may_grow: !reducing && news.advanced,
            next_send: self.pacer.next(),
            sample,
            delivery: &self.delivery,
        };
        self.congestion.on_ack(&event, &mut self.window);
        if self.congestion.is_probing_delay() {
            self.delivery.on_app_limited(self.board.in_flight());
        }
    }
}
