//! `airpace sim schema`.

use crate::output;
use airpace_config::schema;
use clap::Args;
use std::process::ExitCode;

/// Print the reference of scenario files.
#[derive(Args)]
pub(super) struct Schema {
    /// Print JSON: per table its keys with type, default, bounds and meaning.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Schema) -> anyhow::Result<ExitCode> {
    if args.json {
        output::json(&schema::json::<airpace_scenario::file::Scenario>(
            airpace_scenario::file::FORMAT,
        ))?;
    } else {
        output::text(&schema::markdown::<airpace_scenario::file::Scenario>(
            "Scenario files",
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}
