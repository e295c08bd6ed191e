//! The transmit path of one access category of one radio: from the packet that is handed down to the aggregate that is composed.
//!
//! Packets come through an optional queueing discipline into the queue of their link, or straight into flow queues that the links
//! share; an [`Order`] tells whose aggregate is composed next, on winning the channel or ahead of that for the hardware's queue.

mod config;
mod order;
mod qdisc;
mod queue;

pub use config::{PathConfig, Qdisc, QueueLimit, QueueScope, Queues, Schedule, Scheme};
pub(super) use queue::{Feed, Pool, Queue};

use super::flight::Flight;
use super::frame::{Built, Limits, Rules};
use super::window::Window;
use super::{FrameRecord, RadioConfig};
use airpace_core::packet::Packet;
use airpace_core::phy::TxRate;
use airpace_core::queue::{AirtimeLimit, DropReason, Dropped, FqMac, TidId};
use airpace_units::{BitRate, Time};
use core::time::Duration;
use order::Order;
use qdisc::{Addressed, Discipline, Sizing};
use queue::Pooled;
use std::collections::VecDeque;

/// What a link has in one category.
#[derive(Debug)]
pub(super) struct Lane<P> {
    pub(super) link: u32,
    queue: Queue<P>,
    pub(super) window: Window<P>,
    /// Where its packets wait before they are in `queue`, if the radio has flow queues.
    tid: Option<TidId>,
    /// Packets and bytes in the queueing discipline.
    above: (usize, u64),
    /// Packets that count against a limit per link.
    held: usize,
    /// Whether it stands in the order, or is being served.
    listed: bool,
    /// Nothing more can be composed for it until one of its frames is settled.
    blocked: bool,
    peak: usize,
}

#[derive(Debug)]
pub(super) struct Path<P> {
    limit: QueueLimit,
    qdisc: Option<Discipline<P>>,
    sizing: Option<Box<Sizing>>,
    lanes: Vec<Lane<P>>,
    order: Order,
    airtime_limit: Option<Box<AirtimeLimit>>,
    /// Packets that count against a limit for all links.
    held: usize,
    /// A lane is being served.
    serving: bool,
    /// Most aggregates that are composed before the channel is won, and those that are.
    ahead: usize,
    composed: VecDeque<Flight>,
    /// Packets dropped that nobody has been told of, with their lanes.
    drops: VecDeque<(u32, Dropped<P>)>,
}

/// A radio's flow queues, if it has any.
pub(super) fn pool<P: Packet>(config: &PathConfig) -> Option<Box<Pool<P>>> {
    match config.queues {
        Queues::Fifo(_) => None,
        Queues::FlowQueues(flows) => Some(Box::new(Pool::new(FqMac::new(flows, config.key)))),
    }
}

impl<P: Packet + Clone> Lane<P> {
    fn new(link: u32, tid: Option<TidId>) -> Self {
        Self {
            link,
            queue: Queue::new(),
            window: Window::new(),
            tid,
            above: (0, 0),
            held: 0,
            listed: false,
            blocked: false,
            peak: 0,
        }
    }

    /// Packets and bytes that wait; those in flight are not counted.
    pub(super) fn waiting(&self, pool: Option<&Pool<P>>) -> (usize, u64) {
        let (packets, bytes) = match self.tid.zip(pool) {
            Some((tid, pool)) => (pool.queues.len(tid), pool.queues.bytes(tid)),
            None => self.above,
        };
        (packets + self.queue.len(), bytes + self.queue.bytes())
    }

    /// Whether packets wait where a frame can be composed of them: not in the queueing discipline.
    fn has_packets(&self, pool: Option<&Pool<P>>) -> bool {
        self.queue.len() > 0
            || self
                .tid
                .zip(pool)
                .is_some_and(|(tid, pool)| pool.queues.len(tid) > 0)
    }

    /// Whether packets wait below the queueing discipline, or must be sent again.
    pub(super) fn has_work(&self, pool: Option<&Pool<P>>) -> bool {
        self.window.has_due() || self.has_packets(pool)
    }

    /// When the packet came that its next frame begins with.
    fn oldest(&self, pool: Option<&Pool<P>>) -> Time {
        let due = if self.window.has_due() {
            self.window.oldest()
        } else {
            None
        };
        let pooled = || {
            self.tid
                .zip(pool)
                .and_then(|(tid, pool)| pool.queues.head_since(tid))
        };
        due.or(self.queue.oldest())
            .or_else(pooled)
            .unwrap_or_default()
    }

    /// The longest the queue has been since this was last asked.
    pub(super) fn take_peak(&mut self, pool: Option<&Pool<P>>) -> usize {
        let now = self.waiting(pool).0;
        core::mem::replace(&mut self.peak, now)
    }

    fn note_peak(&mut self, pool: Option<&Pool<P>>) {
        self.peak = self.peak.max(self.waiting(pool).0);
    }

    /// Composes the next frame out of what must be sent again and what waits.
    fn build(
        &mut self,
        now: Time,
        pool: Option<&mut Pool<P>>,
        (rate, limits): (TxRate, &Limits),
        rules: &Rules,
    ) -> Option<Built> {
        match self.tid.zip(pool) {
            Some((tid, pool)) => {
                let mut feed = Pooled {
                    staged: &mut self.queue,
                    pool,
                    tid,
                    now,
                };
                self.window.build(&mut feed, rate, limits, rules)
            }
            None => self.window.build(&mut self.queue, rate, limits, rules),
        }
    }
}

impl<P: Packet + Clone> Path<P> {
    /// The path of one category of a radio.
    pub(super) fn new(radio: &RadioConfig) -> Self {
        let config = &radio.path;
        let no_limit = QueueLimit {
            packets: usize::MAX,
            scope: QueueScope::Radio,
            in_flight: false,
        };
        Self {
            limit: config.limit().unwrap_or(no_limit),
            qdisc: config.qdisc.map(|qdisc| Discipline::new(qdisc, config.key)),
            sizing: config.wqm.map(|wqm| Box::new(Sizing::new(wqm, radio))),
            lanes: Vec::new(),
            order: Order::new(config.schedule),
            airtime_limit: config
                .airtime_limit
                .map(|limit| Box::new(AirtimeLimit::new(limit))),
            held: 0,
            serving: false,
            ahead: usize::from(config.hardware),
            composed: VecDeque::new(),
            drops: VecDeque::new(),
        }
    }

    /// A lane for a link that had none, whose receiver has this weight and has its frames at about this rate.
    pub(super) fn add_lane(
        &mut self,
        link: u32,
        tid: Option<TidId>,
        (weight, rate): (u16, BitRate),
    ) -> u32 {
        self.lanes.push(Lane::new(link, tid));
        self.order.add(weight);
        if let Some(limit) = &mut self.airtime_limit {
            limit.add();
        }
        if let (Some(sizing), Some(qdisc)) = (&mut self.sizing, &mut self.qdisc) {
            sizing.begin(rate, qdisc);
        }
        // There are fewer than 2^16 receivers.
        self.lanes.len() as u32 - 1
    }

    pub(super) fn lane(&self, lane: u32) -> &Lane<P> {
        &self.lanes[lane as usize]
    }

    pub(super) fn lane_mut(&mut self, lane: u32) -> &mut Lane<P> {
        &mut self.lanes[lane as usize]
    }

    /// How many lanes there are.
    pub(super) const fn lanes(&self) -> usize {
        self.lanes.len()
    }

    /// Takes a packet for a lane. What is dropped for it, or is this packet, comes out of [`Path::poll_drop`] or the pool.
    pub(super) fn push(&mut self, now: Time, index: u32, packet: P, pool: Option<&mut Pool<P>>) {
        if let (Some(tid), Some(pool)) = (self.lanes[index as usize].tid, pool) {
            pool.enqueue(now, tid, packet);
            self.lanes[index as usize].note_peak(Some(pool));
            self.list(now, index);
        } else if let Some(qdisc) = &mut self.qdisc {
            let lane = &mut self.lanes[index as usize];
            lane.above = (lane.above.0 + 1, lane.above.1 + u64::from(packet.bytes()));
            qdisc.enqueue(
                now,
                Addressed {
                    lane: index,
                    packet,
                },
            );
            self.collect();
            self.refill(now);
            self.lanes[index as usize].note_peak(None);
        } else if self.has_room(index) {
            self.admit(now, index, packet);
            self.lanes[index as usize].note_peak(None);
        } else {
            self.drops.push_back((
                index,
                Dropped {
                    reason: DropReason::PacketLimit,
                    packet,
                },
            ));
        }
    }

    fn has_room(&self, lane: u32) -> bool {
        let held = match self.limit.scope {
            QueueScope::Link => self.lanes[lane as usize].held,
            QueueScope::Radio => self.held,
        };
        held < self.limit.packets
    }

    fn admit(&mut self, now: Time, index: u32, packet: P) {
        let lane = &mut self.lanes[index as usize];
        lane.held += 1;
        self.held += 1;
        lane.queue.push(now, packet);
        self.list(now, index);
    }

    fn list(&mut self, now: Time, index: u32) {
        let lane = &mut self.lanes[index as usize];
        if !lane.blocked && !core::mem::replace(&mut lane.listed, true) {
            self.order.push(index, now);
        }
    }

    /// Moves packets from the queueing discipline into what room the driver's queue has.
    pub(super) fn refill(&mut self, now: Time) {
        while self.held < self.limit.packets {
            let Some(qdisc) = &mut self.qdisc else { return };
            let next = qdisc.dequeue(now);
            self.collect();
            let Some(Addressed { lane, packet }) = next else {
                return;
            };
            self.leave_qdisc(lane, packet.bytes());
            self.admit(now, lane, packet);
        }
    }

    /// Takes what the last call of the queueing discipline dropped.
    fn collect(&mut self) {
        while let Some(Dropped { reason, packet }) =
            self.qdisc.as_mut().and_then(Discipline::poll_drop)
        {
            let Addressed { lane, packet } = packet;
            self.leave_qdisc(lane, packet.bytes());
            self.drops.push_back((lane, Dropped { reason, packet }));
        }
    }

    fn leave_qdisc(&mut self, lane: u32, bytes: u32) {
        let (packets, above) = &mut self.lanes[lane as usize].above;
        (*packets, *above) = (*packets - 1, *above - u64::from(bytes));
    }

    /// A packet that was dropped, and its lane.
    pub(super) fn poll_drop(&mut self) -> Option<(u32, Dropped<P>)> {
        self.drops.pop_front()
    }

    /// Whether there is, or may be, something to send on winning the channel.
    pub(super) fn has_work(&self) -> bool {
        if self.ahead > 0 {
            !self.composed.is_empty()
        } else {
            !self.order.is_empty()
        }
    }

    /// Whether nothing contends for the channel, nor is on the air.
    pub(super) fn is_idle(&self) -> bool {
        !self.serving && !self.has_work()
    }

    /// Whether aggregates are composed ahead of winning the channel.
    pub(super) const fn composes_ahead(&self) -> bool {
        self.ahead > 0
    }

    /// Whether one more aggregate is to be composed ahead.
    pub(super) fn wants_aggregate(&self) -> bool {
        self.composed.len() + usize::from(self.serving) < self.ahead
    }

    /// The lane of the frame that would be sent next.
    pub(super) fn peek(&mut self) -> Option<u32> {
        if self.ahead > 0 {
            self.composed.front().map(|flight| flight.lane)
        } else {
            self.order.peek()
        }
    }

    /// The lane for which an aggregate is to be composed. It is being served until [`Path::served`]; a caller that finds that there is nothing
    /// to compose says so by [`Path::found_nothing`] and asks again.
    pub(super) fn next(&mut self, pool: Option<&Pool<P>>) -> Option<u32> {
        // Lanes in turn that must not send now; when all have been asked, none may.
        for _ in 0..=self.lanes.len() {
            let lane = self.order.next()?;
            let may_send = self
                .airtime_limit
                .as_ref()
                .is_none_or(|limit| limit.may_send(lane));
            if self.lanes[lane as usize].blocked {
                // It keeps its turn by airtime, and has a frame under way that ends soon: the rounds in which others would get
                // ahead of it would not be its own. In turn or by age it is not in the order.
                return None;
            }
            if may_send {
                return Some(lane);
            }
            self.order
                .skip(lane, self.lanes[lane as usize].oldest(pool));
        }
        None
    }

    /// There was nothing to compose for the lane that [`Path::next`] gave: it has no packets, or its window is full.
    pub(super) fn found_nothing(&mut self, index: u32, pool: Option<&Pool<P>>) {
        let lane = &mut self.lanes[index as usize];
        lane.blocked = lane.has_packets(pool);
        lane.listed = false;
        if !lane.blocked {
            self.order.found_empty(index);
        }
    }

    /// Composes the next frame of a lane, if there is anything to send that its limits allow.
    pub(super) fn build(
        &mut self,
        (now, index): (Time, u32),
        pool: Option<&mut Pool<P>>,
        frame: (TxRate, &Limits),
        rules: &Rules,
    ) -> Option<Built> {
        let lane = &mut self.lanes[index as usize];
        let waiting = lane.queue.len();
        let built = lane.build(now, pool, frame, rules);
        if !self.limit.in_flight && lane.tid.is_none() {
            let packets = waiting - lane.queue.len();
            self.leave(index, packets);
        }
        built
    }

    /// An aggregate was composed ahead, to be sent after the others (or, `again`, before them); its lane may have another turn.
    pub(super) fn ready(&mut self, flight: Flight, again: bool, pool: Option<&Pool<P>>) {
        if again {
            self.composed.push_front(flight);
        } else {
            self.composed.push_back(flight);
            // `next` took it out of the order.
            self.lanes[flight.lane as usize].listed = false;
        }
        self.relist(flight.lane, pool);
    }

    /// The aggregate to send now that the channel is won.
    pub(super) fn take_composed(&mut self) -> Option<Flight> {
        self.composed.pop_front()
    }

    /// The aggregate that is sent next.
    pub(super) fn first_composed(&self) -> Option<&Flight> {
        self.composed.front()
    }

    /// A frame goes on the air.
    pub(super) const fn begin_service(&mut self) {
        self.serving = true;
    }

    /// `packets` of a lane were acknowledged or given up.
    pub(super) fn settled(&mut self, lane: u32, packets: usize) {
        self.lanes[lane as usize].blocked = false;
        if self.limit.in_flight {
            self.leave(lane, packets);
        }
    }

    fn leave(&mut self, lane: u32, packets: usize) {
        let lane = &mut self.lanes[lane as usize];
        if lane.tid.is_none() {
            lane.held -= packets;
            self.held -= packets;
        }
    }

    /// A lane was served, to the end (`done`) or not. Without work it leaves the order; else it goes to the tail if it was served to the end,
    /// and keeps its turn if not.
    pub(super) fn served(&mut self, index: u32, done: bool, pool: Option<&Pool<P>>) {
        self.serving = false;
        if self.ahead > 0 {
            return self.relist(index, pool);
        }
        let lane = &mut self.lanes[index as usize];
        lane.listed = lane.has_work(pool);
        if lane.listed {
            let oldest = lane.oldest(pool);
            if done {
                self.order.push(index, oldest);
            } else {
                self.order.put_back(index, oldest);
            }
        }
    }

    /// A lane goes to the tail of the order if it has work and is not in it.
    fn relist(&mut self, index: u32, pool: Option<&Pool<P>>) {
        let lane = &mut self.lanes[index as usize];
        if lane.has_work(pool) {
            let oldest = lane.oldest(pool);
            self.list(oldest, index);
        }
    }

    /// The exchanges of a lane, whichever way they went, have taken `airtime`.
    pub(super) fn charge(&mut self, lane: u32, airtime: Duration) {
        self.order.charge(lane, airtime);
    }

    /// An aggregate that will take about `airtime` was composed for a lane, or (`done`) has been sent or given up.
    pub(super) fn commit(&mut self, lane: u32, airtime: Duration, done: bool) {
        match &mut self.airtime_limit {
            Some(limit) if done => limit.completed(lane, airtime),
            Some(limit) => limit.sent(lane, airtime),
            None => {}
        }
    }

    /// Whether the size of the queueing discipline is to be adjusted; see [`Path::resize`].
    pub(super) fn wants_size(&self, now: Time) -> bool {
        self.sizing
            .as_ref()
            .is_some_and(|sizing| sizing.is_due(now))
    }

    /// Adjusts the size of the queueing discipline, when others have kept the channel busy for `others` since the beginning.
    pub(super) fn resize(&mut self, now: Time, others: Duration) {
        if let (Some(sizing), Some(qdisc)) = (&mut self.sizing, &mut self.qdisc) {
            sizing.end_intervals(now, others, qdisc);
        }
    }

    /// A frame was sent.
    pub(super) fn on_frame(&mut self, frame: &FrameRecord) {
        if let Some(sizing) = &mut self.sizing {
            sizing.on_frame(frame);
        }
    }

    /// Packets that wait or are in flight, but for those in the pool.
    pub(super) fn inside(&self) -> usize {
        self.lanes
            .iter()
            .map(|lane| lane.above.0 + lane.queue.len() + lane.window.in_flight())
            .sum()
    }
}
