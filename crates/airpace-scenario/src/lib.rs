//! Scenarios of networks in virtual time: the language of their files, runs, results, and sweeps
//! over settings and seeds.
//!
//! A scenario file says which channels, nodes, wires, traffic and proxies there are, and what
//! changes ([`mod@file`]). It is resolved to the network that [`airpace_sim::world`] runs
//! ([`mod@resolve`]); the figures of a run ([`results`]) can be printed ([`table`]) or written to
//! files ([`store`]); a grid of settings runs on all cores and can be resumed ([`sweep`]).
//!
//! What it refuses to do: read a clock, open a socket or draw on the terminal. Files are the
//! scenario's traces and the results alone. The caller measures wall time, shows progress
//! ([`progress`]) and raises the flag that stops a run ([`stop`]). The same scenario, seed and
//! version give the same figures.
//!
//! Three types to know:
//! - [`Loaded`], a scenario file with the settings of the command line put in;
//! - [`Resolved`], the network that it describes and the names of its parts;
//! - [`SimulationSummary`](results::SimulationSummary), the figures of a run.
//!
//! ```
//! use airpace_scenario::progress::Silent;
//! use airpace_scenario::{Loaded, run::run, stop::Stop};
//!
//! let text = r#"
//! duration = "200 ms"
//! warm_up = "50 ms"
//! [[node]]
//! kind = "ap"
//! [[node]]
//! kind = "station"
//! count = 2
//! rate = "mcs 9"
//! [[flow]]
//! kind = "udp-cbr"
//! rate = "20 Mbit/s"
//! "#;
//! let loaded = Loaded::new(text, vec!["seed=7".parse()?], ".".as_ref())?;
//! let finished = run(&loaded, loaded.resolve()?, &Stop::default(), &Silent)?;
//! let summary = finished.expect("nothing stopped it").summary;
//! assert!((summary.totals.goodput_mbps - 40.0).abs() < 2.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod file;
pub mod progress;
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
pub mod warnings;

use crate::file::{DocumentError, Override, Scenario, Source};
use crate::results::ScenarioRecord;
use resolve::{Resolved, resolve};
use siphasher::sip128::{Hasher128, SipHasher24};
use std::hash::Hasher as _;
use std::path::{Path, PathBuf};

/// Version of the program, which results name.
pub const PROGRAM_VERSION: &str = env!("CARGO_PKG_VERSION");

/// A scenario that was read and checked.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The scenario with the settings put in.
    pub scenario: Scenario,
    text: String,
    settings: Vec<Override>,
    source: Source,
    folder: PathBuf,
}

impl Loaded {
    /// Reads `text` with `settings` put in. Paths of files in it are relative to `folder`.
    ///
    /// # Errors
    /// The text or a setting is refused; the error says where and proposes a remedy.
    pub fn new(text: &str, settings: Vec<Override>, folder: &Path) -> Result<Self, DocumentError> {
        let (scenario, source) = file::read(text, &settings)?;
        Ok(Self {
            scenario,
            text: text.to_owned(),
            settings,
            source,
            folder: folder.to_path_buf(),
        })
    }

    /// The same scenario with further settings, which override the earlier ones.
    ///
    /// # Errors
    /// A setting is refused.
    pub fn with(&self, more: &[Override]) -> Result<Self, DocumentError> {
        let settings = self.settings.iter().chain(more).cloned().collect();
        Self::new(&self.text, settings, &self.folder)
    }

    /// The same scenario with another seed. It is not read again, which a sweep of many seeds would
    /// feel.
    ///
    /// # Errors
    /// The seed is more than TOML can hold, 2^63 - 1.
    fn with_seed(&self, seed: u64) -> Result<Self, DocumentError> {
        let setting = Override {
            key: "seed".to_owned(),
            value: seed.to_string(),
        };
        if i64::try_from(seed).is_err() {
            return self.with(&[setting]);
        }
        let mut seeded = self.clone();
        seeded.scenario.seed = seed;
        seeded.settings.push(setting);
        Ok(seeded)
    }

    /// The network that it describes.
    ///
    /// # Errors
    /// The scenario does not describe a network that can be run; the error says where and why.
    pub fn resolve(&self) -> Result<Resolved, DocumentError> {
        resolve(&self.scenario, &self.source, &self.folder)
    }

    /// What results say of the scenario.
    #[must_use]
    pub fn record(&self) -> ScenarioRecord {
        ScenarioRecord {
            title: self.scenario.title.clone(),
            hash: self.hash(),
            text: self.text.clone(),
            set: self.settings.iter().map(Override::to_string).collect(),
        }
    }

    /// Hash of every setting but the seed, defaults included, and of the contents of the files with
    /// traces.
    fn hash(&self) -> String {
        let scenario = Scenario {
            seed: 0,
            ..self.scenario.clone()
        };
        let text = serde_json::to_string(&scenario)
            .expect("texts, finite numbers and lists are all representable");
        let mut hasher = SipHasher24::new();
        hasher.write(text.as_bytes());
        for node in &scenario.node {
            for rate in node.rate.iter().chain(&node.uplink_rate) {
                if let Some(file) = &rate.file {
                    // A file that cannot be read is refused when the scenario is resolved.
                    hasher.write(&std::fs::read(self.folder.join(file)).unwrap_or_default());
                }
            }
        }
        hex(hasher.finish128().as_u128())
    }
}

/// 32 hexadecimal digits.
fn hex(value: u128) -> String {
    format!("{value:032x}")
}
