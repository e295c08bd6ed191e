//! The medium by received powers: what is on the air, which frame each receiver is on, and what
//! overlaps it.
//!
//! A receiver notices that a frame has begun when 4 µs have passed. If it is on no other frame and
//! does not send, it then takes the strongest of those that have begun, provided that it is strong
//! enough. It stays on that frame to its end unless it cannot decode the first field of the header,
//! and everything else is interference. The channel is busy as long as the sum of all signals is
//! above the threshold of carrier sense. That is the receiver of ns-3 (YansWifiPhy with
//! ThresholdPreambleDetectionModel).

mod certainty;
mod legacy;
mod lone;
mod medium;
mod receiver;
mod reception;

pub(super) use reception::{MpduClock, Span, Wanted};

use super::ids::Transmitter;
use crate::channel::noise_dbm;
use crate::radio::{Capture, PairPowers, RadioId, Reach, ReceivedPowers, milliwatts_of};
use crate::rng::Stream;
use airpace_core::phy::{Timing, TxRate};
use airpace_units::Time;
use certainty::Certainties;
use core::time::Duration;
use lone::Lone;
use receiver::{Audible, Lock, Receiver};
use reception::{Hazards, Piece};
use std::collections::VecDeque;
use std::sync::Arc;

/// From the beginning of a frame until receivers notice it: the time in which a receiver must
/// detect a preamble (aCCATime of clause 17.4.4; ns-3's preamble detection).
const NOTICE: Duration = Duration::from_micros(4);
/// The power in mW with which neighbours, which have no position, are received: they drown whatever
/// they overlap.
const NEIGHBOUR_MW: f64 = 1.0;

/// What a PPDU carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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

/// A PPDU on the air.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signal {
    id: SignalId,
    transmitter: Transmitter,
    begun: Time,
    end: Time,
    content: Content,
}

impl Signal {
    /// The radio that sends it; none if a neighbour does.
    pub(super) const fn sender(&self) -> Option<RadioId> {
        match self.transmitter {
            Transmitter::Radio(radio) => Some(radio),
            Transmitter::Neighbour => None,
        }
    }
}

/// Which radios receive whom.
#[derive(Clone, Debug)]
pub(super) struct Reaches {
    powers: ReceivedPowers,
    /// The radios that neighbours reach: all.
    by_neighbours: Vec<Reach>,
}

/// The medium by received powers.
///
/// What a signal costs grows with the number of radios that receive it: each of them has a list of
/// the signals that it receives, and nothing is asked of the others.
#[derive(Debug)]
pub(super) struct Field {
    reaches: Arc<Reaches>,
    timing: Timing,
    sense_mw: f64,
    detect_mw: f64,
    detect_sinr: f64,
    floor_mw_per_20_mhz: f64,
    capture: Option<Capture>,
    receivers: Vec<Receiver>,
    /// Those on the air, in the order in which they began.
    signals: Vec<Signal>,
    /// The only one on the air, if its receivers have not been told yet.
    lone: Option<Lone>,
    /// Signals with fewer receivers are told to them at once.
    least_receivers: usize,
    next: u64,
    /// Signals that are yet to be noticed, and when; in order of time.
    notices: VecDeque<(Time, Signal)>,
    /// Signals whose L-SIG field may be disturbed, and when it ends; in order of time.
    legacy_headers: VecDeque<(Time, Signal)>,
    /// What overlaps the frame that was last looked at.
    pieces: Vec<Piece>,
    /// Buffer for the times at which they begin and end, kept for its memory.
    bounds: Vec<Time>,
    hazards: Hazards,
    certainties: Certainties,
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
            audible: Vec::new(),
            told: None,
            draws: match key {
                Some(key) => Stream::new(seed, "named reception", key),
                None => Stream::new(seed, "reception", number),
            },
        });
        let receivers = receivers.collect();
        let everybody = (0..powers.radios()).map(|index| Reach {
            radio: RadioId::from_index(index),
            milliwatts: NEIGHBOUR_MW,
        });
        let rules = *powers.rules();
        Self {
            reaches: Arc::new(Reaches {
                powers,
                by_neighbours: everybody.collect(),
            }),
            capture: rules.capture,
            timing,
            sense_mw: rules.sense_mw(),
            detect_mw: milliwatts_of(rules.detect_dbm),
            detect_sinr: milliwatts_of(rules.detect_sinr_db),
            floor_mw_per_20_mhz: milliwatts_of(rules.floor_dbm),
            receivers,
            signals: Vec::new(),
            lone: None,
            least_receivers: lone::LEAST_RECEIVERS,
            next: 0,
            notices: VecDeque::new(),
            legacy_headers: VecDeque::new(),
            pieces: Vec::new(),
            bounds: Vec::new(),
            hazards: Hazards::default(),
            certainties: Certainties::default(),
            decoding: None,
        }
    }

    /// A PPDU begins that will last until `end`. If it is the only one on the air its receivers are
    /// told later; whatever was alone before must have been told to all of its receivers.
    pub(super) fn begin(
        &mut self,
        transmitter: Transmitter,
        at: Time,
        end: Time,
        content: Content,
    ) -> Signal {
        let signal = Signal {
            id: SignalId(self.next),
            transmitter,
            begun: at,
            end,
            content,
        };
        self.next += 1;
        self.expect_legacy_headers(&signal);
        let is_alone =
            self.signals.is_empty() && self.reaches.of(&signal).len() >= self.least_receivers;
        self.signals.push(signal);
        self.notices.push_back((at + NOTICE, signal));
        if let Transmitter::Radio(radio) = transmitter {
            let sender = &mut self.receivers[radio.index()];
            sender.sends = true;
            sender.locked = None;
            sender.candidates.clear();
        }
        if is_alone {
            self.lone = Some(Lone::new(signal));
            return signal;
        }
        let floor_mw = self.floor_mw(&signal);
        let reaches = Arc::clone(&self.reaches);
        for reach in reaches.of(&signal) {
            if reach.milliwatts >= floor_mw {
                self.begin_at(reach.radio.index(), &signal, reach.milliwatts);
            }
        }
        signal
    }

    /// A signal begins at a receiver.
    #[inline]
    fn begin_at(&mut self, index: usize, signal: &Signal, power_mw: f64) {
        let receiver = &mut self.receivers[index];
        if self
            .capture
            .is_some_and(|capture| receiver.captures(capture, signal.begun, power_mw))
        {
            receiver.locked = None;
        }
        receiver.total_mw += power_mw;
        receiver.audible.push(Audible {
            id: signal.id,
            begun: signal.begun,
            end: signal.end,
            power_mw,
            is_over: false,
        });
        if !receiver.sends && receiver.locked.is_none() {
            receiver.candidates.push(signal.id);
        }
    }

    /// The number of radios.
    pub(super) const fn radios(&self) -> usize {
        self.receivers.len()
    }

    /// A radio has moved: signals on the air are as strong as its new place makes them.
    pub(super) fn set_powers(&mut self, moved: RadioId, pairs: &[PairPowers]) {
        Arc::make_mut(&mut self.reaches).powers.set(moved, pairs);
        for signal in &self.signals {
            let Some(sender) = signal.sender() else {
                continue;
            };
            let floor_mw = self.floor_mw(signal);
            for (index, receiver) in self.receivers.iter_mut().enumerate() {
                let to = RadioId::from_index(index);
                if to != sender && (sender == moved || to == moved) {
                    let power_mw = self.reaches.powers.received_mw(sender, to);
                    let is_audible = power_mw > 0.0 && power_mw >= floor_mw;
                    receiver.hear_anew(signal, is_audible.then_some(power_mw));
                }
            }
        }
    }

    /// What a radio receives of another, in mW.
    pub(super) fn received_mw(&self, from: RadioId, to: RadioId) -> f64 {
        self.reaches.powers.received_mw(from, to)
    }

    /// When receivers next notice that a signal has begun, or that they cannot decode one.
    pub(super) fn next_notice(&self) -> Option<Time> {
        let notice = self.notices.front().map(|&(at, _)| at);
        let header = self.legacy_headers.front().map(|&(at, _)| at);
        notice.into_iter().chain(header).min()
    }

    /// The next signal that receivers are to notice at `now`, if there is another one.
    pub(super) fn take_notice(&mut self, now: Time) -> Option<Signal> {
        let &(at, signal) = self.notices.front()?;
        if at > now {
            return None;
        }
        self.notices.pop_front();
        Some(signal)
    }

    /// A receiver notices a signal. It takes it if it is the strongest that it has not noticed yet,
    /// and strong enough.
    #[inline]
    pub(super) fn notice(&mut self, index: usize, signal: &Signal, now: Time) {
        let receiver = &mut self.receivers[index];
        if !receiver.candidates.contains(&signal.id) {
            return;
        }
        let noise_mw = receiver.noise_mw_per_mhz * signal.content.rate.bandwidth_mhz();
        let is_taken = match &receiver.audible[..] {
            [only] => {
                only.power_mw >= self.detect_mw && only.power_mw >= self.detect_sinr * noise_mw
            }
            _ => receiver.detects(signal.id, noise_mw, self.detect_mw, self.detect_sinr),
        };
        if is_taken {
            receiver.candidates.clear();
            receiver.locked = Some(Lock {
                signal: signal.id,
                since: now,
                has_legacy_header: false,
            });
        } else {
            receiver.candidates.retain(|&other| other != signal.id);
        }
    }

    /// The signals that have begun and that no receiver has noticed yet.
    pub(super) fn unnoticed(&self) -> impl Iterator<Item = &Signal> {
        self.notices.iter().map(|(_, signal)| signal)
    }

    /// Which radios receive whom.
    pub(super) fn reaches(&self) -> Arc<Reaches> {
        Arc::clone(&self.reaches)
    }

    /// Whether a radio finds the channel busy: it sends, or senses signals.
    pub(super) fn is_busy(&self, index: usize) -> bool {
        let receiver = &self.receivers[index];
        receiver.sends || receiver.total_mw >= self.sense_mw
    }

    /// When the last of the signals ends that a radio receives.
    pub(super) fn last_end(&self, index: usize) -> Time {
        let receiver = &self.receivers[index];
        let ends = receiver.on_air().map(|signal| signal.end);
        ends.max().unwrap_or_default()
    }

    /// Takes the signal of `transmitter` off the air that began at `begun`.
    pub(super) fn take(&mut self, transmitter: Transmitter, begun: Time) -> Option<Signal> {
        let place = self
            .signals
            .iter()
            .position(|signal| signal.transmitter == transmitter && signal.begun == begun)?;
        Some(self.signals.remove(place))
    }

    /// Whether a receiver is on the frame `id`.
    pub(super) fn is_on(&self, index: usize, id: SignalId) -> bool {
        self.receivers[index].is_on(id)
    }

    /// A signal ends for a receiver.
    #[inline]
    pub(super) fn end(&mut self, index: usize, signal: &Signal) {
        self.receivers[index].end(signal.id);
    }

    /// A radio has sent its signal.
    pub(super) fn end_sending(&mut self, index: usize) {
        self.receivers[index].sends = false;
    }

    /// The power in mW below which a signal does not exist for a receiver. Neighbours are always
    /// heard.
    fn floor_mw(&self, signal: &Signal) -> f64 {
        match signal.transmitter {
            Transmitter::Radio(_) => {
                self.floor_mw_per_20_mhz * signal.content.rate.bandwidth_mhz() / 20.0
            }
            Transmitter::Neighbour => 0.0,
        }
    }
}

impl Reaches {
    /// The radios that a signal reaches; of those that it reaches below the floor, some.
    pub(super) fn of(&self, signal: &Signal) -> &[Reach] {
        match signal.transmitter {
            Transmitter::Radio(radio) => self.powers.reached_by(radio),
            Transmitter::Neighbour => &self.by_neighbours,
        }
    }
}
