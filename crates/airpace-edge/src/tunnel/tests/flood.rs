//! Floods of initiations, and many stations at once.

use super::*;
use core::net::Ipv6Addr;
use proptest::prelude::*;

/// An initiation that nobody can open, with a valid check, as everybody can make it who knows the
/// proxy's public key.
fn spoofed_initiation(n: u64) -> Vec<u8> {
    let check = ToyCheck::for_receiver(&public(PROXY));
    let header = data::first_handshake_header(data::SessionIndex(7));
    let mut noise = [0; INITIATION_NOISE_BYTES];
    noise[..8].copy_from_slice(&n.to_le_bytes());
    let (mut bytes, _) = frame::handshake(&header, &noise, &check, ToySuite::Red);
    bytes.extend_from_slice(&[n as u8; CHECK_BYTES]);
    bytes
}

/// Where a flood claims to come from.
#[derive(Clone, Copy, Debug)]
enum Source {
    Anywhere,
    /// The agent's own address and port.
    Agent,
    /// Both by turns.
    Both,
}

impl Source {
    fn address(self, n: u64, agent: SocketAddr) -> SocketAddr {
        let anywhere = SocketAddr::from((Ipv4Addr::from(n as u32), 7));
        match self {
            Self::Anywhere => anywhere,
            Self::Agent => agent,
            Self::Both if n.is_multiple_of(2) => agent,
            Self::Both => anywhere,
        }
    }
}

/// A flood of so many initiations a second.
struct Flood {
    source: Source,
    per_second: u64,
    sent: u64,
}

impl Flood {
    fn new(source: Source, per_second: u64) -> Self {
        Self {
            source,
            per_second,
            sent: 0,
        }
    }

    /// Runs the two ends under the flood. What the proxy sends to the agent's address arrives there,
    /// whoever has asked for it.
    fn run(&mut self, pair: &mut Pair, span: Duration) {
        let end = pair.now + span;
        let gap = Duration::from_nanos(1_000_000_000 / self.per_second);
        while pair.now < end {
            let from = self.source.address(self.sent, pair.agent_at);
            let mut datagram = spoofed_initiation(self.sent);
            self.sent += 1;
            pair.proxy.handle(pair.now, from, &mut datagram);
            pair.run(gap);
            pair.carried.clear();
        }
    }
}

#[test]
fn stations_join_within_two_seconds_under_a_flood() {
    for source in [Source::Anywhere, Source::Agent, Source::Both] {
        for per_second in [30, 1_000, 10_000] {
            let link = Link {
                one_way: Duration::from_millis(20),
                ..Link::default()
            };
            let mut pair = Pair::with_link(link, 5);
            let agent = core::mem::replace(&mut pair.agent, agent_end_for(99, 55, 1));
            let mut flood = Flood::new(source, per_second);
            flood.run(&mut pair, Duration::from_secs(1));
            pair.agent = agent;
            flood.run(&mut pair, Duration::from_secs(2));
            assert!(
                pair.are_connected(),
                "{source:?} {per_second}: {:?}",
                pair.proxy.counts()
            );
        }
    }
}

#[test]
fn sessions_are_renewed_under_a_flood() {
    for source in [Source::Anywhere, Source::Agent, Source::Both] {
        let mut pair = Pair::connected();
        let mut flood = Flood::new(source, 1_000);
        for second in 0..400 {
            flood.run(&mut pair, Duration::from_secs(1));
            assert!(pair.are_connected(), "{source:?}, second {second}");
        }
        let handshakes = pair.agent.counts().handshakes;
        assert!((4..=5).contains(&handshakes), "{source:?}: {handshakes}");
    }
}

#[test]
fn a_restarted_agent_is_back_within_five_seconds_under_a_heavy_flood() {
    let mut pair = Pair::connected();
    let mut flood = Flood::new(Source::Both, 40_000);
    flood.run(&mut pair, Duration::from_secs(2));
    pair.agent = agent_end(8);
    flood.run(&mut pair, Duration::from_secs(5));
    assert!(pair.are_connected(), "{:?}", pair.proxy.counts());
}

#[test]
#[ignore = "takes ten seconds: eight million initiations"]
fn a_heavy_flood_of_200_seconds_keeps_no_session_from_being_renewed() {
    let mut pair = Pair::connected();
    let mut flood = Flood::new(Source::Both, 40_000);
    for second in 0..200 {
        flood.run(&mut pair, Duration::from_secs(1));
        assert!(pair.are_connected(), "second {second}");
    }
    assert_eq!(pair.agent.counts().handshakes, 2);
    pair.agent = agent_end(8);
    flood.run(&mut pair, Duration::from_secs(5));
    assert!(pair.are_connected(), "{:?}", pair.proxy.counts());
}

#[test]
fn a_caller_that_cannot_send_does_not_collect_cookies_without_end() {
    let mut pair = Pair::connected();
    for n in 0..20_000 {
        pair.proxy
            .handle(pair.now, pair.agent_at, &mut spoofed_initiation(n));
    }
    let waiting = core::iter::from_fn(|| pair.proxy.poll()).count();
    assert!((4_000..5_000).contains(&waiting), "{waiting}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_flood_never_keeps_a_station_out_for_longer_than_two_seconds(
        source in prop_oneof![
            Just(Source::Anywhere),
            Just(Source::Agent),
            Just(Source::Both),
        ],
        per_second in 20..5_000_u64,
        one_way_ms in 0..100_u64,
        flood_ms in 0..3_000_u64,
        seed: u64,
    ) {
        let link = Link {
            one_way: Duration::from_millis(one_way_ms),
            ..Link::default()
        };
        let mut pair = Pair::with_link(link, seed % 1_000);
        let agent = core::mem::replace(&mut pair.agent, agent_end_for(99, 55, 1));
        let mut flood = Flood::new(source, per_second);
        flood.run(&mut pair, Duration::from_millis(flood_ms));
        pair.agent = agent;
        flood.run(&mut pair, Duration::from_secs(2));
        prop_assert!(pair.are_connected(), "{:?}", pair.proxy.counts());
    }
}

#[test]
fn a_flood_costs_few_handshakes() {
    let mut pair = Pair::connected();
    // 100,000 sources within a second.
    for n in 0..100_000_u64 {
        let from = Source::Anywhere.address(n, pair.agent_at);
        pair.proxy
            .handle(pair.now, from, &mut spoofed_initiation(n));
        while pair.proxy.poll().is_some() {}
        pair.now += Duration::from_micros(10);
    }
    let opened = pair.proxy.counts().dropped_for(Reason::Handshake);
    assert!((50..=100).contains(&opened), "{opened} in a second");
}

#[test]
fn cookies_are_shorter_than_what_they_answer_and_only_a_flood_causes_them() {
    let mut pair = Pair::connected();
    let mut flood = Flood::new(Source::Agent, 5);
    flood.run(&mut pair, Duration::from_secs(10));
    assert_eq!(pair.proxy.counts().dropped_for(Reason::Unproven), 0);
    let mut answers = Vec::new();
    for n in 0..100 {
        let mut initiation = spoofed_initiation(n);
        let from = pair.agent_at;
        pair.proxy.handle(pair.now, from, &mut initiation);
        while let Some(answer) = pair.proxy.poll() {
            assert_eq!(answer.to, from);
            assert!(2 * answer.bytes.len() < initiation.len());
            answers.push(answer.bytes);
        }
    }
    assert!(answers.len() >= 80, "{}", answers.len());
    // They answer no initiation of the agent.
    for mut answer in answers {
        let received = pair.agent.handle(pair.now, address(PROXY), &mut answer);
        assert_eq!(received, Received::Dropped(Reason::Session));
    }
}

#[test]
fn a_repeated_cookie_has_one_initiation_sent_again() {
    let mut pair = Pair::new();
    for n in 0..100 {
        pair.proxy
            .handle(pair.now, pair.agent_at, &mut spoofed_initiation(n));
    }
    while pair.proxy.poll().is_some() {}
    pair.agent.handle_timeout(pair.now);
    let mut initiation = pair.agent.poll().expect("an initiation").bytes;
    pair.proxy.handle(pair.now, pair.agent_at, &mut initiation);
    let cookie = pair.proxy.poll().expect("a cookie").bytes;
    let mut forged = cookie.clone();
    forged[30] ^= 1;
    let received = pair.agent.handle(pair.now, address(PROXY), &mut forged);
    assert_eq!(received, Received::Dropped(Reason::Handshake));
    let again = |pair: &mut Pair| {
        pair.agent
            .handle(pair.now, address(PROXY), &mut cookie.clone());
        pair.agent.poll()
    };
    assert!(again(&mut pair).is_some());
    assert_eq!(again(&mut pair), None);
}

/// Stations that have all lost the same proxy.
struct Crowd {
    proxy: ToyTunnel,
    stations: Vec<(SocketAddr, ToyTunnel)>,
    now: Time,
}

impl Crowd {
    const ONE_WAY: Duration = Duration::from_millis(5);

    fn new(addresses: impl Iterator<Item = SocketAddr>) -> Self {
        let mut stations = Vec::new();
        let mut peers = Vec::new();
        for (n, address) in (0..).zip(addresses) {
            let private = 1_000 + n;
            peers.push(Toy::public(private).into());
            let config = TunnelConfig {
                peers: vec![public(PROXY).into()],
                connect_to: Some(super::address(PROXY)),
                epoch: EPOCH,
                probe_for: None,
                timing: Timing::default(),
            };
            let tunnel = Tunnel::new(Toy::new(private, ToySuite::Blue, n), config);
            stations.push((address, tunnel));
        }
        let config = TunnelConfig {
            peers,
            connect_to: None,
            epoch: EPOCH,
            probe_for: None,
            timing: Timing::default(),
        };
        Self {
            proxy: Tunnel::new(Toy::new(PROXY.into(), ToySuite::Red, 1), config),
            stations,
            now: Time::ZERO,
        }
    }

    /// Runs until all stations have a session, which must be soon, and returns how long it took.
    fn time_until_all_are_connected(&mut self) -> Duration {
        let mut up = VecDeque::new();
        let mut down = VecDeque::new();
        let places: BTreeMap<SocketAddr, usize> = self
            .stations
            .iter()
            .enumerate()
            .map(|(idx, (address, _))| (*address, idx))
            .collect();
        while self.now < Time::from_millis(300_000) {
            self.proxy.handle_timeout(self.now);
            for (idx, (_, station)) in self.stations.iter_mut().enumerate() {
                station.handle_timeout(self.now);
                while let Some(datagram) = station.poll() {
                    up.push_back((self.now + Self::ONE_WAY, idx, datagram.bytes));
                }
            }
            while up.front().is_some_and(|(at, ..)| *at <= self.now) {
                let (_, idx, mut bytes) = up.pop_front().expect("there is one");
                let from = self.stations[idx].0;
                self.proxy.handle(self.now, from, &mut bytes);
            }
            while let Some(datagram) = self.proxy.poll() {
                down.push_back((self.now + Self::ONE_WAY, datagram.to, datagram.bytes));
            }
            while down.front().is_some_and(|(at, ..)| *at <= self.now) {
                let (_, to, mut bytes) = down.pop_front().expect("there is one");
                let station = &mut self.stations[places[&to]].1;
                station.handle(self.now, super::address(PROXY), &mut bytes);
            }
            let count = self.stations.len();
            if (0..count).all(|peer| self.proxy.is_connected(self.now, peer)) {
                return self.now.since(Time::ZERO);
            }
            self.now += Duration::from_millis(5);
        }
        panic!("not all stations are back: {:?}", self.proxy.counts());
    }
}

#[test]
fn a_thousand_stations_are_back_within_twenty_seconds_whatever_their_addresses() {
    let v4 = |n: u32| Ipv4Addr::from(0x0a00_0000 + n);
    let plain = (2..1_002).map(|n| SocketAddr::from((v4(n), 51_900)));
    let mapped = (2..1_002).map(|n| SocketAddr::from((v4(n).to_ipv6_mapped(), 51_900)));
    let of_one_prefix = (2..1_002).map(|n| {
        let address = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, n);
        SocketAddr::from((address, 51_900))
    });
    let mut crowds = [
        ("IPv4", Crowd::new(plain)),
        ("IPv4 in IPv6 form", Crowd::new(mapped)),
        ("one IPv6 prefix", Crowd::new(of_one_prefix)),
    ];
    for (name, crowd) in &mut crowds {
        let took = crowd.time_until_all_are_connected();
        println!("{name}: {took:?}");
        assert!(took < Duration::from_secs(20), "{name}: {took:?}");
    }
}
