//! What one link has in the transmit path of one access category.

use super::custom::CustomQueue;
use super::queue::Queue;
use crate::mac::ids::LinkId;
use crate::mac::window::Window;
use airpace_core::packet::Packet;
use airpace_core::queue::TidId;
use airpace_units::Time;

/// Packets that wait somewhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(in crate::mac) struct Backlog {
    pub(in crate::mac) packets: usize,
    pub(in crate::mac) bytes: u64,
}

impl Backlog {
    pub(super) fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }

    pub(super) fn remove(&mut self, bytes: u32) {
        self.packets -= 1;
        self.bytes -= u64::from(bytes);
    }
}

/// A link's packets of one category: those that wait, and those that are in flight.
#[derive(Debug)]
pub(in crate::mac) struct Lane<P> {
    pub(in crate::mac) link: LinkId,
    /// Packets of which the next frame is composed.
    pub(super) queue: Queue<P>,
    /// Packets that wait before they come into `queue`: in the queueing discipline, in the radio's
    /// flow queues, or in a queue of the user's own.
    pub(super) upstream: Backlog,
    /// Its share of the radio's flow queues, if the radio has any.
    pub(super) tid: Option<TidId>,
    /// A queue of the user's own.
    pub(super) custom: Option<Box<CustomQueue<P>>>,
    /// Whether its frames carry a single MPDU each.
    pub(super) is_lone: bool,
    pub(in crate::mac) window: Window<P>,
    /// Packets that count towards a limit per link.
    pub(super) held: usize,
    /// Whether it stands in the order of service, or is being served.
    pub(super) listed: bool,
    /// Its window is full: nothing can be composed for it until one of its frames is settled.
    pub(super) blocked: bool,
    /// Its receiver sleeps: nothing is sent to it.
    pub(super) asleep: bool,
    /// Its receiver has left: what comes out of the queueing discipline for it is dropped.
    pub(super) left: bool,
    peak: usize,
}

impl<P: Packet + Clone> Lane<P> {
    pub(super) fn new(
        link: LinkId,
        tid: Option<TidId>,
        custom: Option<Box<CustomQueue<P>>>,
        is_lone: bool,
    ) -> Self {
        Self {
            link,
            queue: Queue::new(),
            upstream: Backlog::default(),
            tid,
            custom,
            is_lone,
            window: Window::new(),
            held: 0,
            listed: false,
            blocked: false,
            asleep: false,
            left: false,
            peak: 0,
        }
    }

    /// Everything that waits; what is in flight is not counted.
    pub(in crate::mac) fn waiting(&self) -> Backlog {
        Backlog {
            packets: self.upstream.packets + self.queue.len(),
            bytes: self.upstream.bytes + self.queue.bytes(),
        }
    }

    /// Packets that wait or are in flight.
    pub(super) fn inside(&self) -> usize {
        self.waiting().packets + self.window.in_flight()
    }

    /// Whether packets wait where a frame can be composed of them: not in the queueing discipline.
    pub(super) fn has_packets(&self) -> bool {
        if self.queue.len() > 0 {
            true
        } else if let Some(custom) = &self.custom {
            custom.may_give()
        } else {
            self.tid.is_some() && self.upstream.packets > 0
        }
    }

    /// Whether packets wait below the queueing discipline, or must be sent again.
    pub(in crate::mac) fn has_work(&self) -> bool {
        self.window.has_due() || self.has_packets()
    }

    /// Whether its receiver sleeps.
    pub(in crate::mac) const fn is_asleep(&self) -> bool {
        self.asleep
    }

    /// When the packet came with which its next frame begins, if that packet has left the flow
    /// queues.
    pub(super) fn oldest(&self) -> Option<Time> {
        if self.window.has_due() {
            self.window.oldest().or(self.queue.oldest())
        } else {
            self.queue.oldest()
        }
    }

    /// The longest that the queue has been since this was last asked.
    pub(in crate::mac) fn take_peak(&mut self) -> usize {
        let now = self.waiting().packets;
        core::mem::replace(&mut self.peak, now)
    }

    pub(super) fn note_peak(&mut self) {
        self.peak = self.peak.max(self.waiting().packets);
    }
}
