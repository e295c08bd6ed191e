//! Ctrl-C and SIGTERM end an experiment early and in order.

use crate::tool::Stop;
use airpace_net::signals::Signals;
use anyhow::{Context, Result};
use std::thread;
use std::time::Duration;

/// How often signals are looked for.
const LOOK: Duration = Duration::from_millis(50);

/// Runs `work` with a flag that SIGINT and SIGTERM raise. The second value tells whether one of them came.
///
/// # Errors
/// If the signals cannot be taken over; `work` was then not run.
pub fn with_signals<T>(work: impl FnOnce(&Stop) -> T) -> Result<(T, bool)> {
    let signals = Signals::termination().context("taking over the signals")?;
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
        thread::sleep(LOOK);
    }
    came
}
