//! The stations a law knows, in the order of their identifiers, and the rates it grants them.

use super::sample::Sample;
use super::stream::StreamConfig;
use crate::report::{Allocation, SlotReport};
use airpace_units::StationId;

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
    /// A roster of nobody.
    pub(super) fn new() -> Self {
        Self {
            ids: Vec::new(),
            states: Vec::new(),
            allocations: Vec::new(),
            ignored: 0,
        }
    }

    /// Hands each credible report to its station, which `join` makes at its first report.
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

    /// The stations, in the order of their numbers.
    pub(super) fn ids(&self) -> &[StationId] {
        &self.ids
    }

    /// The states, in the order of stations.
    pub(super) fn states(&self) -> &[S] {
        &self.states
    }

    /// The states, to be changed.
    pub(super) fn states_mut(&mut self) -> &mut [S] {
        &mut self.states
    }

    /// Writes one allocation per station: rate in packets/s, bytes per packet and the level aimed at.
    pub(super) fn allocate(&mut self, mut grant: impl FnMut(&S) -> Grant) -> &[Allocation] {
        self.allocations.clear();
        self.allocations
            .extend(self.ids.iter().zip(&self.states).map(|(&station, state)| {
                let Grant {
                    rate_pps,
                    packet_bytes,
                    level,
                } = grant(state);
                Allocation {
                    station,
                    rate_pps,
                    rate_bytes_per_s: rate_pps * packet_bytes,
                    level,
                }
            }));
        &self.allocations
    }
}

/// What one station is granted.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Grant {
    /// Packets per second.
    pub(super) rate_pps: f64,
    /// Bytes per packet.
    pub(super) packet_bytes: f64,
    /// The level aimed at.
    pub(super) level: f64,
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
    /// A station of which nothing is known.
    pub(super) fn nothing(stream: &StreamConfig) -> Self {
        Self {
            level: None,
            phy_bps: stream.assumed_phy_bps,
        }
    }

    /// Takes a sample. A slot without any frame counts as level 1, the least that a frame can have.
    pub(super) fn observe(&mut self, sample: &Sample) {
        self.level = Some(sample.level.unwrap_or(1.0));
        self.phy_bps = sample.phy_bps.unwrap_or(self.phy_bps);
    }

    /// Airtime of one packet in seconds at the last known PHY rate (w).
    pub(super) fn packet_airtime_s(&self, stream: &StreamConfig) -> f64 {
        packet_airtime_s(f64::from(stream.packet_bytes), self.phy_bps)
    }
}

/// Bytes that a packet gains on the air: LLC/SNAP 8, QoS-data header 26, FCS 4, A-MPDU delimiter 4 (IEEE 802.11-2020, 9.2.4, 9.7.1).
const MPDU_OVERHEAD_BYTES: f64 = 42.0;

/// Airtime in seconds of one packet of `ip_bytes` inside an A-MPDU at `phy_bps`, padding to four bytes included (w).
pub(super) fn packet_airtime_s(ip_bytes: f64, phy_bps: f64) -> f64 {
    8.0 * ((ip_bytes + MPDU_OVERHEAD_BYTES) / 4.0).ceil() * 4.0 / phy_bps
}
