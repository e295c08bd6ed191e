//! `airpace schema`.

use crate::files::FileKind;
use crate::output;
use clap::Args;
use std::process::ExitCode;

const EXAMPLES: &str = "Examples:
  airpace schema edge                             every key, for people
  airpace schema edge --json > edge.schema.json   JSON Schema (draft 2020-12), for editors

An editor with a language server for TOML (taplo) checks and completes a file whose first line is
  #:schema ./edge.schema.json";

/// Print every key of a kind of files.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Schema {
    /// The kind.
    kind: FileKind,
    /// Print JSON Schema (draft 2020-12).
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Schema) -> anyhow::Result<ExitCode> {
    if args.json {
        output::json(&args.kind.json_schema())?;
    } else {
        output::text(&args.kind.markdown())?;
    }
    Ok(ExitCode::SUCCESS)
}
