//! Handshakes over bad links, with moved or restarted ends and wrong clocks.

use super::*;

#[test]
fn handshakes_survive_loss() {
    for seed in 0..20 {
        let link = Link {
            loss_percent: 50,
            ..Link::default()
        };
        let mut pair = Pair::with_link(link, seed);
        pair.run(Duration::from_secs(20));
        pair.link = Link::default();
        // The longest time between attempts.
        pair.run(Duration::from_secs(11));
        assert!(pair.are_connected(), "seed {seed}");
    }
}

#[test]
fn data_flows_over_a_link_that_loses_delays_reorders_and_repeats() {
    for seed in 0..5 {
        let link = Link {
            one_way: Duration::from_millis(20),
            jitter: Duration::from_millis(200),
            loss_percent: 20,
            repeat_percent: 20,
            longest: None,
        };
        let mut pair = Pair::with_link(link, seed);
        pair.run(Duration::from_secs(30));
        // Ten minutes, in which sessions are renewed.
        let (mut sent, mut received) = (0, 0);
        for _ in 0..6_000 {
            pair.run(Duration::from_millis(100));
            sent += 1;
            let datagram = pair.sealed_by_agent(b"payload");
            if pair.random.next_u32() % 100 >= link.loss_percent {
                received += 1;
                assert_eq!(pair.open_at_proxy(datagram), Ok(b"payload".to_vec()));
            }
        }
        assert!(
            received * 100 > sent * 70,
            "{received} of {sent}, seed {seed}"
        );
        let counts = pair.proxy.counts();
        assert_eq!(counts.dropped_for(Reason::Forged), 0);
        assert!(counts.dropped_for(Reason::Replayed) > 0, "{counts:?}");
        assert!(counts.handshakes >= 5, "{counts:?}");
    }
}

#[test]
fn handshakes_complete_and_sessions_hold_for_any_round_trip_time() {
    let with_delay = |one_way| Link {
        one_way,
        ..Link::default()
    };
    for one_way_ms in [240, 750, 2_000, 3_900] {
        let one_way = Duration::from_millis(one_way_ms);
        let mut pair = Pair::with_link(with_delay(one_way), 0);
        pair.run(one_way * 20);
        assert!(
            pair.are_connected(),
            "{one_way:?}: {:?}",
            pair.proxy.counts()
        );
    }
    // The access point's queue has filled up: a round trip of 1.5 s, over several renewals.
    let mut pair = Pair::connected();
    pair.link = with_delay(Duration::from_millis(750));
    pair.run(Duration::from_secs(600));
    assert!(pair.are_connected());
    let counts = pair.agent.counts();
    assert!((5..=6).contains(&counts.handshakes), "{counts:?}");
}

/// When an agent without a proxy sends initiations, from one time in seconds to another.
fn attempts(agent: &mut ToyTunnel, from_s: u64, to_s: u64) -> Vec<Time> {
    let mut attempts = Vec::new();
    for n in from_s * 100..to_s * 100 {
        let now = Time::from_millis(n * 10);
        agent.handle_timeout(now);
        while agent.poll().is_some() {
            attempts.push(now);
        }
    }
    attempts
}

#[test]
fn attempts_become_rare_and_a_restart_makes_them_frequent_again() {
    let mut agent = agent_end(1);
    assert_eq!(attempts(&mut agent, 0, 2).len(), 3);
    let rare = attempts(&mut agent, 2, 102).len();
    assert!((9..=14).contains(&rare), "{rare} attempts in 100 s");
    agent.restart(Time::from_millis(102_000), PROXY_IDX);
    assert_eq!(attempts(&mut agent, 102, 104).len(), 3);
}

#[test]
fn agents_that_lost_the_same_proxy_do_not_stay_in_step() {
    let mut tenth_attempts = Vec::new();
    for seed in 0..10 {
        let attempts = attempts(&mut agent_end(seed), 0, 100);
        for pair in attempts.windows(2) {
            let between = pair[1].since(pair[0]);
            // The longest time between attempts, a quarter of it, and the resolution of the timers.
            assert!(between <= Duration::from_millis(10_050), "{between:?}");
        }
        tenth_attempts.push(attempts[9]);
    }
    tenth_attempts.sort_unstable();
    tenth_attempts.dedup();
    assert!(tenth_attempts.len() >= 8, "{tenth_attempts:?}");
}

#[test]
fn a_proxy_that_moved_unnoticed_is_looked_for_at_its_configured_address() {
    let mut pair = Pair::connected();
    let (_, mut down) = pair.sealed_by_proxy(b"from elsewhere");
    assert!(matches!(
        pair.agent.handle(pair.now, address(9), &mut down),
        Received::Data(_)
    ));
    assert_eq!(pair.agent.endpoint(PROXY_IDX), Some(address(9)));
    let mut asked = Vec::new();
    let end = pair.now + Duration::from_secs(8);
    while pair.now < end && pair.agent.endpoint(PROXY_IDX) != Some(address(PROXY)) {
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
fn an_agent_whose_clock_is_behind_is_refused_until_its_clock_is_set() {
    let mut pair = Pair::connected();
    pair.agent = agent_end(2);
    pair.agent.set_epoch(EPOCH - Duration::from_secs(3_600));
    pair.run(Duration::from_secs(3));
    assert!(!pair.agent.is_connected(pair.now, PROXY_IDX));
    assert_eq!(pair.proxy.counts().dropped_for(Reason::OldHandshake), 3);
    // Three refusals within a minute, one warning.
    let warning = Warning::OldHandshake {
        peer: AGENT_IDX,
        from: pair.agent_at,
    };
    assert_eq!(pair.proxy.poll_warning(), Some(warning));
    assert_eq!(pair.proxy.poll_warning(), None);
    pair.agent.set_epoch(EPOCH);
    pair.run(Duration::from_secs(3));
    assert!(pair.agent.is_connected(pair.now, PROXY_IDX));
    // If the clock is set back, the agent's stamps still grow.
    pair.agent.set_epoch(Duration::ZERO);
    pair.agent.restart(pair.now, PROXY_IDX);
    pair.run(Duration::from_millis(50));
    assert_eq!(pair.agent.counts().handshakes, 2);
}

#[test]
fn a_restarted_proxy_or_agent_is_found_again() {
    let mut pair = Pair::connected();
    pair.proxy = proxy_end(2);
    pair.run(Duration::from_secs(6));
    assert!(pair.proxy.is_connected(pair.now, AGENT_IDX));
    pair.agent = agent_end(2);
    pair.run(Duration::from_millis(200));
    let (_, down) = pair.sealed_by_proxy(b"again");
    assert_eq!(pair.open_at_agent(down), Ok(b"again".to_vec()));
}

#[test]
fn unknown_agents_get_no_answer() {
    let mut pair = Pair::new();
    pair.agent = agent_end_for(99, PROXY, 1);
    pair.run(Duration::from_secs(2));
    assert_eq!(pair.proxy.counts().dropped_for(Reason::Stranger), 3);
    assert!(!pair.proxy.is_connected(pair.now, AGENT_IDX));
    assert_only_initiations(&pair.carried);
    // The operator is told, once a minute.
    let warning = pair.proxy.poll_warning();
    assert!(
        matches!(warning, Some(Warning::UnknownKey { key, .. }) if key == public(99)),
        "{warning:?}"
    );
    assert_eq!(pair.proxy.poll_warning(), None);
}

#[test]
fn agents_that_expect_another_proxy_get_no_answer() {
    let mut pair = Pair::new();
    pair.agent = agent_end_for(AGENT, 55, 1);
    pair.run(Duration::from_secs(2));
    assert_eq!(pair.proxy.counts().dropped_for(Reason::Check), 3);
    let warning = pair.proxy.poll_warning();
    assert!(
        matches!(warning, Some(Warning::OtherKey { .. })),
        "{warning:?}"
    );
    assert_eq!(pair.proxy.poll_warning(), None);
    assert_only_initiations(&pair.carried);
}

fn assert_only_initiations(carried: &[Vec<u8>]) {
    assert!(!carried.is_empty());
    assert!(
        carried.iter().all(|datagram| datagram[0] == 1),
        "the proxy answered"
    );
}

#[test]
fn the_end_that_connects_accepts_no_initiations() {
    let mut pair = Pair::connected();
    let mut initiation = pair.carried[0].clone();
    let received = pair.agent.handle(pair.now, address(PROXY), &mut initiation);
    assert_eq!(received, Received::Dropped(Reason::Kind));
}

#[test]
fn a_response_to_an_abandoned_attempt_is_refused() {
    let mut pair = Pair::new();
    pair.agent.handle_timeout(pair.now);
    let mut initiation = pair.agent.poll().expect("an initiation").bytes;
    pair.proxy.handle(pair.now, pair.agent_at, &mut initiation);
    let mut response = pair.proxy.poll().expect("a response").bytes;
    pair.agent.restart(pair.now, PROXY_IDX);
    let received = pair.agent.handle(pair.now, address(PROXY), &mut response);
    assert_eq!(received, Received::Dropped(Reason::Session));
}

#[test]
fn the_places_of_sessions_are_reused_over_many_renewals() {
    let mut pair = Pair::connected();
    for _ in 0..100 {
        pair.agent.restart(pair.now, PROXY_IDX);
        pair.run(Duration::from_millis(200));
        assert!(pair.are_connected());
    }
    assert_eq!(pair.agent.counts().handshakes, 101);
    assert_eq!(pair.proxy.counts().handshakes, 101);
}

#[test]
fn ends_with_the_same_preshared_key_agree_and_others_do_not() {
    let connect = |of_proxy: u8, of_agent: u8| {
        let mut pair = Pair::new();
        let mut proxy = proxy_config();
        proxy.peers[AGENT_IDX].preshared_key = PresharedKey([of_proxy; 32]);
        pair.proxy = Tunnel::new(Toy::new(PROXY.into(), ToySuite::Red, 5), proxy);
        let mut agent = agent_config(PROXY);
        agent.peers[PROXY_IDX].preshared_key = PresharedKey([of_agent; 32]);
        pair.agent = Tunnel::new(Toy::new(AGENT.into(), ToySuite::Blue, 6), agent);
        pair.run(Duration::from_secs(1));
        pair
    };
    assert!(connect(7, 7).are_connected());
    for (of_proxy, of_agent) in [(7, 8), (7, 0), (0, 7)] {
        let mut pair = connect(of_proxy, of_agent);
        assert!(!pair.are_connected(), "{of_proxy} {of_agent}");
        let warning = Warning::UnreadableResponse {
            peer: PROXY_IDX,
            from: address(PROXY),
        };
        assert_eq!(pair.agent.poll_warning(), Some(warning));
    }
}

#[test]
fn a_peer_of_another_version_is_told_of_if_it_knows_the_public_key() {
    let mut pair = Pair::new();
    // A message of version 1 ends with its check.
    let check = ToyCheck::for_receiver(&public(PROXY));
    let message = [&[1, 1, 0, 0][..], &[5; 108]].concat();
    let old = [&message[..], &check.compute(ToySuite::Red, &message)[..]].concat();
    let mut of_stranger = old.clone();
    of_stranger[60] ^= 1;
    for (mut datagram, warning) in [
        (of_stranger, None),
        (
            old,
            Some(Warning::OtherVersion {
                version: 1,
                from: pair.agent_at,
            }),
        ),
    ] {
        let received = pair.proxy.handle(pair.now, pair.agent_at, &mut datagram);
        assert_eq!(received, Received::Dropped(Reason::Version));
        assert_eq!(pair.proxy.poll_warning(), warning);
        assert_eq!(pair.proxy.poll(), None);
    }
}

#[test]
fn an_agent_tells_that_its_proxy_does_not_answer() {
    let mut agent = agent_end(1);
    attempts(&mut agent, 0, 5);
    assert_eq!(agent.poll_warning(), None);
    attempts(&mut agent, 5, 12);
    let warning = Warning::NoAnswer {
        peer: PROXY_IDX,
        to: address(PROXY),
    };
    assert_eq!(agent.poll_warning(), Some(warning));
    assert!(agent.unanswered(PROXY_IDX) >= 5);
}

#[test]
fn an_agent_looks_for_its_proxy_at_the_new_address_of_its_name() {
    let mut agent = agent_end(1);
    attempts(&mut agent, 0, 5);
    agent.set_connect_to(address(9));
    agent.restart(Time::from_millis(5_000), PROXY_IDX);
    let sent_to: Vec<SocketAddr> = core::iter::from_fn(|| agent.poll())
        .map(|datagram| datagram.to)
        .collect();
    assert_eq!(sent_to, [address(9)]);
}

#[test]
fn keys_are_renewed_at_once_after_a_suspend() {
    let mut pair = Pair::connected();
    pair.run(Duration::from_secs(10));
    // Nothing runs in between, but the clock counts that time.
    pair.now += Duration::from_secs(600);
    pair.run(Duration::from_millis(200));
    assert!(pair.are_connected());
    assert_eq!(pair.agent.counts().handshakes, 2);
}
