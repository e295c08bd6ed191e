//! How signals that are received by their powers change what radios see of the channel.

use super::{Content, Heard};
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
        let Some(field) = &mut self.field else { return };
        field.begin(transmitter, at, end, content);
        for (index, view) in self.views.iter_mut().take(field.radios()).enumerate() {
            let is_sender =
                matches!(transmitter, Transmitter::Radio(radio) if radio.index() == index);
            if view.is_sensing() {
                view.sense_until(end);
            } else if is_sender {
                view.begin_sensing(at, end);
                self.next_access[index] = None;
            }
        }
        let neighbours = self.neighbour_view();
        self.view_mut(neighbours)
            .begin(at, end, &Reached::clearly(neighbours));
        self.next_access[neighbours.index()] = None;
    }

    /// A radio has moved.
    pub(in crate::mac) fn set_powers(&mut self, now: Time, radio: RadioId, pairs: &[PairPowers]) {
        if let Some(field) = &mut self.field {
            field.set_powers(radio, pairs);
            self.sense(now);
        }
    }

    /// When radios next notice that a PPDU has begun.
    pub(in crate::mac) fn next_notice(&self) -> Option<Time> {
        self.field.as_ref()?.next_notice()
    }

    /// Radios notice that PPDUs have begun.
    pub(in crate::mac) fn notice(&mut self, now: Time) {
        if let Some(field) = &mut self.field {
            field.notice(now);
            self.sense(now);
        }
    }

    /// A PPDU ends. Returns whether it was decoded in the view `receiver`; of a data frame the
    /// header, and [`Air::end_reception`] is to be called when it is known what of the rest was.
    pub(in crate::mac) fn end_signal(&mut self, ppdu: &EndingPpdu, receiver: ViewId) -> bool {
        let Some(field) = &mut self.field else {
            return false;
        };
        let (at, announced) = (ppdu.end, ppdu.announced);
        let mut reached = false;
        if let Some(id) = field.find(ppdu.transmitter, ppdu.begun) {
            for (index, view) in self.views.iter_mut().take(field.radios()).enumerate() {
                if matches!(ppdu.transmitter, Transmitter::Radio(radio) if radio.index() == index) {
                    // The sender waits for an answer.
                    if !announced.is_zero() {
                        view.reserve(at + self.answer_timeout);
                    }
                    continue;
                }
                let is_receiver = index == receiver.index();
                if is_receiver && ppdu.is_data {
                    continue;
                }
                let heard = field.overhear(index, id);
                match heard {
                    Heard::Nothing => {}
                    Heard::Undecoded => view.fail_to_decode(at),
                    Heard::Decoded => view.decode(at, announced),
                }
                reached |= is_receiver && heard == Heard::Decoded;
            }
            if ppdu.is_data {
                reached = field.begin_decoding(receiver.index(), id);
            }
            field.end(id);
        }
        let neighbours = self.neighbour_view();
        let is_clean = self
            .view_mut(neighbours)
            .end(ppdu, &Reached::clearly(neighbours));
        self.sense(at);
        self.refresh_all();
        if receiver == neighbours {
            is_clean
        } else {
            reached
        }
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
            view.decode(at, announced);
        } else {
            view.fail_to_decode(at);
        }
        self.refresh(receiver);
    }

    /// The channel becomes busy or idle for radios at which the sum of all signals has crossed the
    /// threshold.
    fn sense(&mut self, now: Time) {
        let Some(field) = &self.field else { return };
        for (index, view) in self.views.iter_mut().take(field.radios()).enumerate() {
            match (field.is_busy(index), view.is_sensing()) {
                (true, false) => {
                    view.begin_sensing(now, field.last_end());
                    self.next_access[index] = None;
                }
                (false, true) => {
                    view.end_sensing(now);
                    self.next_access[index] = view.due();
                }
                (true, true) | (false, false) => {}
            }
        }
    }
}
