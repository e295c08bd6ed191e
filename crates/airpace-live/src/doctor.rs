//! What this machine has of what the daemons need, and what is missing. Nothing is changed.

mod edge;
mod interfaces;
mod system;
mod tunnel;

use crate::edge::ports;
use airpace_api::config::{AgentConfig, EdgeConfig, ProxyConfig};
use serde::Serialize;

pub use edge::{PortChoice, suggest_ports};

/// One thing that was looked at.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Check {
    /// What it is: `kernel`, `eth0: driver`.
    pub name: String,
    /// Whether nothing has to be done.
    pub ok: bool,
    /// What was found.
    pub found: String,
    /// What to do; with `ok`, what could be done for more.
    pub remedy: Option<String>,
}

impl Check {
    /// Nothing has to be done.
    #[must_use]
    pub fn good(name: impl Into<String>, found: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ok: true,
            found: found.into(),
            remedy: None,
        }
    }

    /// Something is missing.
    #[must_use]
    pub fn bad(
        name: impl Into<String>,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            ok: false,
            found: found.into(),
            remedy: Some(remedy.into()),
        }
    }

    /// The same with advice that need not be followed.
    #[must_use]
    pub fn with_advice(mut self, advice: impl Into<String>) -> Self {
        self.remedy = Some(advice.into());
        self
    }
}

/// What the machine is to run.
#[derive(Clone, Copy, Debug)]
pub enum Purpose<'a> {
    /// The in-line box.
    Edge(&'a EdgeConfig),
    /// The in-line box, between ports that nobody has named.
    AnyEdge,
    /// The proxy.
    Proxy(&'a ProxyConfig),
    /// The agent.
    Agent(&'a AgentConfig),
}

/// Looks at the machine, in the network namespace of the calling thread. `further` are checks of what
/// the program needs besides, without which the in-line box does not start either.
#[must_use]
pub fn examine(purpose: Purpose<'_>, further: Vec<Check>) -> Vec<Check> {
    let mut checks = vec![system::kernel()];
    match purpose {
        Purpose::Edge(config) => {
            checks.extend(system::in_line(1 + ports(config).len()));
            checks.extend(edge::examine(config, further));
        }
        Purpose::AnyEdge => {
            checks.extend(system::in_line(2));
            checks.extend(edge::examine_any().into_iter().chain(further));
        }
        Purpose::Proxy(config) => checks.extend(tunnel::proxy(config).into_iter().chain(further)),
        Purpose::Agent(config) => checks.extend(tunnel::agent(config).into_iter().chain(further)),
    }
    checks.push(system::clock());
    checks
}
