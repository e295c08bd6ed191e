//! Invariants of any network under any load.

use super::air::{Flow, first_due, next_due};
use super::*;
use airpace_core::phy::LegacyRate;
use airpace_core::queue::{AirtimeConfig, AirtimeLimitConfig};
use std::collections::BTreeMap;

const CATEGORIES: [AccessCategory; 4] = [
    AccessCategory::Background,
    AccessCategory::BestEffort,
    AccessCategory::Video,
    AccessCategory::Voice,
];

fn any_radio() -> impl Strategy<Value = RadioConfig> {
    let frames = (
        1_u16..=64,
        prop_oneof![Just(0_u32), Just(3_839), Just(11_398)],
        500_u64..=5_484,
    );
    let queue = (1_usize..60, any::<[bool; 4]>());
    let limits = (prop::option::of(0_u32..5_000), 0_u64..5_000);
    let path = (0_usize..16, 0_u16..4, any::<bool>());
    (frames, queue, limits, path).prop_map(
        |(frames, (packets, flags), (rts_threshold, txop), path)| {
            let (max_mpdus, max_amsdu, duration) = frames;
            let mut edca = RadioConfig::new().edca;
            edca[1].txop = Duration::from_micros(if txop > 1_500 { txop } else { 0 });
            let scope = if flags[0] {
                QueueScope::Link
            } else {
                QueueScope::Radio
            };
            RadioConfig {
                edca,
                beacon: flags[1].then(Beacon::default),
                path: any_path(
                    path.0,
                    path.1,
                    path.2,
                    packets,
                    QueueLimit {
                        packets,
                        scope,
                        in_flight: flags[2],
                    },
                    flags[3],
                ),
                max_mpdus,
                max_duration: Duration::from_micros(duration),
                max_amsdu,
                rts_threshold,
                // As often as there are beacons, so that the other draws stay as they are.
                cts_to_self: flags[1].then_some(LegacyRate::Mbps6),
                ..RadioConfig::new()
            }
        },
    )
}

/// Half of the radios have only FIFOs; the others have one of the schemes, with a short queue in
/// the MAC or the driver.
fn any_path(
    scheme: usize,
    hardware: u16,
    airtime_limit: bool,
    packets: usize,
    limit: QueueLimit,
    in_turn: bool,
) -> PathConfig {
    if scheme == Scheme::ALL.len() {
        return PathConfig {
            hardware,
            airtime_fairness: (!in_turn).then(AirtimeConfig::default),
            airtime_limit: airtime_limit.then(AirtimeLimitConfig::default),
            ..PathConfig::custom(move |_: &QueueSite| super::custom::drop_from_head(packets))
        };
    }
    let Some(&scheme) = Scheme::ALL.get(scheme) else {
        let schedule = if in_turn {
            Schedule::RoundRobin
        } else {
            Schedule::OldestFirst
        };
        return PathConfig {
            schedule,
            hardware,
            ..PathConfig::queued(limit)
        };
    };
    let mut path = PathConfig::of(scheme);
    path.hardware = hardware;
    if !in_turn && scheme == Scheme::FqMac {
        path.schedule = Schedule::OldestFirst;
    }
    path.airtime_limit = airtime_limit.then(AirtimeLimitConfig::default);
    match &mut path.queues {
        Queues::Fifo(limit) => limit.packets = packets,
        Queues::FlowQueues(flows) => flows.packet_limit = packets as u32,
        Queues::Custom(_) => unreachable!("no scheme has queues of the user's own"),
    }
    path
}

fn any_hearing(radios: usize) -> impl Strategy<Value = Hearing> {
    let relation = move || {
        proptest::collection::vec(any::<bool>(), radios * radios).prop_map(move |bits| {
            Relation::by(radios, |from, to| bits[from.index() * radios + to.index()])
        })
    };
    prop_oneof![
        1 => Just(Hearing::All),
        3 => (relation(), relation(), relation())
            .prop_map(|(senses, disturbs, decodes)| Hearing::Matrix { senses, disturbs, decodes }),
        3 => (proptest::collection::vec(-105.0..-40.0, radios * radios), any::<bool>())
            .prop_map(move |(dbm, captures)| by_powers(radios, captures, |from, to| {
                dbm[from.index() * radios + to.index()]
            })),
    ]
}

/// Reception by these powers in dBm.
fn by_powers(
    radios: usize,
    captures: bool,
    received_dbm: impl FnMut(RadioId, RadioId) -> f64,
) -> Hearing {
    let rules = ReceptionRules {
        capture: captures.then(Capture::default),
        ..ReceptionRules::default()
    };
    let powers = ReceivedPowers::by(vec![7.0; radios], rules, received_dbm);
    Hearing::Powers(Box::new(powers))
}

/// A network, the load on it and a change of neighbours.
fn any_network() -> impl Strategy<Value = (MacConfig, Vec<Flow>, Neighbours)> {
    (2_usize..7).prop_flat_map(|radios| {
        let id = 0..radios as u32;
        let link = (id.clone(), id, 0_u8..9, prop_oneof![Just(0.0), 0.0..0.7]);
        let load = (
            0_usize..12,
            0_usize..4,
            40_u32..2_000,
            20_u64..2_000,
            0_u64..1_000,
        );
        let flags = (any::<[bool; 3]>(), 0_u16..3, 0_u64..2_000);
        (
            proptest::collection::vec(any_radio(), radios),
            any_hearing(radios),
            proptest::collection::vec(link, 1..12),
            proptest::collection::vec(load, 1..8),
            flags,
        )
            .prop_map(|(radios, hearing, links, load, (flags, count, airtime))| {
                let config = network(radios, hearing, &links, flags);
                let flow = |(link, category, bytes, gap, phase): (usize, usize, u32, u64, u64)| {
                    let LinkConfig { from, to, .. } = config.links[link % config.links.len()];
                    let (gap, phase) = (Duration::from_micros(gap), Duration::from_micros(phase));
                    Flow {
                        from: from.0,
                        to: to.0,
                        category: CATEGORIES[category],
                        bytes,
                        gap,
                        phase,
                    }
                };
                let flows = load.into_iter().map(flow).collect();
                (
                    config,
                    flows,
                    Neighbours {
                        count,
                        airtime: Duration::from_micros(airtime),
                    },
                )
            })
    })
}

fn network(
    radios: Vec<RadioConfig>,
    hearing: Hearing,
    links: &[(u32, u32, u8, f64)],
    flags: [bool; 3],
) -> MacConfig {
    let mut ends: BTreeMap<(u32, u32), (u8, f64)> = BTreeMap::new();
    for &(from, to, mcs, loss) in links {
        let to = if from == to {
            (to + 1) % radios.len() as u32
        } else {
            to
        };
        ends.insert((from, to), (mcs, loss));
    }
    let mut hearing = hearing;
    if let Hearing::Matrix { senses, .. } = &mut hearing {
        for &(from, to) in ends.keys() {
            senses.set(RadioId(from), RadioId(to), true);
            senses.set(RadioId(to), RadioId(from), true);
        }
    }
    if let Hearing::Powers(powers) = &hearing {
        hearing = by_powers(
            radios.len(),
            powers.rules().capture.is_some(),
            |from, to| {
                let received_dbm = 10.0 * powers.received_mw(from, to).log10();
                let has_link =
                    ends.contains_key(&(from.0, to.0)) || ends.contains_key(&(to.0, from.0));
                if has_link {
                    received_dbm.max(-81.0)
                } else {
                    received_dbm
                }
            },
        );
    }
    let link = |(&(from, to), &(mcs, loss)): (&(u32, u32), &(u8, f64))| {
        let rate = if flags[2] && mcs == 8 {
            TxRate::legacy(airpace_core::phy::LegacyRate::Mbps6)
        } else {
            vht(1, mcs)
        };
        LinkConfig {
            quality: Quality::Loss(loss),
            ..LinkConfig::new(RadioId(from), RadioId(to), rate)
        }
    };
    let links = ends.iter().map(link).collect();
    MacConfig {
        hearing,
        monitor: if flags[0] {
            Monitoring::Packets
        } else {
            Monitoring::Off
        },
        in_order: flags[1],
        block_ack_requests: flags[0],
        ..MacConfig::new(radios, links)
    }
}

/// Checks each output of the MAC.
struct Watch {
    config: MacConfig,
    gone: u64,
    last: BTreeMap<(u32, u32, AccessCategory, u32), u64>,
    alone: Duration,
    digest: SipHasher13,
}

impl Watch {
    fn take(&mut self, now: Time, output: Output<Datagram>) -> Result<(), TestCaseError> {
        self.digest.write(format!("{output:?}").as_bytes());
        match output {
            Output::Frame(frame) => self.check_frame(now, &frame)?,
            Output::Heard { .. } => {}
            Output::Delivered { at, mpdu, packet } => {
                prop_assert!(at <= now);
                self.gone += 1;
                let last = self.last.insert(
                    (mpdu.from.0, mpdu.to.0, mpdu.category, packet.flow),
                    packet.id,
                );
                prop_assert!(!self.config.in_order || last.is_none_or(|last| last < packet.id));
            }
            Output::Dropped { at, .. } => {
                prop_assert!(at <= now);
                self.gone += 1;
            }
        }
        Ok(())
    }

    fn check_frame(&mut self, now: Time, frame: &FrameRecord) -> Result<(), TestCaseError> {
        let radio = &self.config.radios[frame.from.index()];
        let ppdu = frame.end.since(frame.start);
        prop_assert!(frame.end <= now && frame.start < frame.end);
        prop_assert!(frame.mpdus >= 1 && frame.mpdus <= radio.max_mpdus.min(64));
        prop_assert!(frame.decoded <= frame.mpdus && frame.retries <= frame.mpdus);
        let mpdus = u32::from(frame.mpdus);
        prop_assert!(frame.packets >= mpdus && (radio.max_amsdu > 0 || frame.packets == mpdus));
        prop_assert!(
            frame.packets == 1 || ppdu <= radio.max_duration,
            "{:?}",
            frame
        );
        prop_assert!(frame.psdu_bytes <= 1_048_575);
        let txop = radio.edca[frame.category as usize].txop;
        prop_assert!(
            txop.is_zero() || frame.packets == 1 || frame.airtime <= txop,
            "{:?}",
            frame
        );
        if !frame.collided {
            self.alone += frame.airtime;
        }
        Ok(())
    }
}

/// Runs a network with checks at every step. Returns a digest of its outputs.
fn check(
    config: &MacConfig,
    flows: &[Flow],
    neighbours: Neighbours,
    seed: u64,
) -> Result<u64, TestCaseError> {
    let mut mac = Mac::new(config.clone(), seed).unwrap();
    let digest = SipHasher13::new();
    let mut watch = Watch {
        config: config.clone(),
        gone: 0,
        last: BTreeMap::new(),
        alone: Duration::ZERO,
        digest,
    };
    let mut due = first_due(flows);
    let mut now = Time::ZERO;
    for sent in 1..=1_500_u64 {
        let (index, at) = next_due(&due);
        (now, due[index]) = (at, due[index] + flows[index].gap);
        mac.handle(now, flows[index].send(index, sent));
        if sent == 400 || sent == 1_200 {
            let count = if sent == 400 { neighbours.count } else { 0 };
            mac.handle(
                now,
                Input::SetNeighbours(Neighbours {
                    count,
                    ..neighbours
                }),
            );
        }
        prop_assert!(
            mac.deadline().is_none_or(|at| at >= now),
            "an event in the past"
        );
        while let Some(output) = mac.poll() {
            watch.take(now, output)?;
        }
        let held: u64 = (0..mac.radios())
            .map(|radio| mac.held(RadioId::from_index(radio)) as u64)
            .sum();
        prop_assert_eq!(sent, watch.gone + held);
    }
    let elapsed = now.since(Time::ZERO);
    // Airtime is counted at the beginning of a PPDU, so one exchange may not be over yet.
    let slack = Duration::from_millis(20);
    for radio in (0..mac.radios()).map(RadioId::from_index) {
        let (channel, own) = (mac.channel(radio, now), mac.airtime(radio));
        prop_assert!(channel.busy <= elapsed + slack && channel.overlapped <= channel.busy);
        prop_assert!(own.data + own.control + own.beacons <= elapsed + slack);
    }
    if config.hearing == Hearing::All {
        prop_assert!(
            watch.alone <= elapsed + slack,
            "{:?} of {elapsed:?}",
            watch.alone
        );
    }
    drain(&mut mac, &mut watch, now)?;
    Ok(watch.digest.finish())
}

/// Checks that all packets leave once no more come.
fn drain(mac: &mut Mac<Datagram>, watch: &mut Watch, since: Time) -> Result<(), TestCaseError> {
    let held = |mac: &Mac<Datagram>| {
        (0..mac.radios())
            .map(|radio| mac.held(RadioId::from_index(radio)))
            .sum::<usize>()
    };
    while held(mac) > 0 {
        let due = mac
            .deadline()
            .filter(|due| due.since(since) < Duration::from_secs(300));
        let Some(due) = due else {
            return Err(TestCaseError::fail(format!("{} packets stay", held(mac))));
        };
        mac.handle(due, Input::Tick);
        while let Some(output) = mac.poll() {
            watch.take(due, output)?;
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// Packets are conserved and stay in order, no frame exceeds a limit, nothing happens in the
    /// past, and a run is a function of its configuration and its seed.
    #[test]
    fn invariants_hold_in_any_network((config, flows, neighbours) in any_network(), seed in any::<u64>()) {
        let first = check(&config, &flows, neighbours, seed)?;
        prop_assert_eq!(first, check(&config, &flows, neighbours, seed)?);
    }

    /// Signals that are alone on the air are told to their receivers when they end. That changes
    /// nothing: every output, at every time, is that of telling them at once.
    #[test]
    fn lone_signals_are_received_as_if_told_at_once((config, flows, neighbours) in any_network(), seed in any::<u64>()) {
        let run = |at_once: bool| {
            let mut mac = Mac::new(config.clone(), seed).unwrap();
            if let Some(field) = &mut mac.air.field {
                field.set_least_receivers(if at_once { usize::MAX } else { 0 });
            }
            outputs_of(mac, &flows, neighbours)
        };
        let (slow, fast) = (run(true), run(false));
        prop_assert_eq!(slow.len(), fast.len());
        for (slow, fast) in slow.iter().zip(&fast) {
            prop_assert_eq!(slow, fast);
        }
    }
}

/// Everything that a MAC tells in 300 ms, as text, with how long each radio found the channel busy
/// at some times.
fn outputs_of(mut mac: Mac<Datagram>, flows: &[Flow], neighbours: Neighbours) -> Vec<String> {
    let mut told = Vec::new();
    mac.handle(Time::ZERO, Input::SetNeighbours(neighbours));
    let mut due = first_due(flows);
    let mut steps = 0_u32;
    loop {
        let (index, now) = next_due(&due);
        if now > Time::from_millis(300) {
            return told;
        }
        due[index] += flows[index].gap.max(Duration::from_micros(20));
        mac.handle(now, flows[index].send(index, now.as_nanos()));
        while let Some(output) = mac.poll() {
            told.push(format!("{output:?}"));
        }
        steps += 1;
        if steps.is_multiple_of(97) {
            for radio in (0..mac.radios()).map(RadioId::from_index) {
                told.push(format!("{radio} {now} {:?}", mac.channel(radio, now)));
            }
        }
    }
}
