//! What the channels have to tell.

use super::air::Channel;
use super::proxy::PacedBy;
use super::{Loss, Parcel, World};
use crate::mac::{Mpdu, Output};
use airpace_units::Time;

impl World {
    /// Handles all that happens at this instant because of what has just been done.
    #[inline(always)]
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
            Output::Delivered { at, mpdu, packet } => match self.intake_of(index, mpdu.to) {
                None if !self.has_multicast => self.on_delivered(index, &mpdu, at, packet),
                intake => {
                    let channel = &self.channels[index];
                    let link = channel.links.of(mpdu.from, mpdu.to);
                    let [from, node] =
                        [mpdu.from, mpdu.to].map(|radio| channel.nodes[radio.index()]);
                    self.note_delivered(index, link, at, &packet);
                    if self.is_multicast(&packet) {
                        return self.deliver_copy(packet);
                    }
                    match intake {
                        Some(intake) => self.take_in(intake, from, packet),
                        None => self.receive_from_air(from, node, packet),
                    }
                }
            },
            Output::Dropped { reason, packet, .. } => {
                let loss = Loss::from(reason);
                if loss == Loss::Missed {
                    self.count_copy(&packet);
                }
                self.lose(loss, packet);
            }
        }
    }

    /// Hands a packet over that has come over the air, and those that have come with it over the
    /// same link.
    fn on_delivered(&mut self, index: usize, mpdu: &Mpdu, at: Time, packet: Box<Parcel>) {
        let (from, to) = (mpdu.from, mpdu.to);
        let channel = &self.channels[index];
        let link = channel.links.of(from, to);
        let [sender, receiver] = [from, to].map(|radio| channel.nodes[radio.index()]);
        let mut next = Some((at, packet));
        while let Some((at, packet)) = next {
            self.note_delivered(index, link, at, &packet);
            self.receive_from_air(sender, receiver, packet);
            next = self.channels[index].mac.poll_delivered(from, to);
        }
    }

    /// Tells the source of a packet that it has left, if the source wants to know, and counts the
    /// time that it has spent on its link.
    #[inline]
    fn note_delivered(&mut self, index: usize, link: Option<usize>, at: Time, packet: &Parcel) {
        if packet.at_source {
            self.tell_left_source(packet.flow as usize);
        }
        if at >= self.begin
            && let Some(link) = link
        {
            self.channels[index]
                .links
                .on_delivered(link, packet.queued, at);
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
