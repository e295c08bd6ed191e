//! Changes in the course of the run.

use super::node::check_rate;
use super::{Checked, check_channel_name, check_nodes};
use crate::file::{Change, Flow, FlowKind, Scenario};
use airpace_config::document::refuse;
use airpace_config::quantity::Span;
use airpace_config::suggest::remedy;

pub(super) fn check(scenario: &Scenario, change: &Change, at: &str) -> Checked {
    let end = scenario.warm_up.0 + scenario.duration.0;
    if change.at.0 > end {
        return refuse(
            format!("{at}.at"),
            format!("the run ends at {}: the change would never come", Span(end)),
        );
    }
    let changes_node = change.rate.is_some()
        || change.loss.is_some()
        || change.position.is_some()
        || has_fault(change);
    match &change.node {
        Some(node) => check_nodes(scenario, node, &format!("{at}.node"))?,
        None if changes_node => {
            return refuse(at, "say with `node` which node changes");
        }
        None => {}
    }
    if change.walk.is_some() && change.position.is_none() {
        return refuse(
            format!("{at}.walk"),
            "say with `position` where the way leads",
        );
    }
    if let Some(rate) = &change.rate {
        check_rate(rate, &format!("{at}.rate"))?;
    }
    check_flow(scenario, change, at)?;
    if let Some(name) = &change.channel {
        check_channel_name(scenario, name, &format!("{at}.channel"))?;
    }
    if !changes_node && change.flow_rate.is_none() && change.neighbours.is_none() {
        return refuse(
            at,
            "nothing changes: give `rate`, `loss`, `position`, `flow_rate`, `neighbours`, a `report_…` key, \
             `agent` or `proxy_restart`",
        );
    }
    Ok(())
}

/// Whether the change is a fault of a proxy, an agent or its reports, or the end of one.
const fn has_fault(change: &Change) -> bool {
    change.report_loss.is_some()
        || change.report_delay.is_some()
        || change.report_copies.is_some()
        || change.agent.is_some()
        || change.proxy_restart
}

/// Checks that a new rate of a flow names a flow that has a rate.
fn check_flow(scenario: &Scenario, change: &Change, at: &str) -> Checked {
    let name = match (&change.flow, change.flow_rate) {
        (None, None) => return Ok(()),
        (Some(name), Some(_)) => name,
        _ => {
            return refuse(
                at,
                "`flow` and `flow_rate` go together: whose rate, and what it is from now on",
            );
        }
    };
    let Some(flow) = scenario.flow.iter().find(|flow| flow.label() == name) else {
        let remedy = remedy(name, scenario.flow.iter().map(Flow::label));
        return refuse(
            format!("{at}.flow"),
            format!("there is no flow `{name}`: {remedy}"),
        );
    };
    if matches!(flow.kind, FlowKind::UdpCbr | FlowKind::UdpPoisson) {
        return Ok(());
    }
    refuse(
        format!("{at}.flow"),
        format!(
            "`{name}` is of kind {}: only udp-cbr and udp-poisson have a rate to change",
            flow.kind
        ),
    )
}
