//! From a scenario to the network that [`airpace_sim::world`] runs: names become numbers, groups
//! become single nodes, rates become those of the standard's tables, and positions become
//! signal-to-noise ratios.

mod air;
mod change;
mod flow;
mod hearing;
mod moves;
mod network;
mod proxy;
mod queue;
mod rate;
mod roaming;

pub use network::{Member, Network};

use crate::file::{self, DocumentError, Scenario, Source};
use airpace_config::document::KeyError;
use airpace_sim::world::{self, NodeId, World, WorldConfig, WorldError};
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

/// The name of a flow in the results.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowName {
    /// The name.
    pub name: String,
    /// The word for its kind.
    pub kind: &'static str,
    /// Index of its table in the scenario.
    pub(super) table: usize,
}

/// Resolves `scenario`; files with traces of rates are read from `folder`.
///
/// # Errors
/// Rates that the standard does not have, nodes without a path between them, and whatever the
/// simulator cannot do; with the place in the text.
pub fn resolve(
    scenario: &Scenario,
    source: &Source,
    folder: &Path,
) -> Result<Resolved, DocumentError> {
    let resolved = build(scenario, folder).map_err(|error| source.locate(error))?;
    // The simulator checks the network when it builds it, before any time passes.
    match World::new(resolved.world.clone()) {
        Ok(_) => Ok(resolved),
        Err(error) => Err(source.locate(key_error(&resolved, &error))),
    }
}

/// The simulator's refusal of the network as an error about a key of the scenario.
fn key_error(resolved: &Resolved, error: &WorldError) -> KeyError {
    let node = |node: NodeId| match resolved.nodes.get(node.0 as usize) {
        Some(member) => member.name.as_str(),
        None => "",
    };
    let flow = |flow: usize| match resolved.flows.get(flow) {
        Some(flow) => format!("flow.{}", flow.table),
        None => String::new(),
    };
    match error {
        WorldError::Unreachable {
            flow: index,
            from,
            to,
        } => {
            let (from, to) = (node(*from), node(*to));
            let message = format!(
                "there is no path from `{from}` to `{to}`: connect them by a [[wire]], or by `ap` and channel"
            );
            KeyError::new(flow(*index), message)
        }
        WorldError::Source { flow: index, error } => {
            KeyError::new(flow(*index as usize), error.to_string())
        }
        WorldError::Mac { channel, error } => {
            KeyError::new(format!("channel.{channel}"), error.to_string())
        }
        WorldError::TwoProxies { node: station } => {
            let message = format!(
                "`{}` has two proxies: only one can pace a station",
                node(*station)
            );
            KeyError::new("proxy", message)
        }
        other => KeyError::new("", other.to_string()),
    }
}

fn build(scenario: &Scenario, folder: &Path) -> Result<Resolved, KeyError> {
    let network = Network::new(scenario)?;
    let rates = rate::Rates { scenario, folder };
    let channels = air::channels(&network, &rates)?;
    let flows = flow::flows(&network)?;
    let proxies = proxy::proxies(&network)?;
    let changes = change::changes(&network, &rates, &flows, &proxies, &channels)?;
    let (names, configs) = flows
        .into_iter()
        .map(|flow| (flow.name, flow.config))
        .unzip();
    let members = network.members.iter();
    let world = WorldConfig {
        seed: scenario.seed,
        warm_up: scenario.warm_up.0,
        duration: scenario.duration.0,
        slot: Some(scenario.slot.0),
        nodes: network.count(),
        keys: members
            .map(|member| airpace_sim::rng::key(&member.name))
            .collect(),
        channels,
        wires: network.wires(),
        routes: network.routes()?,
        flows: configs,
        proxies,
        roaming: roaming::roaming(&network)?,
        changes,
        record: record(&scenario.record),
    };
    let channels = scenario.channel.iter();
    Ok(Resolved {
        world,
        nodes: network.members,
        channels: channels.map(|channel| channel.name.clone()).collect(),
        flows: names,
    })
}

const fn record(record: &file::Record) -> world::Record {
    world::Record {
        // A capture is made from frames and MPDUs.
        frames: record.frames || record.pcap,
        packets: record.packets,
        mpdus: record.pcap,
        air: record.pcap,
        passing: None,
    }
}
