use super::Samples;
use super::table::Table;
use crate::rng::Stream;

/// Orders in which the rates of a group are sampled, one after the other (rc80211_minstrel: SAMPLE_COLUMNS).
const COLUMNS: usize = 10;
/// The most rates that a group has: HE has MCS 0 to 11.
const MAX_GROUP: usize = 12;
/// Frames or packets between two samples: this, and twice the mean A-MPDU length (rc80211_minstrel_ht: sample_wait = 16 + 2 · avg_ampdu_len).
const PAUSE: u32 = 16;
/// Samples per update and group, so that each rate can have its turn (rc80211_minstrel_ht: sample_count).
const SAMPLES_PER_GROUP: u32 = 8;
/// Samples that a new link makes without pause, and in all before its first update (sample_tries, sample_count).
const FIRST_BURST: u8 = 4;
const FIRST_SAMPLES: u32 = 16;
/// A rate above this probability need not be sampled.
const CERTAIN: f64 = 0.95;
/// Updates without a try after which a rate that promises nothing is sampled all the same, and how many such samples an update allows
/// (rc80211_minstrel_ht: sample_skipped < 20, sample_slow > 2).
const STALE_UPDATES: u8 = 20;
const SLOW_SAMPLES: u8 = 3;

/// Which rate is sampled when.
#[derive(Clone, Debug)]
pub(super) struct Sampler {
    /// Columns of permutations of 0…`MAX_GROUP` − 1.
    orders: [[u8; MAX_GROUP]; COLUMNS],
    /// Row and column that each group has come to.
    cursors: Vec<(u8, u8)>,
    samples: Samples,
    group: u16,
    /// Frames or packets, as `samples` says, before the next sample.
    pause: u32,
    /// Samples to make without another pause.
    burst: u8,
    /// Samples that may still be planned before the next update.
    left: u32,
    /// Samples of slow rates since the last update.
    slow: u8,
}

impl Sampler {
    pub(super) fn new(table: &Table, samples: Samples, random: &mut Stream) -> Self {
        let mut orders = [core::array::from_fn(|i| i as u8); COLUMNS];
        for order in &mut orders {
            shuffle(order, random);
        }
        let cursors = vec![(0, 0); table.n_groups()];
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

    /// The place in the table of the rate to sample with the next frame, if it is time to.
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

    /// After each frame, of which `acked` MPDUs arrived: plans the next sample if none is planned and the update still allows one.
    #[inline]
    pub(super) fn on_frame(&mut self, acked: u32, mean_ampdu: f64) {
        if self.samples == Samples::Packets {
            // The kernel counts packets when they first ask for a rate. Each arrives once, or its loss counts as one.
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

    /// The next rate in turn if it is worth a sample; if not, the turn passes and the next frame looks further.
    fn pick(&mut self, table: &Table) -> Option<u16> {
        let group = self.group;
        let (row, column) = self.cursors[usize::from(group)];
        self.advance();
        let index = table.member(group, self.orders[usize::from(column)][usize::from(row)])?;
        if !self.is_worthwhile(table, index) {
            return None;
        }
        self.burst -= 1;
        Some(index)
    }

    fn advance(&mut self) {
        self.group = (self.group + 1) % self.cursors.len() as u16;
        let cursor = &mut self.cursors[usize::from(self.group)];
        cursor.0 += 1;
        if usize::from(cursor.0) == MAX_GROUP {
            *cursor = (0, (cursor.1 + 1) % COLUMNS as u8);
        }
    }

    /// Not what is in use or certain anyway; what cannot be faster than what is in use only once in a while.
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

/// Fisher and Yates's shuffle.
fn shuffle(order: &mut [u8], random: &mut Stream) {
    for last in (1..order.len()).rev() {
        order.swap(last, random.up_to(last as u32) as usize);
    }
}
