//! The tunnel with its real cryptography. What does not depend on it is tested in `airpace-edge`,
//! with a toy.

use super::*;
use airpace_api::keys::PrivateKey;
use airpace_core::wire::data;
use airpace_edge::tunnel::{
    CHECK_BYTES, HandshakeCheck as _, InnerKind, PeerConfig, PresharedKey, Reason, Received,
    SEAL_HEAD, SEAL_TAIL, Timing, TunnelConfig,
};
use airpace_units::Time;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use core::time::Duration;
use rand_core::{Rng as _, SeedableRng as _};
use rand_pcg::Pcg64;

const PROXY: u8 = 1;
const AGENT: u8 = 2;
const CIPHERS: [Cipher; 2] = [Cipher::Chacha20Poly1305, Cipher::Aes256Gcm];

fn keys(seed: u8) -> KeyPair {
    KeyPair::from_private(PrivateKey([seed; 32]))
}

fn public(seed: u8) -> StaticPublicKey {
    StaticPublicKey(keys(seed).public.0)
}

fn address(host: u8) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, host)), 51_900)
}

fn end(own: u8, cipher: Cipher, peer: u8, connect_to: Option<SocketAddr>) -> Tunnel {
    end_with_preshared_key(own, cipher, peer, connect_to, PresharedKey::default())
}

fn end_with_preshared_key(
    own: u8,
    cipher: Cipher,
    peer: u8,
    connect_to: Option<SocketAddr>,
    preshared_key: PresharedKey,
) -> Tunnel {
    let config = TunnelConfig {
        peers: vec![PeerConfig {
            public_key: public(peer),
            preshared_key,
        }],
        connect_to,
        epoch: Duration::from_secs(1_700_000_000),
        probe_for: None,
        timing: Timing::default(),
    };
    Tunnel::new(NoiseIk::new(keys(own), cipher), config)
}

/// The two ends, joined by a link without delay.
struct Pair {
    proxy: Tunnel,
    agent: Tunnel,
    now: Time,
    /// Every datagram that was carried, for replays.
    carried: Vec<Vec<u8>>,
}

impl Pair {
    fn new(cipher: Cipher) -> Self {
        Self {
            proxy: end(PROXY, Cipher::Auto, AGENT, None),
            agent: end(AGENT, cipher, PROXY, Some(address(PROXY))),
            now: Time::ZERO,
            carried: Vec::new(),
        }
    }

    fn connected(cipher: Cipher) -> Self {
        let mut pair = Self::new(cipher);
        pair.run(Duration::from_millis(100));
        assert!(pair.are_connected(), "{:?}", pair.proxy.counts());
        pair
    }

    fn are_connected(&self) -> bool {
        self.proxy.is_connected(self.now, 0) && self.agent.is_connected(self.now, 0)
    }

    fn run(&mut self, span: Duration) {
        self.run_lossy(span, || false);
    }

    /// Carries what the ends themselves send, except what is `lost`.
    fn run_lossy(&mut self, span: Duration, mut lost: impl FnMut() -> bool) {
        let end = self.now + span;
        while self.now < end {
            self.agent.handle_timeout(self.now);
            self.proxy.handle_timeout(self.now);
            while self.carry_next(&mut lost) {}
            self.now += Duration::from_millis(50);
        }
    }

    /// Carries at most one datagram each way; returns whether there was any.
    fn carry_next(&mut self, lost: &mut impl FnMut() -> bool) -> bool {
        let (up, down) = (self.agent.poll(), self.proxy.poll());
        let any = up.is_some() || down.is_some();
        if let Some(mut up) = up.filter(|_| !lost()) {
            self.carried.push(up.bytes.clone());
            self.proxy.handle(self.now, address(AGENT), &mut up.bytes);
        }
        if let Some(mut down) = down.filter(|_| !lost()) {
            self.carried.push(down.bytes.clone());
            self.agent.handle(self.now, address(PROXY), &mut down.bytes);
        }
        any
    }

    fn sealed_by_agent(&mut self, text: &[u8]) -> Vec<u8> {
        sealed(&mut self.agent, self.now, text)
    }

    fn open_at_proxy(&mut self, datagram: &[u8]) -> Result<Vec<u8>, Reason> {
        opened(&mut self.proxy, self.now, address(AGENT), datagram)
    }
}

fn sealed(end: &mut Tunnel, now: Time, text: &[u8]) -> Vec<u8> {
    let mut datagram = vec![0; SEAL_HEAD + text.len() + SEAL_TAIL];
    datagram[SEAL_HEAD..SEAL_HEAD + text.len()].copy_from_slice(text);
    end.seal(now, 0, InnerKind::Packet, &mut datagram)
        .expect("connected");
    datagram
}

fn opened(
    end: &mut Tunnel,
    now: Time,
    from: SocketAddr,
    datagram: &[u8],
) -> Result<Vec<u8>, Reason> {
    match end.handle(now, from, &mut datagram.to_vec()) {
        Received::Data(opened) => Ok(opened.payload.to_vec()),
        Received::Dropped(reason) => Err(reason),
        Received::Handshake(_) | Received::Cookie(_) => panic!("data is not a handshake message"),
    }
}

#[test]
fn data_passes_both_ways_with_either_cipher_of_the_agent() {
    for cipher in CIPHERS {
        let mut pair = Pair::connected(cipher);
        let up = pair.sealed_by_agent(b"payload up");
        assert!(!up.windows(10).any(|bytes| bytes == b"payload up"));
        assert_eq!(pair.open_at_proxy(&up), Ok(b"payload up".to_vec()));
        let down = sealed(&mut pair.proxy, pair.now, b"down");
        let received = opened(&mut pair.agent, pair.now, address(PROXY), &down);
        assert_eq!(received, Ok(b"down".to_vec()));
    }
}

#[test]
fn handshakes_and_renewals_survive_loss_with_either_cipher() {
    for (seed, cipher) in (0..).zip(CIPHERS) {
        let mut random = Pcg64::seed_from_u64(seed);
        let mut pair = Pair::new(cipher);
        pair.run_lossy(Duration::from_secs(300), || random.next_u32() % 10 < 3);
        // The longest time between attempts.
        pair.run(Duration::from_secs(11));
        assert!(pair.are_connected(), "{cipher:?}");
        assert!(pair.agent.counts().handshakes >= 3);
        for end in [&pair.agent, &pair.proxy] {
            assert_eq!(end.counts().dropped_for(Reason::Forged), 0);
            assert_eq!(end.counts().dropped_for(Reason::Handshake), 0);
        }
    }
}

#[test]
fn a_session_needs_the_same_preshared_key_at_both_ends() {
    for cipher in CIPHERS {
        for (of_proxy, of_agent) in [(7, 7), (7, 8), (7, 0), (0, 7)] {
            let mut pair = Pair::new(cipher);
            pair.proxy = end_with_preshared_key(
                PROXY,
                Cipher::Auto,
                AGENT,
                None,
                PresharedKey([of_proxy; 32]),
            );
            pair.agent = end_with_preshared_key(
                AGENT,
                cipher,
                PROXY,
                Some(address(PROXY)),
                PresharedKey([of_agent; 32]),
            );
            pair.run(Duration::from_secs(1));
            assert_eq!(pair.are_connected(), of_proxy == of_agent);
            let refused = pair.agent.counts().dropped_for(Reason::Handshake);
            assert_eq!(refused > 0, of_proxy != of_agent);
        }
    }
}

#[test]
fn an_agent_proves_its_address_during_a_flood() {
    for cipher in CIPHERS {
        let mut pair = Pair::new(cipher);
        let check = HmacCheck::for_receiver(&keys(PROXY).public);
        // Initiations of a stranger who knows the proxy's public key and claims the agent's address.
        for n in 0..100 {
            let mut spoofed = [n; INITIATION];
            spoofed[..4].copy_from_slice(&[1, data::VERSION, 0, 0]);
            let signed = INITIATION - CHECK_BYTES;
            sign(&check, Suite::Aes256Gcm, &mut spoofed[..signed]);
            pair.proxy.handle(pair.now, address(AGENT), &mut spoofed);
            while pair.proxy.poll().is_some() {}
        }
        pair.agent.handle_timeout(pair.now);
        while pair.carry_next(&mut || false) {}
        assert!(pair.are_connected(), "{:?}", pair.proxy.counts());
        let kinds: Vec<u8> = pair.carried.iter().map(|datagram| datagram[0]).collect();
        // Initiation, cookie, initiation, response, data.
        assert_eq!(kinds, [1, 4, 1, 2, 3]);
    }
}

#[test]
fn a_restarted_agent_may_use_another_cipher() {
    let mut pair = Pair::connected(Cipher::Chacha20Poly1305);
    pair.agent = end(AGENT, Cipher::Aes256Gcm, PROXY, Some(address(PROXY)));
    pair.run(Duration::from_millis(200));
    let up = pair.sealed_by_agent(b"again");
    assert_eq!(pair.open_at_proxy(&up), Ok(b"again".to_vec()));
}

#[test]
fn strangers_and_wrong_keys_get_no_answer() {
    let cases = [
        // An agent whose key is not configured.
        (
            end(99, Cipher::Auto, PROXY, Some(address(PROXY))),
            Reason::Stranger,
        ),
        // An agent that expects another proxy.
        (
            end(AGENT, Cipher::Auto, 55, Some(address(PROXY))),
            Reason::Check,
        ),
    ];
    for (agent, reason) in cases {
        let mut pair = Pair::new(Cipher::Auto);
        pair.agent = agent;
        pair.run(Duration::from_secs(2));
        assert_eq!(pair.proxy.counts().dropped_for(reason), 3);
        assert!(!pair.proxy.is_connected(pair.now, 0));
        assert!(
            pair.carried.iter().all(|datagram| datagram[0] == 1),
            "the proxy answered"
        );
    }
}

/// Replaces the check of a handshake datagram by the right one.
fn sign(check: &HmacCheck, suite: Suite, datagram: &mut [u8]) {
    let (message, end) = datagram
        .split_last_chunk_mut::<CHECK_BYTES>()
        .expect("a handshake message");
    *end = check.compute(suite, message);
}

#[test]
fn a_forged_response_does_not_stop_the_handshake() {
    let check = HmacCheck::for_receiver(&keys(AGENT).public);
    for cipher in CIPHERS {
        let mut pair = Pair::new(cipher);
        pair.agent.handle_timeout(pair.now);
        let mut initiation = pair.agent.poll().expect("an initiation").bytes;
        pair.proxy.handle(pair.now, address(AGENT), &mut initiation);
        let mut genuine = pair.proxy.poll().expect("a response").bytes;
        // The ephemeral key and the tag.
        for at in [20, 50] {
            let mut forged = genuine.clone();
            forged[at] ^= 1;
            sign(&check, Suite::of(cipher), &mut forged);
            let received = pair.agent.handle(pair.now, address(PROXY), &mut forged);
            assert_eq!(received, Received::Dropped(Reason::Handshake));
        }
        let received = pair.agent.handle(pair.now, address(PROXY), &mut genuine);
        assert_eq!(received, Received::Handshake(0));
        // The two ends have agreed on the same keys.
        pair.run(Duration::from_millis(50));
        let up = pair.sealed_by_agent(b"up");
        assert_eq!(pair.open_at_proxy(&up), Ok(b"up".to_vec()));
    }
}

#[test]
fn altered_or_cut_datagrams_never_pass() {
    for cipher in CIPHERS {
        let mut pair = Pair::connected(cipher);
        let mut samples = pair.carried.clone();
        samples.push(pair.sealed_by_agent(b"payload"));
        for sample in samples {
            for at in 0..sample.len() {
                let mut altered = sample.clone();
                altered[at] ^= 0x40;
                let received = pair.proxy.handle(pair.now, address(AGENT), &mut altered);
                assert!(matches!(received, Received::Dropped(_)), "byte {at}");
                let mut cut = sample[..at].to_vec();
                let received = pair.proxy.handle(pair.now, address(AGENT), &mut cut);
                assert!(matches!(received, Received::Dropped(_)), "cut at {at}");
            }
            pair.now += Duration::from_secs(1);
        }
        assert_eq!(pair.proxy.poll(), None);
    }
}

/// Memory of this process in KiB.
fn resident_kib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    text.split_whitespace()
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok())
        .expect("a number of pages")
        * 4
}

const INITIATION: usize =
    data::FIRST_HANDSHAKE_HEADER_BYTES + INITIATION_NOISE_BYTES + 2 * CHECK_BYTES;
const RESPONSE: usize = data::SECOND_HANDSHAKE_HEADER_BYTES + RESPONSE_NOISE_BYTES + CHECK_BYTES;

/// Makes hostile datagrams out of genuine ones and random bytes.
struct Attacker {
    random: Pcg64,
    /// Datagrams that were already handled; the last one is data.
    genuine: Vec<Vec<u8>>,
    check: HmacCheck,
    buffer: Vec<u8>,
}

impl Attacker {
    /// A number below `n`.
    fn below(&mut self, n: usize) -> usize {
        self.random.next_u32() as usize % n
    }

    /// The next datagram, in the buffer; returns its length.
    fn next_datagram(&mut self) -> usize {
        let sample = self.below(self.genuine.len());
        let len = self.below(1_500);
        match self.below(6) {
            0 => self.fill(len),
            // A replay, whole or cut off.
            1 => self.copy(sample, usize::MAX),
            2 => self.copy(sample, len % self.genuine[sample].len()),
            3 => {
                // The right outside of each kind around random bytes.
                let len = [INITIATION, RESPONSE, 1_400][self.below(3)];
                self.fill(len);
                let kind = 1 + self.below(3) as u8;
                self.buffer[..4].copy_from_slice(&[kind, data::VERSION, 0, 0]);
                len
            }
            4 => {
                // Data with another counter, so that the tag is wrong.
                let len = self.copy(self.genuine.len() - 1, usize::MAX);
                let counter = self.random.next_u32();
                self.buffer[8..12].copy_from_slice(&counter.to_le_bytes());
                len
            }
            _ => {
                // An initiation whose sender knows the proxy's public key.
                self.fill(INITIATION);
                self.buffer[..4].copy_from_slice(&[1, data::VERSION, 0, 0]);
                sign(
                    &self.check,
                    Suite::Aes256Gcm,
                    &mut self.buffer[..INITIATION - CHECK_BYTES],
                );
                INITIATION
            }
        }
    }

    fn fill(&mut self, len: usize) -> usize {
        self.random.fill_bytes(&mut self.buffer[..len]);
        len
    }

    fn copy(&mut self, sample: usize, limit: usize) -> usize {
        let sample = &self.genuine[sample];
        let len = sample.len().min(limit);
        self.buffer[..len].copy_from_slice(&sample[..len]);
        len
    }
}

/// Hostile datagrams of every kind, one after the other: the counts must add up, and nothing may be
/// answered but by cookies.
fn endure_hostile_datagrams(n: u64) {
    let mut pair = Pair::connected(Cipher::default());
    let data = pair.sealed_by_agent(&[5; 1_000]);
    pair.open_at_proxy(&data).expect("authentic the first time");
    let mut attacker = Attacker {
        random: Pcg64::seed_from_u64(7),
        genuine: [pair.carried.clone(), vec![data]].concat(),
        check: HmacCheck::for_receiver(&keys(PROXY).public),
        buffer: vec![0; 2_048],
    };
    let before = pair.proxy.counts().dropped();
    let mut unproven_before = 0;
    let endpoint = pair.proxy.endpoint(0);
    let resident = resident_kib();
    for i in 0..n {
        let len = attacker.next_datagram();
        let from = SocketAddr::new(IpAddr::V4(attacker.random.next_u32().into()), 7);
        let received = pair
            .proxy
            .handle(pair.now, from, &mut attacker.buffer[..len]);
        assert!(
            matches!(received, Received::Dropped(_)),
            "datagram {i} passed"
        );
        // Only initiations with a right check are answered: with a cookie, which is shorter.
        let unproven = pair.proxy.counts().dropped_for(Reason::Unproven);
        if let Some(answer) = pair.proxy.poll() {
            assert_eq!(unproven, unproven_before + 1, "datagram {i} was answered");
            assert_eq!(answer.bytes[0], 4);
            assert!(2 * answer.bytes.len() < len);
        }
        unproven_before = unproven;
        assert_eq!(pair.proxy.poll(), None, "datagram {i} was answered twice");
        pair.now += Duration::from_micros(10);
    }
    assert_eq!(pair.proxy.counts().dropped() - before, n);
    assert_eq!(pair.proxy.endpoint(0), endpoint);
    let growth = resident_kib().saturating_sub(resident);
    println!("memory grew by {growth} KiB over {n} hostile datagrams");
    assert!(growth < 512, "memory grew by {growth} KiB");
    for reason in Reason::ALL {
        let dropped = pair.proxy.counts().dropped_for(reason);
        println!("{dropped:>9} {}", reason.name());
    }
}

#[test]
#[ignore = "run by a_million_hostile_datagrams_are_counted_and_get_nothing_but_cookies, in a process of its own"]
fn hostile_datagrams_alone() {
    // The first ones touch memory that the process has not used before.
    endure_hostile_datagrams(10_000);
    endure_hostile_datagrams(1_000_000);
}

#[test]
fn a_million_hostile_datagrams_are_counted_and_get_nothing_but_cookies() {
    // Memory is a property of the process, which other tests must not share.
    let itself = std::env::current_exe().expect("this test");
    let child = std::process::Command::new(itself)
        .args([
            "--exact",
            "crypto::tests::hostile_datagrams_alone",
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ])
        .output()
        .expect("the test can be started again");
    let out = String::from_utf8_lossy(&child.stdout);
    let errors = String::from_utf8_lossy(&child.stderr);
    println!("{out}");
    assert!(child.status.success(), "{errors}");
    assert!(
        out.contains("1 passed") && out.contains("over 1000000 hostile datagrams"),
        "the test did not run"
    );
}
