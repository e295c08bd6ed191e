use super::*;

fn cells(stations: u32, level: f64) -> Vec<CellFrames> {
    let cell = Cell {
        stations,
        level,
        seed: 11,
        ..judged_cells(1, true)[0]
    };
    simulate(&cell).expect("the configuration is valid")
}

#[test]
fn levels_are_within_a_tenth_or_unusable_under_jitter_that_training_has_not_seen() {
    let (mut rows, mut usable, mut plain, mut usable_plain) = (0, 0, 0, 0);
    for cell in [cells(1, 2.2), cells(1, 24.0), cells(2, 8.0)].concat() {
        for condition in held_out() {
            let row = judge(&cell, &condition, 5);
            // At the lowest level timers hide frames, so that most receivers tell nothing.
            if cell.level() > 3.0 {
                rows += 1;
                usable += u32::from(row.usable);
            }
            if condition.family == "plain" {
                plain += 1;
                usable_plain += u32::from(row.usable);
            }
            assert!(row.error().is_none_or(|error| error.abs() < 0.1), "{row:?}");
        }
    }
    assert!(4 * usable > 3 * rows, "{usable} of {rows}");
    assert!(20 * usable_plain >= 19 * plain, "{usable_plain} of {plain}");
}

#[test]
fn a_small_training_decides_nearly_as_the_stored_trees() {
    let cells: Vec<CellFrames> = training_cells(1)
        .into_iter()
        .filter(|cell| cell.stations == 2)
        .map(|cell| Cell {
            duration: Duration::from_millis(300),
            ..cell
        })
        .flat_map(|cell| simulate(&cell).expect("the configuration is valid"))
        .collect();
    let small = train(&cells, &training(), 1);
    let cell = &super::tests::cells(2, 8.0)[0];
    let (mut gaps, mut equal) = (0, 0);
    for condition in held_out().into_iter().filter(|c| c.family != "by MPDU") {
        let arrivals = condition
            .receiver
            .arrivals(&cell.frames, &mut Stream::new(1, condition.name, 0));
        let mut stored = TimestampClassifier::new(Model::TRAINED);
        let mut trained = TimestampClassifier::new(small);
        for arrival in arrivals {
            gaps += 1;
            let (a, b) = (stored.observe(arrival.at), trained.observe(arrival.at));
            equal += u32::from(a.starts_frame == b.starts_frame);
        }
    }
    let share = f64::from(equal) / f64::from(gaps);
    assert!(share > 0.98, "{share}");
}

#[test]
fn interrupts_that_hide_frames_make_the_level_unusable() {
    let throttled = Condition {
        family: "test",
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
        family: "test",
        name: "test",
        receiver: Receiver {
            by_mpdu: true,
            ..Receiver::default()
        },
    };
    // The third station has the lowest rate: an MPDU takes over 100 µs.
    let row = judge(&cells(3, 12.0)[2], &by_mpdu, 5);
    assert!(row.fixed_gap_error() < -0.5, "{row:?}");
    let is_right = |level: f64| (level / row.true_level - 1.0).abs() < 0.1;
    assert!(row.level.is_some_and(is_right), "{row:?}");
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
fn boosted_trees_find_the_odds_behind_their_examples() {
    let mut stream = Stream::new(3, "examples", 0);
    let mut examples = Examples::<3>::default();
    // The first two features count together, the third says nothing.
    let odds = |x: [f64; 3]| -> f64 {
        if (x[0] > 0.3) == (x[1] > -0.2) {
            2.0
        } else {
            -1.0
        }
    };
    for _ in 0..20_000 {
        let features = [stream.normal(), stream.normal(), stream.normal()];
        let outcome = stream.happens(1.0 / (1.0 + (-odds(features)).exp()));
        examples.add(features, outcome, 1.0);
    }
    let trees: [Tree; 20] = examples.fit(0.5);
    for features in [
        [1.0, 1.0, 0.0],
        [1.0, -1.0, 0.5],
        [-1.0, 1.0, 0.0],
        [-1.0, -1.0, -0.5],
    ] {
        let found: f64 = trees.iter().map(|tree| tree.log_odds(&features)).sum();
        assert!(
            (found - odds(features)).abs() < 0.6,
            "{features:?}: {found}"
        );
    }
}

#[test]
fn training_makes_receivers_slower_without_changing_their_kind() {
    for condition in training() {
        let slower = condition.receiver.slower(2.0);
        assert_eq!(slower.slower(0.5), condition.receiver);
        assert_eq!(slower.per_packet_us, 2.0 * condition.receiver.per_packet_us);
    }
}
