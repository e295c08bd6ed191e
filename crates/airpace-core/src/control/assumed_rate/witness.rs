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
use super::budget::OFTEN;
use super::recent::Recent;
use crate::report::{Answers, SlotReport};
use airpace_units::{StationId, Time};
use core::time::Duration;

/// PHY rate assumed of stations of which nothing is known, bit/s, and the standard deviation of the logarithm: VHT MCS 3 or 4
/// at 80 MHz, and from MCS 0 to two streams at MCS 9 within two of them.
pub(super) const USUAL_BPS: f64 = 150e6;
pub(super) const USUAL_SPREAD: f64 = 1.2;
/// Packets that answers must be for on average, so that each frame has been answered: clients that answer every second
/// packet, and those that may wait for ten.
const FEWEST_PER_ANSWER: (f64, f64) = (OFTEN, 11.5);
/// A client whose answers are for a number of packets in the first range has not waited for ten, and one whose are in the second
/// has. It is known not to wait once so many more slots have shown the former than the latter; at most [`SHOWN_MOST`] count.
const EARLY: (f64, f64) = (FEWEST_PER_ANSWER.0, 8.0);
const TENTH: (f64, f64) = (9.0, FEWEST_PER_ANSWER.1);
const SHOWN: f64 = 3.0;
const SHOWN_MOST: f64 = 10.0;
/// Packets in a slot that tell of what kind it is.
const TELLING_PACKETS: u32 = 30;
/// A station that was mute within this time is so still, and one that has answered within it is not mute.
const REMEMBERED: Duration = Duration::from_secs(10);
/// A station becomes a witness once packets to it have waited for this much longer than they have not: one that uses less than
/// it may does not count turns, and a page is loaded soon.
const WAITED: Duration = Duration::from_millis(500);
/// An interruption lasts for so long: an upload, or another station that answers.
const INTERRUPTED: Duration = Duration::from_secs(1);
/// If its packets have not waited for [`WAITED`] within this time, its answers no longer tell of the mute stations, and the
/// methods for cells without a witness take over.
const COUNTED_WITHIN: Duration = Duration::from_secs(15);
/// A station that has not answered for so long is no witness any more.
const ANSWERED_WITHIN: Duration = Duration::from_secs(3);
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

/// What a station is in such a cell.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Role {
    /// Its answers count turns if they are for this many packets on average.
    Witness { fewest: f64 },
    /// Nothing answers what it is sent.
    Mute,
}

/// What the slots tell of who answers.
#[derive(Clone, Debug, Default)]
pub(super) struct Witness {
    witness: Option<Client>,
    /// When packets to each mute station last waited.
    mute: Recent,
    /// When each station that answers did last.
    answered: Recent,
    /// When an upload, or packets to another station that answers, last took a share of the time.
    interrupted: Option<Time>,
    /// When the last slot has ended.
    now: Time,
}

#[derive(Clone, Copy, Debug)]
struct Client {
    station: StationId,
    answered: Time,
    /// For how long packets to it have waited more than not.
    waited: Duration,
    /// Whether they do, and when they last did for long.
    waits: bool,
    counted: Time,
    is_witness: bool,
    /// Slots in which it has answered before ten packets had come, less those in which it has not.
    early: f64,
    is_known: bool,
}

impl Witness {
    /// Notes who answers in a slot.
    pub(super) fn note(&mut self, now: Time, reports: &[SlotReport]) {
        self.now = now;
        self.mute.forget(now, REMEMBERED);
        self.answered.forget(now, REMEMBERED);
        let is_stale = |client: &Client| now.saturating_since(client.answered) >= ANSWERED_WITHIN;
        self.witness = self.witness.filter(|client| !is_stale(client));
        let station = self.witness.map(|client| client.station);
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
        let own = answering().find(|report| Some(report.station) == station);
        if let (Some(client), None) = (&mut self.witness, own) {
            client.waits = false;
        }
        let Some(report) = own.or_else(|| answering().find(|report| waits(report))) else {
            return;
        };
        let tells_itself = report.answers == Answers::Tell || !is_unknown(report);
        let is_other = |of: &SlotReport| of.station != report.station && waits(of);
        if answering().any(is_other) || own.is_none() && tells_itself {
            self.interrupt(now);
        }
        if tells_itself {
            return;
        }
        let same = self.witness;
        let same = same.filter(|client| client.station == report.station);
        let mut client = same.unwrap_or(Client {
            station: report.station,
            answered: now,
            waited: Duration::ZERO,
            waits: false,
            counted: now,
            is_witness: false,
            early: 0.0,
            is_known: false,
        });
        client.answered = now;
        client.waits = report.sender.backlogged;
        client.waited = if client.waits {
            client.waited.saturating_add(report.length).min(WAITED)
        } else {
            client.waited.saturating_sub(report.length)
        };
        if client.waited >= WAITED {
            (client.is_witness, client.counted) = (true, now);
        }
        client.early = (client.early + earliness(report)).clamp(-SHOWN_MOST, SHOWN_MOST);
        self.witness = Some(client);
    }

    /// Something else takes a share of the time that turns do not tell, or that other answers tell better.
    pub(super) fn interrupt(&mut self, now: Time) {
        self.interrupted = Some(now);
    }

    /// Notes how well the airtime of the witness is known.
    pub(super) fn note_spread(&mut self, spread: Option<f64>) {
        if let Some(client) = &mut self.witness {
            client.is_known = spread.is_some_and(|spread| spread < KNOWN_SPREAD);
        }
    }

    /// Forgets a station.
    pub(super) fn remove(&mut self, station: StationId) {
        self.mute.remove(station);
        self.answered.remove(station);
        self.witness = self.witness.filter(|client| client.station != station);
    }

    /// The station that counts the turns of others that are mute.
    pub(super) fn station(&self) -> Option<StationId> {
        let is_recent = |at: Time| self.now.saturating_since(at) < INTERRUPTED;
        let is_alone = !self.interrupted.is_some_and(is_recent);
        let client = self.witness.filter(|client| client.is_witness)?;
        let counts = self.now.saturating_since(client.counted) < COUNTED_WITHIN;
        (counts && is_alone && !self.mute.is_empty()).then_some(client.station)
    }

    /// Whether there has been a witness a moment ago, of which what is known may still be of use.
    pub(super) fn is_remembered(&self) -> bool {
        self.witness.is_some_and(|client| client.is_witness) && !self.mute.is_empty()
    }

    /// Whether packets to it wait, so that the access point always has frames to send.
    pub(super) fn waits(&self) -> bool {
        self.witness.is_some_and(|client| client.waits)
    }

    /// What the station is; `None` unless there is a witness.
    pub(super) fn role(&self, station: StationId) -> Option<Role> {
        let witness = self.station()?;
        if station == witness {
            Some(Role::Witness {
                fewest: self.fewest_per_answer(),
            })
        } else {
            self.mute.has(station).then_some(Role::Mute)
        }
    }

    fn fewest_per_answer(&self) -> f64 {
        let is_early = |client: Client| client.early >= SHOWN;
        if self.witness.is_some_and(is_early) {
            FEWEST_PER_ANSWER.0
        } else {
            FEWEST_PER_ANSWER.1
        }
    }

    /// Changes the parts of a survey after a slot in which turns took `share` of the time. Returns whether the slot tells
    /// airtimes.
    pub(super) fn adapt(&self, parts: &mut Parts, share: f64, is_short: bool) -> bool {
        let waits_for_ten = self.fewest_per_answer() > FEWEST_PER_ANSWER.0;
        let is_known = self.witness.is_some_and(|client| client.is_known);
        let (most, (full, room)) = match (is_known, waits_for_ten) {
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

    /// Bytes per second in a survey to a station whose packets take `bit_s` seconds per bit and whose rate swings towards
    /// `sign`.
    pub(super) fn bytes_per_s(&self, parts: Parts, role: Role, bit_s: f64, sign: f64) -> f64 {
        let part = match role {
            Role::Witness { .. } => {
                let is_known = self.witness.is_some_and(|client| client.is_known);
                let (unknown, known) = WITNESS_SWINGS;
                parts.witness * (1.0 + sign * if is_known { known } else { unknown })
            }
            Role::Mute => parts.mute * (1.0 + sign * MUTE_SWING),
        };
        part / (8.0 * bit_s)
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

/// Whether a box alone tells of the station.
fn is_unknown(report: &SlotReport) -> bool {
    Sample::read(report).is_some_and(|sample| sample.is_passive && sample.phy_bps.is_none())
}

/// Whether packets to the station wait, or most of the slot's have.
fn waits(report: &SlotReport) -> bool {
    Sample::read(report).is_some_and(|sample| sample.has_waited())
}

fn answers(report: &SlotReport) -> bool {
    report.frames > 0 || report.answers != Answers::Tell
}

/// Whether packets to the station waited, and nothing is seen of their frames.
fn is_mute(report: &SlotReport) -> bool {
    !answers(report)
        && Sample::read(report).is_some_and(|sample| {
            sample.is_unseen() && sample.has_waited() && sample.airtime_bps.is_none()
        })
}

/// 1 for a slot in which the client answers before ten packets have come, −1 for one in which it waits for them.
fn earliness(report: &SlotReport) -> f64 {
    let sent = report.sender.sent_packets;
    let per_answer = f64::from(sent) / f64::from(report.sender.uplink_frames.max(1));
    let is_in = |range: (f64, f64)| (range.0..range.1).contains(&per_answer);
    if report.answers == Answers::Often || sent >= TELLING_PACKETS && is_in(EARLY) {
        1.0
    } else if sent >= TELLING_PACKETS && is_in(TENTH) {
        -1.0
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{SenderView, Sensor};

    const SLOT: Duration = Duration::from_millis(100);
    const QUIC: StationId = StationId(0);
    const UDP: StationId = StationId(1);

    fn at(slot: u64) -> Time {
        Time::from_millis(100 * slot)
    }

    /// What a box reports of a station whose packets wait, which answers in `answers` bursts.
    fn report(station: StationId, sent: u32, answers: u32, kind: Answers) -> SlotReport {
        SlotReport {
            sensor: Sensor::AckBurst,
            answers: kind,
            sender: SenderView {
                sent_packets: sent,
                sent_bytes: 1_500 * u64::from(sent),
                uplink_frames: answers,
                backlogged: true,
                ..SenderView::default()
            },
            ..SlotReport::silent(station, SLOT)
        }
    }

    fn udp() -> SlotReport {
        report(UDP, 500, 0, Answers::Tell)
    }

    /// The witness after so many slots of these reports.
    fn after(slots: u64, reports: &[SlotReport]) -> Witness {
        let mut witness = Witness::default();
        for slot in 0..slots {
            witness.note(at(slot), reports);
        }
        witness
    }

    #[test]
    fn the_only_one_that_answers_over_quic_is_the_witness_of_those_that_answer_nothing() {
        let quic = report(QUIC, 500, 30, Answers::Seldom);
        let both = [quic.clone(), udp()];
        assert_eq!(after(4, &both).station(), None);
        let witness = after(5, &both);
        assert_eq!(witness.station(), Some(QUIC));
        assert_eq!(witness.role(UDP), Some(Role::Mute));
        assert_eq!(witness.role(StationId(7)), None);
        assert_eq!(after(5, core::slice::from_ref(&quic)).station(), None);
        assert_eq!(after(5, &[udp()]).station(), None);
        // TCP tells its frames itself, and two that answer tell each other's.
        let other = report(StationId(2), 500, 30, Answers::Often);
        assert_eq!(
            after(5, &[quic.clone(), other.clone(), udp()]).station(),
            None
        );
        let mut background = other.clone();
        background.sender.backlogged = false;
        let three = [quic, background, udp()];
        let mut witness = after(5, &three);
        assert_eq!(witness.station(), Some(QUIC));
        // A page that the other loads interrupts.
        witness.note(at(5), &[three[0].clone(), other, udp()]);
        assert!(witness.station().is_none() && witness.is_remembered());
        witness.note(at(16), &three);
        assert_eq!(witness.station(), Some(QUIC));
        witness.remove(UDP);
        assert_eq!(witness.station(), None);
    }

    #[test]
    fn one_that_uses_less_than_it_may_or_answers_no_more_is_no_witness() {
        let mut idle = report(QUIC, 40, 20, Answers::Often);
        idle.sender.backlogged = false;
        assert_eq!(after(50, &[idle.clone(), udp()]).station(), None);
        let mut witness = after(5, &[report(QUIC, 500, 30, Answers::Often), udp()]);
        assert!(witness.waits());
        witness.note(at(5), &[idle, udp()]);
        assert!(witness.station().is_some() && !witness.waits());
        witness.note(at(40), &[udp()]);
        assert_eq!(witness.station(), None);
    }

    #[test]
    fn a_client_that_may_wait_for_ten_packets_counts_longer_frames_alone() {
        let fewest = |per_answer: u32, kind| {
            let quic = report(QUIC, 30 * per_answer, 30, kind);
            after(20, &[quic, udp()]).role(QUIC)
        };
        let of = |fewest| Some(Role::Witness { fewest });
        assert_eq!(fewest(20, Answers::Often), of(2.5));
        assert_eq!(fewest(5, Answers::Seldom), of(2.5));
        // Quinn may be asked to wait for ten, and answers all that it reads at once besides.
        assert_eq!(fewest(40, Answers::AtOnce), of(11.5));
        assert_eq!(fewest(10, Answers::Seldom), of(11.5));
        assert_eq!(fewest(40, Answers::Seldom), of(11.5));
    }

    #[test]
    fn parts_of_a_survey_change_until_there_are_turns_and_long_frames() {
        let mut witness = after(5, &[report(QUIC, 500, 30, Answers::Often), udp()]);
        let mut parts = Parts::default();
        // The access point holds packets.
        assert!(!witness.adapt(&mut parts, 0.1, false));
        assert!(parts.mute < FIRST_PARTS.mute && parts.witness < FIRST_PARTS.witness);
        for _ in 0..20 {
            witness.adapt(&mut parts, 0.1, false);
        }
        assert_eq!(parts.mute, MUTE.0);
        // Its frames hold one packet each.
        let before = parts;
        assert!(!witness.adapt(&mut parts, 0.3, true));
        assert!(parts.witness > before.witness);
        for _ in 0..50 {
            witness.adapt(&mut parts, 0.9, true);
        }
        assert_eq!(parts.witness, WITNESS_MOST);
        witness.note_spread(Some(0.1));
        assert!(witness.adapt(&mut parts, 0.9, false));
        assert_eq!(parts.witness, WITNESS_KNOWN);
        for _ in 0..50 {
            assert!(witness.adapt(&mut parts, 0.9, false));
        }
        assert_eq!(parts.mute, MUTE.1);
    }

    #[test]
    fn a_mute_station_that_is_hardly_known_is_taken_for_a_slower_one() {
        assert_eq!(cautious(1e-8, 0.05), 1e-8);
        assert!((cautious(1e-8, 0.3) / 1e-8 - 0.1_f64.exp()).abs() < 1e-9);
        assert!((cautious(1e-8, 9.0) / 1e-8 - 0.3_f64.exp()).abs() < 1e-9);
    }
}
