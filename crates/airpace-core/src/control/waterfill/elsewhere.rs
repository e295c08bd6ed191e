//! Detection of a bottleneck that lies before the access point.

/// Consecutive slots that must show it before the rate is capped.
const SLOTS: u8 = 4;
/// Consecutive slots that must show weaker signs of it, which noise gives in single slots: a
/// bottleneck that is only slightly slower than the air.
const STANDING_SLOTS: u8 = 8;
/// Share of the packets sent that is lost, on average over the last slots, in such a case.
const STANDING_LOST_SHARE: f64 = 0.015;
/// Weight of one slot in that average.
const STANDING_GAIN: f64 = 0.2;
/// Share of the packets sent that must be missing to count as a shortfall, where waiting times are
/// not measured: slot boundaries alone do not explain so large a gap.
const MISSING_SHARE: f64 = 0.15;
/// The same share while a cap is in place, that is, near a rate that has failed before.
const MISSING_SHARE_NEAR: f64 = 0.05;
/// Share of the packets sent that must be lost to count as a shortfall.
const LOST_SHARE: f64 = 0.05;
/// The same share while a cap is in place.
const LOST_SHARE_NEAR: f64 = 0.01;
/// The cap as a share of the rate received when the path fell short.
const CAP_SHARE: f64 = 0.95;
/// Factor by which the cap falls where packets wait at a rate that was carried before.
const SHRINK: f64 = 0.8;
/// Slots that a new cap is given to take effect before it is judged.
const TRIAL_SLOTS: u16 = 3;
/// Slots for which shortfalls are ignored after a station turned out to lose packets at random.
const LOSSY_SLOTS: u16 = 100;
/// Slots for which a cap is held before it is probed.
const HOLD_SLOTS: u16 = 4;
/// How often that time is doubled while each probe costs packets.
const DOUBLED_MOST: u8 = 2;
/// The cap is raised only while the source sends at least this share of it.
const PROBED_SHARE: f64 = 0.8;
/// Growth of the cap per slot while the path is probed.
const PROBE: f64 = 1.15;
/// Growth per slot once the cap exceeds the rate that failed last by the factor [`PASSED`].
const PROBE_FAST: f64 = 1.4;
/// See [`PROBE_FAST`].
const PASSED: f64 = 1.2;
/// Consecutive slots in which the cap exceeds the fair rate, after which it is removed.
const LOOSE_SLOTS: u16 = 5;

/// What one slot shows of the path, as sender and station counted it.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlotTraffic {
    /// Packets per second sent.
    pub(super) sent_pps: f64,
    /// Packets per second received.
    pub(super) received_pps: f64,
    /// Packets per second reported lost.
    pub(super) lost_pps: f64,
    /// Largest error of these rates that comes from frames counted in the neighbouring slot.
    pub(super) edge_pps: f64,
    /// Whether frames are as long as they can be, so that the access point is the bottleneck.
    pub(super) full: bool,
    /// Whether frames are shorter than the rate should make them.
    pub(super) short: bool,
    /// Whether packets wait far longer than the access point's rounds explain; `None` if waiting
    /// times are not measured.
    pub(super) late: Option<bool>,
    /// Whether packets wait at all beyond what rounds explain; `None` if that is not measured.
    pub(super) waiting: Option<bool>,
}

impl SlotTraffic {
    /// Whether the slot shows a bottleneck before the access point.
    ///
    /// Packets that wait at the access point for several rounds fill its frames: it takes as many
    /// as a frame can hold. So packets that wait for several rounds while frames are not full have
    /// waited somewhere else. Losses while frames are not full are the mark of a policer.
    fn falls_short(&self) -> bool {
        self.late.unwrap_or_else(|| self.misses(MISSING_SHARE)) && !self.full
            || self.loses(LOST_SHARE)
    }

    /// Whether the slot shows a queue before the access point, if many slots in a row do.
    ///
    /// A queue at the access point makes frames longer than intended. So if packets wait while
    /// frames are shorter than intended, they wait somewhere else, and arrive at the pace of that
    /// place.
    fn queues_before(&self) -> bool {
        self.waiting.unwrap_or(false) && !self.full && self.short
    }

    /// The same near a rate that has fallen short before, where less is enough.
    fn falls_short_again(&self) -> bool {
        let waits = self
            .waiting
            .unwrap_or_else(|| self.misses(MISSING_SHARE_NEAR));
        waits && !self.full || self.loses(LOST_SHARE_NEAR)
    }

    /// Whether more than `share` of the packets sent did not arrive.
    fn misses(&self, share: f64) -> bool {
        self.received_pps < (1.0 - share) * self.sent_pps - self.edge_pps
    }

    /// Whether more than `share` of the packets are lost although frames are not full.
    fn loses(&self, share: f64) -> bool {
        !self.full && self.lost_pps > share * self.sent_pps + self.edge_pps
    }
}

/// Averages over the last slots, packets per second.
#[derive(Clone, Copy, Debug, Default)]
struct MeanTraffic {
    sent_pps: f64,
    /// Sent and not received in the same slot.
    missing_pps: f64,
    lost_pps: f64,
}

/// Caps the rate to a station whose packets are queued or lost before they reach the access point.
///
/// There the level says nothing about the queue, and a law that raises the rate because the level
/// is low runs away. So the rate is capped below the rate received, held, and then probed upwards.
/// If losses do not end at a rate that the path has carried, they are random, and the cap is
/// removed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Elsewhere {
    cap_pps: Option<f64>,
    /// Rate received when the path last fell short: the path does carry this much.
    carried_pps: f64,
    short_slots: u8,
    /// Consecutive slots with the weaker signs.
    standing_slots: u8,
    mean: MeanTraffic,
    trial_slots: u16,
    lossy_slots: u16,
    /// Consecutive slots in which the cap had no effect.
    loose_slots: u16,
    /// Slots left before the cap is probed upwards.
    hold_slots: u16,
    /// How often the time for which a cap is held was doubled.
    doubled: u8,
}

impl Default for Elsewhere {
    fn default() -> Self {
        Self {
            cap_pps: None,
            carried_pps: 0.0,
            short_slots: 0,
            standing_slots: 0,
            mean: MeanTraffic::default(),
            trial_slots: 0,
            lossy_slots: 0,
            loose_slots: 0,
            hold_slots: 0,
            doubled: 0,
        }
    }
}

impl Elsewhere {
    /// The largest rate that the path is believed to carry, packets per second; `None` without a
    /// cap.
    pub(super) const fn cap_pps(&self) -> Option<f64> {
        self.cap_pps
    }

    /// Takes one slot's traffic.
    pub(super) fn observe(&mut self, slot: &SlotTraffic) {
        self.lossy_slots = self.lossy_slots.saturating_sub(1);
        let falls_short = if self.cap_pps.is_some() {
            slot.falls_short_again()
        } else {
            slot.falls_short()
        };
        let short = falls_short && self.lossy_slots == 0;
        self.short_slots = if short {
            self.short_slots.saturating_add(1)
        } else {
            0
        };
        self.observe_standing(slot);
        let found = self.short_slots >= SLOTS || self.standing_slots >= STANDING_SLOTS;
        match self.cap_pps {
            // What was received cannot be more than what was sent.
            None if found => self.cap_below(slot.received_pps.min(slot.sent_pps + slot.edge_pps)),
            None => {}
            Some(cap) => self.revise(cap, slot),
        }
    }

    /// Counts the slots that show the weaker signs.
    fn observe_standing(&mut self, slot: &SlotTraffic) {
        let mix = |mean: &mut f64, new: f64| *mean += STANDING_GAIN * (new - *mean);
        mix(&mut self.mean.sent_pps, slot.sent_pps);
        mix(
            &mut self.mean.missing_pps,
            slot.sent_pps - slot.received_pps,
        );
        mix(&mut self.mean.lost_pps, slot.lost_pps);
        // What was lost is missing among the packets received; a claim of more is not believed.
        let lost_pps = self.mean.lost_pps.min(self.mean.missing_pps);
        let loses = lost_pps > STANDING_LOST_SHARE * self.mean.sent_pps && !slot.full && slot.short;
        let stands = (slot.queues_before() || loses) && self.lossy_slots == 0;
        self.standing_slots = if stands {
            self.standing_slots.saturating_add(1)
        } else {
            0
        };
    }

    fn cap_below(&mut self, received_pps: f64) {
        self.cap_pps = Some(CAP_SHARE * received_pps);
        self.carried_pps = received_pps;
        self.trial_slots = TRIAL_SLOTS;
        (self.short_slots, self.standing_slots) = (0, 0);
        self.hold_slots = HOLD_SLOTS;
    }

    /// Removes the cap if the loss is random; otherwise holds it, then raises it while all packets
    /// arrive.
    fn revise(&mut self, cap: f64, slot: &SlotTraffic) {
        if self.trial_slots > 0 {
            self.trial_slots -= 1;
            return;
        }
        let carried_before = slot.sent_pps > 0.5 * cap && slot.sent_pps <= self.carried_pps;
        // Random losses do not make packets wait.
        if carried_before && slot.loses(LOST_SHARE_NEAR) && !slot.waiting.unwrap_or(false) {
            // Packets are still lost at a rate that the path has carried, so the rate is not the
            // reason.
            *self = Self {
                lossy_slots: LOSSY_SLOTS,
                ..Self::default()
            };
        } else if self.short_slots > 0 && carried_before {
            // Others share the bottleneck, and what it carries for this station has shrunk.
            self.cap_below(SHRINK * slot.received_pps.max(0.5 * cap));
        } else if self.short_slots > 0 {
            let doubled = self.doubled;
            self.cap_below(slot.received_pps.max(0.5 * cap));
            if slot.loses(LOST_SHARE_NEAR) {
                // A queue that is too short for a probe loses what exceeds the path's rate.
                self.hold_slots <<= doubled;
                self.doubled = (doubled + 1).min(DOUBLED_MOST);
            }
        } else if self.hold_slots > 0 {
            self.hold_slots -= 1;
        } else if slot.sent_pps >= PROBED_SHARE * cap {
            // A cap that the source does not reach proves nothing about the path.
            let growth = if cap > PASSED * self.carried_pps {
                PROBE_FAST
            } else {
                PROBE
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A slot in which all packets arrive in frames that are shorter than intended.
    const SHORT: SlotTraffic = SlotTraffic {
        sent_pps: 40_000.0,
        received_pps: 40_000.0,
        lost_pps: 0.0,
        edge_pps: 400.0,
        full: false,
        short: true,
        late: Some(false),
        waiting: Some(false),
    };

    /// The cap after so many slots of this traffic.
    fn cap_after(slots: u8, slot: SlotTraffic) -> Option<f64> {
        let mut elsewhere = Elsewhere::default();
        for _ in 0..slots {
            elsewhere.observe(&slot);
        }
        elsewhere.cap_pps()
    }

    #[test]
    fn a_queue_that_stands_while_frames_are_short_is_found_within_eight_slots() {
        let waiting = SlotTraffic {
            waiting: Some(true),
            ..SHORT
        };
        assert_eq!(cap_after(7, waiting), None);
        assert_eq!(cap_after(8, waiting), Some(0.95 * 40_000.0));
        let as_intended = SlotTraffic {
            short: false,
            ..waiting
        };
        let full = SlotTraffic {
            full: true,
            ..waiting
        };
        assert_eq!(cap_after(50, as_intended), None);
        assert_eq!(cap_after(50, full), None);
        assert_eq!(cap_after(50, SHORT), None);
    }

    #[test]
    fn a_small_loss_that_stands_is_found_if_the_packets_are_missing() {
        let losing = SlotTraffic {
            received_pps: 38_800.0,
            lost_pps: 1_200.0,
            ..SHORT
        };
        assert_eq!(cap_after(7, losing), None);
        assert_eq!(cap_after(8, losing), Some(0.95 * 38_800.0));
        let claimed = SlotTraffic {
            lost_pps: 1_200.0,
            ..SHORT
        };
        assert_eq!(cap_after(50, claimed), None);
    }
}
