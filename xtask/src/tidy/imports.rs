//! The direction of imports between our crates, and crates that the sans-IO ones never depend on.

use super::Report;
use anyhow::Context;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Our crates, lowest first, each with all of ours that it may import. The picture of it is in `ARCHITECTURE.md`.
const EDGES: [(&str, &[&str]); 16] = [
    ("airpace-units", &[]),
    ("airpace-core", &["airpace-units"]),
    ("airpace-edge", &["airpace-units", "airpace-core"]),
    (
        "airpace-sim",
        &["airpace-units", "airpace-core", "airpace-edge"],
    ),
    ("airpace-config", &["airpace-units"]),
    (
        "airpace-scenario",
        &[
            "airpace-units",
            "airpace-core",
            "airpace-edge",
            "airpace-sim",
            "airpace-config",
        ],
    ),
    (
        "airpace-api",
        &[
            "airpace-units",
            "airpace-core",
            "airpace-edge",
            "airpace-config",
        ],
    ),
    ("airpace-net", &["airpace-units"]),
    (
        "airpace-live",
        &[
            "airpace-units",
            "airpace-core",
            "airpace-edge",
            "airpace-config",
            "airpace-api",
            "airpace-net",
        ],
    ),
    (
        "airpace-emu",
        &[
            "airpace-units",
            "airpace-core",
            "airpace-sim",
            "airpace-config",
            "airpace-api",
            "airpace-net",
        ],
    ),
    (
        "airpace-lab",
        &[
            "airpace-units",
            "airpace-core",
            "airpace-edge",
            "airpace-sim",
            "airpace-config",
            "airpace-scenario",
            "airpace-api",
            "airpace-net",
            "airpace-live",
            "airpace-emu",
        ],
    ),
    (
        "airpace-papers",
        &[
            "airpace-units",
            "airpace-core",
            "airpace-edge",
            "airpace-sim",
            "airpace-config",
            "airpace-scenario",
            "airpace-api",
            "airpace-lab",
        ],
    ),
    (
        "airpace-cli",
        &[
            "airpace-units",
            "airpace-core",
            "airpace-edge",
            "airpace-sim",
            "airpace-config",
            "airpace-scenario",
            "airpace-api",
            "airpace-net",
            "airpace-live",
            "airpace-emu",
            "airpace-lab",
            "airpace-papers",
        ],
    ),
    (
        "airpace-py",
        &[
            "airpace-units",
            "airpace-core",
            "airpace-sim",
            "airpace-scenario",
        ],
    ),
    (
        "airpace-examples",
        &[
            "airpace-units",
            "airpace-core",
            "airpace-edge",
            "airpace-sim",
            "airpace-scenario",
            "airpace-net",
            "airpace-emu",
            "airpace-lab",
        ],
    ),
    ("xtask", &[]),
];

/// Crates that own no clock, socket, file, environment variable, thread or global random generator.
pub(super) const SANS_IO: [&str; 4] = [
    "airpace-units",
    "airpace-core",
    "airpace-sim",
    "airpace-api",
];

/// Crates that reach the operating system, or a global generator, on behalf of whoever depends on them.
const OS_CRATES: [&str; 18] = [
    "async-std",
    "crossbeam",
    "fastrand",
    "getrandom",
    "libc",
    "mio",
    "nix",
    "pcap",
    "polling",
    "rand",
    "rayon",
    "rustix",
    "signal-hook",
    "smol",
    "socket2",
    "tokio",
    "tun-rs",
    "windows-sys",
];

/// Checks the manifests of all members, as cargo understands them.
pub(super) fn check(root: &Path, report: &mut Report) -> anyhow::Result<()> {
    let packages = metadata(root)?;
    for package in packages.as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        let Some((_, allowed)) = EDGES.iter().find(|(known, _)| *known == name) else {
            report.faults.push(format!(
                "crate {name}: unknown to xtask; say in imports.rs what it may import"
            ));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            check_edge(name, allowed, dependency, report);
        }
    }
    Ok(())
}

fn check_edge(name: &str, allowed: &[&str], dependency: &Value, report: &mut Report) {
    let to = dependency["name"].as_str().unwrap_or_default();
    // A crate depends on itself to switch a feature on for its tests and benchmarks.
    if to.starts_with("airpace-") && to != name && !allowed.contains(&to) {
        report
            .faults
            .push(format!("crate {name}: imports {to}, which is not below it"));
    }
    // A test or bench may use what it likes from outside; the library may not.
    let ships = dependency["kind"].as_str() != Some("dev");
    if ships && SANS_IO.contains(&name) && OS_CRATES.contains(&to) {
        report.faults.push(format!(
            "crate {name}: depends on {to}; it is sans-IO, so the caller must bring this in"
        ));
    }
}

/// The members' manifests. Without the graph of other people's crates, so that nothing is downloaded.
fn metadata(root: &Path) -> anyhow::Result<Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
            "--locked",
            "--offline",
        ])
        .current_dir(root)
        .output()
        .context("cannot run cargo metadata")?;
    anyhow::ensure!(
        output.status.success(),
        "cargo metadata: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let mut all: Value =
        serde_json::from_slice(&output.stdout).context("cargo metadata printed no JSON")?;
    Ok(all["packages"].take())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn faults(name: &str, allowed: &[&str], dependency: &Value) -> Vec<String> {
        let mut report = Report::default();
        check_edge(name, allowed, dependency, &mut report);
        report.faults
    }

    #[test]
    fn an_import_against_the_direction_is_a_fault_even_in_tests() {
        let dependency = json!({"name": "airpace-sim", "kind": "dev"});
        assert_eq!(
            faults("airpace-core", &["airpace-units"], &dependency).len(),
            1
        );
        assert!(faults("airpace-emu", &["airpace-sim"], &dependency).is_empty());
    }

    #[test]
    fn an_operating_system_crate_is_a_fault_in_a_sans_io_library_only() {
        assert_eq!(
            faults("airpace-core", &[], &json!({"name": "libc", "kind": null})).len(),
            1
        );
        assert!(faults("airpace-core", &[], &json!({"name": "libc", "kind": "dev"})).is_empty());
        assert!(faults("airpace-net", &[], &json!({"name": "libc", "kind": null})).is_empty());
    }

    #[test]
    fn edges_only_point_down() {
        for (index, (name, allowed)) in EDGES.iter().enumerate() {
            for to in *allowed {
                let below = EDGES[..index].iter().any(|(lower, _)| lower == to);
                assert!(below, "{name} may import {to}, which stands above it");
            }
        }
    }
}
