use super::*;

const MSS: u32 = 1_000;

fn data(index: u64) -> DataSegment {
    DataSegment {
        offset: index * u64::from(MSS),
        len: MSS,
        syn: false,
        fin: false,
        ecn: Ecn::Ect0,
        window_reduced: false,
        retransmission: false,
        timestamp: Time::from_millis(index),
    }
}

/// A receiver past its quick acknowledgements; the next segment is number 16.
fn steady(config: ReceiverConfig) -> Receiver {
    let mut receiver = Receiver::new(config);
    for index in 0..16 {
        receiver.on_data(Time::ZERO, &data(index), false);
        receiver.on_timeout(Time::ZERO);
        assert!(receiver.poll_ack(Time::ZERO).is_some());
    }
    receiver
}

fn acks(receiver: &mut Receiver) -> Vec<u64> {
    core::iter::from_fn(|| receiver.poll_ack(Time::ZERO))
        .map(|ack| ack.ack / u64::from(MSS))
        .collect()
}

#[test]
fn every_second_segment_is_acknowledged_and_a_single_one_after_40_ms() {
    let mut receiver = steady(ReceiverConfig::default());
    receiver.on_data(Time::ZERO, &data(16), false);
    assert!(acks(&mut receiver).is_empty());
    receiver.on_data(Time::ZERO, &data(17), false);
    assert_eq!(acks(&mut receiver), [18]);
    receiver.on_data(Time::from_millis(1), &data(18), false);
    assert_eq!(receiver.deadline(), Some(Time::from_millis(41)));
    receiver.on_timeout(Time::from_millis(40));
    assert!(acks(&mut receiver).is_empty());
    receiver.on_timeout(Time::from_millis(41));
    assert_eq!(acks(&mut receiver), [19]);
    assert_eq!(receiver.deadline(), None);
}

#[test]
fn a_receiver_may_acknowledge_every_tenth_segment() {
    let mut receiver = steady(ReceiverConfig {
        ack_every: 10,
        ..ReceiverConfig::default()
    });
    for number in 16..36 {
        receiver.on_data(Time::ZERO, &data(number), false);
    }
    assert_eq!(acks(&mut receiver), [26, 36]);
}

#[test]
fn gaps_are_reported_at_once_with_the_most_recent_block_first() {
    let mut receiver = steady(ReceiverConfig::default());
    for index in [17, 19, 20, 23, 26, 18] {
        receiver.on_data(Time::ZERO, &data(index), false);
    }
    let ack = core::iter::from_fn(|| receiver.poll_ack(Time::ZERO))
        .last()
        .unwrap();
    let blocks: Vec<_> = ack
        .blocks()
        .iter()
        .map(|b| (b.start / 1_000, b.end / 1_000))
        .collect();
    assert_eq!(
        (ack.ack, blocks),
        (16_000, vec![(17, 21), (26, 27), (23, 24)])
    );
    receiver.on_data(Time::ZERO, &data(16), false);
    let ack = receiver.poll_ack(Time::ZERO).unwrap();
    assert_eq!((ack.ack, ack.blocks().len()), (21_000, 2));
}

#[test]
fn a_duplicate_is_reported_once() {
    let mut receiver = steady(ReceiverConfig::default());
    receiver.on_data(Time::ZERO, &data(3), false);
    let ack = receiver.poll_ack(Time::ZERO).unwrap();
    assert_eq!(
        ack.blocks(),
        [Block {
            start: 3_000,
            end: 4_000
        }]
    );
    receiver.on_data(Time::ZERO, &data(16), false);
    assert_eq!(receiver.poll_ack(Time::ZERO).unwrap().sack, None);
    assert_eq!(receiver.statistics().duplicates, 1);
}

#[test]
fn the_echo_is_that_of_the_earliest_segment_not_yet_acknowledged() {
    let mut receiver = steady(ReceiverConfig::default());
    receiver.on_data(Time::ZERO, &data(16), false);
    receiver.on_data(Time::ZERO, &data(17), false);
    assert_eq!(
        receiver.poll_ack(Time::ZERO).unwrap().echo,
        Time::from_millis(16)
    );
}

#[test]
fn a_mark_is_echoed_until_the_sender_reports_a_reduced_window() {
    let mut receiver = Receiver::new(ReceiverConfig::default());
    let mut echo = |index, marked, window_reduced| {
        receiver.on_data(
            Time::ZERO,
            &DataSegment {
                window_reduced,
                ..data(index)
            },
            marked,
        );
        receiver.poll_ack(Time::ZERO).unwrap().congestion_echo
    };
    assert!(!echo(0, false, false));
    assert!(echo(1, true, false));
    assert!(echo(2, false, false));
    assert!(!echo(3, false, true));
}

#[test]
fn merged_packets_get_one_acknowledgement_for_each_64_kb() {
    let mut receiver = steady(ReceiverConfig {
        merge: true,
        ..ReceiverConfig::default()
    });
    for index in 16..116 {
        receiver.on_data(
            Time::ZERO,
            &DataSegment {
                timestamp: Time::ZERO,
                ..data(index)
            },
            false,
        );
    }
    assert_eq!(receiver.deadline(), Some(Time::ZERO));
    receiver.on_timeout(Time::ZERO);
    assert_eq!(acks(&mut receiver), [16 + 65, 116]);
    assert_eq!(receiver.deadline(), None);
}

#[test]
fn held_data_shrinks_the_window_but_its_edge_never_moves_back() {
    let mut receiver = Receiver::new(ReceiverConfig {
        buffer: 5_000,
        ..ReceiverConfig::default()
    });
    receiver.on_data(Time::ZERO, &data(1), false);
    assert_eq!(receiver.poll_ack(Time::ZERO).unwrap().window, 5_000);
    receiver.on_data(Time::ZERO, &data(0), false);
    assert_eq!(receiver.poll_ack(Time::ZERO).unwrap().window, 5_000);
    receiver.on_data(Time::ZERO, &data(7), false);
    assert_eq!(receiver.statistics().beyond_window, 1);
}

#[test]
fn a_fin_completes_the_stream_once_everything_before_it_has_arrived() {
    let mut receiver = Receiver::new(ReceiverConfig::default());
    receiver.on_data(
        Time::ZERO,
        &DataSegment {
            fin: true,
            ..data(1)
        },
        false,
    );
    assert!(!receiver.is_complete());
    receiver.on_data(Time::ZERO, &data(0), false);
    assert!(receiver.is_complete());
    assert_eq!(
        (receiver.delivered(), acks(&mut receiver).len()),
        (2_000, 2)
    );
}

#[test]
fn marks_of_a_scalable_sender_are_counted_and_not_echoed() {
    let mut receiver = Receiver::new(ReceiverConfig::default());
    let mut counts = |index, ecn, marked| {
        receiver.on_data(Time::ZERO, &DataSegment { ecn, ..data(index) }, marked);
        let ack = receiver.poll_ack(Time::ZERO).unwrap();
        assert!(!ack.congestion_echo);
        ack.accurate_ecn
            .map(|counts| (counts.packets, counts.bytes))
    };
    assert_eq!(counts(0, Ecn::Ect0, false), None);
    assert_eq!(counts(1, Ecn::Ect1, false), Some((0, 0)));
    assert_eq!(counts(2, Ecn::Ect1, true), Some((1, 1_000)));
    // A duplicate counts as well.
    assert_eq!(counts(2, Ecn::Ect1, true), Some((2, 2_000)));
    assert_eq!(counts(3, Ecn::Ect1, false), Some((2, 2_000)));
}
