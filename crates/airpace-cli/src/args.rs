//! The program's arguments, and the checks of single values.

use crate::commands::Command;
use crate::failure;
use airpace_agent::log::{ENVIRONMENT, Verbosity};
use clap::Parser;

/// Ends Wi-Fi queueing delay without touching the access point.
#[derive(Parser)]
#[command(
    name = "airpace",
    version,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = ENVIRONMENT
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

#[cfg(test)]
mod tests {
    use super::Program;
    use clap::{Command, CommandFactory as _};
    use std::path::Path;

    /// The long help of a command and of all below it, hidden ones included.
    fn add_helps(command: &mut Command, helps: &mut Vec<String>) {
        helps.push(command.render_long_help().to_string());
        for below in command.get_subcommands_mut() {
            add_helps(below, helps);
        }
    }

    /// The paths of scenario files that a text names.
    fn scenarios(text: &str) -> Vec<&str> {
        let words = text.split(|c: char| c.is_whitespace() || "`'\"(),;".contains(c));
        words
            .filter(|word| word.starts_with("scenarios/") && word.ends_with(".toml"))
            .collect()
    }

    #[test]
    fn every_scenario_that_a_help_text_names_exists() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut helps = Vec::new();
        add_helps(&mut Program::command(), &mut helps);
        let mut named = 0;
        for help in &helps {
            for path in scenarios(help) {
                assert!(root.join(path).is_file(), "{path} is not a file:\n{help}");
                named += 1;
            }
        }
        assert!(named > 0, "no help text names a scenario");
    }

    #[test]
    fn the_arguments_are_consistent() {
        Program::command().debug_assert();
    }
}
