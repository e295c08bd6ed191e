//! Rates of the standard's tables, and who chooses among them.

use crate::file::{Adaptation, Channel, RateChoice, Scenario, Standard};
use airpace_config::document::{KeyError, refuse};
use airpace_config::quantity::Frequency;
use airpace_core::phy::error::ErrorModel;
use airpace_core::phy::{self, Band, GuardInterval, LegacyRate, TxRate, Width};
use airpace_sim::rate::{Ideal, MinstrelHt, MinstrelHtConfig, RateAdaptation, Trace, rates_up_to};
use airpace_units::Time;
use std::path::Path;
use std::time::Duration;

/// What rates are resolved against.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rates<'s> {
    pub(super) scenario: &'s Scenario,
    /// Where files of traces are.
    pub(super) folder: &'s Path,
}

/// What a rate holds for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'p> {
    pub(super) channel: &'p Channel,
    /// Number of the directed link, for its random draws.
    pub(super) link: u64,
    /// Key of the choice.
    pub(super) key: &'p str,
}

/// Standard, width and guard interval of a choice.
#[derive(Clone, Copy)]
struct Form {
    standard: phy::Standard,
    width: Width,
    gi: GuardInterval,
}

impl Rates<'_> {
    /// The rate adaptation of a link.
    pub(super) fn adaptation(
        &self,
        choice: &RateChoice,
        place: Place<'_>,
    ) -> Result<RateAdaptation, KeyError> {
        match choice.adaptation {
            Adaptation::Fixed => self.fixed(choice, place).map(RateAdaptation::Fixed),
            Adaptation::Trace => self.trace(choice, place),
            Adaptation::MinstrelHt => self.minstrel(choice, place),
            Adaptation::Ideal => self.ideal(choice, place),
        }
    }

    /// A rate that stays.
    pub(super) fn fixed(&self, choice: &RateChoice, place: Place<'_>) -> Result<TxRate, KeyError> {
        if let Some(rate) = choice.legacy {
            // Half Mbit/s, as the standard counts them; 54 Mbit/s at most, by the bounds of the key.
            let units = (rate.0.bps() / 500_000) as u32;
            let legacy = LegacyRate::from_half_mbps(units).filter(|legacy| legacy.rate() == rate.0);
            let Some(legacy) = legacy else {
                return refuse(
                    place.key,
                    format!(
                        "{rate} is no legacy rate: 1, 2, 5.5, 11 (DSSS), 6, 9, 12, 18, 24, 36, 48, 54 Mbit/s (OFDM)"
                    ),
                );
            };
            return carried(TxRate::legacy(legacy), place);
        }
        self.indexed(
            choice,
            (choice.mcs.unwrap_or(DEFAULT_MCS), choice.nss),
            place,
        )
    }

    /// The rate of an MCS index and streams, which HT has in its index.
    fn indexed(
        &self,
        choice: &RateChoice,
        (mcs, nss): (u8, Option<u8>),
        place: Place<'_>,
    ) -> Result<TxRate, KeyError> {
        let Form {
            standard,
            width,
            gi,
        } = form(choice, place)?;
        let nss = nss.unwrap_or(if standard == phy::Standard::Ht {
            mcs / 8 + 1
        } else {
            1
        });
        match TxRate::new(standard, width, nss, mcs, gi) {
            Ok(rate) => carried(rate, place),
            Err(error) => refuse(place.key, error.to_string()),
        }
    }

    /// All rates that an adaptation may use.
    fn allowed(&self, choice: &RateChoice, place: Place<'_>) -> Result<Vec<TxRate>, KeyError> {
        let Form {
            standard,
            width,
            gi,
        } = form(choice, place)?;
        let most = choice.mcs.unwrap_or(u8::MAX);
        let index = |rate: &TxRate| {
            if standard == phy::Standard::Ht {
                rate.mcs() % 8
            } else {
                rate.mcs()
            }
        };
        let mut rates = rates_up_to(standard, width, choice.nss.unwrap_or(1), gi);
        // Minstrel-HT keeps to the channel's width and guard interval unless the station is known to want less.
        rates.retain(|rate| index(rate) <= most && rate.width() == width && rate.gi() == gi);
        if rates.is_empty() {
            refuse(place.key, "no rate of the standard is left to choose from")
        } else {
            Ok(rates)
        }
    }

    /// An oracle; the MAC tells it the ratio of signal to noise.
    fn ideal(&self, choice: &RateChoice, place: Place<'_>) -> Result<RateAdaptation, KeyError> {
        let width = form(choice, place)?.width;
        let rates = self.allowed(choice, place)?;
        match Ideal::by_model(
            &rates,
            width,
            &ErrorModel::default(),
            IDEAL_BYTES,
            Ideal::TARGET_LOSS,
        ) {
            Ok(ideal) => Ok(ideal.into()),
            Err(error) => refuse(place.key, error.to_string()),
        }
    }

    fn minstrel(&self, choice: &RateChoice, place: Place<'_>) -> Result<RateAdaptation, KeyError> {
        let rates = self.allowed(choice, place)?;
        let config = MinstrelHtConfig {
            tries: place.channel.retry_limit,
            timing: super::air::timing(place.channel),
            ..MinstrelHtConfig::new(rates, self.scenario.seed, place.link)
        };
        match MinstrelHt::new(config) {
            Ok(minstrel) => Ok(minstrel.into()),
            Err(error) => refuse(place.key, error.to_string()),
        }
    }

    fn trace(&self, choice: &RateChoice, place: Place<'_>) -> Result<RateAdaptation, KeyError> {
        let steps: Vec<(Duration, u8, Option<u8>)> = match &choice.file {
            Some(file) => self.read_trace(file, place.key)?,
            None => choice
                .trace
                .iter()
                .map(|step| (step.at.0, step.mcs, Some(step.nss)))
                .collect(),
        };
        let mut entries = Vec::new();
        for (at, mcs, nss) in steps {
            entries.push((
                Time::ZERO.saturating_add(at),
                self.indexed(choice, (mcs, nss), place)?,
            ));
        }
        if choice.repeat {
            entries = repeated(entries, self.scenario.warm_up.0 + self.scenario.duration.0);
        }
        match Trace::new(entries) {
            Ok(trace) => Ok(trace.into()),
            Err(error) => refuse(place.key, error.to_string()),
        }
    }

    /// Reads a file of `seconds mcs nss` lines.
    fn read_trace(
        &self,
        file: &str,
        key: &str,
    ) -> Result<Vec<(Duration, u8, Option<u8>)>, KeyError> {
        let path = self.folder.join(file);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => {
                return refuse(
                    format!("{key}.file"),
                    format!("cannot read {}: {error}", path.display()),
                );
            }
        };
        let mut steps: Vec<(Duration, u8, Option<u8>)> = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let Some(step) = trace_step(line) else {
                let message = format!(
                    "{}:{number}: write seconds, MCS and streams, for example `2.5 9 2`",
                    path.display()
                );
                return refuse(format!("{key}.file"), message);
            };
            if steps.last().is_some_and(|last| step.0 <= last.0) {
                return refuse(
                    format!("{key}.file"),
                    format!("{}:{number}: the times must rise", path.display()),
                );
            }
            steps.push(step);
        }
        if steps.is_empty() {
            refuse(
                format!("{key}.file"),
                format!("{} is empty", path.display()),
            )
        } else {
            Ok(steps)
        }
    }
}

/// Length of the MPDUs of which the oracle thinks: that of the papers' packets.
const IDEAL_BYTES: u32 = 1_536;

/// The MCS of a table that names none: that of the short form's default.
const DEFAULT_MCS: u8 = 9;

fn trace_step(line: &str) -> Option<(Duration, u8, Option<u8>)> {
    let mut words = line.split_whitespace();
    let at = Duration::try_from_secs_f64(words.next()?.parse().ok()?).ok()?;
    let mcs = words.next()?.parse().ok()?;
    let nss = words.next().map(str::parse).transpose().ok()?;
    words.next().is_none().then_some((at, mcs, nss))
}

/// The trace again and again until `end`. Its last step lasts as long as the one before it.
fn repeated(entries: Vec<(Time, TxRate)>, end: Duration) -> Vec<(Time, TxRate)> {
    let [.., before, last] = entries.as_slice() else {
        return entries;
    };
    let period = (last.0.since(Time::ZERO) + last.0.since(before.0)).max(Duration::from_millis(1));
    let turns = (end.as_nanos() / period.as_nanos()).min(1_000_000) as u32;
    let shifted = |turn| {
        entries
            .iter()
            .map(move |&(at, rate)| (at.saturating_add(period * turn), rate))
    };
    (0..=turns).flat_map(shifted).collect()
}

/// Refuses a rate that the channel's band does not have.
fn carried(rate: TxRate, place: Place<'_>) -> Result<TxRate, KeyError> {
    let band = super::air::band(place.channel);
    if band.carries(rate.standard()) {
        Ok(rate)
    } else {
        let other = if band == Band::Ghz5 {
            Band::Ghz2_4
        } else {
            Band::Ghz5
        };
        refuse(
            place.key,
            format!(
                "there is no {} at {band}: set the channel's band to \"{other}\"",
                rate.standard()
            ),
        )
    }
}

fn form(choice: &RateChoice, place: Place<'_>) -> Result<Form, KeyError> {
    let channel = place.channel;
    let standard = match choice.standard.unwrap_or(channel.standard) {
        Standard::Dsss => phy::Standard::Dsss,
        Standard::Ofdm => phy::Standard::Ofdm,
        Standard::Ht => phy::Standard::Ht,
        Standard::Vht => phy::Standard::Vht,
        Standard::He => phy::Standard::He,
    };
    let Some(width) = width(choice.width.unwrap_or(channel.width)) else {
        return refuse(
            format!("{}.width", place.key),
            "channels are 20, 40, 80 or 160 MHz wide",
        );
    };
    let gi = choice
        .guard_interval
        .unwrap_or(channel.guard_interval)
        .0
        .as_nanos();
    let Some(gi) = u32::try_from(gi).ok().and_then(GuardInterval::from_nanos) else {
        return refuse(
            format!("{}.guard_interval", place.key),
            "guard intervals are 400, 800, 1600 or 3200 ns",
        );
    };
    Ok(Form {
        standard,
        width,
        gi,
    })
}

fn width(frequency: Frequency) -> Option<Width> {
    let mhz = frequency.0 / 1_000_000;
    let whole = frequency.0.is_multiple_of(1_000_000);
    u32::try_from(mhz)
        .ok()
        .filter(|_| whole)
        .and_then(Width::from_mhz)
}
