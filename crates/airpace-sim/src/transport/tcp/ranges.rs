//! A set of stream offsets, stored as disjoint blocks in order.

use super::segment::Block;
use std::collections::VecDeque;

/// Disjoint blocks in order; blocks that touch are merged.
#[derive(Clone, Debug, Default)]
pub(super) struct RangeSet {
    blocks: VecDeque<Block>,
    bytes: u64,
}

impl RangeSet {
    /// Number of bytes in all blocks.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    pub(super) fn first(&self) -> Option<Block> {
        self.blocks.front().copied()
    }

    /// Whether all of `block` is in the set.
    pub(super) fn contains(&self, block: &Block) -> bool {
        let after = self.blocks.partition_point(|b| b.start <= block.start);
        after
            .checked_sub(1)
            .is_some_and(|i| self.blocks[i].contains(block))
    }

    /// Adds `block` and returns the block of the set that now contains it. An empty block is not
    /// added.
    pub(super) fn insert(&mut self, block: Block) -> Block {
        if block.bytes() == 0 {
            return block;
        }
        // The blocks in from..to overlap or touch the new block.
        let from = self.blocks.partition_point(|b| b.end < block.start);
        let to = from
            + self
                .blocks
                .range(from..)
                .take_while(|b| b.start <= block.end)
                .count();
        if from == to {
            self.blocks.insert(from, block);
            self.bytes += block.bytes();
            return block;
        }
        let merged = Block {
            start: block.start.min(self.blocks[from].start),
            end: block.end.max(self.blocks[to - 1].end),
        };
        self.bytes -= self.blocks.range(from..to).map(Block::bytes).sum::<u64>();
        self.bytes += merged.bytes();
        self.blocks[from] = merged;
        if to - from > 1 {
            self.blocks.drain(from + 1..to);
        }
        merged
    }

    /// Calls `visit` for each part of `block` that is missing from the set, in order.
    pub(super) fn for_each_gap(&self, block: Block, mut visit: impl FnMut(Block)) {
        let mut start = block.start;
        let from = self.blocks.partition_point(|b| b.end <= block.start);
        for held in self
            .blocks
            .range(from..)
            .take_while(|b| b.start < block.end)
        {
            if held.start > start {
                visit(Block {
                    start,
                    end: held.start,
                });
            }
            start = held.end;
        }
        if start < block.end {
            visit(Block {
                start,
                end: block.end,
            });
        }
    }

    /// Removes everything below `offset`.
    pub(super) fn remove_below(&mut self, offset: u64) {
        while let Some(first) = self.blocks.front_mut() {
            if first.start >= offset {
                return;
            }
            let gone = first.end.min(offset) - first.start;
            self.bytes -= gone;
            first.start += gone;
            if first.start == first.end {
                self.blocks.pop_front();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn block(start: u64, end: u64) -> Block {
        Block { start, end }
    }

    #[test]
    fn blocks_that_touch_become_one() {
        let mut set = RangeSet::default();
        set.insert(block(0, 2));
        set.insert(block(4, 6));
        assert_eq!(set.insert(block(2, 4)), block(0, 6));
        assert_eq!((set.bytes(), set.blocks.len()), (6, 1));
    }

    proptest! {
        #[test]
        fn the_set_agrees_with_a_set_of_single_bytes(
            inserts in prop::collection::vec((0_u64..60, 0_u64..12), 0..30),
            below in 0_u64..60,
            probe in (0_u64..60, 1_u64..20),
        ) {
            let mut set = RangeSet::default();
            let mut plain = BTreeSet::new();
            for (start, len) in inserts {
                set.insert(block(start, start + len));
                plain.extend(start..start + len);
            }
            set.remove_below(below);
            plain.retain(|&b| b >= below);
            prop_assert_eq!(set.bytes(), plain.len() as u64);
            prop_assert_eq!(set.first().map(|b| b.start), plain.first().copied());
            let probe = block(probe.0, probe.0 + probe.1);
            let missing: Vec<u64> = (probe.start..probe.end).filter(|b| !plain.contains(b)).collect();
            let mut gaps = Vec::new();
            set.for_each_gap(probe, |gap| gaps.extend(gap.start..gap.end));
            prop_assert_eq!(set.contains(&probe), missing.is_empty());
            prop_assert_eq!(gaps, missing);
        }
    }
}
