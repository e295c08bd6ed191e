//! What a slot tells of stations whose frames no sensor sees.

use super::remainder::SlotRemainder;
use super::round::UnseenPart;
use airpace_units::StationId;

/// What a slot tells.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    /// The round, seconds, and frames of the access point in it.
    pub(super) round_s: f64,
    pub(super) frames: f64,
    /// Usual airtime of a packet in the cell, seconds.
    pub(super) usual_packet_s: f64,
    /// What the stations that are seen and other networks leave, as a share of the time.
    pub(super) left: f64,
    /// Packets per second that frames take.
    pub(super) pps: Vec<(StationId, f64)>,
    /// Packets per second that were sent.
    pub(super) sent_pps: Vec<(StationId, f64)>,
}

impl Slot {
    /// A slot whose round leaves `left_s` to the stations in `unseen`.
    pub(super) fn new(left_s: f64, round: &SlotRemainder, unseen: &[UnseenPart]) -> Self {
        let round_s = round.round_s;
        let pps = |part: &UnseenPart| (part.station, part.taken(round_s) / round_s);
        Self {
            round_s,
            frames: round.frames,
            usual_packet_s: round.usual_packet_s,
            left: left_s / round_s,
            pps: unseen.iter().map(pps).collect(),
            sent_pps: unseen.iter().map(|part| (part.station, part.pps)).collect(),
        }
    }

    /// Packets per second that were sent to the station.
    pub(super) fn sent_pps_of(&self, station: StationId) -> f64 {
        let of = self.sent_pps.iter().find(|sent| sent.0 == station);
        of.map_or(0.0, |sent| sent.1)
    }

    pub(super) fn pps_of(&self, station: StationId) -> f64 {
        let of = self.pps.iter().find(|sent| sent.0 == station);
        of.map_or(0.0, |sent| sent.1)
    }
}

/// Mean of what slots leave, and its standard deviation from slot to slot, as shares of the time.
pub(super) fn mean_and_deviation<'a>(
    slots: impl ExactSizeIterator<Item = &'a Slot> + Clone,
) -> (f64, f64) {
    let usual = mean(slots.clone().map(|slot| slot.left));
    let variance = mean(slots.map(|slot| (slot.left - usual).powi(2)));
    (usual, variance.sqrt())
}

pub(super) fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1) as f64;
    values.sum::<f64>() / count
}
