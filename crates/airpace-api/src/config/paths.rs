//! Where the files are that a configuration names: relative paths start in the folder of the
//! configuration, so that they mean the same whatever the working directory is.

use super::{AgentConfig, EdgeConfig, ProxyConfig};
use std::path::{Path, PathBuf};

impl ProxyConfig {
    /// Makes every relative path start in `folder`, that of the configuration file.
    #[must_use]
    pub fn in_folder(mut self, folder: &Path) -> Self {
        put(folder, &mut self.private_key_file);
        put(folder, &mut self.telemetry);
        for station in &mut self.station {
            put(folder, &mut station.preshared_key_file);
        }
        self
    }
}

impl AgentConfig {
    /// Makes every relative path start in `folder`, that of the configuration file.
    #[must_use]
    pub fn in_folder(mut self, folder: &Path) -> Self {
        put(folder, &mut self.private_key_file);
        put(folder, &mut self.preshared_key_file);
        put(folder, &mut self.telemetry);
        self
    }
}

impl EdgeConfig {
    /// Makes every relative path start in `folder`, that of the configuration file.
    #[must_use]
    pub fn in_folder(mut self, folder: &Path) -> Self {
        put(folder, &mut self.telemetry);
        if let Some(agents) = &mut self.agents {
            put(folder, &mut agents.private_key_file);
        }
        if let Some(web) = &mut self.web {
            put(folder, &mut web.token_file);
        }
        for station in &mut self.station {
            put(folder, &mut station.preshared_key_file);
        }
        self
    }
}

/// Puts `folder` in front of a relative path.
fn put(folder: &Path, path: &mut Option<PathBuf>) {
    if let Some(path) = path {
        // Joining leaves an absolute path as it is.
        *path = folder.join(&path);
    }
}
