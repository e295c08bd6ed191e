//! Detection of a bottleneck that lies elsewhere than at the access point.

/// A slot falls short if less than this share of the packets sent arrived; slot boundaries alone do
/// not explain so large a gap.
const SHORT_SHARE: f64 = 0.85;
/// The same share while a cap is in place, that is, near a rate that has failed before.
const SHORT_SHARE_NEAR: f64 = 0.95;
/// Consecutive slots that must fall short before the rate is capped.
const SHORT_SLOTS: u8 = 2;
/// Slots that a new cap is given to take effect before it is judged.
const TRIAL_SLOTS: u8 = 3;
/// Slots for which missing packets are ignored after a station turned out to lose packets at
/// random.
const LOSSY_SLOTS: u16 = 100;
/// Consecutive slots without effect after which a cap is removed.
const LOOSE_SLOTS: u16 = 50;
/// The cap as a share of the rate received when the path fell short.
const CAP_SHARE: f64 = 0.9;
/// Growth of the cap per slot while the path is probed.
const PROBE_SLOW: f64 = 1.02;
/// Growth per slot once the cap exceeds the rate that failed last by the factor [`PASSED`].
const PROBE_FAST: f64 = 1.25;
/// See [`PROBE_FAST`].
const PASSED: f64 = 1.15;
/// Slots for which the first cap is held before it is probed. Each failure doubles it.
const HOLD_SLOTS: u16 = 10;
/// Longest hold, in slots.
const HOLD_SLOTS_MAX: u16 = 160;

/// Traffic of one slot, as sender and station counted it.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlotTraffic {
    /// Packets per second sent.
    pub(super) sent_pps: f64,
    /// Packets per second received.
    pub(super) received_pps: f64,
    /// Largest error of either rate that comes from frames counted in the neighbouring slot.
    pub(super) edge_pps: f64,
    /// Whether frames had their maximum length.
    pub(super) full: bool,
    /// Whether more packets are outstanding than can be in flight, so that some are queued.
    pub(super) queued: bool,
}

/// Detects that a station's packets are queued or lost before they reach the access point, and caps
/// its rate.
///
/// The symptom is that fewer packets arrive than are sent although frames are not full. Then the
/// bottleneck lies before the access point, or frames are shorter than configured. Either way the
/// level says nothing about the queue, and a law that raises the rate because the level is low runs
/// away. So the rate is capped below the rate received, held, and then probed upwards; after each
/// failure it is held longer. If the received rate falls along with the sent rate, the loss is
/// random and the cap is removed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Elsewhere {
    cap_pps: Option<f64>,
    /// Rate received when the path last fell short: the path does carry this much.
    carried_pps: f64,
    short_slots: u8,
    trial_slots: u8,
    lossy_slots: u16,
    /// Consecutive slots in which the cap had no effect.
    loose_slots: u16,
    /// Slots left before the cap is probed upwards.
    hold_slots: u16,
    /// Slots to hold the cap for after the next failure.
    next_hold: u16,
}

impl Default for Elsewhere {
    fn default() -> Self {
        Self {
            cap_pps: None,
            carried_pps: 0.0,
            short_slots: 0,
            trial_slots: 0,
            lossy_slots: 0,
            loose_slots: 0,
            hold_slots: 0,
            next_hold: HOLD_SLOTS,
        }
    }
}

impl Elsewhere {
    /// The largest rate that the path is believed to carry, packets per second; `None` without a
    /// cap.
    pub(super) fn cap_pps(&self) -> Option<f64> {
        self.cap_pps
    }

    /// Whether the path was found to fall short recently, so that missing packets may be queued on
    /// it.
    pub(super) fn is_short(&self) -> bool {
        self.trial_slots > 0 || (self.cap_pps.is_some() && self.short_slots > 0)
    }

    /// Takes one slot's traffic.
    pub(super) fn observe(&mut self, slot: &SlotTraffic) {
        self.lossy_slots = self.lossy_slots.saturating_sub(1);
        let share = if self.cap_pps.is_some() {
            SHORT_SHARE_NEAR
        } else {
            SHORT_SHARE
        };
        let missing =
            slot.received_pps < share * slot.sent_pps - slot.edge_pps && self.lossy_slots == 0;
        // Full frames mean that the access point is the bottleneck, and the level then shows its
        // queue.
        self.short_slots = if !slot.full && (missing || slot.queued) {
            self.short_slots.saturating_add(1)
        } else {
            0
        };
        match self.cap_pps {
            None if self.short_slots >= SHORT_SLOTS => self.cap_below(slot.received_pps),
            None => {}
            Some(cap) => self.revise(cap, slot),
        }
    }

    fn cap_below(&mut self, received_pps: f64) {
        self.cap_pps = Some(CAP_SHARE * received_pps);
        self.carried_pps = received_pps;
        self.trial_slots = TRIAL_SLOTS;
        self.short_slots = 0;
        self.hold_slots = self.next_hold;
        self.next_hold = (self.next_hold * 2).min(HOLD_SLOTS_MAX);
    }

    /// Removes the cap if the loss is random; otherwise holds it, then raises it while all packets
    /// arrive.
    fn revise(&mut self, cap: f64, slot: &SlotTraffic) {
        let less_than_carried = slot.sent_pps > 0.5 * cap && slot.sent_pps <= self.carried_pps;
        if less_than_carried && slot.received_pps < SHORT_SHARE * slot.sent_pps - slot.edge_pps {
            // Packets are still missing at a rate that the path has carried, so the rate is not the
            // reason.
            *self = Self {
                lossy_slots: LOSSY_SLOTS,
                ..Self::default()
            };
        } else if self.trial_slots > 0 {
            self.trial_slots -= 1;
        } else if self.short_slots > 0 {
            self.cap_below(slot.received_pps);
        } else if self.hold_slots > 0 {
            self.hold_slots -= 1;
        } else {
            let growth = if cap > PASSED * self.carried_pps {
                PROBE_FAST
            } else {
                PROBE_SLOW
            };
            self.cap_pps = Some(cap * growth);
        }
    }

    /// Removes the cap once it has exceeded `target_pps` for [`LOOSE_SLOTS`].
    pub(super) fn release_above(&mut self, target_pps: f64) {
        self.loose_slots = if self.cap_pps.is_some_and(|cap| cap >= target_pps) {
            self.loose_slots + 1
        } else {
            0
        };
        if self.loose_slots > LOOSE_SLOTS {
            *self = Self::default();
        }
    }
}
