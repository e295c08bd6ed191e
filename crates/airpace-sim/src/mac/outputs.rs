//! What the MAC has to tell its caller, in order.

use super::delivery::Address;
use super::{DropReason, FrameRecord, Mpdu, Output, RadioId};
use airpace_units::Time;
use std::collections::VecDeque;

/// What is to be told, oldest first.
///
/// Packets and records of frames are in queues of their own: what is left of an [`Output`] then owns
/// nothing, and is written field by field instead of being put together and moved.
#[derive(Debug)]
pub(super) struct Outputs<P> {
    entries: VecDeque<Entry>,
    packets: VecDeque<P>,
    frames: VecDeque<FrameRecord>,
}

/// An [`Output`] without what it owns.
#[derive(Clone, Copy, Debug)]
enum Entry {
    Frame,
    Heard {
        mpdu: Mpdu,
        bytes: u32,
        has_copy: bool,
    },
    Delivered {
        at: Time,
        mpdu: Mpdu,
    },
    Dropped {
        at: Time,
        address: Address,
        reason: DropReason,
    },
}

impl<P> Outputs<P> {
    pub(super) const fn new() -> Self {
        Self {
            entries: VecDeque::new(),
            packets: VecDeque::new(),
            frames: VecDeque::new(),
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// A frame has left the air. Its record comes before its packets, but is complete only when
    /// their fate is known: [`Outputs::complete_frame`] follows.
    pub(super) fn begin_frame(&mut self) {
        self.entries.push_back(Entry::Frame);
    }

    pub(super) fn complete_frame(&mut self, record: &FrameRecord) {
        self.frames.push_back(*record);
    }

    #[inline(always)]
    pub(super) fn heard(&mut self, mpdu: Mpdu, bytes: u32, copy: Option<P>) {
        self.entries.push_back(Entry::Heard {
            mpdu,
            bytes,
            has_copy: copy.is_some(),
        });
        if let Some(copy) = copy {
            self.packets.push_back(copy);
        }
    }

    #[inline(always)]
    pub(super) fn delivered(&mut self, at: Time, mpdu: Mpdu, packet: P) {
        self.entries.push_back(Entry::Delivered { at, mpdu });
        self.packets.push_back(packet);
    }

    pub(super) fn dropped(&mut self, at: Time, address: Address, reason: DropReason, packet: P) {
        self.entries.push_back(Entry::Dropped {
            at,
            address,
            reason,
        });
        self.packets.push_back(packet);
    }

    /// The next output.
    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<Output<P>> {
        Some(match self.entries.pop_front()? {
            Entry::Frame => Output::Frame(Box::new(self.frames.pop_front()?)),
            Entry::Heard {
                mpdu,
                bytes,
                has_copy,
            } => Output::Heard {
                mpdu,
                bytes,
                packet: if has_copy {
                    self.packets.pop_front()
                } else {
                    None
                },
            },
            Entry::Delivered { at, mpdu } => Output::Delivered {
                at,
                mpdu,
                packet: self.packets.pop_front()?,
            },
            Entry::Dropped {
                at,
                address: Address { from, to, category },
                reason,
            } => Output::Dropped {
                at,
                from,
                to,
                category,
                reason,
                packet: self.packets.pop_front()?,
            },
        })
    }

    /// The next output if it is that a packet was handed over that came over this link: when, and
    /// the packet.
    #[inline]
    pub(super) fn pop_delivered(&mut self, from: RadioId, to: RadioId) -> Option<(Time, P)> {
        match self.entries.front() {
            Some(&Entry::Delivered { at, mpdu }) if mpdu.from == from && mpdu.to == to => {
                self.entries.pop_front();
                Some((at, self.packets.pop_front()?))
            }
            _ => None,
        }
    }

    /// The next output if it is that an MPDU of this link was heard of which no copy was made: the
    /// MPDU and the length of the packet.
    #[inline]
    pub(super) fn pop_heard(&mut self, from: RadioId, to: RadioId) -> Option<(Mpdu, u32)> {
        match self.entries.front() {
            Some(&Entry::Heard {
                mpdu,
                bytes,
                has_copy: false,
            }) if mpdu.from == from && mpdu.to == to => {
                self.entries.pop_front();
                Some((mpdu, bytes))
            }
            _ => None,
        }
    }
}
