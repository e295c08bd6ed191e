//! The receiving end of a voice call: jitter buffer, losses and mean opinion score.

use super::DelayStatistic;
use airpace_core::model::voice::{Call, Codec};
use airpace_units::Time;
use core::time::Duration;

/// Time between the packets of a G.711 call, and the speech in each (RFC 3551 §4.5.14 with the
/// default packing of §4.2).
pub const VOIP_INTERVAL: Duration = Duration::from_millis(20);
/// UDP payload of each: 160 bytes of speech at 64 kbit/s and the RTP header of 12 (RFC 3550 §5.1).
pub const VOIP_PAYLOAD_BYTES: u32 = 172;

/// How long the jitter buffer holds packets back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Playout {
    /// Packets are played this long after they were sent; packets that arrive later are lost.
    Fixed(Duration),
    /// Packets are played after the smoothed delay plus four smoothed deviations (Ramjee, Kurose,
    /// Towsley and Schulzrinne, INFOCOM 1994, algorithm 1, weight 0.998002). A call without silence
    /// suppression has no pauses in which to shift the playout time, so it shifts with each packet,
    /// as decoders that stretch speech do.
    Adaptive {
        /// Least time beyond the smoothed delay.
        least: Duration,
    },
}

/// Configuration of the receiver and of its score.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct VoipSinkConfig {
    /// The jitter buffer; by default adaptive with at least [`VOIP_INTERVAL`].
    pub playout: Playout,
    /// Time to fill a packet with speech, which adds to the delay from mouth to ear; 20 ms by
    /// default.
    pub packetization: Duration,
    /// The codec, which decides how much losses impair speech; by default G.711 with loss
    /// concealment, as in every telephone.
    pub codec: Codec,
}

impl Default for VoipSinkConfig {
    fn default() -> Self {
        Self {
            playout: Playout::Adaptive {
                least: VOIP_INTERVAL,
            },
            packetization: VOIP_INTERVAL,
            codec: Codec::G711_CONCEALED,
        }
    }
}

/// Quality of a call.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct VoipReport {
    /// Packets sent.
    pub sent: u64,
    /// Packets lost in the network.
    pub lost: u64,
    /// Packets that arrived too late to be played, or twice.
    pub late: u64,
    /// Mean one-way delay in the network; zero if no packet arrived.
    pub network_delay: Duration,
    /// Mean delay from mouth to ear (packetization, network and jitter buffer); zero if nothing was
    /// played.
    pub mouth_to_ear: Duration,
    /// Interarrival jitter (RFC 3550 §6.4.1) at the last packet.
    pub jitter: Duration,
    /// Share of the packets that were not played, 0 to 1.
    pub effective_loss: f64,
    /// Mean length of runs of packets not played over that of independent losses (BurstR of G.107
    /// §7.5); at least 1.
    pub burst_ratio: f64,
    /// Mean opinion score of what the listener hears, by the E-model of G.107.
    pub mean_opinion_score: f64,
    /// Mean opinion score as paper 004 computes it (with flent): from the mean delay of the
    /// network plus twice its mean jitter, in place of a jitter buffer, and the gaps in what arrives
    /// per packet that arrives, with the least robust codec and by
    /// [`Call::flent_score`].
    pub network_score: f64,
}

/// The receiving end of a voice call.
#[derive(Clone, Debug)]
pub struct VoipSink {
    config: VoipSinkConfig,
    delay: DelayStatistic,
    /// Sum of the delays after which packets were played, without packetization.
    played_ns: u128,
    smoothed: Option<Smoothed>,
    jitter_ns: f64,
    /// Sum of all changes of the transit time between packets in order of arrival, and their number.
    changes_ns: f64,
    changes: u64,
    last_transit_ns: Option<i128>,
    /// The number of the packet that arrived last, and the gaps between such numbers.
    last_sequence: Option<u64>,
    gaps: u64,
    late: u64,
    /// Packets below this number are not counted.
    first: u64,
    outcomes: PacketOutcomes,
}

#[derive(Clone, Copy, Debug)]
struct Smoothed {
    delay_ns: f64,
    deviation_ns: f64,
}

/// Weight of the past (Ramjee et al. 1994).
const WEIGHT: f64 = 0.998_002;
/// Smoothed deviations between the smoothed delay and the playout (same source).
const DEVIATIONS: f64 = 4.0;

impl VoipSink {
    /// A receiver that has not received anything yet.
    #[must_use]
    pub fn new(config: VoipSinkConfig) -> Self {
        Self {
            config,
            delay: DelayStatistic::default(),
            played_ns: 0,
            smoothed: None,
            jitter_ns: 0.0,
            changes_ns: 0.0,
            changes: 0,
            last_transit_ns: None,
            last_sequence: None,
            gaps: 0,
            late: 0,
            first: 0,
            outcomes: PacketOutcomes::default(),
        }
    }

    /// Starts counting anew from packet `first` on, as after a warm-up. Packets with smaller
    /// numbers are then ignored. The jitter buffer stays adapted.
    pub fn restart(&mut self, first: u64) {
        let Self {
            config,
            smoothed,
            jitter_ns,
            last_transit_ns,
            ..
        } = *self;
        *self = Self {
            smoothed,
            jitter_ns,
            last_transit_ns,
            first,
            ..Self::new(config)
        };
    }

    /// A packet that left at `sent` arrives at `now`; sequence numbers count from zero. Returns
    /// whether it is played.
    pub fn on_packet(&mut self, now: Time, sequence: u64, sent: Time) -> bool {
        let Some(sequence) = sequence.checked_sub(self.first) else {
            return false;
        };
        let transit = now.saturating_since(sent);
        let arrival = self.outcomes.on_arrival(sequence);
        if arrival == Arrival::Duplicate {
            self.late += 1;
            return false;
        }
        self.delay.record(transit);
        self.count_jitter(transit);
        self.count_gap(sequence);
        let playout = self.playout_after(transit);
        let played = arrival == Arrival::New && transit <= playout;
        if played {
            self.outcomes.play(sequence);
            self.played_ns += playout.as_nanos();
        } else {
            self.late += 1;
        }
        played
    }

    /// The quality of the call if `sent` packets were sent until now, or since the restart if there
    /// was one.
    #[must_use]
    pub fn report(&self, sent: u64) -> VoipReport {
        let runs = self.outcomes.runs(sent);
        let sent = sent.max(runs.played + runs.missed);
        let effective_loss = if sent == 0 {
            0.0
        } else {
            runs.missed as f64 / sent as f64
        };
        let lost = sent.saturating_sub(self.delay.count());
        let network_delay = self.delay.mean().unwrap_or_default();
        let mean_ns = self.played_ns.checked_div(u128::from(runs.played));
        let mouth_to_ear = mean_ns.map_or(Duration::ZERO, |ns| {
            Duration::from_nanos(ns as u64) + self.config.packetization
        });
        let burst_ratio = runs.burst_ratio(effective_loss);
        // The E-model does not cover a call of which nothing is heard, and such a call has no
        // delay: it gets the worst score.
        let score = |score: f64, heard: u64| {
            if heard == 0 && sent > 0 { 1.0 } else { score }
        };
        let call = |delay: Duration| Call::default().with_delay_ms(delay.as_secs_f64() * 1e3);
        let heard = call(mouth_to_ear)
            .with_codec(self.config.codec)
            .with_loss(effective_loss, burst_ratio);
        let network_loss = match self.delay.count() {
            0 => 0.0,
            arrived => self.gaps as f64 / arrived as f64,
        };
        // D-ITG's mean jitter, which flent adds twice to the delay in place of a jitter buffer.
        let mean_jitter = match self.changes {
            0 => Duration::ZERO,
            changes => Duration::from_nanos((self.changes_ns / changes as f64) as u64),
        };
        let network = call(network_delay + 2 * mean_jitter)
            .with_codec(Codec::LEAST_ROBUST)
            .with_loss(network_loss, 1.0);
        VoipReport {
            sent,
            lost,
            late: self.late,
            network_delay,
            mouth_to_ear,
            jitter: Duration::from_nanos(self.jitter_ns as u64),
            effective_loss,
            burst_ratio,
            mean_opinion_score: score(heard.mean_opinion_score(), runs.played),
            network_score: score(network.flent_score(), self.delay.count()),
        }
    }

    /// One-way delays in the network.
    #[must_use]
    pub const fn delays(&self) -> &DelayStatistic {
        &self.delay
    }

    /// Interarrival jitter (RFC 3550 §6.4.1): the change of transit time between packets in order
    /// of arrival, smoothed by 1/16.
    fn count_jitter(&mut self, transit: Duration) {
        // A Duration is below 2^94 ns.
        let transit_ns = transit.as_nanos() as i128;
        if let Some(last) = self.last_transit_ns.replace(transit_ns) {
            let change_ns = (transit_ns - last).unsigned_abs() as f64;
            self.jitter_ns += (change_ns - self.jitter_ns) / 16.0;
            self.changes_ns += change_ns;
            self.changes += 1;
        }
    }

    /// Counts what flent takes for a loss: a packet that does not follow the one before.
    fn count_gap(&mut self, sequence: u64) {
        let last = self.last_sequence.replace(sequence);
        self.gaps += u64::from(last.is_some_and(|last| sequence > last.saturating_add(1)));
    }

    /// How long after it was sent a packet with delay `transit` is played if it arrived in time.
    /// The playout is that of before the packet; then the packet adapts it.
    fn playout_after(&mut self, transit: Duration) -> Duration {
        let least = match self.config.playout {
            Playout::Fixed(playout) => return playout,
            Playout::Adaptive { least } => least,
        };
        let transit_ns = transit.as_nanos() as f64;
        let mut smoothed = self.smoothed.unwrap_or(Smoothed {
            delay_ns: transit_ns,
            deviation_ns: 0.0,
        });
        let held_ns = (DEVIATIONS * smoothed.deviation_ns).max(least.as_nanos() as f64);
        // Rounded up, so that packets with constant delay are never late.
        let playout = Duration::from_nanos((smoothed.delay_ns + held_ns).ceil() as u64);
        smoothed.delay_ns += (1.0 - WEIGHT) * (transit_ns - smoothed.delay_ns);
        smoothed.deviation_ns +=
            (1.0 - WEIGHT) * ((transit_ns - smoothed.delay_ns).abs() - smoothed.deviation_ns);
        self.smoothed = Some(smoothed);
        playout
    }
}

/// What is known about a packet when it arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Arrival {
    /// It is the first with its number.
    New,
    /// A packet with its number arrived before.
    Duplicate,
    /// Its number is so old that its outcome is decided: it was missed.
    TooOld,
}

/// Which packets were played, in order of their numbers. The outcome of the last 64 is open;
/// earlier ones are decided and only counted.
#[derive(Clone, Copy, Debug, Default)]
struct PacketOutcomes {
    /// Bit i tells whether packet `next - 1 - i` has arrived, and whether it was played.
    arrived: u64,
    played: u64,
    /// One more than the largest number that has arrived.
    next: u64,
    runs: Runs,
}

/// Counts of played and missed packets, and of runs of missed ones.
#[derive(Clone, Copy, Debug, Default)]
struct Runs {
    played: u64,
    missed: u64,
    /// Number of runs of consecutive missed packets.
    runs: u64,
    /// Whether the last packet was missed, so that another missed one continues the run.
    within_run: bool,
}

/// Number of packets whose outcome is open.
const OPEN: u64 = 64;

impl PacketOutcomes {
    /// Records that a packet has arrived.
    fn on_arrival(&mut self, sequence: u64) -> Arrival {
        // The largest u64 has no successor; no call gets there.
        let sequence = sequence.min(u64::MAX - 1);
        if sequence >= self.next {
            self.advance(sequence + 1 - self.next);
        }
        let behind = self.next - 1 - sequence;
        if behind >= OPEN {
            return Arrival::TooOld;
        }
        let arrived_before = self.arrived >> behind & 1 == 1;
        self.arrived |= 1 << behind;
        if arrived_before {
            Arrival::Duplicate
        } else {
            Arrival::New
        }
    }

    /// Records that a packet is played; its outcome must be open.
    fn play(&mut self, sequence: u64) {
        self.played |= 1 << (self.next - 1 - sequence);
    }

    /// Makes room for `steps` further packets and decides those that are then no longer open.
    fn advance(&mut self, steps: u64) {
        let decided = self.next.min(OPEN).min(steps);
        for i in 0..decided {
            // The oldest first: bit 63, or packet 0 while there are fewer.
            let place = self.next.min(OPEN) - 1 - i;
            if self.next + steps - (self.next - 1 - place) > OPEN {
                self.runs.decide(self.played >> place & 1 == 1);
            }
        }
        // Packets that a jump skips and that are no longer open either have not arrived.
        self.runs.miss(
            (self.next + steps)
                .saturating_sub(OPEN)
                .saturating_sub(self.next),
        );
        let shift = |bits: u64| if steps < OPEN { bits << steps } else { 0 };
        (self.arrived, self.played) = (shift(self.arrived), shift(self.played));
        self.next += steps;
    }

    /// The counts if `sent` packets were sent and none of the open ones will be played any more.
    fn runs(&self, sent: u64) -> Runs {
        let mut runs = self.runs;
        for place in (0..self.next.min(OPEN)).rev() {
            runs.decide(self.played >> place & 1 == 1);
        }
        runs.miss(sent.saturating_sub(self.next));
        runs
    }
}

impl Runs {
    fn decide(&mut self, played: bool) {
        if played {
            self.played += 1;
            self.within_run = false;
        } else {
            self.miss(1);
        }
    }

    fn miss(&mut self, numbers: u64) {
        if numbers > 0 {
            self.missed += numbers;
            self.runs += u64::from(!self.within_run);
            self.within_run = true;
        }
    }

    /// Mean length of a run of missed packets over 1 / (1 - loss), which it would be if losses were
    /// independent (G.107 §7.5).
    fn burst_ratio(&self, loss: f64) -> f64 {
        if self.runs == 0 {
            return 1.0;
        }
        (self.missed as f64 / self.runs as f64 * (1.0 - loss)).max(1.0)
    }
}

#[cfg(test)]
mod tests;
