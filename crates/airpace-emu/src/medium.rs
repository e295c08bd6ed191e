//! A radio channel with the cells on it: one MAC, in which all radios contend for one medium.

use airpace_core::packet::Packet;
use airpace_core::phy::TxRate;
use airpace_sim::mac::{
    ConfigError, Direction, Input, Mac, MacConfig, Mpdu, Output, Quality, RadioId, ends,
};
use airpace_units::{StationId, Time};
use core::time::Duration;

/// The cells on one channel.
///
/// Every cell has the same radios: its access point, its stations and the receiver of
/// group-addressed frames. All of them hear each other. Outputs name the radios by their numbers
/// within their cell, as those of a MAC with a single cell do.
#[derive(Debug)]
pub(crate) struct Medium<P> {
    mac: Mac<P>,
    /// Radios of each cell.
    radios_per_cell: u32,
}

/// What a channel reports, and which of its cells it is about.
#[derive(Clone, Debug)]
pub(crate) struct CellOutput<P> {
    pub(crate) cell: usize,
    pub(crate) output: Output<P>,
}

impl<P: Packet + Clone> Medium<P> {
    /// Returns a channel of `cells` cells with the radios and links of `cell` each.
    pub(crate) fn new(cell: &MacConfig, cells: usize, seed: u64) -> Result<Self, ConfigError> {
        Ok(Self {
            mac: Mac::new(joined(cell, cells), seed)?,
            // A configuration with more than 65,535 radios has just been refused.
            radios_per_cell: RadioId::from_index(cell.radios.len()).0,
        })
    }

    /// Returns when [`Medium::advance`] must be called next; `None` without anything to do.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.mac.deadline()
    }

    /// Handles everything that is due by `now`. Drain [`Medium::poll`] afterwards.
    pub(crate) fn advance(&mut self, now: Time) {
        self.mac.handle(now, Input::Tick);
    }

    /// Gives a packet to the access point of a cell or to one of its stations. Drain
    /// [`Medium::poll`] afterwards.
    pub(crate) fn send(
        &mut self,
        now: Time,
        cell: usize,
        station: StationId,
        direction: Direction,
        packet: P,
    ) {
        let (from, to) = self.ends(cell, station, direction);
        self.mac.handle(now, Input::Send { from, to, packet });
    }

    /// Changes the probability that an MPDU between a station and the access point of a cell is
    /// lost, in both directions.
    pub(crate) fn set_loss(&mut self, now: Time, cell: usize, station: StationId, loss: f64) {
        for direction in [Direction::Down, Direction::Up] {
            let (from, to) = self.ends(cell, station, direction);
            let quality = Quality::Loss(loss);
            self.mac
                .handle(now, Input::SetQuality { from, to, quality });
        }
    }

    /// Changes the rate between a station and the access point of a cell, in both directions.
    pub(crate) fn set_rate(&mut self, now: Time, cell: usize, station: StationId, rate: TxRate) {
        for direction in [Direction::Down, Direction::Up] {
            let (from, to) = self.ends(cell, station, direction);
            self.mac.handle(now, Input::SetRate { from, to, rate });
        }
    }

    /// Returns what has happened next; `None` when everything has been reported.
    pub(crate) fn poll(&mut self) -> Option<CellOutput<P>> {
        let output = self.mac.poll()?;
        let radio = match &output {
            Output::Frame(frame) => frame.from.0,
            Output::Dropped { from, .. }
            | Output::Heard {
                mpdu: Mpdu { from, .. },
                ..
            }
            | Output::Delivered {
                mpdu: Mpdu { from, .. },
                ..
            } => from.0,
        };
        // A radio exchanges packets with radios of its own cell only.
        let cell = radio / self.radios_per_cell;
        let first = cell * self.radios_per_cell;
        Some(CellOutput {
            cell: cell as usize,
            output: within_cell(output, first),
        })
    }

    /// Returns how many packets of a cell wait for a station, or at the station for its access
    /// point.
    pub(crate) fn queued(&self, cell: usize, station: StationId, direction: Direction) -> usize {
        let (from, to) = self.ends(cell, station, direction);
        self.mac.queued(from, to)
    }

    /// Returns the most packets that have waited there since the last call.
    pub(crate) fn take_queue_peak(
        &mut self,
        cell: usize,
        station: StationId,
        direction: Direction,
    ) -> usize {
        let (from, to) = self.ends(cell, station, direction);
        self.mac.take_queue_peak(from, to)
    }

    /// Returns how long the access point of a cell has sent beacons.
    pub(crate) fn beacon_airtime(&self, cell: usize) -> Duration {
        self.mac.airtime(self.radio(cell, RadioId(0))).beacons
    }

    /// Returns sender and receiver of what goes to or from a station of a cell.
    fn ends(&self, cell: usize, station: StationId, direction: Direction) -> (RadioId, RadioId) {
        let (from, to) = ends(station, direction);
        (self.radio(cell, from), self.radio(cell, to))
    }

    /// Returns the radio that has this number in its cell.
    fn radio(&self, cell: usize, within: RadioId) -> RadioId {
        RadioId(RadioId::from_index(cell).0 * self.radios_per_cell + within.0)
    }
}

/// Returns the radios and links of `cells` cells that hear each other.
fn joined(cell: &MacConfig, cells: usize) -> MacConfig {
    let mut joined = MacConfig {
        radios: Vec::new(),
        links: Vec::new(),
        ..cell.clone()
    };
    for index in 0..cells {
        let first = RadioId::from_index(joined.radios.len()).0;
        for radio in &cell.radios {
            let mut radio = radio.clone();
            if let Some(beacon) = &mut radio.beacon {
                // Access points do not begin at the same time, so their beacons do not coincide.
                beacon.first += beacon.interval.mul_f64(index as f64 / cells as f64);
            }
            joined.radios.push(radio);
        }
        for link in &cell.links {
            let mut link = link.clone();
            link.from.0 += first;
            link.to.0 += first;
            joined.links.push(link);
        }
    }
    joined
}

/// Renumbers the radios of an output to their numbers within the cell whose first radio is `first`.
fn within_cell<P>(mut output: Output<P>, first: u32) -> Output<P> {
    let (from, to) = match &mut output {
        Output::Frame(frame) => (&mut frame.from, &mut frame.to),
        Output::Dropped { from, to, .. }
        | Output::Heard {
            mpdu: Mpdu { from, to, .. },
            ..
        }
        | Output::Delivered {
            mpdu: Mpdu { from, to, .. },
            ..
        } => (from, to),
    };
    from.0 -= first;
    to.0 -= first;
    output
}

#[cfg(test)]
mod tests;
