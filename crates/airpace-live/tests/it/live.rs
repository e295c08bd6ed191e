//! Traffic through the tunnel over a pair of virtual interfaces.

use airpace_api::config::Law;
use airpace_live::bench::{AGENT, PROXY, Testbed};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

/// A testbed, or a loud line and `None` where the system does not allow namespaces.
fn testbed() -> Option<Testbed> {
    match Testbed::new() {
        Ok(testbed) => Some(testbed),
        Err(error) => {
            println!("SKIPPED, NOTHING WAS TESTED: {error:#} (try `unshare -rnm cargo test`)");
            None
        }
    }
}

/// Sends datagrams from one side until an echo comes back; the time it took in all.
fn echo_within(bed: &Testbed, limit: Duration) -> Option<Duration> {
    let server = bed.agent_side.run(|| UdpSocket::bind((AGENT, 7))).unwrap();
    let server = server.or_else(|_| bed.agent_side.run(|| UdpSocket::bind("0.0.0.0:7")).unwrap()).unwrap();
    server.set_nonblocking(true).unwrap();
    let client = bed.proxy_side.run(|| UdpSocket::bind("0.0.0.0:0")).unwrap().unwrap();
    client.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
    let (start, mut buffer) = (Instant::now(), [0; 64]);
    while start.elapsed() < limit {
        let _ = client.send_to(b"ping", SocketAddr::from((AGENT, 7)));
        std::thread::sleep(Duration::from_millis(2));
        while let Ok((n, from)) = server.recv_from(&mut buffer) {
            server.send_to(&buffer[..n], from).unwrap();
        }
        if client.recv_from(&mut buffer).is_ok_and(|(n, _)| &buffer[..n] == b"ping") {
            return Some(start.elapsed());
        }
    }
    None
}

#[test]
fn datagrams_and_tcp_pass_the_tunnel() {
    let Some(mut bed) = testbed() else { return };
    bed.proxy.control.law = Law::None;
    let (proxy, agent) = (bed.start_proxy().unwrap(), bed.start_agent().unwrap());
    let took = echo_within(&bed, Duration::from_secs(20)).expect("an echo");
    println!("first echo after {took:?}");

    const BYTES: usize = 20_000_000;
    let listener = bed.agent_side.run(|| TcpListener::bind((AGENT, 5001))).unwrap().unwrap();
    let sink = std::thread::spawn(move || {
        let (mut connection, from) = listener.accept().unwrap();
        assert_eq!(from.ip(), std::net::IpAddr::from(PROXY));
        let mut received = Vec::new();
        connection.read_to_end(&mut received).unwrap();
        connection.write_all(b"done").unwrap();
        received
    });
    let mut source = bed.proxy_side.run(|| TcpStream::connect((AGENT, 5001))).unwrap().unwrap();
    let data: Vec<u8> = (0..BYTES).map(|i| ((i * i) >> 7) as u8).collect();
    let start = Instant::now();
    source.write_all(&data).unwrap();
    source.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    source.read_to_end(&mut answer).unwrap();
    let seconds = start.elapsed().as_secs_f64();
    assert_eq!(answer, b"done");
    assert!(sink.join().unwrap() == data, "what came is not what was sent");
    println!("TCP: {:.0} Mbit/s", BYTES as f64 * 8.0 / seconds / 1e6);
    agent.stop().unwrap();
    proxy.stop().unwrap();
}

#[test]
fn the_interface_goes_with_the_loop_and_a_restarted_proxy_is_found_again() {
    let Some(bed) = testbed() else { return };
    let (proxy, agent) = (bed.start_proxy().unwrap(), bed.start_agent().unwrap());
    echo_within(&bed, Duration::from_secs(20)).expect("an echo");
    proxy.stop().unwrap();
    assert!(bed.proxy_side.netlink().unwrap().index("airpace0").is_err(), "the interface is still there");
    let proxy = bed.start_proxy().unwrap();
    let took = echo_within(&bed, Duration::from_secs(30)).expect("an echo from the new proxy");
    println!("found again after {took:?}");
    agent.stop().unwrap();
    assert!(bed.agent_side.netlink().unwrap().index("airpace0").is_err(), "the interface is still there");
    proxy.stop().unwrap();
}

#[test]
fn a_proxy_under_fire_answers_nobody_and_keeps_working() {
    let Some(bed) = testbed() else { return };
    let (proxy, agent) = (bed.start_proxy().unwrap(), bed.start_agent().unwrap());
    echo_within(&bed, Duration::from_secs(20)).expect("an echo");
    let attacker = bed.agent_side.run(|| UdpSocket::bind("0.0.0.0:0")).unwrap().unwrap();
    let mut noise = [0_u8; 1400];
    let mut state = 1_u64;
    for n in 0..50_000_usize {
        for byte in &mut noise[..40] {
            // Numerical Recipes' generator: any noise will do.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *byte = (state >> 56) as u8;
        }
        if n % 2 == 0 {
            noise[..4].copy_from_slice(&[1 + (n % 3) as u8, 1, 0, 0]);
        }
        let length = [136, 76, 1400, n % 1400][n % 4];
        let _ = attacker.send_to(&noise[..length], bed.proxy.listen);
    }
    attacker.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    assert!(attacker.recv(&mut noise).is_err(), "the proxy answered");
    echo_within(&bed, Duration::from_secs(20)).expect("an echo");
    agent.stop().unwrap();
    proxy.stop().unwrap();
}
