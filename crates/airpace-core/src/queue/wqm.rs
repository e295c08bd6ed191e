use crate::model::wqm;
use crate::phy::AmpduLimits;
use airpace_units::BitRate;
use core::time::Duration;
use strum::{Display, EnumMessage, EnumString, IntoStaticStr, VariantNames};

/// How the time that a backlog takes to drain is estimated. Its name in configurations is the
/// variant in kebab-case.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    Debug,
    Default,
    Display,
    EnumMessage,
    EnumString,
    IntoStaticStr,
    VariantNames,
)]
#[strum(serialize_all = "kebab-case")]
pub enum DrainEstimate {
    /// As published (003 eq. 2): backlog / rate / free share. It uses the PHY rate as the rate at
    /// which packets leave, so it underestimates the drain time: at 600 Mbit/s by a factor of 1.3
    /// with frames of 42 packets, and of 12 with single packets.
    Published,
    /// The rate accounts for the overhead of each frame (003 eq. 6) at the mean A-MPDU length of
    /// the sample.
    #[default]
    WithOverhead,
}

/// Parameters of [`Wqm`]. Defaults are those of 003 §3.2 and §4.1, except for the estimate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WqmConfig {
    /// Time between samples. Default 100 ms, which is the interval of Minstrel.
    pub interval: Duration,
    /// Acceptable drain time. Default 2.5 ms.
    pub limit: Duration,
    /// How the drain time is estimated. Default [`DrainEstimate::WithOverhead`].
    pub drain: DrainEstimate,
    /// Consecutive intervals on the same side of the limit before the size changes, at least 1.
    /// Default 2 (the alarms of Algorithm 1).
    pub alarm_intervals: u32,
    /// Factor by which the size is multiplied when it decreases, 0 to 1. Default 0.5.
    pub decrease: f64,
    /// Packets by which the size increases. Default 1.
    pub increase: u32,
    /// Bytes of the packets that sizes are counted in, without MAC overhead, at least 1. Default
    /// 1500 (`L_DATA`).
    pub packet_bytes: u32,
    /// The longest A-MPDU that the node sends; sets the smallest size. Default 64 MPDUs, 65,535
    /// bytes (HT), 4 ms (ath9k).
    pub ampdu: AmpduLimits,
    /// The highest rate of the node; with A-MPDUs of `ampdu.window` it sets the largest size (003
    /// §3.2). Default 600 Mbit/s.
    pub top_rate: BitRate,
}

impl Default for WqmConfig {
    fn default() -> Self {
        Self {
            interval: Duration::from_millis(100),
            limit: Duration::from_micros(2_500),
            drain: DrainEstimate::default(),
            alarm_intervals: 2,
            decrease: 0.5,
            increase: 1,
            packet_bytes: 1_500,
            ampdu: wqm::AMPDU,
            top_rate: BitRate::from_mbps(600),
        }
    }
}

/// A node's queue and radio in one interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WqmSample {
    /// Bits in the queue (BL).
    pub backlog_bits: u64,
    /// The transmit rate that the rate control has chosen (R). Zero if it is unknown.
    pub rate: BitRate,
    /// Mean MPDUs per frame in the interval; values below 1 and NaN count as 1.
    pub mean_ampdu: f64,
    /// Share of time in which the channel is free for this node, 0 to 1 (F).
    pub free: f64,
}

/// WQM (003 Algorithm 1): sizes the queue above the driver by the time that its backlog takes to
/// drain.
///
/// After two consecutive intervals above the limit the size is halved; after two below, it grows by
/// one. It stays between the longest A-MPDU that the rate allows and the size that one A-MPDU and
/// the acks that answer it need at the highest rate. The caller sets the queue's limit to the
/// result of [`Wqm::on_interval`]; a backlog above it drains.
///
/// Algorithm 1 as printed keeps an alarm when the drain time equals the limit or the size is at its
/// bound. Here, as in its text, an alarm needs *consecutive* intervals: an interval on the other
/// side always ends it.
#[derive(Clone, Debug)]
pub struct Wqm {
    config: WqmConfig,
    packets: u32,
    /// The smallest size at the last known rate.
    least: u32,
    most: u32,
    /// Consecutive intervals above and below the limit.
    high: u32,
    low: u32,
    ignored: u64,
}

impl Wqm {
    /// Starts with the size for `rate` (003 eq. 1), within the bounds. Parameters outside their
    /// ranges are clamped.
    #[must_use]
    pub fn new(config: WqmConfig, rate: BitRate) -> Self {
        let config = checked(config);
        let most = config.packets(wqm::max_packets_of(
            config.top_rate.as_bps_f64(),
            config.mpdus(),
            config.data_bits(),
        ));
        let mut this = Self {
            config,
            packets: 0,
            least: 1,
            most: most.max(1),
            high: 0,
            low: 0,
            ignored: 0,
        };
        this.set_rate(rate);
        let longest = f64::from(this.least);
        this.packets = config.packets(wqm::max_packets_of(
            rate.as_bps_f64(),
            longest,
            config.data_bits(),
        ));
        this.keep_bounds();
        this
    }

    /// Takes the sample of one interval and returns the new size in packets.
    ///
    /// A sample without a rate, or with a free share that is NaN, is counted and otherwise ignored.
    pub fn on_interval(&mut self, sample: &WqmSample) -> u32 {
        let Some(drain_s) = self.drain_s(sample) else {
            self.ignored += 1;
            return self.packets;
        };
        self.set_rate(sample.rate);
        self.keep_bounds();
        let limit_s = self.config.limit.as_secs_f64();
        self.high = if drain_s > limit_s {
            self.high.saturating_add(1)
        } else {
            0
        };
        self.low = if drain_s < limit_s {
            self.low.saturating_add(1)
        } else {
            0
        };
        if self.high >= self.config.alarm_intervals {
            self.packets = self
                .config
                .packets(f64::from(self.packets) * self.config.decrease);
        } else if self.low >= self.config.alarm_intervals {
            self.packets = self.packets.saturating_add(self.config.increase);
        }
        self.keep_bounds();
        self.packets
    }

    /// The drain time of the backlog of `sample` in seconds; infinite if the channel is never free,
    /// `None` if the sample lacks a rate or a free share.
    #[must_use]
    pub fn drain_s(&self, sample: &WqmSample) -> Option<f64> {
        if sample.rate.bps() == 0 || sample.free.is_nan() {
            return None;
        }
        if sample.backlog_bits == 0 {
            return Some(0.0);
        }
        let rate = sample.rate.as_bps_f64();
        let rate = match self.config.drain {
            DrainEstimate::Published => rate,
            // `max` returns the other operand if one is NaN.
            DrainEstimate::WithOverhead => {
                let mpdus = sample.mean_ampdu.max(1.0).min(self.config.mpdus());
                wqm::goodput_bps(rate, mpdus, self.config.data_bits())
            }
        };
        // Backlogs are far below 2^53 bits.
        let backlog = sample.backlog_bits as f64;
        Some(wqm::drain_s(backlog, rate, sample.free.min(1.0)).unwrap_or(f64::INFINITY))
    }

    /// The size that the queue should have, in packets.
    #[must_use]
    pub const fn limit(&self) -> u32 {
        self.packets
    }

    /// The smallest size at the last known rate and the largest, in packets.
    #[must_use]
    pub const fn bounds(&self) -> (u32, u32) {
        (self.least, self.most)
    }

    /// Number of samples that were ignored.
    #[must_use]
    pub const fn ignored(&self) -> u64 {
        self.ignored
    }

    /// The parameters, after clamping.
    #[must_use]
    pub const fn config(&self) -> &WqmConfig {
        &self.config
    }

    fn set_rate(&mut self, rate: BitRate) {
        self.least = self.config.packets(wqm::min_packets_of(
            rate.as_bps_f64(),
            &self.config.ampdu,
            self.config.data_bits(),
        ));
        // The upper bound is never below the lower one: one frame must always fit.
        self.most = self.most.max(self.least);
    }

    fn keep_bounds(&mut self) {
        self.packets = self.packets.clamp(self.least, self.most);
    }
}

impl WqmConfig {
    fn data_bits(&self) -> f64 {
        8.0 * f64::from(self.packet_bytes)
    }

    fn mpdus(&self) -> f64 {
        f64::from(self.ampdu.window)
    }

    /// Whole packets, at least one. The conversion saturates and maps NaN to zero.
    fn packets(&self, packets: f64) -> u32 {
        (packets as u32).max(1)
    }
}

/// The parameters within their ranges.
fn checked(config: WqmConfig) -> WqmConfig {
    let default = WqmConfig::default();
    let decrease = if config.decrease.is_nan() {
        default.decrease
    } else {
        config.decrease.clamp(0.0, 1.0)
    };
    let ampdu = AmpduLimits {
        window: config.ampdu.window.max(1),
        ..config.ampdu
    };
    WqmConfig {
        decrease,
        ampdu,
        alarm_intervals: config.alarm_intervals.max(1),
        packet_bytes: config.packet_bytes.max(1),
        ..config
    }
}

#[cfg(test)]
mod tests;
