//! A run's figures as text.

use crate::results::{DelaySummary, FlowSummary, SimulationSummary, StationSummary};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use std::fmt::Write as _;

/// Most rows of a table on the terminal; the files have them all.
const MAX_ROWS: usize = 40;

/// The summary as text.
#[must_use]
pub fn render(summary: &SimulationSummary) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
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
        "\n{:.1} s after {:.1} s of warm-up, seed {}; {} packets sent, {} received, {} dropped; \
         {:.2} s of wall time, {} packets/s",
        summary.duration_s,
        summary.warm_up_s,
        summary.seed,
        totals.sent,
        totals.received,
        totals.dropped,
        summary.wall_s,
        thousands(summary.packets_per_wall_s)
    );
    for hand_over in &summary.hand_overs {
        let _ = writeln!(
            text,
            "{} went from {} to {} at {:.2} s, after {:.1} ms without an access point",
            hand_over.station,
            hand_over.from,
            hand_over.to,
            hand_over.at_s,
            hand_over.interruption_ms
        );
    }
    if summary.interrupted {
        let _ = writeln!(
            text,
            "Stopped early: the figures are of the time until then."
        );
    }
    text
}

/// A table with these heads: the first column is aligned to the left, the others to the right.
pub(super) fn table<const N: usize>(heads: [&str; N]) -> Table {
    let mut table = Table::new();
    // Columns are separated by two spaces and nothing else, at whatever width the contents need.
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(heads);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        column.set_cell_alignment(if index == 0 {
            CellAlignment::Left
        } else {
            CellAlignment::Right
        });
    }
    table
}

/// The table as lines of text, without spaces at their ends.
pub(super) fn lines(table: &Table) -> String {
    format!("{}\n", table.trim_fmt())
}

fn stations(summary: &SimulationSummary) -> String {
    let mut table = table([
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
    ]);
    for station in summary.stations.iter().take(MAX_ROWS) {
        table.add_row(station_row(station).cells());
    }
    if summary.stations.len() > 1 {
        table.add_row(all_stations_row(summary).cells());
    }
    let mut text = lines(&table);
    let more = summary.stations.len().saturating_sub(MAX_ROWS);
    if more > 0 {
        let _ = writeln!(text, "({more} further stations: see --json or --out)");
    }
    text
}

/// The figures of a row of the stations' table.
struct StationRow<'s> {
    name: &'s str,
    goodput_mbps: f64,
    level: Option<f64>,
    delay_ms: Option<DelaySummary>,
    sent: u64,
    received: u64,
    dropped: u64,
    airtime_share: f64,
}

impl StationRow<'_> {
    fn cells(&self) -> [String; 11] {
        let delay = |value: fn(DelaySummary) -> f64| number(self.delay_ms.map(value), 3);
        [
            self.name.to_owned(),
            format!("{:.2}", self.goodput_mbps),
            number(self.level, 2),
            delay(|delay| delay.mean),
            delay(|delay| delay.p50),
            delay(|delay| delay.p95),
            delay(|delay| delay.p99),
            self.sent.to_string(),
            self.received.to_string(),
            self.dropped.to_string(),
            format!("{:.1}", 100.0 * self.airtime_share),
        ]
    }
}

fn station_row(station: &StationSummary) -> StationRow<'_> {
    StationRow {
        name: &station.name,
        goodput_mbps: station.goodput_mbps,
        level: station.level,
        delay_ms: station.delay_ms,
        sent: station.sent,
        received: station.received,
        dropped: station.dropped_packets(),
        airtime_share: station.airtime_share,
    }
}

fn all_stations_row(summary: &SimulationSummary) -> StationRow<'_> {
    let totals = &summary.totals;
    StationRow {
        name: "all",
        goodput_mbps: totals.goodput_mbps,
        level: totals.level,
        delay_ms: totals.delay_ms,
        sent: totals.sent,
        received: totals.received,
        dropped: totals.dropped,
        airtime_share: totals.airtime_share,
    }
}

/// Whether a flow has a row of its own: it has figures that the stations' table does not show, or
/// does not end at a station.
fn is_shown(summary: &SimulationSummary, flow: &FlowSummary) -> bool {
    let has_own_figures = flow.rtt_ms.is_some()
        || flow.mos.is_some()
        || flow.page_load_s.is_some()
        || flow.retransmits.is_some();
    let ends_at_station = || {
        summary
            .stations
            .iter()
            .any(|station| station.name == flow.to)
    };
    has_own_figures || !ends_at_station()
}

fn flows(shown: &[&FlowSummary]) -> String {
    let mut table = table([
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
    ]);
    for flow in shown.iter().take(MAX_ROWS) {
        table.add_row([
            flow.name.clone(),
            format!("{:.2}", flow.goodput_mbps),
            number(flow.delay_ms.map(|delay| delay.mean), 3),
            flow.dropped.values().sum::<u64>().to_string(),
            number(flow.rtt_ms.map(|rtt| rtt.mean), 3),
            number(flow.rtt_ms.map(|rtt| rtt.p95), 3),
            count(flow.retransmits),
            number(flow.mos, 2),
            number(flow.page_load_s.map(|page| page.mean), 3),
            count(flow.page_load_s.map(|page| page.count)),
        ]);
    }
    lines(&table)
}

fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.decimals$}"))
}

fn count(value: Option<u64>) -> String {
    value.map_or("-".to_owned(), |value| value.to_string())
}

/// A count, rounded, with a space between groups of three digits.
fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.max(0.0));
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_under_their_heads() {
        let mut table = table(["a", "bb"]);
        table.add_row(["ccc", "1"]);
        assert_eq!(lines(&table), "a    bb\nccc   1\n");
        assert_eq!(thousands(1_234_567.4), "1 234 567");
    }
}
