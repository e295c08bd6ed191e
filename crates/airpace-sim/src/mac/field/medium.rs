//! How signals that are received by their powers change what radios see of the channel.

use super::{Content, Field, Heard, Signal};
use crate::mac::air::{Air, EndingPpdu, Reached};
use crate::mac::ids::{Transmitter, ViewId};
use crate::radio::{PairPowers, RadioId};
use airpace_units::Time;
use core::time::Duration;

impl Air {
    /// A PPDU begins: its sender is busy at once, and the others when they notice it.
    pub(in crate::mac) fn begin_signal(
        &mut self,
        transmitter: Transmitter,
        at: Time,
        end: Time,
        content: Content,
    ) {
        let Some(mut field) = self.field.take() else {
            return;
        };
        self.tell_all(&mut field);
        let signal = field.begin(transmitter, at, end, content);
        if !field.is_lone(&signal) {
            for reach in field.reaches().of(&signal) {
                let view = &mut self.views[reach.radio.index()];
                if view.is_sensing() {
                    view.sense_until(end);
                }
            }
        }
        self.field = Some(field);
        if let Transmitter::Radio(radio) = transmitter {
            let view = &mut self.views[radio.index()];
            if view.is_sensing() {
                view.sense_until(end);
            } else {
                view.begin_sensing(at, end);
                self.next_access.set(radio.index(), None);
            }
        }
        let neighbours = self.neighbour_view();
        self.view_mut(neighbours)
            .begin(at, end, &Reached::clearly(neighbours));
        self.next_access.set(neighbours.index(), None);
    }

    /// A radio has moved.
    pub(in crate::mac) fn set_powers(&mut self, now: Time, radio: RadioId, pairs: &[PairPowers]) {
        let Some(mut field) = self.field.take() else {
            return;
        };
        self.tell_all(&mut field);
        field.set_powers(radio, pairs);
        for index in 0..field.radios() {
            self.sense(&field, index, now);
        }
        self.field = Some(field);
    }

    /// When radios next notice that a PPDU has begun.
    pub(in crate::mac) fn next_notice(&self) -> Option<Time> {
        self.field.as_ref()?.next_notice()
    }

    /// Radios notice that PPDUs have begun, or that they cannot decode them.
    pub(in crate::mac) fn notice(&mut self, now: Time) {
        let Some(mut field) = self.field.take() else {
            return;
        };
        let reaches = field.reaches();
        while let Some(signal) = field.take_notice(now) {
            if field.is_lone(&signal) {
                self.notice_lone(&mut field, now);
                continue;
            }
            for reach in reaches.of(&signal) {
                let index = reach.radio.index();
                field.notice(index, &signal, now);
                self.sense(&field, index, now);
            }
        }
        self.sense_unnoticed(&field, now);
        while let Some(signal) = field.take_legacy_header(now) {
            for reach in reaches.of(&signal) {
                field.end_legacy_header(reach.radio.index(), &signal);
            }
        }
        self.field = Some(field);
    }

    /// A PPDU ends. Returns whether it was decoded in the view `receiver`; of a data frame the
    /// header, and [`Air::end_reception`] is to be called when it is known what of the rest was.
    pub(in crate::mac) fn end_signal(&mut self, ppdu: &EndingPpdu, receiver: ViewId) -> bool {
        let Some(mut field) = self.field.take() else {
            return false;
        };
        let mut reached = false;
        if let Some(signal) = field.take(ppdu.transmitter, ppdu.begun) {
            reached = self.tell_receivers(&mut field, &signal, ppdu, receiver);
            if let Some(sender) = signal.sender() {
                self.tell_sender(&mut field, sender.index(), ppdu);
            }
        }
        let neighbours = self.neighbour_view();
        let is_clean = self
            .view_mut(neighbours)
            .end(ppdu, &Reached::clearly(neighbours));
        self.refresh(neighbours);
        self.sense_unnoticed(&field, ppdu.end);
        self.field = Some(field);
        if receiver == neighbours {
            is_clean
        } else {
            reached
        }
    }

    /// The radios that are on a frame that ends make something of it, and it is gone for all of
    /// them. Returns what [`Air::end_signal`] does.
    fn tell_receivers(
        &mut self,
        field: &mut Field,
        signal: &Signal,
        ppdu: &EndingPpdu,
        receiver: ViewId,
    ) -> bool {
        let (at, announced) = (ppdu.end, ppdu.announced);
        let reserved = at + announced;
        let mut reached = false;
        self.decoded.clear();
        let certain = field.certain(signal);
        let lone = field.ending_lone(signal, ppdu);
        for reach in field.reaches().of(signal) {
            let index = reach.radio.index();
            let is_receiver = index == receiver.index();
            if is_receiver && ppdu.is_data {
                continue;
            }
            if let Some(lone) = &lone
                && let Some(heard) = self.end_lone(field, lone, reach)
            {
                if heard == Heard::Decoded {
                    reached |= is_receiver;
                    self.note_decoded(index, ppdu);
                }
                continue;
            }
            let heard = field.overhear(index, signal, &certain);
            if heard == Heard::Decoded {
                self.note_decoded(index, ppdu);
            }
            let view = &mut self.views[index];
            match heard {
                Heard::Nothing => {}
                Heard::Undecoded => view.fail_to_decode(at),
                Heard::Decoded => {
                    view.decode(at, reserved);
                    reached |= is_receiver;
                }
            }
            // Where the signal was sensed, what follows finds that out.
            if heard != Heard::Nothing && !view.is_sensing() {
                self.next_access.set(index, view.due());
            }
            field.end(index, signal);
            self.sense(field, index, at);
        }
        if ppdu.is_data {
            self.tell_in(field, receiver.index());
            // Last, because what overlaps the frame here is needed afterwards.
            reached = field.begin_decoding(receiver.index(), signal);
            field.end(receiver.index(), signal);
            self.sense(field, receiver.index(), at);
        }
        field.forget_lone();
        reached
    }

    /// A radio has decoded a frame: that is noted if the frame is for many.
    fn note_decoded(&mut self, index: usize, ppdu: &EndingPpdu) {
        if ppdu.is_for_many {
            self.decoded.push(ViewId::from_index(index));
        }
    }

    /// The sender of a frame that ends waits for an answer if there is to be one.
    fn tell_sender(&mut self, field: &mut Field, sender: usize, ppdu: &EndingPpdu) {
        if !ppdu.announced.is_zero() {
            let view = &mut self.views[sender];
            view.reserve(ppdu.end + self.answer_timeout);
            if !view.is_sensing() {
                self.next_access.set(sender, view.due());
            }
        }
        field.end_sending(sender);
        self.sense(field, sender, ppdu.end);
    }

    /// A data frame has ended of which `receiver` decoded some MPDUs or none; its exchange goes on
    /// for `announced`.
    pub(in crate::mac) fn end_reception(
        &mut self,
        receiver: ViewId,
        at: Time,
        announced: Duration,
        decoded: bool,
    ) {
        let Some(field) = &self.field else { return };
        if !field.is_receiving() {
            return;
        }
        let view = self.view_mut(receiver);
        if decoded {
            view.decode(at, at + announced);
        } else {
            view.fail_to_decode(at);
        }
        self.refresh(receiver);
    }

    /// The channel becomes busy or idle for radios at which signals that nobody has noticed yet, but
    /// that count in the sum of all, make that cross the threshold.
    fn sense_unnoticed(&mut self, field: &Field, now: Time) {
        for signal in field.unnoticed().filter(|signal| !field.is_lone(signal)) {
            for reach in field.reaches().of(signal) {
                self.sense(field, reach.radio.index(), now);
            }
        }
    }

    /// The channel becomes busy or idle for a radio if the sum of all signals there has crossed the
    /// threshold.
    #[inline]
    pub(super) fn sense(&mut self, field: &Field, index: usize, now: Time) {
        let view = &mut self.views[index];
        match (field.is_busy(index), view.is_sensing()) {
            (true, false) => {
                view.begin_sensing(now, field.last_end(index));
                self.next_access.set(index, None);
            }
            (false, true) => {
                view.end_sensing(now);
                self.next_access.set(index, view.due());
            }
            (true, true) | (false, false) => {}
        }
    }
}
