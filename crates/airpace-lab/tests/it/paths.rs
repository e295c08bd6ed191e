//! The tunnel on paths that are narrow, that break and that come back, and with several prefixes.

use crate::testbed;
use crate::tunnel::{echo_within, is_routed, routed_within};
use airpace_api::config::LawChoice;
use airpace_lab::bench::datapath::{AGENT, PROXY, Testbed};
use airpace_live::keys;
use airpace_net::netlink::Route;
use airpace_net::netns::Namespace;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

/// Proxy and agent at the two ends of the narrow path.
const FAR_PROXY: Ipv4Addr = Ipv4Addr::new(10, 66, 0, 1);
const FAR_AGENT: Ipv4Addr = Ipv4Addr::new(10, 66, 0, 2);
/// A host behind the proxy.
const SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 9);

/// A router that answers for the hosts of either side, and complains to nobody.
struct Router(Namespace);

impl Router {
    fn new() -> Self {
        let router = Namespace::new().unwrap();
        router.prepare().unwrap();
        for (key, value) in [
            ("net/ipv4/ip_forward", "1"),
            ("net/ipv4/conf/default/proxy_arp", "1"),
            // One message of ICMP to a host in 1000 s, and none before (`inet_peer_xrlim_allow`).
            ("net/ipv4/icmp_ratelimit", "1000000"),
        ] {
            router.set_sysctl(key, value).unwrap();
        }
        Self(router)
    }

    /// Leads packets to a host to one of the router's interfaces.
    fn route(&self, host: Ipv4Addr, interface: &str) {
        let mut link = self.0.netlink().unwrap();
        link.set_up(interface).unwrap();
        let route = Route::through(IpAddr::from(host).into(), interface);
        link.add_route(&route).unwrap();
    }
}

/// Puts two routers between proxy and agent, with a link between them that takes packets of `mtu`
/// bytes.
fn narrow_path(bed: &mut Testbed, mtu: u32) -> [Router; 2] {
    let (near, far) = (Router::new(), Router::new());
    let mut link = bed.proxy_side.netlink().unwrap();
    link.add_veth("far0", "outer", Some(&near.0)).unwrap();
    link.add_address("far0", "10.66.0.1/24".parse().unwrap())
        .unwrap();
    link.set_up("far0").unwrap();
    let mut link = bed.agent_side.netlink().unwrap();
    link.add_veth("far1", "outer", Some(&far.0)).unwrap();
    link.add_address("far1", "10.66.0.2/24".parse().unwrap())
        .unwrap();
    link.set_up("far1").unwrap();
    let mut link = near.0.netlink().unwrap();
    link.add_veth("inner", "inner", Some(&far.0)).unwrap();
    for (router, address) in [(&near, "10.67.0.1/32"), (&far, "10.67.0.2/32")] {
        let mut link = router.0.netlink().unwrap();
        link.set_mtu("inner", mtu).unwrap();
        // Without any address it would not ask for those of others.
        link.add_address("inner", address.parse().unwrap()).unwrap();
    }
    near.route(FAR_PROXY, "outer");
    near.route(FAR_AGENT, "inner");
    far.route(FAR_PROXY, "inner");
    far.route(FAR_AGENT, "outer");
    let port = bed.proxy.listen.port();
    bed.proxy.listen = SocketAddr::from((FAR_PROXY, port));
    bed.agent.proxy = bed.proxy.listen.into();
    [near, far]
}

/// Sends datagrams of `bytes` from one address to another until an echo comes back whole.
fn large_echo(bed: &Testbed, bytes: usize, limit: Duration) -> Option<Duration> {
    let bind = |side: &Namespace, at: Ipv4Addr| {
        let socket = side.run(|| UdpSocket::bind((at, 9))).unwrap().unwrap();
        socket
            .set_read_timeout(Some(Duration::from_millis(50)))
            .unwrap();
        socket
    };
    let (client, server) = (bind(&bed.proxy_side, PROXY), bind(&bed.agent_side, AGENT));
    let (start, mut buffer) = (Instant::now(), vec![0; 2_000]);
    while start.elapsed() < limit {
        client.send_to(&vec![7; bytes], (AGENT, 9)).unwrap();
        if let Ok((n, from)) = server.recv_from(&mut buffer) {
            server.send_to(&buffer[..n], from).unwrap();
        }
        if client.recv(&mut buffer).is_ok_and(|n| n == bytes) {
            return Some(start.elapsed());
        }
    }
    None
}

/// Downloads through the tunnel, and returns the sender's segment size at the end.
fn download(bed: &Testbed, bytes: usize) -> u32 {
    let listener = bed
        .agent_side
        .run(|| TcpListener::bind((AGENT, 5001)))
        .unwrap()
        .unwrap();
    let sink = std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        connection
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        let mut received = Vec::new();
        connection.read_to_end(&mut received).unwrap();
        connection.write_all(b"done").unwrap();
        received.len()
    });
    let mut source = bed
        .proxy_side
        .run(|| TcpStream::connect((AGENT, 5001)))
        .unwrap()
        .unwrap();
    source
        .set_write_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    source.write_all(&vec![5; bytes]).unwrap();
    let segment = airpace_net::tcp_info(&source).unwrap().segment_bytes;
    source.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    source.read_to_end(&mut answer).unwrap();
    assert_eq!(answer, b"done");
    assert_eq!(sink.join().unwrap(), bytes);
    segment
}

#[test]
fn downloads_and_large_packets_pass_a_hop_of_1300_bytes_that_says_nothing() {
    let Some(mut bed) = testbed() else { return };
    bed.proxy.control.law = LawChoice::None;
    let _routers = narrow_path(&mut bed, 1_300);
    let (proxy, agent) = (bed.start_proxy().unwrap(), bed.start_agent().unwrap());
    echo_within(&bed, Duration::from_secs(20)).expect("an echo");
    let took = large_echo(&bed, 1_390, Duration::from_secs(10));
    println!("a datagram of 1390 bytes passed after {took:?}");
    took.expect("datagrams are cut into fragments outside");
    // A connection from before the path is known sends fragments, one from later does not need to.
    download(&bed, 1_000_000);
    std::thread::sleep(Duration::from_secs(5));
    let start = Instant::now();
    let segment = download(&bed, 5_000_000);
    println!("5 MB in {:?}, segments of {segment} bytes", start.elapsed());
    // 1300 bytes less 28 and 40 of the tunnel and 52 of TCP with timestamps.
    assert_eq!(segment, 1_300 - 28 - 40 - 52);
    agent.stop().unwrap();
    proxy.stop().unwrap();
}

#[test]
fn routes_are_back_after_the_interface_was_down() {
    let Some(mut bed) = testbed() else { return };
    bed.agent.routes = vec!["198.51.100.0/24".parse().unwrap()];
    let (proxy, agent) = (bed.start_proxy().unwrap(), bed.start_agent().unwrap());
    let soon = Duration::from_secs(10);
    routed_within(&bed, true, soon).expect("the route at first");
    let mut link = bed.agent_side.netlink().unwrap();
    for _ in 0..3 {
        link.set_down("airpace0").unwrap();
        std::thread::sleep(Duration::from_millis(300));
        assert!(!is_routed(&bed), "the kernel dropped it");
        link.set_up("airpace0").unwrap();
        routed_within(&bed, true, soon).expect("the route is back");
    }
    // Somebody removes the route itself.
    let route = Route::through("198.51.100.0/24".parse().unwrap(), "airpace0");
    link.delete_route(&route).unwrap();
    routed_within(&bed, true, soon).expect("the route is back");
    echo_within(&bed, Duration::from_secs(10)).expect("an echo");
    agent.stop().unwrap();
    proxy.stop().unwrap();
}

/// Answers datagrams at `server` until there is an echo at `client`, which sends to it.
fn echoes(server: &UdpSocket, client: &UdpSocket, limit: Duration) -> bool {
    for socket in [server, client] {
        socket
            .set_read_timeout(Some(Duration::from_millis(50)))
            .unwrap();
    }
    let (start, mut buffer) = (Instant::now(), [0; 64]);
    while start.elapsed() < limit {
        let _ = client.send_to(b"ping", server.local_addr().unwrap());
        if let Ok((n, from)) = server.recv_from(&mut buffer) {
            server.send_to(&buffer[..n], from).unwrap();
        }
        if client.recv(&mut buffer).is_ok_and(|n| n == 4) {
            return true;
        }
    }
    false
}

/// Turns IPv6 on; `false` if the kernel has none.
fn enable_ipv6(bed: &Testbed) -> bool {
    for side in [&bed.proxy_side, &bed.agent_side] {
        for which in ["all", "default"] {
            let key = format!("net/ipv6/conf/{which}/disable_ipv6");
            if side.set_sysctl(&key, "0").is_err() {
                println!("SKIPPED, NOTHING WAS TESTED: the kernel has no IPv6");
                return false;
            }
        }
    }
    true
}

#[test]
fn large_packets_pass_a_narrow_link_over_ipv6_at_once() {
    let Some(mut bed) = testbed() else { return };
    if !enable_ipv6(&bed) {
        return;
    }
    bed.proxy.control.law = LawChoice::None;
    let mut link = bed.proxy_side.netlink().unwrap();
    link.add_address("wire0", "fd66::1/64".parse().unwrap())
        .unwrap();
    let mut link = bed.agent_side.netlink().unwrap();
    link.add_address("wire1", "fd66::2/64".parse().unwrap())
        .unwrap();
    // The proxy's end takes 1500 bytes; what exceeds 1300 is dropped at the other without a word.
    link.set_mtu("wire1", 1_300).unwrap();
    let port = bed.proxy.listen.port();
    bed.proxy.listen = SocketAddr::from((Ipv6Addr::UNSPECIFIED, port));
    bed.agent.proxy = format!("[fd66::1]:{port}").parse().unwrap();
    let (proxy, agent) = (bed.start_proxy().unwrap(), bed.start_agent().unwrap());
    echo_within(&bed, Duration::from_secs(20)).expect("an echo");
    let took = large_echo(&bed, 1_390, Duration::from_secs(20));
    println!("a datagram of 1390 bytes passed after {took:?}");
    let took = took.expect("this end cuts datagrams into fragments");
    // Before anything is known of the path; the search for its MTU takes two seconds.
    assert!(took < Duration::from_secs(1), "{took:?}");
    // The search ends, so that connections need no fragments.
    std::thread::sleep(Duration::from_secs(4));
    // 1300 bytes less 48 and 40 of the tunnel and 52 of TCP with timestamps.
    assert_eq!(download(&bed, 1_000_000), 1_300 - 48 - 40 - 52);
    agent.stop().unwrap();
    proxy.stop().unwrap();
}

#[test]
fn a_station_has_addresses_of_both_ip_versions() {
    let Some(mut bed) = testbed() else { return };
    if !enable_ipv6(&bed) {
        return;
    }
    bed.proxy.tun.more_addresses = vec!["fd77::1/64".parse().unwrap()];
    bed.proxy.station[0].networks = vec!["fd77::2/128".parse().unwrap()];
    let tun = bed.agent.tun.as_mut().unwrap();
    tun.more_addresses = vec!["fd77::2/64".parse().unwrap()];
    let (proxy, agent) = (bed.start_proxy().unwrap(), bed.start_agent().unwrap());
    echo_within(&bed, Duration::from_secs(20)).expect("an echo over IPv4");
    let at = |host| Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, host);
    let bind = |side: &Namespace, host| {
        side.run(|| UdpSocket::bind((at(host), 9)))
            .unwrap()
            .unwrap()
    };
    let (of_proxy, of_agent) = (bind(&bed.proxy_side, 1), bind(&bed.agent_side, 2));
    assert!(echoes(&of_agent, &of_proxy, Duration::from_secs(10)));
    // The kernel removes addresses of IPv6 with the link.
    let mut link = bed.agent_side.netlink().unwrap();
    link.set_down("airpace0").unwrap();
    std::thread::sleep(Duration::from_millis(300));
    link.set_up("airpace0").unwrap();
    assert!(echoes(&of_agent, &of_proxy, Duration::from_secs(10)));
    agent.stop().unwrap();
    proxy.stop().unwrap();
}

#[test]
fn a_default_route_leads_everything_but_the_tunnel_itself_into_the_tunnel() {
    let Some(mut bed) = testbed() else { return };
    bed.agent.routes = vec!["0.0.0.0/0".parse().unwrap()];
    let mut link = bed.proxy_side.netlink().unwrap();
    link.add_address("lo", IpAddr::from(SERVER).into()).unwrap();
    let server = bed
        .proxy_side
        .run(|| UdpSocket::bind((SERVER, 9)))
        .unwrap()
        .unwrap();
    let client = bed
        .agent_side
        .run(|| UdpSocket::bind("0.0.0.0:0"))
        .unwrap()
        .unwrap();
    let (proxy, agent) = (bed.start_proxy().unwrap(), bed.start_agent().unwrap());
    assert!(echoes(&server, &client, Duration::from_secs(20)));
    // Longer than it takes to notice that the proxy cannot be heard.
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(12) {
        assert!(echoes(&server, &client, Duration::from_secs(5)));
        std::thread::sleep(Duration::from_millis(500));
    }
    agent.stop().unwrap();
    assert!(client.send_to(b"ping", (SERVER, 9)).is_err(), "no way left");
    proxy.stop().unwrap();
}

#[test]
fn a_preshared_key_is_read_from_its_file_at_both_ends() {
    let Some(mut bed) = testbed() else { return };
    let folder = std::env::temp_dir().join(format!("airpace-psk-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let files = ["one", "other"].map(|name| folder.join(name));
    for file in &files {
        keys::write_new_preshared(&keys::generate_preshared(), file).unwrap();
    }
    bed.proxy.station[0].preshared_key_file = Some(files[0].clone());
    bed.agent.preshared_key_file = Some(files[1].clone());
    let proxy = bed.start_proxy().unwrap();
    let agent = bed.start_agent().unwrap();
    assert!(echo_within(&bed, Duration::from_secs(3)).is_none());
    agent.stop().unwrap();
    bed.agent.preshared_key_file = Some(files[0].clone());
    let agent = bed.start_agent().unwrap();
    echo_within(&bed, Duration::from_secs(20)).expect("an echo");
    agent.stop().unwrap();
    proxy.stop().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
}
