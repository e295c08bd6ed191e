//! What no single value shows: names that must exist and be unique, keys that belong together.

mod change;
mod flow;
mod node;
mod proxy;

use super::{Channel, Node, Scenario};
use airpace_config::document::{KeyError, refuse};
use airpace_config::suggest::remedy;

type Checked = Result<(), KeyError>;

pub(super) fn check(scenario: &Scenario) -> Checked {
    for (index, channel) in scenario.channel.iter().enumerate() {
        check_channel(scenario, channel, index)?;
    }
    let node_names = node::check_names(scenario)?;
    for (index, node) in scenario.node.iter().enumerate() {
        node::check(scenario, node, &format!("node.{index}"))?;
    }
    for (index, wire) in scenario.wire.iter().enumerate() {
        for (end, name) in [("a", &wire.a), ("b", &wire.b)] {
            check_single_node(scenario, name, &format!("wire.{index}.{end}"))?;
        }
        if wire.a == wire.b {
            return refuse(
                format!("wire.{index}.b"),
                format!("a wire from `{}` to itself leads nowhere", wire.a),
            );
        }
    }
    for (index, route) in scenario.route.iter().enumerate() {
        for (key, name) in [("at", &route.at), ("to", &route.to), ("via", &route.via)] {
            check_single_node(scenario, name, &format!("route.{index}.{key}"))?;
        }
    }
    flow::check_all(scenario, &node_names)?;
    for (index, proxy) in scenario.proxy.iter().enumerate() {
        proxy::check(scenario, proxy, &format!("proxy.{index}"))?;
    }
    for (index, change) in scenario.change.iter().enumerate() {
        change::check(scenario, change, &format!("change.{index}"))?;
    }
    Ok(())
}

fn check_channel(scenario: &Scenario, channel: &Channel, index: usize) -> Checked {
    let mut before = scenario.channel[..index].iter();
    if before.any(|other| other.name == channel.name) {
        let message = format!(
            "two channels are called `{}`: give each a `name` of its own",
            channel.name
        );
        return refuse(format!("channel.{index}.name"), message);
    }
    for (category, edca) in [
        ("background", &channel.edca.background),
        ("best_effort", &channel.edca.best_effort),
        ("video", &channel.edca.video),
        ("voice", &channel.edca.voice),
    ] {
        for (key, window) in [("cw_min", edca.cw_min), ("cw_max", edca.cw_max)] {
            // IEEE 802.11-2020, 10.3.3: windows are one less than a power of two.
            if window.is_some_and(|window| !(u32::from(window) + 1).is_power_of_two()) {
                return refuse(
                    format!("channel.{index}.edca.{category}.{key}"),
                    "a contention window is one less than a power of two: 3, 7, 15, 31, …, 1023",
                );
            }
        }
    }
    Ok(())
}

/// Refuses a name that is not that of a channel.
fn check_channel_name(scenario: &Scenario, name: &str, at: &str) -> Checked {
    let names = scenario.channel.iter().map(|channel| channel.name.as_str());
    if names.clone().any(|known| known == name) {
        Ok(())
    } else {
        let remedy = remedy(name, names);
        refuse(at, format!("there is no channel `{name}`: {remedy}"))
    }
}

/// Refuses a name that is not that of a single node.
fn check_single_node(scenario: &Scenario, name: &str, at: &str) -> Checked {
    if is_single_node(scenario, name) {
        return Ok(());
    }
    if is_group(scenario, name) {
        return refuse(
            at,
            format!("`{name}` is several nodes: name one of them, for example `{name}-1`"),
        );
    }
    refuse_unknown_node(scenario, name, at)
}

/// Refuses a name that is neither that of a node nor that of a group.
fn check_nodes(scenario: &Scenario, name: &str, at: &str) -> Checked {
    if is_single_node(scenario, name) || is_group(scenario, name) {
        Ok(())
    } else {
        refuse_unknown_node(scenario, name, at)
    }
}

fn is_single_node(scenario: &Scenario, name: &str) -> bool {
    let mut names = scenario.node.iter().flat_map(Node::names);
    names.any(|own| own == name)
}

fn is_group(scenario: &Scenario, name: &str) -> bool {
    scenario.node.iter().any(|node| node.group() == name)
}

fn refuse_unknown_node(scenario: &Scenario, name: &str, at: &str) -> Checked {
    let remedy = remedy(name, scenario.node.iter().map(Node::group));
    refuse(at, format!("there is no node `{name}`: {remedy}"))
}
