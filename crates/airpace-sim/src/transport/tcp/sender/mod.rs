//! The sending end.

mod ack;
mod alert;
#[cfg(test)]
mod tests;
mod timer;

use super::config::SenderConfig;
use super::congestion::{Congestion, CongestionControl, State, Window};
use super::delivery::Delivery;
use super::pacer::{SendPacer, burst_segments};
use super::rack::Rack;
use super::recovery::Recovery;
use super::rtt::RttEstimator;
use super::scoreboard::{Scoreboard, Segment};
use super::segment::DataSegment;
use airpace_units::Time;
use core::time::Duration;
use timer::Probe;

/// A sender: decides what to send when, from what comes back.
///
/// The application writes any amount at once; only what is in flight is bounded by [`SenderConfig::send_buffer`]. Short segments are not held back (no
/// Nagle). The driver polls once to open the connection, then after each call and when [`Sender::deadline`] has come.
#[derive(Clone, Debug)]
pub struct Sender {
    config: SenderConfig,
    phase: Phase,
    stream: Stream,
    board: Scoreboard,
    rtt: RttEstimator,
    rack: Rack,
    recovery: Recovery,
    delivery: Delivery,
    congestion: Congestion,
    window: Window,
    usage: Usage,
    pacer: SendPacer,
    /// Whether the pacer alone holds back what could be sent.
    paced: bool,
    clock: Clock,
    /// A mark was echoed: the next new segment says that the window is reduced.
    answer_mark: bool,
    statistics: SenderStatistics,
}

/// Where the connection stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// A SYN is to be sent, the `n`th again.
    Opening {
        n: u8,
    },
    /// It was sent.
    SynSent {
        at: Time,
        n: u8,
    },
    Established,
}

/// The stream's offsets.
#[derive(Clone, Copy, Debug)]
struct Stream {
    /// Bytes that the application has written.
    written: u64,
    closed: bool,
    fin_sent: bool,
    /// First byte not acknowledged, SND.UNA.
    acknowledged: u64,
    /// First byte not sent, SND.NXT.
    next: u64,
    /// First byte that the receiver has no room for.
    window_edge: u64,
}

/// Whether the window is in the way of sending (Linux `tcp_cwnd_validate`).
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    limited: bool,
    most: u32,
    until: u64,
    /// Most segments in flight since the window was last used whole, and when that was.
    used: u32,
    whole_at: Time,
}

/// What the timers start from.
#[derive(Clone, Copy, Debug, Default)]
struct Clock {
    /// Doublings of the retransmission timeout.
    backoff: u8,
    /// When the acknowledgement last advanced.
    progress: Time,
    /// When new data was last sent or acknowledged.
    probe_from: Time,
    probe: Option<Probe>,
    /// A probe is to be sent.
    probe_due: bool,
    /// When segments that may only be reordered count as lost.
    reorder_due: Option<Time>,
    last_sent: Time,
    /// When the first of them expires.
    timer: Option<Time>,
}

/// What a sender has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SenderStatistics {
    /// Segments sent, those sent again included.
    pub segments: u64,
    /// Segments sent again.
    pub resent: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Probes for losses at the tail.
    pub probes: u64,
    /// Recoveries without a timeout.
    pub recoveries: u64,
    /// Reductions for congestion marks.
    pub reductions: u64,
    /// Reductions that were taken back, because nothing had been lost.
    pub undone: u64,
    /// Round-trip times measured…
    pub rtt_samples: u64,
    /// …and their sum; the quotient is the mean.
    pub rtt_sum: Duration,
}

/// A sender's state, for records.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SenderInfo {
    /// Congestion window, segments.
    pub window: u32,
    /// Slow-start threshold, segments; `None` while there is none.
    pub threshold: Option<u32>,
    /// Segments in flight.
    pub in_flight: u32,
    /// Smoothed round-trip time; `None` before the first sample.
    pub smoothed_rtt: Option<Duration>,
    /// Latest round-trip time.
    pub latest_rtt: Option<Duration>,
    /// Smallest round-trip time; zero before the first sample.
    pub min_rtt: Duration,
    /// What the sender thinks of the path.
    pub state: State,
    /// Pacing rate in bytes per second, if the algorithm paces.
    pub pacing_rate: Option<f64>,
}

impl Sender {
    /// A sender with nothing to send.
    #[must_use]
    pub fn new(config: SenderConfig) -> Self {
        let config = SenderConfig {
            segment_bytes: config.segment_bytes.max(1),
            ..config
        };
        let phase = if config.handshake {
            Phase::Opening { n: 0 }
        } else {
            Phase::Established
        };
        // Without a handshake the window is not known before the first acknowledgement.
        let window_edge = if config.handshake {
            0
        } else {
            config.send_buffer
        };
        Self {
            phase,
            stream: Stream {
                written: 0,
                closed: false,
                fin_sent: false,
                acknowledged: 0,
                next: 0,
                window_edge,
            },
            board: Scoreboard::new(),
            rtt: RttEstimator::default(),
            rack: Rack::new(),
            recovery: Recovery::default(),
            delivery: Delivery::default(),
            congestion: Congestion::new(&config),
            window: Window::new(config.initial_window.max(1)),
            usage: Usage::default(),
            pacer: SendPacer::default(),
            paced: false,
            clock: Clock::default(),
            answer_mark: false,
            statistics: SenderStatistics::default(),
            config,
        }
    }

    /// The application writes `bytes`; nothing after [`Sender::close`]. Saturates: `u64::MAX` is a source that never ends.
    pub fn write(&mut self, bytes: u64) {
        if !self.stream.closed {
            // Room for segments and the FIN beyond the end, so that no sum of offsets overflows.
            self.stream.written = self.stream.written.saturating_add(bytes).min(u64::MAX / 4);
        }
    }

    /// The application has written everything: a FIN follows the last byte.
    pub fn close(&mut self) {
        self.stream.closed = true;
    }

    /// The next segment to send at `now`.
    pub fn poll_transmit(&mut self, now: Time) -> Option<DataSegment> {
        match self.phase {
            Phase::Opening { n } => {
                self.phase = Phase::SynSent { at: now, n };
                return Some(self.syn(now));
            }
            Phase::SynSent { .. } => return None,
            Phase::Established => {}
        }
        let segment = self.probe(now).or_else(|| self.next_segment(now));
        match segment {
            Some(_) => {
                self.statistics.segments += 1;
                self.clock.last_sent = now;
                self.recovery.on_sent();
            }
            None => self.on_drained(now),
        }
        segment
    }

    /// Bytes that the receiver has acknowledged.
    #[must_use]
    pub fn acknowledged(&self) -> u64 {
        self.stream.acknowledged - u64::from(self.is_finished())
    }

    /// Bytes written that have not been sent.
    #[must_use]
    pub fn unsent(&self) -> u64 {
        self.stream.written.saturating_sub(self.stream.next)
    }

    /// Whether everything has been acknowledged, the FIN included.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.stream.fin_sent && self.stream.acknowledged > self.stream.written
    }

    /// What it has done so far.
    #[must_use]
    pub fn statistics(&self) -> SenderStatistics {
        self.statistics
    }

    /// Its present state.
    #[must_use]
    pub fn info(&self) -> SenderInfo {
        SenderInfo {
            window: self.window.segments,
            threshold: (self.window.threshold != u32::MAX).then_some(self.window.threshold),
            in_flight: self.board.in_flight(),
            smoothed_rtt: self.rtt.smoothed(),
            latest_rtt: self.rtt.latest(),
            min_rtt: self.rtt.min(),
            state: self.recovery.state,
            pacing_rate: self.congestion.pacing_rate(),
        }
    }

    fn syn(&self, now: Time) -> DataSegment {
        DataSegment {
            syn: true,
            ecn_capable: false,
            ..self.segment(now, 0, 0)
        }
    }

    fn segment(&self, timestamp: Time, offset: u64, len: u32) -> DataSegment {
        let ecn_capable = self.config.ecn;
        let (syn, fin, window_reduced, retransmission) = (false, false, false, false);
        DataSegment {
            offset,
            len,
            syn,
            fin,
            ecn_capable,
            window_reduced,
            retransmission,
            timestamp,
        }
    }

    /// What the window allows: losses first, then new data.
    fn next_segment(&mut self, now: Time) -> Option<DataSegment> {
        self.paced = false;
        if self.board.in_flight() >= self.window.segments {
            return None;
        }
        let lost = self.board.next_to_resend();
        let new = self.next_new();
        if lost.is_none() && new.is_none() {
            return None;
        }
        if let Some(rate) = self.congestion.pacing_rate() {
            let (segment_bytes, min_rtt) = (f64::from(self.config.segment_bytes), self.rtt.min());
            if !self
                .pacer
                .may_send(now, || burst_segments(rate, segment_bytes, min_rtt))
            {
                self.paced = true;
                return None;
            }
        }
        let segment = match (lost, new) {
            (Some(id), _) => self.resend(now, id),
            (None, new) => self.send_new(now, new?),
        };
        if let Some(rate) = self.congestion.pacing_rate() {
            self.pacer.on_sent(segment.len, rate);
        }
        Some(segment)
    }

    /// Length of the next new segment, and whether it ends the stream, if there is one and the receiver has room.
    fn next_new(&self) -> Option<(u32, bool)> {
        let stream = &self.stream;
        if stream.fin_sent {
            return None;
        }
        let full = u64::from(self.config.segment_bytes);
        let left = stream.written.saturating_sub(stream.next);
        let len = left.min(full);
        let fin = stream.closed && len == left;
        if len == 0 && !fin {
            return None;
        }
        let edge = stream
            .window_edge
            .min(stream.acknowledged.saturating_add(self.config.send_buffer));
        let room = edge.saturating_sub(stream.next);
        if len <= room {
            return Some((len as u32, fin));
        }
        // A window smaller than a segment is used only when nothing else is under way (RFC 9293, section 3.8.6.2.1).
        (self.board.n_segments() == 0 && room > 0).then_some((room as u32, false))
    }

    fn send_new(&mut self, now: Time, (len, fin): (u32, bool)) -> DataSegment {
        let idle = self.board.n_segments() == 0;
        if idle {
            self.on_restart(now);
        }
        let mark = self.delivery.on_send(now, idle);
        self.board
            .push(Segment::new(self.stream.next, len, fin, now, mark));
        let window_reduced = core::mem::take(&mut self.answer_mark);
        let segment = DataSegment {
            fin,
            window_reduced,
            ..self.segment(now, self.stream.next, len)
        };
        self.stream.next = segment.end();
        self.stream.fin_sent |= fin;
        self.clock.probe_from = now;
        segment
    }

    fn resend(&mut self, now: Time, id: u64) -> DataSegment {
        let mark = self.delivery.on_send(now, self.board.n_segments() == 0);
        self.recovery.on_resent(now);
        self.statistics.resent += 1;
        let sent = self.board.resend(id, now, mark);
        let (offset, len, fin) = (sent.offset, sent.len, sent.fin);
        // Segments sent again are not ECN-capable (RFC 3168, section 6.1.5).
        DataSegment {
            fin,
            retransmission: true,
            ecn_capable: false,
            ..self.segment(now, offset, len)
        }
    }

    /// Sending begins again with nothing in flight.
    fn on_restart(&mut self, now: Time) {
        let idle = now.saturating_since(self.clock.last_sent);
        if self.delivery.delivered == 0 {
            return;
        }
        if !self.congestion.governs_window() || self.delivery.is_app_limited() {
            self.congestion.on_restart(now, idle, &mut self.window);
        }
        let timeout = self.timeout();
        if self.congestion.governs_window() || idle <= timeout {
            return;
        }
        // RFC 2861: half the window for each timeout without sending, down to that of the start.
        self.remember_threshold();
        let floor = self.config.initial_window.min(self.window.segments);
        let halvings = (idle.as_nanos() / timeout.as_nanos().max(1)).min(31) as u32;
        self.window.segments = (self.window.segments >> halvings).max(floor);
    }

    /// Keeps as threshold what the window had proved to be good for (Linux `tcp_current_ssthresh`).
    fn remember_threshold(&mut self) {
        let proved = self.window.segments / 2 + self.window.segments / 4;
        self.window.threshold = self.window.threshold.max(proved);
    }

    /// Nothing more can be sent for now.
    fn on_drained(&mut self, now: Time) {
        self.pacer.end_burst();
        let in_flight = self.board.in_flight();
        let limited = in_flight >= self.window.segments;
        if !limited
            && !self.paced
            && self.unsent() == 0
            && self.board.n_lost() <= self.board.n_resent()
        {
            self.delivery.on_app_limited(in_flight);
        }
        let out = self.board.n_segments();
        let usage = &mut self.usage;
        if self.stream.acknowledged >= usage.until
            || limited
            || (!usage.limited && out > usage.most)
        {
            (usage.limited, usage.most, usage.until) = (limited, out, self.stream.next);
        }
        self.validate_window(now, out);
        self.arm();
    }

    /// Whether the window is what bounds the flow.
    fn is_window_limited(&self) -> bool {
        self.usage.limited
            || (self.window.in_slow_start()
                && self.window.segments < self.usage.most.saturating_mul(2))
    }

    /// A window that the application has not used for a timeout is not trusted (RFC 2861, section 3).
    fn validate_window(&mut self, now: Time, out: u32) {
        if self.is_window_limited() {
            (self.usage.used, self.usage.whole_at) = (0, now);
            return;
        }
        self.usage.used = self.usage.used.max(out);
        let unused = now.saturating_since(self.usage.whole_at);
        if self.congestion.governs_window() || unused < self.timeout() {
            return;
        }
        if self.recovery.state == State::Open {
            let used = self.usage.used.max(self.config.initial_window);
            if used < self.window.segments {
                self.remember_threshold();
                self.window.segments = self.window.segments.midpoint(used);
            }
            self.usage.used = 0;
        }
        self.usage.whole_at = now;
    }
}
