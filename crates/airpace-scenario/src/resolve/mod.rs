//! From a scenario's text to the network that [`airpace_sim::world`] runs: names become numbers, groups single nodes, rates those of the
//! standard's tables, positions signal-to-noise ratios.

mod air;
mod flow;
mod network;
mod proxy;
mod queue;
mod rate;

pub use network::{Member, Network};

use crate::file::{DocumentError, Scenario, Source};
use airpace_config::document::KeyError;
use airpace_sim::world::{NodeId, World, WorldConfig, WorldError};
use std::path::Path;

/// A network ready to run, and the names of its parts.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// What runs.
    pub world: WorldConfig,
    /// Its nodes, in the order of their numbers.
    pub nodes: Vec<Member>,
    /// Its channels' names.
    pub channels: Vec<String>,
    /// Its flows.
    pub flows: Vec<FlowName>,
}

/// What a flow is called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowName {
    /// Its own name.
    pub name: String,
    /// Its kind's word.
    pub kind: &'static str,
    /// Index of its table in the scenario.
    pub(super) table: usize,
}

/// Resolves `scenario`; traces of rates are read from `folder`.
///
/// # Errors
/// Rates that the standard does not have, nodes without a way between them, and whatever this simulator does not do, at its place in the
/// text.
pub fn resolve(
    scenario: &Scenario,
    source: &Source,
    folder: &Path,
) -> Result<Resolved, DocumentError> {
    let resolved = build(scenario, folder).map_err(|error| source.locate(error))?;
    // The world knows best what it can be made of.
    if let Err(error) = World::new(resolved.world.clone()) {
        let (key, message) = refusal(&resolved, &error);
        return Err(source.refuse(&key, message));
    }
    Ok(resolved)
}

/// Where in the scenario a refusal of the world belongs, and what it says there.
fn refusal(resolved: &Resolved, error: &WorldError) -> (String, String) {
    let name = |node: NodeId| {
        resolved
            .nodes
            .get(node.0 as usize)
            .map_or("", |member| member.name.as_str())
    };
    let flow = |flow: usize| {
        resolved
            .flows
            .get(flow)
            .map_or(String::new(), |flow| format!("flow.{}", flow.table))
    };
    match error {
        WorldError::Unreachable {
            flow: index,
            from,
            to,
        } => {
            let (from, to) = (name(*from), name(*to));
            (
                flow(*index),
                format!(
                    "there is no way from `{from}` to `{to}`: connect them by a [[wire]], or by `ap` and channel"
                ),
            )
        }
        WorldError::Source { flow: index, error } => (flow(*index as usize), error.to_string()),
        WorldError::Mac { channel, error } => (format!("channel.{channel}"), error.to_string()),
        WorldError::TwoProxies { node } => (
            "proxy".to_owned(),
            format!("`{}` has two proxies: one paces a station", name(*node)),
        ),
        other => (String::new(), other.to_string()),
    }
}

fn build(scenario: &Scenario, folder: &Path) -> Result<Resolved, KeyError> {
    let network = Network::new(scenario)?;
    let rates = rate::Rates { scenario, folder };
    let channels = air::channels(&network, &rates)?;
    let flows = flow::flows(&network)?;
    let world = WorldConfig {
        seed: scenario.seed,
        warm_up: scenario.warm_up.0,
        duration: scenario.duration.0,
        slot: Some(scenario.slot.0),
        nodes: network.count(),
        keys: network
            .members
            .iter()
            .map(|member| airpace_sim::rng::key(&member.name))
            .collect(),
        channels,
        wires: network.wires(),
        routes: network.routes()?,
        flows: flows.iter().map(|(_, flow)| flow.clone()).collect(),
        proxies: proxy::proxies(&network)?,
        changes: proxy::changes(&network, &rates, &flows)?,
        record: proxy::record(&scenario.record),
    };
    let channels = scenario
        .channel
        .iter()
        .map(|channel| channel.name.clone())
        .collect();
    let flows = flows.into_iter().map(|(name, _)| name).collect();
    Ok(Resolved {
        world,
        nodes: network.members,
        channels,
        flows,
    })
}
