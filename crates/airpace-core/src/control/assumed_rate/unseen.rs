//! Stations whose frames no sensor sees although packets are sent to them.

use super::super::roster::packet_airtime_s;
use super::super::sample::{DEFAULT_BYTES, Sample, Wait};
use super::means::FrameMeans;
use super::median::medians;
use super::remainder::Told;
use super::round::{self, Others, RoundPart, UnseenPart};
use super::waits::{self, IDLE_RISE, LONG_WAIT_S, WAITING_FALL, Waiting};
use super::{AssumeRates, Assumed, RANGE_BPS};
use airpace_units::{StationId, Time};
use core::time::Duration;

/// Median wait in seconds from which there is a queue at the access point, beside stations whose packets wait in the
/// box.
const QUEUE_S: f64 = 0.04;
/// Median wait in seconds below which its packets do not wait at the access point.
const NO_WAIT_S: f64 = 0.001;
/// Factor per slot of an assumed rate of which nothing tells that it is too high, beyond the rates of stations that
/// are seen: few are faster than all others, and those would pay for it.
const FASTEST_RISE: f64 = 1.02;
/// Largest rate assumed for a station whose frames no sensor sees, as a multiple of what was last known of
/// it. Unlike a rate that frames show, nothing would correct one that is too high, and those that are
/// seen would pay for it.
const UNSEEN_OVER_KNOWN: f64 = 1.25;
/// Factor per slot on that: the station may have come closer. In slots of 100 ms a tenfold rate is
/// allowed after 80 s.
const KNOWN_RISE: f64 = 1.003;
/// Largest rate assumed for one of which nothing is known, unless a station that is seen is faster: HE
/// MCS 11 at 160 MHz, two streams, as the fastest phones and laptops have.
const UNSEEN_MOST_BPS: f64 = 2.402e9;
/// Bits of a full packet on the air, with what surrounds it in an A-MPDU, over those of its IP packet.
const AIR_BITS_PER_IP_BIT: f64 = 1.03;
/// Frames of a station from which a slot tells its level and round without those before.
const FRAMES_ENOUGH: f64 = 5.0;
/// A station whose frames were seen within this time is one that is seen: where a round takes half a slot,
/// some slots have none of them.
const SEEN_WITHIN: Duration = Duration::from_secs(1);

impl Assumed {
    /// Whether waits change its assumed rate at once. A rate that frames have shown stays for as long as no frames are
    /// seen, unless the airtime of a bit is known.
    fn is_led_by_waits(&self, sample: &Sample) -> bool {
        self.observed.is_none() || sample.airtime_bps.is_some()
    }

    /// Largest rate to assume in a slot in which no sensor sees the station. `fastest_bps` is the rate of
    /// the fastest station that is seen.
    fn most_unseen_bps(&mut self, fastest_bps: Option<f64>) -> f64 {
        let Some(fastest_bps) = fastest_bps else {
            // No station is seen that could lose airtime to it.
            return RANGE_BPS.1;
        };
        let usual_bps = fastest_bps.max(UNSEEN_MOST_BPS);
        let most_bps = self.known_bps.as_mut().map_or(usual_bps, |known_bps| {
            *known_bps = (*known_bps * KNOWN_RISE).min(RANGE_BPS.1);
            usual_bps.min(UNSEEN_OVER_KNOWN * *known_bps)
        });
        most_bps.clamp(RANGE_BPS.0, RANGE_BPS.1)
    }
}

impl AssumeRates {
    /// Notes whether packets wait for a station whose frames are seen.
    pub(super) fn note_full_rounds(&mut self, now: Time) {
        let mut reports = self.reports.iter();
        if reports.any(|report| report.frames > 0 && report.sender.backlogged) {
            self.full_at = Some(now);
        }
    }

    /// Whether packets waited for a station whose frames are seen, so that rounds are full.
    fn is_full(&self, now: Time) -> bool {
        self.full_at
            .is_some_and(|at| now.saturating_since(at) < SEEN_WITHIN)
    }

    /// Whether waits of a station of which nothing else is known tell what to send it: those of all stations
    /// depend on what all are sent, so they do not tell how to divide the air, as full rounds do.
    fn heeds(&self, now: Time, wait: Wait) -> bool {
        !self.is_full(now) || wait.median_s > QUEUE_S && !self.remainder.is_unusual(now)
    }

    /// What is known of the frames of a station that has been seen a moment ago.
    fn remembered(&mut self, station: StationId, now: Time) -> Option<FrameMeans> {
        let assumed = self.assumed(station);
        let is_recent = assumed
            .seen_at
            .is_some_and(|at| now.saturating_since(at) < SEEN_WITHIN);
        assumed.observed.filter(|_| is_recent)
    }

    /// The slot of each station whose frames no sensor sees although packets are sent to it.
    fn unseen_samples(&mut self, now: Time) -> Vec<(usize, Sample)> {
        let mut samples = Vec::new();
        for idx in 0..self.reports.len() {
            let station = self.reports[idx].station;
            if let Some(mut sample) = Sample::read(&self.reports[idx])
                && sample.is_unseen()
                && self.remembered(station, now).is_none()
            {
                let is_new = self.assumed(station).observed.is_none();
                sample.wait = sample.wait.filter(|&wait| !is_new || self.heeds(now, wait));
                sample.airtime_bps = sample.airtime_bps.filter(|_| !is_uploader(&sample));
                samples.push((idx, sample));
            }
        }
        samples
    }

    /// What is sent to stations whose frames no sensor sees.
    pub(super) fn unseen(&mut self, now: Time) -> Vec<UnseenPart> {
        let is_full = self.is_full(now);
        let mut unseen = Vec::new();
        for (idx, sample) in self.unseen_samples(now) {
            let station = self.reports[idx].station;
            let is_budgeted = self.budgeted_bps(station).is_some();
            unseen.push(UnseenPart {
                may_dip: !is_budgeted && waits_unseen(&sample, is_full) && !is_uploader(&sample),
                is_told: is_budgeted || is_told(&sample, is_full),
                ..self.told_part(station, &sample)
            });
        }
        unseen
    }

    /// What is sent to stations of which no frame was seen in this slot, but was a moment ago. Their frames hold fewer packets than a
    /// client must answer, or come in rounds as long as the slot.
    pub(super) fn pausing(&mut self, now: Time) -> Vec<UnseenPart> {
        let mut pausing = Vec::new();
        for idx in 0..self.reports.len() {
            let station = self.reports[idx].station;
            if let Some(sample) = Sample::read(&self.reports[idx])
                && sample.is_unseen()
                && self.remembered(station, now).is_some()
            {
                pausing.push(self.told_part(station, &sample));
            }
        }
        pausing
    }

    /// What is sent to a station whose airtime per packet is the assumed one, so that nothing asks for it.
    fn told_part(&mut self, station: StationId, sample: &Sample) -> UnseenPart {
        let packet_bytes = sample.packet_bytes.unwrap_or(DEFAULT_BYTES);
        UnseenPart {
            station,
            may_dip: false,
            is_uploader: is_uploader(sample),
            is_told: true,
            weight: self.remainder.weight(station),
            pps: sample.sent_pps.unwrap_or(0.0),
            packet_s: packet_airtime_s(packet_bytes, self.assumed(station).bps),
            bits: sample.packet_bits(),
            uplink_per_s: sample.uplink_frames_per_s,
        }
    }

    /// Airtime per packet to the stations whose frames no sensor sees, if the round tells it. `parts` are
    /// the others by means over the last frames, `alone` the same by the frames of the slot.
    pub(super) fn remaining(
        &mut self,
        now: Time,
        parts: &[RoundPart],
        mut alone: Vec<RoundPart>,
        others: &Others<'_>,
    ) -> Option<Told> {
        for (alone, part) in alone.iter_mut().zip(parts) {
            alone.frame.transit = part.frame.transit;
            if alone.sample.frames < FRAMES_ENOUGH {
                alone.frame = part.frame;
            }
        }
        let mut means = parts.to_vec();
        for idx in 0..self.reports.len() {
            let station = self.reports[idx].station;
            if let Some(sample) = Sample::read(&self.reports[idx])
                && sample.sent_pps.is_some()
                && parts.iter().all(|part| part.station != station)
                && let Some(frame) = self.remembered(station, now)
            {
                let part = RoundPart {
                    station,
                    sample,
                    frame,
                };
                means.push(part);
                alone.push(part);
            }
        }
        let usual_bit_s = self.usual_bit_s(&means)?;
        let asked: Vec<UnseenPart> = others
            .unseen
            .iter()
            .copied()
            .filter(|part| !part.is_told)
            .collect();
        let (overhead_s, common_s) = (self.overhead_s, self.common_s);
        let of = |parts: &[RoundPart]| {
            round::remainder(parts, others, overhead_s, common_s, usual_bit_s)
        };
        let (Some(slot), Some(alone)) = (of(&means), of(&alone)) else {
            return if round::is_seen_idle(&alone) {
                self.remainder.add_idle(now, &asked)
            } else {
                None
            };
        };
        self.remainder.add(now, slot, &alone, &asked)
    }

    /// The median airtime per bit, known or assumed, seconds; of two in the middle, their geometric mean.
    fn usual_bit_s(&mut self, parts: &[RoundPart]) -> Option<f64> {
        let bit_s = |part: &RoundPart| {
            let assumed_bps = self.assumed(part.station).bps;
            1.0 / part.sample.phy_bps.unwrap_or(assumed_bps)
        };
        let (lower_s, upper_s) = medians(parts.iter().map(bit_s))?;
        Some((lower_s * upper_s).sqrt())
    }

    /// The rate of the fastest station whose frames are seen, known or assumed; `None` without one.
    fn fastest_bps(&mut self) -> Option<f64> {
        let mut fastest_bps = None;
        for idx in 0..self.reports.len() {
            let report = &self.reports[idx];
            if report.frames > 0 {
                let (known_bps, station) = (report.phy_rate_bps(), report.station);
                let bps = known_bps.unwrap_or_else(|| self.assumed(station).bps);
                fastest_bps = Some(bps.max(fastest_bps.unwrap_or(0.0)));
            }
        }
        fastest_bps
    }

    /// Updates the assumed rates of stations whose frames no sensor sees although packets are sent to
    /// them: upwards while these do not wait, downwards while they do. Where nothing answers, so that
    /// waits are not known either, they get what the other stations leave of the round, `told`.
    pub(super) fn adjust_unseen(&mut self, now: Time, told: Option<Told>) {
        let fastest_bps = self.fastest_bps();
        let (is_dip, is_full) = (self.remainder.is_dip(now), self.is_full(now));
        for idx in 0..self.reports.len() {
            let station = self.reports[idx].station;
            if Sample::read(&self.reports[idx]).is_some_and(|sample| sample.is_unseen()) {
                self.reports[idx].recent_inverse_rate = 1.0 / self.assumed(station).bps;
            }
        }
        for (_, assumed) in &mut self.assumed {
            assumed.is_dipped = false;
        }
        let mut samples = self.unseen_samples(now);
        samples.retain(|(idx, _)| {
            let station = self.reports[*idx].station;
            let Some(bps) = self.budgeted_bps(station) else {
                return true;
            };
            self.assumed(station).bps = bps;
            self.reports[*idx].recent_inverse_rate = 1.0 / bps;
            false
        });
        let has_waits = self.adjust_by_waits(now, &samples);
        for (idx, sample) in samples {
            let station = self.reports[idx].station;
            let weight = self.remainder.weight(station);
            let assumed = self.assumed(station);
            assumed.is_dipped = waits_unseen(&sample, is_full);
            let is_new = assumed.observed.is_none();
            // What an uploader is sent are acknowledgements, which take next to nothing themselves.
            let told = told.filter(|_| !is_uploader(&sample));
            let packet_bytes = sample.packet_bytes.unwrap_or(DEFAULT_BYTES);
            let bps = match (sample.airtime_bps, sample.wait, told) {
                (Some(airtime_bps), wait, _) if is_full => {
                    let told_bps = AIR_BITS_PER_IP_BIT * airtime_bps;
                    assumed.used.adjusted(assumed.bps, told_bps, wait)
                }
                // `adjust_by_waits` has adjusted these together.
                (Some(_), ..) => assumed.bps,
                (_, Some(_), _) if is_new => assumed.bps,
                (_, Some(wait), _) if wait.median_s > LONG_WAIT_S => assumed.bps * WAITING_FALL,
                // A rate that frames have shown holds while they are not seen for a while, unless their packets
                // wait here and not at the access point: at a rate that is too low frames hold one packet, and
                // nothing tells that.
                (_, Some(wait), _) if sample.has_waited() && wait.median_s < NO_WAIT_S => {
                    assumed.bps * IDLE_RISE
                }
                (_, Some(_), _) => assumed.bps,
                (_, None, Some(told)) => {
                    let packet_s = packet_airtime_s(packet_bytes, assumed.bps);
                    let packet_s = packet_s + told.gain * (weight * told.packet_s - packet_s);
                    let packet_s = packet_s.max(packet_airtime_s(packet_bytes, RANGE_BPS.1));
                    packet_airtime_s(packet_bytes, 1.0) / packet_s
                }
                // Nothing is known: the access point's own queue is no worse than an arbitrary rate.
                (_, None, None) if sample.has_waited() && is_new && !is_dip && !has_waits => {
                    let is_fastest = fastest_bps.is_some_and(|bps| assumed.bps >= bps);
                    assumed.bps * if is_fastest { FASTEST_RISE } else { IDLE_RISE }
                }
                (_, None, None) => assumed.bps,
            };
            let bps = sample
                .upload_bps
                .filter(|_| is_uploader(&sample))
                .unwrap_or(bps);
            let most_bps = assumed.most_unseen_bps(fastest_bps);
            let bps = bps.clamp(RANGE_BPS.0, most_bps);
            assumed.bps = bps;
            self.reports[idx].recent_inverse_rate = 1.0 / bps;
        }
    }

    /// Updates the assumed rates of stations of which no more is known than how long packets wait, their own or
    /// those of other such stations, and the airtime of a bit. Returns whether any wait is known.
    fn adjust_by_waits(&mut self, now: Time, samples: &[(usize, Sample)]) -> bool {
        let is_full = self.is_full(now);
        let (mut stations, mut slot, mut is_known) = (Vec::new(), Vec::new(), false);
        for (idx, sample) in samples {
            let station = self.reports[*idx].station;
            let assumed = self.assumed(station);
            let is_adjusted_alone = is_told(sample, is_full) || !assumed.is_led_by_waits(sample);
            if is_adjusted_alone || is_uploader(sample) {
                continue;
            }
            let median_s = sample.wait.map(|wait| wait.median_s);
            let median_s = assumed.waits.take(now, median_s);
            is_known |= assumed.waits.is_known(now);
            stations.push(station);
            slot.push(Waiting {
                waits: assumed.waits,
                median_s,
                is_backlogged: sample.has_waited(),
                sent: sample.sent_pps.unwrap_or(0.0) * sample.packet_bytes.unwrap_or(DEFAULT_BYTES),
                bps: assumed.bps,
                told_bps: sample.airtime_bps.map(|bps| AIR_BITS_PER_IP_BIT * bps),
            });
        }
        waits::adjust(&mut slot);
        for (station, adjusted) in stations.into_iter().zip(slot) {
            let assumed = self.assumed(station);
            (assumed.waits, assumed.bps) = (adjusted.waits, adjusted.bps);
        }
        is_known
    }

    /// Lowers the rates of stations of which nothing but the remainder tells while a dip lasts.
    pub(super) fn dip(&mut self, now: Time) {
        for allocation in &mut self.allocations {
            let station = allocation.station;
            let found = self.assumed.binary_search_by_key(&station, |known| known.0);
            if found.is_ok_and(|idx| self.assumed[idx].1.is_dipped) {
                let rate_part = self.remainder.rate_part(now, station);
                allocation.rate_pps *= rate_part;
                allocation.rate_bytes_per_s *= rate_part;
            }
        }
    }
}

/// Whether packets to a station wait for the pacer, and neither how long they wait at the access point nor how long
/// they take is known.
fn waits_unseen(sample: &Sample, is_full: bool) -> bool {
    sample.backlogged && sample.wait.is_none() && !is_told(sample, is_full)
}

/// Whether a station is charged by the airtime of a bit. Where rounds are not full, that only tells how its rate
/// compares with the others'.
fn is_told(sample: &Sample, is_full: bool) -> bool {
    is_full && sample.airtime_bps.is_some()
}

/// Whether a station sends more than it is sent.
fn is_uploader(sample: &Sample) -> bool {
    let sent_bytes_per_s = sample.sent_pps.unwrap_or(0.0) * sample.packet_bytes.unwrap_or(0.0);
    sample.upload_bytes_per_s > sent_bytes_per_s
}
