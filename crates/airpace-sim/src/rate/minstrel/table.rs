//! The statistics of all rates of a link, and the best of them.

use super::RateStatistics;
use airpace_core::phy::{
    ACK_BYTES, BLOCK_ACK_BYTES, SIFS, Timing, TxRate, ampdu_bytes, control_rate,
};
use airpace_units::BitRate;
use core::cmp::Reverse;

/// The packet for which throughput is estimated, and the A-MPDU over which its airtime is averaged
/// (rc80211_minstrel_ht: AVG_PKT_SIZE, AVG_AMPDU_SIZE).
const PACKET_BYTES: u32 = 1_200;
const REFERENCE_AMPDU: u32 = 16;
/// A rate with a lower success probability has a throughput estimate of zero (rc80211_minstrel_ht:
/// minstrel_ht_get_tp_avg).
const MIN_PROBABILITY: f64 = 0.10;
/// Above this probability losses are attributed to collisions, which do not depend on the rate
/// (same source).
const MAX_PROBABILITY: f64 = 0.90;
/// Above this probability a rate is robust enough to compare by throughput.
const ROBUST: f64 = 0.75;
/// A rate in use has failed if more than this many MPDUs were sent since the last update and less
/// than this share arrived (rc80211_minstrel_ht: minstrel_ht_tx_status).
const FAILURE_ATTEMPTS: u32 = 30;
const FAILURE_PROBABILITY: f64 = 0.20;

/// The statistics of one rate.
#[derive(Clone, Debug)]
struct Entry {
    rate: TxRate,
    group: u16,
    /// MPDUs sent and acknowledged since the last update.
    attempts: u32,
    acked: u32,
    /// Smoothed success probability.
    probability: f64,
    /// Estimated packets per second.
    throughput: f64,
    /// Airtime of the data of a packet, and the airtime of a frame besides: preamble and response.
    packet_ns: f64,
    overhead_ns: f64,
    /// MPDUs sent and acknowledged until the last update.
    attempts_before: u64,
    acked_before: u64,
    /// Consecutive updates without a try.
    unused_updates: u8,
}

/// Rates of the same standard, width, guard interval and number of streams, which are consecutive
/// in the table.
#[derive(Clone, Debug)]
struct Group {
    first: u16,
    len: u8,
    streams: u8,
    is_legacy: bool,
    /// The two rates of highest throughput.
    ranks: [u16; 2],
    /// The most robust rate, if any delivers packets.
    robust: Option<u16>,
}

/// All rates of a link, their statistics, and the best of them.
#[derive(Clone, Debug)]
pub(super) struct Table {
    entries: Vec<Entry>,
    groups: Vec<Group>,
    /// The two rates of highest throughput.
    ranks: [u16; 2],
    /// The most robust rate.
    robust: u16,
    slowest: u16,
    weight: f64,
    /// Smoothed MPDUs per frame, and frames and MPDUs since the last update.
    mean_ampdu: f64,
    frames: u32,
    mpdus: u64,
}

impl Table {
    /// A table of `rates`, which must not be empty. Before the first statistics the slowest rate
    /// counts as the best.
    pub(super) fn new(mut rates: Vec<TxRate>, weight: f64, timing: Timing) -> Self {
        // The order of groups in the kernel, slower before faster: width, guard interval, streams.
        rates.sort_by_key(|rate| (group_key(*rate), rate.mcs()));
        rates.dedup();
        let mut groups: Vec<Group> = Vec::new();
        let mut entries: Vec<Entry> = Vec::with_capacity(rates.len());
        for rate in rates {
            let is_new = entries
                .last()
                .is_none_or(|last| group_key(last.rate) != group_key(rate));
            if is_new {
                groups.push(Group::starting_at(entries.len() as u16, rate));
            }
            entries.push(Entry::new(rate, (groups.len() - 1) as u16, timing));
            let group = groups
                .last_mut()
                .expect("a group was pushed with the first rate");
            group.len += 1;
        }
        let slower = |a: &usize, b: &usize| entries[*a].packet_ns.total_cmp(&entries[*b].packet_ns);
        let slowest = (0..entries.len()).max_by(slower).unwrap_or(0) as u16;
        Self {
            entries,
            groups,
            ranks: [slowest; 2],
            robust: slowest,
            slowest,
            weight,
            mean_ampdu: 1.0,
            frames: 0,
            mpdus: 0,
        }
    }

    #[inline]
    pub(super) fn rate(&self, index: u16) -> TxRate {
        self.entries[usize::from(index)].rate
    }

    /// The index of `rate`, which is most likely `guess` or one of the chain.
    #[inline]
    pub(super) fn find(&self, rate: TxRate, guess: u16) -> Option<u16> {
        if self.rate(guess) == rate {
            return Some(guess);
        }
        let likely = [self.ranks[0], self.ranks[1], self.robust]
            .into_iter()
            .find(|&index| self.rate(index) == rate);
        likely.or_else(|| {
            self.entries
                .iter()
                .position(|entry| entry.rate == rate)
                .map(|index| index as u16)
        })
    }

    /// Counts a frame of `mpdus` of which `acked` arrived.
    #[inline]
    pub(super) fn count(&mut self, index: u16, mpdus: u32, acked: u32) {
        let entry = &mut self.entries[usize::from(index)];
        entry.attempts = entry.attempts.saturating_add(mpdus);
        entry.acked = entry.acked.saturating_add(acked);
        self.frames = self.frames.saturating_add(1);
        self.mpdus = self.mpdus.saturating_add(u64::from(mpdus));
    }

    /// Takes the counts since the last update into the averages and ranks the rates anew.
    pub(super) fn update(&mut self) {
        if self.frames > 0 {
            let mean = self.mpdus as f64 / f64::from(self.frames);
            self.mean_ampdu = self.weight * self.mean_ampdu + (1.0 - self.weight) * mean;
            (self.frames, self.mpdus) = (0, 0);
        }
        for entry in &mut self.entries {
            // Legacy frames are not aggregated.
            let ampdu = if self.groups[usize::from(entry.group)].is_legacy {
                1.0
            } else {
                self.mean_ampdu
            };
            entry.fold(self.weight);
            entry.throughput = entry.estimate(ampdu);
        }
        self.rank();
    }

    /// Finds the best rates of each group and of all groups.
    fn rank(&mut self) {
        for group in &mut self.groups {
            group.rank(&self.entries);
        }
        // A retry chain must not mix rates with and without aggregation: legacy rates count only if
        // one of them is the best.
        let (mut top_legacy, mut top_ht) = (0.0_f64, 0.0_f64);
        for group in &self.groups {
            let throughput = self.entries[usize::from(group.ranks[0])].throughput;
            let top = if group.is_legacy {
                &mut top_legacy
            } else {
                &mut top_ht
            };
            *top = top.max(throughput);
        }
        let with_legacy = top_legacy > top_ht;
        self.ranks = [self.slowest; 2];
        for group in self
            .groups
            .iter()
            .filter(|group| with_legacy || !group.is_legacy)
        {
            for index in group.ranks {
                insert(&mut self.ranks, &self.entries, index);
            }
        }
        self.robust = self.find_robust(with_legacy);
    }

    /// The most robust rate: the fastest robust rate with fewer streams than the best rate, or else
    /// the most robust of all.
    fn find_robust(&self, with_legacy: bool) -> u16 {
        let best = &self.entries[usize::from(self.best())];
        let streams = self.groups[usize::from(best.group)].streams;
        let entry = |index: u16| &self.entries[usize::from(index)];
        // A rate with fewer streams is tried first: a lost stream is the most likely reason why the
        // best rates fail.
        let fewer_streams = self
            .groups
            .iter()
            .filter(|group| !group.is_legacy && group.streams < streams)
            .filter_map(|group| group.robust)
            .max_by(|&a, &b| entry(a).throughput.total_cmp(&entry(b).throughput));
        if let Some(index) = fewer_streams {
            return index;
        }
        self.groups
            .iter()
            .filter(|group| with_legacy || !group.is_legacy)
            .filter_map(|group| group.robust)
            .max_by(|&a, &b| entry(a).robustness().total_cmp(&entry(b).robustness()))
            .unwrap_or(self.slowest)
    }

    /// Replaces a best rate that has failed since the last update, as all rates with several
    /// streams may at once, by that of the next slower group with no more streams. Returns whether
    /// a rate was replaced.
    #[inline]
    pub(super) fn downgrade(&mut self) -> bool {
        let mut changed = false;
        for place in [0, 1] {
            if self.entries[usize::from(self.ranks[place])].has_failed() {
                changed |= self.downgrade_rank(place);
            }
        }
        changed
    }

    fn downgrade_rank(&mut self, place: usize) -> bool {
        let from = usize::from(self.entries[usize::from(self.ranks[place])].group);
        let streams = self.groups[from].streams;
        let Some(group) = self.groups[..from]
            .iter()
            .rfind(|group| group.streams <= streams)
        else {
            return false;
        };
        self.ranks[place] = group.ranks[place];
        true
    }

    pub(super) const fn best(&self) -> u16 {
        self.ranks[0]
    }

    pub(super) const fn second(&self) -> u16 {
        self.ranks[1]
    }

    pub(super) const fn robust(&self) -> u16 {
        self.robust
    }

    pub(super) const fn mean_ampdu(&self) -> f64 {
        self.mean_ampdu
    }

    pub(super) fn n_groups(&self) -> usize {
        self.groups.len()
    }

    /// The index of rate number `member` of `group`.
    pub(super) fn member(&self, group: u16, member: u8) -> Option<u16> {
        let group = &self.groups[usize::from(group)];
        (member < group.len).then(|| group.first + u16::from(member))
    }

    pub(super) fn probability(&self, index: u16) -> f64 {
        self.entries[usize::from(index)].probability
    }

    /// Consecutive updates without a try of the rate, at most 255.
    pub(super) fn unused_updates(&self, index: u16) -> u8 {
        self.entries[usize::from(index)].unused_updates
    }

    /// Airtime of a frame of mean length at this rate with its response.
    pub(super) fn frame_ns(&self, index: u16) -> f64 {
        let entry = &self.entries[usize::from(index)];
        let is_legacy = self.groups[usize::from(entry.group)].is_legacy;
        entry.overhead_ns + entry.packet_ns * if is_legacy { 1.0 } else { self.mean_ampdu }
    }

    /// Whether a rate is not faster than the slower of the two best rates, and neither has fewer
    /// streams than the faster of them nor is faster than the most robust rate: then a sample
    /// teaches little while the link works.
    pub(super) fn is_slow(&self, index: u16) -> bool {
        let entry = |index: u16| &self.entries[usize::from(index)];
        let streams = |index: u16| self.groups[usize::from(entry(index).group)].streams;
        let (best, second) = (self.best(), self.second());
        let (faster, slower) = if entry(best).packet_ns <= entry(second).packet_ns {
            (best, second)
        } else {
            (second, best)
        };
        let packet_ns = entry(index).packet_ns;
        let is_not_more_robust =
            streams(index) >= streams(faster) || packet_ns >= entry(self.robust).packet_ns;
        packet_ns >= entry(slower).packet_ns && is_not_more_robust
    }

    pub(super) fn statistics(&self) -> impl Iterator<Item = RateStatistics> + '_ {
        self.entries.iter().map(|entry| RateStatistics {
            rate: entry.rate,
            probability: entry.probability,
            throughput: BitRate::from_bps((entry.throughput * f64::from(8 * PACKET_BYTES)) as u64),
            attempts: entry
                .attempts_before
                .saturating_add(u64::from(entry.attempts)),
            acked: entry.acked_before.saturating_add(u64::from(entry.acked)),
        })
    }
}

/// Rates with equal keys form a group; groups are in order of their keys.
fn group_key(rate: TxRate) -> impl Ord {
    (
        rate.standard(),
        rate.width(),
        Reverse(rate.gi()),
        rate.nss(),
    )
}

/// Inserts a rate into the ranks by throughput, then by probability. Rates without throughput are
/// not ranked.
fn insert(ranks: &mut [u16; 2], entries: &[Entry], index: u16) {
    let rate = &entries[usize::from(index)];
    if rate.throughput <= 0.0 || ranks.contains(&index) {
        return;
    }
    let is_better = |than: u16| {
        let other = &entries[usize::from(than)];
        rate.throughput > other.throughput
            || (rate.throughput == other.throughput && rate.probability > other.probability)
    };
    if is_better(ranks[0]) {
        *ranks = [index, ranks[0]];
    } else if is_better(ranks[1]) {
        ranks[1] = index;
    }
}

impl Group {
    fn starting_at(first: u16, rate: TxRate) -> Self {
        let is_legacy = rate.standard().is_legacy();
        Self {
            first,
            len: 0,
            streams: rate.nss(),
            is_legacy,
            ranks: [first; 2],
            robust: None,
        }
    }

    fn members(&self) -> impl Iterator<Item = u16> + use<> {
        self.first..self.first + u16::from(self.len)
    }

    fn rank(&mut self, entries: &[Entry]) {
        let mut ranks = [self.first; 2];
        for index in self.members() {
            insert(&mut ranks, entries, index);
        }
        let robustness = |index: u16| entries[usize::from(index)].robustness();
        let useful = self
            .members()
            .filter(|&index| entries[usize::from(index)].throughput > 0.0);
        self.robust = useful.max_by(|&a, &b| robustness(a).total_cmp(&robustness(b)));
        self.ranks = ranks;
    }
}

impl Entry {
    fn new(rate: TxRate, group: u16, timing: Timing) -> Self {
        let is_legacy = rate.standard().is_legacy();
        let preamble_ns = rate.ppdu_duration(0, timing).as_nanos() as f64;
        let (packets, psdu, response) = if is_legacy {
            (1, PACKET_BYTES, ACK_BYTES)
        } else {
            (
                REFERENCE_AMPDU,
                ampdu_bytes(REFERENCE_AMPDU, PACKET_BYTES),
                BLOCK_ACK_BYTES,
            )
        };
        let data_ns = rate.ppdu_duration(psdu, timing).as_nanos() as f64 - preamble_ns;
        let response_ns = (SIFS + control_rate(rate).duration(response)).as_nanos() as f64;
        Self {
            rate,
            group,
            attempts: 0,
            acked: 0,
            probability: 0.0,
            throughput: 0.0,
            packet_ns: data_ns / f64::from(packets),
            overhead_ns: preamble_ns + response_ns,
            attempts_before: 0,
            acked_before: 0,
            unused_updates: 0,
        }
    }

    /// Takes the counts since the last update into the average.
    fn fold(&mut self, weight: f64) {
        if self.attempts == 0 {
            self.unused_updates = self.unused_updates.saturating_add(1);
            return;
        }
        let measured = f64::from(self.acked) / f64::from(self.attempts);
        let is_first = self.attempts_before == 0;
        self.probability = if is_first {
            measured
        } else {
            weight * self.probability + (1.0 - weight) * measured
        };
        self.attempts_before = self
            .attempts_before
            .saturating_add(u64::from(self.attempts));
        self.acked_before = self.acked_before.saturating_add(u64::from(self.acked));
        (self.attempts, self.acked, self.unused_updates) = (0, 0, 0);
    }

    /// Estimated packets per second with `ampdu` packets per frame.
    fn estimate(&self, ampdu: f64) -> f64 {
        if self.probability < MIN_PROBABILITY {
            return 0.0;
        }
        self.probability.min(MAX_PROBABILITY) * 1e9 / (self.overhead_ns / ampdu + self.packet_ns)
    }

    /// A figure that orders rates by robustness: rates above [`ROBUST`] by throughput, all others
    /// below them by probability.
    fn robustness(&self) -> f64 {
        if self.probability > ROBUST {
            1.0 + self.throughput
        } else {
            self.probability
        }
    }

    /// Whether so little of what was sent since the last update has arrived that the rate cannot be
    /// used.
    fn has_failed(&self) -> bool {
        self.attempts > FAILURE_ATTEMPTS
            && f64::from(self.acked) < FAILURE_PROBABILITY * f64::from(self.attempts)
    }
}
