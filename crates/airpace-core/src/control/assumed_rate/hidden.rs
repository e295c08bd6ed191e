//! Stations whose answers hide what has arrived, such as QUIC clients that answer seldom: what their transits tell of the
//! airtime of a bit is a guess, which the number of frames that there is time for corrects. The same number tells of stations that
//! answer nothing (`witness`), and whether other networks send (`asked`).

use super::super::sample::Sample;
use super::alike::{drawn_together, width_of};
use super::asked::Asked;
use super::budget::{BitAirtime, Sent, TURN_S, TimeBudget};
use super::clients::Clients;
use super::foreign;
use super::load::Grant;
use super::recent::Recent;
use super::sent::UNSEEN_SPREAD;
use super::swing::{Guide, Guided, Swings};
use super::witness::{Role, USUAL_BPS, Witness, cautious};
use super::{AssumeRates, RANGE_BPS, UPLOAD_BYTES_PER_S};
use crate::report::{Answers, OtherNetworks, SlotReport};
use crate::sensor::ack_burst::transit_of;
use airpace_units::{StationId, Time};
use core::time::Duration;

/// Airtimes with a larger spread are not used where transits tell none.
const USED_SPREAD: f64 = 0.3;
/// Answers that were seldom within this time are so still. Where frames hold two or three packets, they seem to be for
/// every second.
const REMEMBERED: Duration = Duration::from_secs(10);
/// After other networks have gone, the turns of a single station are told for so long, until the sensor sees frames again.
const LEFT_WITHIN: Duration = Duration::from_secs(3);
/// How long after an upload nothing is asked.
const UPLOADED_WITHIN: Duration = Duration::from_secs(1);
/// Fewest stations whose answers are seldom for which airtimes are corrected: of one, waits tell what it may be sent, or the
/// rounds of the others.
const FEWEST: usize = 2;
/// Slots in a row with as little as can be to mute stations from which on turns tell how long other networks send.
const LEAST_SLOTS: u32 = 5;
/// Standard deviation of the logarithms of airtimes while turns seem to take an unusual time, so that a survey begins.
const DOUBTED_SPREAD: f64 = 0.5;

/// What is known of such stations.
#[derive(Clone, Debug, Default)]
pub(super) struct Hidden {
    pub(super) budget: TimeBudget,
    swings: Swings,
    /// When each station's answers were last seldom.
    seldom: Recent,
    /// Whose answers count turns.
    pub(super) clients: Clients,
    /// Who counts the turns of mute stations.
    witness: Witness,
    /// Whether clients are asked if other networks send.
    asked: Asked,
    /// What the transits of the last slot show of other networks.
    pub(super) others: OtherNetworks,
    /// When stations last uploaded.
    uploaded: Option<Time>,
    /// What the stations with a role may be sent.
    pub(super) grants: Vec<Grant>,
    /// Share of the time in which other networks send.
    foreign_share: f64,
    /// Since when they do not send any more.
    left: Option<Time>,
    /// Slots in a row in which mute stations were sent so little that the access point holds nothing to them.
    least: u32,
}

impl Hidden {
    pub(super) fn remove(&mut self, station: StationId) {
        self.seldom.remove(station);
        self.clients.remove(station);
        self.witness.remove(station);
        self.asked.remove(station);
        self.grants.retain(|grant| grant.station != station);
        self.budget.remove(station);
    }

    /// Whether stations are sent less than they could be, so that the channel is idle at times.
    pub(super) const fn is_surveyed(&self) -> bool {
        self.swings.is_survey()
    }

    /// Notes whose answers are seldom, and forgets those whose answers have not been for long.
    fn note(&mut self, now: Time, reports: &[SlotReport]) {
        self.seldom.forget(now, REMEMBERED);
        for report in reports {
            let is_seldom = matches!(report.answers, Answers::Seldom | Answers::AtOnce);
            // An agent or a radio tells frames apart, and so do TCP's answers.
            let is_seen = report.answers == Answers::Tell && report.frames > 0;
            if is_seldom {
                self.seldom.note(now, report.station);
            } else if is_seen {
                self.seldom.remove(report.station);
            }
        }
    }

    /// Whether the station's answers hide how long its frames take.
    pub(super) fn hides(&self, station: StationId) -> bool {
        self.seldom.has(station) || self.role(station).is_some()
    }

    /// Whether clients are asked if other networks send.
    fn is_asked(&self) -> bool {
        let can_tell = !self.witness.has_mute() && self.uploaded.is_none();
        can_tell && self.asked.since().is_some() && self.clients.counting().next().is_some()
    }

    /// What the station is, if rounds do not tell enough.
    pub(super) fn role(&self, station: StationId) -> Option<Role> {
        let asked = || self.clients.all().any(|client| client == station);
        let asked = (self.is_asked() && asked()).then_some(Role::Asked);
        asked.or_else(|| self.witness.role(station))
    }

    /// Whether the turns of the cell tell airtimes.
    fn is_on(&self) -> bool {
        let has_several = self.seldom.len() >= FEWEST;
        self.witness.station().is_some() || self.is_asked() || has_several
    }

    /// Whether what is known may be of use again in a moment.
    fn is_interrupted(&self) -> bool {
        let is_needed = self.witness.has_mute() || self.asked.since().is_some();
        is_needed && self.clients.remembered().next().is_some()
    }

    /// The rate to assume of a station for which `assumed_bps` was assumed before. `None` if its rounds tell enough, and if nothing
    /// is known outside a survey.
    fn budgeted_bps(&self, station: StationId, assumed_bps: f64) -> Option<f64> {
        let role = self.role(station)?;
        let has_others = self.budget.has_others();
        if role == Role::Asked && !has_others {
            // Its rounds tell.
            return None;
        }
        let known = self.budget.airtime(station);
        let known = known.filter(|known| known.spread < used_spread(role) || has_others);
        let bps = match (known, role) {
            (Some(known), Role::Witness) if !has_others => 1.0 / known.seconds,
            (Some(known), _) => 1.0 / cautious(known.seconds, known.spread),
            (None, _) if self.is_surveyed() => assumed_bps.min(USUAL_BPS),
            (None, _) => return None,
        };
        Some(bps.clamp(RANGE_BPS.0, RANGE_BPS.1))
    }

    /// Learns from a slot of so many `turns`, if they are known, in which packets waited for so long, seconds.
    fn take(
        &mut self,
        now: Time,
        length: Duration,
        turns: Option<f64>,
        sent: &[Sent],
        wait_s: f64,
    ) {
        let is_asked = self.is_asked();
        let mut is_queued = false;
        if let Some(turns) = turns.filter(|_| is_asked) {
            let clients = sent.iter().filter(|of| of.is_client()).count();
            let round_s = clients as f64 * length.as_secs_f64() / turns;
            is_queued = self.asked.note_wait(wait_s, round_s);
            let turns_show = Asked::is_alone(TURN_S * turns / length.as_secs_f64());
            if turns_show || self.others == OtherNetworks::Silent {
                self.settle(now, true);
                return;
            }
            if self.asked.has_queue() {
                self.budget.forget_slots();
                self.settle(now, false);
                return;
            }
        }
        let tells = self.guide(now, length, turns, sent);
        if let Some(turns) = turns.filter(|_| tells && !is_queued) {
            self.budget.add(length, turns, sent);
        }
        self.least = match self.swings.survey_parts() {
            Some(parts) if parts.are_least() && tells => self.least + 1,
            _ => 0,
        };
        let may_be_others = is_asked || self.budget.has_others() || self.least >= LEAST_SLOTS;
        self.budget.solve(sent, may_be_others);
        if !self.budget.has_others() {
            self.note_left(now);
        } else if let Some(turns) = turns {
            self.note_foreign(length, turns);
        }
        let witness = self.witness.station();
        let known = witness.and_then(|station| self.budget.airtime(station));
        self.witness.note_spread(known.map(|known| known.spread));
        let has_asked = |since| self.swings.has_ended_since(since) && !self.swings.is_survey();
        let has_asked = self.asked.since().is_some_and(has_asked);
        let is_alone = self.budget.is_alone();
        if is_asked && (is_alone || has_asked && !self.budget.has_others()) {
            self.settle(now, is_alone);
        }
    }

    /// Clients are not asked any more, because no other network sends if that `is_known`.
    fn settle(&mut self, now: Time, is_known: bool) {
        if is_known && self.foreign_share == 0.0 {
            self.asked.settle();
        } else {
            // Others that have just gone may come again.
            self.asked.retry();
        }
        if self.budget.has_others() {
            self.budget.forget_slots();
        }
        self.note_left(now);
        if self.seldom.len() < FEWEST {
            self.swings.break_off(now);
        }
    }

    /// Other networks do not send, or not any more.
    fn note_left(&mut self, now: Time) {
        if self.foreign_share > 0.0 {
            (self.left, self.foreign_share) = (Some(now), 0.0);
        }
    }

    /// Forgets airtimes and rates, and keeps who answers and what clients have told.
    fn forget(&mut self) {
        (self.budget, self.swings) = (TimeBudget::default(), Swings::default());
        (self.foreign_share, self.least) = (0.0, 0);
        self.grants.clear();
    }

    /// Share of the time in which other networks send, if turns tell it.
    pub(super) fn foreign_share(&self) -> Option<f64> {
        let is_told = self.is_asked() || self.witness.station().is_some();
        (is_told && self.budget.has_others()).then_some(self.foreign_share)
    }

    /// Notes how much of a slot of so many `turns` other networks seem to have taken.
    fn note_foreign(&mut self, length: Duration, turns: f64) {
        let share = turns * (self.budget.turn_s() - TURN_S) / length.as_secs_f64();
        let gain = if self.foreign_share > 0.0 {
            foreign::GAIN
        } else {
            1.0
        };
        self.foreign_share += gain * (share.clamp(0.0, foreign::SHARE_MOST) - self.foreign_share);
    }

    /// Chooses the rates of surveys by a slot. Returns whether it tells airtimes.
    fn guide(&mut self, now: Time, length: Duration, turns: Option<f64>, sent: &[Sent]) -> bool {
        let is_survey = self.swings.is_survey();
        // Outside a survey, the channel is idle at times unless packets to a client wait.
        let mut clients = sent.iter().filter(|of| of.is_client());
        let is_idle = !is_survey && !clients.any(|of| self.clients.waits(of.station));
        let is_asked = self.is_asked();
        let by = if is_asked {
            Some(Guide::Asked(&mut self.asked))
        } else {
            let witness = self.witness.station();
            witness.map(|_| Guide::Witness(&self.witness))
        };
        let packets: f64 = sent.iter().map(|of| of.packets).sum();
        let has_others = self.budget.has_others();
        let guided = by.map(|by| Guided {
            by,
            is_short: TimeBudget::is_short(sent) || is_idle,
            packets: turns.map_or(0.0, |turns| packets / turns),
            turn_s: if has_others {
                self.budget.turn_s()
            } else {
                TURN_S
            },
            has_others,
        });
        self.swings.on_slot(now, length, turns, guided)
    }

    /// The airtime of a bit to a station. Those of two stations that cannot be told apart are drawn together.
    fn airtime(&self, station: StationId) -> Option<BitAirtime> {
        let own = self.budget.airtime(station)?;
        let others = self.budget.others(station);
        Some(BitAirtime {
            seconds: drawn_together(own.seconds, others, width_of(own.spread)),
            ..own
        })
    }
}

impl AssumeRates {
    /// Corrects what this slot's reports say of the airtimes of stations whose answers hide what has arrived.
    pub(super) fn correct_hidden(&mut self, now: Time) {
        self.hidden.note(now, &self.reports);
        let samples: Vec<Sample> = self.reports.iter().filter_map(Sample::read).collect();
        let uploads: f64 = samples.iter().map(|sample| sample.upload_bytes_per_s).sum();
        let has_upload = uploads >= UPLOAD_BYTES_PER_S;
        self.note_clients(now, has_upload);
        let has_left = |at: Time| now.saturating_since(at) < LEFT_WITHIN;
        let has_left =
            self.hidden.left.is_some_and(has_left) && self.hidden.clients.all().count() == 1;
        if self.hidden.foreign_share().is_some() || has_left {
            self.tell_turns(now);
        }
        if !self.hidden.is_on() {
            self.hidden.asked.interrupt();
            if self.hidden.is_interrupted() {
                self.hidden.swings.break_off(now);
                return;
            }
            self.hidden.forget();
            return;
        }
        let passive = samples.iter().filter(|sample| sample.is_passive);
        let length_s = passive.map(|sample| sample.length_s).fold(0.0, f64::max);
        let length = Duration::try_from_secs_f64(length_s).unwrap_or_default();
        if length.is_zero() {
            return;
        }
        let has_waited = samples.iter().any(Sample::has_waited);
        let sent = self.sent(length_s);
        self.hidden.budget.note_clients(length, &sent);
        // Without packets that wait, the channel is idle at times.
        let turns = self.hidden.budget.turns(&sent);
        let turns = turns.filter(|_| has_waited && !has_upload);
        let wait_s = self.longest_wait_s();
        self.hidden.take(now, length, turns, &sent, wait_s);
        let has_others = self.hidden.budget.has_others();
        let has_several = self.hidden.seldom.len() >= FEWEST;
        let is_told = |of: &&Sent| {
            let is_asked = of.role == Some(Role::Asked);
            of.role.is_none() || is_asked && (has_others || has_several)
        };
        for of in sent.iter().filter(is_told) {
            let mut reports = self.reports.iter_mut();
            let report = reports
                .find(|report| report.station == of.station && self.hidden.hides(of.station));
            if let Some((report, airtime)) = report.zip(self.hidden.airtime(of.station)) {
                correct(report, airtime, of.bits / of.packets);
            }
        }
    }

    /// Notes who answers in a slot, and whether stations upload.
    fn note_clients(&mut self, now: Time, has_upload: bool) {
        let hidden = &mut self.hidden;
        hidden.clients.note(now, &self.reports);
        // The same for all stations that a box observes.
        let mut shown = self.reports.iter().map(|report| report.others);
        let shown = shown.find(|others| *others != OtherNetworks::Unknown);
        hidden.others = shown.unwrap_or_default();
        hidden.witness.note(now, &self.reports, &hidden.clients);
        let is_recent = |at: &Time| now.saturating_since(*at) < UPLOADED_WITHIN;
        hidden.uploaded = hidden.uploaded.filter(is_recent);
        if has_upload {
            // How long uploads take is not known.
            hidden.witness.interrupt(now);
            hidden.uploaded = Some(now);
        }
        let clients: Vec<StationId> = hidden.clients.all().collect();
        let rated = clients.iter().map(|&of| (of, self.assumed(of).bps));
        let rated = rated.collect();
        self.hidden.asked.note(now, rated);
    }

    /// The longest median wait of stations whose answers count turns, seconds.
    fn longest_wait_s(&self) -> f64 {
        let is_client = |of: &&SlotReport| self.hidden.role(of.station) == Some(Role::Asked);
        let waits = self.reports.iter().filter(is_client);
        let waits = waits.filter_map(|of| Some(Sample::read(of)?.wait?.median_s));
        waits.fold(0.0, f64::max)
    }

    /// The rate to assume of a station of which rounds do not tell enough, bit/s, instead of what its frames tell.
    pub(super) fn budgeted_bps(&mut self, station: StationId) -> Option<f64> {
        let assumed_bps = self.assumed(station).bps;
        self.hidden.budgeted_bps(station, assumed_bps)
    }

    /// Swings the rates of stations whose answers hide what has arrived, so that their airtimes become known. A survey swings
    /// those of all stations, or the others would take the time that it leaves.
    pub(super) fn swing(&mut self, now: Time) {
        if !self.hidden.swings.are_useful(now) {
            return;
        }
        let (mut hidden, mut spread) = (0, 0.0_f64);
        let mut swung = Vec::new();
        let (mut load, mut swung_load) = (0.0, 0.0);
        for idx in 0..self.allocations.len() {
            let (station, rate) = (
                self.allocations[idx].station,
                self.allocations[idx].rate_bytes_per_s,
            );
            let report = self.reports.iter().find(|of| of.station == station);
            let is_surveyed = self.hidden.is_surveyed() && self.hidden.role(station).is_some();
            let waits = is_surveyed || report.is_some_and(|of| of.sender.backlogged);
            if !waits || !rate.is_finite() {
                continue;
            }
            let hides = self.hidden.hides(station);
            let share = rate / self.assumed(station).bps;
            if hides {
                hidden += 1;
                let known = self.hidden.budget.airtime(station);
                spread = spread.max(known.map_or(UNSEEN_SPREAD, |known| known.spread));
            }
            if hides || self.hidden.swings.is_survey() {
                let sign = Swings::sign(now, swung.len());
                load += share;
                swung_load += share * sign;
                swung.push((idx, sign));
            }
        }
        let is_asked = self.hidden.is_asked();
        if hidden < FEWEST && !is_asked || load <= 0.0 {
            return;
        }
        // One alone swings all the same.
        let mean = if swung.len() == 1 {
            0.0
        } else {
            swung_load / load
        };
        let before = |&(idx, _): &(usize, f64)| {
            let allocation = &self.allocations[idx];
            (allocation.station, allocation.rate_bytes_per_s)
        };
        let before = swung.iter().map(before).collect();
        for (idx, sign) in swung {
            let allocation = &self.allocations[idx];
            let (station, rate) = (allocation.station, allocation.rate_bytes_per_s);
            let factor = match self.hidden.surveyed_bytes_per_s(station, sign) {
                Some(surveyed) if rate > 0.0 => surveyed / rate,
                _ => self.hidden.swings.factor(sign, mean),
            };
            self.allocations[idx].rate_pps *= factor;
            self.allocations[idx].rate_bytes_per_s *= factor;
        }
        let is_doubted =
            self.hidden.witness.station().is_some() && self.hidden.budget.is_doubtful();
        if is_doubted {
            spread = spread.max(DOUBTED_SPREAD);
        }
        let was_surveyed = self.hidden.is_surveyed();
        self.hidden.swings.decide(now, spread);
        if self.hidden.is_surveyed() && !was_surveyed {
            self.hidden.asked.begin(before);
            if is_doubted {
                // A rate has fallen, or the access point holds packets: slots from before would tell the same again.
                self.hidden.budget.forget_slots();
            }
        }
    }
}

impl Hidden {
    /// What a station is sent in a survey that does not depend on the law, bytes per second, if its rate swings towards `sign`.
    fn surveyed_bytes_per_s(&self, station: StationId, sign: f64) -> Option<f64> {
        let parts = self.swings.survey_parts()?;
        if self.is_asked() {
            let has_others = self.budget.has_others();
            return self.asked.bytes_per_s(station, sign, has_others);
        }
        let role = self.role(station)?;
        let known = self.budget.airtime(station);
        let known = known.filter(|known| known.spread < used_spread(role));
        let bps = known.map_or(USUAL_BPS, |known| 1.0 / known.seconds);
        let bit_s = 1.0 / bps.clamp(RANGE_BPS.0, RANGE_BPS.1);
        let is_mute = role == Role::Mute;
        Some(self.witness.bytes_per_s(parts, is_mute, bit_s, sign))
    }
}

/// Airtimes with a larger spread are not used of stations with a role. What is sent to mute stations is best guessed by what is
/// known.
fn used_spread(role: Role) -> f64 {
    match role {
        Role::Witness | Role::Asked => USED_SPREAD,
        Role::Mute => UNSEEN_SPREAD,
    }
}

/// Writes the airtime of a bit into a report whose packets have `packet_bits` on the air: by the transit of its frames, or
/// without frames as it is.
fn correct(report: &mut SlotReport, airtime: BitAirtime, packet_bits: f64) {
    let packet_s = packet_bits * airtime.seconds;
    if let Some((level, _)) = report.level().zip(report.transit) {
        report.transit = transit_of(packet_s, level).or(report.transit);
    } else if report.frames == 0 && (report.airtime_bps.is_some() || airtime.spread < USED_SPREAD) {
        let ip_bits = 8.0 * report.sender.sent_bytes as f64 / f64::from(report.sender.sent_packets);
        report.airtime_bps = Some(ip_bits / packet_s);
    }
}
