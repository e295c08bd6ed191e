//! Stations whose answers count turns: clients of QUIC, and of TCP.
//!
//! Each frame that holds enough packets is answered, and its answer comes once per turn of the access point. How many packets are
//! enough depends on the client, and clients for which no packets wait leave turns out.

use super::super::sample::Sample;
use super::budget::OFTEN;
use crate::report::{Answers, SlotReport};
use airpace_units::{StationId, Time};
use core::time::Duration;

/// Packets that answers must be for on average, so that each frame has been answered: clients that answer every second
/// packet, and those that may wait for ten.
pub(super) const FEWEST_PER_ANSWER: (f64, f64) = (OFTEN, 11.5);
/// A client whose answers are for a number of packets in the first range has not waited for ten, and one whose are in the second
/// has. It is known not to wait once so many more slots have shown the former than the latter; at most [`SHOWN_MOST`] count.
const EARLY: (f64, f64) = (FEWEST_PER_ANSWER.0, 8.0);
const TENTH: (f64, f64) = (9.0, FEWEST_PER_ANSWER.1);
const SHOWN: f64 = 3.0;
const SHOWN_MOST: f64 = 10.0;
/// Packets in a slot that tell of what kind it is.
const TELLING_PACKETS: u32 = 30;
/// A client counts once packets to it have waited for this much longer than they have not: one that uses less than
/// it may does not count turns, and a page is loaded soon.
const WAITED: Duration = Duration::from_millis(500);
/// If its packets have not waited for [`WAITED`] within this time, its answers no longer tell.
const COUNTED_WITHIN: Duration = Duration::from_secs(15);
/// A station that has not answered for so long is no client any more.
const ANSWERED_WITHIN: Duration = Duration::from_secs(3);

/// The clients of a cell, in the order in which they have come.
#[derive(Clone, Debug, Default)]
pub(super) struct Clients {
    list: Vec<Client>,
    /// When the last slot has ended.
    now: Time,
}

#[derive(Clone, Copy, Debug)]
struct Client {
    station: StationId,
    /// When it answered over QUIC for the last time.
    quic: Option<Time>,
    answered: Time,
    /// For how long packets to it have waited more than not.
    waited: Duration,
    /// Whether they do, and when they last did for long.
    waits: bool,
    counted: Option<Time>,
    /// Slots in which it has answered before ten packets had come, less those in which it has not.
    early: f64,
}

impl Clients {
    /// Notes who answers in a slot.
    pub(super) fn note(&mut self, now: Time, reports: &[SlotReport]) {
        self.now = now;
        let is_stale = |client: &Client| now.saturating_since(client.answered) >= ANSWERED_WITHIN;
        self.list.retain(|client| !is_stale(client));
        for client in &mut self.list {
            client.waits = false;
        }
        for report in reports.iter().filter(|report| is_client(report)) {
            let mut list = self.list.iter_mut();
            if let Some(client) = list.find(|client| client.station == report.station) {
                client.note(now, report);
            } else if waits(report) {
                self.list.push(Client::new(now, report));
            }
        }
    }

    /// Forgets a station.
    pub(super) fn remove(&mut self, station: StationId) {
        self.list.retain(|client| client.station != station);
    }

    /// The clients of QUIC whose answers count turns, or have done so a moment ago.
    pub(super) fn remembered(&self) -> impl Iterator<Item = StationId> {
        let remembered = self.quic().filter(|client| client.counted.is_some());
        remembered.map(|client| client.station)
    }

    /// The clients of QUIC whose answers count turns.
    pub(super) fn counting(&self) -> impl Iterator<Item = StationId> {
        let counting = self.quic().filter(|client| client.counts(self.now));
        counting.map(|client| client.station)
    }

    /// The same, and those of TCP.
    pub(super) fn all(&self) -> impl Iterator<Item = StationId> {
        let counting = self.list.iter().filter(|client| client.counts(self.now));
        counting.map(|client| client.station)
    }

    fn quic(&self) -> impl Iterator<Item = &Client> {
        self.list.iter().filter(|client| client.quic.is_some())
    }

    /// The client of QUIC that has come first, whether its answers count turns or not yet.
    pub(super) fn first(&self) -> Option<StationId> {
        Some(self.quic().next()?.station)
    }

    /// Whether packets to the station wait, so that the access point always has frames to send.
    pub(super) fn waits(&self, station: StationId) -> bool {
        self.client(station).is_some_and(|client| client.waits)
    }

    /// How many packets its answers must be for on average, so that each frame has been answered.
    pub(super) fn fewest_per_answer(&self, station: StationId) -> f64 {
        let is_early = |client: &Client| client.quic.is_none() || client.early >= SHOWN;
        if self.client(station).is_some_and(is_early) {
            FEWEST_PER_ANSWER.0
        } else {
            FEWEST_PER_ANSWER.1
        }
    }

    fn client(&self, station: StationId) -> Option<&Client> {
        self.list.iter().find(|client| client.station == station)
    }
}

impl Client {
    fn new(now: Time, report: &SlotReport) -> Self {
        let mut client = Self {
            station: report.station,
            quic: None,
            answered: now,
            waited: Duration::ZERO,
            waits: false,
            counted: None,
            early: 0.0,
        };
        client.note(now, report);
        client
    }

    fn note(&mut self, now: Time, report: &SlotReport) {
        self.answered = now;
        if report.answers != Answers::Tell {
            self.quic = Some(now);
        }
        // It may have gone over to TCP.
        let is_recent = |at: &Time| now.saturating_since(*at) < ANSWERED_WITHIN;
        self.quic = self.quic.filter(is_recent);
        self.waits = report.sender.backlogged;
        self.waited = if self.waits {
            self.waited.saturating_add(report.length).min(WAITED)
        } else {
            self.waited.saturating_sub(report.length)
        };
        if self.waited >= WAITED {
            self.counted = Some(now);
        }
        self.early = (self.early + earliness(report)).clamp(-SHOWN_MOST, SHOWN_MOST);
    }

    fn counts(&self, now: Time) -> bool {
        let is_recent = |at: Time| now.saturating_since(at) < COUNTED_WITHIN;
        self.counted.is_some_and(is_recent)
    }
}

/// Whether the station answers, and a box alone tells of it.
fn is_client(report: &SlotReport) -> bool {
    answers(report)
        && Sample::read(report).is_some_and(|sample| sample.is_passive && sample.phy_bps.is_none())
}

/// Whether packets to the station wait, or most of the slot's have.
pub(super) fn waits(report: &SlotReport) -> bool {
    Sample::read(report).is_some_and(|sample| sample.has_waited())
}

/// Whether the station answers what it is sent.
pub(super) fn answers(report: &SlotReport) -> bool {
    report.frames > 0 || report.answers != Answers::Tell
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
pub(super) mod tests {
    use super::*;
    use crate::report::{SenderView, Sensor};

    pub(in super::super) const SLOT: Duration = Duration::from_millis(100);
    pub(in super::super) const QUIC: StationId = StationId(0);

    pub(in super::super) fn at(slot: u64) -> Time {
        Time::from_millis(100 * slot)
    }

    /// What a box reports of a station whose packets wait, which answers in `answers` bursts.
    pub(in super::super) fn report(
        station: StationId,
        sent: u32,
        answers: u32,
        kind: Answers,
    ) -> SlotReport {
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

    /// The clients after so many slots of these reports.
    fn after(slots: u64, reports: &[SlotReport]) -> Clients {
        let mut clients = Clients::default();
        for slot in 0..slots {
            clients.note(at(slot), reports);
        }
        clients
    }

    #[test]
    fn clients_count_turns_once_their_packets_have_waited_and_for_as_long_as_they_answer() {
        let quic = report(QUIC, 500, 30, Answers::Often);
        let mut idle = quic.clone();
        idle.sender.backlogged = false;
        let tcp = report(StationId(1), 500, 30, Answers::Tell);
        let seen = SlotReport {
            frames: 30,
            packets: 500,
            ..tcp.clone()
        };
        let all = after(5, &[seen, quic.clone()]).all().collect::<Vec<_>>();
        assert_eq!(all, [StationId(1), QUIC]);
        let both = [quic.clone(), tcp];
        assert_eq!(after(5, &both).all().count(), 1);
        assert_eq!(after(4, &both).counting().count(), 0);
        assert_eq!(after(5, &both).counting().collect::<Vec<_>>(), [QUIC]);
        assert_eq!(
            after(50, core::slice::from_ref(&idle)).counting().count(),
            0
        );
        let mut clients = after(5, &both);
        assert!(clients.waits(QUIC));
        clients.note(at(5), &[idle.clone()]);
        assert!(clients.counting().count() == 1 && !clients.waits(QUIC));
        for slot in 6..160 {
            clients.note(at(slot), core::slice::from_ref(&idle));
        }
        assert!(clients.counting().count() == 0 && clients.remembered().count() == 1);
        clients.note(at(200), &[]);
        assert_eq!(clients.remembered().count(), 0);
    }

    #[test]
    fn a_client_that_goes_over_to_tcp_is_one_of_quic_no_more() {
        let mut clients = after(5, &[report(QUIC, 500, 30, Answers::Often)]);
        let tcp = SlotReport {
            frames: 30,
            packets: 500,
            ..report(QUIC, 500, 30, Answers::Tell)
        };
        for slot in 5..40 {
            clients.note(at(slot), core::slice::from_ref(&tcp));
        }
        assert_eq!((clients.first(), clients.counting().count()), (None, 0));
        assert_eq!(clients.all().count(), 1);
    }

    #[test]
    fn a_client_that_may_wait_for_ten_packets_counts_longer_frames_alone() {
        let fewest = |per_answer: u32, kind| {
            let quic = report(QUIC, 30 * per_answer, 30, kind);
            after(20, &[quic]).fewest_per_answer(QUIC)
        };
        assert_eq!(fewest(20, Answers::Often), 2.5);
        assert_eq!(fewest(5, Answers::Seldom), 2.5);
        // Quinn may be asked to wait for ten, and answers all that it reads at once besides.
        assert_eq!(fewest(40, Answers::AtOnce), 11.5);
        assert_eq!(fewest(10, Answers::Seldom), 11.5);
        assert_eq!(fewest(40, Answers::Seldom), 11.5);
    }
}
