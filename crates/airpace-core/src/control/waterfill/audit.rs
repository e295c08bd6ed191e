//! Holds a station's PHY rate against the rounds that all stations measure.
//!
//! What remains of a round beyond the packets by their PHY rates is overhead. A PHY rate that is too
//! high therefore shows as overhead, but not whose it is. So a rate that nothing has borne out yet is
//! approached step by step, and by how much the overhead would rise if it were false is known. If the
//! overhead rises by that, the station is paced as before for a while; if it does not, the rate is
//! borne out. `docs/design/waterfill.md` has the reasons and the limits.

mod credit;

use super::overhead::uplink_share;
use super::station::StationEstimate;
pub(super) use credit::Credit;

/// Fewest stations of a cell in which a claim can be held against the rounds of others ...
const STATIONS_LEAST: usize = 3;
/// ... and fewest that measure rounds: the suspect may tell of none.
const WITNESSES_LEAST: usize = 2;
/// Slots with the same stations before the overhead counts as the normal one.
const LEARNING_SLOTS: u8 = 10;
/// Weight of a slot in the mean of the overhead.
const MEAN_GAIN: f64 = 0.5;
/// An overhead above the reference by this share has changed.
const RISEN: f64 = 0.35;
/// Weight of a slot in the usual deviation.
const DEVIATION_GAIN: f64 = 0.05;
/// Least reference as a share of the configured overhead per frame. A liar from the start could lower
/// it, and make honest stations suspects.
const REFERENCE_LEAST: f64 = 0.9;
/// Weight of a slot in the reference: of an overhead near it, and of a risen one that no claim explains.
const REFERENCE_GAINS: [f64; 2] = [0.02, 0.1];
/// Slots after a claim was refuted in which the overhead may still be due to it.
const DRAINING_SLOTS: u8 = 10;
/// Slots after the rate of one station has fallen in which the overhead tells nothing of the others.
const BLIND_SLOTS: u8 = 3;

/// The overhead per frame as it should be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Audit {
    /// Least overhead per frame that counts as normal, seconds.
    least_s: f64,
    /// Normal overhead per frame, seconds; `None` until it was learnt.
    reference_s: Option<f64>,
    /// Mean overhead per frame of the last slots, seconds.
    mean_s: Option<f64>,
    /// Usual deviation of the mean from the reference, as a share of it.
    deviation: f64,
    learning_slots: u8,
    draining_slots: u8,
    /// The station whose rate has fallen, and for how many slots that shows.
    fallen: Option<(usize, u8)>,
}

impl Audit {
    /// An audit of a cell whose frames have an overhead of about `overhead_s` each.
    pub(super) fn new(overhead_s: f64) -> Self {
        Self {
            least_s: REFERENCE_LEAST * overhead_s,
            reference_s: None,
            mean_s: None,
            deviation: 0.0,
            learning_slots: 0,
            draining_slots: 0,
            fallen: None,
        }
    }

    /// Takes notice that stations have come or gone.
    pub(super) fn on_change(&mut self) {
        self.learning_slots = 0;
        self.fallen = None;
    }

    /// Takes a slot.
    pub(super) fn observe(&mut self, stations: &mut [StationEstimate]) {
        // The overhead contains the errors of assumed rates, which vary more than lies do.
        let is_assumed = stations.iter().any(|station| station.rate_assumed);
        if stations.len() < STATIONS_LEAST || is_assumed {
            self.learning_slots = 0;
            for station in stations {
                station.credit.trust();
            }
            return;
        }
        let Some((round_s, measured_s)) = measure(stations) else {
            for station in stations {
                station.credit.allow();
            }
            return;
        };
        let before_s = self.mean_s.unwrap_or(measured_s);
        let overhead_s = before_s + MEAN_GAIN * (measured_s - before_s);
        self.mean_s = Some(overhead_s);
        let Some(reference_s) = self.reference_s else {
            self.learning_slots += 1;
            if self.learning_slots >= LEARNING_SLOTS {
                self.reference_s = Some(overhead_s.max(self.least_s));
            }
            for station in stations {
                station.credit.hold();
            }
            return;
        };
        let risen = measured_s / reference_s - 1.0;
        self.note_fallen(stations);
        let refused = self.weigh(stations, risen, reference_s, round_s);
        self.draining_slots = if refused > 0 {
            DRAINING_SLOTS
        } else {
            self.draining_slots.saturating_sub(1)
        };
        let is_open = stations.iter().any(|station| station.credit.is_open());
        if !is_open && self.draining_slots == 0 {
            let gain = REFERENCE_GAINS[usize::from(risen.abs() > RISEN)];
            let followed_s = reference_s + gain * (overhead_s - reference_s);
            self.reference_s = Some(followed_s.max(self.least_s));
            let deviation = risen.abs().min(RISEN);
            self.deviation += DEVIATION_GAIN * (deviation - self.deviation);
        }
    }

    /// Notes whose rate has fallen: packets that were granted by the faster one still wait, and show as
    /// overhead.
    fn note_fallen(&mut self, stations: &[StationEstimate]) {
        self.fallen = match stations.iter().position(|s| s.credit.has_fallen()) {
            Some(station) => Some((station, BLIND_SLOTS)),
            None => self
                .fallen
                .and_then(|(station, slots)| (slots > 1).then(|| (station, slots - 1))),
        };
    }

    /// Holds claims against an overhead that has risen by the share `risen`, and refuses those that it
    /// refutes. Returns how many.
    fn weigh(
        &self,
        stations: &mut [StationEstimate],
        risen: f64,
        reference_s: f64,
        round_s: f64,
    ) -> u16 {
        // Share of the normal overhead per frame that a second per round is.
        let per_second = 1.0 / (frames(stations, round_s) * reference_s);
        let mut refused = 0;
        for (idx, station) in stations.iter_mut().enumerate() {
            let bits = 8.0 * station.packet_bytes * station.sent_pps * round_s;
            let explained = bits * station.credit.doubtful_s() * per_second;
            if self.fallen.is_some_and(|(fallen, _)| fallen != idx) {
                let credit = &mut station.credit;
                credit.weigh_blindly(risen, explained, self.deviation);
                continue;
            }
            if station.credit.weigh(risen, explained, self.deviation) {
                // Where there are several, they are tried again one after another.
                refused += 1;
                station.refuse_rate(refused);
            }
        }
        refused
    }
}

/// The median round and the overhead per frame in seconds, by what was sent: nobody makes it larger by
/// concealing what he has received. `None` if too few stations measure rounds.
fn measure(stations: &[StationEstimate]) -> Option<(f64, f64)> {
    let witnesses = stations.iter().filter_map(StationEstimate::paced_witness);
    let mut gaps: Vec<f64> = witnesses.map(|heard| heard.gap_s).collect();
    if gaps.len() < WITNESSES_LEAST {
        return None;
    }
    gaps.sort_by(f64::total_cmp);
    let round_s = gaps[(gaps.len() - 1) / 2];
    let payload: f64 = stations.iter().map(|s| s.airtime_s() * s.sent_pps).sum();
    let open = (1.0 - payload - uplink_share(stations)).max(0.0);
    let frames = frames(stations, round_s);
    (frames > 0.0).then(|| (round_s, round_s * open / frames))
}

/// Frames in a round of `round_s`, by what was sent.
fn frames(stations: &[StationEstimate], round_s: f64) -> f64 {
    stations
        .iter()
        .map(|s| (s.sent_pps * round_s).min(1.0))
        .sum()
}
