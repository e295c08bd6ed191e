//! Frames of video or of virtual reality: a burst of packets at each tick.

use super::rate::{Rate, Ticker};
use super::{SourceError, normal};
use crate::rng::Stream;
use core::time::Duration;

/// A source of frames, each split into packets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Frames {
    /// Frames per second ([`Rate::Packets`]), or the payload rate that frames of `mean_bytes` shall make ([`Rate::Bits`]).
    pub rate: Rate,
    /// Mean payload of a frame in bytes, at least 1.
    pub mean_bytes: u32,
    /// How the sizes of frames vary.
    pub size: FrameSize,
    /// Most payload of one packet in bytes, at least 1; the last packet of a frame has what is left.
    pub packet_bytes: u32,
    /// When the packets of a frame leave.
    pub spread: Spread,
}

/// How the sizes of frames vary. Deviations are relative to the mean.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum FrameSize {
    /// Not at all.
    #[default]
    Constant,
    /// Normally, cut off at 1 byte and, to keep the mean, at twice the mean.
    Normal {
        /// Standard deviation over mean, from 0.
        deviation: f64,
    },
    /// Log-normally, cut off at a hundred times the mean.
    LogNormal {
        /// Standard deviation over mean, from 0.
        deviation: f64,
    },
}

/// When the packets of a frame leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Spread {
    /// All at once.
    #[default]
    BackToBack,
    /// Evenly over this time, the first at once. What is longer than the time between frames delays the next frame's packets.
    Over(Duration),
}

impl FrameSize {
    fn draw(self, mean_bytes: u32, stream: &mut Stream) -> u32 {
        let mean = f64::from(mean_bytes);
        let bytes = match self {
            Self::Constant => mean,
            Self::Normal { deviation } => {
                (mean * (1.0 + deviation * normal(stream))).clamp(1.0, (2.0 * mean - 1.0).max(1.0))
            }
            Self::LogNormal { deviation } => {
                // Mean e^(μ + σ²/2), relative variance e^(σ²) - 1.
                let variance = (deviation * deviation).ln_1p();
                let scale = (variance.sqrt() * normal(stream) - variance / 2.0).exp();
                mean * scale.min(100.0)
            }
        };
        // Saturates.
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

#[derive(Clone, Debug)]
pub(super) struct FrameState {
    config: Frames,
    ticker: Ticker,
    /// Start of the present frame and its time per byte over which it is spread.
    frame_ns: u64,
    frame_bytes: u32,
    sent_bytes: u32,
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

    /// How long after the frame's start its present packet leaves.
    fn offset_ns(&self) -> u64 {
        let Spread::Over(span) = self.config.spread else {
            return 0;
        };
        // Below 2^94 · 2^32: fits; the quotient is below the span.
        let ns =
            span.as_nanos() * u128::from(self.sent_bytes) / u128::from(self.frame_bytes.max(1));
        u64::try_from(ns).unwrap_or(u64::MAX)
    }

    /// A bit rate changes the size of frames, a rate of frames how often they come.
    pub(super) fn set_rate(&mut self, now_ns: u64, rate: Rate) {
        let frames = match (rate, self.config.rate) {
            (Rate::Bits(bits), Rate::Packets { count, period }) if count > 0 => {
                // The product of two u64 and a span below 2^94 could overflow: floats do for a mean.
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
        if frames != Rate::Bits(airpace_units::BitRate::ZERO) {
            self.config.rate = frames;
        }
        self.ticker
            .set_gap(now_ns, frames.gap(self.config.mean_bytes));
    }
}
