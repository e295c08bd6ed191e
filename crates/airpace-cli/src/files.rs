//! The kinds of files that the program reads, and how they are told apart.

use airpace_agent::config;
use airpace_api::config::{AgentConfig, AgentMode, EdgeConfig, ProxyConfig};
use airpace_config::document;
use airpace_config::schema;
use airpace_config::section::Section;
use airpace_scenario::Loaded;
use airpace_scenario::file::{DocumentError, Scenario};
use clap::ValueEnum;
use serde::Serialize;
use serde_json::Value;
use std::path::Path;

/// The kinds of files.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FileKind {
    /// The in-line box's configuration: airpace edge.
    Edge,
    /// The proxy's configuration: airpace proxy.
    Proxy,
    /// The agent's configuration: airpace agent.
    Agent,
    /// A scenario: airpace sim run.
    Scenario,
}

/// A file that was read and checked.
pub(crate) enum Checked {
    Edge(Box<EdgeConfig>),
    Proxy(Box<ProxyConfig>),
    Agent(Box<AgentConfig>),
    Scenario(Box<Loaded>),
}

impl FileKind {
    const ALL: [Self; 4] = [Self::Edge, Self::Proxy, Self::Agent, Self::Scenario];

    /// What the file is, for people.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Edge => "The in-line box's configuration",
            Self::Proxy => "The proxy's configuration",
            Self::Agent => "The agent's configuration",
            Self::Scenario => "Scenario files",
        }
    }

    /// Its name on the command line.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Edge => "edge",
            Self::Proxy => "proxy",
            Self::Agent => "agent",
            Self::Scenario => "scenario",
        }
    }

    /// The command that runs such a file.
    pub(crate) const fn command(self) -> &'static str {
        match self {
            Self::Edge => "airpace edge --config",
            Self::Proxy => "airpace proxy --config",
            Self::Agent => "airpace agent --config",
            Self::Scenario => "airpace sim run",
        }
    }

    /// The kind whose keys a file has at its top level.
    ///
    /// # Errors
    /// It is not TOML, or has no key of any kind.
    pub(crate) fn of(text: &str) -> Result<Self, DocumentError> {
        let keys = document::top_level_keys(text)?;
        let mut best = (0, None);
        for kind in Self::ALL {
            let known = kind.keys();
            let n = keys
                .iter()
                .filter(|key| known.contains(&key.as_str()))
                .count();
            if n > best.0 {
                best = (n, Some(kind));
            }
        }
        best.1.ok_or_else(|| DocumentError {
            message: "it has no key of any file of this program: `airpace schema edge`, proxy, agent and \
                      scenario show them; --as names the kind"
                .to_owned(),
            place: airpace_scenario::file::Place::Whole,
        })
    }

    fn keys(self) -> Vec<&'static str> {
        let fields = match self {
            Self::Edge => EdgeConfig::fields(),
            Self::Proxy => ProxyConfig::fields(),
            Self::Agent => AgentConfig::fields(),
            Self::Scenario => Scenario::fields(),
        };
        fields.iter().map(|field| field.key).collect()
    }

    /// The reference as Markdown.
    pub(crate) fn markdown(self) -> String {
        let title = self.title();
        match self {
            Self::Edge => schema::markdown::<EdgeConfig>(title),
            Self::Proxy => schema::markdown::<ProxyConfig>(title),
            Self::Agent => schema::markdown::<AgentConfig>(title),
            Self::Scenario => schema::markdown::<Scenario>(title),
        }
    }

    /// The reference as JSON Schema.
    pub(crate) fn json_schema(self) -> Value {
        let title = self.title();
        match self {
            Self::Edge => schema::json_schema::<EdgeConfig>(title),
            Self::Proxy => schema::json_schema::<ProxyConfig>(title),
            Self::Agent => schema::json_schema::<AgentConfig>(title),
            Self::Scenario => schema::json_schema::<Scenario>(title),
        }
    }

    /// Reads a file of this kind and checks it; `folder` is where a scenario's traces are.
    ///
    /// # Errors
    /// The content is refused, with its place.
    pub(crate) fn check(self, text: &str, folder: &Path) -> Result<Checked, DocumentError> {
        Ok(match self {
            Self::Edge => Checked::Edge(Box::new(EdgeConfig::from_toml(text)?)),
            Self::Proxy => Checked::Proxy(Box::new(ProxyConfig::from_toml(text)?)),
            Self::Agent => Checked::Agent(Box::new(AgentConfig::from_toml(text)?)),
            Self::Scenario => {
                let loaded = Loaded::new(text, Vec::new(), folder)?;
                // Whether the network can be run, traces included.
                loaded.resolve()?;
                Checked::Scenario(Box::new(loaded))
            }
        })
    }
}

impl Checked {
    /// What the file says, a few lines.
    pub(crate) fn summary(&self) -> Vec<String> {
        match self {
            Self::Edge(config) => edge(config),
            Self::Proxy(config) => vec![
                format!(
                    "listens on {}, interface {}",
                    config.listen, config.tun.name
                ),
                format!(
                    "{}: {}",
                    counted(config.station.len(), "station"),
                    list(config.station.iter().map(|station| station.name.as_str()))
                ),
            ],
            Self::Agent(config) => {
                let does = match config.mode {
                    AgentMode::Tunnel => "carries the station's traffic to the proxy at",
                    AgentMode::Sensor => "only reports, to",
                };
                let monitor = match &config.monitor {
                    Some(monitor) => format!("frames from {monitor}"),
                    None => "no monitor interface: frames by arrival times".to_owned(),
                };
                vec![format!("{does} {}", config.proxy), monitor]
            }
            Self::Scenario(loaded) => {
                let scenario = &loaded.scenario;
                let nodes: u64 = scenario.node.iter().map(|node| u64::from(node.count)).sum();
                vec![
                    if scenario.title.is_empty() {
                        "without a title".to_owned()
                    } else {
                        scenario.title.clone()
                    },
                    format!(
                        "{nodes} nodes, {}, {} simulated",
                        counted(scenario.flow.len(), "kind of flow"),
                        scenario.duration
                    ),
                ]
            }
        }
    }
}

fn edge(config: &EdgeConfig) -> Vec<String> {
    let ports: Vec<&str> = config.ports().map(|(_, port)| port).collect();
    let does = if config.dry_run {
        "measures between"
    } else {
        "paces between"
    };
    let mut lines = vec![format!(
        "{does} {} (wired network) and {} ({})",
        config.wan,
        ports.join(", "),
        counted(config.ap.len(), "access point")
    )];
    if let Some(bridge) = &config.bridge {
        lines.push(format!("in the bridge {bridge}"));
    }
    if !config.station.is_empty() {
        lines.push(format!(
            "{} named",
            counted(config.station.len(), "station")
        ));
    }
    if let Some(agents) = &config.agents {
        lines.push(format!("agents report to {}", agents.listen));
    }
    lines
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    /// Names beyond this many are not printed.
    const MOST: usize = 8;
    let names: Vec<&str> = names.collect();
    let shown = names[..names.len().min(MOST)].join(", ");
    if names.len() > MOST {
        format!("{shown}, …")
    } else {
        shown
    }
}

fn counted(n: usize, what: &str) -> String {
    match n {
        1 => format!("1 {what}"),
        _ => match what.strip_prefix("kind ") {
            Some(rest) => format!("{n} kinds {rest}"),
            None => format!("{n} {what}s"),
        },
    }
}

/// Reads a file's text, which may not show a private key to others.
///
/// # Errors
/// It cannot be read, or shows a key; both count as bad input.
pub(crate) fn read(path: &Path) -> anyhow::Result<String> {
    config::text(path)
}
