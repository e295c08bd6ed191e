//! Configuration files: read and checked, with an error that shows the line.

use crate::failure::{bad_input, bad_input_with};
use airpace_api::config::{AgentConfig, DocumentError, EdgeConfig, ProxyConfig};
use std::path::Path;

/// Reads the in-line box's configuration and checks it.
///
/// # Errors
/// The file cannot be read, or its content is refused; both count as bad input.
pub fn edge(path: &Path) -> anyhow::Result<EdgeConfig> {
    load(path, EdgeConfig::from_toml)
}

/// Reads the proxy's configuration and checks it.
///
/// # Errors
/// The file cannot be read, or its content is refused; both count as bad input.
pub fn proxy(path: &Path) -> anyhow::Result<ProxyConfig> {
    load(path, ProxyConfig::from_toml)
}

/// Reads the agent's configuration and checks it.
///
/// # Errors
/// The file cannot be read, or its content is refused; both count as bad input.
pub fn agent(path: &Path) -> anyhow::Result<AgentConfig> {
    load(path, AgentConfig::from_toml)
}

fn load<T>(
    path: &Path,
    from_toml: impl FnOnce(&str) -> Result<T, DocumentError>,
) -> anyhow::Result<T> {
    let file = path.display();
    let text = airpace_net::files::read_text(path)
        .map_err(|error| bad_input(format!("cannot read {file}: {error}")))?;
    from_toml(&text)
        .map_err(|error| bad_input_with(error.one_line(&file.to_string()), error.excerpt()))
}
