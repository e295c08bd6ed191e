//! What the last frames look like, as far as it tells whether they can be relied upon.

use super::WindowFeatures;

/// Frames remembered.
const FRAMES: usize = 128;
/// Frames that must have been seen before they are judged.
const ENOUGH: usize = 32;
/// Weight of a gap in the means of errors: some 20 frames of 12 packets.
const GAIN: f64 = 1.0 / 256.0;
/// Intervals within so many microseconds of each other are of equal length. Back-off alone spreads
/// those between frames over 15 slots of 9 µs; timers that combine interrupts do not.
const EQUAL_US: f64 = 50.0;
/// Jitter permitting, those of timers are even closer.
const CLOSE_US: f64 = 20.0;
/// Intervals that are longer than the short ones by no more than this are at the lower edge.
const EDGE_US: f64 = 40.0;
/// The next frame to the same station needs at least SIFS, block ack, AIFS and preamble,
/// microseconds.
const NEXT_FRAME_US: f64 = 131.0;

/// One frame as it was taken.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// From its first arrival to the first of the next, microseconds.
    interval_us: f64,
    /// From its first arrival to its last, microseconds.
    extent_us: f64,
    packets: f64,
}

/// The last frames, and what was expected of the decisions about them.
#[derive(Clone, Debug)]
pub(super) struct Window {
    seen: [Seen; FRAMES],
    count: usize,
    open: Seen,
    /// Means per gap: probability of a wrong decision, probability less decision, and decision.
    wrong: f64,
    excess: f64,
    frames: f64,
}

impl Default for Window {
    fn default() -> Self {
        Self {
            seen: [Seen::default(); FRAMES],
            count: 0,
            open: Seen::default(),
            wrong: 0.0,
            excess: 0.0,
            frames: 0.25,
        }
    }
}

impl Window {
    /// Takes the first arrival.
    pub(super) const fn begin(&mut self) {
        self.open.packets = 1.0;
    }

    /// Takes a gap and the decision about it.
    pub(super) fn add(&mut self, gap_us: f64, probability: f64, starts_frame: bool) {
        let decision = f64::from(starts_frame);
        let mix = |mean: &mut f64, value: f64| *mean += GAIN * (value - *mean);
        mix(&mut self.wrong, (probability - decision).abs());
        mix(&mut self.excess, probability - decision);
        mix(&mut self.frames, decision);
        self.open.interval_us += gap_us;
        if starts_frame {
            self.seen[self.count % FRAMES] = self.open;
            self.count += 1;
            self.open = Seen {
                packets: 1.0,
                ..Seen::default()
            };
        } else {
            self.open.extent_us = self.open.interval_us;
            self.open.packets += 1.0;
        }
    }

    /// Whether enough frames have been seen.
    pub(super) const fn has_enough(&self) -> bool {
        self.count >= ENOUGH
    }

    /// The features, with the clarity and the place of the valley of all gaps.
    pub(super) fn features(&self, clarity: f64, valley_us: f64) -> WindowFeatures {
        let seen = &self.seen[..self.count.min(FRAMES)];
        let frames = self.frames.max(1e-3);
        let mut intervals = self.seen.map(|frame| frame.interval_us);
        let intervals = &mut intervals[..seen.len()];
        intervals.sort_by(f64::total_cmp);
        let n = seen.len().max(1) as f64;
        let mean = |of: fn(&Seen) -> f64| seen.iter().map(of).sum::<f64>() / n;
        let packets = mean(|frame| frame.packets);
        let interval_us = mean(|frame| frame.interval_us).max(1.0);
        let spread = |of: fn(&Seen) -> f64, mean: f64| {
            let square: f64 = seen.iter().map(|frame| (of(frame) - mean).powi(2)).sum();
            ((square / n).sqrt() / mean.max(1e-9)).min(3.0)
        };
        let short = seen
            .iter()
            .filter(|frame| frame.interval_us - frame.extent_us < NEXT_FRAME_US)
            .count();
        let at = |share: f64| quantile(intervals, share).max(1.0);
        let (low, median, high) = (at(0.05), at(0.5), at(0.95));
        let edge = intervals.iter().filter(|&&us| us <= low + EDGE_US).count();
        [
            (self.wrong / frames).min(1.0),
            (self.excess / frames).clamp(-1.0, 1.0),
            1.0 - clarity,
            equal_share(intervals, EQUAL_US),
            equal_share(intervals, CLOSE_US),
            spread(|frame| frame.interval_us, interval_us),
            spread(|frame| frame.packets, packets),
            packets.max(1.0).ln(),
            short as f64 / n,
            (mean(|frame| frame.extent_us) / interval_us).min(1.0),
            interval_us.ln(),
            low / median,
            edge as f64 / n,
            self.correlation(1),
            self.correlation(0),
            (interval_us / packets.max(1.0)).ln(),
            valley_us.max(1.0).ln(),
            (high / median).min(10.0),
        ]
    }

    /// Correlation of the packets of frames with the intervals that end (`lag` 1) or begin (0) with
    /// them, -1 to 1.
    fn correlation(&self, lag: usize) -> f64 {
        let first = self.count.saturating_sub(FRAMES);
        let (mut n, mut x, mut y, mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0);
        for idx in first + lag..self.count {
            let packets = self.seen[idx % FRAMES].packets;
            let interval = self.seen[(idx - lag) % FRAMES].interval_us;
            n += 1.0;
            x += packets;
            y += interval;
            xx += packets * packets;
            yy += interval * interval;
            xy += packets * interval;
        }
        let covariance = n * xy - x * y;
        let variances = (n * xx - x * x).max(0.0) * (n * yy - y * y).max(0.0);
        if variances > 0.0 {
            (covariance / variances.sqrt()).clamp(-1.0, 1.0)
        } else {
            0.0
        }
    }
}

/// The number below which a share of sorted numbers lies; 0 of none.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = share * sorted.len().saturating_sub(1) as f64;
    // Not negative, and below the length.
    sorted.get(at as usize).copied().unwrap_or(0.0)
}

/// The largest share of sorted numbers within `width` of each other.
fn equal_share(sorted: &[f64], width: f64) -> f64 {
    let (mut most, mut first) = (0, 0);
    for (last, &value) in sorted.iter().enumerate() {
        while sorted[first] < value - width {
            first += 1;
        }
        most = most.max(last + 1 - first);
    }
    most as f64 / sorted.len().max(1) as f64
}
