//! A signal that is alone on the air from its beginning to its end, as most are: its receivers are
//! told of it once, when it has ended, instead of three times.
//!
//! Until then what they see of the channel is that of before it, so whoever asks must have them told
//! first ([`Air::catch_up`]). As soon as another signal begins, or a radio moves, all are told.

use super::certainty::Ratios;
use super::{Field, Heard, Signal, SignalId};
use crate::mac::air::{Air, EndingPpdu};
use crate::mac::ids::{Transmitter, ViewId};
use crate::radio::{RadioId, Reach};
use airpace_units::Time;

/// Signals with fewer receivers than this are told to them at once, which costs less.
pub(super) const LEAST_RECEIVERS: usize = 4;

/// A lone signal that ends, and what is the same for all of its receivers.
#[derive(Clone, Copy, Debug)]
pub(super) struct EndingLone {
    id: SignalId,
    noticed: Option<Time>,
    at: Time,
    /// End of the reservation that its header announces.
    reserved: Time,
    floor_mw: f64,
    mhz: f64,
    certain: Ratios,
}

/// The only signal on the air.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lone {
    signal: Signal,
    /// When receivers noticed it, if they have.
    noticed: Option<Time>,
    /// Whether any receiver was told of it.
    is_told: bool,
}

impl Lone {
    /// A signal that has begun and that nobody was told of.
    pub(super) const fn new(signal: Signal) -> Self {
        Self {
            signal,
            noticed: None,
            is_told: false,
        }
    }
}

impl Field {
    /// Signals with fewer receivers than this are told to them at once.
    #[cfg(test)]
    pub(in crate::mac) const fn set_least_receivers(&mut self, least: usize) {
        self.least_receivers = least;
    }

    /// Whether a signal is alone, so that its receivers are told of it later.
    pub(super) fn is_lone(&self, signal: &Signal) -> bool {
        self.lone.is_some_and(|lone| lone.signal.id == signal.id)
    }

    /// The signal that ends, if it has been alone.
    pub(super) fn ending_lone(&self, signal: &Signal, ppdu: &EndingPpdu) -> Option<EndingLone> {
        let lone = self.lone.filter(|lone| lone.signal.id == signal.id)?;
        Some(EndingLone {
            id: signal.id,
            noticed: lone.noticed,
            at: ppdu.end,
            reserved: ppdu.end + ppdu.announced,
            floor_mw: self.floor_mw(signal),
            mhz: signal.content.rate.bandwidth_mhz(),
            certain: self.certainties.of(signal),
        })
    }

    /// The lone signal has ended for all of its receivers.
    pub(super) fn forget_lone(&mut self) {
        self.lone = None;
    }

    /// What a radio receives of the lone signal, of which it has not been told, above the floor.
    fn untold(&self, index: usize) -> Option<(Lone, f64)> {
        let lone = self.lone?;
        let receiver = self.receivers.get(index)?;
        if receiver.told == Some(lone.signal.id) {
            return None;
        }
        let power_mw = match lone.signal.transmitter {
            Transmitter::Radio(sender) => {
                let to = RadioId::from_index(index);
                self.reaches.powers.received_mw(sender, to)
            }
            Transmitter::Neighbour => super::NEIGHBOUR_MW,
        };
        let is_audible = power_mw > 0.0 && power_mw >= self.floor_mw(&lone.signal);
        is_audible.then_some((lone, power_mw))
    }

    /// Since when a radio has sensed the lone signal, of which it has not been told, and until when
    /// it will.
    pub(in crate::mac) fn sensed_untold(&self, view: ViewId) -> Option<(Time, Time)> {
        let (lone, power_mw) = self.untold(view.index())?;
        let noticed = lone.noticed?;
        (power_mw >= self.sense_mw).then_some((noticed, lone.signal.end))
    }
}

impl Air {
    /// Tells the radios of a view of the signal on the air, if they have not been told yet.
    #[inline]
    pub(in crate::mac) fn catch_up(&mut self, view: ViewId) {
        if self
            .field
            .as_ref()
            .is_some_and(|field| field.lone.is_some())
        {
            self.tell_one(view.index());
        }
    }

    fn tell_one(&mut self, index: usize) {
        let Some(mut field) = self.field.take() else {
            return;
        };
        self.tell_in(&mut field, index);
        self.field = Some(field);
    }

    /// Tells one radio of the lone signal, if it has not been told yet.
    pub(super) fn tell_in(&mut self, field: &mut Field, index: usize) {
        if let Some((lone, power_mw)) = field.untold(index) {
            self.tell(field, lone, index, power_mw);
        }
    }

    /// Tells all radios of the lone signal, which then is a signal like others.
    pub(super) fn tell_all(&mut self, field: &mut Field) {
        let Some(lone) = field.lone else { return };
        let floor_mw = field.floor_mw(&lone.signal);
        for reach in field.reaches().of(&lone.signal) {
            let index = reach.radio.index();
            let is_told = field.receivers[index].told == Some(lone.signal.id);
            if !is_told && reach.milliwatts >= floor_mw {
                self.tell(field, lone, index, reach.milliwatts);
            }
        }
        field.lone = None;
    }

    /// Tells one radio of the lone signal: that it has begun, and that it was noticed if it was.
    fn tell(&mut self, field: &mut Field, lone: Lone, index: usize, power_mw: f64) {
        field.receivers[index].told = Some(lone.signal.id);
        field.lone = Some(Lone {
            is_told: true,
            ..lone
        });
        field.begin_at(index, &lone.signal, power_mw);
        if let Some(noticed) = lone.noticed {
            field.notice(index, &lone.signal, noticed);
            self.sense(field, index, noticed);
        }
    }

    /// Receivers notice the lone signal. Those of them that wait for the channel must not access it
    /// any more.
    pub(super) fn notice_lone(&mut self, field: &mut Field, now: Time) {
        let Some(lone) = field.lone else { return };
        field.lone = Some(Lone {
            noticed: Some(now),
            ..lone
        });
        if !lone.is_told && self.next_access.first().is_none() {
            return;
        }
        let least_mw = field.sense_mw.max(field.floor_mw(&lone.signal));
        for reach in field.reaches().of(&lone.signal) {
            let index = reach.radio.index();
            if field.receivers[index].told == Some(lone.signal.id) {
                field.notice(index, &lone.signal, now);
                self.sense(field, index, now);
            } else if reach.milliwatts >= least_mw {
                self.next_access.set(index, None);
            }
        }
    }

    /// The lone signal ends for a radio that was not told of it. Returns what that makes of it;
    /// `None` if that must be computed, for which the radio is told of the signal first.
    #[inline]
    pub(super) fn end_lone(
        &mut self,
        field: &mut Field,
        lone: &EndingLone,
        reach: &Reach,
    ) -> Option<Heard> {
        let (index, power_mw) = (reach.radio.index(), reach.milliwatts);
        let receiver = &field.receivers[index];
        if receiver.told == Some(lone.id) {
            return None;
        }
        let is_sensed = power_mw >= field.sense_mw && power_mw >= lone.floor_mw;
        let Some(noticed) = lone.noticed.filter(|_| is_sensed) else {
            // What is not sensed is not detected either.
            return Some(Heard::Nothing);
        };
        let noise_mw = receiver.noise_mw_per_mhz * lone.mhz;
        let is_on = power_mw >= field.detect_mw && power_mw >= field.detect_sinr * noise_mw;
        let heard = if is_on {
            lone.certain.heard(power_mw / noise_mw)
        } else {
            Some(Heard::Nothing)
        };
        let Some(heard) = heard else {
            self.tell_in(field, index);
            return None;
        };
        let view = &mut self.views[index];
        view.pass_over(noticed, lone.at, heard, lone.reserved);
        if view.is_waited_for() {
            let due = view.due();
            self.next_access.set(index, due);
        }
        Some(heard)
    }
}
