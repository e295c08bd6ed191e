//! One direction between the access point and a station: its queue, its block-ack window and the frames built from them.

use crate::rng::Stream;
use airpace_core::packet::Packet;
use airpace_core::phy::{
    AmpduLimits, DELIMITER_BYTES, Response, SIFS, Standard, Timing, TxRate, mpdu_bytes, subframe_bytes,
};
use airpace_core::queue::{self, Dropped, Fifo};
use airpace_units::Time;
use core::time::Duration;
use std::collections::VecDeque;

/// What bounds a frame, worked out once per rate.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Most MPDUs in a frame, and most sequence numbers in flight.
    window: usize,
    /// Largest PSDU.
    bytes: u32,
}

/// An MPDU that was sent at least once and is not released yet.
#[derive(Debug)]
struct Pending<P> {
    packet: P,
    mpdu: u32,
    tries: u8,
    state: State,
    /// The frame in which it was decoded.
    ampdu: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// To be sent (again).
    Due,
    /// In the frame on the air.
    OnAir,
    /// Decoded; held back behind a hole.
    Received,
    /// Decoded and handed over already (receivers that do not reorder).
    Released,
    /// Given up after the last try.
    Lost,
}

/// A frame as built: what goes on the air.
#[derive(Clone, Copy, Debug)]
pub(super) struct Built {
    pub(super) rate: TxRate,
    pub(super) mpdus: u16,
    /// MPDUs that were sent before.
    pub(super) retries: u16,
    pub(super) psdu_bytes: u32,
    pub(super) ppdu: Duration,
    /// Duration of the (block) acknowledgement.
    pub(super) response: Duration,
}

/// What becomes of one MPDU, in the order in which it happens.
#[derive(Debug)]
pub(super) enum Fate<P> {
    /// Decoded by the receiver's radio (told only if asked for).
    Heard { packet: P, sequence: u16, retry: bool },
    /// Handed up by the receiver.
    Released { packet: P, sequence: u16, ampdu: u32, retry: bool },
    /// Given up by the sender.
    GivenUp { packet: P },
}

/// What became of a frame as a whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    /// MPDUs decoded.
    pub(super) decoded: u16,
    /// Whether this was the last of as many frames in a row without an answer as the retry limit allows.
    pub(super) spent: bool,
}

#[derive(Debug)]
pub(super) struct Link<P> {
    queue: Fifo<P>,
    queue_peak: usize,
    rate: TxRate,
    limits: Limits,
    loss: f64,
    draws: Stream,
    /// Sent and not released, oldest first, consecutive sequence numbers.
    window: VecDeque<Pending<P>>,
    /// Frames in a row without an answer.
    unanswered: u8,
    /// Sequence number of the window's head; the standard's 12 bits are its low ones.
    head: u64,
}

/// What all links of a cell have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) timing: Timing,
    pub(super) max_mpdus: u16,
    pub(super) max_duration: Duration,
    /// TXOP limit: longest that a frame and its answer may take; zero for none.
    pub(super) txop: Duration,
    pub(super) retry_limit: u8,
    pub(super) monitor: bool,
    pub(super) in_order: bool,
}

impl<P: Packet + Clone> Link<P> {
    pub(super) fn new(rate: TxRate, rules: &Rules, queue_limit: usize, draws: Stream) -> Self {
        Self {
            queue: Fifo::new(queue::Limits::packets(queue_limit)),
            queue_peak: 0,
            rate,
            limits: Limits::of(rate, rules),
            loss: 0.0,
            draws,
            window: VecDeque::new(),
            unanswered: 0,
            head: 0,
        }
    }

    pub(super) fn set_rate(&mut self, rate: TxRate, rules: &Rules) {
        self.rate = rate;
        self.limits = Limits::of(rate, rules);
    }

    pub(super) fn set_loss(&mut self, probability: f64) {
        self.loss = probability;
    }

    /// Takes a packet, or hands back what the queue drops for it.
    pub(super) fn push(&mut self, now: Time, packet: P) -> Option<Dropped<P>> {
        self.queue.enqueue(now, packet);
        self.queue_peak = self.queue_peak.max(self.queue.len());
        self.queue.poll_drop()
    }

    /// Packets that wait, those in flight not counted.
    pub(super) fn queued(&self) -> usize {
        self.queue.len()
    }

    pub(super) fn queued_bytes(&self) -> u64 {
        self.queue.bytes()
    }

    /// The longest the queue has been since this was last asked.
    pub(super) fn take_peak(&mut self) -> usize {
        core::mem::replace(&mut self.queue_peak, self.queue.len())
    }

    /// Packets that were sent and are neither released nor given up.
    pub(super) fn in_flight(&self) -> usize {
        self.window.iter().filter(|entry| !matches!(entry.state, State::Released | State::Lost)).count()
    }

    pub(super) fn has_work(&self) -> bool {
        // Whatever is left in the window between exchanges stands behind (or is) an MPDU that must be sent again.
        !self.queue.is_empty() || !self.window.is_empty()
    }

    /// Composes the next frame: retransmissions first, then new packets, within every limit. `None` if there is nothing to send.
    pub(super) fn build(&mut self, now: Time, rules: &Rules) -> Option<Built> {
        let mut frame = Assembly::default();
        let due = self.window.iter_mut().enumerate().filter(|(_, entry)| entry.state == State::Due);
        for (offset, entry) in due {
            if !frame.add(offset, entry.mpdu, &self.limits) {
                break;
            }
            entry.state = State::OnAir;
        }
        let retries = frame.mpdus;
        while self.window.len() < self.limits.window {
            let Some(mpdu) = self.queue.peek().map(|packet| mpdu_bytes(packet.bytes())) else { break };
            if !frame.add(self.window.len(), mpdu, &self.limits) {
                break;
            }
            self.begin_flight(now, mpdu);
        }
        (frame.mpdus > 0).then(|| self.finish_build(&frame, retries, rules))
    }

    fn begin_flight(&mut self, now: Time, mpdu: u32) {
        if let Some(packet) = self.queue.dequeue(now) {
            self.window.push_back(Pending { packet, mpdu, tries: 0, state: State::OnAir, ampdu: 0 });
        }
    }

    fn finish_build(&self, frame: &Assembly, retries: u16, rules: &Rules) -> Built {
        let psdu_bytes = frame.psdu_bytes(self.rate.standard(), rules.timing);
        Built {
            rate: self.rate,
            mpdus: frame.mpdus,
            retries,
            psdu_bytes,
            ppdu: self.rate.ppdu_duration(psdu_bytes, rules.timing),
            response: Response::to(self.rate, frame.sequence_numbers()).duration,
        }
    }

    /// The frame has ended. Each MPDU is decoded or not (none is if it `collided`), and what can be released is, in order.
    ///
    /// `tell` hears each MPDU's fate.
    pub(super) fn end_frame(
        &mut self,
        ampdu: u32,
        collided: bool,
        rules: &Rules,
        mut tell: impl FnMut(Fate<P>),
    ) -> Ended {
        let mut ended = Ended { decoded: 0, spent: false };
        for (offset, entry) in self.window.iter_mut().enumerate().filter(|(_, entry)| entry.state == State::OnAir) {
            entry.tries = entry.tries.saturating_add(1);
            if collided || self.draws.happens(self.loss) {
                entry.state = if entry.tries >= rules.retry_limit { State::Lost } else { State::Due };
                continue;
            }
            ended.decoded += 1;
            (entry.state, entry.ampdu) = (State::Received, ampdu);
            let (sequence, retry) = (sequence_number(self.head + offset as u64), entry.tries > 1);
            if rules.monitor {
                tell(Fate::Heard { packet: entry.packet.clone(), sequence, retry });
            }
            if !rules.in_order {
                entry.state = State::Released;
                tell(Fate::Released { packet: entry.packet.clone(), sequence, ampdu, retry });
            }
        }
        self.unanswered = if ended.decoded > 0 { 0 } else { self.unanswered + 1 };
        if self.unanswered >= rules.retry_limit {
            (self.unanswered, ended.spent) = (0, true);
        }
        self.advance_window(tell);
        ended
    }

    /// Releases, gives up or forgets what stands at the head of the window.
    fn advance_window(&mut self, mut tell: impl FnMut(Fate<P>)) {
        while self.window.front().is_some_and(|entry| !matches!(entry.state, State::Due | State::OnAir)) {
            let Some(entry) = self.window.pop_front() else { break };
            let sequence = sequence_number(self.head);
            self.head += 1;
            match entry.state {
                State::Received => {
                    tell(Fate::Released { packet: entry.packet, sequence, ampdu: entry.ampdu, retry: entry.tries > 1 });
                }
                State::Lost => tell(Fate::GivenUp { packet: entry.packet }),
                State::Released | State::Due | State::OnAir => {}
            }
        }
    }
}

/// The 12-bit sequence number on the air.
fn sequence_number(count: u64) -> u16 {
    (count & 0xfff) as u16
}

impl Limits {
    fn of(rate: TxRate, rules: &Rules) -> Self {
        let standard = AmpduLimits::of(rate.standard());
        let window = standard.window.min(rules.max_mpdus);
        let mut duration = standard.duration.min(rules.max_duration);
        if !rules.txop.is_zero() {
            // The whole exchange lies within the TXOP (10.23.2.9); the answer may be as long as that to a full window.
            let answer = SIFS + Response::to(rate, window.into()).duration;
            duration = duration.min(rules.txop.saturating_sub(answer));
        }
        Self { window: usize::from(window), bytes: standard.bytes.min(rate.max_psdu(duration, rules.timing)) }
    }
}

/// A PSDU in the making.
#[derive(Default)]
struct Assembly {
    mpdus: u16,
    /// Bytes so far, the last subframe without its padding.
    psdu: u32,
    /// Bytes so far, the last subframe padded.
    padded: u32,
    /// Places in the window of its first and its last MPDU.
    first: usize,
    last: usize,
}

impl Assembly {
    /// Adds the MPDU at `offset` in the window if the frame stays within the limits; the first one always goes, since nothing smaller can be sent.
    fn add(&mut self, offset: usize, mpdu: u32, limits: &Limits) -> bool {
        let psdu = self.padded + DELIMITER_BYTES + mpdu;
        let fits = usize::from(self.mpdus) < limits.window && psdu <= limits.bytes;
        if self.mpdus > 0 && !fits {
            return false;
        }
        if self.mpdus == 0 {
            self.first = offset;
        }
        self.last = offset;
        self.mpdus += 1;
        self.psdu = psdu;
        self.padded += subframe_bytes(mpdu);
        true
    }

    /// An HT MPDU that travels alone goes without a delimiter, as [`airpace_core::phy::psdu_bytes`] has it; ns-3 sends an A-MPDU of
    /// one.
    fn psdu_bytes(&self, standard: Standard, timing: Timing) -> u32 {
        let alone = self.mpdus == 1 && standard == Standard::Ht && timing == Timing::Standard;
        if alone { self.psdu - DELIMITER_BYTES } else { self.psdu }
    }

    /// Sequence numbers from the first to the last MPDU, which the bitmap of a block ack must span; 1 for a single MPDU.
    fn sequence_numbers(&self) -> u32 {
        // At most the window of 256.
        (self.last - self.first + 1) as u32
    }
}
