//! Whether other networks send, where nothing but the answers of QUIC clients tells.
//!
//! The frames of other networks stand in the rounds of a station, and of one that answers over QUIC no transit tells them from
//! its own payload. It then seems slow, is sent less, and its frames become shorter and seem slower still. If it really is slow,
//! the number of turns changes with what it is sent, since payload leaves them the time; if other networks send, it hardly does.
//! So the clients of a cell in which one seems slow are *asked*: their rates swing, and the time budget (`budget`) tells how
//! long a turn takes without payload.

use airpace_units::{StationId, Time};
use core::time::Duration;

/// A client that is taken for one of a lower PHY rate than this is asked, bit/s: MCS 1 at 80 MHz has 58.5, and beside a network
/// that sends for half of the time or less, faster clients are taken for more.
const DOUBTED_BPS: f64 = 75e6;
/// If no other network sends, a client is asked anew after this time, or if it is taken for one of this part of the rate.
const SETTLED: Duration = Duration::from_secs(60);
const SETTLED_PART: f64 = 0.5;
/// If it was not found out, or if another network has just gone, clients are asked anew after this time.
const RETRIED: Duration = Duration::from_secs(15);
/// Packets that wait for longer than so many rounds, and so many seconds, wait in a queue of the access point: what is sent then
/// does not change the number of turns either. Beside a network that always sends, packets of stations without a queue wait for one
/// or two rounds (simulated). After so many such slots in a row, what seemed to be known is forgotten.
const QUEUED_ROUNDS: f64 = 3.0;
const QUEUED_S: f64 = 0.025;
const QUEUED_SLOTS: u32 = 4;
/// No other network sends where there are so many turns in a slot that they take this part of the time alone, be frames short or
/// not. Beside one that sends for four fifths of the time they take a fifth at the most, and beside one that sends for half of it
/// more than three tenths in single slots: with that bound, a client had a sixth of what agents give in one run of six (simulated).
const ALONE_SHARE: f64 = 0.4;
/// Mean and swing of the rates in a survey as parts of what they were before it, and once other networks show.
const SWING_ALONE: (f64, f64) = (0.75, 0.25);
const SWING_AMONG_OTHERS: (f64, f64) = (1.0, 0.4);
/// Factors on them per slot, chosen by simulation: while frames are too short to be answered each; while turns hold more than so
/// many packets; while the access point holds packets; and while turns take more than so much of the time beside other networks,
/// so that payload hardly shows.
const SHORT: f64 = 1.25;
const LONG: f64 = 0.9;
const QUEUED: f64 = 0.7;
const LONG_FRAMES: f64 = 60.0;
const ROOM: f64 = 1.18;
const ROOM_SHARE: f64 = 0.6;
/// Largest multiple of what rates were before, as long as no other network shows and then.
const GROWTH_MOST: (f64, f64) = (1.6, 30.0);

/// Since when clients are asked, and what they have told.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    since: Option<Time>,
    /// The clients of the last slot, and for what rate each was taken, bit/s.
    clients: Vec<(StationId, f64)>,
    /// Clients that are not asked for some time.
    settled: Vec<Settled>,
    /// Slots in a row with a queue.
    queued: u32,
    /// Rates before the survey, bytes per second, and by what they have grown.
    before: Vec<(StationId, f64)>,
    growth: f64,
    now: Time,
}

/// A client that is not asked until then, if it is not taken for one of a lower rate than this, bit/s.
#[derive(Clone, Copy, Debug)]
struct Settled {
    station: StationId,
    until: Time,
    from_bps: f64,
}

/// What a slot of a survey shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown {
    /// Part of the time that turns take without payload.
    pub(super) share: f64,
    /// Whether frames may have had no answer of their own.
    pub(super) is_short: bool,
    /// Packets to all stations per turn.
    pub(super) packets: f64,
    pub(super) has_others: bool,
}

impl Asked {
    /// Notes for what rate each client is taken, bit/s. Without clients there is nobody to ask.
    pub(super) fn note(&mut self, now: Time, clients: Vec<(StationId, f64)>) {
        (self.now, self.clients) = (now, clients);
        self.settled.retain(|of| now < of.until);
        if self.clients.is_empty() {
            self.end();
            return;
        }
        let is_settled = |(station, bps): (StationId, f64)| {
            let mut settled = self.settled.iter();
            settled.any(|of| of.station == station && bps >= of.from_bps)
        };
        let is_doubted = |of: &(StationId, f64)| of.1 < DOUBTED_BPS && !is_settled(*of);
        if self.clients.iter().any(is_doubted) {
            self.since.get_or_insert(now);
        }
    }

    /// Since when clients are asked; `None` if they are not.
    pub(super) const fn since(&self) -> Option<Time> {
        self.since
    }

    /// Something else takes the air for a while, and they are asked from the beginning then.
    pub(super) fn interrupt(&mut self) {
        self.since = self.since.map(|_| self.now);
        self.queued = 0;
    }

    /// Forgets a station.
    pub(super) fn remove(&mut self, station: StationId) {
        self.settled.retain(|of| of.station != station);
    }

    /// Notes how long packets wait, seconds, after a slot with rounds of `round_s`. Returns whether the slot tells nothing because
    /// the access point has a queue.
    pub(super) fn note_wait(&mut self, wait_s: f64, round_s: f64) -> bool {
        let is_queued = wait_s > QUEUED_S.max(QUEUED_ROUNDS * round_s);
        self.queued = if is_queued { self.queued + 1 } else { 0 };
        is_queued
    }

    /// Whether that has lasted, so that what seemed to be known is wrong.
    pub(super) const fn has_queue(&self) -> bool {
        self.queued >= QUEUED_SLOTS
    }

    /// Whether turns that take this part of the time by the usual length of one show that no other network sends.
    pub(super) fn is_alone(share: f64) -> bool {
        share > ALONE_SHARE
    }

    /// No other network sends.
    pub(super) fn settle(&mut self) {
        self.leave(SETTLED, SETTLED_PART);
    }

    /// It was not found out, or may have changed soon.
    pub(super) fn retry(&mut self) {
        self.leave(RETRIED, 0.0);
    }

    /// Asks none of the clients for so long, unless one is taken for one of less than `part` of its rate.
    fn leave(&mut self, time: Duration, part: f64) {
        let until = self.now.saturating_add(time);
        let settled = self.clients.iter().map(|&(station, bps)| Settled {
            station,
            until,
            from_bps: part * bps,
        });
        self.settled = settled.collect();
        self.end();
    }

    fn end(&mut self) {
        (self.since, self.queued) = (None, 0);
    }

    /// A survey begins, before which stations had these rates, bytes per second.
    pub(super) fn begin(&mut self, before: Vec<(StationId, f64)>) {
        (self.before, self.growth) = (before, 1.0);
    }

    /// Changes the rates of a survey after a slot. Returns whether the slot tells airtimes.
    pub(super) fn adapt(&mut self, shown: Shown) -> bool {
        let is_queued = self.queued > 0;
        let factor = if shown.is_short && !is_queued {
            SHORT
        } else if is_queued {
            QUEUED
        } else if shown.packets > LONG_FRAMES {
            LONG
        } else if shown.has_others && shown.share > ROOM_SHARE {
            ROOM
        } else {
            1.0
        };
        let (alone, among_others) = GROWTH_MOST;
        let most = if shown.has_others {
            among_others
        } else {
            alone
        };
        self.growth = (self.growth * factor).clamp(1.0 / among_others, most);
        !shown.is_short && !is_queued
    }

    /// Bytes per second in a survey to a station whose rate swings towards `sign`; `None` if it was not there before.
    pub(super) fn bytes_per_s(
        &self,
        station: StationId,
        sign: f64,
        has_others: bool,
    ) -> Option<f64> {
        let before = self.before.iter().find(|of| of.0 == station)?;
        let (mean, swing) = if has_others {
            SWING_AMONG_OTHERS
        } else {
            SWING_ALONE
        };
        Some(before.1 * self.growth * (mean + sign * swing))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATION: StationId = StationId(3);

    fn at(seconds: u64) -> Time {
        Time::from_millis(1_000 * seconds)
    }

    fn shown(share: f64, packets: f64, has_others: bool) -> Shown {
        Shown {
            share,
            is_short: packets < 2.5,
            packets,
            has_others,
        }
    }

    /// A survey before which the station had 100 bytes a second.
    fn surveyed() -> Asked {
        let mut asked = Asked::default();
        asked.note(at(0), vec![(STATION, 16e6)]);
        asked.begin(vec![(STATION, 100.0)]);
        asked
    }

    #[test]
    fn a_client_that_seems_slow_is_asked_once_in_a_while() {
        let mut asked = Asked::default();
        asked.note(at(0), vec![(STATION, 200e6)]);
        assert_eq!(asked.since(), None);
        asked.note(at(1), vec![(STATION, 16e6)]);
        asked.note(at(2), vec![(STATION, 16e6)]);
        assert_eq!(asked.since(), Some(at(1)));
        asked.settle();
        asked.note(at(3), vec![(STATION, 12e6)]);
        assert_eq!(asked.since(), None);
        // Another network has come.
        asked.note(at(4), vec![(STATION, 7e6)]);
        assert_eq!(asked.since(), Some(at(4)));
        asked.settle();
        asked.note(at(65), vec![(STATION, 7e6)]);
        assert_eq!(asked.since(), Some(at(65)));
    }

    #[test]
    fn what_one_client_has_told_does_not_hold_for_another() {
        let mut asked = surveyed();
        asked.settle();
        let other = StationId(4);
        asked.note(at(1), vec![(STATION, 16e6), (other, 200e6)]);
        assert_eq!(asked.since(), None);
        asked.note(at(2), vec![(STATION, 16e6), (other, 20e6)]);
        assert_eq!(asked.since(), Some(at(2)));
        // Both have gone, and nobody asks the next one without a reason.
        asked.note(at(3), Vec::new());
        asked.note(at(4), vec![(StationId(5), 200e6)]);
        assert_eq!(asked.since(), None);
    }

    #[test]
    fn an_interruption_is_no_answer() {
        let mut asked = surveyed();
        asked.note(at(2), vec![(STATION, 16e6)]);
        asked.interrupt();
        assert_eq!(asked.since(), Some(at(2)));
        asked.retry();
        asked.note(at(16), vec![(STATION, 16e6)]);
        assert_eq!(asked.since(), None);
        asked.note(at(17), vec![(STATION, 16e6)]);
        assert_eq!(asked.since(), Some(at(17)));
    }

    #[test]
    fn rates_swing_below_what_they_were_until_other_networks_show() {
        let asked = surveyed();
        let rate = |sign, has_others| asked.bytes_per_s(STATION, sign, has_others);
        assert_eq!(
            (rate(1.0, false), rate(-1.0, false)),
            (Some(100.0), Some(50.0))
        );
        assert_eq!(
            (rate(1.0, true), rate(-1.0, true)),
            (Some(140.0), Some(60.0))
        );
        assert_eq!(asked.bytes_per_s(StationId(4), 1.0, false), None);
    }

    #[test]
    fn rates_grow_beside_other_networks_until_payload_shows_and_while_frames_are_short() {
        let grown = |shown: Shown, slots: usize| {
            let mut asked = surveyed();
            let tells = (0..slots).filter(|_| asked.adapt(shown)).count();
            (asked.growth, tells)
        };
        assert_eq!(grown(shown(0.9, 10.0, false), 10), (1.0, 10));
        assert!((grown(shown(0.9, 10.0, true), 10).0 - ROOM.powi(10)).abs() < 1e-9);
        assert_eq!(grown(shown(0.5, 10.0, true), 10), (1.0, 10));
        assert!(grown(shown(0.9, 70.0, true), 10).0 < 0.4);
        assert_eq!(grown(shown(0.1, 1.0, false), 50), (GROWTH_MOST.0, 0));
        assert_eq!(grown(shown(0.1, 1.0, true), 50), (GROWTH_MOST.1, 0));
    }

    #[test]
    fn a_queue_shrinks_the_survey_and_counts_once_it_has_lasted() {
        let mut asked = surveyed();
        assert!(!asked.note_wait(0.02, 1e-3) && !asked.note_wait(0.1, 0.04));
        for _ in 0..QUEUED_SLOTS {
            assert!(!asked.has_queue());
            assert!(asked.note_wait(0.1, 0.01));
            assert!(!asked.adapt(shown(0.9, 20.0, true)));
        }
        assert!((asked.growth - QUEUED.powi(4)).abs() < 1e-9);
        assert!(asked.has_queue());
    }

    #[test]
    fn many_turns_show_that_no_other_network_sends() {
        assert!(Asked::is_alone(0.5) && !Asked::is_alone(0.35));
    }
}
