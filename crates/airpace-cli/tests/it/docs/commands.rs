//! Finds the commands on the pages.

use std::path::{Path, PathBuf};

/// Programs that begin a command, in blocks and within the text.
const PROGRAMS: [&str; 18] = [
    "airpace",
    "airpace-agent",
    "apt",
    "apt-get",
    "cargo",
    "chown",
    "curl",
    "export",
    "flent",
    "git",
    "ip",
    "iw",
    "make",
    "rustup",
    "scripts/fuzz",
    "ssh",
    "systemctl",
    "valgrind",
];

/// A command that a page shows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Command {
    /// The page, from the root of the repository.
    pub(super) page: String,
    /// The heading under which it stands.
    pub(super) heading: String,
    /// The command, without the comment after it.
    pub(super) line: String,
    /// Whether it stands in a block, and not within the text.
    pub(super) is_block: bool,
}

pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The pages with their names.
pub(super) fn pages() -> Vec<(String, String)> {
    let mut pages = Vec::new();
    for folder in ["", "docs", "docs/design", "examples", "fuzz"] {
        for entry in std::fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            // What changed once is not to be run today.
            if name.ends_with(".md") && name != "CHANGELOG.md" {
                let page = Path::new(folder).join(name).display().to_string();
                pages.push((page, std::fs::read_to_string(path).unwrap()));
            }
        }
    }
    pages.sort();
    pages
}

/// The commands of all pages, in their order.
pub(super) fn all() -> Vec<Command> {
    pages()
        .iter()
        .flat_map(|(page, text)| of_page(page, text))
        .collect()
}

/// The commands of a page. The blocks of the guide have a test of their own.
pub(super) fn of_page(page: &str, text: &str) -> Vec<Command> {
    let mut commands = Vec::new();
    let mut heading = String::new();
    let mut block = None;
    for line in text.replace("\\\n", " ").lines() {
        if let Some(kind) = line.trim_start().strip_prefix("```") {
            block = if block.is_some() {
                None
            } else {
                Some(kind.to_owned())
            };
            continue;
        }
        let mut add = |line: &str, is_block| {
            commands.push(Command {
                page: page.to_owned(),
                heading: heading.clone(),
                line: without_comment(line),
                is_block,
            });
        };
        match block.as_deref() {
            Some("sh") if page == "docs/deploy.md" => {}
            Some("sh") if !line.trim().is_empty() && !line.starts_with('#') => add(line, true),
            Some(_) => {}
            None if line.starts_with('#') => {
                heading = line.trim_start_matches('#').trim().to_owned();
            }
            None => {
                let shown = line.split('`').skip(1).step_by(2);
                shown
                    .filter(|code| is_command(code))
                    .for_each(|code| add(code, false));
            }
        }
    }
    commands
}

/// Lines that are commands in blocks that do not say so.
pub(super) fn stray(text: &str) -> Vec<String> {
    let mut block = None;
    let mut stray = Vec::new();
    for line in text.lines() {
        if let Some(kind) = line.trim_start().strip_prefix("```") {
            block = if block.is_some() {
                None
            } else {
                Some(kind.to_owned())
            };
        } else if block.as_deref() == Some("") && !line.starts_with(' ') && is_command(line) {
            stray.push(line.to_owned());
        }
    }
    stray
}

/// A name alone is the program, not a command.
fn is_command(code: &str) -> bool {
    let first = code.split_whitespace().next().unwrap_or_default();
    let program = first.strip_prefix("target/release/").unwrap_or(first);
    PROGRAMS.contains(&program) && code.split_whitespace().count() > 1
}

fn without_comment(line: &str) -> String {
    let end = line.find(" #").unwrap_or(line.len());
    line[..end].split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What is missing of a test or benchmark that a line runs: its crate, its file, or a test whose name
/// or module has the words.
pub(super) fn missing_test(line: &str) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let after = |option: &str| {
        let at = words.iter().position(|word| *word == option)?;
        words.get(at + 1).copied()
    };
    let Some(package) = after("-p") else {
        return Some("no -p".to_owned());
    };
    let folder = root().join("crates").join(package);
    if !folder.is_dir() {
        return Some(format!("no crate {package}"));
    }
    if let Some(name) = after("--bench") {
        let is_there = folder.join(format!("benches/{name}.rs")).is_file();
        return (!is_there).then(|| format!("no benchmark {name}"));
    }
    let mut taken = false;
    let filters = words.iter().skip(2).filter(|word| {
        let is_value = std::mem::replace(&mut taken, matches!(**word, "-p" | "--test"));
        !is_value && !word.starts_with('-')
    });
    let mut sources = String::new();
    gather(&folder, &mut sources);
    filters
        .map(|filter| filter.trim_end_matches("::"))
        .find(|filter| !has_test(&sources, filter))
        .map(|filter| format!("no test of {package} is called {filter}"))
}

fn has_test(sources: &str, filter: &str) -> bool {
    sources.lines().any(|line| {
        let line = line.trim_start();
        let name = line
            .strip_prefix("fn ")
            .or_else(|| line.strip_prefix("//// "));
        name.is_some_and(|name| name.contains(filter))
    })
}

/// Appends the Rust files below a folder, each after a line with its path, which has its modules.
fn gather(folder: &Path, sources: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            gather(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources.push_str(&format!("//// {}\n", path.display()));
            sources.push_str(&std::fs::read_to_string(&path).unwrap());
        }
    }
}
