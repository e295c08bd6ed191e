//! Trials: which station's traffic takes the time that claims do not explain?

use super::super::station::StationEstimate;
use super::credit::{Credit, Evidence};

/// Slots in which a suspect is sent little, and those before and after it in which it is not. Levels
/// that are averaged over five slots do not notice it.
const DIP_SLOTS: u8 = 2;
const REST_SLOTS: u8 = 4;
/// Most slots in which a suspect is sent little: a queue at the access point may have to drain.
const DRAIN_SLOTS: u8 = 20;
/// A suspect is paced by this many times its airtime, and by this many once that has had no effect.
const DIP_FACTOR: f64 = 8.0;
const DRAIN_FACTOR: f64 = 2000.0;
/// The access point may be saturated if the overhead exceeds the normal one by this many times that.
const SATURATED: f64 = 0.4;
/// A dip has taken effect once rounds are shorter by this part of what the suspect's claim explains.
const EFFECT: f64 = 0.5;
/// A suspect is found out if this share of the time without payload, or more, is explained without
/// it, ...
const GUILTY_SHARE: f64 = 0.12;
/// ... and its airtime then is this many times the claimed one.
const GUILTY_FACTOR: f64 = 1.08;
/// Above this part of that share a trial is repeated ...
const DOUBTFUL: f64 = 0.5;
/// ... up to so many times.
const TRIALS_MOST: u8 = 4;
/// Trials after which the search ends.
const SEARCH_MOST: u16 = 48;

/// Running mean.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Mean {
    sum: f64,
    n: f64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.n += 1.0;
    }

    fn value(&self) -> f64 {
        self.sum / self.n.max(1.0)
    }
}

/// Slots of one kind.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Phase {
    slots: u8,
    unexplained: Mean,
    last: f64,
    /// Free share of the time, the one that is not payload, and bits per second that the suspect was
    /// sent.
    free: Mean,
    open: Mean,
    suspect_bps: Mean,
}

impl Phase {
    fn add(&mut self, slot: &TrialSlot, suspect_bps: f64) {
        self.slots = self.slots.saturating_add(1);
        self.unexplained.add(slot.unexplained);
        self.last = slot.unexplained;
        self.free.add(slot.free);
        self.open.add(slot.open);
        self.suspect_bps.add(suspect_bps);
    }
}

/// A slot of a search.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct TrialSlot {
    /// Share of the time that neither claims nor the normal overhead explain.
    pub(super) unexplained: f64,
    /// Share of the time that is overhead if that is normal.
    pub(super) free: f64,
    /// Share of the time that is not payload by the claims. Noise is in proportion to it.
    pub(super) open: f64,
}

/// How a search has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    Open,
    /// A station was charged.
    Charged,
    /// Nobody's traffic takes the time: it is the channel's.
    Channel,
}

/// A search among all stations, one after the other: each is sent little for a moment.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Search {
    stage: Stage,
    before: Phase,
    trials: u16,
}

/// What happens to the suspect, which is given by its place among the stations.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Stage {
    Rest,
    Dip {
        suspect: usize,
        /// Bits per second that it was sent before.
        full_bps: f64,
        dip: Phase,
    },
    /// It is paced as it was when the time was not explained.
    Confirm {
        suspect: usize,
        dip: Phase,
        after: Phase,
    },
}

impl Search {
    pub(super) fn begin(stations: &mut [StationEstimate]) -> Self {
        for station in stations {
            station.credit.evidence = Evidence::default();
        }
        Self {
            stage: Stage::Rest,
            before: Phase::default(),
            trials: 0,
        }
    }

    /// Takes a slot.
    pub(super) fn observe(
        &mut self,
        stations: &mut [StationEstimate],
        slot: &TrialSlot,
    ) -> Outcome {
        match self.stage {
            Stage::Rest => {
                self.before.add(slot, 0.0);
                if self.before.slots >= REST_SLOTS {
                    return self.next(stations);
                }
            }
            Stage::Dip {
                suspect,
                full_bps,
                mut dip,
            } => {
                let station = &mut stations[suspect];
                dip.add(slot, station.sent_bps());
                let less_bps = full_bps - station.sent_bps();
                if self.is_over(&dip, station.credit.airtime() * less_bps) {
                    station.credit.try_with(1.0);
                    self.stage = Stage::Confirm {
                        suspect,
                        dip,
                        after: Phase::default(),
                    };
                } else {
                    if dip.slots >= DIP_SLOTS {
                        station.credit.try_with(DRAIN_FACTOR);
                    }
                    self.stage = Stage::Dip {
                        suspect,
                        full_bps,
                        dip,
                    };
                }
            }
            Stage::Confirm {
                suspect,
                dip,
                mut after,
            } => {
                after.add(slot, stations[suspect].sent_bps());
                self.stage = Stage::Confirm {
                    suspect,
                    dip,
                    after,
                };
                if after.slots >= REST_SLOTS {
                    return self.judge(stations, suspect, &dip, &after);
                }
            }
        }
        Outcome::Open
    }

    /// Whether the suspect has been sent little for long enough: rounds are shorter, or its queue at the
    /// access point has had the time to drain. `less` is the share of the time that it claims to have
    /// left.
    fn is_over(&self, dip: &Phase, less: f64) -> bool {
        let open = self.before.open.value().max(1e-3);
        let expected = 1.0 + EFFECT * (less / open).max(0.0);
        let has_effect = dip.free.value() > expected * self.before.free.value();
        let may_drain = self.excess() >= SATURATED && dip.slots < DRAIN_SLOTS;
        dip.slots >= DIP_SLOTS && (has_effect || !may_drain)
    }

    /// Judges by what was explained without the suspect, and not before and after.
    fn judge(
        &mut self,
        stations: &mut [StationEstimate],
        suspect: usize,
        dip: &Phase,
        after: &Phase,
    ) -> Outcome {
        let without = if dip.slots <= DIP_SLOTS {
            dip.unexplained.value()
        } else {
            dip.last
        };
        let with = self
            .before
            .unexplained
            .value()
            .min(after.unexplained.value());
        let open = self.before.open.value().max(dip.open.value());
        let less_bps = (after.suspect_bps.value() - dip.suspect_bps.value()).max(0.0);
        let window = u16::from(self.before.slots + dip.slots + after.slots);
        self.trials += 1;
        // If another station was sent more or less meanwhile, it may be the cause.
        let mover = (0..stations.len()).find(|&idx| {
            let credit = &stations[idx].credit;
            idx != suspect && credit.evidence.trials == 0 && credit.has_moved(window)
        });
        self.before = *after;
        if let Some(mover) = mover {
            stations[suspect].credit.release();
            return self.begin_trial(stations, mover);
        }
        let credit = &mut stations[suspect].credit;
        credit.evidence.add(with - without, less_bps);
        let trials = f64::from(credit.evidence.trials);
        let least = GUILTY_SHARE * open / trials.sqrt();
        let mean = credit.evidence.time / trials;
        if mean >= least && credit.hidden() >= (GUILTY_FACTOR - 1.0) * credit.airtime() {
            credit.charge();
            return Outcome::Charged;
        }
        let is_doubtful = mean >= DOUBTFUL * least && credit.evidence.trials < TRIALS_MOST;
        if is_doubtful {
            return self.begin_trial(stations, suspect);
        }
        credit.release();
        self.next(stations)
    }

    /// Goes on to the next suspect: one that claims more than it did, then the fastest.
    fn next(&mut self, stations: &mut [StationEstimate]) -> Outcome {
        let order = |credit: &Credit| {
            let is_likely = credit.is_suspect() || credit.has_moved(u16::from(2 * REST_SLOTS));
            (!is_likely, credit.airtime())
        };
        let suspect = (0..stations.len())
            .filter(|&idx| {
                let station = &stations[idx];
                station.sent_pps > 0.0 && station.credit.is_untried()
            })
            .min_by(|&a, &b| {
                let (a, b) = (order(&stations[a].credit), order(&stations[b].credit));
                a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
            });
        let Some(suspect) = suspect.filter(|_| self.trials < SEARCH_MOST) else {
            return Outcome::Channel;
        };
        self.begin_trial(stations, suspect)
    }

    fn begin_trial(&mut self, stations: &mut [StationEstimate], suspect: usize) -> Outcome {
        stations[suspect].credit.try_with(DIP_FACTOR);
        self.stage = Stage::Dip {
            suspect,
            full_bps: stations[suspect].sent_bps(),
            dip: Phase::default(),
        };
        Outcome::Open
    }

    /// Time that was not explained before the trial that runs, relative to the free time.
    pub(super) fn excess(&self) -> f64 {
        self.before.unexplained.value() / self.before.free.value().max(1e-9)
    }

    /// Whether the time was explained to within the share `normal` before the trial that runs.
    pub(super) fn is_explained(&self, normal: f64) -> bool {
        self.stage != Stage::Rest && self.excess() < normal
    }
}
