//! The maximum over a sliding window.

/// Maximum of the last `length` rounds, from the three best candidates (Kathleen Nichols'
/// algorithm, Linux `lib/win_minmax.c`).
#[derive(Clone, Copy, Debug)]
pub(super) struct WindowedMax {
    length: u64,
    /// Round and value of the best, second and third candidate, each more recent than the one
    /// before.
    best: [(u64, f64); 3],
}

impl WindowedMax {
    pub(super) const fn new(length: u64) -> Self {
        Self {
            length,
            best: [(0, 0.0); 3],
        }
    }

    pub(super) fn get(&self) -> f64 {
        self.best[0].1
    }

    /// Takes the value of round `round`; rounds must not decrease.
    pub(super) fn update(&mut self, round: u64, value: f64) {
        let sample = (round, value);
        // A new maximum, or nothing left in the window: forget all earlier candidates.
        if value >= self.best[0].1 || round - self.best[2].0 > self.length {
            self.best = [sample; 3];
            return;
        }
        if value >= self.best[1].1 {
            (self.best[1], self.best[2]) = (sample, sample);
        } else if value >= self.best[2].1 {
            self.best[2] = sample;
        }
        self.age(sample);
    }

    /// Drops candidates that have left the window (`minmax_subwin_update`).
    fn age(&mut self, sample: (u64, f64)) {
        let age = sample.0 - self.best[0].0;
        if age > self.length {
            // The best has left the window: the others move up, and perhaps the second has left it
            // as well.
            self.best = [self.best[1], self.best[2], sample];
            if sample.0 - self.best[0].0 > self.length {
                self.best = [self.best[1], self.best[2], sample];
            }
        } else if self.best[1].0 == self.best[0].0 && age > self.length / 4 {
            // A quarter of the window without a second candidate: take one from the second quarter.
            (self.best[1], self.best[2]) = (sample, sample);
        } else if self.best[2].0 == self.best[1].0 && age > self.length / 2 {
            // Half of the window without a third candidate: take one from the second half.
            self.best[2] = sample;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_maximum_is_kept_for_its_window_and_no_longer() {
        let mut max = WindowedMax::new(10);
        max.update(0, 5.0);
        for round in 1..=10 {
            max.update(round, 1.0);
            assert_eq!(max.get(), 5.0);
        }
        max.update(11, 1.0);
        assert_eq!(max.get(), 1.0);
        max.update(12, 7.0);
        assert_eq!(max.get(), 7.0);
    }
}
