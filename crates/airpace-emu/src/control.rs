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
    pub(crate) fn input<P>(self) -> Input<P> {
        match self {
            Self::SetRate { station, rate } => Input::SetRate { station, rate },
            Self::SetLoss { station, probability } => Input::SetLoss { station, probability },
            Self::SetNeighbours(neighbours) => Input::SetNeighbours(neighbours),
        }
    }
}
