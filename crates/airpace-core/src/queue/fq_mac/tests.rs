use super::*;
use crate::queue::CoDelConfig;
use crate::queue::Verdict;
use crate::queue::tests::TestPacket;
use core::time::Duration;

mod hostile;
mod model;
mod properties;

/// TIDs in the fuzzed tests; those of equal remainder belong to one station.
const TIDS: u32 = 6;
const STATIONS: u32 = 3;

fn packet(flow: u32, number: u64, bytes: u32) -> TestPacket {
    TestPacket {
        flow,
        number,
        bytes,
        ce: None,
        scalable: false,
        acknowledges: None,
    }
}

fn queue(config: FqMacConfig) -> FqMac<TestPacket> {
    FqMac::new(config, *b"not very secret!")
}

fn home(queue: &FqMac<TestPacket>, flow: u32) -> u32 {
    queue.hash.queue(&packet(flow, 0, 0), queue.config.queues)
}

/// The flows of the next packets that leave, in order.
fn take(queue: &mut FqMac<TestPacket>, tid: TidId, n: usize) -> Vec<u32> {
    (0..n)
        .map(|_| queue.dequeue(Time::ZERO, tid).unwrap().1.flow)
        .collect()
}

fn drops(queue: &mut FqMac<TestPacket>) -> Vec<(TidId, DropReason, u32)> {
    core::iter::from_fn(|| queue.poll_drop())
        .map(|(tid, d)| (tid, d.reason, d.packet.flow))
        .collect()
}

#[test]
fn the_defaults_are_those_of_mac80211_and_the_paper() {
    let config = FqMacConfig::default();
    assert_eq!(
        (
            config.queues,
            config.quantum,
            config.packet_limit,
            config.memory_limit
        ),
        (4096, 300, 8192, 16 << 20)
    );
    let ms = |codel: CoDelConfig| {
        (
            codel.target.as_millis(),
            codel.interval.as_millis(),
            codel.ecn,
        )
    };
    assert_eq!(
        (ms(config.codel), ms(config.slow)),
        ((20, 100, true), (50, 300, true))
    );
    assert_eq!(
        (config.slow_below, config.hysteresis),
        (BitRate::from_mbps(12), Duration::from_secs(2))
    );
}

#[test]
fn each_tid_gets_its_own_packets_and_when_they_came() {
    let mut queue = queue(FqMacConfig::default());
    let (a, b) = (queue.add_tid(0), queue.add_tid(0));
    queue.enqueue(Time::from_millis(1), a, packet(1, 1, 100));
    queue.enqueue(Time::from_millis(2), b, packet(2, 2, 200));
    assert_eq!(
        (queue.len(a), queue.bytes(a), queue.len(b), queue.bytes(b)),
        (1, 100, 1, 200)
    );
    assert_eq!((queue.total_len(), queue.total_bytes()), (2, 300));
    assert_eq!(queue.head_since(b), Some(Time::from_millis(2)));
    assert_eq!(
        queue.dequeue(Time::from_millis(3), b),
        Some((Time::from_millis(2), packet(2, 2, 200)))
    );
    assert_eq!(queue.dequeue(Time::from_millis(3), b), None);
    assert!(queue.is_empty(b) && !queue.is_empty(a));
    assert_eq!(queue.head_since(b), None);
}

#[test]
fn a_sparse_flow_passes_a_standing_queue_of_its_tid() {
    let mut queue = queue(FqMacConfig::default());
    let tid = queue.add_tid(0);
    (0..100).for_each(|number| queue.enqueue(Time::ZERO, tid, packet(1, number, 1_500)));
    take(&mut queue, tid, 10);
    for round in 0..20 {
        queue.enqueue(Time::ZERO, tid, packet(2, round, 60));
        assert_eq!(take(&mut queue, tid, 1), [2]);
        take(&mut queue, tid, 2);
    }
}

#[test]
fn a_collision_between_tids_goes_to_an_overflow_queue_that_is_used_again() {
    let mut queue = queue(FqMacConfig {
        queues: 1,
        ..FqMacConfig::default()
    });
    let tids: Vec<_> = (0..100).map(|station| queue.add_tid(station)).collect();
    for round in 0..50 {
        for pair in tids.windows(2) {
            queue.enqueue(Time::ZERO, pair[0], packet(1, round, 100));
            queue.enqueue(Time::ZERO, pair[1], packet(2, round, 100));
            assert_eq!((queue.len(pair[0]), queue.len(pair[1])), (1, 1));
            assert_eq!(take(&mut queue, pair[1], 1), [2]);
            assert_eq!(take(&mut queue, pair[0], 1), [1]);
        }
    }
    // The queue of the set, and one for overflow that is not assigned now.
    assert_eq!(
        (queue.flows.len(), queue.spare.len(), queue.total_len()),
        (2, 1, 0)
    );
}

#[test]
fn packets_do_not_overtake_those_of_their_flow_in_the_overflow_queue() {
    let mut queue = queue(FqMacConfig {
        queues: 1,
        ..FqMacConfig::default()
    });
    let (a, b) = (queue.add_tid(0), queue.add_tid(1));
    queue.enqueue(Time::ZERO, a, packet(1, 0, 100));
    (0..3).for_each(|number| queue.enqueue(Time::ZERO, b, packet(2, number, 100)));
    // The queue of the set is idle again, but packets of flow 2 wait elsewhere.
    take(&mut queue, a, 1);
    (3..6).for_each(|number| queue.enqueue(Time::ZERO, b, packet(2, number, 100)));
    // Others may use it.
    queue.enqueue(Time::ZERO, a, packet(1, 1, 100));
    assert_eq!(queue.flows[0].owner, a.0);
    let numbers: Vec<_> = core::iter::from_fn(|| queue.dequeue(Time::ZERO, b))
        .map(|(_, p)| p.number)
        .collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5]);
    take(&mut queue, a, 1);
    // Once all have left, the flow is at home again.
    queue.enqueue(Time::ZERO, b, packet(2, 6, 100));
    assert_eq!(queue.flows[0].owner, b.0);
}

#[test]
fn the_longest_queue_of_all_loses_packets_whoever_sends() {
    let mut queue = queue(FqMacConfig {
        packet_limit: 100,
        ..FqMacConfig::default()
    });
    let (a, b) = (queue.add_tid(0), queue.add_tid(1));
    (0..80).for_each(|number| queue.enqueue(Time::ZERO, a, packet(1, number, 1_500)));
    (0..20).for_each(|number| queue.enqueue(Time::ZERO, b, packet(2, number, 1_500)));
    assert_eq!(drops(&mut queue), []);
    for number in 20..50 {
        queue.enqueue(Time::ZERO, b, packet(2, number, 1_500));
        assert_eq!(drops(&mut queue), [(a, DropReason::FattestFlow, 1)]);
    }
    assert_eq!((queue.len(a), queue.len(b)), (50, 50));
    // The head of the queue went, so that its sender learns of it soon.
    assert_eq!(queue.dequeue(Time::ZERO, a).unwrap().1.number, 30);
}

#[test]
fn the_memory_limit_holds_and_small_packets_count_for_their_buffers() {
    let mut queue = queue(FqMacConfig {
        memory_limit: 10_000,
        ..FqMacConfig::default()
    });
    let tid = queue.add_tid(0);
    for number in 0..100 {
        queue.enqueue(Time::ZERO, tid, packet(number as u32 % 7, number, 0));
    }
    assert_eq!(
        (queue.total_len(), queue.total_bytes(), queue.memory),
        (39, 0, 39 * 256)
    );
    queue.enqueue(Time::ZERO, tid, packet(1, 1, 65_535));
    // Larger than all the memory: it is the longest queue's, and no place for anything is left
    // until it has gone.
    assert!(drops(&mut queue).iter().all(|d| d.2 == 1));
    assert!(queue.memory <= 10_000 && queue.total_len() >= 30);
}

#[test]
fn a_tid_without_packets_keeps_no_queue() {
    let mut queue = queue(FqMacConfig {
        queues: 16,
        ..FqMacConfig::default()
    });
    let (a, b) = (queue.add_tid(0), queue.add_tid(1));
    (0..100).for_each(|flow| queue.enqueue(Time::ZERO, a, packet(flow, 0, 100)));
    assert!((0..16).all(|index| queue.turns.is_listed(index)));
    // Asked only while it has something, as a MAC does.
    take(&mut queue, a, 100);
    assert!((0..16).all(|index| !queue.turns.is_listed(index)));
    (0..100).for_each(|flow| queue.enqueue(Time::ZERO, b, packet(flow, 0, 100)));
    assert_eq!(
        queue.flows.len(),
        16,
        "an overflow queue was made without a collision"
    );
}

#[test]
fn a_slow_station_gets_time_and_its_parameters_change_every_two_seconds_at_most() {
    let mut queue = queue(FqMacConfig::default());
    let tid = queue.add_tid(7);
    let rates = [
        (0, 100),
        (500, 11),
        (600, 100),
        (2_400, 12),
        (2_499, 100),
        (2_500, 12),
        (3_000, 1),
        (4_600, 1),
    ];
    let slow: Vec<_> = rates
        .into_iter()
        .map(|(ms, mbps)| {
            queue.set_expected_throughput(Time::from_millis(ms), 7, BitRate::from_mbps(mbps));
            queue.stations[queue.tids[tid.0 as usize].station as usize].slow
        })
        .collect();
    assert_eq!(slow, [false, true, true, true, true, false, false, true]);
}

/// What fraction of an overloaded station's packets is marked in ten seconds.
fn marks(expected: BitRate) -> u64 {
    let mut queue = queue(FqMacConfig {
        packet_limit: 100_000,
        memory_limit: u64::MAX,
        ..FqMacConfig::default()
    });
    queue.set_expected_throughput(Time::ZERO, 3, expected);
    let tid = queue.add_tid(3);
    for ms in 0..10_000u64 {
        let now = Time::from_millis(ms);
        queue.enqueue(
            now,
            tid,
            TestPacket {
                ce: Some(false),
                ..packet(0, 2 * ms, 1_500)
            },
        );
        // Every 40 ms one more comes than leaves: a queue that grows by 25 packets per second.
        if ms % 40 != 0 {
            queue.dequeue(now, tid);
        }
    }
    assert_eq!(queue.counters().dropped(), 0);
    queue.counters().marked
}

#[test]
fn stations_have_their_own_parameters_of_codel() {
    let (fast, slow) = (marks(BitRate::from_mbps(100)), marks(BitRate::from_mbps(5)));
    assert!(
        fast > 2 * slow && slow > 0,
        "{fast} marks for a fast station, {slow} for a slow one"
    );
}
