//! What one radio receives, and which frame it is on.

use super::{Signal, SignalId};
use crate::radio::{Capture, milliwatts_of};
use crate::rng::Stream;
use airpace_units::Time;
use core::cmp::Ordering;

/// A signal as one radio receives it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Audible {
    pub(super) id: SignalId,
    pub(super) begun: Time,
    pub(super) end: Time,
    pub(super) power_mw: f64,
    pub(super) is_over: bool,
}

/// What one radio is at.
#[derive(Debug)]
pub(super) struct Receiver {
    pub(super) noise_mw_per_mhz: f64,
    pub(super) sends: bool,
    /// Sum of all signals on the air, its own apart.
    pub(super) total_mw: f64,
    /// The frame that it is on.
    pub(super) locked: Option<Lock>,
    /// Frames that have begun and that it has not noticed yet.
    pub(super) candidates: Vec<SignalId>,
    /// The signals of others on the air that are above the floor, in the order in which they began,
    /// and those that have ended while another that they overlapped goes on.
    pub(super) audible: Vec<Audible>,
    /// The last lone signal that it was told of before its end.
    pub(super) told: Option<SignalId>,
    pub(super) draws: Stream,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Lock {
    pub(super) signal: SignalId,
    pub(super) since: Time,
    /// Whether its L-SIG field was disturbed, and decoded nevertheless.
    pub(super) has_legacy_header: bool,
}

impl Receiver {
    /// The signals on the air that it receives.
    pub(super) fn on_air(&self) -> impl Iterator<Item = &Audible> {
        self.audible.iter().filter(|signal| !signal.is_over)
    }

    /// What it receives of a signal, in mW.
    pub(super) fn power_mw(&self, id: SignalId) -> f64 {
        let signal = self.audible.iter().find(|signal| signal.id == id);
        signal.map_or(0.0, |signal| signal.power_mw)
    }

    /// Sum of the signals on the air other than `id`, in mW.
    pub(super) fn others_mw(&self, id: SignalId) -> f64 {
        let others = self.on_air().filter(|signal| signal.id != id);
        others.map(|signal| signal.power_mw).sum()
    }

    /// Whether it is on the frame `id`.
    pub(super) fn is_on(&self, id: SignalId) -> bool {
        self.locked.is_some_and(|lock| lock.signal == id)
    }

    /// Whether it leaves the frame that it is on for one of `power_mw` that begins now.
    pub(super) fn captures(&self, capture: Capture, now: Time, power_mw: f64) -> bool {
        let Some(lock) = self.locked else {
            return false;
        };
        let margin = milliwatts_of(capture.margin_db);
        now <= lock.since + capture.window && power_mw > self.power_mw(lock.signal) * margin
    }

    /// Whether it detects the candidate `id`, because it is the strongest and strong enough.
    pub(super) fn detects(
        &self,
        id: SignalId,
        noise_mw: f64,
        detect_mw: f64,
        detect_sinr: f64,
    ) -> bool {
        let power_mw = self.power_mw(id);
        // Of equally strong ones it takes the first.
        let is_strongest = self.candidates.iter().all(|&other| match other.cmp(&id) {
            Ordering::Less => self.power_mw(other) < power_mw,
            Ordering::Equal => true,
            Ordering::Greater => self.power_mw(other) <= power_mw,
        });
        is_strongest
            && power_mw >= detect_mw
            && power_mw >= detect_sinr * (noise_mw + self.others_mw(id))
    }

    /// A signal on the air has another power from now on; `None` if it is not received any more.
    pub(super) fn hear_anew(&mut self, signal: &Signal, power_mw: Option<f64>) {
        let place = self.audible.iter().position(|other| other.id == signal.id);
        match (place, power_mw) {
            (Some(place), Some(power_mw)) => self.audible[place].power_mw = power_mw,
            (Some(_), None) => self.end(signal.id),
            (None, Some(power_mw)) => {
                let earlier = self.audible.partition_point(|other| other.id < signal.id);
                let audible = Audible {
                    id: signal.id,
                    begun: signal.begun,
                    end: signal.end,
                    power_mw,
                    is_over: false,
                };
                self.audible.insert(earlier, audible);
            }
            (None, None) => return,
        }
        self.total_mw = self.on_air().map(|signal| signal.power_mw).sum();
    }

    /// A signal leaves the air.
    pub(super) fn end(&mut self, id: SignalId) {
        if self.is_on(id) {
            self.locked = None;
        }
        if !self.candidates.is_empty() {
            self.candidates.retain(|&candidate| candidate != id);
        }
        if let [only] = &self.audible[..]
            && only.id == id
        {
            self.audible.clear();
            self.total_mw = 0.0;
            return;
        }
        if !self.audible.iter().any(|signal| signal.id == id) {
            return;
        }
        // The sum anew, so that rounding errors do not add up.
        self.total_mw = self.others_mw(id);
        for signal in &mut self.audible {
            signal.is_over |= signal.id == id;
        }
        // What ended before everything began that is on the air overlaps nothing any more.
        let oldest = self.on_air().map(|signal| signal.begun).min();
        self.audible
            .retain(|signal| oldest.is_some_and(|oldest| !signal.is_over || signal.end > oldest));
    }
}
