//! Draws the dashboard.

use super::history::SHOWN_S;
use super::model::{Concern, Dashboard, Sort, throughput};
use super::text::{bold, left, number, right};
use airpace_api::operator::{ApStatus, EdgeStationStatus, EdgeStatus};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};

/// Widths of the columns: with the blanks between them 79 characters.
const NAME: usize = 17;
const NUMBER: usize = 7;
const SPARK: usize = 10;
const BAR: usize = 6;
/// Least width at which sensor and reason stand in the table, too.
const WIDE: u16 = 118;
const SENSOR: usize = 12;
const LIMIT: usize = 13;
/// A full bar stands for at least this: small figures are small bars.
const LEAST_MBPS: f64 = 1.0;
const LEAST_WAIT_MS: f64 = 20.0;
/// Rows of the part that explains.
const WHY_ROWS: u16 = 8;
const EVENT_ROWS: u16 = 5;

/// Draws everything.
pub(super) fn draw(frame: &mut Frame<'_>, dashboard: &Dashboard) {
    let [head, table, why, events, foot] = Layout::vertical([
        Constraint::Length(3),
        Constraint::Min(3),
        Constraint::Length(WHY_ROWS),
        Constraint::Length(EVENT_ROWS + 1),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(Paragraph::new(heading(dashboard)), head);
    draw_table(frame, table, dashboard);
    draw_why(frame, why, dashboard);
    draw_events(frame, events, dashboard);
    let keys = "q quit   ↑↓ station   ←→ sort   Tab access point";
    frame.render_widget(Paragraph::new(Line::from(keys)), foot);
}

/// The style of something that is wrong: visible without colours.
fn alarm(dashboard: &Dashboard) -> Style {
    let style = bold().add_modifier(Modifier::REVERSED);
    if dashboard.has_colour {
        style.fg(Color::Red)
    } else {
        style
    }
}

fn of_concern(dashboard: &Dashboard, concern: Concern) -> Style {
    let colour = match concern {
        Concern::None => return Style::new(),
        Concern::Notice => Color::Yellow,
        Concern::Trouble => Color::Red,
    };
    if dashboard.has_colour {
        bold().fg(colour)
    } else {
        bold()
    }
}

fn heading(dashboard: &Dashboard) -> Vec<Line<'_>> {
    let Some(status) = &dashboard.status else {
        return vec![Line::from("no answer yet")];
    };
    let dry_run = if status.dry_run { "   DRY RUN" } else { "" };
    let first = format!(
        "airpace {}   {}   aim: {}   up {}{dry_run}",
        status.version,
        status.wan,
        status.aim,
        span(status.uptime_s)
    );
    let mut lines = vec![Line::styled(first, bold())];
    if let Some((index, ap)) = dashboard.ap() {
        lines.push(Line::from(of_ap(index, dashboard.ap_count(), ap)));
    }
    lines.extend(warning(dashboard, status));
    lines
}

/// The most important thing that is wrong with the whole box, or with the radio near the access point.
fn warning<'a>(dashboard: &'a Dashboard, status: &'a EdgeStatus) -> Option<Line<'a>> {
    let trouble = dashboard.ap().and_then(|(_, ap)| ap.radio_trouble.as_ref());
    let text = match (&dashboard.away, &status.passing, trouble) {
        (Some(error), _, _) => format!("NO ANSWER, the figures are old, trying again: {error}"),
        (None, Some(reason), _) => format!("ALL FRAMES PASS UNPACED: {reason}"),
        // Without the article it fits a line of 80 columns.
        (None, None, Some(trouble)) => trouble.strip_prefix("the ").unwrap_or(trouble).to_owned(),
        (None, None, None) => return None,
    };
    Some(Line::styled(text, alarm(dashboard)))
}

fn of_ap(index: usize, count: usize, ap: &ApStatus) -> String {
    let mut text = format!(
        "access point {} of {count}: {} ({})   {} of {} active",
        index + 1,
        ap.name,
        ap.ports.join(", "),
        ap.active_stations,
        ap.stations.len()
    );
    if let Some(others) = ap.air_of_others {
        text.push_str(&format!("   others use {:.0} % of the air", 100.0 * others));
    }
    text
}

fn draw_table(frame: &mut Frame<'_>, area: Rect, dashboard: &Dashboard) {
    let is_wide = area.width >= WIDE;
    let mut lines = vec![table_head(dashboard.sort, is_wide)];
    let rows = dashboard.rows();
    if rows.is_empty() {
        lines.push(Line::from("no station has been heard yet"));
    }
    let selected = dashboard.selected_index();
    // The selected row is always within the window.
    let room = usize::from(area.height).saturating_sub(1).max(1);
    let first = (selected + 1).saturating_sub(room);
    for (index, station) in rows.iter().enumerate().skip(first).take(room) {
        let mut line = row(dashboard, station, is_wide);
        if index == selected {
            line = line.patch_style(Style::new().add_modifier(Modifier::REVERSED));
        }
        lines.push(line);
    }
    frame.render_widget(Paragraph::new(lines), area);
}

fn table_head(sort: Sort, is_wide: bool) -> Line<'static> {
    let mark = |own: Sort, text: &str| {
        let mark = if own == sort { "▾" } else { "" };
        format!("{text}{mark}")
    };
    let minutes = format!("{:.0} min", SHOWN_S / 60.0);
    let mut text = [
        left(&mark(Sort::Name, "station"), NAME),
        right(&mark(Sort::Goodput, "Mbit/s"), NUMBER),
        left(&minutes, SPARK),
        left(&mark(Sort::Share, "share"), BAR + 5),
        right(&mark(Sort::Wait, "p95 ms"), NUMBER),
        left(&minutes, SPARK),
        left(&mark(Sort::Limit, "limited by"), LIMIT),
    ]
    .join(" ");
    if is_wide {
        text.push_str(&format!(" {} reason", left("sensor", SENSOR)));
    }
    Line::styled(text, bold().add_modifier(Modifier::UNDERLINED))
}

fn row<'a>(dashboard: &Dashboard, station: &'a EdgeStationStatus, is_wide: bool) -> Line<'a> {
    let now = dashboard
        .status
        .as_ref()
        .map_or(0.0, |status| status.unix_s);
    let history = dashboard.history(&station.mac);
    let goodput = history.map_or_else(String::new, |h| h.goodput.line(now, SPARK, LEAST_MBPS));
    let wait = history.map_or_else(String::new, |h| h.wait.line(now, SPARK, LEAST_WAIT_MS));
    let figures = [
        left(station.label(), NAME),
        right(&number(throughput(station)), NUMBER),
        left(&goodput, SPARK),
        share(station.share),
        right(&number(station.wait_p95_ms), NUMBER),
        left(&wait, SPARK),
    ]
    .join(" ");
    let style = of_concern(dashboard, Concern::of(station));
    let limit = Span::styled(left(&station.limited_by, LIMIT), style);
    let mut line = Line::from(vec![Span::raw(figures), Span::raw(" "), limit]);
    if is_wide {
        let sensor = station.sensor.as_deref().unwrap_or("-");
        line.push_span(format!(" {} {}", left(sensor, SENSOR), station.reason));
    }
    line
}

/// The selected station in words, then what is wrong with others.
fn draw_why(frame: &mut Frame<'_>, area: Rect, dashboard: &Dashboard) {
    let rows = dashboard.rows();
    let selected = dashboard.selected_index();
    let Some(station) = rows.get(selected) else {
        return;
    };
    let mut lines = vec![
        Line::styled(
            format!("{}: {}", station.label(), station.limited_by),
            bold(),
        ),
        Line::from(station.reason.as_str()),
        Line::from(delays(station)),
        Line::from(radio(station)),
    ];
    for (index, other) in rows.iter().enumerate() {
        if index != selected && Concern::of(other) == Concern::Trouble {
            let text = format!("{}: {}", other.label(), other.reason);
            lines.push(Line::styled(text, of_concern(dashboard, Concern::Trouble)));
        }
    }
    let why = Paragraph::new(lines).wrap(Wrap { trim: true });
    frame.render_widget(why, area);
}

/// Where packets to the station wait.
fn delays(station: &EdgeStationStatus) -> String {
    let wired = match (station.backhaul_rtt_ms, station.backhaul_delay_ms) {
        (Some(rtt), Some(queue)) => format!("{rtt:.0} ms ({queue:.0} in queues)"),
        _ => "not known".to_owned(),
    };
    format!(
        "delay: Wi-Fi {} ms (box {}, access point {}), wired {wired}",
        number(station.wifi_delay_ms),
        number(station.sojourn_p50_ms),
        number(station.wait_p50_ms)
    )
}

/// What is known of its frames, and how.
fn radio(station: &EdgeStationStatus) -> String {
    let about = if station.phy_assumed { "about " } else { "" };
    let phy = station.phy_mbps;
    let phy = phy.map_or_else(|| "-".to_owned(), |mbps| format!("{mbps:.0}"));
    let sensor = station.sensor.as_deref().unwrap_or("none");
    let confidence = station.confidence.filter(|_| sensor != "none");
    let sure = confidence.map_or_else(String::new, |sure| {
        format!(", confidence {:.0} %", 100.0 * sure)
    });
    let lost = station.lost_sensor.as_ref();
    let lost = lost.map_or_else(String::new, |lost| format!(", lost {lost}"));
    let unused = station.radio_unused.as_ref();
    let unused = unused.map_or_else(String::new, |why| format!(", not the radio: {why}"));
    format!(
        "PHY {about}{phy} Mbit/s, {} packets per frame, sensor {sensor}{sure}{lost}{unused}",
        number(station.level)
    )
}

fn draw_events(frame: &mut Frame<'_>, area: Rect, dashboard: &Dashboard) {
    let now = dashboard
        .status
        .as_ref()
        .map_or(0.0, |status| status.unix_s);
    let style = bold().add_modifier(Modifier::UNDERLINED);
    let mut lines = vec![Line::styled("events", style)];
    for event in dashboard.events() {
        let age = span((now - event.unix_s).max(0.0));
        let station = event.name.as_deref().or(event.station.as_deref());
        let who = station.map_or_else(String::new, |name| format!("{name} "));
        lines.push(Line::from(format!(
            "{} ago  {who}{}",
            right(&age, NUMBER),
            event.text
        )));
    }
    frame.render_widget(Paragraph::new(lines), area);
}

/// A bar for a share, and the share in percent.
fn share(share: Option<f64>) -> String {
    let Some(share) = share else {
        return left("     -", BAR + 5);
    };
    // At most BAR.
    let full = (share.clamp(0.0, 1.0) * BAR as f64).round() as usize;
    let percent = format!("{:.0}%", 100.0 * share);
    format!(
        "{}{}{}",
        "█".repeat(full),
        "░".repeat(BAR - full),
        right(&percent, 5)
    )
}

/// A time span in words: `12 s`, `3 min`, `5 h`, `2 d`.
fn span(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.0} h", s / 3600.0),
        s => format!("{:.0} d", s / 86_400.0),
    }
}
