//! The demo's summary as a table of text.

use airpace_api::results::{ArmResult, DemoSummary, Quantiles};
use std::fmt::Write;

const HEADERS: [&str; 11] = [
    "stations",
    "arm",
    "goodput Mbit/s",
    "idle ping ms (50/95/99)",
    "loaded ping ms (50/95/99)",
    "loss %",
    "ping loss %",
    "level",
    "round ms",
    "Jain airtime",
    "lag p99 ms",
];

/// One line per arm, and a note for every arm whose figures are not to be trusted.
#[must_use]
pub fn render(summary: &DemoSummary) -> String {
    let rows: Vec<Vec<String>> = summary.arms.iter().map(row).collect();
    let mut table = grid(&HEADERS.map(str::to_owned), &rows);
    for arm in summary.arms.iter().filter(|arm| !arm.trusted) {
        // Writing to a String cannot fail.
        let _ = writeln!(
            table,
            "! {} on {} station(s): the emulator ran up to {:.1} ms late (p99); its figures are not to be trusted",
            arm.title, arm.stations, arm.lag_p99_ms
        );
    }
    table
}

fn row(arm: &ArmResult) -> Vec<String> {
    vec![
        arm.stations.to_string(),
        arm.title.clone(),
        format!("{:.1}", arm.goodput_mbps),
        quantiles(&arm.idle_ping_ms),
        quantiles(&arm.ping_ms),
        format!("{:.2}", arm.loss * 100.0),
        format!("{:.1}", arm.ping_loss * 100.0),
        level(arm),
        format!("{:.2}", arm.round_ms),
        format!("{:.3}", arm.jain_airtime_both_ways),
        format!(
            "{:.2}{}",
            arm.lag_p99_ms,
            if arm.trusted { "" } else { " !" }
        ),
    ]
}

fn quantiles(q: &Quantiles) -> String {
    if q.count == 0 {
        "-".to_owned()
    } else {
        format!("{:.1} / {:.1} / {:.1}", q.p50, q.p95, q.p99)
    }
}

/// The true level, and the agents' measurement beside it where the two differ by more than 2 %.
fn level(arm: &ArmResult) -> String {
    match arm.level_reported {
        Some(reported) if (reported - arm.level).abs() > 0.02 * arm.level => {
            format!("{:.1} (agent {reported:.1})", arm.level)
        }
        _ => format!("{:.1}", arm.level),
    }
}

fn grid(headers: &[String], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .chain([headers[column].chars().count()])
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..headers.len()).map(width).collect();
    let line = |cells: &[String]| {
        let padded: Vec<String> = cells
            .iter()
            .zip(&widths)
            .map(|(cell, &w)| format!("{cell:>w$}"))
            .collect();
        format!("{}\n", padded.join("  "))
    };
    let rule: Vec<String> = widths.iter().map(|&w| "-".repeat(w)).collect();
    let mut text = line(headers) + &line(&rule);
    rows.iter().for_each(|row| text.push_str(&line(row)));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::tests::arm;

    fn summary(arms: Vec<ArmResult>) -> DemoSummary {
        DemoSummary {
            arms,
            ..crate::demo::tests::summary()
        }
    }

    #[test]
    fn every_line_is_as_wide_as_the_header() {
        let table = render(&summary(vec![arm("cubic", 1), arm("airpace-cubic", 3)]));
        let widths: Vec<usize> = table.lines().map(|line| line.chars().count()).collect();
        assert_eq!(widths.len(), 4);
        assert!(widths.iter().all(|&w| w == widths[0]), "{table}");
    }

    #[test]
    fn a_run_that_lagged_is_flagged() {
        let late = ArmResult {
            lag_p99_ms: 3.2,
            trusted: false,
            ..arm("bbr", 1)
        };
        let table = render(&summary(vec![late]));
        assert!(
            table.contains("3.20 !") && table.contains("not to be trusted"),
            "{table}"
        );
    }

    #[test]
    fn the_agents_level_is_shown_where_it_differs() {
        let differs = ArmResult {
            level: 30.0,
            level_reported: Some(33.0),
            ..arm("airpace-udp", 1)
        };
        let agrees = ArmResult {
            level: 30.0,
            level_reported: Some(30.1),
            ..arm("airpace-udp", 1)
        };
        assert!(render(&summary(vec![differs])).contains("30.0 (agent 33.0)"));
        assert!(!render(&summary(vec![agrees])).contains("agent"));
    }
}
