//! The block-ack window of one link and access category: MPDUs that were composed and are not
//! settled yet, as their sender and their receiver see them.

use super::Monitoring;
use super::frame::{Assembly, Built, Limits, MpduSize, Rules};
use super::path::Feed;
use airpace_core::packet::Packet;
use airpace_core::phy::TxRate;
use airpace_units::Time;
use std::collections::VecDeque;

/// An MPDU that was composed and with which not both ends are done. Its packets are in
/// [`Window::packets`].
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// When its first packet had come.
    since: Time,
    bytes: u32,
    /// The frame in which it was decoded.
    ampdu: u32,
    packets: u16,
    tries: u8,
    state: SenderState,
    /// It has been on the air.
    sent: bool,
    /// It was decoded, and whether it had been on the air before that time.
    received: bool,
    retried: bool,
    /// Its packets were handed over out of order.
    handed: bool,
}

/// What the sender of an MPDU knows of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SenderState {
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
    /// Its MPDU was decoded. A copy of it comes with [`Monitoring::Packets`].
    Heard {
        bytes: u32,
        packet: Option<P>,
        reception: Reception,
    },
    /// Its receiver handed it over to the network layer.
    Released { packet: P, reception: Reception },
    /// Its sender gave it up.
    GivenUp { packet: P },
}

/// What learns of the fates of packets. It has a method for each, because a [`Fate`] that is put
/// together here and taken apart there moves its packet twice.
pub(super) trait Tell<P> {
    /// See [`Fate::Heard`].
    fn heard(&mut self, bytes: u32, packet: Option<P>, reception: Reception);

    /// See [`Fate::Released`].
    fn released(&mut self, packet: P, reception: Reception);

    /// See [`Fate::GivenUp`].
    fn given_up(&mut self, packet: P);
}

impl<P: Clone, F: FnMut(Fate<P>)> Tell<P> for F {
    fn heard(&mut self, bytes: u32, packet: Option<P>, reception: Reception) {
        self(Fate::Heard {
            bytes,
            packet,
            reception,
        });
    }

    fn released(&mut self, packet: P, reception: Reception) {
        self(Fate::Released { packet, reception });
    }

    fn given_up(&mut self, packet: P) {
        self(Fate::GivenUp { packet });
    }
}

/// How an MPDU was decoded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reception {
    /// Its sequence number on the air.
    pub(super) sequence: u16,
    /// The frame in which it was.
    pub(super) ampdu: u32,
    /// Whether it had been sent before.
    pub(super) retry: bool,
    /// Packets that it carries.
    pub(super) packets: u16,
}

/// What the end of an exchange settles.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Settled {
    /// MPDUs acknowledged.
    pub(super) acked: u16,
    /// Packets acknowledged or given up: their sender is done with them.
    pub(super) packets: usize,
}

/// When an MPDU is given up.
#[derive(Clone, Copy, Debug)]
pub(super) struct TryLimit {
    /// After this many tries; `None` if never.
    pub(super) limit: Option<u8>,
    /// Whether frames count whose answer reports the MPDU missing.
    pub(super) counts_answered: bool,
}

/// The MPDUs of one link and access category, from their composition until both ends are done with
/// them.
#[derive(Debug)]
pub(super) struct Window<P> {
    /// Oldest first, with consecutive sequence numbers.
    entries: VecDeque<Entry>,
    /// The packets of the entries from `released` on, in order.
    packets: VecDeque<P>,
    /// Entries at the head whose packets have been handed over or given up.
    released: usize,
    /// Packets that were sent and are neither handed over nor given up.
    in_flight: usize,
    /// Sequence number of the head, of which the low 12 bits go on the air.
    head: u64,
    /// Entries that must be sent again.
    due: usize,
    /// Number of the next frame. Numbers repeat, but there are never as many frames at once.
    frame: u8,
}

impl<P: Packet + Clone> Window<P> {
    pub(super) const fn new() -> Self {
        Self {
            entries: VecDeque::new(),
            packets: VecDeque::new(),
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

    /// The 12-bit sequence number of the oldest MPDU that its sender is not done with, from which a
    /// block-ack request asks.
    pub(super) fn start(&self) -> u16 {
        let is_open = |entry: &Entry| entry.state != SenderState::Settled;
        let offset = self.entries.iter().position(is_open);
        let offset = offset.unwrap_or(self.entries.len());
        sequence_number(self.head + offset as u64)
    }

    /// Whether an MPDU must be sent again that is in no composed frame. Between exchanges every
    /// other MPDU in the window is in such a frame, or waits behind one that is in a frame or must
    /// be sent again.
    pub(super) const fn has_due(&self) -> bool {
        self.due > 0
    }

    /// When the oldest packet that is not settled had come.
    pub(super) fn oldest(&self) -> Option<Time> {
        self.entries.front().map(|entry| entry.since)
    }

    /// Composes the next frame: retransmissions first, then new packets from `queue`, within every
    /// limit. `None` if there is nothing to send.
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
            .filter(|(_, entry)| entry.state == SenderState::Due);
        for (offset, entry) in due.take(before) {
            let mpdu = MpduSize {
                bytes: entry.bytes,
                packets: entry.packets,
            };
            if !frame.add(offset, mpdu, limits) {
                break;
            }
            entry.state = SenderState::Framed(number);
            self.due -= 1;
            retries += u16::from(entry.sent);
        }
        let takes_new = !(limits.lone_retries && retries > 0);
        while takes_new && self.entries.len() < limits.window {
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

    /// Takes the packets of a new MPDU into the window.
    fn begin_flight(&mut self, queue: &mut impl Feed<P>, mpdu: MpduSize) {
        let MpduSize { bytes, packets } = mpdu;
        let Some((since, packet)) = queue.pop() else {
            return;
        };
        self.packets.push_back(packet);
        for _ in 1..packets {
            self.packets.extend(queue.pop().map(|(_, packet)| packet));
        }
        self.in_flight += usize::from(packets);
        self.entries.push_back(Entry {
            since,
            bytes,
            ampdu: 0,
            packets,
            tries: 0,
            state: SenderState::Framed(self.frame),
            sent: false,
            retried: false,
            received: false,
            handed: false,
        });
    }

    /// The frame with the number `frame` has ended; `ampdu` is its number in records. Each MPDU is
    /// decoded, or `lost` by its length. Returns how many were decoded. `tell` is called for what a
    /// monitor sees, and for what receivers that do not reorder hand over.
    pub(super) fn receive(
        &mut self,
        frame: u8,
        ampdu: u32,
        rules: &Rules,
        mut lost: impl FnMut(u32) -> bool,
        tell: &mut impl Tell<P>,
    ) -> u16 {
        // `end` counts the packets that belong to the entries so far.
        let (mut decoded, mut end) = (0, 0);
        for (offset, entry) in self.entries.iter_mut().enumerate() {
            let first = end;
            // An MPDU whose packets were handed over in order has none here any more.
            end += if offset < self.released {
                0
            } else {
                usize::from(entry.packets)
            };
            if entry.state != SenderState::Framed(frame) {
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
            if rules.monitor == Monitoring::Off && rules.in_order {
                continue;
            }
            let reception = Reception {
                sequence: sequence_number(self.head + offset as u64),
                ampdu,
                retry,
                packets: entry.packets,
            };
            if rules.monitor != Monitoring::Off {
                for index in first..end {
                    let packet = &self.packets[index];
                    let copy = (rules.monitor == Monitoring::Packets).then(|| packet.clone());
                    tell.heard(packet.bytes(), copy, reception);
                }
            }
            if !rules.in_order && !again {
                self.in_flight -= usize::from(entry.packets);
                for index in first..end {
                    tell.released(self.packets[index].clone(), reception);
                }
                entry.handed = true;
            }
        }
        decoded
    }

    /// The frame was not sent, because its RTS met no answer: that counts as a try of each of its
    /// MPDUs.
    pub(super) fn withhold(&mut self, frame: u8) {
        for entry in self
            .entries
            .iter_mut()
            .filter(|entry| entry.state == SenderState::Framed(frame))
        {
            entry.tries = entry.tries.saturating_add(1);
        }
    }

    /// The exchange of the frame with the number `frame` is over; its sender knows what was
    /// received if it was `answered`. What was not received is given up after as many tries as
    /// `tries` allows. `tell` is called for packets that are handed over or given up now.
    pub(super) fn settle(
        &mut self,
        frame: u8,
        answered: bool,
        tries: &TryLimit,
        tell: &mut impl Tell<P>,
    ) -> Settled {
        let mut settled = Settled::default();
        if answered {
            self.settle_head(frame, &mut settled, tell);
        }
        for entry in self
            .entries
            .iter_mut()
            .filter(|entry| entry.state == SenderState::Framed(frame))
        {
            let acked = answered && entry.received;
            if answered && !tries.counts_answered {
                entry.tries = entry.tries.saturating_sub(1);
            }
            if acked || tries.limit.is_some_and(|limit| entry.tries >= limit) {
                entry.state = SenderState::Settled;
                settled.acked += u16::from(acked);
                settled.packets += usize::from(entry.packets);
            } else {
                entry.state = SenderState::Due;
                self.due += 1;
            }
        }
        self.release(tell);
        settled
    }

    /// Settles the MPDUs at the head that were received, hold one packet each and were not handed
    /// over: nearly all MPDUs, so this is the fast path of [`Window::settle`].
    fn settle_head(&mut self, frame: u8, settled: &mut Settled, tell: &mut impl Tell<P>) {
        if self.released > 0 {
            return;
        }
        let is_plain = |entry: &Entry| {
            entry.state == SenderState::Framed(frame)
                && entry.received
                && entry.packets == 1
                && !entry.handed
        };
        while self.entries.front().is_some_and(is_plain) {
            let Some(entry) = self.entries.pop_front() else {
                break;
            };
            let reception = Reception {
                sequence: sequence_number(self.head),
                ampdu: entry.ampdu,
                retry: entry.retried,
                packets: entry.packets,
            };
            self.head += 1;
            settled.acked += 1;
            settled.packets += 1;
            self.in_flight -= 1;
            if let Some(packet) = self.packets.pop_front() {
                tell.released(packet, reception);
            }
        }
    }

    /// The association with the receiver is over: gives up what is in no frame, and what is in one
    /// when that has ended. Returns the packets with which the sender is done. If nothing is left
    /// sequence numbers begin anew.
    pub(super) fn abandon(&mut self, tell: &mut impl Tell<P>) -> usize {
        let mut packets = 0;
        for entry in &mut self.entries {
            match entry.state {
                SenderState::Due => {
                    entry.state = SenderState::Settled;
                    packets += usize::from(entry.packets);
                }
                SenderState::Framed(_) => entry.tries = u8::MAX,
                SenderState::Settled => {}
            }
        }
        self.due = 0;
        self.release(tell);
        if self.entries.is_empty() {
            self.head = 0;
        }
        packets
    }

    /// Hands over what is in order at the receiver, reports what its sender has given up, and
    /// forgets MPDUs with which both are done.
    pub(super) fn release(&mut self, tell: &mut impl Tell<P>) {
        loop {
            // Both ends are done with the head, mostly at the same time.
            while self.released > 0
                && self
                    .entries
                    .front()
                    .is_some_and(|entry| entry.state == SenderState::Settled)
            {
                self.entries.pop_front();
                self.released -= 1;
                self.head += 1;
            }
            let sequence = sequence_number(self.head + self.released as u64);
            let Some(entry) = self.entries.get(self.released) else {
                break;
            };
            if !entry.received && entry.state != SenderState::Settled {
                break;
            }
            self.released += 1;
            let reception = Reception {
                sequence,
                ampdu: entry.ampdu,
                retry: entry.retried,
                packets: entry.packets,
            };
            let (received, handed) = (entry.received, entry.handed);
            let packets = usize::from(entry.packets);
            if !handed {
                self.in_flight -= packets;
            }
            for packet in self.packets.drain(..packets).filter(|_| !handed) {
                if received {
                    tell.released(packet, reception);
                } else {
                    tell.given_up(packet);
                }
            }
        }
    }
}

/// The 12-bit sequence number on the air.
fn sequence_number(count: u64) -> u16 {
    (count & 0xfff) as u16
}
