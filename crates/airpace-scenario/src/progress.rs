//! Progress of long-running work.

/// Receives the progress of work in the unit `Amount`: simulated time of a run, runs of a sweep.
///
/// Closures of `(done, total)` implement it. Calls are frequent (up to a thousand per run); the
/// observer decides what to show and how often.
pub trait Progress<Amount> {
    /// `done` of `total` is done.
    fn update(&self, done: Amount, total: Amount);
}

impl<Amount, F: Fn(Amount, Amount)> Progress<Amount> for F {
    fn update(&self, done: Amount, total: Amount) {
        self(done, total);
    }
}

/// Shows nothing.
#[derive(Clone, Copy, Debug)]
pub struct Silent;

impl<Amount> Progress<Amount> for Silent {
    fn update(&self, _done: Amount, _total: Amount) {}
}
