//! Packets of a flow by sequence number.

/// How many of the latest sequence numbers are remembered. In-order release and round-robin paths
/// reorder far less.
const REMEMBERED: u64 = 1_024;
const WORDS: usize = (REMEMBERED / 64) as usize;

/// Counts received, duplicate and reordered packets of one flow, by sequence numbers that rise by
/// one.
#[derive(Clone, Debug)]
pub struct SequenceStatistic {
    received: u64,
    duplicate: u64,
    reordered: u64,
    /// One more than the largest number seen; zero before the first.
    next: u64,
    /// A bit for each of the latest numbers, at its value modulo [`REMEMBERED`].
    seen: [u64; WORDS],
}

impl Default for SequenceStatistic {
    fn default() -> Self {
        Self {
            received: 0,
            duplicate: 0,
            reordered: 0,
            next: 0,
            seen: [0; WORDS],
        }
    }
}

impl SequenceStatistic {
    /// Counts a packet and returns whether it is new. A packet more than 1023 behind the largest
    /// number counts as new, because such numbers are not remembered.
    #[inline]
    pub fn record(&mut self, sequence: u64) -> bool {
        // The largest u64 has no successor; no flow gets there.
        let sequence = sequence.min(u64::MAX - 1);
        if sequence >= self.next {
            // The bits up to the new number still belong to numbers 1024 below.
            self.clear_up_to(sequence);
            self.next = sequence + 1;
        } else if self.next - sequence <= REMEMBERED && self.has(sequence) {
            self.duplicate += 1;
            return false;
        } else {
            self.reordered += 1;
        }
        if self.next - sequence <= REMEMBERED {
            self.seen[word(sequence)] |= bit(sequence);
        }
        self.received += 1;
        true
    }

    /// Distinct packets received.
    #[must_use]
    pub const fn received(&self) -> u64 {
        self.received
    }

    /// Packets received again.
    #[must_use]
    pub const fn duplicate(&self) -> u64 {
        self.duplicate
    }

    /// Distinct packets that arrived after a packet with a larger number.
    #[must_use]
    pub const fn reordered(&self) -> u64 {
        self.reordered
    }

    /// Packets lost of `sent`; zero if more arrived than were sent, which happens if the two are
    /// counted over different windows.
    #[must_use]
    pub const fn lost_of(&self, sent: u64) -> u64 {
        sent.saturating_sub(self.received)
    }

    /// Adds the counts of another flow. The numbers remembered stay those of this flow.
    pub const fn merge(&mut self, other: &Self) {
        self.received += other.received;
        self.duplicate += other.duplicate;
        self.reordered += other.reordered;
    }

    /// Clears the bits of the numbers from `next` to `sequence`.
    fn clear_up_to(&mut self, sequence: u64) {
        if sequence - self.next >= REMEMBERED {
            self.seen = [0; WORDS];
            return;
        }
        for number in self.next..=sequence {
            self.seen[word(number)] &= !bit(number);
        }
    }

    const fn has(&self, sequence: u64) -> bool {
        self.seen[word(sequence)] & bit(sequence) != 0
    }
}

const fn word(sequence: u64) -> usize {
    ((sequence / 64) % (WORDS as u64)) as usize
}

const fn bit(sequence: u64) -> u64 {
    1 << (sequence % 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn counts_agree_with_a_set_while_reordering_is_small(steps in prop::collection::vec((0..3u64, 0..300u64), 1..500)) {
            let (mut statistic, mut set, mut base) = (SequenceStatistic::default(), BTreeSet::new(), 1_000u64);
            let (mut duplicate, mut reordered) = (0, 0);
            for (step, back) in steps {
                base += step;
                let sequence = if back % 5 == 0 { base - back } else { base };
                let late = set.last().is_some_and(|&last| sequence < last);
                let new = set.insert(sequence);
                duplicate += u64::from(!new);
                reordered += u64::from(new && late);
                prop_assert_eq!(statistic.record(sequence), new);
            }
            prop_assert_eq!((statistic.received(), statistic.duplicate(), statistic.reordered()), (set.len() as u64, duplicate, reordered));
        }

        #[test]
        fn any_sequence_of_numbers_is_accepted(sequences in prop::collection::vec(any::<u64>(), 1..100)) {
            let mut statistic = SequenceStatistic::default();
            for sequence in sequences {
                statistic.record(sequence);
            }
            prop_assert_eq!(statistic.lost_of(0), 0);
        }
    }

    #[test]
    fn a_jump_clears_the_bits_of_earlier_numbers() {
        let mut statistic = SequenceStatistic::default();
        for sequence in [
            0,
            5,
            REMEMBERED + 5,
            REMEMBERED + 4,
            10 * REMEMBERED + 4,
            10 * REMEMBERED + 3,
        ] {
            assert!(statistic.record(sequence), "{sequence}");
        }
        assert!(!statistic.record(10 * REMEMBERED + 4));
        assert_eq!(
            (
                statistic.received(),
                statistic.reordered(),
                statistic.lost_of(10)
            ),
            (6, 2, 4)
        );
    }
}
