//! Deficit round robin over new and old queues (RFC 8290 §4.2).

/// Marks the end of a list; queues number 65,536 at most.
const END: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Turn {
    next: u32,
    listed: bool,
    /// Bytes the queue may still send in this turn; negative after a packet larger than what was left.
    deficit: i64,
}

/// A singly linked list of queues.
#[derive(Clone, Copy, Debug)]
struct Ring {
    head: u32,
    tail: u32,
}

impl Ring {
    const EMPTY: Self = Self { head: END, tail: END };

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
        if self.head == END { None } else { Some(self.head) }
    }
}

/// Whose turn it is.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    quantum: i64,
    turns: Vec<Turn>,
    /// Queues that have just become busy and have not used up their first quantum.
    new: Ring,
    old: Ring,
}

impl Schedule {
    pub(super) fn new(queues: u32, quantum: u32) -> Self {
        let idle = Turn { next: END, listed: false, deficit: 0 };
        Self { quantum: i64::from(quantum), turns: vec![idle; queues as usize], new: Ring::EMPTY, old: Ring::EMPTY }
    }

    /// A packet came for queue `index`: if the queue was idle it joins the new queues with one quantum.
    pub(super) fn wake(&mut self, index: u32) {
        let turn = &mut self.turns[index as usize];
        if !turn.listed {
            turn.listed = true;
            turn.deficit = self.quantum;
            self.new.push(&mut self.turns, index);
        }
    }

    /// The queue whose turn it is; queues that have used up their quantum get another one and go to the back of the old ones.
    pub(super) fn current(&mut self) -> Option<u32> {
        loop {
            let index = self.first()?;
            let turn = &mut self.turns[index as usize];
            if turn.deficit > 0 {
                return Some(index);
            }
            turn.deficit += self.quantum;
            self.pop();
            self.old.push(&mut self.turns, index);
        }
    }

    /// The queue that is looked at next.
    pub(super) fn first(&self) -> Option<u32> {
        self.new.first().or(self.old.first())
    }

    fn pop(&mut self) -> Option<u32> {
        self.new.pop(&self.turns).or_else(|| self.old.pop(&self.turns))
    }

    /// Queue `index` sent `bytes`.
    pub(super) fn charge(&mut self, index: u32, bytes: u32) {
        self.turns[index as usize].deficit -= i64::from(bytes);
    }

    /// The current queue was found empty. A new one goes through the old ones once, so that a flow cannot keep precedence by
    /// sending whenever its queue has just run empty; an old one leaves.
    pub(super) fn found_empty(&mut self) {
        let was_new = self.new.first().is_some();
        let Some(index) = self.pop() else { return };
        if was_new && self.old.first().is_some() {
            self.old.push(&mut self.turns, index);
        } else {
            self.turns[index as usize].listed = false;
        }
    }
}
