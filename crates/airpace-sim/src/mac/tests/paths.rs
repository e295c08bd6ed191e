//! How the transmit paths serve stations of different rates.

use super::air::{Flow, Log, drive};
use super::*;
use airpace_core::queue::AirtimeLimitConfig;

/// 004's stations: two at 144.4 Mbit/s and one at 7.2, frames of 4 ms at most.
fn three_stations(path: PathConfig) -> MacConfig {
    let rate =
        |nss, mcs| TxRate::new(Standard::Ht, Width::Mhz20, nss, mcs, GuardInterval::Ns400).unwrap();
    let rates = [rate(2, 15), rate(2, 15), rate(1, 0)];
    let links = rates.into_iter().zip(1..).flat_map(|(rate, station)| {
        [(0, station), (station, 0)]
            .map(|(from, to)| LinkConfig::new(RadioId(from), RadioId(to), rate))
    });
    let radio = |path| RadioConfig {
        path,
        max_duration: Duration::from_millis(4),
        ..RadioConfig::new()
    };
    let mut radios = vec![radio(PathConfig::default()); 4];
    radios[0] = radio(path);
    MacConfig::new(radios, links.collect())
}

/// 100 Mbit/s of UDP to each station.
fn saturated(path: PathConfig, millis: u64) -> Log {
    let flows = [1, 2, 3].map(|station| Flow {
        bytes: 1_500,
        ..Flow::new(0, station, 120)
    });
    drive(
        &mut Mac::new(three_stations(path), 5).unwrap(),
        &flows,
        Duration::from_millis(millis),
    )
}

/// Packets per frame to each station, and shares of the airtime of all.
fn levels_and_shares(log: &Log) -> [(f64, f64); 3] {
    let total: f64 = log
        .frames
        .iter()
        .map(|frame| frame.airtime.as_secs_f64())
        .sum();
    [1, 2, 3].map(|station| {
        let frames: Vec<_> = log
            .frames
            .iter()
            .filter(|frame| frame.to == RadioId(station))
            .collect();
        let airtime: f64 = frames.iter().map(|frame| frame.airtime.as_secs_f64()).sum();
        let packets: f64 = frames.iter().map(|frame| f64::from(frame.packets)).sum();
        (packets / frames.len() as f64, airtime / total)
    })
}

/// Mbit/s that each station gets.
fn goodput(log: &Log, seconds: f64) -> [f64; 3] {
    [0, 1, 2].map(|flow| log.delivered[flow].0 as f64 * 1_500.0 * 8e-6 / seconds)
}

#[test]
fn with_a_fifo_the_slow_station_takes_most_of_the_airtime() {
    // 004 Table 1: 4.47, 5.08 and 1.89 packets per frame, 10, 11 and 79 % of the airtime.
    let log = saturated(PathConfig::of(Scheme::Fifo), 10_000);
    let [(one, _), (two, _), (slow, share)] = levels_and_shares(&log);
    assert!(
        (3.0..6.0).contains(&one) && (3.0..6.0).contains(&two),
        "{one} {two}"
    );
    assert!(
        (1.8..=2.0).contains(&slow) && (0.76..0.84).contains(&share),
        "{slow} {share}"
    );
}

#[test]
fn airtime_fairness_shares_airtime_equally_and_raises_the_total() {
    let fifo = saturated(PathConfig::of(Scheme::Fifo), 10_000);
    let airtime = saturated(PathConfig::of(Scheme::Airtime), 10_000);
    for (_, share) in levels_and_shares(&airtime) {
        assert_near(share, 1.0 / 3.0, 0.01);
    }
    let total = |log: &Log| goodput(log, 10.0).iter().sum::<f64>();
    assert!(
        total(&airtime) > 3.0 * total(&fifo),
        "{} {}",
        total(&airtime),
        total(&fifo)
    );
}

#[test]
fn airtime_follows_the_weights() {
    let mut config = three_stations(PathConfig::of(Scheme::Airtime));
    config
        .links
        .iter_mut()
        .filter(|link| link.to == RadioId(3))
        .for_each(|link| link.weight = 512);
    let flows = [1, 2, 3].map(|station| Flow {
        bytes: 1_500,
        ..Flow::new(0, station, 120)
    });
    let log = drive(
        &mut Mac::new(config, 5).unwrap(),
        &flows,
        Duration::from_secs(10),
    );
    let [(_, one), (_, two), (_, slow)] = levels_and_shares(&log);
    assert_near(slow, 0.5, 0.02);
    assert_near(one, two, 0.02);
}

#[test]
fn what_a_station_sends_is_charged_to_it() {
    let mut config = three_stations(PathConfig::of(Scheme::Airtime));
    config.radios[3].max_mpdus = 1;
    let down = [1, 2, 3].map(|station| Flow {
        bytes: 1_500,
        ..Flow::new(0, station, 120)
    });
    // 1.5 Mbit/s up at 7.2 Mbit/s: more than a fifth of the time.
    let up = Flow {
        bytes: 1_500,
        ..Flow::new(3, 0, 8_000)
    };
    let log = drive(
        &mut Mac::new(config, 5).unwrap(),
        &[down[0], down[1], down[2], up],
        Duration::from_secs(10),
    );
    let airtime = |whose: &dyn Fn(&FrameRecord) -> bool| -> f64 {
        log.frames
            .iter()
            .filter(|frame| whose(frame))
            .map(|frame| frame.airtime.as_secs_f64())
            .sum()
    };
    // The access point knows of what it has sent, and of what it has decoded.
    let of = |station: u32| {
        airtime(&|frame| {
            let is_from = frame.from == RadioId(station) && frame.decoded > 0;
            is_from || frame.to == RadioId(station)
        })
    };
    let up = airtime(&|frame| frame.from == RadioId(3));
    assert!(up > 2.0, "{up}");
    assert_near(of(3), of(1), 0.03);
    assert_near(of(2), of(1), 0.03);
}

#[test]
fn a_call_has_short_delays_with_flow_queues_and_long_ones_without() {
    let delay = |scheme| {
        let bulk = [1, 2, 3].map(|station| Flow {
            bytes: 1_500,
            ..Flow::new(0, station, 120)
        });
        let call = Flow {
            bytes: 200,
            ..Flow::new(0, 3, 20_000)
        };
        let mut mac = Mac::new(three_stations(PathConfig::of(scheme)), 5).unwrap();
        drive(
            &mut mac,
            &[bulk[0], bulk[1], bulk[2], call],
            Duration::from_secs(10),
        )
        .mean_delay(3)
    };
    let [fifo, fq_codel, fq_mac, airtime] = [
        Scheme::Fifo,
        Scheme::FqCodel,
        Scheme::FqMac,
        Scheme::Airtime,
    ]
    .map(delay);
    // The driver's 123 packets stand behind FQ-CoDel (004 §2.1).
    assert!(
        fifo > 2 * fq_codel && fq_codel > 3 * fq_mac,
        "{fifo:?} {fq_codel:?} {fq_mac:?}"
    );
    assert!(airtime < Duration::from_millis(40), "{airtime:?}");
}

#[test]
fn the_size_of_a_queue_follows_the_rate() {
    let held = |scheme| {
        let mut mac = Mac::new(three_stations(PathConfig::of(scheme)), 5).unwrap();
        drive(
            &mut mac,
            &[Flow {
                bytes: 1_500,
                ..Flow::new(0, 3, 120)
            }],
            Duration::from_secs(5),
        );
        mac.held(RadioId(0))
    };
    // The driver's packets, and at 7.2 Mbit/s no more than an aggregate or two above them.
    assert!(held(Scheme::Fifo) > 1_100);
    for scheme in [Scheme::Wqm, Scheme::WqmFq] {
        assert!(
            (123..=140).contains(&held(scheme)),
            "{} {}",
            scheme.name(),
            held(scheme)
        );
    }
}

#[test]
fn the_airtime_queue_limit_shortens_delays() {
    let delay = |airtime_limit, hardware| {
        let path = PathConfig {
            airtime_limit,
            hardware,
            ..PathConfig::of(Scheme::Airtime)
        };
        let mut mac = Mac::new(three_stations(path), 5).unwrap();
        let bulk = [1, 2, 3].map(|station| Flow {
            bytes: 1_500,
            ..Flow::new(0, station, 120)
        });
        let sparse = Flow {
            bytes: 100,
            ..Flow::new(0, 1, 50_000)
        };
        drive(
            &mut mac,
            &[bulk[0], bulk[1], bulk[2], sparse],
            Duration::from_secs(10),
        )
        .mean_delay(3)
    };
    let (deep, limited) = (
        delay(None, 16),
        delay(Some(AirtimeLimitConfig::default()), 16),
    );
    assert!(
        deep > limited + Duration::from_millis(8),
        "{deep:?} {limited:?}"
    );
}

#[test]
fn all_packets_for_a_station_that_disappears_are_dropped_and_reported() {
    for &scheme in Scheme::ALL {
        let mut mac = Mac::new(three_stations(PathConfig::of(scheme)), 5).unwrap();
        let flows = [1, 2, 3].map(|station| Flow {
            bytes: 1_500,
            ..Flow::new(0, station, 400)
        });
        let before = drive(&mut mac, &flows, Duration::from_secs(2));
        let (from, to) = (RadioId(0), RadioId(1));
        mac.handle(
            Time::from_millis(2_000),
            Input::SetQuality {
                from,
                to,
                quality: Quality::Loss(1.0),
            },
        );
        let mut gone =
            before.delivered.iter().map(|flow| flow.0).sum::<u64>() + before.dropped.len() as u64;
        let sent: u64 = flows
            .iter()
            .map(|flow| 1 + (2_000_000 - flow.phase.as_micros() as u64) / 400)
            .sum();
        while let Some(due) = mac
            .deadline()
            .filter(|due| *due < Time::from_millis(600_000))
        {
            mac.handle(due, Input::Tick);
            while let Some(output) = mac.poll() {
                gone += u64::from(matches!(
                    output,
                    Output::Delivered { .. } | Output::Dropped { .. }
                ));
            }
        }
        assert_eq!((mac.held(from), gone), (0, sent), "{}", scheme.name());
    }
}

#[test]
fn packets_get_their_sequence_numbers_when_they_leave_the_flow_queues() {
    let mut mac = Mac::new(three_stations(PathConfig::of(Scheme::FqMac)), 5).unwrap();
    for id in 0..3_000_u64 {
        let packet = Datagram {
            flow: (id / 100 % 7) as u32,
            ..Datagram::new(id, 1_500)
        };
        mac.handle(
            Time::from_micros(id),
            Input::Send {
                from: RadioId(0),
                to: RadioId(1),
                packet,
            },
        );
    }
    let (mut expected, mut overtaken, mut last) = (0_u16, false, 0);
    while let Some(due) = mac.deadline() {
        mac.handle(due, Input::Tick);
        while let Some(output) = mac.poll() {
            if let Output::Delivered { mpdu, packet, .. } = output {
                assert_eq!(mpdu.sequence, expected % 4_096);
                expected += 1;
                overtaken |= packet.id < last;
                last = packet.id;
            }
        }
    }
    assert!(expected > 2_000 && overtaken, "{expected} {overtaken}");
}

#[test]
fn no_station_starves_behind_flow_queues_under_any_schedule() {
    for (schedule, hardware) in [
        (Schedule::RoundRobin, 0),
        (Schedule::RoundRobin, 2),
        (Schedule::OldestFirst, 0),
        (Schedule::OldestFirst, 2),
    ] {
        let path = PathConfig {
            schedule,
            hardware,
            ..PathConfig::of(Scheme::FqMac)
        };
        let mut config = three_stations(path);
        let rate = vht(1, 9);
        config
            .links
            .iter_mut()
            .for_each(|link| link.adaptation = rate.into());
        config
            .radios
            .iter_mut()
            .for_each(|radio| radio.max_duration = Duration::from_micros(5_484));
        let flows = [1, 2, 3].map(|station| Flow {
            bytes: 1_500,
            ..Flow::new(0, station, 30)
        });
        let log = drive(
            &mut Mac::new(config, 5).unwrap(),
            &flows,
            Duration::from_secs(3),
        );
        let [one, two, three] = goodput(&log, 3.0);
        assert!(one > 90.0, "{schedule:?} {hardware} {one} {two} {three}");
        assert_near(two, one, 0.1);
        assert_near(three, one, 0.1);
    }
}

#[test]
fn paths_that_cannot_work_are_refused() {
    let refusal = |path| {
        Mac::<Datagram>::new(three_stations(path), 1)
            .err()
            .map(|error| error.to_string())
    };
    let unshared = PathConfig {
        queues: Queues::Fifo(QueueLimit::per_link(9)),
        ..PathConfig::of(Scheme::Fifo)
    };
    assert!(refusal(unshared).unwrap().contains("shared"));
    let unlimited = PathConfig {
        qdisc: None,
        ..PathConfig::of(Scheme::Wqm)
    };
    assert!(
        refusal(unlimited)
            .unwrap()
            .contains("use a FIFO or FQ-CoDel")
    );
    let nothing = PathConfig {
        qdisc: Some(Qdisc::Fifo { packets: 0 }),
        ..PathConfig::of(Scheme::Fifo)
    };
    assert!(refusal(nothing).unwrap().contains("must be at least 1"));
    assert_eq!(refusal(PathConfig::of(Scheme::Fifo)), None);
}

#[test]
fn schemes_and_schedules_have_the_names_that_scenarios_use() {
    let words: Vec<_> = Scheme::ALL.iter().map(|scheme| scheme.name()).collect();
    let expected = [
        "per-station",
        "fifo",
        "codel",
        "fq-codel",
        "fq-mac",
        "airtime",
        "wqm",
        "wqm-fq",
    ];
    assert_eq!(words, expected);
    for (&word, &scheme) in words.iter().zip(Scheme::ALL) {
        assert_eq!(
            (word.parse(), scheme.to_string()),
            (Ok(scheme), word.to_owned())
        );
    }
    assert!("red".parse::<Scheme>().is_err());
    assert_eq!("round-robin".parse(), Ok(Schedule::RoundRobin));
    assert_eq!("oldest-first".parse(), Ok(Schedule::OldestFirst));
    assert!("airtime".parse::<Schedule>().is_err());
    assert_eq!("separate".parse(), Ok(QueueScope::Link));
    assert_eq!("shared".parse(), Ok(QueueScope::Radio));
}
