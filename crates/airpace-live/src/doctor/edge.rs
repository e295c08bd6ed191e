//! What the in-line box would do here, and what is in its way.

use super::interfaces::{self, Port};
use super::{Check, tunnel};
use crate::edge::{is_running, ports};
use airpace_api::config::{Datapath, EdgeConfig};
use airpace_net::bridge::{self, Forwarding};
use airpace_net::netlink::InterfaceFacts;
use airpace_net::probe;
use std::fs;

pub(super) fn examine(config: &EdgeConfig, further: Vec<Check>) -> Vec<Check> {
    let all = interfaces::all();
    let radios = probe::radios().unwrap_or_default();
    let is_in_use = is_running(&config.wan);
    let access_points = ports(config);
    let mut names = vec![config.wan.as_str()];
    names.extend(&access_points);
    let mut checks = Vec::new();
    let mut found = Vec::new();
    for name in &names {
        let Some(facts) = all.iter().find(|facts| facts.name == *name) else {
            checks.push(missing(name, &all));
            continue;
        };
        found.push(facts);
        let port = Port {
            facts,
            radios: &radios,
            is_in_use,
        };
        checks.extend(port.checks());
    }
    checks.extend(same_mtu(&found));
    checks.extend(
        config
            .bridge
            .as_deref()
            .map(|name| existing_bridge(name, &config.wan, &access_points, &all)),
    );
    let mut wanted = config
        .ap
        .iter()
        .filter_map(|ap| ap.radio.as_deref())
        .peekable();
    let is_named = wanted.peek().is_some();
    checks.extend(wanted.map(interfaces::monitor));
    checks.extend(interfaces::radios_of_box(is_named));
    if let Some(agents) = &config.agents {
        checks.extend(agents.key_source().ok().map(|source| tunnel::key(&source)));
        if !is_in_use {
            checks.push(tunnel::listener(agents.listen));
        }
    }
    checks.extend(further);
    let is_possible = checks.iter().all(|check| check.ok);
    checks.push(plan(config, &access_points, is_possible, is_in_use));
    checks
}

/// Without a configuration: which ports there are to choose from.
pub(super) fn examine_any() -> Vec<Check> {
    let mut checks = Vec::from_iter(interfaces::radios_of_box(false));
    let Some(choice) = suggest_ports() else {
        checks.push(Check::bad(
            "ports",
            "fewer than two Ethernet interfaces that are not virtual",
            "add an interface (a USB adapter will do), or name two: --wan eth0 --ap eth1",
        ));
        return checks;
    };
    let found = format!(
        "would stand between {} (wired network) and {} (access point)",
        choice.wan,
        choice.access_points.join(", ")
    );
    checks.push(Check::good("ports", found).with_advice(format!(
        "look at these ports: airpace doctor --wan {} --ap {}",
        choice.wan,
        choice.access_points.join(" --ap ")
    )));
    checks
}

/// The ports that a box on this machine would have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortChoice {
    /// Interface towards the wired network.
    pub wan: String,
    /// Interfaces towards access points.
    pub access_points: Vec<String>,
}

/// Guesses the ports: of the Ethernet interfaces that are not virtual, the one with the default route
/// leads to the wired network, otherwise the first; `None` if there are fewer than two.
#[must_use]
pub fn suggest_ports() -> Option<PortChoice> {
    // Unlike /proc/net, this shows the routes of the thread's namespace.
    let routes = fs::read_to_string("/proc/thread-self/net/route").unwrap_or_default();
    choose(&interfaces::all(), default_interface(&routes).as_deref())
}

fn choose(all: &[InterfaceFacts], default: Option<&str>) -> Option<PortChoice> {
    let mut names: Vec<String> = all
        .iter()
        .filter(|facts| facts.is_ethernet && facts.kind.is_none())
        .map(|facts| facts.name.clone())
        .collect();
    if names.len() < 2 {
        return None;
    }
    let first = names.iter().position(|name| Some(name.as_str()) == default);
    let wan = names.remove(first.unwrap_or(0));
    Some(PortChoice {
        wan,
        access_points: names,
    })
}

/// The interface of the default route in a table of the form of `/proc/net/route`.
fn default_interface(routes: &str) -> Option<String> {
    let mut lines = routes.lines().map(|line| line.split_whitespace());
    lines.find_map(|mut fields| {
        let interface = fields.next()?;
        (fields.next()? == "00000000").then(|| interface.to_owned())
    })
}

fn missing(name: &str, all: &[InterfaceFacts]) -> Check {
    let there: Vec<&str> = all
        .iter()
        .filter(|facts| facts.is_ethernet)
        .map(|facts| facts.name.as_str())
        .collect();
    Check::bad(
        name,
        "there is no such interface",
        format!("name one that exists: {}", there.join(", ")),
    )
}

/// A bridge drops what is longer than the port by which it would leave.
fn same_mtu(ports: &[&InterfaceFacts]) -> Option<Check> {
    let smallest = ports.iter().map(|port| port.mtu).min()?;
    let larger: Vec<&str> = ports
        .iter()
        .filter(|port| port.mtu != smallest)
        .map(|port| port.name.as_str())
        .collect();
    if larger.is_empty() {
        return None;
    }
    let set: Vec<String> = larger
        .iter()
        .map(|port| format!("ip link set {port} mtu {smallest}"))
        .collect();
    Some(Check::bad(
        "MTU of the ports",
        format!("{} has a larger one than the others", larger.join(", ")),
        set.join(" && "),
    ))
}

/// A bridge that the configuration names.
fn existing_bridge(name: &str, wan: &str, access_points: &[&str], all: &[InterfaceFacts]) -> Check {
    let title = format!("{name}: bridge");
    let Some(facts) = all.iter().find(|facts| facts.name == name) else {
        return Check::bad(
            title,
            "there is no such interface",
            format!("ip link add {name} type bridge && ip link set {name} up"),
        );
    };
    if facts.kind.as_deref() != Some("bridge") {
        return Check::bad(
            title,
            "it is not a bridge",
            "name a bridge, or leave `bridge` out",
        );
    }
    let is_inside = |port: &&str| {
        all.iter()
            .any(|other| other.name == **port && other.bridge == Some(facts.index))
    };
    if !access_points.iter().chain([&wan]).all(is_inside) {
        return Check::good(title, "it exists; airpace edge puts the ports into it");
    }
    match bridge::forwarding(name, wan, access_points) {
        Ok(Forwarding::Obstructed(obstacle)) => Check::bad(
            title,
            obstacle.to_string(),
            "until then all frames pass unpaced",
        ),
        Ok(_) => Check::good(
            title,
            "the ports are in it, and it forwards frames unchanged",
        ),
        Err(error) => Check::bad(title, error.to_string(), "bridge -d link show"),
    }
}

fn plan(config: &EdgeConfig, access_points: &[&str], is_possible: bool, is_in_use: bool) -> Check {
    let wan = &config.wan;
    if is_in_use {
        return Check::good("airpace edge", format!("runs on {wan}"))
            .with_advice(format!("airpace edge status --wan {wan}"));
    }
    if !is_possible {
        return Check::bad(
            "airpace edge",
            "would refuse these ports, or do less than it could",
            "mend what is missing above",
        );
    }
    let bridge = match (&config.bridge, config.datapath) {
        (_, Datapath::Packet) => "is the bridge itself: traffic stops when it does".to_owned(),
        (Some(bridge), _) => format!("takes the bridge {bridge}"),
        (None, _) => match bridge::common_bridge(&[&[wan.as_str()], access_points].concat()) {
            Ok(Some(bridge)) => format!("takes the bridge {bridge}, which the ports are in,"),
            Ok(None) => format!("makes the bridge {}", free_name()),
            Err(error) => {
                return Check::bad("airpace edge", error.to_string(), "the message says how");
            }
        },
    };
    let pace = if config.dry_run { "measures" } else { "paces" };
    Check::good(
        "airpace edge",
        format!(
            "{bridge} over {wan} and {}, and {pace} what is sent to stations behind the latter; if it \
             stops, all frames pass in the bridge after {} ms",
            access_points.join(", "),
            interfaces::STOPPED_MS
        ),
    )
}

/// The name that a bridge would get.
fn free_name() -> String {
    crate::edge::free_bridge_name().unwrap_or_else(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(name: &str, kind: Option<&str>, mtu: u32) -> InterfaceFacts {
        InterfaceFacts {
            name: name.to_owned(),
            index: 1,
            is_ethernet: name != "lo",
            kind: kind.map(str::to_owned),
            is_up: true,
            is_running: true,
            mtu,
            bridge: None,
            xdp_program: None,
        }
    }

    #[test]
    fn the_port_with_the_default_route_is_the_wired_one() {
        let all = [
            interface("lo", None, 65536),
            interface("eth0", None, 1500),
            interface("docker0", Some("bridge"), 1500),
            interface("eth1", None, 1500),
        ];
        let chosen = choose(&all, Some("eth1")).unwrap();
        assert_eq!(
            (chosen.wan.as_str(), chosen.access_points),
            ("eth1", vec!["eth0".to_owned()])
        );
        assert_eq!(choose(&all, None).unwrap().wan, "eth0");
        assert_eq!(choose(&all[..3], None), None);
        let routes = "Iface\tDestination\tGateway\neth1\t0000FEA9\t0\neth0\t00000000\t0102000A\n";
        assert_eq!(default_interface(routes).as_deref(), Some("eth0"));
    }

    #[test]
    fn ports_of_different_mtu_are_told_with_the_remedy() {
        let (a, b) = (interface("eth0", None, 9000), interface("eth1", None, 1500));
        let check = same_mtu(&[&a, &b]).unwrap();
        assert!(!check.ok && check.remedy.unwrap() == "ip link set eth0 mtu 1500");
        assert_eq!(same_mtu(&[&b, &b]), None);
    }
}
