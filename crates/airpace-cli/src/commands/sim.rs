//! `airpace sim`: scenarios in virtual time.

mod run;
mod schema;
mod sweep;

use crate::failure::{bad_input, bad_input_with};
use airpace_scenario::Loaded;
use airpace_scenario::file::{DocumentError, Override};
use clap::{Args, Subcommand};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "Examples:
  airpace sim run scenarios/002-f1-cell.toml
  airpace sim run scenarios/ns3-s2-equal.toml --set node.station.count=20 --seed 7 --json
  airpace sim run scenarios/ns3-s2-equal.toml --set record.pcap=true --out out/equal
  airpace sim run scenarios/002-f1-cell.toml --watch --speed 1
  airpace sim sweep scenarios/ns3-s2-equal.toml --over node.station.count=1,2,5,10 --repeats 5 --out out/sweep
  airpace sim schema";

/// Run scenarios in virtual time: 802.11 cells, wired links, TCP, calls, web pages and airpace
/// proxies.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Sim {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Run(run::Run),
    Sweep(sweep::Sweep),
    Schema(schema::Schema),
}

pub(crate) fn run(args: &Sim) -> anyhow::Result<ExitCode> {
    match &args.what {
        What::Run(args) => run::run(args),
        What::Sweep(args) => sweep::run(args),
        What::Schema(args) => schema::run(args),
    }
}

/// The scenario, and the settings that replace some of its own.
#[derive(Args)]
struct Chosen {
    /// The scenario, a TOML file; `airpace sim schema` prints all its keys.
    file: PathBuf,
    /// Replace a setting of the file: a dotted path, entries of lists by index or name. May be
    /// repeated; the last one wins.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<Override>,
    /// Seed of every random draw, in place of the file's.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

impl Chosen {
    /// Reads and checks the scenario.
    fn load(&self) -> anyhow::Result<Loaded> {
        let text = std::fs::read_to_string(&self.file)
            .map_err(|error| bad_input(format!("cannot read {}: {error}", self.file.display())))?;
        let mut settings = self.settings.clone();
        settings.extend(self.seed.map(|seed| Override {
            key: "seed".to_owned(),
            value: seed.to_string(),
        }));
        let folder = self.file.parent().unwrap_or(Path::new("."));
        Loaded::new(&text, settings, folder).map_err(|error| self.refusal(&error))
    }

    /// The failure of the program for a refused scenario, with the line that it is about.
    fn refusal(&self, error: &DocumentError) -> anyhow::Error {
        bad_input_with(
            error.one_line(&self.file.display().to_string()),
            error.excerpt(),
        )
    }
}
