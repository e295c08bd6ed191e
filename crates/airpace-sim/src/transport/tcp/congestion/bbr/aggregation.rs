//! How many more segments aggregated acknowledgements report at once than the bandwidth explains
//! (Linux `bbr_update_ack_aggregation`).

use super::AckEvent;
use airpace_units::Time;

/// Rounds of each half of the window over which excess acknowledgements count
/// (`bbr_extra_acked_win_rtts`).
const EXTRA_ROUNDS: u8 = 5;
/// A measurement of aggregation starts anew after this many segments
/// (`bbr_ack_epoch_acked_reset_thresh`).
const EXTRA_RESET: u64 = 1 << 20;
/// The largest excess of acknowledged segments over the bandwidth in the last rounds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ExtraAcked {
    /// When the current measurement began, and the segments acknowledged since.
    epoch_start: Time,
    epoch_acked: u64,
    /// The largest excess in each half of the window, the current half, and its rounds so far.
    most: [u64; 2],
    half: usize,
    rounds: u8,
}

impl ExtraAcked {
    /// The largest excess in the window, in segments.
    pub(super) fn most(&self) -> u64 {
        self.most[0].max(self.most[1])
    }

    /// Begins to measure anew at `now`.
    pub(super) fn begin_epoch(&mut self, now: Time) {
        (self.epoch_start, self.epoch_acked) = (now, 0);
    }

    /// Takes an acknowledgement; `bandwidth` is in segments per second.
    pub(super) fn update(&mut self, ack: &AckEvent<'_>, round_start: bool, bandwidth: f64) {
        if ack.delivered == 0 || ack.sample.rate.is_none() {
            return;
        }
        if round_start {
            self.rounds += 1;
            if self.rounds >= EXTRA_ROUNDS {
                // The older half of the window makes room for a new one.
                self.rounds = 0;
                self.half = 1 - self.half;
                self.most[self.half] = 0;
            }
        }
        let elapsed = ack.now.saturating_since(self.epoch_start).as_secs_f64();
        let mut expected = (bandwidth * elapsed) as u64;
        let delivered = u64::from(ack.delivered);
        // No excess left, or an epoch that is too long: a new epoch begins.
        if self.epoch_acked <= expected || self.epoch_acked + delivered >= EXTRA_RESET {
            self.begin_epoch(ack.now);
            expected = 0;
        }
        self.epoch_acked += delivered;
        // Nothing is expected of a new epoch, and an old one is ahead of what is expected: the
        // difference is not negative.
        let excess = self.epoch_acked.saturating_sub(expected);
        self.most[self.half] = self.most[self.half].max(excess);
    }
}
