//! `airpace dist`: the files of a package that follow from the program itself.

use crate::args::Program;
use crate::files::FileKind;
use airpace_agent::program::Program as AgentProgram;
use airpace_api::config::{AgentConfig, EdgeConfig, ProxyConfig};
use anyhow::Context as _;
use clap::{Args, CommandFactory as _, ValueEnum as _};
use clap_complete::Shell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Write man pages, shell completions, example configurations and JSON Schemas.
#[derive(Args)]
pub(crate) struct Dist {
    /// Folder for the files: `airpace` and `airpace-agent`, each with what its package installs.
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
}

pub(crate) fn run(args: &Dist) -> anyhow::Result<ExitCode> {
    let (large, small) = (args.out.join("airpace"), args.out.join("airpace-agent"));
    describe(&mut Program::command(), &large)?;
    describe(&mut AgentProgram::command(), &small)?;
    write(&large.join("etc/edge.toml"), &EdgeConfig::example())?;
    write(&large.join("etc/proxy.toml"), &ProxyConfig::example())?;
    write(&small.join("etc/agent.toml"), &AgentConfig::example())?;
    for kind in FileKind::value_variants() {
        let schema = serde_json::to_string_pretty(&kind.json_schema())?;
        let name = format!("schema/{}.schema.json", kind.word());
        write(&large.join(name), &format!("{schema}\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes man pages and completions of a program.
fn describe(program: &mut clap::Command, folder: &Path) -> anyhow::Result<()> {
    let pages = folder.join("man");
    make(&pages)?;
    clap_mangen::generate_to(program.clone(), &pages).context("the man pages")?;
    let name = program.get_name().to_owned();
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        let mut text = Vec::new();
        clap_complete::generate(shell, program, &name, &mut text);
        let file = match shell {
            Shell::Zsh => format!("zsh/_{name}"),
            Shell::Fish => format!("fish/{name}.fish"),
            _ => format!("bash/{name}"),
        };
        write(&folder.join(file), &String::from_utf8(text)?)?;
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    make(path.parent().unwrap_or(Path::new(".")))?;
    fs::write(path, text).with_context(|| path.display().to_string())
}

fn make(folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())
}
