//! Stations of which something was noticed lately.

use airpace_units::{StationId, Time};
use core::time::Duration;

/// The stations, and when it was noticed of each for the last time.
#[derive(Clone, Debug, Default)]
pub(super) struct Recent(Vec<(StationId, Time)>);

impl Recent {
    /// It is noticed of the station `now`.
    pub(super) fn note(&mut self, now: Time, station: StationId) {
        self.remove(station);
        self.0.push((station, now));
    }

    pub(super) fn remove(&mut self, station: StationId) {
        self.0.retain(|known| known.0 != station);
    }

    /// Forgets the stations of which it was not noticed within this time.
    pub(super) fn forget(&mut self, now: Time, within: Duration) {
        self.0
            .retain(|known| now.saturating_since(known.1) < within);
    }

    pub(super) fn has(&self, station: StationId) -> bool {
        self.0.iter().any(|known| known.0 == station)
    }

    pub(super) const fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
