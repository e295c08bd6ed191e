//! The demo's summary as a text table.

use crate::results::{ArmResult, DemoSummary, Quantiles, SteadyFigures};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use std::fmt::Write as _;

const HEADERS: [&str; 13] = [
    "stations",
    "arm",
    "goodput Mbit/s",
    "idle ping ms (50/95/99)",
    "loaded ping ms (50/95/99)",
    "RPM",
    "QoO",
    "loss %",
    "ping loss %",
    "level",
    "round ms",
    "Jain airtime",
    "lag p99 ms",
];

/// One line per arm, and a warning for every arm whose figures cannot be trusted.
#[must_use]
pub fn render(summary: &DemoSummary) -> String {
    let mut table = Table::new();
    // Columns are separated by two spaces and are as wide as their contents.
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(HEADERS);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
        column.set_cell_alignment(CellAlignment::Right);
    }
    for arm in &summary.arms {
        table.add_row(row(arm));
    }
    let mut text = format!("{}\n", table.trim_fmt());
    for arm in summary.arms.iter().filter(|arm| !arm.trusted) {
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "! {} on {} station(s): the emulator ran up to {:.1} ms late (p99); do not trust the figures",
            arm.title, arm.stations, arm.lag_p99_ms
        );
    }
    text
}

fn row(arm: &ArmResult) -> Vec<String> {
    let figures = &arm.figures;
    vec![
        arm.stations.to_string(),
        arm.title.clone(),
        format!("{:.1}", figures.goodput_mbps),
        quantiles(&figures.idle_ping_ms),
        quantiles(&figures.ping_ms),
        whole(figures.rpm),
        whole(figures.qoo),
        format!("{:.2}", figures.loss * 100.0),
        format!("{:.1}", figures.ping_loss * 100.0),
        level(figures),
        format!("{:.2}", figures.round_ms),
        format!("{:.3}", arm.jain_airtime_both_ways),
        format!(
            "{:.2}{}",
            arm.lag_p99_ms,
            if arm.trusted { "" } else { " !" }
        ),
    ]
}

/// A whole number, or a dash.
fn whole(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.0}"))
}

fn quantiles(q: &Quantiles) -> String {
    if q.count == 0 {
        "-".to_owned()
    } else {
        format!("{:.1} / {:.1} / {:.1}", q.p50, q.p95, q.p99)
    }
}

/// The true level, with the level that the sensors measured if the two differ by more than 2 %.
fn level(figures: &SteadyFigures) -> String {
    match figures.level_reported {
        Some(reported) if (reported - figures.level).abs() > 0.02 * figures.level => {
            format!("{:.1} (sensor {reported:.1})", figures.level)
        }
        _ => format!("{:.1}", figures.level),
    }
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
        assert_eq!(widths.len(), 3);
        assert!(widths.iter().all(|&w| w == widths[0]), "{table}");
    }

    #[test]
    fn round_trips_per_minute_and_the_outcome_stand_beside_the_ping() {
        let mut arm = arm("cubic", 1);
        (arm.figures.rpm, arm.figures.qoo) = (Some(1_234.4), Some(87.6));
        let table = render(&summary(vec![arm]));
        assert!(table.contains("1234") && table.contains("88"), "{table}");
    }

    #[test]
    fn an_arm_whose_emulator_lagged_is_flagged() {
        let late = ArmResult {
            lag_p99_ms: 3.2,
            trusted: false,
            ..arm("bbr", 1)
        };
        let table = render(&summary(vec![late]));
        assert!(
            table.contains("3.20 !") && table.contains("do not trust"),
            "{table}"
        );
    }

    #[test]
    fn the_sensors_level_is_shown_where_it_differs() {
        let reported = |level_reported: f64| {
            let mut arm = arm("airpace-udp", 1);
            arm.figures.level = 30.0;
            arm.figures.level_reported = Some(level_reported);
            arm
        };
        let (differs, agrees) = (reported(33.0), reported(30.1));
        assert!(render(&summary(vec![differs])).contains("30.0 (sensor 33.0)"));
        assert!(!render(&summary(vec![agrees])).contains("sensor"));
    }
}
