//! The arguments that all commands share, and the checks of single values.

use crate::commands::Command;
use crate::failure;
use clap::Parser;
use std::process::ExitCode;

/// Ends Wi-Fi queueing delay without touching the access point.
#[derive(Parser)]
#[command(
    name = "airpace",
    version,
    arg_required_else_help = true,
    disable_help_subcommand = true
)]
pub(crate) struct Args {
    /// Log more: once for decisions, twice for every step.
    #[arg(short, long, action = clap::ArgAction::Count, global = true, conflicts_with = "quiet", display_order = 1000)]
    pub(crate) verbose: u8,
    /// Log only what makes results doubtful.
    #[arg(short, long, global = true, display_order = 1000)]
    pub(crate) quiet: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Parses the command line; prints help or one line of complaint and returns the exit code where there is nothing to run.
pub(crate) fn parse() -> Result<Args, ExitCode> {
    Args::try_parse().map_err(|error| {
        if error.use_stderr()
            && error.kind() != clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
        {
            failure::complain(&one_line(&error));
        } else {
            // Printing help fails only when nobody reads it.
            let _ = error.print();
        }
        ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(failure::BAD_INPUT))
    })
}

/// What is wrong and clap's tip, without the usage, which `--help` has.
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

/// A finite number above zero.
pub(crate) fn positive(text: &str) -> Result<f64, String> {
    number(text).and_then(|value| {
        if value > 0.0 {
            Ok(value)
        } else {
            Err("give a number above 0".into())
        }
    })
}

/// A finite number of at least zero.
pub(crate) fn not_negative(text: &str) -> Result<f64, String> {
    number(text).and_then(|value| {
        if value >= 0.0 {
            Ok(value)
        } else {
            Err("give 0 or more".into())
        }
    })
}

/// A finite number of at least one.
pub(crate) fn one_or_more(text: &str) -> Result<f64, String> {
    number(text).and_then(|value| {
        if value >= 1.0 {
            Ok(value)
        } else {
            Err("give 1 or more".into())
        }
    })
}

/// A probability below one.
pub(crate) fn probability(text: &str) -> Result<f64, String> {
    number(text).and_then(|p| {
        if (0.0..1.0).contains(&p) {
            Ok(p)
        } else {
            Err("give 0 or more, below 1".into())
        }
    })
}

fn number(text: &str) -> Result<f64, String> {
    let value: f64 = text
        .trim()
        .parse()
        .map_err(|_| "give a number such as 12.5".to_owned())?;
    if value.is_finite() {
        Ok(value)
    } else {
        Err("give a finite number".into())
    }
}

/// One value for each of `n` stations: a list of `n`, or a single value that holds for all.
pub(crate) fn per_station<T: Copy>(flag: &str, values: &[T], n: usize) -> anyhow::Result<Vec<T>> {
    match values {
        [one] => Ok(vec![*one; n]),
        all if all.len() == n => Ok(all.to_vec()),
        all => Err(failure::bad_input(format!(
            "{flag} has {} values for {n} stations: give {n} values, or one for all",
            all.len()
        ))),
    }
}
