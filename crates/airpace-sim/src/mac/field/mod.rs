//! The medium by received powers: what is on the air, which frame each receiver is on, and what
//! overlaps it.
//!
//! A receiver notices that a frame has begun when 4 µs have passed. If it is on no other frame and
//! does not send, it then takes the strongest of those that have begun, provided that it is strong
//! enough. It stays on that frame to its end, and everything else is interference. The channel is
//! busy as long as the sum of all signals is above the threshold of carrier sense. That is the
//! receiver of ns-3 (YansWifiPhy with ThresholdPreambleDetectionModel).

mod medium;
mod reception;

pub(super) use reception::{MpduClock, Span, Wanted};

use super::ids::Transmitter;
use crate::channel::noise_dbm;
use crate::radio::{PairPowers, RadioId, ReceivedPowers, milliwatts_of};
use crate::rng::Stream;
use airpace_core::phy::{Timing, TxRate};
use airpace_units::Time;
use core::time::Duration;
use reception::{Hazards, Piece};
use std::collections::VecDeque;

/// From the beginning of a frame until receivers notice it: the time in which a receiver must
/// detect a preamble (aCCATime of clause 17.4.4; ns-3's preamble detection).
const NOTICE: Duration = Duration::from_micros(4);
/// The power in mW with which neighbours, which have no position, are received: they drown whatever
/// they overlap.
const NEIGHBOUR_MW: f64 = 1.0;

/// What a PPDU carries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Content {
    pub(super) rate: TxRate,
    pub(super) mpdus: u16,
    /// Bytes of all MPDUs, without delimiters and padding.
    pub(super) bytes: u32,
}

impl Content {
    /// A single MPDU.
    pub(super) const fn single(rate: TxRate, bytes: u32) -> Self {
        Self {
            rate,
            mpdus: 1,
            bytes,
        }
    }
}

/// Number of a signal, in the order in which they began.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct SignalId(u64);

/// A PPDU on the air, or one that has ended while another that it overlapped goes on.
#[derive(Clone, Copy, Debug)]
struct Signal {
    id: SignalId,
    transmitter: Transmitter,
    begun: Time,
    end: Time,
    content: Content,
    is_over: bool,
}

/// What one radio is at.
#[derive(Debug)]
struct Receiver {
    noise_mw_per_mhz: f64,
    sends: bool,
    /// Sum of all signals on the air, its own apart.
    total_mw: f64,
    /// The frame that it is on.
    locked: Option<Lock>,
    /// Frames that have begun and that it has not noticed yet.
    candidates: Vec<SignalId>,
    draws: Stream,
}

#[derive(Clone, Copy, Debug)]
struct Lock {
    signal: SignalId,
    since: Time,
}

/// The medium by received powers.
#[derive(Debug)]
pub(super) struct Field {
    powers: ReceivedPowers,
    timing: Timing,
    sense_mw: f64,
    detect_mw: f64,
    detect_sinr: f64,
    floor_mw_per_20_mhz: f64,
    receivers: Vec<Receiver>,
    /// In the order in which they began.
    signals: Vec<Signal>,
    next: u64,
    /// When signals are noticed; in order of time.
    notices: VecDeque<(Time, SignalId)>,
    /// What overlaps the frame that was last looked at.
    pieces: Vec<Piece>,
    hazards: Hazards,
    /// The data frame that its receiver is decoding.
    decoding: Option<Decoding>,
}

/// A data frame that has ended and whose receiver was on it.
#[derive(Clone, Copy, Debug)]
struct Decoding {
    wanted: Wanted,
    /// Whether something as strong as the noise overlaps it.
    is_disturbed: bool,
}

/// What a receiver makes of a frame that has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Heard {
    /// It was not on that frame.
    Nothing,
    /// It was on it, but could decode nothing.
    Undecoded,
    /// It has decoded the header and at least one MPDU.
    Decoded,
}

impl Field {
    /// A silent medium. `keys` are the keys of the radios' random draws.
    pub(super) fn new(
        powers: ReceivedPowers,
        timing: Timing,
        seed: u64,
        keys: impl Iterator<Item = Option<u64>>,
    ) -> Self {
        let figures = powers.noise_figures_db().iter().zip(0_u64..).zip(keys);
        let receivers = figures.map(|((&figure_db, number), key)| Receiver {
            noise_mw_per_mhz: milliwatts_of(noise_dbm(1.0, figure_db)),
            sends: false,
            total_mw: 0.0,
            locked: None,
            candidates: Vec::new(),
            draws: match key {
                Some(key) => Stream::new(seed, "named reception", key),
                None => Stream::new(seed, "reception", number),
            },
        });
        let receivers = receivers.collect();
        let rules = powers.rules;
        Self {
            timing,
            sense_mw: rules.sense_mw(),
            detect_mw: milliwatts_of(rules.detect_dbm),
            detect_sinr: milliwatts_of(rules.detect_sinr_db),
            floor_mw_per_20_mhz: milliwatts_of(rules.floor_dbm),
            powers,
            receivers,
            signals: Vec::new(),
            next: 0,
            notices: VecDeque::new(),
            pieces: Vec::new(),
            hazards: Hazards::default(),
            decoding: None,
        }
    }

    /// The number of radios.
    pub(super) const fn radios(&self) -> usize {
        self.receivers.len()
    }

    /// A PPDU begins that will last until `end`.
    pub(super) fn begin(
        &mut self,
        transmitter: Transmitter,
        at: Time,
        end: Time,
        content: Content,
    ) {
        let id = SignalId(self.next);
        self.next += 1;
        let signal = Signal {
            id,
            transmitter,
            begun: at,
            end,
            content,
            is_over: false,
        };
        self.signals.push(signal);
        self.notices.push_back((at + NOTICE, id));
        for index in 0..self.receivers.len() {
            if is_from(&signal, index) {
                let receiver = &mut self.receivers[index];
                receiver.sends = true;
                receiver.locked = None;
                receiver.candidates.clear();
                continue;
            }
            let power = self.power_mw(&signal, index);
            if power <= 0.0 {
                continue;
            }
            let is_captured = self.is_captured(index, at, power);
            let receiver = &mut self.receivers[index];
            receiver.total_mw += power;
            if is_captured {
                receiver.locked = None;
            }
            if !receiver.sends && receiver.locked.is_none() {
                receiver.candidates.push(id);
            }
        }
    }

    /// A radio has moved: signals on the air are as strong as its new place makes them.
    pub(super) fn set_powers(&mut self, moved: RadioId, pairs: &[PairPowers]) {
        self.powers.set(moved, pairs);
        for index in 0..self.receivers.len() {
            let on_air = self.signals.iter().filter(|signal| !signal.is_over);
            let others = on_air.filter(|signal| !is_from(signal, index));
            let total_mw = others.map(|signal| self.power_mw(signal, index)).sum();
            self.receivers[index].total_mw = total_mw;
        }
    }

    /// Whether a receiver leaves the frame that it is on for one of `power_mw` that begins now.
    fn is_captured(&self, index: usize, now: Time, power_mw: f64) -> bool {
        let (Some(capture), Some(lock)) = (self.powers.rules.capture, self.receivers[index].locked)
        else {
            return false;
        };
        let present = self.signals.iter().find(|signal| signal.id == lock.signal);
        let present_mw = present.map_or(0.0, |signal| self.power_mw(signal, index));
        now <= lock.since + capture.window
            && power_mw > present_mw * milliwatts_of(capture.margin_db)
    }

    /// When receivers next notice that a signal has begun.
    pub(super) fn next_notice(&self) -> Option<Time> {
        self.notices.front().map(|&(at, _)| at)
    }

    /// The receivers notice the signals that are to be noticed at `now`.
    pub(super) fn notice(&mut self, now: Time) {
        while let Some(&(at, id)) = self.notices.front()
            && at <= now
        {
            self.notices.pop_front();
            for index in 0..self.receivers.len() {
                if self.receivers[index].candidates.contains(&id) {
                    self.detect(index, id, now);
                }
            }
        }
    }

    /// A receiver takes the candidate `id` if it is the strongest and strong enough.
    fn detect(&mut self, index: usize, id: SignalId, now: Time) {
        let mut strongest: Option<(SignalId, f64)> = None;
        for &candidate in &self.receivers[index].candidates {
            let signal = self.signals.iter().find(|signal| signal.id == candidate);
            let power = signal.map_or(0.0, |signal| self.power_mw(signal, index));
            if strongest.is_none_or(|(_, most)| power > most) {
                strongest = Some((candidate, power));
            }
        }
        let is_taken = strongest.is_some_and(|(candidate, power)| {
            candidate == id && power >= self.detect_mw && {
                let noise = self.noise_mw(index, id);
                power >= self.detect_sinr * (noise + self.others_mw(index, id))
            }
        });
        let receiver = &mut self.receivers[index];
        if is_taken {
            receiver.candidates.clear();
            receiver.locked = Some(Lock {
                signal: id,
                since: now,
            });
        } else {
            receiver.candidates.retain(|&candidate| candidate != id);
        }
    }

    /// Noise of a receiver over the width of a signal, in mW.
    fn noise_mw(&self, index: usize, id: SignalId) -> f64 {
        let signal = self.signals.iter().find(|signal| signal.id == id);
        let mhz = signal.map_or(0.0, |signal| signal.content.rate.bandwidth_mhz());
        self.receivers[index].noise_mw_per_mhz * mhz
    }

    /// Sum of the signals on the air other than `id`, in mW.
    fn others_mw(&self, index: usize, id: SignalId) -> f64 {
        let others = self
            .signals
            .iter()
            .filter(|signal| !signal.is_over && signal.id != id);
        others.map(|signal| self.power_mw(signal, index)).sum()
    }

    /// Whether a radio finds the channel busy: it sends, or senses signals.
    pub(super) fn is_busy(&self, index: usize) -> bool {
        let receiver = &self.receivers[index];
        receiver.sends || receiver.total_mw >= self.sense_mw
    }

    /// When the last of the signals ends that are on the air.
    pub(super) fn last_end(&self) -> Time {
        let on_air = self.signals.iter().filter(|signal| !signal.is_over);
        on_air.map(|signal| signal.end).max().unwrap_or_default()
    }

    /// The signal of `transmitter` that is on the air and began at `begun`.
    pub(super) fn find(&self, transmitter: Transmitter, begun: Time) -> Option<SignalId> {
        let on_air = self.signals.iter().filter(|signal| !signal.is_over);
        on_air
            .filter(|signal| signal.transmitter == transmitter && signal.begun == begun)
            .map(|signal| signal.id)
            .next()
    }

    /// Whether a receiver is on the frame `id`.
    pub(super) fn is_on(&self, index: usize, id: SignalId) -> bool {
        let locked = self.receivers[index].locked;
        locked.is_some_and(|lock| lock.signal == id)
    }

    /// A signal leaves the air.
    pub(super) fn end(&mut self, id: SignalId) {
        let Some(ended) = self.signals.iter().position(|signal| signal.id == id) else {
            return;
        };
        self.signals[ended].is_over = true;
        for index in 0..self.receivers.len() {
            let total_mw = self.others_mw(index, id);
            let is_sender = is_from(&self.signals[ended], index);
            let receiver = &mut self.receivers[index];
            receiver.total_mw = total_mw;
            receiver.sends &= !is_sender;
            receiver.locked = receiver.locked.filter(|lock| lock.signal != id);
            receiver.candidates.retain(|&candidate| candidate != id);
        }
        // What ended before everything began that is on the air overlaps nothing any more.
        let on_air = self.signals.iter().filter(|signal| !signal.is_over);
        let oldest = on_air.map(|signal| signal.begun).min();
        self.signals
            .retain(|signal| oldest.is_some_and(|oldest| !signal.is_over || signal.end > oldest));
    }

    /// What a receiver gets of a signal, in mW; nothing of its own, or of one below the floor.
    fn power_mw(&self, signal: &Signal, index: usize) -> f64 {
        let Transmitter::Radio(from) = signal.transmitter else {
            return NEIGHBOUR_MW;
        };
        let power = self.powers.received_mw(from, RadioId::from_index(index));
        let floor = self.floor_mw_per_20_mhz * signal.content.rate.bandwidth_mhz() / 20.0;
        if power < floor { 0.0 } else { power }
    }
}

/// Whether the radio at `index` sends a signal.
fn is_from(signal: &Signal, index: usize) -> bool {
    matches!(signal.transmitter, Transmitter::Radio(radio) if radio.index() == index)
}
