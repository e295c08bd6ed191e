//! One station that answers over QUIC, beside stations that are sent packets and answer none of them.
//!
//! Nothing follows from the round here: its payload may be of any of them, and no transit tells which, since no other answer
//! comes before the frame that is answered. But the answers of the one count the turns of all, because the access point
//! serves its stations in turn. So it is their *witness*, and what the number of turns tells (`budget`) holds for the *mute*
//! ones as well.
//!
//! Before anything is known, the access point may hold any number of packets to a mute station, and while it does, what is
//! sent changes nothing. So in a survey of such a cell all rates are parts of the time by themselves, not of what the law
//! permits, and the parts change until there are turns enough, and frames of the witness that are long enough to be answered.

use super::super::sample::Sample;
use super::clients::{Clients, FEWEST_PER_ANSWER, answers, waits};
use super::recent::Recent;
use crate::report::SlotReport;
use airpace_units::{StationId, Time};
use core::time::Duration;

/// PHY rate assumed of stations of which nothing is known, bit/s, and the standard deviation of the logarithm: VHT MCS 3 or 4
/// at 80 MHz, and from MCS 0 to two streams at MCS 9 within two of them.
pub(super) const USUAL_BPS: f64 = 150e6;
pub(super) const USUAL_SPREAD: f64 = 1.2;
/// A station that was mute within this time is so still, and one that has answered within it is not mute.
const REMEMBERED: Duration = Duration::from_secs(10);
/// An interruption lasts for so long: an upload, or another station that answers.
const INTERRUPTED: Duration = Duration::from_secs(1);
/// Standard deviation of the logarithm of the airtime of a witness from which it is known.
const KNOWN_SPREAD: f64 = 0.15;
/// A mute station whose airtime is hardly known is taken for one that is slower, by half of the deviation beyond the first
/// number, by the second at most: the access point would queue what is too much, and then nothing would tell.
const CAUTION: (f64, f64) = (0.1, 0.3);
/// Parts of the time that payload is to take at the beginning of a survey, to the witness and to each mute station.
const FIRST_PARTS: Parts = Parts {
    witness: 0.3,
    mute: 0.25,
};
/// Largest part to a witness that is not known, by the usual PHY rate; to one that is; and to one that is and whose frames
/// must hold ten packets.
const WITNESS_MOST: f64 = 2.0;
const WITNESS_KNOWN: f64 = 0.45;
const WITNESS_TENTH: f64 = 0.75;
/// Least part to a witness, and range of that to a mute station.
const WITNESS_LEAST: f64 = 0.1;
const MUTE: (f64, f64) = (0.02, 0.4);
/// Swings in a survey as parts of the rate: of a witness until it is known and then, and of mute stations.
const WITNESS_SWINGS: (f64, f64) = (0.4, 0.15);
const MUTE_SWING: f64 = 0.7;
/// Where turns take less than this part of the time, the access point holds packets, and where they take more than the
/// second, there is room for more. Once the witness is known, the second is lower, and if its frames must hold ten packets both
/// are: longer frames leave less of the time to turns.
const TURNS: (f64, f64) = (0.2, 0.4);
const TURNS_KNOWN: (f64, f64) = (0.2, 0.3);
const TURNS_TENTH: (f64, f64) = (0.07, 0.105);
/// The same beside other networks.
const TURNS_AMONG_OTHERS: (f64, f64) = (0.45, 0.6);
/// Factors per slot on the parts: where the frames of the witness are short, where there is room, and where the access point
/// holds packets.
const SHORT: Parts = Parts {
    witness: 1.25,
    mute: 1.05,
};
const ROOM: Parts = Parts {
    witness: 1.0,
    mute: 1.18,
};
const FULL: Parts = Parts {
    witness: 0.9,
    mute: 0.7,
};

/// Parts of the time that the payload to the witness and to each mute station is to take.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Parts {
    witness: f64,
    mute: f64,
}

/// What a station is in a cell of which rounds do not tell enough.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Role {
    /// Its answers count the turns of those that answer nothing.
    Witness,
    /// Nothing answers what it is sent.
    Mute,
    /// Its answers count turns, from which it shall follow whether other networks send.
    Asked,
}

impl Role {
    /// Whether its answers shall tell of others' frames as well.
    pub(super) const fn is_client(self) -> bool {
        matches!(self, Self::Witness | Self::Asked)
    }
}

/// What the slots tell of who answers.
#[derive(Clone, Debug, Default)]
pub(super) struct Witness {
    /// When packets to each mute station last waited.
    mute: Recent,
    /// When each station that answers did last.
    answered: Recent,
    /// When an upload, or packets to another station that answers, last took a share of the time.
    interrupted: Option<Time>,
    /// The client that counts turns, and whether it may wait for ten packets.
    client: Option<StationId>,
    may_wait: bool,
    /// Whether its airtime is known.
    is_known: bool,
    /// When the last slot has ended.
    now: Time,
}

impl Witness {
    /// Notes who answers in a slot.
    pub(super) fn note(&mut self, now: Time, reports: &[SlotReport], clients: &Clients) {
        self.now = now;
        self.mute.forget(now, REMEMBERED);
        self.answered.forget(now, REMEMBERED);
        let answering = || reports.iter().filter(|report| answers(report));
        for report in answering() {
            self.mute.remove(report.station);
            self.answered.note(now, report.station);
        }
        for report in reports.iter().filter(|report| is_mute(report)) {
            // A station whose rounds are long may answer no frame in a slot; that does not make it mute.
            if !self.answered.has(report.station) {
                self.mute.note(now, report.station);
            }
        }
        let client = clients.counting().find(|of| Some(*of) == clients.first());
        self.is_known &= client == self.client;
        self.client = client;
        self.may_wait =
            client.is_some_and(|of| clients.fewest_per_answer(of) > FEWEST_PER_ANSWER.0);
        let is_other = |of: &SlotReport| Some(of.station) != clients.first() && waits(of);
        if answering().any(is_other) {
            self.interrupt(now);
        }
    }

    /// Something else takes a share of the time that turns do not tell, or that other answers tell better.
    pub(super) fn interrupt(&mut self, now: Time) {
        self.interrupted = Some(now);
    }

    /// Notes how well the airtime of the witness is known.
    pub(super) fn note_spread(&mut self, spread: Option<f64>) {
        self.is_known = spread.is_some_and(|spread| spread < KNOWN_SPREAD);
    }

    /// Forgets a station.
    pub(super) fn remove(&mut self, station: StationId) {
        self.mute.remove(station);
        self.answered.remove(station);
        self.client = self.client.filter(|client| *client != station);
    }

    /// The station that counts the turns of others that are mute.
    pub(super) fn station(&self) -> Option<StationId> {
        let is_recent = |at: Time| self.now.saturating_since(at) < INTERRUPTED;
        let is_alone = !self.interrupted.is_some_and(is_recent);
        self.client.filter(|_| is_alone && self.has_mute())
    }

    /// Whether stations answer nothing.
    pub(super) const fn has_mute(&self) -> bool {
        !self.mute.is_empty()
    }

    /// What the station is; `None` unless there is a witness.
    pub(super) fn role(&self, station: StationId) -> Option<Role> {
        let witness = self.station()?;
        if station == witness {
            Some(Role::Witness)
        } else {
            self.mute.has(station).then_some(Role::Mute)
        }
    }

    /// Changes the parts of a survey after a slot in which turns took `share` of the time. Returns whether the slot tells
    /// airtimes.
    pub(super) fn adapt(
        &self,
        parts: &mut Parts,
        share: f64,
        is_short: bool,
        has_others: bool,
    ) -> bool {
        let (most, (full, room)) = match (self.is_known, self.may_wait) {
            _ if has_others => (WITNESS_KNOWN, TURNS_AMONG_OTHERS),
            (false, _) => (WITNESS_MOST, TURNS),
            (true, false) => (WITNESS_KNOWN, TURNS_KNOWN),
            (true, true) => (WITNESS_TENTH, TURNS_TENTH),
        };
        let is_full = share < full && parts.mute > MUTE.0;
        let factors = if is_short {
            SHORT
        } else if is_full {
            FULL
        } else if share > room {
            ROOM
        } else {
            Parts {
                witness: 1.0,
                mute: 1.0,
            }
        };
        parts.witness = (parts.witness * factors.witness).clamp(WITNESS_LEAST, most);
        parts.mute = (parts.mute * factors.mute).clamp(MUTE.0, MUTE.1);
        !is_short && !is_full
    }

    /// Bytes per second in a survey to the witness or a mute station, if its packets take `bit_s` seconds per bit and its rate
    /// swings towards `sign`.
    pub(super) fn bytes_per_s(&self, parts: Parts, is_mute: bool, bit_s: f64, sign: f64) -> f64 {
        let part = if is_mute {
            parts.mute * (1.0 + sign * MUTE_SWING)
        } else {
            let (unknown, known) = WITNESS_SWINGS;
            parts.witness * (1.0 + sign * if self.is_known { known } else { unknown })
        };
        part / (8.0 * bit_s)
    }
}

impl Parts {
    /// Whether mute stations are sent so little that the access point holds nothing to them.
    pub(super) fn are_least(self) -> bool {
        self.mute <= MUTE.0
    }
}

impl Default for Parts {
    fn default() -> Self {
        FIRST_PARTS
    }
}

/// The airtime of a bit to charge a mute station with, if it is this with a standard deviation of the logarithm of `spread`.
pub(super) fn cautious(bit_s: f64, spread: f64) -> f64 {
    let (known, most) = CAUTION;
    bit_s * (0.5 * (spread - known)).clamp(0.0, most).exp()
}

/// Whether packets to the station waited, and nothing is seen of their frames.
fn is_mute(report: &SlotReport) -> bool {
    !answers(report)
        && Sample::read(report).is_some_and(|sample| {
            sample.is_unseen() && sample.has_waited() && sample.airtime_bps.is_none()
        })
}

#[cfg(test)]
mod tests {
    use super::super::clients::tests::{QUIC, at, report};
    use super::*;
    use crate::report::Answers;

    const UDP: StationId = StationId(1);

    fn udp() -> SlotReport {
        report(UDP, 500, 0, Answers::Tell)
    }

    /// A cell after slots of these reports.
    #[derive(Default)]
    struct Cell {
        clients: Clients,
        witness: Witness,
    }

    impl Cell {
        fn after(slots: u64, reports: &[SlotReport]) -> Self {
            let mut cell = Self::default();
            for slot in 0..slots {
                cell.note(slot, reports);
            }
            cell
        }

        fn note(&mut self, slot: u64, reports: &[SlotReport]) {
            self.clients.note(at(slot), reports);
            self.witness.note(at(slot), reports, &self.clients);
        }

        fn station(&self) -> Option<StationId> {
            self.witness.station()
        }
    }

    #[test]
    fn the_only_one_that_answers_over_quic_is_the_witness_of_those_that_answer_nothing() {
        let quic = report(QUIC, 500, 30, Answers::Seldom);
        let both = [quic.clone(), udp()];
        assert_eq!(Cell::after(4, &both).station(), None);
        let cell = Cell::after(5, &both);
        assert_eq!(cell.station(), Some(QUIC));
        assert_eq!(cell.witness.role(QUIC), Some(Role::Witness));
        assert_eq!(cell.witness.role(UDP), Some(Role::Mute));
        assert_eq!(cell.witness.role(StationId(7)), None);
        assert_eq!(Cell::after(5, core::slice::from_ref(&quic)).station(), None);
        assert_eq!(Cell::after(5, &[udp()]).station(), None);
        // TCP tells its frames itself, and two that answer tell each other's.
        let other = report(StationId(2), 500, 30, Answers::Often);
        let three = [quic.clone(), other.clone(), udp()];
        assert_eq!(Cell::after(5, &three).station(), None);
        let mut background = other.clone();
        background.sender.backlogged = false;
        let three = [quic, background, udp()];
        let mut cell = Cell::after(5, &three);
        assert_eq!(cell.station(), Some(QUIC));
        // A page that the other loads interrupts.
        cell.note(5, &[three[0].clone(), other, udp()]);
        assert!(cell.station().is_none() && cell.clients.remembered().count() == 1);
        cell.note(16, &three);
        assert_eq!(cell.station(), Some(QUIC));
        cell.witness.remove(UDP);
        assert_eq!(cell.station(), None);
    }

    #[test]
    fn one_that_answers_no_more_is_no_witness() {
        let mut cell = Cell::after(5, &[report(QUIC, 500, 30, Answers::Often), udp()]);
        assert!(cell.station().is_some());
        cell.note(40, &[udp()]);
        assert_eq!(cell.station(), None);
    }

    #[test]
    fn parts_of_a_survey_change_until_there_are_turns_and_long_frames() {
        let quic = report(QUIC, 500, 30, Answers::Often);
        let mut witness = Cell::after(5, &[quic, udp()]).witness;
        let mut parts = Parts::default();
        // The access point holds packets.
        assert!(!witness.adapt(&mut parts, 0.1, false, false));
        assert!(parts.mute < FIRST_PARTS.mute && parts.witness < FIRST_PARTS.witness);
        for _ in 0..20 {
            witness.adapt(&mut parts, 0.1, false, false);
        }
        assert!(parts.are_least());
        // Its frames hold one packet each.
        let before = parts;
        assert!(!witness.adapt(&mut parts, 0.3, true, false));
        assert!(parts.witness > before.witness);
        for _ in 0..50 {
            witness.adapt(&mut parts, 0.9, true, false);
        }
        assert_eq!(parts.witness, WITNESS_MOST);
        witness.note_spread(Some(0.1));
        assert!(witness.adapt(&mut parts, 0.9, false, false));
        assert_eq!(parts.witness, WITNESS_KNOWN);
        for _ in 0..50 {
            assert!(witness.adapt(&mut parts, 0.9, false, false));
        }
        assert_eq!(parts.mute, MUTE.1);
        // Beside other networks, less payload leaves too little time for turns.
        assert!(witness.adapt(&mut parts, 0.4, false, false));
        assert!(!witness.adapt(&mut parts, 0.4, false, true));
    }

    #[test]
    fn a_mute_station_that_is_hardly_known_is_taken_for_a_slower_one() {
        assert_eq!(cautious(1e-8, 0.05), 1e-8);
        assert!((cautious(1e-8, 0.3) / 1e-8 - 0.1_f64.exp()).abs() < 1e-9);
        assert!((cautious(1e-8, 9.0) / 1e-8 - 0.3_f64.exp()).abs() < 1e-9);
    }
}
