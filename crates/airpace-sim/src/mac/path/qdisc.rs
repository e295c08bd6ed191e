//! The queueing discipline above a driver's queue, and its sizing.

use super::Qdisc;
use crate::mac::{FrameRecord, RadioConfig};
use airpace_core::packet::Packet;
use airpace_core::phy::AccessCategory;
use airpace_core::queue::{CoDelQueue, Dropped, Fifo, FqCoDel, Limits, Wqm, WqmConfig, WqmSample};
use airpace_units::{BitRate, Time};
use core::hash::Hasher;
use core::time::Duration;

/// A packet and the lane that it is for.
#[derive(Clone, Debug)]
pub(super) struct Addressed<P> {
    pub(super) lane: u32,
    pub(super) packet: P,
}

impl<P: Packet> Packet for Addressed<P> {
    fn bytes(&self) -> u32 {
        self.packet.bytes()
    }

    fn hash_flow<H: Hasher>(&self, state: &mut H) {
        self.packet.hash_flow(state);
    }

    fn mark_ce(&mut self) -> bool {
        self.packet.mark_ce()
    }

    fn category(&self) -> AccessCategory {
        self.packet.category()
    }
}

/// A queueing discipline at work.
#[derive(Debug)]
pub(super) enum Discipline<P> {
    Fifo(Fifo<Addressed<P>>),
    Codel(Box<CoDelQueue<Addressed<P>>>),
    FqCodel(Box<FqCoDel<Addressed<P>>>),
}

impl<P: Packet> Discipline<P> {
    pub(super) fn new(config: Qdisc, key: [u8; 16]) -> Self {
        match config {
            Qdisc::Fifo { packets } => Self::Fifo(Fifo::new(Limits::packets(packets))),
            Qdisc::Codel { config, packets } => {
                Self::Codel(Box::new(CoDelQueue::new(config, Limits::packets(packets))))
            }
            Qdisc::FqCodel(config) => Self::FqCodel(Box::new(FqCoDel::new(config, key))),
        }
    }

    pub(super) fn enqueue(&mut self, now: Time, packet: Addressed<P>) {
        match self {
            Self::Fifo(queue) => {
                queue.enqueue(now, packet);
            }
            Self::Codel(queue) => {
                queue.enqueue(now, packet);
            }
            Self::FqCodel(queue) => queue.enqueue(now, packet),
        }
    }

    pub(super) fn dequeue(&mut self, now: Time) -> Option<Addressed<P>> {
        match self {
            Self::Fifo(queue) => queue.dequeue(now),
            Self::Codel(queue) => queue.dequeue(now),
            Self::FqCodel(queue) => queue.dequeue(now),
        }
    }

    /// A packet that the last call dropped.
    pub(super) fn poll_drop(&mut self) -> Option<Dropped<Addressed<P>>> {
        match self {
            Self::Fifo(queue) => queue.poll_drop(),
            Self::Codel(queue) => queue.poll_drop(),
            Self::FqCodel(queue) => queue.poll_drop(),
        }
    }

    pub(super) const fn bytes(&self) -> u64 {
        match self {
            Self::Fifo(queue) => queue.bytes(),
            Self::Codel(queue) => queue.bytes(),
            Self::FqCodel(queue) => queue.bytes(),
        }
    }

    fn set_limit(&mut self, packets: u32) {
        match self {
            Self::Fifo(queue) => queue.set_limits(Limits::packets(packets as usize)),
            Self::Codel(queue) => queue.set_limits(Limits::packets(packets as usize)),
            Self::FqCodel(queue) => queue.set_packet_limit(packets),
        }
    }
}

/// Sizes a queueing discipline once in an interval by what was sent in it.
#[derive(Debug)]
pub(super) struct Sizing {
    config: WqmConfig,
    /// `None` until the first link tells its rate.
    law: Option<Wqm>,
    /// End of the present interval.
    next: Time,
    frames: u32,
    mpdus: u32,
    /// Bits of payload sent, and the time that they take at their rates.
    bits: f64,
    seconds: f64,
    /// Time since the beginning that others had kept the channel busy, at the beginning of the interval, and that beginning.
    others: Duration,
    since: Time,
    rate: BitRate,
}

/// Intervals without any packet that are gone through one by one; after so many the size has reached a bound.
const MISSED_INTERVALS: u32 = 1_000;

impl Sizing {
    /// The smallest size is the longest A-MPDU, which the radio may shorten.
    pub(super) fn new(mut config: WqmConfig, radio: &RadioConfig) -> Self {
        config.ampdu.window = config.ampdu.window.min(radio.max_mpdus);
        config.ampdu.duration = config.ampdu.duration.min(radio.max_duration);
        Self {
            config,
            law: None,
            next: Time::ZERO.saturating_add(config.interval),
            frames: 0,
            mpdus: 0,
            bits: 0.0,
            seconds: 0.0,
            others: Duration::ZERO,
            since: Time::ZERO,
            rate: BitRate::ZERO,
        }
    }

    /// The first link has a rate: the discipline gets its initial size.
    pub(super) fn begin<P: Packet>(&mut self, rate: BitRate, qdisc: &mut Discipline<P>) {
        if self.law.is_none() {
            self.rate = rate;
            let law = Wqm::new(self.config, rate);
            qdisc.set_limit(law.limit());
            self.law = Some(law);
        }
    }

    pub(super) fn on_frame(&mut self, frame: &FrameRecord) {
        let bits = f64::from(frame.psdu_bytes) * 8.0;
        self.frames += 1;
        self.mpdus += u32::from(frame.mpdus);
        self.bits += bits;
        self.seconds += bits / frame.rate.rate().as_bps_f64();
    }

    pub(super) fn is_due(&self, now: Time) -> bool {
        now >= self.next
    }

    /// Ends the intervals that lie before `now`; others have kept the channel busy for `others` since the beginning.
    pub(super) fn end_intervals<P: Packet>(
        &mut self,
        now: Time,
        others: Duration,
        qdisc: &mut Discipline<P>,
    ) {
        if self.frames > 0 && self.seconds > 0.0 {
            self.rate = BitRate::from_bps_f64(self.bits / self.seconds);
        }
        let elapsed = now.since(self.since).as_secs_f64();
        let busy =
            others.saturating_sub(self.others).as_secs_f64() / elapsed.max(f64::MIN_POSITIVE);
        let sample = WqmSample {
            backlog_bits: qdisc.bytes() * 8,
            rate: self.rate,
            mean_ampdu: f64::from(self.mpdus) / f64::from(self.frames.max(1)),
            free: 1.0 - busy.clamp(0.0, 1.0),
        };
        let missed =
            (now.since(self.next).as_nanos() / self.config.interval.as_nanos().max(1)) as u32;
        if let Some(law) = &mut self.law {
            for _ in 0..=missed.min(MISSED_INTERVALS) {
                law.on_interval(&sample);
            }
            qdisc.set_limit(law.limit());
        }
        self.next = self.next.saturating_add(
            self.config
                .interval
                .saturating_mul(missed.saturating_add(1)),
        );
        (self.frames, self.mpdus, self.bits, self.seconds) = (0, 0, 0.0, 0.0);
        (self.others, self.since) = (others, now);
    }
}
