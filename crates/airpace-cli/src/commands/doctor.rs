//! `airpace doctor`.

mod token;

use super::edge::access_point;
use crate::failure::{bad_input, bad_input_with};
use crate::files::{self, Checked, FileKind};
use crate::output;
use airpace_api::config::EdgeConfig;
use airpace_live::doctor::{self, Check, Purpose};
use clap::Args;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "Examples:
  airpace doctor                              what is there for a box in the wire
  airpace doctor --wan eth0 --ap eth1         for airpace edge between these ports
  airpace doctor /etc/airpace/edge.toml       for a configuration of edge, proxy or agent
  airpace doctor --wan eth0 --ap eth1 --json

Nothing is changed: what must be tried is tried in a network namespace of its own. Exit code 0 if
nothing is missing, otherwise 1.";

/// Tell what this machine lacks of what airpace needs, each with its remedy.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Doctor {
    /// Configuration of edge, proxy or agent (TOML).
    #[arg(value_name = "FILE", conflicts_with_all = ["wan", "ap"])]
    file: Option<PathBuf>,
    /// Interface towards the wired network.
    #[arg(long, value_name = "INTERFACE", requires = "ap")]
    wan: Option<String>,
    /// Interface towards an access point; once for each.
    #[arg(long, value_name = "INTERFACE", requires = "wan")]
    ap: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The result as JSON.
#[derive(Serialize)]
struct Report {
    ok: bool,
    checks: Vec<Check>,
}

pub(crate) fn run(args: &Doctor) -> anyhow::Result<ExitCode> {
    let checks = examine(args)?;
    let ok = checks.iter().all(|check| check.ok);
    if args.json {
        output::json(&Report { ok, checks })?;
    } else {
        output::text(&as_text(&checks))?;
    }
    Ok(ExitCode::from(u8::from(!ok)))
}

fn examine(args: &Doctor) -> anyhow::Result<Vec<Check>> {
    if let Some(path) = &args.file {
        let text = files::read(path)?;
        let folder = path.parent().unwrap_or(Path::new("."));
        let checked = FileKind::of(&text).and_then(|kind| kind.check(&text, folder));
        let name = path.display().to_string();
        let checked =
            checked.map_err(|error| bad_input_with(error.one_line(&name), error.excerpt()))?;
        // Relative paths start where those of the program that reads the file do.
        let folder = std::path::absolute(folder)?;
        return Ok(match checked {
            Checked::Edge(config) => {
                let config = config.in_folder(&folder);
                let page = config.web.as_ref().map(token::check);
                doctor::examine(Purpose::Edge(&config), Vec::from_iter(page))
            }
            Checked::Proxy(config) => {
                doctor::examine(Purpose::Proxy(&config.in_folder(&folder)), Vec::new())
            }
            Checked::Agent(config) => {
                doctor::examine(Purpose::Agent(&config.in_folder(&folder)), Vec::new())
            }
            Checked::Scenario(_) => {
                return Err(bad_input(format!(
                    "{name} is a scenario, which needs nothing of the machine: airpace check {name}"
                )));
            }
        });
    }
    let Some(wan) = &args.wan else {
        return Ok(doctor::examine(Purpose::AnyEdge, Vec::new()));
    };
    let config = EdgeConfig {
        wan: wan.clone(),
        ap: args.ap.iter().map(|port| access_point(port)).collect(),
        ..EdgeConfig::default()
    };
    config
        .validate()
        .map_err(|error| bad_input_with(error.one_line("options"), error.excerpt()))?;
    Ok(doctor::examine(Purpose::Edge(&config), Vec::new()))
}

fn as_text(checks: &[Check]) -> String {
    let width = checks
        .iter()
        .map(|check| check.name.chars().count())
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for check in checks {
        let mark = if check.ok { "ok     " } else { "MISSING" };
        text.push_str(&format!(
            "{mark}  {:<width$}  {}\n",
            check.name, check.found
        ));
        if let Some(remedy) = &check.remedy {
            let label = if check.ok { "hint" } else { "remedy" };
            text.push_str(&format!("{:9}{:width$}  {label}: {remedy}\n", "", ""));
        }
    }
    let missing = checks.iter().filter(|check| !check.ok).count();
    text.push_str(&match missing {
        0 => "\nnothing is missing\n".to_owned(),
        1 => "\n1 thing is missing\n".to_owned(),
        n => format!("\n{n} things are missing\n"),
    });
    text
}
