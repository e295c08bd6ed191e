use super::*;
use crate::queue::tests::TestPacket;

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

fn queue(config: FqCoDelConfig) -> FqCoDel<TestPacket> {
    FqCoDel::new(config, *b"not very secret!")
}

fn take(queue: &mut FqCoDel<TestPacket>, n: usize) -> Vec<u32> {
    (0..n)
        .map(|_| queue.dequeue(Time::ZERO).unwrap().flow)
        .collect()
}

#[test]
fn a_sparse_flow_passes_a_standing_queue_at_once() {
    let mut queue = queue(FqCoDelConfig::default());
    for number in 0..100 {
        queue.enqueue(Time::ZERO, packet(1, number, 1_500));
    }
    take(&mut queue, 10);
    for round in 0..20 {
        queue.enqueue(Time::ZERO, packet(2, round, 60));
        assert_eq!(take(&mut queue, 1), [2]);
        take(&mut queue, 2);
    }
}

#[test]
fn a_flow_cannot_stay_new_by_sending_when_it_runs_empty() {
    let mut queue = queue(FqCoDelConfig::default());
    for number in 0..200 {
        queue.enqueue(Time::ZERO, packet(1, number, 1_500));
    }
    take(&mut queue, 2);
    // A packet of the largest size whenever the last one has left: half of the packets, not all of
    // them.
    let mut greedy = 0;
    let mut number = 0;
    for _ in 0..100 {
        if queue.busy_queues() < 2 {
            number += 1;
            queue.enqueue(Time::ZERO, packet(2, number, 1_500));
        }
        greedy += take(&mut queue, 1)[0] - 1;
    }
    assert!((45..=55).contains(&greedy), "{greedy} of 100");
}

#[test]
fn busy_flows_share_bytes_whatever_their_packet_sizes() {
    let mut queue = queue(FqCoDelConfig {
        packet_limit: 100_000,
        ..FqCoDelConfig::default()
    });
    let sizes = [1_500, 300, 777];
    for number in 0..10_000 {
        for (flow, bytes) in (0..).zip(sizes) {
            queue.enqueue(Time::ZERO, packet(flow, number, bytes));
        }
    }
    let mut sent = [0u64; 3];
    for _ in 0..5_000 {
        let packet = queue.dequeue(Time::ZERO).unwrap();
        sent[packet.flow as usize] += u64::from(packet.bytes);
    }
    let (least, most) = (sent.iter().min().unwrap(), sent.iter().max().unwrap());
    // Two quanta and a packet apart at most.
    assert!(most - least <= 2 * 1_514 + 1_500, "{sent:?}");
}

#[test]
fn the_fattest_flow_loses_packets_when_there_is_no_room() {
    let mut queue = queue(FqCoDelConfig {
        packet_limit: 100,
        ..FqCoDelConfig::default()
    });
    for number in 0..20 {
        queue.enqueue(Time::ZERO, packet(1, number, 500));
    }
    for number in 0..80 {
        queue.enqueue(Time::ZERO, packet(2, number, 1_500));
    }
    assert_eq!(queue.poll_drop(), None);
    queue.enqueue(Time::ZERO, packet(3, 0, 60));
    let dropped: Vec<_> = std::iter::from_fn(|| queue.poll_drop()).collect();
    // Half of the flow's bytes, from its head.
    assert_eq!(dropped.len(), 40);
    assert!(dropped.iter().zip(0..).all(|(d, number)| {
        d.reason == DropReason::FattestFlow && d.packet.flow == 2 && d.packet.number == number
    }));
    assert_eq!(queue.len(), 61);
    assert_eq!(queue.counters().dropped_for(DropReason::FattestFlow), 40);
}

#[test]
fn the_limit_of_bytes_holds_and_a_batch_is_limited() {
    let config = FqCoDelConfig {
        byte_limit: 1_000_000,
        drop_batch: 5,
        ..FqCoDelConfig::default()
    };
    let mut queue = queue(config);
    for number in 0..2_000 {
        queue.enqueue(Time::ZERO, packet(1, number, 1_000));
        assert!(std::iter::from_fn(|| queue.poll_drop()).count() <= 5);
        assert!(queue.bytes() <= 1_000_000);
    }
}

#[test]
fn each_queue_has_its_own_codel() {
    let mut queue = queue(FqCoDelConfig::default());
    let mut numbers = [0u64; 2];
    for ms in 0..3_000u64 {
        let now = Time::from_millis(ms);
        // Flow 0 sends twice its half of the link, flow 1 a quarter.
        for _ in 0..2 {
            numbers[0] += 1;
            queue.enqueue(
                now,
                TestPacket {
                    ce: Some(false),
                    ..packet(0, numbers[0], 1_500)
                },
            );
        }
        if ms % 2 == 0 {
            numbers[1] += 1;
            queue.enqueue(
                now,
                TestPacket {
                    ce: Some(false),
                    ..packet(1, numbers[1], 1_500)
                },
            );
        }
        for _ in 0..2 {
            let marked = queue
                .dequeue(now)
                .is_some_and(|p| p.flow == 1 && p.ce == Some(true));
            assert!(!marked, "the flow below its share was marked");
        }
    }
    assert!(queue.counters().marked > 100);
    assert_eq!(queue.counters().dropped(), 0);
}

#[test]
fn flows_spread_over_the_queues_by_the_key() {
    let place = |key: [u8; 16]| {
        let queue = FqCoDel::new(FqCoDelConfig::default(), key);
        (0..10_000)
            .map(|flow| queue.classify(&packet(flow, 0, 0)))
            .collect::<Vec<_>>()
    };
    let (a, b) = (place([1; 16]), place([2; 16]));
    let same = a.iter().zip(&b).filter(|(a, b)| a == b).count();
    assert!(
        same < 40,
        "{same} of 10,000 flows in the same queue under another key"
    );
    let mut load = [0; 1024];
    a.iter().for_each(|&index| load[index as usize] += 1);
    assert!(load.iter().all(|&n| n < 35), "{:?}", load.iter().max());
}

#[test]
fn a_lower_limit_is_kept_from_the_next_arrival_on_at_the_cost_of_the_fattest_flow() {
    let mut queue = queue(FqCoDelConfig::default());
    for number in 0..100 {
        queue.enqueue(Time::ZERO, packet(1, number, 1_500));
    }
    queue.set_packet_limit(40);
    assert_eq!((queue.len(), queue.counters().dropped()), (100, 0));
    queue.enqueue(Time::ZERO, packet(2, 0, 60));
    assert!(queue.len() <= 40, "{}", queue.len());
    assert_eq!(queue.counters().dropped() + queue.len() as u64, 101);
    let out = (0..queue.len())
        .filter(|_| queue.dequeue(Time::ZERO).unwrap().flow == 2)
        .count();
    assert_eq!(out, 1);
}

/// What a sender gets of a flow with a backlog, in bytes, if it sends a packet of two quanta less a
/// byte whenever its queue has left the lists.
fn share_of_a_timed_sender(leaving: Leaving) -> f64 {
    let mut queue = queue(FqCoDelConfig {
        leaving,
        ..FqCoDelConfig::default()
    });
    for number in 0..1_000 {
        queue.enqueue(Time::ZERO, packet(1, number, 1_514));
    }
    take(&mut queue, 1);
    let mut sent = [0_u32; 2];
    for number in 0..800 {
        let listed = (0..1_024).filter(|&index| queue.turns.is_listed(index));
        if listed.count() < 2 {
            queue.enqueue(Time::ZERO, packet(2, number, 3_027));
        }
        let packet = queue.dequeue(Time::ZERO).unwrap();
        sent[packet.flow as usize - 1] += packet.bytes;
    }
    f64::from(sent[1]) / f64::from(sent[0])
}

#[test]
fn a_queue_that_leaves_at_once_as_in_rfc_8290_gets_two_quanta_in_a_round() {
    let ours = share_of_a_timed_sender(Leaving::AfterIdleRound);
    let as_printed = share_of_a_timed_sender(Leaving::AtOnce);
    assert!(ours < 1.01, "{ours}");
    assert!(as_printed > 1.95, "{as_printed}");
}

/// Packets dropped of a flow that never has more than two short packets waiting, and never none,
/// beside a flow with a backlog.
fn drops_of_a_short_queue(backlog: Backlog) -> usize {
    let mut queue = queue(FqCoDelConfig {
        backlog,
        ..FqCoDelConfig::default()
    });
    queue.enqueue(Time::ZERO, packet(1, 0, 700));
    let mut dropped = 0;
    for number in 1..100 {
        let now = Time::ZERO + Duration::from_millis(20 * number);
        (0..3).for_each(|_| queue.enqueue(now, packet(2, number, 1_514)));
        queue.enqueue(now, packet(1, number, 700));
        while queue.dequeue(now).is_some_and(|packet| packet.flow == 2) {}
        let drops = core::iter::from_fn(|| queue.poll_drop());
        dropped += drops.filter(|drop| drop.packet.flow == 1).count();
    }
    dropped
}

#[test]
fn a_short_queue_loses_packets_for_the_backlog_of_others_only_as_in_linux() {
    assert_eq!(drops_of_a_short_queue(Backlog::Flow), 0);
    // The first drop leaves a single packet, which never waits.
    assert_eq!(drops_of_a_short_queue(Backlog::All), 1);
}

/// Packets sent of a download with full segments, and bytes that the acknowledgements of an upload permit
/// meanwhile, of which each acknowledges so many.
fn shares_beside_acknowledgements(charge_acknowledged: bool, acknowledged: u32) -> (u64, u64) {
    let mut queue = queue(FqCoDelConfig {
        charge_acknowledged,
        ..FqCoDelConfig::default()
    });
    let mut number = u32::MAX - 100_000;
    let (mut download, mut upload) = (0, 0);
    for round in 0..4_000 {
        for _ in 0..2 {
            queue.enqueue(Time::ZERO, packet(1, round, 1_500));
        }
        number = number.wrapping_add(acknowledged);
        let ack = TestPacket {
            acknowledges: Some(number),
            ..packet(2, round, 52)
        };
        queue.enqueue(Time::ZERO, ack);
        // Both flows have a backlog.
        if round >= 100 {
            let sent = queue.dequeue(Time::ZERO).unwrap();
            match sent.flow {
                1 => download += 1_500,
                _ => upload += u64::from(acknowledged),
            }
        }
    }
    (download, upload)
}

#[test]
fn an_upload_has_the_share_of_a_download_if_its_acknowledgements_are_charged() {
    for acknowledged in [2_896, 14_480, 60_000] {
        let (download, upload) = shares_beside_acknowledgements(true, acknowledged);
        let ratio = upload as f64 / download as f64;
        assert!((ratio - 1.0).abs() < 0.06, "{acknowledged}: {ratio}");
    }
    let (download, upload) = shares_beside_acknowledgements(false, 14_480);
    assert!(upload > 100 * download, "{upload} {download}");
}

#[test]
fn acknowledgement_numbers_that_return_or_are_of_another_connection_acknowledge_nothing() {
    let mut queue = queue(FqCoDelConfig {
        charge_acknowledged: true,
        ..FqCoDelConfig::default()
    });
    let mut acknowledged = |number| {
        let ack = TestPacket {
            acknowledges: Some(number),
            ..packet(1, 0, 52)
        };
        queue.enqueue(Time::ZERO, ack);
        queue.dequeue(Time::ZERO).unwrap();
        queue.last_served().acknowledged_bytes
    };
    assert_eq!(acknowledged(5_000), 0, "the first one");
    assert_eq!(acknowledged(7_000), 2_000);
    assert_eq!(acknowledged(7_000), 0, "a duplicate");
    assert_eq!(acknowledged(6_000), 0, "one that was overtaken");
    assert_eq!(acknowledged(8_000), 1_000);
    assert_eq!(acknowledged(900_000_000), 0, "another connection");
    assert_eq!(acknowledged(900_001_448), 1_448);
    assert_eq!(
        acknowledged(900_067_000),
        1 << 16,
        "several, of which others were dropped"
    );
    assert_eq!(acknowledged(u32::MAX - 447), 0, "another connection");
    assert_eq!(acknowledged(1_000), 1_448, "across the end of the numbers");
}
