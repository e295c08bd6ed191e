//! Segments that the queue of the sender's own host refuses.

use super::testbed::{PathConfig, Testbed};
use super::{PAYLOAD, config, ms};
use crate::transport::tcp::congestion::Window;
use crate::transport::tcp::recovery::{AckCounts, Recovery};
use crate::transport::tcp::{Algorithm, Sender};
use core::time::Duration;

#[test]
fn a_refused_segment_is_not_lost_and_reduces_the_window() {
    for algorithm in [Algorithm::Cubic, Algorithm::Reno] {
        let mut bed = Testbed::bulk(PathConfig::new(100, 10, 200), config(algorithm));
        bed.refuses = true;
        let goodput = bed.goodput_mbps(ms(5_000), ms(25_000));
        let statistics = bed.senders[0].statistics();
        assert!(goodput > 0.95 * 100.0 * PAYLOAD, "{algorithm:?}: {goodput}");
        assert!(statistics.refused > 0, "{algorithm:?}");
        assert_eq!(
            (statistics.resent, statistics.timeouts),
            (0, 0),
            "{algorithm:?}"
        );
        // The window fell, so that the queue is refilled in rounds and not at every
        // acknowledgement.
        assert!(
            statistics.refused < statistics.segments / 50,
            "{algorithm:?}: {} of {}",
            statistics.refused,
            statistics.segments
        );
    }
}

#[test]
fn streams_complete_although_segments_are_refused_and_lost() {
    for seed in 0..20 {
        let mut path = PathConfig::new(50, 5, 20);
        (path.loss, path.late, path.late_by) = (0.01, 0.05, Duration::from_millis(5));
        let mut bed = Testbed::new(path, seed);
        bed.refuses = true;
        for _ in 0..4 {
            bed.add(config(Algorithm::Cubic), 3_000_000);
        }
        bed.run_until(ms(60_000));
        for sender in &bed.senders {
            assert!(sender.is_finished(), "seed {seed}: {:?}", sender.info());
        }
        assert!(
            bed.senders
                .iter()
                .any(|sender| sender.statistics().refused > 0)
        );
    }
}

#[test]
fn a_sender_with_nothing_in_flight_tries_again_after_a_timeout() {
    let mut bed = Testbed::new(PathConfig::new(100, 10, 4), 1);
    (bed.refuses, bed.keep_log) = (true, true);
    bed.add(config(Algorithm::Cubic), 200_000);
    // The queue is full when the handshake is over.
    bed.run_until(ms(15));
    bed.stall(Duration::from_millis(100));
    bed.run_until(ms(2_000));
    let data: Vec<_> = bed.log.iter().filter(|(_, _, s)| !s.syn).collect();
    let again = data.iter().find(|(at, _, _)| *at > ms(30)).unwrap();
    assert!(again.0 > ms(200) && again.0 < ms(1_100), "{}", again.0);
    assert_eq!(again.2.offset, 0);
    bed.run_until(ms(10_000));
    assert!(bed.senders[0].is_finished());
}

#[test]
fn the_deadline_is_ahead_for_a_caller_that_polls_no_more_than_one_segment() {
    // As under TCP small queues: the second segment is never polled, so no poll returns `None`.
    let mut bed = Testbed::bulk(PathConfig::new(100, 10, 200), config(Algorithm::Cubic));
    bed.run_until(ms(1_000));
    let sender: &mut Sender = &mut bed.senders[0];
    let mut now = ms(1_000);
    for round in 0..50 {
        let due = sender.deadline().unwrap();
        assert!(round == 0 || due > now, "round {round}: {due:?} at {now:?}");
        now = now.max(due);
        sender.on_timeout(now);
        if let Some(segment) = sender.poll_transmit(now) {
            sender.on_refused(now, &segment);
        }
        // One that may not poll at all gets a later deadline as well.
        while sender.deadline().is_some_and(|due| due <= now) {
            let before = sender.deadline();
            sender.on_timeout(now);
            assert_ne!(sender.deadline(), before, "round {round}");
        }
    }
}

#[test]
fn a_refused_segment_does_not_count_as_sent_while_the_window_is_reduced() {
    let window_after = |n_refused: u32| {
        let (mut recovery, mut window) = (Recovery::default(), Window::new(20));
        recovery.begin(30_000, &mut window);
        window.threshold = 14;
        for _ in 0..n_refused {
            recovery.on_sent();
            recovery.on_refused();
        }
        let counts = AckCounts {
            delivered: 6,
            lost: 0,
            advanced: true,
        };
        recovery.reduce(counts, 16, &mut window);
        window.segments
    };
    assert_eq!(window_after(3), window_after(0));
}
