//! Data, renewal, ends of sessions and addresses.

use super::*;

#[test]
fn data_passes_both_ways() {
    let mut pair = Pair::connected();
    let up = pair.sealed_by_agent(b"up");
    assert_eq!(pair.open_at_proxy(up), Ok(b"up".to_vec()));
    let (to, down) = pair.sealed_by_proxy(b"down");
    assert_eq!(to, address(AGENT));
    assert_eq!(pair.open_at_agent(down), Ok(b"down".to_vec()));
}

#[test]
fn opened_data_names_its_sender_counter_and_send_time() {
    let mut pair = Pair::connected();
    pair.now = Time::from_millis(1_234);
    let first = pair.sealed_by_agent(b"a");
    let mut second = pair.sealed_by_agent(b"b");
    assert_eq!(pair.open_at_proxy(first), Ok(b"a".to_vec()));
    let Received::Data(opened) = pair.proxy.handle(pair.now, pair.agent_at, &mut second) else {
        panic!("authentic")
    };
    assert_eq!(opened.peer, AGENT_IDX);
    // The keepalive that confirmed the session had counter 0.
    assert_eq!((opened.counter, opened.sent), (2, SendTime::of(pair.now)));
}

#[test]
fn the_same_seed_produces_the_same_datagrams() {
    let link = Link {
        one_way: Duration::from_millis(3),
        jitter: Duration::from_millis(5),
        loss_percent: 20,
        repeat_percent: 10,
        longest: None,
    };
    let carried = |seed| {
        let mut pair = Pair::with_link(link, seed);
        pair.run(Duration::from_secs(300));
        pair.carried
    };
    assert_eq!(carried(5), carried(5));
    assert_ne!(carried(5), carried(6));
}

#[test]
fn a_datagram_without_room_or_session_is_not_sealed() {
    let mut pair = Pair::connected();
    let mut short = [0; SEAL_HEAD + SEAL_TAIL - 1];
    let mut datagram = [0; SEAL_HEAD + SEAL_TAIL];
    let kind = InnerKind::Packet;
    let now = pair.now;
    assert_eq!(
        pair.agent.seal(now, PROXY_IDX, kind, &mut short),
        Err(SealError::NoRoom)
    );
    for peer in [0, 99] {
        assert_eq!(
            pair.proxy.seal(now, peer, kind, &mut datagram),
            Err(SealError::NoSession)
        );
    }
    assert_eq!(datagram, [0; SEAL_HEAD + SEAL_TAIL]);
}

#[test]
fn reordered_data_is_accepted_and_replayed_data_is_not() {
    let mut pair = Pair::connected();
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
fn sessions_are_renewed_by_age_without_a_gap() {
    let mut pair = Pair::connected();
    let first = pair.agent.counts().handshakes;
    for _ in 0..1_200 {
        let late_up = pair.sealed_by_agent(b"u");
        let (_, late_down) = pair.sealed_by_proxy(b"d");
        pair.run(Duration::from_millis(500));
        // A renewal may have taken place since these were sealed.
        assert_eq!(pair.open_at_proxy(late_up), Ok(b"u".to_vec()));
        assert_eq!(pair.open_at_agent(late_down), Ok(b"d".to_vec()));
    }
    // 600 s with a renewal every 120 s.
    assert_eq!(pair.agent.counts().handshakes - first, 5);
    assert_eq!(pair.agent.counts().dropped(), 0);
    assert_eq!(pair.proxy.counts().dropped(), 0);
}

#[test]
fn sessions_are_renewed_by_the_number_of_messages() {
    let mut pair = Pair::connected();
    // The next attempt may have to wait until half a second and a quarter of that after the last.
    let attempt = Duration::from_millis(650);
    pair.agent.config.timing.rekey_after_messages = 1_000;
    for _ in 0..1_000 {
        let datagram = pair.sealed_by_agent(b"x");
        pair.open_at_proxy(datagram).expect("authentic");
    }
    let before = pair.agent.counts().handshakes;
    pair.run(attempt);
    assert_eq!(pair.agent.counts().handshakes, before + 1);
    // Received messages count like sent ones: nearly all data may flow one way.
    for _ in 0..1_000 {
        let (_, datagram) = pair.sealed_by_proxy(b"x");
        pair.open_at_agent(datagram).expect("authentic");
    }
    pair.run(attempt);
    assert_eq!(pair.agent.counts().handshakes, before + 2);
}

#[test]
fn a_session_refuses_to_send_far_beyond_its_limit_of_messages() {
    let mut pair = Pair::connected();
    pair.agent.config.timing.rekey_after_messages = 10;
    let mut datagram = [0; SEAL_HEAD + SEAL_TAIL];
    let kind = InnerKind::Padding;
    let sealed = (0..1_000)
        .take_while(|_| {
            let result = pair.agent.seal(pair.now, PROXY_IDX, kind, &mut datagram);
            result.is_ok()
        })
        .count();
    // Sixteen times the limit, less the keepalive that confirmed the session.
    assert_eq!(sealed, 159);
}

#[test]
fn old_sessions_are_refused() {
    let mut pair = Pair::connected();
    let old = pair.sealed_by_agent(b"x");
    pair.now += Duration::from_secs(181);
    assert_eq!(pair.open_at_proxy(old), Err(Reason::Session));
    assert!(!pair.proxy.is_connected(pair.now, AGENT_IDX));
}

#[test]
fn a_silent_peer_is_not_alive_long_before_its_session_ends() {
    const SILENCE: Duration = Duration::from_secs(10);
    let mut pair = Pair::connected();
    pair.run(Duration::from_secs(5));
    assert!(
        pair.proxy.is_alive(pair.now, AGENT_IDX, SILENCE),
        "keepalives arrive"
    );
    pair.now += Duration::from_secs(11);
    assert!(
        pair.proxy.is_connected(pair.now, AGENT_IDX),
        "the session lasts for three minutes"
    );
    assert!(!pair.proxy.is_alive(pair.now, AGENT_IDX, SILENCE));
}

#[test]
fn idle_ends_send_one_keepalive_per_second_each() {
    let mut pair = Pair::connected();
    pair.run(Duration::from_secs(2));
    let received = |pair: &Pair| [pair.proxy.counts().data, pair.agent.counts().data];
    let before = received(&pair);
    pair.run(Duration::from_secs(60));
    for (after, before) in received(&pair).into_iter().zip(before) {
        let keepalives = after - before;
        assert!((57..=60).contains(&keepalives), "{keepalives} in 60 s");
    }
}

#[test]
fn the_address_follows_only_authentic_and_newest_data() {
    let mut pair = Pair::connected();
    let (old, new) = (pair.sealed_by_agent(b"old"), pair.sealed_by_agent(b"new"));
    pair.agent_at = address(50);
    assert!(pair.open_at_proxy(new.clone()).is_ok());
    assert_eq!(pair.proxy.endpoint(AGENT_IDX), Some(address(50)));
    pair.agent_at = address(60);
    // A replay, a forgery and an older datagram from elsewhere.
    assert!(pair.open_at_proxy(new.clone()).is_err());
    let mut forged = new;
    forged[8] = 99;
    assert_eq!(pair.open_at_proxy(forged), Err(Reason::Forged));
    assert!(pair.open_at_proxy(old).is_ok());
    assert_eq!(pair.proxy.endpoint(AGENT_IDX), Some(address(50)));
}

#[test]
fn data_of_the_previous_session_does_not_move_the_address() {
    let mut pair = Pair::connected();
    let old = pair.sealed_by_agent(b"old session");
    pair.agent.restart(pair.now, PROXY_IDX);
    pair.run(Duration::from_millis(50));
    pair.agent_at = address(60);
    assert_eq!(pair.open_at_proxy(old), Ok(b"old session".to_vec()));
    assert_eq!(pair.proxy.endpoint(AGENT_IDX), Some(address(AGENT)));
}

#[test]
fn both_ends_find_the_longest_payload_that_passes_the_path() {
    let mut pair = Pair::new();
    for end in [&mut pair.proxy, &mut pair.agent] {
        for peer in &mut end.peers {
            peer.path = Some(PathSearch::new(1_460));
        }
    }
    assert_eq!(pair.agent.longest_payload(PROXY_IDX), None);
    pair.run(Duration::from_secs(5));
    let found = |pair: &Pair| {
        [
            pair.agent.longest_payload(PROXY_IDX),
            pair.proxy.longest_payload(AGENT_IDX),
        ]
    };
    assert_eq!(found(&pair), [Some(1_420); 2]);
    // The path changes without a sign: 1300 bytes with 28 of headers and 40 of the tunnel.
    pair.link.longest = Some(1_272);
    pair.run(Duration::from_secs(65));
    assert_eq!(found(&pair), [Some(1_232); 2]);
}
