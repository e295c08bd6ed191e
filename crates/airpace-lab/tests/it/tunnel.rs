//! Traffic through the tunnel, over a pair of virtual interfaces.

use crate::testbed;
use airpace_api::config::LawChoice;
use airpace_core::wire::data;
use airpace_edge::tunnel::Reason;
use airpace_lab::bench::datapath::{AGENT, PROXY, Testbed};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

/// How long a port may be in use after its socket was closed.
const IN_USE_MOST: Duration = Duration::from_secs(2);

/// A socket for echoes at the agent's side, which may have no address yet.
fn echo_socket(bed: &Testbed) -> UdpSocket {
    let bind = |at: SocketAddr| bed.agent_side.run(|| UdpSocket::bind(at)).unwrap();
    let start = Instant::now();
    loop {
        let own = bind((AGENT, 7).into());
        match own.or_else(|_| bind(([0; 4], 7).into())) {
            Ok(socket) => return socket,
            // The socket before this one lives on in the child of a test that starts a program, until that runs.
            Err(error) if error.kind() == ErrorKind::AddrInUse && start.elapsed() < IN_USE_MOST => {
                std::thread::sleep(Duration::from_millis(2));
            }
            Err(error) => panic!("port 7: {error}"),
        }
    }
}

/// Sends datagrams from the proxy's side until an echo comes back. Returns the time until then.
pub(crate) fn echo_within(bed: &Testbed, limit: Duration) -> Option<Duration> {
    let server = echo_socket(bed);
    server.set_nonblocking(true).unwrap();
    let client = bed
        .proxy_side
        .run(|| UdpSocket::bind("0.0.0.0:0"))
        .unwrap()
        .unwrap();
    client
        .set_read_timeout(Some(Duration::from_millis(5)))
        .unwrap();
    let (start, mut buffer) = (Instant::now(), [0; 64]);
    while start.elapsed() < limit {
        let _ = client.send_to(b"ping", SocketAddr::from((AGENT, 7)));
        std::thread::sleep(Duration::from_millis(2));
        while let Ok((n, from)) = server.recv_from(&mut buffer) {
            server.send_to(&buffer[..n], from).unwrap();
        }
        if client
            .recv_from(&mut buffer)
            .is_ok_and(|(n, _)| &buffer[..n] == b"ping")
        {
            return Some(start.elapsed());
        }
    }
    None
}

#[test]
fn datagrams_and_tcp_pass_the_tunnel() {
    let Some(mut bed) = testbed() else { return };
    bed.proxy.control.law = LawChoice::None;
    let (proxy, agent) = (bed.start_proxy().unwrap(), bed.start_agent().unwrap());
    let took = echo_within(&bed, Duration::from_secs(20)).expect("an echo");
    println!("first echo after {took:?}");

    const BYTES: usize = 20_000_000;
    let listener = bed
        .agent_side
        .run(|| TcpListener::bind((AGENT, 5001)))
        .unwrap()
        .unwrap();
    let sink = std::thread::spawn(move || {
        let (mut connection, from) = listener.accept().unwrap();
        assert_eq!(from.ip(), std::net::IpAddr::from(PROXY));
        let mut received = Vec::new();
        connection.read_to_end(&mut received).unwrap();
        connection.write_all(b"done").unwrap();
        received
    });
    let mut source = bed
        .proxy_side
        .run(|| TcpStream::connect((AGENT, 5001)))
        .unwrap()
        .unwrap();
    let data: Vec<u8> = (0..BYTES).map(|i| ((i * i) >> 7) as u8).collect();
    let start = Instant::now();
    source.write_all(&data).unwrap();
    source.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    source.read_to_end(&mut answer).unwrap();
    let seconds = start.elapsed().as_secs_f64();
    assert_eq!(answer, b"done");
    assert!(
        sink.join().unwrap() == data,
        "the data received differ from the data sent"
    );
    println!("TCP: {:.0} Mbit/s", BYTES as f64 * 8.0 / seconds / 1e6);
    agent.stop().unwrap();
    proxy.stop().unwrap();
}

/// Whether the agent routes 198.51.100.0/24 into the tunnel.
pub(crate) fn is_routed(bed: &Testbed) -> bool {
    let table = bed
        .agent_side
        .run(|| std::fs::read_to_string("/proc/thread-self/net/route"))
        .unwrap()
        .unwrap();
    table
        .lines()
        .any(|line| line.starts_with("airpace0\t006433C6"))
}

/// Waits until the route exists, or no longer does. Returns the time until then.
pub(crate) fn routed_within(bed: &Testbed, routed: bool, limit: Duration) -> Option<Duration> {
    let start = Instant::now();
    while is_routed(bed) != routed {
        if start.elapsed() > limit {
            return None;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Some(start.elapsed())
}

#[test]
fn interface_and_routes_end_with_the_session_and_a_restarted_proxy_is_found_again() {
    let Some(mut bed) = testbed() else { return };
    bed.agent.routes = vec!["198.51.100.0/24".parse().unwrap()];
    let agent = bed.start_agent().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert!(
        !is_routed(&bed),
        "there is a route before there is a session"
    );
    let proxy = bed.start_proxy().unwrap();
    echo_within(&bed, Duration::from_secs(20)).expect("an echo");
    routed_within(&bed, true, Duration::from_secs(5)).expect("the route leads into the tunnel");
    proxy.stop().unwrap();
    let took =
        routed_within(&bed, false, Duration::from_secs(20)).expect("traffic takes the plain path");
    println!("routes withdrawn after {took:?}");
    assert!(took > Duration::from_secs(8));
    assert!(
        bed.proxy_side.netlink().unwrap().index("airpace0").is_err(),
        "the interface is still there"
    );
    let proxy = bed.start_proxy().unwrap();
    let took = echo_within(&bed, Duration::from_secs(30)).expect("an echo from the new proxy");
    println!("found again after {took:?}");
    routed_within(&bed, true, Duration::from_secs(5))
        .expect("the route leads into the tunnel again");
    agent.stop().unwrap();
    assert!(
        bed.agent_side.netlink().unwrap().index("airpace0").is_err(),
        "the interface is still there"
    );
    proxy.stop().unwrap();
}

/// Datagrams that are fired at the proxy.
const FIRED: u64 = 50_000;

/// Fires noise, half of it with a genuine header. Returns the number of datagrams that were sent.
fn fire(attacker: &UdpSocket, at: SocketAddr) -> u64 {
    let mut noise = [0_u8; 1400];
    let (mut state, mut left) = (1_u64, 0);
    for n in 0..FIRED as usize {
        for byte in &mut noise[..40] {
            // The generator of Numerical Recipes is good enough for noise.
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            *byte = (state >> 56) as u8;
        }
        if n % 2 == 0 {
            noise[..4].copy_from_slice(&[1 + (n % 4) as u8, data::VERSION, 0, 0]);
        }
        // Lengths of an initiation and of a response, for which the header is genuine.
        let length = [144, 1400, 76, n % 1400][n % 4];
        left += u64::from(attacker.send_to(&noise[..length], at).is_ok());
        if n % 64 == 63 {
            // Slow enough for the proxy's socket to lose little.
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    left
}

/// Memory of this process in KiB. Other tests may run beside this one, so only large growth means
/// anything.
fn resident_kib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split_whitespace()
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok())
        .unwrap()
        * 4
}

#[test]
fn a_proxy_under_fire_answers_nothing_counts_everything_and_keeps_working() {
    let Some(bed) = testbed() else { return };
    let (proxy, agent) = (bed.start_proxy().unwrap(), bed.start_agent().unwrap());
    echo_within(&bed, Duration::from_secs(20)).expect("an echo");
    let attacker = bed
        .agent_side
        .run(|| UdpSocket::bind("0.0.0.0:0"))
        .unwrap()
        .unwrap();
    let resident = resident_kib();
    let left = fire(&attacker, bed.proxy.listen);
    let growth = resident_kib().saturating_sub(resident);
    attacker
        .set_read_timeout(Some(Duration::from_millis(200)))
        .unwrap();
    assert!(attacker.recv(&mut [0; 1400]).is_err(), "the proxy answered");
    echo_within(&bed, Duration::from_secs(20)).expect("an echo");
    agent.stop().unwrap();
    let totals = proxy.stop().unwrap();
    let dropped = totals.tunnel.dropped();
    println!("{left} datagrams fired, {dropped} dropped and counted, memory grew by {growth} KiB");
    // Datagrams that did not fit the socket's buffer never reached the proxy.
    assert!(
        (left * 9 / 10..=left).contains(&dropped),
        "{dropped} of {left} were counted"
    );
    for reason in [Reason::Length, Reason::Kind, Reason::Check, Reason::Session] {
        assert!(
            totals.tunnel.dropped_for(reason) > 0,
            "no datagram was dropped for: {}",
            reason.name()
        );
    }
    assert_eq!(
        (totals.core.bad_reports, totals.spoofed),
        (0, 0),
        "nothing got past the tunnel"
    );
    assert!(growth < 32 << 10, "memory grew by {growth} KiB");
}
