//! The figures of a sweep: per point the mean over the repetitions with its confidence interval.

use super::PointRun;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// One point of the grid.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SweepRow {
    /// Its values, as `key=value`.
    pub over: Vec<String>,
    /// Number of runs that the figures are means of.
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
    /// In how many of its runs there was which warning ([`crate::warnings`]).
    pub warnings: BTreeMap<String, usize>,
}

/// A mean and half the width of its 95 % confidence interval (Student's t); `null` without enough
/// runs.
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
    /// The estimate from independent `values`.
    #[must_use]
    pub fn of(values: &[f64]) -> Self {
        if values.is_empty() {
            return Self::default();
        }
        let n = values.len() as f64;
        let ci95 = variance(values).map(|variance| {
            // The first quantile is that of one degree of freedom, two values.
            let quantile = STUDENT.get(values.len() - 2).copied().unwrap_or(NORMAL);
            quantile * (variance / n).sqrt()
        });
        Self {
            mean: Some(mean(values)),
            ci95,
        }
    }

    /// Half the width of the 95 % confidence interval of the mean over `count` other values that spread
    /// as these do; `None` without a spread. That of these is taken for known (normal distribution).
    #[must_use]
    pub fn ci95_of_others(values: &[f64], count: u32) -> Option<f64> {
        let half = |variance: f64| NORMAL * (variance / f64::from(count)).sqrt();
        variance(values).map(half)
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The variance of what `values` are drawn from; `None` from one value, which says nothing about it.
fn variance(values: &[f64]) -> Option<f64> {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() > 1).then(|| squares / (values.len() as f64 - 1.0))
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
pub fn rows(runs: &[PointRun<'_>]) -> Vec<SweepRow> {
    let mut points: Vec<(&[String], Vec<&PointRun<'_>>)> = Vec::new();
    for run in runs {
        match points.iter_mut().find(|(point, _)| *point == run.over) {
            Some((_, runs)) => runs.push(run),
            None => points.push((run.over, vec![run])),
        }
    }
    let rows = points.iter().map(|(over, runs)| row(over, runs));
    rows.collect()
}

fn row(over: &[String], runs: &[&PointRun<'_>]) -> SweepRow {
    // Runs without a figure, for example the delay of a run in which nothing arrived, do not count
    // for its mean.
    let estimate = |value: &dyn Fn(&PointRun<'_>) -> Option<f64>| {
        let values: Vec<f64> = runs.iter().filter_map(|run| value(run)).collect();
        Estimate::of(&values)
    };
    let column = |name: &str| estimate(&|run| run.number(name));
    let mut warnings: BTreeMap<String, usize> = BTreeMap::new();
    for name in runs.iter().flat_map(|run| run.warnings()) {
        *warnings.entry(name.to_owned()).or_default() += 1;
    }
    SweepRow {
        over: over.to_vec(),
        runs: runs.len(),
        goodput_mbps: column("goodput_mbps"),
        level: column("level"),
        delay_mean_ms: column("delay_mean_ms"),
        delay_p95_ms: column("delay_p95_ms"),
        loss: estimate(&|run| {
            let sent = run.number("sent").filter(|&sent| sent > 0.0)?;
            Some(run.number("dropped")? / sent)
        }),
        jain_airtime: column("jain_airtime"),
        warnings,
    }
}

/// The points as text.
#[must_use]
pub fn table(rows: &[SweepRow]) -> String {
    let mut table = crate::table::table([
        "",
        "runs",
        "goodput Mbit/s",
        "level",
        "delay ms",
        "p95 ms",
        "loss",
        "Jain airtime",
    ]);
    for row in rows {
        table.add_row([
            row.over.join(" "),
            row.runs.to_string(),
            row.goodput_mbps.to_string(),
            row.level.to_string(),
            row.delay_mean_ms.to_string(),
            row.delay_p95_ms.to_string(),
            row.loss.to_string(),
            row.jain_airtime.to_string(),
        ]);
    }
    let mut text = crate::table::lines(&table);
    text += "± is half the 95 % confidence interval over the repetitions.\n";
    for row in rows {
        for (name, runs) in &row.warnings {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "Warning {name} in {runs} of {} runs of {}: `airpace sim run` with these settings \
                 says why.",
                row.runs,
                if row.over.is_empty() {
                    "the scenario".to_owned()
                } else {
                    row.over.join(" ")
                }
            );
        }
    }
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
