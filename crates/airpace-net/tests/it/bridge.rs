use super::namespace;
use airpace_net::bridge::{BridgeChoice, BridgeError, BridgeState};
use airpace_net::netns::Namespace;
use std::process::{Command, Stdio};

/// What `ip` says about all interfaces, without the counters of time.
fn dump(namespace: &Namespace) -> String {
    let mut command = Command::new("ip");
    command
        .args(["-d", "-o", "link", "show"])
        .stdout(Stdio::piped());
    let output = namespace
        .spawn(command)
        .unwrap()
        .wait_with_output()
        .unwrap();
    // Some values of a bridge tick.
    let text = String::from_utf8(output.stdout).unwrap();
    let mut words: Vec<&str> = text.split_whitespace().collect();
    for i in 1..words.len() {
        if words[i - 1].ends_with("_timer") {
            words[i] = "";
        }
    }
    words.join(" ")
}

/// A namespace with two ports, one of which is up.
fn ports() -> Option<Namespace> {
    let namespace = namespace()?;
    let mut link = namespace.netlink().unwrap();
    link.add_veth("wan", "wan-peer", None).unwrap();
    link.add_veth("ap", "ap-peer", None).unwrap();
    link.set_mtu("ap", 1400).unwrap();
    link.set_up("wan").unwrap();
    // The kernel chooses a queueing discipline when an interface is brought up for the first time.
    link.set_up("ap").unwrap();
    link.set_down("ap").unwrap();
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
    assert!(during.contains("master br0") && during.contains("mcast_snooping 0"));
    assert!(during.contains("stp_state 0") && during.contains("forward_delay 0 "));
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
    assert!(!dump(&namespace).contains("master"));
    namespace.run(|| state.undo()).unwrap().unwrap();
    assert_eq!(
        dump(&namespace).matches("master br0").count(),
        before.matches("master br0").count()
    );
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
    // The addresses of the bridges differ, because a bridge takes that of its first port.
    assert_eq!(
        dump(&namespace).split(' ').count(),
        before.split(' ').count()
    );
    let text = dump(&namespace);
    assert_eq!(text.matches("master other").count(), 1);
    assert_eq!(text.matches("master br0").count(), 0);
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
