use super::*;
use proptest::prelude::*;

/// The verdicts on arrivals at these times in microseconds after `start_ns`.
fn verdicts(start_ns: u64, times_us: &[u64]) -> (Vec<Verdict>, f64) {
    let mut classifier = TimestampClassifier::new(Model::TRAINED);
    let verdicts = times_us
        .iter()
        .map(|us| classifier.observe(Time::from_nanos(start_ns + 1_000 * us)))
        .collect();
    (verdicts, classifier.confidence())
}

/// Times of `frames` frames of `packets` packets, `within` µs apart, with back-off.
fn frames(frames: u64, packets: u64, within: u64, between: u64) -> Vec<u64> {
    let mut times = Vec::new();
    let mut now = 0;
    for frame in 0..frames {
        now += between + 9 * (frame.wrapping_mul(2_654_435_761) >> 7) % 144;
        for _ in 0..packets {
            times.push(now);
            now += within;
        }
    }
    times
}

#[test]
fn frames_are_told_apart_at_every_level_or_called_unusable() {
    for packets in [1, 2, 5, 16, 48] {
        for within in [0, 1, 4] {
            let (verdicts, confidence) = verdicts(0, &frames(600, packets, within, 300));
            let taken = verdicts.iter().filter(|v| v.starts_frame).count();
            let is_right = (585..=615).contains(&taken);
            assert!(
                is_right || confidence < 0.5,
                "{packets} {within}: {taken}, {confidence}"
            );
            // A packet now and then may look like a slow MPDU of an endless frame.
            assert!(is_right || packets == 1, "{packets} {within}: {taken}");
        }
    }
}

#[test]
fn the_first_frames_are_told_apart_without_history() {
    let (verdicts, confidence) = verdicts(0, &frames(10, 12, 3, 400));
    assert_eq!(verdicts.iter().filter(|v| v.starts_frame).count(), 10);
    assert_eq!(confidence, 0.0, "there are too few to judge by");
}

#[test]
fn a_time_that_goes_back_counts_as_simultaneous() {
    let (verdicts, _) = verdicts(0, &[1_000, 1_002, 500, 1_003]);
    let starts: Vec<bool> = verdicts.iter().map(|v| v.starts_frame).collect();
    assert_eq!(starts, [true, false, false, false]);
}

#[test]
fn equal_intervals_are_those_of_a_timer() {
    let regular: Vec<u64> = (0..2_000).map(|i| 1_000 * (i / 5)).collect();
    assert!(verdicts(0, &regular).1 < 0.5);
}

proptest! {
    #[test]
    fn any_arrivals_give_finite_probabilities(
        steps in prop::collection::vec((0u64..u64::MAX / 400, 0u32..64, any::<bool>()), 1..400),
    ) {
        let mut classifier = TimestampClassifier::new(Model::TRAINED);
        let mut now = 0u64;
        for (step, shift, back) in steps {
            // Steps of all magnitudes, some of them backwards.
            let step = step >> shift;
            now = if back { now.saturating_sub(step) } else { now.saturating_add(step) };
            let verdict = classifier.observe(Time::from_nanos(now));
            prop_assert!((0.0..=1.0).contains(&verdict.probability));
            prop_assert!(verdict.features.iter().all(|feature| feature.is_finite()));
            prop_assert!(classifier.window_features().iter().all(|feature| feature.is_finite()));
            prop_assert!((0.0..=1.0).contains(&classifier.confidence()));
        }
        let longest = classifier.longest_gap();
        prop_assert!(longest <= Duration::from_millis(4));
    }

    #[test]
    fn only_differences_between_times_count(
        gaps in prop::collection::vec(0u64..3_000, 1..600),
        start_ns in 0u64..1 << 60,
    ) {
        let times: Vec<u64> = gaps
            .iter()
            .scan(0, |now, gap| {
                *now += gap;
                Some(*now)
            })
            .collect();
        prop_assert_eq!(verdicts(0, &times), verdicts(start_ns, &times));
    }
}
