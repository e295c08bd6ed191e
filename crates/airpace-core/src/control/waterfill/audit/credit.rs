//! What is believed of the PHY rate that one station tells.

/// Largest factor per report by which a rate that nothing has borne out yet rises: a false one takes
/// no more than this before it shows.
const GROWTH: f64 = 1.5;
/// A station that is believed to be faster than rounds have borne out by this factor is a suspect.
const SUSPECT_FACTOR: f64 = 1.0 / 0.9;
/// Reports in a row that must have told a rate before it is borne out: the first slots show what was
/// sent by an older one.
const BORNE_OUT_REPORTS: usize = 4;
/// What is kept per slot of the evidence about a claim.
const EVIDENCE_KEPT: f64 = 0.9;
/// Evidence that is enough: a share of the normal overhead, summed over slots ...
const ENOUGH: f64 = 0.3;
/// ... and as a multiple of the overhead's usual deviation.
const ENOUGH_DEVIATIONS: f64 = 5.0;
/// Most that one slot counts as evidence: overloaded rounds do not grow with the load ...
const SLOT_MOST: f64 = 2.0;
/// ... and most that it counts towards enough of it: just after a rate has risen, rounds show neither the
/// older nor the new one.
const WEIGHT_MOST: f64 = 0.5;
/// A rate that differs by more than this factor from that of the last report has changed.
const CHANGED_FACTOR: f64 = 1.2;
/// The claim is false if at least this share of what it would explain has shown, and borne out if at
/// most that share has.
const FALSE_SHARE: f64 = 0.5;
const TRUE_SHARE: f64 = 0.35;
/// Evidence from which on a claim does not rise while it may be false.
const DOUBTFUL: f64 = 0.1;
/// What is kept per slot of the rise that a claim would explain: packets wait at the access point.
const EXPLAINED_KEPT: f64 = 0.7;
/// Factor per report by which a rate that a station no longer tells is forgotten, while it is the
/// faster one: who has moved away may have to bear it out anew.
const PROVEN_FORGOTTEN: f64 = 1.005;
/// A claim that explains less than this share of the overhead does not hold up what is normal.
const OPEN_LEAST: f64 = 0.05;
/// Reports for which a claim is not believed after it was refuted: the first time, and at most.
const REFUSED_REPORTS: (u16, u16) = (20, 640);
/// Reports for which no claim is believed after one was withdrawn before it was borne out: about as long as it
/// takes to judge one.
const WITHDRAWN_REPORTS: u16 = 10;

/// What is believed of a station's PHY rate. All rates are in bit/s.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::control::waterfill) struct Credit {
    /// The fastest rate that rounds have borne out.
    proven_bps: f64,
    /// Rates believed by the last reports; the last one is that by which the station is paced.
    believed_bps: [f64; BORNE_OUT_REPORTS],
    /// Rate that the last report told, and whether it had just risen.
    told_bps: f64,
    is_mixed: bool,
    has_fallen: bool,
    /// Whether anybody can say that a claim is false.
    is_judged: bool,
    evidence: Evidence,
    /// Whether the next report may be believed to be faster than the last one.
    may_rise: bool,
    /// Reports for which no claim is believed, and for how many after the next time.
    refused_reports: u16,
    next_refused_reports: u16,
}

/// What speaks for and against a claim: shares of the normal overhead per frame.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Evidence {
    /// By how much the claim lets the overhead rise if it is false, in the last slots.
    explained: f64,
    /// The sum of that, and of what has shown of it.
    expected: f64,
    shown: f64,
    /// The sum of what the claim explains, where no slot counts much: how sure the others are.
    weight: f64,
}

impl Credit {
    /// The first rate that a station tells is believed.
    pub(in crate::control::waterfill) const fn new(bps: f64) -> Self {
        Self {
            proven_bps: bps,
            believed_bps: [bps; BORNE_OUT_REPORTS],
            told_bps: bps,
            is_mixed: false,
            has_fallen: false,
            is_judged: true,
            evidence: Evidence {
                explained: 0.0,
                expected: 0.0,
                shown: 0.0,
                weight: 0.0,
            },
            may_rise: true,
            refused_reports: 0,
            next_refused_reports: REFUSED_REPORTS.0,
        }
    }

    /// Takes the rate that a report tells, and returns the one that is believed. `is_used` says whether
    /// the station used what it was granted: only then would a false claim have shown.
    pub(in crate::control::waterfill) fn claim(&mut self, told_bps: f64, is_used: bool) -> f64 {
        if !self.is_judged {
            *self = Self::new(told_bps);
            return told_bps;
        }
        let before_bps = self.believed_bps();
        // The slot in which a rate rises shows the older one too. A rate that rises in every slot is judged
        // in every other one.
        self.is_mixed = told_bps > CHANGED_FACTOR * self.told_bps && !self.is_mixed;
        self.told_bps = told_bps;
        let honest_bps = SUSPECT_FACTOR * self.proven_bps;
        if before_bps > honest_bps && told_bps <= honest_bps {
            // A claim that comes and goes is never judged.
            self.refused_reports = self.refused_reports.max(WITHDRAWN_REPORTS);
        }
        let most_bps = if self.refused_reports > 0 {
            self.refused_reports -= 1;
            self.proven_bps
        } else if self.may_rise && is_used {
            self.proven_bps.max(GROWTH * before_bps)
        } else {
            self.proven_bps.max(before_bps)
        };
        let believed_bps = told_bps.min(most_bps);
        self.believed_bps.rotate_left(1);
        self.believed_bps[BORNE_OUT_REPORTS - 1] = believed_bps;
        self.has_fallen = CHANGED_FACTOR * believed_bps < before_bps;
        let forgotten_bps = self.proven_bps / PROVEN_FORGOTTEN;
        self.proven_bps = forgotten_bps.max(believed_bps.min(self.proven_bps));
        believed_bps
    }

    /// The rate by which the station is paced.
    pub(in crate::control::waterfill) const fn believed_bps(&self) -> f64 {
        self.believed_bps[BORNE_OUT_REPORTS - 1]
    }

    /// Whether the last report told a much lower rate than the one before.
    pub(super) const fn has_fallen(&self) -> bool {
        self.has_fallen
    }

    /// Believes what the next report tells, and what the last ones did: nobody could say otherwise.
    pub(super) const fn trust(&mut self) {
        *self = Self {
            is_judged: false,
            ..Self::new(self.believed_bps())
        };
    }

    /// Believes nothing that is not borne out until the next report.
    pub(super) fn hold(&mut self) {
        self.refused_reports = self.refused_reports.max(1);
    }

    /// Lets the rate rise although no round tells whether it is true.
    pub(super) const fn allow(&mut self) {
        self.may_rise = true;
    }

    /// Airtime per bit that the station takes beyond what is believed if its claim is false, seconds.
    pub(super) fn doubtful_s(&self) -> f64 {
        1.0 / self.proven_bps - 1.0 / self.believed_bps().max(self.proven_bps)
    }

    /// Whether the claim may have a part in what the overhead is now.
    pub(super) fn is_open(&self) -> bool {
        self.evidence.explained > OPEN_LEAST
    }

    /// Takes a slot in which the overhead was above the normal one by the share `risen`, of which the
    /// claim explains `explained` if it is false; `deviation` is usual. Returns whether the claim is
    /// refuted.
    pub(super) fn weigh(&mut self, risen: f64, explained: f64, deviation: f64) -> bool {
        let is_suspect = self.believed_bps() > SUSPECT_FACTOR * self.proven_bps;
        let evidence = &mut self.evidence;
        let lasting = EXPLAINED_KEPT * evidence.explained;
        evidence.explained = explained.min(SLOT_MOST).max(lasting);
        if self.is_mixed {
            return false;
        }
        let shown = risen.clamp(-evidence.explained, evidence.explained);
        // A claim that was taken back shows in the queue that it has left, but nothing speaks for it.
        let (expected, shown) = if is_suspect {
            (evidence.explained, shown)
        } else {
            (shown.max(0.0), shown.max(0.0))
        };
        evidence.expected = EVIDENCE_KEPT * evidence.expected + expected;
        evidence.shown = EVIDENCE_KEPT * evidence.shown + shown;
        evidence.weight = EVIDENCE_KEPT * evidence.weight + expected.min(WEIGHT_MOST);
        let seems_true = evidence.shown < TRUE_SHARE * evidence.expected;
        self.may_rise = seems_true || evidence.expected < DOUBTFUL;
        if evidence.weight < ENOUGH.max(ENOUGH_DEVIATIONS * deviation) {
            return false;
        }
        let is_refuted = evidence.shown > FALSE_SHARE * evidence.expected;
        if seems_true && is_suspect {
            self.bear_out();
        }
        is_refuted
    }

    /// Takes a slot whose overhead something else has raised too: it can only speak for the claim.
    pub(super) fn weigh_blindly(&mut self, risen: f64, explained: f64, deviation: f64) {
        if explained > ENOUGH && risen < TRUE_SHARE * explained {
            self.weigh(risen, explained, deviation);
        }
        self.may_rise = true;
    }

    /// Takes the slowest of the last rates for borne out.
    fn bear_out(&mut self) {
        let slowest_bps = self.believed_bps.into_iter().fold(f64::INFINITY, f64::min);
        if slowest_bps > self.proven_bps {
            self.proven_bps = slowest_bps;
            self.next_refused_reports = REFUSED_REPORTS.0;
            self.evidence = Evidence {
                explained: self.evidence.explained,
                ..Evidence::default()
            };
        }
    }

    /// Believes only what was borne out for a while, `turn` times as long as usual, and twice as long the
    /// next time.
    pub(in crate::control::waterfill) fn refuse(&mut self, turn: u16) {
        self.refused_reports = self.next_refused_reports.saturating_mul(turn);
        self.next_refused_reports = (2 * self.next_refused_reports).min(REFUSED_REPORTS.1);
        self.evidence = Evidence::default();
        self.believed_bps[BORNE_OUT_REPORTS - 1] = self.believed_bps().min(self.proven_bps);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW_BPS: f64 = 50e6;
    const FAST_BPS: f64 = 400e6;
    /// What a station of [`SLOW_BPS`] adds to the overhead, as a share, at the airtime that is believed of
    /// it: two thirds of the rate that it is believed beyond its own.
    const LOAD: f64 = 2.0 / 3.0;

    /// A station that tells `told` in turn, and whether it lies. Returns what was believed in each slot.
    fn believed(told: impl Fn(usize) -> f64, is_false: bool, slots: usize) -> (Credit, Vec<f64>) {
        let mut credit = Credit::new(SLOW_BPS);
        let believed = (0..slots)
            .map(|slot| {
                let believed_bps = credit.claim(told(slot), true);
                let explained = LOAD * (believed_bps / SLOW_BPS - 1.0);
                let risen = if is_false { explained } else { 0.0 };
                // The law knows of no slower rate than the one borne out.
                let explained = LOAD * credit.doubtful_s() * believed_bps;
                if credit.weigh(risen, explained, 0.02) {
                    credit.refuse(1);
                }
                believed_bps
            })
            .collect();
        (credit, believed)
    }

    #[test]
    fn a_true_rate_is_approached_within_six_reports_and_borne_out() {
        let (credit, believed) = believed(|_| FAST_BPS, false, 12);
        assert!(believed.windows(2).all(|pair| pair[1] <= 1.5 * pair[0]));
        assert_eq!(believed[5], FAST_BPS);
        assert!(credit.proven_bps > FAST_BPS / SUSPECT_FACTOR, "{credit:?}");
    }

    #[test]
    fn a_false_rate_is_refused_before_it_is_reached_and_longer_each_time() {
        let (_, believed) = believed(|_| FAST_BPS, true, 400);
        assert!(believed.iter().all(|&bps| bps <= 2.3 * SLOW_BPS));
        let doubted = |from: usize, to: usize| {
            let slots = &believed[from..to];
            slots.iter().filter(|&&bps| bps > SLOW_BPS).count()
        };
        assert!(doubted(0, 100) <= 10, "{}", doubted(0, 100));
        assert!(doubted(200, 400) <= 4, "{}", doubted(200, 400));
    }

    #[test]
    fn a_rate_that_is_false_in_every_other_slot_only_is_refused_too() {
        let told = |slot: usize| [FAST_BPS, SLOW_BPS][slot % 2];
        let (_, believed) = believed(told, true, 200);
        assert!(believed.iter().all(|&bps| bps <= GROWTH * SLOW_BPS));
    }

    #[test]
    fn a_station_that_does_not_use_what_it_is_granted_is_believed_no_more_than_before() {
        let mut credit = Credit::new(SLOW_BPS);
        for _ in 0..50 {
            assert_eq!(credit.claim(FAST_BPS, false), SLOW_BPS);
            assert!(!credit.weigh(0.0, 0.0, 0.02));
        }
    }

    #[test]
    fn a_slot_that_something_else_has_raised_bears_a_claim_out_but_does_not_refute_it() {
        let mut raised = Credit::new(SLOW_BPS);
        let mut usual = Credit::new(SLOW_BPS);
        for _ in 0..12 {
            for (credit, risen) in [(&mut raised, 1.0), (&mut usual, 0.1)] {
                let believed_bps = credit.claim(FAST_BPS, true);
                let explained = LOAD * credit.doubtful_s() * believed_bps;
                credit.weigh_blindly(risen, explained, 0.02);
            }
        }
        assert!(raised.proven_bps <= SLOW_BPS, "{raised:?}");
        assert_eq!(raised.believed_bps(), FAST_BPS);
        assert!(usual.proven_bps > FAST_BPS / SUSPECT_FACTOR, "{usual:?}");
    }

    #[test]
    fn one_slot_does_not_refute_a_claim_where_the_overhead_varies() {
        let mut credit = Credit::new(SLOW_BPS);
        // The slot in which the rate rises does not count.
        credit.claim(FAST_BPS, true);
        credit.claim(FAST_BPS, true);
        assert!(!credit.weigh(0.8, 1.4, 0.13));
        assert!(credit.weigh(0.8, 1.4, 0.13));
    }

    #[test]
    fn a_rate_that_nobody_can_judge_is_believed_at_once() {
        let mut credit = Credit::new(SLOW_BPS);
        credit.trust();
        assert_eq!(credit.claim(FAST_BPS, false), FAST_BPS);
        assert_eq!(credit.claim(2.0 * FAST_BPS, true), GROWTH * FAST_BPS);
    }

    #[test]
    fn a_slower_rate_is_believed_at_once_and_the_one_borne_out_before_again() {
        let mut credit = Credit::new(FAST_BPS);
        assert_eq!(credit.claim(SLOW_BPS, true), SLOW_BPS);
        assert!(credit.has_fallen());
        assert!(credit.claim(FAST_BPS, true) > 0.98 * FAST_BPS);
        for _ in 0..1000 {
            credit.claim(SLOW_BPS, true);
        }
        assert_eq!(credit.claim(FAST_BPS, true), GROWTH * SLOW_BPS);
    }

    #[test]
    fn a_claim_that_was_withdrawn_before_it_was_borne_out_is_not_believed_for_a_second() {
        let mut credit = Credit::new(SLOW_BPS);
        assert_eq!(credit.claim(FAST_BPS, true), GROWTH * SLOW_BPS);
        credit.claim(SLOW_BPS, true);
        for _ in 1..WITHDRAWN_REPORTS {
            assert!(credit.claim(FAST_BPS, true) <= SLOW_BPS);
        }
        assert!(credit.claim(FAST_BPS, true) > 1.4 * SLOW_BPS);
    }

    #[test]
    fn a_claim_that_does_not_show_is_neither_borne_out_nor_refused() {
        let mut credit = Credit::new(SLOW_BPS);
        for _ in 0..50 {
            credit.claim(FAST_BPS, true);
            assert!(!credit.weigh(0.0, 0.01, 0.02));
        }
        assert!(credit.proven_bps <= SLOW_BPS);
        assert!(!credit.is_open());
    }
}
