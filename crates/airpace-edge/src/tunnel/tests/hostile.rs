//! Datagrams of attackers, and of broken networks.

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

#[test]
fn recorded_initiations_do_not_keep_genuine_ones_out() {
    let mut pair = Pair::connected();
    let recorded = pair.carried[0].clone();
    // They come from the agent's own address, faster than handshakes are processed.
    pair.proxy = proxy_end(2);
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
    assert_eq!(pair.proxy.poll_warning(), None, "repetitions are no news");
    pair.agent.restart(pair.now, PROXY_IDX);
    pair.deliver();
    assert!(pair.proxy.is_connected(pair.now, AGENT_IDX));
}

#[test]
fn replayed_datagrams_get_no_answer_and_disturb_nothing() {
    let mut pair = Pair::connected();
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
    let mut pair = Pair::new();
    pair.agent.handle_timeout(pair.now);
    let mut initiation = pair.agent.poll().expect("an initiation").bytes;
    pair.proxy.handle(pair.now, pair.agent_at, &mut initiation);
    let mut genuine = pair.proxy.poll().expect("a response").bytes;
    let header = data::SECOND_HANDSHAKE_HEADER_BYTES;
    let mut noise = genuine[header..genuine.len() - CHECK_BYTES].to_vec();
    noise[8] ^= 1;
    let check = ToyCheck::for_receiver(&public(AGENT));
    let (mut forged, _) = frame::handshake(&genuine[..header], &noise, &check, ToySuite::Blue);
    let received = pair.agent.handle(pair.now, address(PROXY), &mut forged);
    assert_eq!(received, Received::Dropped(Reason::Handshake));
    let received = pair.agent.handle(pair.now, address(PROXY), &mut genuine);
    assert_eq!(received, Received::Handshake(PROXY_IDX));
}

#[test]
fn altered_or_cut_datagrams_never_pass() {
    let mut pair = Pair::connected();
    let mut samples = pair.carried.clone();
    samples.push(pair.sealed_by_agent(b"payload"));
    for sample in samples {
        for at in 0..sample.len() {
            let from = pair.agent_at;
            let mut altered = sample.clone();
            altered[at] ^= 0x40;
            let received = pair.proxy.handle(pair.now, from, &mut altered);
            assert!(matches!(received, Received::Dropped(_)), "byte {at}");
            let mut cut = sample[..at].to_vec();
            let received = pair.proxy.handle(pair.now, from, &mut cut);
            assert!(matches!(received, Received::Dropped(_)), "cut at {at}");
        }
        pair.now += Duration::from_secs(1);
    }
    assert_eq!(pair.proxy.poll(), None);
}

/// Handles a datagram and checks that it is counted exactly once, for what became of it. Returns
/// whether it was dropped.
fn handle_counted(end: &mut ToyTunnel, now: Time, from: SocketAddr, datagram: &mut [u8]) -> bool {
    let before = *end.counts();
    let result = end.handle(now, from, datagram);
    let reason = match result {
        Received::Dropped(reason) => Some(reason),
        Received::Data(_) | Received::Handshake(_) | Received::Cookie(_) => None,
    };
    let is_data = matches!(result, Received::Data(_));
    let after = *end.counts();
    for each in Reason::ALL {
        let expected = before.dropped_for(each) + u64::from(reason == Some(each));
        assert_eq!(after.dropped_for(each), expected, "{each:?}");
    }
    assert_eq!(after.data, before.data + u64::from(is_data));
    if reason.is_some() {
        assert_eq!(after.handshakes, before.handshakes);
    }
    reason.is_some()
}

/// What an attacker sends.
#[derive(Clone, Debug)]
enum Hostile {
    /// Any bytes.
    Bytes(Vec<u8>),
    /// Any bytes behind a valid type and version.
    Typed { kind: u8, bytes: Vec<u8> },
    /// Any Noise message of the right length, with a valid check for the receiver.
    Checked { first: bool, index: u32, fill: u8 },
    /// A genuine datagram, cut off and altered in one place.
    Altered {
        sample: usize,
        len: usize,
        at: usize,
        flip: u8,
    },
}

impl Hostile {
    fn any() -> impl Strategy<Value = Self> {
        let altered = (any::<usize>(), any::<usize>(), any::<usize>(), any::<u8>());
        prop_oneof![
            vec(any::<u8>(), 0..1_600).prop_map(Self::Bytes),
            (0..5_u8, vec(any::<u8>(), 0..200))
                .prop_map(|(kind, bytes)| Self::Typed { kind, bytes }),
            (any::<bool>(), any::<u32>(), any::<u8>())
                .prop_map(|(first, index, fill)| Self::Checked { first, index, fill }),
            altered.prop_map(|(sample, len, at, flip)| Self::Altered {
                sample,
                len,
                at,
                flip
            }),
        ]
    }

    fn bytes(&self, receiver: u8, genuine: &[Vec<u8>]) -> Vec<u8> {
        match self {
            Self::Bytes(bytes) => bytes.clone(),
            Self::Typed { kind, bytes } => [&[*kind, data::VERSION, 0, 0], &bytes[..]].concat(),
            Self::Checked { first, index, fill } => {
                let check = ToyCheck::for_receiver(&public(receiver));
                let index = data::SessionIndex(*index);
                if *first {
                    let header = data::first_handshake_header(index);
                    let noise = [*fill; INITIATION_NOISE_BYTES];
                    let (mut bytes, _) = frame::handshake(&header, &noise, &check, ToySuite::Red);
                    bytes.extend_from_slice(&[*fill; CHECK_BYTES]);
                    bytes
                } else {
                    let header = data::second_handshake_header(index, index);
                    let noise = [*fill; RESPONSE_NOISE_BYTES];
                    frame::handshake(&header, &noise, &check, ToySuite::Red).0
                }
            }
            Self::Altered {
                sample,
                len,
                at,
                flip,
            } => {
                let sample = &genuine[sample % genuine.len()];
                // Twice as many lengths as there are, so that half of the samples stay whole.
                let len = len % (2 * sample.len());
                let mut bytes = sample[..len.min(sample.len())].to_vec();
                if !bytes.is_empty() {
                    let at = at % bytes.len();
                    bytes[at] ^= flip;
                }
                bytes
            }
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_dropped_counted_and_not_answered(
        datagrams in vec((Hostile::any(), any::<u32>(), 0..100_u64), 1..50),
    ) {
        let mut pair = Pair::connected();
        let mut genuine = pair.carried.clone();
        genuine.push(pair.sealed_by_agent(b"payload"));
        let last = genuine.len() - 1;
        pair.open_at_proxy(genuine[last].clone()).expect("authentic the first time");
        let endpoints = [pair.proxy.endpoint(AGENT_IDX), pair.agent.endpoint(PROXY_IDX)];
        for (hostile, from, after_ms) in datagrams {
            pair.now += Duration::from_millis(after_ms);
            let from = SocketAddr::new(IpAddr::V4(from.into()), 7);
            let mut bytes = hostile.bytes(PROXY, &genuine);
            let dropped = handle_counted(&mut pair.proxy, pair.now, from, &mut bytes);
            prop_assert!(dropped, "{hostile:?} passed at the proxy");
            let mut bytes = hostile.bytes(AGENT, &genuine);
            let dropped = handle_counted(&mut pair.agent, pair.now, from, &mut bytes);
            prop_assert!(dropped, "{hostile:?} passed at the agent");
            prop_assert_eq!(pair.proxy.poll(), None);
            prop_assert_eq!(pair.agent.poll(), None);
        }
        let unchanged = [pair.proxy.endpoint(AGENT_IDX), pair.agent.endpoint(PROXY_IDX)];
        prop_assert_eq!(unchanged, endpoints);
    }

    #[test]
    fn the_ends_find_each_other_again_after_any_disturbance(
        seed: u64,
        delay_ms in 0..2_000_u64,
        loss_percent in 0..=100_u32,
        repeat_percent in 0..=100_u32,
        restarts in vec((any::<bool>(), 0..60_u64), 0..5),
    ) {
        let link = Link {
            jitter: Duration::from_millis(delay_ms),
            loss_percent,
            repeat_percent,
            ..Link::default()
        };
        let mut pair = Pair::with_link(link, seed);
        for (restart_proxy, after_s) in restarts {
            pair.run(Duration::from_secs(after_s));
            if restart_proxy {
                pair.proxy = proxy_end(pair.random.next_u64());
            } else {
                pair.agent = agent_end(pair.random.next_u64());
            }
        }
        pair.link = Link::default();
        // Four seconds to notice a lost peer, ten for the longest time between attempts, once for
        // each address.
        pair.run(Duration::from_secs(25));
        prop_assert!(pair.are_connected(), "{:?} {:?}", pair.agent.counts(), pair.proxy.counts());
        let up = pair.sealed_by_agent(b"up");
        prop_assert_eq!(pair.open_at_proxy(up), Ok(b"up".to_vec()));
    }
}
