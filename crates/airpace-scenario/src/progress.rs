//! How far long work has come, told to whoever wants to show it.

/// Is told how far work has come, in the unit `Amount`: simulated time of a run, runs of a sweep.
///
/// Closures of `(done, total)` implement it. Calls are frequent (up to a thousand per run): what is shown, and how often, is
/// the observer's matter.
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
