mod air;
mod custom;
mod driver;
mod field;
mod management;
mod paths;
mod random;

use super::*;
use airpace_core::phy::{AccessCategory, Edca, GuardInterval, Standard, Timing, TxRate, Width};
use airpace_units::StationId;
use proptest::prelude::*;
use siphasher::sip::SipHasher13;
use std::hash::Hasher;

/// IP bytes of the packet that ns-3's reference results use (payload 1470).
const IP_BYTES: u32 = 1_498;
const PAYLOAD_BITS: f64 = 1_470.0 * 8.0;

/// A constant-rate source.
#[derive(Clone, Copy, Debug)]
struct Source {
    station: u32,
    direction: Direction,
    gap: Duration,
    phase: Duration,
}

/// The results of a run.
#[derive(Default, Debug)]
struct Tally {
    sent: u64,
    delivered: Vec<u64>,
    delay: Duration,
    dropped: u64,
    frames: Vec<FrameRecord>,
    last_id: Vec<Option<u64>>,
    out_of_order: u64,
    digest: u64,
    seconds: f64,
}

fn vht(nss: u8, mcs: u8) -> TxRate {
    TxRate::new(Standard::Vht, Width::Mhz80, nss, mcs, GuardInterval::Ns800).unwrap()
}

fn cell(rates: &[TxRate]) -> CellConfig {
    CellConfig {
        timing: Timing::Ns3,
        access_point: PathConfig::per_station(500),
        ..CellConfig::new(rates.iter().map(|&rate| StationConfig::new(rate)).collect())
    }
}

fn downlink(station: u32, payload_mbps: f64) -> Source {
    let gap = Duration::from_secs_f64(PAYLOAD_BITS / (payload_mbps * 1e6));
    Source {
        station,
        direction: Direction::Down,
        gap,
        phase: gap.mul_f64(0.3 + 0.1 * f64::from(station)),
    }
}

/// Runs the cell for `until`; the first tenth is a warm-up that is not counted.
fn run(config: CellConfig, seed: u64, sources: &[Source], until: Duration) -> Tally {
    run_mac(Mac::cell(&config, seed).unwrap(), sources, until)
}

fn run_mac(mut mac: Mac<Datagram>, sources: &[Source], until: Duration) -> Tally {
    let links = 64;
    let warm = Time::ZERO + until / 10;
    let end = Time::ZERO + until;
    let mut tally = Tally {
        delivered: vec![0; links],
        last_id: vec![None; links],
        ..Tally::default()
    };
    let mut digest = SipHasher13::new();
    let mut due: Vec<Time> = sources
        .iter()
        .map(|source| Time::ZERO + source.phase)
        .collect();
    let mut births: Vec<Time> = Vec::new();
    loop {
        let (index, &arrival) = due.iter().enumerate().min_by_key(|&(_, &at)| at).unwrap();
        let now = arrival.min(mac.deadline().unwrap_or(Time::MAX));
        if now > end {
            break;
        }
        if now == arrival {
            let Source {
                station,
                direction,
                gap,
                ..
            } = sources[index];
            let (station, packet) = (
                StationId(station),
                Datagram::new(births.len() as u64, IP_BYTES),
            );
            births.push(now);
            due[index] += gap;
            tally.sent += u64::from(now >= warm);
            let input = match direction {
                Direction::Down => Input::down(station, packet),
                Direction::Up => Input::up(station, packet),
            };
            mac.handle(now, input);
        } else {
            mac.handle(now, Input::Tick);
        }
        while let Some(output) = mac.poll() {
            digest.write(format!("{output:?}").as_bytes());
            tally.take(output, warm, &births);
        }
    }
    tally.digest = digest.finish();
    tally.seconds = (until - until / 10).as_secs_f64();
    tally
}

impl Tally {
    fn take(&mut self, output: Output<Datagram>, warm: Time, births: &[Time]) {
        match output {
            Output::Delivered { at, mpdu, packet } => {
                let link =
                    mpdu.station().index() * 2 + usize::from(mpdu.direction() == Direction::Up);
                self.out_of_order +=
                    u64::from(self.last_id[link].is_some_and(|last| last >= packet.id));
                self.last_id[link] = Some(packet.id);
                if at >= warm {
                    self.delivered[link] += 1;
                    self.delay += at.since(births[packet.id as usize]);
                }
            }
            Output::Dropped { at, .. } => self.dropped += u64::from(at >= warm),
            Output::Frame(frame) if frame.start >= warm => self.frames.push(*frame),
            Output::Frame(_) | Output::Heard { .. } => {}
        }
    }

    fn goodput_mbps(&self) -> f64 {
        self.delivered.iter().sum::<u64>() as f64 * PAYLOAD_BITS / self.seconds / 1e6
    }

    fn mean_delay_ms(&self) -> f64 {
        self.delay.as_secs_f64() * 1e3 / self.delivered.iter().sum::<u64>() as f64
    }

    fn level(&self) -> f64 {
        self.frames
            .iter()
            .map(|frame| f64::from(frame.mpdus))
            .sum::<f64>()
            / self.frames.len() as f64
    }

    fn airtime(&self) -> f64 {
        self.frames
            .iter()
            .map(|frame| frame.airtime.as_secs_f64())
            .sum::<f64>()
            / self.seconds
    }
}

#[track_caller]
fn assert_near(measured: f64, expected: f64, relative: f64) {
    assert!(
        (measured / expected - 1.0).abs() <= relative,
        "measured {measured}, expected {expected} ± {}%",
        relative * 100.0
    );
}

#[test]
fn an_idle_channel_is_taken_at_the_next_slot_boundary() {
    let mut mac = Mac::cell(
        &CellConfig {
            beacons: false,
            ..cell(&[vht(1, 9)])
        },
        1,
    )
    .unwrap();
    // Idle since 0; the first AIFS ends at 43 µs; slot boundaries at 43 + 9k.
    let packet = Datagram::new(0, IP_BYTES);
    mac.handle(Time::from_micros(1_000), Input::down(StationId(0), packet));
    assert_eq!(mac.deadline(), Some(Time::from_micros(43 + 9 * 107)));
    mac.handle(Time::from_micros(2_000), Input::Tick);
    let Some(Output::Frame(frame)) = mac.poll() else {
        panic!("a frame was sent")
    };
    assert_eq!(
        frame.end.since(frame.start),
        Duration::from_micros(68),
        "TIMINGS.md: one MPDU, MCS 9, one stream"
    );
    assert_eq!(
        frame.airtime,
        Duration::from_micros(68 + 16 + 28),
        "a single MPDU is answered by an ack at 24 Mbit/s"
    );
}

#[test]
fn agrees_with_ns3_family_s1() {
    // Offered load, goodput, mean delay to the end of the PPDU (ms) and level as ns-3 3.44 has them
    // (S1.csv, MCS 9).
    let rows = [
        (1, 33.9, 33.9, 0.073_5, 1.0),
        (1, 135.6, 135.6, 0.311, 3.568),
        (1, 237.3, 237.3, 0.664, 10.99),
        (1, 298.3, 298.3, 1.360, 25.60),
        (2, 248.4, 248.4, 0.298, 6.359),
        (2, 496.8, 496.8, 0.759, 25.70),
        (2, 583.7, 583.7, 1.261, 46.86),
    ];
    for (nss, offered, goodput, delay, level) in rows {
        let tally = run(
            cell(&[vht(nss, 9)]),
            1,
            &[downlink(0, offered)],
            Duration::from_secs(3),
        );
        println!(
            "nss {nss} {offered}: {} {} {}",
            tally.goodput_mbps(),
            tally.mean_delay_ms(),
            tally.level()
        );
        assert_near(tally.goodput_mbps(), goodput, 0.01);
        assert_near(tally.mean_delay_ms(), delay, 0.06);
        assert_near(tally.level(), level, 0.05);
    }
}

#[test]
fn a_saturated_cell_carries_what_ns3_carries() {
    for (nss, offered, goodput) in [(1, 356.0, 338.3), (2, 652.0, 619.6)] {
        let tally = run(
            cell(&[vht(nss, 9)]),
            1,
            &[downlink(0, offered)],
            Duration::from_secs(3),
        );
        assert_near(tally.goodput_mbps(), goodput, 0.01);
        assert_near(tally.level(), 64.0, 0.001);
        assert!(tally.dropped > 0);
    }
}

#[test]
fn stations_are_served_in_turn_whatever_their_rates() {
    let sources = [downlink(0, 400.0), downlink(1, 400.0), downlink(2, 400.0)];
    let tally = run(
        cell(&[vht(1, 9), vht(1, 5), vht(1, 1)]),
        3,
        &sources,
        Duration::from_secs(2),
    );
    for pair in tally.frames.windows(2) {
        assert_eq!(pair[1].station().0, (pair[0].station().0 + 1) % 3);
    }
    // 5.484 ms at 58.5 Mbit/s hold 25 packets, as in S3 (r38.5rr).
    assert!(
        tally
            .frames
            .iter()
            .filter(|frame| frame.station().0 == 2)
            .all(|frame| frame.mpdus == 25)
    );
}

#[test]
fn no_frame_exceeds_the_longest_ppdu() {
    let slow = TxRate::new(Standard::Ht, Width::Mhz20, 1, 0, GuardInterval::Ns400).unwrap();
    let tally = run(
        cell(&[slow]),
        1,
        &[downlink(0, 20.0)],
        Duration::from_secs(1),
    );
    assert!(
        tally.frames.iter().all(|frame| frame.mpdus == 3),
        "ns-3, S6: three MPDUs of 1500 bytes at 7.2 Mbit/s"
    );
}

#[test]
fn a_single_ht_mpdu_has_no_delimiter_except_in_ns3() {
    let ht = TxRate::new(Standard::Ht, Width::Mhz20, 1, 7, GuardInterval::Ns800).unwrap();
    let psdu = |timing| {
        let tally = run(
            CellConfig {
                timing,
                ..cell(&[ht])
            },
            1,
            &[downlink(0, 1.0)],
            Duration::from_millis(200),
        );
        tally
            .frames
            .iter()
            .map(|frame| (frame.mpdus, frame.psdu_bytes))
            .max()
            .unwrap()
    };
    assert_eq!(psdu(Timing::Standard), (1, 1_536));
    assert_eq!(psdu(Timing::Ns3), (1, 1_540));
}

#[test]
fn more_than_64_mpdus_are_answered_by_a_longer_block_ack() {
    let he = TxRate::new(Standard::He, Width::Mhz80, 2, 11, GuardInterval::Ns800).unwrap();
    let answer = |max_mpdus| {
        let tally = run(
            CellConfig {
                max_mpdus,
                ..cell(&[he])
            },
            1,
            &[downlink(0, 2_000.0)],
            Duration::from_millis(100),
        );
        let longest = tally.frames.iter().max_by_key(|frame| frame.mpdus).unwrap();
        (
            longest.mpdus,
            longest.airtime - longest.end.since(longest.start) - airpace_core::phy::SIFS,
        )
    };
    assert_eq!(answer(64), (64, Duration::from_micros(32)));
    assert_eq!(answer(256), (256, Duration::from_micros(40)));
}

#[test]
fn the_txop_limit_bounds_a_frame_and_its_answer() {
    let longest = |category, rate: TxRate| {
        let config = CellConfig {
            category,
            ..cell(&[rate])
        };
        let tally = run(config, 1, &[downlink(0, 500.0)], Duration::from_millis(500));
        tally
            .frames
            .iter()
            .map(|frame| (frame.airtime, frame.mpdus))
            .max()
            .unwrap()
    };
    // One MPDU more would take 210 µs at MCS 1, one stream.
    for (category, limit) in [
        (AccessCategory::Video, 3_008),
        (AccessCategory::Voice, 1_504),
    ] {
        let (airtime, mpdus) = longest(Some(category), vht(1, 1));
        let limit = Duration::from_micros(limit);
        assert!(
            airtime <= limit && airtime + Duration::from_micros(215) > limit && mpdus > 1,
            "{category:?} {airtime:?}"
        );
    }
    // The first MPDU of a TXOP is always sent.
    let slow = TxRate::new(Standard::Ht, Width::Mhz20, 1, 0, GuardInterval::Ns800).unwrap();
    let (airtime, mpdus) = longest(Some(AccessCategory::Voice), slow);
    assert!(
        mpdus == 1 && airtime > Duration::from_micros(1_504),
        "{airtime:?}"
    );
}

#[test]
fn lost_mpdus_are_sent_again_and_delivered_in_order() {
    let mut config = cell(&[vht(1, 9)]);
    config.stations[0].loss = 0.1;
    let tally = run(config, 5, &[downlink(0, 200.0)], Duration::from_secs(2));
    assert_eq!((tally.dropped, tally.out_of_order), (0, 0));
    assert_near(tally.goodput_mbps(), 200.0, 0.01);
    let (mpdus, retries) = tally.frames.iter().fold((0, 0), |(m, r), f| {
        (m + u32::from(f.mpdus), r + u32::from(f.retries))
    });
    assert_near(f64::from(retries) / f64::from(mpdus), 0.1, 0.05);
}

#[test]
fn a_station_out_of_range_loses_its_packets_at_the_retry_limit() {
    let mut config = cell(&[vht(1, 9), vht(1, 9)]);
    config.stations[0].loss = 0.999_999;
    let tally = run(
        config,
        5,
        &[downlink(0, 10.0), downlink(1, 10.0)],
        Duration::from_secs(2),
    );
    assert!(tally.dropped > 0);
    assert_near(
        tally.delivered[2] as f64 * PAYLOAD_BITS / tally.seconds / 1e6,
        10.0,
        0.1,
    );
    let tries = tally
        .frames
        .iter()
        .filter(|frame| frame.station().0 == 0 && frame.retries == 0)
        .count();
    assert!(
        tries * 6 < tally.frames.len(),
        "every frame to the lost station is sent seven times"
    );
}

#[test]
fn uplink_contends_and_collides() {
    let up = Source {
        direction: Direction::Up,
        ..downlink(0, 400.0)
    };
    let tally = run(
        cell(&[vht(1, 9)]),
        9,
        &[downlink(0, 400.0), up],
        Duration::from_secs(3),
    );
    let collided = tally.frames.iter().filter(|frame| frame.collided).count() as f64
        / tally.frames.len() as f64;
    // Two saturated contenders with CWmin 15: conditional collision probability 1/(CWmin/2 + 1) ≈
    // 0.1 (Bianchi's fixed point: 0.105).
    assert!((0.08..0.14).contains(&collided), "{collided}");
    assert_near(
        tally.delivered[0] as f64 / tally.delivered[1] as f64,
        1.0,
        0.1,
    );
    // Colliding frames overlap, so their airtimes add up to more than the time they took.
    let alone: f64 = tally
        .frames
        .iter()
        .filter(|frame| !frame.collided)
        .map(|frame| frame.airtime.as_secs_f64())
        .sum();
    assert!(
        (0.7..1.0).contains(&(alone / tally.seconds)) && tally.airtime() < 1.1,
        "{alone} {}",
        tally.airtime()
    );
    assert_eq!(tally.out_of_order, 0);
}

#[test]
fn neighbours_lengthen_the_access_time() {
    let frames = |neighbours| {
        let mut mac = Mac::cell(&cell(&[vht(1, 9)]), 2).unwrap();
        mac.handle(Time::ZERO, Input::SetNeighbours(neighbours));
        let tally = run_mac(mac, &[downlink(0, 500.0)], Duration::from_secs(2));
        tally
            .frames
            .iter()
            .filter(|frame| frame.decoded > 0)
            .count() as f64
    };
    let alone = frames(Neighbours {
        count: 0,
        airtime: Duration::ZERO,
    });
    let shared = frames(Neighbours {
        count: 1,
        airtime: Duration::from_micros(2_100),
    });
    // A neighbour with frames of the same length gets half of the channel, apart from collisions.
    assert!(
        (0.4..0.52).contains(&(shared / alone)),
        "{}",
        shared / alone
    );
}

#[test]
fn a_trace_changes_the_rate() {
    let mut config = cell(&[vht(2, 9)]);
    config.trace = vec![RateChange {
        at: Time::from_millis(1_000),
        station: StationId(0),
        rate: vht(1, 9),
    }];
    let tally = run(config, 2, &[downlink(0, 200.0)], Duration::from_secs(2));
    for frame in &tally.frames {
        assert_eq!(
            frame.rate.nss(),
            if frame.start < Time::from_millis(1_000) {
                2
            } else {
                1
            }
        );
    }
}

#[test]
fn beacons_take_their_airtime() {
    let frames = |beacons| {
        run(
            CellConfig {
                beacons,
                ..cell(&[vht(1, 9)])
            },
            1,
            &[downlink(0, 500.0)],
            Duration::from_secs(5),
        )
        .frames
        .len() as f64
    };
    // (236 µs + PIFS and what is left of the back-off) every 102.4 ms.
    assert_near(frames(true) / frames(false), 1.0 - 0.26 / 102.4, 0.002);
}

#[test]
fn the_same_seed_gives_the_same_output() {
    let run = |seed| {
        let mut config = cell(&[vht(1, 9), vht(1, 4)]);
        config.stations[1].loss = 0.05;
        let up = Source {
            direction: Direction::Up,
            ..downlink(1, 20.0)
        };
        run(
            config,
            seed,
            &[downlink(0, 150.0), downlink(1, 50.0), up],
            Duration::from_millis(300),
        )
        .digest
    };
    assert_eq!(run(4), run(4));
    assert_ne!(run(4), run(5));
}

#[test]
fn calling_late_does_not_change_the_output() {
    let arrivals = |mac: &mut Mac<Datagram>, k: u64| {
        mac.handle(
            Time::from_micros(700 * k),
            Input::down(StationId(0), Datagram::new(k, IP_BYTES)),
        );
    };
    let drain = |mac: &mut Mac<Datagram>, into: &mut Vec<String>| {
        into.extend(core::iter::from_fn(|| mac.poll()).map(|output| format!("{output:?}")));
    };
    let (mut prompt, mut late) = (Vec::new(), Vec::new());
    let mut mac = Mac::cell(&cell(&[vht(1, 0)]), 8).unwrap();
    for k in 0..500 {
        while let Some(at) = mac
            .deadline()
            .filter(|&at| at <= Time::from_micros(700 * k))
        {
            mac.handle(at, Input::Tick);
        }
        arrivals(&mut mac, k);
        drain(&mut mac, &mut prompt);
    }
    let mut mac = Mac::cell(&cell(&[vht(1, 0)]), 8).unwrap();
    for k in 0..500 {
        arrivals(&mut mac, k);
    }
    drain(&mut mac, &mut late);
    assert_eq!(prompt, late);
}

#[test]
fn invalid_configurations_are_refused_and_unknown_links_reported() {
    assert_eq!(
        Mac::<Datagram>::cell(&CellConfig::new(Vec::new()), 1).unwrap_err(),
        ConfigError::NoStation
    );
    let bad = CellConfig {
        retry_limit: 0,
        ..cell(&[vht(1, 9)])
    };
    assert_eq!(
        Mac::<Datagram>::cell(&bad, 1).unwrap_err().to_string(),
        "the retry limit must be at least 1"
    );
    let mut mac = Mac::cell(&cell(&[vht(1, 9)]), 1).unwrap();
    for direction in [Direction::Down, Direction::Up] {
        let (from, to) = ends(StationId(9), direction);
        let quality = Quality::Loss(f64::NAN);
        mac.handle(Time::ZERO, Input::SetQuality { from, to, quality });
    }
    mac.handle(Time::ZERO, Input::up(StationId(9), Datagram::new(0, 60)));
    assert!(matches!(
        mac.poll(),
        Some(Output::Dropped {
            reason: DropReason::UnknownLink,
            ..
        })
    ));
}

fn any_scenario() -> impl Strategy<Value = (CellConfig, Vec<Source>)> {
    let station = (1_u8..=3, 0_u8..=8, prop_oneof![Just(0.0), 0.0..0.6]);
    let source = (0_u32..4, any::<bool>(), 20_u64..3_000, 0_u64..1_000);
    let stations = proptest::collection::vec(station, 1..4);
    (
        stations,
        proptest::collection::vec(source, 1..6),
        any::<[bool; 3]>(),
        1_usize..200,
    )
        .prop_map(|(stations, sources, flags, limit)| {
            let station = |(nss, mcs, loss)| StationConfig {
                loss,
                ..StationConfig::new(vht(if mcs == 6 { 1 } else { nss }, mcs))
            };
            let stations: Vec<_> = stations.into_iter().map(station).collect();
            let count = stations.len() as u32;
            let config = CellConfig {
                beacons: flags[0],
                monitor: if flags[1] {
                    Monitoring::Packets
                } else {
                    Monitoring::Off
                },
                in_order: flags[2],
                access_point: PathConfig::per_station(limit),
                station: PathConfig::per_station(limit),
                ..CellConfig::new(stations)
            };
            let source = |(station, up, gap, phase)| Source {
                station: station % count,
                direction: if up { Direction::Up } else { Direction::Down },
                gap: Duration::from_micros(gap),
                phase: Duration::from_micros(phase),
            };
            (config, sources.into_iter().map(source).collect())
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Packets are conserved and stay in order, frames do not overlap, and every limit is kept.
    #[test]
    fn invariants_hold_in_any_scenario((config, sources) in any_scenario(), seed in any::<u64>()) {
        let (in_order, limit) = (config.in_order, config.access_point.limit().unwrap().packets);
        let mut mac = Mac::cell(&config, seed).unwrap();
        let mut due: Vec<Time> = sources.iter().map(|source| Time::ZERO + source.phase).collect();
        let (mut sent, mut gone, mut last_end) = (0_u64, 0_u64, Time::ZERO);
        let mut last_id = [None; 8];
        while sent < 2_000 {
            let (index, &now) = due.iter().enumerate().min_by_key(|&(_, &at)| at).unwrap();
            let Source { station, direction, gap, .. } = sources[index];
            let (station, packet) = (StationId(station), Datagram::new(sent, IP_BYTES));
            due[index] += gap;
            sent += 1;
            mac.handle(now, match direction {
                Direction::Down => Input::down(station, packet),
                Direction::Up => Input::up(station, packet),
            });
            prop_assert!(mac.deadline().is_none_or(|at| at >= now));
            prop_assert!(mac.queued(ends(station, Direction::Down).0, ends(station, Direction::Down).1) <= limit);
            while let Some(output) = mac.poll() {
                match output {
                    Output::Frame(frame) => {
                        prop_assert!(frame.collided || frame.start >= last_end);
                        prop_assert!(frame.end.since(frame.start) <= Duration::from_micros(5_484));
                        prop_assert!(frame.mpdus <= 64 && frame.decoded <= frame.mpdus && frame.retries <= frame.mpdus);
                        last_end = last_end.max(frame.end);
                    }
                    Output::Delivered { mpdu, packet, at } => {
                        prop_assert!(at <= now);
                        let link = mpdu.station().index() * 2 + usize::from(mpdu.direction() == Direction::Up);
                        prop_assert!(!in_order || last_id[link].is_none_or(|last| last < packet.id));
                        last_id[link] = Some(packet.id);
                        gone += 1;
                    }
                    Output::Dropped { .. } => gone += 1,
                    Output::Heard { .. } => {}
                }
            }
            let held = (0..mac.radios()).map(|radio| mac.held(RadioId::from_index(radio)) as u64).sum::<u64>();
            prop_assert_eq!(sent, gone + held);
        }
    }
}
