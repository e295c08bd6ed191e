//! How long acknowledgements are held.

use super::*;
use airpace_core::phy::AccessCategory;
use airpace_core::report::WaitingTime;
use airpace_units::StationId;

const HOLD: Duration = Duration::from_millis(5);
const PHY_BPS: f64 = 390e6;

/// A report of frames that hold this many packets each and follow each other after `round_ms`.
fn report(level: u32, round_ms: u32) -> SlotReport {
    let mut report = SlotReport::silent(StationId(0), Duration::from_millis(100));
    let frames = 11;
    report.frames = frames;
    report.packets = level * frames;
    report.span = Some((
        Time::ZERO,
        Time::from_millis(u64::from((frames - 1) * round_ms)),
    ));
    report
}

#[test]
fn acknowledgements_of_a_bulk_download_are_held_for_three_rounds_within_limits() {
    for (level, round_ms, expected_ms) in [(30, 1, 5), (30, 4, 12), (30, 9, 20), (2, 4, 5)] {
        let held = hold_time(HOLD, &report(level, round_ms));
        assert_eq!(
            held.as_millis(),
            expected_ms,
            "{level} packets, {round_ms} ms"
        );
    }
    let silent = SlotReport::silent(StationId(0), Duration::from_millis(100));
    assert_eq!(hold_time(HOLD, &silent), HOLD);
    assert_eq!(hold_time(Duration::ZERO, &report(30, 4)), Duration::ZERO);
}

/// What happened in a slot of 100 ms at 390 Mbit/s.
struct Slot {
    /// Packets that are sent at once, every 5 ms.
    burst: u32,
    lost: u32,
    /// 99th percentile of the waiting time.
    wait_ms: u64,
}

/// Runs these slots one after another; returns how long acknowledgements are held after each.
fn held_after(slots: &[Slot]) -> Vec<Duration> {
    let mut hold = AckHold::new(HOLD);
    let mut held = Vec::new();
    let mut begin = Time::ZERO;
    for slot in slots {
        for burst in 0..20 {
            let arrival = begin + Duration::from_millis(5 * burst);
            let message = Message {
                session: 1,
                sequence: 0,
                bytes: 1500,
                category: AccessCategory::BestEffort,
                delay_ns: -1_000_000,
            };
            for _ in 0..slot.burst {
                hold.on_message(arrival, &message);
            }
        }
        begin += Duration::from_millis(100);
        let mut report = report(30, 1);
        report.lost = slot.lost;
        report.recent_inverse_rate = 1.0 / PHY_BPS;
        report.wait = Some(WaitingTime {
            p99: Duration::from_millis(slot.wait_ms),
            ..WaitingTime::default()
        });
        held.push(hold.on_slot(begin, &report));
    }
    held
}

/// The first slot makes the PHY rate known; the loss of the second counts in the third.
fn held_with(burst: u32, lost: u32, wait_ms: u64) -> Duration {
    let slot = |lost, wait_ms| Slot {
        burst,
        lost,
        wait_ms,
    };
    let slots = [slot(0, 1), slot(0, wait_ms), slot(lost, 1)];
    held_after(&slots)[2]
}

#[test]
fn nothing_is_held_after_unpaced_bursts_overflow_a_short_queue() {
    assert_eq!(held_with(100, 6, 4), Duration::ZERO);
}

#[test]
fn acknowledgements_are_held_while_nothing_is_lost() {
    assert_eq!(held_with(100, 0, 4), HOLD);
}

#[test]
fn losses_of_a_paced_station_do_not_matter() {
    // Thirty packets are 0.9 ms at the PHY rate.
    assert_eq!(held_with(30, 6, 4), HOLD);
}

#[test]
fn losses_at_a_queue_with_room_for_the_burst_do_not_matter() {
    assert_eq!(held_with(100, 6, 8), HOLD);
}

#[test]
fn the_pause_ends_ten_seconds_after_the_last_loss() {
    let mut slots = Vec::new();
    for number in 0..130 {
        slots.push(Slot {
            burst: 100,
            lost: u32::from(number == 5 || number == 20),
            wait_ms: 4,
        });
    }
    let held = held_after(&slots);
    assert_eq!(held.iter().position(Duration::is_zero), Some(5));
    assert_eq!(held.iter().rposition(Duration::is_zero), Some(119));
    assert_eq!(held.iter().filter(|held| held.is_zero()).count(), 115);
}

#[test]
fn without_a_phy_rate_every_loss_at_a_short_queue_counts() {
    let mut hold = AckHold::new(HOLD);
    let mut report = report(30, 1);
    report.lost = 1;
    assert_eq!(
        hold.on_slot(Time::from_millis(100), &report),
        Duration::ZERO
    );
}

#[test]
fn any_send_time_is_survived() {
    let mut hold = AckHold::new(HOLD);
    for delay_ns in [i64::MIN, i64::MAX, 0, -1] {
        let message = Message {
            session: 1,
            sequence: 0,
            bytes: u32::MAX,
            category: AccessCategory::BestEffort,
            delay_ns,
        };
        hold.on_message(Time::MAX, &message);
        let held = hold.on_slot(Time::MAX, &report(30, 1));
        assert_eq!(held, HOLD);
    }
}

#[test]
fn a_new_session_begins_without_a_backlog_on_a_clock_of_its_own() {
    let mut backlog = Backlog::new();
    backlog.begin_slot(&SlotReport {
        recent_inverse_rate: 1.0 / 390e6,
        ..report(30, 1)
    });
    backlog.on_sent(1_000_000_000_000, 1_000_000);
    assert!(backlog.was_unpaced());
    backlog.restart();
    // The new clock is far behind the old one; a packet each 10 ms is no backlog.
    for number in 0..10 {
        backlog.on_sent(number * 10_000_000, 1_500);
    }
    assert!(!backlog.was_unpaced());
}
