//! Minstrel-HT: rate adaptation by measured delivery, as Linux's mac80211 does it.
//!
//! This models the version of Linux 3.x to 5.10: success probabilities smoothed by an exponentially
//! weighted moving average (EWMA), throughput estimated from them and from the mean A-MPDU length,
//! and samples separated by pauses. Linux 5.11 and later use a second-order filter instead of the
//! average and sample by classes of rates; that is not modelled. Deliberate differences from the
//! kernel:
//!
//! - By default a sample is a whole frame and the pause between samples counts frames, as in ns-3.
//!   The kernel counts packets and its drivers send the sampled packet alone; [`Samples`] offers
//!   both. The share of packets sent at sampled rates is the same, but with A-MPDUs of n packets
//!   the kernel learns n times as fast.
//! - The statistics are updated every 100 ms, the interval that mac80211 documents; its HT code
//!   halves it. [`MinstrelHtConfig`] allows both.
//! - All probabilities are updated before rates are compared; the kernel compares while it updates.
//! - Stations without HT are groups of the same table, which the kernel does since 5.11 (before,
//!   the older Minstrel served them); HE rates, which the kernel leaves to firmware, are grouped by
//!   the same rule.
//! - The retry chain is limited to the number of tries that the MAC makes. It does not ask for RTS
//!   at its later rates: that is left to the MAC.

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
use strum::{Display, EnumMessage, EnumString, IntoStaticStr, VariantArray};
use table::Table;

/// The interval between updates that mac80211 sets (rc80211_minstrel: update_interval = 100).
pub const UPDATE_INTERVAL: Duration = Duration::from_millis(100);
/// Half of it, which its HT code uses; also the default of ns-3.
pub const HALVED_UPDATE_INTERVAL: Duration = Duration::from_millis(50);
/// Weight of the past in the averages (rc80211_minstrel: EWMA_LEVEL 96 of EWMA_DIV 128).
pub const EWMA_WEIGHT: f64 = 0.75;

/// The unit of sampling. Displayed, parsed and listed (`strum`) as `frames` and `packets`.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Debug,
    Default,
    Display,
    EnumMessage,
    EnumString,
    IntoStaticStr,
    VariantArray,
    // By its path, because the trait has a constant of the same name as `VariantArray`.
    strum::VariantNames,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Samples {
    /// A sample is a frame of normal length, and the pause between samples counts frames, as in
    /// ns-3.
    #[default]
    Frames,
    /// A sample is a frame with a single packet, and the pause counts packets, as in Linux with the
    /// drivers ath9k and mt76. The MAC must respect [`super::RateAdaptation::mpdu_limit`];
    /// otherwise samples take a third of the airtime.
    Packets,
}

/// Configuration of [`MinstrelHt`].
#[derive(Clone, Debug)]
pub struct MinstrelHtConfig {
    /// The rates that it may use, in any order and with or without duplicates; see
    /// [`super::rates_up_to`].
    pub rates: Vec<TxRate>,
    /// Time between updates of the statistics (default [`UPDATE_INTERVAL`]). An update happens with
    /// the first result after that time.
    pub update_interval: Duration,
    /// Weight of the past in the averages, 0 to below 1 (default [`EWMA_WEIGHT`]).
    pub weight: f64,
    /// Transmissions of a frame before the MAC gives up, at least 1 (default 7, the retry limit of
    /// the MAC). It limits the retry chain.
    pub tries: u8,
    /// The unit of sampling (default [`Samples::Frames`]).
    pub samples: Samples,
    /// The conventions for durations of frames (default [`Timing::Standard`]).
    pub timing: Timing,
    /// Seed of the run.
    pub seed: u64,
    /// Number of the link; each link has its own random stream.
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

/// Statistics of one rate as of the last update.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RateStatistics {
    /// The rate.
    pub rate: TxRate,
    /// Smoothed probability (0 to 1) that an MPDU is acknowledged; 0 if the rate was never tried.
    pub probability: f64,
    /// Estimated goodput with packets of 1200 bytes and the mean A-MPDU length of the link; zero if
    /// the probability is below 10 %.
    pub throughput: BitRate,
    /// MPDUs sent at this rate so far.
    pub attempts: u64,
    /// How many of these were acknowledged.
    pub acked: u64,
}

/// Minstrel-HT for one directed link. `choose` and `on_result` take constant time, except for the
/// update, which visits every rate.
#[derive(Clone, Debug)]
pub struct MinstrelHt {
    table: Table,
    sampler: Sampler,
    chain: Chain,
    /// Whether the last first try was a sample: then its retries start at the second rate of the
    /// chain.
    sampling: bool,
    /// Whether the rate chosen last is for a sample of a single packet.
    is_lone_sample: bool,
    /// Index in the table of the rate chosen last, for which the next result is.
    last: u16,
    tries: u8,
    update_interval: Duration,
    next_update: Time,
}

impl MinstrelHt {
    /// An adaptation without statistics. It starts at the slowest rate and samples at once.
    ///
    /// # Errors
    /// [`AdaptationError`] if there are no rates, the weight is not from 0 to below 1, or there are
    /// no tries.
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

    /// The rate of the frame being built: a sample or the best rate as first try, then the retry
    /// chain.
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

    /// The most MPDUs that the frame at the rate chosen last should carry: 1 for a sample of a
    /// single packet, else `None`.
    #[inline]
    #[must_use]
    pub const fn mpdu_limit(&self) -> Option<u32> {
        if self.is_lone_sample { Some(1) } else { None }
    }

    /// Counts the result of a frame. Rates that are not in the configuration of the link are
    /// ignored.
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
        // The kernel also updates with a result and not by a timer.
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

    /// The rates at which a frame is tried, in order (highest throughput, second highest, most
    /// robust), and the number of tries at each.
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

    /// Whether the rate chosen last is a sample, and not one of its retries.
    #[must_use]
    pub fn is_probing(&self) -> bool {
        self.sampling
            && !self
                .chain
                .entries()
                .iter()
                .any(|(index, _)| *index == self.last)
    }

    /// The slowest rate at which the frame at the rate chosen last is tried: of that rate and the
    /// chain.
    #[must_use]
    pub fn slowest_of_chain(&self) -> TxRate {
        let chain = self
            .chain
            .entries()
            .map(|(index, _)| self.table.rate(index));
        let last = self.table.rate(self.last);
        chain.into_iter().fold(last, |slowest, rate| {
            if rate.rate() < slowest.rate() {
                rate
            } else {
                slowest
            }
        })
    }

    /// Smoothed MPDUs per frame, at least 1.
    #[must_use]
    pub fn mean_ampdu(&self) -> f64 {
        self.table.mean_ampdu()
    }

    /// The statistics of every rate, by groups of width, guard interval and streams, slowest group
    /// first.
    pub fn rates(&self) -> impl Iterator<Item = RateStatistics> + '_ {
        self.table.statistics()
    }
}

#[cfg(test)]
mod tests;
