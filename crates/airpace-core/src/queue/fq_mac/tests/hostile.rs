//! Hostile senders, and receivers that vanish.

use super::*;

/// Flows of an attacker who believes that the key is `key`, all aimed at the queue of `victim`.
fn aimed(key: [u8; 16], victim: u32, queues: u32) -> Vec<u32> {
    let hash = FlowHash::new(key);
    let target = hash.queue(&packet(victim, 0, 0), queues);
    (1_000..)
        .filter(|&flow| hash.queue(&packet(flow, 0, 0), queues) == target)
        .take(200)
        .collect()
}

/// How many packets of others leave before the victim's, when each of the attacker's flows has sent
/// ten.
fn delay_of_victim(config: FqMacConfig, key: [u8; 16], flows: &[u32]) -> usize {
    let mut queue = FqMac::new(config, key);
    let tid = queue.add_tid(0);
    for number in 0..10 {
        flows
            .iter()
            .for_each(|&flow| queue.enqueue(Time::ZERO, tid, packet(flow, number, 1_500)));
    }
    // All have had their turn as new queues.
    take(&mut queue, tid, 500);
    queue.enqueue(Time::ZERO, tid, packet(7, 0, 200));
    core::iter::from_fn(|| queue.dequeue(Time::ZERO, tid))
        .position(|(_, packet)| packet.flow == 7)
        .unwrap()
}

#[test]
fn without_the_key_no_sender_can_aim_at_a_queue() {
    let config = FqMacConfig {
        queues: 2_048,
        ..FqMacConfig::default()
    };
    let flows = aimed([1; 16], 7, config.queues);
    // The attack works where the key is known, so it is one.
    assert!(delay_of_victim(config, [1; 16], &flows) > 1_000);
    // Two hundred flows that go anywhere meet the victim's queue under one key in ten.
    let met = (2..42)
        .filter(|&key| delay_of_victim(config, [key; 16], &flows) > 0)
        .count();
    assert!(met <= 10, "under {met} of 40 keys");
}

#[test]
fn aimed_flows_displace_nobody_without_the_key() {
    let config = FqMacConfig {
        queues: 2_048,
        packet_limit: 1_000,
        ..FqMacConfig::default()
    };
    let flows = aimed([1; 16], 7, config.queues);
    let mut queue = FqMac::new(config, [2; 16]);
    let (victim, attacker) = (queue.add_tid(0), queue.add_tid(1));
    (0..20).for_each(|number| queue.enqueue(Time::ZERO, victim, packet(7, number, 200)));
    for number in 0..100 {
        for &flow in &flows {
            queue.enqueue(Time::ZERO, attacker, packet(flow, number, 1_500));
            assert!(drops(&mut queue).iter().all(|d| d.0 == attacker));
        }
    }
    assert_eq!((queue.len(victim), queue.total_len()), (20, 1_000));
}

/// This many flows of one packet each; three of four packets are not dequeued.
fn distinct_flows(n: u32) {
    let mut queue = queue(FqMacConfig::default());
    let tids: Vec<_> = (0..50).map(|station| queue.add_tid(station)).collect();
    for flow in 0..n {
        let now = Time::from_nanos(u64::from(flow) * 1_000);
        queue.enqueue(
            now,
            tids[flow as usize % 50],
            packet(flow, u64::from(flow), flow % 1_501),
        );
        if flow % 4 == 0 {
            queue.dequeue(now, tids[(flow / 4) as usize % 50]);
        }
        assert!(queue.total_len() <= 8192 && queue.total_bytes() <= 16 << 20);
    }
    let counters = *queue.counters();
    assert_eq!(counters.offered, u64::from(n));
    assert_eq!(
        counters.offered,
        counters.dequeued + counters.dropped() + queue.total_len() as u64
    );
    // Memory: the queues, one for the overflow of each TID, and the packets that the limit allows
    // and one.
    assert!(queue.flows.len() <= 4096 + 50);
    assert_eq!(queue.store.nodes(), 8193);
}

#[test]
fn a_hundred_thousand_flows_take_no_more_memory_than_the_limits_allow() {
    distinct_flows(100_000);
}

#[test]
#[ignore = "takes seconds: ten million packets"]
fn ten_million_flows_take_no_more_memory_than_the_limits_allow() {
    distinct_flows(10_000_000);
}

#[test]
fn empty_packets_do_not_drive_out_others() {
    let mut queue = queue(FqMacConfig::default());
    let (victim, attacker) = (queue.add_tid(0), queue.add_tid(1));
    (0..100).for_each(|number| queue.enqueue(Time::ZERO, victim, packet(1, number, 1_500)));
    for number in 0..50_000 {
        queue.enqueue(Time::ZERO, attacker, packet(2, number, 0));
        assert!(drops(&mut queue).iter().all(|d| d.0 == attacker));
    }
    assert_eq!((queue.len(victim), queue.total_len()), (100, 8_192));
    assert_eq!(take(&mut queue, attacker, 8_092).len(), 8_092);
}

#[test]
fn packets_of_64_kib_respect_the_memory_limit_and_are_charged_for_their_size() {
    let mut queue = queue(FqMacConfig::default());
    let tid = queue.add_tid(0);
    for number in 0..1_000 {
        queue.enqueue(Time::ZERO, tid, packet(1, number, 65_535));
        queue.enqueue(Time::ZERO, tid, packet(2, number, 600));
        assert!(queue.total_bytes() <= 16 << 20);
    }
    assert_eq!(queue.len(tid), 1_000 + (16 << 20) / 65_535 - 10);
    let (mut large, mut small) = (0u64, 0u64);
    for flow in take(&mut queue, tid, 500) {
        if flow == 1 {
            large += 65_535
        } else {
            small += 600
        }
    }
    assert!(large <= small + 65_535 + 600, "{large} and {small} bytes");
}

#[test]
fn the_largest_packet_there_is_costs_no_time_and_breaks_no_sum() {
    let limits = [u64::MAX, 16 << 20];
    for memory_limit in limits {
        let mut queue = queue(FqMacConfig {
            memory_limit,
            ..FqMacConfig::default()
        });
        let tid = queue.add_tid(0);
        for number in 0..10_000 {
            queue.enqueue(Time::ZERO, tid, packet(number as u32 % 3, number, u32::MAX));
        }
        assert_eq!(
            queue.len(tid),
            if memory_limit == u64::MAX { 8_192 } else { 0 }
        );
        while queue.dequeue(Time::ZERO, tid).is_some() {}
        assert_eq!(queue.total_bytes(), 0);
    }
}

#[test]
fn a_station_that_vanishes_with_a_full_queue_leaves_nothing_behind() {
    let mut queue = queue(FqMacConfig {
        queues: 64,
        packet_limit: 1_000,
        ..FqMacConfig::default()
    });
    let (stays, leaves) = (queue.add_tid(0), queue.add_tid(1));
    (0..50).for_each(|number| queue.enqueue(Time::ZERO, stays, packet(1, number, 200)));
    for round in 0..100 {
        for number in 0..2_000 {
            queue.enqueue(
                Time::ZERO,
                leaves,
                packet(2 + number % 200, u64::from(number), 1_500),
            );
        }
        assert_eq!(
            (queue.len(stays), queue.len(leaves)),
            (50, 950),
            "round {round}"
        );
        queue.flush(leaves);
        let gone = drops(&mut queue);
        assert_eq!(gone.len(), 950);
        assert!(
            gone.iter()
                .all(|&(tid, reason, _)| tid == leaves && reason == DropReason::Gone)
        );
        assert_eq!(
            (queue.total_len(), queue.len(leaves), queue.bytes(leaves)),
            (50, 0, 0)
        );
        assert_eq!(queue.dequeue(Time::ZERO, leaves), None);
    }
    let counters = *queue.counters();
    assert_eq!(counters.dropped_for(DropReason::Gone), 95_000);
    assert_eq!(counters.offered, counters.dropped() + 50);
    assert_eq!(
        (queue.store.nodes(), queue.flows.len() <= 66),
        (1_001, true)
    );
    assert_eq!(take(&mut queue, stays, 50), [1; 50]);
}

#[test]
fn tens_of_thousands_of_tids_cost_queues_only_on_collision() {
    let mut queue = queue(FqMacConfig::default());
    let tids: Vec<_> = (0..40_000).map(|tid| queue.add_tid(tid / 4)).collect();
    for (flow, &tid) in (0..).zip(&tids) {
        queue.enqueue(Time::ZERO, tid, packet(flow, 0, 100));
        assert!(queue.total_len() <= 8_192);
    }
    assert!(
        queue.flows.len() <= 4096 + 8_193,
        "{} queues",
        queue.flows.len()
    );
    tids.iter().for_each(|&tid| queue.flush(tid));
    assert_eq!(
        (queue.total_len(), queue.flows.len() - queue.spare.len()),
        (0, 4096)
    );
}
