//! Who may transmit when: EDCA (IEEE 802.11-2020 clause 10.23.2) with every node in range of every other.

use crate::rng::Stream;
use airpace_core::phy::{Edca, SIFS, SLOT};
use airpace_units::Time;
use core::time::Duration;

/// One node's access function.
///
/// Idle slots are counted once for the whole cell; a node that draws a back-off of b slots remembers the count at which it
/// expires. So a node that waits costs nothing until the channel is won.
#[derive(Debug)]
pub(super) struct Contender {
    backoff: Stream,
    /// Contention window now.
    window: u32,
    /// Idle-slot count at which the back-off has run down.
    expires: u64,
    /// When the node got something to send.
    ready: Time,
}

/// The channel as all nodes see it.
#[derive(Debug)]
pub(super) struct Channel {
    edca: Edca,
    aifs: Duration,
    /// Since when (or from when on) the channel is idle.
    idle_since: Time,
    /// Idle slots counted so far, those after each AIFS only.
    idle_slots: u64,
}

impl Channel {
    pub(super) fn new(edca: Edca) -> Self {
        Self { aifs: edca.aifs(), edca, idle_since: Time::ZERO, idle_slots: 0 }
    }

    /// Whether something is in the air (or protected by an interframe space) at `now`.
    pub(super) fn is_busy(&self, now: Time) -> bool {
        now < self.idle_since
    }

    /// Earliest access for a frame that goes before all data (a beacon), due at `due`: one PIFS of idleness.
    pub(super) fn priority_access(&self, due: Time) -> Time {
        due.max(self.idle_since + SIFS + SLOT)
    }

    /// The channel is taken from `start` until it falls idle at `idle`.
    pub(super) fn occupy(&mut self, start: Time, idle: Time) {
        self.idle_slots += self.slots_until(start);
        self.idle_since = idle;
    }

    /// Whole idle slots counted from the last AIFS to `at`.
    fn slots_until(&self, at: Time) -> u64 {
        let span = at.saturating_since(self.idle_since + self.aifs).as_nanos();
        // A span is below 2^64 ns, so the quotient fits.
        (span / SLOT.as_nanos()) as u64
    }
}

impl Contender {
    pub(super) fn new(seed: u64, name: &str, index: u64, edca: &Edca) -> Self {
        Self { backoff: Stream::new(seed, name, index), window: u32::from(edca.cw_min), expires: 0, ready: Time::ZERO }
    }

    /// Something to send has come to a node that had nothing.
    ///
    /// If the channel is busy and no back-off is pending, one is drawn; if it is idle, access follows at the next slot boundary.
    pub(super) fn arrive(&mut self, now: Time, channel: &Channel) {
        self.ready = now;
        let pending = self.expires > channel.idle_slots + channel.slots_until(now);
        if !pending && channel.is_busy(now) {
            self.draw(channel);
        }
    }

    /// When the node may transmit if the channel stays idle.
    pub(super) fn access(&self, channel: &Channel) -> Time {
        let start = channel.idle_since + channel.aifs;
        let remaining = self.expires.saturating_sub(channel.idle_slots);
        let boundary = self.ready.saturating_since(start).as_nanos().div_ceil(SLOT.as_nanos()) as u64;
        // Back-offs are at most 1023 slots and idle periods far below 2^64 ns / SLOT.
        start + Duration::from_nanos(SLOT.as_nanos() as u64 * remaining.max(boundary))
    }

    /// The exchange succeeded (or its frame was given up): the window falls back and a new back-off begins.
    pub(super) fn succeed(&mut self, channel: &Channel) {
        self.window = u32::from(channel.edca.cw_min);
        self.draw(channel);
    }

    /// The exchange failed: the window doubles and a new back-off begins.
    pub(super) fn fail(&mut self, channel: &Channel) {
        self.window = (2 * self.window + 1).min(u32::from(channel.edca.cw_max));
        self.draw(channel);
    }

    fn draw(&mut self, channel: &Channel) {
        self.expires = channel.idle_slots + u64::from(self.backoff.up_to(self.window));
    }
}
