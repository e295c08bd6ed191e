//! What the channels have to tell.

use super::air::Channel;
use super::proxy::PacedBy;
use super::{Loss, Parcel, World};
use crate::mac::{Mpdu, Output};

impl World {
    /// Handles all that happens at this instant because of what has just been done.
    #[inline]
    pub(super) fn settle(&mut self) {
        self.drain();
        while let Some(parcel) = self.unanswered.pop_front() {
            let index = parcel.flow as usize;
            self.take(parcel);
            self.attend(index);
            self.drain();
        }
    }

    /// Handles the outputs of the channels until there are none.
    #[inline]
    pub(super) fn drain(&mut self) {
        if !self.is_drained() {
            self.drain_outputs();
        }
    }

    /// Whether the channels have nothing to tell: most events put a packet into a queue, of which
    /// nothing comes at once.
    #[inline]
    fn is_drained(&self) -> bool {
        let mut channels = self.channels.iter();
        self.roamers.is_empty() && channels.all(|channel| channel.mac.is_silent())
    }

    /// Whether nothing more happens at this instant because of what has just been done.
    #[inline]
    pub(super) fn is_settled(&self) -> bool {
        self.unanswered.is_empty() && self.is_drained()
    }

    fn drain_outputs(&mut self) {
        // An output of one channel may be an input of another that was asked before it.
        let mut busy = true;
        while busy {
            busy = false;
            for index in 0..self.channels.len() {
                while let Some(output) = self.channels[index].mac.poll() {
                    self.on_output(index, output);
                    busy = self.channels.len() > 1;
                }
                self.record_controls(index);
                self.overhear_answer(index);
                if !self.roamers.is_empty() {
                    busy |= self.settle_management(index);
                }
            }
        }
    }

    #[inline]
    fn on_output(&mut self, index: usize, output: Output<Box<Parcel>>) {
        let channel = &mut self.channels[index];
        match output {
            Output::Frame(frame) => {
                let counted = frame.end >= self.begin;
                channel.links.on_frame(&frame, self.begin);
                if self.record.frames && counted {
                    // There are far fewer than 2^32 channels.
                    self.recorded.frames.push((index as u32, *frame));
                }
                self.overhear_frame(index, &frame);
                if frame.decoded > 0
                    && frame.from != frame.to
                    && let Some(intake) = self.intake_of(index, frame.to)
                {
                    self.take_in_frame(intake);
                }
            }
            Output::Heard {
                mpdu,
                bytes,
                packet: None,
            } if !self.overhears() => self.on_heard(index, mpdu, bytes, true),
            Output::Heard {
                mpdu,
                bytes,
                packet,
            } => {
                self.overhear_mpdu(index, &mpdu, bytes);
                if let Some(packet) = packet {
                    self.record_mpdu(index, mpdu, &packet);
                    if self.is_multicast(&packet) {
                        return;
                    }
                }
                self.on_heard(index, mpdu, bytes, false);
            }
            Output::Delivered { at, mpdu, packet } => {
                if packet.at_source {
                    self.tell_left_source(packet.flow as usize);
                }
                let channel = &mut self.channels[index];
                if at >= self.begin {
                    let queued = packet.queued;
                    channel.links.on_delivered(mpdu.from, mpdu.to, queued, at);
                }
                let [from, node] = [mpdu.from, mpdu.to].map(|radio| channel.nodes[radio.index()]);
                if self.is_multicast(&packet) {
                    return self.deliver_copy(packet);
                }
                match self.intake_of(index, mpdu.to) {
                    Some(intake) => self.take_in(intake, from, packet),
                    None => self.receive_from_air(from, node, packet),
                }
            }
            Output::Dropped { reason, packet, .. } => {
                let loss = Loss::from(reason);
                if loss == Loss::Missed {
                    self.count_copy(&packet);
                }
                self.lose(loss, packet);
            }
        }
    }

    /// Hands an MPDU that a monitor interface shows to the agent that counts it, and with it `all`
    /// that follow in the same frame.
    fn on_heard(&mut self, index: usize, first: Mpdu, bytes: u32, all: bool) {
        let (from, to) = (first.from, first.to);
        let Channel {
            mac, nodes, links, ..
        } = &mut self.channels[index];
        let node = nodes[to.index()];
        let Some(PacedBy { proxy, station }) = self.paced_by[node.0 as usize] else {
            return;
        };
        let Some(frame) = links.last_frame(from, to) else {
            return;
        };
        let managed = &mut self.proxies[proxy].stations[station];
        let next = |_: &_| if all { mac.poll_heard(from, to) } else { None };
        managed.on_mpdus(frame, core::iter::successors(Some((first, bytes)), next));
        if managed.has_news() {
            self.set_agent_alarm(proxy, station);
        }
    }
}
