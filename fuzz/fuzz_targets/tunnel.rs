//! Both ends of a tunnel under a script of genuine, lost, repeated, altered and invented datagrams:
//! nothing is accepted that was not sent, nothing twice, and every answer has a cause.
//!
//! The cryptography is the toy of the tunnel's own tests, which refuses everything that real
//! cryptography refuses and is fast. The target `noise` has the real one.
#![no_main]

/// Where the toy looks for its traits.
mod tunnel {
    pub use airpace_edge::tunnel::*;
}

#[path = "../../crates/airpace-edge/src/tunnel/tests/toy.rs"]
mod toy;

use airpace_core::wire::data::VERSION;
use airpace_edge::tunnel::{
    InnerKind, PeerConfig, PresharedKey, Received, SEAL_HEAD, SEAL_TAIL, Timing, Tunnel,
    TunnelConfig,
};
use airpace_units::Time;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use core::time::Duration;
use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use std::collections::{BTreeSet, VecDeque};
use toy::{Toy, ToyCheck, ToySuite};
use tunnel::HandshakeCheck as _;

const PROXY: u64 = 1;
const AGENT: u64 = 3;
const ABSENT_AGENT: u64 = 77;
/// The agent's place among the proxy's peers, and the proxy's among the agent's.
const AGENT_IDX: usize = 1;
const PROXY_IDX: usize = 0;
/// Most datagrams that are remembered, to be delivered late, again or altered.
const REMEMBERED: usize = 48;
/// Most steps of one input.
const STEPS: usize = 40;
/// Type bytes of first and second handshake messages (`airpace_core::wire::data`).
const FIRST_HANDSHAKE: u8 = 1;
const SECOND_HANDSHAKE: u8 = 2;

fn address(host: u8) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, host)), 51_900)
}

fn config(peers: &[u64], connect_to: Option<SocketAddr>, probe_for: Option<u16>) -> TunnelConfig {
    let peer = |&private: &u64| PeerConfig {
        public_key: Toy::public(private),
        preshared_key: PresharedKey([9; 32]),
    };
    TunnelConfig {
        peers: peers.iter().map(peer).collect(),
        connect_to,
        epoch: Duration::from_secs(1_700_000_000),
        probe_for,
        timing: Timing::default(),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Proxy,
    Agent,
}

/// A datagram that was sent, and the end that is to receive it.
struct Sent {
    to: End,
    bytes: Vec<u8>,
}

struct Script {
    proxy: Tunnel<Toy>,
    agent: Tunnel<Toy>,
    agent_at: SocketAddr,
    now: Time,
    /// The newest last.
    sent: VecDeque<Sent>,
    /// Numbers of the payloads that were sealed and not yet accepted, by the receiving end.
    awaited: [BTreeSet<u64>; 2],
    next_payload: u64,
    seed: u64,
    /// A flood takes long, so there is one at most.
    has_flooded: bool,
    /// Handshake messages that the agent and the proxy have sent, and that the other has accepted.
    initiations: [u64; 2],
    responses: [u64; 2],
}

impl Script {
    fn new(probe_for: Option<u16>) -> Self {
        let proxy = Tunnel::new(
            Toy::new(PROXY, ToySuite::Red, 11),
            config(&[ABSENT_AGENT, AGENT], None, probe_for),
        );
        let agent = Tunnel::new(
            Toy::new(AGENT, ToySuite::Blue, 12),
            config(&[PROXY], Some(address(1)), probe_for),
        );
        Self {
            proxy,
            agent,
            agent_at: address(3),
            now: Time::ZERO,
            sent: VecDeque::new(),
            awaited: [BTreeSet::new(), BTreeSet::new()],
            next_payload: 0,
            seed: 100,
            has_flooded: false,
            initiations: [0; 2],
            responses: [0; 2],
        }
    }

    /// Remembers what the ends want sent.
    fn collect(&mut self) {
        // An end answers a datagram or a tick with a handful of its own.
        for _ in 0..64 {
            let Some(transmit) = self.agent.poll() else {
                break;
            };
            assert!(transmit.bytes.len() <= 65_535);
            self.initiations[0] += u64::from(transmit.bytes.first() == Some(&FIRST_HANDSHAKE));
            self.remember(End::Proxy, transmit.bytes);
        }
        for _ in 0..64 {
            let Some(transmit) = self.proxy.poll() else {
                break;
            };
            assert!(transmit.bytes.len() <= 65_535);
            self.responses[0] += u64::from(transmit.bytes.first() == Some(&SECOND_HANDSHAKE));
            self.remember(End::Agent, transmit.bytes);
        }
        assert!(self.agent.poll().is_none() && self.proxy.poll().is_none());
    }

    fn remember(&mut self, to: End, bytes: Vec<u8>) {
        if self.sent.len() == REMEMBERED {
            self.sent.pop_front();
        }
        self.sent.push_back(Sent { to, bytes });
    }

    fn tick(&mut self, span: Duration) {
        self.now = self.now.saturating_add(span);
        self.agent.handle_timeout(self.now);
        self.proxy.handle_timeout(self.now);
        self.collect();
    }

    /// Delivers a datagram to an end and checks what the end makes of it.
    fn deliver(&mut self, to: End, from: SocketAddr, mut bytes: Vec<u8>) {
        let (tunnel, place, awaited) = match to {
            End::Proxy => (&mut self.proxy, AGENT_IDX, &mut self.awaited[0]),
            End::Agent => (&mut self.agent, PROXY_IDX, &mut self.awaited[1]),
        };
        let dropped = tunnel.counts().dropped();
        match tunnel.handle(self.now, from, &mut bytes) {
            Received::Data(opened) => {
                assert_eq!(opened.peer, place);
                if opened.kind == InnerKind::Packet {
                    let number = opened
                        .payload
                        .first_chunk()
                        .expect("all packets have numbers");
                    let number = u64::from_be_bytes(*number);
                    assert!(awaited.remove(&number), "accepted twice, or never sent");
                }
            }
            Received::Handshake(peer) => {
                assert_eq!(peer, place);
                let accepted = match to {
                    End::Proxy => &mut self.initiations,
                    End::Agent => &mut self.responses,
                };
                accepted[1] += 1;
                assert!(
                    accepted[1] <= accepted[0],
                    "a handshake message counted twice"
                );
            }
            Received::Cookie(peer) => assert!(to == End::Agent && peer == place),
            Received::Dropped(_) => assert_eq!(tunnel.counts().dropped(), dropped + 1),
        }
        self.collect();
    }

    /// Seals a packet with a number of its own at one end.
    fn seal(&mut self, from: End, length: usize) {
        let number = self.next_payload;
        self.next_payload += 1;
        let mut bytes = vec![0; SEAL_HEAD + 8 + length + SEAL_TAIL];
        bytes[SEAL_HEAD..SEAL_HEAD + 8].copy_from_slice(&number.to_be_bytes());
        let (tunnel, peer, to, awaited) = match from {
            End::Agent => (&mut self.agent, PROXY_IDX, End::Proxy, &mut self.awaited[0]),
            End::Proxy => (&mut self.proxy, AGENT_IDX, End::Agent, &mut self.awaited[1]),
        };
        if tunnel
            .seal(self.now, peer, InnerKind::Packet, &mut bytes)
            .is_ok()
        {
            awaited.insert(number);
            self.remember(to, bytes);
        }
    }

    /// Delivers everything that is remembered and was not delivered by this before.
    fn settle(&mut self) {
        let mut rounds = 0;
        while !self.sent.is_empty() && rounds < 6 {
            rounds += 1;
            let waiting: Vec<Sent> = self.sent.drain(..).collect();
            for Sent { to, bytes } in waiting {
                let from = self.from_of(to);
                self.deliver(to, from, bytes);
            }
        }
    }

    fn from_of(&self, to: End) -> SocketAddr {
        match to {
            End::Proxy => self.agent_at,
            End::Agent => address(1),
        }
    }

    /// One step, drawn from the input.
    fn step(&mut self, input: &mut Unstructured<'_>) -> Result<()> {
        match input.arbitrary::<u8>()? % 14 {
            0 => self.tick(Duration::from_millis(input.int_in_range(0..=2_000)?)),
            // Renewal and the end of a session lie in these spans.
            1 => self.tick(Duration::from_secs(input.int_in_range(0..=400)?)),
            2 => self.settle(),
            3 => self.seal(End::Agent, input.int_in_range(0..=64)?),
            4 => self.seal(End::Proxy, input.int_in_range(0..=1_400)?),
            5 => {
                // A remembered datagram, late or again, to either end.
                if let Some((to, bytes)) = self.choose(input)? {
                    let from = self.source(input, to)?;
                    self.deliver(to, from, bytes);
                }
            }
            6 => {
                if let Some((to, bytes)) = self.choose(input)? {
                    let bytes = altered(input, bytes)?;
                    let from = self.source(input, to)?;
                    self.deliver(to, from, bytes);
                }
            }
            7 => {
                let to = self.end(input)?;
                let length = input.int_in_range(0..=160)?;
                let bytes = input.bytes(length.min(input.len()))?.to_vec();
                let from = self.source(input, to)?;
                self.deliver(to, from, bytes);
            }
            8 => {
                // Whoever knows the public key can make checks that hold.
                let to = self.end(input)?;
                let bytes = with_check(input, to)?;
                let from = self.source(input, to)?;
                self.deliver(to, from, bytes);
            }
            9 => {
                self.agent.restart(self.now, PROXY_IDX);
                self.collect();
            }
            10 => {
                // Many initiations at once, so that the proxy asks for cookies.
                if core::mem::replace(&mut self.has_flooded, true) {
                    return Ok(());
                }
                for _ in 0..input.int_in_range(1..=24)? {
                    self.agent.restart(self.now, PROXY_IDX);
                    self.collect();
                    self.settle();
                }
            }
            11 => self.agent_at = address(input.int_in_range(2..=200)?),
            12 => self.begin_again(input.arbitrary()?),
            _ => {
                let epoch = Duration::from_secs(input.int_in_range(1_699_999_000..=1_700_009_000)?);
                self.agent.set_epoch(epoch);
                self.agent
                    .set_connect_to(address(input.int_in_range(1..=2)?));
            }
        }
        Ok(())
    }

    /// A program ends and begins again, without its sessions.
    fn begin_again(&mut self, is_proxy: bool) {
        self.seed += 1;
        if is_proxy {
            let crypto = Toy::new(PROXY, ToySuite::Red, self.seed);
            self.proxy = Tunnel::new(crypto, config(&[ABSENT_AGENT, AGENT], None, Some(1_300)));
            // A recorded initiation may be answered once more after that, and with it what follows.
            self.initiations[0] += REMEMBERED as u64;
        } else {
            let crypto = Toy::new(AGENT, ToySuite::Blue, self.seed);
            self.agent = Tunnel::new(crypto, config(&[PROXY], Some(address(1)), Some(1_300)));
        }
    }

    fn end(&self, input: &mut Unstructured<'_>) -> Result<End> {
        Ok(if input.arbitrary()? {
            End::Proxy
        } else {
            End::Agent
        })
    }

    fn source(&self, input: &mut Unstructured<'_>, to: End) -> Result<SocketAddr> {
        Ok(if input.ratio(1, 4)? {
            address(input.arbitrary()?)
        } else {
            self.from_of(to)
        })
    }

    fn choose(&self, input: &mut Unstructured<'_>) -> Result<Option<(End, Vec<u8>)>> {
        if self.sent.is_empty() {
            return Ok(None);
        }
        let sent = &self.sent[input.choose_index(self.sent.len())?];
        let to = if input.ratio(1, 8)? {
            self.end(input)?
        } else {
            sent.to
        };
        Ok(Some((to, sent.bytes.clone())))
    }
}

/// A datagram with bytes changed, cut off or added.
fn altered(input: &mut Unstructured<'_>, mut bytes: Vec<u8>) -> Result<Vec<u8>> {
    for _ in 0..input.int_in_range(1..=4)? {
        let at = input.choose_index(bytes.len().max(1))?;
        match input.arbitrary::<u8>()? % 4 {
            0 => bytes.truncate(at),
            1 => bytes.extend_from_slice(&[input.arbitrary()?; 5]),
            _ => {
                let change: u8 = input.arbitrary()?;
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= change;
                }
            }
        }
    }
    Ok(bytes)
}

/// An invented handshake message whose check holds for an end.
fn with_check(input: &mut Unstructured<'_>, to: End) -> Result<Vec<u8>> {
    let kind = input.int_in_range(1..=2)?;
    // Version and kind stand first; the check, and behind it that of the cookie, at the end.
    let length = if kind == FIRST_HANDSHAKE {
        8 + 104
    } else {
        12 + 48
    };
    let mut bytes = vec![kind, VERSION, 0, 0];
    bytes.extend_from_slice(input.bytes((length - 4).min(input.len()))?);
    bytes.resize(length, 0);
    let receiver = match to {
        End::Proxy => Toy::public(PROXY),
        End::Agent => Toy::public(AGENT),
    };
    let check = ToyCheck::for_receiver(&receiver).compute(ToySuite::Blue, &bytes);
    bytes.extend_from_slice(&check);
    bytes.extend_from_slice(&[input.arbitrary()?; 16]);
    Ok(bytes)
}

fuzz_target!(|bytes: &[u8]| {
    let mut input = Unstructured::new(bytes);
    let probe_for = input.arbitrary::<bool>().unwrap_or(false).then_some(1_300);
    let mut script = Script::new(probe_for);
    script.tick(Duration::from_millis(50));
    script.settle();
    for _ in 0..STEPS {
        if input.is_empty() || script.step(&mut input).is_err() {
            break;
        }
    }
    let _ = (script.agent.poll_warning(), script.proxy.poll_warning());
});
