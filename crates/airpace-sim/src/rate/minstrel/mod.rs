//! Minstrel-HT: rate adaptation by measured delivery, as Linux's mac80211 does it.
//!
//! What is modelled is the generation of Linux 3.x to 5.10: success probabilities smoothed by an exponentially weighted moving
//! average (EWMA), throughput estimated from them and from the mean A-MPDU length, and samples spread by a pause after each. Linux
//! 5.11 and later replace the average by a second-order filter and the sampling by classes of rates; that is not modelled.
//! Differences from the kernel, each deliberate:
//!
//! - By default a sample is a whole frame and the pause between samples counts frames, as in ns-3. The kernel counts packets and
//!   its drivers send the sampled packet alone; [`Samples`] has both. The share of packets sent at sampled rates is the same, but with
//!   long A-MPDUs the kernel's way learns as many times faster as the frames are long.
//! - The statistics are updated every 100 ms, the interval that mac80211 documents; its HT code halves it. [`MinstrelHtConfig`] has both.
//! - All probabilities are updated before rates are compared; the kernel compares while it updates.
//! - Stations without HT are groups of the same table, which the kernel does since 5.11 (before, the older Minstrel served them);
//!   HE rates, which the kernel leaves to firmware, are grouped by the same rule.
//! - The retry chain is cut to as many tries as the MAC makes. There is no RTS for its later rates: RTS is the MAC's to decide.

mod chain;
mod sampling;
mod table;

use super::{AdaptationError, FrameResult};
use crate::rng::Stream;
use airpace_core::phy::{Timing, TxRate};
use airpace_units::{BitRate, Time};
use chain::Chain;
use core::time::Duration;
use sampling::Sampler;
use table::Table;

/// The interval between updates that mac80211 sets (rc80211_minstrel: update_interval = 100).
pub const UPDATE_INTERVAL: Duration = Duration::from_millis(100);
/// What its HT code makes of it, half; also ns-3's default.
pub const HALVED_UPDATE_INTERVAL: Duration = Duration::from_millis(50);
/// Weight of the past in the averages (rc80211_minstrel: EWMA_LEVEL 96 of EWMA_DIV 128).
pub const EWMA_WEIGHT: f64 = 0.75;

/// What one sample is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Samples {
    /// A frame as long as any other; the pause between samples counts frames. As ns-3 does.
    #[default]
    Frames,
    /// One packet alone in its frame; the pause counts packets. As Linux and its drivers ath9k and mt76 do. The MAC must keep to
    /// [`super::RateAdaptation::mpdu_limit`], or samples take a third of the air.
    Packets,
}

/// What a [`MinstrelHt`] is made of.
#[derive(Clone, Debug)]
pub struct MinstrelHtConfig {
    /// The rates it may use, in any order; see [`super::rates_up_to`]. Duplicates do no harm.
    pub rates: Vec<TxRate>,
    /// Time between updates of the statistics (default [`UPDATE_INTERVAL`]). An update happens with the first result after it.
    pub update_interval: Duration,
    /// Weight of the past in the averages, 0 to below 1 (default [`EWMA_WEIGHT`]).
    pub weight: f64,
    /// Transmissions that the MAC makes of a frame before it gives up, at least 1: the retry chain is cut to it (default 7, the MAC's retry limit).
    pub tries: u8,
    /// What one sample is (default [`Samples::Frames`]).
    pub samples: Samples,
    /// The conventions that durations follow (default [`Timing::Standard`]).
    pub timing: Timing,
    /// Seed of the run.
    pub seed: u64,
    /// Number of the link, which has a random stream of its own.
    pub link: u64,
}

impl MinstrelHtConfig {
    /// The defaults for a link with these rates.
    #[must_use]
    pub const fn new(rates: Vec<TxRate>, seed: u64, link: u64) -> Self {
        Self {
            rates,
            update_interval: UPDATE_INTERVAL,
            weight: EWMA_WEIGHT,
            tries: 7,
            samples: Samples::Frames,
            timing: Timing::Standard,
            seed,
            link,
        }
    }
}

/// What is known of one rate, as of the last update.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RateStatistics {
    /// The rate.
    pub rate: TxRate,
    /// Smoothed probability that an MPDU is acknowledged, 0 to 1; 0 too if the rate was never tried.
    pub probability: f64,
    /// Estimated goodput with packets of 1200 bytes and the link's mean A-MPDU length; zero below a probability of 10 %.
    pub throughput: BitRate,
    /// MPDUs sent at this rate so far.
    pub attempts: u64,
    /// MPDUs of those that were acknowledged.
    pub acked: u64,
}

/// Minstrel-HT for one directed link. `choose` and `on_result` take constant time but for the update, which visits every rate.
#[derive(Clone, Debug)]
pub struct MinstrelHt {
    table: Table,
    sampler: Sampler,
    chain: Chain,
    /// Whether the last first try was a sample: its retries then start at the second rate of the chain.
    sampling: bool,
    /// Whether the rate chosen last is for a sample that goes alone.
    is_lone_sample: bool,
    /// Place in the table of the rate chosen last, where its result belongs.
    last: u16,
    tries: u8,
    update_interval: Duration,
    next_update: Time,
}

impl MinstrelHt {
    /// An adaptation that knows nothing yet; it starts at the slowest rate and samples at once.
    ///
    /// # Errors
    /// [`AdaptationError`] if there are no rates, the weight is not in 0…1 or there are no tries.
    pub fn new(config: MinstrelHtConfig) -> Result<Self, AdaptationError> {
        if config.rates.is_empty() {
            return Err(AdaptationError::NoRates);
        }
        if !(0.0..1.0).contains(&config.weight) {
            return Err(AdaptationError::Weight {
                weight: config.weight,
            });
        }
        if config.tries == 0 {
            return Err(AdaptationError::NoTries);
        }
        let table = Table::new(config.rates, config.weight, config.timing);
        let mut random = Stream::new(config.seed, "minstrel", config.link);
        let sampler = Sampler::new(&table, config.samples, &mut random);
        let chain = Chain::new(&table, config.tries);
        Ok(Self {
            last: table.best(),
            table,
            sampler,
            chain,
            sampling: false,
            is_lone_sample: false,
            tries: config.tries,
            update_interval: config.update_interval,
            next_update: Time::ZERO.saturating_add(config.update_interval),
        })
    }

    /// The rate of the frame being built: the chain's entry for `unanswered`, or a sample as first try.
    #[inline]
    pub fn choose(&mut self, unanswered: u8) -> TxRate {
        if unanswered == 0 {
            let sample = self.sampler.next(&self.table);
            self.sampling = sample.is_some();
            self.is_lone_sample = self.sampling && self.sampler.samples_packets();
            self.last = sample.unwrap_or(self.chain.first());
        } else {
            self.is_lone_sample = false;
            self.last = self.chain.retry(unanswered, self.sampling);
        }
        self.table.rate(self.last)
    }

    /// The most MPDUs that the frame of the rate chosen last should carry: 1 if it is a sample of one packet, `None` if the rate sets no limit.
    #[inline]
    #[must_use]
    pub const fn mpdu_limit(&self) -> Option<u32> {
        if self.is_lone_sample { Some(1) } else { None }
    }

    /// Counts what became of a frame; rates that are not of this link's set are ignored.
    #[inline]
    pub fn on_result(&mut self, now: Time, result: &FrameResult) {
        let Some(index) = self.table.find(result.rate, self.last) else {
            return;
        };
        if result.mpdus == 0 {
            return;
        }
        let acked = result.acked.min(result.mpdus);
        self.table.count(index, result.mpdus, acked);
        self.sampler.on_frame(acked, self.table.mean_ampdu());
        let due = now >= self.next_update;
        if due {
            self.next_update = now.saturating_add(self.update_interval);
            self.table.update();
            self.sampler.on_update(&self.table);
        }
        if self.table.downgrade() || due {
            self.chain = Chain::new(&self.table, self.tries);
        }
    }

    /// The rate of the highest estimated throughput.
    #[must_use]
    pub fn best(&self) -> TxRate {
        self.table.rate(self.table.best())
    }

    /// The rates that a frame is tried at, in order: highest throughput, second highest, most robust; and how often each.
    #[must_use]
    pub fn chain(&self) -> [(TxRate, u8); 3] {
        self.chain
            .entries()
            .map(|(index, tries)| (self.table.rate(index), tries))
    }

    /// Whether the last first try was a sample.
    #[must_use]
    pub const fn is_sampling(&self) -> bool {
        self.sampling
    }

    /// Smoothed MPDUs per frame, at least 1.
    #[must_use]
    pub fn mean_ampdu(&self) -> f64 {
        self.table.mean_ampdu()
    }

    /// What is known of every rate, in groups of width, guard interval and streams, slowest group first.
    pub fn rates(&self) -> impl Iterator<Item = RateStatistics> + '_ {
        self.table.statistics()
    }
}

#[cfg(test)]
mod tests;
