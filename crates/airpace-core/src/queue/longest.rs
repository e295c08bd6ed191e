//! Which queue is the longest, without looking at all of them.

/// Children of a node. Eight 64-bit numbers fill a cache line.
const FAN: usize = 8;

/// The lengths of many queues and, above them, a tree of the greatest in each group of [`FAN`], up to the greatest of all.
///
/// A change ends at the first group whose greatest stays, mostly its own. At worst it looks at one cache line in each of
/// `log8 n` levels, whatever the lengths are.
#[derive(Clone, Debug)]
pub(super) struct Longest {
    /// The lengths, the greatest of each group, and so on; the last level has one number. Each is padded to whole groups.
    levels: Vec<Vec<u64>>,
    queues: usize,
}

impl Longest {
    pub(super) fn new(queues: u32) -> Self {
        let queues = queues as usize;
        let mut this = Self { levels: vec![Vec::new()], queues };
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
        let [below, above @ ..] = self.levels.as_mut_slice() else { return };
        let mut was = core::mem::replace(&mut below[index], length);
        let mut is = length;
        let mut below: &[u64] = below;
        for level in above {
            let group = index / FAN;
            let best = level[group];
            if is < best && was < best {
                return;
            }
            is = if is >= best { is } else { greatest(&below[group * FAN..][..FAN]) };
            was = core::mem::replace(&mut level[group], is);
            if is == was {
                return;
            }
            (below, index) = (level, group);
        }
    }

    /// The longest queue, the first of several; `None` if all are of length zero.
    pub(super) fn longest(&self) -> Option<u32> {
        let best = *self.levels.last()?.first()?;
        if best == 0 {
            return None;
        }
        let mut group = 0;
        for level in self.levels.iter().rev().skip(1) {
            let children = &level[group * FAN..][..FAN];
            group = group * FAN + children.iter().position(|&length| length == best)?;
        }
        u32::try_from(group).ok()
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
