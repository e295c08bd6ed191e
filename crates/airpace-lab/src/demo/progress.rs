//! What the user sees while the demo runs: a bar on a terminal, plain lines elsewhere.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::time::Duration;

/// Progress over all arms.
#[derive(Debug)]
pub(super) struct Progress {
    bar: Option<ProgressBar>,
    done: Duration,
}

impl Progress {
    /// A bar for `total` of run time, if standard error is a terminal.
    pub(super) fn new(total: Duration) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar =
                ProgressBar::with_draw_target(Some(total.as_secs()), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{bar:30} {pos:>3}/{len} s  {msg}");
            bar.set_style(style.expect("the template is constant"));
            bar
        });
        Self {
            bar,
            done: Duration::ZERO,
        }
    }

    /// An arm begins.
    pub(super) fn begin(&self, what: &str) {
        match &self.bar {
            Some(bar) => bar.set_message(what.to_owned()),
            None => line(what),
        }
    }

    /// The current arm has run for `elapsed`.
    pub(super) fn at(&self, elapsed: Duration) {
        if let Some(bar) = &self.bar {
            bar.set_position((self.done + elapsed).as_secs());
        }
    }

    /// The current arm, which counted for `span`, is done; `result` is worth a line.
    pub(super) fn end(&mut self, span: Duration, result: &str) {
        self.done += span;
        match &self.bar {
            Some(bar) => {
                bar.set_position(self.done.as_secs());
                bar.println(result);
            }
            None => line(result),
        }
    }

    /// All arms are done.
    pub(super) fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

/// A closed standard error is no reason to stop a measurement.
fn line(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
