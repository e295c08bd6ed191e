//! What a receiver makes of the frames that its radio has received: the times that its kernel gives
//! to their packets.

use crate::rng::Stream;
use airpace_units::Time;
use core::time::Duration;

/// Most packets of one poll (NAPI's weight in Linux).
const POLLED: usize = 64;
/// Most packets that are merged: 64 KiB of 1500 bytes.
const MERGED: usize = 43;

/// A frame on the air.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AirFrame {
    /// Beginning of the PPDU.
    pub start: Time,
    /// Its end.
    pub end: Time,
    /// Packets that were received.
    pub packets: u32,
}

/// A packet as a socket sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// The kernel's timestamp.
    pub at: Time,
    /// Index of the frame that carried it.
    pub frame: u32,
}

/// How long after its interrupt the kernel begins to take packets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Latency {
    /// Log-normal: median in microseconds, and standard deviation of the logarithm.
    LogNormal(f64, f64),
    /// Gamma: mean in microseconds, and shape.
    Gamma(f64, f64),
    /// Exponential with a mean in microseconds; in one of so many cases ten times as long.
    Stalling(f64, f64),
}

impl Latency {
    fn slower(self, factor: f64) -> Self {
        match self {
            Self::LogNormal(median, sigma) => Self::LogNormal(factor * median, sigma),
            Self::Gamma(mean, shape) => Self::Gamma(factor * mean, shape),
            Self::Stalling(mean, one_in) => Self::Stalling(factor * mean, one_in),
        }
    }

    fn draw(self, stream: &mut Stream) -> f64 {
        match self {
            Self::LogNormal(median, sigma) => median * (sigma * stream.normal()).exp(),
            Self::Gamma(mean, shape) => mean * stream.gamma(shape),
            Self::Stalling(mean, one_in) => {
                let factor = if stream.happens(1.0 / one_in) {
                    10.0
                } else {
                    1.0
                };
                factor * mean * stream.exponential()
            }
        }
    }
}

/// How the radio's interrupts are combined. Times in microseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Coalescing {
    /// Each frame has its own, unless the kernel is still busy.
    None,
    /// An interrupt comes this long after the first packet.
    Delayed(f64),
    /// An interrupt comes with so many packets, or this long after the first.
    Counted(usize, f64),
    /// Interrupts are at least this far apart.
    Throttled(f64),
    /// Packets are fetched at multiples of this time, as from USB.
    Periodic(f64),
}

impl Coalescing {
    fn slower(self, factor: f64) -> Self {
        match self {
            Self::None => Self::None,
            Self::Delayed(us) => Self::Delayed(factor * us),
            Self::Counted(packets, us) => Self::Counted(packets, factor * us),
            Self::Throttled(us) => Self::Throttled(factor * us),
            Self::Periodic(us) => Self::Periodic(factor * us),
        }
    }
}

/// A receiver between its radio and its sockets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Receiver {
    /// From the interrupt to the first packet.
    pub latency: Latency,
    /// How interrupts are combined.
    pub coalescing: Coalescing,
    /// Mean time that the kernel takes for a packet, microseconds.
    pub per_packet_us: f64,
    /// Whether packets of a poll are merged and have one timestamp (GRO).
    pub merges: bool,
    /// Probability that something else runs before a packet is taken, and for how long on average,
    /// microseconds.
    pub pauses: (f64, f64),
    /// Whether the radio hands over each MPDU when it has received it, and not at the frame's end.
    pub by_mpdu: bool,
    /// Resolution of timestamps.
    pub tick: Duration,
}

impl Default for Receiver {
    /// A quick one without jitter.
    fn default() -> Self {
        Self {
            latency: Latency::LogNormal(10.0, 0.2),
            coalescing: Coalescing::None,
            per_packet_us: 1.0,
            merges: false,
            pauses: (0.0, 0.0),
            by_mpdu: false,
            tick: Duration::from_nanos(1),
        }
    }
}

impl Receiver {
    /// Whether it hands over each frame soon after its end, and as a whole.
    #[must_use]
    pub fn is_prompt(&self) -> bool {
        let is_soon = matches!(self.latency, Latency::LogNormal(median_us, _) if median_us <= 20.0);
        is_soon && self.coalescing == Coalescing::None && self.pauses.0 == 0.0 && !self.by_mpdu
    }

    /// The same receiver with all its times, but that of its clock's tick, multiplied by `factor`.
    pub(super) fn slower(self, factor: f64) -> Self {
        let (pause_chance, pause_us) = self.pauses;
        Self {
            latency: self.latency.slower(factor),
            coalescing: self.coalescing.slower(factor),
            per_packet_us: factor * self.per_packet_us,
            pauses: (pause_chance, factor * pause_us),
            ..self
        }
    }

    /// The arrivals of the packets of `frames`, which are in order of time.
    #[must_use]
    pub fn arrivals(&self, frames: &[AirFrame], stream: &mut Stream) -> Vec<Arrival> {
        let ready = self.ready(frames);
        let mut arrivals = Vec::with_capacity(ready.len());
        let (mut free_us, mut interrupt_us) = (0.0_f64, f64::NEG_INFINITY);
        while arrivals.len() < ready.len() {
            interrupt_us = self.interrupt(&ready[arrivals.len()..], interrupt_us);
            let mut now_us = free_us.max(interrupt_us + self.latency.draw(stream));
            // The kernel goes on polling while there are packets.
            while ready
                .get(arrivals.len())
                .is_some_and(|&(at, _)| at <= now_us)
            {
                now_us = self.poll(&ready, now_us, &mut arrivals, stream);
            }
            free_us = now_us;
        }
        arrivals
    }

    /// When each packet is in the receiver's memory, microseconds, and its frame.
    fn ready(&self, frames: &[AirFrame]) -> Vec<(f64, u32)> {
        let mut ready = Vec::new();
        for (idx, frame) in (0..).zip(frames) {
            let (start, end) = (us(frame.start), us(frame.end));
            for packet in 1..=frame.packets {
                let share = f64::from(packet) / f64::from(frame.packets);
                let at = if self.by_mpdu {
                    start + share * (end - start)
                } else {
                    end
                };
                ready.push((at, idx));
            }
        }
        ready
    }

    /// When the interrupt for the first of `ready` comes, if the one before came at `last_us`.
    fn interrupt(&self, ready: &[(f64, u32)], last_us: f64) -> f64 {
        let ready_us = ready[0].0;
        match self.coalescing {
            Coalescing::None => ready_us,
            Coalescing::Counted(packets, us) => ready
                .get(packets.saturating_sub(1))
                .map_or(ready_us + us, |&(at, _)| at.min(ready_us + us)),
            Coalescing::Delayed(us) => ready_us + us,
            Coalescing::Throttled(us) => ready_us.max(last_us + us),
            Coalescing::Periodic(us) => (ready_us / us).ceil() * us,
        }
    }

    /// Takes the packets that are ready at `now_us`, and returns when that has ended.
    fn poll(
        &self,
        ready: &[(f64, u32)],
        mut now_us: f64,
        arrivals: &mut Vec<Arrival>,
        stream: &mut Stream,
    ) -> f64 {
        let first = arrivals.len();
        let mut stamped = first;
        while let Some(&(_, frame)) = ready
            .get(arrivals.len())
            .filter(|&&(at, _)| at <= now_us && arrivals.len() - first < POLLED)
        {
            if stream.happens(self.pauses.0) {
                now_us += self.pauses.1 * stream.exponential();
            }
            // Between 0.7 and 1.3 times the mean.
            now_us += self.per_packet_us * (0.7 + 0.6 * stream.unit());
            let at = self.stamp(now_us);
            arrivals.push(Arrival { at, frame });
            if self.merges && arrivals.len() - stamped == MERGED {
                stamped = merge(arrivals, stamped, at);
            }
        }
        if self.merges {
            let at = self.stamp(now_us);
            merge(arrivals, stamped, at);
        }
        now_us
    }

    fn stamp(&self, us: f64) -> Time {
        let tick = u64::try_from(self.tick.as_nanos()).unwrap_or(1).max(1);
        // Times of a run are far below 2^53 ns.
        let ns = (us * 1e3) as u64;
        Time::from_nanos(ns / tick * tick)
    }
}

/// Gives the arrivals from `first` on the time at which they are handed over together. Returns where
/// the next begin.
fn merge(arrivals: &mut [Arrival], first: usize, at: Time) -> usize {
    for arrival in &mut arrivals[first..] {
        arrival.at = at;
    }
    arrivals.len()
}

fn us(time: Time) -> f64 {
    time.as_nanos() as f64 * 1e-3
}
