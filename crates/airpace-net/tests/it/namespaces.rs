use super::namespace;
use airpace_net::netlink::Route;
use airpace_net::netns::Namespace;
use std::net::UdpSocket;
use std::process::{Command, Stdio};

#[test]
fn a_pair_of_interfaces_joins_two_namespaces() {
    let (Some(a), Some(b)) = (namespace(), namespace()) else {
        return;
    };
    let mut link = a.netlink().unwrap();
    link.add_veth("left", "right", Some(&b)).unwrap();
    link.add_address("left", "10.9.0.1/24".parse().unwrap())
        .unwrap();
    link.set_up("left").unwrap();
    let mut other = b.netlink().unwrap();
    other
        .add_address("right", "10.9.0.2/24".parse().unwrap())
        .unwrap();
    other.set_mtu("right", 1400).unwrap();
    other.set_up("right").unwrap();
    let route = Route::through("10.10.0.0/16".parse().unwrap(), "right");
    other.add_route(&route).unwrap();
    assert!(other.add_route(&route).is_err(), "it exists already");
    other.delete_route(&route).unwrap();
    assert!(other.delete_route(&route).is_err(), "it is gone");

    let receiver = b.run(|| UdpSocket::bind("10.9.0.2:0").unwrap()).unwrap();
    let sender = a.run(|| UdpSocket::bind("10.9.0.1:0").unwrap()).unwrap();
    sender
        .send_to(b"hello", receiver.local_addr().unwrap())
        .unwrap();
    let mut buffer = [0; 16];
    assert_eq!(receiver.recv(&mut buffer).unwrap(), 5);
}

#[test]
fn a_program_runs_inside_and_the_caller_stays_outside() {
    let Some(namespace) = namespace() else { return };
    namespace
        .netlink()
        .unwrap()
        .add_veth("only-here", "peer", None)
        .unwrap();
    let mut command = Command::new("cat");
    command.arg("/proc/net/dev").stdout(Stdio::piped());
    let output = namespace
        .spawn(command)
        .unwrap()
        .wait_with_output()
        .unwrap();
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .contains("only-here")
    );
    assert!(
        !std::fs::read_to_string("/proc/thread-self/net/dev")
            .unwrap()
            .contains("only-here")
    );
}

#[test]
fn a_namespace_is_reached_by_its_path() {
    let Some(namespace) = namespace() else { return };
    namespace
        .netlink()
        .unwrap()
        .add_veth("here", "there", None)
        .unwrap();
    let again = Namespace::open(&namespace.path()).unwrap();
    assert!(again.netlink().unwrap().index("here").is_ok());
}

#[test]
fn kernel_settings_are_those_of_the_namespace() {
    let Some(namespace) = namespace() else { return };
    let set = |name| namespace.set_sysctl("net/ipv4/tcp_congestion_control", name);
    set("reno").unwrap();
    let error = set("no-such-law").unwrap_err().to_string();
    assert!(
        error.contains("tcp_congestion_control") && error.contains("no-such-law"),
        "{error}"
    );
    let here = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").unwrap();
    assert_ne!(
        here.trim(),
        "reno",
        "the caller's own namespace is untouched"
    );
}

#[test]
fn a_refusal_names_the_operation_and_the_kernels_reason() {
    let Some(namespace) = namespace() else { return };
    let error = namespace
        .netlink()
        .unwrap()
        .set_up("no-such-if")
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("no-such-if") && error.contains("No such device"),
        "{error}"
    );
}
