//! Runs the program.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// What a run printed, and its exit code.
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs the program with these arguments, given as one line.
pub(crate) fn airpace(line: &str) -> Run {
    airpace_words(&line.split_whitespace().collect::<Vec<_>>())
}

/// Runs the program with these arguments.
pub(crate) fn airpace_words(words: &[&str]) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_airpace"));
    let Output {
        status,
        stdout,
        stderr,
    } = command.args(words).stdin(Stdio::null()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run {
        code: status.code(),
        stdout: text(stdout),
        stderr: text(stderr),
    }
}

/// Runs the program with `--json` and reads what it printed.
pub(crate) fn json(line: &str) -> Value {
    let run = airpace(&format!("{line} --json"));
    assert_eq!(run.code, Some(0), "{line}: {}", run.stderr);
    serde_json::from_str(&run.stdout).unwrap()
}

/// Reads what a run printed, which must have succeeded.
#[track_caller]
pub(crate) fn json_of(run: &Run) -> Value {
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    serde_json::from_str(&run.stdout).unwrap()
}

/// Asserts that the program refuses these arguments: exit code 2, nothing on standard output, one
/// line that contains `advice`.
#[track_caller]
pub(crate) fn assert_refused(line: &str, advice: &str) {
    let run = refused(line, advice);
    assert_eq!(
        run.stderr.lines().count(),
        1,
        "{line}: more than one line: {}",
        run.stderr
    );
}

/// Asserts that the program refuses a file: as [`assert_refused`], followed by the line of the file
/// with a caret below it.
#[track_caller]
pub(crate) fn assert_refused_at_line(line: &str, advice: &str) {
    let run = refused(line, advice);
    let lines: Vec<&str> = run.stderr.lines().collect();
    assert_eq!(lines.len(), 3, "{line}: {}", run.stderr);
    assert!(lines[1].contains(" | "), "{line}: {}", run.stderr);
    assert!(lines[2].ends_with('^'), "{line}: {}", run.stderr);
}

#[track_caller]
fn refused(line: &str, advice: &str) -> Run {
    let run = airpace(line);
    assert_eq!(run.code, Some(2), "{line}: {}{}", run.stdout, run.stderr);
    assert_eq!(run.stdout, "", "{line}");
    assert!(run.stderr.starts_with("error: "), "{line}: {}", run.stderr);
    assert!(
        run.stderr.contains(advice),
        "{line}: `{advice}` is not in: {}",
        run.stderr
    );
    run
}

/// Asserts that two numbers agree within `tolerance`, relative.
#[track_caller]
pub(crate) fn assert_close(is: f64, should: f64, tolerance: f64) {
    assert!(
        (is - should).abs() <= tolerance * should.abs(),
        "is {is}, should be {should}"
    );
}

/// A folder for one test's files, removed at its end.
pub(crate) struct Folder(PathBuf);

/// Creates an empty folder whose name contains `name` and the process's number.
pub(crate) fn folder(name: &str) -> Folder {
    let path = std::env::temp_dir().join(format!("airpace-cli-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&path).unwrap();
    Folder(path)
}

impl Folder {
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // At worst the folder stays behind, which does not change the test's result.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
