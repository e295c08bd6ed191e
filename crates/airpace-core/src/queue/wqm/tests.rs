use super::*;
use proptest::prelude::*;

fn start(kbps: u64) -> Wqm {
    Wqm::new(WqmConfig::default(), BitRate::from_kbps(kbps))
}

const fn sample(packets: u64, kbps: u64) -> WqmSample {
    WqmSample {
        backlog_bits: packets * 12_000,
        rate: BitRate::from_kbps(kbps),
        mean_ampdu: 16.0,
        free: 1.0,
    }
}

/// The sizes after `n` samples, one after the other.
fn sizes(wqm: &mut Wqm, sample: WqmSample, n: usize) -> Vec<u32> {
    (0..n).map(|_| wqm.on_interval(&sample)).collect()
}

#[test]
fn the_first_size_and_the_bounds_are_those_of_the_calculator() {
    // 600 Mbit/s: the longest A-MPDU has 42 packets by bytes; with it, ARTT · R is 66 packets. 64
    // packets give the largest size, 89.
    let wqm = start(600_000);
    assert_eq!((wqm.limit(), wqm.bounds()), (66, (42, 89)));
    // 65 Mbit/s: 21 packets in 4 ms. 6.5 Mbit/s: two.
    assert_eq!(start(65_000).bounds(), (21, 89));
    assert_eq!(start(6_500).bounds(), (2, 89));
    for kbps in [6_500, 13_000, 65_000, 144_400] {
        let first = f64::from(start(kbps).limit());
        assert_eq!(first, wqm::initial_packets(kbps as f64 * 1e3));
    }
}

#[test]
fn drain_times_are_those_worked_out_by_hand() {
    let sample = WqmSample {
        backlog_bits: 1_200_000,
        rate: BitRate::from_mbps(120),
        mean_ampdu: 16.0,
        free: 0.5,
    };
    let drain = |drain, sample: &WqmSample| {
        Wqm::new(
            WqmConfig {
                drain,
                ..WqmConfig::default()
            },
            BitRate::from_mbps(120),
        )
        .drain_s(sample)
        .unwrap()
    };
    // 1.2 Mbit / 120 Mbit/s / 0.5.
    assert!((drain(DrainEstimate::Published, &sample) - 20e-3).abs() < 1e-12);
    // A frame of 16 packets takes 63 + 34 + 66 + 16 + 40 = 219 µs and 16 · 12,304 bits / 120 Mbit/s
    // = 1,640.53 µs; 100 packets are 6.25 frames: 11.622 ms, and twice that with half of the time
    // free.
    let by_hand: f64 = 6.25 * (219e-6 + 16.0 * 12_304.0 / 120e6) / 0.5;
    assert!((by_hand - 23.244e-3).abs() < 1e-6);
    assert!((drain(DrainEstimate::WithOverhead, &sample) - by_hand).abs() < 1e-12);
    // Single packets at 600 Mbit/s: 239.5 µs each instead of 20 µs.
    let single = WqmSample {
        mean_ampdu: 1.0,
        rate: BitRate::from_mbps(600),
        free: 1.0,
        ..sample
    };
    let ratio =
        drain(DrainEstimate::WithOverhead, &single) / drain(DrainEstimate::Published, &single);
    assert!((ratio - 11.975).abs() < 0.001, "{ratio}");
    let full = WqmSample {
        mean_ampdu: 42.0,
        ..single
    };
    let ratio = drain(DrainEstimate::WithOverhead, &full) / drain(DrainEstimate::Published, &full);
    assert!((ratio - 1.286).abs() < 0.001, "{ratio}");
}

#[test]
fn the_size_is_halved_from_the_second_interval_above_the_limit_on() {
    let mut wqm = start(144_400);
    let first = wqm.limit();
    let least = wqm.bounds().0;
    assert_eq!(least, 42);
    assert_eq!(
        sizes(&mut wqm, sample(500, 65_000), 4),
        [first, (first / 2).max(21), 21, 21]
    );
}

#[test]
fn the_size_grows_by_one_from_the_second_interval_below_the_limit_on() {
    let mut wqm = start(65_000);
    let first = wqm.limit();
    assert_eq!(
        sizes(&mut wqm, sample(1, 65_000), 4),
        [first, first + 1, first + 2, first + 3]
    );
    assert_eq!(sizes(&mut wqm, sample(0, 65_000), 200).last(), Some(&89));
}

#[test]
fn a_load_that_alternates_around_the_limit_changes_nothing() {
    let mut wqm = start(65_000);
    let first = wqm.limit();
    for _ in 0..50 {
        assert_eq!(wqm.on_interval(&sample(500, 65_000)), first);
        assert_eq!(wqm.on_interval(&sample(0, 65_000)), first);
    }
}

#[test]
fn a_drain_time_at_the_limit_ends_both_alarms() {
    let config = WqmConfig {
        drain: DrainEstimate::Published,
        limit: Duration::from_millis(4),
        ..WqmConfig::default()
    };
    let mut wqm = Wqm::new(config, BitRate::from_mbps(60));
    let first = wqm.limit();
    // 20 packets at 60 Mbit/s take 4 ms.
    for packets in [200, 20, 200, 20, 1, 20, 1, 20] {
        assert_eq!(wqm.on_interval(&sample(packets, 60_000)), first);
    }
}

#[test]
fn the_size_follows_the_longest_aggregate_when_the_rate_changes() {
    let mut wqm = start(6_500);
    sizes(&mut wqm, sample(100, 6_500), 10);
    assert_eq!(wqm.limit(), 2);
    // One interval is enough: below a whole A-MPDU only throughput would be lost.
    assert_eq!(wqm.on_interval(&sample(100, 144_400)), 42);
}

#[test]
fn a_standing_queue_is_reduced_until_it_drains_in_time() {
    // The queue is always as full as it may be, so the size comes to rest around what drains within
    // the limit.
    let config = WqmConfig {
        limit: Duration::from_millis(8),
        ..WqmConfig::default()
    };
    let mut wqm = Wqm::new(config, BitRate::from_mbps(65));
    for _ in 0..200 {
        wqm.on_interval(&sample(u64::from(wqm.limit()), 65_000));
    }
    let sizes: Vec<u32> = (0..100)
        .map(|_| wqm.on_interval(&sample(u64::from(wqm.limit()), 65_000)))
        .collect();
    // 40 packets take 2.5 frames of 219 + 3,028.7 µs, 8.1 ms.
    let (least, most) = (*sizes.iter().min().unwrap(), *sizes.iter().max().unwrap());
    assert!(
        least >= 21 && (40..=42).contains(&most),
        "{least} to {most}"
    );
}

#[test]
fn parameters_choose_the_policy() {
    let config = WqmConfig {
        alarm_intervals: 3,
        decrease: 0.8,
        increase: 5,
        ..WqmConfig::default()
    };
    let mut wqm = Wqm::new(config, BitRate::from_mbps(600));
    assert_eq!(sizes(&mut wqm, sample(5_000, 600_000), 4), [66, 66, 52, 42]);
    assert_eq!(sizes(&mut wqm, sample(0, 600_000), 4), [42, 42, 47, 52]);
    let at_once = WqmConfig {
        alarm_intervals: 0,
        ..config
    };
    assert_eq!(
        Wqm::new(at_once, BitRate::from_mbps(600)).on_interval(&sample(5_000, 600_000)),
        52
    );
}

#[test]
fn a_channel_that_is_never_free_counts_as_above_the_limit_with_any_backlog() {
    let mut wqm = start(65_000);
    let busy = |packets| WqmSample {
        free: 0.0,
        ..sample(packets, 65_000)
    };
    assert_eq!(wqm.drain_s(&busy(1)), Some(f64::INFINITY));
    assert_eq!(wqm.drain_s(&busy(0)), Some(0.0));
    assert_eq!(sizes(&mut wqm, busy(1), 9).last(), Some(&21));
}

#[test]
fn a_sample_that_says_nothing_changes_nothing() {
    let mut wqm = start(65_000);
    let first = wqm.limit();
    let bad = [
        WqmSample {
            rate: BitRate::ZERO,
            ..sample(900, 0)
        },
        WqmSample {
            free: f64::NAN,
            ..sample(900, 65_000)
        },
    ];
    for sample in bad {
        assert_eq!(sizes(&mut wqm, sample, 3), [first; 3]);
    }
    assert_eq!(wqm.ignored(), 6);
}

/// Numbers, among them those that break careless code.
fn number() -> impl Strategy<Value = f64> {
    let odd = [
        0.0,
        -0.0,
        -1.0,
        0.5,
        1.0,
        1e308,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MIN_POSITIVE,
    ];
    prop_oneof![
        prop::sample::select(odd.to_vec()),
        0.0..2.0f64,
        any::<f64>()
    ]
}

fn config() -> impl Strategy<Value = WqmConfig> {
    let sizes = (any::<u32>(), any::<u32>(), any::<u16>(), any::<u32>());
    let spans = (any::<u32>(), any::<u32>(), any::<u64>());
    (number(), any::<bool>(), 0..5u32, sizes, spans).prop_map(
        |(decrease, published, alarm_intervals, sizes, spans)| {
            let (increase, packet_bytes, window, bytes) = sizes;
            let duration = Duration::from_micros(u64::from(spans.1));
            WqmConfig {
                interval: Duration::from_millis(100),
                limit: Duration::from_micros(u64::from(spans.0)),
                drain: if published {
                    DrainEstimate::Published
                } else {
                    DrainEstimate::WithOverhead
                },
                alarm_intervals,
                decrease,
                increase,
                packet_bytes,
                ampdu: AmpduLimits {
                    window,
                    bytes,
                    duration,
                },
                top_rate: BitRate::from_bps(spans.2),
            }
        },
    )
}

proptest! {
    #[test]
    fn the_size_stays_within_its_bounds_for_all_samples(
        config in prop_oneof![Just(WqmConfig::default()), config()],
        rate: u64,
        samples in prop::collection::vec((any::<u64>(), prop_oneof![Just(0), any::<u64>()], number(), number()), 0..50),
    ) {
        let mut wqm = Wqm::new(config, BitRate::from_bps(rate));
        for (backlog_bits, rate, mean_ampdu, free) in samples {
            let sample = WqmSample { backlog_bits, rate: BitRate::from_bps(rate), mean_ampdu, free };
            let size = wqm.on_interval(&sample);
            let (least, most) = wqm.bounds();
            prop_assert!(1 <= least && least <= size && size <= most);
            prop_assert!(wqm.drain_s(&sample).is_none_or(|s| s >= 0.0));
        }
    }

    #[test]
    fn the_corrected_drain_time_is_never_below_the_published_one(packets in 0..10_000u64, kbps in 1_000..1_000_000u64, mpdus in 0.0..100.0f64) {
        let sample = WqmSample { mean_ampdu: mpdus, ..sample(packets, kbps) };
        let estimate = |drain| Wqm::new(WqmConfig { drain, ..WqmConfig::default() }, sample.rate).drain_s(&sample);
        prop_assert!(estimate(DrainEstimate::WithOverhead) >= estimate(DrainEstimate::Published));
    }
}
