//! Rates of the standard's tables, and the algorithms that choose among them.

use crate::file::{Channel, RateChoice, RateStep, Scenario, Standard};
use airpace_config::document::{KeyError, refuse};
use airpace_config::quantity::Frequency;
use airpace_core::phy::error::ErrorModel;
use airpace_core::phy::{self, Band, GuardInterval, LegacyRate, TxRate, Width};
use airpace_sim::rate::minstrel::Samples;
use airpace_sim::rate::{
    AdaptationKind, Ideal, MinstrelHt, MinstrelHtConfig, RateAdaptation, Trace, rates_up_to,
};
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

/// The link that a rate is for.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkContext<'p> {
    pub(super) channel: &'p Channel,
    /// Number of the directed link, for its random draws.
    pub(super) link: u64,
    /// Key of the choice.
    pub(super) key: &'p str,
}

/// What a rate needs besides MCS and streams.
#[derive(Clone, Copy)]
struct PhyForm {
    standard: phy::Standard,
    width: Width,
    gi: GuardInterval,
}

impl Rates<'_> {
    /// The rate adaptation of a link.
    pub(super) fn adaptation(
        &self,
        choice: &RateChoice,
        link: LinkContext<'_>,
    ) -> Result<RateAdaptation, KeyError> {
        match choice.adaptation.0 {
            AdaptationKind::Fixed => self.fixed(choice, link).map(RateAdaptation::Fixed),
            AdaptationKind::Trace => self.trace(choice, link),
            AdaptationKind::MinstrelHt => self.minstrel(choice, link),
            AdaptationKind::Ideal => self.ideal(choice, link),
        }
    }

    /// The single rate that a choice names.
    pub(super) fn fixed(
        &self,
        choice: &RateChoice,
        link: LinkContext<'_>,
    ) -> Result<TxRate, KeyError> {
        if let Some(rate) = choice.legacy {
            // Half Mbit/s, as the standard counts them; 54 Mbit/s at most, by the bounds of the
            // key.
            let units = (rate.0.bps() / 500_000) as u32;
            let legacy = LegacyRate::from_half_mbps(units).filter(|legacy| legacy.rate() == rate.0);
            let Some(legacy) = legacy else {
                return refuse(
                    link.key,
                    format!(
                        "{rate} is not a legacy rate: 1, 2, 5.5, 11 (DSSS), 6, 9, 12, 18, 24, 36, 48, 54 Mbit/s (OFDM)"
                    ),
                );
            };
            return check_band(TxRate::legacy(legacy), link);
        }
        self.indexed(choice, choice.mcs.unwrap_or(DEFAULT_MCS), choice.nss, link)
    }

    /// The rate with an MCS index and streams. The index of HT implies the streams: there are eight
    /// for each number.
    fn indexed(
        &self,
        choice: &RateChoice,
        mcs: u8,
        nss: Option<u8>,
        link: LinkContext<'_>,
    ) -> Result<TxRate, KeyError> {
        let PhyForm {
            standard,
            width,
            gi,
        } = form(choice, link)?;
        let nss = nss.unwrap_or(if standard == phy::Standard::Ht {
            mcs / 8 + 1
        } else {
            1
        });
        match TxRate::new(standard, width, nss, mcs, gi) {
            Ok(rate) => check_band(rate, link),
            Err(error) => refuse(link.key, error.to_string()),
        }
    }

    /// The rates that an adaptation may use.
    fn allowed(&self, choice: &RateChoice, link: LinkContext<'_>) -> Result<Vec<TxRate>, KeyError> {
        let PhyForm {
            standard,
            width,
            gi,
        } = form(choice, link)?;
        let most = choice.mcs.unwrap_or(u8::MAX);
        let index = |rate: &TxRate| {
            if standard == phy::Standard::Ht {
                rate.mcs() % 8
            } else {
                rate.mcs()
            }
        };
        let mut rates = rates_up_to(standard, width, choice.nss.unwrap_or(1), gi);
        // Minstrel-HT keeps to the channel's width and guard interval unless the station is known
        // to want less.
        rates.retain(|rate| index(rate) <= most && rate.width() == width && rate.gi() == gi);
        if rates.is_empty() {
            refuse(link.key, "no rate of the standard is left to choose from")
        } else {
            Ok(rates)
        }
    }

    /// An oracle, which the MAC tells the signal-to-noise ratio.
    fn ideal(
        &self,
        choice: &RateChoice,
        link: LinkContext<'_>,
    ) -> Result<RateAdaptation, KeyError> {
        let width = form(choice, link)?.width;
        let rates = self.allowed(choice, link)?;
        match Ideal::by_model(
            &rates,
            width,
            &ErrorModel::default(),
            IDEAL_BYTES,
            Ideal::TARGET_LOSS,
        ) {
            Ok(ideal) => Ok(ideal.into()),
            Err(error) => refuse(link.key, error.to_string()),
        }
    }

    fn minstrel(
        &self,
        choice: &RateChoice,
        link: LinkContext<'_>,
    ) -> Result<RateAdaptation, KeyError> {
        let rates = self.allowed(choice, link)?;
        let config = MinstrelHtConfig {
            tries: link.channel.retry_limit,
            timing: super::air::timing(link.channel),
            samples: choice
                .samples
                .map_or(Samples::default(), |samples| samples.0),
            ..MinstrelHtConfig::new(rates, self.scenario.seed, link.link)
        };
        match MinstrelHt::new(config) {
            Ok(minstrel) => Ok(minstrel.into()),
            Err(error) => refuse(link.key, error.to_string()),
        }
    }

    fn trace(
        &self,
        choice: &RateChoice,
        link: LinkContext<'_>,
    ) -> Result<RateAdaptation, KeyError> {
        let steps = match &choice.file {
            Some(file) => self.read_trace(file, link.key)?,
            None => choice.trace.iter().map(TraceStep::of).collect(),
        };
        let mut entries = Vec::new();
        for TraceStep { at, mcs, nss } in steps {
            let rate = self.indexed(choice, mcs, nss, link)?;
            entries.push((Time::ZERO.saturating_add(at), rate));
        }
        if choice.repeat {
            entries = repeated(entries, self.scenario.warm_up.0 + self.scenario.duration.0);
        }
        match Trace::new(entries) {
            Ok(trace) => Ok(trace.into()),
            Err(error) => refuse(link.key, error.to_string()),
        }
    }

    /// Reads a file of `seconds mcs nss` lines.
    fn read_trace(&self, file: &str, key: &str) -> Result<Vec<TraceStep>, KeyError> {
        let key = format!("{key}.file");
        let path = self.folder.join(file);
        let name = path.display();
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => return refuse(key, format!("cannot read {name}: {error}")),
        };
        let mut steps: Vec<TraceStep> = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let Some(step) = TraceStep::parse(line) else {
                return refuse(
                    key,
                    format!(
                        "{name}:{number}: write seconds, MCS and streams, for example `2.5 9 2`"
                    ),
                );
            };
            if steps.last().is_some_and(|last| step.at <= last.at) {
                return refuse(key, format!("{name}:{number}: the times must increase"));
            }
            steps.push(step);
        }
        if steps.is_empty() {
            refuse(key, format!("{name} is empty"))
        } else {
            Ok(steps)
        }
    }
}

/// One step of a trace of rates.
struct TraceStep {
    at: Duration,
    mcs: u8,
    /// Streams; with HT they follow from the MCS index.
    nss: Option<u8>,
}

impl TraceStep {
    fn of(step: &RateStep) -> Self {
        Self {
            at: step.at.0,
            mcs: step.mcs,
            nss: Some(step.nss),
        }
    }

    /// Parses a line of a file: `seconds mcs nss`, or `seconds mcs`.
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let at = Duration::try_from_secs_f64(words.next()?.parse().ok()?).ok()?;
        let mcs = words.next()?.parse().ok()?;
        let nss = words.next().map(str::parse).transpose().ok()?;
        words.next().is_none().then_some(Self { at, mcs, nss })
    }
}

/// Length of the MPDUs for which the oracle computes error probabilities, bytes: that of the
/// papers' packets.
const IDEAL_BYTES: u32 = 1_536;

/// The MCS index of a table that gives none, as of the default of `rate`.
const DEFAULT_MCS: u8 = 9;

/// The trace over and over until `end`. Its last step lasts as long as the one before it.
fn repeated(entries: Vec<(Time, TxRate)>, end: Duration) -> Vec<(Time, TxRate)> {
    let [.., before, last] = entries.as_slice() else {
        return entries;
    };
    let last_step = last.0.since(before.0);
    let period = (last.0.since(Time::ZERO) + last_step).max(Duration::from_millis(1));
    // A run of a million periods would not end in anybody's lifetime.
    let turns = (end.as_nanos() / period.as_nanos()).min(1_000_000) as u32;
    let mut all = Vec::new();
    for turn in 0..=turns {
        for &(at, rate) in &entries {
            all.push((at.saturating_add(period * turn), rate));
        }
    }
    all
}

/// Refuses a rate that the channel's band does not have.
fn check_band(rate: TxRate, link: LinkContext<'_>) -> Result<TxRate, KeyError> {
    let band = super::air::band(link.channel);
    if band.carries(rate.standard()) {
        Ok(rate)
    } else {
        let other = if band == Band::Ghz5 {
            Band::Ghz2_4
        } else {
            Band::Ghz5
        };
        refuse(
            link.key,
            format!(
                "there is no {} at {band}: set the channel's band to \"{other}\"",
                rate.standard()
            ),
        )
    }
}

fn form(choice: &RateChoice, link: LinkContext<'_>) -> Result<PhyForm, KeyError> {
    let channel = link.channel;
    let standard = match choice.standard.unwrap_or(channel.standard) {
        Standard::Dsss => phy::Standard::Dsss,
        Standard::Ofdm => phy::Standard::Ofdm,
        Standard::Ht => phy::Standard::Ht,
        Standard::Vht => phy::Standard::Vht,
        Standard::He => phy::Standard::He,
    };
    let Some(width) = width(choice.width.unwrap_or(channel.width)) else {
        return refuse(
            format!("{}.width", link.key),
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
            format!("{}.guard_interval", link.key),
            "guard intervals are 400, 800, 1600 or 3200 ns",
        );
    };
    Ok(PhyForm {
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
