//! A bottleneck between senders and receivers: a link of fixed rate with a drop-tail queue,
//! propagation delay and random faults. It delivers to senders and receivers whose internals the
//! tests inspect.

use crate::rng::Stream;
use crate::transport::tcp::{
    AckSegment, DataSegment, Receiver, ReceiverConfig, Sender, SenderConfig,
};
use airpace_units::{BitRate, Bytes, Time};
use core::cmp::{Ordering, Reverse};
use core::time::Duration;
use std::collections::BinaryHeap;

/// The path between senders and receivers.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathConfig {
    pub(super) rate: BitRate,
    /// Propagation delay in each direction.
    pub(super) delay: Duration,
    /// Most packets that wait at the link.
    pub(super) queue: u64,
    /// Packets that find more than this many in the queue are marked.
    pub(super) mark_above: Option<u64>,
    /// Probability that a data packet, or an acknowledgement, is lost.
    pub(super) loss: f64,
    pub(super) ack_loss: f64,
    /// Probability that a packet of either kind is late by up to `late_by`.
    pub(super) late: f64,
    pub(super) late_by: Duration,
    /// Probability that a packet of either kind arrives twice.
    pub(super) duplicate: f64,
}

impl PathConfig {
    pub(super) fn new(mbps: u64, delay_ms: u64, queue: u64) -> Self {
        Self {
            rate: BitRate::from_mbps(mbps),
            delay: Duration::from_millis(delay_ms),
            queue,
            mark_above: None,
            loss: 0.0,
            ack_loss: 0.0,
            late: 0.0,
            late_by: Duration::ZERO,
            duplicate: 0.0,
        }
    }
}

#[derive(Debug)]
enum Event {
    Data(usize, DataSegment, bool),
    Ack(usize, AckSegment),
    Sender(usize),
    Receiver(usize),
}

#[derive(Debug)]
struct Entry(Time, u64, Event);

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        (self.0, self.1) == (other.0, other.1)
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.0, self.1).cmp(&(other.0, other.1))
    }
}

/// Flows over one bottleneck.
pub(super) struct Testbed {
    pub(super) now: Time,
    pub(super) path: PathConfig,
    pub(super) senders: Vec<Sender>,
    pub(super) receivers: Vec<Receiver>,
    /// Whether the full queue refuses packets and does not drop them.
    pub(super) refuses: bool,
    /// Numbers of data packets that are lost on entering the link, counted from 0 over all flows.
    pub(super) lose: Vec<u64>,
    /// Every data segment sent, with its time and flow, if `keep_log` is set.
    pub(super) log: Vec<(Time, usize, DataSegment)>,
    pub(super) keep_log: bool,
    pub(super) dropped: u64,
    timers: Vec<[Option<Time>; 2]>,
    entered: u64,
    /// Events at the current instant, to detect that time stands still.
    events_now: u32,
    free_at: Time,
    random: Stream,
    events: BinaryHeap<Reverse<Entry>>,
    sequence: u64,
}

impl Testbed {
    pub(super) fn new(path: PathConfig, seed: u64) -> Self {
        Self {
            now: Time::ZERO,
            path,
            senders: Vec::new(),
            receivers: Vec::new(),
            refuses: false,
            lose: Vec::new(),
            log: Vec::new(),
            keep_log: false,
            dropped: 0,
            timers: Vec::new(),
            entered: 0,
            events_now: 0,
            free_at: Time::ZERO,
            random: Stream::new(seed, "testbed", 0),
            events: BinaryHeap::new(),
            sequence: 0,
        }
    }

    /// A single flow that never ends.
    pub(super) fn bulk(path: PathConfig, config: SenderConfig) -> Self {
        let mut this = Self::new(path, 1);
        this.add(config, u64::MAX);
        this
    }

    pub(super) fn add(&mut self, config: SenderConfig, bytes: u64) -> usize {
        let mut sender = Sender::new(config);
        sender.write(bytes);
        if bytes != u64::MAX {
            sender.close();
        }
        self.senders.push(sender);
        self.receivers
            .push(Receiver::new(ReceiverConfig::default()));
        self.timers.push([None; 2]);
        let flow = self.senders.len() - 1;
        self.serve_sender(flow);
        flow
    }

    pub(super) fn run_until(&mut self, end: Time) {
        while let Some(Reverse(entry)) = self.events.peek() {
            if entry.0 > end {
                break;
            }
            let Some(Reverse(Entry(now, _, event))) = self.events.pop() else {
                break;
            };
            self.events_now = if now == self.now {
                self.events_now + 1
            } else {
                0
            };
            assert!(
                self.events_now < 100_000,
                "time stands still at {now}: {event:?} {:?}",
                self.senders
            );
            self.now = now;
            self.handle(event);
        }
        self.now = end;
    }

    /// Polls a sender after the test has written to it.
    pub(super) fn kick(&mut self, flow: usize) {
        self.serve_sender(flow);
    }

    /// Stops the link for a while.
    pub(super) fn stall(&mut self, pause: Duration) {
        self.free_at = self.free_at.max(self.now) + pause;
    }

    pub(super) fn goodput_mbps(&mut self, from: Time, to: Time) -> f64 {
        self.run_until(from);
        let before: u64 = self.receivers.iter().map(Receiver::delivered).sum();
        self.run_until(to);
        let after: u64 = self.receivers.iter().map(Receiver::delivered).sum();
        (after - before) as f64 * 8.0 / to.since(from).as_secs_f64() / 1e6
    }

    fn push(&mut self, at: Time, event: Event) {
        self.sequence += 1;
        self.events.push(Reverse(Entry(at, self.sequence, event)));
    }

    fn handle(&mut self, event: Event) {
        let now = self.now;
        match event {
            Event::Data(flow, segment, marked) => {
                self.receivers[flow].on_data(now, &segment, marked);
                self.serve_receiver(flow);
            }
            Event::Ack(flow, ack) => {
                self.senders[flow].on_ack(now, &ack);
                self.serve_sender(flow);
            }
            // The timer was replaced by one for an earlier time.
            Event::Sender(flow) if self.timers[flow][0] != Some(now) => {}
            Event::Receiver(flow) if self.timers[flow][1] != Some(now) => {}
            Event::Sender(flow) => {
                self.timers[flow][0] = None;
                self.senders[flow].on_timeout(now);
                self.serve_sender(flow);
            }
            Event::Receiver(flow) => {
                self.timers[flow][1] = None;
                self.receivers[flow].on_timeout(now);
                self.serve_receiver(flow);
            }
        }
    }

    fn serve_sender(&mut self, flow: usize) {
        let mut refused = Vec::new();
        while let Some(segment) = self.senders[flow].poll_transmit(self.now) {
            if self.keep_log {
                self.log.push((self.now, flow, segment));
            }
            // A queue that was full a moment ago is full now, also for packets that would be lost or late.
            let is_full = !refused.is_empty();
            if is_full || !self.enter(flow, segment) && self.refuses {
                refused.push(segment);
            }
        }
        // The world learns of what its radios refuse when a flow has been polled.
        for segment in &refused {
            self.senders[flow].on_refused(self.now, segment);
        }
        if !refused.is_empty() {
            assert!(self.senders[flow].poll_transmit(self.now).is_none());
        }
        let deadline = self.senders[flow].deadline();
        self.await_timer(flow, 0, deadline);
    }

    fn serve_receiver(&mut self, flow: usize) {
        while let Some(ack) = self.receivers[flow].poll_ack(self.now) {
            if !self.random.happens(self.path.ack_loss) {
                for at in self.arrivals(self.now + self.path.delay) {
                    self.push(at, Event::Ack(flow, ack.clone()));
                }
            }
        }
        let deadline = self.receivers[flow].deadline();
        self.await_timer(flow, 1, deadline);
    }

    fn await_timer(&mut self, flow: usize, end: usize, deadline: Option<Time>) {
        let Some(due) = deadline else { return };
        if self.timers[flow][end].is_none_or(|at| due < at) {
            let due = due.max(self.now);
            self.timers[flow][end] = Some(due);
            self.push(
                due,
                if end == 0 {
                    Event::Sender(flow)
                } else {
                    Event::Receiver(flow)
                },
            );
        }
    }

    /// Returns whether the packet was not dropped.
    fn enter(&mut self, flow: usize, segment: DataSegment) -> bool {
        let number = self.entered;
        self.entered += 1;
        let bytes = Bytes(u64::from(segment.packet_bytes()));
        let wait = self.free_at.saturating_since(self.now);
        let full = Bytes(1_500).checked_div(self.path.rate).unwrap();
        let queued = (wait.as_nanos() / full.as_nanos()) as u64;
        if queued >= self.path.queue
            || self.lose.contains(&number)
            || self.random.happens(self.path.loss)
        {
            self.dropped += 1;
            return false;
        }
        let marked =
            segment.ecn.is_capable() && self.path.mark_above.is_some_and(|most| queued > most);
        self.free_at = self.free_at.max(self.now) + bytes.checked_div(self.path.rate).unwrap();
        for at in self.arrivals(self.free_at + self.path.delay) {
            self.push(at, Event::Data(flow, segment, marked));
        }
        true
    }

    /// The times at which a packet arrives that would arrive at `at` without faults; two if it is
    /// duplicated.
    fn arrivals(&mut self, at: Time) -> impl Iterator<Item = Time> + use<> {
        let times = if self.random.happens(self.path.duplicate) {
            2
        } else {
            1
        };
        let late = self.path.late_by.mul_f64(self.random.unit());
        let at = if self.random.happens(self.path.late) {
            at + late
        } else {
            at
        };
        core::iter::repeat_n(at, times)
    }
}
