//! Texts in columns of the terminal.

use ratatui::style::{Modifier, Style};
use ratatui::text::Span;

pub(crate) fn bold() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

/// The value with one digit, or a dash if there is none.
pub(crate) fn number(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.1}"))
}

/// The text, cut or filled to `width` columns of the terminal.
pub(crate) fn left(text: &str, width: usize) -> String {
    let text = cut(text, width);
    let blanks = width.saturating_sub(columns(&text));
    text + &" ".repeat(blanks)
}

/// The same, aligned to the right.
pub(crate) fn right(text: &str, width: usize) -> String {
    let text = cut(text, width);
    let blanks = width.saturating_sub(columns(&text));
    " ".repeat(blanks) + &text
}

fn columns(text: &str) -> usize {
    Span::raw(text).width()
}

/// The beginning of the text that fits, with an ellipsis if something is missing.
fn cut(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let mut begin = String::new();
    for c in text.chars() {
        let mut longer = begin.clone();
        longer.push(c);
        if columns(&longer) + 1 > width {
            break;
        }
        begin = longer;
    }
    begin + "…"
}
