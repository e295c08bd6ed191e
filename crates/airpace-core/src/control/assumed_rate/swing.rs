//! Swings of the rates of stations whose answers hide what has arrived.
//!
//! How many frames there is time for tells the airtimes of the stations only as far as what they are sent varies
//! (`budget`), and in a steady cell it does not. So their rates swing by a part of themselves, each station's by a Walsh
//! function of its own. If the airtimes are right already, all together take as much of the air as before.
//!
//! Near a full channel, the queues at the access point change the number of frames by more than the swings do. So while an
//! airtime is hardly known, such as that of a new station, there is a *survey*: for a few seconds, all stations for which
//! packets wait are sent little more than half, and their rates swing by more. Its slots count once the access point's queue
//! has drained.

use super::asked::{Asked, Shown};
use super::budget::TURN_S;
use super::witness::{Parts, Witness};
use airpace_units::Time;
use core::time::Duration;

/// Rates swing by this part of themselves at the most, and by this multiple of the standard deviation of the logarithm of
/// the airtime that is known least: a queue that empties in one half and grows in the other costs goodput. With 0.2 and
/// halves of 200 ms, MCS 4 beside MCS 1 had 0.81 of its share (simulated).
const SWING_MOST: f64 = 0.2;
const SWING_OVER_SPREAD: f64 = 2.0;
/// Time for which a rate swings one way.
const HALF_SWING: Duration = Duration::from_millis(100);
/// Swing in a survey, in which the mean rate is this part of the usual one.
const SURVEY_SWING: f64 = 0.7;
const SURVEY_PART: f64 = 0.55;
/// Standard deviation of the logarithm of an airtime that is worth a survey, and one that ends it.
const SURVEY_SPREADS: (f64, f64) = (0.2, 0.12);
/// Longest survey. One that is guided goes on up to the second time while fewer slots than this have told something.
const SURVEY_MOST: Duration = Duration::from_millis(4_000);
const SURVEY_LONGEST: Duration = Duration::from_millis(8_000);
const SURVEY_SLOTS: u32 = 20;
/// Least and largest time from one survey to the next. It doubles after each that did not tell enough.
const APART: (Duration, Duration) = (Duration::from_secs(4), Duration::from_secs(64));
/// The access point's queue has drained when turns without payload take this part of the time, or after so long.
const DRAINED_SHARE: f64 = 0.35;
const DRAIN_MOST: Duration = Duration::from_millis(2_000);
/// Time after a survey in which queues fill because all rates have risen.
const RECOVERY: Duration = Duration::from_millis(600);
/// Answers that have counted turns within this time do so still.
const COUNTS: Duration = Duration::from_secs(1);

/// Whether rates swing, and how far.
#[derive(Clone, Debug)]
pub(super) struct Swings {
    /// When answers last told the number of turns.
    counted: Option<Time>,
    survey: Option<Survey>,
    /// When the last survey has ended, and the time from it to the next at the least.
    ended: Option<Time>,
    apart: Duration,
    /// How far rates swing without a survey.
    swing: f64,
}

#[derive(Clone, Copy, Debug)]
struct Survey {
    begun: Time,
    has_drained: bool,
    is_guided: bool,
    /// Slots that have told something.
    told: u32,
    /// Parts of the time, if there is a witness.
    parts: Parts,
}

impl Default for Swings {
    fn default() -> Self {
        Self {
            counted: None,
            survey: None,
            ended: None,
            apart: APART.0,
            swing: SWING_MOST,
        }
    }
}

/// A slot of a cell of which rounds do not tell enough.
#[derive(Debug)]
pub(super) struct Guided<'a> {
    pub(super) by: Guide<'a>,
    /// Whether frames may have had no answer of their own, or the channel may have been idle.
    pub(super) is_short: bool,
    /// Packets per turn.
    pub(super) packets: f64,
    /// How long a turn takes without its payload, seconds, and whether other networks take a part of it.
    pub(super) turn_s: f64,
    pub(super) has_others: bool,
}

/// What chooses the rates of its surveys.
#[derive(Debug)]
pub(super) enum Guide<'a> {
    Witness(&'a Witness),
    Asked(&'a mut Asked),
}

impl Guided<'_> {
    /// Changes the rates of a survey after a slot in which turns took `share` of the time. Returns whether the slot tells airtimes.
    fn adapt(&mut self, parts: &mut Parts, share: f64) -> bool {
        match &mut self.by {
            Guide::Witness(by) => by.adapt(parts, share, self.is_short, self.has_others),
            Guide::Asked(by) => by.adapt(Shown {
                share,
                is_short: self.is_short,
                packets: self.packets,
                has_others: self.has_others,
            }),
        }
    }
}

impl Swings {
    /// A slot has ended that had so many `turns`, if answers tell. Returns whether it tells airtimes: not before the first
    /// survey, and not while the access point's queue drains or fills. `guided` is of a cell of which rounds do not tell enough.
    pub(super) fn on_slot(
        &mut self,
        now: Time,
        length: Duration,
        turns: Option<f64>,
        guided: Option<Guided<'_>>,
    ) -> bool {
        let is_stale = |of: &Survey| {
            let longest = if of.is_guided {
                SURVEY_LONGEST
            } else {
                SURVEY_MOST
            };
            now.saturating_since(of.begun) > longest + COUNTS
        };
        if self.survey.as_ref().is_some_and(is_stale) {
            self.break_off(now);
        }
        let Some(turns) = turns else { return false };
        self.counted = Some(now);
        let turn_s = guided.as_ref().map_or(TURN_S, |of| of.turn_s);
        let share = turn_s * turns / length.as_secs_f64();
        let is_short = guided.as_ref().is_some_and(|of| of.is_short);
        let Some(survey) = &mut self.survey else {
            let has_recovered = |at| now.saturating_since(at) > RECOVERY;
            return !is_short && self.ended.is_some_and(has_recovered);
        };
        survey.is_guided = guided.is_some();
        if let Some(mut of) = guided {
            if !of.adapt(&mut survey.parts, share) {
                // Unless frames were short, the access point holds packets again.
                survey.has_drained &= is_short;
                return false;
            }
            // Where clients are asked, waits show a queue.
            survey.has_drained |= matches!(of.by, Guide::Asked(_));
        }
        if !survey.has_drained {
            let lasted = now.saturating_since(survey.begun);
            survey.has_drained = share >= DRAINED_SHARE || lasted >= DRAIN_MOST;
            return false;
        }
        survey.told += 1;
        true
    }

    /// Ends a survey.
    pub(super) fn break_off(&mut self, now: Time) {
        if self.survey.take().is_some() {
            self.ended = Some(now);
        }
    }

    /// Whether answers tell the number of turns, so that swings are of use.
    pub(super) fn are_useful(&self, now: Time) -> bool {
        self.counted
            .is_some_and(|at| now.saturating_since(at) < COUNTS)
    }

    /// Whether a survey has ended since.
    pub(super) fn has_ended_since(&self, time: Time) -> bool {
        self.ended.is_some_and(|at| at > time)
    }

    pub(super) const fn is_survey(&self) -> bool {
        self.survey.is_some()
    }

    /// Begins or ends a survey. `spread` is the standard deviation of the logarithm of the airtime that is known least.
    pub(super) fn decide(&mut self, now: Time, spread: f64) {
        let (begins, ends) = SURVEY_SPREADS;
        self.swing = (SWING_OVER_SPREAD * spread).min(SWING_MOST);
        if let Some(survey) = self.survey {
            let lasted = now.saturating_since(survey.begun);
            let has_told = survey.told >= SURVEY_SLOTS || !survey.is_guided;
            let is_enough = lasted >= SURVEY_MOST && has_told;
            if spread < ends || is_enough || lasted >= SURVEY_LONGEST {
                let doubled = (self.apart * 2).min(APART.1);
                self.apart = if spread < begins { APART.0 } else { doubled };
                (self.survey, self.ended) = (None, Some(now));
            }
        } else if spread > begins
            && self
                .ended
                .is_none_or(|at| now.saturating_since(at) >= self.apart)
        {
            self.survey = Some(Survey {
                begun: now,
                has_drained: false,
                is_guided: false,
                told: 0,
                parts: Parts::default(),
            });
        }
    }

    /// The direction in which the rate of the station with this number swings, 1 or -1.
    pub(super) fn sign(now: Time, number: usize) -> f64 {
        // There are fewer than 2^64 stations and half swings.
        walsh(number as u64, now.as_nanos() / HALF_SWING.as_nanos() as u64)
    }

    /// The parts of the time that packets are to take in a survey with a witness.
    pub(super) fn survey_parts(&self) -> Option<Parts> {
        self.survey.as_ref().map(|survey| survey.parts)
    }

    /// The factor on a rate that swings towards `sign`, where the mean sign of all, weighted by airtime, is `mean`.
    pub(super) fn factor(&self, sign: f64, mean: f64) -> f64 {
        if self.survey.is_some() {
            SURVEY_PART * (1.0 + SURVEY_SWING * sign)
        } else {
            1.0 + self.swing * (sign - mean)
        }
    }
}

/// The sign at the step `at` of a Walsh function of sixteen steps, no two of which are correlated. Packets arrive a little
/// later than they are sent, so that a function that alternates fast seems to swing by less than it does. To share that
/// error, each station takes the next function after sixteen steps.
fn walsh(number: u64, at: u64) -> f64 {
    let order = 1 + (number + at / 16) % 15;
    if (order & at & 15).count_ones().is_multiple_of(2) {
        1.0
    } else {
        -1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOT: Duration = Duration::from_millis(100);

    fn at(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    #[test]
    fn walsh_functions_are_not_correlated_and_have_no_mean() {
        for begin in [0, 16, 160] {
            for one in 0..15 {
                let mean: f64 = (begin..begin + 16).map(|at| walsh(one, at)).sum();
                assert_eq!(mean, 0.0);
                for other in 0..one {
                    let product = |at| walsh(one, at) * walsh(other, at);
                    assert_eq!((begin..begin + 16).map(product).sum::<f64>(), 0.0);
                }
            }
        }
    }

    #[test]
    fn a_survey_counts_from_when_the_queue_has_drained() {
        let mut swings = Swings::default();
        assert!(!swings.on_slot(at(0), SLOT, Some(30.0), None) && swings.are_useful(at(900)));
        swings.decide(at(0), 1.0);
        assert!((swings.factor(1.0, 0.0) - 0.55 * 1.7).abs() < 1e-9);
        assert!(!swings.on_slot(at(100), SLOT, Some(30.0), None));
        assert!(!swings.on_slot(at(200), SLOT, Some(90.0), None));
        assert!(swings.on_slot(at(300), SLOT, Some(30.0), None));
        assert!(!swings.on_slot(at(400), SLOT, None, None));
        // Enough is known: the rates swing by little, and slots still tell.
        swings.decide(at(500), 0.1);
        assert!((swings.factor(1.0, 0.0) - 1.2).abs() < 1e-9);
        assert!(!swings.on_slot(at(600), SLOT, Some(30.0), None));
        assert!(swings.on_slot(at(1_200), SLOT, Some(30.0), None));
        assert!(!swings.are_useful(at(2_300)));
    }

    #[test]
    fn surveys_that_do_not_tell_enough_become_rare() {
        let mut swings = Swings::default();
        let mut begun = Vec::new();
        for ms in (0..60_000).step_by(100) {
            let before = swings.survey.is_some();
            swings.decide(at(ms), 0.5);
            if !before && swings.survey.is_some() {
                begun.push(ms / 1000);
            }
        }
        assert_eq!(begun, [0, 12, 32]);
    }

    #[test]
    fn swings_take_as_much_air_as_before() {
        let swings = Swings::default();
        let loads = [0.3, 0.1, 0.25];
        let signs = [1.0, -1.0, 1.0];
        let all: f64 = loads.iter().sum();
        let mean = loads
            .iter()
            .zip(signs)
            .map(|(load, sign)| load * sign)
            .sum::<f64>()
            / all;
        let swung = loads
            .iter()
            .zip(signs)
            .map(|(load, sign)| load * swings.factor(sign, mean));
        assert!((swung.sum::<f64>() - all).abs() < 1e-9);
    }

    #[test]
    fn a_survey_with_a_witness_lasts_until_slots_have_told() {
        let witness = Witness::default();
        let witnessed = |is_short| {
            Some(Guided {
                by: Guide::Witness(&witness),
                is_short,
                packets: 20.0,
                turn_s: TURN_S,
                has_others: false,
            })
        };
        let end = |turns, is_short| {
            let mut swings = Swings::default();
            swings.decide(at(0), 1.0);
            (1..).find(|slot| {
                swings.on_slot(at(100 * slot), SLOT, Some(turns), witnessed(is_short));
                swings.decide(at(100 * slot), 1.0);
                !swings.is_survey()
            })
        };
        assert_eq!(end(90.0, false), Some(40));
        assert_eq!(end(90.0, true), Some(80));
        let mut swings = Swings::default();
        assert!(swings.survey_parts().is_none());
        swings.decide(at(0), 1.0);
        assert!(swings.survey_parts().is_some());
        // What the access point holds drains, and then there are turns enough.
        assert!(!swings.on_slot(at(100), SLOT, Some(20.0), witnessed(false)));
        assert!(!swings.on_slot(at(200), SLOT, Some(90.0), witnessed(false)));
        assert!(swings.on_slot(at(300), SLOT, Some(90.0), witnessed(false)));
        assert!(!swings.on_slot(at(400), SLOT, Some(90.0), witnessed(true)));
        assert!(!swings.on_slot(at(500), SLOT, Some(20.0), witnessed(false)));
        assert!(!swings.on_slot(at(600), SLOT, Some(90.0), witnessed(false)));
    }
}
