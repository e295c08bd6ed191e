//! Sampling: which other rates are tried, and when.

use super::Samples;
use super::table::Table;
use crate::rng::Stream;

/// Number of random orders in which the rates of a group are sampled, one order after the other
/// (rc80211_minstrel: SAMPLE_COLUMNS).
const COLUMNS: usize = 10;
/// Most rates of a group: HE has MCS 0 to 11.
const MAX_GROUP: usize = 12;
/// Frames or packets between two samples, in addition to twice the mean A-MPDU length
/// (rc80211_minstrel_ht: sample_wait = 16 + 2 · avg_ampdu_len).
const PAUSE: u32 = 16;
/// Samples per group between two updates, enough for each rate to have its turn
/// (rc80211_minstrel_ht: sample_count).
const SAMPLES_PER_GROUP: u32 = 8;
/// Samples that a new link makes without pause, and in total before its first update (sample_tries,
/// sample_count).
const FIRST_BURST: u8 = 4;
const FIRST_SAMPLES: u32 = 16;
/// A rate with a higher success probability is not sampled.
const CERTAIN: f64 = 0.95;
/// Number of updates without a try after which even an unpromising rate is sampled, and number of
/// such samples between two updates (rc80211_minstrel_ht: sample_skipped < 20, sample_slow > 2).
const STALE_UPDATES: u8 = 20;
const SLOW_SAMPLES: u8 = 3;

/// Decides which rate is sampled and when.
#[derive(Clone, Debug)]
pub(super) struct Sampler {
    /// Permutations of 0 to `MAX_GROUP` − 1.
    orders: [[u8; MAX_GROUP]; COLUMNS],
    /// Where each group stands in the orders.
    cursors: Vec<Cursor>,
    samples: Samples,
    /// The group whose turn it is.
    group: u16,
    /// Frames or packets (see `samples`) before the next sample.
    pause: u32,
    /// Samples to make without a further pause.
    burst: u8,
    /// Samples that may still be planned before the next update.
    left: u32,
    /// Samples of slow rates since the last update.
    slow: u8,
}

/// A place in one of the orders.
#[derive(Clone, Copy, Debug, Default)]
struct Cursor {
    order: u8,
    place: u8,
}

impl Sampler {
    pub(super) fn new(table: &Table, samples: Samples, random: &mut Stream) -> Self {
        let mut orders = [core::array::from_fn(|i| i as u8); COLUMNS];
        for order in &mut orders {
            shuffle(order, random);
        }
        let cursors = vec![Cursor::default(); table.n_groups()];
        Self {
            orders,
            cursors,
            samples,
            group: 0,
            pause: 0,
            burst: FIRST_BURST,
            left: FIRST_SAMPLES,
            slow: 0,
        }
    }

    /// The index in the table of the rate to sample with the next frame, if a sample is due.
    #[inline]
    pub(super) fn next(&mut self, table: &Table) -> Option<u16> {
        if self.pause > 0 {
            self.pause -= u32::from(self.samples == Samples::Frames);
            return None;
        }
        if self.burst == 0 {
            None
        } else {
            self.pick(table)
        }
    }

    pub(super) const fn samples_packets(&self) -> bool {
        matches!(self.samples, Samples::Packets)
    }

    /// Takes the result of a frame of which `acked` MPDUs arrived, and plans the next sample if
    /// none is planned and the number of samples between two updates allows one.
    #[inline]
    pub(super) fn on_frame(&mut self, acked: u32, mean_ampdu: f64) {
        if self.samples == Samples::Packets {
            // The kernel counts packets when they first ask for a rate. Here a packet counts when
            // it arrives, and a frame that is lost as a whole counts as one.
            self.pause = self.pause.saturating_sub(acked.max(1));
        }
        if self.pause == 0 && self.burst == 0 && self.left > 0 {
            self.pause = PAUSE + 2 * mean_ampdu as u32;
            self.burst = 1;
            self.left -= 1;
        }
    }

    pub(super) fn on_update(&mut self, table: &Table) {
        self.slow = 0;
        self.left = SAMPLES_PER_GROUP * table.n_groups() as u32;
    }

    /// The next rate in turn if it is worth a sample. If it is not, the turn passes, and the next
    /// frame tries the next rate.
    fn pick(&mut self, table: &Table) -> Option<u16> {
        let group = self.group;
        let cursor = self.cursors[usize::from(group)];
        self.advance();
        let index = table.member(
            group,
            self.orders[usize::from(cursor.order)][usize::from(cursor.place)],
        )?;
        if !self.is_worthwhile(table, index) {
            return None;
        }
        self.burst -= 1;
        Some(index)
    }

    /// Passes the turn to the next group and moves that group on by one place.
    fn advance(&mut self) {
        self.group = (self.group + 1) % self.cursors.len() as u16;
        let cursor = &mut self.cursors[usize::from(self.group)];
        cursor.place += 1;
        if usize::from(cursor.place) == MAX_GROUP {
            *cursor = Cursor {
                order: (cursor.order + 1) % COLUMNS as u8,
                place: 0,
            };
        }
    }

    /// Whether a rate is worth a sample: not if it is in use or certain to work, and only now and
    /// then if it cannot be faster than the rates in use.
    fn is_worthwhile(&mut self, table: &Table, index: u16) -> bool {
        if index == table.best() || index == table.robust() || table.probability(index) > CERTAIN {
            return false;
        }
        if !table.is_slow(index) {
            return true;
        }
        if table.unused_updates(index) < STALE_UPDATES || self.slow >= SLOW_SAMPLES {
            return false;
        }
        self.slow += 1;
        true
    }
}

/// Fisher–Yates shuffle.
fn shuffle(order: &mut [u8], random: &mut Stream) {
    for last in (1..order.len()).rev() {
        order.swap(last, random.up_to(last as u32) as usize);
    }
}
