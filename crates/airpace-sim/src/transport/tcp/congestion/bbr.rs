//! BBR version 1 (Cardwell and others, "BBR: congestion-based congestion control", 2016;
//! draft-cardwell-iccrg-bbr-congestion-control-00) as in Linux `tcp_bbr.c`, without its detection
//! of policers.

mod aggregation;

use super::super::config::SenderConfig;
use super::super::pacer::burst_segments;
use super::filter::WindowedMax;
use super::{AckEvent, CongestionControl, CongestionState, Window};
use crate::rng::Stream;
use aggregation::ExtraAcked;
use airpace_units::Time;
use core::time::Duration;

// All constants are those of Linux `tcp_bbr.c`. Names in parentheses are its functions and
// variables.

/// Gain of start-up, which doubles the rate each round trip: 2 / ln 2 (`bbr_high_gain`).
const HIGH_GAIN: f64 = 2_885.0 / 1_000.0 + 1.0 / 256.0;
/// Pacing gain that drains the queue which start-up has built (`bbr_drain_gain`).
const DRAIN_GAIN: f64 = 1_000.0 / 2_885.0;
/// Window over bandwidth-delay product while probing for bandwidth.
const WINDOW_GAIN: f64 = 2.0;
/// Pacing gains of the phases of a probing cycle (`bbr_pacing_gain`).
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Window of the bandwidth filter in rounds (`bbr_bw_rtts`).
const BANDWIDTH_ROUNDS: u64 = 10;
/// Window of the minimum round-trip time (`bbr_min_rtt_win_sec`).
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
/// How long the queue is kept empty to measure the round-trip time anew (`bbr_probe_rtt_mode_ms`).
const PROBE_RTT: Duration = Duration::from_millis(200);
/// Segments in flight during that time, and the smallest window at any time.
const MIN_WINDOW: u32 = 4;
/// Start-up ends when the bandwidth has not grown by this factor …
const FULL_GROWTH: f64 = 1.25;
/// … for this many rounds (`bbr_full_bw_cnt`).
const FULL_ROUNDS: u8 = 3;
/// Share of the bandwidth at which segments are paced: 1 % less keeps queues short.
const PACING_MARGIN: f64 = 0.99;
/// Longest time of aggregation, in seconds, for which the window is enlarged
/// (`bbr_extra_acked_max_us`).
const EXTRA_MOST_S: f64 = 0.1;
/// Round-trip time in seconds that is assumed before one is measured.
const NOMINAL_RTT_S: f64 = 1e-3;

/// The states (`enum bbr_mode`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Startup,
    Drain,
    ProbeBandwidth,
    ProbeRtt,
}

/// BBR version 1.
#[derive(Clone, Debug)]
pub(in super::super) struct Bbr {
    segment_bytes: f64,
    initial_window: u32,
    allow_for_bunches: bool,
    random: Stream,
    mode: Mode,
    /// Maximum delivery rate of the last rounds, segments per second (BtlBw).
    bandwidth: WindowedMax,
    /// Packet-timed round trips so far; one ends when `round_end` segments are delivered.
    rounds: u64,
    round_end: u64,
    /// Whether the current acknowledgement starts a round.
    round_start: bool,
    /// Minimum round-trip time and when it was measured (RTprop).
    min_rtt: Option<(Duration, Time)>,
    probe_rtt: ProbeRtt,
    full: FullPipe,
    /// Phase of the probing cycle and when it began.
    phase: usize,
    phase_start: Time,
    extra: ExtraAcked,
    /// Bytes per second.
    pacing_rate: f64,
    has_seen_rtt: bool,
    /// Whether sending has just resumed after an idle time.
    idle_restart: bool,
    /// Whether the window follows packet conservation, in the first round of a recovery.
    conserving: bool,
    previous_state: CongestionState,
    /// The window before a recovery or a measurement of the round-trip time.
    saved_window: u32,
    /// The target of draining, until it becomes the threshold of the window.
    threshold: Option<u32>,
}

/// Progress of a measurement of the round-trip time.
#[derive(Clone, Copy, Debug, Default)]
struct ProbeRtt {
    done_at: Option<Time>,
    round_done: bool,
}

/// Whether start-up has filled the path.
#[derive(Clone, Copy, Debug, Default)]
struct FullPipe {
    bandwidth: f64,
    rounds: u8,
    reached: bool,
}

impl Bbr {
    pub(super) fn new(config: &SenderConfig) -> Self {
        let segment_bytes = f64::from(config.segment_bytes);
        Self {
            segment_bytes,
            initial_window: config.initial_window,
            allow_for_bunches: config.allow_for_bunches,
            random: Stream::new(config.seed, "bbr", 0),
            mode: Mode::Startup,
            bandwidth: WindowedMax::new(BANDWIDTH_ROUNDS),
            rounds: 0,
            round_end: 0,
            round_start: false,
            min_rtt: None,
            probe_rtt: ProbeRtt::default(),
            full: FullPipe::default(),
            phase: 0,
            phase_start: Time::ZERO,
            extra: ExtraAcked::default(),
            pacing_rate: HIGH_GAIN * f64::from(config.initial_window) * segment_bytes
                / NOMINAL_RTT_S,
            has_seen_rtt: false,
            idle_restart: false,
            conserving: false,
            previous_state: CongestionState::Open,
            saved_window: 0,
            threshold: None,
        }
    }

    /// Counts rounds and takes the delivery rate into the bandwidth filter (`bbr_update_bw`).
    fn update_bandwidth(&mut self, ack: &AckEvent<'_>) {
        self.round_start = false;
        let (Some((delivered, interval)), Some(prior)) =
            (ack.sample.rate, ack.sample.prior_delivered)
        else {
            return;
        };
        // A segment sent after the round began has been delivered: the round is over.
        if prior >= self.round_end {
            self.round_end = ack.delivery.delivered;
            self.rounds += 1;
            self.round_start = true;
            self.conserving = false;
        }
        let bandwidth = delivered as f64 / interval.as_secs_f64();
        // A sample that the application limits is a lower bound: it counts only if it raises the
        // estimate.
        if !ack.sample.app_limited || bandwidth >= self.bandwidth.get() {
            self.bandwidth.update(self.rounds, bandwidth);
        }
    }

    fn update_phase(&mut self, ack: &AckEvent<'_>) {
        if self.mode == Mode::ProbeBandwidth && self.phase_is_over(ack) {
            self.next_phase(ack.now);
        }
    }

    /// Whether the phase of the probing cycle has ended (`bbr_is_next_cycle_phase`).
    fn phase_is_over(&self, ack: &AckEvent<'_>) -> bool {
        let min_rtt = self.min_rtt.map_or(Duration::MAX, |(rtt, _)| rtt);
        let full_length = ack.now.saturating_since(self.phase_start) > min_rtt;
        let gain = self.pacing_gain();
        if gain > 1.0 {
            // Probe until the higher rate has put its share in flight or caused a loss.
            full_length
                && (ack.lost > 0
                    || self.in_network(ack, ack.prior_in_flight) >= self.window_for(gain))
        } else if gain < 1.0 {
            // Drain until the queue that probing may have built is gone.
            full_length || self.in_network(ack, ack.prior_in_flight) <= self.window_for(1.0)
        } else {
            full_length
        }
    }

    fn next_phase(&mut self, now: Time) {
        self.phase = (self.phase + 1) % CYCLE.len();
        self.phase_start = now;
    }

    /// Enters the probing cycle at a random phase, so that flows do not probe together.
    fn probe_bandwidth(&mut self, now: Time) {
        self.mode = Mode::ProbeBandwidth;
        // Any phase but the draining one: it follows a probe that has not happened. `next_phase`
        // advances by one.
        self.phase = CYCLE.len() - 1 - self.random.up_to(CYCLE.len() as u32 - 2) as usize;
        self.next_phase(now);
    }

    /// Whether the bandwidth has stopped growing in start-up (`bbr_check_full_bw_reached`).
    fn check_full(&mut self, ack: &AckEvent<'_>) {
        if self.full.reached || !self.round_start || ack.sample.app_limited {
            return;
        }
        if self.bandwidth.get() >= self.full.bandwidth * FULL_GROWTH {
            (self.full.bandwidth, self.full.rounds) = (self.bandwidth.get(), 0);
            return;
        }
        self.full.rounds += 1;
        self.full.reached = self.full.rounds >= FULL_ROUNDS;
    }

    /// Moves from start-up to draining and from draining to probing (`bbr_check_drain`).
    fn check_drain(&mut self, ack: &AckEvent<'_>) {
        if self.mode == Mode::Startup && self.full.reached {
            self.mode = Mode::Drain;
            self.threshold = Some(self.window_for(1.0));
        }
        if self.mode == Mode::Drain && self.in_network(ack, ack.in_flight) <= self.window_for(1.0) {
            self.probe_bandwidth(ack.now);
        }
    }

    /// Updates the minimum round-trip time and measures it anew once it has expired
    /// (`bbr_update_min_rtt`).
    fn update_min_rtt(&mut self, ack: &AckEvent<'_>, window: &mut Window) {
        let expired = self
            .min_rtt
            .is_some_and(|(_, at)| ack.now.saturating_since(at) > MIN_RTT_WINDOW);
        // The acknowledgement of a single segment may have been delayed by the receiver.
        let may_be_delayed = ack
            .sample
            .prior_delivered
            .is_some_and(|prior| prior + 1 == ack.delivery.delivered);
        if let Some(rtt) = ack.rtt
            && (self.min_rtt.is_none_or(|(min, _)| rtt < min) || (expired && !may_be_delayed))
        {
            self.min_rtt = Some((rtt, ack.now));
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.save_window(window);
            self.mode = Mode::ProbeRtt;
            self.probe_rtt = ProbeRtt::default();
        }
        if self.mode == Mode::ProbeRtt {
            self.run_probe_rtt(ack, window);
        }
        if ack.sample.rate.is_some() {
            self.idle_restart = false;
        }
    }

    /// Waits for few segments in flight, then for [`PROBE_RTT`] and a whole round.
    fn run_probe_rtt(&mut self, ack: &AckEvent<'_>, window: &mut Window) {
        if self.probe_rtt.done_at.is_some() {
            self.probe_rtt.round_done |= self.round_start;
            if self.probe_rtt.round_done {
                self.end_probe_rtt(ack.now, window);
            }
        } else if ack.in_flight <= MIN_WINDOW {
            self.probe_rtt = ProbeRtt {
                done_at: Some(ack.now + PROBE_RTT),
                round_done: false,
            };
            self.round_end = ack.delivery.delivered;
        }
    }

    fn end_probe_rtt(&mut self, now: Time, window: &mut Window) {
        if self.probe_rtt.done_at.is_none_or(|done| now <= done) {
            return;
        }
        if let Some((_, at)) = &mut self.min_rtt {
            *at = now;
        }
        window.segments = window.segments.max(self.saved_window);
        if self.full.reached {
            self.probe_bandwidth(now);
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn pacing_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup => HIGH_GAIN,
            Mode::Drain => DRAIN_GAIN,
            Mode::ProbeBandwidth => CYCLE[self.phase],
            Mode::ProbeRtt => 1.0,
        }
    }

    fn window_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup | Mode::Drain => HIGH_GAIN,
            Mode::ProbeBandwidth => WINDOW_GAIN,
            Mode::ProbeRtt => 1.0,
        }
    }

    /// Sets the pacing rate (`bbr_set_pacing_rate`). Before start-up has filled the path the rate
    /// only rises.
    fn set_pacing_rate(&mut self, gain: f64, ack: &AckEvent<'_>, window: &Window) {
        // The first round-trip time replaces the nominal one.
        if !self.has_seen_rtt
            && let Some(smoothed) = ack.smoothed_rtt
        {
            self.has_seen_rtt = true;
            let rtt = smoothed.as_secs_f64().max(1e-6);
            self.pacing_rate = self.bytes_per_second(f64::from(window.segments) / rtt, HIGH_GAIN);
        }
        let rate = self.bytes_per_second(self.bandwidth.get(), gain);
        if self.full.reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    fn bytes_per_second(&self, segments_per_second: f64, gain: f64) -> f64 {
        segments_per_second * self.segment_bytes * gain * PACING_MARGIN
    }

    /// Bandwidth-delay product times `gain`, in segments (`bbr_bdp`).
    fn product(&self, gain: f64) -> u32 {
        let Some((min_rtt, _)) = self.min_rtt else {
            return self.initial_window;
        };
        (self.bandwidth.get() * min_rtt.as_secs_f64() * gain).ceil() as u32
    }

    /// The window for `gain`, with room for segmentation offload and delayed acknowledgements.
    fn window_for(&self, gain: f64) -> u32 {
        self.with_quanta(self.product(gain))
    }

    /// Adds room for three bursts, makes the window even for delayed acknowledgements, and adds two
    /// segments while probing, so that even small windows probe (`bbr_quantization_budget`).
    fn with_quanta(&self, window: u32) -> u32 {
        let window = window.saturating_add(3 * self.burst());
        let even = window.saturating_add(1) & !1;
        even + if self.mode == Mode::ProbeBandwidth && self.phase == 0 {
            2
        } else {
            0
        }
    }

    /// Number of segments in a burst.
    fn burst(&self) -> u32 {
        burst_segments(self.pacing_rate, self.segment_bytes, Duration::MAX)
    }

    /// How many of `in_flight` segments will still be in the network when the next segment may
    /// leave (`bbr_packets_in_net_at_edt`).
    fn in_network(&self, ack: &AckEvent<'_>, in_flight: u32) -> u32 {
        let wait = ack.next_send.saturating_since(ack.now).as_secs_f64();
        let at_next_send = if self.pacing_gain() > 1.0 {
            // While probing, the next burst raises what is in flight.
            in_flight + self.burst()
        } else {
            in_flight
        };
        at_next_send.saturating_sub((self.bandwidth.get() * wait) as u32)
    }

    /// Sets the window (`bbr_set_cwnd`).
    fn set_window(&mut self, ack: &AckEvent<'_>, gain: f64, window: &mut Window) {
        if ack.delivered > 0 {
            let conserved = self.recover_or_restore(ack, window);
            if !conserved {
                self.grow(ack, gain, window);
            }
        }
        if self.mode == Mode::ProbeRtt {
            window.segments = window.segments.min(MIN_WINDOW);
        }
    }

    /// Grows the window towards its target. Before start-up has filled the path it never shrinks.
    fn grow(&self, ack: &AckEvent<'_>, gain: f64, window: &mut Window) {
        let target = self.with_quanta(self.product(gain).saturating_add(self.extra_window(window)));
        let segments = window.segments.saturating_add(ack.delivered);
        if self.full.reached {
            window.segments = segments.min(target);
        } else if window.segments < target
            || ack.delivery.delivered < u64::from(self.initial_window)
        {
            window.segments = segments;
        }
        window.segments = window.segments.max(MIN_WINDOW);
    }

    /// Extra window for aggregated acknowledgements (`bbr_ack_aggregation_cwnd`).
    fn extra_window(&self, window: &Window) -> u32 {
        if !self.full.reached || !self.allow_for_bunches {
            return 0;
        }
        let most = (self.bandwidth.get() * EXTRA_MOST_S) as u64;
        let extra = self.extra.most().min(most);
        u32::try_from(extra)
            .unwrap_or(u32::MAX)
            .min(window.segments)
    }

    /// Adapts the window to the start and the end of recovery; returns whether packet conservation
    /// governs it, as in the first round of a recovery (`bbr_set_cwnd_to_recover_or_restore`).
    fn recover_or_restore(&mut self, ack: &AckEvent<'_>, window: &mut Window) -> bool {
        if ack.lost > 0 {
            window.segments = window.segments.saturating_sub(ack.lost).max(1);
        }
        let (previous, state) = (
            core::mem::replace(&mut self.previous_state, ack.state),
            ack.state,
        );
        if state == CongestionState::Recovery && previous != CongestionState::Recovery {
            // Send one segment per segment delivered for one round.
            self.conserving = true;
            self.round_end = ack.delivery.delivered;
            window.segments = ack.in_flight + ack.delivered;
        } else if previous >= CongestionState::Recovery && state < CongestionState::Recovery {
            window.segments = window.segments.max(self.saved_window);
            self.conserving = false;
        }
        if self.conserving {
            window.segments = window.segments.max(ack.in_flight + ack.delivered);
        }
        self.conserving
    }

    /// Remembers the window to restore it later (`bbr_save_cwnd`).
    fn save_window(&mut self, window: &Window) {
        let fresh = self.previous_state < CongestionState::Recovery && self.mode != Mode::ProbeRtt;
        self.saved_window = if fresh {
            window.segments
        } else {
            self.saved_window.max(window.segments)
        };
    }
}

impl CongestionControl for Bbr {
    fn on_ack(&mut self, ack: &AckEvent<'_>, window: &mut Window) {
        // The order is that of `bbr_main`.
        self.update_bandwidth(ack);
        self.extra
            .update(ack, self.round_start, self.bandwidth.get());
        self.update_phase(ack);
        self.check_full(ack);
        self.check_drain(ack);
        self.update_min_rtt(ack, window);
        if let Some(threshold) = self.threshold.take() {
            window.threshold = threshold;
        }
        self.set_pacing_rate(self.pacing_gain(), ack, window);
        self.set_window(ack, self.window_gain(), window);
    }

    fn on_congestion(&mut self, _now: Time, window: &Window) -> u32 {
        // Losses do not change the threshold; the window is restored after the recovery.
        self.save_window(window);
        window.threshold
    }

    fn on_state(&mut self, state: CongestionState) {
        if state == CongestionState::Loss {
            // The path may have changed: start-up looks for growth again, and the next round counts
            // as new.
            self.previous_state = CongestionState::Loss;
            self.full.bandwidth = 0.0;
            self.round_start = true;
        }
    }

    fn on_undo(&mut self, window: &Window, _prior: u32) -> u32 {
        // The slow-down that ended start-up may have been the spurious recovery (`bbr_undo_cwnd`).
        (self.full.bandwidth, self.full.rounds) = (0.0, 0);
        window.segments
    }

    fn on_restart(&mut self, now: Time, _idle: Duration, window: &mut Window) {
        self.idle_restart = true;
        self.extra.begin_epoch(now);
        match self.mode {
            // After an idle time send at the estimated bandwidth: probing at once would build a
            // queue.
            Mode::ProbeBandwidth => {
                self.pacing_rate = self.bytes_per_second(self.bandwidth.get(), 1.0)
            }
            Mode::ProbeRtt => self.end_probe_rtt(now, window),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn pacing_rate(&self) -> Option<f64> {
        Some(self.pacing_rate)
    }

    fn governs_window(&self) -> bool {
        true
    }

    fn is_probing_delay(&self) -> bool {
        self.mode == Mode::ProbeRtt
    }
}
