//! Whether a bridge would forward what is taken out of it, and unchanged.

use crate::netlink::{LinkError, Netlink, PortLink, PortVlan};

/// What a bridge does with unicast frames from the wan port to the ports of access points. Frames
/// that an XDP program redirects bypass the bridge, so they must be those that it would forward
/// unchanged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Forwarding {
    /// It forwards them unchanged.
    Unchanged,
    /// It forwards those without a VLAN tag unchanged. What it does with others depends on the tag.
    UntaggedUnchanged,
    /// It drops or changes them.
    Obstructed(Obstacle),
}

/// Why a bridge drops or changes frames between two of its ports.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Obstacle {
    /// A port is not in the bridge, or no longer.
    #[error("{port} is not a port of the bridge {bridge}: ip link set {port} master {bridge}")]
    NotAPort {
        /// Name of the port.
        port: String,
        /// Name of the bridge.
        bridge: String,
    },
    /// The spanning tree blocks a port, or has not decided yet.
    #[error("the spanning tree of the bridge does not let {0} forward (bridge link show dev {0})")]
    NotForwarding(String),
    /// The bridge exchanges no frames between the two ports.
    #[error(
        "{wan} and {access_point} are isolated, so the bridge exchanges no frames between them: \
         bridge link set dev {wan} isolated off"
    )]
    Isolated {
        /// Name of the wan port.
        wan: String,
        /// Name of the port of an access point.
        access_point: String,
    },
    /// The bridge drops frames of unauthorised stations.
    #[error(
        "{0} is locked, so the bridge drops frames of unauthorised stations: bridge link set dev {0} \
         locked off"
    )]
    Locked(String),
    /// Untagged frames would change their VLAN, gain a tag or be dropped.
    #[error(
        "the bridge filters VLANs and does not pass untagged frames unchanged between {wan} and \
         {access_point}: give both the same VLAN with `pvid untagged` (bridge vlan show), or turn \
         the filter off: ip link set {bridge} type bridge vlan_filtering 0"
    )]
    Vlans {
        /// Name of the bridge.
        bridge: String,
        /// Name of the wan port.
        wan: String,
        /// Name of the port of an access point.
        access_point: String,
    },
}

impl Obstacle {
    /// Returns whether it is expected to end without an operator.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::NotForwarding(_))
    }
}

/// Returns what `bridge` does with unicast frames between `wan` and each of `access_points`, in the
/// calling thread's namespace.
///
/// Rules of ebtables and of the nftables family `bridge` are not among what is checked.
///
/// # Errors
/// When an interface does not exist.
pub fn forwarding(
    bridge: &str,
    wan: &str,
    access_points: &[&str],
) -> Result<Forwarding, LinkError> {
    let mut link = Netlink::open()?;
    let bridge = Named {
        name: bridge,
        link: link.port(bridge)?,
        vlans: Vec::new(),
    };
    let wan = Named::read(&mut link, wan, &bridge.link)?;
    for &access_point in access_points {
        let access_point = Named::read(&mut link, access_point, &bridge.link)?;
        if let Some(obstacle) = obstacle_between(&bridge, &wan, &access_point) {
            return Ok(Forwarding::Obstructed(obstacle));
        }
    }
    Ok(if bridge.link.filters_vlans {
        Forwarding::UntaggedUnchanged
    } else {
        Forwarding::Unchanged
    })
}

/// An interface by its name.
struct Named<'a> {
    name: &'a str,
    link: PortLink,
    /// The VLANs of a port of a bridge that filters them.
    vlans: Vec<PortVlan>,
}

impl<'a> Named<'a> {
    /// Reads the settings of a port of `bridge`.
    fn read(link: &mut Netlink, name: &'a str, bridge: &PortLink) -> Result<Self, LinkError> {
        let port = link.port(name)?;
        let vlans = if bridge.filters_vlans {
            link.vlans(port.index)?
        } else {
            Vec::new()
        };
        Ok(Self {
            name,
            link: port,
            vlans,
        })
    }
}

/// Returns what keeps frames from passing unchanged between two ports of a bridge.
fn obstacle_between(
    bridge: &Named<'_>,
    wan: &Named<'_>,
    access_point: &Named<'_>,
) -> Option<Obstacle> {
    let of_one_port = obstacle_at(bridge, wan).or_else(|| obstacle_at(bridge, access_point));
    if of_one_port.is_some() {
        return of_one_port;
    }
    if wan.link.is_isolated && access_point.link.is_isolated {
        return Some(Obstacle::Isolated {
            wan: wan.name.to_owned(),
            access_point: access_point.name.to_owned(),
        });
    }
    if bridge.link.filters_vlans {
        let vlan = untagged_vlan(&wan.vlans);
        if vlan.is_none() || vlan != untagged_vlan(&access_point.vlans) {
            return Some(Obstacle::Vlans {
                bridge: bridge.name.to_owned(),
                wan: wan.name.to_owned(),
                access_point: access_point.name.to_owned(),
            });
        }
    }
    None
}

/// Returns what keeps frames from passing one port, whatever the other is.
fn obstacle_at(bridge: &Named<'_>, port: &Named<'_>) -> Option<Obstacle> {
    if port.link.master != Some(bridge.link.index) {
        return Some(Obstacle::NotAPort {
            port: port.name.to_owned(),
            bridge: bridge.name.to_owned(),
        });
    }
    // A port that is down or has no carrier is disabled as well, and nothing passes it anyway.
    if port.link.is_running && !port.link.is_forwarding {
        return Some(Obstacle::NotForwarding(port.name.to_owned()));
    }
    let is_locked = port.link.is_locked;
    is_locked.then(|| Obstacle::Locked(port.name.to_owned()))
}

/// Returns the VLAN of untagged frames, if its frames also leave untagged.
fn untagged_vlan(vlans: &[PortVlan]) -> Option<u16> {
    let vlan = vlans.iter().find(|vlan| vlan.is_pvid)?;
    vlan.leaves_untagged.then_some(vlan.vid)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A port, or the bridge itself, for which nothing special is configured.
    fn link(name: &str, index: u32) -> Named<'_> {
        Named {
            name,
            link: PortLink {
                index,
                is_up: true,
                is_running: true,
                is_bridge: index == 1,
                veth_peer: None,
                filters_vlans: false,
                master: Some(1),
                is_forwarding: true,
                is_isolated: false,
                is_locked: false,
            },
            vlans: Vec::new(),
        }
    }

    /// The VLANs of a port: number, whether it is that of untagged frames, whether it leaves
    /// untagged.
    fn with_vlans<'a>(name: &'a str, vlans: &[(u16, bool, bool)]) -> Named<'a> {
        let mut port = link(name, 2);
        for &(vid, is_pvid, leaves_untagged) in vlans {
            port.vlans.push(PortVlan {
                vid,
                is_pvid,
                leaves_untagged,
            });
        }
        port
    }

    #[test]
    fn untagged_frames_pass_a_filter_only_if_both_ports_give_them_the_same_vlan() {
        let mut bridge = link("br0", 1);
        bridge.link.filters_vlans = true;
        let access_point = with_vlans("ap", &[(7, false, false), (1, true, true)]);
        let pass = |vlans: &[(u16, bool, bool)]| {
            obstacle_between(&bridge, &with_vlans("wan", vlans), &access_point).is_none()
        };
        assert!(pass(&[(1, true, true)]));
        assert!(!pass(&[(7, true, true), (1, false, true)]), "another VLAN");
        assert!(!pass(&[(1, true, false)]), "they would leave with a tag");
        assert!(!pass(&[(1, false, true)]), "untagged frames are dropped");
        assert!(!pass(&[]), "no VLAN");
    }

    #[test]
    fn a_port_that_the_bridge_closes_is_an_obstacle() {
        let (bridge, wan) = (link("br0", 1), link("wan", 2));
        let obstacle = |change: fn(&mut PortLink)| {
            let mut port = link("ap", 3);
            change(&mut port.link);
            obstacle_between(&bridge, &wan, &port)
        };
        assert_eq!(obstacle(|_| {}), None);
        assert_eq!(
            obstacle(|port| port.is_locked = true),
            Some(Obstacle::Locked("ap".to_owned()))
        );
        let blocked = obstacle(|port| port.is_forwarding = false);
        assert_eq!(blocked, Some(Obstacle::NotForwarding("ap".to_owned())));
        assert!(blocked.is_some_and(|blocked| blocked.is_transient()));
        let down = obstacle(|port| (port.is_running, port.is_forwarding) = (false, false));
        assert_eq!(down, None, "a port that is down is not the bridge's doing");
        assert!(obstacle(|port| port.master = Some(9)).is_some());
    }
}
