use super::*;
use crate::rng::Stream;
use proptest::prelude::*;

/// A call of `packets`, each with the delay in milliseconds that `delay` gives, or lost.
fn call(
    config: VoipSinkConfig,
    packets: u64,
    mut delay: impl FnMut(u64) -> Option<f64>,
) -> VoipReport {
    let mut arrivals: Vec<(u64, u64)> = (0..packets)
        .filter_map(|sequence| {
            Some((
                sequence * 20_000_000 + (delay(sequence)? * 1e6) as u64,
                sequence,
            ))
        })
        .collect();
    arrivals.sort_unstable();
    let mut sink = VoipSink::new(config);
    for (at, sequence) in arrivals {
        sink.on_packet(
            Time::from_nanos(at),
            sequence,
            Time::from_millis(sequence * 20),
        );
    }
    sink.report(packets)
}

#[test]
fn a_short_constant_delay_scores_near_the_maximum() {
    let report = call(VoipSinkConfig::default(), 3_000, |_| Some(5.0));
    assert_eq!(
        (report.sent, report.lost, report.late, report.effective_loss),
        (3_000, 0, 0, 0.0)
    );
    assert_eq!(report.network_delay, Duration::from_millis(5));
    // 20 ms of packing, 5 of network, 20 of buffer.
    assert_eq!(report.mouth_to_ear, Duration::from_millis(45));
    assert!((report.network_score - 4.41).abs() < 0.005, "{report:?}");
    assert!(
        (4.37..4.41).contains(&report.mean_opinion_score),
        "{report:?}"
    );
}

#[test]
fn flent_counts_gaps_and_not_packets_as_losses() {
    // A hundred runs of five lost packets, in 9,500 that arrive.
    let report = call(VoipSinkConfig::default(), 10_000, |sequence| {
        (sequence % 100 >= 5).then_some(5.0)
    });
    let gaps = 99.0 / 9_500.0;
    let expected = Call::default()
        .with_delay_ms(5.0)
        .with_codec(Codec::LEAST_ROBUST)
        .with_loss(gaps, 1.0);
    assert_eq!(report.lost, 500);
    assert!(
        (report.network_score - expected.flent_score()).abs() < 1e-9,
        "{report:?}"
    );
}

#[test]
fn a_fixed_buffer_loses_late_packets() {
    let config = VoipSinkConfig {
        playout: Playout::Fixed(Duration::from_millis(60)),
        ..VoipSinkConfig::default()
    };
    let report = call(config, 1_000, |sequence| {
        Some(if sequence % 10 == 9 { 61.0 } else { 10.0 })
    });
    assert_eq!(
        (report.lost, report.late, report.effective_loss),
        (0, 100, 0.1)
    );
    assert_eq!(report.mouth_to_ear, Duration::from_millis(80));
    assert_eq!(report.burst_ratio, 1.0);
    assert!(report.mean_opinion_score < 4.0, "{report:?}");
    // They arrive after their successors: flent takes each for a loss, although it has no buffer.
    assert!((1.0..2.5).contains(&report.network_score), "{report:?}");
}

#[test]
fn an_adaptive_buffer_follows_jitter() {
    let mut stream = Stream::new(3, "jitter", 0);
    let report = call(VoipSinkConfig::default(), 20_000, |_| {
        Some(5.0 + 80.0 * stream.unit())
    });
    assert!(report.effective_loss < 0.01, "{report:?}");
    // Uniform: the mean deviation is 20 ms, so that the buffer plays at 45 + 80 ms.
    assert!(
        report.mouth_to_ear.abs_diff(Duration::from_millis(145)) < Duration::from_millis(5),
        "{report:?}"
    );
}

#[test]
fn losses_in_bursts_have_a_ratio_above_one() {
    let burst = call(VoipSinkConfig::default(), 10_000, |sequence| {
        (sequence % 100 >= 5).then_some(5.0)
    });
    assert!((burst.burst_ratio - 5.0 * 0.95).abs() < 1e-9, "{burst:?}");
    let mut stream = Stream::new(4, "loss", 0);
    let random = call(VoipSinkConfig::default(), 100_000, |_| {
        (!stream.happens(0.2)).then_some(5.0)
    });
    assert!((random.burst_ratio - 1.0).abs() < 0.02, "{random:?}");
    assert!((random.effective_loss - 0.2).abs() < 0.01);
}

#[test]
fn a_call_of_which_nothing_arrives_gets_the_worst_score() {
    let report = call(VoipSinkConfig::default(), 100, |_| None);
    assert_eq!(
        (
            report.lost,
            report.effective_loss,
            report.mean_opinion_score,
            report.network_score
        ),
        (100, 1.0, 1.0, 1.0)
    );
    let nothing_sent = VoipSink::new(VoipSinkConfig::default()).report(0);
    assert_eq!((nothing_sent.lost, nothing_sent.effective_loss), (0, 0.0));
}

#[test]
fn a_restart_counts_anew_and_keeps_the_buffer() {
    let mut sink = VoipSink::new(VoipSinkConfig::default());
    for sequence in [0, 5, 9, 98] {
        sink.on_packet(
            Time::from_millis(sequence * 20 + 300),
            sequence,
            Time::from_millis(sequence * 20),
        );
    }
    sink.restart(100);
    for sequence in 99..200 {
        sink.on_packet(
            Time::from_millis(sequence * 20 + 5),
            sequence,
            Time::from_millis(sequence * 20),
        );
    }
    let report = sink.report(100);
    assert_eq!(
        (report.sent, report.lost, report.late, report.network_delay),
        (100, 0, 0, Duration::from_millis(5))
    );
    // The buffer has not forgotten 300 ms.
    assert!(
        report.mouth_to_ear > Duration::from_millis(250),
        "{report:?}"
    );
}

#[test]
fn a_duplicate_is_not_played_again() {
    let mut sink = VoipSink::new(VoipSinkConfig::default());
    let at = Time::from_millis(5);
    assert!(sink.on_packet(at, 0, Time::ZERO));
    assert!(!sink.on_packet(at, 0, Time::ZERO));
    assert_eq!((sink.report(1).late, sink.report(1).lost), (1, 0));
}

proptest! {
    #[test]
    fn scores_fall_with_delay_and_loss(delay in 0.0..800.0f64, more in 1.0..300.0f64, nth in 3..50u64) {
        let run = |delay: f64, nth: u64| call(VoipSinkConfig::default(), 1_000, |sequence| (sequence % nth != 1).then_some(delay));
        let base = run(delay, nth);
        for worse in [run(delay + more, nth), run(delay, nth - 1)] {
            prop_assert!(worse.mean_opinion_score <= base.mean_opinion_score + 0.01);
            prop_assert!(worse.network_score <= base.network_score + 0.01);
        }
    }

    #[test]
    fn every_packet_is_played_or_missed_once(steps in prop::collection::vec((0..150u64, 0..40u64), 1..300)) {
        let (mut outcomes, mut number, mut seen) = (PacketOutcomes::default(), 0, std::collections::BTreeSet::new());
        for (step, back) in steps {
            number += step;
            let sequence = number.saturating_sub(back);
            let expected = if seen.insert(sequence) { Arrival::New } else { Arrival::Duplicate };
            prop_assert_eq!(outcomes.on_arrival(sequence), expected);
            outcomes.play(sequence);
        }
        let last = *seen.last().unwrap();
        let runs = outcomes.runs(last + 6);
        prop_assert_eq!((runs.played, runs.missed), (seen.len() as u64, last + 6 - seen.len() as u64));
        let gaps = (0..=last + 5).filter(|number| !seen.contains(number) && (*number == 0 || seen.contains(&(number - 1)))).count();
        prop_assert_eq!(runs.runs, gaps as u64);
    }

    #[test]
    fn any_packets_give_a_score_in_range(packets in prop::collection::vec((any::<u64>(), any::<u64>(), any::<u64>()), 1..50), sent: u64) {
        let mut sink = VoipSink::new(VoipSinkConfig::default());
        for (now, sequence, left) in packets {
            sink.on_packet(Time::from_nanos(now), sequence, Time::from_nanos(left));
        }
        prop_assert!((1.0..=4.5).contains(&sink.report(sent).mean_opinion_score));
    }
}
