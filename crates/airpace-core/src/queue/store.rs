//! Many first-in-first-out lists in one slab, so that memory follows the total backlog and not the
//! number of lists.

use super::fifo::Queued;
use crate::packet::Packet;
use airpace_units::Time;

/// Marks the end of a list. Memory ends long before 2³² − 1 packets, so it is not a valid index.
const END: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct Node<P> {
    next: u32,
    /// `None` while the node is free.
    queued: Option<Queued<P>>,
}

/// The nodes of all lists. Free nodes are linked, the most recently freed first because it is still
/// in the cache.
#[derive(Clone, Debug)]
pub(super) struct Store<P> {
    nodes: Vec<Node<P>>,
    free: u32,
}

/// One list within a [`Store`].
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    head: u32,
    tail: u32,
    len: u32,
}

impl List {
    pub(super) const EMPTY: Self = Self {
        head: END,
        tail: END,
        len: 0,
    };

    pub(super) const fn len(&self) -> u32 {
        self.len
    }
}

impl<P: Packet> Store<P> {
    pub(super) const fn new() -> Self {
        Self {
            nodes: Vec::new(),
            free: END,
        }
    }

    pub(super) fn push(&mut self, list: &mut List, now: Time, packet: P) {
        let index = self.place(Queued { since: now, packet });
        match self.nodes.get_mut(list.tail as usize) {
            Some(tail) => tail.next = index,
            None => list.head = index,
        }
        list.tail = index;
        list.len += 1;
    }

    /// Puts `queued` into a free node, or into a new one.
    fn place(&mut self, queued: Queued<P>) -> u32 {
        let index = self.free;
        if let Some(node) = self.nodes.get_mut(index as usize) {
            self.free = core::mem::replace(&mut node.next, END);
            node.queued = Some(queued);
            return index;
        }
        let index = u32::try_from(self.nodes.len()).expect("the packet limit is below 2^32");
        self.nodes.push(Node {
            next: END,
            queued: Some(queued),
        });
        index
    }

    pub(super) fn pop(&mut self, list: &mut List) -> Option<Queued<P>> {
        let index = list.head;
        let node = self.nodes.get_mut(index as usize)?;
        let queued = node.queued.take()?;
        list.head = core::mem::replace(&mut node.next, self.free);
        self.free = index;
        list.len -= 1;
        if list.len == 0 {
            *list = List::EMPTY;
        }
        Some(queued)
    }

    /// Number of nodes, used and free: the largest backlog so far.
    #[cfg(test)]
    pub(super) fn nodes(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn front(&self, list: &List) -> Option<&Queued<P>> {
        self.nodes.get(list.head as usize)?.queued.as_ref()
    }
}
