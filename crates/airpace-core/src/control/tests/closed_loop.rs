//! Every law in closed loop with the model of an access point in [`super::plant`].

use super::plant::{Plant, SlotView};
use crate::control::{
    BacklogChange, DualConfig, Goal, Law, LawConfig, LinearConfig, LinearPfConfig, RateController,
    StreamConfig, WaterfillConfig,
};
use crate::report::{Sensor, SlotReport, WaitSource, WaitingTime};
use airpace_units::{StationId, Time};
use core::time::Duration;

fn config(law: Law, level: f64, delay_ms: Option<u64>) -> LawConfig {
    let goal = Goal::papers(level, delay_ms.map(Duration::from_millis));
    LawConfig::named(law, goal)
}

fn law(law: Law, level: f64, delay_ms: Option<u64>) -> Box<dyn RateController + Send> {
    config(law, level, delay_ms)
        .build()
        .expect("its defaults are valid")
}

fn run(plant: &mut Plant, law: &mut dyn RateController, slots: usize) -> Vec<Vec<SlotView>> {
    (0..slots).map(|_| plant.run_slot(law)).collect()
}

/// Slots after which the first station's level stays within a tenth of `target`.
fn settled_after(slots: &[Vec<SlotView>], target: f64) -> usize {
    let good = |s: &Vec<SlotView>| (s[0].level / target - 1.0).abs() < 0.1 && s[0].queue < 100;
    slots.len() - slots.iter().rev().take_while(|s| good(s)).count()
}

fn mean(slots: &[Vec<SlotView>], value: impl Fn(&SlotView) -> f64) -> f64 {
    slots.iter().flatten().map(&value).sum::<f64>()
        / slots.iter().map(Vec::len).sum::<usize>() as f64
}

#[test]
fn waterfill_reaches_the_optimum_in_the_second_slot_after_the_first_report() {
    for slot_s in [0.1, 0.5] {
        let mut plant = Plant::new(&[780.0], slot_s);
        let slots = run(&mut plant, law(Law::Waterfill, 32.0, None).as_mut(), 30);
        // Slot 0 has no rate yet and slot 1 reveals the PHY rate. Slot 2 runs at the assumed
        // overhead, so it is not judged.
        assert!(settled_after(&slots, 32.0) <= 3, "slot {slot_s} s");
    }
}

#[test]
fn waterfill_recovers_from_a_halved_rate_within_two_slots() {
    for slot_s in [0.1, 0.5] {
        let mut plant = Plant::new(&[780.0], slot_s);
        let mut law = law(Law::Waterfill, 32.0, None);
        run(&mut plant, law.as_mut(), 10);
        plant.stations[0].phy_bps = 390e6;
        let slots = run(&mut plant, law.as_mut(), 30);
        assert!(
            settled_after(&slots[..], 32.0) <= 2,
            "slot {slot_s} s: {:?}",
            &slots[..6]
        );
    }
}

#[test]
fn waterfill_recovers_from_doubled_access_time_within_two_slots() {
    for slot_s in [0.1, 0.5] {
        let mut plant = Plant::new(&[780.0], slot_s);
        let mut law = law(Law::Waterfill, 32.0, None);
        run(&mut plant, law.as_mut(), 10);
        plant.overhead_s = 400e-6;
        let slots = run(&mut plant, law.as_mut(), 30);
        assert!(
            settled_after(&slots, 32.0) <= 2,
            "slot {slot_s} s: {:?}",
            &slots[..6]
        );
    }
}

#[test]
fn disturbances_do_not_lower_the_mean_level_at_a_limit_near_the_longest_frame() {
    // Payload takes 17 times as long as overhead, so small disturbances fill frames.
    let (quiet_s, disturbed_s) = (205e-6, 300e-6);
    let mut plant = Plant::new(&[175.5; 5], 0.5);
    plant.overhead_s = quiet_s;
    let mut law = law(Law::Waterfill, 48.0, Some(20));
    run(&mut plant, law.as_mut(), 40);
    let mut slots = Vec::new();
    for _ in 0..40 {
        plant.overhead_s = disturbed_s;
        slots.extend(run(&mut plant, law.as_mut(), 1));
        plant.overhead_s = quiet_s;
        slots.extend(run(&mut plant, law.as_mut(), 9));
    }
    let level = mean(&slots, |v| v.level);
    assert!((level / 48.0 - 1.0).abs() < 0.03, "level {level}");
}

#[test]
fn waterfill_holds_a_tight_delay_target_near_level_one() {
    // From a tenth to ten times the true overhead at the start.
    for start_us in [20, 200, 2_000] {
        let mut plant = Plant::new(&[390.0; 20], 0.1);
        plant.overhead_s = 205e-6;
        let LawConfig::Waterfill(mut config) = config(Law::Waterfill, 48.0, Some(5)) else {
            panic!("the law is waterfill")
        };
        config.frame_overhead = Duration::from_micros(start_us);
        let mut law = LawConfig::Waterfill(config)
            .build()
            .expect("the configuration is valid");
        run(&mut plant, law.as_mut(), 20);
        let slots = run(&mut plant, law.as_mut(), 580);
        let (round_s, level) = (mean(&slots, |v| v.round_s), mean(&slots, |v| v.level));
        assert!(
            (round_s / 5e-3 - 1.0).abs() < 0.02,
            "start {start_us}: round {round_s}"
        );
        assert!((level - 1.4).abs() < 0.1, "start {start_us}: level {level}");
        let drift = mean(&slots[480..], |v| v.round_s) / mean(&slots[..100], |v| v.round_s);
        assert!(
            (drift - 1.0).abs() < 0.01,
            "start {start_us}: drift {drift}"
        );
    }
}

#[test]
fn the_published_nonlinear_law_collapses_where_waterfill_holds() {
    let total_after_a_disturbance = |name| {
        let mut plant = Plant::new(&[390.0; 20], 0.1);
        let mut law = law(name, 48.0, Some(5));
        for overhead_s in [205e-6, 260e-6, 205e-6] {
            plant.overhead_s = overhead_s;
            run(&mut plant, law.as_mut(), 20);
        }
        run(&mut plant, law.as_mut(), 540);
        plant
            .run_slot(law.as_mut())
            .iter()
            .map(|v| v.received_pps)
            .sum::<f64>()
            * 11_760.0
    };
    assert!(total_after_a_disturbance(Law::Waterfill) > 60e6);
    // Once its inner state is below one packet, ĉ rises without end, because no frame can have a
    // level below 1.
    assert!(total_after_a_disturbance(Law::Nonlinear) < 25e6);
}

#[test]
fn an_infeasible_delay_target_is_answered_with_the_smallest_feasible() {
    let mut plant = Plant::new(&[390.0; 20], 0.1);
    let mut law = law(Law::Waterfill, 48.0, Some(2));
    let slots = run(&mut plant, law.as_mut(), 100);
    let least = law
        .diagnostics()
        .smallest_delay_s
        .expect("2 ms are infeasible with 4 ms of overhead");
    assert!((4.0e-3..5.0e-3).contains(&least), "{least}");
    assert!((mean(&slots[20..], |v| v.level) - 1.2).abs() < 0.1);
}

#[test]
fn a_delay_target_that_was_infeasible_for_a_while_is_held_again() {
    let mut plant = Plant::new(&[390.0; 20], 0.1);
    let mut law = law(Law::Waterfill, 48.0, Some(5));
    for overhead_s in [200e-6, 300e-6, 200e-6] {
        plant.overhead_s = overhead_s;
        run(&mut plant, law.as_mut(), 60);
    }
    let slots = run(&mut plant, law.as_mut(), 60);
    assert!(
        (mean(&slots, |v| v.round_s) / 5e-3 - 1.0).abs() < 0.03,
        "{}",
        mean(&slots, |v| v.round_s)
    );
    assert_eq!(law.diagnostics().smallest_delay_s, None);
}

#[test]
fn a_demand_limited_station_leaves_its_airtime_to_the_others() {
    let mut plant = Plant::new(&[390.0, 390.0, 390.0], 0.1);
    plant.stations[2].demand_pps = 500.0;
    let mut law = law(Law::Waterfill, 32.0, None);
    let slots = run(&mut plant, law.as_mut(), 60);
    let settled = &slots[20..];
    let of = |idx: usize, value: fn(&SlotView) -> f64| {
        settled.iter().map(|s| value(&s[idx])).sum::<f64>() / settled.len() as f64
    };
    assert!(
        (of(0, |v| v.level) / 32.0 - 1.0).abs() < 0.05,
        "{}",
        of(0, |v| v.level)
    );
    assert!((of(2, |v| v.received_pps) / 500.0 - 1.0).abs() < 0.02);
    // It may burst to what the others have.
    assert!(plant.stations[2].rate_pps > 0.8 * plant.stations[0].rate_pps);
}

#[test]
fn a_bottleneck_before_the_access_point_caps_the_rate() {
    let mut plant = Plant::new(&[390.0, 390.0], 0.1);
    let mut law = law(Law::Waterfill, 32.0, None);
    run(&mut plant, law.as_mut(), 10);
    plant.stations[0].backhaul_pps = 3_000.0;
    run(&mut plant, law.as_mut(), 30);
    assert_eq!(law.diagnostics().capped_elsewhere, 1);
    for _ in 0..100 {
        plant.run_slot(law.as_mut());
        assert!(
            plant.stations[0].rate_pps < 1.3 * 3_000.0,
            "{}",
            plant.stations[0].rate_pps
        );
    }
    plant.stations[0].backhaul_pps = f64::INFINITY;
    let slots = run(&mut plant, law.as_mut(), 260);
    assert!(
        (mean(&slots[250..], |v| v.level) / 32.0 - 1.0).abs() < 0.1,
        "{:?}",
        slots[259]
    );
}

/// Granted packets per second over time where the access point gets 1.3 times what it can send, whatever
/// the law says, so that packets wait there for a quarter of a second.
fn granted_while_overloaded(obeyed: bool) -> Vec<f64> {
    let mut plant = Plant::new(&[390.0], 0.1);
    let mut law = LawConfig::Waterfill(WaterfillConfig {
        obeyed,
        ..WaterfillConfig::default()
    })
    .build()
    .expect("its other settings are the defaults");
    let long = Duration::from_millis(250);
    let wait = WaitingTime::constant(long, WaitSource::BlockAcks);
    let most_pps = 64.0 / (200e-6 + 64.0 * 31.6e-6);
    (0..300)
        .map(|_| {
            plant.run_slot_with(law.as_mut(), |_, mut reports| {
                reports[0].wait = Some(wait);
                reports[0].sender.backlogged = true;
                reports
            });
            core::mem::replace(&mut plant.stations[0].rate_pps, 1.3 * most_pps)
        })
        .collect()
}

#[test]
fn a_law_that_is_not_obeyed_neither_drains_a_queue_nor_raises_its_price_for_it() {
    let obeyed = granted_while_overloaded(true);
    assert!(
        obeyed[299] < 0.9 * obeyed[5],
        "{} after {}",
        obeyed[299],
        obeyed[5]
    );
    let told = granted_while_overloaded(false);
    assert!(
        (told[299] / told[5] - 1.0).abs() < 0.05,
        "{} after {}",
        told[299],
        told[5]
    );
}

#[test]
fn frames_shorter_than_configured_do_not_leave_a_standing_queue() {
    let mut plant = Plant::new(&[390.0], 0.1);
    plant.longest_frame = 24;
    let slots = run(&mut plant, law(Law::Waterfill, 32.0, None).as_mut(), 400);
    let settled = &slots[20..];
    let queued = settled.iter().filter(|s| s[0].queue > 100).count();
    assert!(
        queued < settled.len() / 50,
        "{queued} of {} slots",
        settled.len()
    );
    let most = 24.0 / (200e-6 + 24.0 * 31.6e-6);
    assert!(
        mean(settled, |v| v.received_pps) > 0.8 * most,
        "{} of {most}",
        mean(settled, |v| v.received_pps)
    );
}

#[test]
fn random_loss_is_not_mistaken_for_a_bottleneck() {
    let mut plant = Plant::new(&[390.0], 0.1);
    plant.stations[0].random_loss = 0.3;
    let slots = run(&mut plant, law(Law::Waterfill, 32.0, None).as_mut(), 200);
    let full = 32.0 / (200e-6 + 32.0 * 31.6e-6) * 0.7;
    assert!(
        mean(&slots[20..], |v| v.received_pps) > 0.9 * full,
        "{} of {full}",
        mean(&slots[20..], |v| v.received_pps)
    );
}

#[test]
fn ten_mixed_stations_are_held_at_the_optimum() {
    let rates = [
        29.25, 58.5, 87.8, 117.0, 175.5, 234.0, 351.0, 390.0, 585.0, 780.0,
    ];
    let mut plant = Plant::new(&rates, 0.1);
    let slots = run(
        &mut plant,
        law(Law::Waterfill, 48.0, Some(10)).as_mut(),
        200,
    );
    let settled = &slots[20..];
    let round_s = mean(settled, |v| v.round_s);
    assert!(round_s < 10e-3 && round_s > 9.8e-3, "{round_s}");
    // Equal airtime at T̄: each gets (T̄ − c)/n but the fastest, which the level limits.
    let w = |mbps: f64| 12_320.0 / (mbps * 1e6);
    let shared = (9.95e-3 - 2e-3) / 10.0;
    for (idx, &mbps) in rates.iter().enumerate() {
        let level = settled.iter().map(|s| s[idx].level).sum::<f64>() / settled.len() as f64;
        let optimum = f64::min(shared / w(mbps), 48.0);
        assert!(
            (level / optimum - 1.0).abs() < 0.05,
            "{mbps}: {level} of {optimum}"
        );
    }
}

/// The published law, started near its fixed point.
fn started_at(law: Law, mbps: f64) -> Box<dyn RateController + Send> {
    let stream = StreamConfig {
        initial_mbps: mbps,
        ..StreamConfig::default()
    };
    let config = match config(law, 32.0, Some(10)) {
        LawConfig::Linear(c) => LawConfig::Linear(LinearConfig { stream, ..c }),
        LawConfig::LinearPf(c) => LawConfig::LinearPf(LinearPfConfig { stream, ..c }),
        LawConfig::Dual(c) => LawConfig::Dual(DualConfig { stream, ..c }),
        other => other,
    };
    config.build().expect("the configuration is valid")
}

#[test]
fn every_law_holds_one_station_at_its_target() {
    for name in Law::COMPARED {
        let mut plant = Plant::new(&[780.0], 0.1);
        let slots = run(&mut plant, started_at(name, 500.0).as_mut(), 300);
        let level = mean(&slots[250..], |v| v.level);
        assert!((level / 32.0 - 1.0).abs() < 0.05, "{name}: {level}");
    }
}

#[test]
fn the_printed_argmax_overloads_the_faster_stations() {
    for (name, overloads) in [(Law::LinearPf, false), (Law::LinearPfArgmax, true)] {
        let mut plant = Plant::new(&[58.5, 390.0, 780.0], 0.1);
        let slots = run(&mut plant, started_at(name, 5.0).as_mut(), 400);
        let fast = slots[350..].iter().map(|s| s[2].level).sum::<f64>() / 50.0;
        assert_eq!(fast > 60.0, overloads, "{name}: {fast}");
    }
}

#[test]
fn the_corrected_set_point_stops_at_the_interior_optimum() {
    let mean_round = |name: Law| {
        let mut plant = Plant::new(&[58.5, 175.5, 175.5, 351.0, 390.0], 0.1);
        let mut law = config(name, 32.0, Some(20))
            .build()
            .expect("its defaults are valid");
        mean(&run(&mut plant, law.as_mut(), 600)[500..], |v| v.round_s)
    };
    let (published, corrected) = (
        mean_round(Law::Nonlinear),
        mean_round(Law::NonlinearCorrected),
    );
    assert!((corrected / 7.8e-3 - 1.0).abs() < 0.1, "{corrected}");
    assert!(published > 1.3 * corrected, "{published} and {corrected}");
}

#[test]
fn a_station_between_bursts_leaves_its_share_to_the_others_at_once() {
    let mut plant = Plant::new(&[390.0, 390.0], 0.1);
    let mut law = law(Law::Waterfill, 32.0, None);
    run(&mut plant, law.as_mut(), 10);
    // The second station needs far less than its share.
    plant.stations[1].demand_pps = 500.0;
    run(&mut plant, law.as_mut(), 20);
    let mut rate_while = |waits| {
        let change = BacklogChange {
            station: StationId(1),
            waits,
        };
        let rates = law.on_backlog(Time::from_millis(4_000), &[change]);
        rates.map(|rates| rates[0].rate_pps)
    };
    let shared = rate_while(true).expect("the second station takes part");
    let alone = rate_while(false).expect("it leaves again");
    assert!((1.2..2.0).contains(&(alone / shared)), "{alone} {shared}");
    assert_eq!(rate_while(false), None, "nothing has changed");
}

#[test]
fn reports_of_one_station_do_not_make_the_measurements_of_others_count_again() {
    let mut plant = Plant::new(&[390.0], 0.1);
    let mut law = law(Law::Waterfill, 32.0, None);
    run(&mut plant, law.as_mut(), 20);
    let idle = |slot| SlotReport {
        slot,
        ..SlotReport::silent(StationId(1), Duration::from_millis(20))
    };
    law.on_slot(Time::from_millis(2_010), &[idle(0)]);
    let round_before = law.diagnostics().round_s;
    let mut of_station_0 = Vec::new();
    for slot in 1..20 {
        let rates = law.on_slot(Time::from_millis(2_010 + slot), &[idle(slot)]);
        of_station_0.push(rates[0].rate_pps);
    }
    assert_eq!(law.diagnostics().round_s, round_before);
    of_station_0.dedup();
    assert_eq!(of_station_0.len(), 1, "{of_station_0:?}");
}

#[test]
fn a_slot_length_that_no_agent_has_is_ignored_and_counted() {
    let mut law = law(Law::Waterfill, 32.0, None);
    for length in [
        Duration::ZERO,
        Duration::from_nanos(1),
        Duration::from_secs(3_600),
    ] {
        let report = SlotReport::silent(StationId(0), length);
        assert!(law.on_slot(Time::ZERO, &[report]).is_empty());
    }
    assert_eq!(law.diagnostics().ignored_reports, 3);
}

#[test]
fn the_longest_extended_slot_is_accepted() {
    let mut law = law(Law::Waterfill, 32.0, None);
    // Four times the longest slot of a scenario.
    let report = SlotReport::silent(StationId(0), Duration::from_secs(400));
    law.on_slot(Time::ZERO, &[report]);
    assert_eq!(law.diagnostics().ignored_reports, 0);
}

/// Slots in which the second of three stations is believed to be slower than it is told, and its least
/// rate over the one before, while the overhead is half as large again and its PHY rate is told 15 % too
/// high by `sensor`. `others` tells those of the others.
fn doubts_of_a_fast_reader(sensor: Sensor, others: Sensor) -> (usize, f64) {
    let mut law = law(Law::Waterfill, 48.0, None);
    let mut plant = Plant::new(&[390.0, 175.5, 58.5], 0.1);
    let told = |factor: f64| {
        move |_: u64, mut reports: Vec<SlotReport>| {
            for report in &mut reports {
                report.sensor = others;
            }
            let second = &mut reports[1];
            second.sensor = sensor;
            second.inverse_rate_sum /= factor;
            second.recent_inverse_rate /= factor;
            reports
        }
    };
    for _ in 0..40 {
        plant.run_slot_with(law.as_mut(), told(1.0));
    }
    let before_pps = plant.stations[1].rate_pps;
    plant.overhead_s *= 1.5;
    let (mut doubts, mut least_pps) = (0, f64::INFINITY);
    for _ in 0..30 {
        plant.run_slot_with(law.as_mut(), told(1.15));
        let estimate = law.station_estimate(StationId(1)).expect("it is known");
        doubts += usize::from(estimate.phy_bps.expect("it is told") < 1.1 * 175.5e6);
        least_pps = least_pps.min(plant.stations[1].rate_pps);
    }
    (doubts, least_pps / before_pps)
}

#[test]
fn a_rate_that_the_box_itself_reads_is_never_refused() {
    let (doubts, _) = doubts_of_a_fast_reader(Sensor::Agent, Sensor::Agent);
    assert!(doubts >= 10, "{doubts}: no doubt, so nothing is shown");
    let (doubts, _) = doubts_of_a_fast_reader(Sensor::BlockAck, Sensor::BlockAck);
    assert_eq!(doubts, 0);
}

#[test]
fn a_claim_is_not_refused_beside_rates_that_are_only_assumed() {
    let (doubts, _) = doubts_of_a_fast_reader(Sensor::Agent, Sensor::AckBurst);
    assert_eq!(doubts, 0);
    let (doubts, _) = doubts_of_a_fast_reader(Sensor::Agent, Sensor::BlockAck);
    assert!(doubts >= 10, "{doubts}");
}

#[test]
fn a_station_whose_claim_is_refused_keeps_the_rate_that_it_had() {
    let (_, least) = doubts_of_a_fast_reader(Sensor::Agent, Sensor::Agent);
    assert!(least > 0.75, "{least}");
}

/// Part of its rate that a station has three seconds after what follows beacons was taken for rounds, and frames are seen
/// no more. Its packets wait for `wait`, if that is known.
fn rate_left_unseen(wait: Option<Duration>) -> f64 {
    let mut law = law(Law::Waterfill, 32.0, None);
    let mut plant = Plant::new(&[780.0], 0.1);
    run(&mut plant, law.as_mut(), 20);
    let usual_pps = plant.stations[0].rate_pps;
    let as_after_beacons = |_: u64, mut reports: Vec<SlotReport>| {
        for report in &mut reports {
            (report.frames, report.packets, report.mpdus) = (4, 120, 120);
            report.inverse_rate_sum = 4.0 / 780e6;
            report.span = Some((Time::ZERO, Time::from_millis(90)));
        }
        reports
    };
    for _ in 0..4 {
        plant.run_slot_with(law.as_mut(), as_after_beacons);
    }
    assert!(plant.stations[0].rate_pps < 0.1 * usual_pps);
    let unseen = |_: u64, mut reports: Vec<SlotReport>| {
        for report in &mut reports {
            *report = SlotReport {
                slot: report.slot,
                sensor: Sensor::None,
                recent_inverse_rate: 1.0 / 780e6,
                wait: wait.map(|wait| WaitingTime::constant(wait, WaitSource::TcpAcks)),
                sender: report.sender,
                ..SlotReport::silent(report.station, report.length)
            };
        }
        reports
    };
    for _ in 0..30 {
        plant.run_slot_with(law.as_mut(), unseen);
    }
    plant.stations[0].rate_pps / usual_pps
}

#[test]
fn a_station_that_no_sensor_sees_any_more_does_not_keep_a_rate_for_long_rounds() {
    let unknown = rate_left_unseen(None);
    let short = rate_left_unseen(Some(Duration::from_micros(100)));
    assert!(unknown > 0.7 && short > 0.7, "{unknown} {short}");
    // Rounds may really be that long.
    let long = rate_left_unseen(Some(Duration::from_millis(20)));
    assert!(long < 0.1, "{long}");
}
