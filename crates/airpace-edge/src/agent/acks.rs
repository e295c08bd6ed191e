//! Acknowledgements that wait for company.
//!
//! A receiver of a paced download answers nearly every frame with an acknowledgement, and each of them contends with the
//! access point for a frame of its own: with minimum windows of 16 one in sixteen collides, and a whole data frame is
//! lost with it. Held for a few milliseconds, several go in one frame. None is dropped and none overtakes another packet.

use super::UplinkPacket;
use airpace_units::Time;
use core::time::Duration;
use std::collections::VecDeque;

/// Acknowledgements held at most: as many as an A-MPDU of 802.11ac carries.
const MOST: usize = 64;

/// Holds pure TCP acknowledgements until the first of them has waited long enough or another packet leaves.
pub(super) struct AckGather<P> {
    patience: Duration,
    held: VecDeque<P>,
    due: Option<Time>,
}

impl<P: UplinkPacket> AckGather<P> {
    /// Holds acknowledgements for `patience` at most; none if it is zero.
    pub(super) const fn new(patience: Duration) -> Self {
        Self {
            patience,
            held: VecDeque::new(),
            due: None,
        }
    }

    /// Keeps a packet if it can wait; otherwise gives it back, to leave right after [`AckGather::release`] has given
    /// all.
    pub(super) fn hold(&mut self, now: Time, packet: P) -> Option<P> {
        if self.patience.is_zero() || self.held.len() >= MOST || !packet.is_pure_ack() {
            return Some(packet);
        }
        self.due.get_or_insert(now.saturating_add(self.patience));
        self.held.push_back(packet);
        None
    }

    /// When all that is held must leave.
    pub(super) const fn deadline(&self) -> Option<Time> {
        self.due
    }

    /// The next packet that was held, in the order in which they came.
    pub(super) fn release(&mut self) -> Option<P> {
        self.due = None;
        self.held.pop_front()
    }

    /// Packets that are held.
    pub(super) fn len(&self) -> usize {
        self.held.len()
    }
}
