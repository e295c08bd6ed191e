//! The transmit path of one access category of one radio.

mod absence;
mod airtime;

use super::custom::CustomQueue;
use super::lane::Lane;
use super::order::Order;
use super::qdisc::{Addressed, Discipline};
use super::sizing::Sizing;
use super::{Position, QueueLimit, QueueScope};
use crate::mac::flight::Flight;
use crate::mac::ids::{LaneId, LinkId};
use crate::mac::{FrameRecord, RadioConfig};
use airpace_core::packet::Packet;
use airpace_core::queue::{AirtimeLimit, DropReason, Dropped, TidId};
use airpace_units::{BitRate, Time};
use core::time::Duration;
use std::collections::VecDeque;

/// The lanes of one access category, what is above them, and the order in which they are served.
#[derive(Debug)]
pub(in crate::mac) struct CategoryPath<P> {
    limit: QueueLimit,
    qdisc: Option<Discipline<P>>,
    sizing: Option<Box<Sizing>>,
    pub(super) lanes: Vec<Lane<P>>,
    pub(super) order: Order,
    airtime_limit: Option<Box<AirtimeLimit>>,
    /// Packets that count towards a limit for all links.
    held: usize,
    /// The lane of which a frame is on the air.
    serving: Option<LaneId>,
    /// Most aggregates that are composed before the channel is won, that on the air included.
    ahead: usize,
    /// The same for lanes whose frames are never aggregates.
    lone_ahead: usize,
    /// Frames at a turn of such a lane.
    lone_burst: u16,
    /// Whether the order is gone through for each packet; see
    /// [`super::DriverRules::passes_over`].
    passes_over: bool,
    /// Whether airtime is that of the frames alone; see
    /// [`super::DriverRules::counts_frames_alone`].
    counts_frames_alone: bool,
    /// Whether such a driver has stopped the queueing discipline.
    stopped: bool,
    /// The aggregates that are composed and wait for the channel.
    composed: VecDeque<Flight>,
    /// Aggregates that were composed for receivers that sleep now.
    kept: Vec<Flight>,
    /// The frame for whose block ack its sender asks before it sends anything else.
    request: Option<Flight>,
    /// Packets dropped that have not been reported, with their lanes.
    drops: VecDeque<(LaneId, Dropped<P>)>,
}

/// A lane to be added.
#[derive(Debug)]
pub(super) struct NewLane<P> {
    pub(super) link: LinkId,
    pub(super) tid: Option<TidId>,
    pub(super) custom: Option<Box<CustomQueue<P>>>,
    /// Weight of the receiver where airtime is shared out.
    pub(super) weight: u16,
    /// About the rate of its frames.
    pub(super) rate: BitRate,
    /// Whether its frames carry a single MPDU each.
    pub(super) is_lone: bool,
}

impl<P: Packet + Clone> CategoryPath<P> {
    pub(super) fn new(radio: &RadioConfig) -> Self {
        let config = &radio.path;
        // Flow queues and queues of the user's own have limits of their own.
        let no_limit = QueueLimit {
            packets: usize::MAX,
            scope: QueueScope::Radio,
            in_flight: false,
        };
        let airtime_limit = config.airtime_limit.map(AirtimeLimit::new);
        Self {
            limit: config.limit().unwrap_or(no_limit),
            qdisc: config.qdisc.map(|qdisc| Discipline::new(qdisc, config.key)),
            sizing: config.wqm.map(|wqm| Box::new(Sizing::new(wqm, radio))),
            lanes: Vec::new(),
            order: Order::new(config.schedule, config.airtime_fairness),
            airtime_limit: airtime_limit.map(Box::new),
            held: 0,
            serving: None,
            ahead: usize::from(config.hardware),
            lone_ahead: usize::from(config.driver.lone_ahead.max(config.hardware)),
            lone_burst: config.driver.lone_burst,
            passes_over: config.driver.passes_over,
            counts_frames_alone: config.driver.counts_frames_alone,
            stopped: false,
            composed: VecDeque::new(),
            kept: Vec::new(),
            request: None,
            drops: VecDeque::new(),
        }
    }

    pub(super) fn add_lane(&mut self, lane: NewLane<P>) -> LaneId {
        self.order.add(lane.weight);
        if let Some(limit) = &mut self.airtime_limit {
            limit.add();
        }
        if let (Some(sizing), Some(qdisc)) = (&mut self.sizing, &mut self.qdisc) {
            sizing.begin(lane.rate, qdisc);
        }
        self.lanes
            .push(Lane::new(lane.link, lane.tid, lane.custom, lane.is_lone));
        LaneId::from_index(self.lanes.len() - 1)
    }

    pub(in crate::mac) fn lane(&self, lane: LaneId) -> &Lane<P> {
        &self.lanes[lane.index()]
    }

    pub(in crate::mac) fn lane_mut(&mut self, lane: LaneId) -> &mut Lane<P> {
        &mut self.lanes[lane.index()]
    }

    /// Takes a packet into the queueing discipline, if there is one, or else into the lane's own
    /// queue.
    #[inline]
    pub(super) fn push(&mut self, now: Time, id: LaneId, packet: P) {
        self.lanes[id.index()].left = false;
        if let Some(qdisc) = &mut self.qdisc {
            self.lanes[id.index()].upstream.add(packet.bytes());
            qdisc.enqueue(now, Addressed { lane: id, packet });
            self.collect_qdisc_drops();
            if !self.passes_over {
                self.refill(now);
            }
        } else if self.lanes[id.index()].custom.is_some() {
            self.push_custom(now, id, packet);
        } else if self.has_room(id) {
            self.admit(now, id, packet);
        } else {
            let reason = DropReason::PacketLimit;
            self.drops.push_back((id, Dropped { reason, packet }));
            return;
        }
        self.lanes[id.index()].note_peak();
    }

    fn push_custom(&mut self, now: Time, id: LaneId, packet: P) {
        let lane = &mut self.lanes[id.index()];
        if let Some(custom) = &mut lane.custom {
            custom.enqueue(now, packet);
            self.collect_custom_drops(id);
            self.list(now, id);
        }
    }

    /// Takes what the lane's own queue dropped, and counts what it holds.
    pub(super) fn collect_custom_drops(&mut self, id: LaneId) {
        let lane = &mut self.lanes[id.index()];
        if let Some(custom) = &mut lane.custom {
            let drops = core::iter::from_fn(|| custom.poll_drop());
            self.drops.extend(drops.map(|dropped| (id, dropped)));
            lane.upstream = custom.backlog();
        }
    }

    #[inline]
    fn has_room(&self, lane: LaneId) -> bool {
        let held = match self.limit.scope {
            QueueScope::Link => self.lanes[lane.index()].held,
            QueueScope::Radio => self.held,
        };
        held < self.limit.packets
    }

    #[inline]
    fn admit(&mut self, now: Time, id: LaneId, packet: P) {
        let lane = &mut self.lanes[id.index()];
        lane.held += 1;
        self.held += 1;
        lane.queue.push(now, packet);
        self.list(now, id);
    }

    /// Puts a lane with work at the tail of the order, unless it is in it; its oldest packet came
    /// at `since`.
    #[inline]
    pub(super) fn list(&mut self, since: Time, id: LaneId) {
        let lane = &mut self.lanes[id.index()];
        if !lane.blocked && !lane.asleep && !core::mem::replace(&mut lane.listed, true) {
            self.order.push(id, since);
        }
    }

    /// Moves packets from the queueing discipline into what room the driver's queue has.
    pub(in crate::mac) fn refill(&mut self, now: Time) {
        while self.held < self.limit.packets && self.admit_next(now) {}
    }

    /// Moves a packet from the queueing discipline into the driver's queue. Returns whether there
    /// was one.
    fn admit_next(&mut self, now: Time) -> bool {
        let Some(qdisc) = &mut self.qdisc else {
            return false;
        };
        let next = qdisc.dequeue(now);
        self.collect_qdisc_drops();
        let Some(Addressed { lane, packet }) = next else {
            return false;
        };
        let id = lane;
        let lane = &mut self.lanes[id.index()];
        lane.upstream.remove(packet.bytes());
        if lane.left {
            let reason = DropReason::Gone;
            self.drops.push_back((id, Dropped { reason, packet }));
        } else {
            self.admit(now, id, packet);
        }
        true
    }

    /// Gives a driver that goes through its list for each packet the next one, if it has not
    /// stopped the queueing discipline. ath9k does so with the first packet above its limit, and
    /// wakes it when it has fewer than that.
    pub(in crate::mac) fn give_next(&mut self, now: Time) -> bool {
        self.stopped &= self.held >= self.limit.packets;
        if self.stopped || !self.admit_next(now) {
            return false;
        }
        self.stopped = self.held > self.limit.packets;
        true
    }

    /// Whether the order is gone through for each packet.
    pub(in crate::mac) const fn passes_over(&self) -> bool {
        self.passes_over
    }

    /// Whether packets wait in a queueing discipline before they come into the queues below.
    pub(in crate::mac) const fn has_qdisc(&self) -> bool {
        self.qdisc.is_some()
    }

    /// The hardware's queue is full: the driver has tried the lane at the head in vain.
    pub(in crate::mac) fn pass_over(&mut self) {
        if self.passes_over && self.ahead > 0 {
            self.order.pass_over();
        }
    }

    /// Takes what the last call of the queueing discipline dropped.
    fn collect_qdisc_drops(&mut self) {
        let Some(qdisc) = &mut self.qdisc else { return };
        while let Some(Dropped { reason, packet }) = qdisc.poll_drop() {
            let Addressed { lane, packet } = packet;
            self.lanes[lane.index()].upstream.remove(packet.bytes());
            self.drops.push_back((lane, Dropped { reason, packet }));
        }
    }

    /// Whether any packet was dropped of which [`CategoryPath::poll_drop`] has not told.
    #[inline]
    pub(super) fn has_drops(&self) -> bool {
        !self.drops.is_empty()
    }

    /// A packet that was dropped, and its lane.
    #[inline]
    pub(in crate::mac) fn poll_drop(&mut self) -> Option<(LaneId, Dropped<P>)> {
        self.drops.pop_front()
    }

    /// Whether there is, or may be, anything to send on winning the channel.
    #[inline]
    pub(in crate::mac) fn has_work(&self) -> bool {
        let waits = if self.ahead > 0 {
            !self.composed.is_empty()
        } else {
            !self.order.is_empty()
        };
        waits || self.request.is_some()
    }

    /// Asks for the block ack of a frame on winning the channel next; the lane is still being
    /// served.
    pub(in crate::mac) const fn put_request(&mut self, flight: Flight) {
        self.request = Some(flight);
    }

    /// The frame for whose block ack to ask now that the channel is won.
    pub(in crate::mac) const fn take_request(&mut self) -> Option<Flight> {
        self.request.take()
    }

    /// Whether nothing contends for the channel and nothing is on the air.
    #[inline]
    pub(in crate::mac) fn is_idle(&self) -> bool {
        self.serving.is_none() && !self.has_work()
    }

    /// Whether aggregates are composed before the channel is won.
    pub(in crate::mac) const fn composes_ahead(&self) -> bool {
        self.ahead > 0
    }

    /// Whether [`CategoryPath::wants_aggregate`] can ever say yes.
    #[inline]
    pub(in crate::mac) const fn may_want_aggregate(&self) -> bool {
        self.ahead > 0 || self.lone_ahead > 0
    }

    /// Whether one more frame is to be composed ahead for the lane whose turn it is.
    pub(in crate::mac) fn wants_aggregate(&mut self) -> bool {
        let under_way = self.composed.len() + usize::from(self.serving.is_some());
        // Most radios treat all lanes alike.
        if self.lone_ahead == self.ahead || under_way < self.ahead {
            return under_way < self.ahead;
        }
        let Some(next) = self.order.peek() else {
            return false;
        };
        if self.lanes[next.index()].is_lone {
            return under_way < self.lone_ahead;
        }
        let lanes = self.composed.iter().map(|flight| flight.lane);
        let aggregates = lanes
            .chain(self.serving)
            .filter(|lane| !self.lanes[lane.index()].is_lone);
        aggregates.count() < self.ahead
    }

    /// How many frames are composed at a turn of a lane.
    pub(in crate::mac) fn frames_at_turn(&self, lane: LaneId) -> u16 {
        if self.lanes[lane.index()].is_lone {
            self.lone_burst
        } else {
            1
        }
    }

    /// The lane whose frame would be sent next.
    pub(super) fn peek(&mut self) -> Option<LaneId> {
        if self.ahead > 0 {
            self.composed.front().map(|flight| flight.lane)
        } else {
            self.order.peek()
        }
    }

    /// Whether the limit of airtime composed ahead lets another frame be composed for a lane.
    pub(super) fn may_send(&self, lane: LaneId) -> bool {
        match &self.airtime_limit {
            Some(limit) => limit.may_send(lane.number()),
            None => true,
        }
    }

    /// There was nothing to compose for the lane that [`super::TransmitPaths::next`] gave: it has
    /// no packets, or its window is full.
    pub(in crate::mac) fn found_nothing(&mut self, id: LaneId) {
        let lane = &mut self.lanes[id.index()];
        lane.blocked = lane.has_packets();
        lane.listed = false;
        if !lane.blocked {
            self.order.found_empty(id);
        }
    }

    /// Packets of a lane were put into a frame.
    pub(super) fn composed(&mut self, lane: LaneId, packets: usize) {
        if !self.limit.in_flight {
            self.release(lane, packets);
        }
    }

    /// `packets` of a lane were acknowledged or given up.
    pub(in crate::mac) fn settled(&mut self, lane: LaneId, packets: usize) {
        self.lanes[lane.index()].blocked = false;
        if self.limit.in_flight {
            self.release(lane, packets);
        }
    }

    /// Packets no longer count towards the limit.
    fn release(&mut self, lane: LaneId, packets: usize) {
        self.lanes[lane.index()].held -= packets;
        self.held -= packets;
    }

    /// An aggregate was composed ahead; its lane may have another turn if it has more, of which the
    /// oldest came at `oldest`.
    pub(super) fn put_ready(&mut self, flight: Flight, position: Position, oldest: Time) {
        match position {
            Position::First => self.composed.push_front(flight),
            Position::Next => return self.composed.push_back(flight),
            Position::Last => {
                self.composed.push_back(flight);
                // The lane was taken out of the order to compose this.
                self.lanes[flight.lane.index()].listed = false;
            }
        }
        self.relist(flight.lane, oldest);
    }

    /// The aggregate to send now that the channel is won.
    pub(in crate::mac) fn take_composed(&mut self) -> Option<Flight> {
        self.composed.pop_front()
    }

    /// The aggregate that is sent next.
    pub(in crate::mac) fn first_composed(&self) -> Option<&Flight> {
        self.composed.front()
    }

    /// A frame of a lane goes on the air.
    pub(in crate::mac) const fn begin_service(&mut self, lane: LaneId) {
        self.serving = Some(lane);
    }

    /// A lane was served; see [`super::TransmitPaths::served`].
    pub(super) fn served(&mut self, id: LaneId, done: bool, oldest: Time) {
        self.serving = None;
        if self.ahead > 0 {
            return self.relist(id, oldest);
        }
        let lane = &mut self.lanes[id.index()];
        lane.listed = lane.has_work() && !lane.asleep;
        if lane.listed && done {
            self.order.push(id, oldest);
        } else if lane.listed {
            self.order.put_back(id, oldest);
        }
    }

    /// A lane goes to the tail of the order if it has work and is not in it.
    fn relist(&mut self, id: LaneId, oldest: Time) {
        if self.lanes[id.index()].has_work() {
            self.list(oldest, id);
        }
    }

    /// Whether the size of the queueing discipline is to be adjusted; see [`CategoryPath::resize`].
    pub(in crate::mac) fn wants_size(&self, now: Time) -> bool {
        match &self.sizing {
            Some(sizing) => sizing.is_due(now),
            None => false,
        }
    }

    /// Adjusts the size of the queueing discipline. Others have kept the channel busy for `others`
    /// since the beginning.
    pub(in crate::mac) fn resize(&mut self, now: Time, others: Duration) {
        if let (Some(sizing), Some(qdisc)) = (&mut self.sizing, &mut self.qdisc) {
            sizing.end_intervals(now, others, qdisc);
        }
    }

    /// A frame was sent.
    pub(in crate::mac) fn on_frame(&mut self, frame: &FrameRecord) {
        if let Some(sizing) = &mut self.sizing {
            sizing.on_frame(frame);
        }
    }

    /// Packets that wait or are in flight.
    pub(super) fn inside(&self) -> usize {
        self.lanes.iter().map(Lane::inside).sum()
    }
}
