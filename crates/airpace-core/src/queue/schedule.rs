//! Deficit round robin over new and old queues (RFC 8290 §4.2).
//!
//! [`Turns`] holds the deficit of each queue, and [`Lists`] the order in which one scheduler serves
//! some of them. FQ-CoDel has one pair of lists; the queues of an access point have one pair for
//! each TID over the same turns.

/// Marks the end of a list. Memory ends long before this many queues, so it is not a valid index.
const END: u32 = u32::MAX;

/// In place of the next queue: this queue is not in a list.
const IDLE: u32 = u32::MAX - 1;

/// One queue's turn. It is small because the turns of several queues are read for each packet.
#[derive(Clone, Copy, Debug)]
struct Turn {
    next: u32,
    /// Bytes that the queue may still send in this turn; negative after a packet larger than what
    /// was left. It saturates for packets of 2 GiB only.
    deficit: i32,
}

impl Turn {
    const IDLE: Self = Self {
        next: IDLE,
        deficit: 0,
    };
}

/// The turns of all queues. A queue is in one list at most.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    quantum: i32,
    turns: Vec<Turn>,
}

impl Turns {
    pub(super) fn new(queues: u32, quantum: u32) -> Self {
        Self {
            quantum: saturated(quantum),
            turns: vec![Turn::IDLE; queues as usize],
        }
    }

    /// Adds a queue; indices are consecutive.
    pub(super) fn push(&mut self) {
        self.turns.push(Turn::IDLE);
    }

    /// Whether queue `index` is in a list. It may be empty nevertheless.
    pub(super) fn is_listed(&self, index: u32) -> bool {
        self.turns[index as usize].next != IDLE
    }

    /// Gives the queues of `ring` the quanta of all rounds in which none could send, at once. A
    /// packet of 64 KiB costs more than 200 quanta of 300 bytes, so going round one by one would
    /// take long.
    fn skip_rounds(&mut self, ring: Ring) {
        let quantum = self.quantum;
        let owed = |turn: &Turn| {
            if turn.deficit > 0 {
                0
            } else {
                -turn.deficit / quantum + 1
            }
        };
        let Some(rounds) = ring
            .iter(self)
            .map(|index| owed(&self.turns[index as usize]))
            .min()
        else {
            return;
        };
        let mut next = ring.first();
        while let Some(turn) = next.and_then(|index| self.turns.get_mut(index as usize)) {
            turn.deficit = turn.deficit.saturating_add(rounds.saturating_mul(quantum));
            next = Some(turn.next);
        }
    }

    /// Charges queue `index` for a packet of `bytes`. An empty packet counts as one byte; otherwise
    /// a flow of empty packets would never end its turn.
    pub(super) fn charge(&mut self, index: u32, bytes: u32) {
        let turn = &mut self.turns[index as usize];
        turn.deficit = turn
            .deficit
            .saturating_sub(saturated(bytes.max(1)))
            .max(-i32::MAX);
    }
}

fn saturated(bytes: u32) -> i32 {
    i32::try_from(bytes).unwrap_or(i32::MAX)
}

/// A singly linked list of queues.
#[derive(Clone, Copy, Debug)]
struct Ring {
    head: u32,
    tail: u32,
}

impl Ring {
    const EMPTY: Self = Self {
        head: END,
        tail: END,
    };

    fn push(&mut self, turns: &mut [Turn], index: u32) {
        turns[index as usize].next = END;
        match turns.get_mut(self.tail as usize) {
            Some(tail) => tail.next = index,
            None => self.head = index,
        }
        self.tail = index;
    }

    fn pop(&mut self, turns: &[Turn]) -> Option<u32> {
        let index = self.head;
        self.head = turns.get(index as usize)?.next;
        if self.head == END {
            self.tail = END;
        }
        Some(index)
    }

    const fn first(&self) -> Option<u32> {
        if self.head == END {
            None
        } else {
            Some(self.head)
        }
    }

    fn iter(self, turns: &Turns) -> impl Iterator<Item = u32> {
        core::iter::successors(self.first(), |&index| {
            Some(turns.turns[index as usize].next).filter(|&next| next != END)
        })
    }
}

/// The order of the queues of one scheduler.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lists {
    /// Queues that have just become busy and have not used up their first quantum.
    new: Ring,
    old: Ring,
}

impl Lists {
    pub(super) const EMPTY: Self = Self {
        new: Ring::EMPTY,
        old: Ring::EMPTY,
    };

    /// Reports a packet for queue `index`. An idle queue joins the new queues with one quantum.
    pub(super) fn wake(&mut self, turns: &mut Turns, index: u32) {
        let turn = &mut turns.turns[index as usize];
        if turn.next == IDLE {
            turn.deficit = turns.quantum;
            self.new.push(&mut turns.turns, index);
        }
    }

    /// Returns the queue whose turn it is. Queues that have used up their quantum get another one
    /// and go to the back of the old ones.
    pub(super) fn current(&mut self, turns: &mut Turns) -> Option<u32> {
        let mut passed = END;
        loop {
            let index = self.first()?;
            if index == passed {
                turns.skip_rounds(self.old);
            }
            let turn = &mut turns.turns[index as usize];
            if turn.deficit > 0 {
                return Some(index);
            }
            if passed == END {
                passed = index;
            }
            turn.deficit += turns.quantum;
            self.pop(turns);
            self.old.push(&mut turns.turns, index);
        }
    }

    /// Whether the queue that is considered next is a new one.
    pub(super) const fn serves_new(&self) -> bool {
        self.new.first().is_some()
    }

    /// The new queues that may still send in their first turn. They may be empty.
    pub(super) fn new_queues(self, turns: &Turns) -> impl Iterator<Item = u32> {
        self.new
            .iter(turns)
            .filter(|&index| turns.turns[index as usize].deficit > 0)
    }

    /// The queue that is considered next.
    pub(super) fn first(&self) -> Option<u32> {
        self.new.first().or(self.old.first())
    }

    /// The queues in the order in which they are considered next.
    pub(super) fn iter(self, turns: &Turns) -> impl Iterator<Item = u32> {
        self.new.iter(turns).chain(self.old.iter(turns))
    }

    fn pop(&mut self, turns: &Turns) -> Option<u32> {
        self.new
            .pop(&turns.turns)
            .or_else(|| self.old.pop(&turns.turns))
    }

    /// Reports that the current queue was found empty, and returns the queue if it left the lists.
    /// If it has spent some of its quantum, it passes through the old queues once more before it
    /// leaves, so that a flow cannot keep precedence by sending whenever its queue has just run
    /// empty.
    ///
    /// In RFC 8290 (§4.2) only new queues stay. There an old queue that leaves with its quantum
    /// spent gets another one if a packet arrives just then, so a sender that times its packets
    /// gets up to two quanta in a round in which backlogged queues get one.
    pub(super) fn found_empty(&mut self, turns: &mut Turns) -> Option<u32> {
        let index = self.pop(turns)?;
        let turn = &mut turns.turns[index as usize];
        if turn.deficit < turns.quantum && self.old.first().is_some() {
            turn.deficit = turns.quantum;
            self.old.push(&mut turns.turns, index);
            return None;
        }
        turn.next = IDLE;
        Some(index)
    }

    /// The same by the letter of RFC 8290 (§4.2) and Linux: an old queue leaves at once, a new one
    /// passes through the old queues first, with the deficit that it has.
    pub(super) fn found_empty_as_in_rfc_8290(&mut self, turns: &mut Turns) -> Option<u32> {
        let is_new = self.serves_new();
        let index = self.pop(turns)?;
        if is_new && self.old.first().is_some() {
            self.old.push(&mut turns.turns, index);
            return None;
        }
        turns.turns[index as usize].next = IDLE;
        Some(index)
    }

    /// Removes the queue that is considered next.
    pub(super) fn remove_first(&mut self, turns: &mut Turns) -> Option<u32> {
        let index = self.pop(turns)?;
        turns.turns[index as usize].next = IDLE;
        Some(index)
    }
}
