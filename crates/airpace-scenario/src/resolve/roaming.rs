//! Stations that go from one access point to another.

use super::network::Network;
use crate::file::{EACH_STATION, NodeKind, Roam};
use airpace_config::document::{KeyError, refuse};
use airpace_sim::world::{AccessPointOnChannel, RoamingConfig, RoamingRules};

/// Finds the access points between which each station goes: its own, and those that it names.
pub(super) fn find_access_points(network: &mut Network<'_>) {
    for station in 0..network.members.len() {
        let names = &network.table(station).roam.to;
        let Some(own) = network.members[station].above.filter(|_| !names.is_empty()) else {
            continue;
        };
        let mut access_points = vec![own];
        for name in names.iter().filter(|name| *name != EACH_STATION) {
            for member in network.group(name) {
                let is_ap = network.members[member].kind == NodeKind::Ap;
                if is_ap && !access_points.contains(&member) {
                    access_points.push(member);
                }
            }
        }
        network.members[station].roams_to = access_points;
    }
}

/// What the world is told of them.
pub(super) fn roaming(network: &Network<'_>) -> Result<Vec<RoamingConfig>, KeyError> {
    let mut roaming = Vec::new();
    for (station, member) in network.members.iter().enumerate() {
        if member.roams_to.is_empty() {
            continue;
        }
        let mut access_points = Vec::new();
        for &access_point in &member.roams_to {
            let Some(channel) = network.members[access_point].downlink else {
                continue;
            };
            if network.members[access_point].kind != NodeKind::Ap {
                return refuse(
                    format!("{}.ap", network.key(station)),
                    format!(
                        "`{}` roams and must begin at an access point, not at the relay `{}`",
                        member.name, network.members[access_point].name
                    ),
                );
            }
            access_points.push(AccessPointOnChannel {
                node: Network::id(access_point),
                channel,
            });
        }
        let channel = &network.scenario.channel[access_points[0].channel];
        let &Roam {
            scan_below,
            better_by,
            least,
            scan_interval,
            dwell,
            lost_beacons,
            ..
        } = &network.table(station).roam;
        roaming.push(RoamingConfig {
            station: Network::id(station),
            access_points,
            rules: RoamingRules {
                scan_below_dbm: scan_below.0,
                better_by_db: better_by.0,
                least_dbm: least.0,
                scan_interval: scan_interval.0,
                dwell: dwell.0,
                beacon_timeout: channel.beacon_interval.0 * lost_beacons,
            },
        });
    }
    Ok(roaming)
}
