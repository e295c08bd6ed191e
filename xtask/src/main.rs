//! Checks of the tree itself: `cargo run -p xtask -- tidy`.
//!
//! `tidy` checks that the tree is what `ARCHITECTURE.md` says: the direction of imports, what the
//! crates behind a wall never reach and never depend on, what the agent does not contain, the
//! length of files, no leftovers, and errata whose tests exist. It needs no network and no tool but
//! cargo.
#![expect(clippy::print_stdout, reason = "a checker prints what it found")]

mod tidy;

use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "usage: cargo run -p xtask -- tidy";

fn main() -> anyhow::Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments != ["tidy"] {
        println!("{USAGE}");
        return Ok(ExitCode::from(2));
    }
    let report = tidy::check(workspace_root())?;
    for line in report
        .warnings
        .iter()
        .map(|w| format!("warning: {w}"))
        .chain(report.faults.iter().cloned())
    {
        println!("{line}");
    }
    println!(
        "tidy: {} faults, {} warnings in {} files",
        report.faults.len(),
        report.warnings.len(),
        report.files
    );
    Ok(ExitCode::from(u8::from(!report.faults.is_empty())))
}

/// The folder that holds the workspace's manifest.
fn workspace_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask lies inside the workspace")
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_tree_is_tidy() {
        let report = super::tidy::check(super::workspace_root()).unwrap();
        assert!(report.faults.is_empty(), "{}", report.faults.join("\n"));
    }
}
