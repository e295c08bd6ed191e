//! What drivers do to frames.

use super::air::{Flow, Log, drive};
use super::*;
use crate::rate::minstrel::Samples;
use crate::rate::{MinstrelHt, MinstrelHtConfig};
use airpace_core::phy::{LegacyRate, control_rate};

/// A radio that sends to others with the rules of a driver.
fn sender(driver: Driver, scheme: Scheme) -> RadioConfig {
    let mut path = PathConfig::of(scheme);
    path.drive_by(driver);
    RadioConfig {
        path,
        ..RadioConfig::new()
    }
}

fn pair(
    sender: RadioConfig,
    adaptation: impl Into<crate::rate::RateAdaptation>,
    loss: f64,
) -> MacConfig {
    let link = LinkConfig {
        quality: Quality::Loss(loss),
        ..LinkConfig::new(RadioId(0), RadioId(1), adaptation)
    };
    let back = LinkConfig::new(RadioId(1), RadioId(0), vht(1, 0));
    MacConfig::new(vec![sender, RadioConfig::new()], vec![link, back])
}

fn saturate(config: MacConfig, category: AccessCategory) -> Log {
    let flow = Flow {
        bytes: 1_500,
        category,
        ..Flow::new(0, 1, 60)
    };
    drive(
        &mut Mac::new(config, 5).unwrap(),
        &[flow],
        Duration::from_secs(2),
    )
}

#[test]
fn broadcom_sends_lost_mpdus_in_frames_of_their_own() {
    let mixed = |driver| {
        let config = pair(sender(driver, Scheme::PerStation), vht(2, 9), 0.1);
        let log = saturate(config, AccessCategory::BestEffort);
        let again = log.frames.iter().filter(|frame| frame.retries > 0);
        let (mut lone, mut all) = (0, 0);
        for frame in again {
            all += 1;
            lone += u32::from(frame.retries == frame.mpdus);
        }
        assert!(all > 100, "{all}");
        all - lone
    };
    assert_eq!(mixed(Driver::Broadcom), 0);
    assert!(mixed(Driver::Closed) > 100);
}

/// Minstrel on a channel without losses, at all HT rates of 20 MHz with one and two streams.
fn minstrel() -> MinstrelHt {
    let rates = (0..16).map(|mcs| {
        TxRate::new(
            Standard::Ht,
            Width::Mhz20,
            mcs / 8 + 1,
            mcs,
            GuardInterval::Ns400,
        )
        .unwrap()
    });
    MinstrelHt::new(MinstrelHtConfig {
        samples: Samples::Packets,
        ..MinstrelHtConfig::new(rates.collect(), 7, 1)
    })
    .unwrap()
}

#[test]
fn the_aggregates_of_ath9k_fit_the_slowest_rate_of_the_chain() {
    let longest = |sender: RadioConfig| {
        let log = saturate(pair(sender, minstrel(), 0.0), AccessCategory::BestEffort);
        let late = log.frames.iter().skip(log.frames.len() / 2);
        late.map(|frame| frame.mpdus).max().unwrap()
    };
    let mut unchained = sender(Driver::Ath9k, Scheme::Fifo);
    unchained.path.driver.chain_limit = false;
    // The chain has a rate with one stream, 72.2 Mbit/s: 36,111 bytes in 4 ms.
    assert_eq!(longest(sender(Driver::Ath9k, Scheme::Fifo)), 23);
    assert_eq!(longest(unchained), 32);
}

#[test]
fn linux_drivers_do_not_aggregate_voice() {
    for driver in [Driver::Ath9k, Driver::Mt76] {
        let config = pair(sender(driver, Scheme::FqMac), vht(1, 9), 0.0);
        let log = saturate(config, AccessCategory::Voice);
        assert!(log.frames.len() > 1_000, "{driver}");
        assert!(log.frames.iter().all(|frame| frame.mpdus == 1), "{driver}");
    }
    let config = pair(sender(Driver::Closed, Scheme::PerStation), vht(1, 9), 0.0);
    let log = saturate(config, AccessCategory::Voice);
    assert!(log.frames.iter().any(|frame| frame.mpdus > 1));
}

#[test]
fn ath9k_holds_eight_frames_for_a_station_without_aggregation() {
    let ahead = |rate: TxRate| {
        let config = pair(sender(Driver::Ath9k, Scheme::Fifo), rate, 0.0);
        // Packets come faster than a single one can be sent.
        let flow = Flow {
            bytes: 1_500,
            ..Flow::new(0, 1, 10)
        };
        let log = drive(
            &mut Mac::new(config, 5).unwrap(),
            &[flow],
            Duration::from_millis(100),
        );
        // The first frames were composed before others had to wait.
        let first = log.frames.iter().take_while(|frame| frame.queued == 0);
        first.count()
    };
    assert_eq!(ahead(TxRate::legacy(LegacyRate::Mbps6)), 8);
    assert_eq!(ahead(vht(1, 0)), 2);
}

/// An access point with a FIFO for stations 1, 2 and 3 of which the last is slow.
fn anomaly(rules: DriverRules, slow: TxRate) -> MacConfig {
    let mut access_point = sender(Driver::Ath9k, Scheme::Fifo);
    access_point.path.driver = rules;
    let mcs_15 = TxRate::new(Standard::Ht, Width::Mhz20, 2, 15, GuardInterval::Ns400).unwrap();
    let links = [(1, mcs_15), (2, mcs_15), (3, slow)]
        .map(|(to, rate)| LinkConfig::new(RadioId(0), RadioId(to), rate));
    MacConfig::new(
        [vec![access_point], vec![RadioConfig::new(); 3]].concat(),
        links.to_vec(),
    )
}

/// Frames to each of the three stations if packets for all of them come in pairs and faster than they
/// can be sent.
fn frames_to_three(config: MacConfig) -> [Vec<FrameRecord>; 3] {
    // Gaps without a common divisor: no station has the same place in the queue for long.
    let pair = |(to, gap_us)| {
        let flow = Flow {
            bytes: 1_500,
            ..Flow::new(0, to, gap_us)
        };
        [flow; 2]
    };
    let flows = [(1, 234), (2, 254), (3, 262)].map(pair).concat();
    let mut mac = Mac::new(config, 5).unwrap();
    let log = drive(&mut mac, &flows, Duration::from_secs(10));
    [1, 2, 3].map(|to| {
        let frames = log.frames.iter().filter(|frame| frame.to == RadioId(to));
        frames.copied().collect()
    })
}

#[test]
fn ath9k_passes_over_a_station_while_the_hardware_is_busy() {
    let slow = TxRate::new(Standard::Ht, Width::Mhz20, 1, 0, GuardInterval::Ns400).unwrap();
    // Mean MPDUs of frames to the first two stations.
    let level = |rules: DriverRules| {
        let frames = frames_to_three(anomaly(rules, slow));
        let fast = || frames[..2].iter().flatten();
        let mpdus: u32 = fast().map(|frame| u32::from(frame.mpdus)).sum();
        f64::from(mpdus) / fast().count() as f64
    };
    let in_turn = DriverRules {
        passes_over: false,
        ..DriverRules::ATH9K
    };
    let (ath9k, in_turn) = (level(DriverRules::ATH9K), level(in_turn));
    // A station that is passed over gathers packets.
    assert!(ath9k > 1.1 * in_turn, "{ath9k} and {in_turn}");
}

#[test]
fn ath9k_shares_the_airtime_of_frames_without_their_acknowledgements() {
    let slow = TxRate::new(Standard::Ht, Width::Mhz20, 1, 0, GuardInterval::Ns400).unwrap();
    // What the slow station has of the airtime of frames, and of the time of exchanges.
    let shares = |rules: DriverRules| {
        let mut config = anomaly(rules, slow);
        config.radios[0].path = PathConfig {
            driver: rules,
            ..PathConfig::of(Scheme::Airtime)
        };
        let frames = frames_to_three(config);
        let of = |time: fn(&FrameRecord) -> Duration| {
            let [first, second, slow] = frames
                .each_ref()
                .map(|frames| frames.iter().map(time).sum::<Duration>().as_secs_f64());
            slow / (first + second + slow)
        };
        (
            of(|frame| frame.end.since(frame.start)),
            of(|frame| frame.airtime),
        )
    };
    let exchanges = DriverRules {
        counts_frames_alone: false,
        ..DriverRules::ATH9K
    };
    assert_near(shares(DriverRules::ATH9K).0, 1.0 / 3.0, 0.01);
    assert_near(shares(exchanges).1, 1.0 / 3.0, 0.01);
}

#[test]
fn ath9k_charges_a_frame_whose_rts_meets_no_answer_as_if_it_were_sent_once() {
    let rate = TxRate::new(Standard::Ht, Width::Mhz20, 2, 15, GuardInterval::Ns400).unwrap();
    let mut config = anomaly(DriverRules::ATH9K, rate);
    config.radios[0].path = PathConfig {
        driver: DriverRules::ATH9K,
        ..PathConfig::of(Scheme::Airtime)
    };
    config.radios[0].rts_threshold = Some(100);
    let rts = config.medium.control_airtime(control_rate(rate), 20);
    let tries = f64::from(config.retry_limit);
    let flows = [1, 3].map(|station| Flow {
        bytes: 1_500,
        ..Flow::new(0, station, 120)
    });
    let mut mac = Mac::new(config, 5).unwrap();
    let (radio, is_away) = (RadioId(3), true);
    mac.handle(Time::ZERO, Input::SetAway { radio, is_away });
    let log = drive(&mut mac, &flows, Duration::from_secs(5));
    let ppdus = log.frames.iter().map(|frame| frame.end.since(frame.start));
    let first = ppdus.clone().sum::<Duration>().as_secs_f64();
    // All frames are as long as they may be.
    let longest = ppdus.max().unwrap().as_secs_f64();
    let requests = mac.airtime(RadioId(0)).control.as_secs_f64() / rts.as_secs_f64();
    let given_up = (requests - log.frames.len() as f64) / tries;
    assert!(given_up > 100.0, "{given_up}");
    assert_near(given_up * longest / first, 1.0, 0.03);
}

#[test]
fn ath9k_sends_two_frames_at_a_turn_to_a_station_without_aggregation() {
    let share = |burst: u16| {
        let rules = DriverRules {
            lone_burst: burst,
            // Passing over gives the slow station turns of its own.
            passes_over: false,
            ..DriverRules::ATH9K
        };
        let frames = frames_to_three(anomaly(rules, TxRate::legacy(LegacyRate::Mbps6)));
        let [first, second, slow] = frames.map(|frames| frames.len() as f64);
        slow / (first + second + slow)
    };
    let (two, one) = (share(2), share(1));
    assert!(two > 1.1 * one, "{two} and {one}");
}

#[test]
fn mt76_limits_the_airtime_under_way() {
    assert!(
        sender(Driver::Mt76, Scheme::FqMac)
            .path
            .airtime_limit
            .is_some()
    );
    assert!(
        sender(Driver::Ath9k, Scheme::FqMac)
            .path
            .airtime_limit
            .is_none()
    );
    // Below a queueing discipline there are no queues that the limit could hold back.
    assert!(
        sender(Driver::Mt76, Scheme::Fifo)
            .path
            .airtime_limit
            .is_none()
    );
}
