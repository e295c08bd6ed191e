//! A proxy's and an agent's end in simulated time, over a link that loses, delays, reorders and
//! repeats datagrams.

use super::*;
use airpace_core::wire::data;
use core::net::{IpAddr, Ipv4Addr};
use rand_core::{Rng as _, SeedableRng as _};
use rand_pcg::Pcg64;
use toy::{Toy, ToyCheck, ToySuite};

mod flood;
mod handshakes;
mod hostile;
mod sessions;
mod toy;

type ToyTunnel = Tunnel<Toy>;

/// Private keys of the two ends.
const PROXY: u8 = 1;
const AGENT: u8 = 3;
/// A private key that is configured at the proxy and that nobody uses.
const ABSENT_AGENT: u8 = 77;
/// The agent's position among the proxy's peers, and the proxy's among the agent's.
const AGENT_IDX: PeerIdx = 1;
const PROXY_IDX: PeerIdx = 0;

/// Wall-clock time at the start of the simulation.
const EPOCH: Duration = Duration::from_secs(1_700_000_000);

fn address(host: u8) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, host)), 51_900)
}

fn public(private: u8) -> StaticPublicKey {
    Toy::public(u64::from(private))
}

/// The proxy's end. Ends with different seeds draw different keys and indices, as a restarted
/// process does.
fn proxy_end(seed: u64) -> ToyTunnel {
    Tunnel::new(Toy::new(PROXY.into(), ToySuite::Red, seed), proxy_config())
}

fn proxy_config() -> TunnelConfig {
    TunnelConfig {
        peers: vec![public(ABSENT_AGENT).into(), public(AGENT).into()],
        connect_to: None,
        epoch: EPOCH,
        probe_for: None,
        timing: Timing::default(),
    }
}

/// The configuration of an agent that believes that the proxy's private key is `proxy`.
fn agent_config(proxy: u8) -> TunnelConfig {
    TunnelConfig {
        peers: vec![public(proxy).into()],
        connect_to: Some(address(PROXY)),
        epoch: EPOCH,
        probe_for: None,
        timing: Timing::default(),
    }
}

/// The end of an agent that believes that the proxy's private key is `proxy`.
fn agent_end_for(private: u8, proxy: u8, seed: u64) -> ToyTunnel {
    let crypto = Toy::new(private.into(), ToySuite::Blue, seed);
    Tunnel::new(crypto, agent_config(proxy))
}

fn agent_end(seed: u64) -> ToyTunnel {
    agent_end_for(AGENT, PROXY, seed)
}

/// What the link does to datagrams. The default is to deliver each once, at once and in order.
#[derive(Clone, Copy, Default)]
struct Link {
    one_way: Duration,
    /// Up to this much is added to the delay of each datagram, so that they overtake each other.
    jitter: Duration,
    loss_percent: u32,
    repeat_percent: u32,
    /// Longest datagram that passes, if there is a limit.
    longest: Option<usize>,
}

/// A datagram on the link.
struct InFlight {
    arrival: Time,
    to: SocketAddr,
    bytes: Vec<u8>,
}

/// The two ends and the link between them.
struct Pair {
    proxy: ToyTunnel,
    agent: ToyTunnel,
    /// Where the agent's datagrams come from.
    agent_at: SocketAddr,
    now: Time,
    link: Link,
    random: Pcg64,
    in_flight: Vec<InFlight>,
    /// Every datagram that was delivered, for replays.
    carried: Vec<Vec<u8>>,
}

impl Pair {
    fn new() -> Self {
        Self::with_link(Link::default(), 0)
    }

    fn with_link(link: Link, seed: u64) -> Self {
        Self {
            proxy: proxy_end(10 + seed),
            agent: agent_end(1_000 + seed),
            agent_at: address(AGENT),
            now: Time::ZERO,
            link,
            random: Pcg64::seed_from_u64(seed),
            in_flight: Vec::new(),
            carried: Vec::new(),
        }
    }

    fn connected() -> Self {
        let mut pair = Self::new();
        pair.run(Duration::from_millis(100));
        assert!(pair.are_connected(), "{:?}", pair.proxy.counts());
        pair
    }

    fn are_connected(&self) -> bool {
        self.proxy.is_connected(self.now, AGENT_IDX) && self.agent.is_connected(self.now, PROXY_IDX)
    }

    /// Puts what the ends want sent on the link.
    fn collect(&mut self) {
        while let Some(transmit) = self.agent.poll() {
            self.send(transmit);
        }
        while let Some(transmit) = self.proxy.poll() {
            self.send(transmit);
        }
    }

    fn send(&mut self, transmit: Transmit) {
        let is_too_long = self
            .link
            .longest
            .is_some_and(|longest| transmit.bytes.len() > longest);
        if transmit.in_one_piece && is_too_long {
            return;
        }
        let copies = 1 + u32::from(self.random.next_u32() % 100 < self.link.repeat_percent);
        for _ in 0..copies {
            if self.random.next_u32() % 100 < self.link.loss_percent {
                continue;
            }
            let fraction = f64::from(self.random.next_u32()) / f64::from(u32::MAX);
            self.in_flight.push(InFlight {
                arrival: self.now + self.link.one_way + self.link.jitter.mul_f64(fraction),
                to: transmit.to,
                bytes: transmit.bytes.clone(),
            });
        }
    }

    /// Delivers what has arrived by now, in order of arrival, and what the ends answer at once.
    fn deliver(&mut self) {
        loop {
            self.collect();
            // Stable, so datagrams that arrive together stay in the order in which they were sent.
            self.in_flight.sort_by_key(|datagram| datagram.arrival);
            if self
                .in_flight
                .first()
                .is_none_or(|datagram| datagram.arrival > self.now)
            {
                return;
            }
            let mut datagram = self.in_flight.remove(0);
            self.carried.push(datagram.bytes.clone());
            if datagram.to == address(PROXY) {
                self.proxy
                    .handle(self.now, self.agent_at, &mut datagram.bytes);
            } else if datagram.to == self.agent_at {
                self.agent
                    .handle(self.now, address(PROXY), &mut datagram.bytes);
            }
        }
    }

    fn run(&mut self, span: Duration) {
        let end = self.now + span;
        while self.now < end {
            self.agent.handle_timeout(self.now);
            self.proxy.handle_timeout(self.now);
            self.deliver();
            let arrival = self.in_flight.first().map(|datagram| datagram.arrival);
            let deadlines = [self.agent.deadline(), self.proxy.deadline(), arrival];
            self.now = deadlines
                .into_iter()
                .flatten()
                .min()
                .unwrap_or(end)
                .min(end);
        }
    }

    fn sealed_by_agent(&mut self, text: &[u8]) -> Vec<u8> {
        let (to, datagram) = seal(&mut self.agent, self.now, PROXY_IDX, text);
        assert_eq!(to, address(PROXY));
        datagram
    }

    fn sealed_by_proxy(&mut self, text: &[u8]) -> (SocketAddr, Vec<u8>) {
        seal(&mut self.proxy, self.now, AGENT_IDX, text)
    }

    fn open_at_proxy(&mut self, datagram: Vec<u8>) -> Result<Vec<u8>, Reason> {
        open(&mut self.proxy, self.now, self.agent_at, datagram)
    }

    fn open_at_agent(&mut self, datagram: Vec<u8>) -> Result<Vec<u8>, Reason> {
        open(&mut self.agent, self.now, address(PROXY), datagram)
    }
}

fn seal(end: &mut ToyTunnel, now: Time, peer: PeerIdx, text: &[u8]) -> (SocketAddr, Vec<u8>) {
    let mut datagram = vec![0; SEAL_HEAD + text.len() + SEAL_TAIL];
    datagram[SEAL_HEAD..SEAL_HEAD + text.len()].copy_from_slice(text);
    let to = end
        .seal(now, peer, InnerKind::Packet, &mut datagram)
        .expect("connected");
    (to, datagram)
}

fn open(
    end: &mut ToyTunnel,
    now: Time,
    from: SocketAddr,
    mut datagram: Vec<u8>,
) -> Result<Vec<u8>, Reason> {
    match end.handle(now, from, &mut datagram) {
        Received::Data(opened) => {
            assert_eq!(opened.kind, InnerKind::Packet);
            Ok(opened.payload.to_vec())
        }
        Received::Dropped(reason) => Err(reason),
        Received::Handshake(_) | Received::Cookie(_) => panic!("data is not a handshake message"),
    }
}
