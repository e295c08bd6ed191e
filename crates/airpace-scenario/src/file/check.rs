//! What a single value cannot tell: names that must exist and be unique, keys that belong together.

use super::{Adaptation, Change, Flow, FlowKind, Node, NodeKind, Proxy, RateChoice, Scenario};
use airpace_config::document::{KeyError, refuse};
use airpace_config::suggest::remedy;

type Checked = Result<(), KeyError>;

/// Most nodes and flows of a scenario: beyond, a count has too many digits.
const MOST: u64 = 20_000;

pub(super) fn check(scenario: &Scenario) -> Checked {
    channels(scenario)?;
    let names = nodes(scenario)?;
    for (index, node) in scenario.node.iter().enumerate() {
        self::node(scenario, node, &format!("node.{index}"))?;
    }
    for (index, wire) in scenario.wire.iter().enumerate() {
        for (end, name) in [("a", &wire.a), ("b", &wire.b)] {
            single(scenario, name, &format!("wire.{index}.{end}"))?;
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
            single(scenario, name, &format!("route.{index}.{key}"))?;
        }
    }
    flows(scenario, &names)?;
    for (index, proxy) in scenario.proxy.iter().enumerate() {
        self::proxy(scenario, proxy, &format!("proxy.{index}"))?;
    }
    for (index, change) in scenario.change.iter().enumerate() {
        self::change(scenario, change, &format!("change.{index}"))?;
    }
    Ok(())
}

fn channels(scenario: &Scenario) -> Checked {
    for (index, channel) in scenario.channel.iter().enumerate() {
        if scenario.channel[..index]
            .iter()
            .any(|other| other.name == channel.name)
        {
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
                if window.is_some_and(|window| (u32::from(window) + 1).count_ones() != 1) {
                    let key = format!("channel.{index}.edca.{category}.{key}");
                    return refuse(
                        key,
                        "a contention window is one less than a power of two: 3, 7, 15, 31, …, 1023",
                    );
                }
            }
        }
    }
    Ok(())
}

/// Checks names and counts of nodes and returns every name that a node or a group of them goes by.
fn nodes(scenario: &Scenario) -> Result<Vec<String>, KeyError> {
    let mut names: Vec<String> = Vec::new();
    let total: u64 = scenario.node.iter().map(|node| u64::from(node.count)).sum();
    if scenario.node.is_empty() {
        return Err(KeyError {
            key: String::new(),
            message: "there is no [[node]]: add an access point and a station".to_owned(),
        });
    }
    if total > MOST {
        let message = format!("{total} nodes are too many: at most {MOST}");
        return Err(KeyError {
            key: "node".to_owned(),
            message,
        });
    }
    for (index, node) in scenario.node.iter().enumerate() {
        let mut own: Vec<String> = node.names().collect();
        if node.count > 1 {
            own.push(node.group().to_owned());
        }
        let taken = own.iter().find(|name| {
            names.contains(name) || *name == super::flow::EACH_STATION || name.is_empty()
        });
        if let Some(name) = taken {
            let message = format!("the name `{name}` is taken: give this node a `name` of its own");
            return Err(KeyError {
                key: format!("node.{index}.name"),
                message,
            });
        }
        names.extend(own);
    }
    Ok(names)
}

fn node(scenario: &Scenario, node: &Node, at: &str) -> Checked {
    let count = node.count as usize;
    for (key, length) in [
        ("rate", node.rate.len()),
        ("uplink_rate", node.uplink_rate.len()),
        ("loss", node.loss.len()),
    ] {
        if length > 1 && length != count {
            let message = format!(
                "{length} values for {count} nodes: give one for all or one for each (`count`)"
            );
            return refuse(format!("{at}.{key}"), message);
        }
    }
    for (key, rates) in [("rate", &node.rate), ("uplink_rate", &node.uplink_rate)] {
        let lone = rates.len() == 1;
        for (index, choice) in rates.iter().enumerate() {
            let path = if lone {
                format!("{at}.{key}")
            } else {
                format!("{at}.{key}.{index}")
            };
            rate(choice, &path)?;
        }
    }
    if node.count > 1 && node.position.is_some() {
        return refuse(
            format!("{at}.position"),
            "several nodes cannot stand in one place: use `within` or `distance`",
        );
    }
    node.queue.check(&format!("{at}.queue"))?;
    node_place(scenario, node, at)
}

/// Access point and channels of a node.
fn node_place(scenario: &Scenario, node: &Node, at: &str) -> Checked {
    for (index, name) in node.channel.iter().enumerate() {
        if !scenario.channel.iter().any(|channel| channel.name == *name) {
            let names = scenario.channel.iter().map(|channel| channel.name.as_str());
            return refuse(
                format!("{at}.channel.{index}"),
                format!("there is no channel `{name}`: {}", remedy(name, names)),
            );
        }
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
    let above = |node: &&Node| matches!(node.kind, NodeKind::Ap | NodeKind::Relay);
    match (node.kind, &node.ap) {
        (NodeKind::Station | NodeKind::Relay, Some(ap)) => {
            let known = scenario
                .node
                .iter()
                .filter(above)
                .any(|other| other.names().any(|name| name == *ap));
            if known {
                return Ok(());
            }
            let names: Vec<String> = scenario
                .node
                .iter()
                .filter(above)
                .flat_map(Node::names)
                .collect();
            let remedy = remedy(ap, names.iter().map(String::as_str));
            refuse(
                format!("{at}.ap"),
                format!("there is no access point `{ap}`: {remedy}"),
            )
        }
        (NodeKind::Station | NodeKind::Relay, None) => {
            let aps: u32 = scenario
                .node
                .iter()
                .filter(|n| n.kind == NodeKind::Ap)
                .map(|n| n.count)
                .sum();
            match aps {
                0 => refuse(
                    at,
                    format!(
                        "`{}` has no access point: add a [[node]] with kind = \"ap\"",
                        node.group()
                    ),
                ),
                1 => Ok(()),
                _ => refuse(
                    at,
                    format!(
                        "there are {aps} access points: say with `ap` which is that of `{}`",
                        node.group()
                    ),
                ),
            }
        }
        (NodeKind::Ap | NodeKind::Host, Some(_)) => refuse(
            format!("{at}.ap"),
            format!("a node of kind {} has none", node.kind),
        ),
        (NodeKind::Ap | NodeKind::Host, None) => Ok(()),
    }
}

fn rate(rate: &RateChoice, at: &str) -> Checked {
    let has_trace = !rate.trace.is_empty() || rate.file.is_some();
    let trace = rate.adaptation == Adaptation::Trace;
    if trace && (rate.trace.is_empty() == rate.file.is_none()) {
        return refuse(at, "adaptation \"trace\" needs one of `trace` and `file`");
    }
    if !trace && has_trace {
        return refuse(at, "`trace` and `file` are for adaptation = \"trace\"");
    }
    if rate.legacy.is_some()
        && (rate.mcs.is_some() || rate.nss.is_some() || rate.adaptation != Adaptation::Fixed)
    {
        return refuse(
            format!("{at}.legacy"),
            "a legacy rate has no MCS, no streams and no adaptation: leave one or the other out",
        );
    }
    if let Some(pair) = rate.trace.windows(2).find(|pair| pair[1].at <= pair[0].at) {
        return refuse(
            format!("{at}.trace"),
            format!(
                "the times must rise: {} comes after {}",
                pair[1].at, pair[0].at
            ),
        );
    }
    Ok(())
}

/// Finds a single node.
fn single(scenario: &Scenario, name: &str, at: &str) -> Checked {
    if scenario
        .node
        .iter()
        .any(|node| node.names().any(|own| own == name))
    {
        return Ok(());
    }
    if scenario.node.iter().any(|node| node.group() == name) {
        return refuse(
            at,
            format!("`{name}` is several nodes: name one of them, for example `{name}-1`"),
        );
    }
    unknown_node(scenario, name, at)
}

/// Finds a node or several.
fn some(scenario: &Scenario, name: &str, at: &str) -> Checked {
    let known = scenario
        .node
        .iter()
        .any(|node| node.group() == name || node.names().any(|own| own == name));
    if known {
        Ok(())
    } else {
        unknown_node(scenario, name, at)
    }
}

fn unknown_node(scenario: &Scenario, name: &str, at: &str) -> Checked {
    let names: Vec<&str> = scenario.node.iter().map(Node::group).collect();
    refuse(
        at,
        format!("there is no node `{name}`: {}", remedy(name, names)),
    )
}

fn flows(scenario: &Scenario, nodes: &[String]) -> Checked {
    if scenario.flow.is_empty() {
        return refuse("", "there is no [[flow]]: nothing would be sent");
    }
    let mut names: Vec<&str> = Vec::new();
    for (index, flow) in scenario.flow.iter().enumerate() {
        let at = format!("flow.{index}");
        if names.contains(&flow.label()) || nodes.iter().any(|node| node == flow.label()) {
            let message = format!(
                "the name `{}` is taken: give this flow a `name` of its own",
                flow.label()
            );
            return refuse(format!("{at}.name"), message);
        }
        names.push(flow.label());
        self::flow(scenario, flow, &at)?;
    }
    Ok(())
}

fn flow(scenario: &Scenario, flow: &Flow, at: &str) -> Checked {
    for (key, end) in [
        ("from", flow.from.as_deref()),
        ("to", Some(flow.to.as_str())),
    ] {
        let Some(name) = end else { continue };
        let path = format!("{at}.{key}");
        if name == super::flow::EACH_STATION {
            if !scenario
                .node
                .iter()
                .any(|node| node.kind == NodeKind::Station)
            {
                return refuse(path, "there are no stations");
            }
        } else {
            some(scenario, name, &path)?;
        }
    }
    if flow.from.as_deref() == Some(flow.to.as_str()) {
        return refuse(
            format!("{at}.to"),
            format!("a flow from `{}` to itself goes nowhere", flow.to),
        );
    }
    flow_keys(flow, at)?;
    flow_times(flow, at)
}

/// Keys that mean nothing for a kind of flow, and those that it needs.
fn flow_keys(flow: &Flow, at: &str) -> Checked {
    use FlowKind::{Burst, Ping, Saturate, Tcp, UdpCbr, UdpPoisson, Web};
    let keys: [(&str, bool, &[FlowKind]); 13] = [
        ("rate", flow.rate.is_some(), &[UdpCbr, UdpPoisson, Burst]),
        (
            "payload",
            flow.payload.is_some(),
            &[UdpCbr, UdpPoisson, Burst, Ping, Saturate],
        ),
        ("interval", flow.interval.is_some(), &[Burst, Ping, Web]),
        ("spread", flow.spread.is_some(), &[Burst]),
        ("congestion", flow.congestion.is_some(), &[Tcp, Web]),
        ("ecn", flow.ecn.is_some(), &[Tcp, Web]),
        ("mss", flow.mss.is_some(), &[Tcp, Web]),
        ("bytes", flow.bytes.is_some(), &[Tcp]),
        ("window", flow.window.is_some(), &[Tcp, Web]),
        ("send_buffer", flow.send_buffer.is_some(), &[Tcp, Web]),
        ("page", flow.page.is_some(), &[Web]),
        ("connections", flow.connections.is_some(), &[Web]),
        ("on", flow.on.is_some(), &[UdpCbr, UdpPoisson, Burst]),
    ];
    for (key, given, kinds) in keys {
        if given && !kinds.contains(&flow.kind) {
            let kinds: Vec<&str> = kinds.iter().map(|kind| kind.word()).collect();
            let message = format!(
                "`{key}` means nothing for kind = \"{}\": it is for {}",
                flow.kind,
                kinds.join(", ")
            );
            return refuse(format!("{at}.{key}"), message);
        }
    }
    if matches!(flow.kind, UdpCbr | UdpPoisson | Burst) && flow.rate.is_none() {
        return refuse(
            at,
            format!(
                "kind = \"{}\" needs `rate`, for example rate = \"50 Mbit/s\"",
                flow.kind
            ),
        );
    }
    Ok(())
}

fn flow_times(flow: &Flow, at: &str) -> Checked {
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

fn proxy(scenario: &Scenario, proxy: &Proxy, at: &str) -> Checked {
    if let Some(node) = &proxy.at {
        single(scenario, node, &format!("{at}.at"))?;
    }
    Ok(())
}

fn change(scenario: &Scenario, change: &Change, at: &str) -> Checked {
    let end = scenario.warm_up.0 + scenario.duration.0;
    if change.at.0 > end {
        return refuse(
            format!("{at}.at"),
            format!(
                "the run ends at {}: the change would never come",
                airpace_config::quantity::Span(end)
            ),
        );
    }
    let of_node = change.rate.is_some() || change.loss.is_some() || change.position.is_some();
    match &change.node {
        Some(node) => some(scenario, node, &format!("{at}.node"))?,
        None if of_node => {
            return refuse(
                at,
                "say with `node` whose `rate`, `loss` or `position` changes",
            );
        }
        None => {}
    }
    if let Some(choice) = &change.rate {
        rate(choice, &format!("{at}.rate"))?;
    }
    flow_change(scenario, change, at)?;
    if let Some(name) = &change.channel {
        let names: Vec<&str> = scenario
            .channel
            .iter()
            .map(|channel| channel.name.as_str())
            .collect();
        if !names.contains(&name.as_str()) {
            return refuse(
                format!("{at}.channel"),
                format!("there is no channel `{name}`: {}", remedy(name, names)),
            );
        }
    }
    if !of_node && change.flow_rate.is_none() && change.neighbours.is_none() {
        return refuse(
            at,
            "nothing changes: give `rate`, `loss`, `position`, `flow_rate` or `neighbours`",
        );
    }
    Ok(())
}

fn flow_change(scenario: &Scenario, change: &Change, at: &str) -> Checked {
    match (&change.flow, change.flow_rate) {
        (Some(name), Some(_)) => {
            let names = scenario.flow.iter().map(Flow::label);
            let Some(flow) = scenario.flow.iter().find(|flow| flow.label() == name) else {
                return refuse(
                    format!("{at}.flow"),
                    format!(
                        "there is no flow `{name}`: {}",
                        remedy(name, names.collect::<Vec<_>>())
                    ),
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
        (None, None) => Ok(()),
        _ => refuse(
            at,
            "`flow` and `flow_rate` go together: whose rate, and what it is from now on",
        ),
    }
}
