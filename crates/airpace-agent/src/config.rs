//! Configuration files: read, parsed and checked, with one line of complaint that says where.

use crate::failure::bad_input;
use airpace_api::config::{AgentConfig, ConfigError, ProxyConfig};
use std::path::Path;

/// The proxy's configuration, checked.
pub(crate) fn proxy(path: &Path) -> anyhow::Result<ProxyConfig> {
    let text = read(path)?;
    let config = ProxyConfig::from_toml(&text).map_err(|error| refusal(path, &text, &error))?;
    config
        .validate()
        .map_err(|error| refusal(path, &text, &error))?;
    Ok(config)
}

/// The agent's configuration, checked.
pub(crate) fn agent(path: &Path) -> anyhow::Result<AgentConfig> {
    let text = read(path)?;
    let config = AgentConfig::from_toml(&text).map_err(|error| refusal(path, &text, &error))?;
    config
        .validate()
        .map_err(|error| refusal(path, &text, &error))?;
    Ok(config)
}

fn read(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path)
        .map_err(|error| bad_input(format!("cannot read {}: {error}", path.display())))
}

/// `file:line:column: what is wrong`, on one line where the parser would draw a picture.
fn refusal(path: &Path, text: &str, error: &ConfigError) -> anyhow::Error {
    let file = path.display();
    let ConfigError::Toml(toml) = error else {
        return bad_input(format!("{file}: {error}"));
    };
    let place =
        toml.span()
            .and_then(|span| text.get(..span.start))
            .map_or(String::new(), |before| {
                let line = before.matches('\n').count() + 1;
                let column = before
                    .rsplit('\n')
                    .next()
                    .unwrap_or_default()
                    .chars()
                    .count()
                    + 1;
                format!(":{line}:{column}")
            });
    bad_input(format!("{file}{place}: {}", toml.message()))
}
