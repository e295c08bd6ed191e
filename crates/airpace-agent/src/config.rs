//! Configuration files: read and checked, with an error that shows the line.

use crate::failure::{bad_input, bad_input_with};
use airpace_api::config::{AgentConfig, DocumentError, EdgeConfig, Override, ProxyConfig};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Reads the in-line box's configuration, with `settings` in place of what the file says or lacks,
/// and checks it.
///
/// # Errors
/// The file cannot be read, or its content is refused; both count as bad input.
pub fn edge(path: &Path, settings: &[Override]) -> anyhow::Result<EdgeConfig> {
    let config = load(path, |text| EdgeConfig::from_toml_with(text, settings))?;
    Ok(config.in_folder(&folder_of(path)?))
}

/// Reads the proxy's configuration and checks it.
///
/// # Errors
/// The file cannot be read, or its content is refused; both count as bad input.
pub fn proxy(path: &Path) -> anyhow::Result<ProxyConfig> {
    let config = load(path, ProxyConfig::from_toml)?;
    Ok(config.in_folder(&folder_of(path)?))
}

/// Reads the agent's configuration and checks it.
///
/// # Errors
/// The file cannot be read, or its content is refused; both count as bad input.
pub fn agent(path: &Path) -> anyhow::Result<AgentConfig> {
    let config = load(path, AgentConfig::from_toml)?;
    Ok(config.in_folder(&folder_of(path)?))
}

/// The folder of a configuration file, from which its relative paths start. It is absolute, so that
/// the effective configuration means the same in another folder.
fn folder_of(path: &Path) -> anyhow::Result<PathBuf> {
    let file = std::path::absolute(path)
        .map_err(|error| bad_input(format!("{}: {error}", path.display())))?;
    Ok(file.parent().unwrap_or(Path::new("/")).to_owned())
}

fn load<T>(
    path: &Path,
    from_toml: impl FnOnce(&str) -> Result<T, DocumentError>,
) -> anyhow::Result<T> {
    let file = path.display();
    from_toml(&text(path)?)
        .map_err(|error| bad_input_with(error.one_line(&file.to_string()), error.excerpt()))
}

/// Reads a configuration's text.
///
/// # Errors
/// The file cannot be read, or it holds a private key and others may read it; both count as bad
/// input.
pub fn text(path: &Path) -> anyhow::Result<String> {
    let text = airpace_net::files::read_text(path)
        .map_err(|error| bad_input(format!("cannot read {}: {error}", path.display())))?;
    refuse_exposed_key(path, &text)?;
    Ok(text)
}

/// Refuses a configuration that holds a private key and that other users may read, as a key file of
/// that mode is refused. The mode is not corrected: others may have read the key already.
fn refuse_exposed_key(path: &Path, text: &str) -> anyhow::Result<()> {
    let holds_key = text.lines().any(|line| {
        let name = line.split('=').next().unwrap_or_default();
        line.contains('=') && name.trim().rsplit('.').next() == Some("private_key")
    });
    let file = path.display();
    let metadata =
        fs::metadata(path).map_err(|error| bad_input(format!("cannot read {file}: {error}")))?;
    let mode = metadata.permissions().mode() & 0o777;
    if holds_key && metadata.is_file() && mode & 0o077 != 0 {
        return Err(bad_input(format!(
            "{file} holds a private key and can be read by others (mode {mode:03o}): run chmod 600 {file}"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_key_in_a_file_that_others_may_read_is_refused() {
        let path = std::env::temp_dir().join(format!("airpace-config-{}", std::process::id()));
        let text = "  private_key = \"secret\"\n";
        fs::write(&path, text).unwrap();
        for (mode, is_refused) in [(0o600, false), (0o400, false), (0o640, true), (0o644, true)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let result = refuse_exposed_key(&path, text);
            assert_eq!(result.is_err(), is_refused, "{mode:o}");
            let other = refuse_exposed_key(&path, "private_key_file = \"/etc/key\"\n");
            assert!(other.is_ok(), "the key is elsewhere");
        }
        fs::remove_file(&path).unwrap();
    }
}
