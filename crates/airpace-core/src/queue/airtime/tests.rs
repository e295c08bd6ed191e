//! Shares, order, work and what cannot be gained by tricks. Times in the tests are whole
//! microseconds.

mod plain;
mod shares;

use super::*;

const QUANTUM_US: u64 = 300;

const fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

fn schedule(stations: usize) -> AirtimeFairness {
    weighted(&vec![DEFAULT_WEIGHT; stations])
}

fn weighted(weights: &[u16]) -> AirtimeFairness {
    let mut fairness = AirtimeFairness::new(AirtimeConfig::default());
    for &weight in weights {
        fairness.add(weight);
    }
    fairness
}

/// Serves one frame of the length that `frame_us` has for the station whose turn it is.
fn serve(fairness: &mut AirtimeFairness, frame_us: impl Fn(u32) -> u64) -> u32 {
    let station = fairness.next().unwrap();
    fairness.charge(station, us(frame_us(station)));
    station
}

#[test]
fn no_station_waits_at_first() {
    let mut fairness = schedule(3);
    assert!(fairness.is_empty() && fairness.next().is_none());
    assert_eq!(fairness.deficit_ns(2), 300_000);
}

#[test]
fn a_station_keeps_its_turn_until_its_deficit_is_used_up() {
    let mut fairness = schedule(2);
    (0..2).for_each(|s| fairness.wake(s));
    let order: Vec<u32> = (0..10).map(|_| serve(&mut fairness, |_| 100)).collect();
    assert_eq!(order, [0, 0, 0, 1, 1, 1, 0, 0, 0, 1]);
}

#[test]
fn a_sparse_station_is_served_at_once_each_time() {
    let mut fairness = schedule(20);
    (1..20).for_each(|s| fairness.wake(s));
    (0..40).for_each(|_| _ = serve(&mut fairness, |_| 1_000));
    for round in 0..200 {
        // A short frame, as of a voice call; afterwards the station is empty.
        fairness.wake(0);
        assert_eq!(serve(&mut fairness, |_| 150), 0, "round {round}");
        // Others send until it has passed the old stations.
        for _ in 0..100 {
            while fairness.next() == Some(0) {
                fairness.found_empty(0);
            }
            serve(&mut fairness, |_| 1_000);
        }
    }
}

#[test]
fn without_the_optimisation_a_sparse_station_waits_for_its_turn() {
    let mut fairness = AirtimeFairness::new(AirtimeConfig {
        sparse: false,
        ..AirtimeConfig::default()
    });
    (0..20).for_each(|_| assert!(fairness.add(DEFAULT_WEIGHT) < 20));
    (1..20).for_each(|s| fairness.wake(s));
    serve(&mut fairness, |_| 1_000);
    fairness.wake(0);
    let before = (0..100)
        .take_while(|_| serve(&mut fairness, |_| 1_000) != 0)
        .count();
    assert!(before >= 18, "{before} frames of others");
}

/// The share of station 0, which is refilled `pause` services after it was found empty, beside
/// `others` that always have frames.
fn share_of_refilled(others: u32, frame_us: u64, pause: u32) -> f64 {
    let mut fairness = schedule(others as usize + 1);
    (0..=others).for_each(|s| fairness.wake(s));
    let mut sent = vec![0; others as usize + 1];
    // Frames of station 0 that wait, and services until it is refilled.
    let (mut waits, mut away) = (true, 0);
    for _ in 0..20_000 {
        if !waits && away == 0 {
            (waits, away) = (true, pause);
            fairness.wake(0);
        }
        let station = fairness.next().unwrap();
        if station == 0 && !waits {
            fairness.found_empty(0);
            continue;
        }
        let length = if station == 0 { frame_us } else { 4_000 };
        fairness.charge(station, us(length));
        sent[station as usize] += length;
        if station == 0 {
            waits = false;
        } else {
            away = away.saturating_sub(1);
        }
    }
    let total: u64 = sent.iter().sum();
    sent[0] as f64 / total as f64
}

#[test]
fn emptying_and_refilling_gains_nothing() {
    for others in [1, 2, 9] {
        let fair = 1.0 / f64::from(others + 1);
        for frame_us in [10, 100, 150, 299, 300, 301, 599, 601, 1_000, 4_000, 20_000] {
            for pause in 0..4 {
                let share = share_of_refilled(others, frame_us, pause);
                assert!(
                    share <= fair + 0.002,
                    "{share} of {fair}: {others} others, {frame_us} us, pause {pause}"
                );
            }
        }
    }
}

#[test]
fn waking_again_and_again_gains_nothing() {
    let mut fairness = schedule(2);
    let mut sent = [0; 2];
    fairness.wake(1);
    for _ in 0..10_000 {
        fairness.wake(0);
        sent[serve(&mut fairness, |_| 1_000) as usize] += 1;
        fairness.wake(0);
    }
    assert!(sent[0] <= sent[1] + 2, "{sent:?}");
}

#[test]
fn uplink_airtime_is_charged_against_the_downlink() {
    let mut fairness = schedule(2);
    (0..2).for_each(|s| fairness.wake(s));
    let (mut down, mut up) = ([0u64; 2], 0);
    for frame in 0..40_000 {
        down[serve(&mut fairness, |_| 1_000) as usize] += 1_000;
        // Station 1 sends one frame for each four that go down.
        if frame % 4 == 0 {
            fairness.charge(1, us(1_000));
            up += 1_000;
        }
    }
    assert!(down[1] < down[0]);
    let (first, second) = (down[0] as f64, (down[1] + up) as f64);
    assert!((first / second - 1.0).abs() < 0.001, "{first} and {second}");
}

#[test]
fn a_station_that_sent_without_competition_owes_nothing() {
    let mut fairness = schedule(2);
    for _ in 0..1_000 {
        fairness.charge(1, Duration::from_secs(3));
        assert!(fairness.deficit_ns(1) > 0 && fairness.listed() == 0);
    }
    (0..2).for_each(|s| fairness.wake(s));
    let first: Vec<u32> = (0..4).map(|_| serve(&mut fairness, |_| 1_000)).collect();
    assert!(first.contains(&1), "{first:?}");
}

#[test]
fn a_debt_is_paid_back_while_others_wait_though_the_debtor_is_empty() {
    let mut fairness = schedule(2);
    fairness.wake(0);
    fairness.charge(1, us(30_000));
    assert_eq!(fairness.listed(), 2);
    for _ in 0..40 {
        assert_eq!(serve(&mut fairness, |_| 1_000), 0);
    }
    // 30 ms have gone to the other: nothing is owed, and the list is left.
    assert_eq!(fairness.listed(), 1);
    fairness.wake(1);
    assert_eq!(fairness.next(), Some(1));
}

#[test]
fn the_work_of_one_choice_is_bounded_however_deep_the_debts() {
    for (charge, quantum) in [
        (Duration::from_secs(36_000), us(300)),
        (Duration::MAX, us(300)),
        (Duration::from_secs(36_000), Duration::ZERO),
        (Duration::MAX, Duration::ZERO),
        (Duration::MAX, Duration::MAX),
    ] {
        let mut fairness = AirtimeFairness::new(AirtimeConfig {
            quantum,
            sparse: true,
        });
        for station in 0..1_000u16 {
            let index = fairness.add(if station % 3 == 0 { 0 } else { station * 65 });
            fairness.wake(index);
        }
        for turn in 0..3_000 {
            let before = fairness.visits;
            let station = fairness.next().unwrap();
            assert!(
                fairness.visits - before <= 5 * 1_000 + 1,
                "turn {turn}: {}",
                fairness.visits - before
            );
            fairness.charge(station, charge / (turn % 7 + 1));
        }
    }
}

#[test]
fn many_that_only_pay_back_leave_in_one_choice() {
    let mut fairness = schedule(5_001);
    fairness.wake(0);
    fairness.charge(0, Duration::from_secs(100));
    for station in 1..=5_000 {
        fairness.charge(station, us(u64::from(station) * 1_000));
    }
    let before = fairness.visits;
    assert_eq!(fairness.next(), Some(0));
    assert!(
        fairness.visits - before <= 5 * 5_001,
        "{}",
        fairness.visits - before
    );
    assert_eq!(fairness.listed(), 1);
}

#[test]
fn the_work_per_choice_does_not_grow_with_the_stations() {
    let work = |stations: usize| {
        let mut fairness = schedule(stations);
        (0..stations).for_each(|s| fairness.wake(s as u32));
        (0..10 * stations).for_each(|_| _ = serve(&mut fairness, |_| 4_000));
        let before = fairness.visits;
        (0..10 * stations).for_each(|_| _ = serve(&mut fairness, |_| 4_000));
        (fairness.visits - before) as f64 / (10 * stations) as f64
    };
    // A frame of 4 ms takes 13 or 14 quanta.
    assert!(
        work(100) < 20.0 && work(5_000) < 20.0,
        "{} and {}",
        work(100),
        work(5_000)
    );
}

#[test]
fn a_quantum_out_of_range_is_taken_to_the_nearest() {
    let in_force = |quantum| {
        AirtimeFairness::new(AirtimeConfig {
            quantum,
            sparse: true,
        })
        .config()
        .quantum
    };
    assert_eq!(in_force(Duration::ZERO), us(1));
    assert_eq!(in_force(Duration::MAX), Duration::from_secs(1));
    assert_eq!(in_force(us(QUANTUM_US)), us(QUANTUM_US));
}

#[test]
fn stations_that_may_not_send_are_passed_over_once() {
    let mut fairness = schedule(3);
    (0..3).for_each(|s| fairness.wake(s));
    assert_eq!(fairness.next_allowed(|s| s == 2), Some(2));
    assert_eq!(fairness.next_allowed(|_| false), None);
    // They have lost only their turn.
    assert!((0..3).all(|s| fairness.deficit_ns(s) == 300_000));
    assert!(fairness.next().is_some());
}

#[test]
fn one_in_debt_is_not_hidden_by_those_that_may_not_send() {
    let mut fairness = schedule(3);
    (0..3).for_each(|s| fairness.wake(s));
    fairness.charge(0, us(60_000));
    assert_eq!(fairness.next_allowed(|s| s == 0), Some(0));
}

#[test]
fn unknown_stations_are_ignored() {
    let mut fairness = schedule(1);
    fairness.wake(7);
    fairness.charge(7, us(1));
    fairness.found_empty(7);
    fairness.skip(7);
    fairness.set_weight(7, 1);
    assert!(fairness.is_empty() && fairness.next().is_none() && fairness.deficit_ns(7) == 0);
}

#[test]
fn a_weight_changes_the_share_from_the_next_round_on() {
    let mut fairness = schedule(2);
    (0..2).for_each(|s| fairness.wake(s));
    let share = |fairness: &mut AirtimeFairness| {
        (0..12_000)
            .filter(|_| serve(fairness, |s| if s == 0 { 500 } else { 2_000 }) == 0)
            .count()
    };
    // Equal airtime is four short frames for each long one; three times the weight is twelve.
    assert!(share(&mut fairness).abs_diff(9_600) < 20);
    fairness.set_weight(0, 3 * DEFAULT_WEIGHT);
    assert!(share(&mut fairness).abs_diff(12_000 * 12 / 13) < 20);
}
