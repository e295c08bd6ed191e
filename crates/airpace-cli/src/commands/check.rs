//! `airpace check`.

use crate::failure::bad_input_with;
use crate::files::{self, FileKind};
use crate::output;
use airpace_agent::failure;
use airpace_scenario::file::{DocumentError, Place};
use clap::Args;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "Examples:
  airpace check /etc/airpace/edge.toml
  airpace check agent.toml --as agent        say what it is, in place of finding out by its keys
  airpace check scenarios/l4s.toml --json

Nothing but the file is looked at. What is missing on this machine: airpace doctor FILE. Exit code 2
if the file is refused.";

/// Check a configuration of edge, proxy or agent, or a scenario.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Check {
    /// The file (TOML).
    file: PathBuf,
    /// What the file is, if its keys do not tell.
    #[arg(long = "as", value_name = "KIND")]
    kind: Option<FileKind>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The result as JSON.
#[derive(Serialize)]
struct Report<'a> {
    file: &'a Path,
    /// `null` if the file is not TOML.
    kind: Option<FileKind>,
    ok: bool,
    summary: Vec<String>,
    error: Option<Refusal<'a>>,
}

/// Why a file is refused.
#[derive(Serialize)]
struct Refusal<'a> {
    message: &'a str,
    /// From 1; `null` if it is about the file as a whole.
    line: Option<usize>,
    column: Option<usize>,
    /// The line, with a caret below the part that is meant.
    excerpt: Option<&'a str>,
}

pub(crate) fn run(args: &Check) -> anyhow::Result<ExitCode> {
    let text = files::read(&args.file)?;
    let folder = args.file.parent().unwrap_or(Path::new("."));
    let kind = args.kind.map_or_else(|| FileKind::of(&text), Ok);
    let checked = kind
        .clone()
        .and_then(|kind| Ok((kind, kind.check(&text, folder)?)));
    if args.json {
        let report = Report {
            file: &args.file,
            kind: kind.ok(),
            ok: checked.is_ok(),
            summary: checked
                .as_ref()
                .map_or_else(|_| Vec::new(), |(_, checked)| checked.summary()),
            error: checked.as_ref().err().map(refusal),
        };
        output::json(&report)?;
        return Ok(match checked {
            Ok(_) => ExitCode::SUCCESS,
            Err(_) => ExitCode::from(failure::BAD_INPUT),
        });
    }
    let name = args.file.display().to_string();
    let (kind, checked) =
        checked.map_err(|error| bad_input_with(error.one_line(&name), error.excerpt()))?;
    let mut lines = format!("{name}: ok, for {}\n", kind.command());
    for line in checked.summary() {
        lines.push_str(&format!("  {line}\n"));
    }
    output::text(&lines)?;
    Ok(ExitCode::SUCCESS)
}

fn refusal(error: &DocumentError) -> Refusal<'_> {
    let (line, column) = match error.place {
        Place::Line { line, column, .. } => (Some(line), Some(column)),
        Place::Setting(_) | Place::Whole => (None, None),
    };
    Refusal {
        message: &error.message,
        line,
        column,
        excerpt: error.excerpt(),
    }
}
