//! Runs a law that needs PHY rates with stations that cannot report theirs.
//!
//! An agent without a monitor interface reports frames and packets but no PHY rate. Such reports do
//! not separate the overhead of a round `D = c + Σ w μ` from its payload, so one of the two must be
//! assumed. [`AssumeRates`] assumes the overhead per frame `T`. Then `w = (D − nT) / Σ μ`, the same
//! for all stations of unknown rate.
//!
//! The resulting rates are right at the measured level, so a law reaches the level that it aims at
//! even if `T` is wrong: for one station, a change of the rate returns multiplied by `1 − T/c`,
//! which is stable for `T < 2c`. What is lost is airtime fairness, as stations of unknown rate get
//! equal packet rates. And a slow station may be given a target that the longest frame duration
//! cannot hold, which only its losses show.
//!
//! While frames carry one packet each, `D` is only the time between packets. Then the assumed rate
//! doubles with each slot until frames aggregate.

use super::roster::packet_airtime_s;
use super::sample::Sample;
use super::{BacklogChange, Diagnostics, LawConfig, RateController};
use crate::report::{Allocation, SlotReport};
use airpace_units::{StationId, Time};
use core::time::Duration;

/// From this level on, the time between frames is the round rather than the time between packets.
const AGGREGATED_LEVEL: f64 = 1.2;
/// A packet waits for half a round on average until the frame in which it leaves. One that waits for
/// less than this share of the time between frames did not wait for a round ...
const WAITED_SHARE: f64 = 0.2;
/// ... nor one that waits for less than this many seconds: acknowledgements alone take so long to
/// win the medium at times.
const WAITED_LEAST_S: f64 = 1.8e-3;
/// Factor by which an assumed rate rises per slot while frames leave as packets come.
const PASSIVE_RISE: f64 = 1.3;
/// Median wait in seconds from which a station of which only the waiting times are known gets less.
const LONG_WAIT_S: f64 = 0.008;
/// Factors of its assumed rate per slot then, and while its packets do not wait.
const WAITING_FALL: f64 = 0.8;
const IDLE_RISE: f64 = 1.5;
/// Rate assumed for a new station: 65 Mbit/s, one stream at 20 MHz.
const FIRST_BPS: f64 = 65e6;
/// Smallest and largest assumed rate: HT MCS 0 at 20 MHz, and HE MCS 11 with four streams at 160
/// MHz.
const RANGE_BPS: (f64, f64) = (6.5e6, 4.8e9);

/// A law that gets assumed PHY rates where reports have none.
pub struct AssumeRates {
    law: Box<dyn RateController + Send>,
    overhead_s: f64,
    /// Assumed PHY rates of the stations that have reported without one, sorted by station.
    assumed_bps: Vec<(StationId, f64)>,
    /// The reports of the current slot with assumed rates filled in; kept for its capacity.
    reports: Vec<SlotReport>,
}

/// One station's contribution to the round.
#[derive(Clone, Copy)]
struct RoundPart {
    station: StationId,
    sample: Sample,
    level: f64,
    round_s: f64,
}

impl RoundPart {
    fn of(report: &SlotReport) -> Option<Self> {
        let sample = Sample::read(report)?;
        let (level, round_s) = sample.level.zip(sample.round_s)?;
        Some(Self {
            station: report.station,
            sample,
            level,
            round_s,
        })
    }

    fn is_aggregated(&self) -> bool {
        self.level >= AGGREGATED_LEVEL && !self.leaves_at_once()
    }

    /// Whether frames leave as packets come: then the time between them is that between bursts of
    /// the pacer, not a round.
    fn leaves_at_once(&self) -> bool {
        // An agent's level needs no such check: it is certain, and so is the way back from it.
        self.sample.is_passive
            && match self.sample.wait {
                Some(wait) => wait.median_s < (WAITED_SHARE * self.round_s).max(WAITED_LEAST_S),
                // Too few packets per frame for a waiting time.
                None => true,
            }
    }

    /// Bits of a packet on the air, that is, its airtime in seconds at 1 bit/s.
    fn bits(&self) -> f64 {
        packet_airtime_s(self.sample.packet_bytes.unwrap_or(1500.0), 1.0)
    }

    /// Frames to the station per round of `round_s`; one at most.
    fn turns(&self, round_s: f64) -> f64 {
        (round_s / self.round_s).min(1.0)
    }
}

impl AssumeRates {
    /// Wraps `law`; reports without a PHY rate get the one that follows from `frame_overhead` per
    /// frame.
    #[must_use]
    pub fn new(law: Box<dyn RateController + Send>, frame_overhead: Duration) -> Self {
        Self {
            law,
            overhead_s: frame_overhead.as_secs_f64(),
            assumed_bps: Vec::new(),
            reports: Vec::new(),
        }
    }

    fn assumed(&mut self, station: StationId) -> &mut f64 {
        let idx = self
            .assumed_bps
            .binary_search_by_key(&station, |known| known.0)
            .unwrap_or_else(|idx| {
                self.assumed_bps.insert(idx, (station, FIRST_BPS));
                idx
            });
        &mut self.assumed_bps[idx].1
    }

    /// Updates the assumed rates of the stations in this slot's reports.
    fn learn(&mut self) {
        let parts: Vec<RoundPart> = self.reports.iter().filter_map(RoundPart::of).collect();
        let common_bps = self.common_rate(&parts);
        for part in &parts {
            if part.sample.phy_bps.is_some() {
                continue;
            }
            if part.is_aggregated() {
                if let Some(bps) = common_bps {
                    *self.assumed(part.station) = bps;
                }
            } else if part.sample.backlogged {
                // The station could take more but its frames hold one packet: the assumed rate is
                // too low to aggregate.
                let factor = if part.sample.is_passive {
                    PASSIVE_RISE
                } else {
                    2.0
                };
                let rate = self.assumed(part.station);
                *rate = (*rate * factor).min(RANGE_BPS.1);
            }
        }
    }

    /// Updates the assumed rates of stations whose frames nobody has seen although they receive
    /// packets: upwards while these do not wait, downwards while they do.
    fn adjust_unseen(&mut self) {
        for idx in 0..self.reports.len() {
            let report = &self.reports[idx];
            let Some(sample) = Sample::read(report) else {
                continue;
            };
            if !sample.is_passive || report.frames > 0 || report.bytes == 0 {
                continue;
            }
            let waits = sample.wait.is_some_and(|wait| wait.median_s > LONG_WAIT_S);
            let factor = match (waits, sample.backlogged) {
                (true, _) => WAITING_FALL,
                (false, true) => IDLE_RISE,
                (false, false) => 1.0,
            };
            let station = report.station;
            let rate = self.assumed(station);
            *rate = (*rate * factor).clamp(RANGE_BPS.0, RANGE_BPS.1);
            self.reports[idx].recent_inverse_rate = 1.0 / *self.assumed(station);
        }
    }

    /// The PHY rate of all stations of unknown rate, from the round that they share.
    fn common_rate(&self, parts: &[RoundPart]) -> Option<f64> {
        let round_s = parts
            .iter()
            .filter(|part| part.is_aggregated())
            .map(|part| part.round_s)
            .min_by(f64::total_cmp)?;
        let frames: f64 = parts.iter().map(|part| part.turns(round_s)).sum();
        let (mut known_s, mut unknown_bits) = (0.0, 0.0);
        for part in parts {
            let bits = part.bits() * part.level * part.turns(round_s);
            match part.sample.phy_bps {
                Some(bps) => known_s += bits / bps,
                None => unknown_bits += bits,
            }
        }
        let payload_s = round_s - frames * self.overhead_s - known_s;
        // The assumed overhead alone may exceed the round; then the payload takes next to no time.
        let bps = if payload_s > 0.0 {
            unknown_bits / payload_s
        } else {
            RANGE_BPS.1
        };
        (unknown_bits > 0.0).then_some(bps.clamp(RANGE_BPS.0, RANGE_BPS.1))
    }
}

impl RateController for AssumeRates {
    fn name(&self) -> &'static str {
        self.law.name()
    }

    fn on_slot(&mut self, now: Time, reports: &[SlotReport]) -> &[Allocation] {
        self.reports.clear();
        self.reports.extend_from_slice(reports);
        self.learn();
        self.adjust_unseen();
        let mut reports = core::mem::take(&mut self.reports);
        for report in reports
            .iter_mut()
            .filter(|report| report.phy_rate_bps().is_none() && report.frames > 0)
        {
            report.inverse_rate_sum = f64::from(report.frames) / *self.assumed(report.station);
        }
        self.reports = reports;
        self.law.on_slot(now, &self.reports)
    }

    fn on_backlog(&mut self, now: Time, changes: &[BacklogChange]) -> Option<&[Allocation]> {
        self.law.on_backlog(now, changes)
    }

    fn takes_news(&self) -> bool {
        self.law.takes_news()
    }

    fn remove(&mut self, station: StationId) {
        self.assumed_bps.retain(|known| known.0 != station);
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
}

#[cfg(test)]
mod tests {
    use super::super::tests::plant::{Plant, SlotView};
    use super::super::{Waterfill, WaterfillConfig};
    use super::*;

    /// Removes the PHY rates from reports.
    struct Blind(AssumeRates);

    impl RateController for Blind {
        fn name(&self) -> &'static str {
            self.0.name()
        }
        fn on_slot(&mut self, now: Time, reports: &[SlotReport]) -> &[Allocation] {
            let blind = |report: &SlotReport| SlotReport {
                inverse_rate_sum: 0.0,
                ..report.clone()
            };
            let reports: Vec<_> = reports.iter().map(blind).collect();
            self.0.on_slot(now, &reports)
        }
        fn remove(&mut self, station: StationId) {
            self.0.remove(station);
        }
    }

    /// The law for the papers' problem: a level limit and no price of delay.
    fn waterfill() -> Waterfill {
        let config = WaterfillConfig {
            price: 0.0,
            level_limit: Some(32.0),
            ..WaterfillConfig::default()
        };
        Waterfill::new(config).expect("the configuration is valid")
    }

    fn law() -> AssumeRates {
        AssumeRates::new(Box::new(waterfill()), Duration::from_micros(214))
    }

    fn settle(plant: &mut Plant, law: &mut dyn RateController, slots: usize) -> Vec<SlotView> {
        let mut views = Vec::new();
        for _ in 0..slots {
            views = plant.run_slot(law);
        }
        views
    }

    #[test]
    fn one_station_reaches_the_level_without_reporting_its_rate() {
        for mbps in [117.0, 390.0, 780.0] {
            for overhead_s in [150e-6, 200e-6, 400e-6] {
                let mut plant = Plant::new(&[mbps], 0.1);
                plant.overhead_s = overhead_s;
                let mut law = Blind(law());
                settle(&mut plant, &mut law, 20);
                let levels: f64 = (0..10)
                    .map(|_| settle(&mut plant, &mut law, 1)[0].level)
                    .sum::<f64>()
                    / 10.0;
                assert!(
                    (levels - 32.0).abs() < 4.0,
                    "{mbps} Mbit/s, {overhead_s} s: level {levels}"
                );
            }
        }
    }

    #[test]
    fn the_level_recovers_from_a_change_of_the_rate() {
        let mut plant = Plant::new(&[780.0], 0.1);
        let mut law = Blind(law());
        settle(&mut plant, &mut law, 20);
        plant.stations[0].phy_bps = 390e6;
        let view = settle(&mut plant, &mut law, 8)[0];
        assert!(
            (view.level - 32.0).abs() < 5.0 && view.queue < 100,
            "{view:?}"
        );
    }

    #[test]
    fn several_stations_share_packets_equally_and_keep_the_round_short() {
        let mut plant = Plant::new(&[390.0, 175.5, 117.0], 0.1);
        let mut law = Blind(law());
        let views = settle(&mut plant, &mut law, 25);
        let rates: Vec<f64> = views.iter().map(|view| view.received_pps).collect();
        assert!(
            rates.iter().all(|rate| (rate / rates[0] - 1.0).abs() < 0.2),
            "{rates:?}"
        );
        assert!(views.iter().all(|view| view.queue < 100), "{views:?}");
    }

    #[test]
    fn weights_divide_the_airtime_in_proportion() {
        let config = WaterfillConfig {
            delay_target: Some(Duration::from_micros(1_500)),
            ..WaterfillConfig::default()
        };
        let law = Waterfill::new(config).expect("the defaults are valid");
        let mut law = AssumeRates::new(Box::new(law), Duration::from_micros(214));
        assert!(law.set_weight(StationId(1), 2.0));
        assert!(!law.set_weight(StationId(1), f64::NAN));
        let mut plant = Plant::new(&[390.0, 390.0], 0.1);
        settle(&mut plant, &mut law, 20);
        let rates: Vec<f64> = settle(&mut plant, &mut law, 1)
            .iter()
            .map(|view| view.received_pps)
            .collect();
        assert!((rates[1] / rates[0] - 2.0).abs() < 0.2, "{rates:?}");
    }

    #[test]
    fn known_rates_are_left_alone() {
        let (mut plain, mut wrapped) = (
            Plant::new(&[390.0, 58.5], 0.1),
            Plant::new(&[390.0, 58.5], 0.1),
        );
        let mut bare = waterfill();
        let mut law = AssumeRates::new(Box::new(waterfill()), Duration::from_micros(214));
        for _ in 0..10 {
            let (a, b) = (plain.run_slot(&mut bare), wrapped.run_slot(&mut law));
            for (a, b) in a.iter().zip(&b) {
                assert_eq!((a.level, a.received_pps), (b.level, b.received_pps));
            }
        }
    }
}
