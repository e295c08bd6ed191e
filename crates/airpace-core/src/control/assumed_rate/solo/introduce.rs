//! Introductions: when they begin, and what they tell of the stations' airtimes.

use super::super::dip::least_rate_part;
use super::super::introduction::{self, Introduced, Introduction};
use super::super::round::UnseenPart;
use super::super::slot::Slot;
use super::{ERROR_FIRST, Ended, SOON, SoloDips, WEIGHT_RANGE, positive};
use airpace_units::{StationId, Time};

/// Least error of an airtime after an introduction as a part of it.
const ERROR_INTRODUCED: f64 = 0.2;
/// Introductions that are begun again if slots are missing before the first turn.
const TRIES_MOST: u32 = 4;

impl SoloDips {
    /// Takes a slot of an introduction, which goes on or ends.
    pub(super) fn take_in_introduction(
        &mut self,
        now: Time,
        mut introduction: Introduction,
        slot: Slot,
        packet_s: f64,
    ) -> Ended {
        let mut mean_s = None;
        if !introduction.is_broken_off(now) {
            match introduction.take(now, slot, packet_s) {
                introduction::Taken::Nothing => {
                    self.introduction = Some(introduction);
                    return Ended::Nothing;
                }
                introduction::Taken::Others(others_s) => {
                    self.introduction = Some(introduction);
                    return Ended::Quiet(others_s);
                }
                introduction::Taken::All => {
                    mean_s = Some(self.introduce(now, introduction.introduced(), packet_s));
                    (self.introduced, self.unusual) = (Some(now), Some(now));
                    self.tries = 0;
                }
            }
        }
        // Slots may be missing at the very beginning.
        if mean_s.is_some() || introduction.has_turns() || self.tries >= TRIES_MOST {
            for station in introduction.stations() {
                self.known_mut(now, station);
            }
        }
        self.end(now);
        mean_s.map_or(Ended::Dip, Ended::Introduction)
    }

    /// Begins the introduction of the stations that are unknown.
    pub(super) fn begin_introduction(&mut self, now: Time) {
        let Some(slot) = self.usual.back() else {
            return;
        };
        if let Some(least) = least_rate_part(slot.round_s) {
            let (unknown, sent): (Vec<StationId>, Vec<f64>) = self.unknown(now).unzip();
            // As much as the access point may hold, if it has a usual airtime.
            let held_s = sent.iter().sum::<f64>() * slot.usual_packet_s;
            let quiet_part = introduction::QUIET_PART.max(least);
            self.tries += 1;
            self.introduction = Some(Introduction::new(now, unknown, quiet_part, held_s));
        }
    }

    /// Takes notice of the stations that nobody sees in the slot that ends `now`.
    pub(in super::super) fn notice(&mut self, now: Time, unseen: &[UnseenPart]) {
        self.candidates.notice(now, unseen, |gone| {
            if let Some(introduction) = &mut self.introduction {
                introduction.remove(gone);
            }
        });
    }

    /// Stations of which nothing is known, and packets that they have been sent.
    fn unknown(&self, now: Time) -> impl Iterator<Item = (StationId, f64)> + '_ {
        let is_known = |station| self.known.iter().any(|known| known.0 == station);
        let ripe = self.candidates.ripe(now);
        ripe.filter(move |&(station, _)| !is_known(station))
    }

    /// Whether stations have been introduced.
    pub(in super::super) fn has_introduced(&self) -> bool {
        self.introduced.is_some()
    }

    /// Whether what may begin next is an introduction.
    pub(in super::super) fn will_introduce(&self, now: Time) -> bool {
        (1..=introduction::STATIONS_MOST).contains(&self.unknown(now).count())
    }

    /// Learns the weights after an introduction that ends `now`. Returns what the mean packet takes, seconds;
    /// before it took `packet_s`.
    pub(super) fn introduce(&mut self, now: Time, introduced: &[Introduced], packet_s: f64) -> f64 {
        // An airtime that is negative by more than its error: something else changed meanwhile.
        let is_right = |of: &&Introduced| of.seconds > -of.error_s;
        for of in introduced {
            self.known_mut(now, of.station).next = now + SOON;
        }
        for of in introduced.iter().filter(is_right) {
            let told_s = positive(of.seconds, of.error_s);
            // An estimate that does not exceed its error hardly moves the airtime from the mean of all, however large
            // both are because little was sent.
            let first_s = ERROR_FIRST * packet_s;
            let is_telling = of.seconds > of.error_s;
            let prior_s = if is_telling {
                told_s.max(first_s)
            } else {
                first_s
            };
            let prior = prior_s.powi(2);
            let gain = prior / (prior + of.error_s.powi(2));
            let seconds = packet_s + gain * (told_s - packet_s);
            let error = (of.error_s * gain.sqrt() / seconds).hypot(ERROR_INTRODUCED);
            let known = self.known_mut(now, of.station);
            known.weight = seconds / packet_s;
            known.fallen_weight = known.weight;
            known.variance = error.powi(2);
        }
        let last = self.usual.back().map_or(&[][..], |slot| &slot.sent_pps);
        let packets: f64 = last.iter().map(|sent| sent.1).sum();
        let weighted: f64 = last
            .iter()
            .map(|&(station, pps)| self.weight(station) * pps)
            .sum();
        let mean_weight = weighted / packets;
        if !mean_weight.is_normal() {
            return packet_s;
        }
        for (_, known) in &mut self.known {
            known.weight = (known.weight / mean_weight).clamp(WEIGHT_RANGE.0, WEIGHT_RANGE.1);
            known.fallen_weight /= mean_weight;
        }
        mean_weight * packet_s
    }
}
