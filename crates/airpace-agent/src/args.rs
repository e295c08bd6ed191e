//! Parses the command line; each error is one line.

use crate::failure;
use clap::Parser;
use std::process::ExitCode;

/// Parses the command line.
///
/// # Errors
/// There is nothing to run: help or the version was requested and has been printed, or the
/// arguments are invalid and one line says why. The value is the exit code.
pub fn parse<A: Parser>() -> Result<A, ExitCode> {
    A::try_parse().map_err(|error| {
        let shows_help =
            error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
        if error.use_stderr() && !shows_help {
            failure::complain(&one_line(&error));
        } else {
            // Printing fails only if nobody reads it.
            let _ = error.print();
        }
        ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(failure::BAD_INPUT))
    })
}

/// What is wrong and clap's tip, without the usage, which `--help` shows.
fn one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let mut lines = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with("Usage:") {
            break;
        }
        if !line.is_empty() && !line.starts_with("For more information") {
            lines.push(line.trim_start_matches("error: "));
        }
    }
    format!("{} (see --help)", lines.join("; ").replace(":;", ":"))
}
