//! The block-ack window of one link and access category: what was sent and is not settled, at its sender and at its receiver.

use super::frame::{Assembly, Built, Limits, Rules};
use super::path::Queue;
use airpace_core::packet::Packet;
use airpace_core::phy::TxRate;
use airpace_units::Time;
use std::collections::VecDeque;

/// An MPDU that was composed and is not settled at both ends.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// When its first packet had come.
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
    /// In the frame of the present exchange.
    OnAir,
    /// Acknowledged, or given up after the last try.
    Settled,
}

/// What becomes of a packet, in the order in which it happens.
#[derive(Debug)]
pub(super) enum Fate<P> {
    /// Its MPDU was decoded.
    Heard { packet: P, sequence: u16, ampdu: u32, retry: bool },
    /// Handed over.
    Released { packet: P, sequence: u16, ampdu: u32, retry: bool },
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
    entries: VecDeque<Entry>,
    /// Packets of the entries from `released` on, in order.
    packets: VecDeque<P>,
    /// Entries at the head whose packets have been handed over or given up.
    released: usize,
    /// Packets in `packets` that have been handed over out of order.
    handed: usize,
    /// Sequence number of the head; the standard's 12 bits are its low ones.
    head: u64,
}

impl<P: Packet + Clone> Window<P> {
    pub(super) const fn new() -> Self {
        Self { entries: VecDeque::new(), packets: VecDeque::new(), released: 0, handed: 0, head: 0 }
    }

    /// Packets that were sent and are neither handed over nor given up.
    pub(super) fn in_flight(&self) -> usize {
        self.packets.len() - self.handed
    }

    /// Whether something must be sent again. Between exchanges whatever is left in the window stands behind (or is) such an MPDU.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// When the oldest packet that is not settled had come.
    pub(super) fn oldest(&self) -> Option<Time> {
        self.entries.front().map(|entry| entry.since)
    }

    /// Composes the next frame: retransmissions first, then new packets from `queue`, within every limit. `None` if there is nothing
    /// to send.
    pub(super) fn build(
        &mut self,
        queue: &mut Queue<P>,
        rate: TxRate,
        limits: &Limits,
        rules: &Rules,
    ) -> Option<Built> {
        let mut frame = Assembly::default();
        let mut retries = 0;
        let due = self.entries.iter_mut().enumerate().filter(|(_, entry)| entry.state == State::Due);
        for (offset, entry) in due {
            if !frame.add(offset, (entry.bytes, entry.packets), limits) {
                break;
            }
            entry.state = State::OnAir;
            retries += u16::from(entry.sent);
        }
        while self.entries.len() < limits.window {
            let Some(mpdu) = queue.next_mpdu(limits, frame.room(limits)) else { break };
            if !frame.add(self.entries.len(), mpdu, limits) {
                break;
            }
            self.begin_flight(queue, mpdu);
        }
        frame.finish(retries, rate, rules)
    }

    fn begin_flight(&mut self, queue: &mut Queue<P>, (bytes, packets): (u32, u16)) {
        let mut since = None;
        for _ in 0..packets {
            let Some((came, packet)) = queue.pop() else { break };
            since.get_or_insert(came);
            self.packets.push_back(packet);
        }
        self.entries.push_back(Entry {
            since: since.unwrap_or_default(),
            bytes,
            ampdu: 0,
            packets,
            tries: 0,
            state: State::OnAir,
            sent: false,
            retried: false,
            received: false,
            handed: false,
        });
    }

    /// The frame has ended. Each MPDU is decoded or `lost`; returns how many were. `tell` hears what a monitor sees, and what is handed
    /// over by receivers that do not reorder.
    pub(super) fn receive(
        &mut self,
        ampdu: u32,
        rules: &Rules,
        mut lost: impl FnMut(u32) -> bool,
        mut tell: impl FnMut(Fate<P>),
    ) -> u16 {
        let (mut decoded, mut place) = (0, 0);
        for (offset, entry) in self.entries.iter_mut().enumerate() {
            let first = place;
            place += if offset < self.released { 0 } else { usize::from(entry.packets) };
            if entry.state != State::OnAir {
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
            let sequence = sequence_number(self.head + offset as u64);
            // The packets of an MPDU that was handed over are not here any more.
            let carried = self.packets.iter().skip(first).take(place - first);
            if rules.monitor {
                carried.clone().for_each(|packet| tell(Fate::Heard { packet: packet.clone(), sequence, ampdu, retry }));
            }
            if !rules.in_order && !again {
                entry.handed = true;
                self.handed += place - first;
                carried.for_each(|packet| tell(Fate::Released { packet: packet.clone(), sequence, ampdu, retry }));
            }
        }
        decoded
    }

    /// The frame was not sent, because nothing answered the request to send it: that counts as a try of each of its MPDUs.
    pub(super) fn withhold(&mut self) {
        for entry in self.entries.iter_mut().filter(|entry| entry.state == State::OnAir) {
            entry.tries = entry.tries.saturating_add(1);
        }
    }

    /// The exchange is over; the sender knows what was received if it was `answered`.
    pub(super) fn settle(&mut self, answered: bool, rules: &Rules) -> Settled {
        let mut settled = Settled::default();
        for entry in self.entries.iter_mut().filter(|entry| entry.state == State::OnAir) {
            let acked = answered && entry.received;
            if acked || entry.tries >= rules.retry_limit {
                entry.state = State::Settled;
                settled.acked += u16::from(acked);
                settled.packets += usize::from(entry.packets);
            } else {
                entry.state = State::Due;
            }
        }
        settled
    }

    /// Hands over what is in order at the receiver, gives up what its sender has given up, and forgets what is settled.
    pub(super) fn release(&mut self, mut tell: impl FnMut(Fate<P>)) {
        while let Some(&entry) = self.entries.get(self.released) {
            if !entry.received && entry.state != State::Settled {
                break;
            }
            let sequence = sequence_number(self.head + self.released as u64);
            self.released += 1;
            if entry.handed {
                self.handed -= usize::from(entry.packets);
            }
            for packet in self.packets.drain(..usize::from(entry.packets)) {
                match (entry.handed, entry.received) {
                    (true, _) => {}
                    (false, true) => {
                        tell(Fate::Released { packet, sequence, ampdu: entry.ampdu, retry: entry.retried });
                    }
                    (false, false) => tell(Fate::GivenUp { packet }),
                }
            }
        }
        while self.released > 0 && self.entries.front().is_some_and(|entry| entry.state == State::Settled) {
            self.entries.pop_front();
            self.released -= 1;
            self.head += 1;
        }
    }
}

/// The 12-bit sequence number on the air.
fn sequence_number(count: u64) -> u16 {
    (count & 0xfff) as u16
}
