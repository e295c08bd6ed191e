//! The program's arguments, and the checks of single values.

use crate::commands::Command;
use crate::failure;
use airpace_agent::log::Verbosity;
use clap::Parser;

/// Ends Wi-Fi queueing delay without touching the access point.
#[derive(Parser)]
#[command(
    name = "airpace",
    version,
    arg_required_else_help = true,
    disable_help_subcommand = true
)]
pub(crate) struct Program {
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// A finite number above zero.
pub(crate) fn positive(text: &str) -> Result<f64, String> {
    let value = number(text)?;
    if value > 0.0 {
        Ok(value)
    } else {
        Err("give a number above 0".into())
    }
}

/// A finite number of at least zero.
pub(crate) fn not_negative(text: &str) -> Result<f64, String> {
    let value = number(text)?;
    if value >= 0.0 {
        Ok(value)
    } else {
        Err("give 0 or more".into())
    }
}

/// A finite number of at least one.
pub(crate) fn one_or_more(text: &str) -> Result<f64, String> {
    let value = number(text)?;
    if value >= 1.0 {
        Ok(value)
    } else {
        Err("give 1 or more".into())
    }
}

/// A probability below one.
pub(crate) fn probability(text: &str) -> Result<f64, String> {
    let p = number(text)?;
    if (0.0..1.0).contains(&p) {
        Ok(p)
    } else {
        Err("give 0 or more, below 1".into())
    }
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
        [single] => Ok(vec![*single; n]),
        all if all.len() == n => Ok(all.to_vec()),
        all => Err(failure::bad_input(format!(
            "{flag} has {} values for {n} stations: give {n} values, or one for all",
            all.len()
        ))),
    }
}
