//! Routes against a search from every node, and their memory.

use super::*;
use crate::rng::Stream;
use crate::world::Record;
use core::time::Duration;

/// A network of `nodes` nodes with these wires and nothing else.
fn wired(nodes: u32, wires: &[(u32, u32)]) -> WorldConfig {
    let wire = |&(a, b): &(u32, u32)| WireConfig {
        ends: (NodeId(a), NodeId(b)),
        rate: None,
        delay: Duration::ZERO,
        queue: 1,
    };
    WorldConfig {
        seed: 1,
        warm_up: Duration::ZERO,
        duration: Duration::from_secs(1),
        slot: None,
        nodes,
        keys: Vec::new(),
        channels: Vec::new(),
        wires: wires.iter().map(wire).collect(),
        routes: Vec::new(),
        flows: Vec::new(),
        proxies: Vec::new(),
        roaming: Vec::new(),
        changes: Vec::new(),
        record: Record::default(),
    }
}

/// The next hops of all nodes to `to`, by a search over all nodes.
fn searched(config: &WorldConfig, to: NodeId) -> Vec<Option<Hop>> {
    let edges = edges(config).unwrap();
    let mut next = vec![None; config.nodes as usize];
    let mut frontier = VecDeque::from([to]);
    while let Some(node) = frontier.pop_front() {
        for edge in edges.iter().filter(|edge| edge.to == node) {
            let known = &mut next[edge.from.0 as usize];
            if edge.from != to && known.is_none() {
                *known = Some(edge.hop);
                frontier.push_back(edge.from);
            }
        }
    }
    next
}

#[test]
fn paths_are_those_of_a_search_over_all_nodes() {
    let mut draws = Stream::new(3, "routes", 0);
    for _ in 0..300 {
        let nodes = 2 + draws.up_to(9);
        let count = draws.up_to(12);
        let wires: Vec<_> = (0..count)
            .map(|_| (draws.up_to(nodes - 1), draws.up_to(nodes - 1)))
            .filter(|(a, b)| a != b)
            .collect();
        let config = wired(nodes, &wires);
        let routes = Routes::new(&config).unwrap();
        for to in (0..nodes).map(NodeId) {
            let expected = searched(&config, to);
            for at in (0..nodes).map(NodeId) {
                let hop = routes.next(at, to);
                assert_eq!(
                    hop, expected[at.0 as usize],
                    "{at:?} to {to:?} of {wires:?}"
                );
            }
        }
    }
}

#[test]
fn memory_grows_with_the_core_not_with_the_square_of_the_nodes() {
    // A server, 40 access points at it, and 50 stations at each.
    let access_points = 1..=40;
    let mut wires: Vec<_> = access_points.clone().map(|point| (0, point)).collect();
    for point in access_points {
        wires.extend((0..50).map(|station| (point, 40 + 50 * (point - 1) + station + 1)));
    }
    let config = wired(2_041, &wires);
    let routes = Routes::new(&config).unwrap();
    for node in (1..2_041).map(NodeId) {
        assert!(routes.next(NodeId(0), node).is_some());
        assert!(routes.next(node, NodeId(0)).is_some());
    }
    let hops: usize = routes
        .found
        .iter()
        .filter_map(OnceLock::get)
        .map(Vec::len)
        .sum();
    assert!(hops <= 41 * 41, "{hops}");
}
