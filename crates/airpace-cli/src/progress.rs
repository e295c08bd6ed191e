//! Bars on the terminal for work that takes a while.

use airpace_scenario::progress::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

/// Runs that take less show no bar.
const QUIET: Duration = Duration::from_secs(2);
/// Steps of the bar of a run.
const STEPS: u64 = 1_000;

/// The present moment, for how long work takes.
#[expect(
    clippy::disallowed_methods,
    reason = "the program tells how long its work took"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// A length of time in words, if it is so long that the user should know before: at least a minute.
pub(crate) fn about(span: Duration) -> Option<String> {
    let minutes = span.as_secs_f64() / 60.0;
    let (number, unit) = match minutes {
        ..1.0 => return None,
        ..90.0 => (minutes, "minute"),
        ..2880.0 => (minutes / 60.0, "hour"),
        _ => (minutes / 1440.0, "day"),
    };
    let number = number.round();
    let plural = if number == 1.0 { "" } else { "s" };
    Some(format!("{number} {unit}{plural}"))
}

/// A bar over the simulated time of one run. Appears on a terminal once the run has lasted for a
/// while.
pub(crate) struct RunBar {
    bar: ProgressBar,
    begun: Instant,
}

impl RunBar {
    pub(crate) fn new() -> Self {
        let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}, {eta} left");
        bar.set_style(style.expect("the template is constant"));
        Self { bar, begun: now() }
    }
}

impl Progress<Duration> for RunBar {
    fn update(&self, done: Duration, total: Duration) {
        if !std::io::stderr().is_terminal() {
            return;
        }
        if self.bar.is_hidden() && self.begun.elapsed() > QUIET {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        let (done, total) = (done.as_secs_f64(), total.as_secs_f64());
        self.bar.set_message(format!("{done:.1} of {total:.1} s"));
        self.bar.set_position((STEPS as f64 * done / total) as u64);
    }
}

impl Drop for RunBar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A bar over a number of runs. Appears on a terminal at once.
pub(crate) struct RunsBar(ProgressBar);

impl RunsBar {
    pub(crate) fn new() -> Self {
        let target = if std::io::stderr().is_terminal() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(None, target);
        let style =
            ProgressStyle::with_template("{bar:30} {pos}/{len} runs, {elapsed} gone, {eta} left");
        bar.set_style(style.expect("the template is constant"));
        Self(bar)
    }
}

impl Progress<usize> for RunsBar {
    fn update(&self, done: usize, total: usize) {
        let is_first = self.0.length().is_none();
        self.0.set_length(total as u64);
        self.0.set_position(done as u64);
        if is_first {
            // Runs that were there before say nothing about the pace.
            self.0.reset_eta();
        }
    }
}

impl Drop for RunsBar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_at_least_a_minute_are_told_in_a_fitting_unit() {
        let about = |seconds| about(Duration::from_secs(seconds));
        assert_eq!(about(59), None);
        assert_eq!(about(61).as_deref(), Some("1 minute"));
        assert_eq!(about(250).as_deref(), Some("4 minutes"));
        assert_eq!(about(2 * 3600).as_deref(), Some("2 hours"));
        assert_eq!(
            about(u64::MAX)
                .as_deref()
                .map(|text| text.ends_with("days")),
            Some(true)
        );
    }
}
