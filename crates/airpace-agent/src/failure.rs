//! What a program ends with: 0 done, 1 failed while running, 2 bad input, 130 stopped by Ctrl-C.

use crate::log;
use std::io::ErrorKind;
use std::process::ExitCode;

/// The input was refused and nothing was done. The message says what to give instead.
#[derive(Debug)]
pub struct BadInput {
    message: String,
    /// The line of a file that the message is about, with a caret below it; printed unchanged.
    excerpt: Option<String>,
}

impl std::fmt::Display for BadInput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for BadInput {}

/// The user stopped the run, which needs no message.
#[derive(Debug)]
pub struct Interrupted;

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Interrupted {}

/// Turns a message about the input into an error that ends the program with [`BAD_INPUT`].
#[must_use]
pub fn bad_input(message: impl std::fmt::Display) -> anyhow::Error {
    BadInput {
        message: message.to_string(),
        excerpt: None,
    }
    .into()
}

/// The same, with the line of a file that the message is about.
#[must_use]
pub fn bad_input_with(message: impl std::fmt::Display, excerpt: Option<&str>) -> anyhow::Error {
    BadInput {
        message: message.to_string(),
        excerpt: excerpt.map(str::to_owned),
    }
    .into()
}

/// Exit code of a failure during the run.
pub const FAILED: u8 = 1;
/// Exit code of bad input, the same as that of `clap`.
pub const BAD_INPUT: u8 = 2;
/// Exit code after Ctrl-C: 128 + SIGINT.
pub const INTERRUPTED: u8 = 130;

/// Reports a failure in one line, followed by the line of a file that it is about, and returns the
/// exit code.
#[must_use]
pub fn exit_code(result: anyhow::Result<ExitCode>) -> ExitCode {
    let error = match result {
        Ok(code) => return code,
        Err(error) => error,
    };
    if error.chain().any(|cause| cause.is::<Interrupted>()) {
        return ExitCode::from(INTERRUPTED);
    }
    if error.chain().any(is_closed_pipe) {
        // The reader of our output has closed it, as `head` does.
        return ExitCode::SUCCESS;
    }
    complain(&whole_message(&error));
    let bad_input = error
        .chain()
        .find_map(|cause| cause.downcast_ref::<BadInput>());
    if let Some(excerpt) = bad_input.and_then(|bad| bad.excerpt.as_deref()) {
        show(excerpt);
    }
    ExitCode::from(if bad_input.is_some() {
        BAD_INPUT
    } else {
        FAILED
    })
}

/// The error and its causes, without those that another message quotes already.
fn whole_message(error: &anyhow::Error) -> String {
    let mut message = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        if message.is_empty() {
            message = cause;
        } else if !message.contains(&cause) {
            message = format!("{message}: {cause}");
        }
    }
    message
}

/// Prints an error on one line of standard error.
pub fn complain(message: &str) {
    use std::io::Write as _;
    let words: Vec<&str> = message.split_whitespace().collect();
    if log::is_json() {
        let line = log::json_line("ERROR", "failed", &words.join(" "));
        let _ = writeln!(std::io::stderr(), "{line}");
        return;
    }
    // If standard error is closed, there is no way left to tell the user.
    let _ = writeln!(std::io::stderr(), "error: {}", words.join(" "));
}

/// Prints lines on standard error unchanged.
fn show(lines: &str) {
    use std::io::Write as _;
    if log::is_json() {
        // Every line of the log is a JSON object then.
        return;
    }
    // As in `complain`.
    let _ = writeln!(std::io::stderr(), "{lines}");
}

fn is_closed_pipe(cause: &(dyn std::error::Error + 'static)) -> bool {
    cause
        .downcast_ref::<std::io::Error>()
        .is_some_and(|e| e.kind() == ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context as _;

    #[test]
    fn a_cause_that_the_message_quotes_is_not_repeated() {
        let io = std::io::Error::from(ErrorKind::PermissionDenied);
        let quoted = Err::<(), _>(io)
            .context("cannot open x: permission denied; run as root")
            .context("starting");
        assert_eq!(
            whole_message(&quoted.unwrap_err()),
            "starting: cannot open x: permission denied; run as root"
        );
        assert_eq!(whole_message(&anyhow::anyhow!("b").context("a")), "a: b");
    }
}
