//! Every command that the documentation shows is one that this program understands, and every
//! target of `make` is one of the Makefile's.
//!
//! The commands are also run (`tests/it/docs.rs`).

use crate::args::Program;
use clap::Parser;
use clap::error::{ContextKind, ErrorKind};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The Markdown files of the repository that show commands, with their text.
fn pages() -> Vec<(PathBuf, String)> {
    let mut folders = vec![root().join("docs"), root().join("docs/design")];
    folders.push(root());
    folders.push(root().join("examples"));
    let mut pages = Vec::new();
    for folder in folders {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "md") {
                let text = std::fs::read_to_string(&path).unwrap();
                pages.push((path, text));
            }
        }
    }
    pages.sort();
    pages
}

/// Lines of blocks of code, continued lines joined, and code within the text.
fn shown(page: &str) -> Vec<String> {
    let mut shown = Vec::new();
    let mut is_code = false;
    for line in page.replace("\\\n", " ").lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if is_code {
            shown.push(line.trim().to_owned());
        } else {
            shown.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    shown
}

/// The words of a command as a shell divides them, up to a comment, a redirection or another command.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let (mut quote, mut is_begun) = (None, false);
    for c in line.chars() {
        match (quote, c) {
            (Some(end), c) if c == end => quote = None,
            (None, '\'' | '"') => (quote, is_begun) = (Some(c), true),
            (None, '|' | '>' | '<' | '&' | ';') => break,
            (None, '#') if !is_begun => break,
            (None, c) if c.is_whitespace() => {
                if std::mem::take(&mut is_begun) {
                    words.push(String::new());
                }
            }
            (_, c) => {
                words.last_mut().unwrap().push(c);
                is_begun = true;
            }
        }
    }
    if !is_begun {
        words.pop();
    }
    words
}

/// Whether a word stands for something that the reader puts in.
fn is_placeholder(word: &str) -> bool {
    let is_name = word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    word.contains('…') || word.contains("...") || word.contains('[') || is_name || word == "N"
}

/// Whether what is wrong is only that something is left out: in the text, commands and options are
/// named without what they need.
fn is_named_only(error: &clap::Error) -> bool {
    let value = error.get(ContextKind::InvalidValue);
    match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::MissingRequiredArgument
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => true,
        ErrorKind::InvalidValue => value.is_some_and(|value| value.to_string().is_empty()),
        _ => false,
    }
}

#[test]
fn the_program_understands_every_command_of_the_documentation() {
    let (mut checked, mut faults) = (0, Vec::new());
    for (path, page) in pages() {
        for line in shown(&page) {
            let words = words(&line);
            let Some(program) = words.first().map(|first| first.rsplit('/').next().unwrap()) else {
                continue;
            };
            // A name alone is the program, not a command.
            if program != "airpace" || words.len() < 2 || words.iter().any(|w| is_placeholder(w)) {
                continue;
            }
            checked += 1;
            if let Err(error) = Program::try_parse_from(&words)
                && !is_named_only(&error)
            {
                faults.push(format!("{}: {line}\n{error}", path.display()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(checked > 100, "only {checked} commands were found");
}

#[test]
fn every_target_of_make_in_the_documentation_exists() {
    let makefile = std::fs::read_to_string(root().join("Makefile")).unwrap();
    let is_target = |name: &str| {
        let mut lines = makefile.lines();
        lines.any(|line| {
            line.strip_prefix(name)
                .is_some_and(|rest| rest.starts_with(':'))
        })
    };
    for (path, page) in pages() {
        for line in shown(&page) {
            let words = words(&line);
            if words.first().is_none_or(|first| first != "make") {
                continue;
            }
            let targets = words[1..].iter().filter(|word| !word.contains('='));
            for target in targets.filter(|word| !is_placeholder(word)) {
                assert!(is_target(target), "{}: {line}", path.display());
            }
        }
    }
}

#[test]
fn lines_are_divided_as_a_shell_does() {
    assert_eq!(
        words("airpace demo --load '30 s'  # long"),
        ["airpace", "demo", "--load", "30 s"]
    );
    assert_eq!(words("airpace edge > /dev/null"), ["airpace", "edge"]);
    assert_eq!(words("# airpace"), Vec::<String>::new());
}
