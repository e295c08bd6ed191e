//! Is the bottleneck the access point at all?

/// Less than this share of what was sent arrived: too little for the slots' edges to explain.
const SHORT_SHARE: f64 = 0.85;
/// At least this share arrived: the path carries what it is sent.
const WHOLE_SHARE: f64 = 0.95;
/// Slots in a row that must fall short before it is believed.
const SHORT_SLOTS: u8 = 2;
/// Slots until a cap must have changed something.
const TRIAL_SLOTS: u8 = 3;
/// Slots for which a station that merely loses packets at random is left alone.
const LOSSY_SLOTS: u16 = 100;
/// Growth of the cap per slot well below the rate that last failed, and near it.
const PROBE: (f64, f64) = (1.5, 1.02);
/// What "well below" is, as a share of the rate that last failed.
const PROBE_NEAR: f64 = 0.85;

/// Watches one station: small frames although less arrives than is sent mean a bottleneck before the access point.
///
/// There the level says nothing about the queue, and a law that raises the rate because the level is low blows up. So the rate is capped near
/// what arrives and then probed upwards. If what arrives falls with the rate, it is random loss, and the cap is lifted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Elsewhere {
    cap_pps: Option<f64>,
    failed_pps: f64,
    short_slots: u8,
    trial_slots: u8,
    lossy_slots: u16,
}

impl Elsewhere {
    /// The most that the path before the access point is believed to carry, packets per second.
    pub(super) fn cap_pps(&self) -> Option<f64> {
        self.cap_pps
    }

    /// Takes what was sent and what arrived in a slot; `full` tells whether frames were as long as they get.
    pub(super) fn observe(&mut self, sent_pps: f64, received_pps: f64, full: bool) {
        self.lossy_slots = self.lossy_slots.saturating_sub(1);
        let short = !full && received_pps < SHORT_SHARE * sent_pps;
        self.short_slots = if short { self.short_slots.saturating_add(1) } else { 0 };
        match self.cap_pps {
            None if self.short_slots >= SHORT_SLOTS && self.lossy_slots == 0 => self.cap_at(sent_pps, received_pps),
            None => {}
            Some(_) if self.trial_slots > 0 => self.trial_slots -= 1,
            Some(cap) => self.revise(cap, sent_pps, received_pps, short),
        }
    }

    fn cap_at(&mut self, sent_pps: f64, received_pps: f64) {
        self.cap_pps = Some(received_pps);
        self.failed_pps = sent_pps.min(received_pps * 1.1);
        self.trial_slots = TRIAL_SLOTS;
        self.short_slots = 0;
    }

    /// Probes upwards while everything arrives; sees through random loss.
    fn revise(&mut self, cap: f64, sent_pps: f64, received_pps: f64, short: bool) {
        if short && sent_pps <= cap * 1.01 && received_pps < SHORT_SHARE * cap {
            // The path carried `cap` before; now less of it arrives: what is lost is lost whatever the rate.
            *self = Self { lossy_slots: LOSSY_SLOTS, ..Self::default() };
        } else if received_pps >= WHOLE_SHARE * sent_pps {
            let near = cap >= PROBE_NEAR * self.failed_pps && cap <= self.failed_pps * 1.2;
            self.cap_pps = Some(cap * if near { PROBE.1 } else { PROBE.0 });
        } else {
            self.failed_pps = sent_pps;
            self.cap_pps = Some(received_pps);
        }
    }

    /// Drops a cap that no longer binds.
    pub(super) fn release_above(&mut self, target_pps: f64) {
        if self.cap_pps.is_some_and(|cap| cap >= 2.0 * target_pps) {
            *self = Self::default();
        }
    }
}
