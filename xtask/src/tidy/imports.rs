//! The direction of imports between our crates, as the manifests state them. Tests and benchmarks
//! are bound by it, too.

use super::Report;
use super::walls::IMPORTS;
use anyhow::Context;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Checks the manifests of all members and returns their names.
pub(super) fn check(root: &Path, report: &mut Report) -> anyhow::Result<Vec<String>> {
    let packages = metadata(root)?;
    let mut members = Vec::new();
    for package in packages.as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        members.push(name.to_owned());
        let Some(allowed) = allowed(name) else {
            report.faults.push(format!(
                "crate {name}: unknown to xtask; say in walls.rs what it may import"
            ));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            check_edge(name, allowed, dependency, report);
        }
    }
    Ok(members)
}

/// The short names of our crates that `name` may import; `None` if it is not in the table.
fn allowed(name: &str) -> Option<&'static str> {
    let (_, allowed) = IMPORTS.iter().find(|(known, _)| *known == short(name))?;
    Some(allowed)
}

fn short(name: &str) -> &str {
    name.strip_prefix("airpace-").unwrap_or(name)
}

fn check_edge(name: &str, allowed: &str, dependency: &Value, report: &mut Report) {
    let to = dependency["name"].as_str().unwrap_or_default();
    let Some(ours) = to.strip_prefix("airpace-") else {
        return;
    };
    // A crate may depend on itself for its tests, with features that its users do not have.
    if to != name && !allowed.split(' ').any(|below| below == ours) {
        report
            .faults
            .push(format!("crate {name}: imports {to}, which is not below it"));
    }
}

/// The members' manifests, without the graph of other people's crates.
fn metadata(root: &Path) -> anyhow::Result<Value> {
    let output = cargo()
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .args(["--locked", "--offline"])
        .current_dir(root)
        .output()
        .context("cannot run cargo metadata")?;
    anyhow::ensure!(
        output.status.success(),
        "cargo metadata: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let mut all: Value =
        serde_json::from_slice(&output.stdout).context("cargo metadata did not print JSON")?;
    Ok(all["packages"].take())
}

/// The cargo that runs us, so that a toolchain chosen on the command line stays chosen.
pub(super) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn faults(name: &str, to: &str) -> Vec<String> {
        let mut report = Report::default();
        let allowed = allowed(name).expect("a crate of the table");
        let dependency = json!({"name": to, "kind": "dev"});
        check_edge(name, allowed, &dependency, &mut report);
        report.faults
    }

    #[test]
    fn an_import_against_the_direction_is_a_fault_even_in_tests() {
        assert_eq!(
            faults("airpace-core", "airpace-sim"),
            ["crate airpace-core: imports airpace-sim, which is not below it"]
        );
        assert!(faults("airpace-emu", "airpace-sim").is_empty());
        assert!(faults("airpace-core", "airpace-core").is_empty());
        assert!(faults("airpace-core", "proptest").is_empty());
    }

    #[test]
    fn the_table_of_imports_points_down_only() {
        for (index, (name, allowed)) in IMPORTS.iter().enumerate() {
            for to in allowed.split_whitespace() {
                let below = IMPORTS[..index].iter().any(|(lower, _)| *lower == to);
                assert!(below, "{name} may import {to}, which stands above it");
            }
        }
    }
}
