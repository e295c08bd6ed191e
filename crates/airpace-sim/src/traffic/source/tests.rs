use super::*;
use proptest::prelude::*;

fn source(config: SourceConfig, index: u64) -> Source {
    Source::new(config, Stream::new(5, "traffic", index)).unwrap()
}

fn constant(mbps: u64) -> SourceConfig {
    let rate = Rate::Bits(airpace_units::BitRate::from_mbps(mbps));
    SourceConfig::new(Pattern::Constant {
        payload_bytes: 1_470,
        rate,
    })
}

fn bits_within(source: Source, seconds: u64) -> u64 {
    source
        .take_while(|emission| emission.at < Time::from_millis(seconds * 1_000))
        .map(|e| u64::from(e.payload_bytes) * 8)
        .sum()
}

#[test]
fn rates_are_exact_over_long_times() {
    for mbps in [1, 3, 7, 390] {
        let bits = bits_within(source(constant(mbps), 0), 600);
        // The phase shifts at most one packet beyond the end.
        assert!(
            bits.abs_diff(mbps * 600_000_000) <= 1_470 * 8,
            "{bits} at {mbps} Mbit/s"
        );
    }
}

#[test]
fn a_g711_call_is_fifty_packets_of_two_hundred_bytes_a_second() {
    let call = source(SourceConfig::new(Pattern::G711), 0);
    let packets: Vec<Emission> = call.take(3_000).collect();
    assert!(
        packets
            .iter()
            .all(|packet| packet.payload_bytes + 8 + 20 == 200)
    );
    assert_eq!(
        packets[2_999].at.since(packets[0].at),
        Duration::from_millis(2_999 * 20)
    );
}

#[test]
fn phases_are_independent_and_uniform() {
    let gap_ns = 11_760_000.0 / 100.0;
    let phase = |index| source(constant(100), index).next().unwrap().at.as_nanos() as f64 / gap_ns;
    let phases: Vec<f64> = (0..1_000).map(phase).collect();
    assert!(phases.iter().all(|phase| (0.0..1.0).contains(phase)));
    let mean = phases.iter().sum::<f64>() / 1_000.0;
    let products = phases
        .windows(2)
        .map(|pair| (pair[0] - 0.5) * (pair[1] - 0.5))
        .sum::<f64>()
        / 999.0;
    // Standard errors: 0.0091 and 0.0026.
    assert!((mean - 0.5).abs() < 0.04, "{mean}");
    assert!(products.abs() < 0.011, "{products}");
    // A source keeps its phase whatever others there are.
    assert_eq!(phase(7), phases[7]);
}

#[test]
fn poisson_gaps_have_the_mean_and_the_variance_of_an_exponential() {
    let rate = Rate::packets_per_second(10_000.0);
    let mut poisson = source(
        SourceConfig::new(Pattern::Poisson {
            payload_bytes: 500,
            rate,
        }),
        0,
    );
    let mut last = Time::ZERO;
    let gaps: Vec<f64> = (0..200_000)
        .map(|_| {
            let at = poisson.next().unwrap().at;
            at.since(core::mem::replace(&mut last, at)).as_secs_f64() * 1e4
        })
        .collect();
    let mean = gaps.iter().sum::<f64>() / 2e5;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / 2e5;
    let covariance = gaps
        .windows(2)
        .map(|pair| (pair[0] - mean) * (pair[1] - mean))
        .sum::<f64>()
        / 2e5;
    // Standard errors 0.0022, 0.0063 and 0.0022.
    assert!(
        (mean - 1.0).abs() < 0.01 && (variance - 1.0).abs() < 0.03 && covariance.abs() < 0.01,
        "{mean} {variance} {covariance}"
    );
    let long = gaps.iter().filter(|&&gap| gap > 3.0).count() as f64 / 2e5;
    assert!((long - (-3.0f64).exp()).abs() < 0.003, "{long}");
}

#[test]
fn on_and_off_times_give_their_share_of_the_rate() {
    let ms = Duration::from_millis;
    let fixed = Activity::OnOff {
        on: Period::Fixed(ms(300)),
        off: Period::Fixed(ms(700)),
    };
    let random = Activity::OnOff {
        on: Period::Exponential(ms(30)),
        off: Period::Exponential(ms(70)),
    };
    for (activity, tolerance) in [(fixed, 12_000.0), (random, 0.02 * 0.3 * 10e6 * 1_000.0)] {
        let bits = bits_within(
            source(
                SourceConfig {
                    activity,
                    ..constant(10)
                },
                0,
            ),
            1_000,
        ) as f64;
        assert!(
            (bits - 0.3 * 10e6 * 1_000.0).abs() < tolerance,
            "{bits} with {activity:?}"
        );
    }
    let packets = source(
        SourceConfig {
            activity: fixed,
            ..constant(10)
        },
        0,
    )
    .take(10_000);
    assert!(
        packets
            .into_iter()
            .all(|packet| packet.at.as_nanos() % 1_000_000_000 < 300_000_000)
    );
}

#[test]
fn a_source_respects_its_start_stop_and_limit() {
    let config = SourceConfig {
        start: Time::from_millis(500),
        stop: Some(Time::from_millis(1_500)),
        ..constant(12)
    };
    let mut limited = source(config, 0);
    let packets: Vec<Emission> = limited.by_ref().collect();
    assert!(
        packets
            .iter()
            .all(|packet| packet.at >= config.start && packet.at < Time::from_millis(1_500))
    );
    assert!(
        packets.len().abs_diff(1_020) <= 1 && limited.is_finished() && limited.next().is_none()
    );
    assert_eq!(
        source(
            SourceConfig {
                limit: Some(7),
                ..config
            },
            0
        )
        .count(),
        7
    );
}

#[test]
fn a_new_rate_holds_from_the_time_it_is_set() {
    let mut source = source(constant(1), 0);
    let before = source.by_ref().take(10).last().unwrap().at;
    source.set_rate(before, Rate::Bits(airpace_units::BitRate::from_mbps(100)));
    let first = source.next().unwrap().at;
    assert!(first.since(before) <= Duration::from_nanos(117_600));
    assert_eq!(
        source.next().unwrap().at.since(first),
        Duration::from_nanos(117_600)
    );
    source.set_rate(first, Rate::Bits(airpace_units::BitRate::ZERO));
    assert_eq!((source.next(), source.is_finished()), (None, false));
    let later = first + Duration::from_secs(5);
    source.set_rate(later, Rate::packets_per_second(1_000.0));
    assert_eq!(source.next().unwrap().at, later + Duration::from_millis(1));
}

fn frames(size: FrameSize, spread: Spread) -> Frames {
    Frames {
        rate: Rate::packets_per_second(60.0),
        mean_bytes: 50_000,
        size,
        packet_bytes: 1_400,
        spread,
    }
}

#[test]
fn frames_are_split_into_packets_and_spread() {
    let config = |spread| SourceConfig::new(Pattern::Frames(frames(FrameSize::Constant, spread)));
    let burst: Vec<Emission> = source(config(Spread::BackToBack), 0).take(72).collect();
    assert!(burst[..36].iter().all(|packet| packet.at == burst[0].at));
    assert_eq!(burst[35].payload_bytes, 50_000 - 35 * 1_400);
    assert_eq!(burst[36].at.since(burst[0].at).as_nanos(), 16_666_666);
    let spread: Vec<Emission> = source(config(Spread::Over(Duration::from_millis(10))), 0)
        .take(36)
        .collect();
    assert_eq!(
        spread[18].at.since(spread[0].at),
        Duration::from_nanos(18 * 280_000)
    );
}

#[test]
fn sizes_of_frames_keep_their_mean_and_deviation() {
    for size in [
        FrameSize::Normal { deviation: 0.2 },
        FrameSize::LogNormal { deviation: 0.5 },
    ] {
        let mut stream = Stream::new(2, "frames", 0);
        let config = Frames {
            packet_bytes: u32::MAX,
            ..frames(size, Spread::BackToBack)
        };
        let mut state = FrameState::new(config, |_| 0).unwrap();
        let sizes: Vec<f64> = (0..100_000)
            .map(|_| f64::from(state.next(&mut stream).unwrap().1) / 50_000.0)
            .collect();
        let mean = sizes.iter().sum::<f64>() / 1e5;
        let deviation = (sizes.iter().map(|size| (size - mean).powi(2)).sum::<f64>() / 1e5).sqrt();
        let expected = if matches!(size, FrameSize::Normal { .. }) {
            0.2
        } else {
            0.5
        };
        assert!(
            (mean - 1.0).abs() < 0.008 && (deviation / expected - 1.0).abs() < 0.03,
            "{mean} {deviation}"
        );
    }
}

#[test]
fn a_bit_rate_changes_the_size_of_frames_and_not_their_frequency() {
    let mut source = source(
        SourceConfig::new(Pattern::Frames(frames(
            FrameSize::Constant,
            Spread::BackToBack,
        ))),
        0,
    );
    let start = source.by_ref().take(36).last().unwrap().at;
    source.set_rate(
        start,
        Rate::Bits(airpace_units::BitRate::from_bps(60 * 8 * 10_000)),
    );
    let second: Vec<Emission> = source.by_ref().take(8).collect();
    assert_eq!(
        second
            .iter()
            .map(|packet| packet.payload_bytes)
            .sum::<u32>(),
        10_000
    );
    assert_eq!(second[0].at.since(start).as_nanos(), 16_666_666);
}

#[test]
fn invalid_configurations_are_refused() {
    let new = |pattern, activity| {
        Source::new(
            SourceConfig {
                activity,
                ..SourceConfig::new(pattern)
            },
            Stream::new(1, "x", 0),
        )
        .err()
    };
    let rate = Rate::packets_per_second(1.0);
    assert_eq!(
        new(
            Pattern::Constant {
                payload_bytes: 0,
                rate
            },
            Activity::Always
        ),
        Some(SourceError::NoPayload)
    );
    let short = Activity::OnOff {
        on: Period::Fixed(Duration::ZERO),
        off: Period::Fixed(Duration::ZERO),
    };
    assert_eq!(new(Pattern::G711, short), Some(SourceError::OnTime));
    let odd = Pattern::Frames(frames(
        FrameSize::Normal {
            deviation: f64::NAN,
        },
        Spread::BackToBack,
    ));
    assert_eq!(new(odd, Activity::Always), Some(SourceError::Deviation));
}

fn patterns() -> impl Strategy<Value = Pattern> {
    let rate = prop_oneof![
        any::<u64>().prop_map(|bps| Rate::Bits(airpace_units::BitRate::from_bps(bps))),
        (any::<u64>(), any::<u64>()).prop_map(|(count, ns)| Rate::Packets {
            count,
            period: Duration::from_nanos(ns)
        }),
    ];
    let spread = prop_oneof![
        Just(Spread::BackToBack),
        any::<u64>().prop_map(|ns| Spread::Over(Duration::from_nanos(ns)))
    ];
    let size = prop_oneof![
        Just(FrameSize::Constant),
        (0.0..5.0f64).prop_map(|deviation| FrameSize::LogNormal { deviation })
    ];
    (0..3, rate, 1..u32::MAX, 1..u32::MAX, (size, spread)).prop_map(
        |(kind, rate, bytes, packet_bytes, (size, spread))| match kind {
            0 => Pattern::Constant {
                payload_bytes: bytes,
                rate,
            },
            1 => Pattern::Poisson {
                payload_bytes: bytes,
                rate,
            },
            _ => Pattern::Frames(Frames {
                rate,
                mean_bytes: bytes,
                size,
                packet_bytes,
                spread,
            }),
        },
    )
}

proptest! {
    #[test]
    fn packets_leave_in_order_whatever_the_configuration(pattern in patterns(), off in 0..10_000_000u64, changes in prop::collection::vec(any::<u64>(), 0..5)) {
        let activity = Activity::OnOff { on: Period::Exponential(Duration::from_secs(1)), off: Period::Fixed(Duration::from_nanos(off)) };
        let mut source = source(SourceConfig { activity, start: Time::from_millis(3), ..SourceConfig::new(pattern) }, 0);
        let mut last = Time::from_millis(3);
        for bps in core::iter::once(None).chain(changes.into_iter().map(Some)) {
            if let Some(bps) = bps {
                source.set_rate(last, Rate::Bits(airpace_units::BitRate::from_bps(bps)));
            }
            for emission in source.by_ref().take(50) {
                prop_assert!(emission.at >= last && emission.payload_bytes > 0);
                last = emission.at;
                if last > Time::from_millis(1_000_000) { return Ok(()); }
            }
        }
    }
}
