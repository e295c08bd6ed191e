use super::RateStatistics;
use airpace_core::phy::{
    ACK_BYTES, BLOCK_ACK_BYTES, SIFS, Timing, TxRate, ampdu_bytes, control_rate,
};
use airpace_units::BitRate;
use core::cmp::Reverse;

/// The packet that throughput is estimated for, and the A-MPDU over which its symbols are averaged
/// (rc80211_minstrel_ht: AVG_PKT_SIZE, AVG_AMPDU_SIZE).
const PACKET_BYTES: u32 = 1_200;
const REFERENCE_AMPDU: u32 = 16;
/// A rate below this probability counts as no throughput at all; above the other, losses are taken for collisions.
const USELESS: f64 = 0.10;
const AS_GOOD_AS_IT_GETS: f64 = 0.90;
/// Above this probability a rate is robust enough for throughput to decide.
const ROBUST: f64 = 0.75;
/// A rate in use has died if of more than this many MPDUs since the last update fewer than this share arrived.
const DEATH_ATTEMPTS: u32 = 30;
const DEATH_PROBABILITY: f64 = 0.20;

/// What is known of one rate.
#[derive(Clone, Debug)]
struct Entry {
    rate: TxRate,
    group: u16,
    /// MPDUs since the last update.
    attempts: u32,
    acked: u32,
    probability: f64,
    /// Packets per second.
    throughput: f64,
    /// Air that a packet's data takes, and that a frame takes besides.
    packet_ns: f64,
    overhead_ns: f64,
    attempts_before: u64,
    acked_before: u64,
    unused_updates: u8,
}

/// Rates of the same streams, guard interval, width and standard, in a row.
#[derive(Clone, Debug)]
struct Group {
    first: u16,
    len: u8,
    streams: u8,
    is_legacy: bool,
    ranks: [u16; 2],
    robust: Option<u16>,
}

/// All rates of a link, their statistics, and which are best.
#[derive(Clone, Debug)]
pub(super) struct Table {
    entries: Vec<Entry>,
    groups: Vec<Group>,
    ranks: [u16; 2],
    robust: u16,
    slowest: u16,
    weight: f64,
    mean_ampdu: f64,
    frames: u32,
    mpdus: u64,
}

impl Table {
    /// A table of `rates`, of which there is at least one. The best of an unknown link is the slowest.
    pub(super) fn new(mut rates: Vec<TxRate>, weight: f64, timing: Timing) -> Self {
        // The kernel's order of groups, slower before faster: width, guard interval, streams.
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

    /// The place of `rate`: most likely `guess` or in the chain.
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

    /// Folds what was counted since the last update into the averages and finds the best rates anew.
    pub(super) fn update(&mut self) {
        if self.frames > 0 {
            let mean = self.mpdus as f64 / f64::from(self.frames);
            self.mean_ampdu = self.weight * self.mean_ampdu + (1.0 - self.weight) * mean;
            (self.frames, self.mpdus) = (0, 0);
        }
        for entry in &mut self.entries {
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

    fn rank(&mut self) {
        for group in &mut self.groups {
            group.rank(&self.entries);
        }
        // Frames without aggregation do not mix with frames that have it: legacy rates count only if one of them is the best.
        let top = |is_legacy| {
            let of_kind = self
                .groups
                .iter()
                .filter(move |group| group.is_legacy == is_legacy);
            of_kind
                .map(|group| self.entries[usize::from(group.ranks[0])].throughput)
                .fold(0.0, f64::max)
        };
        let with_legacy = top(true) > top(false);
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

    /// The most robust rate, with fewer streams than the best rate has if such a rate delivers anything.
    fn find_robust(&self, with_legacy: bool) -> u16 {
        let streams =
            self.groups[usize::from(self.entries[usize::from(self.best())].group)].streams;
        let robust = |group: &Group| {
            group
                .robust
                .map(|index| (index, &self.entries[usize::from(index)]))
        };
        let fewer = self
            .groups
            .iter()
            .filter(|group| !group.is_legacy && group.streams < streams)
            .filter_map(robust);
        let any = self
            .groups
            .iter()
            .filter(|group| with_legacy || !group.is_legacy)
            .filter_map(robust);
        fewer
            .max_by(|a, b| a.1.throughput.total_cmp(&b.1.throughput))
            .or_else(|| any.max_by(|a, b| a.1.robustness().total_cmp(&b.1.robustness())))
            .map_or(self.slowest, |(index, _)| index)
    }

    /// If one of the two best rates has died since the last update, as several streams at once do, takes that of the next slower
    /// group with no more streams in its place. Whether there was such a change.
    #[inline]
    pub(super) fn downgrade(&mut self) -> bool {
        let mut changed = false;
        for place in [0, 1] {
            if self.entries[usize::from(self.ranks[place])].has_died() {
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

    /// The place of rate number `member` of `group`.
    pub(super) fn member(&self, group: u16, member: u8) -> Option<u16> {
        let group = &self.groups[usize::from(group)];
        (member < group.len).then(|| group.first + u16::from(member))
    }

    pub(super) fn probability(&self, index: u16) -> f64 {
        self.entries[usize::from(index)].probability
    }

    /// Updates in a row in which the rate was not tried; 255 and more are 255.
    pub(super) fn unused_updates(&self, index: u16) -> u8 {
        self.entries[usize::from(index)].unused_updates
    }

    /// Air that one frame of the mean length takes at this rate, with its response.
    pub(super) fn frame_ns(&self, index: u16) -> f64 {
        let entry = &self.entries[usize::from(index)];
        let is_legacy = self.groups[usize::from(entry.group)].is_legacy;
        entry.overhead_ns + entry.packet_ns * if is_legacy { 1.0 } else { self.mean_ampdu }
    }

    /// Whether a rate is no faster than the slower of the two best, and is neither faster than the most robust one nor of fewer streams
    /// than the best: then there is little to learn from it while the link works.
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
        let no_robuster =
            streams(index) >= streams(faster) || packet_ns >= entry(self.robust).packet_ns;
        packet_ns >= entry(slower).packet_ns && no_robuster
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

/// Rates with equal keys are one group; groups are in order of their keys.
fn group_key(rate: TxRate) -> impl Ord {
    (
        rate.standard(),
        rate.width(),
        Reverse(rate.gi()),
        rate.nss(),
    )
}

/// Puts a rate in its place among the ranks by throughput, then probability. Rates that deliver nothing have no rank.
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

    /// Packets per second with `ampdu` packets per frame.
    fn estimate(&self, ampdu: f64) -> f64 {
        if self.probability < USELESS {
            return 0.0;
        }
        self.probability.min(AS_GOOD_AS_IT_GETS) * 1e9 / (self.overhead_ns / ampdu + self.packet_ns)
    }

    /// Orders rates by robustness: above [`ROBUST`] by throughput, below by probability, and the former above the latter.
    fn robustness(&self) -> f64 {
        if self.probability > ROBUST {
            1.0 + self.throughput
        } else {
            self.probability
        }
    }

    fn has_died(&self) -> bool {
        self.attempts > DEATH_ATTEMPTS
            && f64::from(self.acked) < DEATH_PROBABILITY * f64::from(self.attempts)
    }
}
