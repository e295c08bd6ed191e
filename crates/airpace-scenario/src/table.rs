//! A run's figures as text.

use crate::results::{DelaySummary, FlowSummary, SimulationSummary, StationSummary};
use std::fmt::Write as _;

/// Most lines of a table on the terminal: a reader of more takes the files.
const MOST: usize = 40;

/// The summary as text.
#[must_use]
pub fn render(summary: &SimulationSummary) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    if !summary.scenario.title.is_empty() {
        let _ = writeln!(text, "{}\n", summary.scenario.title);
    }
    text += &stations(summary);
    let shown: Vec<&FlowSummary> = summary
        .flows
        .iter()
        .filter(|flow| is_shown(summary, flow))
        .collect();
    if !shown.is_empty() {
        let _ = write!(text, "\n{}", flows(&shown));
    }
    let totals = &summary.totals;
    let _ = writeln!(
        text,
        "\n{:.1} s after {:.1} s of warm-up, seed {}; {} packets sent, {} received, {} dropped; {:.2} s of wall time, {} packets/s",
        summary.duration_s,
        summary.warm_up_s,
        summary.seed,
        totals.sent,
        totals.received,
        totals.dropped,
        summary.wall_s,
        thousands(summary.packets_per_wall_s)
    );
    if summary.interrupted {
        let _ = writeln!(
            text,
            "Stopped early: the figures are of the time until then."
        );
    }
    text
}

fn stations(summary: &SimulationSummary) -> String {
    let heads = [
        "station",
        "goodput Mbit/s",
        "level",
        "delay ms",
        "p50",
        "p95",
        "p99",
        "sent",
        "received",
        "dropped",
        "airtime %",
    ];
    let mut lines = vec![heads.map(str::to_owned).to_vec()];
    lines.extend(summary.stations.iter().take(MOST).map(station));
    if summary.stations.len() > 1 {
        lines.push(all(summary));
    }
    let more = summary.stations.len().saturating_sub(MOST);
    let rest = if more > 0 {
        format!("({more} further stations: see --json or --out)\n")
    } else {
        String::new()
    };
    grid(&lines) + &rest
}

fn station(station: &StationSummary) -> Vec<String> {
    let dropped = station.dropped.values().sum();
    let figures = (station.goodput_mbps, station.level, station.airtime_share);
    row(
        &station.name,
        figures,
        station.delay_ms.as_ref(),
        [station.sent, station.received, dropped],
    )
}

fn all(summary: &SimulationSummary) -> Vec<String> {
    let totals = &summary.totals;
    let figures = (totals.goodput_mbps, totals.level, totals.airtime_share);
    row(
        "all",
        figures,
        totals.delay_ms.as_ref(),
        [totals.sent, totals.received, totals.dropped],
    )
}

fn row(
    name: &str,
    (goodput_mbps, level, airtime_share): (f64, Option<f64>, f64),
    delay_ms: Option<&DelaySummary>,
    packets: [u64; 3],
) -> Vec<String> {
    let delay = |value: fn(&DelaySummary) -> f64| number(delay_ms.map(value), 3);
    let head = [
        name.to_owned(),
        format!("{goodput_mbps:.2}"),
        number(level, 2),
    ];
    let delays = [
        delay(|d| d.mean),
        delay(|d| d.p50),
        delay(|d| d.p95),
        delay(|d| d.p99),
    ];
    let tail = [format!("{:.1}", 100.0 * airtime_share)];
    head.into_iter()
        .chain(delays)
        .chain(packets.map(|count| count.to_string()))
        .chain(tail)
        .collect()
}

/// Whether the table of stations does not tell all of a flow: it has figures of its own, or goes elsewhere.
fn is_shown(summary: &SimulationSummary, flow: &FlowSummary) -> bool {
    let has_details = flow.rtt_ms.is_some()
        || flow.mos.is_some()
        || flow.page_load_s.is_some()
        || flow.retransmits.is_some();
    has_details
        || !summary
            .stations
            .iter()
            .any(|station| station.name == flow.to)
}

fn flows(shown: &[&FlowSummary]) -> String {
    let heads = [
        "flow",
        "goodput Mbit/s",
        "delay ms",
        "dropped",
        "rtt ms",
        "rtt p95",
        "retransmits",
        "MOS",
        "page s",
        "pages",
    ];
    let mut lines = vec![heads.map(str::to_owned).to_vec()];
    for flow in shown.iter().take(MOST) {
        lines.push(vec![
            flow.name.clone(),
            format!("{:.2}", flow.goodput_mbps),
            number(flow.delay_ms.map(|delay| delay.mean), 3),
            flow.dropped.values().sum::<u64>().to_string(),
            number(flow.rtt_ms.map(|rtt| rtt.mean), 3),
            number(flow.rtt_ms.map(|rtt| rtt.p95), 3),
            flow.retransmits
                .map_or("-".to_owned(), |count| count.to_string()),
            number(flow.mos, 2),
            number(flow.page_load_s.map(|page| page.mean), 3),
            flow.page_load_s
                .map_or("-".to_owned(), |page| page.count.to_string()),
        ]);
    }
    grid(&lines)
}

fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.decimals$}"))
}

/// A count with its thousands set apart.
fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.max(0.0));
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// Lines of cells in columns: the first to the left, the others to the right. The first line is the head.
pub(super) fn grid(lines: &[Vec<String>]) -> String {
    let columns = lines.first().map_or(0, Vec::len);
    let width = |column: usize| {
        lines
            .iter()
            .map(|line| line[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for line in lines {
        let cells = line
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(column, (cell, &width))| {
                if column == 0 {
                    format!("{cell:<width$}")
                } else {
                    format!("{cell:>width$}")
                }
            });
        text += cells.collect::<Vec<_>>().join("  ").trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_under_their_heads() {
        let lines = [["a", "bb"], ["ccc", "1"]].map(|line| line.map(str::to_owned).to_vec());
        assert_eq!(grid(&lines), "a    bb\nccc   1\n");
        assert_eq!(thousands(1_234_567.4), "1 234 567");
    }
}
