//! What proxies and agents do when something goes wrong with them, simulated: the state machines
//! are those that run live.

use super::*;
use airpace_edge::proxy::{InteractiveConfig, Mode, Pacing, StartRate};

const SLOT: Duration = Duration::from_millis(100);

const fn ms(ms: u64) -> Time {
    Time::from_millis(ms)
}

/// Stations that always have packets waiting, under the default law, for `seconds`; `changes`
/// happen to them.
fn faulty(stations: u32, seconds: u64, changes: Vec<(Time, Change)>) -> WorldConfig {
    let saturating = Traffic::Saturating {
        payload: 1_470,
        window: 1,
    };
    let flows = (1..=stations)
        .map(|to| flow(0, to, saturating.clone()))
        .collect();
    WorldConfig {
        proxies: vec![proxy(stations, Feedback::OverTheAir)],
        slot: Some(SLOT),
        warm_up: Duration::ZERO,
        duration: Duration::from_secs(seconds),
        changes,
        ..cell(stations, flows)
    }
}

/// Reports of station 1 are lost from `from` to `to`.
fn lost(from: Time, to: Time) -> [(Time, Change); 2] {
    let change = |loss| Change::Reports {
        station: NodeId(1),
        faults: ReportFaults {
            loss,
            ..ReportFaults::default()
        },
    };
    [(from, change(1.0)), (to, change(0.0))]
}

/// The modes that station 1 came to be in, with the time of each.
fn modes(outcome: &Outcome) -> Vec<(Mode, Time)> {
    outcome.modes[0]
        .iter()
        .filter(|change| change.station == NodeId(1))
        .map(|change| (change.to, change.at))
        .collect()
}

/// Mbit/s of payload that station `node` received from `from` to `to`.
fn goodput(outcome: &Outcome, node: usize, from: Time, to: Time) -> f64 {
    let within = |slot: &&SlotRecord| slot.end > from && slot.end <= to;
    let slots = outcome.slots.iter().filter(within);
    let bytes: u64 = slots.map(|slot| slot.nodes[node].bytes).sum();
    bytes as f64 * 8e-6 * (1_470.0 / 1_498.0) / to.since(from).as_secs_f64()
}

#[test]
fn lost_reports_lead_to_a_conservative_rate_then_to_none_and_the_next_report_back() {
    // Six slots without a report, then sixty.
    let mut changes = lost(ms(2_000), ms(2_600)).to_vec();
    changes.extend(lost(ms(4_000), ms(10_000)));
    let outcome = run(faulty(1, 12, changes));
    let modes = modes(&outcome);
    let order: Vec<Mode> = modes.iter().map(|(mode, _)| *mode).collect();
    let expected = [
        Mode::Starting,
        Mode::Controlled,
        Mode::Conservative,
        Mode::Controlled,
        Mode::Conservative,
        Mode::Unshaped,
        Mode::Controlled,
    ];
    assert_eq!(order, expected, "{modes:?}");
    let at = |index: usize| modes[index].1;
    // Five slots without a report, and up to one and a half until it is looked at.
    assert!((ms(2_400)..=ms(2_700)).contains(&at(2)), "{modes:?}");
    assert!((ms(2_600)..=ms(2_750)).contains(&at(3)), "{modes:?}");
    assert!((ms(8_900)..=ms(9_200)).contains(&at(5)), "{modes:?}");
    assert!((ms(10_000)..=ms(10_150)).contains(&at(6)), "{modes:?}");
    // The conservative rate is 10 Mbit/s; afterwards the law is back at what it had.
    let conservative = goodput(&outcome, 1, ms(5_000), ms(8_000));
    assert!((8.0..10.5).contains(&conservative), "{conservative}");
    let before = goodput(&outcome, 1, ms(1_000), ms(2_000));
    let after = goodput(&outcome, 1, ms(11_000), ms(12_000));
    assert!((after / before - 1.0).abs() < 0.03, "{before} and {after}");
}

#[test]
fn a_station_whose_reports_are_lost_does_not_hold_up_the_others() {
    let outcome = run(faulty(3, 6, lost(ms(2_000), ms(6_000)).to_vec()));
    let decided = |from, to| {
        let of = |decision: &&ProxySlot| {
            decision.station == NodeId(2) && decision.at > from && decision.at <= to
        };
        outcome.decisions[0].iter().filter(of).count()
    };
    // Reports of fallen stations are not waited for: a decision per slot, as before.
    assert!(decided(ms(3_000), ms(5_000)) >= 19);
    // The law does not know that the fallen station sends less, so the others do not gain what it
    // leaves.
    let before = goodput(&outcome, 2, ms(1_000), ms(2_000));
    let after = goodput(&outcome, 2, ms(3_000), ms(6_000));
    assert!(after > 0.85 * before, "{before} and {after}");
}

#[test]
fn reports_that_come_twice_count_once_and_change_nothing() {
    let twice = Change::Reports {
        station: NodeId(1),
        faults: ReportFaults {
            copies: 2,
            ..ReportFaults::default()
        },
    };
    let doubled = run(faulty(2, 4, vec![(Time::ZERO, twice)]));
    let plain = run(faulty(2, 4, Vec::new()));
    assert_eq!(doubled.decisions, plain.decisions);
}

#[test]
fn late_reports_are_used_when_they_come() {
    let late = Change::Reports {
        station: NodeId(1),
        faults: ReportFaults {
            delay: Duration::from_millis(250),
            ..ReportFaults::default()
        },
    };
    let outcome = run(faulty(2, 6, vec![(ms(1_000), late)]));
    assert!(
        modes(&outcome)
            .iter()
            .all(|(mode, at)| *mode == Mode::Controlled || *at < ms(1_000)),
        "{:?}",
        outcome.modes
    );
    // A known limit: the law takes what was sent since for a queue that builds up, and holds the
    // late station back. The punctual one keeps its rate.
    let punctual = goodput(&outcome, 2, ms(3_000), ms(6_000));
    assert!(
        punctual > 0.95 * goodput(&outcome, 2, ms(500), ms(1_000)),
        "{punctual}"
    );
    assert!(goodput(&outcome, 1, ms(3_000), ms(6_000)) > 50.0);
}

#[test]
fn an_agent_that_dies_is_fallen_back_from_and_its_successor_is_heard() {
    let agent = |running| Change::Agent {
        station: NodeId(1),
        running,
    };
    let changes = vec![(ms(2_000), agent(false)), (ms(4_000), agent(true))];
    let outcome = run(faulty(2, 8, changes));
    let order: Vec<Mode> = modes(&outcome).iter().map(|(mode, _)| *mode).collect();
    let expected = [
        Mode::Starting,
        Mode::Controlled,
        Mode::Conservative,
        Mode::Controlled,
    ];
    assert_eq!(order, expected);
    let share =
        goodput(&outcome, 1, ms(7_000), ms(8_000)) / goodput(&outcome, 2, ms(7_000), ms(8_000));
    assert!((0.9..1.1).contains(&share), "{share}");
}

#[test]
fn a_proxy_that_restarts_is_back_at_its_rates_within_a_second() {
    let restart = Change::ProxyRestart { at: NodeId(0) };
    let outcome = run(faulty(3, 5, vec![(ms(2_000), restart)]));
    for node in 1..=3 {
        let before = goodput(&outcome, node, ms(1_000), ms(2_000));
        let after = goodput(&outcome, node, ms(3_000), ms(5_000));
        assert!((after / before - 1.0).abs() < 0.05, "{before} and {after}");
    }
}

#[test]
fn packets_that_wait_at_a_proxy_that_restarts_are_lost_and_counted() {
    let mut config = faulty(
        1,
        3,
        vec![(ms(2_000), Change::ProxyRestart { at: NodeId(0) })],
    );
    config.flows = vec![flow(0, 1, cbr(900.0))];
    let outcome = run(config);
    assert!(outcome.flows[0].counts.forward.lost.of(Loss::ProxyAway) > 100);
}

#[test]
fn a_station_without_a_monitor_is_paced_by_arrival_times() {
    let mut config = faulty(2, 6, Vec::new());
    config.proxies[0].unmonitored = vec![NodeId(1)];
    let outcome = run(config);
    let last = outcome.decisions[0]
        .iter()
        .rfind(|decision| decision.station == NodeId(1));
    let level = last
        .and_then(|decision| decision.level)
        .expect("reports came");
    assert!((24.0..40.0).contains(&level), "{level}");
    let total =
        goodput(&outcome, 1, ms(3_000), ms(6_000)) + goodput(&outcome, 2, ms(3_000), ms(6_000));
    assert!(total > 400.0, "{total}");
}

#[test]
fn a_station_may_start_at_a_rate_of_the_configuration() {
    let mut config = faulty(1, 1, Vec::new());
    config.proxies[0].edge.start = StartRate::Fixed(BitRate::from_mbps(20));
    // Nothing tells the law more.
    config.proxies[0].report_bytes = None;
    let outcome = run(config);
    let rate = goodput(&outcome, 1, Time::ZERO, ms(500));
    assert!((18.0..20.5).contains(&rate), "{rate}");
}

/// Cubic to one station whose agent holds acknowledgements.
fn gathering(gather_ms: u64, thin: bool) -> Outcome {
    let download = Traffic::Tcp(TcpConfig {
        sender: SenderConfig::new(Algorithm::Cubic),
        receiver: ReceiverConfig::default(),
        bytes: None,
        is_quic: false,
    });
    let mut config = faulty(1, 4, Vec::new());
    config.flows = vec![flow(0, 1, download)];
    let agent = &mut config.proxies[0].agent;
    agent.gather_acks = Duration::from_millis(gather_ms);
    agent.thin_acks = thin;
    run(config)
}

/// Frames of station 1, and bytes that its download has delivered.
fn frames_and_bytes(outcome: &Outcome) -> (u64, u64) {
    let up = outcome.links.iter().find(|link| link.from == NodeId(1));
    let up = up.expect("a link up").counts;
    (up.frames, outcome.flows[0].payload_bytes)
}

#[test]
fn acknowledgements_that_agents_hold_leave_together() {
    let (free, held) = (gathering(0, false), gathering(5, false));
    let (free, held) = (frames_and_bytes(&free), frames_and_bytes(&held));
    assert!(
        held.0 * 10 < free.0 * 9,
        "{held:?} and {free:?} frames and bytes"
    );
}

#[test]
fn thinned_acknowledgements_make_a_download_faster_and_are_accounted_for() {
    let (all, thinned) = (gathering(5, false), gathering(5, true));
    assert!(thinned.flows[0].payload_bytes > all.flows[0].payload_bytes);
    let back = &thinned.flows[0].counts.backward;
    let redundant = back.lost.of(Loss::RedundantAck);
    assert!(redundant > back.received, "{back:?}");
    assert_eq!(all.flows[0].counts.backward.lost.of(Loss::RedundantAck), 0);
}

#[test]
fn pings_in_a_category_of_their_own_pass_the_queue_of_the_access_point() {
    let round_trip = |interactive| {
        let mut config = faulty(3, 6, Vec::new());
        config.flows.push(flow(
            0,
            1,
            Traffic::Ping(PingConfig {
                interval: Duration::from_millis(110),
                ..PingConfig::default()
            }),
        ));
        config.warm_up = Duration::from_secs(1);
        // The preset sends everything as best effort.
        for radio in &mut config.channels[0].mac.radios {
            radio.category = None;
        }
        // More than the cell carries: a queue stands in the access point.
        config.proxies[0].edge.pacing = Pacing::Fixed(BitRate::from_mbps(400));
        config.proxies[0].edge.interactive = interactive;
        let outcome = run(config);
        let Details::Ping(ping) = &outcome.flows[3].details else {
            panic!("the last flow is the ping");
        };
        let bulk: u64 = outcome.flows[..3]
            .iter()
            .map(|flow| flow.payload_bytes)
            .sum();
        (ping.round_trip.expect("replies").mean, bulk)
    };
    let plain = round_trip(None);
    let fast = round_trip(Some(InteractiveConfig {
        category: AccessCategory::Video,
        budget: 0.02,
    }));
    assert!(fast.0 * 3 < plain.0, "{fast:?} and {plain:?}");
    assert!(fast.1 * 100 > plain.1 * 95, "{fast:?} and {plain:?}");
}
