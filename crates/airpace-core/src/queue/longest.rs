//! Finds the longest queue without visiting all of them.

/// Children of a node. Eight 64-bit numbers fill a cache line.
const FAN: usize = 8;

/// The lengths of many queues and, above them, a tree of upper bounds on the lengths in each group
/// of [`FAN`].
///
/// A queue that grows raises the bounds above it, most of which are already high enough. A queue
/// that shrinks leaves them, so a packet costs next to nothing while no search runs. The search
/// lowers the bounds that it finds too high. Each such bound goes back to one change of a queue's
/// length, so over any number of calls a change costs at most `log8 n` groups of one cache line
/// each.
#[derive(Clone, Debug)]
pub(super) struct Longest {
    /// The lengths, the bound on each group, and so on; the last level has one number. Each is
    /// padded to whole groups.
    levels: Vec<Vec<u64>>,
    queues: usize,
}

impl Longest {
    pub(super) fn new(queues: u32) -> Self {
        let queues = queues as usize;
        let mut this = Self {
            levels: vec![Vec::new()],
            queues,
        };
        this.make_room(queues);
        this
    }

    /// Adds a queue of length zero.
    pub(super) fn push(&mut self) {
        if self.queues == self.levels[0].len() {
            self.make_room(2 * self.queues);
        }
        self.queues += 1;
    }

    fn make_room(&mut self, queues: usize) {
        self.levels.truncate(1);
        self.levels[0].resize(queues.next_multiple_of(FAN).max(FAN), 0);
        while let [.., below] = self.levels.as_slice()
            && below.len() > 1
        {
            let mut level: Vec<u64> = below.chunks(FAN).map(greatest).collect();
            if level.len() > 1 {
                level.resize(level.len().next_multiple_of(FAN), 0);
            }
            self.levels.push(level);
        }
    }

    /// The length of queue `index`.
    pub(super) fn length(&self, index: u32) -> u64 {
        self.levels[0][index as usize]
    }

    /// Sets the length of queue `index`.
    #[inline]
    pub(super) fn set(&mut self, index: u32, length: u64) {
        let mut index = index as usize;
        let [lengths, bounds @ ..] = self.levels.as_mut_slice() else {
            return;
        };
        lengths[index] = length;
        for level in bounds {
            index /= FAN;
            if level[index] >= length {
                return;
            }
            level[index] = length;
        }
    }

    /// Returns the longest queue, the first of several equal ones; `None` if all lengths are zero.
    pub(super) fn longest(&mut self) -> Option<u32> {
        let mut depth = self.levels.len() - 1;
        let mut node = 0;
        // Descends to a length that reaches its bound, and restarts one level up whenever a bound
        // had to be lowered.
        while let Some(below) = depth.checked_sub(1) {
            let bound = self.levels[depth][node];
            if bound == 0 {
                return None;
            }
            let children = &self.levels[below][node * FAN..][..FAN];
            if let Some(child) = children.iter().position(|&length| length == bound) {
                (depth, node) = (below, node * FAN + child);
                continue;
            }
            self.levels[depth][node] = greatest(children);
            if depth + 1 < self.levels.len() {
                (depth, node) = (depth + 1, node / FAN);
            }
        }
        u32::try_from(node).ok()
    }
}

fn greatest(lengths: &[u64]) -> u64 {
    lengths.iter().copied().fold(0, u64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn naive(lengths: &[u64]) -> Option<u32> {
        let best = lengths.iter().copied().max().filter(|&best| best > 0)?;
        Some(lengths.iter().position(|&length| length == best).unwrap() as u32)
    }

    proptest! {
        #[test]
        fn finds_what_a_sweep_finds(
            queues in 1..700u32,
            changes in prop::collection::vec((any::<u32>(), prop_oneof![Just(0), 0..8u64, any::<u64>()], any::<bool>()), 0..400),
        ) {
            let mut tree = Longest::new(queues);
            let mut lengths = vec![0; queues as usize];
            for (index, length, add) in changes {
                if add {
                    tree.push();
                    lengths.push(0);
                }
                let index = index as usize % lengths.len();
                tree.set(index as u32, length);
                lengths[index] = length;
                prop_assert_eq!(tree.longest(), naive(&lengths));
                prop_assert_eq!(tree.length(index as u32), length);
            }
        }
    }
}
