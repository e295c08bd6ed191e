//! Runs a law that needs PHY rates with stations whose PHY rates nobody reports.
//!
//! Reports without a PHY rate do not separate the overhead of a round `D = c + Σ w μ` from its
//! payload, so one of the two must be assumed. [`AssumeRates`] assumes the overhead per frame `T`:
//! the payload of a round is what remains, `P = D − nT`. How it divides among the stations follows
//! from their frames' transits where a box has seen them, and otherwise from the packets alone, as
//! if all stations had one rate. `docs/design/assumed-rates.md` has the method and its limits.
//!
//! The resulting rates are right at the measured level, so a law reaches the level that it aims at
//! even if `T` is wrong: for one station, a change of the rate returns multiplied by `1 − T/c`,
//! which is stable for `T < 2c`. A slow station may be given a target that the longest frame
//! duration cannot hold, which only its losses show.

mod airtimes;
mod alike;
mod asked;
mod beside;
mod budget;
mod candidates;
mod clients;
mod dip;
mod doze;
mod foreign;
mod hidden;
mod intercept;
mod introduction;
mod load;
mod means;
mod median;
mod recent;
mod remainder;
mod round;
mod sent;
mod slot;
mod solo;
mod steady;
mod swing;
#[cfg(test)]
mod tests;
mod transits;
mod unseen;
mod waits;
mod witness;

use super::sample::Sample;
use super::{AirEstimate, BacklogChange, Diagnostics, LawConfig, RateController};
use crate::report::{Allocation, OtherNetworks, SlotReport};
use airpace_units::{StationId, Time};
use airtimes::UsedPart;
use beside::{beside_known, drawn_to_known};
use core::time::Duration;
use doze::Doze;
use foreign::Foreign;
use hidden::Hidden;
use intercept::{Line, intercept};
use means::FrameMeans;
use remainder::{Remainder, Told};
use round::{Division, Others, RoundPart, UnseenPart};
use steady::{Observed, Ratio, steady};
use transits::Transits;
use waits::Waits;

/// Factor by which the rate of an agent's station rises per slot while its frames carry one packet
/// each although more wait.
const UNAGGREGATED_RISE: f64 = 2.0;
/// Least factor per slot of the assumed rate of a station that could take more, while the channel is
/// idle at times. Answers that are late for reasons of their own, such as a busy host, would
/// otherwise keep a rate that is too low.
const SPARE_RISE: f64 = 1.25;
/// Least share of the time that packets must take by the assumed rates for that. Less of it means
/// that something else holds the packets back.
const SPARE_LOAD: f64 = 0.5;
/// Weight of a slot in what transits have in common.
const COMMON_GAIN: f64 = 0.2;
/// Bytes per second from stations, acknowledgements left out, from which uploads take a share of the
/// air that counts: 1 Mbit/s, a sixth of the lowest rate.
const UPLOAD_BYTES_PER_S: f64 = 125_000.0;
/// Answers per second of a station whose packets pass unseen from which these take a share of the air:
/// more than pings and idle connections have.
const BYPASSED_ANSWERS_PER_S: f64 = 30.0;
/// The frames to a station are taken to have at least this part of the PHY rate of its uploads: an access point
/// sends no weaker than its stations. Assumed rates contain collisions, so they are a little below PHY rates.
const UPLINK_PART: f64 = 0.95;
/// Largest factor by which that corrects what transits tell.
const UPLINK_CORRECTION_MOST: f64 = 1.5;
/// Rate assumed for a new station: 65 Mbit/s, one stream at 20 MHz.
const FIRST_BPS: f64 = 65e6;
/// Smallest and largest assumed rate: HT MCS 0 at 20 MHz, and HE MCS 11 with four streams at 160
/// MHz.
const RANGE_BPS: (f64, f64) = (6.5e6, 4.8e9);

/// A law that gets assumed PHY rates where reports have none.
pub struct AssumeRates {
    law: Box<dyn RateController + Send>,
    overhead_s: f64,
    /// What is assumed of the stations that have reported without a PHY rate, sorted by station.
    assumed: Vec<(StationId, Assumed)>,
    /// What all transits have in common, seconds, by the rounds of a loaded channel.
    common_s: Option<f64>,
    foreign: Foreign,
    /// Stations whose answers hide what has arrived.
    hidden: Hidden,
    /// Whether stations were introduced in the slot before, or a moment before that.
    was_introduced: bool,
    /// What stations that are seen leave of the round.
    remainder: Remainder,
    /// When packets last waited in the box for a station whose frames were seen: rounds are full then, and tell
    /// what the others take of them.
    full_at: Option<Time>,
    /// The reports of the current slot with assumed rates filled in; kept for its capacity.
    reports: Vec<SlotReport>,
    allocations: Vec<Allocation>,
}

/// What is assumed of one station.
#[derive(Clone, Debug)]
struct Assumed {
    bps: f64,
    /// Its PHY rate when an agent or a radio last reported it, and since then raised by [`KNOWN_RISE`]
    /// per slot in which nobody sees the station.
    known_bps: Option<f64>,
    /// What a box has observed of its frames so far.
    observed: Option<FrameMeans>,
    /// Whether it is sent less in a dip.
    is_dipped: bool,
    /// When its frames were seen last.
    seen_at: Option<Time>,
    /// How long its packets waited, where nothing else is known of it.
    waits: Waits,
    /// How much of the rate that the airtime of a bit tells is used.
    used: UsedPart,
    /// Whether it sleeps.
    doze: Doze,
    /// How long its frames took in the last slots.
    transits: Transits,
    /// How its transits depend on the level.
    line: Line,
    /// Its airtime per bit over many frames.
    ratio: Ratio,
}

impl AssumeRates {
    /// Wraps `law`; reports without a PHY rate get the one that follows from `frame_overhead` per
    /// frame.
    #[must_use]
    pub fn new(law: Box<dyn RateController + Send>, frame_overhead: Duration) -> Self {
        Self {
            law,
            overhead_s: frame_overhead.as_secs_f64(),
            assumed: Vec::new(),
            common_s: None,
            foreign: Foreign::default(),
            hidden: Hidden::default(),
            was_introduced: false,
            remainder: Remainder::default(),
            full_at: None,
            reports: Vec::new(),
            allocations: Vec::new(),
        }
    }

    fn assumed(&mut self, station: StationId) -> &mut Assumed {
        let idx = self
            .assumed
            .binary_search_by_key(&station, |known| known.0)
            .unwrap_or_else(|idx| {
                let first = Assumed {
                    bps: FIRST_BPS,
                    known_bps: None,
                    observed: None,
                    is_dipped: false,
                    seen_at: None,
                    waits: Waits::default(),
                    used: UsedPart::default(),
                    doze: Doze::default(),
                    transits: Transits::default(),
                    line: Line::default(),
                    ratio: Ratio::default(),
                };
                self.assumed.insert(idx, (station, first));
                idx
            });
        &mut self.assumed[idx].1
    }

    /// Forgets what this slot's reports say of stations that sleep.
    fn set_sleepers_aside(&mut self, now: Time) {
        for idx in 0..self.reports.len() {
            let (station, sample) = (self.reports[idx].station, Sample::read(&self.reports[idx]));
            let assumed = self.assumed(station);
            // Only what a box observes may mistake beacons for rounds; agents beside other networks have rounds as long.
            if let Some(sample) = sample
                && assumed.observed.is_some()
                && assumed.doze.take(now, &sample)
            {
                self.reports[idx] = doze::without_what_was_seen(&self.reports[idx]);
            }
        }
    }

    /// Updates the assumed rates of the stations whose frames this slot's reports tell of. Returns the
    /// airtime per packet to those whose frames no sensor sees, seconds, if the round tells it.
    fn learn(&mut self, now: Time) -> Option<Told> {
        let is_introduced = self.remainder.is_introduced(now);
        if !is_introduced && core::mem::replace(&mut self.was_introduced, is_introduced) {
            // All that is remembered was in a time of quiet.
            for (_, assumed) in &mut self.assumed {
                (assumed.observed, assumed.ratio) = (None, Ratio::default());
            }
        }
        self.was_introduced = is_introduced;
        let mut parts: Vec<RoundPart> = self.reports.iter().filter_map(RoundPart::of).collect();
        let alone = parts.clone();
        for part in parts.iter_mut().filter(|part| part.is_observed()) {
            let assumed = self.assumed(part.station);
            if let Some(transit) = part.frame.transit {
                assumed.line.add(transit.level, transit.seconds);
                let usual = assumed.transits.add(transit, part.sample.frames);
                part.frame.transit = Some(usual);
            }
            let means = match &assumed.observed {
                Some(before) => before.with(part),
                None => part.frame,
            };
            assumed.observed = Some(means);
            assumed.seen_at = Some(now);
            part.frame = means;
        }
        if self.hidden.others == OtherNetworks::Silent {
            self.foreign.observe(0.0, 0.0);
        }
        let unseen = self.unseen(now);
        let has_upload = self.has_upload();
        let others = Others {
            unseen: &unseen,
            has_upload,
            upload_share: has_upload
                .then(|| self.known_upload_share(&unseen))
                .flatten(),
            others_send: self.hidden.others == OtherNetworks::Sending,
            foreign_share: self.hidden.foreign_share().unwrap_or(self.foreign.share),
        };
        if self.remainder.is_unusual(now) {
            // Means over the last frames do not fit what the stations that nobody sees are sent now.
            return self.remaining(now, &parts, alone, &others);
        }
        // Stations that pause in this slot take a part of its rounds too.
        let mut besides = self.pausing(now);
        besides.extend_from_slice(&unseen);
        let beside = Others {
            unseen: &besides,
            ..others
        };
        let mut division = round::divide(&parts, &beside, self.overhead_s, self.common_s);
        self.keep_ratios(&parts, &mut division.packet_s);
        if let Some(share) = division.foreign_share {
            self.foreign.observe(share, frames_per_station(&parts));
        }
        // Where the round does not tell what transits have in common, their dependence on the level
        // does, while the level varies.
        let told_s = division.common_s.or_else(|| {
            let is_seen = |known: &&(StationId, Assumed)| {
                parts
                    .iter()
                    .any(|part| part.station == known.0 && part.is_observed())
            };
            intercept(
                self.assumed
                    .iter()
                    .filter(is_seen)
                    .map(|(_, known)| known.line),
            )
        });
        if let Some(common_s) = told_s {
            let before_s = *self.common_s.get_or_insert(common_s);
            self.common_s = Some(before_s + COMMON_GAIN * (common_s - before_s));
        }
        self.assume(&parts, &besides, &division);
        self.remaining(now, &parts, alone, &others)
    }

    /// Assumes the rates of a slot whose payload divides like this.
    fn assume(&mut self, parts: &[RoundPart], unseen: &[UnseenPart], division: &Division) {
        // The channel has time left, whatever makes the answers late.
        let is_surveyed = self.hidden.is_surveyed();
        let has_spare =
            division.is_idle && !is_surveyed && self.assumed_load(parts, unseen) > SPARE_LOAD;
        for (part, packet_s) in parts.iter().zip(&division.packet_s) {
            let budgeted_bps = self.budgeted_bps(part.station);
            let assumed = self.assumed(part.station);
            if let Some(known_bps) = part.sample.phy_bps {
                // The starting point if reports of it end.
                (assumed.bps, assumed.known_bps) = (known_bps, Some(known_bps));
                continue;
            }
            if let Some(bps) = budgeted_bps {
                assumed.bps = bps;
            } else if let Some(packet_s) = *packet_s {
                let mut bps = part.bits() / packet_s;
                if has_spare && part.is_observed() && part.sample.backlogged {
                    bps = bps.max(assumed.bps * SPARE_RISE);
                }
                assumed.bps = bps.clamp(RANGE_BPS.0, RANGE_BPS.1);
            } else if part.sample.backlogged && !is_surveyed {
                // The station could take more but its frames hold one packet: the assumed rate is too
                // low to aggregate.
                assumed.bps = (assumed.bps * UNAGGREGATED_RISE).min(RANGE_BPS.1);
            }
        }
    }

    /// Lets the ratios between the airtimes per packet change slowly, and corrects those of the stations
    /// whose PHY rates are unknown by those whose rates are known.
    fn keep_ratios(&mut self, parts: &[RoundPart], packet_s: &mut [Option<f64>]) {
        let mut observed = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            if let Some(told_s) = packet_s[index]
                && part.is_observed()
                && part.sample.frames > 0.0
            {
                // A PHY rate that is known may change; its error does not.
                let unit_s = part.known_bit_s().unwrap_or(1.0);
                observed.push(Observed {
                    index,
                    ratio: self.assumed(part.station).ratio,
                    seconds: part.sample.frames * part.frame.round_s,
                    bps: part.frame.level / part.frame.round_s * part.bits() * unit_s,
                    per_bit_s: told_s / part.bits() / unit_s,
                });
            }
        }
        steady(&mut observed);
        let is_known = |station: &Observed| parts[station.index].sample.phy_bps.is_some();
        let factor = beside_known(&observed, is_known);
        for station in observed {
            let part = &parts[station.index];
            if part.sample.phy_bps.is_none() {
                let known_s = parts.iter().filter_map(RoundPart::known_bit_s);
                let told_s = drawn_to_known(station.per_bit_s * factor, known_s);
                let per_bit_s = as_fast_as_uplink(told_s, part.sample.upload_bps);
                packet_s[station.index] = Some(per_bit_s * part.bits());
            }
            self.assumed(part.station).ratio = station.ratio;
        }
    }

    /// Share of the time that packets and uploads take by the rates known or assumed so far.
    fn assumed_load(&mut self, parts: &[RoundPart], unseen: &[UnseenPart]) -> f64 {
        let unseen: f64 = unseen.iter().map(|part| part.pps * part.packet_s).sum();
        let uploads = self.upload_share();
        let share = |part: &RoundPart| {
            let assumed_bps = self.assumed(part.station).bps;
            let bps = part.sample.phy_bps.unwrap_or(assumed_bps);
            part.frame.level / part.frame.round_s * part.bits() / bps
        };
        parts.iter().map(share).sum::<f64>() + unseen + uploads
    }

    /// Whether stations use a share of the air that the frames to them do not show: they send much, or are
    /// sent packets that the box has not seen.
    fn has_upload(&self) -> bool {
        let uploads: f64 = self.uploads().map(|upload| upload.upload_bytes_per_s).sum();
        self.has_bypassed() || uploads > UPLOAD_BYTES_PER_S
    }

    /// Share of the time that uploads take, as far as it is known.
    fn upload_share(&self) -> f64 {
        let share = |upload: Sample| Some(8.0 * upload.upload_bytes_per_s / upload.upload_bps?);
        self.uploads().filter_map(share).sum()
    }

    /// The same, if the PHY rate of all uploads is known and nothing else is unknown.
    fn known_upload_share(&self, unseen: &[UnseenPart]) -> Option<f64> {
        if self.has_bypassed() || unseen.iter().any(|part| !part.is_uploader) {
            return None;
        }
        let is_known = |upload: Sample| {
            upload.upload_bps.is_some() || upload.upload_bytes_per_s < UPLOAD_BYTES_PER_S
        };
        self.uploads().all(is_known).then(|| self.upload_share())
    }

    /// The samples of stations whose uploads the box sees.
    fn uploads(&self) -> impl Iterator<Item = Sample> {
        let samples = self.reports.iter().filter_map(Sample::read);
        samples.filter(|sample| sample.is_passive)
    }

    /// Whether stations are sent packets that the box has not seen.
    fn has_bypassed(&self) -> bool {
        let is_bypassed = |report: &SlotReport| {
            let answers_per_s =
                f64::from(report.sender.uplink_frames) / report.length.as_secs_f64();
            report.sender.bypassed && answers_per_s > BYPASSED_ANSWERS_PER_S
        };
        self.reports.iter().any(is_bypassed)
    }
}

/// The airtime per bit that transits tell of a station, `told_s` in seconds, if its uploads have this PHY rate.
///
/// Its acknowledgements wait behind what it uploads, so that its transits are too long.
fn as_fast_as_uplink(told_s: f64, upload_bps: Option<f64>) -> f64 {
    let Some(upload_bps) = upload_bps else {
        return told_s;
    };
    let least_s = told_s / UPLINK_CORRECTION_MOST;
    told_s.min((1.0 / (UPLINK_PART * upload_bps)).max(least_s))
}

/// Frames to a station in a slot, the mean over the stations whose frames were seen.
fn frames_per_station(parts: &[RoundPart]) -> f64 {
    let frames: f64 = parts.iter().map(|part| part.sample.frames).sum();
    frames / parts.len().max(1) as f64
}

impl RateController for AssumeRates {
    fn name(&self) -> &'static str {
        self.law.name()
    }

    fn on_slot(&mut self, now: Time, reports: &[SlotReport]) -> &[Allocation] {
        self.reports.clear();
        self.reports.extend_from_slice(reports);
        self.set_sleepers_aside(now);
        self.note_full_rounds(now);
        self.correct_hidden(now);
        let told = self.learn(now);
        self.adjust_unseen(now, told);
        let mut reports = core::mem::take(&mut self.reports);
        for report in reports
            .iter_mut()
            .filter(|report| report.phy_rate_bps().is_none() && report.frames > 0)
        {
            report.inverse_rate_sum = f64::from(report.frames) / self.assumed(report.station).bps;
        }
        self.reports = reports;
        self.allocations.clear();
        self.allocations
            .extend_from_slice(self.law.on_slot(now, &self.reports));
        self.dip(now);
        self.note_use();
        self.limit_load();
        self.swing(now);
        self.note_grants(true);
        &self.allocations
    }

    fn on_backlog(&mut self, now: Time, changes: &[BacklogChange]) -> Option<&[Allocation]> {
        let allocations = self.law.on_backlog(now, changes)?;
        self.allocations.clear();
        self.allocations.extend_from_slice(allocations);
        self.dip(now);
        self.limit_load();
        self.swing(now);
        self.note_grants(false);
        Some(&self.allocations)
    }

    fn takes_news(&self) -> bool {
        self.law.takes_news()
    }

    fn remove(&mut self, station: StationId) {
        self.assumed.retain(|known| known.0 != station);
        self.remainder.remove(station);
        self.hidden.remove(station);
        self.law.remove(station);
    }

    fn set_weight(&mut self, station: StationId, weight: f64) -> bool {
        self.law.set_weight(station, weight)
    }

    fn reconfigure(&mut self, config: &LawConfig) -> bool {
        self.law.reconfigure(config)
    }

    fn diagnostics(&self) -> Diagnostics {
        self.law.diagnostics()
    }

    fn station_estimate(&self, station: StationId) -> Option<AirEstimate> {
        self.law.station_estimate(station)
    }
}
