//! The stations that a law knows, sorted by identifier, and the rates that it grants them.

use super::sample::Sample;
use super::stream::StreamConfig;
use crate::report::{Allocation, SlotReport};
use airpace_units::StationId;
use core::time::Duration;

/// State per station, sorted by station, with the allocations beside it.
#[derive(Clone, Debug)]
pub(super) struct Roster<S> {
    ids: Vec<StationId>,
    states: Vec<S>,
    allocations: Vec<Allocation>,
    /// Reports that contradicted themselves.
    pub(super) ignored: u64,
}

impl<S> Roster<S> {
    /// A roster without stations.
    pub(super) fn new() -> Self {
        Self {
            ids: Vec::new(),
            states: Vec::new(),
            allocations: Vec::new(),
            ignored: 0,
        }
    }

    /// Passes each consistent report to `observe` with its station's state; `join` creates the
    /// state at the first report.
    pub(super) fn absorb(
        &mut self,
        reports: &[SlotReport],
        mut join: impl FnMut() -> S,
        mut observe: impl FnMut(&mut S, &Sample),
    ) {
        for report in reports {
            let Some(sample) = Sample::read(report) else {
                self.ignored = self.ignored.saturating_add(1);
                continue;
            };
            let idx = self
                .ids
                .binary_search(&report.station)
                .unwrap_or_else(|idx| {
                    self.ids.insert(idx, report.station);
                    self.states.insert(idx, join());
                    idx
                });
            observe(&mut self.states[idx], &sample);
        }
    }

    /// Forgets a station.
    pub(super) fn remove(&mut self, station: StationId) {
        if let Ok(idx) = self.ids.binary_search(&station) {
            self.ids.remove(idx);
            self.states.remove(idx);
        }
    }

    /// The stations, in ascending order.
    pub(super) fn ids(&self) -> &[StationId] {
        &self.ids
    }

    /// The states, in the order of [`Roster::ids`].
    pub(super) fn states(&self) -> &[S] {
        &self.states
    }

    /// The state of one station, if it is known.
    pub(super) fn state(&self, station: StationId) -> Option<&S> {
        let idx = self.ids.binary_search(&station).ok()?;
        Some(&self.states[idx])
    }

    /// The state of one station, mutable, if it is known.
    pub(super) fn state_mut(&mut self, station: StationId) -> Option<&mut S> {
        let idx = self.ids.binary_search(&station).ok()?;
        Some(&mut self.states[idx])
    }

    /// The states, mutable, in the order of [`Roster::ids`].
    pub(super) fn states_mut(&mut self) -> &mut [S] {
        &mut self.states
    }

    /// Returns one allocation per station, as `grant` decides.
    pub(super) fn allocate(&mut self, mut grant: impl FnMut(&S) -> Grant) -> &[Allocation] {
        self.allocations.clear();
        self.allocations
            .extend(self.ids.iter().zip(&self.states).map(|(&station, state)| {
                let Grant {
                    rate_pps,
                    packet_bytes,
                    level,
                    pause,
                } = grant(state);
                Allocation {
                    pause,
                    ..Allocation::new(station, rate_pps, packet_bytes, level)
                }
            }));
        &self.allocations
    }
}

/// One station's grant.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Grant {
    /// Packets per second.
    pub(super) rate_pps: f64,
    /// Bytes per packet.
    pub(super) packet_bytes: f64,
    /// Target level, packets per frame.
    pub(super) level: f64,
    /// Time for which nothing is sent first.
    pub(super) pause: Duration,
}

/// What the published laws keep of a station's reports.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Observed {
    /// Level of this slot; `None` if the station did not report in it.
    pub(super) level: Option<f64>,
    /// Last known PHY rate in bit/s.
    pub(super) phy_bps: f64,
}

impl Observed {
    /// A station without reports, at the assumed PHY rate.
    pub(super) fn nothing(stream: &StreamConfig) -> Self {
        Self {
            level: None,
            phy_bps: stream.assumed_phy_bps,
        }
    }

    /// Takes a sample. A slot without frames counts as level 1, the smallest level that a frame can
    /// have.
    pub(super) fn observe(&mut self, sample: &Sample) {
        self.level = Some(sample.level.unwrap_or(1.0));
        self.phy_bps = sample.phy_bps.unwrap_or(self.phy_bps);
    }

    /// Airtime of one packet in seconds at the last known PHY rate (w).
    pub(super) fn packet_airtime_s(&self, stream: &StreamConfig) -> f64 {
        packet_airtime_s(f64::from(stream.packet_bytes), self.phy_bps)
    }
}

/// Bytes that the MAC adds to a packet: LLC/SNAP 8, QoS data header 26, FCS 4, A-MPDU delimiter 4
/// (IEEE 802.11-2020, 9.2.4, 9.7.1).
const MPDU_OVERHEAD_BYTES: f64 = 42.0;

/// Airtime in seconds of one packet of `ip_bytes` inside an A-MPDU at `phy_bps`, including padding
/// to four bytes (w).
pub(super) fn packet_airtime_s(ip_bytes: f64, phy_bps: f64) -> f64 {
    8.0 * ((ip_bytes + MPDU_OVERHEAD_BYTES) / 4.0).ceil() * 4.0 / phy_bps
}
