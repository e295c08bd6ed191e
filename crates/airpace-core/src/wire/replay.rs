//! A window of counters that rejects replayed datagrams (the algorithm of RFC 6479).

use thiserror::Error;

/// Number of words of 64 counters. It is a power of two, so that a counter's word is found by
/// masking.
const WORDS: u64 = 64;

/// Size of the window. A counter that is lower than the next one by more than this is refused. The
/// word that is being filled does not count.
pub const WINDOW: u64 = (WORDS - 1) * 64;

/// Why a counter is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The counter was accepted before.
    #[error("the counter was seen before: a replayed or duplicated datagram")]
    Seen,
    /// The counter is so far behind the highest that the window does not cover it.
    #[error("the counter is behind the replay window")]
    TooOld,
}

/// The accepted counters within [`WINDOW`] of the highest.
#[derive(Clone, Debug)]
pub struct ReplayWindow {
    /// The highest accepted counter plus one; zero before the first.
    next: u64,
    words: [u64; WORDS as usize],
}

impl Default for ReplayWindow {
    fn default() -> Self {
        Self {
            next: 0,
            words: [0; WORDS as usize],
        }
    }
}

impl ReplayWindow {
    /// An empty window.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Checks whether `counter` would be accepted. Call this before decrypting a datagram.
    ///
    /// # Errors
    /// If the counter was accepted before or is behind the window. The largest counter of all is
    /// refused as too old.
    pub fn check(&self, counter: u64) -> Result<(), ReplayError> {
        if counter == u64::MAX || counter.saturating_add(WINDOW) < self.next {
            return Err(ReplayError::TooOld);
        }
        let (word, bit) = place(counter);
        if counter < self.next && self.words[word] & bit != 0 {
            return Err(ReplayError::Seen);
        }
        Ok(())
    }

    /// Accepts `counter`. Call this after the datagram proved authentic.
    ///
    /// # Errors
    /// The same as [`ReplayWindow::check`]; the window is then unchanged.
    pub fn accept(&mut self, counter: u64) -> Result<(), ReplayError> {
        self.check(counter)?;
        if counter >= self.next {
            self.advance(counter);
        }
        let (word, bit) = place(counter);
        self.words[word] |= bit;
        Ok(())
    }

    /// Makes `counter` the highest and clears the words after that of the old highest.
    fn advance(&mut self, counter: u64) {
        // The word of the highest counter so far is in use. In an empty window this is the first
        // word, which is clear anyway.
        let used = self.next.saturating_sub(1) / 64;
        let steps = (counter / 64 - used).min(WORDS);
        for step in 1..=steps {
            self.words[((used + step) % WORDS) as usize] = 0;
        }
        self.next = counter + 1;
    }
}

/// The word and the bit of a counter.
const fn place(counter: u64) -> (usize, u64) {
    (((counter / 64) % WORDS) as usize, 1 << (counter % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// The rule without the data structure: a counter is refused if it was accepted before or lies
    /// too far behind the highest.
    #[derive(Default)]
    struct Plain(BTreeSet<u64>);

    impl Plain {
        fn accept(&mut self, counter: u64) -> Result<(), ReplayError> {
            let next = self.0.last().map_or(0, |&highest| highest + 1);
            if counter == u64::MAX || u128::from(counter) + u128::from(WINDOW) < u128::from(next) {
                Err(ReplayError::TooOld)
            } else if self.0.insert(counter) {
                Ok(())
            } else {
                Err(ReplayError::Seen)
            }
        }
    }

    proptest! {
        #[test]
        fn agrees_with_a_plain_set(start in prop_oneof![Just(0), Just(u64::MAX - 20_000), any::<u64>()],
                                   steps in prop::collection::vec((-5000i64..5000, 0..3u8), 1..400)) {
            let (mut window, mut plain) = (ReplayWindow::new(), Plain::default());
            let mut counter = start;
            for (step, kind) in steps {
                let step = if kind == 0 { step } else { step % 70 };
                counter = counter.saturating_add_signed(step);
                prop_assert_eq!(window.accept(counter), plain.accept(counter));
                prop_assert_ne!(window.check(counter), Ok(()));
            }
        }
    }

    #[test]
    fn the_window_is_at_least_2048_wide() {
        const { assert!(WINDOW >= 2048) }
        let mut window = ReplayWindow::new();
        window.accept(10_000).unwrap();
        assert_eq!(window.accept(10_001 - WINDOW), Ok(()));
        assert_eq!(window.accept(10_000 - WINDOW), Err(ReplayError::TooOld));
        assert_eq!(window.accept(10_000), Err(ReplayError::Seen));
    }
}
