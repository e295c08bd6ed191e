//! A proxy's and an agent's end in simulated time, over a network that the test controls.

use super::*;
use airpace_api::keys::PrivateKey;
use std::net::{IpAddr, Ipv4Addr};

fn keys(seed: u8) -> KeyPair {
    KeyPair::from_private(PrivateKey([seed; 32]))
}

fn address(host: u8) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, host)), 51_900)
}

const PROXY: u8 = 1;
const AGENT: u8 = 2;

fn proxy_end() -> Tunnel {
    Tunnel::new(TunnelConfig {
        keys: keys(PROXY),
        peers: vec![keys(77).public, keys(AGENT).public],
        connect_to: None,
        cipher: Cipher::default(),
        epoch: Duration::from_secs(1_700_000_000),
        timing: Timing::default(),
    })
}

fn agent_end(seed: u8, cipher: Cipher) -> Tunnel {
    Tunnel::new(TunnelConfig {
        keys: keys(seed),
        peers: vec![keys(PROXY).public],
        connect_to: Some(address(PROXY)),
        cipher,
        epoch: Duration::from_secs(1_700_000_000),
        timing: Timing::default(),
    })
}

/// The two ends and the wire between them.
struct Pair {
    proxy: Tunnel,
    agent: Tunnel,
    agent_at: SocketAddr,
    now: Time,
    /// Every datagram that was carried, for replays.
    carried: Vec<Vec<u8>>,
}

impl Pair {
    fn new(cipher: Cipher) -> Self {
        let (proxy, agent) = (proxy_end(), agent_end(AGENT, cipher));
        Self {
            proxy,
            agent,
            agent_at: address(AGENT),
            now: Time::ZERO,
            carried: Vec::new(),
        }
    }

    fn connected(cipher: Cipher) -> Self {
        let mut pair = Self::new(cipher);
        pair.run(Duration::from_millis(100));
        assert!(
            pair.proxy.is_connected(pair.now, 1),
            "{:?}",
            pair.proxy.counts()
        );
        assert!(pair.agent.is_connected(pair.now, 0));
        pair
    }

    /// Carries what the ends themselves send; `lost` decides over each datagram.
    fn exchange(&mut self, mut lost: impl FnMut() -> bool) {
        loop {
            let (up, down) = (self.agent.poll(), self.proxy.poll());
            if up.is_none() && down.is_none() {
                return;
            }
            if let Some(mut up) = up.filter(|_| !lost()) {
                assert_eq!(up.to, address(PROXY));
                self.carried.push(up.bytes.clone());
                self.proxy.handle(self.now, self.agent_at, &mut up.bytes);
            }
            if let Some(mut down) = down.filter(|down| down.to == self.agent_at && !lost()) {
                self.carried.push(down.bytes.clone());
                self.agent.handle(self.now, address(PROXY), &mut down.bytes);
            }
        }
    }

    fn run_lossy(&mut self, span: Duration, mut lost: impl FnMut() -> bool) {
        let end = self.now + span;
        while self.now < end {
            self.agent.handle_timeout(self.now);
            self.proxy.handle_timeout(self.now);
            self.exchange(&mut lost);
            self.now = [self.agent.deadline(), self.proxy.deadline()]
                .into_iter()
                .flatten()
                .min()
                .unwrap_or(end)
                .min(end);
        }
    }

    /// Carries what the ends themselves send with a delay of `one_way` in each direction.
    fn run_delayed(&mut self, span: Duration, one_way: Duration) {
        let end = self.now + span;
        let mut under_way: VecDeque<(Time, bool, Vec<u8>)> = VecDeque::new();
        while self.now < end {
            while under_way.front().is_some_and(|(at, ..)| *at <= self.now) {
                let (_, up, mut bytes) = under_way.pop_front().expect("there is one");
                if up {
                    self.proxy.handle(self.now, self.agent_at, &mut bytes);
                } else {
                    self.agent.handle(self.now, address(PROXY), &mut bytes);
                }
            }
            self.agent.handle_timeout(self.now);
            self.proxy.handle_timeout(self.now);
            let at = self.now + one_way;
            under_way
                .extend(std::iter::from_fn(|| self.agent.poll()).map(|up| (at, true, up.bytes)));
            under_way.extend(
                std::iter::from_fn(|| self.proxy.poll()).map(|down| (at, false, down.bytes)),
            );
            self.now += Duration::from_millis(10);
        }
    }

    fn run(&mut self, span: Duration) {
        self.run_lossy(span, || false);
    }

    fn sealed_by_agent(&mut self, text: &[u8]) -> Vec<u8> {
        let mut datagram = vec![0; SEAL_HEAD + text.len() + SEAL_TAIL];
        datagram[SEAL_HEAD..SEAL_HEAD + text.len()].copy_from_slice(text);
        let to = self
            .agent
            .seal(self.now, 0, InnerKind::Packet, &mut datagram)
            .expect("connected");
        assert_eq!(to, address(PROXY));
        datagram
    }

    fn sealed_by_proxy(&mut self, text: &[u8]) -> (SocketAddr, Vec<u8>) {
        let mut datagram = vec![0; SEAL_HEAD + text.len() + SEAL_TAIL];
        datagram[SEAL_HEAD..SEAL_HEAD + text.len()].copy_from_slice(text);
        let to = self
            .proxy
            .seal(self.now, 1, InnerKind::Packet, &mut datagram)
            .expect("connected");
        (to, datagram)
    }

    fn open_at_proxy(&mut self, mut datagram: Vec<u8>) -> Result<Vec<u8>, Reason> {
        match self.proxy.handle(self.now, self.agent_at, &mut datagram) {
            Received::Data(opened) => {
                assert_eq!((opened.peer, opened.kind), (1, InnerKind::Packet));
                Ok(opened.payload.to_vec())
            }
            Received::Dropped(reason) => Err(reason),
            Received::Handshake(_) => panic!("data is no handshake"),
        }
    }

    fn open_at_agent(&mut self, mut datagram: Vec<u8>) -> Result<Vec<u8>, Reason> {
        match self.agent.handle(self.now, address(PROXY), &mut datagram) {
            Received::Data(opened) => Ok(opened.payload.to_vec()),
            Received::Dropped(reason) => Err(reason),
            Received::Handshake(_) => panic!("data is no handshake"),
        }
    }
}

#[test]
fn data_passes_both_ways_with_either_cipher() {
    for cipher in [Cipher::Chacha20Poly1305, Cipher::Aes256Gcm] {
        let mut pair = Pair::connected(cipher);
        let up = pair.sealed_by_agent(b"up");
        assert_eq!(pair.open_at_proxy(up), Ok(b"up".to_vec()));
        let (to, down) = pair.sealed_by_proxy(b"down");
        assert_eq!(to, address(AGENT));
        assert_eq!(pair.open_at_agent(down), Ok(b"down".to_vec()));
    }
}

#[test]
fn the_send_time_and_the_counter_arrive() {
    let mut pair = Pair::connected(Cipher::default());
    pair.now = Time::from_millis(1_234);
    let (_, first) = pair.sealed_by_proxy(b"a");
    let (_, mut second) = pair.sealed_by_proxy(b"b");
    assert_eq!(pair.open_at_agent(first), Ok(b"a".to_vec()));
    let Received::Data(opened) = pair.agent.handle(pair.now, address(PROXY), &mut second) else {
        panic!("authentic")
    };
    assert_eq!((opened.counter, opened.sent), (1, SendTime::of(pair.now)));
}

#[test]
fn reordered_data_is_accepted_and_replayed_data_is_not() {
    let mut pair = Pair::connected(Cipher::default());
    let datagrams: Vec<_> = (0..100_u8).map(|n| pair.sealed_by_agent(&[n])).collect();
    for n in (0..100).rev() {
        assert_eq!(pair.open_at_proxy(datagrams[n].clone()), Ok(vec![n as u8]));
        assert_eq!(
            pair.open_at_proxy(datagrams[n].clone()),
            Err(Reason::Replayed)
        );
    }
}

#[test]
fn sessions_are_renewed_by_time_without_a_gap() {
    let mut pair = Pair::connected(Cipher::default());
    let first = pair.agent.counts().handshakes;
    for _ in 0..1_200 {
        let (late_up, (_, late_down)) = (pair.sealed_by_agent(b"u"), pair.sealed_by_proxy(b"d"));
        pair.run(Duration::from_millis(500));
        // Sealed before a renewal that may have come in between.
        assert_eq!(pair.open_at_proxy(late_up), Ok(b"u".to_vec()));
        assert_eq!(pair.open_at_agent(late_down), Ok(b"d".to_vec()));
    }
    // 600 s with a renewal every 120 s.
    assert_eq!(pair.agent.counts().handshakes - first, 5);
    assert_eq!(
        pair.agent.counts().dropped() + pair.proxy.counts().dropped(),
        0
    );
}

#[test]
fn sessions_are_renewed_by_the_count_of_messages() {
    let mut pair = Pair::connected(Cipher::default());
    // The last attempt is at most half a second and a quarter of that ago: so long may the next one take to come.
    let attempt = Duration::from_millis(650);
    pair.agent.config.timing.rekey_after_messages = 1_000;
    for _ in 0..1_000 {
        let datagram = pair.sealed_by_agent(b"x");
        pair.open_at_proxy(datagram).expect("authentic");
    }
    let before = pair.agent.counts().handshakes;
    pair.run(attempt);
    assert_eq!(pair.agent.counts().handshakes, before + 1);
    // What came counts like what was sent: nearly all data may flow one way.
    for _ in 0..1_000 {
        let (_, datagram) = pair.sealed_by_proxy(b"x");
        pair.open_at_agent(datagram).expect("authentic");
    }
    pair.run(attempt);
    assert_eq!(pair.agent.counts().handshakes, before + 2);
}

#[test]
fn old_sessions_are_refused() {
    let mut pair = Pair::connected(Cipher::default());
    let old = pair.sealed_by_agent(b"x");
    pair.now += Duration::from_secs(181);
    assert_eq!(pair.open_at_proxy(old), Err(Reason::Session));
    assert!(!pair.proxy.is_connected(pair.now, 1));
}

#[test]
fn handshakes_survive_loss() {
    use rand_core::{Rng as _, SeedableRng as _};
    for seed in 0..20 {
        let mut random = rand_pcg::Pcg64::seed_from_u64(seed);
        let mut pair = Pair::new(Cipher::default());
        pair.run_lossy(Duration::from_secs(20), || random.next_u32() % 10 < 5);
        // The longest time between attempts.
        pair.run(Duration::from_secs(11));
        assert!(pair.proxy.is_connected(pair.now, 1), "seed {seed}");
    }
}

#[test]
fn handshakes_complete_and_sessions_hold_however_long_the_round_trip() {
    for one_way_ms in [240, 750, 2_000, 3_900] {
        let mut pair = Pair::new(Cipher::default());
        let one_way = Duration::from_millis(one_way_ms);
        pair.run_delayed(one_way * 20, one_way);
        assert!(
            pair.proxy.is_connected(pair.now, 1),
            "{one_way:?}: {:?}",
            pair.proxy.counts()
        );
        assert!(pair.agent.is_connected(pair.now, 0), "{one_way:?}");
    }
    // The access point's queue has filled up: 1.5 s there and back, over several renewals.
    let mut pair = Pair::connected(Cipher::default());
    pair.run_delayed(Duration::from_secs(600), Duration::from_millis(750));
    assert!(pair.proxy.is_connected(pair.now, 1) && pair.agent.is_connected(pair.now, 0));
    assert!(
        (5..=6).contains(&pair.agent.counts().handshakes),
        "{:?}",
        pair.agent.counts()
    );
}

#[test]
fn attempts_become_rare_and_start_over() {
    let mut agent = agent_end(AGENT, Cipher::default());
    let attempts_in = |agent: &mut Tunnel, from_s: u64, to_s: u64| {
        let count = |n: u64| {
            agent.handle_timeout(Time::from_millis(n * 10));
            std::iter::from_fn(|| agent.poll()).count()
        };
        (from_s * 100..to_s * 100).map(count).sum::<usize>()
    };
    assert_eq!(attempts_in(&mut agent, 0, 2), 3);
    let rare = attempts_in(&mut agent, 2, 102);
    assert!((9..=14).contains(&rare), "{rare} attempts in 100 s");
    agent.restart(Time::from_millis(102_000), 0);
    assert_eq!(attempts_in(&mut agent, 102, 104), 3);
}

#[test]
fn a_proxy_that_moved_without_a_word_is_looked_for_where_it_was_configured() {
    let mut pair = Pair::connected(Cipher::default());
    let (_, mut down) = pair.sealed_by_proxy(b"from elsewhere");
    assert!(matches!(
        pair.agent.handle(pair.now, address(9), &mut down),
        Received::Data(_)
    ));
    assert_eq!(pair.agent.endpoint(0), Some(address(9)));
    let mut asked = Vec::new();
    let end = pair.now + Duration::from_secs(8);
    while pair.now < end && pair.agent.endpoint(0) != Some(address(PROXY)) {
        pair.agent.handle_timeout(pair.now);
        while let Some(mut up) = pair.agent.poll() {
            asked.push(up.to);
            if up.to != address(PROXY) {
                continue;
            }
            pair.proxy.handle(pair.now, pair.agent_at, &mut up.bytes);
            while let Some(mut down) = pair.proxy.poll() {
                pair.agent.handle(pair.now, address(PROXY), &mut down.bytes);
            }
        }
        pair.now += Duration::from_millis(50);
    }
    assert!(
        asked.contains(&address(9)) && asked.contains(&address(PROXY)),
        "{asked:?}"
    );
    let up = pair.sealed_by_agent(b"found");
    assert_eq!(pair.open_at_proxy(up), Ok(b"found".to_vec()));
}

#[test]
fn the_wall_clock_may_be_set_forward_and_back() {
    let mut pair = Pair::connected(Cipher::default());
    // An agent whose clock was an hour behind when it started is refused until its clock is set, not for an hour.
    let late = Duration::from_secs(1_700_000_000);
    pair.agent = agent_end(AGENT, Cipher::default());
    pair.agent
        .set_epoch(late.saturating_sub(Duration::from_secs(3_600)));
    pair.run(Duration::from_secs(3));
    assert!(!pair.agent.is_connected(pair.now, 0));
    assert_eq!(pair.proxy.counts().dropped_for(Reason::OldHandshake), 3);
    pair.agent.set_epoch(late);
    pair.run(Duration::from_secs(3));
    assert!(pair.agent.is_connected(pair.now, 0));
    // Set back, its stamps still grow.
    pair.agent.set_epoch(Duration::ZERO);
    pair.agent.restart(pair.now, 0);
    pair.run(Duration::from_millis(50));
    assert_eq!(pair.agent.counts().handshakes, 2);
}

#[test]
fn recorded_initiations_do_not_keep_genuine_ones_out() {
    let mut pair = Pair::connected(Cipher::default());
    let recorded = pair.carried[0].clone();
    // They come from the agent's own address, faster than handshakes are computed.
    pair.proxy = proxy_end();
    for n in 0..10_000 {
        let _ = pair
            .proxy
            .handle(pair.now, pair.agent_at, &mut recorded.clone());
        if n == 0 {
            while pair.proxy.poll().is_some() {}
        }
    }
    assert_eq!(pair.proxy.counts().dropped_for(Reason::OldHandshake), 9_999);
    assert_eq!(pair.proxy.counts().dropped_for(Reason::Limited), 0);
    pair.agent.restart(pair.now, 0);
    pair.exchange(|| false);
    assert!(pair.proxy.is_connected(pair.now, 1));
}

#[test]
fn a_restarted_proxy_or_agent_is_found_again() {
    let mut pair = Pair::connected(Cipher::default());
    pair.proxy = proxy_end();
    pair.run(Duration::from_secs(6));
    assert!(pair.proxy.is_connected(pair.now, 1));
    pair.agent = agent_end(AGENT, Cipher::Aes256Gcm);
    pair.run(Duration::from_millis(200));
    let (_, down) = pair.sealed_by_proxy(b"again");
    assert_eq!(pair.open_at_agent(down), Ok(b"again".to_vec()));
}

#[test]
fn the_address_follows_only_authentic_and_newest_data() {
    let mut pair = Pair::connected(Cipher::default());
    let (old, new) = (pair.sealed_by_agent(b"old"), pair.sealed_by_agent(b"new"));
    pair.agent_at = address(50);
    assert!(pair.open_at_proxy(new.clone()).is_ok());
    assert_eq!(pair.proxy.endpoint(1), Some(address(50)));
    pair.agent_at = address(60);
    // A replay, a forgery and an older datagram from elsewhere.
    assert!(pair.open_at_proxy(new.clone()).is_err());
    let mut forged = new;
    forged[8] = 99;
    assert_eq!(pair.open_at_proxy(forged), Err(Reason::Forged));
    assert!(pair.open_at_proxy(old).is_ok());
    assert_eq!(pair.proxy.endpoint(1), Some(address(50)));
}

#[test]
fn strangers_and_wrong_keys_get_no_answer() {
    let mut pair = Pair::new(Cipher::default());
    // An agent whose key is not configured.
    pair.agent = agent_end(99, Cipher::default());
    pair.run(Duration::from_secs(2));
    assert_eq!(pair.proxy.counts().dropped_for(Reason::Stranger), 3);
    assert!(!pair.proxy.is_connected(pair.now, 1));
    // An agent that believes in another proxy's key.
    let mut pair = Pair::new(Cipher::default());
    pair.agent = Tunnel::new(TunnelConfig {
        peers: vec![keys(55).public],
        ..pair.agent.config.clone()
    });
    pair.run(Duration::from_secs(2));
    assert_eq!(pair.proxy.counts().dropped_for(Reason::Check), 3);
    assert!(
        pair.carried.iter().all(|datagram| datagram[0] == 1),
        "the proxy answered"
    );
}

#[test]
fn replayed_handshakes_get_no_answer_and_disturb_nothing() {
    let mut pair = Pair::connected(Cipher::default());
    for mut datagram in pair.carried.clone() {
        let at = pair.agent_at;
        assert!(matches!(
            pair.proxy.handle(pair.now, at, &mut datagram.clone()),
            Received::Dropped(_)
        ));
        assert!(matches!(
            pair.agent.handle(pair.now, address(PROXY), &mut datagram),
            Received::Dropped(_)
        ));
    }
    assert_eq!(pair.proxy.counts().dropped_for(Reason::OldHandshake), 1);
    assert_eq!((pair.proxy.poll(), pair.agent.poll()), (None, None));
    let up = pair.sealed_by_agent(b"still");
    assert_eq!(pair.open_at_proxy(up), Ok(b"still".to_vec()));
}

#[test]
fn a_forged_response_does_not_stop_the_handshake() {
    let mut pair = Pair::new(Cipher::default());
    pair.agent.handle_timeout(pair.now);
    let mut initiation = pair.agent.poll().expect("an initiation").bytes;
    pair.proxy.handle(pair.now, pair.agent_at, &mut initiation);
    let mut genuine = pair.proxy.poll().expect("a response").bytes;
    let mut forged = genuine.clone();
    forged[20] ^= 1;
    Check::of(&keys(AGENT).public).sign(Suite::of(Cipher::default()), &mut forged);
    let received = pair.agent.handle(pair.now, address(PROXY), &mut forged);
    assert_eq!(received, Received::Dropped(Reason::Handshake));
    let received = pair.agent.handle(pair.now, address(PROXY), &mut genuine);
    assert_eq!(received, Received::Handshake(0));
}

#[test]
fn altered_or_cut_datagrams_never_pass() {
    let mut pair = Pair::connected(Cipher::default());
    let mut samples = pair.carried.clone();
    samples.push(pair.sealed_by_agent(b"payload"));
    for sample in samples {
        for at in 0..sample.len() {
            let mut altered = sample.clone();
            altered[at] ^= 0x40;
            let from = pair.agent_at;
            assert!(
                matches!(
                    pair.proxy.handle(pair.now, from, &mut altered),
                    Received::Dropped(_)
                ),
                "byte {at}"
            );
            let mut cut = sample[..at].to_vec();
            assert!(
                matches!(
                    pair.proxy.handle(pair.now, from, &mut cut),
                    Received::Dropped(_)
                ),
                "cut at {at}"
            );
        }
        pair.now += Duration::from_secs(1);
    }
    assert_eq!(pair.proxy.poll(), None);
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

/// Hostile datagrams of every kind, one after the other; the counts must add up and nothing may be answered.
fn endure_hostile_datagrams(n: u64) {
    use rand_core::{Rng as _, SeedableRng as _};
    let mut random = rand_pcg::Pcg64::seed_from_u64(7);
    let mut pair = Pair::connected(Cipher::default());
    let stranger_check = Check::of(&keys(PROXY).public);
    let mut genuine = pair.carried.clone();
    genuine.push(pair.sealed_by_agent(&[5; 1_000]));
    let last = genuine.last().expect("one at least").clone();
    pair.open_at_proxy(last.clone())
        .expect("authentic the first time");
    let before = pair.proxy.counts().dropped();
    let endpoint = pair.proxy.endpoint(1);
    let mut buffer = vec![0; 2_048];
    let resident = resident_kib();
    for i in 0..n {
        let kind = random.next_u32() % 6;
        let sample = &genuine[random.next_u32() as usize % genuine.len()];
        let mut len = random.next_u32() as usize % 1_500;
        match kind {
            0 => random.fill_bytes(&mut buffer[..len]),
            1 | 2 => {
                len = if kind == 1 {
                    sample.len()
                } else {
                    len % sample.len()
                };
                buffer[..len].copy_from_slice(&sample[..len]);
            }
            3 => {
                // The right outside of each kind around random bytes.
                len = [frame::INITIATION, frame::RESPONSE, 1_400][random.next_u32() as usize % 3];
                random.fill_bytes(&mut buffer[..len]);
                buffer[..4].copy_from_slice(&[1 + (random.next_u32() % 3) as u8, 1, 0, 0]);
            }
            4 => {
                // Data with a fresh counter, sealed with another key.
                len = last.len();
                buffer[..len].copy_from_slice(&last);
                buffer[8..12].copy_from_slice(&random.next_u32().to_le_bytes());
            }
            _ => {
                // An initiation whose sender knows the proxy's public key.
                len = frame::INITIATION;
                random.fill_bytes(&mut buffer[..len]);
                buffer[..4].copy_from_slice(&[1, 1, 0, 0]);
                stranger_check.sign(Suite::Aes256Gcm, &mut buffer[..len]);
            }
        }
        let from = SocketAddr::new(IpAddr::V4(random.next_u32().into()), 7);
        let received = pair.proxy.handle(pair.now, from, &mut buffer[..len]);
        assert!(
            matches!(received, Received::Dropped(_)),
            "datagram {i} of kind {kind} passed"
        );
        assert_eq!(
            pair.proxy.poll(),
            None,
            "datagram {i} of kind {kind} was answered"
        );
        pair.now += Duration::from_micros(10);
    }
    assert_eq!(pair.proxy.counts().dropped() - before, n);
    assert_eq!(pair.proxy.endpoint(1), endpoint);
    let growth = resident_kib().saturating_sub(resident);
    println!("memory grew by {growth} KiB over {n} hostile datagrams");
    assert!(growth < 512, "memory grew by {growth} KiB");
    for reason in Reason::ALL {
        println!(
            "{:>9} {}",
            pair.proxy.counts().dropped_for(reason),
            reason.name()
        );
    }
}

#[test]
#[ignore = "run by a_million_hostile_datagrams_are_counted_and_not_answered, in a process of its own"]
fn hostile_datagrams_alone() {
    // The first ones touch memory that the process has not used before.
    endure_hostile_datagrams(10_000);
    endure_hostile_datagrams(1_000_000);
}

#[test]
fn a_million_hostile_datagrams_are_counted_and_not_answered() {
    // Memory is a property of the process, which other tests must not share.
    let itself = std::env::current_exe().expect("this test");
    let child = std::process::Command::new(itself)
        .args([
            "--exact",
            "tunnel::tests::hostile_datagrams_alone",
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ])
        .output()
        .expect("the test can be started again");
    let (out, errors) = (
        String::from_utf8_lossy(&child.stdout),
        String::from_utf8_lossy(&child.stderr),
    );
    println!("{out}");
    assert!(child.status.success(), "{errors}");
    assert!(
        out.contains("1 passed") && out.contains("over 1000000 hostile datagrams"),
        "the test did not run"
    );
}
