use super::{Counters, Dropped, Fifo, Limits};
use crate::packet::Packet;
use airpace_units::Time;
use core::time::Duration;

/// How long CoDel remembers the drop rate of an earlier dropping state, in intervals (RFC 8289
/// §5.6: "recently" is 16 intervals in the published implementations).
const MEMORY_INTERVALS: u32 = 16;

/// The longest interval: its square in nanoseconds fits 64 bits. A longer one is reduced to it.
const MAX_INTERVAL: Duration = Duration::from_secs(4);

/// Parameters of CoDel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CoDelConfig {
    /// Acceptable standing delay. RFC 8289 §4.3: 5 ms.
    pub target: Duration,
    /// Time for which a standing queue must last before CoDel acts, about a worst-case round trip;
    /// 4 s at most. RFC 8289 §4.2: 100 ms.
    pub interval: Duration,
    /// Nothing is dropped while this many bytes or fewer stay in the queue: one packet is not a
    /// standing queue (RFC 8289 §5.5). Default 1514.
    pub mtu: u32,
    /// Whether packets of ECN-capable transports are marked instead of dropped.
    pub ecn: bool,
}

impl Default for CoDelConfig {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            mtu: 1514,
            ecn: true,
        }
    }
}

impl CoDelConfig {
    /// Parameters for the queue of a station that is paced: as by default, with a target of 10 ms.
    ///
    /// Packets and acknowledgements cross the air in bunches a round apart. With 5 ms a Cubic flow
    /// that halts for a drop leaves the pacer with nothing to send for up to a twentieth of the time.
    /// With 10 ms goodput is 1 to 4 % greater (`airpace bench frontier`). With 20 ms it gains up to
    /// another per cent, and the p95 ping is a tenth longer beside one station (simulated, MCS 9:
    /// 11.5 instead of 10.5 ms) and up to a quarter beside three (MCS 9, 4, 1: 19.2 instead of
    /// 15.2 ms), because the pacer then sends nearly all that it is granted.
    pub fn paced() -> Self {
        Self {
            target: Duration::from_millis(10),
            ..Self::default()
        }
    }

    /// Parameters for the queue of a station that a box in the wire paces: a target of 20 ms, as
    /// mac80211 has it behind the same air.
    ///
    /// The access point holds packets for 8 to 18 ms there. With 10 ms TCP left the pacers of three
    /// equal stations empty for 3 to 4 % of the time, and with 20 ms for 2 % (`airpace bench mixed`).
    pub fn in_line() -> Self {
        Self {
            target: Duration::from_millis(20),
            ..Self::default()
        }
    }
}

/// What to do with a packet that was taken from the head.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Hand it out.
    Pass,
    /// Mark it and hand it out.
    Mark,
    /// Drop it and take the next.
    Drop,
}

/// The CoDel algorithm for one queue, without the queue itself (RFC 8289 §5).
///
/// The caller takes a packet from the head and calls [`CoDel::judge`], or [`CoDel::on_empty`] if
/// there was none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CoDel {
    /// When the sojourn time will have been above the target for an interval.
    first_above: Option<Time>,
    /// When the next signal (a mark or a drop) is due, in the dropping state.
    drop_next: Time,
    /// Signals since the dropping state was entered; sets the rate of signals.
    count: u32,
    /// `count` when the dropping state was last entered.
    last_count: u32,
    dropping: bool,
    /// Whether a signal was given and `drop_next` was not moved on yet.
    owes_step: bool,
}

impl CoDel {
    /// The state of a new queue.
    pub(super) const NEW: Self = Self {
        first_above: None,
        drop_next: Time::ZERO,
        count: 0,
        last_count: 0,
        dropping: false,
        owes_step: false,
    };

    /// Judges a packet that waited for `sojourn` and left `behind` bytes in the queue.
    ///
    /// Calls `mark` when a signal is due and `config.ecn` is set; `mark` marks the packet and
    /// returns whether it could.
    #[inline]
    pub fn judge(
        &mut self,
        now: Time,
        config: &CoDelConfig,
        sojourn: Duration,
        behind: u64,
        mark: impl FnOnce() -> bool,
    ) -> Verdict {
        // Below the target, or with at most one packet behind, there is no standing queue (§5.5).
        if sojourn < config.target || behind <= u64::from(config.mtu) {
            self.on_empty();
            return Verdict::Pass;
        }
        if !self.signal_due(now, config.interval.min(MAX_INTERVAL)) {
            return Verdict::Pass;
        }
        if config.ecn && mark() {
            self.move_on(config.interval.min(MAX_INTERVAL));
            Verdict::Mark
        } else {
            Verdict::Drop
        }
    }

    /// Reports that the queue was found empty. There is no standing queue, so the dropping state
    /// ends.
    pub fn on_empty(&mut self) {
        self.first_above = None;
        self.dropping = false;
        self.owes_step = false;
    }

    /// Counts packets dropped for other reasons as signals, so that the law acts more strongly (as
    /// Linux does after a batch drop).
    pub fn strengthen(&mut self, signals: u32) {
        self.count = self.count.saturating_add(signals);
    }

    /// Whether a signal is due, given that the head has waited longer than the target.
    fn signal_due(&mut self, now: Time, interval: Duration) -> bool {
        // The delay must stay above the target for a whole interval before anything happens (§5.5).
        let deadline = now.saturating_add(interval);
        if now < *self.first_above.get_or_insert(deadline) {
            return false;
        }
        if !self.dropping {
            self.enter(now, interval);
            return true;
        }
        self.move_on(interval);
        if now < self.drop_next {
            return false;
        }
        self.count = self.count.saturating_add(1);
        self.owes_step = true;
        true
    }

    /// Enters the dropping state, near the signal rate that controlled the queue last time if that
    /// was recent (§5.4).
    fn enter(&mut self, now: Time, interval: Duration) {
        let recent = now.saturating_since(self.drop_next) < interval * MEMORY_INTERVALS;
        let delta = self.count.saturating_sub(self.last_count);
        // The signals of the last dropping state beyond its first show the rate that was needed.
        self.count = if recent && delta > 1 { delta } else { 1 };
        self.last_count = self.count;
        self.dropping = true;
        self.drop_next = self.after(now, interval);
    }

    /// Computes when the signal after the last one is due. After a drop this waits until the next
    /// packet is known to be late as well.
    fn move_on(&mut self, interval: Duration) {
        if core::mem::take(&mut self.owes_step) {
            self.drop_next = self.after(self.drop_next, interval);
        }
    }

    /// The control law (§3.2): `interval / sqrt(count)` after `time`.
    fn after(&self, time: Time, interval: Duration) -> Time {
        let ns = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
        // The interval is at most 4 s, so its square is at most 1.6e19 and fits 64 bits.
        let step = (ns.saturating_mul(ns) / u64::from(self.count.max(1))).isqrt();
        time.saturating_add(Duration::from_nanos(step))
    }
}

/// A queue managed by CoDel, with tail drop at its limits.
#[derive(Clone, Debug)]
pub struct CoDelQueue<P> {
    config: CoDelConfig,
    law: CoDel,
    fifo: Fifo<P>,
}

impl Default for CoDel {
    fn default() -> Self {
        Self::NEW
    }
}

impl<P: Packet> CoDelQueue<P> {
    /// An empty queue.
    #[must_use]
    pub fn new(config: CoDelConfig, limits: Limits) -> Self {
        Self {
            config,
            law: CoDel::default(),
            fifo: Fifo::new(limits),
        }
    }

    /// Appends `packet`, or drops it if there is no room. Returns whether it was appended.
    pub fn enqueue(&mut self, now: Time, packet: P) -> bool {
        self.fifo.enqueue(now, packet)
    }

    /// Removes and returns the oldest packet that CoDel does not drop.
    pub fn dequeue(&mut self, now: Time) -> Option<P> {
        self.fifo.ledger.begin();
        while let Some(mut queued) = self.fifo.pop() {
            let sojourn = now.saturating_since(queued.since);
            let behind = self.fifo.bytes();
            let mark = || queued.packet.mark_ce();
            let verdict = self.law.judge(now, &self.config, sojourn, behind, mark);
            if let Some(packet) =
                self.fifo
                    .ledger
                    .settle(verdict, queued.packet.bytes(), queued.packet)
            {
                return Some(packet);
            }
        }
        self.law.on_empty();
        None
    }

    /// Returns a packet that the last call dropped.
    pub fn poll_drop(&mut self) -> Option<Dropped<P>> {
        self.fifo.poll_drop()
    }

    /// The limits.
    #[must_use]
    pub const fn limits(&self) -> Limits {
        self.fifo.limits()
    }

    /// Changes the limits. A backlog above the new limits is kept; new packets are dropped until it
    /// has drained. Linux does the same when txqueuelen is lowered under `pfifo_fast`, which
    /// compares the length at each arrival (3.9, the kernel of 003).
    pub fn set_limits(&mut self, limits: Limits) {
        self.fifo.set_limits(limits);
    }

    /// How long the oldest packet has waited.
    #[must_use]
    pub fn head_sojourn(&self, now: Time) -> Option<Duration> {
        self.fifo.head_sojourn(now)
    }

    /// Number of packets in the queue.
    #[must_use]
    pub fn len(&self) -> usize {
        self.fifo.len()
    }

    /// Bytes in the queue.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.fifo.bytes()
    }

    /// Whether the queue is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fifo.is_empty()
    }

    /// The counters since the queue was created.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        self.fifo.counters()
    }
}

#[cfg(test)]
mod tests;
