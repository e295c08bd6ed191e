//! Who may transmit when: EDCA (IEEE 802.11-2020 clause 10.23.2).

use super::view::View;
use crate::rng::Stream;
use airpace_core::phy::Edca;
use airpace_units::Time;

/// The access function of one category of one radio, or of a neighbour.
#[derive(Debug)]
pub(super) struct Contender {
    backoff: Stream,
    cw_min: u32,
    cw_max: u32,
    /// Contention window now.
    window: u32,
    /// Idle-slot count at which the back-off has run down.
    expires: u64,
    /// The view of the channel that it has, and its counter there.
    view: u32,
    counter: u32,
    /// Its number.
    node: u32,
}

impl Contender {
    pub(super) fn new(
        node: u32,
        edca: &Edca,
        (index, view): (u32, &mut View),
        backoff: Stream,
    ) -> Self {
        let (cw_min, cw_max) = (u32::from(edca.cw_min), u32::from(edca.cw_max));
        // A view has as many counters as there are arbitration spaces, of which there are at most 255.
        let counter = view.counter(edca.aifsn) as u32;
        Self {
            backoff,
            cw_min,
            cw_max,
            window: cw_min,
            expires: 0,
            view: index,
            counter,
            node,
        }
    }

    pub(super) const fn view(&self) -> usize {
        self.view as usize
    }

    pub(super) const fn node(&self) -> u32 {
        self.node
    }

    /// Something to send has come to a node that had nothing.
    ///
    /// If the channel is busy and no back-off is pending, one is drawn; if it is idle, access follows at the next slot boundary.
    pub(super) fn arrive(&mut self, now: Time, view: &mut View) {
        let counter = self.counter as usize;
        if self.expires <= view.counted(counter, now) {
            if view.is_busy(now) {
                self.draw(now, view);
            } else {
                self.expires = view.boundary(counter, now);
            }
        }
        self.wait(view);
    }

    /// Waits for the channel with the back-off that is pending.
    pub(super) fn wait(&mut self, view: &mut View) {
        view.wait(self.counter as usize, self.expires, self.node);
    }

    /// The exchange succeeded (or its frame was given up): the window falls back and a new back-off begins.
    pub(super) fn succeed(&mut self, now: Time, view: &View) {
        self.window = self.cw_min;
        self.draw(now, view);
    }

    /// The exchange failed: the window doubles and a new back-off begins.
    pub(super) fn fail(&mut self, now: Time, view: &View) {
        self.window = (2 * self.window + 1).min(self.cw_max);
        self.draw(now, view);
    }

    fn draw(&mut self, now: Time, view: &View) {
        self.expires =
            view.counted(self.counter as usize, now) + u64::from(self.backoff.up_to(self.window));
    }
}
