use super::super::roster::packet_airtime_s;
use super::super::tests::plant::{Plant, SlotView};
use super::super::{Waterfill, WaterfillConfig};
use super::*;
use crate::report::{SenderView, Sensor, WaitSource, WaitingTime};

/// Removes the PHY rates from reports.
struct Blind(AssumeRates);

impl RateController for Blind {
    fn name(&self) -> &'static str {
        self.0.name()
    }
    fn on_slot(&mut self, now: Time, reports: &[SlotReport]) -> &[Allocation] {
        let blind = |report: &SlotReport| SlotReport {
            inverse_rate_sum: 0.0,
            ..report.clone()
        };
        let reports: Vec<_> = reports.iter().map(blind).collect();
        self.0.on_slot(now, &reports)
    }
    fn remove(&mut self, station: StationId) {
        self.0.remove(station);
    }
}

/// The law for the papers' problem: a level limit and no price of delay.
fn waterfill() -> Waterfill {
    let config = WaterfillConfig {
        price: 0.0,
        level_limit: Some(32.0),
        ..WaterfillConfig::default()
    };
    Waterfill::new(config).expect("the configuration is valid")
}

fn law() -> AssumeRates {
    AssumeRates::new(Box::new(waterfill()), Duration::from_micros(214))
}

fn settle(plant: &mut Plant, law: &mut dyn RateController, slots: usize) -> Vec<SlotView> {
    let mut views = Vec::new();
    for _ in 0..slots {
        views = plant.run_slot(law);
    }
    views
}

#[test]
fn one_station_reaches_the_level_without_reporting_its_rate() {
    for mbps in [117.0, 390.0, 780.0] {
        for overhead_s in [150e-6, 200e-6, 400e-6] {
            let mut plant = Plant::new(&[mbps], 0.1);
            plant.overhead_s = overhead_s;
            let mut law = Blind(law());
            settle(&mut plant, &mut law, 20);
            let levels: f64 = (0..10)
                .map(|_| settle(&mut plant, &mut law, 1)[0].level)
                .sum::<f64>()
                / 10.0;
            assert!(
                (levels - 32.0).abs() < 4.0,
                "{mbps} Mbit/s, {overhead_s} s: level {levels}"
            );
        }
    }
}

#[test]
fn the_level_recovers_from_a_change_of_the_rate() {
    let mut plant = Plant::new(&[780.0], 0.1);
    let mut law = Blind(law());
    settle(&mut plant, &mut law, 20);
    plant.stations[0].phy_bps = 390e6;
    let view = settle(&mut plant, &mut law, 8)[0];
    assert!(
        (view.level - 32.0).abs() < 5.0 && view.queue < 100,
        "{view:?}"
    );
}

#[test]
fn several_stations_share_packets_equally_and_keep_the_round_short() {
    let mut plant = Plant::new(&[390.0, 175.5, 117.0], 0.1);
    let mut law = Blind(law());
    let views = settle(&mut plant, &mut law, 25);
    let rates: Vec<f64> = views.iter().map(|view| view.received_pps).collect();
    assert!(
        rates.iter().all(|rate| (rate / rates[0] - 1.0).abs() < 0.2),
        "{rates:?}"
    );
    assert!(views.iter().all(|view| view.queue < 100), "{views:?}");
}

#[test]
fn weights_divide_the_airtime_in_proportion() {
    let config = WaterfillConfig {
        delay_target: Some(Duration::from_micros(1_500)),
        ..WaterfillConfig::default()
    };
    let law = Waterfill::new(config).expect("the defaults are valid");
    let mut law = AssumeRates::new(Box::new(law), Duration::from_micros(214));
    assert!(law.set_weight(StationId(1), 2.0));
    assert!(!law.set_weight(StationId(1), f64::NAN));
    let mut plant = Plant::new(&[390.0, 390.0], 0.1);
    settle(&mut plant, &mut law, 20);
    let rates: Vec<f64> = settle(&mut plant, &mut law, 1)
        .iter()
        .map(|view| view.received_pps)
        .collect();
    assert!((rates[1] / rates[0] - 2.0).abs() < 0.2, "{rates:?}");
}

#[test]
fn known_rates_are_left_alone() {
    let (mut plain, mut wrapped) = (
        Plant::new(&[390.0, 58.5], 0.1),
        Plant::new(&[390.0, 58.5], 0.1),
    );
    let mut bare = waterfill();
    let mut law = AssumeRates::new(Box::new(waterfill()), Duration::from_micros(214));
    for _ in 0..10 {
        let (a, b) = (plain.run_slot(&mut bare), wrapped.run_slot(&mut law));
        for (a, b) in a.iter().zip(&b) {
            assert_eq!((a.level, a.received_pps), (b.level, b.received_pps));
        }
    }
}

/// A round of frames to stations at these levels and PHY rates in Mbit/s, as a box observes it.
fn observed(stations: &[(f64, f64)], idle_s: f64, common_s: f64) -> Vec<SlotReport> {
    let packet_s = |mbps: f64| packet_airtime_s(1_500.0, mbps * 1e6);
    let frame_overhead_s = 214e-6;
    let payload_s: f64 = stations
        .iter()
        .map(|&(level, mbps)| level * packet_s(mbps))
        .sum();
    let round_s = payload_s + stations.len() as f64 * frame_overhead_s + idle_s;
    let wait = Duration::from_secs_f64(if idle_s > 0.0 { 50e-6 } else { round_s / 2.0 });
    (0..)
        .zip(stations)
        .map(|(station, &(level, mbps))| {
            let frames = 100;
            let packets = (level * f64::from(frames)) as u32;
            SlotReport {
                frames,
                mpdus: packets,
                packets,
                bytes: 1_500 * u64::from(packets),
                span: Some((
                    Time::ZERO,
                    Time::ZERO + Duration::from_secs_f64(round_s * f64::from(frames - 1)),
                )),
                transit: Some(Duration::from_secs_f64(level * packet_s(mbps) + common_s)),
                wait: Some(WaitingTime::constant(wait, WaitSource::TcpAcks)),
                sensor: Sensor::AckBurst,
                ..SlotReport::silent(StationId(station), Duration::from_millis(100))
            }
        })
        .collect()
}

/// The PHY rates in Mbit/s that are assumed after some slots of the same reports.
fn assumed_mbps(reports: &[SlotReport]) -> Vec<f64> {
    assumed_mbps_after(20, reports)
}

fn assumed_mbps_after(slots: u64, reports: &[SlotReport]) -> Vec<f64> {
    let mut law = law();
    for slot in 1..=slots {
        law.on_slot(Time::from_millis(100 * slot), reports);
    }
    law.assumed
        .iter()
        .map(|(_, assumed)| assumed.bps / 1e6)
        .collect()
}

#[test]
fn transits_tell_the_rates_of_observed_stations_whatever_the_answers_wait_for() {
    let stations = [(30.0, 390.0), (13.0, 175.5), (4.5, 58.5)];
    for common_s in [250e-6, 400e-6, 2e-3] {
        let rates = assumed_mbps(&observed(&stations, 0.0, common_s));
        for (rate, (_, mbps)) in rates.iter().zip(stations) {
            assert!((rate / mbps - 1.0).abs() < 0.05, "{rate} {mbps}");
        }
    }
}

#[test]
fn an_idle_channel_is_not_taken_for_payload() {
    // Pairs of packets every 5 ms: the round alone would show 12 Mbit/s.
    let rates = assumed_mbps(&observed(&[(2.0, 390.0)], 4.6e-3, 200e-6));
    assert!((rates[0] / 390.0 - 1.0).abs() < 0.05, "{rates:?}");
}

/// What a box observes of a station at 390 Mbit/s, paced at `pps`, whose host answers `late_s` after
/// the frame.
fn paced_at(pps: f64, late_s: f64) -> SlotReport {
    let packet_s = packet_airtime_s(1_500.0, 390e6);
    let frame_overhead_s = 214e-6;
    let load = (pps * packet_s).min(0.99);
    let round_s = (frame_overhead_s / (1.0 - load)).max(1.8 / pps);
    let level = pps * round_s;
    let idle_s = round_s - frame_overhead_s - level * packet_s;
    let mut report = observed(&[(level, 390.0)], idle_s, 300e-6 + late_s).remove(0);
    report.sender.backlogged = true;
    report
}

#[test]
fn late_answers_of_a_busy_host_do_not_hold_a_rate_down() {
    for late_s in [0.0, 1e-3, 5e-3] {
        let law = Waterfill::new(WaterfillConfig::default()).expect("the defaults are valid");
        let mut law = AssumeRates::new(Box::new(law), Duration::from_micros(214));
        let mut pps = 600.0;
        for slot in 1..=40 {
            let allocations = law.on_slot(Time::from_millis(100 * slot), &[paced_at(pps, late_s)]);
            pps = allocations[0].rate_pps;
        }
        let mbps = pps * 1_500.0 * 8.0 / 1e6;
        assert!(mbps > 250.0, "{mbps} Mbit/s with answers {late_s} s late");
    }
}

#[test]
fn transits_that_are_too_short_for_a_loaded_round_are_scaled() {
    let mut reports = observed(&[(30.0, 390.0), (30.0, 390.0)], 0.0, 0.0);
    for report in &mut reports {
        report.transit = Some(Duration::from_micros(300));
    }
    // Of a hundred frames each: they have not lasted.
    let rates = assumed_mbps_after(1, &reports);
    assert!(
        rates.iter().all(|rate| (rate / 390.0 - 1.0).abs() < 0.05),
        "{rates:?}"
    );
}

#[test]
fn a_round_that_is_long_for_good_while_transits_are_short_has_others_in_it() {
    let mut reports = observed(&[(30.0, 390.0)], 0.0, 310e-6);
    for report in &mut reports {
        // A neighbour's frame of the same length goes between any two.
        report.span = report
            .span
            .map(|(first, last)| (first, last + last.saturating_since(first)));
    }
    let alone = assumed_mbps_after(1, &reports)[0];
    assert!(alone < 200.0, "{alone}");
    let rate = assumed_mbps_after(60, &reports)[0];
    assert!((rate / 390.0 - 1.0).abs() < 0.2, "{rate}");
}

#[test]
fn a_station_without_a_transit_leaves_one_rate_for_all() {
    let mut reports = observed(&[(20.0, 390.0), (20.0, 390.0)], 0.0, 300e-6);
    reports[1].transit = None;
    let rates = assumed_mbps(&reports);
    assert!((rates[0] / rates[1] - 1.0).abs() < 1e-9, "{rates:?}");
}

/// The report of a station to which `packets` were sent in a slot and of which no sensor saw anything.
fn unseen(station: u32, packets: u32) -> SlotReport {
    SlotReport {
        sensor: Sensor::None,
        confidence: 0.0,
        sender: SenderView {
            backlogged: false,
            sent_packets: packets,
            sent_bytes: 92 * u64::from(packets),
            ..SenderView::default()
        },
        ..SlotReport::silent(StationId(station), Duration::from_millis(100))
    }
}

/// The configuration in front of an access point.
fn in_line() -> WaterfillConfig {
    let mut config = WaterfillConfig::default();
    config.set_in_line();
    config
}

fn assuming(config: WaterfillConfig) -> AssumeRates {
    let law = Waterfill::new(config).expect("the configuration is valid");
    AssumeRates::new(Box::new(law), Duration::from_micros(214))
}

/// Reports of a download at MCS 9 whose packets wait for `wait` at the access point, and of an upload at MCS
/// 1: a frame to the one, and one of 25 packets from the other, which takes 5.3 ms.
fn beside_upload(wait: Duration) -> [SlotReport; 2] {
    let round_s = 8e-3;
    let mut download = observed(
        &[(60.0, 390.0)],
        round_s - 60.0 * packet_airtime_s(1_500.0, 390e6),
        300e-6,
    )
    .remove(0);
    download.wait = Some(WaitingTime::constant(wait, WaitSource::TcpAcks));
    download.sender.sent_packets = 750;
    download.sender.held_packets = 750;
    download.sender.sent_bytes = 750 * 1_500;
    let mut upload = unseen(1, 100);
    upload.sender.sent_bytes = 100 * 52;
    upload.sender.uplink_frames = 12;
    upload.sender.uplink_bytes = 12 * 25 * 1_500;
    upload.upload_bps = Some(58.5e6);
    [download, upload]
}

#[test]
fn an_upload_that_nobody_sees_is_charged_to_its_station() {
    let mut law = assuming(in_line());
    // The channel is not idle: packets wait for the round.
    let reports = beside_upload(Duration::from_millis(4));
    let mut allocations = Vec::new();
    for slot in 1..=20 {
        allocations = law
            .on_slot(Time::from_millis(100 * slot), &reports)
            .to_vec();
    }
    let estimate = law.station_estimate(StationId(1)).unwrap();
    assert_eq!(estimate.phy_bps, Some(58.5e6));
    // Its time had been taken for overhead: 4 ms per frame.
    assert!(estimate.frame_overhead_s < 1e-3, "{estimate:?}");
    let packet_bytes = allocations[1].rate_bytes_per_s / allocations[1].rate_pps;
    assert!((packet_bytes / 52.0 - 1.0).abs() < 0.05, "{allocations:?}");
    // Each acknowledgement permits 4,500 bytes, which take 0.6 ms: so much airtime as twenty packets of the
    // other.
    assert!(
        allocations[1].rate_pps < allocations[0].rate_pps / 10.0,
        "{allocations:?}"
    );
}

#[test]
fn a_station_is_taken_for_nearly_as_fast_as_its_uploads_at_least() {
    let rate_bps = |told_bps: f64, upload_bps| 1.0 / as_fast_as_uplink(1.0 / told_bps, upload_bps);
    for (told, upload, is) in [
        (280e6, Some(390e6), 370.5e6),
        (390e6, Some(390e6), 390e6),
        (390e6, Some(58.5e6), 390e6),
        // A rate of uploads may be wrong too.
        (200e6, Some(4.8e9), 300e6),
        (280e6, None, 280e6),
    ] {
        let found = rate_bps(told, upload);
        assert!(
            (found / is - 1.0).abs() < 1e-9,
            "{told} {upload:?}: {found}"
        );
    }
}

/// The price of delay after two seconds in which the download's packets wait for 60 ms.
fn price_after_waits(config: WaterfillConfig, with_upload: bool) -> f64 {
    let mut law = assuming(config);
    let [download, upload] = beside_upload(Duration::from_millis(60));
    for slot in 1..=20 {
        let reports = [download.clone(), upload.clone()];
        let reports = if with_upload {
            &reports[..]
        } else {
            &reports[..1]
        };
        law.on_slot(Time::from_millis(100 * slot), reports);
    }
    law.diagnostics().price.expect("the law has a price")
}

#[test]
fn waits_beside_an_upload_that_nobody_sees_raise_the_price_for_a_latency_only() {
    let config = in_line();
    assert!(price_after_waits(config, false) > 1.2 * config.price);
    assert_eq!(price_after_waits(config, true), config.price);
    let latency = WaterfillConfig {
        latency: Some(Duration::from_millis(10)),
        ..config
    };
    assert!(price_after_waits(latency, true) > 1.2 * config.price);
}

#[test]
fn a_long_wait_after_which_none_is_measured_raises_the_price_for_a_while_only() {
    let config = in_line();
    let mut law = assuming(config);
    let [with_wait, _] = beside_upload(Duration::from_millis(60));
    let without = SlotReport {
        wait: None,
        ..with_wait.clone()
    };
    for slot in 1..=45 {
        let report = if slot <= 20 { &with_wait } else { &without };
        law.on_slot(Time::from_millis(100 * slot), core::slice::from_ref(report));
        let price = law.diagnostics().price.expect("the law has a price");
        if (15..=28).contains(&slot) {
            assert!(price > 1.1 * config.price, "{slot}: {price}");
        }
        if slot > 35 {
            assert!(price <= config.price, "{slot}: {price}");
        }
    }
}

/// The same of full-sized packets of which more waited.
fn unseen_download(station: u32, packets: u32) -> SlotReport {
    let mut report = unseen(station, packets);
    report.sender.backlogged = true;
    report.sender.sent_bytes = 1_500 * u64::from(packets);
    report
}

#[test]
fn a_few_packets_to_a_station_that_is_not_seen_leave_the_rates_of_the_others() {
    // Stations and access point take 0.7 ms more than the frames, as with real drivers.
    let download = observed(&[(40.0, 390.0)], 0.0, 700e-6);
    let with_pings = [download.clone(), vec![unseen(1, 1)]].concat();
    let mut law = law();
    for slot in 1..=40 {
        let reports = if slot <= 20 { &download } else { &with_pings };
        law.on_slot(Time::from_millis(100 * slot), reports);
    }
    let mbps = law.assumed[0].1.bps / 1e6;
    assert!((mbps / 390.0 - 1.0).abs() < 0.05, "{mbps}");
}

#[test]
fn a_station_that_is_merely_present_takes_nothing() {
    let download = observed(&[(30.0, 390.0)], 0.0, 300e-6);
    let granted_pps = |reports: &[SlotReport]| {
        let mut law = law();
        let mut granted = 0.0;
        for slot in 1..=20 {
            granted = law.on_slot(Time::from_millis(100 * slot), reports)[0].rate_pps;
        }
        granted
    };
    let alone = granted_pps(&download);
    let beside = granted_pps(&[download, vec![unseen(1, 0), unseen(2, 0)]].concat());
    assert!((beside / alone - 1.0).abs() < 0.01, "{beside} {alone}");
}

#[test]
fn beside_a_station_of_known_rate_the_others_do_not_pay_for_what_all_frames_take() {
    let stations = [(30.0, 390.0), (13.0, 175.5), (4.5, 58.5)];
    let mut reports = observed(&stations, 0.0, 310e-6);
    // Collisions: every frame takes 150 µs more than is assumed, and no transit contains that.
    for report in &mut reports {
        report.span = report.span.map(|(first, _)| {
            let round_s = report.round_s().expect("there are frames") + 3.0 * 150e-6;
            let frames = f64::from(report.frames - 1);
            (first, first + Duration::from_secs_f64(round_s * frames))
        });
    }
    for known in 0..3 {
        let mut reports = reports.clone();
        reports[known].inverse_rate_sum = 100.0 / (stations[known].1 * 1e6);
        reports[known].sensor = Sensor::Agent;
        let mut law = law();
        for slot in 1..=30 {
            law.on_slot(Time::from_millis(100 * slot), &reports);
        }
        for (station, (_, mbps)) in stations.iter().enumerate() {
            let assumed = law.assumed[station].1.bps / 1e6;
            // 0.81 if the others were charged for all of it.
            assert!(
                station == known || (0.86..1.1).contains(&(assumed / mbps)),
                "{known} known: {assumed} of {mbps}"
            );
        }
    }
}

#[test]
fn the_frames_of_a_station_whose_packets_nobody_saw_are_not_taken_for_others_payload() {
    // The other half of the round is that station's: of all frames only the answers are seen.
    let mut reports = observed(&[(30.0, 390.0)], 0.0, 310e-6);
    for report in &mut reports {
        report.span = report
            .span
            .map(|(first, last)| (first, last + last.saturating_since(first)));
    }
    let mut bypassed = unseen(1, 0);
    bypassed.sender.bypassed = true;
    bypassed.sender.uplink_frames = 50;
    reports.push(bypassed);
    let rate = assumed_mbps_after(5, &reports)[0];
    assert!((rate / 390.0 - 1.0).abs() < 0.1, "{rate}");
    reports[1].sender.uplink_frames = 1;
    let idle = assumed_mbps_after(5, &reports)[0];
    assert!(idle < 250.0, "{idle}");
}

#[test]
fn a_station_that_nobody_sees_any_more_is_not_taken_for_a_faster_one() {
    // Two stations with agents under UDP. Nothing answers, so waits and transits are not known.
    let mut reports = observed(&[(30.0, 390.0), (30.0, 390.0)], 0.0, 310e-6);
    for report in &mut reports {
        report.inverse_rate_sum = f64::from(report.frames) / 390e6;
        report.sensor = Sensor::Agent;
        (report.transit, report.wait) = (None, None);
    }
    let mut law = law();
    let mut granted = [0.0; 2];
    for slot in 1..=80 {
        if slot == 21 {
            reports[1] = unseen_download(1, 800);
        }
        let allocations = law.on_slot(Time::from_millis(100 * slot), &reports);
        granted = [allocations[0].rate_pps, allocations[1].rate_pps];
    }
    // Twelve times as fast, and 3.2 times the packets, without a bound.
    let mbps = law.assumed[1].1.bps / 1e6;
    assert!((300.0..600.0).contains(&mbps), "{mbps}");
    assert!(granted[1] < 1.4 * granted[0], "{granted:?}");
}

#[test]
fn a_station_that_nobody_has_ever_seen_is_no_faster_than_usual_or_than_its_neighbours() {
    for (neighbour_mbps, most_mbps) in [(58.5, 2_402.0), (3_000.0, 3_000.0)] {
        let mut reports = observed(&[(10.0, neighbour_mbps)], 0.0, 310e-6);
        reports[0].inverse_rate_sum = f64::from(reports[0].frames) / (neighbour_mbps * 1e6);
        reports[0].sensor = Sensor::Agent;
        (reports[0].transit, reports[0].wait) = (None, None);
        reports.push(unseen_download(1, 800));
        let mbps = assumed_mbps_after(60, &reports)[1];
        assert!(mbps <= most_mbps + 0.1, "{mbps}");
    }
}

#[test]
fn stations_of_which_none_is_seen_are_served_as_the_access_point_serves_them() {
    // A fast station alone under UDP: no bound may hold it back.
    let mbps = assumed_mbps_after(60, &[unseen_download(0, 5_000)])[0];
    assert!(mbps > 4_000.0, "{mbps}");
}

#[test]
fn what_an_agent_told_is_forgotten_in_the_course_of_a_minute_or_two() {
    let mut reports = observed(&[(10.0, 175.5), (4.0, 58.5)], 0.0, 310e-6);
    for (report, mbps) in reports.iter_mut().zip([175.5, 58.5]) {
        report.inverse_rate_sum = f64::from(report.frames) / (mbps * 1e6);
        report.sensor = Sensor::Agent;
        (report.transit, report.wait) = (None, None);
    }
    let mut law = law();
    for slot in 1..=1_200 {
        if slot == 21 {
            reports[1] = unseen_download(1, 800);
        }
        law.on_slot(Time::from_millis(100 * slot), &reports);
    }
    let mbps = law.assumed[1].1.bps / 1e6;
    assert!(mbps > 700.0, "{mbps}");
}

/// The rate in Mbit/s that is assumed after a second of a station of which nothing but a wait of `wait_ms` is
/// known, beside one that is seen and whose packets wait in the box or not.
fn assumed_by_waits(wait_ms: u64, is_full: bool) -> f64 {
    let mut seen = observed(&[(40.0, 390.0)], 0.0, 300e-6).remove(0);
    seen.sender.backlogged = is_full;
    let mut spinning = unseen(1, 500);
    spinning.sender.sent_bytes = 500 * 1_200;
    spinning.sender.backlogged = true;
    let wait = Duration::from_millis(wait_ms);
    spinning.wait = Some(WaitingTime::constant(wait, WaitSource::TcpAcks));
    let mut law = assuming(in_line());
    for slot in 1..=10 {
        law.on_slot(
            Time::from_millis(100 * slot),
            &[seen.clone(), spinning.clone()],
        );
    }
    law.assumed(StationId(1)).bps / 1e6
}

#[test]
fn full_rounds_tell_more_than_waits_until_there_is_a_queue() {
    let first_mbps = FIRST_BPS / 1e6;
    // Alone with its packets, it has less while they wait and more while they do not.
    assert!(assumed_by_waits(20, false) < 0.2 * first_mbps);
    assert!(assumed_by_waits(2, false) > 3.0 * first_mbps);
    // What the others leave of their rounds divides the air ...
    let by_rounds = assumed_by_waits(20, true);
    assert_eq!(assumed_by_waits(2, true), by_rounds);
    // ... and a queue at the access point goes down all the same.
    assert!(assumed_by_waits(200, true) < 0.2 * by_rounds);
}

#[test]
fn a_station_that_is_sent_little_at_a_time_gets_more_if_that_has_waited_in_the_box() {
    let mut report = unseen_download(0, 300);
    report.sender.backlogged = false;
    let first_mbps = FIRST_BPS / 1e6;
    assert_eq!(assumed_mbps_after(5, &[report.clone()])[0], first_mbps);
    report.sender.held_packets = 200;
    assert!(assumed_mbps_after(5, &[report])[0] > 3.0 * first_mbps);
}

#[test]
fn an_airtime_that_packets_contradict_by_waiting_is_not_used_whole() {
    let told_mbps = |wait_ms| {
        let mut seen = observed(&[(40.0, 390.0)], 0.0, 300e-6).remove(0);
        seen.sender.backlogged = true;
        let mut told = unseen_download(1, 500);
        told.airtime_bps = Some(300e6);
        let wait = Duration::from_millis(wait_ms);
        told.wait = Some(WaitingTime::constant(wait, WaitSource::TcpAcks));
        let mut law = assuming(in_line());
        for slot in 1..=40 {
            law.on_slot(Time::from_millis(100 * slot), &[seen.clone(), told.clone()]);
        }
        law.assumed(StationId(1)).bps / 1e6
    };
    assert!((290.0..330.0).contains(&told_mbps(20)));
    assert!(told_mbps(300) < 60.0);
}

#[test]
fn a_station_that_was_seen_follows_the_airtime_that_is_told_since() {
    let seen = observed(&[(40.0, 390.0)], 0.0, 300e-6).remove(0);
    let mut told = unseen_download(0, 500);
    told.airtime_bps = Some(50e6);
    let mut law = assuming(in_line());
    for slot in 1..=80 {
        let report = if slot <= 20 { &seen } else { &told };
        law.on_slot(Time::from_millis(100 * slot), core::slice::from_ref(report));
    }
    let mbps = law.assumed(StationId(0)).bps / 1e6;
    assert!((50.0..55.0).contains(&mbps), "{mbps}");
}

#[test]
fn airtimes_that_a_sensor_tells_are_taken_and_no_introduction_is_needed() {
    let mut seen = observed(&[(40.0, 390.0)], 0.0, 300e-6).remove(0);
    seen.sender.backlogged = true;
    let mut law = assuming(in_line());
    for slot in 1..=40 {
        let mut told = unseen(1, 500);
        told.sender.backlogged = true;
        // Small packets in every other slot tell nothing of the rate.
        told.sender.sent_bytes = if slot % 2 == 0 { 500 * 1_200 } else { 500 * 80 };
        told.airtime_bps = Some(80e6);
        law.on_slot(Time::from_millis(100 * slot), &[seen.clone(), told]);
        assert!(!law.remainder.is_introduced(Time::from_millis(100 * slot)));
    }
    let mbps = law.assumed(StationId(1)).bps / 1e6;
    assert!((80.0..90.0).contains(&mbps), "{mbps}");
}

#[test]
fn what_a_station_takes_whose_frames_are_not_answered_for_a_moment_is_not_the_others() {
    // A client that need not answer before ten packets have come answers no frame of eight.
    let stations = [(30.0, 390.0), (10.0, 87.8)];
    let mut law = law();
    let mut slots = (1..).map(|slot| Time::from_millis(100 * slot));
    for at in slots.by_ref().take(20) {
        law.on_slot(at, &observed(&stations, 0.0, 400e-6));
    }
    for at in slots.take(9) {
        let mut reports = observed(&[(30.0, 390.0), (8.0, 87.8)], 0.0, 400e-6);
        // A round takes 2.5 ms, and the slot 100.
        let packets = 8 * 40;
        reports[1].sender.sent_packets = packets;
        reports[1].sender.sent_bytes = 1_500 * u64::from(packets);
        (reports[1].frames, reports[1].packets, reports[1].mpdus) = (0, 0, 0);
        (reports[1].span, reports[1].transit) = (None, None);
        law.on_slot(at, &reports);
        let mbps = law.assumed(StationId(0)).bps / 1e6;
        assert!((350.0..430.0).contains(&mbps), "{mbps}");
    }
}

#[test]
fn a_little_time_of_other_networks_is_seen_where_transits_show_them() {
    // They take 1 ms of each round, which is 4 ms long.
    let mbps = |others| {
        let stations = [(30.0, 390.0), (30.0, 390.0)];
        let mut reports = observed(&stations, 0.0, 400e-6);
        for report in &mut reports {
            let (first, last) = report.span.unwrap();
            report.span = Some((first, last + Duration::from_millis(99)));
            report.others = others;
        }
        assumed_mbps_after(100, &reports)
    };
    let (unknown, sending) = (mbps(OtherNetworks::Unknown), mbps(OtherNetworks::Sending));
    assert!((330.0..410.0).contains(&sending[0]), "{sending:?}");
    assert!(unknown[0] < 290.0, "{unknown:?}");
    assert_eq!(mbps(OtherNetworks::Silent), unknown);
}
