//! Nodes: names, counts, rates, and where they belong.

use super::{Checked, check_channel_name};
use crate::file::{EACH_STATION, Node, NodeKind, RateChoice, Scenario};
use airpace_config::document::{KeyError, refuse};
use airpace_config::suggest::remedy;
use airpace_sim::rate::AdaptationKind;

/// Most nodes of a scenario. A larger count is a typing error.
const MAX_NODES: u64 = 20_000;

/// Checks names and counts of all nodes and returns every name that a node or a group goes by.
pub(super) fn check_names(scenario: &Scenario) -> Result<Vec<String>, KeyError> {
    if scenario.node.is_empty() {
        return refuse(
            "",
            "there is no [[node]]: add an access point and a station",
        );
    }
    let total: u64 = scenario.node.iter().map(|node| u64::from(node.count)).sum();
    if total > MAX_NODES {
        return refuse(
            "node",
            format!("{total} nodes are too many: at most {MAX_NODES}"),
        );
    }
    let mut names: Vec<String> = Vec::new();
    for (index, node) in scenario.node.iter().enumerate() {
        let mut own: Vec<String> = node.names().collect();
        if node.count > 1 {
            own.push(node.group().to_owned());
        }
        for name in &own {
            if names.contains(name) || name == EACH_STATION || name.is_empty() {
                return refuse(
                    format!("node.{index}.name"),
                    format!("the name `{name}` is taken: give this node a `name` of its own"),
                );
            }
        }
        names.extend(own);
    }
    Ok(names)
}

pub(super) fn check(scenario: &Scenario, node: &Node, at: &str) -> Checked {
    let count = node.count as usize;
    for (key, length) in [
        ("rate", node.rate.len()),
        ("uplink_rate", node.uplink_rate.len()),
        ("loss", node.loss.len()),
        ("uplink_loss", node.uplink_loss.len()),
    ] {
        if length > 1 && length != count {
            let message = format!(
                "{length} values for {count} nodes: give one for all or one for each (`count`)"
            );
            return refuse(format!("{at}.{key}"), message);
        }
    }
    for (key, rates) in [("rate", &node.rate), ("uplink_rate", &node.uplink_rate)] {
        for (index, choice) in rates.iter().enumerate() {
            // A single rate need not be written as a list, so its path has no index.
            let path = if rates.len() == 1 {
                format!("{at}.{key}")
            } else {
                format!("{at}.{key}.{index}")
            };
            check_rate(choice, &path)?;
        }
    }
    if node.count > 1 && node.position.is_some() {
        return refuse(
            format!("{at}.position"),
            "several nodes cannot stand in one place: use `within` or `distance`",
        );
    }
    node.queue.check(&format!("{at}.queue"))?;
    check_channels(scenario, node, at)?;
    check_roaming(scenario, node, at)?;
    check_access_point(scenario, node, at)
}

fn check_channels(scenario: &Scenario, node: &Node, at: &str) -> Checked {
    for (index, name) in node.channel.iter().enumerate() {
        check_channel_name(scenario, name, &format!("{at}.channel.{index}"))?;
    }
    let most = match node.kind {
        NodeKind::Host => 0,
        NodeKind::Relay => 2,
        NodeKind::Ap | NodeKind::Station => 1,
    };
    if node.channel.len() > most {
        return refuse(
            format!("{at}.channel"),
            format!("a node of kind {} is on at most {most} channels", node.kind),
        );
    }
    Ok(())
}

/// Checks that the access points exist between which a station goes.
fn check_roaming(scenario: &Scenario, node: &Node, at: &str) -> Checked {
    if node.roam.to.is_empty() {
        return Ok(());
    }
    if node.kind != NodeKind::Station {
        return refuse(
            format!("{at}.roam.to"),
            format!(
                "a node of kind {} stays where it is: only stations roam",
                node.kind
            ),
        );
    }
    let mut names = Vec::new();
    for other in scenario.node.iter().filter(|it| it.kind == NodeKind::Ap) {
        names.push(other.group().to_owned());
        names.extend(other.names());
    }
    for (index, name) in node.roam.to.iter().enumerate() {
        check_is_access_point(name, &names, format!("{at}.roam.to.{index}"))?;
    }
    Ok(())
}

/// Checks that a client's access point exists and that other nodes have none.
fn check_access_point(scenario: &Scenario, node: &Node, at: &str) -> Checked {
    let is_client = matches!(node.kind, NodeKind::Station | NodeKind::Relay);
    match &node.ap {
        Some(ap) if is_client => {
            let mut names = Vec::new();
            for other in &scenario.node {
                if matches!(other.kind, NodeKind::Ap | NodeKind::Relay) {
                    names.extend(other.names());
                }
            }
            check_is_access_point(ap, &names, format!("{at}.ap"))
        }
        Some(_) => refuse(
            format!("{at}.ap"),
            format!("a node of kind {} has none", node.kind),
        ),
        None if is_client => check_only_access_point(scenario, node, at),
        None => Ok(()),
    }
}

/// Checks that `name` is one of the `names` of access points.
fn check_is_access_point(name: &str, names: &[String], at: String) -> Checked {
    if names.iter().any(|known| known == name) {
        return Ok(());
    }
    let remedy = remedy(name, names.iter().map(String::as_str));
    refuse(at, format!("there is no access point `{name}`: {remedy}"))
}

/// Checks that there is exactly one access point, so that a client need not name its own.
fn check_only_access_point(scenario: &Scenario, client: &Node, at: &str) -> Checked {
    let access_points = scenario
        .node
        .iter()
        .filter(|node| node.kind == NodeKind::Ap);
    let count: u32 = access_points.map(|node| node.count).sum();
    let client = client.group();
    match count {
        0 => refuse(
            at,
            format!("`{client}` has no access point: add a [[node]] with kind = \"ap\""),
        ),
        1 => Ok(()),
        _ => refuse(
            at,
            format!("there are {count} access points: say with `ap` which is that of `{client}`"),
        ),
    }
}

/// Checks that the keys of a rate belong together.
pub(super) fn check_rate(rate: &RateChoice, at: &str) -> Checked {
    let is_trace = rate.adaptation.0 == AdaptationKind::Trace;
    let (has_steps, has_file) = (!rate.trace.is_empty(), rate.file.is_some());
    if is_trace && has_steps == has_file {
        return refuse(at, "adaptation \"trace\" needs one of `trace` and `file`");
    }
    if !is_trace && (has_steps || has_file) {
        return refuse(at, "`trace` and `file` are for adaptation = \"trace\"");
    }
    if rate.samples.is_some() && rate.adaptation.0 != AdaptationKind::MinstrelHt {
        return refuse(at, "`samples` is for adaptation = \"minstrel-ht\"");
    }
    let has_index = rate.mcs.is_some() || rate.nss.is_some();
    if rate.legacy.is_some() && (has_index || rate.adaptation.0 != AdaptationKind::Fixed) {
        return refuse(
            format!("{at}.legacy"),
            "a legacy rate has no MCS, no streams and no adaptation: leave one or the other out",
        );
    }
    for pair in rate.trace.windows(2) {
        let (before, after) = (pair[0].at, pair[1].at);
        if after <= before {
            return refuse(
                format!("{at}.trace"),
                format!("the times must increase: {after} comes after {before}"),
            );
        }
    }
    Ok(())
}
