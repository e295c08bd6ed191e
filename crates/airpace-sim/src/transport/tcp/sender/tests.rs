mod refusal;
mod testbed;

use crate::transport::tcp::{
    Algorithm, CongestionState, DataSegment, SenderConfig, SenderStatistics,
};
use airpace_core::packet::Ecn;
use airpace_units::Time;
use core::time::Duration;
use proptest::prelude::*;
use testbed::{PathConfig, Testbed};

/// Share of a full packet that is payload.
const PAYLOAD: f64 = 1_448.0 / 1_500.0;

const fn ms(ms: u64) -> Time {
    Time::from_millis(ms)
}

fn config(algorithm: Algorithm) -> SenderConfig {
    SenderConfig::new(algorithm)
}

fn mean_rtt_ms(before: SenderStatistics, after: SenderStatistics) -> f64 {
    let n = (after.rtt_samples - before.rtt_samples) as f64;
    (after.rtt_sum - before.rtt_sum).as_secs_f64() * 1e3 / n
}

#[test]
fn goodput_is_near_capacity_with_every_algorithm() {
    for &algorithm in Algorithm::ALL {
        let mut bed = Testbed::bulk(PathConfig::new(100, 10, 200), config(algorithm));
        let goodput = bed.goodput_mbps(ms(5_000), ms(25_000));
        assert!(goodput > 0.95 * 100.0 * PAYLOAD, "{algorithm:?}: {goodput}");
        assert_eq!(bed.senders[0].statistics().timeouts, 0, "{algorithm:?}");
    }
}

#[test]
fn bbr_fills_a_link_with_a_small_queue_and_little_delay() {
    let mut bed = Testbed::bulk(PathConfig::new(100, 20, 60), config(Algorithm::Bbr));
    let goodput = bed.goodput_mbps(ms(5_000), ms(35_000));
    assert!(goodput > 0.9 * 100.0 * PAYLOAD, "{goodput}");
    let mut bed = Testbed::bulk(PathConfig::new(100, 20, 2_000), config(Algorithm::Bbr));
    bed.run_until(ms(5_000));
    let before = bed.senders[0].statistics();
    bed.run_until(ms(35_000));
    let rtt = mean_rtt_ms(before, bed.senders[0].statistics());
    assert!(
        rtt < 50.0,
        "{rtt} ms on a path of 40 ms with room for 240 ms of queue"
    );
}

#[test]
fn the_first_data_leaves_after_one_round_trip() {
    let mut bed = Testbed::new(PathConfig::new(1_000, 25, 100), 1);
    bed.keep_log = true;
    bed.add(config(Algorithm::Cubic), u64::MAX);
    bed.run_until(ms(60));
    assert!(bed.log[0].2.syn);
    let (at, _, first) = bed.log[1];
    assert!(!first.syn && at > ms(50) && at < ms(51), "{at}");
    assert_eq!(bed.log.len(), 11, "the initial window is ten segments");
}

#[test]
fn a_lost_syn_is_retransmitted_after_a_second_and_the_window_is_one() {
    let mut bed = Testbed::new(PathConfig::new(1_000, 25, 100), 1);
    (bed.lose, bed.keep_log) = (vec![0], true);
    bed.add(config(Algorithm::Cubic), u64::MAX);
    bed.run_until(ms(1_060));
    let sent: Vec<_> = bed
        .log
        .iter()
        .map(|(at, _, segment)| (at.as_nanos() / 1_000_000, segment.syn))
        .collect();
    assert_eq!(sent, [(0, true), (1_000, true), (1_050, false)]);
}

/// Loses packets at random on a link so fast that nothing queues, and returns goodput, in segments
/// per round trip.
fn segments_per_round_trip(algorithm: Algorithm, loss: f64, delay_ms: u64) -> f64 {
    let path = PathConfig {
        loss,
        ..PathConfig::new(10_000, delay_ms, 100_000)
    };
    let mut bed = Testbed::bulk(
        path,
        SenderConfig {
            send_buffer: 100_000_000,
            ..config(algorithm)
        },
    );
    let goodput = bed.goodput_mbps(ms(20_000), ms(320_000));
    goodput * 1e6 / 8.0 / 1_448.0 * 2.0 * delay_ms as f64 / 1e3
}

#[test]
fn reno_follows_the_square_root_law() {
    for loss in [0.0005, 0.002, 0.008] {
        // Mathis and others, 1997, for one acknowledgement per segment counted in segments:
        // √(3/2p).
        let law = (1.5_f64 / loss).sqrt();
        let window = segments_per_round_trip(Algorithm::Reno, loss, 25);
        assert!(
            (window / law - 1.0).abs() < 0.15,
            "loss {loss}: {window:.1} against {law:.1}"
        );
    }
}

#[test]
fn cubic_follows_its_curve_between_losses() {
    // A long path, so that the curve and not its Reno-friendly region governs.
    let path = PathConfig::new(1_000, 50, 100_000);
    let mut bed = Testbed::bulk(
        path,
        SenderConfig {
            send_buffer: 1 << 30,
            ..config(Algorithm::Cubic)
        },
    );
    bed.senders[0].window.threshold = 1_000;
    bed.run_until(ms(3_000));
    let before = bed.senders[0].window.segments;
    let next = bed.senders[0].statistics().segments + 1;
    bed.lose = vec![next];
    let start = (3_000..)
        .step_by(10)
        .find(|&at| {
            bed.run_until(ms(at));
            bed.senders[0].recovery.state == CongestionState::Recovery
        })
        .unwrap();
    let peak = f64::from(bed.senders[0].recovery.prior_window);
    assert!(f64::from(before) <= peak);
    let k = (peak * 0.3 / 0.4).cbrt();
    // The epoch begins with the first growth after the recovery, a round trip later; the curve is a
    // round trip ahead of the window.
    let epoch = start as f64 / 1e3 + 0.1;
    for at in [2.0, 4.0, 6.0, 8.0, 10.0, 12.0] {
        bed.run_until(ms(((epoch + at) * 1e3) as u64));
        let law = 0.4 * (at - k).powi(3) + peak;
        let window = f64::from(bed.senders[0].window.segments);
        assert!(
            (window / law - 1.0).abs() < 0.03,
            "{at} s: {window} against {law:.0}, peak {peak}, K {k:.2}"
        );
    }
}

#[test]
fn many_gaps_are_repaired_in_one_round_trip_without_a_timeout() {
    let mut bed = Testbed::bulk(PathConfig::new(100, 25, 1_000), config(Algorithm::Cubic));
    bed.run_until(ms(2_000));
    // The SYN is not counted as a segment.
    let next = bed.senders[0].statistics().segments + 1;
    bed.lose = (0..60).map(|i| next + 2 * i).collect();
    bed.run_until(ms(2_400));
    let after = bed.senders[0].statistics();
    assert_eq!((after.resent, after.timeouts, after.recoveries), (60, 0, 1));
    assert!(bed.senders[0].recovery.state < CongestionState::Recovery);
}

#[test]
fn the_tail_is_probed_before_the_timer_expires() {
    let mut bed = Testbed::new(PathConfig::new(100, 25, 1_000), 1);
    bed.add(config(Algorithm::Cubic), 10 * 1_448);
    bed.lose = vec![9, 10];
    bed.run_until(ms(400));
    let statistics = bed.senders[0].statistics();
    assert!(bed.senders[0].is_finished() && bed.receivers[0].is_complete());
    assert_eq!((statistics.probes, statistics.timeouts), (1, 0));
}

#[test]
fn timeouts_back_off_until_the_path_is_back() {
    let mut bed = Testbed::bulk(PathConfig::new(100, 25, 1_000), config(Algorithm::Reno));
    bed.run_until(ms(1_000));
    bed.path.loss = 1.0;
    bed.keep_log = true;
    bed.run_until(ms(20_000));
    let times: Vec<f64> = bed
        .log
        .iter()
        .rev()
        .take(4)
        .map(|(at, ..)| at.as_secs_f64())
        .collect();
    let gaps: Vec<f64> = times.windows(2).map(|pair| pair[0] - pair[1]).collect();
    assert!(
        gaps.windows(2)
            .all(|pair| (pair[0] / pair[1] - 2.0).abs() < 0.01),
        "{gaps:?}"
    );
    assert_eq!(bed.senders[0].window.segments, 1);
    bed.path.loss = 0.0;
    let goodput = bed.goodput_mbps(ms(50_000), ms(60_000));
    assert!(goodput > 0.95 * 100.0 * PAYLOAD, "{goodput}");
}

#[test]
fn a_spurious_timeout_is_recognised_and_undone() {
    let mut bed = Testbed::bulk(PathConfig::new(100, 10, 500), config(Algorithm::Cubic));
    bed.run_until(ms(3_000));
    bed.path.queue = 10_000;
    let window = bed.senders[0].window.segments;
    bed.stall(Duration::from_millis(700));
    bed.run_until(ms(6_000));
    let statistics = bed.senders[0].statistics();
    assert!(
        statistics.undone >= 1 && statistics.timeouts >= 1,
        "{statistics:?}"
    );
    assert!(
        bed.senders[0].window.segments > window / 2,
        "{} of {window}",
        bed.senders[0].window.segments
    );
}

#[test]
fn marks_reduce_the_window_without_loss() {
    for algorithm in [Algorithm::Reno, Algorithm::Cubic] {
        let path = PathConfig {
            mark_above: Some(200),
            ..PathConfig::new(100, 10, 2_000)
        };
        let mut bed = Testbed::bulk(
            path,
            SenderConfig {
                ecn: true,
                ..config(algorithm)
            },
        );
        bed.keep_log = true;
        let goodput = bed.goodput_mbps(ms(2_000), ms(12_000));
        let statistics = bed.senders[0].statistics();
        assert!(goodput > 0.95 * 100.0 * PAYLOAD, "{algorithm:?}: {goodput}");
        assert!(
            statistics.reductions >= 3 && statistics.resent == 0,
            "{statistics:?}"
        );
        let answers = bed
            .log
            .iter()
            .filter(|(_, _, segment)| segment.window_reduced)
            .count() as u64;
        assert!(
            answers.abs_diff(statistics.reductions) <= 1,
            "{answers} answers to {statistics:?}"
        );
    }
}

/// A path that marks every packet which finds more than ten packets, 1.2 ms, in the queue.
fn path_with_step() -> PathConfig {
    PathConfig {
        mark_above: Some(10),
        ..PathConfig::new(100, 5, 2_000)
    }
}

#[test]
fn prague_fills_a_link_whose_queue_is_marked_from_a_millisecond_on() {
    for virtual_rtt in [Duration::ZERO, Duration::from_millis(25)] {
        let mut bed = Testbed::bulk(
            path_with_step(),
            SenderConfig {
                virtual_rtt,
                ..config(Algorithm::Prague)
            },
        );
        bed.run_until(ms(5_000));
        let before = bed.senders[0].statistics();
        let goodput = bed.goodput_mbps(ms(5_000), ms(15_000));
        let statistics = bed.senders[0].statistics();
        assert!(
            goodput > 0.93 * 100.0 * PAYLOAD,
            "{virtual_rtt:?}: {goodput}"
        );
        let rtt = mean_rtt_ms(before, statistics);
        assert!(rtt < 11.7, "{virtual_rtt:?}: {rtt} ms on a path of 10 ms");
        // Marks are answered by the share of packets that they hit, not one by one.
        assert!(statistics.marked > 20, "{statistics:?}");
        assert_eq!((statistics.reductions, statistics.resent), (0, 0));
    }
}

#[test]
fn prague_sends_all_data_with_ect1_and_no_syn() {
    let path = PathConfig {
        loss: 0.01,
        ..path_with_step()
    };
    let mut bed = Testbed::new(path, 1);
    bed.keep_log = true;
    bed.add(config(Algorithm::Prague), 3_000_000);
    bed.run_until(ms(20_000));
    assert!(bed.receivers[0].is_complete());
    assert!(bed.senders[0].statistics().resent > 0);
    for (.., segment) in &bed.log {
        let expected = if segment.syn { Ecn::NotEct } else { Ecn::Ect1 };
        assert_eq!(segment.ecn, expected);
    }
}

#[test]
fn short_and_long_prague_flows_share_alike_below_the_virtual_round_trip_time() {
    // With their real round-trip times, flows over 4 and 24 ms would share as 6 : 1 or worse.
    let share = |delay_ms: u64| {
        let path = PathConfig {
            mark_above: Some(10),
            ..PathConfig::new(50, delay_ms, 2_000)
        };
        let mut bed = Testbed::bulk(path, config(Algorithm::Prague));
        bed.run_until(ms(10_000));
        let before = bed.senders[0].statistics();
        bed.run_until(ms(40_000));
        let after = bed.senders[0].statistics();
        (after.marked - before.marked) as f64 / (after.segments - before.segments) as f64
    };
    // Alone at equal rates, they see equal shares of marks, up to the depth of the sawtooth.
    let (short, long) = (share(2), share(12));
    assert!((0.3..3.0).contains(&(short / long)), "{short} and {long}");
}

#[test]
fn two_flows_share_fairly() {
    for &algorithm in Algorithm::ALL {
        let mut bed = Testbed::new(PathConfig::new(100, 10, 150), 3);
        bed.add(
            SenderConfig {
                seed: 1,
                ..config(algorithm)
            },
            u64::MAX,
        );
        bed.add(
            SenderConfig {
                seed: 2,
                ..config(algorithm)
            },
            u64::MAX,
        );
        bed.run_until(ms(20_000));
        let before: Vec<u64> = bed.receivers.iter().map(|r| r.delivered()).collect();
        bed.run_until(ms(120_000));
        let got: Vec<f64> = bed
            .receivers
            .iter()
            .zip(before)
            .map(|(r, b)| (r.delivered() - b) as f64)
            .collect();
        let jain = (got[0] + got[1]).powi(2) / (2.0 * (got[0] * got[0] + got[1] * got[1]));
        assert!(jain > 0.9, "{algorithm:?}: {got:?}");
    }
}

#[test]
fn random_loss_hardly_slows_bbr() {
    let path = PathConfig {
        loss: 0.01,
        ..PathConfig::new(100, 20, 300)
    };
    let mut bed = Testbed::bulk(path, config(Algorithm::Bbr));
    let goodput = bed.goodput_mbps(ms(5_000), ms(35_000));
    assert!(goodput > 0.85 * 100.0 * PAYLOAD, "{goodput}");
    assert_eq!(bed.senders[0].statistics().timeouts, 0);
}

#[test]
fn the_sender_adapts_to_reordering_at_little_cost_in_goodput() {
    let path = PathConfig {
        late: 0.01,
        late_by: Duration::from_millis(4),
        ..PathConfig::new(100, 20, 500)
    };
    let mut bed = Testbed::bulk(path, config(Algorithm::Cubic));
    let goodput = bed.goodput_mbps(ms(5_000), ms(35_000));
    assert!(
        goodput > 0.8 * 100.0 * PAYLOAD,
        "{goodput} {:?}",
        bed.senders[0].statistics()
    );
}

#[test]
fn the_window_is_halved_for_each_timeout_without_sending() {
    let mut bed = Testbed::new(PathConfig::new(100, 25, 1_000), 1);
    let flow = bed.add(config(Algorithm::Cubic), u64::MAX);
    bed.senders[flow].stream.written = 4_000_000;
    bed.run_until(ms(3_000));
    let window = bed.senders[flow].window.segments;
    bed.senders[flow].write(1_448);
    bed.kick(flow);
    bed.run_until(ms(3_001));
    assert!(window > 100);
    assert_eq!(bed.senders[flow].window.segments, 10);
}

#[test]
fn a_source_below_capacity_does_not_inflate_the_window() {
    let mut bed = Testbed::new(PathConfig::new(100, 25, 1_000), 1);
    let flow = bed.add(config(Algorithm::Cubic), u64::MAX);
    bed.senders[flow].stream.written = 0;
    for tick in 1..2_000 {
        bed.run_until(ms(5 * tick));
        bed.senders[flow].write(2 * 1_448);
        bed.kick(flow);
    }
    // 20 segments are in flight at a time.
    assert!(
        bed.senders[flow].window.segments < 100,
        "{}",
        bed.senders[flow].window.segments
    );
}

#[test]
fn acknowledgements_of_data_that_was_never_sent_are_ignored() {
    let mut bed = Testbed::bulk(PathConfig::new(100, 25, 1_000), config(Algorithm::Bbr));
    bed.run_until(ms(1_000));
    let sender = &mut bed.senders[0];
    let acknowledged = sender.acknowledged();
    let mut sack = Box::<crate::transport::tcp::SackBlocks>::default();
    sack.push(crate::transport::tcp::Block {
        start: u64::MAX - 5,
        end: u64::MAX,
    });
    sack.push(crate::transport::tcp::Block {
        start: u64::MAX,
        end: 3,
    });
    for ack in [u64::MAX, acknowledged] {
        sender.on_ack(
            ms(1_001),
            &crate::transport::tcp::AckSegment {
                ack,
                echo: Time::MAX,
                window: u32::MAX,
                syn: false,
                congestion_echo: true,
                accurate_ecn: None,
                sack: Some(sack.clone()),
            },
        );
    }
    assert_eq!(sender.acknowledged(), acknowledged);
}

/// Whether the segments in the log carry the stream once, in order and without gaps.
fn carries_whole_stream(log: &[(Time, usize, DataSegment)], bytes: u64) -> bool {
    let mut next = 0;
    for (.., segment) in log
        .iter()
        .filter(|(.., segment)| !segment.retransmission && !segment.syn)
    {
        if segment.offset != next {
            return false;
        }
        next = segment.end();
    }
    next == bytes + 1
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]
    #[test]
    fn every_stream_completes_whatever_the_path_does(
        algorithm in prop::sample::select(Algorithm::ALL.to_vec()),
        (seed, bytes) in (0_u64..1_000_000, 0_u64..3_000_000),
        (loss, ack_loss, late, duplicate) in (0.0..0.2, 0.0..0.2, 0.0..0.3, 0.0..0.1),
        (mbps, delay_ms, queue) in (1_u64..500, 0_u64..60, 5_u64..400),
        mark_above in prop::option::of(1_u64..100),
        ecn: bool,
    ) {
        let late_by = Duration::from_millis(60);
        let path = PathConfig { loss, ack_loss, late, late_by, duplicate, mark_above, ..PathConfig::new(mbps, delay_ms, queue) };
        let mut bed = Testbed::new(path, seed);
        bed.keep_log = true;
        bed.add(SenderConfig { ecn, seed, ..config(algorithm) }, bytes);
        bed.run_until(ms(3_600_000));
        prop_assert!(bed.receivers[0].is_complete(), "{:?} {:?}", bed.senders[0].info(), bed.senders[0].statistics());
        prop_assert_eq!(bed.receivers[0].delivered(), bytes);
        prop_assert!(bed.senders[0].is_finished());
        prop_assert_eq!(bed.senders[0].acknowledged(), bytes);
        prop_assert_eq!(bed.senders[0].board.in_flight(), 0);
        prop_assert!(carries_whole_stream(&bed.log, bytes));
    }
}
