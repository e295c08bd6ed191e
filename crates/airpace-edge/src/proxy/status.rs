//! What a proxy tells about itself and its stations.

use super::{Counts, Mode, Proxy, ProxyConfig, RejectedReports, mode};
use airpace_core::control::{AirEstimate, Diagnostics};
use airpace_core::packet::Packet;
use airpace_core::report::{Allocation, SlotReport};

impl<P: Packet> Proxy<P> {
    /// The configuration.
    #[must_use]
    pub const fn config(&self) -> &ProxyConfig {
        &self.config
    }

    /// What was refused so far.
    #[must_use]
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The law's estimates of the medium at the last decision.
    #[must_use]
    pub const fn diagnostics(&self) -> &Diagnostics {
        self.estimates.diagnostics()
    }

    /// How a station is sent to; `None` if there is no such station.
    #[must_use]
    pub fn mode(&self, station: usize) -> Option<Mode> {
        self.stations.get(station).map(|station| station.mode)
    }

    /// The rate that a station is sent at now; `None` if everything passes, or if there is no such
    /// station.
    #[must_use]
    pub fn granted(&self, station: usize) -> Option<Allocation> {
        mode::granted(self.stations.get(station)?, &self.config)
    }

    /// The law's estimate of the air that a station uses; `None` if the law has none, or if there is
    /// no such station.
    #[must_use]
    pub fn air_estimate(&self, station: usize) -> Option<AirEstimate> {
        let id = self.stations.get(station)?.id;
        self.law.as_ref()?.station_estimate(id)
    }

    /// A station's last report; `None` before the first, or if there is no such station.
    #[must_use]
    pub fn last_report(&self, station: usize) -> Option<&SlotReport> {
        self.stations.get(station)?.last_report.as_ref()
    }

    /// A station's reports that were rejected since it came; none if there is no such station.
    #[must_use]
    pub fn rejected_reports(&self, station: usize) -> RejectedReports {
        let station = self.stations.get(station);
        station.map_or_else(RejectedReports::default, |station| station.rejected)
    }

    /// Number of packets queued for a station; zero if there is no such station.
    #[must_use]
    pub fn queued(&self, station: usize) -> usize {
        self.stations.get(station).map_or(0, |s| s.queue.len())
    }

    /// Number of packets queued for all stations.
    #[must_use]
    pub fn backlog(&self) -> usize {
        self.stations
            .iter()
            .map(|station| station.queue.len())
            .sum()
    }
}
