//! Stations that may be introduced.

use super::round::UnseenPart;
use airpace_units::{StationId, Time};
use core::time::Duration;

/// A station of which no sensor has seen anything for so long may be introduced. At the beginning of a
/// download nothing has been seen either.
const UNSEEN_FOR: Duration = Duration::from_millis(400);
/// For so long at the most it is sent nothing meanwhile.
const ABSENT_MOST: Duration = Duration::from_millis(300);

/// The stations that are sent packets of whose frames no sensor sees anything.
#[derive(Clone, Debug, Default)]
pub(super) struct Candidates(Vec<Candidate>);

#[derive(Clone, Copy, PartialEq, Debug)]
struct Candidate {
    station: StationId,
    /// When it was unseen first, without an interruption since, and last.
    since: Time,
    last: Time,
    /// Packets that it has been sent since.
    packets: f64,
}

impl Candidates {
    /// Takes notice of the stations that nobody sees in the slot that ends `now`. `on_gone` is told of those
    /// that are candidates no more.
    pub(super) fn notice(
        &mut self,
        now: Time,
        unseen: &[UnseenPart],
        mut on_gone: impl FnMut(StationId),
    ) {
        for part in unseen {
            let station = part.station;
            if let Some(candidate) = self.0.iter_mut().find(|of| of.station == station) {
                candidate.packets += part.pps * now.saturating_since(candidate.last).as_secs_f64();
                candidate.last = now;
            } else if part.may_dip {
                self.0.push(Candidate {
                    station,
                    since: now,
                    last: now,
                    packets: 0.0,
                });
            }
        }
        self.0.retain(|candidate| {
            let stays = now <= candidate.last + ABSENT_MOST;
            if !stays {
                on_gone(candidate.station);
            }
            stays
        });
    }

    pub(super) fn remove(&mut self, station: StationId) {
        self.0.retain(|candidate| candidate.station != station);
    }

    /// Those that have been unseen for long enough, and packets that they have been sent in that time.
    pub(super) fn ripe(&self, now: Time) -> impl Iterator<Item = (StationId, f64)> + '_ {
        let is_ripe = move |candidate: &&Candidate| now >= candidate.since + UNSEEN_FOR;
        self.0
            .iter()
            .filter(is_ripe)
            .map(|candidate| (candidate.station, candidate.packets))
    }
}
