//! Gathers pure TCP acknowledgements, so that several share a frame, and thins them.
//!
//! A receiver of a paced download answers nearly every frame with an acknowledgement, and each of
//! them contends with the access point for a frame of its own: with minimum contention windows of
//! 16 one in sixteen collides, and a whole data frame is lost with it. Held for a few milliseconds,
//! several go in one frame. None overtakes another packet. In a cell of several stations a round of
//! the access point takes longer, and each frame up delays all of them: there acknowledgements of
//! a bulk download are held for some rounds. How long is decided by [`AckHold`](super::hold::AckHold).
//!
//! Of the acknowledgements of a connection that are held together, those that lie between two
//! others and say nothing of their own are dropped: see [`is_redundant`]. The rules are stricter than
//! those of the ACK filter of CAKE in its conservative mode (T. Høiland-Jørgensen, D. Täht,
//! J. Morton: Piece of CAKE, LANMAN 2018, §III.D), which lets windows and selective acknowledgements
//! go that later ones cover.

use super::UplinkPacket;
use airpace_core::wire::tcp::{PureAck, Timestamps};
use airpace_units::Time;
use core::time::Duration;
use std::collections::VecDeque;

/// Most acknowledgements that are held: as many as an A-MPDU of 802.11ac carries.
const MAX_HELD: usize = 64;

/// Holds pure TCP acknowledgements until the first of them has waited long enough or another packet
/// leaves.
pub(super) struct AckGather<P> {
    patience: Duration,
    /// Whether redundant acknowledgements are dropped.
    thins: bool,
    held: VecDeque<HeldAck<P>>,
    /// When everything held must leave.
    due: Option<Time>,
}

struct HeldAck<P> {
    packet: P,
    ack: PureAck,
}

/// What [`AckGather::hold`] has done with a packet.
pub(super) enum Held<P> {
    /// It waits.
    Waits,
    /// It waits in the place of this one, which it makes redundant.
    Replaces(P),
    /// It cannot wait, and leaves after everything that [`AckGather::release`] returns.
    Passes(P),
}

impl<P: UplinkPacket> AckGather<P> {
    /// Holds acknowledgements for at most `patience`; if that is zero, none. `thins` says whether
    /// redundant ones are dropped.
    pub(super) const fn new(patience: Duration, thins: bool) -> Self {
        Self {
            patience,
            thins,
            held: VecDeque::new(),
            due: None,
        }
    }

    /// Changes how long acknowledgements are held from now on.
    pub(super) const fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    /// Keeps a packet if it can wait.
    pub(super) fn hold(&mut self, now: Time, packet: P) -> Held<P> {
        if self.patience.is_zero() || self.held.len() >= MAX_HELD {
            return Held::Passes(packet);
        }
        let Some(ack) = packet.pure_ack() else {
            return Held::Passes(packet);
        };
        self.due.get_or_insert(now.saturating_add(self.patience));
        if self.thins
            && let Some(place) = self.redundant(&packet, &ack)
        {
            // In the place of the older one it neither overtakes nor falls behind anything of its
            // own flow, because that was the flow's last; and it leaves when the first one was due,
            // which is sooner than if it waited on its own account.
            let replaced = core::mem::replace(&mut self.held[place], HeldAck { packet, ack });
            return Held::Replaces(replaced.packet);
        }
        self.held.push_back(HeldAck { packet, ack });
        Held::Waits
    }

    /// The place of the last acknowledgement of the same flow, if `packet` makes it redundant.
    fn redundant(&self, packet: &P, ack: &PureAck) -> Option<usize> {
        let mut of_flow = self
            .held
            .iter()
            .enumerate()
            .rev()
            .filter(|(_, held)| held.packet.is_same_flow(packet));
        let (place, middle) = of_flow.next()?;
        // The first of a flow always stays: whether it repeats one that has already left cannot be
        // told.
        let (_, earlier) = of_flow.next()?;
        is_redundant(&earlier.ack, &middle.ack, ack).then_some(place)
    }

    /// When everything held must leave.
    pub(super) const fn deadline(&self) -> Option<Time> {
        self.due
    }

    /// The next held packet, in the order of arrival.
    pub(super) fn release(&mut self) -> Option<P> {
        self.due = None;
        self.held.pop_front().map(|held| held.packet)
    }

    /// Packets that are held.
    pub(super) fn len(&self) -> usize {
        self.held.len()
    }
}

/// Whether the middle one of three consecutive acknowledgements of a flow tells the sender nothing
/// that the later one does not.
fn is_redundant(earlier: &PureAck, middle: &PureAck, later: &PureAck) -> bool {
    // Acknowledgements that repeat a number are signals of loss (RFC 5681 §3.2), and so is the one
    // that they repeat, because senders count from it.
    let advances =
        is_before(earlier.number, middle.number) && is_before(middle.number, later.number);
    // SACK blocks, and options that are not known here, may be news.
    let is_plain = middle.is_plain && later.is_plain;
    // A new window or new ECN feedback reaches the sender with the first acknowledgement that has
    // it. For accurate ECN, equal counters mean that no mark was counted in between.
    let says_the_same = middle.window == later.window && middle.ecn == later.ecn;
    advances && is_plain && says_the_same && keeps_time(middle.timestamps, later.timestamps)
}

/// Whether neither timestamp goes back from one acknowledgement to the next.
fn keeps_time(middle: Option<Timestamps>, later: Option<Timestamps>) -> bool {
    match (middle, later) {
        (None, None) => true,
        (Some(middle), Some(later)) => {
            !is_before(later.value, middle.value) && !is_before(later.echo, middle.echo)
        }
        _ => false,
    }
}

/// Whether one sequence number or timestamp is before another, of numbers that wrap around (RFC
/// 9293 §3.4, RFC 7323 §5.2).
const fn is_before(number: u32, other: u32) -> bool {
    (number.wrapping_sub(other) as i32) < 0
}

#[cfg(test)]
mod tests;
