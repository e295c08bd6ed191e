//! Ctrl-C and SIGTERM end an experiment early, with an orderly cleanup.

use crate::tool::Stop;
use airpace_net::signals::Signals;
use anyhow::{Context, Result};
use std::thread;
use std::time::Duration;

/// How often the watcher checks for signals.
const INTERVAL: Duration = Duration::from_millis(50);

/// Runs `work` with a flag that SIGINT and SIGTERM raise. The second value says whether a signal
/// came.
///
/// # Errors
/// If the signals cannot be blocked; `work` is then not run.
pub fn with_signals<T>(work: impl FnOnce(&Stop) -> T) -> Result<(T, bool)> {
    let signals = Signals::termination().context("blocking SIGINT and SIGTERM")?;
    let (stop, done) = (Stop::default(), Stop::default());
    thread::scope(|scope| {
        let watcher = scope.spawn(|| watch(&signals, &stop, &done));
        let result = work(&stop);
        done.raise();
        let came = watcher.join().unwrap_or(false);
        Ok((result, came))
    })
}

fn watch(signals: &Signals, stop: &Stop, done: &Stop) -> bool {
    let mut came = false;
    while !done.is_raised() {
        if matches!(signals.next(), Ok(Some(_))) {
            came = true;
            stop.raise();
        }
        thread::sleep(INTERVAL);
    }
    came
}
