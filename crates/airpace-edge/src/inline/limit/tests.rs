use super::*;
use crate::inline::status::comparable_phy_bps;
use crate::inline::{CellPicture, NearbyRadio, RadioState, Recent, ToldCause};
use crate::proxy::{Mode, RejectedReports};
use airpace_core::control::AirEstimate;
use airpace_core::report::SlotReport;
use airpace_core::sensor::wired::WiredRoundTrip;
use airpace_core::wire::ieee80211::MacAddr;
use airpace_units::{StationId, Time};
use strum::IntoEnumIterator as _;

/// A report of 100 ms by `sensor`, at a PHY rate if one is given.
fn report(sensor: Sensor, phy_bps: Option<f64>) -> SlotReport {
    SlotReport {
        frames: 20,
        packets: 400,
        bytes: 600_000,
        sensor,
        inverse_rate_sum: phy_bps.map_or(0.0, |bps| 20.0 / bps),
        ..SlotReport::silent(StationId(0), Duration::from_millis(100))
    }
}

/// A station that uses 94 of the 96 Mbit/s that it is granted.
fn paced(report: &SlotReport) -> StationStatus<'_> {
    StationStatus {
        mac: MacAddr([2, 0, 0, 0, 0, 1]),
        name: Some("tv"),
        medium: 0,
        port: 0,
        weight: 1.0,
        is_exempt: false,
        mode: Mode::Controlled,
        granted: None,
        report: Some(report),
        rejected: RejectedReports::default(),
        queued: 5,
        heard_at: Time::ZERO,
        now: Time::from_millis(60_000),
        is_dry_run: false,
        recent: Recent {
            sent_bps: 94e6,
            sent_pps: 94e6 / 12e3,
            granted_bps: Some(96e6),
            held_share: 0.9,
            queued_share: 1.0,
            active_share: 1.0,
            ..Recent::default()
        },
        share: Some(0.4),
        air: None,
        sojourn_p50: None,
        sojourn_p95: None,
        lost: None,
        radio_unused: None,
        radio: None,
        cell: CellPicture {
            active: 2,
            ..CellPicture::default()
        },
        told: None,
    }
}

/// The same station with less to send than it may have.
fn unhurried(report: &SlotReport, sent_bps: f64) -> StationStatus<'_> {
    let mut station = paced(report);
    station.queued = 0;
    station.recent.sent_bps = sent_bps;
    station.recent.sent_pps = sent_bps / 12e3;
    station.recent.held_share = 0.1;
    station.recent.queued_share = 0.1;
    station
}

fn assert_limit(station: &StationStatus<'_>, by: LimitedBy, words: &[&str]) {
    let limit = station.limit(None);
    assert_eq!(limit.by, by, "{}", limit.reason);
    for word in words {
        assert!(limit.reason.contains(word), "{word}: {}", limit.reason);
    }
}

#[test]
fn a_station_that_uses_its_share_is_limited_by_it() {
    let report = report(Sensor::AckBurst, None);
    let words = [
        "fair share",
        "94 Mbit/s of the 96 Mbit/s",
        "1 other station",
    ];
    assert_limit(&paced(&report), LimitedBy::FairShare, &words);
    let mut alone = paced(&report);
    alone.cell.active = 1;
    alone.is_dry_run = true;
    assert_limit(&alone, LimitedBy::FairShare, &["no other", "dry run"]);
}

#[test]
fn a_station_with_little_to_send_is_limited_by_its_sender_or_idle() {
    let report = report(Sensor::AckBurst, None);
    let words = ["5.0 Mbit/s reach the box of the 96 Mbit/s"];
    assert_limit(&unhurried(&report, 5e6), LimitedBy::Sender, &words);
    assert_limit(&unhurried(&report, 20e3), LimitedBy::Idle, &["20 kbit/s"]);
    // A burst that waits for its pacer is not a limit while the mean is far below the rate.
    let mut bursts = unhurried(&report, 8e6);
    bursts.recent.held_share = 0.95;
    assert_limit(&bursts, LimitedBy::Sender, &[]);
}

#[test]
fn a_slow_station_is_told_by_its_phy_rate_alone_or_beside_a_fast_one() {
    let slow = report(Sensor::Agent, Some(26e6));
    let mut station = paced(&slow);
    station.recent.sent_bps = 9.3e6;
    station.recent.granted_bps = Some(9.4e6);
    assert_limit(
        &station,
        LimitedBy::SlowStation,
        &[
            "26 Mbit/s",
            "9.3 Mbit/s of the 9.4 Mbit/s",
            "40 % of the air",
        ],
    );
    let medium = report(Sensor::Agent, Some(90e6));
    let mut station = paced(&medium);
    station.cell.fastest_bps = Some(390e6);
    assert_limit(&station, LimitedBy::SlowStation, &["390 Mbit/s"]);
    station.cell.fastest_bps = Some(200e6);
    assert_limit(&station, LimitedBy::FairShare, &[]);
}

#[test]
fn a_rate_that_is_only_assumed_is_called_so() {
    let report = report(Sensor::AckBurst, None);
    let mut station = paced(&report);
    station.air = Some(AirEstimate {
        phy_bps: Some(20e6),
        ..AirEstimate::default()
    });
    assert!(station.is_phy_assumed());
    assert_limit(&station, LimitedBy::SlowStation, &["about 20 Mbit/s"]);
}

#[test]
fn no_station_is_slow_beside_a_rate_that_is_assumed_of_one_that_nobody_sees() {
    let air = Some(AirEstimate {
        phy_bps: Some(4_000e6),
        ..AirEstimate::default()
    });
    for (sensor, comparable) in [
        (Sensor::AckBurst, Some(4_000e6)),
        (Sensor::WaitingTime, None),
        (Sensor::None, None),
    ] {
        let seen = report(sensor, None);
        assert_eq!(
            comparable_phy_bps(Some(&seen), air),
            comparable,
            "{sensor:?}"
        );
    }
    let told = report(Sensor::Agent, Some(390e6));
    let compared = comparable_phy_bps(Some(&told), air).expect("it is reported");
    assert!((compared - 390e6).abs() < 1.0, "{compared}");
}

#[test]
fn a_bottleneck_before_the_access_point_is_told_with_what_passes_there() {
    let report = report(Sensor::AckBurst, None);
    let mut station = paced(&report);
    station.air = Some(AirEstimate {
        cap_pps: Some(40e6 / 12e3),
        ..AirEstimate::default()
    });
    let words = ["40 Mbit/s", "not on the air"];
    assert_limit(&station, LimitedBy::Backhaul, &words);
    assert_eq!(station.told_share(LimitedBy::Backhaul), station.share);
    if let Some(air) = &mut station.air {
        air.phy_bps = Some(40e6);
    }
    assert_eq!(station.told_share(LimitedBy::Backhaul), None, "assumed");
    assert_eq!(station.told_share(LimitedBy::FairShare), station.share);
}

#[test]
fn a_queue_on_the_wired_side_is_told_apart_from_a_sender_with_pauses() {
    let report = report(Sensor::AckBurst, None);
    let mut station = unhurried(&report, 30e6);
    station.recent.wired = Some(WiredRoundTrip {
        time: Duration::from_millis(180),
        smallest: Duration::from_millis(15),
    });
    let words = ["180 ms", "165 ms", "30 Mbit/s arrive of the 96 Mbit/s"];
    assert_limit(&station, LimitedBy::Backhaul, &words);
    station.recent.active_share = 0.4;
    assert_limit(&station, LimitedBy::Sender, &["no more to send"]);
    station.recent.active_share = 1.0;
    station.recent.wired = Some(WiredRoundTrip {
        time: Duration::from_millis(180),
        smallest: Duration::from_millis(150),
    });
    let words = [
        "a link on the way is full",
        "30 Mbit/s reach the box of the 96 Mbit/s",
    ];
    assert_limit(&station, LimitedBy::Sender, &words);
}

#[test]
fn the_short_queue_that_bbr_leaves_on_the_wired_side_is_one() {
    let report = report(Sensor::BlockAck, Some(390e6));
    let wired = Some(WiredRoundTrip {
        time: Duration::from_micros(16_400),
        smallest: Duration::from_micros(700),
    });
    let mut station = unhurried(&report, 10e6);
    station.recent.wired = wired;
    assert_limit(
        &station,
        LimitedBy::Backhaul,
        &["16 ms", "10 Mbit/s arrive of the 96 Mbit/s"],
    );
    // Bursts that the pacer holds back do not make it the limit, unless the rate is used.
    station.recent.held_share = 0.9;
    station.recent.sent_bps = 70e6;
    assert_limit(&station, LimitedBy::Backhaul, &[]);
    station.recent.sent_bps = 94e6;
    assert_limit(&station, LimitedBy::FairShare, &[]);
}

#[test]
fn others_on_the_channel_are_told_from_a_third_of_the_air_on() {
    let report = report(Sensor::BlockAck, Some(390e6));
    let mut station = paced(&report);
    station.cell.air_of_others = Some(0.45);
    assert_limit(&station, LimitedBy::Contention, &["45 % of the air"]);
    station.cell.air_of_others = Some(0.1);
    assert_limit(&station, LimitedBy::FairShare, &[]);
}

#[test]
fn a_steady_download_that_waits_for_the_channel_is_not_blamed_on_its_sender() {
    let report = report(Sensor::AckBurst, None);
    let mut station = unhurried(&report, 30e6);
    station.recent.air_wait = Some(Duration::from_millis(45));
    let words = ["45 ms", "30 Mbit/s of the 96 Mbit/s", "the channel is busy"];
    assert_limit(&station, LimitedBy::Contention, &words);
    // A sender with pauses, and a wait as any loaded cell has it, say nothing about the channel.
    station.recent.active_share = 0.4;
    assert_limit(&station, LimitedBy::Sender, &["no more to send"]);
    station.recent.active_share = 1.0;
    station.recent.air_wait = Some(Duration::from_millis(12));
    assert_limit(&station, LimitedBy::Sender, &[]);
}

#[test]
fn a_lost_sensor_limits_while_nothing_replaces_it_and_is_told_in_any_case() {
    let unseen = report(Sensor::None, None);
    assert_limit(&paced(&unseen), LimitedBy::NoSensor, &["an estimate"]);
    let lost = Some(LostSensor {
        sensor: Sensor::Agent,
        since: Time::from_millis(48_000),
    });
    let mut station = paced(&unseen);
    station.lost = lost;
    let words = ["sensor lost", "agent has not reported for 12 s"];
    assert_limit(&station, LimitedBy::SensorLost, &words);
    let replaced = report(Sensor::AckBurst, None);
    let mut station = paced(&replaced);
    station.lost = lost;
    let words = [
        "fair share",
        "12 s",
        "the ack-burst sensor observes it instead",
    ];
    assert_limit(&station, LimitedBy::FairShare, &words);
    let mut idle = unhurried(&unseen, 0.0);
    idle.lost = lost;
    assert_limit(&idle, LimitedBy::Idle, &["agent has not reported"]);
    let few = report(Sensor::WaitingTime, None);
    for mut station in [idle, unhurried(&few, 5e6)] {
        station.lost = Some(LostSensor {
            sensor: Sensor::AckBurst,
            since: Time::ZERO,
        });
        assert!(!station.limit(None).reason.contains("TCP"));
    }
}

#[test]
fn a_radio_that_is_away_is_named_with_the_remedy_whatever_limits() {
    let down = NearbyRadio {
        interface: "air0".to_owned(),
        state: RadioState::Down,
        since: Time::from_millis(48_000),
    };
    let missing = NearbyRadio {
        state: RadioState::Missing,
        ..down.clone()
    };
    let up = NearbyRadio {
        state: RadioState::Up,
        ..down.clone()
    };
    let words = ["air0", "down for 12 s", "ip link set air0 up"];
    let unseen = report(Sensor::None, None);
    let mut station = paced(&unseen);
    station.radio = Some(&down);
    // It was never heard by the radio, so it has lost nothing.
    assert_limit(&station, LimitedBy::SensorLost, &words);
    station.lost = Some(LostSensor {
        sensor: Sensor::BlockAck,
        since: Time::from_millis(50_000),
    });
    assert_limit(&station, LimitedBy::SensorLost, &words);
    let reason = station.limit(None).reason;
    assert_eq!(reason.matches("air0 near").count(), 1, "{reason}");
    station.radio = Some(&missing);
    let words_missing = ["air0", "missing for 12 s", "iw phy phy0 interface add air0"];
    assert_limit(&station, LimitedBy::SensorLost, &words_missing);
    station.radio = Some(&up);
    let words_up = [
        "radio air0",
        "not heard its frames for 10 s",
        "iw dev air0 info",
    ];
    assert_limit(&station, LimitedBy::SensorLost, &words_up);

    let replaced = report(Sensor::AckBurst, None);
    let mut station = paced(&replaced);
    station.radio = Some(&down);
    assert_limit(&station, LimitedBy::FairShare, &words);
    let mut station = unhurried(&replaced, 5e6);
    station.radio = Some(&down);
    assert_limit(&station, LimitedBy::Sender, &words);
    let mut idle = unhurried(&unseen, 0.0);
    idle.radio = Some(&down);
    assert_limit(&idle, LimitedBy::Idle, &words);
    let by_agent = report(Sensor::Agent, None);
    let mut station = paced(&by_agent);
    station.radio = Some(&down);
    let reason = station.limit(None).reason;
    assert!(
        !reason.contains("air0"),
        "its agent speaks for it: {reason}"
    );
}

#[test]
fn what_is_not_paced_is_not_limited() {
    let report = report(Sensor::AckBurst, None);
    let mut station = paced(&report);
    let limit = station.limit(Some("eth1 was removed"));
    assert_eq!(limit.by, LimitedBy::Passing);
    assert!(limit.reason.ends_with("eth1 was removed"));
    station.is_exempt = true;
    assert_limit(&station, LimitedBy::Exempt, &["unpaced"]);
    station.is_exempt = false;
    station.recent.granted_bps = None;
    assert_limit(&station, LimitedBy::Passing, &["granted no rate"]);
}

#[test]
fn the_names_are_those_of_the_contract() {
    let names: Vec<String> = LimitedBy::iter().map(|by| by.to_string()).collect();
    assert_eq!(
        names,
        [
            "passing",
            "exempt",
            "idle",
            "backhaul",
            "sensor-lost",
            "no-sensor",
            "slow-station",
            "contention",
            "fair-share",
            "sender"
        ]
    );
}

/// What is told after slots of 100 ms that show `next` for `slots`, the last at `end_ms`.
fn told_after(told: ToldCause, next: &StationStatus<'_>, slots: u64, end_ms: u64) -> ToldCause {
    (0..slots).rev().fold(told, |told, ago| {
        let now = Time::from_millis(end_ms - 100 * ago);
        told.followed_by(ToldCause::of(&StationStatus {
            now,
            ..next.clone()
        }))
    })
}

#[test]
fn a_cause_is_told_until_it_has_not_applied_for_two_seconds() {
    let report = report(Sensor::AckBurst, None);
    let busy = paced(&report);
    let few = unhurried(&report, 30e6);
    let first = ToldCause::of(&busy);
    // The station crosses the bound every second.
    let mut told = first.clone();
    for second in 0..10 {
        let next = if second % 2 == 0 { &few } else { &busy };
        told = told_after(told, next, 10, 61_000 + 1_000 * second);
        assert_eq!(told.by, LimitedBy::FairShare, "second {second}");
        let shown = StationStatus {
            told: Some(&told),
            ..next.clone()
        };
        let words = ["94 Mbit/s of the 96 Mbit/s"];
        assert_limit(&shown, LimitedBy::FairShare, &words);
    }
    let told = told_after(first.clone(), &few, 19, 61_900);
    assert_eq!(told.by, LimitedBy::FairShare);
    let told = told_after(first, &few, 20, 62_000);
    let shown = StationStatus {
        told: Some(&told),
        ..few.clone()
    };
    assert_limit(
        &shown,
        LimitedBy::Sender,
        &["30 Mbit/s reach the box of the 96"],
    );
}

#[test]
fn faults_and_what_an_operator_does_are_told_at_once_as_is_their_end() {
    let (seen, unseen) = (report(Sensor::Agent, None), report(Sensor::None, None));
    let told = ToldCause::of(&paced(&seen));
    let mut lost = paced(&unseen);
    lost.lost = Some(LostSensor {
        sensor: Sensor::Agent,
        since: Time::from_millis(59_000),
    });
    lost.told = Some(&told);
    assert_limit(&lost, LimitedBy::SensorLost, &["has not reported for 1 s"]);
    let mut exempt = paced(&seen);
    (exempt.told, exempt.is_exempt) = (Some(&told), true);
    assert_limit(&exempt, LimitedBy::Exempt, &[]);
    assert_eq!(exempt.limit(Some("eth1 is gone")).by, LimitedBy::Passing);
    let over = told_after(ToldCause::of(&lost), &paced(&seen), 1, 60_100);
    assert_eq!(over.by, LimitedBy::FairShare);
    // Traffic that begins is told at once, a pause when it has lasted.
    let idle = unhurried(&seen, 0.0);
    let begun = told_after(ToldCause::of(&idle), &paced(&seen), 1, 60_100);
    assert_eq!(begun.by, LimitedBy::FairShare);
    assert_eq!(told_after(begun, &idle, 1, 60_200).by, LimitedBy::FairShare);
}
