//! What a sweep comes to: per point the mean over the repetitions, with its confidence interval.

use super::Done;
use crate::results::SimulationSummary;
use serde::Serialize;
use std::fmt::Write as _;

/// One point of the grid.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SweepRow {
    /// Its values, as `key=value`.
    pub over: Vec<String>,
    /// Runs that the figures are of.
    pub runs: usize,
    /// Payload delivered, Mbit/s.
    pub goodput_mbps: Estimate,
    /// Mean of the stations' levels.
    pub level: Estimate,
    /// Mean delay, milliseconds.
    pub delay_mean_ms: Estimate,
    /// 95th percentile of the delay, milliseconds.
    pub delay_p95_ms: Estimate,
    /// Packets lost, as a share of those sent.
    pub loss: Estimate,
    /// Jain's index of the stations' airtime.
    pub jain_airtime: Estimate,
}

/// A mean and half the width of its 95 % confidence interval (Student's t); `null` without enough runs.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Estimate {
    /// The mean.
    pub mean: Option<f64>,
    /// Half the width of the interval.
    pub ci95: Option<f64>,
}

/// Two-sided 95 % quantiles of Student's t for 1 to 30 degrees of freedom.
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];
/// The same of the normal distribution.
const NORMAL: f64 = 1.960;

impl Estimate {
    /// Of `values`.
    pub fn of(values: &[f64]) -> Self {
        let n = values.len() as f64;
        if values.is_empty() {
            return Self::default();
        }
        let mean = values.iter().sum::<f64>() / n;
        let ci95 = (values.len() > 1).then(|| {
            let variance = values
                .iter()
                .map(|value| (value - mean).powi(2))
                .sum::<f64>()
                / (n - 1.0);
            STUDENT.get(values.len() - 2).copied().unwrap_or(NORMAL) * (variance / n).sqrt()
        });
        Self {
            mean: Some(mean),
            ci95,
        }
    }
}

impl std::fmt::Display for Estimate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let figures = |value: f64| if value.abs() >= 100.0 { 1 } else { 3 };
        match (self.mean, self.ci95) {
            (Some(mean), Some(ci95)) => write!(f, "{mean:.0$} ±{ci95:.0$}", figures(mean)),
            (Some(mean), None) => write!(f, "{mean:.0$}", figures(mean)),
            (None, _) => f.write_str("-"),
        }
    }
}

/// The points, in the order of `runs`.
#[must_use]
pub fn rows(runs: &[Done<'_>]) -> Vec<SweepRow> {
    let mut points: Vec<(&[String], Vec<&SimulationSummary>)> = Vec::new();
    for Done { over, run } in runs {
        match points.iter_mut().find(|(point, _)| point == over) {
            Some((_, summaries)) => summaries.push(&run.summary),
            None => points.push((over, vec![&run.summary])),
        }
    }
    points
        .into_iter()
        .map(|(over, summaries)| row(over, &summaries))
        .collect()
}

fn row(over: &[String], summaries: &[&SimulationSummary]) -> SweepRow {
    let of = |value: fn(&SimulationSummary) -> Option<f64>| {
        Estimate::of(
            &summaries
                .iter()
                .filter_map(|summary| value(summary))
                .collect::<Vec<_>>(),
        )
    };
    SweepRow {
        over: over.to_vec(),
        runs: summaries.len(),
        goodput_mbps: of(|summary| Some(summary.totals.goodput_mbps)),
        level: of(|summary| summary.totals.level),
        delay_mean_ms: of(|summary| summary.totals.delay_ms.map(|delay| delay.mean)),
        delay_p95_ms: of(|summary| summary.totals.delay_ms.map(|delay| delay.p95)),
        loss: of(|summary| {
            let totals = summary.totals;
            (totals.sent > 0).then(|| totals.dropped as f64 / totals.sent as f64)
        }),
        jain_airtime: of(|summary| summary.totals.jain_airtime),
    }
}

/// The points as text.
#[must_use]
pub fn table(rows: &[SweepRow]) -> String {
    let heads = [
        "",
        "runs",
        "goodput Mbit/s",
        "level",
        "delay ms",
        "p95 ms",
        "loss",
        "Jain airtime",
    ]
    .map(str::to_owned);
    let cells = rows.iter().map(|row| {
        let values = [
            row.goodput_mbps,
            row.level,
            row.delay_mean_ms,
            row.delay_p95_ms,
            row.loss,
            row.jain_airtime,
        ];
        let mut cells = vec![row.over.join(" "), row.runs.to_string()];
        cells.extend(values.iter().map(ToString::to_string));
        cells
    });
    let lines: Vec<Vec<String>> = std::iter::once(heads.to_vec()).chain(cells).collect();
    let mut text = crate::table::grid(&lines);
    let _ = writeln!(
        text,
        "± is half the 95 % confidence interval over the repetitions."
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_students_t() {
        let estimate = Estimate::of(&[1.0, 2.0, 3.0]);
        assert_eq!(estimate.mean, Some(2.0));
        assert!((estimate.ci95.unwrap() - 4.303 / 3.0_f64.sqrt()).abs() < 1e-9);
        assert_eq!(
            Estimate::of(&[5.0]),
            Estimate {
                mean: Some(5.0),
                ci95: None
            }
        );
        assert_eq!(Estimate::of(&[]).to_string(), "-");
    }
}
