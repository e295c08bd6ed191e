//! What the proxy keeps per station: the queue, the pacer, the mode, and the account of the slot.

use super::allowance::Allowance;
use super::interactive::{AirtimeBudget, FastLane, Way};
use super::permitted::Permitted;
use super::turns::Place;
use super::{Event, Mode, ProxyConfig, RejectedReports, StationConfig, mode};
use airpace_core::pace::{Account, Pacer};
use airpace_core::packet::Packet;
use airpace_core::phy::AccessCategory;
use airpace_core::queue::{CoDelConfig, DualQueue};
use airpace_core::report::claims::Ledger;
use airpace_core::report::{Allocation, Sensor, SlotReport};
use airpace_units::{BitRate, StationId, Time};
use core::time::Duration;
use hdrhistogram::Histogram;

/// Longest timer lateness that is compensated, so that timers which are a little late cost no rate.
/// Packets held back longer are not sent at once, because they would then wait in the access point
/// instead; with the pacer's burst this makes one millisecond. Lateness of user-space timers on a
/// busy two-core machine: 0.1 ms at the median, 2.6 ms at the 99th percentile.
const CATCH_UP: Duration = Duration::from_micros(800);

/// Least time between two messages about a station's rejected reports.
const TOLD_EVERY: Duration = Duration::from_secs(60);

/// CoDel's target is at least the time in which this many packets leave.
const CODEL_PACKETS: f64 = 4.0;

/// Longest time for which packets of a dry run count as waiting: about what CoDel lets stand.
const MOST_DRY_RUN_DEBT: Duration = Duration::from_millis(20);

/// One station at the proxy.
pub(super) struct PacedStation<P> {
    pub(super) id: StationId,
    pub(super) queue: DualQueue<P>,
    pub(super) pacer: Pacer,
    pub(super) mode: Mode,
    pub(super) connected: bool,
    /// Whether everything passes at once, whatever the law says.
    pub(super) is_exempt: bool,
    /// See [`ProxyConfig::dry_run`].
    pub(super) dry_run: bool,
    /// Whether a report of the station waits for the next decision.
    pub(super) reported: bool,
    /// Whether the next decision waits for a report of the station.
    pub(super) awaited: bool,
    /// Whether the station has so few frames that its agent may extend the slot.
    pub(super) may_extend: bool,
    /// Where the station stands among those that have something to send.
    pub(super) place: Place,
    /// Whether packets waited for the pacer when it was last asked: they are due when it said,
    /// however late the caller is.
    pub(super) held_back: bool,
    /// Whether the law knows that packets wait.
    pub(super) known_to_wait: bool,
    /// Whether the station is among those of which the law is about to be told.
    pub(super) noted: bool,
    pub(super) last_report: Option<SlotReport>,
    /// When missing reports began to count: at the last report, or when the station connected.
    pub(super) heard_at: Time,
    pub(super) allocation: Option<Allocation>,
    /// See [`StationConfig::load_bytes`].
    pub(super) load_bytes: Option<u32>,
    /// See [`StationConfig::phase`].
    phase: f64,
    /// Nothing paced leaves before.
    not_before: Time,
    pub(super) account: Account,
    /// What the packets permit the station to send.
    pub(super) permitted: Permitted,
    /// What was sent and not received yet, against which reports are held.
    pub(super) ledger: Ledger,
    pub(super) allowance: Allowance,
    pub(super) rejected: RejectedReports,
    /// When the operator was last told of them.
    rejected_told: Option<Time>,
    /// When the law is next told of what is sent although the station does not report.
    pub(super) next_unseen: Time,
    /// Packets that the low-latency queue had marked at the last report.
    marks_before: u64,
    /// The same when the rate was last set.
    marks_at_rate: u64,
    pub(super) slot: SlotStatistics,
    /// Decides which packets have priority at the access point, if any may have.
    fast_lane: Option<FastLane>,
}

/// What is recorded of the slot that runs.
pub(super) struct SlotStatistics {
    pub(super) since: Time,
    pub(super) sent_bytes: u64,
    /// Only if somebody reads it: it takes 10 kB.
    pub(super) sojourn_us: Option<Histogram<u32>>,
    pub(super) dropped_before: u64,
    pub(super) marked_before: u64,
}

impl SlotStatistics {
    fn new(wanted: bool) -> Self {
        // Up to a minute at two digits; longer ones count as a minute.
        let histogram = || Histogram::new_with_max(60_000_000, 2).expect("the bounds are valid");
        Self {
            since: Time::ZERO,
            sent_bytes: 0,
            sojourn_us: wanted.then(histogram),
            dropped_before: 0,
            marked_before: 0,
        }
    }

    /// Records sojourn times from now on, or no longer.
    pub(super) fn record_sojourns(&mut self, wanted: bool) {
        if wanted != self.sojourn_us.is_some() {
            self.sojourn_us = Self::new(wanted).sojourn_us;
        }
    }

    #[inline]
    pub(super) fn on_sent(&mut self, bytes: u32, sojourn: Option<Duration>) {
        self.sent_bytes += u64::from(bytes);
        if let (Some(sojourn), Some(histogram)) = (sojourn, self.sojourn_us.as_mut()) {
            histogram.saturating_record(sojourn.as_micros().try_into().unwrap_or(u64::MAX));
        }
    }

    /// Begins the next slot; `dropped` and `marked` are the queue's counters now.
    pub(super) fn begin_slot(&mut self, now: Time, dropped: u64, marked: u64) {
        self.since = now;
        self.sent_bytes = 0;
        self.dropped_before = dropped;
        self.marked_before = marked;
        if let Some(histogram) = &mut self.sojourn_us
            && !histogram.is_empty()
        {
            histogram.reset();
        }
    }
}

impl<P: Packet> PacedStation<P> {
    pub(super) fn new(
        id: StationId,
        station: StationConfig,
        config: &ProxyConfig,
        hash_key: [u8; 16],
    ) -> Self {
        Self {
            id,
            queue: DualQueue::new(config.queue, config.l4s, hash_key),
            pacer: Pacer::new(config.pace),
            mode: Mode::Away,
            connected: false,
            is_exempt: false,
            dry_run: config.dry_run,
            reported: false,
            awaited: false,
            may_extend: false,
            place: Place::Idle,
            held_back: false,
            known_to_wait: false,
            noted: false,
            last_report: None,
            heard_at: Time::ZERO,
            allocation: None,
            load_bytes: station.load_bytes,
            phase: station.phase,
            not_before: Time::ZERO,
            account: Account::new(Time::ZERO),
            permitted: Permitted::default(),
            ledger: Ledger::default(),
            allowance: Allowance::NEW,
            rejected: RejectedReports::default(),
            rejected_told: None,
            next_unseen: Time::ZERO,
            marks_before: 0,
            marks_at_rate: 0,
            slot: SlotStatistics::new(config.records),
            fast_lane: config
                .interactive
                .map(|interactive| FastLane::new(id, interactive.category, config.queue.queues)),
        }
    }

    /// Fits CoDel to the station's rate and to the round trip through the access point.
    ///
    /// RFC 8289 §4: the target must be longer than a packet takes to leave, and the interval than a
    /// round trip. With the defaults alone, TCP to one of thirty slow stations would be kept far
    /// below its rate.
    fn fit_codel(&mut self, defaults: CoDelConfig, allocation: &Allocation, packet_bytes: u32) {
        let packets_s = CODEL_PACKETS * f64::from(packet_bytes) / allocation.rate_bytes_per_s;
        let wait = self.last_report.as_ref().and_then(|report| report.wait);
        let round_trip = wait.map_or(Duration::ZERO, |wait| wait.p95);
        let interval = defaults.interval + round_trip;
        let target = Duration::try_from_secs_f64(packets_s)
            .unwrap_or(interval)
            .max(interval.mul_f64(defaults.target.as_secs_f64() / defaults.interval.as_secs_f64()))
            .clamp(defaults.target, interval);
        self.queue.set_codel(target, interval);
    }

    /// Whether there is a packet to send, or load, which only a paced station is sent: unpaced it
    /// would be a flood.
    pub(super) fn has_something(&self) -> bool {
        self.has_load() || !self.queue.is_empty()
    }

    pub(super) fn has_load(&self) -> bool {
        let is_paced = !self.pacer.is_unshaped() && self.mode != Mode::Unshaped;
        self.load_bytes.is_some() && self.connected && is_paced
    }

    /// Number of the slot that the station reported on last.
    pub(super) fn last_slot(&self) -> Option<u64> {
        self.last_report.as_ref().map(|report| report.slot)
    }

    /// Whether the station's report brings the decision nearer: those of stations that may extend
    /// their slots come at any time.
    pub(super) const fn counts_as_reported(&self) -> bool {
        self.reported && !self.may_extend
    }

    /// Sends nothing paced until `pause` has passed.
    pub(super) fn pause(&mut self, now: Time, pause: Duration) {
        self.not_before = self.not_before.max(now.saturating_add(pause));
    }

    /// When the next packet may leave; `None` if not before another grant.
    #[inline(always)]
    pub(super) fn next_release(&self) -> Option<Time> {
        if self.dry_run {
            return Some(Time::ZERO);
        }
        let release = self.pacer.next_release()?;
        if self.pacer.is_unshaped() {
            return Some(release);
        }
        if self.queue.is_sparse_next() {
            // To a slow station one full-sized packet takes tens of milliseconds, and a pause may
            // take as long: a ping or a call does not wait for them.
            return self.pacer.next_release_ahead();
        }
        Some(release.max(self.not_before))
    }

    /// When the packet that may leave now was due; `None` if none may.
    #[inline]
    pub(super) fn due(&self, now: Time) -> Option<Time> {
        let release = self.next_release().filter(|at| *at <= now)?;
        // In a dry run packets leave as they come, so nothing was due before.
        if !self.held_back || self.dry_run {
            return Some(now);
        }
        let earliest = now.as_nanos().saturating_sub(CATCH_UP.as_nanos() as u64);
        Some(release.max(Time::from_nanos(earliest)))
    }

    /// Whether this is a dry run, and the pacer would hold the next packet back now.
    pub(super) fn would_hold(&self, now: Time) -> bool {
        let release = self.pacer.next_release();
        self.dry_run && release.is_none_or(|release| release > now)
    }

    /// The category in which the packet that was just taken from the queue is to be sent; `None`
    /// sends it as it is.
    pub(super) fn priority(
        &mut self,
        now: Time,
        bytes: u32,
        config: &ProxyConfig,
        budget: &mut AirtimeBudget,
    ) -> Option<AccessCategory> {
        // Most proxies have none, and need not look further.
        self.fast_lane.as_ref()?;
        let report = self.last_report.as_ref();
        // Without a PHY rate, the granted rate is a lower bound.
        let granted = mode::granted(self, config);
        let granted_bps = granted.map(|granted| granted.rate_bytes_per_s * 8.0);
        let way = Way {
            frame_overhead: config.frame_overhead,
            rate_bps: report.and_then(SlotReport::phy_rate_bps).or(granted_bps),
            round_s: report.and_then(SlotReport::round_s),
        };
        let lane = self.fast_lane.as_mut()?;
        lane.category(now, self.queue.last_served(), bytes, &way, budget)
    }

    /// The event that tells of rejected reports, once a minute at most.
    pub(super) fn tell_of_rejected(&mut self, now: Time, station: usize) -> Option<Event> {
        let is_due = self
            .rejected_told
            .is_none_or(|told| now.saturating_since(told) >= TOLD_EVERY);
        is_due.then(|| {
            self.rejected_told = Some(now);
            Event::ReportsRejected {
                station,
                reports: self.rejected.corrected + self.rejected.surplus,
            }
        })
    }

    /// What was sent to a station that does not report, as a report of a station that no sensor
    /// sees; `None` if the last one is less than a slot old.
    pub(super) fn unseen_report(&mut self, now: Time, slot: Duration) -> Option<SlotReport> {
        if now < self.next_unseen {
            return None;
        }
        self.next_unseen = now.saturating_add(slot);
        // The first one comes when reports have been missing for some slots.
        let silence = now.saturating_since(self.heard_at);
        let slots = silence.as_nanos() / slot.as_nanos().max(1);
        let slots = u64::try_from(slots).unwrap_or(u64::MAX);
        let mut report = SlotReport::silent(self.id, slot);
        report.sensor = Sensor::None;
        report.sender = self.account.close(now, slot, slots);
        self.permitted.close_slot(report.sender.uplink_bytes);
        report.sender.marked = self.was_marked();
        report.sender.bypassed = self.is_exempt;
        Some(report)
    }

    /// Whether the low-latency queue has marked packets since the last call.
    pub(super) fn was_marked(&mut self) -> bool {
        let marks = self.queue.low_latency_marks();
        core::mem::replace(&mut self.marks_before, marks) != marks
    }

    /// Whether the low-latency queue has marked packets since the last call: a scalable flow uses it.
    pub(super) fn has_scalable_flow(&mut self) -> bool {
        let marks = self.queue.low_latency_marks();
        core::mem::replace(&mut self.marks_at_rate, marks) != marks
    }

    /// Lets the flows of an empty queue become idle. FQ-CoDel notices that a flow is idle when it
    /// finds its queue empty, for which it must be asked; otherwise a call beside nothing else
    /// would use up its quantum some day and count as bulk from then on.
    pub(super) fn settle_empty_queue(&mut self, now: Time) {
        if self.fast_lane.is_some() && self.queue.is_empty() {
            let nothing = self.queue.dequeue(now);
            debug_assert!(nothing.is_none(), "the queue is empty");
        }
    }

    /// Charges the pacer and the slot's statistics for a packet that was due at `due` and leaves now.
    #[inline(always)]
    pub(super) fn charge(
        &mut self,
        due: Time,
        bytes: u32,
        acknowledged_bytes: u32,
        sojourn: Option<Duration>,
    ) {
        let permitted_bytes = self.permitted.charge(acknowledged_bytes);
        // In a dry run the packets that would wait are gone: the pacer's debt stands for them, and
        // a queue would have dropped what waits for longer than this.
        let owes_much = || {
            self.pacer
                .next_release()
                .is_some_and(|release| release > due.saturating_add(MOST_DRY_RUN_DEBT))
        };
        if !(self.dry_run && owes_much()) {
            self.pacer.charge_permitting(due, bytes, permitted_bytes);
        }
        self.slot.on_sent(bytes, sojourn);
    }

    /// Counts a packet for the law; `held` says whether it had to wait for the pacer.
    pub(super) fn count(&mut self, bytes: u32, held: bool, category: AccessCategory) {
        // Stations do not report packets that passed the others at the access point. The law
        // balances what was sent and what arrived, so they do not count here either.
        if !category.has_precedence() {
            self.account.sent(bytes, held);
        }
    }

    /// Sets the pacer to the rate that belongs to the mode, and the queue to that rate and `codel`.
    pub(super) fn apply(&mut self, now: Time, config: &ProxyConfig, codel: CoDelConfig) {
        let Some(allocation) = mode::granted(self, config) else {
            return self.pacer.unshape();
        };
        // Fallback rates are paced by bytes: the last known PHY rate is out of date.
        let phy_rate = match &self.last_report {
            Some(report) if self.mode == Mode::Controlled => report.phy_rate_bps(),
            _ => None,
        };
        if self.pacer.is_unshaped() && allocation.rate_pps > 0.0 {
            // A rate so small that the gap is no duration does not delay the station for ever.
            let wait = Duration::try_from_secs_f64(self.phase / allocation.rate_pps);
            self.not_before = now.saturating_add(wait.unwrap_or_default());
        }
        self.pacer.expect_permitted(self.permitted.mean_bytes());
        self.pacer
            .grant(now, &allocation, phy_rate.map(BitRate::from_bps_f64));
        self.fit_codel(codel, &allocation, config.packet_bytes);
    }
}
