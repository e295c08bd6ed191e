//! WQM: the size of a queueing discipline follows the rate at which its packets are sent (003).

use super::qdisc::Discipline;
use crate::mac::{FrameRecord, RadioConfig};
use airpace_core::packet::Packet;
use airpace_core::queue::{Wqm, WqmConfig, WqmSample};
use airpace_units::{BitRate, Time};
use core::time::Duration;

/// Sizes a queueing discipline once per interval by what was sent in it.
#[derive(Debug)]
pub(super) struct Sizing {
    config: WqmConfig,
    /// `None` until the first link has a rate.
    law: Option<Wqm>,
    /// End of the present interval.
    next: Time,
    /// Frames and MPDUs sent in it.
    frames: u32,
    mpdus: u32,
    /// Bits of their PSDUs, and the time that those take at their rates.
    bits: f64,
    seconds: f64,
    /// Beginning of the present interval, and for how long others had kept the channel busy until
    /// then.
    since: Time,
    others: Duration,
    /// Mean rate in the last interval in which anything was sent.
    rate: BitRate,
}

/// Most intervals without packets that are caught up with one by one; after so many the size has
/// reached a bound.
const MISSED_INTERVALS: u32 = 1_000;

impl Sizing {
    /// WQM's smallest size is that of the longest A-MPDU, which the radio's own limits may shorten.
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
            since: Time::ZERO,
            others: Duration::ZERO,
            rate: BitRate::ZERO,
        }
    }

    /// Gives the discipline its initial size by the rate of the first link; later calls do nothing.
    pub(super) fn begin<P: Packet>(&mut self, rate: BitRate, qdisc: &mut Discipline<P>) {
        if self.law.is_none() {
            self.rate = rate;
            let law = Wqm::new(self.config, rate);
            qdisc.set_limit(law.limit());
            self.law = Some(law);
        }
    }

    /// A frame was sent.
    pub(super) fn on_frame(&mut self, frame: &FrameRecord) {
        let bits = f64::from(frame.psdu_bytes) * 8.0;
        self.frames += 1;
        self.mpdus += u32::from(frame.mpdus);
        self.bits += bits;
        self.seconds += bits / frame.rate.rate().as_bps_f64();
    }

    /// Whether the present interval has ended.
    pub(super) fn is_due(&self, now: Time) -> bool {
        now >= self.next
    }

    /// Ends all intervals before `now`. Others have kept the channel busy for `others` since the
    /// beginning of the run.
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
