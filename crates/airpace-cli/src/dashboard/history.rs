//! The figures of the last time, and their drawing in a line.

use std::collections::VecDeque;

/// Seconds that a sparkline of `airpace status --watch` shows.
pub(crate) const SHOWN_S: f64 = 120.0;
/// Heights of a character, the lowest first.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A figure over time.
#[derive(Clone, Debug)]
pub(crate) struct History {
    /// Seconds that are kept and shown.
    span_s: f64,
    /// Time in seconds since any fixed moment, and the value; `None` where it was not known.
    values: VecDeque<(f64, Option<f64>)>,
}

impl Default for History {
    /// The last minutes.
    fn default() -> Self {
        Self::over(SHOWN_S)
    }
}

impl History {
    /// An empty history of `span_s` seconds.
    pub(crate) const fn over(span_s: f64) -> Self {
        Self {
            span_s,
            values: VecDeque::new(),
        }
    }

    /// Adds the value at a time, and forgets what is no longer shown.
    pub(crate) fn add(&mut self, at_s: f64, value: Option<f64>) {
        // The wall clock may have been set back.
        while self.values.back().is_some_and(|last| last.0 >= at_s) {
            self.values.pop_back();
        }
        self.values.push_back((at_s, value));
        while self
            .values
            .front()
            .is_some_and(|first| first.0 < at_s - self.span_s)
        {
            self.values.pop_front();
        }
    }

    /// Returns a line of `width` characters that ends at `at_s`, each the largest value of its part
    /// of the time. `least` is the least value for which a full bar stands.
    pub(crate) fn line(&self, at_s: f64, width: usize, least: f64) -> String {
        let known = self.values.iter().filter_map(|&(_, value)| value);
        let full = known.fold(least, f64::max);
        let part_s = self.span_s / width.max(1) as f64;
        let mut line = String::new();
        for column in 0..width {
            let end = at_s - part_s * (width - 1 - column) as f64;
            let is_within = |at: f64| at > end - part_s && at <= end;
            let within = self.values.iter().filter(|&&(at, _)| is_within(at));
            let largest = within.filter_map(|&(_, value)| value).reduce(f64::max);
            line.push(largest.map_or(' ', |value| bar(value / full)));
        }
        line
    }
}

/// The character for a share of a full bar.
fn bar(share: f64) -> char {
    let step = (share.clamp(0.0, 1.0) * (BARS.len() - 1) as f64).round();
    // Between 0 and 7.
    BARS[step as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_shows_the_largest_value_of_each_part_and_gaps() {
        let mut history = History::default();
        for second in 0..120 {
            let value = match second {
                0..60 => Some(f64::from(second)),
                60..90 => None,
                _ => Some(5.0),
            };
            history.add(f64::from(second), value);
        }
        assert_eq!(history.line(119.0, 8, 1.0), "▃▄▆█  ▂▂");
        assert_eq!(history.line(119.0, 4, 1000.0), "▁▁ ▁");
    }

    #[test]
    fn a_clock_that_is_set_back_and_an_empty_history_are_no_error() {
        let mut history = History::default();
        assert_eq!(history.line(0.0, 3, 1.0), "   ");
        history.add(1000.0, Some(1.0));
        history.add(10.0, Some(1.0));
        assert_eq!(history.line(10.0, 3, 1.0), "  █");
        assert_eq!(history.line(10.0, 0, 1.0), "");
    }
}
