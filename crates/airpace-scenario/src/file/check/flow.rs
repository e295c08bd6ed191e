//! Flows: names, ends, and the keys of each kind.

use super::{Checked, check_nodes};
use crate::file::FlowKind::{self, Burst, Multicast, Ping, Saturate, Tcp, UdpCbr, UdpPoisson, Web};
use crate::file::{EACH_STATION, Flow, NodeKind, Scenario};
use airpace_config::document::refuse;

/// Checks all flows; no flow may have one of `node_names`.
pub(super) fn check_all(scenario: &Scenario, node_names: &[String]) -> Checked {
    if scenario.flow.is_empty() {
        return refuse("", "there is no [[flow]]: nothing would be sent");
    }
    let mut names: Vec<&str> = Vec::new();
    for (index, flow) in scenario.flow.iter().enumerate() {
        let at = format!("flow.{index}");
        let label = flow.label();
        if names.contains(&label) || node_names.iter().any(|node| node == label) {
            return refuse(
                format!("{at}.name"),
                format!("the name `{label}` is taken: give this flow a `name` of its own"),
            );
        }
        names.push(label);
        check_ends(scenario, flow, &at)?;
        check_keys(flow, &at)?;
        check_times(flow, &at)?;
    }
    Ok(())
}

fn check_ends(scenario: &Scenario, flow: &Flow, at: &str) -> Checked {
    let from = flow.from.as_deref();
    for (key, end) in [("from", from), ("to", Some(flow.to.as_str()))] {
        let Some(name) = end else { continue };
        let path = format!("{at}.{key}");
        if name == EACH_STATION {
            let mut nodes = scenario.node.iter();
            if !nodes.any(|node| node.kind == NodeKind::Station) {
                return refuse(path, "there are no stations");
            }
        } else {
            check_nodes(scenario, name, &path)?;
        }
    }
    if flow.kind == Multicast {
        return check_group(scenario, flow, at);
    }
    if from == Some(flow.to.as_str()) {
        return refuse(
            format!("{at}.to"),
            format!("a flow from `{}` to itself goes nowhere", flow.to),
        );
    }
    Ok(())
}

/// Checks that multicast goes to an access point, whose stations receive it.
fn check_group(scenario: &Scenario, flow: &Flow, at: &str) -> Checked {
    let mut nodes = scenario.node.iter();
    let named = nodes.find(|node| node.group() == flow.to || node.names().any(|it| it == flow.to));
    if named.is_some_and(|node| node.kind == NodeKind::Ap) {
        return Ok(());
    }
    refuse(
        format!("{at}.to"),
        "multicast goes to all stations of an access point: say with `to` which access point",
    )
}

/// Refuses keys that mean nothing for the kind of the flow, and the lack of those that it needs.
fn check_keys(flow: &Flow, at: &str) -> Checked {
    const DATAGRAMS: &[FlowKind] = &[UdpCbr, UdpPoisson, Burst, Multicast];
    const SIZED: &[FlowKind] = &[UdpCbr, UdpPoisson, Burst, Multicast, Ping, Saturate];
    const STREAMS: &[FlowKind] = &[Tcp, Web];
    // Each key, whether it is given, and the kinds that have it.
    let keys: [(&str, bool, &[FlowKind]); 18] = [
        ("rate", flow.rate.is_some(), DATAGRAMS),
        ("payload", flow.payload.is_some(), SIZED),
        ("interval", flow.interval.is_some(), &[Burst, Ping, Web]),
        ("spread", flow.spread.is_some(), &[Burst]),
        ("congestion", flow.congestion.is_some(), STREAMS),
        ("ecn", flow.ecn.is_some(), STREAMS),
        ("quic", flow.quic.is_some(), &[Tcp]),
        ("ack_every", flow.ack_every.is_some(), &[Tcp]),
        ("merge", flow.merge.is_some(), &[Tcp]),
        ("mss", flow.mss.is_some(), STREAMS),
        ("bytes", flow.bytes.is_some(), &[Tcp]),
        ("window", flow.window.is_some(), STREAMS),
        ("send_buffer", flow.send_buffer.is_some(), STREAMS),
        ("small_queue", flow.small_queue.is_some(), &[Tcp]),
        ("refusals", flow.refusals.is_some(), &[Tcp]),
        ("page", flow.page.is_some(), &[Web]),
        ("connections", flow.connections.is_some(), &[Web]),
        ("on", flow.on.is_some(), DATAGRAMS),
    ];
    for (key, is_given, kinds) in keys {
        if is_given && !kinds.contains(&flow.kind) {
            let kinds: Vec<&str> = kinds.iter().map(|kind| kind.word()).collect();
            let message = format!(
                "`{key}` means nothing for kind = \"{}\": it is for {}",
                flow.kind,
                kinds.join(", ")
            );
            return refuse(format!("{at}.{key}"), message);
        }
    }
    if DATAGRAMS.contains(&flow.kind) && flow.rate.is_none() {
        let message = format!(
            "kind = \"{}\" needs `rate`, for example rate = \"50 Mbit/s\"",
            flow.kind
        );
        return refuse(at, message);
    }
    Ok(())
}

fn check_times(flow: &Flow, at: &str) -> Checked {
    if flow.stop.is_some_and(|stop| stop <= flow.start) {
        return refuse(format!("{at}.stop"), "it stops before it starts");
    }
    match (flow.on, flow.off) {
        (Some(_), None) => refuse(
            format!("{at}.on"),
            "`on` needs `off`, the length of the pauses",
        ),
        (None, Some(_)) => refuse(
            format!("{at}.off"),
            "`off` needs `on`, the time between the pauses",
        ),
        _ => Ok(()),
    }
}
