//! Scenarios of networks in virtual time: the language of their files, resolution, runs, results as tables, sweeps.
//!
//! [`Loaded`] is a scenario file with the settings of the command line put in; [`run`](run::run) runs it; [`summary`] says what it comes
//! to; [`store`] writes files; [`sweep`] runs a grid of them.

pub mod file;
pub mod resolve;
pub mod results;
pub mod run;
pub mod stop;
pub mod store;
pub mod summary;
pub mod sweep;
pub mod table;
#[cfg(test)]
mod tests;

use crate::file::{self as scenario, DocumentError, Override, Scenario, Source};
use crate::results::ScenarioRecord;
use resolve::{Resolved, resolve};
use siphasher::sip128::{Hasher128, SipHasher24};
use std::hash::Hasher as _;
use std::path::{Path, PathBuf};

/// Version of the program that results tell.
pub const PROGRAM_VERSION: &str = env!("CARGO_PKG_VERSION");

/// A scenario that was read and checked.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The scenario, settings put in.
    pub scenario: Scenario,
    text: String,
    settings: Vec<Override>,
    source: Source,
    folder: PathBuf,
}

impl Loaded {
    /// Reads `text` with `settings` put in; files that it names are looked for in `folder`.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn new(text: &str, settings: Vec<Override>, folder: &Path) -> Result<Self, DocumentError> {
        let (scenario, source) = scenario::read(text, &settings)?;
        Ok(Self {
            scenario,
            text: text.to_owned(),
            settings,
            source,
            folder: folder.to_path_buf(),
        })
    }

    /// The same with further settings, which win.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn with(&self, more: &[Override]) -> Result<Self, DocumentError> {
        let settings = self.settings.iter().chain(more).cloned().collect();
        Self::new(&self.text, settings, &self.folder)
    }

    /// The network that it describes.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn resolve(&self) -> Result<Resolved, DocumentError> {
        resolve(&self.scenario, &self.source, &self.folder)
    }

    /// What results tell of the scenario.
    #[must_use]
    pub fn record(&self) -> ScenarioRecord {
        ScenarioRecord {
            title: self.scenario.title.clone(),
            hash: self.hash(),
            text: self.text.clone(),
            set: self.settings.iter().map(Override::to_string).collect(),
        }
    }

    /// Hash of every setting, defaults included, but of the seed, and of the files of traces.
    fn hash(&self) -> String {
        let scenario = Scenario {
            seed: 0,
            ..self.scenario.clone()
        };
        let text = serde_json::to_string(&scenario)
            .expect("texts, finite numbers and lists are all representable");
        let files = scenario
            .node
            .iter()
            .flat_map(|node| node.rate.iter().chain(&node.uplink_rate))
            .filter_map(|rate| rate.file.as_ref());
        let mut hasher = SipHasher24::new();
        hasher.write(text.as_bytes());
        for file in files {
            // A file that cannot be read is refused when the scenario is resolved.
            hasher.write(&std::fs::read(self.folder.join(file)).unwrap_or_default());
        }
        hex(hasher.finish128().as_u128())
    }
}

/// 32 hexadecimal digits.
fn hex(value: u128) -> String {
    format!("{value:032x}")
}
