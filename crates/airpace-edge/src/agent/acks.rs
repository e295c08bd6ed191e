//! Gathers pure TCP acknowledgements, so that several share a frame.
//!
//! A receiver of a paced download answers nearly every frame with an acknowledgement, and each of
//! them contends with the access point for a frame of its own: with minimum contention windows of
//! 16 one in sixteen collides, and a whole data frame is lost with it. Held for a few milliseconds,
//! several go in one frame. None is dropped, and none overtakes another packet.

use super::UplinkPacket;
use airpace_units::Time;
use core::time::Duration;
use std::collections::VecDeque;

/// Most acknowledgements that are held: as many as an A-MPDU of 802.11ac carries.
const MAX_HELD: usize = 64;

/// Holds pure TCP acknowledgements until the first of them has waited long enough or another packet
/// leaves.
pub(super) struct AckGather<P> {
    patience: Duration,
    held: VecDeque<P>,
    /// When everything held must leave.
    due: Option<Time>,
}

impl<P: UplinkPacket> AckGather<P> {
    /// Holds acknowledgements for at most `patience`; if that is zero, none.
    pub(super) const fn new(patience: Duration) -> Self {
        Self {
            patience,
            held: VecDeque::new(),
            due: None,
        }
    }

    /// Keeps a packet if it can wait. Otherwise returns it, to leave after everything that
    /// [`AckGather::release`] returns.
    pub(super) fn hold(&mut self, now: Time, packet: P) -> Option<P> {
        if self.patience.is_zero() || self.held.len() >= MAX_HELD || !packet.is_pure_ack() {
            return Some(packet);
        }
        self.due.get_or_insert(now.saturating_add(self.patience));
        self.held.push_back(packet);
        None
    }

    /// When everything held must leave.
    pub(super) const fn deadline(&self) -> Option<Time> {
        self.due
    }

    /// The next held packet, in the order of arrival.
    pub(super) fn release(&mut self) -> Option<P> {
        self.due = None;
        self.held.pop_front()
    }

    /// Packets that are held.
    pub(super) fn len(&self) -> usize {
        self.held.len()
    }
}
