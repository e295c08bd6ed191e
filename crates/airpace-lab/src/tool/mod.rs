//! The built-in traffic tools: bulk TCP, ping, constant-rate UDP, responsiveness under load.
//!
//! Each tool is a blocking function that owns its sockets. It ends after its duration, or early
//! when its [`Stop`] is raised. It uses the network namespace that its thread is in when it opens
//! its sockets, so an experiment starts one thread per tool, moves it into the namespace and calls
//! the function.

pub mod bulk;
pub mod cbr;
pub mod ping;
pub mod responsiveness;
mod socket;

use serde::Serialize;
use std::time::Duration;

/// Width of the bins in which receivers count goodput.
pub const BIN: Duration = Duration::from_millis(100);

/// Bins of one day, the most that are kept.
const MAX_BINS: usize = 864_000;

/// How often a blocked tool checks its deadline and its [`Stop`].
const WAKE: Duration = Duration::from_millis(50);

pub use airpace_scenario::stop::Stop;

/// Bytes received in consecutive bins of length [`BIN`] from a start that the experiment chooses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Bins(Vec<u64>);

impl Bins {
    /// Counts `bytes` received at `at` after the start. Bytes after a day are not counted.
    pub fn add(&mut self, at: Duration, bytes: u64) {
        let index = (at.as_nanos() / BIN.as_nanos()) as usize;
        if index < MAX_BINS {
            if index >= self.0.len() {
                self.0.resize(index + 1, 0);
            }
            self.0[index] += bytes;
        }
    }

    /// Adds the bins of another receiver with the same start.
    pub fn merge(&mut self, other: &Self) {
        if other.0.len() > self.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine += theirs;
        }
    }

    /// Bytes per bin, from the start.
    #[must_use]
    pub fn bytes(&self) -> &[u64] {
        &self.0
    }

    /// Bytes in all bins.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Mean rate in Mbit/s over the whole bins within `from..to` after the start; zero if there are
    /// none.
    #[must_use]
    pub fn mbps(&self, from: Duration, to: Duration) -> f64 {
        let first = from.as_nanos().div_ceil(BIN.as_nanos()) as usize;
        let last = (to.as_nanos() / BIN.as_nanos()) as usize;
        if last <= first {
            return 0.0;
        }
        let bytes: u64 = self.0.iter().take(last).skip(first).sum();
        bytes as f64 * 8.0 / 1e6 / ((last - first) as f64 * BIN.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_of_a_window_counts_only_whole_bins() {
        let mut bins = Bins::default();
        for ms in (0..1_000).step_by(10) {
            bins.add(Duration::from_millis(ms), 12_500);
        }
        assert_eq!(bins.total(), 1_250_000);
        let rate = bins.mbps(Duration::from_millis(150), Duration::from_millis(950));
        assert!((rate - 10.0).abs() < 1e-9, "{rate}");
        assert_eq!(
            bins.mbps(Duration::from_secs(3), Duration::from_secs(2)),
            0.0
        );
    }

    #[test]
    fn an_idle_tail_lowers_the_rate() {
        let mut bins = Bins::default();
        bins.add(Duration::ZERO, 1_000_000);
        assert!((bins.mbps(Duration::ZERO, Duration::from_secs(8)) - 1.0).abs() < 1e-9);
    }
}
