use super::namespace;
use airpace_net::bridge::{BridgeChoice, BridgeError, BridgeState};
use airpace_net::netns::Namespace;
use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{InfoBridge, InfoData, LinkAttribute, LinkInfo, LinkMessage};
use netlink_sys::{Socket, protocols::NETLINK_ROUTE};

/// What the kernel says about all interfaces, one a line: names, flags, MTUs, addresses, bridges and
/// XDP programs, without what counts or ticks.
fn dump(namespace: &Namespace) -> String {
    namespace.run(dump_here).unwrap()
}

fn dump_here() -> String {
    let mut socket = Socket::new(NETLINK_ROUTE).unwrap();
    socket.bind_auto().unwrap();
    let mut request = NetlinkMessage::from(RouteNetlinkMessage::GetLink(LinkMessage::default()));
    request.header.flags = NLM_F_REQUEST | NLM_F_DUMP;
    request.finalize();
    let mut bytes = vec![0; request.buffer_len()];
    request.serialize(&mut bytes);
    socket.send(&bytes, 0).unwrap();
    let mut text = String::new();
    loop {
        let (datagram, _) = socket.recv_from_full().unwrap();
        let mut rest = &datagram[..];
        while !rest.is_empty() {
            let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest).unwrap();
            rest = &rest[(message.header.length as usize).next_multiple_of(4)..];
            match message.payload {
                NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewLink(link)) => {
                    text += &describe(&link);
                }
                _ => return text,
            }
        }
    }
}

fn describe(link: &LinkMessage) -> String {
    let mut line = format!("{} {:?}", link.header.index, link.header.flags);
    for attribute in &link.attributes {
        match attribute {
            LinkAttribute::IfName(_)
            | LinkAttribute::Mtu(_)
            | LinkAttribute::Address(_)
            | LinkAttribute::Controller(_)
            | LinkAttribute::Promiscuity(_)
            | LinkAttribute::Xdp(_) => line += &format!(" {attribute:?}"),
            LinkAttribute::LinkInfo(parts) => {
                for part in parts {
                    line += &describe_kind(part);
                }
            }
            _ => {}
        }
    }
    line + "\n"
}

fn describe_kind(part: &LinkInfo) -> String {
    let LinkInfo::Data(InfoData::Bridge(settings)) = part else {
        return match part {
            LinkInfo::Kind(kind) => format!(" {kind:?}"),
            _ => String::new(),
        };
    };
    let mut text = String::new();
    for setting in settings {
        if let InfoBridge::StpState(_)
        | InfoBridge::ForwardDelay(_)
        | InfoBridge::MulticastSnooping(_) = setting
        {
            text += &format!(" {setting:?}");
        }
    }
    text
}

/// A namespace with two ports, one of which is up.
fn ports() -> Option<Namespace> {
    let namespace = namespace()?;
    let mut link = namespace.netlink().unwrap();
    link.add_veth("wan", "wan-peer", None).unwrap();
    link.add_veth("ap", "ap-peer", None).unwrap();
    link.set_mtu("ap", 1400).unwrap();
    link.set_up("wan").unwrap();
    Some(namespace)
}

fn set_up(namespace: &Namespace, choice: BridgeChoice<'_>) -> Result<BridgeState, BridgeError> {
    namespace
        .run(|| BridgeState::set_up(choice, &["wan", "ap"]))
        .unwrap()
}

#[test]
fn undoing_a_bridge_that_was_made_restores_everything() {
    let Some(namespace) = ports() else { return };
    let before = dump(&namespace);
    let state = set_up(&namespace, BridgeChoice::Make("br0")).unwrap();
    assert!(state.ports[0].strips_tags, "veth has this offload");
    let during = dump(&namespace);
    let again = set_up(&namespace, BridgeChoice::Take("br0")).unwrap();
    assert!(!again.ports[0].strips_tags, "it is off");
    assert_eq!(during.matches("Controller(").count(), 2, "{during}");
    for setting in [
        "StpState(Disabled)",
        "ForwardDelay(0)",
        "MulticastSnooping(false)",
    ] {
        assert!(during.contains(setting), "{during}");
    }
    for _ in 0..2 {
        namespace.run(|| state.undo()).unwrap().unwrap();
        assert_eq!(dump(&namespace), before, "undoing twice does no harm");
    }
    let again = set_up(&namespace, BridgeChoice::Make("br0")).unwrap();
    assert_eq!(again, state, "the offload is restored too");
}

#[test]
fn ports_leave_their_bridge_for_one_in_user_space_and_return_to_it() {
    let Some(namespace) = ports() else { return };
    let mut link = namespace.netlink().unwrap();
    link.add_bridge("br0").unwrap();
    link.set_master("wan", Some("br0")).unwrap();
    let before = dump(&namespace);
    let state = set_up(&namespace, BridgeChoice::None).unwrap();
    assert!(!dump(&namespace).contains("Controller("));
    namespace.run(|| state.undo()).unwrap().unwrap();
    assert_eq!(dump(&namespace), before);
}

#[test]
fn undoing_an_existing_bridge_leaves_it_and_returns_the_ports_to_theirs() {
    let Some(namespace) = ports() else { return };
    let mut link = namespace.netlink().unwrap();
    link.add_bridge("br0").unwrap();
    link.add_bridge("other").unwrap();
    link.set_master("wan", Some("other")).unwrap();
    let before = dump(&namespace);
    let state = set_up(&namespace, BridgeChoice::Take("br0")).unwrap();
    assert_eq!(state.ports[0].master.as_deref(), Some("other"));
    namespace.run(|| state.undo()).unwrap().unwrap();
    // A bridge takes the MAC address of its first port, so not everything is equal.
    let masters = |text: &str| -> Vec<String> {
        let words = text.split(' ').filter(|word| word.contains("Controller("));
        words.map(str::to_owned).collect()
    };
    assert_eq!(masters(&before).len(), 1);
    assert_eq!(masters(&dump(&namespace)), masters(&before));
}

#[test]
fn what_cannot_work_is_refused_before_anything_changes() {
    let Some(namespace) = ports() else { return };
    let mut link = namespace.netlink().unwrap();
    link.add_address("ap", "192.0.2.9/24".parse().unwrap())
        .unwrap();
    let before = dump(&namespace);
    let refusals = [
        (BridgeChoice::Make("br0"), "192.0.2.9"),
        (BridgeChoice::Make("wan"), "exists already"),
        (BridgeChoice::Take("wan"), "is not a bridge"),
        (BridgeChoice::Take("br9"), "No such device"),
    ];
    for (choice, expected) in refusals {
        let error = set_up(&namespace, choice).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert_eq!(dump(&namespace), before);
    }
}
