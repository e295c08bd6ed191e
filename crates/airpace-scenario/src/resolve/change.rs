//! What changes in the course of the run.

use super::flow::NamedFlow;
use super::network::Network;
use super::rate::{LinkContext, Rates};
use crate::file::{AgentState, Change, Channel};
use airpace_config::document::{KeyError, refuse};
use airpace_sim::mac::{Neighbours, Quality};
use airpace_sim::rate::AdaptationKind;
use airpace_sim::traffic::Rate;
use airpace_sim::world::{self, ChannelConfig, NodeId, ProxyConfig, ReportFaults};
use airpace_units::Time;
use core::time::Duration;

/// All changes with their times, in their order.
pub(super) fn changes(
    network: &Network<'_>,
    rates: &Rates<'_>,
    flows: &[NamedFlow],
    proxies: &[ProxyConfig],
    channels: &[ChannelConfig],
) -> Result<Vec<(Time, world::Change)>, KeyError> {
    let mut changes = Vec::new();
    // Neighbours that are there from the beginning come at time zero.
    for (index, channel) in network.scenario.channel.iter().enumerate() {
        if channel.neighbours > 0 {
            let change = neighbours(index, channel, channel.neighbours);
            changes.push((Time::ZERO, change));
        }
    }
    for (index, change) in network.scenario.change.iter().enumerate() {
        let at = Time::ZERO.saturating_add(change.at.0);
        let key = format!("change.{index}");
        let mut push = |change| changes.push((at, change));
        of_nodes(network, rates, change, &key)?
            .into_iter()
            .for_each(&mut push);
        of_proxies(network, change, proxies, &key)?
            .into_iter()
            .for_each(&mut push);
        of_flows(change, flows).into_iter().for_each(&mut push);
        of_channel(network, change).into_iter().for_each(&mut push);
    }
    changes.extend(super::moves::changes(network, rates, channels)?);
    // The sort is stable: changes of one instant stay in the order of the file.
    changes.sort_by_key(|(at, _)| *at);
    Ok(changes)
}

fn of_nodes(
    network: &Network<'_>,
    rates: &Rates<'_>,
    change: &Change,
    key: &str,
) -> Result<Vec<world::Change>, KeyError> {
    let mut changes = Vec::new();
    let Some(name) = &change.node else {
        return Ok(changes);
    };
    for member in network.group(name) {
        let id = Network::id(member);
        if let Some(choice) = &change.rate {
            let Some(channel) = network.members[member].uplink else {
                return refuse(
                    format!("{key}.node"),
                    format!(
                        "`{name}` is not a client of an access point: it has no rate of its own"
                    ),
                );
            };
            let rate_key = format!("{key}.rate");
            if choice.adaptation.0 != AdaptationKind::Fixed {
                return refuse(
                    rate_key,
                    "a change is to a fixed rate: write for example rate = \"mcs 4 nss 1\"; an \
                     adaptation or a trace belongs to the `rate` of the node",
                );
            }
            let context = LinkContext {
                channel: &network.scenario.channel[channel],
                link: 0,
                key: &rate_key,
            };
            changes.push(world::Change::Rate(id, rates.fixed(choice, context)?));
        }
        if let Some(loss) = change.loss {
            changes.push(world::Change::Quality(id, Quality::Loss(loss)));
        }
    }
    Ok(changes)
}

/// The faults of proxies, agents and reports.
fn of_proxies(
    network: &Network<'_>,
    change: &Change,
    proxies: &[ProxyConfig],
    key: &str,
) -> Result<Vec<world::Change>, KeyError> {
    let mut changes = Vec::new();
    let Some(name) = &change.node else {
        return Ok(changes);
    };
    let faults = report_faults(change);
    for member in network.group(name) {
        let id = Network::id(member);
        let is_paced = proxies.iter().any(|proxy| proxy.stations.contains(&id));
        if !is_paced && (faults.is_some() || change.agent.is_some()) {
            return refuse(
                format!("{key}.node"),
                format!("`{name}` is not a station of a proxy: it has no agent and no reports"),
            );
        }
        if let Some(faults) = faults {
            changes.push(world::Change::Reports {
                station: id,
                faults,
            });
        }
        if let Some(state) = change.agent {
            changes.push(world::Change::Agent {
                station: id,
                running: state == AgentState::Running,
            });
        }
        if change.proxy_restart {
            changes.push(restart(proxies, id, name, key)?);
        }
    }
    Ok(changes)
}

/// The faults of reports from the change on; `None` if it does not concern reports.
fn report_faults(change: &Change) -> Option<ReportFaults> {
    let (loss, delay, copies) = (
        change.report_loss,
        change.report_delay,
        change.report_copies,
    );
    if loss.is_none() && delay.is_none() && copies.is_none() {
        return None;
    }
    Some(ReportFaults {
        loss: loss.unwrap_or(0.0),
        delay: delay.map_or(Duration::ZERO, |delay| delay.0),
        copies: copies.unwrap_or(1),
    })
}

fn restart(
    proxies: &[ProxyConfig],
    at: NodeId,
    name: &str,
    key: &str,
) -> Result<world::Change, KeyError> {
    if proxies.iter().any(|proxy| proxy.at == at) {
        return Ok(world::Change::ProxyRestart { at });
    }
    refuse(
        format!("{key}.node"),
        format!(
            "no proxy stands at `{name}`: name the node of a [[proxy]], by default the access point"
        ),
    )
}

/// The new rate of every flow that the named table of the scenario stands for.
fn of_flows(change: &Change, flows: &[NamedFlow]) -> Vec<world::Change> {
    let (Some(label), Some(rate)) = (&change.flow, change.flow_rate) else {
        return Vec::new();
    };
    let mut changes = Vec::new();
    for (index, flow) in flows.iter().enumerate() {
        // Flows are called LABEL@NODE#NUMBER if there are several of a table.
        if flow.name.name.split(['@', '#']).next() == Some(label) {
            changes.push(world::Change::FlowRate {
                flow: index,
                rate: Rate::Bits(rate.0),
            });
        }
    }
    changes
}

fn of_channel(network: &Network<'_>, change: &Change) -> Option<world::Change> {
    let count = change.neighbours?;
    let channels = &network.scenario.channel;
    // The check of the scenario leaves only names of channels.
    let named = |name: &String| channels.iter().position(|channel| channel.name == *name);
    let channel = change.channel.as_ref().and_then(named).unwrap_or(0);
    Some(neighbours(channel, &channels[channel], count))
}

fn neighbours(index: usize, channel: &Channel, count: u16) -> world::Change {
    world::Change::Neighbours {
        channel: index,
        neighbours: Neighbours {
            count,
            airtime: channel.neighbour_airtime.0,
        },
    }
}
