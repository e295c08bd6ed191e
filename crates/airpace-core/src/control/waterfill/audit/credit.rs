//! What is believed of the airtime that a station claims.

/// A station that claims less than this share of the airtime believed so far is a suspect.
const SUSPECT_SHARE: f64 = 0.9;
/// Factor per report by which the least airtime claimed is forgotten: a lie may be told in every other
/// slot only.
const CLAIM_FORGOTTEN: f64 = 1.1;
/// A claim moves by more than this factor, or else it is noise.
const MOVED: f64 = 1.3;
/// Longest airtime of a bit, seconds: the lowest PHY rate of the standard, each packet sent four times.
const AIRTIME_MOST: f64 = 4e-6;
/// Largest factor by which a station is paced beyond its claim.
const FACTOR_MOST: f64 = 1e4;

/// What is believed of a station's airtime. All airtimes are in seconds per bit.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::control::waterfill) struct Credit {
    /// Airtime that rounds have borne out.
    believed: f64,
    /// Airtime by its last report, and the least by the last dozen.
    pub(super) claimed: f64,
    /// That by the report before, by which the packets of the last one were paced.
    claimed_before: f64,
    least_claimed: f64,
    pub(super) standing: Standing,
    /// Claim that has not changed by much since so many reports.
    steady: f64,
    steady_reports: u16,
    /// What trials have shown since the overhead rose.
    pub(super) evidence: Evidence,
    /// Whether the box itself has observed or assumed the airtime: nobody claims it.
    is_observed: bool,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Standing {
    /// The claim holds.
    Trusted,
    /// The station is paced by `airtime` times `factor` whatever it claims, as a trial.
    Tried { airtime: f64, factor: f64 },
    /// The station pays for more airtime than it claims.
    Charged(Charge),
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Charge {
    pub(super) airtime: f64,
    /// Consecutive slots in which the charge did not help, and in which it did not bind.
    pub(super) vain_slots: u16,
    pub(super) loose_slots: u16,
}

/// Outcomes of a station's trials.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Evidence {
    pub(super) trials: u8,
    /// Sum over the trials of the time that was explained without the station, and of the bits per
    /// second that it was sent less.
    pub(super) time: f64,
    pub(super) bits_per_s: f64,
}

impl Evidence {
    pub(super) fn add(&mut self, time: f64, bits_per_s: f64) {
        self.trials = self.trials.saturating_add(1);
        self.time += time;
        self.bits_per_s += bits_per_s;
    }
}

impl Credit {
    pub(in crate::control::waterfill) const fn new(airtime: f64) -> Self {
        Self {
            believed: airtime,
            claimed: airtime,
            claimed_before: airtime,
            least_claimed: airtime,
            standing: Standing::Trusted,
            steady: airtime,
            steady_reports: 0,
            evidence: Evidence {
                trials: 0,
                time: 0.0,
                bits_per_s: 0.0,
            },
            is_observed: false,
        }
    }

    /// Takes an airtime that the box itself has observed or assumed: nobody claims it. Such airtimes
    /// vary by more than [`SUSPECT_SHARE`] leaves, and a trial would punish the station for that.
    pub(in crate::control::waterfill) fn observe(&mut self, airtime: f64) {
        *self = Self {
            is_observed: true,
            ..Self::new(airtime)
        };
    }

    /// Takes what a report claims.
    pub(in crate::control::waterfill) fn claim(&mut self, airtime: f64) {
        self.is_observed = false;
        self.claimed_before = self.claimed;
        self.claimed = airtime;
        self.least_claimed = airtime.min(CLAIM_FORGOTTEN * self.least_claimed);
        let has_moved = airtime > MOVED * self.steady || MOVED * airtime < self.steady;
        if has_moved {
            self.steady = airtime;
        }
        self.steady_reports = if has_moved {
            0
        } else {
            self.steady_reports.saturating_add(1)
        };
        // Nobody gains by a slow rate.
        self.believed = self.believed.max(airtime);
    }

    /// Factor from the claimed airtime to the known one.
    pub(in crate::control::waterfill) fn known_factor(&self) -> f64 {
        match self.standing {
            Standing::Charged(charge) => (charge.airtime / self.claimed).clamp(1.0, FACTOR_MOST),
            Standing::Tried { airtime, .. } => airtime / self.claimed,
            Standing::Trusted => 1.0,
        }
    }

    /// Factor from the known airtime to that which explains time: a claim of less by which packets were
    /// paced must not be followed by one of more once they are on the air.
    pub(super) fn explaining_factor(&self) -> f64 {
        match self.standing {
            Standing::Trusted => (self.claimed_before / self.claimed).min(1.0),
            Standing::Tried { .. } | Standing::Charged(_) => 1.0,
        }
    }

    /// Factor from the claimed airtime to that by which the station is paced.
    pub(in crate::control::waterfill) fn paced_factor(&self) -> f64 {
        match self.standing {
            Standing::Tried { airtime, factor } => {
                (factor * airtime / self.claimed).clamp(1.0 / FACTOR_MOST, FACTOR_MOST)
            }
            Standing::Trusted | Standing::Charged(_) => self.known_factor(),
        }
    }

    /// Rounds have borne out what the station claims.
    pub(super) fn believe(&mut self) {
        self.believed = self.claimed;
    }

    /// Whether the claim has changed in the last `reports` reports: what the station was sent has
    /// changed with it.
    pub(super) fn has_moved(&self, reports: u16) -> bool {
        self.steady_reports < reports && !self.is_observed
    }

    /// Whether the station may be put to a trial that it has not had in this search.
    pub(super) fn is_untried(&self) -> bool {
        self.standing == Standing::Trusted && self.evidence.trials == 0 && !self.is_observed
    }

    pub(super) fn is_suspect(&self) -> bool {
        self.standing == Standing::Trusted && self.least_claimed < SUSPECT_SHARE * self.believed
    }

    /// Paces the station by `factor` times the least airtime that it has claimed.
    pub(super) fn try_with(&mut self, factor: f64) {
        let airtime = self.airtime();
        self.standing = Standing::Tried { airtime, factor };
    }

    /// Airtime by which the station is tried, or that it claims.
    pub(super) fn airtime(&self) -> f64 {
        match self.standing {
            Standing::Tried { airtime, .. } => airtime,
            Standing::Trusted | Standing::Charged(_) => self.least_claimed,
        }
    }

    /// Airtime beyond that which trials have shown.
    pub(super) fn hidden(&self) -> f64 {
        self.evidence.time / self.evidence.bits_per_s.max(1.0)
    }

    /// Ends a trial that has shown nothing.
    pub(super) fn release(&mut self) {
        if matches!(self.standing, Standing::Tried { .. }) {
            self.standing = Standing::Trusted;
        }
    }

    /// Charges what the trials have shown.
    pub(super) fn charge(&mut self) {
        let Standing::Tried { airtime, .. } = self.standing else {
            return;
        };
        let airtime = (airtime + self.hidden()).min(AIRTIME_MOST).max(airtime);
        self.standing = Standing::Charged(Charge {
            airtime,
            vain_slots: 0,
            loose_slots: 0,
        });
    }
}

impl Charge {
    /// Moves the airtime to `airtime`, by the factor `step` at most and never below what is `claimed`.
    pub(super) fn move_to(&mut self, airtime: f64, claimed: f64, step: f64) {
        self.airtime = airtime
            .clamp(self.airtime / step, self.airtime * step)
            .min(AIRTIME_MOST)
            .max(claimed);
    }
}
