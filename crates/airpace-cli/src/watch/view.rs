//! Draws a run.

use super::model::{Row, Watched};
use crate::dashboard::text::{bold, left, number, right};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

/// Widths of the columns: with the blanks between them 79 characters.
const NAME: usize = 14;
const NUMBER: usize = 7;
const SPARK: usize = 10;
/// Least width at which PHY rate and longest delay are shown, too.
const WIDE: u16 = 96;
/// Widest bar of the time.
const LONGEST_BAR: u16 = 30;
/// A full bar stands for at least this: small figures are small bars.
const LEAST_MBPS: f64 = 1.0;
const LEAST_LEVEL: f64 = 4.0;
const LEAST_DELAY_MS: f64 = 20.0;

/// Draws everything.
pub(super) fn draw(frame: &mut Frame<'_>, watched: &mut Watched) {
    let [head, table, foot] = Layout::vertical([
        Constraint::Length(4),
        Constraint::Min(2),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(Paragraph::new(heading(watched, head.width)), head);
    draw_table(frame, table, watched);
    let keys = "q end the run now   space pause   ↑↓ scroll";
    frame.render_widget(Paragraph::new(Line::from(keys)), foot);
}

fn heading(watched: &Watched, width: u16) -> Vec<Line<'_>> {
    let title = if watched.title.is_empty() {
        "a run"
    } else {
        &watched.title
    };
    let share = watched.done_s / watched.total_s.max(1e-9);
    let columns = width.saturating_sub(2).min(LONGEST_BAR);
    // At most the columns.
    let full = (share.clamp(0.0, 1.0) * f64::from(columns)) as usize;
    let bar = "█".repeat(full) + &"░".repeat(usize::from(columns) - full);
    let phase = if watched.is_paused {
        "   PAUSED"
    } else if watched.done_s <= watched.warm_up_s {
        "   warm-up"
    } else {
        ""
    };
    let style = if watched.has_colour && watched.is_paused {
        bold().fg(Color::Yellow)
    } else {
        bold()
    };
    let busy = watched.busy.iter();
    let busy = busy.map(|(name, share)| format!("{name} {:.0} %", 100.0 * share));
    vec![
        Line::styled(title, bold()),
        Line::styled(
            format!(
                "{bar} {:.1} of {:.1} s, {:.1} s per second{phase}",
                watched.done_s, watched.total_s, watched.speed
            ),
            style,
        ),
        Line::from(format!(
            "air in use: {}",
            busy.collect::<Vec<_>>().join(", ")
        )),
    ]
}

fn draw_table(frame: &mut Frame<'_>, area: Rect, watched: &mut Watched) {
    let is_wide = area.width >= WIDE;
    let mut lines = vec![table_head(watched.shown_s, is_wide)];
    let room = usize::from(area.height).saturating_sub(1).max(1);
    watched.first = watched.first.min(watched.rows.len().saturating_sub(room));
    for row in watched.rows.iter().skip(watched.first).take(room) {
        lines.push(Line::from(cells(row, watched.done_s, is_wide)));
    }
    frame.render_widget(Paragraph::new(lines), area);
}

fn table_head(shown_s: f64, is_wide: bool) -> Line<'static> {
    let span = format!("{shown_s:.0} s");
    let mut text = [
        left("receiver", NAME),
        right("Mbit/s", NUMBER),
        right("paced", NUMBER),
        left(&span, SPARK),
        right("level", NUMBER),
        left(&span, SPARK),
        right("ms", NUMBER),
        left(&span, SPARK),
    ]
    .join(" ");
    if is_wide {
        text = [text, right("max ms", NUMBER), right("PHY", NUMBER)].join(" ");
    }
    let style: Style = bold().add_modifier(Modifier::UNDERLINED);
    Line::styled(text, style)
}

fn cells(row: &Row, now_s: f64, is_wide: bool) -> String {
    let histories = &row.histories;
    let text = [
        left(&row.name, NAME),
        right(&number(row.mbps), NUMBER),
        right(&number(row.paced_mbps), NUMBER),
        histories.goodput.line(now_s, SPARK, LEAST_MBPS),
        right(&number(row.level), NUMBER),
        histories.level.line(now_s, SPARK, LEAST_LEVEL),
        right(&number(row.delay_ms), NUMBER),
        histories.delay.line(now_s, SPARK, LEAST_DELAY_MS),
    ]
    .join(" ");
    if !is_wide {
        return text;
    }
    let (longest, phy) = (number(row.longest_ms), number(row.phy_mbps));
    [text, right(&longest, NUMBER), right(&phy, NUMBER)].join(" ")
}
