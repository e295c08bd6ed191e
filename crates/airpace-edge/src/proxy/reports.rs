//! Reports come in: what was sent is closed with them, their claims are held against it, and the
//! law decides when they are complete or have news.

use super::Proxy;
use crate::agent::ENOUGH_FRAMES;
use airpace_core::packet::Packet;
use airpace_core::report::{Sensor, SlotReport};
use airpace_units::Time;
use core::time::Duration;

/// A report on less than this share of a slot was cut because of news, or is what was left of a cut
/// slot.
const URGENT_SHARE: f64 = 0.85;

/// Least time between decisions on early reports, per station of the proxy: each decision sets the
/// rates of all.
const DECISION_PER_STATION: Duration = Duration::from_micros(20);

/// What a report that waits for the next decision tells about when that is due.
struct Taken {
    /// Whether it came early because of news.
    is_news: bool,
    /// Whether it was added to another of the same station.
    is_joined: bool,
}

impl<P: Packet> Proxy<P> {
    /// Takes an authentic report of a station. A report that repeats the last one is counted and
    /// ignored.
    pub fn on_report(&mut self, now: Time, report: SlotReport) {
        if !self.accepts(&report) {
            return;
        }
        let soonest = self.soonest_decision();
        if self.stations[report.station.index()].reported && now >= soonest {
            // The other stations are late: their reports count for the next decision.
            self.decide(now);
        }
        let Some(taken) = self.take(now, report) else {
            return;
        };
        let takes_news = self.law.as_ref().is_some_and(|law| law.takes_news());
        if takes_news && taken.is_news {
            self.decide_not_before(now, self.soonest_urgent_decision());
        } else if !taken.is_joined && self.reported >= self.awaited.max(1) {
            self.decide_not_before(now, soonest);
        }
    }

    /// Takes the reports that passive sensors make of all stations at once, and decides after the last
    /// of them. From reports on a part of the stations the law would conclude that these fill the whole
    /// round.
    pub fn on_reports(&mut self, now: Time, reports: impl IntoIterator<Item = SlotReport>) {
        let (mut has_taken, mut is_late) = (false, false);
        for report in reports {
            if self.accepts(&report)
                && let Some(taken) = self.take(now, report)
            {
                has_taken = true;
                // Others have not reported on the slot before.
                is_late |= taken.is_joined;
            }
        }
        if has_taken && (is_late || self.reported >= self.awaited) {
            self.decide_not_before(now, self.soonest_decision());
        }
    }

    /// Whether the report is of a station of this proxy and no repetition; counts it otherwise.
    fn accepts(&mut self, report: &SlotReport) -> bool {
        let station = self.stations.get(report.station.index());
        let is_new = station.is_some_and(|station| station.last_slot() != Some(report.slot));
        self.counts.bad_reports += u64::from(!is_new);
        is_new
    }

    /// Closes what was sent with a report that was accepted, and holds it for the next decision. `None`
    /// if it is surplus.
    fn take(&mut self, now: Time, mut report: SlotReport) -> Option<Taken> {
        let idx = report.station.index();
        let station = &mut self.stations[idx];
        station.heard_at = now;
        // A report that is not counted leaves what was sent to the next one.
        if !station.allowance.takes(now, self.config.slot) {
            self.counts.surplus_reports += 1;
            station.rejected.surplus += 1;
            self.events.extend(station.tell_of_rejected(now, idx));
            return None;
        }
        if station.dry_run && station.queue.is_empty() && !station.would_hold(now) {
            station.account.empty(now);
        }
        // A restarted agent numbers its slots from zero.
        let slots = station
            .last_slot()
            .and_then(|last| report.slot.checked_sub(last))
            .unwrap_or(1);
        report.sender = station.account.close(now, report.length, slots);
        station.permitted.close_slot(report.sender.uplink_bytes);
        // The pacer's debt stands for packets that would wait. But where frames come further apart than
        // packets wait at the access point, it is the sender that lets them wait.
        if station.dry_run && is_waiting_for_sender(&report) {
            report.sender.backlogged = false;
        }
        report.sender.backlogged |= station.load_bytes.is_some();
        report.sender.marked = station.was_marked();
        report.sender.bypassed = station.is_exempt;
        // The agent of an idle station, which may extend its slots, tells at once that frames come.
        let has_begun = station.may_extend && report.frames >= ENOUGH_FRAMES;
        // What a passive sensor tells was held against what was sent where it was measured.
        if report.sensor == Sensor::Agent && station.ledger.correct(&mut report) {
            self.counts.corrected_reports += 1;
            station.rejected.corrected += 1;
            self.events.extend(station.tell_of_rejected(now, idx));
        }
        station.last_report = Some(report.clone());
        let is_cut = report.length < self.config.slot.mul_f64(URGENT_SHARE);
        let is_joined = station.reported;
        if is_joined {
            // Reports that were held up arrive together: they count as one of a longer slot.
            if let Some(held) = self
                .pending
                .iter_mut()
                .find(|held| held.station == report.station)
            {
                held.append(&report);
            }
        } else {
            station.reported = true;
            self.reported += usize::from(station.counts_as_reported());
            self.pending.push(report);
        }
        Some(Taken {
            is_news: is_cut || has_begun,
            is_joined,
        })
    }

    /// Decides now, or at `soonest` if that is later.
    fn decide_not_before(&mut self, now: Time, soonest: Time) {
        if now >= soonest {
            self.decide(now);
        } else {
            self.next_decision = self.next_decision.min(soonest);
        }
    }

    /// When the law may decide next. Reports that arrive in a burst do not make it decide more
    /// often, on the same news.
    fn soonest_decision(&self) -> Time {
        self.last_decision
            .map_or(Time::ZERO, |last| last.saturating_add(self.config.slot / 2))
    }

    /// When the law may decide next on the news of one station.
    fn soonest_urgent_decision(&self) -> Time {
        let stations = u32::try_from(self.stations.len()).unwrap_or(u32::MAX);
        let pause = (self.config.slot / 20).max(DECISION_PER_STATION.saturating_mul(stations));
        self.last_decision
            .map_or(Time::ZERO, |last| last.saturating_add(pause))
    }
}

/// A packet waits for half a round on average for its frame. If it waits for less than this share of the
/// time between frames, the station's frames wait for packets instead.
const WAITED_SHARE: f64 = 0.25;

/// Whether the access point sends what comes without delay, so that frames are as far apart as bursts of
/// the sender.
fn is_waiting_for_sender(report: &SlotReport) -> bool {
    match (report.wait, report.round_s()) {
        (Some(wait), Some(round_s)) => wait.p50.as_secs_f64() < WAITED_SHARE * round_s,
        _ => false,
    }
}
