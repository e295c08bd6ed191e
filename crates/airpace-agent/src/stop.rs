//! How proxy and agent end: they run until a signal stops them.

use crate::failure::{Interrupted, bad_input};
use airpace_live::Stop;
use airpace_live::keys::KeyFileError;
use airpace_net::signals::Signals;
use std::os::fd::AsFd as _;
use std::process::ExitCode;

/// Runs until Ctrl-C or SIGTERM. The latter is how a service is asked to end, so it counts as
/// success.
///
/// # Errors
/// Whatever stopped `run`; [`Interrupted`] after Ctrl-C; signals cannot be received.
pub fn until_stopped(run: impl FnOnce(Stop<'_>) -> anyhow::Result<()>) -> anyhow::Result<ExitCode> {
    let signals = Signals::termination()?;
    run(signals.as_fd()).map_err(|error| {
        // The configuration names the file of the key, so an unusable key file is bad
        // input.
        if error.is::<KeyFileError>() {
            bad_input(error)
        } else {
            error
        }
    })?;
    match signals.next()? {
        Some(signal) if signal.as_str() == "SIGINT" => Err(Interrupted.into()),
        _ => Ok(ExitCode::SUCCESS),
    }
}
