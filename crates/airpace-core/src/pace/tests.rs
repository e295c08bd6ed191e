use super::*;
use airpace_units::StationId;
use proptest::prelude::*;

fn grant(rate_pps: f64, bytes: f64) -> Allocation {
    Allocation {
        station: StationId(0),
        rate_pps,
        rate_bytes_per_s: rate_pps * bytes,
        level: 32.0,
        pause: Duration::ZERO,
    }
}

fn exact() -> PaceConfig {
    PaceConfig {
        burst: Duration::ZERO,
        burst_packets: 1,
        ..PaceConfig::default()
    }
}

/// Releases a packet as soon as the pacer allows it, from `now` on, and returns the time.
fn release_next(pacer: &mut Pacer, now: Time, bytes: u32) -> Time {
    let at = pacer.next_release().expect("a rate").max(now);
    assert!(at == now || !pacer.may_release(at - Duration::from_nanos(1)));
    assert!(pacer.release(at, bytes));
    at
}

#[test]
fn a_packet_of_the_nominal_size_leaves_every_interval() {
    for phy_rate in [None, Some(BitRate::from_mbps(390))] {
        let mut pacer = Pacer::new(exact());
        pacer.grant(Time::ZERO, &grant(20_000.0, 1_500.0), phy_rate);
        let times: Vec<u64> = (0..4)
            .map(|_| release_next(&mut pacer, Time::ZERO, 1_500).as_nanos())
            .collect();
        // Rounding of the tariff to whole units may cost a nanosecond.
        for (time, expected) in times.into_iter().zip([0, 50_000, 100_000, 150_000]) {
            assert!(time.abs_diff(expected) <= 1, "{time} instead of {expected}");
        }
    }
}

#[test]
fn mixed_sizes_are_paced_by_airtime() {
    let rate = BitRate::from_mbps(390);
    let config = exact();
    let mut pacer = Pacer::new(config);
    pacer.grant(Time::ZERO, &grant(10_000.0, 1_500.0), Some(rate));
    assert!(pacer.release(Time::ZERO, 60));
    let gap = pacer.next_release().unwrap().as_secs_f64();
    let airtime = |bytes: f64| (bytes + 42.0) * 8.0 / 390e6 + 214e-6 / 32.0;
    let expected = 1e-4 * airtime(60.0) / airtime(1_500.0);
    assert!(
        (gap / expected - 1.0).abs() < 1e-4,
        "{gap} instead of {expected}"
    );
    let mut by_bytes = Pacer::new(config);
    by_bytes.grant(Time::ZERO, &grant(10_000.0, 1_500.0), None);
    assert!(by_bytes.release(Time::ZERO, 60));
    assert_eq!(by_bytes.next_release(), Some(Time::from_micros(4)));
}

#[test]
fn a_pause_allows_one_burst_and_no_more() {
    let mut pacer = Pacer::new(PaceConfig {
        burst: Duration::from_micros(200),
        ..exact()
    });
    pacer.grant(Time::ZERO, &grant(20_000.0, 1_500.0), None);
    let later = Time::from_millis(500);
    let released = (0..100).filter(|_| pacer.release(later, 1_500)).count();
    // Four intervals of 50 µs within the burst, and the packet that ends it.
    assert_eq!(released, 5);
    // At a low rate it is the number of packets that counts.
    let mut slow = Pacer::new(PaceConfig::default());
    slow.grant(Time::ZERO, &grant(10.0, 1_500.0), None);
    assert_eq!((0..100).filter(|_| slow.release(later, 1_500)).count(), 2);
}

#[test]
fn a_late_timer_costs_no_rate_within_the_burst() {
    let mut pacer = Pacer::new(PaceConfig::default());
    pacer.grant(Time::ZERO, &grant(20_000.0, 1_500.0), None);
    let mut released = 0;
    // Wakes every 190 µs only, which is not a multiple of the interval.
    for wake in 0..100_000u64 {
        while pacer.release(Time::from_micros(190 * wake), 1_500) {
            released += 1;
        }
    }
    let due = 190 * 100_000 / 50;
    assert!(
        (due..due + 5).contains(&released),
        "{released} released, {due} due"
    );
}

#[test]
fn a_new_rate_takes_effect_at_once() {
    let mut pacer = Pacer::new(exact());
    pacer.grant(Time::ZERO, &grant(1.0, 1_500.0), None);
    assert!(pacer.release(Time::ZERO, 1_500));
    assert_eq!(pacer.next_release(), Some(Time::from_millis(1_000)));
    // A tenth of the packet is paid for; the other nine take 0.9 ms at a thousand times the rate.
    pacer.grant(Time::from_millis(100), &grant(1_000.0, 1_500.0), None);
    assert_eq!(pacer.next_release(), Some(Time::from_micros(100_900)));
    // And slower again, half of what was left being paid for.
    pacer.grant(Time::from_micros(100_450), &grant(100.0, 1_500.0), None);
    assert_eq!(pacer.next_release(), Some(Time::from_micros(104_950)));
}

#[test]
fn a_rate_of_zero_stops_packets_and_an_unshaped_pacer_releases_all() {
    let mut pacer = Pacer::new(PaceConfig::default());
    assert!(pacer.is_unshaped());
    assert!((0..1_000).all(|_| pacer.release(Time::ZERO, 1_500)));
    pacer.grant(Time::ZERO, &grant(0.0, 1_500.0), None);
    assert_eq!(pacer.next_release(), None);
    assert!(!pacer.release(Time::MAX, 1_500));
    pacer.grant(Time::from_millis(1), &grant(100.0, 1_500.0), None);
    assert!(pacer.release(Time::from_millis(1), 1_500));
    pacer.unshape();
    assert_eq!(pacer.next_release(), Some(Time::ZERO));
}

#[test]
fn allocations_with_nan_are_ignored() {
    let mut pacer = Pacer::new(exact());
    pacer.grant(Time::ZERO, &grant(1_000.0, 1_000.0), None);
    let before = pacer.mode;
    pacer.grant(Time::ZERO, &grant(f64::NAN, 1_000.0), None);
    pacer.grant(
        Time::ZERO,
        &Allocation {
            level: f64::NAN,
            ..grant(5.0, 5.0)
        },
        None,
    );
    assert_eq!(pacer.mode, before);
}

#[test]
fn what_packets_permit_is_paid_for_and_the_rate_is_that_of_the_usual_packet() {
    let mut pacer = Pacer::new(exact());
    // Every other packet permits as much as three of them have.
    pacer.expect_permitted(2_250.0);
    pacer.grant(Time::ZERO, &grant(1_000.0, 1_500.0), None);
    let mut now = Time::ZERO;
    for packet in 0..1_000 {
        now = now.max(pacer.next_release().expect("it is paced"));
        let permitted_bytes = if packet % 2 == 0 { 4_500 } else { 0 };
        pacer.charge_permitting(now, 1_500, permitted_bytes);
        let gap = pacer.next_release().expect("it is paced").since(now);
        let expected_us = if packet % 2 == 0 { 1_600 } else { 400 };
        assert_eq!(gap, Duration::from_micros(expected_us));
    }
    // The last gap is not over yet.
    assert_eq!(now, Time::from_nanos(999_600_000));
}

#[test]
fn nothing_is_paid_for_what_packets_permit_unless_it_is_expected() {
    for expected in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let mut pacer = Pacer::new(PaceConfig::default());
        pacer.expect_permitted(expected);
        pacer.grant(Time::ZERO, &grant(1_000.0, 1_500.0), None);
        let mut plain = Pacer::new(PaceConfig::default());
        plain.grant(Time::ZERO, &grant(1_000.0, 1_500.0), None);
        for _ in 0..10 {
            pacer.charge_permitting(Time::ZERO, 1_500, u32::MAX);
            plain.charge(Time::ZERO, 1_500);
        }
        assert_eq!(pacer.next_release(), plain.next_release());
    }
}

proptest! {
    #[test]
    fn nothing_drifts(rate in 0.1f64..1e6, nominal in 60f64..1500.0, mbps in proptest::option::of(1u64..5000),
                      sizes in prop::collection::vec(20u32..9000, 1..50)) {
        let mut pacer = Pacer::new(exact());
        pacer.grant(Time::ZERO, &grant(rate, nominal), mbps.map(BitRate::from_mbps));
        let Mode::Paced(tariff) = pacer.mode else { return Ok(()) };
        let (mut units, mut now) = (0u128, Time::ZERO);
        for &bytes in sizes.iter().cycle().take(20_000) {
            // However many went before, a packet leaves in the nanosecond in which they are paid
            // for.
            let due = (units * NANOS).div_ceil(u128::from(tariff.per_second));
            now = release_next(&mut pacer, now, bytes);
            prop_assert_eq!(u128::from(now.as_nanos()), due);
            units += tariff.cost(bytes, 0);
        }
    }

    #[test]
    fn a_window_holds_no_more_than_the_burst_and_its_length(rate in 10f64..1e5, burst_us in 0u64..1_000,
                                                            gaps in prop::collection::vec((0u64..2_000, 20u32..1500), 1..300)) {
        let config = PaceConfig { burst: Duration::from_micros(burst_us), ..PaceConfig::default() };
        let mut pacer = Pacer::new(config);
        pacer.grant(Time::ZERO, &grant(rate, 1_500.0), None);
        let Mode::Paced(tariff) = pacer.mode else { return Ok(()) };
        let (mut now, mut released) = (Time::ZERO, Vec::new());
        for (gap, bytes) in gaps {
            now += Duration::from_micros(gap);
            while released.len() < 4_000 && pacer.release(now, bytes) {
                released.push((now, tariff.cost(bytes, 0)));
            }
        }
        let allowed_burst = u128::from(tariff.burst_ns) * u128::from(tariff.per_second);
        for (i, &(from, _)) in released.iter().enumerate() {
            // The packet that ends a burst is released unpaid.
            let mut before = 0u128;
            for &(to, cost) in released[i..].iter().take(200) {
                let window = to.since(from).as_nanos() * u128::from(tariff.per_second);
                prop_assert!(before * NANOS <= allowed_burst + window + u128::from(tariff.per_second));
                before += cost;
            }
        }
    }

    #[test]
    fn changes_of_rate_neither_burst_nor_stall(rates in prop::collection::vec(50f64..1e5, 1..100)) {
        let mut pacer = Pacer::new(exact());
        let mut now = Time::ZERO;
        for rate in rates {
            pacer.grant(now, &grant(rate, 1_500.0), None);
            // At most one packet is owed, so that the next one leaves within one interval of the
            // new rate.
            let interval = Duration::from_secs_f64(1.0 / rate);
            let wait = pacer.next_release().unwrap().saturating_since(now);
            prop_assert!(wait <= interval + Duration::from_micros(1), "{wait:?} at {rate}");
            let at = release_next(&mut pacer, now, 1_500);
            prop_assert!(!pacer.may_release(at));
            now = at + interval / 3;
        }
    }
}

#[test]
fn a_sparse_flow_does_not_wait_for_what_an_acknowledgement_permits() {
    let mut pacer = Pacer::new(exact());
    pacer.expect_permitted(1_500.0);
    pacer.grant(Time::ZERO, &grant(1_000.0, 1_500.0), None);
    pacer.charge_permitting(Time::ZERO, 52, 60_000);
    let after = |at: Option<Time>| at.expect("it is paced").as_nanos() / 1_000_000;
    assert_eq!(after(pacer.next_release()), 20);
    assert_eq!(after(pacer.next_release_ahead()), 0);
    // What the sparse packets cost is paid for.
    (0..3).for_each(|_| pacer.charge(Time::ZERO, 1_500));
    assert_eq!(after(pacer.next_release_ahead()), 0);
    (0..3).for_each(|_| pacer.charge(Time::ZERO, 1_500));
    assert_eq!(after(pacer.next_release_ahead()), 2);
}
