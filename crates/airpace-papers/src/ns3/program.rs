//! The program of `validation/ns3` as a child process.

use super::figures::{Figures, Part};
use super::setting::Setting;
use anyhow::{Context as _, bail};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs settings in ns-3.
#[derive(Clone, Debug)]
pub struct Ns3 {
    /// The program built from `validation/ns3`.
    pub program: PathBuf,
    /// The airpace program, whose controllers decide in ns-3 as well.
    pub airpace: PathBuf,
}

/// The parts of the program's output that are used.
#[derive(Deserialize)]
struct Output {
    stations: Vec<Part>,
    totals: Part,
    received_packets: u64,
    wall_s: f64,
}

impl Ns3 {
    /// Runs a setting.
    ///
    /// # Errors
    /// If the program cannot be started, fails, or does not print results.
    pub fn run(&self, setting: &Setting) -> anyhow::Result<Figures> {
        let flags = setting.flags(&self.airpace.to_string_lossy());
        let text = run(&self.program, &flags)?;
        let output: Output =
            serde_json::from_str(&text).context("the ns-3 program printed no results")?;
        Ok(Figures {
            stations: output.stations,
            all: output.totals,
            received: output.received_packets,
            wall_s: output.wall_s,
        })
    }
}

/// Runs a program and returns its standard output.
///
/// # Errors
/// If it cannot be started, or fails; with the first line of its standard error.
pub(super) fn run(program: &Path, arguments: &[String]) -> anyhow::Result<String> {
    let output = Command::new(program).args(arguments).output();
    let output = output.with_context(|| {
        format!(
            "cannot start {}; build it with `make validate-ns3`",
            program.display()
        )
    })?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        let first = message
            .lines()
            .find(|line| !line.trim().is_empty())
            .unwrap_or("it printed no message");
        bail!(
            "{} {} failed: {first}",
            program.display(),
            arguments.join(" ")
        );
    }
    String::from_utf8(output.stdout).context("the program printed bytes that are not UTF-8")
}
