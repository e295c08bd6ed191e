//! The transmit paths of a radio, one for each access category: from the packet that comes from the
//! network layer to the frame that is composed.
//!
//! Packets wait in an optional queueing discipline above the queue of their link, or in flow queues
//! that all links of the radio share, or in a queue of the user's own ([`TransmitQueue`]); an order
//! of service tells whose frame is composed next, on winning the channel or ahead of that for the
//! hardware's queue.

mod category;
mod config;
mod custom;
mod driver;
mod flow_queues;
mod lane;
mod order;
mod qdisc;
mod queue;
mod sizing;

pub(super) use category::CategoryPath;
pub use config::{PathConfig, Qdisc, QueueLimit, QueueScope, Queues, Schedule, Scheme};
pub use custom::{CustomQueues, PacketStore, QueueFactory, QueueSite, QueuedPacket, TransmitQueue};
pub use driver::{Driver, DriverRules};
pub(super) use lane::Backlog;
pub(super) use queue::Feed;

use super::RadioConfig;
use super::flight::Flight;
use super::frame::{Built, Limits, Rules};
use super::ids::{ByCategory, LaneId, LinkId};
use super::link::Link;
use airpace_core::packet::Packet;
use airpace_core::phy::{AccessCategory, TxRate};
use airpace_core::queue::Dropped;
use airpace_units::Time;
use category::NewLane;
use core::ops::{Index, IndexMut};
use custom::CustomQueue;
use flow_queues::FlowQueues;
use queue::Staged;
use std::collections::VecDeque;

/// The transmit paths of one radio, with the flow queues that its links and categories share.
#[derive(Debug)]
pub(super) struct TransmitPaths<P> {
    categories: ByCategory<CategoryPath<P>>,
    flow_queues: Option<Box<FlowQueues<P>>>,
    /// What builds the queues of the user's own, and the key of the hashes that tell their flows
    /// apart.
    custom: Option<(CustomQueues, [u8; 16])>,
    /// Whether the driver sends voice unaggregated.
    lone_voice: bool,
    /// Packets dropped by the flow queues that have not been reported.
    drops: VecDeque<LaneDrop<P>>,
}

/// A packet that was dropped, and where it was.
#[derive(Debug)]
pub(super) struct LaneDrop<P> {
    pub(super) category: AccessCategory,
    pub(super) link: LinkId,
    pub(super) dropped: Dropped<P>,
}

/// Position of an aggregate in the hardware queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Position {
    /// Before all others: a frame that is sent again.
    First,
    /// After all others. The turn of its lane ends.
    Last,
    /// After all others, at the turn that has ended with the frame before.
    Next,
}

impl<P: Packet + Clone> TransmitPaths<P> {
    pub(super) fn new(radio: &RadioConfig) -> Self {
        let config = &radio.path;
        let (flow_queues, custom) = match &config.queues {
            Queues::Fifo(_) => (None, None),
            Queues::FlowQueues(flows) => {
                (Some(Box::new(FlowQueues::new(*flows, config.key))), None)
            }
            Queues::Custom(custom) => (None, Some((custom.clone(), config.key))),
        };
        Self {
            categories: ByCategory::from_fn(|_| CategoryPath::new(radio)),
            flow_queues,
            custom,
            lone_voice: config.driver.lone_voice,
            drops: VecDeque::new(),
        }
    }

    /// Adds a lane for a link that has none in this category.
    pub(super) fn add_lane(&mut self, category: AccessCategory, id: LinkId, link: &Link) -> LaneId {
        let lane = LaneId::from_index(self.categories[category].lanes.len());
        let flow_queues = self.flow_queues.as_mut();
        let tid = flow_queues.map(|queues| queues.add(category, lane, link.to));
        let custom = self.custom.as_ref().map(|(factory, key)| {
            let site = QueueSite {
                sender: link.from,
                receiver: link.to,
                category,
            };
            Box::new(CustomQueue::new(factory.build(&site), *key))
        });
        self.categories[category].add_lane(NewLane {
            link: id,
            tid,
            custom,
            weight: link.weight,
            rate: link.adaptation.best().rate(),
            is_lone: self.lone_voice && category == AccessCategory::Voice
                || link.is_never_aggregated(),
        })
    }

    /// Takes a packet for a lane. What is dropped for it, or is this packet, comes out of
    /// [`CategoryPath::poll_drop`] or [`TransmitPaths::poll_flow_drop`].
    #[inline]
    pub(super) fn push(&mut self, now: Time, category: AccessCategory, id: LaneId, packet: P) {
        let path = &mut self.categories[category];
        let lane = path.lane_mut(id);
        if let (Some(flow_queues), Some(tid)) = (&mut self.flow_queues, lane.tid) {
            lane.upstream.add(packet.bytes());
            flow_queues.enqueue(now, tid, packet);
            self.collect_flow_drops();
            let path = &mut self.categories[category];
            path.lane_mut(id).note_peak();
            path.list(now, id);
        } else {
            path.push(now, id, packet);
        }
    }

    /// Whether the path of `category`, or the flow queues, have dropped packets that were not
    /// polled: [`CategoryPath::poll_drop`], [`TransmitPaths::poll_flow_drop`].
    #[inline]
    pub(super) fn has_drops(&self, category: AccessCategory) -> bool {
        self.categories[category].has_drops() || !self.drops.is_empty()
    }

    /// A packet that the flow queues have dropped, of any lane and category.
    pub(super) fn poll_flow_drop(&mut self) -> Option<LaneDrop<P>> {
        self.drops.pop_front()
    }

    /// Takes what the flow queues dropped: packets of any lane and category.
    fn collect_flow_drops(&mut self) {
        let Some(flow_queues) = &mut self.flow_queues else {
            return;
        };
        while let Some((category, lane, dropped)) = flow_queues.poll_drop() {
            let lane = self.categories[category].lane_mut(lane);
            lane.upstream.remove(dropped.packet.bytes());
            self.drops.push_back(LaneDrop {
                category,
                link: lane.link,
                dropped,
            });
        }
    }

    /// The flow queues, if there are any.
    pub(super) fn flow_queues(&mut self) -> Option<&mut FlowQueues<P>> {
        self.flow_queues.as_deref_mut()
    }

    /// The link whose frame would be sent next.
    pub(super) fn next_link(&mut self, category: AccessCategory) -> Option<LinkId> {
        let path = &mut self.categories[category];
        path.peek().map(|lane| path.lane(lane).link)
    }

    /// The lane for which a frame is to be composed. It is being served until
    /// [`TransmitPaths::served`]; a caller that finds nothing to compose calls
    /// [`CategoryPath::found_nothing`] and asks again.
    pub(super) fn next(&mut self, category: AccessCategory) -> Option<LaneId> {
        // A lane over its limit of airtime is skipped. When all lanes have been asked, none may
        // send.
        for _ in 0..=self.categories[category].lanes.len() {
            let path = &mut self.categories[category];
            let lane = path.order.next()?;
            if path.lane(lane).asleep {
                path.lane_mut(lane).listed = false;
                path.order.found_empty(lane);
                continue;
            }
            if path.lane(lane).blocked {
                // Where airtime is shared out, a blocked lane keeps its turn: it has a frame under
                // way that ends soon, and the rounds that others would get in the meantime would
                // bring it ahead of its share. Otherwise it is not in the order.
                return None;
            }
            if path.may_send(lane) {
                return Some(lane);
            }
            let oldest = self.oldest(category, lane);
            self.categories[category].order.skip(lane, oldest);
        }
        None
    }

    /// Composes the next frame of a lane of what must be sent again and what waits. `None` if there
    /// is nothing, or nothing that the limits allow.
    pub(super) fn build(
        &mut self,
        now: Time,
        category: AccessCategory,
        id: LaneId,
        rate: TxRate,
        limits: &Limits,
        rules: &Rules,
    ) -> Option<Built> {
        let path = &mut self.categories[category];
        let lane = path.lane_mut(id);
        if let (Some(flow_queues), Some(tid)) = (&mut self.flow_queues, lane.tid) {
            let upstream = &mut lane.upstream;
            let mut feed = Staged::new(&mut lane.queue, || {
                let taken = flow_queues.dequeue(now, tid)?;
                upstream.remove(taken.1.bytes());
                Some(taken)
            });
            let built = lane.window.build(&mut feed, rate, limits, rules);
            self.collect_flow_drops();
            built
        } else if let Some(custom) = &mut lane.custom {
            let mut feed = Staged::new(&mut lane.queue, || custom.dequeue(now));
            let built = lane.window.build(&mut feed, rate, limits, rules);
            path.collect_custom_drops(id);
            built
        } else {
            let waiting = lane.queue.len();
            let built = lane.window.build(&mut lane.queue, rate, limits, rules);
            let taken = waiting - lane.queue.len();
            path.composed(id, taken);
            built
        }
    }

    /// An aggregate was composed ahead.
    pub(super) fn put_ready(&mut self, flight: Flight, position: Position) {
        let category = flight.function.category;
        let oldest = self.oldest(category, flight.lane);
        self.categories[category].put_ready(flight, position, oldest);
    }

    /// A lane was served, to the end (`done`) or not. Without work it leaves the order; else it
    /// goes to the tail if it was served to the end, and keeps its turn if not.
    pub(super) fn served(&mut self, category: AccessCategory, lane: LaneId, done: bool) {
        let oldest = self.oldest(category, lane);
        self.categories[category].served(lane, done, oldest);
    }

    /// When the packet came with which the next frame of a lane begins; time zero if it has none.
    fn oldest(&self, category: AccessCategory, lane: LaneId) -> Time {
        let lane = self.categories[category].lane(lane);
        let upstream = || match (&self.flow_queues, lane.tid, &lane.custom) {
            (Some(flow_queues), Some(tid), _) => flow_queues.head_since(tid),
            (_, _, Some(custom)) => custom.oldest(),
            _ => None,
        };
        lane.oldest().or_else(upstream).unwrap_or_default()
    }

    /// The receiver of a lane sleeps, so that nothing is sent to it, or wakes.
    pub(super) fn set_asleep(&mut self, category: AccessCategory, id: LaneId, asleep: bool) {
        let oldest = self.oldest(category, id);
        self.categories[category].set_asleep(id, asleep, oldest);
    }

    /// Takes what waits in a lane whose receiver has left. What is in the queueing discipline is
    /// dropped when it comes out of that.
    pub(super) fn forget(&mut self, now: Time, category: AccessCategory, id: LaneId) -> Vec<P> {
        let path = &mut self.categories[category];
        let mut packets = path.take_queue(id);
        let lane = path.lane_mut(id);
        if let (Some(flow_queues), Some(tid)) = (&mut self.flow_queues, lane.tid) {
            while let Some((_, packet)) = flow_queues.dequeue(now, tid) {
                lane.upstream.remove(packet.bytes());
                packets.push(packet);
            }
            self.collect_flow_drops();
        } else if let Some(custom) = &mut lane.custom {
            while let Some((_, packet)) = custom.dequeue(now) {
                packets.push(packet);
            }
            path.collect_custom_drops(id);
        }
        packets
    }

    /// Packets that wait or are in flight.
    pub(super) fn held(&self) -> usize {
        self.categories.iter().map(CategoryPath::inside).sum()
    }
}

impl<P> Index<AccessCategory> for TransmitPaths<P> {
    type Output = CategoryPath<P>;

    fn index(&self, category: AccessCategory) -> &CategoryPath<P> {
        &self.categories[category]
    }
}

impl<P> IndexMut<AccessCategory> for TransmitPaths<P> {
    fn index_mut(&mut self, category: AccessCategory) -> &mut CategoryPath<P> {
        &mut self.categories[category]
    }
}
