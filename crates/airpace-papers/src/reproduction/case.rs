use super::sample::Sample;
use crate::nonlinear::LiveTestbed;
use airpace_scenario::Loaded;
use airpace_scenario::file::Override;
use airpace_scenario::results::{FlowSummary, LinkSummary, SimulationSummary, StationSummary};
use airpace_scenario::run::Finished;
use airpace_scenario::stop::Stop;
use anyhow::Result;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Figures of a run that its summary does not have: lists of numbers by name.
pub type Figures = BTreeMap<String, Vec<f64>>;

/// Takes figures from a finished simulation that its summary does not have.
pub(crate) type Extract = fn(&Finished) -> Figures;

/// Computes figures without a scenario.
pub(crate) type Compute = Arc<dyn Fn(Trial) -> Result<Figures> + Send + Sync>;

/// Measures figures on real packets.
pub(crate) type LiveRun = fn(&dyn LiveTestbed, Trial, &Stop) -> Result<Figures>;

/// What distinguishes one run of a case from another.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Trial {
    /// Its seed.
    pub seed: u64,
    /// Factor on the time that it measures, above 0.
    pub horizon: f64,
}

impl Trial {
    /// `usual` slots times the horizon, rounded; at least 1.
    pub(crate) fn slots(self, usual: usize) -> usize {
        ((usual as f64 * self.horizon).round() as usize).max(1)
    }
}

/// Something to be run once per seed.
#[derive(Clone)]
pub struct Case {
    /// Its name, unique within the row.
    pub name: String,
    pub(super) source: Source,
    /// Its own number of seeds, which overrides the number asked for.
    pub(super) seeds: Option<u32>,
}

/// Where the figures of a case come from.
#[derive(Clone)]
pub(super) enum Source {
    Scenario {
        text: &'static str,
        settings: Vec<String>,
        extract: Option<Extract>,
    },
    Compute(Compute),
    Live(LiveRun),
}

impl Case {
    /// A scenario of the folder `scenarios` with settings, each `key=value`.
    pub(crate) fn scenario(name: impl Into<String>, text: &'static str, settings: &[&str]) -> Self {
        Self::new(
            name,
            Source::Scenario {
                text,
                settings: settings.iter().map(|&setting| setting.to_owned()).collect(),
                extract: None,
            },
        )
    }

    /// A function of seed and horizon.
    pub(crate) fn compute(
        name: impl Into<String>,
        compute: impl Fn(Trial) -> Result<Figures> + Send + Sync + 'static,
    ) -> Self {
        Self::new(name, Source::Compute(Arc::new(compute)))
    }

    /// A measurement on real packets.
    pub(crate) fn live(name: impl Into<String>, run: LiveRun) -> Self {
        Self::new(name, Source::Live(run))
    }

    fn new(name: impl Into<String>, source: Source) -> Self {
        Self {
            name: name.into(),
            source,
            seeds: None,
        }
    }

    /// The same case with one more setting. Only scenarios have settings.
    pub(crate) fn set(mut self, setting: impl Into<String>) -> Self {
        if let Source::Scenario { settings, .. } = &mut self.source {
            settings.push(setting.into());
        }
        self
    }

    /// The same case with figures that the summary does not have. Only scenarios have summaries.
    pub(crate) fn extract(mut self, with: Extract) -> Self {
        if let Source::Scenario { extract, .. } = &mut self.source {
            *extract = Some(with);
        }
        self
    }

    /// The same case with its own number of seeds.
    pub(crate) const fn seeds(mut self, seeds: u32) -> Self {
        self.seeds = Some(seeds);
        self
    }
}

/// Reads a scenario with the settings of a case and further settings, which win.
pub(super) fn load(text: &str, settings: &[String], more: &[String]) -> Result<Loaded, String> {
    let mut overrides = Vec::new();
    for setting in settings.iter().chain(more) {
        overrides.push(setting.parse::<Override>()?);
    }
    // No embedded scenario refers to other files, so any folder will do.
    Loaded::new(text, overrides, Path::new(".")).map_err(|error| error.one_line("scenario"))
}

/// A finished run of a case.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its seed.
    pub seed: u64,
    /// Identifies what was run, the seed apart: the hash of a scenario's settings, or the horizon
    /// of other cases.
    pub settings: String,
    /// The simulator's figures if the case is a scenario, without the scenario's text.
    pub summary: Option<SimulationSummary>,
    /// Other figures.
    pub figures: Figures,
    /// Wall time of the run, seconds.
    pub wall_s: f64,
}

impl Run {
    /// The levels that all stations reported, if the case extracts [`levels`](super::levels).
    pub(crate) fn reported_levels(&self) -> Vec<f64> {
        self.figures
            .iter()
            .filter(|(name, _)| name.starts_with("level@"))
            .flat_map(|(_, levels)| levels.iter().copied())
            .collect()
    }
}

/// The runs of a row, by case.
#[derive(Default)]
pub(crate) struct Results {
    pub(super) cases: BTreeMap<String, Vec<Arc<Run>>>,
}

impl Results {
    /// The runs of a case.
    pub(crate) fn runs(&self, case: &str) -> impl Iterator<Item = &Run> {
        debug_assert!(self.cases.contains_key(case), "there is no case {case}");
        self.cases.get(case).into_iter().flatten().map(Arc::as_ref)
    }

    /// One value per run of a case; NaN where `value` returns `None`.
    pub(crate) fn sample(
        &self,
        case: &str,
        value: impl Fn(&SimulationSummary) -> Option<f64>,
    ) -> Sample {
        self.of_runs(case, |run| run.summary.as_ref().and_then(&value))
    }

    /// One figure of each run of a case. A figure with several values counts as their mean.
    pub(crate) fn figure(&self, case: &str, name: &str) -> Sample {
        self.of_runs(case, |run| {
            let values = run.figures.get(name)?;
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        })
    }

    /// Goodput of all flows of each run of a case, Mbit/s.
    pub(crate) fn goodput_mbps(&self, case: &str) -> Sample {
        self.sample(case, |summary| Some(summary.totals.goodput_mbps))
    }

    /// Mean delay over all packets of each run of a case, ms.
    pub(crate) fn mean_delay_ms(&self, case: &str) -> Sample {
        self.sample(case, |summary| Some(summary.totals.delay_ms?.mean))
    }

    /// Packets lost in each run of a case, per cent of those sent.
    pub(crate) fn loss_percent(&self, case: &str) -> Sample {
        self.sample(case, |summary| {
            Some(100.0 * summary.totals.dropped as f64 / summary.totals.sent as f64)
        })
    }

    /// One value per run of a case; NaN where `value` returns `None`.
    pub(crate) fn of_runs(&self, case: &str, value: impl Fn(&Run) -> Option<f64>) -> Sample {
        let runs = self.runs(case);
        Sample::of(runs.map(|run| value(run).unwrap_or(f64::NAN)).collect())
    }
}

/// The flows named `name`, `name@STATION` or `name#NUMBER`.
pub(crate) fn flows<'s>(
    summary: &'s SimulationSummary,
    name: &'s str,
) -> impl Iterator<Item = &'s FlowSummary> {
    summary
        .flows
        .iter()
        .filter(move |flow| has_name(&flow.name, name, &['@', '#']))
}

/// The stations whose name is `name` or begins with `name-`.
pub(crate) fn stations<'s>(
    summary: &'s SimulationSummary,
    name: &'s str,
) -> impl Iterator<Item = &'s StationSummary> {
    summary
        .stations
        .iter()
        .filter(move |station| has_name(&station.name, name, &['-']))
}

/// The links to stations whose name is `name` or begins with `name-`.
pub(crate) fn links<'s>(
    summary: &'s SimulationSummary,
    name: &'s str,
) -> impl Iterator<Item = &'s LinkSummary> {
    summary
        .links
        .iter()
        .filter(move |link| has_name(&link.to, name, &['-']))
}

fn has_name(full: &str, name: &str, separators: &[char]) -> bool {
    full.strip_prefix(name)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(separators))
}

/// The mean of the values; `None` if there are none, or one is missing.
pub(crate) fn mean_if_complete(values: impl IntoIterator<Item = Option<f64>>) -> Option<f64> {
    let values: Vec<f64> = values.into_iter().collect::<Option<_>>()?;
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
