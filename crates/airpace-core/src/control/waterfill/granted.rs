//! What a station was granted in the slot that its report is about.

use airpace_units::Time;

/// Mean of the rates that held in the last slot: they change within it as bursts come and go.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Granted {
    /// Rate granted, packets per second.
    pub(super) rate_pps: f64,
    /// Fair rate, before anything was held back, packets per second.
    pub(super) fair_pps: f64,
    /// The slot that runs: when it began, until when it is counted, and packets until then.
    began: Time,
    counted: Time,
    rate_packets: f64,
    fair_packets: f64,
}

impl Granted {
    /// Nothing was granted until `now`.
    pub(super) fn since(now: Time) -> Self {
        Self {
            began: now,
            counted: now,
            ..Self::default()
        }
    }

    /// Counts the time until `now`, in which these rates held.
    pub(super) fn add(&mut self, now: Time, rate_pps: f64, fair_pps: f64) {
        let elapsed_s = now.saturating_since(self.counted).as_secs_f64();
        // Before the first measurement a fair rate may be infinite.
        if rate_pps.is_finite() && fair_pps.is_finite() {
            self.rate_packets += rate_pps * elapsed_s;
            self.fair_packets += fair_pps * elapsed_s;
        }
        self.counted = now;
    }

    /// Takes a pause of `pause_s` seconds off the slot that runs.
    pub(super) fn pause(&mut self, pause_s: f64, rate_pps: f64) {
        if rate_pps.is_finite() {
            self.rate_packets -= rate_pps * pause_s;
        }
    }

    /// Ends a slot.
    pub(super) fn close(&mut self, now: Time, rate_pps: f64, fair_pps: f64) {
        self.add(now, rate_pps, fair_pps);
        let length_s = now.saturating_since(self.began).as_secs_f64();
        (self.rate_pps, self.fair_pps) = if length_s > 0.0 {
            (
                (self.rate_packets / length_s).max(0.0),
                self.fair_packets / length_s,
            )
        } else {
            (rate_pps, fair_pps)
        };
        *self = Self {
            rate_pps: self.rate_pps,
            fair_pps: self.fair_pps,
            ..Self::since(now)
        };
    }
}
