//! What stands beneath a crate in the resolved dependency graph, directly or not: no operating
//! system behind a wall, nothing large in a lean program.
//!
//! Each crate is resolved by itself with its default features, as someone who depends on it alone
//! would get it; within the workspace other members may switch on more. What only runs while
//! compiling (build scripts, procedural macros) does not count.

use super::Report;
use super::imports::cargo;
use super::walls::{LEAN, Lean, OS_CRATES, Reach, THREAD_CRATES, WALLS, Wall};
use anyhow::Context;
use std::path::Path;

/// Checks the walled crates and the lean programs among `members`.
pub(super) fn check(root: &Path, members: &[String], report: &mut Report) -> anyhow::Result<()> {
    let is_member = |name: &str| members.iter().any(|member| member == name);
    for wall in WALLS.iter().filter(|wall| is_member(wall.name)) {
        check_wall(wall, &tree(root, wall.name)?, report);
    }
    for lean in LEAN.iter().filter(|lean| is_member(lean.name)) {
        check_lean(lean, &tree(root, lean.name)?, report);
    }
    Ok(())
}

fn check_wall(wall: &Wall, tree: &str, report: &mut Report) {
    let threads = wall.permits.contains(&Reach::Threads);
    for path in paths(tree) {
        let Some((last, above)) = path.split_last() else {
            continue;
        };
        if above.iter().any(|name| OS_CRATES.contains(name)) {
            // The crate above is at fault already, and goes together with this one.
            continue;
        }
        if OS_CRATES.contains(last) {
            report.faults.push(format!(
                "crate {}: {last} stands beneath it ({}): it must not depend on an operating system",
                wall.name,
                path.join(" → ")
            ));
        } else if !threads && THREAD_CRATES.contains(last) {
            report.faults.push(format!(
                "crate {}: {last} stands beneath it ({}): threads belong to the caller",
                wall.name,
                path.join(" → ")
            ));
        }
    }
}

fn check_lean(lean: &Lean, tree: &str, report: &mut Report) {
    for path in paths(tree) {
        let Some(last) = path.last() else {
            continue;
        };
        if lean.without.contains(last) {
            report.faults.push(format!(
                "crate {}: {last} stands beneath it ({}): this program must stay small",
                lean.name,
                path.join(" → ")
            ));
        }
    }
}

/// The paths from the root of a printed tree to each of its lines.
///
/// Every line is the depth, directly followed by the name, as `cargo tree --prefix depth` prints
/// it. What stands beneath a crate is printed where the crate is first met only, so each dependency
/// of one crate on another appears once.
fn paths(tree: &str) -> Vec<Vec<&str>> {
    let mut path: Vec<&str> = Vec::new();
    let mut found: Vec<Vec<&str>> = Vec::new();
    for line in tree.lines() {
        let name_at = line.find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
        let Ok(depth) = line[..name_at].parse::<usize>() else {
            continue;
        };
        let name = line[name_at..].split(' ').next().unwrap_or_default();
        path.truncate(depth);
        path.push(name);
        found.push(path.clone());
    }
    found
}

/// What `cargo tree` prints of a member: for this machine's target, without what runs only while
/// compiling.
fn tree(root: &Path, member: &str) -> anyhow::Result<String> {
    let output = cargo()
        .args(["tree", "--package", member])
        .args(["--edges", "normal,no-proc-macro", "--prefix", "depth"])
        .args(["--locked", "--offline"])
        .current_dir(root)
        .output()
        .context("cannot run cargo tree")?;
    anyhow::ensure!(
        output.status.success(),
        "cargo tree --package {member}: {}(`cargo fetch --locked` gets what is missing)",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).context("cargo tree did not print UTF-8")
}

#[cfg(test)]
mod tests {
    use super::super::walls::wall;
    use super::*;

    const TREE: &str = "0airpace-scenario v0.1.0 (/somewhere)
1airpace-units v0.1.0 (/somewhere)
1parquet v60.1.0
2ahash v0.8.12
3getrandom v0.3.4
4libc v0.2.191
2rayon v1.11.0
3libc v0.2.191 (*)
1libc v0.2.191 (*)
";

    fn faults(name: &str, tree: &str) -> Vec<String> {
        let mut report = Report::default();
        check_wall(wall(name).expect("a walled crate"), tree, &mut report);
        report.faults
    }

    #[test]
    fn an_operating_system_crate_beneath_a_wall_is_a_fault_that_names_the_way_to_it() {
        assert_eq!(
            faults("airpace-scenario", TREE),
            [
                "crate airpace-scenario: getrandom stands beneath it (airpace-scenario → parquet → ahash → getrandom): \
                 it must not depend on an operating system",
                "crate airpace-scenario: libc stands beneath it (airpace-scenario → parquet → rayon → libc): \
                 it must not depend on an operating system",
                "crate airpace-scenario: libc stands beneath it (airpace-scenario → libc): \
                 it must not depend on an operating system",
            ]
        );
        assert!(faults("airpace-core", "0airpace-core v0.1.0\n1siphasher v1.0.4\n").is_empty());
    }

    #[test]
    fn threads_are_a_fault_where_they_are_not_permitted() {
        let tree = "0airpace-sim v0.1.0\n1rayon v1.11.0\n";
        assert!(faults("airpace-sim", tree)[0].contains("threads belong to the caller"));
        assert!(faults("airpace-scenario", tree).is_empty());
    }

    #[test]
    fn a_simulator_beneath_the_agent_is_a_fault() {
        let mut report = Report::default();
        let tree = "0airpace-agent v0.1.0\n1airpace-live v0.1.0\n2airpace-sim v0.1.0\n";
        check_lean(&LEAN[0], tree, &mut report);
        assert_eq!(report.faults.len(), 1);
        assert!(report.faults[0].contains("airpace-agent → airpace-live → airpace-sim"));
    }

    #[test]
    fn the_real_graph_is_read_with_its_indirect_dependencies() {
        let root = crate::workspace_root();
        let tree = tree(root, "airpace-net").expect("cargo tree");
        let names: Vec<&str> = paths(&tree)
            .iter()
            .filter_map(|p| p.last().copied())
            .collect();
        assert!(names.contains(&"libc"), "{names:?}");
        // A dependency of a procedural macro, which runs only while compiling.
        assert!(!names.contains(&"syn"), "{names:?}");
    }
}
