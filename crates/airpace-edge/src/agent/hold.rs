//! How long the agent holds pure TCP acknowledgements.
//!
//! Acknowledgements that were held leave together, and the sender of the download answers them with
//! as many packets at once. Behind a proxy that paces the station these wait at the proxy. Where
//! nothing is paced they go straight to the access point, and may be more than its queue has room
//! for: [`AckHold`] notices that and holds nothing for a while.

use super::Message;
use airpace_core::report::SlotReport;
use airpace_units::Time;
use core::time::Duration;

/// Rounds for which acknowledgements of a bulk download are held. In simulated cells of 1, 3 and 10
/// stations the goodput is flat around this value (`docs/design/tcp-costs.md`).
const HELD_ROUNDS: f64 = 3.0;
/// Most that the configured time is multiplied by in order to hold for that many rounds.
const MOST_EXTENSION: u32 = 4;
/// The same in order to hold for one round: held for less, each frame down would cause a frame up.
const MOST_EXTENSION_TO_ROUND: u32 = 12;
/// Packets per frame from which a station is taken to download in bulk. Below, frames are far apart
/// because there is little to send, and a longer wait would only slow it down.
const BULK_LEVEL: f64 = 4.0;
/// How long nothing is held after losses at a short queue. Cubic fills such a queue every few
/// seconds, and each loss renews the pause.
const PAUSE: Duration = Duration::from_secs(10);
/// Backlog at the access point, in time at the PHY rate, that a paced station does not reach: its
/// pacer sends at less than that rate and makes up for at most a millisecond. In simulated cells with
/// a law the largest is 0.2 ms, without one 1 to 20 ms.
const UNPACED_BACKLOG: Duration = Duration::from_micros(1500);

/// Decides after each slot how long acknowledgements are held in the next.
pub(super) struct AckHold {
    configured: Duration,
    backlog: Backlog,
    /// 99th percentile of the waiting time in the last slot.
    last_wait: Duration,
    /// Nothing is held before.
    paused_until: Time,
}

impl AckHold {
    /// Holds for `configured`, or longer during bulk downloads; if that is zero, not at all.
    pub(super) const fn new(configured: Duration) -> Self {
        Self {
            configured,
            backlog: Backlog::new(),
            last_wait: Duration::ZERO,
            paused_until: Time::ZERO,
        }
    }

    /// Takes a message of the tunnel.
    #[inline]
    pub(super) fn on_message(&mut self, arrival: Time, message: &Message) {
        // On the sender's clock, whose offset does not matter.
        let sent_ns = (arrival.as_nanos() as i64).wrapping_sub(message.delay_ns);
        self.backlog.on_sent(sent_ns, message.bytes);
    }

    /// Forgets what waits at the access point: messages of a new session follow, on another clock.
    pub(super) const fn restart(&mut self) {
        self.backlog.restart();
    }

    /// How long acknowledgements are held in the slot that begins now, after this report.
    pub(super) fn on_slot(&mut self, now: Time, report: &SlotReport) -> Duration {
        let hold = hold_time(self.configured, report);
        let was_unpaced = self.backlog.was_unpaced();
        self.backlog.begin_slot(report);
        // A packet counts as lost only one slot later, when no retransmission has filled its gap, so
        // what the queue was like is found in this report or in the one before.
        let wait = report.wait.map_or(Duration::ZERO, |wait| wait.p99);
        let longest_wait = wait.max(core::mem::replace(&mut self.last_wait, wait));
        let round_s = report.round_s().unwrap_or_default();
        let round = Duration::try_from_secs_f64(round_s).unwrap_or_default();
        // A packet waits for the queue in front of it and a round for its own frame. If none waited
        // longer than that for a queue which overflowed, the queue has no room for what is sent at
        // once after acknowledgements were held for `hold`.
        let is_short = longest_wait < hold + round;
        if report.lost > 0 && was_unpaced && is_short {
            self.paused_until = now.saturating_add(PAUSE);
        }
        if now < self.paused_until {
            return Duration::ZERO;
        }
        hold
    }
}

/// How long acknowledgements are held in the next slot: `configured`, or longer if the frames of the
/// last slot were those of a bulk download and far apart.
fn hold_time(configured: Duration, report: &SlotReport) -> Duration {
    let is_bulk = report.level().is_some_and(|level| level >= BULK_LEVEL);
    match report.round_s().filter(|_| is_bulk) {
        Some(round) => {
            let [round, rounds] = [1.0, HELD_ROUNDS]
                .map(|rounds| Duration::try_from_secs_f64(rounds * round).unwrap_or(Duration::MAX));
            let longest = configured.saturating_mul(MOST_EXTENSION).max(round);
            rounds.min(longest).clamp(
                configured,
                configured.saturating_mul(MOST_EXTENSION_TO_ROUND),
            )
        }
        None => configured,
    }
}

/// The backlog that the access point would have if it sent at the full PHY rate without any overhead.
/// It follows from the times at which messages were sent, and is a lower bound of the true one.
struct Backlog {
    /// Seconds per byte at the PHY rate; 0 if it is unknown.
    s_per_byte: f64,
    /// When the last message of the session was sent, on the sender's clock.
    sent_ns: Option<i64>,
    /// Backlog at that time, seconds.
    seconds: f64,
    /// Largest backlog of the slot that runs, and of the one before it.
    largest: f64,
    largest_before: f64,
}

impl Backlog {
    const fn new() -> Self {
        Self {
            s_per_byte: 0.0,
            sent_ns: None,
            seconds: 0.0,
            largest: 0.0,
            largest_before: 0.0,
        }
    }

    /// Forgets the backlog, but not the PHY rate.
    const fn restart(&mut self) {
        *self = Self {
            s_per_byte: self.s_per_byte,
            ..Self::new()
        };
    }

    #[inline]
    fn on_sent(&mut self, sent_ns: i64, bytes: u32) {
        let elapsed_ns = sent_ns.wrapping_sub(self.sent_ns.unwrap_or(sent_ns));
        // Retransmissions by the MAC arrive late, after messages that were sent later.
        if self.sent_ns.is_none() || elapsed_ns > 0 {
            self.sent_ns = Some(sent_ns);
            self.seconds = (self.seconds - elapsed_ns as f64 * 1e-9).max(0.0);
        }
        self.seconds += f64::from(bytes) * self.s_per_byte;
        self.largest = self.largest.max(self.seconds);
    }

    /// Whether more was sent at once in the last two slots than a pacer permits. Without a PHY rate that
    /// cannot be told, and counts as true.
    fn was_unpaced(&self) -> bool {
        let largest = self.largest.max(self.largest_before);
        self.s_per_byte == 0.0 || largest > UNPACED_BACKLOG.as_secs_f64()
    }

    fn begin_slot(&mut self, report: &SlotReport) {
        self.s_per_byte = report.recent_inverse_rate * 8.0;
        self.largest_before = self.largest;
        self.largest = 0.0;
    }
}

#[cfg(test)]
mod tests;
