//! All checks, over every file of the tree.

mod book;
mod errata;
mod graph;
mod imports;
mod source;
mod text;
mod walls;

use anyhow::Context;
use std::path::{Path, PathBuf};

/// What the checks found. Faults fail the build, warnings do not.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) faults: Vec<String>,
    pub(crate) warnings: Vec<String>,
    pub(crate) files: usize,
}

/// One text file of the tree.
struct File {
    /// Path from the root of the workspace, with forward slashes.
    path: String,
    content: String,
}

/// Folders without sources of ours: build products, results, and the repository itself.
const SKIPPED: [&str; 6] = [
    "target",
    "out",
    ".git",
    ".venv",
    "node_modules",
    "__pycache__",
];

/// Endings of the files that are read; all others are taken to be binary.
const TEXT: [&str; 10] = [
    "rs", "toml", "md", "py", "sh", "txt", "html", "js", "css", "lock",
];

/// Runs every check on the workspace at `root`.
pub(crate) fn check(root: &Path) -> anyhow::Result<Report> {
    let files = read_tree(root)?;
    let mut report = Report {
        files: files.len(),
        ..Report::default()
    };
    let members = imports::check(root, &mut report)?;
    graph::check(root, &members, &mut report)?;
    for file in &files {
        text::check(file, &mut report);
        if file.path.ends_with(".rs") {
            source::check(file, &mut report);
        }
    }
    book::check(root, &files, &mut report);
    errata::check(&files, &mut report);
    Ok(report)
}

/// Every text file below `root`, in the order of their paths.
fn read_tree(root: &Path) -> anyhow::Result<Vec<File>> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)
            .with_context(|| format!("cannot list {}", folder.display()))?
        {
            let path = entry?.path();
            let name = path
                .file_name()
                .and_then(|n| n.to_str())
                .unwrap_or_default()
                .to_owned();
            if path.is_dir() {
                if !SKIPPED.contains(&name.as_str()) {
                    folders.push(path);
                }
            } else if is_text(&path, &name) {
                files.push(read_file(root, path)?);
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn is_text(path: &Path, name: &str) -> bool {
    let extension = path.extension().and_then(|e| e.to_str());
    name == "Makefile"
        || path
            .parent()
            .and_then(Path::file_name)
            .is_some_and(|folder| folder == ".ci" || folder == "scripts")
        || extension.is_some_and(|e| TEXT.contains(&e))
}

fn read_file(root: &Path, path: PathBuf) -> anyhow::Result<File> {
    let content = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}", path.display()))?;
    let relative = path
        .strip_prefix(root)
        .unwrap_or(&path)
        .to_string_lossy()
        .replace('\\', "/");
    Ok(File {
        path: relative,
        content,
    })
}
