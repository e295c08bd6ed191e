//! Logging to standard error.

use clap::{ArgAction, Args};
use std::io::IsTerminal as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// How much is logged.
#[derive(Args)]
pub struct Verbosity {
    /// Log more: once for decisions, twice for every step.
    #[arg(short, long, action = ArgAction::Count, global = true, conflicts_with = "quiet", display_order = 1000)]
    verbose: u8,
    /// Log only warnings and errors.
    #[arg(short, long, global = true, display_order = 1000)]
    quiet: bool,
}

impl Verbosity {
    /// Logs from now on. The environment variable `AIRPACE_LOG` wins over the flags: a level, or
    /// levels by module such as `warn,airpace_live::agent=debug`.
    pub fn start_logging(&self) {
        let level = match (self.quiet, self.verbose) {
            (true, _) => "warn",
            (false, 0) => "info",
            (false, 1) => "debug",
            (false, _) => "trace",
        };
        let filter = from_environment().unwrap_or_else(|| {
            level
                .parse()
                .expect("the names of levels are filters for all modules")
        });
        // `Targets` in place of `EnvFilter`: the latter brings a megabyte of regular expressions
        // into the program.
        let lines = tracing_subscriber::fmt::layer()
            .with_writer(std::io::stderr)
            .with_ansi(std::io::stderr().is_terminal())
            .with_target(false);
        tracing_subscriber::registry()
            .with(filter)
            .with(lines)
            .init();
    }
}

/// The filter that the environment asks for; an invalid filter is ignored.
fn from_environment() -> Option<Targets> {
    let text = std::env::var_os("AIRPACE_LOG")?;
    text.to_str()?.parse().ok()
}
