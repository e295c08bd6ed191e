//! Files with the rows.

use super::{Frontier, render};
use anyhow::{Context as _, Result};
use std::fs;
use std::path::Path;

/// Writes `rows.json` and `table.txt` into `folder`, which is created if necessary. Files that are
/// there are replaced at once, so that no reader sees half of one.
///
/// # Errors
/// If the folder cannot be created or a file cannot be written.
pub fn store(folder: &Path, frontier: &Frontier) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    let rows = serde_json::to_string_pretty(frontier).context("encoding as JSON")?;
    replace(folder, "rows.json", &format!("{rows}\n"))?;
    replace(folder, "table.txt", &render::text(frontier))
}

fn replace(folder: &Path, name: &str, text: &str) -> Result<()> {
    let (path, beside) = (folder.join(name), folder.join(format!(".{name}.new")));
    fs::write(&beside, text)
        .and_then(|()| fs::rename(&beside, &path))
        .with_context(|| format!("writing {}", path.display()))
}
