//! The proxy by itself, with packets that have a length and a flow and nothing else.

use super::*;
use airpace_core::control::{Aim, Goal, Law, LawConfig};
use airpace_core::control::{BacklogChange, RateController};
use airpace_core::pace::PaceConfig;
use airpace_core::packet::Packet;
use airpace_core::phy::AccessCategory;
use airpace_core::queue::DropReason;
use airpace_core::queue::{DualQueue, FqCoDelConfig};
use airpace_core::report::{Allocation, LevelSource, SlotReport, WaitSource, WaitingTime};
use airpace_units::BitRate;
use airpace_units::{StationId, Time};
use core::hash::Hasher;
use core::time::Duration;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

const SLOT: Duration = Duration::from_millis(100);
const PACKET_BYTES: u32 = 1500;
/// Packets that a station may send in its turn.
const TURN: usize = 32;

const fn ms(ms: u64) -> Time {
    Time::from_millis(ms)
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct ToyPacket {
    number: u32,
    flow: u32,
    bytes: u32,
}

impl ToyPacket {
    const fn new(number: u32) -> Self {
        Self {
            number,
            flow: 0,
            bytes: PACKET_BYTES,
        }
    }
}

impl Packet for ToyPacket {
    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn hash_flow<H: Hasher>(&self, state: &mut H) {
        state.write_u32(self.flow);
    }

    fn mark_ce(&mut self) -> bool {
        false
    }
}

/// A law that gives every known station the same rate, which a test can change at any time.
struct TestLaw {
    rate_bps: Arc<Mutex<f64>>,
    allocations: Vec<Allocation>,
    /// What it was told between slots, and when.
    told: Arc<Mutex<Vec<(Time, BacklogChange)>>>,
}

impl RateController for TestLaw {
    fn name(&self) -> &'static str {
        "test"
    }

    fn on_slot(&mut self, _now: Time, reports: &[SlotReport]) -> &[Allocation] {
        let rate_bps = *self.rate_bps.lock().expect("no test panics with it");
        for report in reports {
            if self.allocations.iter().all(|a| a.station != report.station) {
                self.allocations.push(allocation(report.station, rate_bps));
            }
        }
        for known in &mut self.allocations {
            *known = allocation(known.station, rate_bps);
        }
        &self.allocations
    }

    fn on_backlog(&mut self, now: Time, changes: &[BacklogChange]) -> Option<&[Allocation]> {
        let mut told = self.told.lock().expect("no test panics with it");
        told.extend(changes.iter().map(|change| (now, *change)));
        None
    }

    fn remove(&mut self, station: StationId) {
        self.allocations.retain(|known| known.station != station);
    }
}

fn allocation(station: StationId, rate_bps: f64) -> Allocation {
    Allocation {
        station,
        rate_pps: rate_bps / 8.0 / f64::from(PACKET_BYTES),
        rate_bytes_per_s: rate_bps / 8.0,
        level: 32.0,
        pause: Duration::ZERO,
    }
}

/// Stations without bursts, so that releases are exact.
fn config(stations: usize, pacing: Pacing) -> ProxyConfig {
    ProxyConfig {
        pacing,
        pace: PaceConfig {
            burst: Duration::ZERO,
            burst_packets: 1,
            ..PaceConfig::default()
        },
        // A flow of full packets is not sparse from its second packet on.
        queue: FqCoDelConfig {
            quantum: 256,
            ..FqCoDelConfig::default()
        },
        stations: vec![StationConfig::default(); stations],
        ..ProxyConfig::default()
    }
}

/// A proxy whose stations are all connected at time zero.
fn connected(config: ProxyConfig) -> Proxy<ToyPacket> {
    let stations = config.stations.len();
    let mut proxy = Proxy::new(config, |station| [station as u8; 16]).expect("the law is valid");
    for station in 0..stations {
        proxy.set_connected(Time::ZERO, station, true);
    }
    proxy
}

/// A proxy under a law whose rate, in bit/s, the test sets through the second value.
fn under_test_law(stations: usize, rate_bps: f64) -> (Proxy<ToyPacket>, Arc<Mutex<f64>>) {
    let (proxy, rate, _) = under_told_law(stations, rate_bps);
    (proxy, rate)
}

type Told = Arc<Mutex<Vec<(Time, BacklogChange)>>>;

/// The same with what the law is told between slots.
fn under_told_law(stations: usize, rate_bps: f64) -> (Proxy<ToyPacket>, Arc<Mutex<f64>>, Told) {
    let rate = Arc::new(Mutex::new(rate_bps));
    let told = Told::default();
    let shared = (Arc::clone(&rate), Arc::clone(&told));
    let law = CustomLaw::new(move || {
        Box::new(TestLaw {
            rate_bps: Arc::clone(&shared.0),
            allocations: Vec::new(),
            told: Arc::clone(&shared.1),
        })
    });
    (connected(config(stations, Pacing::Custom(law))), rate, told)
}

/// A report on a slot in which 20 frames of 16 packets came.
fn report(station: usize, slot: u64) -> SlotReport {
    SlotReport {
        slot,
        frames: 20,
        mpdus: 320,
        packets: 320,
        bytes: 320 * u64::from(PACKET_BYTES),
        span: Some((Time::ZERO, ms(95))),
        source: LevelSource::SocketTimestamps,
        ..SlotReport::silent(StationId::from_index(station), SLOT)
    }
}

fn fill(proxy: &mut Proxy<ToyPacket>, now: Time, station: usize, packets: u32) {
    for number in 0..packets {
        proxy.enqueue(now, station, ToyPacket::new(number));
    }
}

/// The stations of all packets that leave at `now`.
fn stations_served(proxy: &mut Proxy<ToyPacket>, now: Time) -> Vec<usize> {
    let mut served = Vec::new();
    while let Some(output) = proxy.poll(now) {
        match output {
            Output::Packet { station, .. } | Output::Load { station, .. } => served.push(station),
        }
    }
    served
}

#[test]
fn many_stations_take_turns_of_at_most_32_packets() {
    let stations = 40;
    let mut proxy = connected(config(stations, Pacing::Unpaced));
    for station in 0..stations {
        fill(&mut proxy, Time::ZERO, station, 100);
    }
    let served = stations_served(&mut proxy, Time::ZERO);
    assert_eq!(served.len(), 100 * stations);
    // Three rounds of whole turns in the order in which the stations became busy, and one of what
    // is left.
    let mut expected = Vec::new();
    for turn in [TURN, TURN, TURN, 100 - 3 * TURN] {
        for station in 0..stations {
            expected.extend(std::iter::repeat_n(station, turn));
        }
    }
    assert_eq!(served, expected);
}

#[test]
fn paced_stations_each_keep_their_rate_however_many_there_are() {
    let stations = 100;
    let rate = Pacing::Fixed(BitRate::from_mbps(12));
    let mut proxy = connected(config(stations, rate));
    for station in 0..stations {
        fill(&mut proxy, Time::ZERO, station, 200);
    }
    let mut counts = vec![0; stations];
    let mut now = Time::ZERO;
    while now < ms(50) {
        for station in stations_served(&mut proxy, now) {
            counts[station] += 1;
        }
        now = proxy.deadline().expect("packets wait").max(now);
    }
    // 1500 bytes at 12 Mbit/s leave every millisecond.
    assert_eq!(counts, vec![50; stations]);
}

#[test]
fn a_station_whose_rate_rises_is_released_at_the_new_time() {
    // 1 Mbit/s: a packet every 12 ms.
    let (mut proxy, rate) = under_test_law(1, 1e6);
    proxy.on_report(ms(100), report(0, 0));
    fill(&mut proxy, ms(150), 0, 100);
    assert_eq!(stations_served(&mut proxy, ms(150)), [0]);
    assert_eq!(proxy.deadline(), Some(ms(162)));
    *rate.lock().expect("free") = 4e6;
    // The proxy decides again half a slot after the last decision at the earliest.
    proxy.on_report(ms(150), report(0, 1));
    assert_eq!(proxy.deadline(), Some(ms(153)));
    assert!(stations_served(&mut proxy, Time::from_micros(152_999)).is_empty());
    assert_eq!(stations_served(&mut proxy, ms(153)), [0]);
}

#[test]
fn a_station_whose_rate_falls_waits_longer_and_the_old_release_does_nothing() {
    let (mut proxy, rate) = under_test_law(1, 4e6);
    proxy.on_report(ms(100), report(0, 0));
    fill(&mut proxy, ms(150), 0, 100);
    assert_eq!(stations_served(&mut proxy, ms(150)), [0]);
    *rate.lock().expect("free") = 1e6;
    proxy.on_report(ms(150), report(0, 1));
    // The old entry of the heap still wakes the caller, and then goes.
    assert_eq!(proxy.deadline(), Some(ms(153)));
    assert!(stations_served(&mut proxy, ms(153)).is_empty());
    assert_eq!(proxy.deadline(), Some(ms(162)));
    assert_eq!(stations_served(&mut proxy, ms(162)), [0]);
}

#[test]
fn a_station_at_rate_zero_waits_for_the_grant_that_brings_it_back() {
    let (mut proxy, rate) = under_test_law(1, 0.0);
    proxy.on_report(ms(100), report(0, 0));
    fill(&mut proxy, ms(100), 0, 10);
    assert!(stations_served(&mut proxy, ms(150)).is_empty());
    // Only the end of the slot is due.
    assert_eq!(proxy.deadline(), Some(ms(250)));
    *rate.lock().expect("free") = 12e6;
    proxy.on_report(ms(200), report(0, 1));
    assert_eq!(stations_served(&mut proxy, ms(200)), [0]);
    // Packets waited, so the first is charged as if it had left up to 0.8 ms earlier.
    assert_eq!(proxy.deadline(), Some(Time::from_micros(200_200)));
}

#[test]
fn a_start_rate_from_the_law_introduces_a_station_without_waiting_for_it() {
    let goal = Goal::papers(32.0, None);
    let law = LawConfig::named(Law::Waterfill, goal);
    let mut proxy = connected(ProxyConfig {
        start: StartRate::FromLaw,
        records: true,
        ..config(2, Pacing::Law(law))
    });
    assert_eq!(proxy.granted(0), None, "the law has not decided yet");
    proxy.begin_slot(Time::ZERO);
    let first = proxy.granted(0).expect("the law gives a first rate");
    assert!(first.rate_pps > 0.0);
    assert_eq!(proxy.mode(0), Some(Mode::Starting));
    while proxy.poll_record().is_some() {}
    // Both stations are awaited now: one report alone decides nothing.
    proxy.on_report(ms(100), report(0, 0));
    assert!(proxy.poll_record().is_none());
    proxy.on_report(ms(101), report(1, 0));
    assert_eq!(proxy.poll_record().map(|record| record.at), Some(ms(101)));
}

/// Whether a station counts as backlogged whose packets would all have waited for the pacer in a dry
/// run, and waited for so long at the access point in rounds of 5 ms.
fn is_backlogged_in_dry_run(waited: Duration) -> bool {
    let mut proxy = connected(ProxyConfig {
        dry_run: true,
        ..config(1, Pacing::Fixed(BitRate::from_mbps(1)))
    });
    proxy.on_report(ms(100), report(0, 0));
    fill(&mut proxy, ms(150), 0, 100);
    stations_served(&mut proxy, ms(150));
    proxy.on_report(
        ms(200),
        SlotReport {
            wait: Some(WaitingTime {
                mean: waited,
                p50: waited,
                p95: waited,
                p99: waited,
                source: WaitSource::BlockAcks,
            }),
            ..report(0, 1)
        },
    );
    let last = proxy.last_report(0).expect("it has just come");
    last.sender.backlogged
}

#[test]
fn packets_that_do_not_wait_for_a_frame_are_not_a_backlog_in_a_dry_run() {
    assert!(is_backlogged_in_dry_run(Duration::from_millis(50)));
    assert!(is_backlogged_in_dry_run(Duration::from_micros(2_500)));
    assert!(!is_backlogged_in_dry_run(Duration::from_micros(500)));
}

#[test]
fn the_first_record_of_a_station_spans_the_time_since_it_connected() {
    let pacing = Pacing::Fixed(BitRate::from_mbps(1));
    let mut proxy = Proxy::<ToyPacket>::new(
        ProxyConfig {
            records: true,
            ..config(1, pacing)
        },
        |_| [0; 16],
    )
    .expect("it is valid");
    // The clock of a box began when the machine did.
    let late = Time::from_millis(55_000_000);
    proxy.set_connected(late, 0, true);
    let report = SlotReport {
        slot: 1,
        ..report(0, 0)
    };
    proxy.on_report(late + SLOT, report);
    proxy.handle_timeout(late + 2 * SLOT);
    let record = proxy.poll_record().expect("a slot has ended");
    assert!(record.length <= 2 * SLOT, "{:?}", record.length);
}

/// Two stations under the default law that have reported, and their rates decided, at 100 ms.
fn two_that_have_reported(frames: u32) -> Proxy<ToyPacket> {
    let goal = Goal::papers(32.0, None);
    let law = LawConfig::named(Law::Waterfill, goal);
    let mut proxy = connected(ProxyConfig {
        records: true,
        ..config(2, Pacing::Law(law))
    });
    for station in 0..2 {
        let packets = 16 * frames;
        let first = SlotReport {
            frames,
            mpdus: packets,
            packets,
            bytes: u64::from(packets * PACKET_BYTES),
            ..report(station, 0)
        };
        proxy.on_report(ms(100), first);
    }
    proxy.handle_timeout(ms(150));
    while proxy.poll_record().is_some() {}
    proxy
}

#[test]
fn a_station_that_was_idle_and_receives_much_brings_the_decision() {
    let mut proxy = two_that_have_reported(2);
    proxy.on_report(ms(200), report(0, 1));
    assert_eq!(proxy.poll_record().map(|record| record.at), Some(ms(200)));
}

#[test]
fn reports_of_all_stations_at_once_bring_one_decision_on_all_of_them() {
    // Both had few frames, so that the first report alone would be news.
    let mut proxy = two_that_have_reported(2);
    proxy.on_reports(ms(200), (0..2).map(|station| report(station, 1)));
    let decided: Vec<_> = std::iter::from_fn(|| proxy.poll_record()).collect();
    assert_eq!(decided.len(), 2, "one record per station and decision");
    for record in &decided {
        assert_eq!(record.at, ms(200));
        assert!(record.report.is_some(), "{record:?}");
    }
    assert_eq!(proxy.deadline(), Some(ms(300)));
}

#[test]
fn idle_stations_are_decided_for_once_per_slot() {
    let proxy = two_that_have_reported(2);
    assert_eq!(proxy.deadline(), Some(ms(200)));
}

#[test]
fn news_right_after_a_decision_is_decided_on_soon() {
    let mut proxy = two_that_have_reported(20);
    let news = |slot| SlotReport {
        length: Duration::from_millis(30),
        ..report(0, slot)
    };
    proxy.on_report(ms(130), news(1));
    let decided: Vec<_> = std::iter::from_fn(|| proxy.poll_record()).collect();
    assert_eq!(decided[0].at, ms(130));
    // The soonest is a twentieth of a slot later, also for news that joins a report that waits.
    proxy.on_report(ms(131), news(2));
    proxy.on_report(ms(132), news(3));
    assert_eq!(proxy.deadline(), Some(ms(135)));
}

#[test]
fn a_station_that_joins_later_does_not_hold_up_the_decision_that_introduces_it() {
    let goal = Goal::papers(32.0, None);
    let law = LawConfig::named(Law::Waterfill, goal);
    let mut proxy: Proxy<ToyPacket> = Proxy::new(
        ProxyConfig {
            start: StartRate::FromLaw,
            records: true,
            ..config(2, Pacing::Law(law))
        },
        |_| [0; 16],
    )
    .expect("the law is valid");
    proxy.set_connected(Time::ZERO, 0, true);
    proxy.begin_slot(Time::ZERO);
    proxy.on_report(ms(100), report(0, 0));
    while proxy.poll_record().is_some() {}
    proxy.set_connected(ms(150), 1, true);
    assert!(proxy.granted(1).is_none());
    proxy.on_report(ms(200), report(0, 1));
    let records: Vec<SlotRecord> = std::iter::from_fn(|| proxy.poll_record()).collect();
    assert_eq!(records.len(), 2, "the report of station 0 ends the slot");
    assert!(records[1].granted.is_some(), "station 1 has a rate");
    assert!(records[1].report.is_some(), "it was introduced as silent");
}

#[test]
fn load_fills_the_rate_while_no_packets_wait_and_stops_when_it_is_taken_away() {
    let rate = Pacing::Fixed(BitRate::from_mbps(12));
    let mut proxy = connected(config(1, rate));
    assert!(proxy.poll(Time::ZERO).is_none());
    proxy.set_load(0, Some(750));
    let load = Output::Load {
        station: 0,
        bytes: 750,
    };
    assert_eq!(proxy.poll(Time::ZERO), Some(load.clone()));
    assert!(proxy.poll(Time::ZERO).is_none());
    // A packet of the source goes first, and at once, because its flow is sparse.
    proxy.enqueue(Time::ZERO, 0, ToyPacket::new(7));
    let packet = Output::Packet {
        station: 0,
        packet: ToyPacket::new(7),
        waited: Duration::ZERO,
        priority: None,
    };
    assert_eq!(proxy.poll(Time::ZERO), Some(packet));
    // What has gone ahead is paid for.
    let next = Time::from_micros(1_500);
    assert!(proxy.poll(Time::from_micros(1_499)).is_none());
    assert_eq!(proxy.poll(next), Some(load));
    proxy.set_load(0, None);
    assert!(proxy.poll(ms(50)).is_none());
    // A station that does not exist is ignored.
    proxy.set_load(9, Some(750));
}

#[test]
fn a_packet_of_a_sparse_flow_need_not_wait_for_the_pacer_but_many_do_not_exceed_the_rate() {
    // 1.2 Mbit/s: a packet every 10 ms.
    let mut proxy = connected(config(1, Pacing::Fixed(BitRate::from_bps(1_200_000))));
    fill(&mut proxy, Time::ZERO, 0, 50);
    assert_eq!(stations_served(&mut proxy, Time::ZERO), [0]);
    let ping = |number| ToyPacket {
        number,
        flow: number,
        bytes: 100,
    };
    proxy.enqueue(ms(3), 0, ping(1_000));
    assert_eq!(proxy.deadline(), Some(Time::ZERO), "it may leave now");
    assert_eq!(stations_served(&mut proxy, ms(3)), [0]);
    // A thousand sparse flows of one packet each are paced like bulk.
    for number in 1_001..2_001 {
        proxy.enqueue(ms(3), 0, ping(number));
    }
    let mut sent = 0;
    let mut now = ms(3);
    while now < ms(303) {
        proxy.handle_timeout(now);
        sent += stations_served(&mut proxy, now).len();
        now = proxy.deadline().expect("packets wait").max(now);
    }
    // 100 bytes at 1.2 Mbit/s take 0.67 ms; at most one full packet's time goes ahead.
    assert!((440..=466).contains(&sent), "{sent}");
}

#[test]
fn the_law_is_told_when_packets_begin_and_cease_to_wait_once_per_millisecond_at_most() {
    // A packet every 0.25 ms.
    let (mut proxy, _, told) = under_told_law(2, 48e6);
    proxy.on_report(ms(100), report(0, 0));
    proxy.on_report(ms(100), report(1, 0));
    let mut now = ms(101);
    // Station 0 gets a burst of 5 ms; to station 1 single packets come that need not wait.
    fill(&mut proxy, now, 0, 20);
    while now < ms(120) {
        proxy.enqueue(now, 1, ToyPacket::new(0));
        stations_served(&mut proxy, now);
        proxy.handle_timeout(now);
        now = now.saturating_add(Duration::from_millis(1));
    }
    let told = told.lock().expect("free");
    let changes: Vec<_> = told.iter().map(|(_, c)| (c.station.0, c.waits)).collect();
    assert_eq!(changes, [(0, true), (0, false)]);
    assert_eq!(told[0].0, ms(101), "a burst is told of at once");
    assert!((ms(104)..=ms(107)).contains(&told[1].0), "{told:?}");
}

#[test]
fn packets_of_a_sparse_flow_have_priority_beside_bulk_and_do_not_count_as_sent() {
    let mut config = config(1, Pacing::Fixed(BitRate::from_mbps(120)));
    config.interactive = Some(InteractiveConfig {
        category: AccessCategory::Video,
        budget: 0.02,
    });
    let mut proxy = connected(config);
    let mut sent = [0_u32; 2];
    for now in (0..1000).map(ms) {
        proxy.handle_timeout(now);
        while proxy.backlog() < 50 {
            proxy.enqueue(now, 0, ToyPacket::new(0));
        }
        if now.as_nanos() % 20_000_000 == 0 {
            let call = ToyPacket {
                number: 1,
                flow: 1,
                bytes: 200,
            };
            proxy.enqueue(now, 0, call);
        }
        while let Some(output) = proxy.poll(now) {
            let Output::Packet {
                packet, priority, ..
            } = output
            else {
                panic!("there is no load");
            };
            // Bulk begins with a burst that cannot be told from a sparse flow.
            let settled = now > ms(20);
            let expected = (packet.flow == 1).then_some(AccessCategory::Video);
            assert!(!settled || priority == expected, "{now:?}: {packet:?}");
            sent[usize::from(priority.is_some())] += 1;
        }
    }
    assert!((50..55).contains(&sent[1]), "{sent:?}");
    let mut report = report(0, 1);
    report.length = Duration::from_secs(1);
    proxy.on_report(ms(1000), report);
    let counted = proxy.stations[0].last_report.as_ref().expect("it came");
    assert_eq!(counted.sender.sent_packets, sent[0]);
}

#[test]
fn a_call_beside_constant_load_keeps_its_priority() {
    let mut config = config(1, Pacing::Fixed(BitRate::from_mbps(120)));
    config.interactive = Some(InteractiveConfig {
        category: AccessCategory::Voice,
        budget: 0.02,
    });
    let mut proxy = connected(config);
    proxy.set_load(0, Some(1500));
    for n in 0..200 {
        let now = ms(20 * u64::from(n));
        proxy.handle_timeout(now);
        let call = ToyPacket {
            number: n,
            flow: 1,
            bytes: 200,
        };
        proxy.enqueue(now, 0, call);
        let mut priorities = Vec::new();
        while let Some(output) = proxy.poll(now) {
            if let Output::Packet { priority, .. } = output {
                priorities.push(priority);
            }
        }
        assert_eq!(priorities, [Some(AccessCategory::Voice)], "{n}");
    }
}

#[test]
fn a_station_that_is_not_paced_is_sent_no_load() {
    let mut proxy = connected(config(1, Pacing::Unpaced));
    proxy.set_load(0, Some(750));
    assert!(proxy.poll(ms(10)).is_none());
}

#[test]
fn an_agent_that_restarts_counts_its_slots_from_zero_and_is_heard() {
    let (mut proxy, _) = under_test_law(1, 1e6);
    for slot in 0..30 {
        proxy.on_report(ms(100 * (slot + 1)), report(0, slot));
    }
    // The first report of the new agent has a smaller number than the last one.
    proxy.on_report(ms(3_100), report(0, 0));
    proxy.on_report(ms(3_200), report(0, 1));
    assert_eq!(proxy.counts().bad_reports, 0);
    proxy.handle_timeout(ms(3_350));
    assert_eq!(proxy.mode(0), Some(Mode::Controlled));
}

#[test]
fn repeated_reports_and_reports_of_no_station_are_counted_and_ignored() {
    let (mut proxy, rate) = under_test_law(1, 1e6);
    proxy.on_report(ms(100), report(0, 5));
    let granted = proxy.granted(0);
    *rate.lock().expect("free") = 4e6;
    proxy.on_report(ms(101), report(0, 5));
    proxy.on_report(ms(102), report(7, 0));
    assert_eq!(proxy.counts().bad_reports, 2);
    assert_eq!(proxy.granted(0), granted, "the law did not run");
}

#[test]
fn packets_of_a_station_that_leaves_are_handed_out_without_a_reason() {
    let mut proxy = connected(config(2, Pacing::Fixed(BitRate::from_mbps(1))));
    fill(&mut proxy, Time::ZERO, 0, 5);
    fill(&mut proxy, Time::ZERO, 1, 3);
    proxy.set_connected(ms(1), 0, false);
    proxy.enqueue(ms(2), 0, ToyPacket::new(5));
    let dropped: Vec<DroppedPacket<ToyPacket>> = std::iter::from_fn(|| proxy.poll_drop()).collect();
    let expected: Vec<_> = (0..6)
        .map(|number| DroppedPacket {
            station: 0,
            reason: None,
            packet: ToyPacket::new(number),
        })
        .collect();
    assert_eq!(dropped, expected);
    assert_eq!((proxy.counts().away, proxy.backlog()), (1, 3));
}

#[test]
fn packets_that_the_queue_drops_are_handed_out_with_the_reason() {
    let queue = FqCoDelConfig {
        packet_limit: 100,
        drop_batch: 1,
        ..FqCoDelConfig::default()
    };
    let mut proxy = connected(ProxyConfig {
        queue,
        ..config(1, Pacing::Fixed(BitRate::from_mbps(1)))
    });
    fill(&mut proxy, Time::ZERO, 0, 104);
    let reasons: Vec<_> = std::iter::from_fn(|| proxy.poll_drop())
        .map(|dropped| (dropped.station, dropped.reason))
        .collect();
    assert_eq!(reasons, [(0, Some(DropReason::FattestFlow)); 4]);
    // CoDel drops from a queue that has stood for longer than its interval.
    let (mut now, mut sojourn_drops) = (Time::ZERO, 0);
    while proxy.backlog() > 0 {
        proxy.poll(now);
        while let Some(dropped) = proxy.poll_drop() {
            assert_eq!(dropped.reason, Some(DropReason::Sojourn));
            sojourn_drops += 1;
        }
        now = proxy.deadline().expect("packets wait").max(now);
        proxy.handle_timeout(now);
    }
    assert!(sojourn_drops > 0);
}

#[test]
fn a_custom_law_gets_the_reports_and_sets_the_rates() {
    let (mut proxy, rate) = under_test_law(3, 5e6);
    assert!(proxy.config().pacing == proxy.config().pacing.clone());
    for station in 0..3 {
        proxy.on_report(ms(100), report(station, 0));
    }
    for station in 0..3 {
        let granted = proxy.granted(station).expect("the law has decided");
        assert_eq!(granted.rate_bytes_per_s * 8.0, 5e6);
    }
    *rate.lock().expect("free") = 7e6;
    for station in 0..3 {
        proxy.on_report(ms(200), report(station, 1));
    }
    let granted = proxy.granted(2).expect("the law has decided");
    assert_eq!(granted.rate_bytes_per_s * 8.0, 7e6);
}

#[test]
fn a_weight_that_the_law_does_not_support_is_refused() {
    let law = CustomLaw::new(|| {
        Box::new(TestLaw {
            rate_bps: Arc::default(),
            allocations: Vec::new(),
            told: Told::default(),
        })
    });
    let mut config = config(2, Pacing::Custom(law));
    config.stations[1].weight = 2.0;
    let error = Proxy::<ToyPacket>::new(config, |_| [0; 16]).err();
    let expected = ProxyError::Weight {
        station: 1,
        law: "test",
    };
    assert_eq!(error, Some(expected));
}

#[test]
fn another_aim_keeps_the_rates_until_the_next_decision_and_what_the_law_has_learnt() {
    let named = |aim| {
        let goal = Goal {
            aim: Some(aim),
            ..Goal::default()
        };
        Pacing::Law(LawConfig::named(Law::Waterfill, goal))
    };
    let mut proxy = connected(config(2, named(Aim::Throughput)));
    for slot in 0..10 {
        for station in 0..2 {
            proxy.on_report(ms(100 * (slot + 1)), report(station, slot));
        }
    }
    let before = proxy.granted(0).expect("the law has decided");
    let aimed = config(2, named(Aim::LowLatency));
    proxy.reconfigure(ms(1_001), &aimed).expect("it is valid");
    assert_eq!(proxy.granted(0), Some(before));
    for station in 0..2 {
        proxy.on_report(ms(1_100), report(station, 10));
    }
    assert_eq!(proxy.diagnostics().price, Some(Aim::LowLatency.price()));
    let after = proxy.granted(0).expect("the law has decided");
    // A law that had forgotten the stations would begin at its first guess.
    assert_ne!(before, after);
    assert!(
        after.rate_pps > before.rate_pps / 4.0,
        "{before:?} {after:?}"
    );
    let mut heavy = aimed;
    heavy.pacing = Pacing::Law(LawConfig::named(Law::Linear, Goal::papers(-1.0, None)));
    assert!(proxy.reconfigure(ms(1_101), &heavy).is_err());
    assert_eq!(proxy.granted(0), Some(after));
}

/// Something that the caller of a proxy does.
#[derive(Clone, Copy, Debug)]
enum Step {
    Enqueue {
        station: usize,
        flow: u32,
        bytes: u32,
    },
    Poll {
        packets: usize,
    },
    Wait {
        us: u64,
    },
    Report {
        station: usize,
    },
    Connect {
        station: usize,
        connected: bool,
    },
    SetRate {
        mbps: f64,
    },
}

fn step(stations: usize) -> impl Strategy<Value = Step> {
    let station = 0..stations;
    prop_oneof![
        8 => (station.clone(), 0..5_u32, 40..1500_u32)
            .prop_map(|(station, flow, bytes)| Step::Enqueue { station, flow, bytes }),
        4 => (1..40_usize).prop_map(|packets| Step::Poll { packets }),
        4 => (0..60_000_u64).prop_map(|us| Step::Wait { us }),
        2 => station.clone().prop_map(|station| Step::Report { station }),
        1 => (station, any::<bool>())
            .prop_map(|(station, connected)| Step::Connect { station, connected }),
        1 => (0.0..50.0_f64).prop_map(|mbps| Step::SetRate { mbps }),
    ]
}

proptest! {
    #[test]
    fn every_packet_is_sent_dropped_or_waiting(
        steps in prop::collection::vec(step(4), 1..400),
        packet_limit in 1..50_u32,
    ) {
        let (mut proxy, rate) = under_test_law(4, 10e6);
        proxy.config.queue.packet_limit = packet_limit;
        for station in &mut proxy.stations {
            let queue = FqCoDelConfig { packet_limit, ..FqCoDelConfig::default() };
            station.queue = DualQueue::new(queue, None, [1; 16]);
        }
        let (mut now, mut enqueued, mut slot) = (Time::ZERO, 0, 0);
        let mut gone = BTreeSet::new();
        for step in steps {
            match step {
                Step::Enqueue { station, flow, bytes } => {
                    proxy.enqueue(now, station, ToyPacket { number: enqueued, flow, bytes });
                    enqueued += 1;
                }
                Step::Poll { packets } => {
                    for _ in 0..packets {
                        let Some(output) = proxy.poll(now) else { break };
                        let Output::Packet { station, packet, .. } = output else {
                            panic!("no station has load");
                        };
                        prop_assert!(proxy.mode(station) != Some(Mode::Away));
                        prop_assert!(gone.insert(packet.number), "{packet:?} left twice");
                    }
                }
                Step::Wait { us } => {
                    now += Duration::from_micros(us);
                    proxy.handle_timeout(now);
                }
                Step::Report { station } => {
                    slot += 1;
                    proxy.on_report(now, report(station, slot));
                }
                Step::Connect { station, connected } => {
                    proxy.set_connected(now, station, connected);
                }
                Step::SetRate { mbps } => *rate.lock().expect("free") = mbps * 1e6,
            }
            while let Some(dropped) = proxy.poll_drop() {
                prop_assert!(gone.insert(dropped.packet.number), "{dropped:?} left twice");
            }
            prop_assert_eq!(enqueued as usize, gone.len() + proxy.backlog());
        }
    }
}
