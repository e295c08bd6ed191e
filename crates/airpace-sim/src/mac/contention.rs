//! Who may transmit when: EDCA (IEEE 802.11-2020 clause 10.23.2).
//!
//! An access function that has something to send waits in its radio's view of the channel until its
//! back-off has run down. Then it transmits, unless one of higher priority of the same radio wins
//! at the same time.

use super::Mac;
use super::ids::{AccessFunctionId, ContenderId, LinkId, ViewId};
use super::view::{CounterId, View};
use crate::rng::Stream;
use airpace_core::packet::Packet;
use airpace_core::phy::{AccessCategory, Edca};
use airpace_units::Time;

/// The back-off of an access function of a radio, or of a neighbour.
#[derive(Debug)]
pub(super) struct Contender {
    id: ContenderId,
    backoff: Stream,
    cw_min: u32,
    cw_max: u32,
    /// Contention window now.
    window: u32,
    /// Whether it waits for the channel: what it had to send may have gone since.
    is_waiting: bool,
    /// Count of idle slots at which the back-off has run down.
    expires: u64,
    /// The view of the channel in which it waits, and its counter there.
    view: ViewId,
    counter: CounterId,
}

impl Contender {
    /// A contender with nothing to send; `state` is the state of the view `view`.
    pub(super) fn new(
        id: ContenderId,
        edca: &Edca,
        view: ViewId,
        state: &mut View,
        backoff: Stream,
    ) -> Self {
        let cw_min = u32::from(edca.cw_min);
        Self {
            id,
            backoff,
            cw_min,
            cw_max: u32::from(edca.cw_max),
            window: cw_min,
            is_waiting: false,
            expires: 0,
            view,
            counter: state.counter(edca.aifsn),
        }
    }

    pub(super) const fn view(&self) -> ViewId {
        self.view
    }

    pub(super) const fn id(&self) -> ContenderId {
        self.id
    }

    /// Something to send has come, and there was nothing before.
    pub(super) fn arrive(&mut self, now: Time, view: &mut View) {
        if self.is_waiting {
            return;
        }
        if self.expires <= view.counted(self.counter, now) {
            // No back-off is pending. One is drawn if the channel is busy; else access follows at
            // the next slot boundary (10.23.2.4).
            if view.is_busy(now) {
                self.draw(now, view);
            } else {
                self.expires = view.boundary(self.counter, now);
            }
        }
        self.wait(view);
    }

    /// Waits for the channel with the back-off that is pending.
    pub(super) fn wait(&mut self, view: &mut View) {
        self.is_waiting = true;
        view.wait(self.counter, self.expires, self.id);
    }

    /// It has won the channel.
    pub(super) const fn win(&mut self) {
        self.is_waiting = false;
    }

    /// Draws a new back-off after an exchange. The contention window falls back to its smallest
    /// value if the exchange is `done` with (it succeeded, or its frame was given up), and doubles
    /// if not.
    pub(super) fn back_off(&mut self, now: Time, view: &View, done: bool) {
        self.window = if done {
            self.cw_min
        } else {
            (2 * self.window + 1).min(self.cw_max)
        };
        self.draw(now, view);
    }

    fn draw(&mut self, now: Time, view: &View) {
        self.expires = view.counted(self.counter, now) + u64::from(self.backoff.up_to(self.window));
    }
}

/// The stream of an access function. Best effort has the streams of the cell from which this MAC
/// grew, so that results of a cell stay what they were for the same seed.
pub(super) fn backoff_stream(seed: u64, function: AccessFunctionId, key: Option<u64>) -> Stream {
    let AccessFunctionId { radio, category } = function;
    let number = category as u64;
    if let Some(key) = key {
        return Stream::new(seed, "named backoff", key.wrapping_add(number));
    }
    match (radio.0, category) {
        (0, AccessCategory::BestEffort) => Stream::new(seed, "access point", 0),
        (radio, AccessCategory::BestEffort) => Stream::new(seed, "station", u64::from(radio - 1)),
        (radio, _) => Stream::new(seed, "backoff", u64::from(radio) * 4 + number),
    }
}

impl<P: Packet + Clone> Mac<P> {
    /// An access function that had nothing to send contends from now on.
    pub(super) fn contend(&mut self, now: Time, function: AccessFunctionId) {
        let contender = &mut self.radios[function.radio.index()].contenders[function.category];
        let view = contender.view();
        contender.arrive(now, self.air.view_mut(view));
        self.air.refresh(view);
        self.next = self.find_next();
    }

    /// All contenders whose back-off has run down transmit. Of the access functions of one radio
    /// only that of the highest priority does; to the others that is a collision (10.23.2.4).
    pub(super) fn grant(&mut self, at: Time) {
        let mut winners = core::mem::take(&mut self.winners);
        self.air.take_winners(at, &mut winners);
        // Access functions of one radio stand next to each other, the highest priority last.
        winners.sort_unstable();
        for (index, &winner) in winners.iter().enumerate() {
            if let ContenderId::Radio(function) = winner {
                self.radios[function.radio.index()].contenders[function.category].win();
            }
            match winner {
                ContenderId::Neighbour(number) => self.transmit_neighbour(number, at),
                ContenderId::Radio(function) if !yields(function, &winners[index + 1..]) => {
                    self.transmit(function, at);
                }
                ContenderId::Radio(_) => {}
                ContenderId::Management(radio) => self.transmit_management(radio, at),
            }
        }
        for (index, &winner) in winners.iter().enumerate() {
            if let ContenderId::Radio(function) = winner
                && yields(function, &winners[index + 1..])
            {
                self.collide_internally(function, at);
            }
        }
        winners.clear();
        self.winners = winners;
    }

    /// The window of an access function that yields to one of its own radio doubles as after a
    /// collision on the air, and the attempt counts towards the retry limit.
    fn collide_internally(&mut self, function: AccessFunctionId, at: Time) {
        let link = self.radios[function.radio.index()]
            .paths
            .next_link(function.category);
        let spent = link.is_some_and(|link| self.count_unanswered(link));
        let contender = &mut self.radios[function.radio.index()].contenders[function.category];
        let view = contender.view();
        contender.back_off(at, self.air.view_mut(view), spent);
        contender.wait(self.air.view_mut(view));
        self.air.refresh(view);
    }

    /// Counts a frame without an answer. Returns whether it was the last of as many in a row as the
    /// retry limit allows.
    pub(super) fn count_unanswered(&mut self, link: LinkId) -> bool {
        let link = &mut self.links[link.index()];
        link.unanswered += 1;
        let spent = link.unanswered >= self.rules.retry_limit;
        if spent {
            link.unanswered = 0;
        }
        spent
    }

    /// Ends the access to the channel: a new back-off begins, and the access function contends
    /// again if it has anything to send. See [`Contender::back_off`] for `done`.
    pub(super) fn back_off(&mut self, at: Time, function: AccessFunctionId, done: bool) {
        let radio = &mut self.radios[function.radio.index()];
        let contender = &mut radio.contenders[function.category];
        let view = contender.view();
        contender.back_off(at, self.air.view_mut(view), done);
        if radio.paths[function.category].has_work() {
            contender.wait(self.air.view_mut(view));
        }
        self.air.refresh(view);
    }
}

/// Whether `function` must leave the channel to one of its own radio: to the next of the winners, or
/// to its management frames, which are last.
fn yields(function: AccessFunctionId, later: &[ContenderId]) -> bool {
    let is_next =
        matches!(later.first(), Some(ContenderId::Radio(next)) if next.radio == function.radio);
    let is_managed = || later.contains(&ContenderId::Management(function.radio));
    is_next || matches!(later.last(), Some(ContenderId::Management(_))) && is_managed()
}
