//! The queue of a paced station: a low-latency queue beside FQ-CoDel.

mod flows;
mod law;
mod throughput;

use super::counters::Ledger;
use super::fifo::Queued;
use super::fq_codel::Beside;
use super::{Counters, DropReason, Dropped, FqCoDel, FqCoDelConfig, Served};
use crate::packet::{Ecn, Packet};
use airpace_units::Time;
use core::time::Duration;
use flows::{LowLatencyFlows, PER_FLOW};
use law::{Marker, SignalShare, coupled_probability, native_probability};
use std::collections::VecDeque;
use throughput::Throughput;

/// A packet is not marked or dropped for its delay while this many bytes or fewer wait behind it:
/// one packet is not a queue (RFC 9332, appendix A.1, `Th_len`).
const MTU: u64 = 1_514;

/// At any rate, the low-latency queue may send this many bytes more than its share at once.
const LEAST_BURST: i64 = 4 * 1_514;

/// Parameters of the low-latency queue of a [`DualQueue`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct L4sConfig {
    /// Packets that have waited for less are not marked for their own queue. Default 1.04 ms. With the
    /// 800 µs of RFC 9332, appendix A.1 (`minTh`), a scalable flow leaves a part of its station's
    /// rate unused, because packets arrive in the bunches in which Wi-Fi returns acknowledgements:
    /// it gets three fifths of the rate of a classic flow at another station.
    pub ramp_start: Duration,
    /// Packets that have waited for at least this long are all marked. Default 1.29 ms (`minTh` +
    /// `range` in the same place: 1.2 ms).
    pub ramp_end: Duration,
    /// How much earlier the ramp begins and ends while classic flows wait. Default 535 µs: a queue
    /// that gets a part of the rate takes longer to empty after a bunch. Without this, one packet
    /// in a hundred waits for more than 2 ms.
    pub earlier_in_contention: Duration,
    /// Coupling factor k: how much more likely a mark is in the low-latency queue than the square
    /// root of the probability of a signal in the classic queue. Default 1.3: with the
    /// 2 of RFC 9332, appendix A.1, Prague falls short of four fifths of Cubic's rate at a round
    /// trip of 5 ms, because it already gets marks of its own before those.
    pub coupling: f64,
    /// How much the low-latency queue may send at once if it has sent less than its share before, as
    /// time at the rate at which both queues are emptied. Default 2 ms: acknowledgements come back
    /// over Wi-Fi once per frame, so that a scalable sender that gets its share on average sends
    /// more and less than it within a few milliseconds. Classic packets wait longer by as much.
    pub burst: Duration,
    /// Packets that have waited for longer are dropped after every packet has been marked for a
    /// quarter of `patience`: marks do not reduce the load (RFC 9332, §4.2.3). Default 50 ms.
    pub overload: Duration,
    /// After the low-latency queue has marked every packet for this long, the flow that sends most
    /// is sent to the classic queue. Default 1 s: a scalable sender whose packets are all marked
    /// reduces its rate by three quarters in ten round trips.
    pub patience: Duration,
    /// How long that flow stays there. Default 2 s.
    pub ban: Duration,
}

impl Default for L4sConfig {
    fn default() -> Self {
        Self {
            ramp_start: Duration::from_micros(1_040),
            ramp_end: Duration::from_micros(1_290),
            earlier_in_contention: Duration::from_micros(535),
            coupling: 1.3,
            burst: Duration::from_millis(2),
            overload: Duration::from_millis(50),
            patience: Duration::from_secs(1),
            ban: Duration::from_secs(2),
        }
    }
}

/// A dual queue coupled AQM (RFC 9332) whose classic queue is [`FqCoDel`].
///
/// Packets of scalable senders (ECT(1), and CE unless their flow has packets in the classic queue)
/// wait in a low-latency queue, the others in FQ-CoDel, which works as it does alone. Packets that
/// are not ECN-capable never wait in the low-latency queue.
///
/// A low-latency packet is marked with the larger of two probabilities: that of a ramp over its own
/// queueing delay, and that which the signals of the classic queue imply (*coupling*). The coupled
/// one counts only while the classic queue holds packets and the low-latency queue uses its whole
/// share.
///
/// The shares are kept by a scheduler: the low-latency queue goes first as long as it has not sent
/// more than its flows' share, a share per flow. So neither queue can starve the other, whatever
/// its senders do; and unlike in RFC 9332, flows of both kinds get equal rates at any round-trip
/// time, also if they do not respond as the coupling expects.
///
/// A flow that keeps the low-latency queue marking everything is moved to the classic queue for a
/// while (the purpose of RFC 9957). It may lose what it has in the queue; nothing is reordered.
#[derive(Clone, Debug)]
pub struct DualQueue<P> {
    classic: FqCoDel<P>,
    low: Option<LowLatency<P>>,
}

impl<P: Packet> DualQueue<P> {
    /// An empty queue. Without `l4s`, all packets wait in FQ-CoDel. `key` must be secret: see
    /// [`FqCoDel::new`].
    ///
    /// The low-latency queue holds at most half of what `config` permits both queues together.
    #[must_use]
    pub fn new(config: FqCoDelConfig, l4s: Option<L4sConfig>, key: [u8; 16]) -> Self {
        let classic = FqCoDel::new(config, key);
        let low = l4s.map(|l4s| LowLatency::new(l4s, &config, classic.queues()));
        Self { classic, low }
    }

    /// Appends `packet` to the queue that its ECN codepoint calls for. If there is no room, it or
    /// packets of the fattest classic flow are dropped.
    pub fn enqueue(&mut self, now: Time, packet: P) {
        let classic = &mut self.classic;
        classic.ledger.begin();
        let index = classic.classify(&packet);
        let Some(low) = &mut self.low else {
            return classic.enqueue_to(now, index, packet, Beside::default());
        };
        let waiting = classic.flow_len(index);
        let joins_low = match packet.ecn() {
            Ecn::NotEct | Ecn::Ect0 => false,
            Ecn::Ect1 => !low.flows.is_kept_out(now, index, waiting),
            // The packet may be of a classic flow that another queue has marked: it must not
            // overtake the others of its flow.
            Ecn::Ce => waiting == 0 && !low.flows.is_kept_out(now, index, waiting),
        };
        if joins_low {
            low.enqueue(now, index, packet, &mut classic.ledger);
            classic.make_room(low.backlog());
        } else {
            classic.enqueue_to(now, index, packet, low.backlog());
        }
    }

    /// Removes and returns the next packet.
    pub fn dequeue(&mut self, now: Time) -> Option<P> {
        self.dequeue_with_sojourn(now).map(|(packet, _)| packet)
    }

    /// Like [`DualQueue::dequeue`], with the time for which the packet has waited.
    pub fn dequeue_with_sojourn(&mut self, now: Time) -> Option<(P, Duration)> {
        let classic = &mut self.classic;
        classic.ledger.begin();
        let Some(low) = &mut self.low else {
            return classic.next_in_turn(now);
        };
        if low.has_turn(classic.is_empty()) {
            let competitors = classic.busy_queues() as u64;
            if let Some(taken) = low.dequeue(now, competitors, &mut classic.ledger) {
                return Some(taken);
            }
            // Everything in the low-latency queue was dropped.
        }
        let signals_before = classic_signals(&classic.ledger);
        let competitors = classic.busy_queues() as u64;
        match classic.next_in_turn(now) {
            Some((mut packet, sojourn)) => {
                let signals = classic_signals(&classic.ledger) - signals_before;
                low.on_classic_sent(now, packet.bytes(), competitors, signals);
                if low.marks_in_classic(&packet, sojourn) && packet.mark_ce() {
                    classic.ledger.counters.marked += 1;
                }
                Some((packet, sojourn))
            }
            // CoDel has dropped everything that waited in the classic queue.
            None => low.dequeue(now, 0, &mut classic.ledger),
        }
    }

    /// Whether the next packet of the classic queue is of a flow that was idle before and has not
    /// used up its quantum, and nothing waits in the low-latency queue.
    #[must_use]
    #[inline]
    pub fn is_sparse_next(&self) -> bool {
        self.low_latency_len() == 0 && self.classic.is_sparse_next()
    }

    /// From which flow the last packet came that was dequeued. Low-latency packets are never of a
    /// new queue: their flows need no precedence, and are not told apart by how much they send.
    #[must_use]
    pub fn last_served(&self) -> Served {
        match self.low.as_ref().and_then(|low| low.served) {
            Some(queue) => Served {
                queue,
                is_new: false,
                acknowledged_bytes: 0,
            },
            None => self.classic.last_served(),
        }
    }

    /// Changes the target and interval of the classic queue's CoDel.
    pub fn set_codel(&mut self, target: Duration, interval: Duration) {
        self.classic.set_codel(target, interval);
    }

    /// Returns a packet that the last call dropped.
    pub fn poll_drop(&mut self) -> Option<Dropped<P>> {
        self.classic.poll_drop()
    }

    /// Number of packets in both queues.
    #[must_use]
    pub fn len(&self) -> usize {
        self.classic.len() + self.low_latency_len()
    }

    /// Number of packets in the low-latency queue.
    #[must_use]
    pub fn low_latency_len(&self) -> usize {
        self.low.as_ref().map_or(0, |low| low.waiting.len())
    }

    /// Packets that the low-latency queue has marked since it was created: its senders would use a
    /// higher rate.
    #[must_use]
    pub fn low_latency_marks(&self) -> u64 {
        self.low.as_ref().map_or(0, |low| low.marks)
    }

    /// Bytes in both queues.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.classic.bytes() + self.low.as_ref().map_or(0, |low| low.bytes)
    }

    /// Whether both queues are empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.classic.is_empty() && self.low_latency_len() == 0
    }

    /// The counters of both queues since they were created.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        self.classic.counters()
    }
}

/// Packets that CoDel has marked or dropped so far.
fn classic_signals<P>(ledger: &Ledger<P>) -> u64 {
    ledger.counters.marked + ledger.counters.dropped_for(DropReason::Sojourn)
}

/// A packet in the low-latency queue, with the index of its flow.
#[derive(Clone, Debug)]
struct Waiting<P> {
    index: u32,
    queued: Queued<P>,
}

/// The low-latency queue and what couples it to the classic one.
#[derive(Clone, Debug)]
struct LowLatency<P> {
    config: L4sConfig,
    packet_limit: usize,
    byte_limit: u64,
    waiting: VecDeque<Waiting<P>>,
    bytes: u64,
    flows: LowLatencyFlows,
    /// Bytes that may be sent before the classic queue is due; negative if it is due.
    credit: i64,
    throughput: Throughput,
    signals: SignalShare,
    marker: Marker,
    /// Packets that this queue has marked.
    marks: u64,
    /// The flow of the last packet that was sent, if it was sent from this queue.
    served: Option<u32>,
    /// Since when every packet is marked for its own queue.
    saturated_since: Option<Time>,
}

impl<P: Packet> LowLatency<P> {
    fn new(config: L4sConfig, limits: &FqCoDelConfig, n_flows: usize) -> Self {
        Self {
            config,
            packet_limit: limits.packet_limit.div_ceil(2) as usize,
            byte_limit: limits.byte_limit.div_ceil(2),
            waiting: VecDeque::new(),
            bytes: 0,
            flows: LowLatencyFlows::new(n_flows, config.ban),
            credit: 0,
            throughput: Throughput::default(),
            signals: SignalShare::default(),
            marker: Marker::default(),
            marks: 0,
            served: None,
            saturated_since: None,
        }
    }

    fn backlog(&self) -> Beside {
        Beside {
            // At most `packet_limit`, which is below 2^32.
            packets: self.waiting.len() as u32,
            bytes: self.bytes,
        }
    }

    fn enqueue(&mut self, now: Time, index: u32, packet: P, ledger: &mut Ledger<P>) {
        let bytes = packet.bytes();
        ledger.offer(bytes);
        if self.waiting.len() >= self.packet_limit {
            return ledger.drop(DropReason::PacketLimit, bytes, packet);
        }
        if self.bytes.saturating_add(u64::from(bytes)) > self.byte_limit {
            return ledger.drop(DropReason::ByteLimit, bytes, packet);
        }
        self.flows.on_arrival(now, index, bytes);
        self.bytes += u64::from(bytes);
        let queued = Queued { since: now, packet };
        self.waiting.push_back(Waiting { index, queued });
    }

    /// Whether this queue is served next.
    fn has_turn(&self, classic_is_empty: bool) -> bool {
        !self.waiting.is_empty() && (classic_is_empty || self.credit >= 0)
    }

    /// Removes and returns the first packet that is not dropped, with its sojourn time, while
    /// `competitors` classic flows wait.
    fn dequeue(
        &mut self,
        now: Time,
        competitors: u64,
        ledger: &mut Ledger<P>,
    ) -> Option<(P, Duration)> {
        while let Some(Waiting { index, queued }) = self.waiting.pop_front() {
            let Queued { since, mut packet } = queued;
            let sojourn = now.saturating_since(since);
            let bytes = packet.bytes();
            self.bytes -= u64::from(bytes);
            let is_queue = self.bytes > MTU;
            if self.flows.was_banned_since(since, index) {
                ledger.drop(DropReason::FattestFlow, bytes, packet);
                continue;
            }
            if is_queue && sojourn > self.config.overload && self.marks_are_ignored(now) {
                ledger.drop(DropReason::Sojourn, bytes, packet);
                continue;
            }
            let cost = self.cost(bytes, competitors);
            // What this queue leaves of its share, the classic flows have already. Without
            // competitors a packet costs nothing.
            let uses_its_share = self.credit < cost;
            let native = match is_queue {
                true => self.native(sojourn, competitors > 0),
                false => 0.0,
            };
            self.watch_saturation(now, native >= 1.0);
            let coupled = match uses_its_share {
                true => coupled_probability(self.signals.get(), self.config.coupling),
                false => 0.0,
            };
            let probability = native.max(coupled);
            let was_marked = packet.ecn() == Ecn::Ce;
            if self.marker.marks(probability) && packet.mark_ce() && !was_marked {
                ledger.counters.marked += 1;
                self.marks += 1;
            }
            self.throughput.on_sent(now, bytes);
            self.served = Some(index);
            // If nobody waited for this packet, nobody is owed anything for the ones before.
            self.credit = self.credit.max(0) - cost;
            ledger.dequeue(bytes);
            return Some((packet, sojourn));
        }
        self.saturated_since = None;
        None
    }

    /// The probability of a mark for the queue's own delay.
    fn native(&self, sojourn: Duration, is_contended: bool) -> f64 {
        let (start, end) = (self.config.ramp_start, self.config.ramp_end);
        if !is_contended {
            return native_probability(sojourn, start, end);
        }
        let earlier = self.config.earlier_in_contention;
        native_probability(
            sojourn,
            start.saturating_sub(earlier),
            end.saturating_sub(earlier),
        )
    }

    /// Whether the queue has been marking every packet for longer than a responsive sender needs to
    /// see the marks: a queue that builds up at the start of a flow is left to the marks.
    fn marks_are_ignored(&self, now: Time) -> bool {
        self.saturated_since
            .is_some_and(|since| now.saturating_since(since) >= self.config.patience / 4)
    }

    /// Bans the largest flow when the queue has been marking every packet for too long.
    fn watch_saturation(&mut self, now: Time, saturated: bool) {
        if !saturated {
            self.saturated_since = None;
            return;
        }
        let since = *self.saturated_since.get_or_insert(now);
        if now.saturating_since(since) >= self.config.patience {
            self.flows.ban_largest(now);
            // The rest of the flows get as long to show that they respond.
            self.saturated_since = Some(now);
        }
    }

    /// What a packet costs while `competitors` classic flows wait: of each byte sent, they are owed
    /// their share.
    fn cost(&self, bytes: u32, competitors: u64) -> i64 {
        let (classic, total) = self.weights(competitors);
        part(bytes, classic, total)
    }

    /// The classic queue has sent a packet, for which CoDel gave `signals` signals, while
    /// `competitors` classic flows waited.
    fn on_classic_sent(&mut self, now: Time, bytes: u32, competitors: u64, signals: u64) {
        self.served = None;
        self.signals.on_departure(signals);
        self.throughput.on_sent(now, bytes);
        let (classic, total) = self.weights(competitors.max(1));
        let owed = part(bytes, total - classic, total);
        let most = self.throughput.bytes_in(self.config.burst).max(LEAST_BURST);
        self.credit = (self.credit + owed).min(most);
    }

    /// The weight of `competitors` classic flows, and that of all flows.
    fn weights(&self, competitors: u64) -> (u64, u64) {
        let classic = competitors * PER_FLOW;
        (classic, classic + self.flows.weight())
    }

    /// Whether a packet that leaves the classic queue must be marked for its delay: that of a
    /// scalable sender which was sent there. CoDel alone would tell it too little.
    fn marks_in_classic(&self, packet: &P, sojourn: Duration) -> bool {
        packet.ecn() == Ecn::Ect1 && sojourn >= self.config.ramp_end
    }
}

/// The part `weight / total` of `bytes`, where an empty packet counts as one byte.
fn part(bytes: u32, weight: u64, total: u64) -> i64 {
    // At most 2^32 times the weight of 65,536 flows (2^24); the quotient is at most 2^32.
    (u64::from(bytes.max(1)) * weight / total) as i64
}

#[cfg(test)]
mod tests;
