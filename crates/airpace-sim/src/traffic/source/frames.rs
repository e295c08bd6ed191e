//! Video or virtual-reality frames: a burst of packets per frame.

use super::SourceError;
use super::rate::{Rate, Ticker};
use crate::rng::Stream;
use core::time::Duration;

/// A source of video frames, each split into packets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Frames {
    /// Frames per second ([`Rate::Packets`]), or the payload bit rate ([`Rate::Bits`]) from which
    /// the frame rate follows.
    pub rate: Rate,
    /// Mean payload of a frame in bytes; at least 1.
    pub mean_bytes: u32,
    /// How the sizes of frames vary.
    pub size: FrameSize,
    /// Payload of a full packet in bytes, at least 1. The last packet of a frame carries the
    /// remainder.
    pub packet_bytes: u32,
    /// When the packets of a frame leave.
    pub spread: Spread,
}

/// Distribution of the sizes of frames. Deviations are relative to the mean.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum FrameSize {
    /// All frames have the mean size.
    #[default]
    Constant,
    /// Normal, clamped to at least 1 byte and, to keep the mean, to less than twice the mean.
    Normal {
        /// Standard deviation over mean; at least 0.
        deviation: f64,
    },
    /// Log-normal, clamped to a hundred times the mean.
    LogNormal {
        /// Standard deviation over mean; at least 0.
        deviation: f64,
    },
}

/// When the packets of a frame leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Spread {
    /// All at once, at the start of the frame.
    #[default]
    BackToBack,
    /// Evenly over this time, the first at once. A time longer than the gap between frames delays
    /// the packets of the next frame.
    Over(Duration),
}

impl FrameSize {
    fn draw(self, mean_bytes: u32, stream: &mut Stream) -> u32 {
        let mean = f64::from(mean_bytes);
        let bytes = match self {
            Self::Constant => mean,
            Self::Normal { deviation } => {
                (mean * (1.0 + deviation * stream.normal())).clamp(1.0, (2.0 * mean - 1.0).max(1.0))
            }
            Self::LogNormal { deviation } => {
                // The mean is e^(μ + σ²/2) and the relative variance e^(σ²) - 1, so σ² = ln(1 +
                // variance) and μ = ln(mean) - σ²/2.
                let variance = (deviation * deviation).ln_1p();
                let scale = (variance.sqrt() * stream.normal() - variance / 2.0).exp();
                mean * scale.min(100.0)
            }
        };
        // The conversion saturates.
        (bytes.round() as u32).max(1)
    }

    fn is_valid(self) -> bool {
        match self {
            Self::Constant => true,
            Self::Normal { deviation } | Self::LogNormal { deviation } => {
                deviation.is_finite() && deviation >= 0.0
            }
        }
    }
}

/// A source of frames and the frame that it is sending.
#[derive(Clone, Debug)]
pub(super) struct FrameState {
    config: Frames,
    ticker: Ticker,
    /// Start of the current frame.
    frame_ns: u64,
    frame_bytes: u32,
    sent_bytes: u32,
    /// When the last packet left; packets never leave out of order.
    last_ns: u64,
}

impl FrameState {
    pub(super) fn new(
        config: Frames,
        phase: impl FnOnce(Option<f64>) -> u64,
    ) -> Result<Self, SourceError> {
        if config.mean_bytes == 0 || config.packet_bytes == 0 {
            return Err(SourceError::NoPayload);
        }
        if !config.size.is_valid() {
            return Err(SourceError::Deviation);
        }
        let gap = config.rate.gap(config.mean_bytes);
        let ticker = Ticker::new(phase(gap.map(super::rate::Gap::as_nanos_f64)), gap);
        Ok(Self {
            config,
            ticker,
            frame_ns: 0,
            frame_bytes: 0,
            sent_bytes: 0,
            last_ns: 0,
        })
    }

    pub(super) fn next(&mut self, stream: &mut Stream) -> Option<(u64, u32)> {
        if self.sent_bytes == self.frame_bytes {
            self.frame_ns = self.ticker.tick()?;
            self.frame_bytes = self.config.size.draw(self.config.mean_bytes, stream);
            self.sent_bytes = 0;
        }
        let bytes = self
            .config
            .packet_bytes
            .min(self.frame_bytes - self.sent_bytes);
        self.last_ns = self
            .last_ns
            .max(self.frame_ns.saturating_add(self.offset_ns()));
        self.sent_bytes += bytes;
        Some((self.last_ns, bytes))
    }

    /// How long after the start of the frame its next packet leaves.
    fn offset_ns(&self) -> u64 {
        let Spread::Over(span) = self.config.spread else {
            return 0;
        };
        // The product is below 2^94 · 2^32 and fits; the quotient is below the span.
        let ns =
            span.as_nanos() * u128::from(self.sent_bytes) / u128::from(self.frame_bytes.max(1));
        u64::try_from(ns).unwrap_or(u64::MAX)
    }

    /// A bit rate changes the size of frames, a packet rate their frequency.
    pub(super) fn set_rate(&mut self, now_ns: u64, rate: Rate) {
        let frames = match (rate, self.config.rate) {
            (Rate::Bits(bits), Rate::Packets { count, period }) if count > 0 => {
                // An encoder keeps its frame rate and changes the size of its frames. The product
                // of two u64 and a span below 2^94 could overflow an integer; a float is exact
                // enough for a mean.
                let bytes = bits.as_bps_f64() / 8.0 * period.as_secs_f64() / count as f64;
                self.config.mean_bytes = (bytes.round() as u32).max(1);
                if bits.bps() == 0 {
                    Rate::Bits(bits)
                } else {
                    self.config.rate
                }
            }
            _ => rate,
        };
        // A rate of zero silences the source; the frame rate is kept for when it speaks again.
        if frames != Rate::Bits(airpace_units::BitRate::ZERO) {
            self.config.rate = frames;
        }
        self.ticker
            .set_gap(now_ns, frames.gap(self.config.mean_bytes));
    }
}
