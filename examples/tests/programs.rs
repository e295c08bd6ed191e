//! Runs every program of this folder and compares what it prints with the comment at its top.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program whose figures vary from run to run, and which the system may not allow at all.
const LIVE: &str = "emulated";

/// Most lines of a program, without blank ones and comments.
const MOST_LINES: usize = 80;

struct Program {
    name: String,
    source: String,
}

impl Program {
    /// The command and the output in the text block of the head comment.
    fn expected(&self) -> (&str, String) {
        let head = self
            .source
            .lines()
            .map_while(|line| line.strip_prefix("//!"));
        let mut block = head
            .map(|line| line.strip_prefix(' ').unwrap_or(line))
            .skip_while(|line| *line != "```text")
            .skip(1)
            .take_while(|line| *line != "```");
        let command = block.next().expect("the comment has a block of text");
        (command, block.map(|line| format!("{line}\n")).collect())
    }

    /// Runs the program that cargo has built beside this test, and returns what it prints.
    fn run(&self) -> String {
        let test = std::env::current_exe().expect("a running program has a path");
        let profile = test
            .ancestors()
            .nth(2)
            .expect("tests stand in <profile>/deps");
        let program = profile.join("examples").join(&self.name);
        let output = Command::new(&program).output();
        let output = output.unwrap_or_else(|error| {
            let program = program.display();
            panic!("{program}: {error}; `cargo build -p airpace-examples --examples` builds it")
        });
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {error}", self.name);
        String::from_utf8(output.stdout).expect("the programs print UTF-8")
    }
}

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn programs() -> Vec<Program> {
    let mut programs = Vec::new();
    for entry in fs::read_dir(folder()).expect("the folder is there") {
        let path: PathBuf = entry.expect("the folder is readable").path();
        if path.extension() == Some(OsStr::new("rs")) {
            let name = path.file_stem().expect("the file has a name");
            programs.push(Program {
                name: name.to_string_lossy().into_owned(),
                source: fs::read_to_string(&path).expect("the source is readable"),
            });
        }
    }
    programs.sort_by(|a, b| a.name.cmp(&b.name));
    programs
}

/// The text with `#` in the place of each number, and single spaces.
fn without_numbers(text: &str) -> String {
    let mut pattern = String::new();
    for line in text.lines() {
        for word in line.split_whitespace() {
            let number = word.parse::<f64>().is_ok();
            pattern += if number { "#" } else { word };
            pattern.push(' ');
        }
        pattern.push('\n');
    }
    pattern
}

#[test]
fn every_program_prints_what_its_comment_says() {
    for program in programs() {
        let (command, expected) = program.expected();
        let name = &program.name;
        assert_eq!(
            command,
            format!("$ cargo run -p airpace-examples --example {name}")
        );
        let printed = program.run();
        if name != LIVE {
            assert_eq!(printed, expected, "{name} prints:\n{printed}");
        } else if printed.starts_with("SKIPPED") {
            println!("{name}: {printed}");
        } else {
            assert_eq!(
                without_numbers(&printed),
                without_numbers(&expected),
                "{printed}"
            );
        }
    }
}

#[test]
fn programs_are_short_and_listed_in_the_readme() {
    let readme = fs::read_to_string(folder().join("README.md")).expect("there is a README");
    let programs = programs();
    assert!((6..=9).contains(&programs.len()), "{}", programs.len());
    for Program { name, source } in programs {
        let lines = source.lines().map(str::trim_start);
        let code = lines.filter(|line| !line.is_empty() && !line.starts_with("//"));
        let lines = code.count();
        assert!(
            lines <= MOST_LINES,
            "{name} has {lines} lines, at most {MOST_LINES}"
        );
        assert!(
            readme.contains(&format!("[`{name}`]({name}.rs)")),
            "{name} is not listed"
        );
    }
}
