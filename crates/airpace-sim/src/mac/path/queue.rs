//! The packets of which the frames of one lane are composed.

use crate::mac::frame::{Limits, MpduSize, next_mpdu};
use airpace_core::packet::Packet;
use airpace_core::phy::mpdu_bytes;
use airpace_units::Time;
use std::collections::VecDeque;

/// Where a frame takes its packets from.
pub(in crate::mac) trait Feed<P> {
    /// The size of the MPDU that the next packets form; see [`next_mpdu`].
    fn next_mpdu(&mut self, limits: &Limits, room: u32) -> Option<MpduSize>;

    /// Takes the next packet, with the time at which it came.
    fn pop(&mut self) -> Option<(Time, P)>;
}

/// Packets that wait for one link, each with the time at which it came.
#[derive(Debug)]
pub(in crate::mac) struct Queue<P> {
    packets: VecDeque<(Time, P)>,
    bytes: u64,
}

impl<P: Packet> Queue<P> {
    pub(super) const fn new() -> Self {
        Self {
            packets: VecDeque::new(),
            bytes: 0,
        }
    }

    #[inline]
    pub(super) fn push(&mut self, came: Time, packet: P) {
        self.bytes += u64::from(packet.bytes());
        self.packets.push_back((came, packet));
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }

    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// When the first packet came.
    pub(super) fn oldest(&self) -> Option<Time> {
        self.packets.front().map(|(came, _)| *came)
    }
}

impl<P: Packet> Feed<P> for Queue<P> {
    #[inline]
    fn next_mpdu(&mut self, limits: &Limits, room: u32) -> Option<MpduSize> {
        let (_, first) = self.packets.front()?;
        if limits.amsdu == 0 {
            return Some(MpduSize {
                bytes: mpdu_bytes(first.bytes()),
                packets: 1,
            });
        }
        next_mpdu(self.packets.iter().map(|(_, packet)| packet), limits, room)
    }

    #[inline]
    fn pop(&mut self) -> Option<(Time, P)> {
        let (came, packet) = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.bytes());
        Some((came, packet))
    }
}

/// Packets that are taken one by one out of a queue that decides only then which is next. A packet
/// that was taken and does not fit the frame stays in `staged` for the next one.
pub(super) struct Staged<'a, P, F> {
    staged: &'a mut Queue<P>,
    take: F,
}

impl<'a, P: Packet, F: FnMut() -> Option<(Time, P)>> Staged<'a, P, F> {
    /// Packets that come out of `take` when those in `staged` are used up.
    pub(super) const fn new(staged: &'a mut Queue<P>, take: F) -> Self {
        Self { staged, take }
    }

    /// Takes one more packet. Returns whether there was one.
    fn stage(&mut self) -> bool {
        let Some((came, packet)) = (self.take)() else {
            return false;
        };
        self.staged.push(came, packet);
        true
    }
}

impl<P: Packet, F: FnMut() -> Option<(Time, P)>> Feed<P> for Staged<'_, P, F> {
    fn next_mpdu(&mut self, limits: &Limits, room: u32) -> Option<MpduSize> {
        if self.staged.len() == 0 && !self.stage() {
            return None;
        }
        loop {
            let mpdu = self.staged.next_mpdu(limits, room)?;
            // An A-MSDU that uses up what is staged may have room for more.
            let uses_all = limits.amsdu > 0 && usize::from(mpdu.packets) == self.staged.len();
            if !uses_all || !self.stage() {
                return Some(mpdu);
            }
        }
    }

    fn pop(&mut self) -> Option<(Time, P)> {
        self.staged.pop()
    }
}
