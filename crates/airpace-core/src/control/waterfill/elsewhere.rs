//! Is the bottleneck where the law thinks it is?

/// Less than this share of what was sent arrived: too little for the slots' edges to explain.
const SHORT_SHARE: f64 = 0.85;
/// The same near a rate that has failed before.
const SHORT_SHARE_NEAR: f64 = 0.95;
/// Slots in a row that must fall short before it is believed.
const SHORT_SLOTS: u8 = 2;
/// Slots until a cap must have changed something.
const TRIAL_SLOTS: u8 = 3;
/// Slots for which a station that merely loses packets at random is left alone.
const LOSSY_SLOTS: u16 = 100;
/// Slots after which a cap that does not bind is dropped.
const LOOSE_SLOTS: u16 = 50;
/// The cap as a share of what arrived when the path fell short.
const CAP_SHARE: f64 = 0.9;
/// Growth of the cap per slot while it is probed upwards, and well above the rate that failed last.
const PROBE: (f64, f64) = (1.02, 1.25);
/// What "well above" is.
const PASSED: f64 = 1.15;
/// Slots before the first probe, and the most that failures can make of it: each doubles it.
const HOLD_SLOTS: (u16, u16) = (10, 160);

/// What passed in a slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passage {
    /// Packets per second sent.
    pub(super) sent_pps: f64,
    /// Packets per second received.
    pub(super) received_pps: f64,
    /// What whole frames on the wrong side of the slot's edges can make of either.
    pub(super) edge_pps: f64,
    /// Whether frames were as long as they get.
    pub(super) full: bool,
    /// Whether packets appear to stand somewhere.
    pub(super) stands: bool,
}

/// Watches one station: frames below their longest although less arrives than is sent.
///
/// Then the bottleneck lies before the access point, or its frames are shorter than configured. Either way the level says nothing about the
/// queue, and a law that raises the rate because the level is low blows up. So the rate is capped below what arrives, held, and then probed
/// upwards, after each failure more rarely. If what arrives falls with the rate, it is random loss, and the cap is lifted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Elsewhere {
    cap_pps: Option<f64>,
    /// What arrived when the path last fell short: so much it does carry.
    carried_pps: f64,
    short_slots: u8,
    trial_slots: u8,
    lossy_slots: u16,
    /// Slots in a row in which the cap did not bind.
    loose_slots: u16,
    /// Slots left before the cap is probed upwards, and how many the next failure makes it.
    hold_slots: u16,
    next_hold: u16,
}

impl Default for Elsewhere {
    fn default() -> Self {
        let (next_hold, _) = HOLD_SLOTS;
        Self {
            cap_pps: None,
            carried_pps: 0.0,
            short_slots: 0,
            trial_slots: 0,
            lossy_slots: 0,
            loose_slots: 0,
            hold_slots: 0,
            next_hold,
        }
    }
}

impl Elsewhere {
    /// The most that the path is believed to carry, packets per second.
    pub(super) fn cap_pps(&self) -> Option<f64> {
        self.cap_pps
    }

    /// Whether the path was found to fall short, so that what is missing may stand somewhere.
    pub(super) fn is_short(&self) -> bool {
        self.trial_slots > 0 || (self.cap_pps.is_some() && self.short_slots > 0)
    }

    /// Takes a slot.
    pub(super) fn observe(&mut self, slot: &Passage) {
        self.lossy_slots = self.lossy_slots.saturating_sub(1);
        let share = if self.cap_pps.is_some() {
            SHORT_SHARE_NEAR
        } else {
            SHORT_SHARE
        };
        let missing =
            slot.received_pps < share * slot.sent_pps - slot.edge_pps && self.lossy_slots == 0;
        self.short_slots = if !slot.full && (missing || slot.stands) {
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
        self.next_hold = (self.next_hold * 2).min(HOLD_SLOTS.1);
    }

    /// Sees through random loss; else holds, then probes upwards while everything arrives.
    fn revise(&mut self, cap: f64, slot: &Passage) {
        let less_than_carried = slot.sent_pps > 0.5 * cap && slot.sent_pps <= self.carried_pps;
        if less_than_carried && slot.received_pps < SHORT_SHARE * slot.sent_pps - slot.edge_pps {
            // What is lost is lost whatever the rate.
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
                PROBE.1
            } else {
                PROBE.0
            };
            self.cap_pps = Some(cap * growth);
        }
    }

    /// Drops a cap that has not bound a rate of `target_pps` for long.
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
