//! What users notice of latency, as two numbers: round trips per minute and Quality of Outcome.
//!
//! Sources: draft-ietf-ippm-responsiveness-08 (RPM, its four categories, trimmed means, their combination
//! without TLS) and draft-ietf-ippm-qoo-09 (QoO). `docs/responsiveness.md` says what differs.

use serde::Serialize;

/// Share of the samples, from the shortest on, that a trimmed mean takes (draft-ietf-ippm-responsiveness,
/// parameter TMP).
pub const TRIMMED_TO: f64 = 0.95;

/// Mean of the shortest 95 % of the samples, at least of one; `None` without samples. Values that are
/// not numbers are ignored.
#[must_use]
pub fn trimmed_mean(samples: &[f64]) -> Option<f64> {
    let sorted = sorted(samples);
    let count = ((sorted.len() as f64 * TRIMMED_TO).floor() as usize).max(1);
    let kept = sorted.get(..count)?;
    Some(kept.iter().sum::<f64>() / count as f64)
}

fn sorted(samples: &[f64]) -> Vec<f64> {
    let mut sorted: Vec<f64> = samples.iter().copied().filter(|ms| !ms.is_nan()).collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// Round trips per minute for a round trip of so many milliseconds; `None` if that is not above 0.
#[must_use]
pub fn rpm(round_trip_ms: f64) -> Option<f64> {
    (round_trip_ms > 0.0).then(|| 60_000.0 / round_trip_ms)
}

/// How good a responsiveness is, in the four categories of draft-ietf-ippm-responsiveness-08, section
/// 1.2.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// Up to 300 round trips per minute: 200 ms or more.
    Poor,
    /// Up to 1000, 60 ms.
    Fair,
    /// Up to 6000, 10 ms.
    Good,
    /// From 6000 on.
    Excellent,
}

impl Grade {
    /// The category of so many round trips per minute.
    #[must_use]
    pub fn of(rpm: f64) -> Self {
        if rpm >= 6000.0 {
            Self::Excellent
        } else if rpm >= 1000.0 {
            Self::Good
        } else if rpm > 300.0 {
            Self::Fair
        } else {
            Self::Poor
        }
    }

    /// The category as a word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Poor => "poor",
            Self::Fair => "fair",
            Self::Good => "good",
            Self::Excellent => "excellent",
        }
    }
}

/// Durations of probes in milliseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Probes {
    /// TCP handshakes of connections of their own (`tcp_f`).
    pub connect_ms: Vec<f64>,
    /// Requests on these connections, to their answers (`http_f`).
    pub request_ms: Vec<f64>,
    /// Requests on connections that carry load (`http_l`).
    pub loaded_ms: Vec<f64>,
}

/// Responsiveness as the draft combines it without TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Responsiveness {
    /// On connections of their own: handshake and request have the same weight.
    pub foreign_rpm: Option<f64>,
    /// On connections that carry load.
    pub loaded_rpm: Option<f64>,
    /// The mean of both; `None` if one is missing.
    pub rpm: Option<f64>,
}

impl Probes {
    /// The responsiveness that these probes show.
    #[must_use]
    pub fn responsiveness(&self) -> Responsiveness {
        let connect = trimmed_mean(&self.connect_ms);
        let request = trimmed_mean(&self.request_ms);
        let foreign_rpm = match (connect, request) {
            (Some(connect), Some(request)) => rpm((connect + request) / 2.0),
            _ => None,
        };
        let loaded_rpm = trimmed_mean(&self.loaded_ms).and_then(rpm);
        let both = foreign_rpm.zip(loaded_rpm);
        Responsiveness {
            foreign_rpm,
            loaded_rpm,
            rpm: both.map(|(foreign, loaded)| (foreign + loaded) / 2.0),
        }
    }

    /// Adds the probes of another set.
    pub fn append(&mut self, other: &Self) {
        self.connect_ms.extend(&other.connect_ms);
        self.request_ms.extend(&other.request_ms);
        self.loaded_ms.extend(&other.loaded_ms);
    }
}

/// What a percentile of the latency may be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LatencyBound {
    /// The percentile, above 0 and at most 100.
    pub percentile: f64,
    /// Latency up to which the outcome is perfect, ms: the requirement for optimal performance (ROP).
    pub perfect_ms: f64,
    /// Latency from which on the application is unusable, ms: the condition at the point of unacceptable
    /// performance (CPUP).
    pub unusable_ms: f64,
}

/// What an application needs of a network (draft-ietf-ippm-qoo-09, section 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Requirement {
    /// Bounds of percentiles of the round-trip time.
    pub latency: [LatencyBound; 3],
    /// Share of lost packets up to which the outcome is perfect.
    pub perfect_loss: f64,
    /// Share of lost packets from which on the application is unusable.
    pub unusable_loss: f64,
    /// Throughput below which the application is unusable, Mbit/s.
    pub least_mbps: f64,
}

impl Requirement {
    /// A video call. The draft leaves the numbers to whoever knows the application; these follow the
    /// one-way delays of ITU-T G.114 (150 ms are good, 400 ms the limit), less what coding and buffers
    /// of a call take. The throughput is that of the draft's examples.
    pub const VIDEO_CALL: Self = Self {
        latency: [
            LatencyBound {
                percentile: 50.0,
                perfect_ms: 50.0,
                unusable_ms: 200.0,
            },
            LatencyBound {
                percentile: 95.0,
                perfect_ms: 100.0,
                unusable_ms: 300.0,
            },
            LatencyBound {
                percentile: 99.0,
                perfect_ms: 150.0,
                unusable_ms: 400.0,
            },
        ],
        perfect_loss: 0.001,
        unusable_loss: 0.05,
        least_mbps: 4.0,
    };

    /// Quality of Outcome from 0 (unusable) to 100 (perfect), as draft-ietf-ippm-qoo-09 has it in section
    /// 3.3: the worst of the scores of all percentiles (3.3.2) and of the loss (3.3.3), each linear
    /// between its bounds, and 0 if the throughput is too low (3.3.4). `loss` is a share; a throughput
    /// that was not measured, `None`, is left out. `None` without samples.
    #[must_use]
    pub fn score(&self, latency_ms: &[f64], loss: f64, mbps: Option<f64>) -> Option<f64> {
        let sorted = sorted(latency_ms);
        let mut worst = linear(loss, self.perfect_loss, self.unusable_loss);
        if mbps.is_some_and(|mbps| mbps < self.least_mbps) {
            worst = 0.0;
        }
        for bound in &self.latency {
            let latency = percentile(&sorted, bound.percentile)?;
            worst = worst.min(linear(latency, bound.perfect_ms, bound.unusable_ms));
        }
        Some(worst)
    }
}

/// 100 up to `perfect`, 0 from `unusable` on.
fn linear(value: f64, perfect: f64, unusable: f64) -> f64 {
    (100.0 * (1.0 - (value - perfect) / (unusable - perfect))).clamp(0.0, 100.0)
}

/// The smallest sample that is not exceeded by this percentage of all (nearest rank).
fn percentile(sorted: &[f64], percentile: f64) -> Option<f64> {
    let rank = (percentile / 100.0 * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_twentieth_does_not_count() {
        let mut samples: Vec<f64> = vec![20.0; 95];
        samples.extend([2_000.0; 5]);
        assert_eq!(trimmed_mean(&samples), Some(20.0));
        assert_eq!(trimmed_mean(&[7.0]), Some(7.0));
        assert_eq!(trimmed_mean(&[f64::NAN]), None);
        assert_eq!((rpm(20.0), rpm(0.0)), (Some(3_000.0), None));
    }

    #[test]
    fn responsiveness_is_the_mean_of_foreign_and_loaded_round_trips_per_minute() {
        let probes = Probes {
            connect_ms: vec![20.0; 20],
            request_ms: vec![40.0; 20],
            loaded_ms: vec![60.0; 20],
        };
        let responsiveness = probes.responsiveness();
        assert_eq!(responsiveness.foreign_rpm, Some(2_000.0));
        assert_eq!(responsiveness.loaded_rpm, Some(1_000.0));
        assert_eq!(responsiveness.rpm, Some(1_500.0));
        let without = Probes {
            loaded_ms: Vec::new(),
            ..probes
        };
        assert_eq!(without.responsiveness().rpm, None);
    }

    #[test]
    fn the_outcome_is_as_good_as_its_worst_part() {
        let call = Requirement::VIDEO_CALL;
        let score = |latency: &[f64], loss| call.score(latency, loss, None).unwrap();
        assert_eq!(score(&[10.0; 100], 0.0), 100.0);
        assert_eq!(score(&[125.0; 100], 0.0), 50.0, "the median of 125 ms");
        assert_eq!(score(&[500.0; 100], 0.0), 0.0);
        assert_eq!(score(&[10.0; 100], 0.05), 0.0, "loss alone");
        let mut tail = vec![10.0; 98];
        tail.extend([275.0; 2]);
        assert_eq!(score(&tail, 0.0), 50.0, "the 99th percentile of 275 ms");
        assert_eq!(call.score(&[], 0.0, None), None);
    }

    #[test]
    fn the_example_of_the_draft_has_its_score() {
        // draft-ietf-ippm-qoo-09, section 3.4.
        let bound = |percentile, perfect_ms, unusable_ms| LatencyBound {
            percentile,
            perfect_ms,
            unusable_ms,
        };
        let requirement = Requirement {
            latency: [
                bound(99.0, 200.0, 500.0),
                bound(99.0, 200.0, 500.0),
                bound(99.9, 300.0, 600.0),
            ],
            perfect_loss: 0.01,
            unusable_loss: 0.05,
            least_mbps: 4.0,
        };
        let mut latency = vec![100.0; 989];
        latency.extend([350.0; 9]);
        latency.extend([375.0; 2]);
        let score = |loss, mbps| requirement.score(&latency, loss, mbps).unwrap();
        assert!((score(0.02, Some(28.0)) - 50.0).abs() < 1e-9);
        assert!(
            (score(0.04, Some(28.0)) - 25.0).abs() < 1e-9,
            "the loss decides"
        );
        assert_eq!(score(0.02, Some(3.9)), 0.0, "too little throughput");
        assert!((score(0.02, None) - 50.0).abs() < 1e-9);
    }

    #[test]
    fn grades_are_those_of_the_draft() {
        let grades = [0.0, 300.0, 301.0, 999.0, 1000.0, 5999.0, 6000.0].map(Grade::of);
        let words = grades.map(Grade::name);
        assert_eq!(
            words,
            ["poor", "poor", "fair", "fair", "good", "good", "excellent"]
        );
    }
}
