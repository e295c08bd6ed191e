//! The time of a download that is measured: all of it after the ramp, or whole periods of the
//! sawtooth.

use super::Download;
use crate::tool::bulk::FlowSample;
use anyhow::{Result, bail};
use std::time::Duration;

/// A window that has fallen below this share of its peak has backed off: Cubic goes to 0.7, Reno to
/// one half.
const BACKED_OFF: f64 = 0.8;
/// Falls that follow each other within this time are one back-off: in a recovery the window follows
/// what is in flight. A recovery takes a few round trips.
const RECOVERY: Duration = Duration::from_secs(1);
/// Fewest whole periods of which a mean is taken: the first may still be that of slow start.
const FEWEST_PERIODS: usize = 2;

/// The time that is measured, since the flow began.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MeasuredTime {
    pub(super) from: Duration,
    pub(super) to: Duration,
    /// Whole periods in it, if it was cut to such.
    pub(super) periods: Option<usize>,
}

impl MeasuredTime {
    /// All time after the ramp.
    pub(super) fn all(download: &Download) -> Self {
        Self {
            from: download.ramp,
            to: download.ramp + download.measure,
            periods: None,
        }
    }

    /// # Errors
    /// There are too few whole periods.
    pub(super) fn of(download: &Download, samples: &[FlowSample]) -> Result<Self> {
        if !download.whole_periods {
            return Ok(Self::all(download));
        }
        let end = download.ramp + download.measure;
        let after = samples
            .iter()
            .filter(|sample| (download.ramp..=end).contains(&sample.at));
        let back_offs = back_offs(after);
        let periods = back_offs.len().saturating_sub(1);
        match (back_offs.first(), back_offs.last()) {
            (Some(&from), Some(&to)) if periods >= FEWEST_PERIODS => Ok(Self {
                from,
                to,
                periods: Some(periods),
            }),
            _ => bail!(
                "{} has {periods} whole periods in {:.0} s, and the mean of at least \
                 {FEWEST_PERIODS} is to be taken: measure for longer",
                download.algorithm.name(),
                download.measure.as_secs_f64()
            ),
        }
    }
}

/// When the window began to fall.
fn back_offs<'s>(samples: impl Iterator<Item = &'s FlowSample>) -> Vec<Duration> {
    let mut found: Vec<Duration> = Vec::new();
    let mut peak = 0;
    for sample in samples {
        peak = peak.max(sample.window_segments);
        if f64::from(sample.window_segments) < BACKED_OFF * f64::from(peak) {
            let is_new = found.last().is_none_or(|&last| sample.at > last + RECOVERY);
            if is_new {
                found.push(sample.at);
            }
            peak = sample.window_segments;
        }
    }
    found
}

/// Mean of the smoothed round-trip time within the measured time; zero without samples.
pub(super) fn mean_rtt_ms(samples: &[FlowSample], measured: &MeasuredTime) -> f64 {
    let within: Vec<f64> = samples
        .iter()
        .filter(|sample| sample.at > measured.from && sample.at <= measured.to)
        .map(|sample| sample.smoothed_rtt_ms)
        .collect();
    within.iter().sum::<f64>() / within.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use airpace_sim::transport::tcp::Algorithm;

    /// A sawtooth from 700 to 1000 segments with a period of 8 s, sampled every 10 ms; the window
    /// falls in three steps, and the round-trip time is in proportion to it.
    fn sawtooth(length: Duration) -> Vec<FlowSample> {
        let mut samples = Vec::new();
        for index in 0..length.as_millis() as u64 / 10 {
            let window_segments = match index % 800 {
                0 => 850,
                1 => 600,
                phase => 700 + (phase * 3 / 8) as u32,
            };
            samples.push(FlowSample {
                at: Duration::from_millis(10 * index),
                smoothed_rtt_ms: f64::from(window_segments) / 20.0,
                window_segments,
            });
        }
        samples
    }

    fn download(measure: u64) -> Download {
        Download {
            algorithm: Algorithm::Cubic,
            wired_delay: Duration::ZERO,
            ramp: Duration::from_secs(3),
            measure: Duration::from_secs(measure),
            whole_periods: true,
            seed: 1,
        }
    }

    #[test]
    fn whole_periods_are_measured_wherever_the_time_begins_and_ends() {
        let samples = sawtooth(Duration::from_secs(60));
        for measure in [22, 25, 29] {
            let measured = MeasuredTime::of(&download(measure), &samples).unwrap();
            assert_eq!(measured.periods, Some(2));
            assert_eq!(measured.to - measured.from, Duration::from_secs(16));
            let rtt_ms = mean_rtt_ms(&samples, &measured);
            assert!((rtt_ms - 42.5).abs() < 0.1, "{rtt_ms}");
        }
    }

    #[test]
    fn fewer_than_two_periods_are_refused() {
        let samples = sawtooth(Duration::from_secs(60));
        let error = MeasuredTime::of(&download(20), &samples).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("cubic has 1 whole periods in 20 s"),
            "{error}"
        );
    }
}
