use super::*;
use crate::mac::{self, CellConfig, MacConfig, RadioId, StationConfig};
use crate::traffic::web::{BrowserConfig, Page};
use crate::traffic::{Pattern, PingConfig, Rate, SourceConfig, VoipSinkConfig};
use crate::transport::tcp::{Algorithm, ReceiverConfig, SenderConfig};
use airpace_core::control::{Goal, Law, LawConfig};
use airpace_core::phy::{AccessCategory, GuardInterval, Standard, TxRate, Width};
use airpace_units::BitRate;
use core::time::Duration;
use proptest::prelude::*;

mod faults;
mod intake;
mod refusals;

fn mcs9(nss: u8) -> TxRate {
    TxRate::new(Standard::Vht, Width::Mhz80, nss, 9, GuardInterval::Ns800).expect("the rate exists")
}

fn cbr(mbps: f64) -> Traffic {
    let rate = Rate::Bits(BitRate::from_bps_f64(mbps * 1e6));
    Traffic::Udp(SourceConfig::new(Pattern::Constant {
        payload_bytes: 1_470,
        rate,
    }))
}

fn flow(from: u32, to: u32, traffic: Traffic) -> FlowConfig {
    let (from, to, category) = (NodeId(from), NodeId(to), AccessCategory::BestEffort);
    FlowConfig {
        from,
        to,
        category,
        traffic,
        start: Time::ZERO,
        stop: None,
    }
}

/// An access point (node 0) and stations (from node 1 on) in one cell.
fn cell(stations: u32, flows: Vec<FlowConfig>) -> WorldConfig {
    let cell = CellConfig::new(vec![StationConfig::new(mcs9(2)); stations as usize]);
    let nodes = (0..=stations).map(NodeId).collect();
    WorldConfig {
        seed: 1,
        warm_up: Duration::from_millis(300),
        duration: Duration::from_secs(1),
        slot: None,
        nodes: stations + 1,
        keys: Vec::new(),
        channels: vec![ChannelConfig {
            mac: cell.mac().expect("the cell is valid"),
            nodes,
        }],
        wires: Vec::new(),
        routes: Vec::new(),
        flows,
        proxies: Vec::new(),
        roaming: Vec::new(),
        changes: Vec::new(),
        record: Record::default(),
    }
}

fn run(config: WorldConfig) -> Outcome {
    let mut world = World::new(config).expect("the configuration is valid");
    world.run();
    let outcome = world.outcome();
    assert_eq!(
        outcome.totals.held + outcome.totals.reports_held,
        world.count_held()
    );
    outcome
}

#[test]
fn the_wait_on_a_link_is_the_delay_without_the_wire() {
    let mut config = cell(1, vec![flow(2, 1, cbr(200.0))]);
    // A server behind the access point.
    config.nodes = 3;
    config.wires.push(WireConfig {
        ends: (NodeId(2), NodeId(0)),
        rate: None,
        delay: Duration::from_millis(5),
        queue: 1_000,
    });
    let outcome = run(config);
    let down = outcome.links.iter().find(|link| link.to == NodeId(1));
    let wait = down.and_then(|link| link.wait).expect("packets came");
    let delay = outcome.flows[0].counts.forward.delay.summary();
    let delay = delay.expect("packets came");
    assert_eq!(wait.count, delay.count);
    let wire = delay.mean - wait.mean;
    assert!(wire >= Duration::from_millis(5), "{wire:?}");
    // The receiver may hold a packet until the response to its frame has ended.
    assert!(wire < Duration::from_micros(5_100), "{wire:?}");
    let up = outcome.links.iter().find(|link| link.from == NodeId(1));
    assert!(up.is_none_or(|link| link.wait.is_none()));
}

#[test]
fn what_is_offered_arrives() {
    let outcome = run(cell(2, vec![flow(0, 1, cbr(100.0)), flow(0, 2, cbr(50.0))]));
    let mbps = |node: usize| {
        outcome.flows[node - 1].payload_bytes as f64 * 8e-6 / outcome.window.as_secs_f64()
    };
    assert!((mbps(1) / 100.0 - 1.0).abs() < 0.005, "{}", mbps(1));
    assert!((mbps(2) / 50.0 - 1.0).abs() < 0.005, "{}", mbps(2));
    assert_eq!(outcome.totals.dropped, 0);
    let delay = outcome.flows[0]
        .counts
        .forward
        .delay
        .mean()
        .expect("packets came");
    assert!(delay < Duration::from_millis(1), "{delay:?}");
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_seed_another() {
    let with_seed = |seed| {
        let record = Record {
            frames: true,
            packets: true,
            mpdus: false,
            ..Record::default()
        };
        let outcome = run(WorldConfig {
            seed,
            record,
            ..cell(3, (1..=3).map(|to| flow(0, to, cbr(90.0))).collect())
        });
        (outcome.frames, outcome.packets)
    };
    assert_eq!(with_seed(1), with_seed(1));
    assert_ne!(with_seed(1), with_seed(2));
}

#[test]
fn a_station_without_traffic_changes_nothing_for_the_others() {
    let frames = |stations| {
        let record = Record {
            frames: true,
            ..Record::default()
        };
        run(WorldConfig {
            record,
            ..cell(
                stations,
                vec![flow(0, 1, cbr(200.0)), flow(2, 0, cbr(20.0))],
            )
        })
        .frames
    };
    assert_eq!(frames(2), frames(5));
}

#[test]
fn stations_put_in_front_change_nothing_for_those_with_names() {
    // The access point, idle stations put in, and two named ones that are sent to and send.
    let frames = |idle: u32| {
        let (a, b) = (idle + 1, idle + 2);
        let poisson = traffic(1, 60.0);
        let flows = vec![flow(0, a, poisson.clone()), flow(b, 0, poisson)];
        let names = (0..idle).map(|idle| format!("idle {idle}"));
        let names = ["ap".to_owned()]
            .into_iter()
            .chain(names)
            .chain(["a".to_owned(), "b".to_owned()]);
        let keys = names.map(|name| crate::rng::key(&name)).collect();
        let record = Record {
            frames: true,
            ..Record::default()
        };
        let outcome = run(WorldConfig {
            keys,
            record,
            ..cell(idle + 2, flows)
        });
        outcome
            .frames
            .iter()
            .map(|(_, frame)| (frame.start, frame.end, frame.mpdus))
            .collect::<Vec<_>>()
    };
    assert!(frames(0).len() > 100);
    assert_eq!(frames(0), frames(3));
}

#[test]
fn a_wire_delays_by_sending_and_propagation_and_drops_when_full() {
    let mut config = cell(1, vec![flow(2, 1, cbr(20.0))]);
    config.nodes = 3;
    let (rate, delay) = (Some(BitRate::from_mbps(10)), Duration::from_millis(10));
    config.wires = vec![WireConfig {
        ends: (NodeId(2), NodeId(0)),
        rate,
        delay,
        queue: 50,
    }];
    config.duration = Duration::from_secs(5);
    let outcome = run(config);
    let counts = &outcome.flows[0].counts.forward;
    let mbps = outcome.flows[0].payload_bytes as f64 * 8e-6 / 5.0;
    assert!(
        (mbps / (10.0 * 1_470.0 / 1_498.0) - 1.0).abs() < 0.01,
        "{mbps}"
    );
    // Fifty packets of 1.2 ms wait ahead, one is sent, then the wire, then the air.
    let delay_ms = counts.delay.mean().expect("packets came").as_secs_f64() * 1e3;
    assert!(
        (delay_ms - (51.0 * 1.1984 + 10.0)).abs() < 2.0,
        "{delay_ms}"
    );
    assert!(counts.lost.of(Loss::Wire) > 3_000, "{:?}", counts.lost);
}

#[test]
fn saturating_traffic_keeps_its_window_under_way() {
    let outcome = run(cell(
        1,
        vec![flow(
            0,
            1,
            Traffic::Saturating {
                payload: 1_470,
                window: 192,
            },
        )],
    ));
    let level = outcome.links[0].counts.level().expect("frames were sent");
    assert!(level > 63.9, "{level}");
    assert_eq!(outcome.totals.held, 192);
}

#[test]
fn packets_are_relayed_in_one_channel_and_between_two() {
    let hop = |from, to| {
        let rate = mcs9(1);
        mac::LinkConfig::new(RadioId(from), RadioId(to), rate)
    };
    let chain = |radios: u32| {
        let links = (1..radios)
            .flat_map(|to| [hop(to - 1, to), hop(to, to - 1)])
            .collect();
        MacConfig::new(
            (0..radios).map(|_| mac::RadioConfig::new()).collect(),
            links,
        )
    };
    let mut one = cell(3, vec![flow(0, 3, cbr(20.0))]);
    one.channels = vec![ChannelConfig {
        mac: chain(4),
        nodes: (0..4).map(NodeId).collect(),
    }];
    let mut two = one.clone();
    two.channels = vec![
        ChannelConfig {
            mac: chain(2),
            nodes: vec![NodeId(0), NodeId(1)],
        },
        ChannelConfig {
            mac: chain(3),
            nodes: vec![NodeId(1), NodeId(2), NodeId(3)],
        },
    ];
    for config in [one, two] {
        let outcome = run(config);
        let mbps = outcome.flows[0].payload_bytes as f64 * 8e-6;
        assert!((mbps / 20.0 - 1.0).abs() < 0.01, "{mbps}");
        assert_eq!(
            outcome
                .links
                .iter()
                .filter(|link| link.counts.frames > 100)
                .count(),
            3
        );
    }
}

fn proxy(stations: u32, feedback: Feedback) -> ProxyConfig {
    let law = LawConfig::named(Law::Waterfill, Goal::papers(32.0, None));
    ProxyConfig {
        feedback,
        ..ProxyConfig::new(
            NodeId(0),
            (1..=stations).map(NodeId).collect(),
            Some(law),
            Duration::from_millis(100),
        )
    }
}

#[test]
fn a_proxy_holds_the_level_that_it_aims_at() {
    for feedback in [Feedback::Direct, Feedback::OverTheAir] {
        let flows = (1..=5)
            .map(|to| {
                flow(
                    0,
                    to,
                    Traffic::Saturating {
                        payload: 1_470,
                        window: 1,
                    },
                )
            })
            .collect();
        let mut config = WorldConfig {
            proxies: vec![proxy(5, feedback)],
            slot: Some(Duration::from_millis(100)),
            ..cell(5, flows)
        };
        (config.warm_up, config.duration) = (Duration::from_secs(1), Duration::from_secs(2));
        let outcome = run(config);
        for link in outcome.links.iter().filter(|link| link.from == NodeId(0)) {
            let level = link.counts.level().expect("frames were sent");
            assert!((level / 32.0 - 1.0).abs() < 0.06, "{feedback:?} {level}");
        }
        assert_eq!(outcome.totals.dropped, 0, "{feedback:?}");
        assert!(
            outcome.totals.reports_delivered >= 5 * 29,
            "{feedback:?}: {:?}",
            outcome.totals
        );
    }
}

#[test]
fn a_paced_source_starts_late_and_stops_early() {
    let mut saturating = flow(
        0,
        1,
        Traffic::Saturating {
            payload: 1_470,
            window: 1,
        },
    );
    (saturating.start, saturating.stop) = (Time::from_millis(350), Some(Time::from_millis(750)));
    let slot = Some(Duration::from_millis(100));
    let config = WorldConfig {
        proxies: vec![proxy(1, Feedback::Direct)],
        slot,
        ..cell(1, vec![saturating])
    };
    let received: Vec<u32> = run(config)
        .slots
        .iter()
        .map(|slot| slot.nodes[1].received)
        .collect();
    let busy: Vec<usize> = (0..received.len())
        .filter(|&slot| received[slot] > 0)
        .collect();
    assert_eq!(busy, [3, 4, 5, 6, 7], "{received:?}");
}

#[test]
fn a_station_that_joins_is_unknown_before_and_served_after() {
    for feedback in [Feedback::Direct, Feedback::OverTheAir] {
        let mut flows: Vec<_> = (1..=2)
            .map(|to| {
                flow(
                    0,
                    to,
                    Traffic::Saturating {
                        payload: 1_470,
                        window: 1,
                    },
                )
            })
            .collect();
        let at = Time::from_millis(600);
        flows[1].start = at;
        let late = ProxyConfig {
            joins: vec![(NodeId(2), at)],
            ..proxy(2, feedback)
        };
        let slot = Some(Duration::from_millis(100));
        let mut config = WorldConfig {
            proxies: vec![late],
            slot,
            ..cell(2, flows)
        };
        config.duration = Duration::from_millis(1_200);
        let outcome = run(config);
        let granted = |at_ms: u64| {
            let of = |decision: &&ProxySlot| {
                decision.station == NodeId(2) && decision.at <= Time::from_millis(at_ms)
            };
            outcome.decisions[0]
                .iter()
                .rfind(of)
                .and_then(|decision| decision.rate_pps)
        };
        assert_eq!(granted(599), None, "{feedback:?}");
        assert!(granted(900).is_some(), "{feedback:?}");
        let last = outcome.slots.last().expect("slots were recorded");
        let share = last.nodes[2].bytes as f64 / last.nodes[1].bytes as f64;
        assert!((0.8..1.25).contains(&share), "{feedback:?}: {share}");
    }
}

#[test]
fn a_flow_that_takes_no_time_or_goes_in_circles_is_refused() {
    let mut config = cell(
        1,
        vec![flow(
            2,
            3,
            Traffic::Saturating {
                payload: 1_470,
                window: 1,
            },
        )],
    );
    config.nodes = 4;
    let wire = |a, b, delay| WireConfig {
        ends: (NodeId(a), NodeId(b)),
        rate: None,
        delay,
        queue: 1,
    };
    config.wires = vec![wire(2, 3, Duration::ZERO)];
    assert_eq!(
        World::new(config.clone()).err(),
        Some(WorldError::Instantaneous { flow: 0 })
    );
    config.wires = vec![wire(2, 3, Duration::from_micros(10))];
    assert!(World::new(config.clone()).is_ok());
    config.wires.push(wire(0, 2, Duration::from_micros(10)));
    let route = |at, via| RouteConfig {
        at: NodeId(at),
        to: NodeId(3),
        via: NodeId(via),
    };
    config.routes = vec![route(2, 0), route(0, 2)];
    let refused = World::new(config).err();
    assert_eq!(
        refused,
        Some(WorldError::Unreachable {
            flow: 0,
            from: NodeId(2),
            to: NodeId(3)
        })
    );
}

#[test]
fn a_flow_without_a_way_is_refused() {
    let mut config = cell(1, vec![flow(0, 2, cbr(1.0))]);
    config.nodes = 3;
    let refused = World::new(config).err();
    assert_eq!(
        refused,
        Some(WorldError::Unreachable {
            flow: 0,
            from: NodeId(0),
            to: NodeId(2)
        })
    );
}

fn tcp(algorithm: Algorithm, ecn: bool, bytes: Option<u64>) -> TcpConfig {
    let sender = SenderConfig {
        ecn,
        ..SenderConfig::new(algorithm)
    };
    TcpConfig {
        sender,
        receiver: ReceiverConfig {
            merge: ecn,
            ..ReceiverConfig::default()
        },
        bytes,
        is_quic: false,
    }
}

/// One of every kind of traffic.
fn traffic(kind: u32, mbps: f64) -> Traffic {
    match kind % 9 {
        0 => cbr(mbps),
        1 => {
            let rate = Rate::Bits(BitRate::from_bps_f64(mbps * 1e6));
            Traffic::Udp(SourceConfig::new(Pattern::Poisson {
                payload_bytes: 700,
                rate,
            }))
        }
        2 => Traffic::Saturating {
            payload: 1_000,
            window: 1 + mbps as u32,
        },
        3 => Traffic::Tcp(tcp(Algorithm::Cubic, true, None)),
        4 => Traffic::Tcp(tcp(Algorithm::Bbr, false, None)),
        5 => Traffic::Tcp(tcp(Algorithm::Reno, false, Some(1 + (mbps * 5e3) as u64))),
        6 => Traffic::Ping(PingConfig {
            interval: Duration::from_millis(5),
            ..PingConfig::default()
        }),
        7 => Traffic::Voip(VoipSinkConfig::default()),
        _ => {
            let browser = BrowserConfig::new(Page::even(56_000, 3).expect("the page is valid"));
            Traffic::Web {
                browser,
                tcp: tcp(Algorithm::Cubic, false, None),
            }
        }
    }
}

#[test]
fn a_transfer_completes_and_delivers_what_was_written() {
    let mut config = cell(
        1,
        vec![flow(
            2,
            1,
            Traffic::Tcp(tcp(Algorithm::Cubic, false, Some(3_000_000))),
        )],
    );
    config.nodes = 3;
    let delay = Duration::from_millis(10);
    config.wires = vec![WireConfig {
        ends: (NodeId(2), NodeId(0)),
        rate: None,
        delay,
        queue: 100,
    }];
    (config.warm_up, config.duration) = (Duration::ZERO, Duration::from_secs(2));
    let outcome = run(config);
    assert_eq!(outcome.flows[0].payload_bytes, 3_000_000);
    let Details::Tcp(report) = &outcome.flows[0].details else {
        panic!("it is TCP")
    };
    let completed = report.completed.expect("it completed").as_secs_f64();
    assert!((0.1..0.5).contains(&completed), "{completed}");
    let round_trip = report
        .round_trip
        .expect("there were acknowledgements")
        .min
        .as_secs_f64();
    assert!((0.020..0.022).contains(&round_trip), "{round_trip}");
}

#[test]
fn a_transfer_that_stops_ends_early() {
    let mut stopped = flow(0, 1, Traffic::Tcp(tcp(Algorithm::Cubic, false, None)));
    stopped.stop = Some(Time::from_millis(500));
    let mut config = cell(1, vec![stopped]);
    config.slot = Some(Duration::from_millis(100));
    let outcome = run(config);
    let received: Vec<u32> = outcome
        .slots
        .iter()
        .map(|slot| slot.nodes[1].received)
        .collect();
    assert!(
        received[4] > 0 && received[6..].iter().all(|&count| count == 0),
        "{received:?}"
    );
    assert_eq!(outcome.totals.held, 0);
}

#[test]
fn pages_load_and_pings_return_beside_a_bulk_download() {
    let flows = [8, 6, 3].map(|kind| match kind {
        3 => flow(0, 1, traffic(3, 1.0)),
        kind => flow(1, 0, traffic(kind, 1.0)),
    });
    let mut config = cell(1, flows.to_vec());
    // Time enough for a query that the full queue drops and that is asked again 5 s later.
    (config.warm_up, config.duration) = (Duration::ZERO, Duration::from_secs(20));
    let outcome = run(config);
    let Details::Web(Some(loads)) = outcome.flows[0].details else {
        panic!("{:?}", outcome.flows[0].details)
    };
    assert!(loads.count >= 3, "{loads:?}");
    let Details::Ping(ping) = &outcome.flows[1].details else {
        panic!("it is a ping")
    };
    // The full queue drops a few.
    assert!(ping.received > 3_600 && ping.lost < 40, "{ping:?}");
}

#[test]
fn a_call_over_an_idle_cell_is_as_good_as_can_be() {
    let outcome = run(cell(1, vec![flow(0, 1, traffic(7, 1.0))]));
    let Details::Voip(call) = &outcome.flows[0].details else {
        panic!("it is a call")
    };
    assert!(call.mean_opinion_score > 4.3, "{call:?}");
}

#[test]
fn a_call_is_scored_after_the_warm_up_and_what_is_under_way_at_the_end_is_not_lost() {
    let mut config = cell(1, vec![flow(2, 1, traffic(7, 1.0))]);
    config.nodes = 3;
    let delay = Duration::from_millis(90);
    config.wires = vec![WireConfig {
        ends: (NodeId(2), NodeId(0)),
        rate: None,
        delay,
        queue: 100,
    }];
    let outcome = run(config);
    let Details::Voip(call) = &outcome.flows[0].details else {
        panic!("it is a call")
    };
    // 50 packets a second, of which the last four are on the wire.
    assert!(
        (44..=46).contains(&call.sent) && call.lost == 0 && call.late == 0,
        "{call:?}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn no_packet_is_made_or_lost_unseen(
        (stations, seed) in (1..6_u32, 0..1_000_u64),
        kinds in prop::collection::vec((0..9_u32, 0.1..300.0_f64), 1..8),
        (with_wire, with_proxy, queue) in (any::<bool>(), any::<bool>(), 1..300_u32),
    ) {
        let server = stations + 1;
        let from = if with_wire { server } else { 0 };
        let ends = |k: u32| if k % 3 == 2 { (1 + k % stations, from) } else { (from, 1 + k % stations) };
        let flows = (0..).zip(&kinds).map(|(k, &(kind, mbps))| flow(ends(k).0, ends(k).1, traffic(kind, mbps))).collect();
        let mut config = WorldConfig { seed, ..cell(stations, flows) };
        config.nodes += 1;
        let rate = Some(BitRate::from_mbps(300));
        config.wires = vec![WireConfig { ends: (NodeId(server), NodeId(0)), rate, delay: Duration::from_millis(1), queue }];
        if with_proxy {
            config.proxies = vec![proxy(stations, Feedback::OverTheAir)];
        }
        config.duration = Duration::from_millis(300);
        let mut world = World::new(config).expect("the configuration is valid");
        for part in 1..=6 {
            world.run_until(Time::from_millis(100 * part));
            let totals = world.totals();
            prop_assert_eq!(totals.held + totals.reports_held, world.count_held());
        }
        let outcome = world.outcome();
        for flow in &outcome.flows {
            for counts in [&flow.counts.forward, &flow.counts.backward] {
                prop_assert_eq!(counts.received, counts.delay.count());
            }
        }
        prop_assert!(outcome.busy[0] <= outcome.window, "{:?}", outcome.busy);
        let collisions: u64 = outcome.links.iter().map(|link| link.counts.collisions).sum();
        let airtime: Duration = outcome.links.iter().map(|link| link.counts.airtime).sum();
        // Frames that met on the air are counted once for each.
        prop_assert!(collisions > 0 || airtime <= outcome.window, "{airtime:?}");
        prop_assert!(outcome.links.iter().all(|link| link.counts.level().is_none_or(|level| level <= 64.0)));
    }
}

#[test]
fn a_sender_with_small_queues_keeps_its_own_queue_short() {
    // Mean wait at the sender's own radio, and bytes that arrived.
    let upload = |small_queue| {
        let mut traffic = tcp(Algorithm::Cubic, false, None);
        traffic.sender.small_queue = small_queue;
        let outcome = run(cell(1, vec![flow(1, 0, Traffic::Tcp(traffic))]));
        let up = outcome.links.iter().find(|link| link.from == NodeId(1));
        let wait = up.and_then(|link| link.wait).expect("packets came");
        (wait.mean, outcome.flows[0].payload_bytes)
    };
    let ((long, bytes), (short, fewer)) = (upload(None), upload(Some(131_072)));
    assert!(3 * short < long, "{short:?} against {long:?}");
    assert!(
        fewer as f64 > 0.8 * bytes as f64,
        "{fewer} against {bytes} bytes"
    );
    // Two packets are always allowed, or nothing would be sent.
    assert!(upload(Some(1)).1 > 0);
}
