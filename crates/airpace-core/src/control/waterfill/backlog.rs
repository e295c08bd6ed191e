//! Estimate of the packets that wait for a station beyond what rounds explain, and how they are
//! drained.

use super::super::sample::Sample;

/// Share of the balance of packets sent and received that is kept from slot to slot, so that
/// rounding errors do not accumulate.
const BALANCE_KEPT: f64 = 0.985;
/// A packet that finds no queue waits at most for this many gaps between frames: the round that
/// runs, and frames that the access point has composed ahead.
const USUAL_GAPS: f64 = 2.5;
/// What is added to that for noise of the measurement, seconds.
const USUAL_S: f64 = 0.002;
/// Time on the path before the access point in which packets are in flight, seconds, where waiting
/// times are not measured.
const IN_FLIGHT_S: f64 = 0.03;
/// Slots for which the balance of packets is trusted while packets wait.
const BALANCED_SLOTS: u8 = 3;
/// The queue at the end of a slot, compared with what arrives in the 95th percentile of the waiting
/// time: at most this factor longer, because the last to come have not been received yet.
const QUEUE_BOUND: f64 = 2.0;
/// Mean levels of a slot up to this factor above the target can be noise: levels near the longest
/// frame vary by a tenth from slot to slot.
const NOISE_FACTOR: f64 = 1.35;
/// Largest share of the rate that is held back to drain a queue whose waiting time is not measured:
/// missing packets may be lost.
const TRIM_MOST: f64 = 0.06;
/// Largest share of the rate that is held back to drain a measured queue.
const DRAIN_MOST: f64 = 0.9;
/// Largest share of a slot for which nothing is sent so that a short queue drains.
const PAUSE_MOST: f64 = 0.25;
/// Share of a queue, known from waiting times alone, that is drained in the next slot. That
/// measurement is a slot old when it takes effect; draining all of it would overshoot.
const DRAIN_GAIN: f64 = 0.5;

/// Packets that wait for a station, in the access point or before it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Backlog {
    /// Packets sent that were neither received nor reported lost: they are queued or in flight.
    balance: f64,
    /// Packets that wait beyond what rounds explain.
    packets: f64,
    /// Consecutive slots in which packets waited for longer than rounds explain.
    waiting_slots: u8,
    /// Whether waiting times are measured.
    wait_known: bool,
    /// What the access point delivered in the last slot, packets per second.
    received_pps: f64,
}

/// What a slot's report does not say of itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct BacklogSlot {
    /// Packets per second sent.
    pub(super) sent_pps: f64,
    /// Mean time between frames, seconds.
    pub(super) gap_s: f64,
    /// Whether frames are as long as they can be.
    pub(super) full: bool,
    /// Packets per frame that the last rate aimed at.
    pub(super) target_level: f64,
}

/// How a queue is drained.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Drain {
    /// Time for which nothing is sent, seconds.
    pub(super) pause_s: f64,
    /// By how much the rate is reduced until the next slot, packets per second.
    pub(super) trim_pps: f64,
}

/// Longest usual waiting time in seconds where frames are `gap_s` apart.
pub(super) fn usual_wait_s(gap_s: f64) -> f64 {
    USUAL_GAPS * gap_s + USUAL_S
}

/// What is to be drained of `queued` packets behind full frames of `level` packets on average.
///
/// Where the target is near the longest frame, noise alone makes frames full. Up to a frame's
/// packets are queued at the end of such a slot, depending on where in a round it ends. A drain
/// that took them too would empty the access point and leave the mean level below the target.
fn beyond_next_frame(queued: f64, level: f64, slot: &BacklogSlot) -> f64 {
    if level <= NOISE_FACTOR * slot.target_level {
        (queued - slot.target_level).max(0.0)
    } else {
        queued
    }
}

impl Backlog {
    /// Takes a slot.
    pub(super) fn observe(&mut self, sample: &Sample, slot: &BacklogSlot) {
        let missing = (slot.sent_pps - sample.received_pps - sample.lost_pps) * sample.length_s;
        self.balance = (BALANCE_KEPT * self.balance + missing).max(0.0);
        let level = sample.level.unwrap_or(0.0);
        self.wait_known = sample.wait.is_some();
        self.received_pps = sample.received_pps;
        let Some(wait) = sample.wait else {
            self.waiting_slots = 0;
            self.packets = self.unmeasured(level, slot);
            return;
        };
        let excess_s = wait.median_s - usual_wait_s(slot.gap_s);
        self.waiting_slots = if excess_s > 0.0 {
            self.waiting_slots.saturating_add(1)
        } else {
            0
        };
        self.packets = if self.waiting_slots > BALANCED_SLOTS {
            // A queue that stands is drained by what packets waited, whatever the balance says:
            // lost reports leave it too small.
            sample.received_pps * excess_s
        } else if slot.full {
            // The balance knows what the slot's end looked like and what the last drain has taken;
            // how long packets waited bounds what late reports make of it.
            let queued = self
                .balance
                .min(QUEUE_BOUND * sample.received_pps * wait.p95_s);
            if self.waiting_slots > 0 {
                // Waiting times prove that it is more than noise.
                queued
            } else {
                beyond_next_frame(queued, level, slot)
            }
        } else {
            (sample.received_pps * excess_s.max(0.0)).min(self.balance)
        };
    }

    /// The packets that wait, from their balance alone.
    fn unmeasured(&self, level: f64, slot: &BacklogSlot) -> f64 {
        if slot.full {
            // Behind full frames everything that is missing is queued.
            return beyond_next_frame(self.balance, level, slot);
        }
        let in_flight_s = USUAL_GAPS * slot.gap_s + IN_FLIGHT_S;
        (self.balance - slot.sent_pps * in_flight_s).max(0.0)
    }

    /// Packets that were sent and neither received nor reported lost.
    pub(super) const fn balance(&self) -> f64 {
        self.balance
    }

    /// Packets that wait beyond what rounds explain.
    pub(super) fn packets(&self) -> f64 {
        self.packets
    }

    /// How the packets that wait are drained within `slot_s` seconds from a rate of `open_pps`.
    /// `full` says whether frames are as long as they can be.
    pub(super) fn drain(&self, full: bool, slot_s: f64, open_pps: f64) -> Drain {
        if self.packets <= 0.0 {
            return Drain::default();
        }
        let balanced = full && self.waiting_slots <= BALANCED_SLOTS;
        let is_certain = balanced || self.wait_known;
        let (gain, trim_most) = match (balanced, self.wait_known) {
            (true, _) => (1.0, DRAIN_MOST),
            (false, true) => (DRAIN_GAIN, DRAIN_MOST),
            (false, false) => (1.0, TRIM_MOST),
        };
        let drained = gain * self.packets;
        let pause_s = drained / self.received_pps.max(1.0);
        if is_certain && pause_s <= PAUSE_MOST * slot_s {
            // A pause ends when the queue is gone. A lower rate for the whole slot would leave the
            // access point without packets for the rest of it.
            return Drain {
                pause_s,
                trim_pps: 0.0,
            };
        }
        // A long pause would starve the station if the estimate is wrong.
        Drain {
            pause_s: 0.0,
            trim_pps: (drained / slot_s).min(trim_most * open_pps),
        }
    }
}
