use airpace_core::phy::TxRate;
use airpace_sim::mac::{Input, Neighbours};
use airpace_units::StationId;

/// A change to a running cell.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Control {
    /// A station's rate changes, both ways.
    SetRate {
        /// Whose.
        station: StationId,
        /// The new rate.
        rate: TxRate,
    },
    /// A station's MPDU loss probability changes, both ways. Clamped to [0, 1].
    SetLoss {
        /// Whose.
        station: StationId,
        /// Per MPDU.
        probability: f64,
    },
    /// Other networks come, change or go.
    SetNeighbours(Neighbours),
}

impl Control {
    pub(crate) fn inputs<P>(self) -> impl Iterator<Item = Input<P>> {
        let (both_ways, once) = match self {
            Self::SetRate { station, rate } => (Some(Input::station_rate(station, rate)), None),
            Self::SetLoss {
                station,
                probability,
            } => (Some(Input::station_loss(station, probability)), None),
            Self::SetNeighbours(neighbours) => (None, Some(Input::SetNeighbours(neighbours))),
        };
        both_ways.into_iter().flatten().chain(once)
    }
}
