//! Tells frames apart by the times at which a socket's packets arrived, and says how far that can be
//! relied upon.
//!
//! Where neither A-MPDU references nor MAC timestamps are seen, the kernel's receive timestamps are
//! all there is. The packets of a frame are handed over together, but interrupts are delayed and
//! combined, packets are merged, and the receiver may be busy with something else. Therefore trained
//! decision trees decide, for each gap between two arrivals, whether a frame begins after it, by the
//! gap and by what the last gaps looked like ([`GAP_FEATURES`]). Others judge from the last frames
//! whether the levels that come of it are within a few per cent ([`WINDOW_FEATURES`]).
//! `docs/design/sensors.md` has the training and the results. The trees are in `weights.rs`, which
//! `airpace bench classifier --train` writes.
//!
//! The memory is fixed, and only differences between times count.

mod history;
#[cfg(test)]
mod tests;
mod tree;
#[expect(
    clippy::approx_constant,
    reason = "thresholds of logarithms of small numbers look like them"
)]
mod weights;
mod window;

use airpace_units::Time;
use core::time::Duration;
use history::History;
pub use tree::{LEAVES, SPLITS, Tree};
use window::Window;

/// Names of the features of a gap.
pub const GAP_FEATURES: [&str; 12] = [
    "gap",
    "gap against the valley of all gaps",
    "share of the gaps that are shorter",
    "clarity of the valley",
    "gap against the one before",
    "packets of the frame against the mean",
    "gap against those between frames",
    "gap against those within frames",
    "duration of the frame",
    "same time",
    "valley",
    "packets of the frame",
];

/// Names of the features of the last frames.
pub const WINDOW_FEATURES: [&str; 18] = [
    "expected errors per frame",
    "expected excess of frames",
    "clarity of the valley",
    "intervals within 50 µs of each other",
    "intervals within 20 µs of each other",
    "variation of the intervals",
    "variation of the packets",
    "packets",
    "short gaps between frames",
    "time within frames",
    "mean interval",
    "short intervals against the median",
    "intervals at the lower edge",
    "interval before against packets",
    "interval after against packets",
    "interval per packet",
    "valley",
    "long intervals against the median",
];

/// Features of one gap.
pub type GapFeatures = [f64; GAP_FEATURES.len()];
/// Features of the last frames.
pub type WindowFeatures = [f64; WINDOW_FEATURES.len()];

/// Trees for gaps.
pub const GAP_TREES: usize = 12;
/// Trees for the last frames.
pub const WINDOW_TREES: usize = 40;

/// The trees: the logarithm of the odds is the sum of what they add.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Model {
    /// The odds that a frame begins after a gap.
    pub gap: [Tree; GAP_TREES],
    /// The odds that the level is not to be used.
    pub window: [Tree; WINDOW_TREES],
}

impl Model {
    /// The model that was trained.
    pub const TRAINED: Self = Self {
        gap: weights::GAP,
        window: weights::WINDOW,
    };

    /// The probability that a frame begins after a gap, 0 to 1.
    #[must_use]
    pub fn starts_frame(&self, features: &GapFeatures) -> f64 {
        tree::probability(&self.gap, features)
    }

    /// The probability that the level of the last frames is not to be used, 0 to 1.
    #[must_use]
    pub fn is_unusable(&self, features: &WindowFeatures) -> f64 {
        tree::probability(&self.window, features)
    }
}

/// What the classifier says about an arrival.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Verdict {
    /// Probability that the arrival is the first of a frame, 0 to 1.
    pub probability: f64,
    /// Whether it is taken for that.
    pub starts_frame: bool,
    /// The features behind it.
    pub features: GapFeatures,
}

/// Groups arrivals into frames by their times alone.
///
/// ```
/// use airpace_core::meter::classifier::{Model, TimestampClassifier};
/// use airpace_units::Time;
///
/// let mut classifier = TimestampClassifier::new(Model::TRAINED);
/// let mut frames = 0;
/// for frame in 0..200 {
///     for packet in 0..8 {
///         let at = Time::from_micros(1_000 * frame + 3 * packet + 7 * (frame % 16));
///         frames += u32::from(classifier.observe(at).starts_frame);
///     }
/// }
/// assert_eq!(frames, 200);
/// assert!((0.0..=1.0).contains(&classifier.confidence()));
/// ```
#[derive(Clone, Debug)]
pub struct TimestampClassifier {
    model: Model,
    history: History,
    window: Window,
    last: Option<Time>,
}

impl TimestampClassifier {
    /// A classifier that has seen nothing.
    #[must_use]
    pub fn new(model: Model) -> Self {
        Self {
            model,
            history: History::default(),
            window: Window::default(),
            last: None,
        }
    }

    /// Takes an arrival. One that is earlier than the last counts as simultaneous with it.
    pub fn observe(&mut self, at: Time) -> Verdict {
        let Some(last) = self.last else {
            self.last = Some(at);
            self.history.begin();
            self.window.begin();
            return Verdict {
                probability: 1.0,
                starts_frame: true,
                features: GapFeatures::default(),
            };
        };
        self.last = Some(last.max(at));
        let gap_us = us(at.saturating_since(last));
        let features = self.history.features(gap_us);
        let probability = self.model.starts_frame(&features);
        let starts_frame = probability > 0.5;
        self.window.add(gap_us, probability, starts_frame);
        self.history.add(gap_us, starts_frame);
        Verdict {
            probability,
            starts_frame,
            features,
        }
    }

    /// The gap after which a frame has surely ended.
    #[must_use]
    pub fn longest_gap(&self) -> Duration {
        Duration::from_secs_f64(1e-6 * self.history.valley_us())
    }

    /// What the second group of trees judges by: features of the last frames.
    #[must_use]
    pub fn window_features(&self) -> WindowFeatures {
        self.window
            .features(self.history.clarity(), self.history.valley_us())
    }

    /// How far the level of the last frames can be relied upon, 0 to 1; below
    /// [`USABLE`](crate::sensor::USABLE) it is not to be used. It is 0 until 32 frames have been seen.
    /// Cost: it sorts 128 numbers.
    #[must_use]
    pub fn confidence(&self) -> f64 {
        if !self.window.has_enough() {
            return 0.0;
        }
        1.0 - self.model.is_unusable(&self.window_features())
    }
}

/// Microseconds of a span, at most an hour.
fn us(span: Duration) -> f64 {
    (span.as_secs_f64() * 1e6).min(3.6e9)
}
