//! The block-ack window of one link and access category: what was sent and is not settled, at its sender and at its receiver.

use super::frame::{Assembly, Built, Limits, Rules};
use super::path::Feed;
use airpace_core::packet::Packet;
use airpace_core::phy::TxRate;
use airpace_units::Time;
use std::collections::VecDeque;

/// An MPDU that was composed and is not settled at both ends.
#[derive(Debug)]
struct Entry<P> {
    /// Its first packet, until it is handed over in order or given up; the others are in [`Window::more`].
    packet: Option<P>,
    /// When that packet had come.
    since: Time,
    bytes: u32,
    /// The frame in which it was decoded.
    ampdu: u32,
    packets: u16,
    tries: u8,
    state: State,
    /// Whether it has been on the air, and whether it had been before it was decoded.
    sent: bool,
    retried: bool,
    received: bool,
    /// Its packets were handed over out of order.
    handed: bool,
}

/// What its sender knows of an MPDU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// To be sent (again).
    Due,
    /// In the composed frame of this number.
    Framed(u8),
    /// Acknowledged, or given up after the last try.
    Settled,
}

/// What becomes of a packet, in the order in which it happens.
#[derive(Debug)]
pub(super) enum Fate<P> {
    /// Its MPDU was decoded.
    Heard {
        packet: P,
        sequence: u16,
        ampdu: u32,
        retry: bool,
    },
    /// Handed over.
    Released {
        packet: P,
        sequence: u16,
        ampdu: u32,
        retry: bool,
    },
    /// Given up.
    GivenUp { packet: P },
}

/// What the end of an exchange has settled.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Settled {
    /// MPDUs acknowledged.
    pub(super) acked: u16,
    /// Packets acknowledged or given up: they are no longer the sender's.
    pub(super) packets: usize,
}

#[derive(Debug)]
pub(super) struct Window<P> {
    /// Oldest first, consecutive sequence numbers.
    entries: VecDeque<Entry<P>>,
    /// Packets of A-MSDUs beyond the first of each, of the entries from `released` on, in order.
    more: VecDeque<P>,
    /// Entries at the head whose packets have been handed over or given up.
    released: usize,
    /// Packets that were sent and are neither handed over nor given up.
    in_flight: usize,
    /// Sequence number of the head; the standard's 12 bits are its low ones.
    head: u64,
    /// Entries that must be sent again.
    due: usize,
    /// Number of the next frame; at once there are far fewer than it can tell apart.
    frame: u8,
}

impl<P: Packet + Clone> Window<P> {
    pub(super) const fn new() -> Self {
        Self {
            entries: VecDeque::new(),
            more: VecDeque::new(),
            released: 0,
            in_flight: 0,
            head: 0,
            due: 0,
            frame: 0,
        }
    }

    /// Packets that were sent and are neither handed over nor given up.
    pub(super) const fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Whether something must be sent again and is in no composed frame. Between exchanges whatever else is left in the window is in one, or
    /// stands behind what is or must be sent.
    pub(super) const fn has_due(&self) -> bool {
        self.due > 0
    }

    /// When the oldest packet that is not settled had come.
    pub(super) fn oldest(&self) -> Option<Time> {
        self.entries.front().map(|entry| entry.since)
    }

    /// Composes the next frame: retransmissions first, then new packets from `queue`, within every limit. `None` if there is nothing
    /// to send.
    pub(super) fn build(
        &mut self,
        queue: &mut impl Feed<P>,
        rate: TxRate,
        limits: &Limits,
        rules: &Rules,
    ) -> Option<Built> {
        let mut frame = Assembly::default();
        let mut retries = 0;
        let number = self.frame;
        let before = self.due;
        let due = self
            .entries
            .iter_mut()
            .enumerate()
            .filter(|(_, entry)| entry.state == State::Due);
        for (offset, entry) in due.take(before) {
            if !frame.add(offset, (entry.bytes, entry.packets), limits) {
                break;
            }
            entry.state = State::Framed(number);
            self.due -= 1;
            retries += u16::from(entry.sent);
        }
        while self.entries.len() < limits.window {
            let Some(mpdu) = queue.next_mpdu(limits, frame.room(limits)) else {
                break;
            };
            if !frame.add(self.entries.len(), mpdu, limits) {
                break;
            }
            self.begin_flight(queue, mpdu);
        }
        let mut built = frame.finish(retries, rate, rules)?;
        built.number = number;
        self.frame = number.wrapping_add(1);
        Some(built)
    }

    fn begin_flight(&mut self, queue: &mut impl Feed<P>, (bytes, packets): (u32, u16)) {
        let Some((since, packet)) = queue.pop() else {
            return;
        };
        for _ in 1..packets {
            self.more.extend(queue.pop().map(|(_, packet)| packet));
        }
        self.in_flight += usize::from(packets);
        self.entries.push_back(Entry {
            packet: Some(packet),
            since,
            bytes,
            ampdu: 0,
            packets,
            tries: 0,
            state: State::Framed(self.frame),
            sent: false,
            retried: false,
            received: false,
            handed: false,
        });
    }

    /// The frame has ended, which got this number on the air. Each MPDU is decoded or `lost`; returns how many were. `tell` hears what a monitor sees, and what is handed
    /// over by receivers that do not reorder.
    pub(super) fn receive(
        &mut self,
        (frame, ampdu): (u8, u32),
        rules: &Rules,
        mut lost: impl FnMut(u32) -> bool,
        mut tell: impl FnMut(Fate<P>),
    ) -> u16 {
        let (mut decoded, mut place) = (0, 0);
        for (offset, entry) in self.entries.iter_mut().enumerate() {
            let first = place;
            place += if offset < self.released {
                0
            } else {
                usize::from(entry.packets) - 1
            };
            if entry.state != State::Framed(frame) {
                continue;
            }
            entry.tries = entry.tries.saturating_add(1);
            let retry = core::mem::replace(&mut entry.sent, true);
            if lost(entry.bytes) {
                continue;
            }
            decoded += 1;
            let again = core::mem::replace(&mut entry.received, true);
            if !again {
                (entry.ampdu, entry.retried) = (ampdu, retry);
            }
            if !rules.monitor && rules.in_order {
                continue;
            }
            let sequence = sequence_number(self.head + offset as u64);
            // The packets of an MPDU that was handed over in order are not here any more.
            let carried = entry
                .packet
                .iter()
                .chain(self.more.iter().skip(first).take(place - first));
            if rules.monitor {
                carried.clone().for_each(|packet| {
                    tell(Fate::Heard {
                        packet: packet.clone(),
                        sequence,
                        ampdu,
                        retry,
                    })
                });
            }
            if !rules.in_order && !again {
                self.in_flight -= usize::from(entry.packets);
                carried.for_each(|packet| {
                    tell(Fate::Released {
                        packet: packet.clone(),
                        sequence,
                        ampdu,
                        retry,
                    })
                });
                entry.handed = true;
            }
        }
        decoded
    }

    /// The frame was not sent, because nothing answered the request to send it: that counts as a try of each of its MPDUs.
    pub(super) fn withhold(&mut self, frame: u8) {
        for entry in self
            .entries
            .iter_mut()
            .filter(|entry| entry.state == State::Framed(frame))
        {
            entry.tries = entry.tries.saturating_add(1);
        }
    }

    /// The exchange is over; the sender knows what was received if it was `answered`. `tell` hears what is handed over or given up
    /// now.
    pub(super) fn settle(
        &mut self,
        (frame, answered): (u8, bool),
        rules: &Rules,
        mut tell: impl FnMut(Fate<P>),
    ) -> Settled {
        let mut settled = Settled::default();
        if answered {
            self.settle_head(frame, &mut settled, &mut tell);
        }
        for entry in self
            .entries
            .iter_mut()
            .filter(|entry| entry.state == State::Framed(frame))
        {
            let acked = answered && entry.received;
            if acked || entry.tries >= rules.retry_limit {
                entry.state = State::Settled;
                settled.acked += u16::from(acked);
                settled.packets += usize::from(entry.packets);
            } else {
                entry.state = State::Due;
                self.due += 1;
            }
        }
        self.release(&mut tell);
        settled
    }

    /// The same for the MPDUs at the head that are received, hold one packet each and were not handed over: nearly all that there are.
    fn settle_head(&mut self, frame: u8, settled: &mut Settled, tell: &mut impl FnMut(Fate<P>)) {
        if self.released > 0 {
            return;
        }
        while let Some(entry) = self.entries.front_mut() {
            let plain = entry.packets == 1 && !entry.handed;
            if entry.state != State::Framed(frame) || !entry.received || !plain {
                break;
            }
            let (ampdu, retry) = (entry.ampdu, entry.retried);
            let packet = entry.packet.take();
            self.entries.pop_front();
            let sequence = sequence_number(self.head);
            self.head += 1;
            settled.acked += 1;
            settled.packets += 1;
            self.in_flight -= 1;
            if let Some(packet) = packet {
                tell(Fate::Released {
                    packet,
                    sequence,
                    ampdu,
                    retry,
                });
            }
        }
    }

    /// Hands over what is in order at the receiver, gives up what its sender has given up, and forgets what is settled.
    pub(super) fn release(&mut self, mut tell: impl FnMut(Fate<P>)) {
        loop {
            // The head is forgotten as soon as both ends have done with it: mostly at once.
            while self.released > 0
                && self
                    .entries
                    .front()
                    .is_some_and(|entry| entry.state == State::Settled)
            {
                self.entries.pop_front();
                self.released -= 1;
                self.head += 1;
            }
            let sequence = sequence_number(self.head + self.released as u64);
            let Some(entry) = self.entries.get_mut(self.released) else {
                break;
            };
            if !entry.received && entry.state != State::Settled {
                break;
            }
            self.released += 1;
            let (ampdu, retry, received) = (entry.ampdu, entry.retried, entry.received);
            let (handed, packets) = (entry.handed, usize::from(entry.packets));
            let more = self.more.drain(..packets - 1);
            if !handed {
                self.in_flight -= packets;
            }
            for packet in entry
                .packet
                .take()
                .into_iter()
                .chain(more)
                .filter(|_| !handed)
            {
                tell(if received {
                    Fate::Released {
                        packet,
                        sequence,
                        ampdu,
                        retry,
                    }
                } else {
                    Fate::GivenUp { packet }
                });
            }
        }
    }
}

/// The 12-bit sequence number on the air.
fn sequence_number(count: u64) -> u16 {
    (count & 0xfff) as u16
}
