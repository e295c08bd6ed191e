//! Bars on standard error that show how far a command has come.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

/// A bar if standard error is a terminal, otherwise nothing. It is removed when this is dropped.
pub(crate) struct Bar(Option<ProgressBar>);

impl Bar {
    /// A bar of unknown length. The template is that of `indicatif`.
    pub(crate) fn new(template: &'static str) -> Self {
        if !std::io::stderr().is_terminal() {
            return Self(None);
        }
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
        bar.set_style(ProgressStyle::with_template(template).expect("templates are constants"));
        // Without ticks the elapsed time would stand still while a long run goes on.
        bar.enable_steady_tick(Duration::from_secs(1));
        Self(Some(bar))
    }

    /// Whether there is a bar.
    pub(crate) fn is_shown(&self) -> bool {
        self.0.is_some()
    }

    /// Shows that `done` of `total` is done.
    pub(crate) fn set(&self, done: u64, total: u64) {
        if let Some(bar) = &self.0 {
            bar.set_length(total);
            bar.set_position(done);
        }
    }

    /// Shows on the bar what is being done.
    pub(crate) fn set_message(&self, message: impl Into<String>) {
        if let Some(bar) = &self.0 {
            bar.set_message(message.into());
        }
    }

    /// Prints a line to standard error, above the bar if there is one.
    pub(crate) fn print_line(&self, line: &str) {
        if let Some(bar) = &self.0 {
            bar.println(line);
        } else {
            // A closed standard error is no reason to stop a measurement.
            let _ = writeln!(std::io::stderr(), "{line}");
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
