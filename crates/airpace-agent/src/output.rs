//! Results on standard output.

use std::io::Write as _;

/// Prints a result as JSON.
///
/// # Errors
/// Standard output is closed, or the value cannot be written as JSON.
pub fn json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    text(&format!("{}\n", serde_json::to_string_pretty(value)?))
}

/// Prints text as it is.
///
/// # Errors
/// Standard output is closed.
pub fn text(text: &str) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()?;
    Ok(())
}
