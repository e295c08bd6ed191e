//! The sending end of a connection.

mod ack;
mod alert;
mod refusal;
#[cfg(test)]
mod tests;
mod timer;

use super::config::SenderConfig;
use super::congestion::{Congestion, CongestionControl, CongestionState, Window};
use super::delivery::Delivery;
use super::pacer::{SendPacer, burst_segments, segments_within};
use super::rack::Rack;
use super::recovery::Recovery;
use super::rtt::RttEstimator;
use super::scoreboard::{Scoreboard, Segment};
use super::segment::DataSegment;
use airpace_core::packet::Ecn;
use airpace_units::Time;
use core::time::Duration;
use timer::Probe;

/// A sender: decides from the acknowledgements what to send and when.
///
/// The application may write any amount at once; [`SenderConfig::send_buffer`] bounds only what is
/// in flight. Short segments are not held back (no Nagle algorithm). The driver polls once to open
/// the connection, then after each call and when [`Sender::deadline`] has come.
#[derive(Clone, Debug)]
pub struct Sender {
    config: SenderConfig,
    phase: Phase,
    stream: StreamOffsets,
    board: Scoreboard,
    rtt: RttEstimator,
    rack: Rack,
    recovery: Recovery,
    delivery: Delivery,
    congestion: Congestion,
    window: Window,
    usage: WindowUsage,
    pacer: SendPacer,
    /// Whether only the pacer holds back what could be sent.
    held_by_pacer: bool,
    timers: TimerState,
    /// The next new segment carries CWR, because the window was reduced for a congestion mark.
    announce_reduction: bool,
    /// Marked segments that the receiver has reported so far (RFC 9768, s.cep).
    ce_reported: u64,
    statistics: SenderStatistics,
}

/// State of the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// A SYN is to be sent that was sent `n` times before.
    Opening { n: u8 },
    /// The SYN was sent at `at`.
    SynSent { at: Time, n: u8 },
    /// Data may be sent.
    Established,
}

/// Offsets in the stream.
#[derive(Clone, Copy, Debug)]
struct StreamOffsets {
    /// Bytes that the application has written.
    written: u64,
    /// Whether the application has closed its end, and whether the FIN was sent.
    closed: bool,
    fin_sent: bool,
    /// First byte not acknowledged, SND.UNA.
    acknowledged: u64,
    /// First byte not sent, SND.NXT.
    next: u64,
    /// First byte for which the receiver has no room.
    window_edge: u64,
}

/// How much of the window the sender uses (Linux `tcp_cwnd_validate`).
#[derive(Clone, Copy, Debug, Default)]
struct WindowUsage {
    /// Whether the window limited the sender in the current window of data, and the most segments
    /// in flight in it.
    limited: bool,
    most: u32,
    /// The current window of data ends when this offset is acknowledged.
    until: u64,
    /// Most segments in flight since the window was last fully used, and when that was.
    used: u32,
    fully_used_at: Time,
}

/// The times from which timers run, and when they expire.
#[derive(Clone, Copy, Debug, Default)]
struct TimerState {
    /// Doublings of the retransmission timeout.
    backoff: u8,
    /// When the acknowledgement last advanced.
    progress: Time,
    /// When new data was last sent or acknowledged.
    probe_from: Time,
    probe: Option<Probe>,
    /// Whether a probe is to be sent.
    probe_due: bool,
    /// When segments that may only be reordered count as lost (RACK).
    reorder_due: Option<Time>,
    /// When the last segment was sent.
    last_sent: Time,
    /// When the first timer expires.
    next_due: Option<Time>,
    /// When a segment was refused, until something arrives or a timer expires.
    refused: Option<Time>,
}

/// Counters of a sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SenderStatistics {
    /// Segments sent, including retransmissions.
    pub segments: u64,
    /// Segments retransmitted.
    pub resent: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Tail loss probes.
    pub probes: u64,
    /// Recoveries without a timeout.
    pub recoveries: u64,
    /// Segments that the queue of the sender's own host refused, counted in `segments` each time.
    pub refused: u64,
    /// Reductions of the window for congestion marks.
    pub reductions: u64,
    /// Segments that the receiver has reported as marked by accurate ECN feedback.
    pub marked: u64,
    /// Reductions that were undone because nothing had been lost.
    pub undone: u64,
    /// Number of round-trip times measured.
    pub rtt_samples: u64,
    /// Sum of the round-trip times measured; over `rtt_samples` it is the mean.
    pub rtt_sum: Duration,
}

/// The state of a sender, for records.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SenderInfo {
    /// Congestion window, segments.
    pub window: u32,
    /// Slow-start threshold, segments; `None` while it is unlimited.
    pub threshold: Option<u32>,
    /// Segments in flight.
    pub in_flight: u32,
    /// Smoothed round-trip time; `None` before the first sample.
    pub smoothed_rtt: Option<Duration>,
    /// Latest round-trip time.
    pub latest_rtt: Option<Duration>,
    /// Smallest round-trip time; zero before the first sample.
    pub min_rtt: Duration,
    /// State of congestion and recovery.
    pub state: CongestionState,
    /// Pacing rate in bytes per second, if the algorithm paces.
    pub pacing_rate: Option<f64>,
}

/// A segment that has not been sent before.
#[derive(Clone, Copy, Debug)]
struct NewSegment {
    len: u32,
    /// Whether it ends the stream.
    fin: bool,
}

impl Sender {
    /// A sender with nothing to send yet.
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
        // Without a handshake the receive window is not known before the first acknowledgement.
        let window_edge = if config.handshake {
            0
        } else {
            config.send_buffer
        };
        Self {
            phase,
            stream: StreamOffsets {
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
            usage: WindowUsage::default(),
            pacer: SendPacer::default(),
            held_by_pacer: false,
            timers: TimerState::default(),
            announce_reduction: false,
            ce_reported: 0,
            statistics: SenderStatistics::default(),
            config,
        }
    }

    /// The application writes `bytes`. Ignored after [`Sender::close`]. The total saturates:
    /// `u64::MAX` is a source that never ends.
    pub fn write(&mut self, bytes: u64) {
        if !self.stream.closed {
            // Leaves room beyond the end, so that no sum of offsets overflows.
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
        if self.is_refused() {
            self.arm();
            return None;
        }
        let segment = self.probe(now).or_else(|| self.next_segment(now));
        match segment {
            Some(_) => {
                self.statistics.segments += 1;
                self.timers.last_sent = now;
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

    /// Bytes written but not yet sent.
    #[must_use]
    pub fn unsent(&self) -> u64 {
        self.stream.written.saturating_sub(self.stream.next)
    }

    /// Whether everything has been acknowledged, the FIN included.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.stream.fin_sent && self.stream.acknowledged > self.stream.written
    }

    /// The counters so far.
    #[must_use]
    pub fn statistics(&self) -> SenderStatistics {
        self.statistics
    }

    /// The current state.
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
            ecn: Ecn::NotEct,
            ..self.segment(now, 0, 0)
        }
    }

    fn segment(&self, timestamp: Time, offset: u64, len: u32) -> DataSegment {
        DataSegment {
            offset,
            len,
            syn: false,
            fin: false,
            ecn: self.config.codepoint(),
            window_reduced: false,
            retransmission: false,
            timestamp,
        }
    }

    /// The next segment that the windows and the pacer allow: a retransmission if one is waiting,
    /// else new data.
    fn next_segment(&mut self, now: Time) -> Option<DataSegment> {
        self.held_by_pacer = false;
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
            let longest = self.congestion.longest_burst();
            let burst = || match longest {
                Some(longest) => segments_within(longest, rate, segment_bytes),
                None => burst_segments(rate, segment_bytes, min_rtt),
            };
            if !self.pacer.may_send(now, burst) {
                self.held_by_pacer = true;
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

    /// The next new segment, if there is data and the receiver has room.
    fn next_new(&self) -> Option<NewSegment> {
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
            return Some(NewSegment {
                len: len as u32,
                fin,
            });
        }
        // A window smaller than the segment is used only if nothing is in flight (silly window
        // avoidance, RFC 9293, section 3.8.6.2.1).
        (self.board.n_segments() == 0 && room > 0).then_some(NewSegment {
            len: room as u32,
            fin: false,
        })
    }

    fn send_new(&mut self, now: Time, new: NewSegment) -> DataSegment {
        let NewSegment { len, fin } = new;
        let idle = self.board.n_segments() == 0;
        if idle {
            self.on_restart(now);
        }
        let snapshot = self.delivery.on_send(now, idle);
        self.board
            .push(Segment::new(self.stream.next, len, fin, now, snapshot));
        let window_reduced = core::mem::take(&mut self.announce_reduction);
        let segment = DataSegment {
            fin,
            window_reduced,
            ..self.segment(now, self.stream.next, len)
        };
        self.stream.next = segment.end();
        self.stream.fin_sent |= fin;
        self.timers.probe_from = now;
        segment
    }

    fn resend(&mut self, now: Time, id: u64) -> DataSegment {
        let snapshot = self.delivery.on_send(now, self.board.n_segments() == 0);
        self.recovery.on_resent(now);
        self.statistics.resent += 1;
        let sent = self.board.resend(id, now, snapshot);
        let (offset, len, fin) = (sent.offset, sent.len, sent.fin);
        DataSegment {
            fin,
            retransmission: true,
            ecn: self.config.codepoint_of_retransmissions(),
            ..self.segment(now, offset, len)
        }
    }

    /// Sending resumes with nothing in flight.
    fn on_restart(&mut self, now: Time) {
        let idle = now.saturating_since(self.timers.last_sent);
        if self.delivery.delivered == 0 {
            // The connection has only just begun.
            return;
        }
        if !self.congestion.governs_window() || self.delivery.is_app_limited() {
            self.congestion.on_restart(now, idle, &mut self.window);
        }
        let timeout = self.timeout();
        if self.congestion.governs_window() || idle <= timeout {
            return;
        }
        // RFC 2861, section 3: halve the window for each timeout without sending, down to the
        // initial window.
        self.remember_threshold();
        let floor = self.config.initial_window.min(self.window.segments);
        let halvings = (idle.as_nanos() / timeout.as_nanos().max(1)).min(31) as u32;
        self.window.segments = (self.window.segments >> halvings).max(floor);
    }

    /// Keeps three quarters of the window as threshold: the path has sustained them (Linux
    /// `tcp_current_ssthresh`).
    fn remember_threshold(&mut self) {
        let sustained = self.window.segments / 2 + self.window.segments / 4;
        self.window.threshold = self.window.threshold.max(sustained);
    }

    /// Updates the records of window use and application limits when nothing more can be sent for
    /// now.
    fn on_drained(&mut self, now: Time) {
        self.pacer.end_burst();
        let in_flight = self.board.in_flight();
        // A sender that paces its window over the round trip uses all of it even where some of it
        // is not yet in flight. BBR's pacing rate does not follow from its window.
        let paced = self.held_by_pacer && !self.congestion.governs_window();
        let limited = in_flight >= self.window.segments || paced;
        // Neither window nor pacer nor lost segments hold the sender back: the application does.
        if !limited
            && !self.held_by_pacer
            && self.unsent() == 0
            && self.board.n_lost() <= self.board.n_resent()
        {
            self.delivery.on_app_limited(in_flight);
        }
        let outstanding = self.board.n_segments();
        let usage = &mut self.usage;
        // A new window of data, or more use of the current one than recorded.
        if self.stream.acknowledged >= usage.until
            || limited
            || (!usage.limited && outstanding > usage.most)
        {
            (usage.limited, usage.most, usage.until) = (limited, outstanding, self.stream.next);
        }
        self.validate_window(now, outstanding);
        self.arm();
    }

    /// Whether the window limits the flow. In slow start, using half of it counts (Linux
    /// `tcp_is_cwnd_limited`).
    fn is_window_limited(&self) -> bool {
        self.usage.limited
            || (self.window.in_slow_start()
                && self.window.segments < self.usage.most.saturating_mul(2))
    }

    /// Reduces a window that the application has not fully used for a timeout (RFC 2861, section
    /// 3).
    fn validate_window(&mut self, now: Time, outstanding: u32) {
        if self.is_window_limited() {
            (self.usage.used, self.usage.fully_used_at) = (0, now);
            return;
        }
        self.usage.used = self.usage.used.max(outstanding);
        let unused = now.saturating_since(self.usage.fully_used_at);
        if self.congestion.governs_window() || unused < self.timeout() {
            return;
        }
        if self.recovery.state == CongestionState::Open {
            let used = self.usage.used.max(self.config.initial_window);
            if used < self.window.segments {
                self.remember_threshold();
                self.window.segments = self.window.segments.midpoint(used);
            }
            self.usage.used = 0;
        }
        self.usage.fully_used_at = now;
    }
}
