use super::*;

fn cells(stations: u32, level: f64) -> Vec<CellFrames> {
    simulate(stations, level, Duration::from_secs(2), 11).expect("the configuration is valid")
}

#[test]
fn levels_are_within_a_tenth_under_jitter_that_training_has_not_seen() {
    let (mut rows, mut usable) = (0, 0);
    for cell in [cells(1, 2.2), cells(1, 24.0), cells(2, 8.0)].concat() {
        for condition in held_out() {
            let row = judge(&cell, &condition, 5);
            rows += 1;
            if let Some(error) = row.error() {
                usable += 1;
                assert!(error.abs() < 0.1, "{row:?}");
            }
        }
    }
    assert!(4 * usable > 3 * rows, "{usable} of {rows}");
}

#[test]
fn interrupts_that_hide_frames_make_the_level_unusable() {
    let throttled = Condition {
        name: "test",
        receiver: Receiver {
            coalescing: Coalescing::Throttled(1_200.0),
            ..Receiver::default()
        },
    };
    let row = judge(&cells(1, 3.0)[0], &throttled, 5);
    assert!(row.fixed_gap_error() > 0.3, "{row:?}");
    assert!(!row.usable, "{row:?}");
}

#[test]
fn frames_that_arrive_mpdu_by_mpdu_are_split_by_the_fixed_gap_only() {
    let by_mpdu = Condition {
        name: "test",
        receiver: Receiver {
            by_mpdu: true,
            ..Receiver::default()
        },
    };
    // The third station has the lowest rate: an MPDU takes over 100 µs.
    let row = judge(&cells(3, 12.0)[2], &by_mpdu, 5);
    assert!(row.fixed_gap_error() < -0.5, "{row:?}");
    assert!(
        row.error().is_some_and(|error| error.abs() < 0.1),
        "{row:?}"
    );
}

#[test]
fn receivers_keep_order_number_and_frames_of_packets() {
    let frames = &cells(1, 8.0)[0].frames;
    let packets: u32 = frames.iter().map(|frame| frame.packets).sum();
    for condition in training().into_iter().chain(held_out()) {
        let arrivals = condition
            .receiver
            .arrivals(frames, &mut Stream::new(1, "test", 0));
        assert_eq!(arrivals.len(), packets as usize, "{}", condition.name);
        assert!(arrivals.is_sorted_by_key(|arrival| (arrival.at, arrival.frame)));
        let earliest = |arrival: &Arrival| {
            let frame = frames[arrival.frame as usize];
            if condition.receiver.by_mpdu {
                frame.start
            } else {
                frame.end
            }
        };
        // Timestamps have the resolution of the receiver's clock.
        let tick = condition.receiver.tick;
        assert!(
            arrivals
                .iter()
                .all(|arrival| arrival.at + tick >= earliest(arrival))
        );
    }
}

#[test]
fn no_condition_is_in_both_lists() {
    for condition in held_out() {
        for trained in training() {
            assert_ne!(condition.receiver, trained.receiver);
            assert_ne!(condition.name, trained.name);
        }
    }
}

#[test]
fn a_regression_finds_the_weights_behind_its_examples() {
    let mut stream = Stream::new(3, "examples", 0);
    let mut examples = Examples::<3>::default();
    let truth = [-0.5, 2.0, -1.0];
    for _ in 0..20_000 {
        let features = [1.0, stream.normal(), 3.0 + stream.normal()];
        let log_odds: f64 = truth.iter().zip(features).map(|(w, x)| w * x).sum();
        let outcome = stream.happens(1.0 / (1.0 + (-log_odds).exp()));
        examples.add(features, outcome, 1.0);
    }
    for (weight, truth) in examples.fit().iter().zip(truth) {
        assert!((weight - truth).abs() < 0.15, "{weight} {truth}");
    }
}
