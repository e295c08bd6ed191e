//! Every law against reports and configurations that make no sense.

use crate::control::{AssumeRates, Goal, Law, LawConfig, RateController};
use crate::report::{
    Answers, LevelSource, OtherNetworks, SenderView, Sensor, SlotReport, WaitingTime,
};
use airpace_units::{StationId, Time};
use core::time::Duration;
use proptest::prelude::*;
use strum::IntoEnumIterator;

fn number() -> impl Strategy<Value = f64> {
    let odd = [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        0.0,
        -1.0,
        f64::MIN_POSITIVE,
        f64::MAX,
    ];
    prop_oneof![
        proptest::sample::select(odd.to_vec()),
        1e-12..1e-4_f64,
        any::<f64>()
    ]
}

fn count() -> impl Strategy<Value = u32> {
    prop_oneof![0..4_u32, 0..100_000_u32, Just(u32::MAX)]
}

fn nanos() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), 0..1_000_000_000_u64, Just(u64::MAX)]
}

/// What a box has seen: transit, airtime of a bit, answers and sensor.
fn seen() -> impl Strategy<Value = (Option<Duration>, Option<f64>, Answers, Sensor)> {
    use Answers::{AtOnce, Often, Seldom, Tell};
    (
        proptest::option::of(nanos().prop_map(Duration::from_nanos)),
        proptest::option::of(number()),
        proptest::sample::select(vec![Tell, Often, Seldom, AtOnce]),
        proptest::sample::select(vec![Sensor::Agent, Sensor::AckBurst, Sensor::None]),
    )
}

fn report() -> impl Strategy<Value = SlotReport> {
    let times = (nanos(), nanos(), nanos(), any::<bool>());
    let counts = (count(), count(), count(), count(), any::<u64>());
    (
        0..5_u32,
        times,
        counts,
        number(),
        (any::<bool>(), count(), any::<u64>(), count()),
        seen(),
    )
        .prop_map(|(id, times, counts, sum, sender, seen)| {
            let (first, last, length, spanned) = times;
            SlotReport {
                station: StationId(id),
                slot: 0,
                length: Duration::from_nanos(length),
                frames: counts.0,
                mpdus: counts.1,
                packets: counts.1,
                longest_frame: 0,
                bytes: counts.4,
                span: spanned.then(|| (Time::from_nanos(first), Time::from_nanos(last))),
                inverse_rate_sum: sum,
                recent_inverse_rate: 0.0,
                lost: counts.2,
                late: counts.3,
                wait: Some(WaitingTime::default()),
                transit: seen.0,
                others: OtherNetworks::Unknown,
                airtime_bps: seen.1,
                answers: seen.2,
                upload_bps: None,
                source: LevelSource::SocketTimestamps,
                sensor: seen.3,
                confidence: 1.0,
                sender: SenderView {
                    backlogged: sender.0,
                    sent_packets: sender.1,
                    sent_bytes: sender.2,
                    uplink_frames: sender.3,
                    ..SenderView::default()
                },
            }
        })
}

proptest! {
    #[test]
    fn every_law_grants_finite_positive_rates_whatever_is_reported(
        slots in proptest::collection::vec(proptest::collection::vec(report(), 0..8), 1..12),
    ) {
        for law in Law::iter() {
            let goal = Goal::papers(32.0, Some(Duration::from_millis(5)));
            let controller = LawConfig::named(law, goal).build();
            let mut controller = controller.expect("its defaults are valid");
            for (slot, reports) in slots.iter().enumerate() {
                for a in controller.on_slot(Time::from_millis(slot as u64), reports) {
                    prop_assert!(a.rate_pps.is_finite() && a.rate_pps > 0.0, "{law}: {a:?}");
                    prop_assert!(
                        a.rate_bytes_per_s.is_finite() && a.level.is_finite(),
                        "{law}: {a:?}"
                    );
                }
            }
            controller.remove(StationId(0));
            let left = controller.on_slot(Time::ZERO, &[]);
            prop_assert!(left.iter().all(|a| a.station != StationId(0)));
        }
    }
}

proptest! {
    /// Stations whose answers hide what has arrived, for some seconds.
    #[test]
    fn assumed_rates_leave_grants_finite_whatever_is_seen(
        slots in proptest::collection::vec(proptest::collection::vec(report(), 0..8), 1..12),
        length_ms in 1..400_u64,
    ) {
        let goal = Goal::papers(32.0, None);
        let law = LawConfig::named(Law::Waterfill, goal).build();
        let law = law.expect("its defaults are valid");
        let mut controller = AssumeRates::new(law, Duration::from_micros(214));
        for slot in 0..60 {
            let mut reports = slots[slot % slots.len()].clone();
            for report in &mut reports {
                report.length = Duration::from_millis(length_ms);
            }
            for a in controller.on_slot(Time::from_millis(slot as u64 * length_ms), &reports) {
                prop_assert!(a.rate_pps.is_finite() && a.rate_pps >= 0.0, "{a:?}");
                prop_assert!(a.rate_bytes_per_s.is_finite(), "{a:?}");
            }
        }
    }
}

fn refusal(law: Law, level: f64, delay: Option<Duration>) -> String {
    let refused = LawConfig::named(law, Goal::papers(level, delay)).build();
    refused.err().expect("the goal is out of range").to_string()
}

#[test]
fn a_refused_configuration_names_the_value() {
    assert_eq!(
        refusal(Law::Waterfill, 0.5, None),
        "level_limit must lie between 1 and 64, but is 0.5"
    );
    assert_eq!(
        refusal(Law::Nonlinear, 32.0, Some(Duration::ZERO)),
        "delay_target must be a positive number, but is 0"
    );
}

#[test]
fn a_name_that_no_law_has_is_refused_with_the_names_there_are() {
    let error = "pid".parse::<Law>().expect_err("no law has this name");
    assert_eq!(
        error.to_string(),
        "no control law is called \"pid\"; the laws are linear, linear-pf, dual, nonlinear, waterfill, \
         linear-pf-argmax, nonlinear-corrected"
    );
}

#[test]
fn every_controller_bears_the_name_of_its_law() {
    let goal = Goal::papers(32.0, None);
    for law in Law::iter() {
        let controller = LawConfig::named(law, goal).build();
        let controller = controller.expect("its defaults are valid");
        assert_eq!(controller.name().parse(), Ok(law));
    }
}
